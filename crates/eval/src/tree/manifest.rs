//! Which modules are installed where: the data of `.terraform/modules/modules.json`.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::{ModulePath, Version};

/// Installed modules, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// By [`Manifest::key`] of the module's address.
    pub modules: BTreeMap<EcoString, Installed>,
}

/// One installed module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The source it was installed from.
    pub source: EcoString,
    /// The version, of modules of a registry.
    pub version: Option<Version>,
    /// Where it is.
    pub dir: EcoString,
}

impl Manifest {
    /// The names of the calls with dots between them; empty for the root module.
    pub fn key(path: &ModulePath) -> EcoString {
        path.steps().join(".").into()
    }
    /// The entry of a module.
    pub fn get(&self, path: &ModulePath) -> Option<&Installed> {
        self.modules.get(&Manifest::key(path))
    }
}
