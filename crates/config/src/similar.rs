//! Whether two expressions are written so alike that they follow the same source of data: "too similar" in the sense
//! of provider `for_each`. An element removed there would take away the provider instance that must destroy the objects of
//! the element.

use yuba_syntax::expr::{Literal, ObjectItem};
use yuba_syntax::{Expr, ExprKind, TraversalStep};
use yuba_value::Number;

/// Whether two `for_each` expressions are too similar. Those that refer to nothing never are.
pub fn too_similar(a: &Expr, b: &Expr) -> bool {
    !a.variables().is_empty() && !b.variables().is_empty() && same_expression(a, b)
}

/// Whether two expressions are the same but for layout, parentheses and quotes around a single interpolation. False for
/// forms that are not compared.
pub fn same_expression(a: &Expr, b: &Expr) -> bool {
    let (a, b) = (bare(a), bare(b));
    if let (Some(a), Some(b)) = (literal(a), literal(b)) {
        return same_literal(&a, &b);
    }
    match (&a.kind, &b.kind) {
        (ExprKind::Traversal(a), ExprKind::Traversal(b)) => a.root == b.root && same_steps(&a.steps, &b.steps),
        (ExprKind::RelativeTraversal(a, a_steps), ExprKind::RelativeTraversal(b, b_steps)) => {
            same_steps(a_steps, b_steps) && same_expression(a, b)
        }
        (ExprKind::Call(a), ExprKind::Call(b)) => a.name == b.name && same_all(&a.args, &b.args),
        (ExprKind::Conditional(a), ExprKind::Conditional(b)) => {
            same_expression(&a.condition, &b.condition)
                && same_expression(&a.if_true, &b.if_true)
                && same_expression(&a.if_false, &b.if_false)
        }
        (ExprKind::Index(a), ExprKind::Index(b)) => {
            same_expression(&a.collection, &b.collection) && same_expression(&a.key, &b.key)
        }
        (ExprKind::Tuple(a), ExprKind::Tuple(b)) | (ExprKind::Template(a), ExprKind::Template(b)) => same_all(a, b),
        (ExprKind::Object(a) | ExprKind::JsonObject(a), ExprKind::Object(b) | ExprKind::JsonObject(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_item(a, b))
        }
        (ExprKind::For(a), ExprKind::For(b)) => {
            a.key_name == b.key_name
                && a.value_name == b.value_name
                && a.group == b.group
                && same_expression(&a.collection, &b.collection)
                && same_optional(a.key.as_ref(), b.key.as_ref())
                && same_expression(&a.value, &b.value)
                && same_optional(a.condition.as_ref(), b.condition.as_ref())
        }
        (ExprKind::Binary(a), ExprKind::Binary(b)) => {
            a.op == b.op && same_expression(&a.left, &b.left) && same_expression(&a.right, &b.right)
        }
        (ExprKind::Unary(a), ExprKind::Unary(b)) => a.op == b.op && same_expression(&a.operand, &b.operand),
        _ => false,
    }
}

/// Without parentheses, and what is inside of quotes that mean nothing.
fn bare(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) => bare(inner),
        ExprKind::JsonString(string) => match &string.template {
            Some((template, problems)) if !problems.has_errors() => bare(template),
            _ => expr,
        },
        _ => expr,
    }
}

fn literal(expr: &Expr) -> Option<Literal> {
    match &expr.kind {
        ExprKind::Literal(literal) => Some(literal.clone()),
        ExprKind::JsonString(string) if string.template.is_none() => Some(Literal::String(string.text.clone())),
        _ => None,
    }
}

