//! One directory of files to one [`Module`]: what each block and argument is, overrides merged, features opted in.
//! Expressions stay unevaluated, except constants, for which the caller lends an evaluator ([`ConstantEvaluator`]).
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
mod lifecycle;
mod merge;
pub mod module;
pub mod module_call;
pub mod moved;
pub mod output;
mod overriding;
pub mod provider;
pub mod provisioner;
mod quoted;
pub mod removed;
mod required_providers;
pub mod resource;
mod resource_map;
mod schema;
pub mod similar;
pub mod symbols;
pub mod terraform;
pub mod test_file;
#[cfg(test)]
mod testing;
pub mod type_expr;
pub mod variable;

pub use constant::{ConstantEvaluator, Decoding};
pub use file::{ModuleFileNames, ParsedConfigFile, select_files};
pub use module::Module;
pub use resource_map::ResourceMap;

/// Decodes the files of a directory into a module, with their errors.
///
/// Ordinary files come first, then override files, each in the order given, then test files, which are known by their
/// names. When a file says that it is not for this
/// version of the language, nothing else is reported: the rest may be written in a later language.
pub fn decode_module(
    dir: impl Into<ecow::EcoString>,
    files: &[ParsedConfigFile],
    decoding: &Decoding<'_>,
) -> (Module, yuba_syntax::Diagnostics) {
    merge::decode_module(dir.into(), files, decoding)
}

/// Decodes a test file, with its errors.
pub fn decode_test_file(
    parsed: &ParsedConfigFile,
    decoding: &Decoding<'_>,
) -> (test_file::TestFile, yuba_syntax::Diagnostics) {
    let (file, found) = test_file::decode(&parsed.body, decoding);
    let mut problems = parsed.diagnostics.clone();
    problems.extend(found);
    (file, problems)
}
