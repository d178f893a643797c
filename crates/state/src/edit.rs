//! Changes of a state as data: applied in memory, and stored as lines of a journal.

use std::fmt;
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{AbsProviderConfig, AbsResource, AbsResourceInstance, InstanceKey};

use crate::check::CheckResult;
use crate::model::{DeposedKey, Instance, Output, State};
use crate::object::Object;

/// One change of a state.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// An object is this from now on, or no more. An instance without objects goes away, and a resource without
    /// instances.
    SetObject {
        /// Of which instance.
        addr: AbsResourceInstance,
        /// Key of the deposed object; none for the current one.
        deposed: Option<DeposedKey>,
        /// The provider configuration that the resource belongs to.
        provider: AbsProviderConfig,
        /// Instance of that configuration.
        provider_key: Option<InstanceKey>,
        /// The object; none removes it.
        object: Option<Arc<Object>>,
    },
    /// The current object is deposed.
    Depose {
        /// Of which instance.
        addr: AbsResourceInstance,
        /// New address.
        key: DeposedKey,
    },
    /// A deposed object becomes the current one, where the instance has no current object.
    Restore {
        /// Of which instance.
        addr: AbsResourceInstance,
        /// The object.
        key: DeposedKey,
    },
    /// An instance with all its objects gets another address. The instance that had it before is removed; an existing
    /// resource keeps its provider configuration.
    Move {
        /// From where.
        from: AbsResourceInstance,
        /// To where.
        to: AbsResourceInstance,
    },
    /// A resource with all its instances belongs to another provider configuration.
    SetProvider {
        /// The object.
        resource: AbsResource,
        /// The provider configuration.
        provider: AbsProviderConfig,
    },
    /// An output value of the root module is this from now on; none removes it.
    SetOutput {
        /// Its name.
        name: EcoString,
        /// The value.
        output: Option<Output>,
    },
    /// Results of all conditions.
    SetCheckResults(Option<Vec<CheckResult>>),
}

/// Reason why a line is not an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError(pub EcoString);

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EditError {}

impl State {
    /// Makes a change. A change of a missing object has no effect.
    pub fn apply(&mut self, edit: Edit) {
        match edit {
            Edit::SetObject { addr, deposed, provider, provider_key, object: Some(object) } => {
                let resource = self.resource_mut(addr.containing(), provider);
                let instance = resource.instances.or_default(addr.key);
                instance.provider_key = provider_key;
                match deposed {
                    None => instance.current = Some(object),
                    Some(key) => {
                        instance.deposed.insert(key, object);
                    }
                }
            }
            Edit::SetObject { addr, deposed, object: None, .. } => self.remove_object(&addr, deposed.as_ref()),
            Edit::Depose { addr, key } => {
                if let Some(instance) = self.instance_mut(&addr)
                    && let Some(object) = instance.current.take()
                {
                    instance.deposed.insert(key, object);
                }
            }
            Edit::Restore { addr, key } => {
                if let Some(instance) = self.instance_mut(&addr)
                    && instance.current.is_none()
                {
                    instance.current = instance.deposed.remove(&key);
                }
            }
            Edit::Move { from, to } => {
                if let Some((instance, provider)) = self.take_instance(&from) {
                    self.put_instance(to, instance, provider);
                }
            }
            Edit::SetProvider { resource, provider } => {
                if let Some(resource) = self.resources_mut().get_mut(&resource) {
                    Arc::make_mut(resource).provider = provider;
                }
            }
            Edit::SetOutput { name, output: Some(output) } => {
                self.outputs.insert(name, output);
            }
            Edit::SetOutput { name, output: None } => {
                self.outputs.remove(&name);
            }
            Edit::SetCheckResults(results) => self.check_results = results,
        }
    }

    pub(crate) fn instance_mut(&mut self, addr: &AbsResourceInstance) -> Option<&mut Instance> {
        Arc::make_mut(self.resources_mut().get_mut(&addr.containing())?).instances.get_mut(&addr.key)
    }

    fn remove_object(&mut self, addr: &AbsResourceInstance, deposed: Option<&DeposedKey>) {
        let resource_addr = addr.containing();
        let resources = self.resources_mut();
        let Some(resource) = resources.get_mut(&resource_addr).map(Arc::make_mut) else { return };
        if let Some(instance) = resource.instances.get_mut(&addr.key) {
            match deposed {
                None => instance.current = None,
                Some(key) => {
                    instance.deposed.remove(key);
                }
            }
            if instance.is_empty() {
                resource.instances.remove(&addr.key);
            }
        }
        if resource.instances.is_empty() {
            resources.remove(&resource_addr);
        }
    }
}
