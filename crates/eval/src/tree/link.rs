//! From the root module to the tree: sources of calls are evaluated and followed.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_addrs::{Feature, ModulePath, ModuleSource, Version, VersionConstraints};
use yuba_config::Module;
use yuba_config::module_call::ModuleCall;
use yuba_config::variable::Variable;
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Sources};
use yuba_value::{Type, convert};

use super::{
    ConfigTree, Installed, LinkDiagnostics, Manifest, ModuleFiles, ModuleId, ModuleNode, Tested, Wanted, diagnostics,
    provider_rules, run_path, test_providers,
};
use crate::inputs::Inputs;
use crate::static_eval::{
    StaticCache, StaticEnv, StaticUse, Statics, const_not_available, for_each, is_unpredictable_call,
};
use crate::symbols::{self, Downloads, Libraries};
use crate::world::World;

/// Maximum nesting of calls.
const MAX_DEPTH: usize = 1_000;
/// Maximum number of modules.
const MAX_MODULES: usize = 200_000;

/// Inputs of linking besides the files.
pub struct Link<'a> {
    /// The directory of the root module, as shown to people: `.` usually.
    pub root_dir: &'a str,
    /// The outside.
    pub world: &'a dyn World,
    /// The name of the workspace.
    pub workspace: &'a str,
    /// The directory the process was started in, if it is not the working directory.
    pub original_dir: Option<&'a str>,
    /// Values for the variables of the root module.
    pub inputs: &'a Inputs,
    /// Installed modules.
    pub manifest: &'a Manifest,
    /// Purpose.
    pub purpose: Purpose,
}

impl<'a> Link<'a> {
    fn static_env<'e>(&self, sources: Option<&'e Sources>) -> StaticEnv<'e>
    where
        'a: 'e,
    {
        StaticEnv {
            world: self.world,
            workspace: self.workspace,
            original_dir: self.original_dir,
            inputs: self.inputs,
            sources,
        }
    }
}

/// Purpose of linking, as far as messages depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To install modules: a directory that cannot be read is the user's error.
    Install,
    /// To use installed modules: missing modules must be installed first.
    Use,
    /// To list existing modules: a call that cannot be evaluated takes its source from the manifest, and errors in other
    /// static contexts are ignored.
    Look,
}

/// Links the tree that starts at a directory. Local modules need not be installed. Where there are errors the tree may lack
/// modules.
pub fn link(files: &mut dyn ModuleFiles, options: &Link<'_>) -> (ConfigTree, LinkDiagnostics) {
    let mut loaded = Loaded::default();
    let mut linker = Linker::new(files, options, &mut loaded);
    let dir = EcoString::from(options.root_dir);
    linker.link(dir, None, diagnostics::root_unreadable);
    let Linker { mut tree, cache, root: about_root, modules, .. } = linker;
    let mut found = LinkDiagnostics { root: about_root, modules, rules: Diagnostics::new() };
    if !found.root.has_errors() {
        found.modules.extend(test_providers::check_objects(&tree, files.sources()));
        link_runs(files, options, &mut tree, &cache, &mut loaded, &mut found.modules);
    }
    if !found.has_errors() {
        found.rules.extend(provider_rules::check(&mut tree, files.sources()));
        for run in tree.runs.values_mut() {
            found.rules.extend(provider_rules::check(run, files.sources()));
        }
        found.rules.extend(test_providers::check(&tree));
    }
    (tree, found)
}

/// Links the tree of a run of a test file again, with the values of the run. `path` is where the tested module is installed,
/// if the run has one of its own.
pub fn link_tested(
    files: &mut dyn ModuleFiles,
    options: &Link<'_>,
    path: Option<(&str, &EcoString)>,
    tested: Arc<Tested>,
) -> (ConfigTree, Diagnostics) {
    let mut loaded = Loaded::default();
    let path = path.map(|(file, run)| run_path(file, run));
    let mut linker = Linker::new(files, options, &mut loaded);
    linker.tree.tested = Some(tested);
    linker.link(EcoString::from(options.root_dir), path.as_ref(), diagnostics::root_unreadable);
    let Linker { mut tree, root: mut found, modules, .. } = linker;
    found.extend(modules);
    if !found.has_errors() {
        found.extend(provider_rules::check(&mut tree, files.sources()));
    }
    (tree, found)
}

