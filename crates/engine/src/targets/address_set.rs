//! Addresses of targets, and what they contain.

use foldhash::HashSet;
use yuba_addrs::{AbsResource, AbsResourceInstance, ConfigResource, ModuleInstance, ModulePath, Target, TargetSubject};

/// Modules, resources and instances: whether one of them contains an address is found by looking it up.
#[derive(Clone, Debug, Default)]
pub struct AddressSet {
    modules: HashSet<ModuleInstance>,
    resources: HashSet<AbsResource>,
    instances: HashSet<AbsResourceInstance>,
    /// Modules and blocks that these are about, whatever the instances.
    paths: HashSet<ModulePath>,
    blocks: HashSet<ConfigResource>,
}

impl AddressSet {
    /// The addresses of targets.
    pub fn new(targets: &[Target]) -> AddressSet {
        let mut set = AddressSet::default();
        for target in targets {
            match &target.subject {
                TargetSubject::Module(module) => {
                    set.paths.insert(module.module());
                    set.modules.insert(module.clone());
                }
                TargetSubject::Resource(resource) => {
                    set.blocks.insert(resource.config());
                    set.resources.insert(resource.clone());
                }
                TargetSubject::Instance(instance) => {
                    set.blocks.insert(instance.config());
                    set.instances.insert(instance.clone());
                }
            }
        }
        set
    }

    /// Whether an instance is in it.
    pub fn contains(&self, addr: &AbsResourceInstance) -> bool {
        (!self.instances.is_empty() && self.instances.contains(addr))
            || (!self.resources.is_empty() && self.resources.contains(&addr.containing()))
            || (!self.modules.is_empty() && self.contains_module(&addr.module))
    }
    /// Whether an instance of a block may be in it.
    pub fn touches(&self, block: &ConfigResource) -> bool {
        let steps = block.module.steps();
        self.blocks.contains(block)
            || (!self.paths.is_empty()
                && (0..=steps.len()).any(|len| self.paths.contains(&steps.iter().take(len).cloned().collect())))
    }
    /// Whether all instances of a block are in it, as far as the addresses show without the instances.
    pub fn contains_all(&self, block: &ConfigResource) -> bool {
        let module = block.module.unkeyed();
        let resource = || block.resource.clone().absolute(module.clone());
        (!self.resources.is_empty() && self.resources.contains(&resource()))
            || (!self.modules.is_empty() && self.contains_module(&module))
    }

    fn contains_module(&self, module: &ModuleInstance) -> bool {
        let steps = module.steps();
        self.modules.contains(&ModuleInstance::ROOT)
            || (0..steps.len()).any(|at| {
                let own: ModuleInstance = steps.iter().take(at + 1).cloned().collect();
                // Without a key at the end it stands for all instances of the call.
                let call = || own.call().map(|(parent, step)| parent.child(step.name.clone(), None));
                self.modules.contains(&own) || call().is_some_and(|call| self.modules.contains(&call))
            })
    }
}
