//! Keys of provider instances, and `for_each` expressions that will lose elements together.

use ecow::EcoString;
use yuba_syntax::{Expr, ExprKind, TraversalStep};
use yuba_value::{Type, convert};

use crate::constant::constant;

/// The key, if the expression refers to nothing.
pub(super) fn constant_key(key: &Expr) -> Option<EcoString> {
    if !key.variables().is_empty() || !key.functions().is_empty() {
        return None;
    }
    let (value, problems) = constant(key);
    if problems.has_errors() {
        return None;
    }
    convert::convert(&value, &Type::string()).ok()?.as_str().cloned()
}

/// Whether the `for_each` of a block is that of the provider it uses, so that an element that is removed takes the provider
/// of the objects that are to be destroyed with it. A constant key is not removed together with an element.
pub(super) fn too_similar(own: &Expr, of_provider: &Expr, key: &Expr) -> bool {
    !own.variables().is_empty()
        && !of_provider.variables().is_empty()
        && !key.variables().is_empty()
        && same_expression(own, of_provider)
}

/// Whether two expressions are written alike, apart from parentheses, templates that only wrap, and syntax.
fn same_expression(a: &Expr, b: &Expr) -> bool {
    crate::expression::with_stack(|| same_kind(unwrapped(a), unwrapped(b)))
}

fn unwrapped(expr: &Expr) -> &Expr {
    let mut expr = expr;
    loop {
        expr = match &expr.kind {
            ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) => inner,
            ExprKind::JsonString(string) => match &string.template {
                Some((template, _)) => template,
                None => return expr,
            },
            _ => return expr,
        };
    }
}

fn same_kind(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Literal(a), ExprKind::Literal(b)) => a == b,
        (ExprKind::JsonString(_) | ExprKind::Literal(_), ExprKind::JsonString(_) | ExprKind::Literal(_)) => {
            a.as_literal_string().is_some_and(|text| Some(text) == b.as_literal_string())
        }
        (ExprKind::Traversal(a), ExprKind::Traversal(b)) => a.root == b.root && same_steps(&a.steps, &b.steps),
        (ExprKind::RelativeTraversal(a, a_steps), ExprKind::RelativeTraversal(b, b_steps)) => {
            same_steps(a_steps, b_steps) && same_expression(a, b)
        }
        (ExprKind::Index(a), ExprKind::Index(b)) => {
            same_expression(&a.collection, &b.collection) && same_expression(&a.key, &b.key)
        }
        (ExprKind::Call(a), ExprKind::Call(b)) => {
            a.name == b.name && a.expand_last == b.expand_last && same_all(&a.args, &b.args)
        }
        (ExprKind::Conditional(a), ExprKind::Conditional(b)) => {
            same_expression(&a.condition, &b.condition)
                && same_expression(&a.if_true, &b.if_true)
                && same_expression(&a.if_false, &b.if_false)
        }
        (ExprKind::Binary(a), ExprKind::Binary(b)) => {
            a.op == b.op && same_expression(&a.left, &b.left) && same_expression(&a.right, &b.right)
        }
        (ExprKind::Unary(a), ExprKind::Unary(b)) => a.op == b.op && same_expression(&a.operand, &b.operand),
        (ExprKind::Template(a), ExprKind::Template(b)) | (ExprKind::Tuple(a), ExprKind::Tuple(b)) => same_all(a, b),
        (ExprKind::Object(a) | ExprKind::JsonObject(a), ExprKind::Object(b) | ExprKind::JsonObject(b)) => {
            let same = |(a, b): (&yuba_syntax::expr::ObjectItem, &yuba_syntax::expr::ObjectItem)| {
                same_expression(&a.key, &b.key) && same_expression(&a.value, &b.value)
            };
            a.len() == b.len() && a.iter().zip(b.iter()).all(same)
        }
        (ExprKind::For(a), ExprKind::For(b)) => {
            a.key_name == b.key_name
                && a.value_name == b.value_name
                && a.group == b.group
                && same_expression(&a.collection, &b.collection)
                && same_option(a.key.as_ref(), b.key.as_ref())
                && same_expression(&a.value, &b.value)
                && same_option(a.condition.as_ref(), b.condition.as_ref())
        }
        _ => false,
    }
}

fn same_all(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_expression(a, b))
}

fn same_option(a: Option<&Expr>, b: Option<&Expr>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same_expression(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn same_steps(a: &[TraversalStep], b: &[TraversalStep]) -> bool {
    let same = |(a, b): (&TraversalStep, &TraversalStep)| match (a, b) {
        (TraversalStep::Attr { name: a, .. }, TraversalStep::Attr { name: b, .. }) => a == b,
        (TraversalStep::Index { key: a, .. }, TraversalStep::Index { key: b, .. }) => a == b,
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}