/// Links the modules that `run` blocks of test files test instead of the root module.
fn link_runs(
    files: &mut dyn ModuleFiles,
    options: &Link<'_>,
    tree: &mut ConfigTree,
    cache: &StaticCache,
    loaded: &mut Loaded,
    diagnostics: &mut Diagnostics,
) {
    let root = Arc::clone(&tree.root().module);
    for (name, file) in &root.tests {
        for run in &file.runs {
            let Some(module) = &run.module else { continue };
            let path = run_path(name, &run.name);
            let local = match &module.source {
                ModuleSource::Local(relative) => Some(join(options.root_dir, relative)),
                _ => None,
            };
            let (key, shown) = (Manifest::key(&path), eco_format!("{path}"));
            let wanted = Wanted {
                key: &key,
                name: &shown,
                source: &module.source,
                constraints: None,
                dir: local.as_deref(),
                span: module.span,
            };
            let installed = match files.install(&wanted) {
                Some((installed, problems)) => {
                    diagnostics.extend(problems);
                    if installed.is_none() {
                        continue;
                    }
                    installed
                }
                None => options.manifest.get(&path).cloned(),
            };
            let dir = match (local, installed) {
                (Some(dir), _) | (None, Some(Installed { dir, .. })) => dir,
                (None, None) => {
                    diagnostics.push(diagnostics::not_installed(&path, &module.source, options.purpose, module.span));
                    continue;
                }
            };
            let env = options.static_env(files.sources());
            let statics = Statics::new(tree, env, cache);
            let mut values = BTreeMap::new();
            for (name, expr) in run.variables.iter().flat_map(|variables| &variables.values) {
                let (value, problems) =
                    statics.evaluate(ModuleId::ROOT, expr, &StaticUse::new(eco_format!("var.{name}"), expr.span));
                // Values that depend on other runs or on resources are not static; they are evaluated when the run is.
                if !problems.has_errors() {
                    values.insert(name.clone(), (value, expr.span));
                }
            }
            let inputs = Inputs::evaluated(values);
            let options = Link { root_dir: options.root_dir, inputs: &inputs, ..*options };
            let mut linker = Linker::new(files, &options, loaded);
            let installing = options.purpose == Purpose::Install && matches!(module.source, ModuleSource::Local(_));
            let found = linker.link(dir.clone(), Some(&path), |dir| match installing {
                true => diagnostics::unreadable_directory(dir, &path, module.span),
                false => diagnostics::local_missing(dir, &path, module.span),
            });
            diagnostics.extend(linker.root);
            diagnostics.extend(linker.modules);
            if found {
                tree.runs.insert((name.clone(), run.name.clone()), linker.tree);
            }
        }
    }
}

/// Directories read so far.
#[derive(Default)]
struct Loaded {
    modules: HashMap<EcoString, Option<LoadedModule>>,
    symbols: symbols::Linker,
}

/// A module and its errors.
struct LoadedModule {
    module: Arc<Module>,
    problems: Diagnostics,
    /// Its symbol libraries, where these are the same for all calls: none of them is installed for a call.
    symbols: Option<Arc<Libraries>>,
}

/// A module with its symbol libraries.
#[derive(Default)]
struct WithLibraries {
    module: Arc<Module>,
    symbols: Arc<Libraries>,
    downloads: Arc<Downloads>,
}

struct Linker<'l> {
    files: &'l mut dyn ModuleFiles,
    options: &'l Link<'l>,
    tree: ConfigTree,
    cache: StaticCache,
    loaded: &'l mut Loaded,
    /// Directory of the root module, if it is one that a test runs.
    prefix: Option<ModulePath>,
    /// For each module: which directory it really is, and whether its source is constant.
    found: Vec<(EcoString, SourceKind)>,
    /// Diagnostics about the root module.
    root: Diagnostics,
    /// Diagnostics about the modules that it calls; while the root module is being read, those about the root module.
    modules: Diagnostics,
}

/// Whether the source of a module call is constant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SourceKind {
    Constant,
    /// It refers to variables or other names.
    Computed,
}

impl SourceKind {
    fn of(call: &ModuleCall) -> SourceKind {
        match call.source.as_ref().is_some_and(|source| source.variables().is_empty()) {
            true => SourceKind::Constant,
            false => SourceKind::Computed,
        }
    }
}

/// A call whose source is known.
struct Pending {
    parent: ModuleId,
    name: EcoString,
    source: ModuleSource,
    constraints: Option<VersionConstraints>,
}

/// Location of a module.
struct Location {
    dir: EcoString,
    version: Option<Version>,
}

