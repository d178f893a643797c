//! What of a state an address means, and the changes that commands make to that.

use std::sync::Arc;

use yuba_addrs::{AbsProviderConfig, AbsResource, AbsResourceInstance, InstanceKey, ProviderSource, TargetSubject};
use yuba_syntax::Diagnostic;

use crate::diagnostics;
use crate::model::{Instance, State};
use crate::object::Status;

/// Why an instance cannot be tainted, or its taint not be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaintProblem {
    /// There is no such instance.
    Missing,
    /// The instance has deposed objects only: it is being replaced.
    BeingReplaced,
    /// It is not tainted.
    NotTainted,
}

impl State {
    /// The instances that an address means, in order. A module without key at its end is all its instances, and every
    /// module has those it calls with it.
    pub fn matching(&self, target: &TargetSubject) -> Vec<AbsResourceInstance> {
        match target {
            TargetSubject::Module(module) => {
                let within = self.iter().filter(|resource| module.contains(&resource.addr.module));
                within.flat_map(|r| r.instances.keys().map(|key| r.addr.clone().instance(key.clone()))).collect()
            }
            TargetSubject::Resource(resource) => match self.get(resource) {
                Some(found) => found.instances.keys().map(|key| resource.clone().instance(key.clone())).collect(),
                None => Vec::new(),
            },
            TargetSubject::Instance(instance) => {
                self.instance(instance).map(|_| instance.clone()).into_iter().collect()
            }
        }
    }

    /// As [`State::matching`], but that there is no such thing is an error.
    pub fn lookup(&self, target: &TargetSubject) -> Result<Vec<AbsResourceInstance>, Diagnostic> {
        let known = match target {
            TargetSubject::Module(module) => {
                module.is_root() || self.iter().any(|resource| module.contains(&resource.addr.module))
            }
            TargetSubject::Resource(resource) => self.get(resource).is_some(),
            TargetSubject::Instance(instance) => self.instance(instance).is_some(),
        };
        if known { Ok(self.matching(target)) } else { Err(diagnostics::nothing_at(target)) }
    }

    /// Forgets an instance with all its objects, and its resource if nothing else is left of it.
    pub fn remove(&mut self, addr: &AbsResourceInstance) -> Option<Instance> {
        self.take_instance(addr).map(|(instance, _)| instance)
    }

    /// Marks the current object as one that is to be replaced.
    pub fn taint(&mut self, addr: &AbsResourceInstance) -> Result<(), TaintProblem> {
        self.set_status(addr, Status::Tainted)
    }

    /// Takes that mark away.
    pub fn untaint(&mut self, addr: &AbsResourceInstance) -> Result<(), TaintProblem> {
        self.set_status(addr, Status::Ready)
    }

    fn set_status(&mut self, addr: &AbsResourceInstance, status: Status) -> Result<(), TaintProblem> {
        let instance = self.instance_mut(addr).ok_or(TaintProblem::Missing)?;
        let object = instance.current.as_mut().ok_or(TaintProblem::BeingReplaced)?;
        if status == Status::Ready && object.status == Status::Ready {
            return Err(TaintProblem::NotTainted);
        }
        Arc::make_mut(object).status = status;
        Ok(())
    }

    /// The resources that belong to a provider, in order.
    pub fn of_provider<'s>(&'s self, provider: &'s ProviderSource) -> impl Iterator<Item = &'s AbsResource> {
        self.iter().filter(|resource| resource.provider.provider == *provider).map(|resource| &resource.addr)
    }

    /// Makes all resources of a provider resources of another one, and says how many they are.
    pub fn replace_provider(&mut self, from: &ProviderSource, to: &ProviderSource) -> usize {
        let mut count = 0;
        for resource in self.resources.values_mut() {
            if resource.provider.provider == *from {
                resource.provider.provider = to.clone();
                count += 1;
            }
        }
        count
    }

