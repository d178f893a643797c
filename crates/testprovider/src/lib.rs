//! A provider for tests: a real plugin process that does what tests request, and also what providers should not do.
//!
//! Objects are files in a directory (`TESTING_DIR` or the argument `directory` of the provider), and every operation is
//! a line of the file `record` there, on disk before the response. Faults are defined by the argument `behave` of each
//! resource ([`Fault`]) or by environment variables ([`Knobs`]). Speaks protocol 5 and 6 over the greeting and the
//! certificates of real plugins. On request it has the size of a provider for a large cloud: a generated schema, a slow start,
//! slow operations and a lot of memory.
//!
//! Invariant: nothing here is part of what users get.

mod behave;
mod changes;
mod cloud;
mod ephemeral;
mod functions;
mod handshake;
mod knobs;
mod objects;
mod provider;
mod record;
mod router;
mod schema;
mod tls;
mod wire_schema;

pub use behave::Fault;
pub use handshake::run;
pub use knobs::{Bad, Knobs};
