//! Text to structure: source files, spans, diagnostics, the lexer, the parser with its lossless tree, lowered
//! expressions, JSON syntax behind the same [`Body`], and the formatter.
//!
//! Parsing never fails: errors are diagnostics, and the rest of the file is still parsed.
//!
//! Invariant: nothing here knows what any block means, and nothing here evaluates.

// Tests take their expectation by value, as the expect! macro gives it.
#![cfg_attr(test, allow(clippy::needless_pass_by_value))]

pub mod body;
pub mod diagnostic;
mod diagnostics;
pub mod expr;
pub mod files;
pub mod format;
pub mod json;
pub mod lexer;
pub mod overridden;
pub mod parser;
mod print;
pub mod source;
mod statics;
pub mod suggestion;
pub mod token;
pub mod tree;

pub use body::{Attribute, Block, Body, BodySchema, Content};
pub use diagnostic::{Code, DeprecatedUse, Diagnostic, DiagnosticKey, Diagnostics, Severity};
pub use diagnostics::{UNSUPPORTED_BLOCK_TYPE, reference_required};
pub use expr::{Expr, ExprKind, Traversal, TraversalStep};
pub use source::{FileId, Position, SourceFile, Sources, Span};
