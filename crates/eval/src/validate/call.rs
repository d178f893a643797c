//! Module calls: their arguments and how many instances they have.

use yuba_config::Module;
use yuba_config::resource::Repetition;
use yuba_config::variable::Variable;
use yuba_syntax::{Diagnostics, Expr, ExprKind, TraversalStep};
use yuba_value::{Value, convert};

use super::{deprecation, diagnostics, named, repetition};
use crate::graph::CallArguments;
use crate::module_scope::{Evaluation, InstanceValues, ModuleScope};
use crate::tree::ModuleId;

/// Number of instances of a call, and its dependencies.
pub(super) fn check_call(evaluation: &Evaluation<'_>, module: ModuleId) -> Diagnostics {
    let tree = evaluation.tree();
    let (Some(parent), Some(call)) = (tree.node(module).parent, tree.call(module)) else { return Diagnostics::new() };
    let scope = evaluation.scope(parent);
    let mut problems = match &call.repetition {
        Repetition::Single => Diagnostics::new(),
        Repetition::Count(expr) => repetition::count(&scope, expr),
        Repetition::ForEach(expr) => repetition::for_each(&scope, expr),
        Repetition::Enabled(expr) => repetition::enabled(&scope, expr),
    };
    problems.extend(repetition::depends_on(&scope, &call.depends_on));
    let scope = scope.of_any_instance(&call.repetition, InstanceValues::unknown(&call.repetition));
    for key in call.providers.iter().filter_map(|passed| passed.in_parent.instance.as_ref()) {
        problems.extend(deprecation::eval(&scope, key).1);
    }
    problems
}

/// The value that a call passes to a variable, stored for its rules.
pub(super) fn check(
    evaluation: &Evaluation<'_>,
    module: ModuleId,
    variable: &Variable,
    arguments: &CallArguments,
) -> Diagnostics {
    let tree = evaluation.tree();
    let (Some(parent), Some(call)) = (tree.node(module).parent, tree.call(module)) else { return Diagnostics::new() };
    let scope = evaluation.scope(parent).of_any_instance(&call.repetition, InstanceValues::any());
    let (value, problems) = argument(&scope, module, variable, arguments);
    if let Some(value) = value {
        evaluation.set_given(module, &variable.name, value);
    }
    problems
}

/// The value that a call gives to a variable, converted as its block says; the default where the call gives none.
pub(crate) fn argument(
    scope: &ModuleScope<'_>,
    child: ModuleId,
    variable: &Variable,
    arguments: &CallArguments,
) -> (Option<Value>, Diagnostics) {
    let tree = scope.evaluation().tree();
    let path = &tree.node(child).path;
    let Some(argument) = arguments.get(child, &variable.name) else {
        let value = variable.default.clone().unwrap_or_else(Value::unknown_dynamic);
        return (Some(value), Diagnostics::new());
    };
    let (value, mut problems) = deprecation::eval_named(scope, &argument.expr);
    if problems.has_errors() {
        return (None, problems);
    }
    if value.marks_deep().has_ephemeral() && variable.ephemeral != Some(true) {
        problems.push(diagnostics::ephemeral_argument(variable, argument.expr.span));
        return (None, problems);
    }
    let is_null = value.is_null();
    let value = match variable.type_defaults.as_ref().filter(|_| !is_null) {
        Some(defaults) => defaults.apply(&value),
        None => value,
    };
    let given = value;
    let mut value = match convert::convert(&given, &variable.constraint) {
        Ok(value) => value,
        Err(reason) => {
            problems.push(crate::diagnostics::invalid_module_argument(variable, path, &reason.located_in(&given)));
            return (None, problems);
        }
    };
    if value.is_null() && !variable.is_nullable() {
        match &variable.default {
            Some(default) => value = default.clone(),
            None => {
                problems.push(crate::diagnostics::null_argument(variable, path, argument.expr.span));
                return (None, problems);
            }
        }
    }
    if let Some(message) = &variable.deprecated
        && !is_null
        && (value.is_known() || !passes_default_null_on(&tree.node(scope.module()).module, &argument.expr))
        && !named::is_disabled(scope.evaluation(), child)
    {
        let problem = diagnostics::deprecated_variable(variable, message, argument.expr.span);
        problems.push(deprecation::variable_set(tree, child, variable, message, problem));
    }
    problems.extend(yuba_config::variable::ignored_attributes(&argument.expr, &variable.constraint));
    (Some(value), problems)
}

/// Whether an expression is a variable that is null by default: that alone is not a use of the variable it is passed
/// to.
fn passes_default_null_on(module: &Module, expr: &Expr) -> bool {
    let ExprKind::Traversal(traversal) = &expr.kind else { return false };
    let [TraversalStep::Attr { name, .. }] = &traversal.steps[..] else { return false };
    let variable = module.variables.get(name).filter(|_| traversal.root == "var");
    variable.and_then(|variable| variable.default.as_ref()).is_some_and(Value::is_null)
}
