//! Names in a module of a configuration: the values of its variables, locals, resources and calls.
//!
//! An [`Evaluation`] holds the values found so far for a whole tree; a [`ModuleScope`] is the view of one location in
//! one of its modules. Values are evaluated on demand and once: a local value is evaluated once per module, however
//! often it is used.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_addrs::{InstanceKey, ParseRefContext, ProviderSource, Reference, ResourceMode, Subject};
use yuba_config::module_call::ModuleCall;
use yuba_config::output::Output;
use yuba_config::resource::{Repetition, Resource, ResourceKey};
use yuba_config::variable::Variable;
use yuba_provider::{BlockSchema, CallMemo, DeprecatedOf, ProviderSchema, Providers};
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Sources, Span, Traversal};
use yuba_value::{Deprecation, Mark, Type, Value};

use crate::functions::{CallContext, FunctionTable, OtherFunctions};
use crate::inputs;
use crate::live::{Live, ModuleInstanceId};
use crate::probe::Probe;
use crate::scope::{Activity, Scope, eval_expr, path_value, terraform_value};
use crate::settle::SteadyWorld;
use crate::symbols::{self, SymbolScope};
use crate::tree::{ConfigTree, ModuleId, ModuleNode, Tested};
use crate::validate::{self, diagnostics, traversal};
use crate::world::World;

pub use crate::instance_values::InstanceValues;
pub(crate) use crate::scope_marks::{faded, keep_unread};
pub use crate::scope_marks::{marked, remove_deprecations};

/// Context of evaluation besides the configuration.
#[derive(Clone, Copy)]
pub struct EvalEnv<'a> {
    /// The outside.
    pub world: &'a dyn World,
    /// The name of the workspace.
    pub workspace: &'a str,
    /// The directory the process was started in, if it is not the working directory.
    pub original_dir: Option<&'a str>,
    /// Providers: their schemas, and calls of their functions.
    pub providers: &'a dyn Providers,
    /// The files expressions come from.
    pub sources: Option<&'a Sources>,
}

/// Known values of variables.
#[derive(Clone, Copy)]
pub enum EvalMode<'a> {
    /// Nothing but their types: the configuration is checked for all possible values.
    Types,
    /// The values of the root module's variables, as [`inputs::prepare`] makes them; those of other modules follow.
    Values(&'a BTreeMap<EcoString, Value>),
    /// Everything, for each instance of each module, as planning and applying set it.
    Live(&'a Live),
}

/// The values of a configuration that were requested so far.
pub struct Evaluation<'a> {
    tree: &'a ConfigTree,
    env: EvalEnv<'a>,
    mode: EvalMode<'a>,
    schemas: RefCell<HashMap<ProviderSource, Option<Arc<ProviderSchema>>>>,
    /// Results of calls of provider functions.
    pub(crate) calls: Rc<CallMemo>,
    pub(crate) world: SteadyWorld<'a>,
    /// Number of calls that are made at the same time.
    pub(crate) parallelism: usize,
    values: RefCell<HashMap<(ModuleId, Name), State>>,
    depth: Cell<u32>,
    pub(crate) probe: Probe<'a>,
}

/// An object with a value in a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Variable(EcoString),
    Local(EcoString),
    Output(EcoString),
    Resource(ResourceKey),
    /// The value of a call in the calling module.
    Call,
}

#[derive(Clone)]
enum State {
    /// The requested value depends on itself.
    Evaluating,
    Done(Value),
    /// Found in this round of calls, and depends on one that is not made yet.
    Unsettled(Value, u64),
}

/// Maximum number of steps between an expression and a value it depends on.
const MAX_DEPTH: u32 = 5_000;

/// Form of a reference to an output of a module call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputRead {
    /// By its name.
    ByName,
    /// As a part of the whole call, of which no output is selected yet.
    WithCall,
}

