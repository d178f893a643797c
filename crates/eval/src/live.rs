//! The values of a configuration while it is planned or applied: those of every instance of every module, added one
//! after the other by the driver of the evaluation.
//!
//! Invariant: a value is written before it is read, and written once in each run. A value that was not written (because it
//! was left out of the run) is unknown.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use foldhash::{HashMap, HashMapExt};
use yuba_addrs::{AbsProviderConfig, InstanceKey, KeyMap, ModuleInstance};
use yuba_config::resource::ResourceKey;
use yuba_provider::Provider;
use yuba_value::Value;

use crate::module_scope::InstanceValues;
use crate::provider_functions::LiveProviders;
use crate::tree::ModuleId;
use crate::world::WorldTime;

/// An instance of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleInstanceId(pub u32);

impl ModuleInstanceId {
    /// The root module.
    pub const ROOT: ModuleInstanceId = ModuleInstanceId(0);
}

/// Instances of an object.
#[derive(Clone, Debug)]
pub enum Expansion {
    /// One, without key.
    Single,
    /// As many as `count` says.
    Count(u64),
    /// One for each key, sorted.
    ForEach(Arc<Vec<(EcoString, Value)>>),
    /// One without key, or none.
    Enabled(bool),
}

impl Expansion {
    /// Number of instances.
    pub fn len(&self) -> usize {
        match self {
            Expansion::Single => 1,
            Expansion::Count(count) => usize::try_from(*count).unwrap_or(usize::MAX),
            Expansion::ForEach(instances) => instances.len(),
            Expansion::Enabled(enabled) => usize::from(*enabled),
        }
    }
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Key and values of each instance, in order.
    pub fn instances(&self) -> impl Iterator<Item = (Option<InstanceKey>, InstanceValues)> + '_ {
        (0..self.len()).map(|at| self.instance(at))
    }
    /// Whether there is an instance with a key.
    pub fn contains(&self, key: Option<&InstanceKey>) -> bool {
        self.position(key).is_some()
    }
    /// Values of the instance with a key.
    pub fn values_of(&self, key: Option<&InstanceKey>) -> Option<InstanceValues> {
        Some(self.instance(self.position(key)?).1)
    }
    fn position(&self, key: Option<&InstanceKey>) -> Option<usize> {
        match (self, key) {
            (Expansion::Single | Expansion::Enabled(true), None) => Some(0),
            (Expansion::Count(count), Some(InstanceKey::Int(at))) => {
                let at = u64::try_from(*at).ok().filter(|at| at < count)?;
                usize::try_from(at).ok()
            }
            (Expansion::ForEach(instances), Some(InstanceKey::String(key))) => {
                instances.binary_search_by(|(other, _)| other.cmp(key)).ok()
            }
            _ => None,
        }
    }
    fn instance(&self, at: usize) -> (Option<InstanceKey>, InstanceValues) {
        match self {
            Expansion::Single | Expansion::Enabled(_) => (None, InstanceValues::default()),
            Expansion::Count(_) => {
                let index = i64::try_from(at).unwrap_or(i64::MAX);
                let values = InstanceValues { count_index: Some(Value::int(index)), ..InstanceValues::default() };
                (Some(InstanceKey::Int(index)), values)
            }
            Expansion::ForEach(instances) => {
                let (key, value) = &instances[at];
                let values = InstanceValues {
                    count_index: None,
                    each_key: Some(Value::string(key.clone())),
                    each_value: Some(value.clone()),
                };
                (Some(InstanceKey::String(key.clone())), values)
            }
        }
    }
}

/// The instances of a resource in one instance of its module: their values by key, and the value of all together, which
/// is built on the first use.
#[derive(Debug)]
struct LiveResource {
    expansion: Expansion,
    /// The instances that references see, if they differ from the expansion.
    seen: Option<Expansion>,
    instances: KeyMap<Value>,
    whole: OnceCell<Value>,
}

/// The instances of a module call.
#[derive(Debug)]
struct LiveCall {
    expansion: Expansion,
    instances: Vec<(Option<InstanceKey>, ModuleInstanceId)>,
    whole: OnceCell<Value>,
}

