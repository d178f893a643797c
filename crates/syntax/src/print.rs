//! Expressions as short text, for tests and for looking at.

use std::fmt::{self, Display, Formatter};

use crate::expr::{Expr, ExprKind, Literal, Traversal, TraversalStep};

/// Operators and brackets in prefix form: `(+ 1 (* a.b 2))`. Locations are not shown.
impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(literal) => literal.fmt(f),
            ExprKind::Traversal(traversal) => traversal.fmt(f),
            ExprKind::RelativeTraversal(source, steps) => {
                write!(f, "(get {source} ")?;
                steps.iter().try_for_each(|step| step.fmt(f))?;
                f.write_str(")")
            }
            ExprKind::Index(index) => write!(f, "(index {} {})", index.collection, index.key),
            ExprKind::Call(call) => {
                let expand = if call.expand_last { "..." } else { "" };
                write!(f, "(call {}{}{expand})", call.name, Spaced(&call.args))
            }
            ExprKind::Conditional(c) => write!(f, "(? {} {} {})", c.condition, c.if_true, c.if_false),
            ExprKind::Binary(binary) => write!(f, "({:?} {} {})", binary.op, binary.left, binary.right),
            ExprKind::Unary(unary) => write!(f, "({:?} {})", unary.op, unary.operand),
            ExprKind::Parens(inner) => write!(f, "(paren {inner})"),
            ExprKind::Template(parts) => write!(f, "(template{})", Spaced(parts)),
            ExprKind::TemplateWrap(inner) => write!(f, "(wrap {inner})"),
            ExprKind::TemplateJoin(inner) => write!(f, "(join {inner})"),
            ExprKind::Tuple(items) => write!(f, "(tuple{})", Spaced(items)),
            ExprKind::Object(items) | ExprKind::JsonObject(items) => {
                f.write_str("(object")?;
                for item in items.iter() {
                    let mark = if item.key_is_bare_traversal { "?" } else { "" };
                    write!(f, " {}{mark} = {}", item.key, item.value)?;
                }
                f.write_str(")")
            }
            ExprKind::For(parts) => {
                f.write_str("(for ")?;
                if let Some(name) = &parts.key_name {
                    write!(f, "{name}, ")?;
                }
                write!(f, "{} in {} :", parts.value_name, parts.collection)?;
                if let Some(key) = &parts.key {
                    write!(f, " {key} =>")?;
                }
                write!(f, " {}{}", parts.value, if parts.group { "..." } else { "" })?;
                if let Some(condition) = &parts.condition {
                    write!(f, " if {condition}")?;
                }
                f.write_str(")")
            }
            ExprKind::Splat(splat) => write!(f, "(splat {} {})", splat.source, splat.each),
            ExprKind::SplatItem => f.write_str("*"),
            ExprKind::JsonString(string) => match &string.template {
                Some((template, _)) => write!(f, "(json {template})"),
                None => write!(f, "(json {:?})", string.text),
            },
            ExprKind::Invalid => f.write_str("<invalid>"),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("null"),
            Literal::Bool(value) => value.fmt(f),
            Literal::Int(value) => value.fmt(f),
            Literal::Number(text) => f.write_str(text),
            Literal::String(text) => write!(f, "{text:?}"),
        }
    }
}

/// As it would be written.
impl Display for Traversal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        self.steps.iter().try_for_each(|step| step.fmt(f))
    }
}

impl Display for TraversalStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TraversalStep::Attr { name, .. } => write!(f, ".{name}"),
            TraversalStep::Index { key, .. } => write!(f, "[{key}]"),
        }
    }
}

struct Spaced<'e>(&'e [Expr]);

impl Display for Spaced<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|expr| write!(f, " {expr}"))
    }
}
