//! What others publish, brought to this machine: providers from registries and mirrors, modules from everywhere, with
//! checksums and signatures, and the lock file that remembers them.

pub mod lock_file;
pub mod providers;

pub use providers::selected::{Package, Selection, selected};