/// Known values of an instance of a module.
#[derive(Debug)]
struct LiveModule {
    module: ModuleId,
    parent: Option<ModuleInstanceId>,
    address: ModuleInstance,
    key: Option<InstanceKey>,
    /// `count` and `each` in the arguments of its call.
    call_values: InstanceValues,
    variables: HashMap<EcoString, Value>,
    locals: HashMap<EcoString, Value>,
    outputs: HashMap<EcoString, Value>,
    resources: HashMap<ResourceKey, LiveResource>,
    calls: HashMap<EcoString, LiveCall>,
}

impl LiveModule {
    fn new(module: ModuleId, parent: Option<ModuleInstanceId>, address: ModuleInstance) -> LiveModule {
        LiveModule {
            module,
            parent,
            address,
            key: None,
            call_values: InstanceValues::default(),
            variables: HashMap::new(),
            locals: HashMap::new(),
            outputs: HashMap::new(),
            resources: HashMap::new(),
            calls: HashMap::new(),
        }
    }
}

/// All values found so far.
#[derive(Debug)]
pub struct Live {
    modules: RefCell<Vec<LiveModule>>,
    by_module: RefCell<HashMap<ModuleId, Vec<ModuleInstanceId>>>,
    providers: RefCell<LiveProviders>,
    /// The run applies changes: it calls unpredictable functions, and `terraform.applying` is true.
    pub applying: bool,
    /// Value of `plantimestamp`.
    pub plan_time: Option<WorldTime>,
}

impl Live {
    /// Values for a plan. Only the root module is known.
    pub fn for_plan(plan_time: Option<WorldTime>) -> Live {
        let root = LiveModule::new(ModuleId::ROOT, None, ModuleInstance::default());
        let by_module = [(ModuleId::ROOT, vec![ModuleInstanceId::ROOT])].into_iter().collect();
        let modules = RefCell::new(vec![root]);
        Live { modules, by_module: RefCell::new(by_module), providers: RefCell::default(), applying: false, plan_time }
    }

    /// Values for an apply. Only the root module is known.
    pub fn for_apply(plan_time: Option<WorldTime>) -> Live {
        Live { applying: true, ..Live::for_plan(plan_time) }
    }

    /// An instance of a provider configuration that is ready: its functions can be called.
    pub fn set_provider(&self, config: AbsProviderConfig, key: Option<EcoString>, provider: Arc<dyn Provider>) {
        self.providers.borrow_mut().insert(config, key, provider);
    }
    /// An instance of a provider configuration, if it is ready.
    pub(crate) fn provider(&self, config: AbsProviderConfig, key: Option<EcoString>) -> Option<Arc<dyn Provider>> {
        self.providers.borrow().get(config, key)
    }

    fn with<T>(&self, at: ModuleInstanceId, read: impl FnOnce(&LiveModule) -> T) -> T {
        let modules = self.modules.borrow();
        read(modules.get(at.0 as usize).expect("because ids are made with the instances they are of"))
    }
    fn edit<T>(&self, at: ModuleInstanceId, edit: impl FnOnce(&mut LiveModule) -> T) -> T {
        let mut modules = self.modules.borrow_mut();
        edit(modules.get_mut(at.0 as usize).expect("because ids are made with the instances they are of"))
    }

