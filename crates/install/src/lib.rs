//! What others publish, brought to this machine: providers from registries and mirrors, modules from everywhere, with
//! checksums and signatures, and the lock file that remembers them.
//!
//! The ground everything here stands on is [`http`], which speaks to hosts with the [`credentials`] for them and with
//! them only, [`discovery`], which finds the services of a host, [`cli_config`], which says what people want it to be
//! like, and [`archive`], which unpacks what nobody has reason to trust.

pub mod archive;
pub mod cli_config;
pub mod credentials;
pub mod discovery;
mod environment;
mod hosts;
pub mod http;
pub mod lock_file;
pub mod login;
pub mod modules;
pub mod oci;
pub mod providers;
mod secret;
mod sha256;
mod summing;
mod trust;

pub use cli_config::CliConfig;
pub use environment::{Environment, is_off};
pub use hosts::Hosts;
pub use providers::selected::{Package, Selection, selected};
pub use secret::Secret;
