//! From an expression along the references in it: to variables, local values, outputs of modules and resources.

use std::collections::HashSet;

use yuba_addrs::{InstanceKey, ModuleInstance, Reference, Subject};
use yuba_config::resource::{Repetition, Resource, ResourceKey};
use yuba_config::variable::Variable;
use yuba_eval::inputs::GivenBy;
use yuba_eval::references::{each_call, each_traversal};
use yuba_eval::{InstanceValues, ModuleId};
use yuba_syntax::{Expr, ExprKind, Traversal};
use yuba_value::{EcoString, Value};

use super::shown::{self, Secrecy};
use super::{Cause, CauseKind, Effect, Expression, Facts, FileLine, Given};

/// Maximum number of references in one explanation of an attribute.
const MOST: usize = 200;

/// The scope of an expression.
#[derive(Clone)]
pub(super) struct Site<'a> {
    /// The module.
    pub(super) module: ModuleId,
    /// The instance of the module. Calls without a key stand for all instances.
    pub(super) instance: ModuleInstance,
    /// The object whose `each` and `count` the expression means.
    pub(super) owner: Owner<'a>,
}

/// The object whose `each` and `count` an expression means.
#[derive(Clone)]
pub(super) enum Owner<'a> {
    /// None.
    Nothing,
    /// A resource of the module, with the key of the instance if one is meant.
    Resource(&'a Resource, Option<InstanceKey>),
    /// The call of this module, with the key of the instance if one is meant.
    Call(ModuleId, Option<InstanceKey>),
}

/// A walk along references. Objects are explained once.
pub(super) struct Walk<'f, 'a> {
    facts: &'f Facts<'a>,
    explained: HashSet<EcoString>,
    left: usize,
}

