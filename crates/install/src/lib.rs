//! Installation of published packages: providers from registries and mirrors, modules from all sources, with checksums
//! and signatures, and the lock file that records them.
//!
//! Requests go through `yuba_net`. [`cli_config`] reads the CLI configuration, [`archive`] unpacks archives that are not
//! trusted.

pub mod archive;
pub mod cli_config;
mod hosts;
pub mod lock_file;
pub mod login;
pub mod modules;
pub mod oci;
mod openpgp;
pub mod providers;
mod sha256;
mod summing;

pub use cli_config::CliConfig;
pub use hosts::Hosts;
pub use providers::selected::{Package, SelectedProviders, selected};
