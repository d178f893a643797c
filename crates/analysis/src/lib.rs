//! Configuration as immutable snapshots: the modules of a directory, linked, with the diagnostics of each file.
//!
//! [`ModuleReader`] turns files into modules for `eval::link` and caches parsed and decoded files. An [`Analysis`] is
//! the result for one version of the files. [`Analysis::updated`] makes the next one: it parses and decodes only the
//! files that a change affects.
//! `session` loads configurations with it, editor features are functions over it.
//!
//! Invariant: files are read through [`Files`] only. An analysis never changes, so readers need no locks.
//!
//! ```
//! use std::sync::Arc;
//! use yuba_analysis::{Analysis, ModuleReader};
//! use yuba_eval::tree::{Link, Manifest, Purpose};
//! use yuba_eval::{MemoryWorld, inputs::Inputs};
//! use yuba_syntax::files::MemoryFiles;
//!
//! let mut files = MemoryFiles::default();
//! files.write("main.tf", b"locals { a = 1 }\n".as_slice());
//! let (world, inputs, manifest) = (MemoryWorld::default(), Inputs::default(), Manifest::default());
//! let options = Link {
//!     root_dir: ".",
//!     world: &world,
//!     workspace: "default",
//!     original_dir: None,
//!     inputs: &inputs,
//!     manifest: &manifest,
//!     purpose: Purpose::Use,
//! };
//! let analysis = Analysis::new(ModuleReader::new(Arc::new(files)), &options);
//! assert!(analysis.diagnostics().next().is_none());
//! ```

mod diagnostics;
mod reader;
mod snapshot;

pub use reader::{DEFAULT_TEST_DIR, ModuleReader, ReadModules, has_configuration};
pub use snapshot::Analysis;
pub use yuba_syntax::files::Files;