impl<'l> Linker<'l> {
    fn new(files: &'l mut dyn ModuleFiles, options: &'l Link<'l>, loaded: &'l mut Loaded) -> Linker<'l> {
        Linker {
            files,
            options,
            tree: ConfigTree { modules: Vec::new(), runs: BTreeMap::new(), tested: None, wrong_keys: BTreeMap::new() },
            cache: StaticCache::default(),
            loaded,
            prefix: None,
            found: Vec::new(),
            root: Diagnostics::new(),
            modules: Diagnostics::new(),
        }
    }

    /// Links everything from a root module on; whether there is one.
    fn link(&mut self, dir: EcoString, prefix: Option<&ModulePath>, missing: impl FnOnce(&str) -> Diagnostic) -> bool {
        self.prefix = prefix.cloned();
        let module = self.load(&dir, &ModulePath::ROOT, None);
        let found = module.is_some();
        if !found {
            self.modules.push(missing(&dir));
        } else if prefix.is_some() && !self.modules.has_errors() {
            self.files.found(&dir);
        }
        let mut pending = self.add(ModuleNode::root(module.unwrap_or_default(), dir), SourceKind::Constant);
        self.root = std::mem::take(&mut self.modules);
        if self.root.has_errors() {
            // Modules that the root module calls are not read until it has no errors itself.
            return found;
        }
        pending.reverse();
        while let Some(call) = pending.pop() {
            if self.tree.len() >= MAX_MODULES {
                self.modules.push(diagnostics::too_many_modules(MAX_MODULES));
                return found;
            }
            let mut calls = self.follow(call);
            calls.reverse();
            pending.append(&mut calls);
        }
        found
    }

    /// The module of a directory, with its symbol libraries. Its errors are reported for each call.
    fn load(&mut self, dir: &EcoString, path: &ModulePath, package: Option<EcoString>) -> Option<WithLibraries> {
        if !self.loaded.modules.contains_key(dir) {
            let loaded = self.files.module(dir);
            let loaded = loaded.map(|(module, problems)| LoadedModule { module, problems, symbols: None });
            self.loaded.modules.insert(dir.clone(), loaded);
        }
        let loaded = self.loaded.modules.get_mut(dir)?.as_mut()?;
        if let Some(symbols) = &loaded.symbols {
            self.modules.extend(loaded.problems.iter().cloned());
            let (module, symbols) = (Arc::clone(&loaded.module), Arc::clone(symbols));
            return Some(WithLibraries { module, symbols, downloads: Arc::default() });
        }
        let base = symbols::Base {
            dir: dir.clone(),
            key: Manifest::key(&installed_path(self.prefix.as_ref(), path)),
            name: eco_format!("{path}"),
            package,
            is_wrong: loaded.problems.has_errors(),
        };
        let context = symbols::LinkContext { manifest: self.options.manifest, purpose: self.options.purpose };
        let mut module = Arc::clone(&loaded.module);
        let linked = self.loaded.symbols.module(&mut module, &base, context, self.files);
        self.modules.extend(linked.about_libraries);
        self.modules.extend(loaded.problems.iter().cloned());
        self.modules.extend(linked.problems.iter().cloned());
        let symbols = Arc::new(linked.libraries);
        if !linked.downloads.any {
            loaded.problems.extend(linked.problems);
            loaded.module = Arc::clone(&module);
            loaded.symbols = Some(Arc::clone(&symbols));
        }
        Some(WithLibraries { module, symbols, downloads: Arc::new(linked.downloads) })
    }

    /// Adds a module, evaluates its static contexts and returns its calls.
    fn add(&mut self, node: ModuleNode, source: SourceKind) -> Vec<Pending> {
        let id = ModuleId(self.tree.modules.len() as u32);
        let identity = self.files.identity(&node.dir);
        self.found.push((identity, source));
        let module = Arc::clone(&node.module);
        self.tree.modules.push(node);
        let env = self.options.static_env(self.files.sources());
        let statics = Statics::new(&self.tree, env, &self.cache);
        let mut pending = Vec::new();
        let only_looks = self.options.purpose == Purpose::Look;
        for call in module.calls.values() {
            let (found, problems) = evaluate_call(&statics, id, call);
            let path = self.tree.node(id).path.child(call.name.clone());
            let installed = match only_looks && found.is_none() {
                true => self.options.manifest.get(&installed_path(self.prefix.as_ref(), &path)),
                false => None,
            };
            if let Some(source) = installed.and_then(|installed| ModuleSource::parse(&installed.source).ok()) {
                pending.push(Pending { parent: id, name: call.name.clone(), source, constraints: None });
                continue;
            }
            self.modules.extend(problems);
            pending.extend(found);
        }
        let (instances, problems) = provider_instances(&statics, id, &module);
        let must_be_known = |variable: &&Variable| variable.constant == Some(true) && !only_looks;
        if !only_looks {
            self.modules.extend(problems);
        }
        for variable in module.variables.values().filter(must_be_known) {
            let (_, problems) = statics.variable(id, variable);
            let failed = problems.has_errors();
            self.modules.extend(problems);
            if failed {
                let at = self.tree.call(id).map_or(variable.span, |call| call.span);
                self.modules.push(const_not_available(variable, at));
            }
        }
        if let Some(node) = self.tree.modules.last_mut() {
            node.provider_instances = instances;
        }
        pending
    }

    /// Adds what a call leads to.
    fn follow(&mut self, pending: Pending) -> Vec<Pending> {
        let Pending { parent, name, source, constraints } = pending;
        let path = self.tree.node(parent).path.child(name.clone());
        let parent_module = Arc::clone(&self.tree.node(parent).module);
        let Some(call) = parent_module.calls.get(&name) else { return Vec::new() };
        if path.steps().len() > MAX_DEPTH {
            self.modules.push(diagnostics::too_deep(MAX_DEPTH, call.span));
            return Vec::new();
        }
        let Some(Location { dir, version }) = self.locate(parent, &path, call, &source, constraints.as_ref()) else {
            return Vec::new();
        };
        let source_kind = SourceKind::of(call);
        if source_kind == SourceKind::Constant
            && let Some(caller) = self.calls_itself(parent, &dir)
        {
            let problem = diagnostics::calls_itself(&path, &self.tree.node(caller).path, &dir, call.span);
            self.modules.push(problem);
            return Vec::new();
        }
        let before = self.modules.len();
        let package = match source.enters_new_package() {
            true => Some(Manifest::package_root(&Manifest::key(&installed_path(self.prefix.as_ref(), &path)), &dir)),
            false => self.package_of(parent),
        };
        let Some(WithLibraries { module, symbols, downloads }) = self.load(&dir, &path, package) else {
            self.unreadable(parent, &dir, &path, call, &source);
            return Vec::new();
        };
        if !self.modules.iter().skip(before).any(Diagnostic::is_error) {
            self.files.found(&dir);
        }
        if let Some(backend) = &module.backend {
            self.modules.push(diagnostics::backend_ignored(&path, backend.span));
        }
        if let Some(import) = module.imports.first() {
            self.modules.push(diagnostics::import_in_child(&path, import.span));
        }
        let id = ModuleId(self.tree.modules.len() as u32);
        if let Some(parent) = self.tree.modules.get_mut(parent.0 as usize) {
            parent.children.insert(name.clone(), id);
        }
        let node = ModuleNode {
            path,
            module,
            parent: Some(parent),
            call: name,
            children: BTreeMap::new(),
            source: Some(source),
            version,
            dir,
            provider_instances: BTreeMap::new(),
            symbols,
            downloads,
        };
        self.add(node, source_kind)
    }

    /// Directory of the module of a call: below its caller, or where it was installed.
    fn locate(
        &mut self,
        parent: ModuleId,
        path: &ModulePath,
        call: &ModuleCall,
        source: &ModuleSource,
        constraints: Option<&VersionConstraints>,
    ) -> Option<Location> {
        let local = match source {
            ModuleSource::Local(relative) => Some(join(&self.tree.node(parent).dir, relative)),
            _ => None,
        };
        let key = installed_path(self.prefix.as_ref(), path);
        let (text, name) = (Manifest::key(&key), eco_format!("{key}"));
        let wanted = Wanted { key: &text, name: &name, source, constraints, dir: local.as_deref(), span: call.span };
        if let Some((installed, problems)) = self.files.install(&wanted) {
            self.modules.extend(problems);
            let Installed { dir, version, .. } = installed?;
            return Some(Location { dir, version });
        }
        if let Some(dir) = local {
            return Some(Location { dir, version: None });
        }
        let Some(installed) = self.options.manifest.get(&key) else {
            self.modules.push(diagnostics::not_installed(path, source, self.options.purpose, call.span));
            return None;
        };
        let at = call.source.as_ref().map_or(call.span, |source| source.span);
        let wanted = eco_format!("{source}");
        if wanted != installed.source {
            self.modules.push(diagnostics::source_changed(&installed.source, &wanted, at));
        }
        let acceptable = match (constraints, &installed.version) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(constraints), Some(version)) => constraints.allows(version),
        };
        if !acceptable {
            self.modules.push(diagnostics::version_changed(installed.version.as_ref(), at));
        }
        Some(Location { dir: installed.dir.clone(), version: installed.version.clone() })
    }

    /// The module on the way to a call that has the same directory, if nothing on the way from it could end the recursion.
    fn calls_itself(&mut self, parent: ModuleId, dir: &EcoString) -> Option<ModuleId> {
        let identity = self.files.identity(dir);
        let mut at = Some(parent);
        while let Some(id) = at {
            let (found, source) = self.found.get(id.0 as usize)?;
            if *found == identity {
                return Some(id);
            }
            if *source == SourceKind::Computed {
                return None;
            }
            at = self.tree.node(id).parent;
        }
        None
    }

    fn unreadable(&mut self, parent: ModuleId, dir: &str, path: &ModulePath, call: &ModuleCall, source: &ModuleSource) {
        if let (Purpose::Install, ModuleSource::Local(relative)) = (self.options.purpose, source)
            && let Some(package) = self.left_package(parent, relative)
        {
            self.modules.push(diagnostics::leaves_package(path, &package));
            return;
        }
        match (self.options.purpose, source) {
            (Purpose::Install, ModuleSource::Local(_)) => {
                self.modules.push(diagnostics::unreadable_directory(dir, path, call.span));
            }
            (_, ModuleSource::Local(_)) => self.modules.push(diagnostics::local_missing(dir, path, call.span)),
            _ => self.modules.push(diagnostics::cache_unreadable(dir, path, call.span)),
        }
    }
}

