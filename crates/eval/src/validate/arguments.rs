//! Module calls: their arguments and how many instances they have.

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashMapExt};
use yuba_config::resource::Repetition;
use yuba_config::variable::Variable;
use yuba_syntax::body::AttributeSchema;
use yuba_syntax::{Attribute, BodySchema, Diagnostics};
use yuba_value::{Value, convert};

use super::{deprecation, diagnostics, repetition};
use crate::module_scope::{Evaluation, InstanceValues};
use crate::tree::{ConfigTree, ModuleId};

/// The arguments of all calls, by called module and name.
#[derive(Default)]
pub(super) struct Arguments(HashMap<ModuleId, HashMap<EcoString, Attribute>>);

impl Arguments {
    pub(super) fn get(&self, module: ModuleId, name: &str) -> Option<&Attribute> {
        self.0.get(&module)?.get(name)
    }
}

/// Reads the arguments of all calls: each must be for a variable of the called module, and required ones must be there.
pub(super) fn read(tree: &ConfigTree) -> (Arguments, Diagnostics) {
    let mut arguments = Arguments(HashMap::with_capacity(tree.len()));
    let mut problems = Diagnostics::new();
    for (id, node) in tree.iter() {
        let Some(call) = tree.call(id) else { continue };
        let attributes = node
            .module
            .variables
            .values()
            .map(|variable| AttributeSchema { name: variable.name.clone(), required: variable.default.is_none() });
        let schema = BodySchema { attributes: attributes.collect(), blocks: Vec::new() };
        let (content, found) = call.body.content(&schema);
        problems.extend(found);
        arguments.0.insert(id, content.attributes.into_iter().map(|a| (a.name.clone(), a)).collect());
    }
    (arguments, problems)
}

/// How many instances a call makes, and what it waits for.
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
    problems
}

/// The value that a call gives to a variable.
pub(super) fn check(
    evaluation: &Evaluation<'_>,
    module: ModuleId,
    variable: &Variable,
    arguments: &Arguments,
) -> Diagnostics {
    let node = evaluation.tree().node(module);
    let (Some(parent), Some(argument)) = (node.parent, arguments.get(module, &variable.name)) else {
        evaluation.set_given(module, &variable.name, variable.default.clone().unwrap_or_else(Value::unknown_dynamic));
        return Diagnostics::new();
    };
    let scope = evaluation.scope(parent).of_instance(InstanceValues::any());
    let (value, mut problems) = deprecation::eval(&scope, &argument.expr);
    if problems.has_errors() {
        return problems;
    }
    if value.marks_deep().has_ephemeral() && variable.ephemeral != Some(true) {
        problems.push(diagnostics::ephemeral_argument(variable, argument.expr.span));
        return problems;
    }
    let is_null = value.is_null();
    let value = match variable.type_defaults.as_ref().filter(|_| !is_null) {
        Some(defaults) => defaults.apply(&value),
        None => value,
    };
    let mut value = match convert::convert(&value, &variable.constraint) {
        Ok(value) => value,
        Err(reason) => {
            problems.push(diagnostics::unsuitable_argument(variable, &node.path, &eco_format!("{reason}")));
            return problems;
        }
    };
    if value.is_null() && !variable.is_nullable() {
        match &variable.default {
            Some(default) => value = default.clone(),
            None => {
                problems.push(diagnostics::null_argument(variable, &node.path, argument.expr.span));
                return problems;
            }
        }
    }
    evaluation.set_given(module, &variable.name, value);
    if let Some(message) = &variable.deprecated
        && !is_null
    {
        let problem = diagnostics::deprecated_variable(variable, message, argument.expr.span);
        problems.push(deprecation::used_in(evaluation.tree(), parent, &eco_format!("var.{}", variable.name), problem));
    }
    problems.extend(yuba_config::variable::ignored_attributes(&argument.expr, &variable.constraint));
    problems
}
