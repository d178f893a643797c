//! Provider processes: launched, greeted over mutual TLS and spoken to in protocol 5 and 6, each behind the trait
//! `Provider`.
//!
//! [`Plugins`] is all that other crates need: it returns the schema of a provider (from a cache on disk if it can) and starts
//! providers. A started provider is a process of its own; [`Plugins::shutdown`] ends them all.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<yuba_provider::Problem>> {
//! use yuba_plugin::{Plugins, Settings, Supply};
//!
//! let plugins = Plugins::new(Settings::new("1.12.6"));
//! let time = yuba_addrs::ProviderSource::implied_for("time").expect("because it is a name");
//! let supply = Supply::Package { executable: "terraform-provider-time".into(), hash: None };
//! let schema = plugins.schema(&time, &supply)?;
//! let provider = plugins.start(&time, &supply)?;
//! # Ok(()) }
//! ```
//!
//! Invariant: no process that was started here outlives Yuba.

mod connection;
mod diagnostics;
mod functions;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod handshake;
mod last_words;
mod log;
mod parent_death;
mod plugins;
mod process;
mod reattach;
mod remote;
mod schema;
mod schema_cache;
mod settings;
mod socket;
mod socket_dir;
mod tls;
mod values;
pub mod wire;

pub use log::{LogLevel, LogSink, Record};
pub use plugins::Plugins;
pub use reattach::{Reattach, reattached};
pub use settings::{Address, Settings, Supply};