impl<'a> Walk<'_, 'a> {
    pub(super) fn new<'f>(facts: &'f Facts<'a>) -> Walk<'f, 'a> {
        Walk { facts, explained: HashSet::new(), left: MOST }
    }

    /// An expression with everything that it refers to. `iterators` are names that `dynamic` blocks around it declare.
    pub(super) fn expression(
        &mut self,
        expr: &Expr,
        site: &Site<'a>,
        secrecy: Secrecy,
        iterators: &[EcoString],
    ) -> Expression {
        let mut traversals: Vec<&Traversal> = Vec::new();
        each_traversal(expr, &mut |traversal| traversals.push(traversal));
        let mut causes: Vec<Cause> = Vec::new();
        for traversal in traversals.into_iter().filter(|traversal| !iterators.contains(&traversal.root)) {
            if let Some(cause) = self.cause(traversal, site, secrecy)
                && causes.iter().all(|other| other.name != cause.name)
            {
                causes.push(cause);
            }
        }
        each_call(expr, &mut |call| {
            if call.name.starts_with("provider::") && causes.iter().all(|other| other.name != call.name) {
                causes.push(leaf(call.name.to_string(), CauseKind::Function));
            }
        });
        Expression {
            text: shown::expression(self.facts, expr, secrecy),
            at: shown::location(self.facts, expr.span),
            causes,
        }
    }

    fn cause(&mut self, traversal: &Traversal, site: &Site<'a>, secrecy: Secrecy) -> Option<Cause> {
        self.left = self.left.checked_sub(1)?;
        let module = &self.facts.tree.node(site.module).module;
        let reference = Reference::parse(traversal, &**module).0?;
        Some(match &reference.subject {
            Subject::Variable(name) => self.variable(name, site, secrecy),
            Subject::Local(name) => self.local(name, site, secrecy),
            Subject::ModuleOutput(call, key, output) => self.output(call, key.as_ref(), output, site, secrecy),
            Subject::Module(call) => {
                leaf(shown::in_module(&site.instance, &format!("module.{call}")).to_string(), CauseKind::Module)
            }
            Subject::ModuleInstance(call, key) => {
                leaf(shown::in_module(&site.instance, &format!("module.{call}{key}")).to_string(), CauseKind::Module)
            }
            Subject::Resource(resource) => self.resource(resource, None, &reference, site, secrecy),
            Subject::ResourceInstance(resource, key) => {
                self.resource(resource, Some(key.as_ref()), &reference, site, secrecy)
            }
            Subject::Each(_) | Subject::Count(_) => self.repetition(traversal, site, secrecy),
            _ => {
                let value = self.value(traversal, site);
                let kind = CauseKind::Other;
                Cause { value: value.map(|value| shown::value(&value, secrecy)), ..leaf(written(traversal), kind) }
            }
        })
    }

    /// Whether an object was explained before. From now on it is.
    fn is_repeated(&mut self, name: &str) -> bool {
        !self.explained.insert(name.into())
    }

    pub(super) fn variable(&mut self, name: &EcoString, site: &Site<'a>, secrecy: Secrecy) -> Cause {
        let facts = self.facts;
        let shown_name = shown::in_module(&site.instance, &format!("var.{name}"));
        let declared = facts.tree.node(site.module).module.variables.get(name);
        let value = self.named_value("var", name, site);
        let declared_secrecy =
            declared.map_or(Secrecy::Open, |variable| Secrecy::declared([variable.sensitive, variable.ephemeral]));
        let mut secrecy = secrecy.with(declared_secrecy).with(Secrecy::of(value.as_ref()));
        let mut cause = leaf(shown_name.to_string(), CauseKind::Variable);
        cause.value = value.map(|value| shown::value(&value, secrecy));
        let Some(variable) = declared else { return cause };
        let argument = facts.arguments.get(site.module, name);
        match (facts.tree.node(site.module).parent, argument) {
            (None, _) => cause.given = Some(given(facts, variable)),
            (Some(_), None) => cause.given = Some(default_of(facts, variable)),
            (Some(parent), Some(argument)) => {
                cause.given = Some(Given::Call);
                cause.is_repeated = self.is_repeated(&shown_name);
                if !cause.is_repeated {
                    let (instance, key) = match site.instance.call() {
                        Some((outer, step)) => (outer, step.key.clone()),
                        None => (ModuleInstance::ROOT, None),
                    };
                    let outer = Site { module: parent, instance, owner: Owner::Call(site.module, key) };
                    if cause.value.is_none()
                        && let Some(value) = self.evaluated(&argument.expr, &outer)
                    {
                        secrecy = secrecy.with(Secrecy::of(Some(&value)));
                        cause.value = Some(shown::value(&value, secrecy));
                    }
                    cause.expressions.push(self.expression(&argument.expr, &outer, secrecy, &[]));
                }
            }
        }
        cause
    }

    pub(super) fn local(&mut self, name: &EcoString, site: &Site<'a>, secrecy: Secrecy) -> Cause {
        let shown_name = shown::in_module(&site.instance, &format!("local.{name}"));
        let value = self.named_value("local", name, site);
        let secrecy = secrecy.with(Secrecy::of(value.as_ref()));
        let mut cause = leaf(shown_name.to_string(), CauseKind::Local);
        cause.value = value.map(|value| shown::value(&value, secrecy));
        cause.is_repeated = self.is_repeated(&shown_name);
        if let Some(local) = self.facts.tree.node(site.module).module.locals.get(name).filter(|_| !cause.is_repeated) {
            let site = Site { owner: Owner::Nothing, ..site.clone() };
            cause.expressions.push(self.expression(&local.expr, &site, secrecy, &[]));
        }
        cause
    }

    fn output(
        &mut self,
        call: &EcoString,
        key: Option<&InstanceKey>,
        output: &EcoString,
        site: &Site<'a>,
        secrecy: Secrecy,
    ) -> Cause {
        let instance = site.instance.child(call.clone(), key.cloned());
        let shown_name = shown::in_module(&instance, output);
        let mut cause = leaf(shown_name.to_string(), CauseKind::Module);
        cause.is_repeated = self.is_repeated(&shown_name);
        let child = self.facts.tree.node(site.module).children.get(call);
        let Some(module) = child.copied().filter(|_| !cause.is_repeated) else { return cause };
        if let Some(output) = self.facts.tree.node(module).module.outputs.get(output)
            && let Some(expr) = &output.value
        {
            let secrecy = secrecy.with(Secrecy::declared([output.sensitive, output.ephemeral]));
            let site = Site { module, instance, owner: Owner::Nothing };
            cause.expressions.push(self.expression(expr, &site, secrecy, &[]));
        }
        cause
    }

    fn resource(
        &mut self,
        resource: &yuba_addrs::Resource,
        key: Option<Option<&InstanceKey>>,
        reference: &Reference,
        site: &Site<'a>,
        secrecy: Secrecy,
    ) -> Cause {
        let declared = self.facts.tree.node(site.module).module.resources.get(&ResourceKey::from(resource));
        let is_repeated = declared
            .is_some_and(|resource| matches!(resource.repetition, Repetition::Count(_) | Repetition::ForEach(_)));
        // `a.b.c` of a resource with keys reads all its instances.
        let key = if is_repeated && key == Some(None) { None } else { key };
        let steps = super::instances::steps(reference.remaining());
        let base = match key.flatten() {
            Some(key) => format!("{resource}{key}"),
            None => resource.to_string(),
        };
        let read = shown::path(&steps);
        let base = match read.is_empty() || read.starts_with('[') {
            true => base + &read,
            false => format!("{base}.{read}"),
        };
        let name = shown::in_module(&site.instance, &base);
        let effect = super::instances::effect(self.facts, resource, key, &site.instance, &steps, secrecy);
        Cause { effect, ..leaf(name.to_string(), CauseKind::Resource) }
    }

    /// `each.key`, `each.value` and `count.index`: the argument of the object around the expression.
    fn repetition(&mut self, traversal: &Traversal, site: &Site<'a>, secrecy: Secrecy) -> Cause {
        let name = written(traversal);
        let mut cause = leaf(name.clone(), CauseKind::Repetition);
        let Some(repetition) = repetition_of(self.facts, &site.owner) else { return cause };
        let object = match &site.owner {
            Owner::Nothing => return cause,
            Owner::Resource(resource, _) => yuba_addrs::Resource::from(&resource.key).to_string(),
            Owner::Call(module, _) => format!("module.{}", self.facts.tree.node(*module).call),
        };
        let value = self.value(traversal, site);
        let secrecy = secrecy.with(Secrecy::of(value.as_ref()));
        cause.value = value.map(|value| shown::value(&value, secrecy));
        let object = shown::in_module(&site.instance, &object);
        cause.is_repeated = self.is_repeated(&ecow::eco_format!("for_each of {object}"));
        if let (Some((_, expr)), false) = (argument(repetition), cause.is_repeated) {
            let site = Site { owner: Owner::Nothing, ..site.clone() };
            cause.expressions.push(self.expression(expr, &site, secrecy, &[]));
        }
        cause
    }

    /// The value of a reference, if it is known without any resource.
    fn value(&self, traversal: &Traversal, site: &Site<'_>) -> Option<Value> {
        let expr = Expr { kind: ExprKind::Traversal(traversal.clone()), span: traversal.span };
        self.evaluated(&expr, site)
    }

    /// The value of an expression in its scope, if it is known without any resource.
    fn evaluated(&self, expr: &Expr, site: &Site<'_>) -> Option<Value> {
        let scope = self.facts.evaluation.scope(site.module).of_instance(instance_values(self.facts, site));
        let (value, problems) = scope.eval(expr);
        (!problems.has_errors() && value.is_wholly_known()).then_some(value)
    }

    fn named_value(&self, root: &str, name: &EcoString, site: &Site<'_>) -> Option<Value> {
        let span = yuba_syntax::Span::default();
        let step = yuba_syntax::TraversalStep::Attr { name: name.clone(), span };
        let traversal = Traversal { root: root.into(), root_span: span, steps: [step].into(), span };
        self.value(&traversal, site)
    }
}

