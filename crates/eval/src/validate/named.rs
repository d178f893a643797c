//! Variables, local values, outputs and checks.

use yuba_addrs::Subject;
use yuba_config::check::Check;
use yuba_config::module_call::ModuleCall;
use yuba_config::output::Output;
use yuba_config::resource::Repetition;
use yuba_config::variable::{Local, Variable};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::Value;

use super::{ValidateEnv, deprecation, diagnostics, repetition, rules};
use crate::graph::CallArguments;
use crate::inputs::GivenBy;
use crate::module_scope::{Evaluation, ModuleScope, marked};
use crate::scope::Names;
use crate::tree::{ConfigTree, ModuleId};

/// The rules of a variable. A value that the call gives may be known; of the root module's variables only types are.
pub(super) fn variable(
    evaluation: &Evaluation<'_>,
    module: ModuleId,
    variable: &Variable,
    arguments: &CallArguments,
    env: &ValidateEnv<'_>,
) -> Diagnostics {
    let tree = evaluation.tree();
    let mut problems = Diagnostics::new();
    if let (None, Some(given)) = (tree.node(module).parent, env.inputs.given_by(variable)) {
        problems.extend(deprecated_root_variable(tree, variable, given));
    }
    if variable.validations.is_empty() || is_disabled(evaluation, module) {
        return problems;
    }
    let value = evaluation
        .given(module, &variable.name)
        .unwrap_or_else(|| Value::unknown(variable.constraint.without_optional()));
    let value = marked(value, variable);
    let given = arguments.get(module, &variable.name).map(|argument| argument.expr.span);
    let scope = evaluation.scope(module).with_variable(&variable.name, &value);
    let found = rules::of_variable(&scope, variable, given).1;
    if calls(tree, module).any(|(_, call)| matches!(call.repetition, Repetition::Enabled(_))) {
        problems.extend(found.into_iter().map(|mut problem| {
            problem.extra.get_or_insert_default().depends_on_enabled = true;
            problem
        }));
    } else {
        problems.extend(found);
    }
    problems
}

/// The call of a module and those of the modules around it, each with the module that it stands in.
fn calls(tree: &ConfigTree, module: ModuleId) -> impl Iterator<Item = (ModuleId, &ModuleCall)> {
    let mut at = module;
    std::iter::from_fn(move || {
        let (parent, call) = (tree.node(at).parent?, tree.call(at)?);
        at = parent;
        Some((parent, call))
    })
}

/// The warning about a variable of the root module that was given a value, if it is deprecated.
pub fn deprecated_root_variable(tree: &ConfigTree, variable: &Variable, given: GivenBy) -> Option<Diagnostic> {
    let message = variable.deprecated.as_ref()?;
    let problem = diagnostics::deprecated_root_variable(variable, message, given);
    Some(deprecation::variable_set(tree, ModuleId::ROOT, variable, message, problem))
}

/// Whether a module, or one around it, is known to have no instance.
pub(super) fn is_disabled(evaluation: &Evaluation<'_>, module: ModuleId) -> bool {
    calls(evaluation.tree(), module).any(|(parent, call)| match &call.repetition {
        Repetition::Enabled(expr) => repetition::is_disabled(&evaluation.scope(parent), expr),
        _ => false,
    })
}

pub(super) fn local(evaluation: &Evaluation<'_>, module: ModuleId, local: &Local) -> Diagnostics {
    let scope = evaluation.scope(module);
    let mut problems = Diagnostics::new();
    let (names, _) = Names::of(&local.expr, &scope, &|_| false);
    for reference in names.into_references() {
        if matches!(&reference.subject, Subject::Local(name) if *name == local.name) {
            problems.push(diagnostics::self_referencing_local(&local.name, reference.span, local.expr.span));
        }
    }
    if problems.has_errors() {
        return problems;
    }
    let (value, problems) = deprecation::eval_named(&scope, &local.expr);
    if !problems.has_errors() {
        evaluation.set_local(module, &local.name, value);
    }
    problems
}

pub(super) fn output(evaluation: &Evaluation<'_>, module: ModuleId, output: &Output) -> Diagnostics {
    let scope = evaluation.scope(module);
    let mut problems = rules::of_output(&scope, &output.preconditions);
    if problems.has_errors() {
        return problems;
    }
    let (value, found) = output_value(&scope, output);
    problems.extend(found);
    if let Some(value) = value {
        evaluation.set_output(module, &output.name, value);
    }
    problems
}

/// The value of an output in its module, without what the block says about it.
pub(crate) fn output_value(scope: &ModuleScope<'_>, output: &Output) -> (Option<Value>, Diagnostics) {
    let Some(expr) = &output.value else { return (None, Diagnostics::new()) };
    let is_root = scope.module() == ModuleId::ROOT;
    let (value, mut problems) = deprecation::eval_named(scope, expr);
    problems.extend(repetition::depends_on(scope, &output.depends_on));
    if output.ephemeral == Some(true) && is_root {
        problems.push(diagnostics::ephemeral_root_output(output));
        return (None, problems);
    }
    let marks = value.marks_deep();
    if marks.has_ephemeral() && output.ephemeral != Some(true) {
        problems.push(diagnostics::ephemeral_output(expr.span));
        return (None, problems);
    }
    if is_root && output.sensitive != Some(true) && marks.has_sensitive() {
        problems.push(diagnostics::sensitive_output(output));
    }
    let value = (!problems.has_errors()).then_some(value);
    (value, problems)
}

pub(super) fn check(evaluation: &Evaluation<'_>, module: ModuleId, check: &Check) -> Diagnostics {
    let scope = evaluation.scope(module).in_check(&check.name);
    rules::of_check(&scope, &check.asserts)
}