impl Linker<'_> {
    /// The directory of the package that a module was installed with; none if it comes with the root module.
    fn package_of(&self, module: ModuleId) -> Option<EcoString> {
        let mut at = module;
        loop {
            let node = self.tree.node(at);
            if node.source.as_ref()?.enters_new_package() {
                let key = Manifest::key(&installed_path(self.prefix.as_ref(), &node.path));
                return Some(Manifest::package_root(&key, &node.dir));
            }
            at = node.parent?;
        }
    }

    /// The package of a module, if a path that is relative to the module leads out of it.
    fn left_package(&self, module: ModuleId, relative: &str) -> Option<EcoString> {
        let mut steps = vec![relative];
        let mut at = module;
        let (package, subdir) = loop {
            let node = self.tree.node(at);
            match node.source.as_ref()? {
                ModuleSource::Local(relative) => steps.push(relative),
                ModuleSource::Registry(module) => break (module.for_registry(), module.subdir.clone()),
                ModuleSource::Remote(remote) => break (remote.package.clone(), remote.subdir.clone()),
            }
            at = node.parent?;
        };
        let mut dir = subdir.unwrap_or_default();
        for relative in steps.iter().rev() {
            dir = join(&dir, relative);
            if dir == ".." || dir.starts_with("../") {
                return Some(package);
            }
        }
        None
    }
}

