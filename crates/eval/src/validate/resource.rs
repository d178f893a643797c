//! Resources and provider configurations.

use std::collections::HashSet;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, InstanceKey, ProviderSource, Reference, ResourceMode, Subject};
use yuba_config::check::own_resource_problems;
use yuba_config::provider::ProviderConfig;
use yuba_config::resource::{
    IgnoreChanges, Lifecycle, Repetition, Resource, ResourceKey, is_of_feature, is_of_feature_type, trigger_problems,
};
use yuba_provider::{Answer, BlockSchema, ConfigurationOf, Problem, ProviderSchema, Providers, builtin};
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{BodySchema, Diagnostic, DiagnosticKey, Diagnostics, Expr, Traversal, TraversalStep};
use yuba_value::{Type, Value, convert};

use super::{body, deprecation, diagnostics, provisioner, repetition, rules, traversal};
use crate::constant::constant;
use crate::driven::trigger_parts;
use crate::module_scope::{Evaluation, InstanceValues, ModuleScope, schema_of};
use crate::references::each_traversal;
use crate::scope::{Names, Scope};
use crate::tree::ModuleId;

/// Results before a provider is asked, and the request to it.
pub(super) struct FirstHalf {
    pub(super) problems: Diagnostics,
    pub(super) request: Option<Request>,
}

/// A configuration that its provider validates.
pub(super) enum Request {
    /// The provider is built in, and has responded.
    Answered(Vec<Problem>),
    /// A provider process responds to the request.
    Ask(ProviderSource, ConfigurationOf, Value),
}

impl Request {
    /// Sends it.
    pub(super) fn send<'p>(self, providers: &'p dyn Providers) -> Answer<'p, Vec<Problem>> {
        match self {
            Request::Answered(problems) => Box::pin(std::future::ready(problems)),
            Request::Ask(provider, of, config) => providers.validate(&provider, of, config),
        }
    }
}

/// Scopes of expressions of a resource.
fn scope_of<'a>(evaluation: &'a Evaluation<'a>, module: ModuleId, resource: &'a Resource) -> ModuleScope<'a> {
    let values = InstanceValues::unknown(&resource.repetition);
    let scope = evaluation.scope(module).of_any_instance(&resource.repetition, values);
    match &resource.inside_check {
        Some(check) => scope.in_check(check),
        None => scope,
    }
}

/// Checks a resource up to the request to its provider.
pub(super) fn check<'a>(evaluation: &'a Evaluation<'a>, module: ModuleId, resource: &'a Resource) -> FirstHalf {
    let scope = scope_of(evaluation, module, resource);
    let mut problems = Diagnostics::new();
    let request = check_content(evaluation, module, &evaluation.scope(module), &scope, resource, &mut problems);
    FirstHalf { problems, request }
}

/// Checks the rest of a resource: with the diagnostics found so far, and the response of its provider.
pub(super) fn check_rest<'a>(
    evaluation: &'a Evaluation<'a>,
    module: ModuleId,
    resource: &'a Resource,
    first: &Diagnostics,
    answer: &[Problem],
) -> Diagnostics {
    let mut problems = first.clone();
    let address = diagnostics::address_in(&evaluation.tree().node(module).path, &resource.key);
    problems.extend(answer.iter().map(|problem| problem.clone().in_body(&resource.body, Some(&address))));
    check_around(&scope_of(evaluation, module, resource), resource, &mut problems);
    problems
}

