//! Content of a state: resources, their instances, output values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{
    AbsProviderConfig, AbsResource, AbsResourceInstance, InstanceKey, KeyMap, ModuleInstance, ResourceMode,
};
use yuba_value::Value;

use crate::check::CheckResult;
use crate::object::Object;

/// A snapshot of what exists. Resources are in the order in which they are listed: shorter module paths first, data
/// before managed.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Identifier that all versions of one state share.
    pub lineage: EcoString,
    /// Version in the lineage.
    pub serial: u64,
    /// Language version of the writer of the file. Written files have our own.
    pub terraform_version: EcoString,
    /// Output values of the root module.
    pub outputs: BTreeMap<EcoString, Output>,
    /// Results of conditions; none where the writer did not record any.
    pub check_results: Option<Vec<CheckResult>>,
    /// Copies of a state share the resources in which they do not differ, and all of them until one is edited.
    pub(crate) resources: Arc<BTreeMap<AbsResource, Arc<Resource>>>,
}

/// An output value of the root module.
#[derive(Clone, Debug)]
pub struct Output {
    /// The value, without marks.
    pub value: Value,
    /// Whether it must not be shown.
    pub sensitive: bool,
    /// The message of its author where it is deprecated, else nothing.
    pub deprecated: EcoString,
}

/// A resource in one module instance.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its address.
    pub addr: AbsResource,
    /// The provider configuration that all its instances belong to.
    pub provider: AbsProviderConfig,
    /// Its instances, possibly none.
    pub instances: KeyMap<Instance>,
}

/// One instance of a resource: a current object, objects that are to be destroyed, or both.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// The object that the instance is.
    pub current: Option<Arc<Object>>,
    /// Objects that were replaced and are still to be destroyed.
    pub deposed: BTreeMap<DeposedKey, Arc<Object>>,
    /// Instance of the provider configuration it belongs to, if that has several.
    pub provider_key: Option<InstanceKey>,
}

/// The key of a deposed object of an instance: eight hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeposedKey(EcoString);

impl DeposedKey {
    /// A key made of random bits.
    pub fn new(random: u32) -> DeposedKey {
        DeposedKey(ecow::eco_format!("{random:08x}"))
    }
    /// A key from a file: any eight bytes are taken.
    pub fn parse(text: &str) -> Option<DeposedKey> {
        (text.len() == 8).then(|| DeposedKey(text.into()))
    }
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeposedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Instance {
    /// Whether there is no object in it.
    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.deposed.is_empty()
    }
    /// The current object with no key, then the deposed ones with theirs.
    pub fn objects(&self) -> impl Iterator<Item = (Option<&DeposedKey>, &Arc<Object>)> {
        let deposed = self.deposed.iter().map(|(key, object)| (Some(key), object));
        self.current.iter().map(|object| (None, object)).chain(deposed)
    }
    /// One of its objects.
    pub fn object(&self, deposed: Option<&DeposedKey>) -> Option<&Arc<Object>> {
        match deposed {
            None => self.current.as_ref(),
            Some(key) => self.deposed.get(key),
        }
    }
}

impl PartialEq for Output {
    fn eq(&self, other: &Output) -> bool {
        self.sensitive == other.sensitive
            && self.deprecated == other.deprecated
            && self.value.ty() == other.value.ty()
            && self.value.raw_equals(&other.value)
    }
}

impl PartialEq for Instance {
    fn eq(&self, other: &Instance) -> bool {
        let same = |a: &Arc<Object>, b: &Arc<Object>| Arc::ptr_eq(a, b) || a == b;
        let current = match (&self.current, &other.current) {
            (Some(a), Some(b)) => same(a, b),
            (None, None) => true,
            _ => false,
        };
        current
            && self.provider_key == other.provider_key
            && self.deposed.len() == other.deposed.len()
            && self.deposed.iter().zip(&other.deposed).all(|((k, a), (l, b))| k == l && same(a, b))
    }
}

impl PartialEq for Resource {
    fn eq(&self, other: &Resource) -> bool {
        self.addr == other.addr && self.provider == other.provider && self.instances == other.instances
    }
}