impl ModuleNode {
    fn root(WithLibraries { module, symbols, downloads }: WithLibraries, dir: EcoString) -> ModuleNode {
        ModuleNode {
            path: ModulePath::ROOT,
            module,
            parent: None,
            call: EcoString::new(),
            children: BTreeMap::new(),
            source: None,
            version: None,
            dir,
            provider_instances: BTreeMap::new(),
            symbols,
            downloads,
        }
    }
}

/// The address by which a module is recorded as installed. Modules that a test runs have another address in the tree.
fn installed_path(prefix: Option<&ModulePath>, path: &ModulePath) -> ModulePath {
    match prefix {
        Some(prefix) => path.steps().iter().fold(prefix.clone(), |full, step| full.child(step.clone())),
        None => path.clone(),
    }
}

/// Evaluates version and source of a call.
fn evaluate_call(statics: &Statics<'_>, module: ModuleId, call: &ModuleCall) -> (Option<Pending>, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut has_version = false;
    let mut constraints = None;
    if let Some(version) = &call.version {
        let usage =
            StaticUse::new(eco_format!("module.{}.version", call.name), call.version_span.unwrap_or(version.span));
        let (value, found) = statics.evaluate(module, version, &usage);
        has_version = found.has_errors() || !value.is_null();
        if !found.has_errors() && !value.is_null() {
            match version_constraints(&value, version) {
                Ok(found) => constraints = found,
                Err(problem) => problems.push(*problem),
            }
        }
        problems.extend(found);
    }
    let Some(expr) = &call.source else { return (None, problems) };
    let usage = StaticUse::new(eco_format!("module.{}.source", call.name), expr.span);
    let (text, found) = statics.text(module, expr, &usage);
    problems.extend(found);
    let Some(text) = text else { return (None, problems) };
    let parsed = if has_version { ModuleSource::parse_registry(&text) } else { ModuleSource::parse(&text) };
    match parsed {
        Ok(source) => (Some(Pending { parent: module, name: call.name.clone(), source, constraints }), problems),
        Err(problem) => {
            problems.push(problem.at(expr.span));
            (None, problems)
        }
    }
}