/// Checks of the surroundings of the arguments, such as rules and provisioners.
fn check_around<'a>(scope: &ModuleScope<'a>, resource: &'a Resource, problems: &mut Diagnostics) {
    let with_self = scope.clone().with_self(resource);
    if is_of_feature_type(&resource.key) {
        let Lifecycle { preconditions, postconditions, .. } = &*resource.lifecycle;
        let rules = preconditions.iter().map(|rule| ("precondition", rule));
        for (kind, rule) in rules.chain(postconditions.iter().map(|rule| ("postcondition", rule))) {
            problems.extend(own_resource_problems(rule, kind, &resource.key, scope.context()));
        }
    }
    problems.extend(rules::of_resource(scope, &resource.lifecycle.preconditions));
    problems.extend(rules::of_resource(&with_self, &resource.lifecycle.postconditions));
    if let Some(expr) = &resource.lifecycle.prevent_destroy {
        problems.extend(prevent_destroy(scope, expr, &resource.key));
    }
    for provisioner in &resource.provisioners {
        problems.extend(provisioner::check(&with_self, provisioner, resource.connection.as_ref()));
        if problems.has_errors() {
            return;
        }
    }
    problems.extend(provider_key(scope, resource));
}

/// Checks of the block itself, by the provider's schema. If it is valid, the validation by the provider.
fn check_content(
    evaluation: &Evaluation<'_>,
    module: ModuleId,
    outside: &ModuleScope<'_>,
    scope: &ModuleScope<'_>,
    resource: &Resource,
    problems: &mut Diagnostics,
) -> Option<Request> {
    problems.extend(match &resource.repetition {
        Repetition::Single => Diagnostics::new(),
        Repetition::Count(expr) => repetition::count(outside, expr),
        Repetition::ForEach(expr) => repetition::for_each(outside, expr),
        Repetition::Enabled(expr) => {
            let own = own_references(scope, expr, &resource.key);
            if own.has_errors() { own } else { repetition::enabled(outside, expr) }
        }
    });
    problems.extend(repetition::depends_on(outside, &resource.depends_on));
    let provider = evaluation.tree().node(module).module.provider_of(resource)?;
    let schemas = evaluation.provider_schema(&provider)?;
    let Some(schema) = schema_of(&schemas, &resource.key) else {
        let hint = type_hint(&schemas, &resource.key);
        problems.push(diagnostics::missing_type(&resource.key, &provider, &hint, resource.kind_span));
        return None;
    };
    let address = diagnostics::address_in(&evaluation.tree().node(module).path, &resource.key);
    let (value, found) = body::eval_of(scope, &resource.body, schema, Some(&address));
    let failed = found.has_errors();
    problems.extend(found);
    if failed {
        return None;
    }
    if resource.key.mode == ResourceMode::Managed {
        ignore_changes(resource, schema, problems);
        for expr in &resource.lifecycle.replace_triggered_by {
            problems.extend(replace_trigger(scope, resource, expr));
        }
    }
    let ResourceKey { mode, kind, .. } = &resource.key;
    if provider.is_builtin() {
        let found = builtin::validate_resource_config(*mode, kind, &value);
        // Only the running provider knows which backends a data source supports.
        if !found.is_empty() || *mode != ResourceMode::Data {
            return Some(Request::Answered(found));
        }
    }
    let (plain, _) = value.unmark_deep();
    Some(Request::Ask(provider, ConfigurationOf::Resource(*mode, kind.clone()), plain))
}

/// Another mode or another type that may have been meant.
fn type_hint(schemas: &ProviderSchema, key: &ResourceKey) -> EcoString {
    let modes = [ResourceMode::Managed, ResourceMode::Data, ResourceMode::Ephemeral];
    let other = modes
        .into_iter()
        .find(|mode| *mode != key.mode && schema_of(schemas, &ResourceKey { mode: *mode, ..key.clone() }).is_some());
    match other {
        Some(mode) => diagnostics::wrong_mode(&key.kind, mode),
        None => did_you_mean(&key.kind, schemas.resources.keys().map(EcoString::as_str)).into(),
    }
}

/// Whether there is a resource cannot depend on itself. Elsewhere in the block such references are found when it is planned.
fn own_references(scope: &ModuleScope<'_>, expr: &Expr, key: &ResourceKey) -> Diagnostics {
    let mut problems = Diagnostics::new();
    each_traversal(expr, &mut |traversal| {
        if let Some(reference) = scope.parse(traversal).0 {
            problems.extend(own_reference(&reference, key));
        }
    });
    problems
}