impl State {
    /// A state of nothing, without lineage.
    pub fn empty() -> State {
        State { terraform_version: crate::WRITER_VERSION.into(), ..State::default() }
    }
    /// Whether it holds neither resources nor output values.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.outputs.is_empty()
    }
    /// Whether any managed resource has an object.
    pub fn has_managed_objects(&self) -> bool {
        let managed = self.iter().filter(|resource| resource.addr.resource.mode == ResourceMode::Managed);
        managed.flat_map(|resource| resource.instances.values()).any(|instance| !instance.is_empty())
    }
    /// A resource.
    pub fn get(&self, addr: &AbsResource) -> Option<&Resource> {
        self.resources.get(addr).map(|resource| &**resource)
    }
    /// All resources in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Resource> + Clone {
        self.resources.values().map(|resource| &**resource)
    }
    /// The resources of one module instance in order, without those of the modules it calls.
    pub fn in_module(&self, module: &ModuleInstance) -> impl Iterator<Item = &Resource> {
        let first =
            yuba_addrs::Resource { mode: ResourceMode::Ephemeral, kind: EcoString::new(), name: EcoString::new() };
        let from = first.absolute(module.clone());
        self.resources.range(from..).map(|(_, resource)| &**resource).take_while(move |r| r.addr.module == *module)
    }
    /// An instance.
    pub fn instance(&self, addr: &AbsResourceInstance) -> Option<&Instance> {
        self.get(&addr.containing())?.instances.get(&addr.key)
    }
    /// All instances in order.
    pub fn instances(&self) -> impl Iterator<Item = (AbsResourceInstance, &Resource, &Instance)> {
        self.iter().flat_map(|resource| {
            let instances = resource.instances.iter();
            instances.map(move |(key, instance)| (resource.addr.clone().instance(key.clone()), resource, instance))
        })
    }
    /// Number of instances.
    pub fn instance_count(&self) -> usize {
        self.iter().map(|resource| resource.instances.len()).sum()
    }
    /// Whether another state holds the same, whatever lineage and serial are.
    pub fn same_content(&self, other: &State) -> bool {
        let checks = |state: &State| state.check_results.as_deref().unwrap_or_default().len();
        self.outputs == other.outputs
            && (self.check_results == other.check_results || checks(self) + checks(other) == 0)
            && (Arc::ptr_eq(&self.resources, &other.resources) || self.same_resources(other))
    }
    fn same_resources(&self, other: &State) -> bool {
        self.resources.len() == other.resources.len()
            && self.resources.values().zip(other.resources.values()).all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
    }
    /// The resources, to be edited: they are this state's own from here on.
    pub(crate) fn resources_mut(&mut self) -> &mut BTreeMap<AbsResource, Arc<Resource>> {
        Arc::make_mut(&mut self.resources)
    }
    /// Takes an instance out of the state, with the provider configuration it belongs to.
    pub(crate) fn take_instance(&mut self, addr: &AbsResourceInstance) -> Option<(Instance, AbsProviderConfig)> {
        let containing = addr.containing();
        let resources = self.resources_mut();
        let resource = Arc::make_mut(resources.get_mut(&containing)?);
        let instance = resource.instances.remove(&addr.key)?;
        let provider = resource.provider.clone();
        if resource.instances.is_empty() {
            resources.remove(&containing);
        }
        Some((instance, provider))
    }

    /// Adds an instance to the state. An existing resource keeps its provider configuration.
    pub(crate) fn put_instance(&mut self, addr: AbsResourceInstance, instance: Instance, provider: AbsProviderConfig) {
        let containing = addr.containing();
        let key: Option<InstanceKey> = addr.key;
        match self.resources_mut().get_mut(&containing) {
            Some(resource) => {
                Arc::make_mut(resource).instances.insert(key, instance);
            }
            None => {
                self.resource_mut(containing, provider).instances.insert(key, instance);
            }
        }
    }
    /// The resource at an address, created if it does not exist; belongs to `provider` from now on.
    pub(crate) fn resource_mut(&mut self, addr: AbsResource, provider: AbsProviderConfig) -> &mut Resource {
        match self.resources_mut().entry(addr) {
            Entry::Occupied(entry) => {
                let resource = Arc::make_mut(entry.into_mut());
                resource.provider = provider;
                resource
            }
            Entry::Vacant(entry) => {
                let addr = entry.key().clone();
                Arc::make_mut(entry.insert(Arc::new(Resource { addr, provider, instances: KeyMap::new() })))
            }
        }
    }
}