/// Reasons why sources and versions of the modules that the root module calls are not available.
pub fn unavailable_sources(tree: &ConfigTree, env: StaticEnv<'_>) -> Diagnostics {
    let cache = StaticCache::default();
    let statics = Statics::new(tree, env, &cache);
    let mut problems = Diagnostics::new();
    for call in tree.root().module.calls.values() {
        problems.extend(evaluate_call(&statics, ModuleId::ROOT, call).1);
    }
    problems
}

fn version_constraints(value: &yuba_value::Value, expr: &Expr) -> Result<Option<VersionConstraints>, Box<Diagnostic>> {
    let fail = |reason: &str| Err(Box::new(diagnostics::invalid_version(reason, expr.span)));
    if value.marks().has_sensitive() {
        return fail("it must not be sensitive, because versions are shown");
    }
    if value.marks().has_ephemeral() {
        return fail("it must not be ephemeral, because every run must select the same version");
    }
    let Ok(text) = convert::convert(&value.unmark_deep().0, &Type::string()) else {
        return fail("it must be a string");
    };
    match text.as_str() {
        None => Ok(None),
        Some(text) => match VersionConstraints::parse(text) {
            Ok(constraints) => Ok(Some(constraints)),
            Err(_) => fail("it is not of the form \">= 1.2.0, < 2.0.0\""),
        },
    }
}

type InstancesByProvider = BTreeMap<yuba_config::provider::ProviderKey, for_each::Instances>;

/// The instances of the providers of a module that have `for_each`.
fn provider_instances(statics: &Statics<'_>, id: ModuleId, module: &Module) -> (InstancesByProvider, Diagnostics) {
    let mut found = BTreeMap::new();
    let mut problems = Diagnostics::new();
    let may_be_dynamic = module.features.contains(Feature::DynamicProviderForEach);
    for (key, provider) in &module.providers {
        let Some(expr) = &provider.for_each else { continue };
        let alias = key.alias.as_deref().unwrap_or_default();
        let usage = StaticUse::new(eco_format!("provider.{}.{alias}.for_each", key.name), expr.span);
        let (value, wrong) = statics.evaluate(id, expr, &usage);
        if may_be_dynamic && wrong.has_errors() && !wrong.iter().any(is_unpredictable_call) {
            // It is evaluated like all other expressions; errors are found there.
            continue;
        }
        let failed = wrong.has_errors();
        problems.extend(wrong);
        if !failed {
            let (instances, wrong) = for_each::instances(&value, expr.span);
            if !wrong.has_errors() {
                found.insert(key.clone(), instances);
            }
            problems.extend(wrong);
        }
    }
    (found, problems)
}

/// A directory relative to another one, without steps that lead nowhere.
pub(crate) fn join(dir: &str, relative: &str) -> EcoString {
    let mut parts: Vec<&str> = Vec::new();
    let absolute = dir.starts_with('/');
    for part in dir.split('/').chain(relative.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if absolute && parts.is_empty() => {}
            part => parts.push(part),
        }
    }
    match (absolute, parts.join("/")) {
        (true, joined) => eco_format!("/{joined}"),
        (false, joined) if joined.is_empty() => ".".into(),
        (false, joined) => joined.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn directories_are_joined_without_detours() {
        for (dir, relative, joined) in [
            (".", "./a", "a"),
            ("a", "../b", "b"),
            ("a", "..", "."),
            (".", "../b", "../b"),
            ("..", "../b", "../../b"),
            ("/x/y", "../../../b", "/b"),
            ("a/./b", "./c//d/", "a/b/c/d"),
        ] {
            assert_eq!(join(dir, relative), joined);
        }
    }
}
