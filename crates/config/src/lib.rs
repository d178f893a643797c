//! One directory of files to one [`Module`]: what each block and argument is, overrides merged, features opted in.
//! Expressions stay unevaluated, except constants, for which the caller lends an evaluator ([`Constants`]).
//!
//! Called by `eval`, which links modules into a tree, and by `session`, which reads the files.
//!
//! Invariant: nothing here evaluates a reference or touches a file.

pub mod check;
pub mod constant;
mod default_value;
mod depends_on;
pub mod diagnostics;
pub mod encryption;
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
mod quoted;
pub mod removed;
pub mod resource;
mod schema;
mod similar;
pub mod symbols;
pub mod terraform;
pub mod test_file;
#[cfg(test)]
mod testing;
pub mod type_expr;
pub mod variable;

pub use constant::{Constants, Decoding};
pub use module::Module;