impl<'a> Evaluation<'a> {
    /// Of a tree.
    pub fn new(tree: &'a ConfigTree, env: EvalEnv<'a>, mode: EvalMode<'a>) -> Evaluation<'a> {
        Evaluation {
            tree,
            env,
            mode,
            schemas: RefCell::default(),
            calls: Rc::default(),
            world: SteadyWorld::new(env.world),
            parallelism: validate::PARALLELISM,
            values: RefCell::default(),
            depth: Cell::new(0),
            probe: Probe::None,
        }
    }
    /// The tree.
    pub fn tree(&self) -> &'a ConfigTree {
        self.tree
    }
    /// Further known values.
    pub fn env(&self) -> EvalEnv<'a> {
        self.env
    }
    /// A location in a module, outside of any repeated block.
    pub fn scope(&'a self, module: ModuleId) -> ModuleScope<'a> {
        let node = self.tree.node(module);
        ModuleScope {
            evaluation: self,
            module,
            node,
            at: ModuleInstanceId::ROOT,
            instance: InstanceValues::default(),
            own: None,
            own_value: None,
            check: None,
            variable: None,
            assertion: None,
            samples: Vec::new(),
        }
    }
    /// A location in an instance of a module, outside of any repeated block.
    pub fn scope_at(&'a self, live: &Live, at: ModuleInstanceId) -> ModuleScope<'a> {
        ModuleScope { at, ..self.scope(live.module(at)) }
    }
    /// Known values.
    pub(crate) fn mode(&self) -> EvalMode<'a> {
        self.mode
    }
    fn live(&self) -> Option<&'a Live> {
        match self.mode {
            EvalMode::Live(live) => Some(live),
            EvalMode::Types | EvalMode::Values(_) => None,
        }
    }
    /// The schemas of a provider; asked for once.
    pub fn provider_schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        if let Some(found) = self.schemas.borrow().get(provider) {
            return found.clone();
        }
        let found = self.env.providers.schema(provider);
        self.schemas.borrow_mut().insert(provider.clone(), found.clone());
        found
    }
    /// Whether a resource has `count` or `for_each`.
    pub(crate) fn is_repeated(&self, module: ModuleId, resource: &ResourceKey) -> bool {
        let declared = self.tree.node(module).module.resources.get(resource);
        declared.is_some_and(|r| matches!(r.repetition, Repetition::Count(_) | Repetition::ForEach(_)))
    }
    /// The schemas of the provider of a resource.
    pub fn schemas_of(&self, module: ModuleId, resource: &Resource) -> Option<Arc<ProviderSchema>> {
        self.provider_schema(&self.tree.node(module).module.provider_of(resource)?)
    }
    fn call_context<'s>(&'s self, module: ModuleId, others: &'s dyn OtherFunctions) -> CallContext<'s>
    where
        'a: 's,
    {
        CallContext {
            world: &self.world,
            base_dir: ".",
            plan_time: self.live().and_then(|live| live.plan_time),
            // Results of checks for all values must not depend on the time, nor planned values; shown values may.
            pure_only: match self.mode {
                EvalMode::Types => true,
                EvalMode::Values(_) => false,
                EvalMode::Live(live) => !live.applying,
            },
            functions: FunctionTable::module(),
            others: Some(others),
            template_depth: 0,
            sources: self.env.sources,
            symbols: Some(SymbolScope::of_module(&self.tree.node(module).symbols)),
        }
    }

    /// Stores the value of a local that was evaluated elsewhere.
    pub(crate) fn set_local(&self, module: ModuleId, name: &EcoString, value: Value) {
        self.values.borrow_mut().insert((module, Name::Local(name.clone())), State::Done(value));
    }
    /// Stores the value that a call passes to a variable.
    pub(crate) fn set_given(&self, module: ModuleId, name: &EcoString, value: Value) {
        self.values.borrow_mut().insert((module, Name::Variable(name.clone())), State::Done(value));
    }
    /// The stored value that a call passes to a variable: unlike the value inside of the module, it may be known.
    pub(crate) fn given(&self, module: ModuleId, name: &EcoString) -> Option<Value> {
        match self.values.borrow().get(&(module, Name::Variable(name.clone()))) {
            Some(State::Done(value)) => Some(value.clone()),
            _ => None,
        }
    }
    /// Stores the value of an output, as the module itself sees it.
    pub(crate) fn set_output(&self, module: ModuleId, name: &EcoString, value: Value) {
        self.values.borrow_mut().insert((module, Name::Output(name.clone())), State::Done(value));
    }

    /// A value that the variable of a called module is given, found once.
    pub(crate) fn remembered_variable(
        &self,
        module: ModuleId,
        name: &EcoString,
        find: impl FnOnce() -> Value,
    ) -> Value {
        self.remembered((module, Name::Variable(name.clone())), find)
    }
    /// The value of a name, found once. A value that depends on itself is unknown: it was reported as a cycle.
    fn remembered(&self, key: (ModuleId, Name), find: impl FnOnce() -> Value) -> Value {
        match self.values.borrow().get(&key) {
            Some(State::Done(value)) => return value.clone(),
            Some(State::Evaluating) => return Value::unknown_dynamic(),
            Some(State::Unsettled(value, round)) if *round == self.calls.round() => {
                self.calls.miss();
                return value.clone();
            }
            Some(State::Unsettled(..)) | None => {}
        }
        let depth = self.depth.get();
        if depth >= MAX_DEPTH {
            return Value::unknown_dynamic();
        }
        self.depth.set(depth + 1);
        self.values.borrow_mut().insert(key.clone(), State::Evaluating);
        let misses = self.calls.misses();
        let value = crate::expression::with_stack(find);
        let state = match self.calls.misses() == misses {
            true => State::Done(value.clone()),
            false => State::Unsettled(value.clone(), self.calls.round()),
        };
        self.values.borrow_mut().insert(key, state);
        self.depth.set(depth);
        value
    }

    fn variable(&'a self, module: ModuleId, at: ModuleInstanceId, variable: &Variable) -> Value {
        let ty = || variable.constraint.without_optional();
        let given = match self.mode {
            EvalMode::Types => {
                let value = self.sampled_variable(module, variable).unwrap_or_else(|| Value::unknown(ty()));
                return marked(value, variable);
            }
            EvalMode::Values(given) => given,
            EvalMode::Live(live) => {
                let known = live.variable(at, &variable.name);
                return known.unwrap_or_else(|| marked(Value::unknown(ty()), variable));
            }
        };
        let Some(parent) = self.tree.node(module).parent else {
            return given.get(&variable.name).cloned().unwrap_or_else(|| marked(Value::unknown(ty()), variable));
        };
        let value = self.remembered((module, Name::Variable(variable.name.clone())), || {
            let arguments = self.tree.call(module).map(|call| call.body.just_attributes().0).unwrap_or_default();
            let argument = arguments.into_iter().find(|argument| argument.name == variable.name);
            let value = argument.map(|argument| {
                let scope = self.scope(parent).of_instance(InstanceValues::any());
                keep_unread(&scope.eval(&argument.expr).0)
            });
            let (prepared, problems) = inputs::prepare(variable, value, inputs::GivenAt::Nowhere);
            if problems.has_errors() { Value::unknown(ty()) } else { prepared }
        });
        marked(value, variable)
    }

    fn local(&'a self, module: ModuleId, at: ModuleInstanceId, name: &EcoString, expr: &Expr) -> Value {
        if let Some(live) = self.live() {
            return live.local(at, name).unwrap_or_else(Value::unknown_dynamic);
        }
        self.remembered((module, Name::Local(name.clone())), || self.own_value(module, expr))
    }

    /// The value of an expression of a module; unknown where it has errors, which are reported elsewhere.
    fn own_value(&'a self, module: ModuleId, expr: &Expr) -> Value {
        let (value, problems) = self.scope(module).eval(expr);
        if problems.has_errors() { Value::unknown_dynamic() } else { keep_unread(&value) }
    }

    /// The value of an output in its module, without what the block says about it.
    fn output(&'a self, module: ModuleId, output: &Output) -> Value {
        self.remembered((module, Name::Output(output.name.clone())), || match &output.value {
            Some(expr) => self.own_value(module, expr),
            None => Value::unknown_dynamic(),
        })
    }

    /// The value of an output as the calling module sees it: with everything the block says about it.
    pub(crate) fn exported(&'a self, child: ModuleId, output: &Output, key: &str, read: OutputRead) -> Value {
        let value = self.output(child, output);
        let value = match self.mode {
            EvalMode::Types => faded(&value),
            EvalMode::Values(_) | EvalMode::Live(_) => value,
        };
        self.with_output_marks(child, output, key, read, value)
    }

    /// A value with the marks that the block of an output says it has for the calling module.
    fn with_output_marks(
        &self,
        child: ModuleId,
        output: &Output,
        key: &str,
        read: OutputRead,
        mut value: Value,
    ) -> Value {
        if output.sensitive == Some(true) {
            value = value.mark(Mark::Sensitive);
        }
        if output.ephemeral == Some(true) {
            value = value.mark(Mark::Ephemeral);
        }
        if let Some(message) = &output.deprecated {
            let node = self.tree.node(child);
            let deprecation = Deprecation {
                source: eco_format!("module.{}{key}.{}", node.call, output.name),
                module: self.tree.caller_text(child),
                message: message.clone(),
                remote: node.source.as_ref().is_some_and(|source| !source.is_in_file_system()),
                unread: read == OutputRead::WithCall,
            };
            value = value.mark(Mark::Deprecated(Arc::new(deprecation)));
        }
        value
    }

    /// An output of an instance of a module, as the calling module sees it.
    fn live_output(
        &self,
        live: &Live,
        child: ModuleId,
        at: ModuleInstanceId,
        output: &Output,
        key: Option<&InstanceKey>,
        read: OutputRead,
    ) -> Value {
        let value = live.output(at, &output.name).unwrap_or_else(Value::unknown_dynamic);
        self.with_output_marks(child, output, &key_text(key), read, value)
    }

    /// Warnings about an output of a call, whichever instance it is, while values are unknown.
    pub(crate) fn deprecated_output(&'a self, child: ModuleId, output: &str) -> Option<Deprecation> {
        let output = self.tree.node(child).module.outputs.get(output)?;
        let call = self.tree.call(child)?;
        let is_keyed = match call.repetition {
            Repetition::Count(_) | Repetition::ForEach(_) => true,
            Repetition::Single => false,
            // Whether it exists is unknown.
            Repetition::Enabled(_) => return None,
        };
        let node = self.tree.node(child);
        Some(Deprecation {
            source: eco_format!("module.{}{}.{}", node.call, if is_keyed { "[...]" } else { "" }, output.name),
            module: self.tree.caller_text(child),
            message: output.deprecated.clone()?,
            remote: node.source.as_ref().is_some_and(|source| !source.is_in_file_system()),
            unread: false,
        })
    }

    /// Whether only types are known.
    pub(crate) fn knows_only_types(&self) -> bool {
        matches!(self.mode, EvalMode::Types)
    }

    fn module_value(&'a self, child: ModuleId, at: ModuleInstanceId, call: &ModuleCall) -> Value {
        if let Some(live) = self.live() {
            let outputs = &self.tree.node(child).module.outputs;
            let whole = live.whole_call(at, &call.name, |id, key| {
                let value = |output| self.live_output(live, child, id, output, key, OutputRead::WithCall);
                Value::object(outputs.iter().map(|(name, output)| (name.clone(), value(output))).collect())
            });
            return whole.unwrap_or_else(Value::unknown_dynamic);
        }
        self.remembered((child, Name::Call), || {
            if let Some(sample) = self.sampled_call(child, call) {
                return sample;
            }
            let outputs = &self.tree.node(child).module.outputs;
            let unknown = || Type::object(outputs.keys().map(|name| (name.clone(), Type::dynamic())));
            match (&call.repetition, self.mode) {
                (Repetition::Single, _) => Value::object(
                    outputs
                        .iter()
                        .map(|(name, output)| (name.clone(), self.exported(child, output, "", OutputRead::WithCall)))
                        .collect(),
                ),
                (Repetition::Count(_), _) => Value::unknown(Type::list(unknown())),
                (Repetition::ForEach(_), _) => Value::unknown(Type::map(unknown())),
                (Repetition::Enabled(_), _) => Value::unknown(unknown()),
            }
        })
    }

    fn resource_value(&'a self, module: ModuleId, at: ModuleInstanceId, resource: &Resource) -> Value {
        let own = || self.tree.text(module);
        if let Some(live) = self.live() {
            let ty = || {
                let schemas = self.schemas_of(module, resource)?;
                Some(schema_of(&schemas, &resource.key)?.implied_type().clone())
            };
            let null = || Value::null(ty().unwrap_or_else(Type::dynamic));
            let missing = || Value::unknown(ty().unwrap_or_else(Type::dynamic));
            // Attributes that the schema deprecates are reported to modules that read them.
            let mark = |value: Value| {
                let schemas = self.schemas_of(module, resource);
                match schemas.as_deref().and_then(|schemas| schema_of(schemas, &resource.key)) {
                    Some(schema) if schema.asks_for_marks() => {
                        let symbol = diagnostics::address(&resource.key);
                        schema.mark(&value, Some(DeprecatedOf { symbol: &symbol, module: &own(), remote: false }))
                    }
                    _ => value,
                }
            };
            return live.whole_resource(at, &resource.key, missing, mark, null).unwrap_or_else(Value::unknown_dynamic);
        }
        self.remembered((module, Name::Resource(resource.key.clone())), || {
            let schemas = self.schemas_of(module, resource);
            let schema = schemas.as_deref().and_then(|schemas| schema_of(schemas, &resource.key));
            let value = match (&resource.repetition, schema) {
                (Repetition::Count(_) | Repetition::ForEach(_), _) | (_, None) => Value::unknown_dynamic(),
                (Repetition::Enabled(_), Some(schema)) => Value::unknown(schema.implied_type().clone()),
                (Repetition::Single, Some(schema)) => traversal::unknown_value(schema, &resource.key, &own()),
            };
            match resource.key.mode {
                ResourceMode::Ephemeral => value.mark(Mark::Ephemeral),
                ResourceMode::Managed | ResourceMode::Data => value,
            }
        })
    }
}