    /// The instances of a module found so far, in order of addresses within each parent.
    pub fn instances(&self, module: ModuleId) -> Vec<ModuleInstanceId> {
        self.by_module.borrow().get(&module).cloned().unwrap_or_default()
    }
    /// The module it is an instance of.
    pub fn module(&self, at: ModuleInstanceId) -> ModuleId {
        self.with(at, |live| live.module)
    }
    /// The instance of the calling module.
    pub fn parent(&self, at: ModuleInstanceId) -> Option<ModuleInstanceId> {
        self.with(at, |live| live.parent)
    }
    /// Its address.
    pub fn address(&self, at: ModuleInstanceId) -> ModuleInstance {
        self.with(at, |live| live.address.clone())
    }
    /// `count` and `each` in the arguments of the call that made it.
    pub fn call_values(&self, at: ModuleInstanceId) -> InstanceValues {
        self.with(at, |live| live.call_values.clone())
    }
    /// The instance with an address.
    pub fn find(&self, address: &ModuleInstance) -> Option<ModuleInstanceId> {
        let mut at = ModuleInstanceId::ROOT;
        for step in address.steps() {
            at = self.with(at, |live| {
                let call = live.calls.get(&step.name)?;
                call.instances.get(call.expansion.position(step.key.as_ref())?).map(|(_, id)| *id)
            })?;
        }
        Some(at)
    }
    /// An instance of a module that is only in the state: nothing is known about its values.
    ///
    /// Neither [`Live::find`] nor [`Live::instances`] returns it.
    pub fn add_absent(&self, module: ModuleId, address: ModuleInstance) -> ModuleInstanceId {
        let mut modules = self.modules.borrow_mut();
        let id = ModuleInstanceId(modules.len() as u32);
        modules.push(LiveModule::new(module, None, address));
        id
    }
    /// The instances of a call in an instance of the calling module.
    pub fn call_expansion(&self, at: ModuleInstanceId, call: &str) -> Option<Expansion> {
        self.with(at, |live| live.calls.get(call).map(|call| call.expansion.clone()))
    }
    /// The instances of a resource in an instance of its module.
    pub fn resource_expansion(&self, at: ModuleInstanceId, resource: &ResourceKey) -> Option<Expansion> {
        self.with(at, |live| live.resources.get(resource).map(|resource| resource.expansion.clone()))
    }

    /// Says which instances a call has.
    pub fn expand_call(&self, at: ModuleInstanceId, call: &EcoString, child: ModuleId, expansion: Expansion) {
        let address = self.address(at);
        let mut instances = Vec::with_capacity(expansion.len());
        {
            let mut modules = self.modules.borrow_mut();
            for (key, values) in expansion.instances() {
                let id = ModuleInstanceId(modules.len() as u32);
                let mut live = LiveModule::new(child, Some(at), address.child(call.clone(), key.clone()));
                live.key.clone_from(&key);
                live.call_values = values;
                modules.push(live);
                instances.push((key, id));
            }
        }
        self.by_module.borrow_mut().entry(child).or_default().extend(instances.iter().map(|(_, id)| *id));
        let call_instances = LiveCall { expansion, instances, whole: OnceCell::new() };
        self.edit(at, |live| live.calls.insert(call.clone(), call_instances));
    }
    /// Says which instances a resource has. Their values follow.
    pub fn expand_resource(&self, at: ModuleInstanceId, resource: &ResourceKey, expansion: Expansion) {
        let resource_instances =
            LiveResource { expansion, seen: None, instances: KeyMap::new(), whole: OnceCell::new() };
        self.edit(at, |live| live.resources.insert(resource.clone(), resource_instances));
    }
    /// Says which instances references to a resource see, whatever the configuration wants.
    pub fn see_resource(&self, at: ModuleInstanceId, resource: &ResourceKey, seen: Expansion) {
        self.edit(at, |live| {
            if let Some(resource) = live.resources.get_mut(resource) {
                resource.whole.take();
                resource.seen = Some(seen);
            }
        });
    }
    /// Says which value references to a resource see, whatever its instances are.
    pub fn see_resource_as(&self, at: ModuleInstanceId, resource: &ResourceKey, value: Value) {
        self.edit(at, |live| {
            if let Some(resource) = live.resources.get_mut(resource) {
                resource.whole = OnceCell::from(value);
            }
        });
    }
    /// The value of an instance of a resource that was expanded.
    pub fn set_instance(&self, at: ModuleInstanceId, resource: &ResourceKey, key: Option<InstanceKey>, value: Value) {
        self.edit(at, |live| {
            if let Some(resource) = live.resources.get_mut(resource) {
                resource.whole.take();
                resource.instances.insert(key, value);
            }
        });
    }
    /// The value of one instance of a resource.
    pub fn instance_value(
        &self,
        at: ModuleInstanceId,
        resource: &ResourceKey,
        key: Option<&InstanceKey>,
    ) -> Option<Value> {
        self.with(at, |live| live.resources.get(resource)?.instances.get(&key.cloned()).cloned())
    }
    /// The value of a variable, as expressions of the module see it.
    pub fn set_variable(&self, at: ModuleInstanceId, name: &EcoString, value: Value) {
        self.edit(at, |live| live.variables.insert(name.clone(), value));
    }
    /// The value of a local.
    pub fn set_local(&self, at: ModuleInstanceId, name: &EcoString, value: Value) {
        self.edit(at, |live| live.locals.insert(name.clone(), value));
    }
    /// The value of an output, without what its block says about it.
    pub fn set_output(&self, at: ModuleInstanceId, name: &EcoString, value: Value) {
        self.edit(at, |live| live.outputs.insert(name.clone(), value));
    }
    /// The value of a variable.
    pub fn variable(&self, at: ModuleInstanceId, name: &str) -> Option<Value> {
        self.with(at, |live| live.variables.get(name).cloned())
    }
    /// The value of a local.
    pub fn local(&self, at: ModuleInstanceId, name: &str) -> Option<Value> {
        self.with(at, |live| live.locals.get(name).cloned())
    }
    /// The value of an output, without what its block says about it.
    pub fn output(&self, at: ModuleInstanceId, name: &str) -> Option<Value> {
        self.with(at, |live| live.outputs.get(name).cloned())
    }

