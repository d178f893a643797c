//! Conditions: of variables, resources, outputs and checks.

use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_config::check::CheckRule;
use yuba_config::variable::Variable;
use yuba_syntax::expr::BinaryOp;
use yuba_syntax::{Code, Diagnostic, Diagnostics, Expr, ExprKind, Severity, Span};
use yuba_value::{Type, Value, convert};

use super::{deprecation, diagnostics};
use crate::driven::{RuleKind, Verdict};
use crate::expression::evaluate;
use crate::module_scope::ModuleScope;
use crate::scope::{Names, Resolved};

/// The conditions of a resource: whether they can be evaluated.
pub(super) fn of_resource(scope: &ModuleScope<'_>, rules: &[CheckRule]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for expr in rules.iter().flat_map(|rule| [&rule.condition, &rule.message]).flatten() {
        let (names, found) = Names::of(expr, scope, &|_| false);
        problems.extend(found);
        let (resolved, found) = names.resolve(scope);
        problems.extend(found);
        if names.has_wrong_symbol(scope) {
            continue;
        }
        // Quirk: the expression is evaluated though its references are wrong, which gives second messages.
        problems.extend(eval(scope, expr, &resolved).1);
    }
    problems
}

/// The names of both expressions of a rule, checked together.
struct Prepared {
    condition: Resolved,
    message: Resolved,
    problems: Diagnostics,
    /// A reference to a symbol library is wrong: evaluating the expressions would only repeat that.
    wrong_symbol: bool,
}

fn prepare(scope: &ModuleScope<'_>, condition: &Expr, message: &Expr) -> Prepared {
    let (condition, mut problems) = Names::of(condition, scope, &|_| false);
    let (message, found) = Names::of(message, scope, &|_| false);
    problems.extend(found);
    problems.extend(condition.check(scope));
    problems.extend(message.check(scope));
    if problems.has_errors() {
        // Quirk: where one reference is wrong, none has a value.
        let wrong_symbol = condition.has_wrong_symbol(scope) || message.has_wrong_symbol(scope);
        return Prepared { condition: Resolved::default(), message: Resolved::default(), problems, wrong_symbol };
    }
    let (condition, found) = condition.resolve_checked(scope);
    problems.extend(found);
    let (message, found) = message.resolve_checked(scope);
    problems.extend(found);
    Prepared { condition, message, problems, wrong_symbol: false }
}

fn eval(scope: &ModuleScope<'_>, expr: &Expr, resolved: &Resolved) -> (Value, Diagnostics) {
    let (value, mut problems) = evaluate(expr, resolved, scope.call_context());
    let (value, mut found) = deprecation::extract(scope, &value, expr.span);
    deprecation::add_hidden(scope, expr, &mut found);
    problems.extend(found);
    (value, problems)
}

/// Both expressions of a rule that has both. Decoding has reported incomplete rules.
pub(crate) fn parts(rule: &CheckRule) -> Option<(&Arc<Expr>, &Arc<Expr>)> {
    Some((rule.condition.as_ref()?, rule.message.as_ref()?))
}

/// The values of both expressions of a rule; the second as text, if it may be shown.
pub(crate) fn eval_both(
    scope: &ModuleScope<'_>,
    condition: &Expr,
    message: &Expr,
) -> (Value, Option<EcoString>, Diagnostics) {
    let prepared = prepare(scope, condition, message);
    let mut problems = prepared.problems;
    if prepared.wrong_symbol {
        return (Value::unknown_dynamic(), None, problems);
    }
    let (text, found) = message_text(scope, message, &prepared.message);
    problems.extend(found);
    let (holds, found) = eval(scope, condition, &prepared.condition);
    problems.extend(found);
    (holds, text, problems)
}

/// A message about a condition, with the values of the names in it.
pub(crate) fn explained(scope: &ModuleScope<'_>, condition: &Expr, problem: Diagnostic) -> Diagnostic {
    let (names, _) = Names::of(condition, scope, &|_| false);
    let (resolved, _) = names.resolve_checked(scope);
    let mut problem = crate::expression::explained(problem, condition, &resolved, scope.call_context());
    if let Some(difference) = difference(condition, &resolved, scope) {
        problem.extra.get_or_insert_default().difference = Some(difference);
    }
    problem
}

/// Both sides of an equality that is false, unless one side must not be shown.
fn difference(condition: &Expr, resolved: &Resolved, scope: &ModuleScope<'_>) -> Option<(EcoString, EcoString)> {
    let ExprKind::Binary(binary) = &condition.kind else { return None };
    if binary.op != BinaryOp::Equal {
        return None;
    }
    let side = |expr: &Expr| {
        let (value, problems) = evaluate(expr, resolved, scope.call_context());
        let marks = value.marks_deep();
        let hidden = marks.has_sensitive() || marks.has_ephemeral() || !value.is_wholly_known();
        if problems.has_errors() || hidden {
            return None;
        }
        Some(yuba_value::json::encode_plain(&value.unmark_deep().0).ok()?.into())
    };
    Some((side(&binary.left)?, side(&binary.right)?))
}

