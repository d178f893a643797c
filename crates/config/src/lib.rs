//! One directory of files to one [`Module`]: what each block and argument is, overrides merged, features opted in.
//! Expressions stay unevaluated.
//!
//! Called by `eval`, which links modules into a tree, and by `session`, which reads the files.
//!
//! Invariant: nothing here evaluates a reference or touches a file.

pub mod check;
pub mod diagnostics;
pub mod features;
pub mod file;
pub mod import;
pub mod language;
pub mod merge;
pub mod module;
pub mod module_call;
pub mod moved;
pub mod output;
pub mod provider;
pub mod provisioner;
pub mod removed;
pub mod resource;
pub mod symbols;
pub mod terraform;
pub mod test_file;
pub mod type_expr;
pub mod variable;

pub use module::Module;
