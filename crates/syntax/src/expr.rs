//! Lowered expressions: what evaluation runs on. Compact, immutable, shared; every node knows its span.

use std::sync::Arc;

use ecow::EcoString;

use crate::{Diagnostics, Span};

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Its location.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A literal of the language or of JSON.
    Literal(Literal),
    /// `a.b[0].c`: a name and static steps from it.
    Traversal(Traversal),
    /// `(expr).b[0]`: static steps from the result of an expression.
    RelativeTraversal(Box<Expr>, Arc<[TraversalStep]>),
    /// `expr[key]` with a key that must be evaluated.
    Index(Box<IndexExpr>),
    /// `f(a, b...)`
    Call(Box<CallExpr>),
    /// `a ? b : c`
    Conditional(Box<ConditionalExpr>),
    /// `a + b`
    Binary(Box<BinaryExpr>),
    /// `-a`, `!a`
    Unary(Box<UnaryExpr>),
    /// `(a)`
    Parens(Box<Expr>),
    /// `"text ${a} text"`, heredocs, bare templates; concatenates its parts.
    Template(Arc<[Expr]>),
    /// `"${a}"`: exactly one interpolation; the value of `a` itself.
    TemplateWrap(Box<Expr>),
    /// `%{ for }`: the for's tuple of texts, joined. (`%{ if }` is lowered to [`ExprKind::Conditional`] of two
    /// templates, a missing `else` being the empty text.)
    TemplateJoin(Box<Expr>),
    /// `[a, b]`
    Tuple(Arc<[Expr]>),
    /// `{ a = b }`
    Object(Arc<[ObjectItem]>),
    /// A string of JSON syntax: a template in evaluation, a reference or call where it is read statically.
    JsonString(Box<JsonString>),
    /// An object of JSON syntax: as [`ExprKind::Object`], but a duplicate key is an error.
    JsonObject(Arc<[ObjectItem]>),
    /// `[for x in y : z]`, `{for k, v in y : k => v...}`
    For(Box<ForExpr>),
    /// `a.*.b`, `a[*].b`
    Splat(Box<SplatExpr>),
    /// The item a splat is at, inside [`SplatExpr::each`].
    SplatItem,
    /// Replacement of an unreadable expression; evaluates to an unknown value, without further errors.
    Invalid,
}

/// A literal. Numbers that fit are stored as integers, all other numbers as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number that fits.
    Int(i64),
    /// Any other number, as written.
    Number(EcoString),
    /// A text without interpolation, escapes resolved, in normal form C.
    String(EcoString),
}

/// A string of JSON syntax.
#[derive(Clone, Debug)]
pub struct JsonString {
    /// The text after JSON's own escapes: the value where no references are allowed.
    pub text: EcoString,
    /// The text as a template, with its errors, reported when it is evaluated. None when the text has no
    /// template sequence, so that its value is the text in normal form C.
    pub template: Option<(Expr, Diagnostics)>,
}

/// `a.b[0].c`
#[derive(Clone, Debug)]
pub struct Traversal {
    /// The first name.
    pub root: EcoString,
    /// Location of the first name.
    pub root_span: Span,
    /// The steps after it.
    pub steps: Arc<[TraversalStep]>,
    /// All of it.
    pub span: Span,
}

/// One step of a traversal.
#[derive(Clone, Debug)]
pub enum TraversalStep {
    /// `.name`
    Attr {
        /// The name.
        name: EcoString,
        /// With the dot.
        span: Span,
    },
    /// `["key"]`, `[0]`, or the legacy `.0`
    Index {
        /// A string or number.
        key: Literal,
        /// With the brackets.
        span: Span,
    },
}

/// `expr[key]`
#[derive(Clone, Debug)]
pub struct IndexExpr {
    /// The indexed expression.
    pub collection: Expr,
    /// By what.
    pub key: Expr,
    /// `[`, for messages about the operation itself.
    pub open_span: Span,
    /// `[key]`
    pub bracket_span: Span,
}

/// `f(a, b...)`
#[derive(Clone, Debug)]
pub struct CallExpr {
    /// The name as written, with namespaces: `provider::x::f`.
    pub name: EcoString,
    /// Location of the name.
    pub name_span: Span,
    /// `(`
    pub open_span: Span,
    /// `)`
    pub close_span: Span,
    /// The arguments.
    pub args: Arc<[Expr]>,
    /// The last argument has `...` after it.
    pub expand_last: bool,
}

/// `a ? b : c`
#[derive(Clone, Debug)]
pub struct ConditionalExpr {
    /// Before `?`
    pub condition: Expr,
    /// Before `:`
    pub if_true: Expr,
    /// After `:`
    pub if_false: Expr,
}

/// `a + b`
#[derive(Clone, Debug)]
pub struct BinaryExpr {
    /// The operator.
    pub op: BinaryOp,
    /// Before it.
    pub left: Expr,
    /// After it.
    pub right: Expr,
}

/// `-a`, `!a`
#[derive(Clone, Debug)]
pub struct UnaryExpr {
    /// The operator.
    pub op: UnaryOp,
    /// Location of the operator.
    pub op_span: Span,
    /// After it.
    pub operand: Expr,
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

/// Operators before one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `!`
    Not,
}

/// `key = value`
#[derive(Clone, Debug)]
pub struct ObjectItem {
    /// The key. A bare name is a [`Literal::String`] already (with `key_is_bare_name`); `(name)` is not, and a bare
    /// traversal of several steps stays a traversal with `key_is_bare_traversal`, an error that evaluation explains.
    pub key: Expr,
    /// The key is a name without quotes or parentheses.
    pub key_is_bare_name: bool,
    /// The key is a dotted name without parentheses.
    pub key_is_bare_traversal: bool,
    /// The value.
    pub value: Expr,
}

/// `[for k, v in coll : value if cond]`, `{for k, v in coll : key => value... if cond}`
#[derive(Clone, Debug)]
pub struct ForExpr {
    /// The key's name, if given.
    pub key_name: Option<EcoString>,
    /// The value's name.
    pub value_name: EcoString,
    /// After `in`.
    pub collection: Expr,
    /// Before `=>`; objects only.
    pub key: Option<Expr>,
    /// Expression for each element.
    pub value: Expr,
    /// After `if`.
    pub condition: Option<Expr>,
    /// `...`: values of equal keys are collected.
    pub group: bool,
    /// The opening bracket.
    pub open_span: Span,
    /// The closing bracket.
    pub close_span: Span,
}

/// `source[*].each`
#[derive(Clone, Debug)]
pub struct SplatExpr {
    /// Before the splat.
    pub source: Expr,
    /// Expression for each item; [`ExprKind::SplatItem`] stands for the item.
    pub each: Expr,
    /// `.*` or `[*]`
    pub marker_span: Span,
}
