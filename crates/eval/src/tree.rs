//! The configuration tree: every module, linked to the module that calls it.
//!
//! Flat: modules have `u32` ids, the root is 0, callers come before what they call. A directory that is called many times
//! is read once and shared.

mod certain;
pub(crate) mod diagnostics;
mod link;
mod manifest;
mod provider_rules;
mod providers;
mod resolve;
mod similarity;
mod test_providers;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{ModulePath, ModuleSource, Version, VersionConstraints};
use yuba_config::Module;
use yuba_config::module_call::ModuleCall;
use yuba_config::provider::ProviderKey;
use yuba_syntax::{Diagnostics, Expr, FileId, Sources, Span};
use yuba_value::Value;

pub(crate) use link::join;
pub use link::{Link, Purpose, link, link_tested, unavailable_sources};
pub use manifest::{Installed, Manifest};
pub use providers::{Requirement, requirements_of};
pub use resolve::{InstanceKeySource, ProviderStep, ResolvedProvider};

use crate::static_eval::for_each::Instances;
use crate::symbols::{Downloads, Libraries, LibraryFiles, UnreadableLibrary};

/// A module of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u32);

impl ModuleId {
    /// The root module.
    pub const ROOT: ModuleId = ModuleId(0);
}

/// A module where it is called.
#[derive(Clone, Debug)]
pub struct ModuleNode {
    /// Its address.
    pub path: ModulePath,
    /// Its declarations; shared by all calls of the same directory.
    pub module: Arc<Module>,
    /// The calling module; none for the root.
    pub parent: Option<ModuleId>,
    /// The name of the call; empty for the root.
    pub call: EcoString,
    /// Its calls, by name.
    pub children: BTreeMap<EcoString, ModuleId>,
    /// Its source; none for the root.
    pub source: Option<ModuleSource>,
    /// The installed version, for modules of a registry.
    pub version: Option<Version>,
    /// The directory of its files, as shown to people.
    pub dir: EcoString,
    /// The instances of its providers that have `for_each`; without those whose `for_each` is not static.
    pub provider_instances: BTreeMap<ProviderKey, Instances>,
    /// The libraries of its `symbols` blocks.
    pub symbols: Arc<Libraries>,
    /// Those of its libraries that are installed like modules.
    pub downloads: Arc<Downloads>,
}

/// The configuration: modules, linked.
#[derive(Clone, Debug)]
pub struct ConfigTree {
    modules: Vec<ModuleNode>,
    /// The modules that `run` blocks of test files test instead of the root module, each the root of its own tree; by test
    /// file and name of the run.
    pub runs: BTreeMap<(EcoString, EcoString), ConfigTree>,
    /// The scope of a test file, if its provider blocks are in the root module.
    pub tested: Option<Arc<Tested>>,
    /// By called module: errors in the provider instances that its call selects, as soon as it has an instance.
    /// No resource uses them, so planning the objects of the module does not find it.
    pub wrong_keys: BTreeMap<ModuleId, Diagnostics>,
}

/// The scope of a test file, beside the declarations of the tested module.
#[derive(Clone, Debug, Default)]
pub struct Tested {
    /// The test file.
    pub file: Option<FileId>,
    /// The outputs of runs that were applied, by name: objects.
    pub runs: BTreeMap<EcoString, Value>,
    /// Variables with values from the test file or from the command line.
    pub variables: BTreeMap<EcoString, Value>,
}

impl Tested {
    /// All runs: an object by name.
    pub fn all_runs(&self) -> Value {
        Value::object(self.runs.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    }
    /// Whether an expression stands in the test file.
    pub(crate) fn is_here(&self, span: Option<Span>) -> bool {
        span.is_some_and(|span| Some(span.file) == self.file)
    }
}

/// The diagnostics of linking, by subject.
#[derive(Clone, Debug, Default)]
pub struct LinkDiagnostics {
    /// About the root module.
    pub root: Diagnostics,
    /// About modules that the root module or a test calls.
    pub modules: Diagnostics,
    /// About provider configurations that modules pass to each other.
    pub rules: Diagnostics,
}

impl LinkDiagnostics {
    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.root.has_errors() || self.modules.has_errors() || self.rules.has_errors()
    }
    /// All of them: first those about the root module, then about other modules, then about provider configurations.
    pub fn into_all(self) -> Diagnostics {
        let mut all = self.root;
        all.extend(self.modules);
        all.extend(self.rules);
        all
    }
}