fn key_text(key: Option<&InstanceKey>) -> EcoString {
    key.map(|key| eco_format!("{key}")).unwrap_or_default()
}

/// The schema of a resource.
pub fn schema_of<'s>(schemas: &'s ProviderSchema, key: &ResourceKey) -> Option<&'s BlockSchema> {
    let of_mode = match key.mode {
        ResourceMode::Managed => &schemas.resources,
        ResourceMode::Data => &schemas.data,
        ResourceMode::Ephemeral => &schemas.ephemeral,
    };
    of_mode.get(&key.kind).map(|schema| &schema.block)
}

/// The location of an expression in a module.
#[derive(Clone)]
pub struct ModuleScope<'a> {
    evaluation: &'a Evaluation<'a>,
    module: ModuleId,
    node: &'a ModuleNode,
    /// Instance of the module.
    at: ModuleInstanceId,
    instance: InstanceValues,
    /// The resource that `self` means.
    own: Option<&'a Resource>,
    /// Value of `self`, where it is known.
    own_value: Option<Value>,
    /// The `check` block around, whose data block can be referred to.
    check: Option<&'a str>,
    /// A variable whose own rules are being checked, with its value.
    variable: Option<(&'a str, &'a Value)>,
    /// Inside of an assertion of a test.
    assertion: Option<&'a Tested>,
    /// Possible values of `each.value`, for the search for deprecated values.
    pub(crate) samples: Vec<Value>,
}

