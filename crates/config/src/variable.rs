//! `variable` blocks and `locals`.

use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Expr, Span};
use yuba_value::{Type, Value, convert::Defaults};

use crate::check::CheckRule;

/// A `variable` block.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The label.
    pub name: EcoString,
    /// For people.
    pub description: Option<EcoString>,
    /// The constraint as written, with optional attributes; `any` where none was given.
    pub constraint: Type,
    /// Defaults of optional attributes.
    pub type_defaults: Option<Arc<Defaults>>,
    /// Whether a text from outside (command line, environment) is an expression or literal text.
    pub parsing: Parsing,
    /// The default, converted to the type.
    pub default: Option<Value>,
    /// `sensitive`, if given.
    pub sensitive: Option<bool>,
    /// `ephemeral`, if given.
    pub ephemeral: Option<bool>,
    /// `const`, if given.
    pub constant: Option<bool>,
    /// `nullable`, if given; true otherwise.
    pub nullable: Option<bool>,
    /// The author's message.
    pub deprecated: Option<EcoString>,
    /// `validation` blocks.
    pub validations: Vec<CheckRule>,
    /// The block's header.
    pub span: Span,
}

/// How a text from outside becomes the variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsing {
    /// It is the value.
    Literal,
    /// It is an expression.
    Expression,
}

/// One argument of a `locals` block.
#[derive(Clone, Debug)]
pub struct Local {
    /// The name.
    pub name: EcoString,
    /// The value.
    pub expr: Arc<Expr>,
    /// All of the argument.
    pub span: Span,
}
