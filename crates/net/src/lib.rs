//! Requests to hosts: the HTTP client, TLS trust, tokens of hosts, service discovery.
//!
//! [`http`] sends requests with limits, retries and redirects. [`credentials`] finds the token of a host, [`discovery`] the
//! services of a host. [`aws`], [`azure`] and [`google`] find credentials of clouds and sign requests. [`Environment`] holds the environment
//! variables that the caller passes in.
//!
//! Invariant: a credential is sent to the host it belongs to and to no other, and is never part of an error.
//! Not here: what is downloaded (`install`) or stored (`backend`), and the CLI configuration, which `install` reads.

pub mod aws;
pub mod azure;
pub mod credentials;
pub mod discovery;
pub mod environment;
pub mod google;
pub mod http;
mod machine;
mod secret;
pub mod trust;

pub use environment::{Environment, is_off};
pub use secret::Secret;