impl<'a> ModuleScope<'a> {
    /// Inside of an assertion of a test.
    #[must_use]
    pub fn in_assertion(mut self, tested: &'a Tested) -> ModuleScope<'a> {
        self.assertion = Some(tested);
        self
    }
    /// Further values of a test, for expressions of the test.
    fn tested(&self, span: Option<Span>) -> Option<&Tested> {
        let of_tree = self.evaluation.tree.tested.as_deref().filter(|tested| tested.is_here(span));
        self.assertion.or(of_tree)
    }
    /// Inside of an instance of something repeated.
    #[must_use]
    pub fn of_instance(mut self, instance: InstanceValues) -> ModuleScope<'a> {
        self.instance = instance;
        self.samples.clear();
        self
    }
    /// A scope where `self` means a resource.
    #[must_use]
    pub(crate) fn with_self(mut self, resource: &'a Resource) -> ModuleScope<'a> {
        self.own = Some(resource);
        self
    }
    /// A scope where `self` is a certain object of a resource.
    #[must_use]
    pub fn with_self_value(mut self, resource: &'a Resource, value: Value) -> ModuleScope<'a> {
        self.own = Some(resource);
        self.own_value = Some(value);
        self
    }
    /// A scope where `self` is an object of a resource that is no longer declared.
    #[must_use]
    pub fn with_removed_self(mut self, value: Value) -> ModuleScope<'a> {
        self.own_value = Some(value);
        self
    }
    /// Inside of a `check` block.
    #[must_use]
    pub fn in_check(mut self, name: &'a str) -> ModuleScope<'a> {
        self.check = Some(name);
        self
    }
    /// In the rules of a variable that has this value.
    #[must_use]
    pub fn with_variable(mut self, name: &'a str, value: &'a Value) -> ModuleScope<'a> {
        self.variable = Some((name, value));
        self
    }
    /// The value of an expression here, with marks of deprecation.
    pub fn eval(&self, expr: &Expr) -> (Value, Diagnostics) {
        eval_expr(expr, self, self.call_context())
    }
    pub(crate) fn call_context(&self) -> CallContext<'_> {
        self.evaluation.call_context(self.module, self)
    }
    /// The values this is a view of.
    pub fn evaluation(&self) -> &'a Evaluation<'a> {
        self.evaluation
    }
    /// The module it is in.
    pub fn module(&self) -> ModuleId {
        self.module
    }
    /// The same location in another evaluation of the same configuration, with another `each.value`.
    pub(crate) fn elsewhere(&self, evaluation: &'a Evaluation<'a>, each_value: Option<&Value>) -> ModuleScope<'a> {
        let mut scope = ModuleScope { evaluation, samples: Vec::new(), ..self.clone() };
        if let Some(value) = each_value {
            scope.instance.each_value = Some(value.clone());
        }
        scope
    }
    pub(crate) fn instance_of_module(&self) -> ModuleInstanceId {
        self.at
    }

    fn check_resource(&self, reference: &Reference, key: &ResourceKey, instance: Option<&InstanceKey>) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let declared = self.node.module.resources.get(key);
        let remaining = reference.remaining();
        if let Some(resource) = declared {
            let argument = match &resource.repetition {
                Repetition::Count(_) => Some(("count", "count.index")),
                Repetition::ForEach(_) => Some(("for_each", "each.key")),
                Repetition::Single | Repetition::Enabled(_) => None,
            };
            match (instance, argument) {
                (None, Some((argument, example))) if !remaining.is_empty() => {
                    problems.push(diagnostics::missing_instance_key(key, argument, example, reference.span));
                }
                (Some(_), None) => problems.push(diagnostics::unexpected_instance_key(key, reference.span)),
                _ => {}
            }
        }
        let Some(resource) = declared else {
            problems.push(diagnostics::undeclared_resource(key, self.node, reference.span));
            return problems;
        };
        if resource.inside_check.is_some() && resource.inside_check.as_deref() != self.check {
            problems.push(diagnostics::scoped_resource(key, reference.span));
        }
        let schemas = self.evaluation.schemas_of(self.module, resource);
        let Some(schema) = schemas.as_deref().and_then(|schemas| schema_of(schemas, key)) else {
            problems.push(diagnostics::unsupported_resource(key, reference.span));
            return problems;
        };
        problems.extend(traversal::check(schema, key, remaining, reference.span));
        problems
    }

    fn own_value(&self) -> Value {
        match (self.own, &self.own_value) {
            (_, Some(value)) => value.clone(),
            (Some(resource), None) => self.evaluation.resource_value(self.module, self.at, resource),
            (None, None) => Value::unknown_dynamic(),
        }
    }

    fn call_of(&self, name: &str) -> Option<(ModuleId, &'a ModuleCall)> {
        Some((*self.node.children.get(name)?, self.node.module.calls.get(name)?))
    }
}

