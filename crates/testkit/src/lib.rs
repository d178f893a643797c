//! Fixture texts, a sandbox that runs commands on them, and servers on loopback. For tests only.
//!
//! A fixture is one text with many files:
//!
//! ```text
//! //- main.tf
//! a = 1
//! //- modules/x/main.tf
//! b = 2
//! ```
//!
//! Invariant: this crate depends on no other crate of the project.

mod fixture;
mod host;
mod kills;
mod metadata;
mod relay;
mod sandbox;
pub mod servers;
mod test_provider;
mod tunnel;

pub use fixture::{File, parse_fixture};
pub use host::{Asked, Cut, Host, Reply};
pub use kills::{Kills, Recovery};
pub use metadata::NO_METADATA;
pub use relay::{Afterwards, Lost, Relay};
pub use sandbox::{Run, Sandbox, has_program};
pub use test_provider::{TEST_PROVIDER, platform, provider_mirror, provider_mirror_version, test_provider};
pub use tunnel::{Route, Tunnel};