/// By the rules of `==`, for which one number can be written in several ways.
fn same_literal(a: &Literal, b: &Literal) -> bool {
    let number = |literal: &Literal| match literal {
        Literal::Int(value) => Some(Number::from_i64(*value)),
        Literal::Number(text) => Number::parse(text),
        _ => None,
    };
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

fn same_steps(a: &[TraversalStep], b: &[TraversalStep]) -> bool {
    let same = |(a, b): (&TraversalStep, &TraversalStep)| match (a, b) {
        (TraversalStep::Attr { name: a, .. }, TraversalStep::Attr { name: b, .. }) => a == b,
        (TraversalStep::Index { key: a, .. }, TraversalStep::Index { key: b, .. }) => same_literal(a, b),
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn same_all(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_expression(a, b))
}

fn same_optional(a: Option<&Expr>, b: Option<&Expr>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same_expression(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn same_item(a: &ObjectItem, b: &ObjectItem) -> bool {
    same_expression(&a.key, &b.key) && same_expression(&a.value, &b.value)
}

#[cfg(test)]
mod tests {
    use yuba_syntax::{FileId, json, parser};

    use super::*;
    use crate::schema::schema;

    fn native(text: &str) -> Expr {
        let (expr, problems) = parser::parse_expression(FileId(0), text.as_bytes());
        assert!(!problems.has_errors(), "{text}");
        expr
    }

    fn from_json(text: &str) -> Expr {
        let parsed = json::parse_config(FileId(0), format!("{{\"x\": {text}}}").as_bytes());
        let (content, _) = parsed.body.content(&schema(&["x"], &[], &[]));
        content.attribute("x").map(|attribute| (*attribute.expr).clone()).expect("because x is declared")
    }

    #[test]
    fn each_form_is_similar_to_itself_and_to_no_other() {
        let forms = [
            "var.a",
            "var.a.b",
            "var.a[\"b\"]",
            "var.a[0]",
            "local.a",
            "f(var.a).b",
            "f(var.a)[\"b\"]",
            "g(var.a)",
            "f(var.a)",
            "f(var.a, 1)",
            "var.a ? 1 : 2",
            "var.a ? 1 : 3",
            "var.a[var.b]",
            "var.a[var.c]",
            "[var.a]",
            "[var.a, 1]",
            "{ a = var.a }",
            "{ b = var.a }",
            "{ (var.b) = var.a }",
            "[for v in var.a : v]",
            "[for w in var.a : w]",
            "[for k, v in var.a : v]",
            "[for v in var.a : v if v != null]",
            "{for v in var.a : v => v}",
            "{for v in var.a : v => v...}",
            "var.a + 1",
            "var.a - 1",
            "1 + var.a",
            "-var.a",
            "!var.a",
            "\"x${var.a}\"",
            "\"${var.a}x\"",
            "\"x${var.a}${var.b}\"",
        ];
        for a in forms {
            for b in forms {
                assert_eq!(too_similar(&native(a), &native(b)), a == b, "{a} and {b}");
            }
        }
    }

    #[test]
    fn layout_parentheses_and_needless_quotes_are_ignored() {
        for (a, b) in [
            ("var.a", "(var.a)"),
            ("((var.a))", "\"${var.a}\""),
            ("var.a[0]", "var.a[0.0]"),
            ("var.a + 1", "( var.a )+(1.0)"),
            ("f(var.a, \"x\")", "f(\n  (var.a),\n  \"x\"\n)"),
            ("{ a = var.a }", "{ \"a\" = var.a }"),
            ("[for v in var.a : v if v]", "[for v in (var.a) : \"${v}\" if (v)]"),
        ] {
            assert!(too_similar(&native(a), &native(b)), "{a} and {b}");
            assert!(too_similar(&native(b), &native(a)), "{b} and {a}");
        }
    }

    #[test]
    fn without_references_nothing_is_similar() {
        for text in ["1", "\"a\"", "[\"a\"]", "{ a = 1 }", "toset([\"a\"])"] {
            assert!(same_expression(&native(text), &native(text)), "{text}");
            assert!(!too_similar(&native(text), &native(text)), "{text}");
        }
        assert!(!same_expression(&native("null"), &native("\"null\"")));
        assert!(!same_expression(&native("1"), &native("\"1\"")));
    }

    #[test]
    fn other_forms_are_not_compared() {
        for text in ["var.a[*].b", "var.a.*.b", "\"%{ for x in var.a }${x}%{ endfor }\""] {
            assert!(!too_similar(&native(text), &native(text)), "{text}");
        }
    }

    #[test]
    fn json_is_compared_by_what_its_strings_contain() {
        for (json, text) in [
            (r#""${var.a}""#, "var.a"),
            (r#""${toset(var.a)}""#, "toset(var.a)"),
            (r#""x${var.a}""#, "\"x${var.a}\""),
            (r#"["${var.a}", "b", 1]"#, "[var.a, \"b\", 1]"),
            (r#"{"k": "${var.a}"}"#, "{ k = var.a }"),
        ] {
            assert!(too_similar(&from_json(json), &native(text)), "{json} and {text}");
            assert!(too_similar(&from_json(json), &from_json(json)), "{json}");
            assert!(!too_similar(&from_json(json), &native("var.b")), "{json}");
        }
        assert!(!too_similar(&from_json(r#""${var.a""#), &from_json(r#""${var.a""#)));
    }
}