impl ModuleScope<'_> {
    /// Returns the value of a reference. Fails where its subject is not declared or not available here.
    fn resolve(&self, reference: &Reference) -> Result<Value, Diagnostic> {
        let module = &self.node.module;
        match &reference.subject {
            Subject::Variable(name) => self.variable_value(name, reference.span),
            Subject::Local(name) => match module.locals.get(name) {
                Some(local) => Ok(self.evaluation.local(self.module, self.at, name, &local.expr)),
                None => Err(diagnostics::undeclared_local(name, module, reference.span)),
            },
            Subject::SelfObject => Ok(self.own_value()),
            Subject::Symbol(_) => {
                let value = symbols::value(reference, &self.node.symbols);
                Ok(value.unwrap_or_else(Value::unknown_dynamic))
            }
            Subject::Resource(resource) | Subject::ResourceInstance(resource, _) => {
                Ok(match module.resources.get(&ResourceKey::from(resource)) {
                    Some(resource) => self.evaluation.resource_value(self.module, self.at, resource),
                    None => Value::unknown_dynamic(),
                })
            }
            Subject::Module(name) | Subject::ModuleInstance(name, _) | Subject::ModuleOutput(name, ..) => {
                let call = self.call_of(name);
                let value = call.map(|(child, call)| self.evaluation.module_value(child, self.at, call));
                Ok(value.unwrap_or_else(Value::unknown_dynamic))
            }
            Subject::Path(name) => {
                let env = &self.evaluation.env;
                let root = self.evaluation.tree.root();
                path_value(name, &self.node.dir, &root.dir, env.world, env.original_dir)
                    .map_err(|problem| problem.at(reference.span))
            }
            Subject::Terraform(alias, name) => {
                let activity = match self.evaluation.live() {
                    Some(live) if live.applying => Activity::Applying,
                    _ => Activity::Planning,
                };
                terraform_value(alias.as_str(), name, self.evaluation.env.workspace, activity)
                    .map_err(|problem| problem.at(reference.span))
            }
            Subject::Count(name) => self.count_value(name, reference.span),
            Subject::Each(name) => self.each_value(name, reference.span),
            Subject::Run(name) => {
                let run = self.tested(reference.span).and_then(|tested| tested.runs.get(name).cloned());
                Ok(run.unwrap_or_else(Value::unknown_dynamic))
            }
            Subject::Output(name) => self.output_value(name, reference.span),
            Subject::Check(_) | Subject::ProviderFunction(_) | Subject::SymbolFunction(_) => {
                Ok(Value::unknown_dynamic())
            }
        }
    }

    fn variable_value(&self, name: &EcoString, span: Option<Span>) -> Result<Value, Diagnostic> {
        let module = &self.node.module;
        match (self.variable, module.variables.get(name)) {
            (Some((own, value)), _) if own == name => Ok(value.clone()),
            (_, Some(variable)) => Ok(self.evaluation.variable(self.module, self.at, variable)),
            (_, None) => match self.tested(span).and_then(|tested| tested.variables.get(name)) {
                Some(value) => Ok(value.clone()),
                None => Err(diagnostics::undeclared_variable(name, module, span)),
            },
        }
    }

    fn count_value(&self, name: &str, span: Option<Span>) -> Result<Value, Diagnostic> {
        match name {
            "index" => self.instance.count_index.clone().ok_or_else(|| diagnostics::no_count(span)),
            _ => Err(diagnostics::invalid_count_attribute(name, span)),
        }
    }

    fn each_value(&self, name: &str, span: Option<Span>) -> Result<Value, Diagnostic> {
        match name {
            "key" => self.instance.each_key.clone().ok_or_else(|| diagnostics::no_each(span)),
            "value" => self.instance.each_value.clone().ok_or_else(|| diagnostics::no_each_value(span)),
            _ => Err(diagnostics::invalid_each_attribute(name, span)),
        }
    }

    /// Returns the value of an output, which assertions of tests and migrations refer to.
    fn output_value(&self, name: &EcoString, span: Option<Span>) -> Result<Value, Diagnostic> {
        let module = &self.node.module;
        let is_assertion = self.assertion.is_some();
        if is_assertion && !module.outputs.contains_key(name) {
            return Err(diagnostics::undeclared_output(name, module, span));
        }
        let found = self.evaluation.live().and_then(|live| live.output(self.at, name));
        let value = match (found, module.outputs.get(name)) {
            (Some(value), Some(output)) if output.sensitive == Some(true) => value.mark(Mark::Sensitive),
            (Some(value), _) => value,
            (None, _) => Value::unknown_dynamic(),
        };
        // Quirk: an output that is not known yet is null to assertions.
        Ok(if is_assertion { value.unknown_as_null() } else { value })
    }
}

