//! Installed modules and their directories: the data of `.terraform/modules/modules.json`.

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
    /// Its directory.
    pub dir: EcoString,
}

impl Manifest {
    /// The names of the calls with dots between them; empty for the root module.
    pub fn key(path: &ModulePath) -> EcoString {
        path.steps().join(".").into()
    }
    /// The name of the directory that the package of a key is unpacked to. No name of a module has a colon, and some file
    /// systems do not allow it.
    pub fn package_dir(key: &str) -> EcoString {
        key.replace(':', "@").into()
    }
    /// The directory of the whole package that a module or library is in, which was installed under a key in a directory
    /// of this package.
    pub(crate) fn package_root(key: &str, dir: &EcoString) -> EcoString {
        let inside = ecow::eco_format!("modules/{}", Manifest::package_dir(key));
        let found = dir.match_indices(inside.as_str()).find_map(|(start, _)| {
            let (before, end) = (&dir[..start], start + inside.len());
            let is_step =
                (before.is_empty() || before.ends_with('/')) && matches!(dir[end..].chars().next(), None | Some('/'));
            is_step.then(|| &dir[..end])
        });
        found.map_or_else(|| dir.clone(), EcoString::from)
    }
    /// The entry of a module.
    pub fn get(&self, path: &ModulePath) -> Option<&Installed> {
        self.modules.get(&Manifest::key(path))
    }
}
