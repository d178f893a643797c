//! The search for deprecated values while nothing but types is known.
//!
//! Validation does not know which instances a module call has, so the value of the whole call is unknown and says
//! nothing about its deprecated outputs. A probe is a second evaluation of the same configuration in which such a call
//! has one sample instance and variables of called modules keep the deprecated parts of their arguments. Only its marks
//! of deprecation are used: its other results are not reported. It exists only where a called module has a deprecated
//! output.

use ecow::EcoString;
use yuba_config::module_call::ModuleCall;
use yuba_config::resource::Repetition;
use yuba_config::variable::Variable;
use yuba_syntax::Expr;
use yuba_value::{Type, Value, View, convert};

use crate::inputs;
use crate::module_scope::{EvalEnv, EvalMode, Evaluation, InstanceValues, ModuleScope, OutputRead, faded, keep_unread};
use crate::scope_marks::has_unread;
use crate::tree::{ConfigTree, ModuleId};

/// The location of an evaluation in the search.
#[derive(Clone, Copy, Default)]
pub(crate) enum Probe<'a> {
    /// Nothing is searched for.
    #[default]
    None,
    /// It is searched in another evaluation.
    In(&'a Evaluation<'a>),
    /// This evaluation is searched in.
    Here,
}

/// Stands for the key of an instance that is not known.
const SAMPLE_KEY: &str = "(sample)";

/// Number of elements of a `for_each` that are tried.
const MAX_SAMPLES: usize = 10;

impl<'a> Evaluation<'a> {
    /// A probe of a configuration; none where it cannot find anything.
    pub(crate) fn new_probe(tree: &'a ConfigTree, env: EvalEnv<'a>) -> Option<Evaluation<'a>> {
        let can_find = tree.iter().any(|(_, node)| {
            node.parent.is_some() && node.module.outputs.values().any(|output| output.deprecated.is_some())
        });
        can_find.then(|| {
            let mut probe = Evaluation::new(tree, env, EvalMode::Types);
            probe.probe = Probe::Here;
            probe
        })
    }

    /// An evaluation with a probe beside it, while only types are known.
    pub(crate) fn with_probe(
        tree: &'a ConfigTree,
        env: EvalEnv<'a>,
        probe: Option<&'a Evaluation<'a>>,
    ) -> Evaluation<'a> {
        let mut evaluation = Evaluation::new(tree, env, EvalMode::Types);
        evaluation.probe = probe.map_or(Probe::None, Probe::In);
        if let Some(probe) = probe {
            evaluation.calls = probe.calls.clone();
        }
        evaluation
    }

    fn probe(&self) -> Option<&'a Evaluation<'a>> {
        match self.probe {
            Probe::In(probe) => Some(probe),
            Probe::None | Probe::Here => None,
        }
    }

    /// Deprecated parts of the value that a called module gets for a variable.
    pub(crate) fn sampled_variable(&'a self, module: ModuleId, variable: &Variable) -> Option<Value> {
        let (parent, call) = (self.tree().node(module).parent?, self.tree().call(module)?);
        if !matches!(self.probe, Probe::Here) {
            return None;
        }
        let value = self.remembered_variable(module, &variable.name, || {
            let arguments = call.body.just_attributes().0;
            let Some(argument) = arguments.into_iter().find(|argument| argument.name == variable.name) else {
                return Value::unknown_dynamic();
            };
            let scope = self.scope(parent).of_instance(InstanceValues::any());
            let each = self.samples(&scope, &call.repetition).into_iter().next();
            let value = keep_unread(&scope.elsewhere(self, each.as_ref()).eval(&argument.expr).0);
            let (prepared, problems) = inputs::prepare(variable, Some(value), inputs::GivenAt::Nowhere);
            if problems.has_errors() { Value::unknown_dynamic() } else { prepared }
        });
        has_unread(&value).then(|| faded(&value))
    }

    /// A whole call with one sample instance.
    pub(crate) fn sampled_call(&'a self, child: ModuleId, call: &ModuleCall) -> Option<Value> {
        let parent = self.tree().node(child).parent?;
        if !matches!(self.probe, Probe::Here) {
            return None;
        }
        let instance = |key: &str| {
            let outputs = &self.tree().node(child).module.outputs;
            let value = |output| self.exported(child, output, key, OutputRead::WithCall);
            Value::object(outputs.iter().map(|(name, output)| (name.clone(), value(output))).collect())
        };
        let known = |expr: &Expr| self.scope(parent).eval(expr).0.unmark_deep().0;
        match &call.repetition {
            Repetition::Single => None,
            Repetition::Count(expr) => {
                let count = convert::convert(&known(expr), &Type::number()).ok();
                let is_zero = count.is_some_and(|count| count.as_number().is_some_and(yuba_value::Number::is_zero));
                Some(Value::tuple(if is_zero { Vec::new() } else { vec![instance("[...]")] }))
            }
            Repetition::ForEach(expr) => {
                let keys = keys_of(&known(expr));
                let keys = keys.unwrap_or_else(|| vec![SAMPLE_KEY.into()]);
                Some(Value::object(keys.into_iter().map(|key| (key, instance("[...]"))).collect()))
            }
            Repetition::Enabled(expr) => match convert::convert(&known(expr), &Type::bool()).ok()?.as_bool() {
                Some(false) => Some(Value::null(Type::dynamic())),
                _ => Some(instance("")),
            },
        }
    }

    /// Elements of a `for_each` of which parts are deprecated.
    fn samples(&'a self, outside: &ModuleScope<'a>, repetition: &Repetition) -> Vec<Value> {
        let Repetition::ForEach(expr) = repetition else { return Vec::new() };
        let (value, _) = outside.elsewhere(self, None).eval(expr);
        let (value, _) = keep_unread(&value).unmark();
        let elements = value.entries().unwrap_or_default().into_iter().map(|(_, element)| element);
        elements.filter(has_unread).take(MAX_SAMPLES).collect()
    }
}

/// The keys of a `for_each` that is known.
fn keys_of(value: &Value) -> Option<Vec<EcoString>> {
    if !value.is_known() || value.is_null() {
        return None;
    }
    match value.view_ignoring_marks() {
        View::Set(items) => items.iter().map(|item| item.as_str().cloned()).collect(),
        _ => Some(value.entries()?.into_iter().map(|(key, _)| key).collect()),
    }
}

impl<'a> ModuleScope<'a> {
    /// Inside of any instance of something repeated.
    #[must_use]
    pub(crate) fn of_any_instance(self, repetition: &Repetition, values: InstanceValues) -> ModuleScope<'a> {
        let samples = match self.evaluation().probe() {
            Some(probe) => probe.samples(&self, repetition),
            None => Vec::new(),
        };
        let mut scope = self.of_instance(values);
        scope.samples = samples;
        scope
    }

    /// Locations in the probe where an expression of this location can be evaluated; none where nothing can be found.
    pub(crate) fn probes(&self) -> Vec<ModuleScope<'a>> {
        let Some(probe) = self.evaluation().probe() else { return Vec::new() };
        match self.samples.is_empty() {
            true => vec![self.elsewhere(probe, None)],
            false => self.samples.iter().map(|value| self.elsewhere(probe, Some(value))).collect(),
        }
    }
}