    /// Takes an instance out of the state, with the provider configuration it belongs to.
    pub(crate) fn take_instance(&mut self, addr: &AbsResourceInstance) -> Option<(Instance, AbsProviderConfig)> {
        let containing = addr.containing();
        let resource = self.resources.get_mut(&containing)?;
        let instance = resource.instances.remove(&addr.key)?;
        let provider = resource.provider.clone();
        if resource.instances.is_empty() {
            self.resources.remove(&containing);
        }
        Some((instance, provider))
    }

    /// Puts an instance into the state. A resource that is there keeps its provider configuration.
    pub(crate) fn put_instance(&mut self, addr: AbsResourceInstance, instance: Instance, provider: AbsProviderConfig) {
        let containing = addr.containing();
        let key: Option<InstanceKey> = addr.key;
        match self.resources.get_mut(&containing) {
            Some(resource) => {
                resource.instances.insert(key, instance);
            }
            None => {
                self.resource_mut(containing, provider).instances.insert(key, instance);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use yuba_addrs::Target;
    use yuba_syntax::FileId;

    use super::*;
    use crate::testing::{listing, state};

    const STATE: &str = "t.a | t.c[0] | t.c[\"k\"] | data.t.a | module.m[0].t.a | module.m[1].t.a | module.m[1].module.n.t.b | module.mm.t.a";

    #[test]
    fn addresses_and_what_they_mean() {
        let state = state(STATE);
        for (address, expect) in [
            ("t.a", "t.a"),
            ("t.c", "t.c[0] t.c[\"k\"]"),
            ("t.c[0]", "t.c[0]"),
            ("data.t.a", "data.t.a"),
            ("module.m", "module.m[0].t.a module.m[1].t.a module.m[1].module.n.t.b"),
            ("module.m[1]", "module.m[1].t.a module.m[1].module.n.t.b"),
            ("module.m[1].module.n", "module.m[1].module.n.t.b"),
            ("module.m.module.n", "! Unknown module"),
            ("t.b", "! Unknown resource"),
            ("t.a[0]", "! Unknown resource instance"),
        ] {
            let subject = Target::parse_text(FileId(0), address).expect("because it is an address").subject;
            let got = match state.lookup(&subject) {
                Ok(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
                Err(problem) => format!("! {}", problem.summary),
            };
            assert_eq!(got, expect, "{address}");
        }
    }

    #[test]
    fn taint_and_untaint() {
        let mut state = state("t.a | t.b!");
        let addr = |text: &str| AbsResourceInstance::parse_text(FileId(0), text).expect("because it is an address");
        assert_eq!(state.untaint(&addr("t.a")), Err(TaintProblem::NotTainted));
        assert_eq!(state.taint(&addr("t.a")), Ok(()));
        assert_eq!(state.taint(&addr("t.a")), Ok(()));
        assert_eq!(state.taint(&addr("t.a[0]")), Err(TaintProblem::Missing));
        assert_eq!(state.taint(&addr("t.b")), Err(TaintProblem::BeingReplaced));
        assert_eq!(listing(&state), "t.a tainted\nt.b deposed 00000001\n");
        assert_eq!(state.untaint(&addr("t.a")), Ok(()));
        assert_eq!(listing(&state), "t.a\nt.b deposed 00000001\n");
        assert!(state.remove(&addr("t.b")).is_some());
        assert!(state.remove(&addr("t.b")).is_none());
        assert_eq!(listing(&state), "t.a\n");
    }

    #[test]
    fn another_provider() {
        let mut state = state("t.a | module.m.t.b");
        let (old, new) = (ProviderSource::builtin("terraform"), ProviderSource::builtin("other"));
        assert_eq!(state.of_provider(&old).count(), 2);
        assert_eq!(state.replace_provider(&old, &new), 2);
        assert_eq!(state.replace_provider(&old, &new), 0);
        assert_eq!(state.of_provider(&new).count(), 2);
    }
}