fn own_reference(reference: &Reference, key: &ResourceKey) -> Diagnostics {
    match &reference.subject {
        Subject::Resource(resource) | Subject::ResourceInstance(resource, None)
            if ResourceKey::from(resource) == *key =>
        {
            diagnostics::self_referential(&diagnostics::address(key), reference.span).into()
        }
        _ => Diagnostics::new(),
    }
}

fn prevent_destroy(scope: &ModuleScope<'_>, expr: &Expr, key: &ResourceKey) -> Diagnostics {
    let (value, problems) = constant(expr);
    if problems.has_errors() {
        // Not a constant: whether it is fine will be seen when there are values. Its references are known now.
        let (names, _) = Names::of(expr, scope, &|_| false);
        let (_, found) = deprecation::eval(scope, expr);
        let counts = |problem: &Diagnostic| problem.is_about_deprecation();
        let keep_all = names.has_wrong_symbol(scope);
        let mut problems = Diagnostics::new();
        problems.extend(found.into_iter().filter(|problem| keep_all || counts(problem)));
        return problems;
    }
    match convert::convert(&value, &Type::bool()) {
        Ok(_) => Diagnostics::new(),
        Err(reason) => {
            let reason = eco_format!("{reason}");
            diagnostics::invalid_prevent_destroy(&diagnostics::address(key), &reason, expr.span).into()
        }
    }
}

fn ignore_changes(resource: &Resource, schema: &BlockSchema, problems: &mut Diagnostics) {
    let IgnoreChanges::Some(ignored) = &resource.lifecycle.ignore_changes else { return };
    for ignored in ignored {
        let steps = steps_of(ignored);
        problems.extend(traversal::check_steps(schema, &steps));
        if problems.has_errors() {
            continue;
        }
        if traversal::attribute_at(schema, &steps).is_some_and(|attribute| attribute.computed && !attribute.optional) {
            problems.push(diagnostics::redundant_ignore_changes(&ignored.root, resource.kind_span));
        }
    }
}

/// The root is an attribute like the rest.
fn steps_of(traversal: &Traversal) -> Vec<TraversalStep> {
    let root = TraversalStep::Attr { name: traversal.root.clone(), span: traversal.root_span };
    std::iter::once(root).chain(traversal.steps.iter().cloned()).collect()
}

/// The target of a trigger must exist; the configuration has checked its form.
fn replace_trigger(scope: &ModuleScope<'_>, resource: &Resource, expr: &Expr) -> Diagnostics {
    if expr.variables().into_iter().any(is_of_feature) {
        let (names, _) = Names::of(expr, scope, &|_| false);
        let is_symbol = |reference: &Reference| matches!(reference.subject, Subject::Symbol(_));
        let symbols = names.into_references().filter(is_symbol);
        let mut problems = Diagnostics::new();
        symbols.for_each(|symbol| problems.extend(scope.check(&symbol)));
        if !problems.has_errors() {
            problems.extend(trigger_problems(expr, scope.context()));
        }
        if problems.has_errors() {
            return problems;
        }
    }
    let Some((name, index, after)) = trigger_parts(expr) else { return Diagnostics::new() };
    // The index must be valid. Its value selects an instance, and all instances have the same schema.
    let found = index.map(|index| scope.eval_used(index).1).unwrap_or_default();
    if found.has_errors() {
        return found;
    }
    let (reference, problems) = scope.parse(&name);
    let Some(reference) = reference.filter(|_| !problems.has_errors()) else { return problems };
    let (Subject::Resource(subject) | Subject::ResourceInstance(subject, _)) = &reference.subject else {
        return Diagnostics::new();
    };
    let key = ResourceKey::from(subject);
    let evaluation = scope.evaluation();
    let Some(declared) = evaluation.tree().node(scope.module()).module.resources.get(&key) else {
        let own = diagnostics::address(&resource.key);
        return diagnostics::undeclared_trigger(&own, &diagnostics::address(&key), expr.span).into();
    };
    let schemas = evaluation.schemas_of(scope.module(), declared);
    let Some(schema) = schemas.as_deref().and_then(|schemas| schema_of(schemas, &key)) else {
        return Diagnostics::new();
    };
    let steps: Vec<TraversalStep> = reference.remaining().iter().chain(&after).cloned().collect();
    traversal::check_steps(schema, &steps)
}

