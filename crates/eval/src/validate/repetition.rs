//! `count`, `for_each`, `enabled` and `depends_on`.

use ecow::eco_format;
use yuba_addrs::Reference;
use yuba_syntax::{Diagnostics, Expr, Span, Traversal, TraversalStep};
use yuba_value::{Number, Type, Value, convert};

use super::{deprecation, diagnostics};
use crate::module_scope::ModuleScope;
use crate::scope::{Scope, was_evaluated};
use crate::static_eval::for_each as for_each_value;

pub(super) fn count(scope: &ModuleScope<'_>, expr: &Expr) -> Diagnostics {
    let (value, mut problems) = deprecation::eval(scope, expr);
    if problems.has_errors() {
        problems.extend(of_type(&value, &Type::number(), expr.span));
        return problems;
    }
    let span = expr.span;
    // Sensitive values may be used: the number of instances does not reveal more than other results.
    let (value, marks) = value.unmark();
    if marks.has_ephemeral() {
        problems.push(diagnostics::invalid_count("it is ephemeral, but addresses contain the instance keys", span));
    } else if value.is_null() {
        problems.push(diagnostics::invalid_count("it is null, but a whole number is required", span));
    } else {
        match convert::convert(&value, &Type::number()) {
            Ok(number) => match number.as_number() {
                Some(number) if number.is_negative() => {
                    problems.push(diagnostics::invalid_count("it must not be negative", span));
                }
                Some(number) if number.to_i64().is_none() => {
                    problems.push(diagnostics::invalid_count(whole_number(number), span));
                }
                _ => {}
            },
            Err(reason) => problems.push(diagnostics::incorrect_type(&eco_format!("{reason}"), span)),
        }
    }
    problems
}

/// Errors in the type of a value, which may come from an expression with errors.
pub(crate) fn of_type(value: &Value, ty: &Type, span: Span) -> Diagnostics {
    let mut problems = Diagnostics::new();
    if let Err(reason) = convert::convert(&value.unmark_deep().0, ty) {
        problems.push(diagnostics::incorrect_type(&eco_format!("{reason}"), span));
    }
    problems
}

fn whole_number(number: &Number) -> &'static str {
    if number.is_integer() { "it is too large" } else { "it must be a whole number" }
}

pub(super) fn for_each(scope: &ModuleScope<'_>, expr: &Expr) -> Diagnostics {
    let (value, mut problems) = deprecation::eval_named(scope, expr);
    if !problems.has_errors() {
        problems.extend(for_each_value::check_known_part(&value, expr.span));
    } else if was_evaluated(expr, scope) {
        // The result of an error stays unknown.
        problems.extend(match value.ty().is_dynamic() {
            true => for_each_value::check(&value, expr.span),
            false => for_each_value::check_known_part(&value, expr.span),
        });
    }
    problems
}

/// Unlike OpenTofu, errors are found here already, as far as the value is known.
pub(super) fn enabled(scope: &ModuleScope<'_>, expr: &Expr) -> Diagnostics {
    let (value, mut problems) = deprecation::eval(scope, expr);
    if !problems.has_errors() {
        problems.extend(enabled_value(&value, expr.span));
    } else if was_evaluated(expr, scope) {
        problems.extend(enabled_presence(&value, expr.span));
        if !value.is_known() {
            let reason = "it comes from an expression with errors, so the existence of the object is unknown";
            problems.push(diagnostics::invalid_enabled(reason, expr.span));
        }
    }
    problems
}

/// Errors in a value for `enabled`, as far as it is known.
pub(crate) fn enabled_value(value: &Value, span: Span) -> Diagnostics {
    let mut problems = enabled_presence(value, span);
    if !problems.has_errors()
        && let Err(reason) = convert::convert(&value.unmark().0, &Type::bool())
    {
        problems.push(diagnostics::invalid_enabled(&eco_format!("{reason}"), span));
    }
    problems
}

/// The same without its type.
pub(crate) fn enabled_presence(value: &Value, span: Span) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let (plain, marks) = value.unmark();
    if marks.has_sensitive() {
        let reason = "it is sensitive, but the existence of the object reveals it";
        problems.push(diagnostics::invalid_enabled(reason, span));
    }
    if marks.has_ephemeral() {
        problems.push(diagnostics::invalid_enabled("it is ephemeral", span));
    }
    if plain.is_null() {
        problems.push(diagnostics::invalid_enabled("it is null", span));
    }
    problems
}

/// Whether an `enabled` is known to be false.
pub(super) fn is_disabled(scope: &ModuleScope<'_>, expr: &Expr) -> bool {
    let (value, problems) = scope.eval(expr);
    let as_bool = |value: &Value| convert::convert(value, &Type::bool()).ok()?.as_bool();
    !problems.has_errors() && as_bool(&value.unmark_deep().0) == Some(false)
}

pub(crate) fn depends_on(scope: &ModuleScope<'_>, traversals: &[Traversal]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for traversal in traversals {
        let (reference, found) = Reference::parse(traversal, scope.context());
        let failed = found.has_errors();
        problems.extend(found);
        let Some(reference) = reference else { continue };
        if let ([first, ..], false) = (reference.remaining(), failed) {
            let last = reference.remaining().last().unwrap_or(first);
            problems.push(diagnostics::depends_on_attribute(step_span(first).to(step_span(last))));
        }
        if !problems.has_errors() {
            problems.extend(scope.check(&reference));
        }
        if !problems.has_errors() {
            problems.extend(scope.value(&reference).1);
        }
    }
    problems
}

fn step_span(step: &TraversalStep) -> Span {
    match step {
        TraversalStep::Attr { span, .. } | TraversalStep::Index { span, .. } => *span,
    }
}