/// The value of an expression, if it is known without any resource.
pub(super) fn known(facts: &Facts<'_>, expr: &Expr, module: ModuleId) -> Option<Value> {
    let (value, problems) = facts.evaluation.scope(module).eval(expr);
    (!problems.has_errors() && value.is_wholly_known()).then_some(value)
}

fn repetition_of<'a>(facts: &Facts<'a>, owner: &Owner<'a>) -> Option<&'a Repetition> {
    match owner {
        Owner::Nothing => None,
        Owner::Resource(resource, _) => Some(&resource.repetition),
        Owner::Call(module, _) => Some(&facts.tree.call(*module)?.repetition),
    }
}

/// `each` and `count` in a scope, as far as they are known without any resource.
fn instance_values(facts: &Facts<'_>, site: &Site<'_>) -> InstanceValues {
    let key = match &site.owner {
        Owner::Nothing => return InstanceValues::default(),
        Owner::Resource(_, key) | Owner::Call(_, key) => key,
    };
    let Some(repetition) = repetition_of(facts, &site.owner) else { return InstanceValues::any() };
    let mut values = match key {
        None => return InstanceValues::unknown(repetition),
        key => InstanceValues::of_key(key.as_ref()),
    };
    if let (Some(InstanceKey::String(key)), Repetition::ForEach(expr)) = (key, repetition)
        && let Some(all) = known(facts, expr, site.module)
    {
        let of_set = || values.each_key.clone().filter(|_| all.ty().is_set());
        let member = all.entries().into_iter().flatten().find(|(name, _)| name == key).map(|(_, value)| value);
        values.each_value = member.or_else(of_set).or(values.each_value);
    }
    values
}

