//! Constants: expressions that may neither refer to anything nor call functions.

use yuba_syntax::expr::{Literal, ObjectItem};
use yuba_syntax::{Diagnostic, Diagnostics, Expr, ExprKind, Span};
use yuba_value::Value;

use crate::expression::{NoVariables, evaluate, with_stack};
use crate::functions::{CallContext, FunctionTable};
use crate::references::{each_call, each_traversal};
use crate::world::MemoryWorld;

/// The value of an expression that may neither refer to anything nor call functions. Texts of JSON syntax are no templates.
pub fn constant(expr: &Expr) -> (Value, Diagnostics) {
    let plain;
    let expr = match &expr.kind {
        ExprKind::JsonString(_) | ExprKind::JsonObject(_) | ExprKind::Tuple(_) => {
            plain = without_templates(expr);
            &plain
        }
        _ => expr,
    };
    let mut problems = Diagnostics::new();
    let mut calls: Vec<Span> = Vec::new();
    each_call(expr, &mut |call| {
        let span = call.name_span.to(call.close_span);
        let inside = calls.last().is_some_and(|outer| outer.start <= span.start && span.end <= outer.end);
        if !inside {
            calls.push(span);
            let detail = "Functions cannot be called here: the value must be a constant.";
            problems.push(Diagnostic::error("Function calls not allowed", detail).at(span));
        }
    });
    each_traversal(expr, &mut |traversal| {
        // Both come in source order.
        let before = calls.partition_point(|call| call.start <= traversal.span.start);
        let around = before.checked_sub(1).and_then(|at| calls.get(at));
        if around.is_none_or(|call| call.end < traversal.span.end) {
            let detail = "Nothing can be referred to here: the value must be a constant.";
            problems.push(Diagnostic::error("Variables not allowed", detail).at(traversal.root_span));
        }
    });
    if problems.has_errors() {
        return (Value::unknown_dynamic(), problems);
    }
    evaluate_alone(expr, FunctionTable::module())
}

/// The value of an expression without references, whose functions do not ask for the outside.
pub(crate) fn evaluate_alone(expr: &Expr, functions: &'static FunctionTable) -> (Value, Diagnostics) {
    let world = MemoryWorld::new();
    let context = CallContext {
        world: &world,
        base_dir: ".",
        plan_time: None,
        pure_only: true,
        functions,
        others: None,
        template_depth: 0,
        sources: None,
        symbols: None,
    };
    evaluate(expr, &NoVariables, context)
}

/// An expression of JSON syntax whose texts are just that.
fn without_templates(expr: &Expr) -> Expr {
    with_stack(|| {
        let kind = match &expr.kind {
            ExprKind::JsonString(string) => ExprKind::Literal(Literal::String(string.text.clone())),
            ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(without_templates).collect()),
            ExprKind::JsonObject(items) => {
                let plain = |item: &ObjectItem| ObjectItem {
                    key: without_templates(&item.key),
                    value: without_templates(&item.value),
                    ..item.clone()
                };
                ExprKind::JsonObject(items.iter().map(plain).collect())
            }
            kind => kind.clone(),
        };
        Expr { kind, span: expr.span }
    })
}