/// The instance of a provider: an expression that is evaluated for every instance of the resource.
fn provider_key(scope: &ModuleScope<'_>, resource: &Resource) -> Diagnostics {
    match resource.provider.as_ref().and_then(|reference| reference.instance.as_ref()) {
        Some(key) => deprecation::eval(scope, key).1,
        None => Diagnostics::new(),
    }
}

/// A `for_each` of a provider that is not static: as far as its value is known.
pub(super) fn check_provider_for_each(
    evaluation: &Evaluation<'_>,
    module: ModuleId,
    provider: &ProviderConfig,
) -> Diagnostics {
    match evaluation.tree().dynamic_for_each(module, provider) {
        Some(for_each) => repetition::for_each(&evaluation.scope(module), for_each),
        None => Diagnostics::new(),
    }
}

/// An instance of a provider configuration, with what is found before the provider is asked.
pub(super) struct ProviderHalf {
    pub(super) first: FirstHalf,
    address: EcoString,
}

/// A provider configuration that something uses, up to the requests to the provider: one for each instance.
pub(super) fn check_provider(
    evaluation: &Evaluation<'_>,
    module: ModuleId,
    provider: &ProviderConfig,
) -> Vec<ProviderHalf> {
    let mut halves = Vec::new();
    if !provider.body.content(&BodySchema::default()).1.has_errors() {
        // Nothing is configured: maybe the environment says what the provider needs.
        return halves;
    }
    let tree = evaluation.tree();
    let source = tree.provider_type(module, &provider.key.name);
    let Some(source) = source else { return halves };
    let Some(schemas) = evaluation.provider_schema(&source) else { return halves };
    let mut schema = schemas.provider.block.clone();
    schema.ephemeral = true;
    let instances: Vec<InstanceValues> =
        match (tree.node(module).provider_instances.get(&provider.key), &provider.for_each) {
            (None, None) => vec![InstanceValues::default()],
            (None, Some(for_each)) => vec![InstanceValues::unknown(&Repetition::ForEach(for_each.clone()))],
            (Some(instances), _) => instances
                .iter()
                .map(|(key, value)| InstanceValues {
                    count_index: None,
                    each_key: Some(yuba_value::Value::string(key.clone())),
                    each_value: Some(value.clone()),
                })
                .collect(),
        };
    let config = AbsProviderConfig {
        module: tree.node(module).path.clone(),
        provider: source.clone(),
        alias: provider.key.alias.clone(),
    };
    for instance in instances {
        let key = instance.each_key.as_ref().and_then(|key| key.as_str().cloned()).map(InstanceKey::String);
        let scope = evaluation.scope(module).of_instance(instance);
        let (value, mut found) = body::eval(&scope, &provider.body, &schema);
        if let Some(key) = &key {
            found = crate::driven::of_provider_instance(found, &config, key);
        }
        let request = (!found.has_errors() && !source.is_builtin())
            .then(|| Request::Ask(source.clone(), ConfigurationOf::Provider, value.unmark_deep().0));
        let key = key.map(|key| eco_format!("{key}")).unwrap_or_default();
        halves.push(ProviderHalf {
            first: FirstHalf { problems: found, request },
            address: eco_format!("{config}{key}"),
        });
    }
    halves
}

/// Adds the response of the provider. Problems that another instance has already reported are not repeated.
pub(super) fn extend_with_provider(
    problems: &mut Diagnostics,
    half: ProviderHalf,
    answer: Vec<Problem>,
    provider: &ProviderConfig,
) {
    let mut found = half.first.problems;
    found.extend(answer.into_iter().map(|problem| problem.in_body(&provider.body, Some(&half.address))));
    let known: HashSet<DiagnosticKey> = problems.iter().map(Diagnostic::key).collect();
    found.retain(|problem| !known.contains(&problem.key()));
    problems.extend(found);
}