/// The rules of a check block: their messages, and whether conditions refer to something.
pub(super) fn of_check(scope: &ModuleScope<'_>, rules: &[CheckRule]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for (condition, message) in rules.iter().filter_map(parts) {
        let prepared = prepare(scope, condition, message);
        problems.extend(prepared.problems);
        problems.extend(message_text(scope, message, &prepared.message).1);
        // Nothing is known about the condition yet, except whether it uses something deprecated.
        let (_, found) = eval(scope, condition, &prepared.condition);
        problems.extend(found.into_iter().filter(Diagnostic::is_about_deprecation));
    }
    problems
}

/// The preconditions of an output, which must hold as far as they are known.
pub(super) fn of_output(scope: &ModuleScope<'_>, rules: &[CheckRule]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for (condition, message) in rules.iter().filter_map(parts) {
        let (holds, text, mut found) = eval_both(scope, condition, message);
        if !found.has_errors() {
            match holds_known(&holds, &diagnostics::INVALID_CONDITION_RESULT, condition.span) {
                Ok(Some(false)) => {
                    let (kind, severity) = (RuleKind::OutputPrecondition, Severity::Error);
                    found.push(diagnostics::condition_failed(kind, text.as_deref(), severity, condition.span));
                }
                Ok(_) => {}
                Err(problem) => found.extend(problem),
            }
        }
        problems.extend(found);
    }
    problems
}

/// The rules of a variable with a value that may be known. After one that does not hold the rest is not reported.
pub(crate) fn of_variable(scope: &ModuleScope<'_>, variable: &Variable, given: Option<Span>) -> (Verdict, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut verdict = Verdict::Pass;
    for rule in &variable.validations {
        let Some((condition, message)) = parts(rule) else { continue };
        let prepared = prepare(scope, condition, message);
        let failed = prepared.problems.has_errors();
        problems.extend(prepared.problems);
        if failed || problems.has_errors() {
            continue;
        }
        let (holds, found) = eval(scope, condition, &prepared.condition);
        problems.extend(found);
        let (text, found) = eval(scope, message, &prepared.message);
        let message_failed = found.has_errors();
        problems.extend(found);
        match holds_known(&holds, &diagnostics::INVALID_VALIDATION_RESULT, condition.span) {
            Ok(Some(false)) => {
                let text = match message_failed || !text.is_known() {
                    true => None,
                    false => {
                        let (text, found) = visible_text(&text, message.span, Severity::Error);
                        problems.extend(found);
                        text
                    }
                };
                let text = text.unwrap_or_else(|| "The value does not meet a condition of its declaration.".into());
                let sources = scope.evaluation().env().sources;
                let location =
                    crate::template::location(sources, rule.span).map(|location| eco_format!(" at {location}"));
                let span = given.unwrap_or(variable.span);
                let problem = diagnostics::variable_rule_broken(&text, &location.unwrap_or_default(), span);
                problems.push(explained(scope, condition, problem));
                verdict = Verdict::Fail(text);
            }
            Ok(None) if verdict == Verdict::Pass => verdict = Verdict::Unknown,
            Ok(_) => {}
            Err(found) => {
                problems.extend(found);
                verdict = Verdict::Error;
            }
        }
    }
    // A condition that cannot be evaluated says neither yes nor no.
    match (&verdict, problems.has_errors()) {
        (Verdict::Pass, true) => (Verdict::Unknown, problems),
        _ => (verdict, problems),
    }
}

/// Whether a condition passes, if that is known.
pub(crate) fn holds_known(value: &Value, code: &'static Code, span: Span) -> Result<Option<bool>, Diagnostics> {
    let (value, _) = value.unmark_deep();
    if !value.is_known() {
        return Ok(None);
    }
    if value.is_null() {
        return Err(diagnostics::invalid_rule_result(code, "this is null", span).into());
    }
    match convert::convert(&value, &Type::bool()) {
        Ok(value) => Ok(value.as_bool()),
        Err(reason) => Err(diagnostics::invalid_rule_result(code, &eco_format!("{reason}"), span).into()),
    }
}

/// The text of a message, if it is known and may be shown.
fn message_text(scope: &ModuleScope<'_>, expr: &Expr, resolved: &Resolved) -> (Option<EcoString>, Diagnostics) {
    let (value, mut problems) = eval(scope, expr, resolved);
    if problems.has_errors() {
        return (None, problems);
    }
    let (text, found) = visible_text(&value, expr.span, Severity::Warning);
    problems.extend(found);
    (text, problems)
}

/// The text, if it may be shown. `severity` is that of a message that may not.
fn visible_text(value: &Value, span: Span, severity: Severity) -> (Option<EcoString>, Diagnostics) {
    let text = match convert::convert(value, &Type::string()) {
        Ok(text) => text,
        Err(reason) => return (None, diagnostics::invalid_message(&eco_format!("{reason}"), span).into()),
    };
    if !text.is_known() {
        return (None, Diagnostics::new());
    }
    if text.is_null() {
        return (None, diagnostics::invalid_message("it is null", span).into());
    }
    let (text, marks) = text.unmark();
    for (kind, present) in [("sensitive", marks.has_sensitive()), ("ephemeral", marks.has_ephemeral())] {
        if present {
            return (None, diagnostics::secret_message(kind, severity, span).into());
        }
    }
    (text.as_str().map(|text| text.trim().into()), Diagnostics::new())
}