impl Scope for ModuleScope<'_> {
    fn context(&self) -> &dyn ParseRefContext {
        &*self.node.module
    }

    fn parse(&self, traversal: &Traversal) -> (Option<Reference>, Diagnostics) {
        let in_test = match self.assertion {
            Some(_) => true,
            None => traversal.root == "run" && self.tested(Some(traversal.span)).is_some(),
        };
        match in_test {
            true => Reference::parse_in_test(traversal, self.context()),
            false => Reference::parse(traversal, self.context()),
        }
    }

    fn check(&self, reference: &Reference) -> Diagnostics {
        match &reference.subject {
            Subject::SelfObject => match self.own {
                None if self.own_value.is_some() => Diagnostics::new(),
                None => diagnostics::no_self(reference.span).into(),
                Some(resource) => {
                    let key = match resource.repetition {
                        Repetition::Count(_) => Some(InstanceKey::Int(0)),
                        Repetition::ForEach(_) => Some(InstanceKey::String(EcoString::new())),
                        Repetition::Single | Repetition::Enabled(_) => None,
                    };
                    self.check_resource(reference, &resource.key, key.as_ref())
                }
            },
            Subject::Resource(resource) => self.check_resource(reference, &resource.into(), None),
            Subject::ResourceInstance(resource, key) => self.check_resource(reference, &resource.into(), key.as_ref()),
            Subject::Module(name) | Subject::ModuleInstance(name, _) | Subject::ModuleOutput(name, ..) => {
                match self.node.module.calls.contains_key(name) {
                    true => Diagnostics::new(),
                    false => diagnostics::undeclared_module(name, self.node, reference.span).into(),
                }
            }
            Subject::Symbol(_) | Subject::SymbolFunction(_) => {
                symbols::check(reference, &self.node.symbols, self.context())
            }
            Subject::ProviderFunction(function) => self.check_function(function, reference.span),
            Subject::Run(name) if !self.tested(reference.span).is_some_and(|tested| tested.runs.contains_key(name)) => {
                diagnostics::undeclared_run(name, reference.span).into()
            }
            _ => Diagnostics::new(),
        }
    }

    fn value(&self, reference: &Reference) -> (Value, Diagnostics) {
        match self.resolve(reference) {
            Ok(value) => (value, Diagnostics::new()),
            Err(problem) => (Value::unknown_dynamic(), problem.into()),
        }
    }

    fn start(&self, reference: &Reference) -> (Value, usize, Diagnostics) {
        // The value of one output of one instance is known better than that of all instances.
        if let Subject::ModuleOutput(name, key, output) = &reference.subject
            && let Some((child, call)) = self.call_of(name)
            && let Some(output) = self.evaluation.tree.node(child).module.outputs.get(output)
        {
            let fits = matches!(
                (&call.repetition, key),
                (Repetition::Single | Repetition::Enabled(_), None)
                    | (Repetition::Count(_), Some(InstanceKey::Int(_)))
                    | (Repetition::ForEach(_), Some(InstanceKey::String(_)))
            );
            if let Some(live) = self.evaluation.live() {
                if let Some(id) = live.call_instance(self.at, name, key.as_ref()) {
                    let value = self.evaluation.live_output(live, child, id, output, key.as_ref(), OutputRead::ByName);
                    return (value, reference.subject_steps, Diagnostics::new());
                }
            } else if fits {
                let value = self.evaluation.exported(child, output, &key_text(key.as_ref()), OutputRead::ByName);
                return (value, reference.subject_steps, Diagnostics::new());
            }
        }
        let (value, problems) = self.value(reference);
        (value, reference.value_steps, problems)
    }
}
