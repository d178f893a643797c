//! Changes of what a state says about objects: removed, tainted, of another provider.

use std::sync::Arc;

use yuba_addrs::{AbsProviderConfig, AbsResource, AbsResourceInstance, ProviderSource};
use yuba_state::{Edit, Object, State, Status};
use yuba_syntax::Diagnostic;

use crate::diagnostics;

/// Instances that a state is to forget.
#[derive(Debug)]
pub struct StateRemoval(pub Vec<AbsResourceInstance>);

impl StateRemoval {
    /// Forgets them, with all their objects.
    pub fn apply(&self, state: &mut State) {
        for addr in &self.0 {
            let Some(resource) = state.get(&addr.containing()) else { continue };
            let Some(instance) = resource.instances.get(&addr.key) else { continue };
            let provider = resource.provider.clone();
            let edits: Vec<Edit> = instance
                .objects()
                .map(|(deposed, _)| Edit::SetObject {
                    addr: addr.clone(),
                    deposed: deposed.cloned(),
                    provider: provider.clone(),
                    provider_key: None,
                    object: None,
                })
                .collect();
            for edit in edits {
                state.apply(edit);
            }
        }
    }
}

/// The resources that belong to a provider.
pub fn resources_of(state: &State, provider: &ProviderSource) -> Vec<AbsResource> {
    let theirs = state.iter().filter(|resource| resource.provider.provider == *provider);
    theirs.map(|resource| resource.addr.clone()).collect()
}

/// Gives resources to another provider; which configuration of it and which instance of that stays.
pub fn replace_provider(state: &mut State, resources: &[AbsResource], provider: &ProviderSource) {
    for addr in resources {
        let Some(resource) = state.get(addr) else { continue };
        let provider = with_provider(&resource.provider, provider);
        state.apply(Edit::SetProvider { resource: addr.clone(), provider });
    }
}

/// The same configuration, of another provider.
pub fn with_provider(configuration: &AbsProviderConfig, provider: &ProviderSource) -> AbsProviderConfig {
    AbsProviderConfig { provider: provider.clone(), ..configuration.clone() }
}

/// Whether an object is marked to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaintMark {
    /// The next plan replaces it.
    Tainted,
    /// The next plan does not replace it for this reason.
    Untainted,
}

/// Result of marking an object.
#[derive(Debug)]
pub enum Marked {
    /// It is marked.
    Done,
    /// There is no such object, for this reason.
    Missing(Box<Diagnostic>),
    /// It cannot be marked, for this reason.
    Refused(Box<Diagnostic>),
}

/// Marks the current object of an instance as one to be replaced, or takes the mark off.
pub fn set_tainted(state: &mut State, addr: &AbsResourceInstance, mark: TaintMark) -> Marked {
    if state.is_empty() {
        return Marked::Missing(Box::new(diagnostics::empty_state()));
    }
    let Some((resource, instance)) =
        state.get(&addr.containing()).and_then(|resource| Some((resource, resource.instances.get(&addr.key)?)))
    else {
        return Marked::Missing(Box::new(diagnostics::no_instance_to_mark(addr)));
    };
    let Some(object) = &instance.current else {
        let problem = match instance.deposed.is_empty() {
            true => diagnostics::no_object_to_mark(addr),
            false => diagnostics::replacement_unfinished(addr),
        };
        return Marked::Refused(Box::new(problem));
    };
    if mark == TaintMark::Untainted && object.status != Status::Tainted {
        return Marked::Refused(Box::new(diagnostics::not_tainted(addr)));
    }
    let status = match mark {
        TaintMark::Tainted => Status::Tainted,
        TaintMark::Untainted => Status::Ready,
    };
    let edit = Edit::SetObject {
        addr: addr.clone(),
        deposed: None,
        provider: resource.provider.clone(),
        provider_key: instance.provider_key.clone(),
        object: Some(Arc::new(Object { status, ..Object::clone(object) })),
    };
    state.apply(edit);
    Marked::Done
}