    /// The value of all instances of a resource together: an object, a tuple, an object by keys, or null.
    pub(crate) fn whole_resource(
        &self,
        at: ModuleInstanceId,
        resource: &ResourceKey,
        missing: impl Fn() -> Value,
        mark: impl Fn(Value) -> Value,
        null: impl FnOnce() -> Value,
    ) -> Option<Value> {
        self.with(at, |live| {
            let resource = live.resources.get(resource)?;
            let value = |key: Option<InstanceKey>| resource.instances.get(&key).cloned().map_or_else(&missing, &mark);
            let expansion = resource.seen.as_ref().unwrap_or(&resource.expansion);
            let whole = resource.whole.get_or_init(|| together(expansion, value, null));
            Some(whole.clone())
        })
    }

    /// The value of all instances of a call together.
    pub(crate) fn whole_call(
        &self,
        at: ModuleInstanceId,
        call: &str,
        value: impl Fn(ModuleInstanceId, Option<&InstanceKey>) -> Value,
    ) -> Option<Value> {
        let known = self.with(at, |live| live.calls.get(call).map(|call| call.whole.get().cloned()))?;
        if let Some(known) = known {
            return Some(known);
        }
        let (expansion, instances) =
            self.with(at, |live| live.calls.get(call).map(|call| (call.expansion.clone(), call.instances.clone())))?;
        let by_key: BTreeMap<_, _> = instances.into_iter().collect();
        let of = |key: Option<InstanceKey>| match by_key.get(&key) {
            Some(id) => value(*id, key.as_ref()),
            None => Value::unknown_dynamic(),
        };
        let whole = together(&expansion, of, Value::null_dynamic);
        self.with(at, |live| live.calls.get(call).map(|call| call.whole.get_or_init(|| whole.clone()).clone()))
    }

    /// Whether an instance of a call exists.
    pub(crate) fn call_instance(
        &self,
        at: ModuleInstanceId,
        call: &str,
        key: Option<&InstanceKey>,
    ) -> Option<ModuleInstanceId> {
        self.with(at, |live| {
            let call = live.calls.get(call)?;
            let at = call.expansion.position(key)?;
            call.instances.get(at).map(|(_, id)| *id)
        })
    }
}

/// The value of all instances together.
fn together(
    expansion: &Expansion,
    value: impl Fn(Option<InstanceKey>) -> Value,
    null: impl FnOnce() -> Value,
) -> Value {
    match expansion {
        Expansion::Single | Expansion::Enabled(true) => value(None),
        Expansion::Enabled(false) => null(),
        Expansion::Count(_) => Value::tuple(expansion.instances().map(|(key, _)| value(key)).collect()),
        Expansion::ForEach(instances) => Value::object(
            instances.iter().map(|(key, _)| (key.clone(), value(Some(InstanceKey::String(key.clone()))))).collect(),
        ),
    }
}