/// The argument of a repetition: its name and expression.
pub(super) fn argument(repetition: &Repetition) -> Option<(&'static str, &Expr)> {
    match repetition {
        Repetition::Single => None,
        Repetition::Count(expr) => Some(("count", expr)),
        Repetition::ForEach(expr) => Some(("for_each", expr)),
        Repetition::Enabled(expr) => Some(("enabled", expr)),
    }
}

/// Source of the value of a variable of the root module.
pub(super) fn given(facts: &Facts<'_>, variable: &Variable) -> Given {
    match facts.inputs.given_by(variable) {
        Some(GivenBy::Expression(span)) => match shown::location(facts, span) {
            Some(at) => Given::File(at),
            None => Given::Plan,
        },
        Some(GivenBy::Environment) => {
            Given::Environment(format!("{}{}", yuba_eval::inputs::ENVIRONMENT_PREFIX, variable.name))
        }
        Some(GivenBy::Flag) => Given::Flag,
        Some(GivenBy::Answer) => Given::Prompt,
        None if facts.plan.is_some_and(|plan| plan.variables.contains_key(&variable.name)) => Given::Plan,
        None => default_of(facts, variable),
    }
}

fn default_of(facts: &Facts<'_>, variable: &Variable) -> Given {
    match &variable.default_expr {
        Some(expr) => Given::Default(shown::location(facts, expr.span)),
        None if variable.default.is_some() => Given::Default(None),
        None => Given::Missing,
    }
}

fn leaf(name: String, kind: CauseKind) -> Cause {
    Cause { name, kind, value: None, given: None, effect: None::<Effect>, expressions: Vec::new(), is_repeated: false }
}

/// A name as it is written.
fn written(traversal: &Traversal) -> String {
    let steps = shown::path(&super::instances::steps(&traversal.steps));
    if steps.is_empty() { traversal.root.to_string() } else { format!("{}.{steps}", traversal.root) }
}

/// FileLine of the block that calls a module; none for the root module.
pub(super) fn call_location(facts: &Facts<'_>, module: ModuleId) -> Option<FileLine> {
    shown::location(facts, facts.tree.call(module)?.span)
}