impl ConfigTree {
    /// A module.
    pub fn node(&self, id: ModuleId) -> &ModuleNode {
        self.modules.get(id.0 as usize).expect("because ids are made with the modules they are of")
    }
    /// The address of a module; empty for the root module.
    pub(crate) fn text(&self, id: ModuleId) -> EcoString {
        ecow::eco_format!("{}", self.node(id).path)
    }
    /// The address of the module that calls another one; empty for the root module.
    pub(crate) fn caller_text(&self, id: ModuleId) -> EcoString {
        self.node(id).parent.map(|parent| self.text(parent)).unwrap_or_default()
    }
    /// The root module.
    pub fn root(&self) -> &ModuleNode {
        self.node(ModuleId::ROOT)
    }
    /// All modules, callers before what they call.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ModuleId, &ModuleNode)> {
        self.modules.iter().enumerate().map(|(at, node)| (ModuleId(at as u32), node))
    }
    /// Number of modules.
    pub fn len(&self) -> usize {
        self.modules.len()
    }
    /// Never: there is a root module.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }
    /// The same tree with another root module, for a run of a test file. Its module calls and its providers with `for_each`
    /// must be the same.
    #[must_use]
    pub fn with_root(&self, module: Arc<Module>, tested: Arc<Tested>) -> ConfigTree {
        let mut tree = ConfigTree {
            modules: self.modules.clone(),
            runs: BTreeMap::new(),
            tested: Some(tested),
            wrong_keys: self.wrong_keys.clone(),
        };
        if let Some(root) = tree.modules.first_mut() {
            root.module = module;
        }
        tree
    }
    /// Whether something in the tree follows from the values of variables: what is called, which providers there are.
    pub fn follows_from_variables(&self) -> bool {
        self.modules.iter().any(|node| {
            let module = &node.module;
            let by_expr = |expr: &Option<Arc<Expr>>| expr.as_ref().is_some_and(|expr| !expr.variables().is_empty());
            module.providers.values().any(|provider| provider.for_each.is_some())
                || module.variables.values().any(|variable| variable.constant == Some(true))
                || module.calls.values().any(|call| by_expr(&call.source) || by_expr(&call.version))
        })
    }
    /// The block that calls a module; none for the root.
    pub fn call(&self, id: ModuleId) -> Option<&ModuleCall> {
        let node = self.node(id);
        self.node(node.parent?).module.calls.get(&node.call)
    }
    /// The module of an address.
    pub fn find(&self, path: &ModulePath) -> Option<ModuleId> {
        path.steps().iter().try_fold(ModuleId::ROOT, |at, name| self.node(at).children.get(name).copied())
    }
    /// The entries of `modules.json` for these modules and their symbol libraries, as OpenTofu writes them.
    pub fn manifest(&self) -> Manifest {
        let installed = |node: &ModuleNode| {
            let source = node.source.as_ref().map(|source| ecow::eco_format!("{source}")).unwrap_or_default();
            Installed { source, version: node.version.clone(), dir: node.dir.clone() }
        };
        let mut modules: BTreeMap<EcoString, Installed> =
            self.modules.iter().map(|node| (Manifest::key(&node.path), installed(node))).collect();
        let nodes = self.modules.iter().chain(self.runs.values().flat_map(|tree| &tree.modules));
        let libraries = nodes.flat_map(|node| &node.downloads.installed);
        modules.extend(libraries.map(|(key, installed)| (key.clone(), installed.clone())));
        for ((file, run), tree) in &self.runs {
            let prefix = run_path(file, run);
            modules.extend(tree.modules.iter().map(|node| {
                let path = node.path.steps().iter().fold(prefix.clone(), |path, step| path.child(step.clone()));
                (Manifest::key(&path), installed(node))
            }));
        }
        Manifest { modules }
    }
}

/// Under which address the module of a `run` block is installed.
pub(crate) fn run_path(file: &str, run: &EcoString) -> ModulePath {
    let file = file.strip_suffix(".tftest.hcl").unwrap_or(file);
    let path = file.split('/').fold(ModulePath::ROOT.child("test"), |path, step| path.child(step));
    path.child(run.clone())
}

/// A module that a call wants, or a symbol library.
pub struct Wanted<'a> {
    /// The key by which it is recorded as installed.
    pub key: &'a EcoString,
    /// Its name in messages.
    pub name: &'a EcoString,
    /// Its source.
    pub source: &'a ModuleSource,
    /// Its version constraint.
    pub constraints: Option<&'a VersionConstraints>,
    /// Its directory, if it is one beside its caller.
    pub dir: Option<&'a str>,
    /// The call.
    pub span: Span,
}

/// The door to the files of modules.
pub trait ModuleFiles {
    /// Downloads a module, and reports problems. `None` where no download is necessary: then the installed module is
    /// used. Called for every call before its module is read.
    fn install(&mut self, _wanted: &Wanted<'_>) -> Option<(Option<Installed>, Diagnostics)> {
        None
    }
    /// Called after the module of a call was read without errors.
    fn found(&mut self, _dir: &str) {}
    /// The module of a directory, with its errors; `None` if the directory cannot be read. Called once for each
    /// directory.
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)>;
    /// The symbol library of a file, or of a directory of `*.sym.hcl` files. Called once for each path.
    fn library(&mut self, path: &str) -> Result<LibraryFiles, UnreadableLibrary> {
        Err(UnreadableLibrary { is_missing: true, reason: ecow::eco_format!("{path} does not exist") })
    }
    /// The same text for all names of one directory, so that loops of symbolic links are found.
    fn identity(&mut self, dir: &str) -> EcoString {
        dir.into()
    }
    /// The files read so far.
    fn sources(&self) -> Option<&Sources> {
        None
    }
}
