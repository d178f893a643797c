//! From `symbols` blocks to libraries: each is found, read and linked once, or once for each block that leads to it where
//! something on the way is installed.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashSet};
use yuba_addrs::{Feature, ModuleSource, ParseRefContext, VersionConstraints};
use yuba_config::symbols::{Library as Declared, SymbolsCall};
use yuba_config::variable::Variable;
use yuba_config::{Decoding, Module};
use yuba_syntax::{DiagnosticKey, Diagnostics, Expr, Sources, Span};

use super::types::ModuleTypes;
use super::{Included, Libraries, Library, diagnostics, library};
use crate::constant::{ConstantNames, constant_with};
use crate::expression::with_stack;
use crate::tree::{Installed, Manifest, ModuleFiles, Purpose, Wanted, join};

/// Over how many levels libraries may include each other.
const MAX_DEPTH: usize = 500;
/// Maximum number of libraries, counted for each block that leads to them.
const MAX_LIBRARIES: usize = 100_000;

/// Content of the files of a library.
pub struct LibraryFiles {
    /// Its declarations.
    pub declared: Declared,
    /// Their errors.
    pub problems: Diagnostics,
    /// The library is a directory, not a file.
    pub is_dir: bool,
}

/// Reason why the files of a library cannot be read.
pub struct UnreadableLibrary {
    /// There is neither a file nor a directory.
    pub is_missing: bool,
    /// The reason, as part of a sentence.
    pub reason: EcoString,
}

/// The module or library that contains `symbols` blocks.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// Its directory, where relative paths start.
    pub(crate) dir: EcoString,
    /// The key by which it is recorded as installed; empty for the root module.
    pub(crate) key: EcoString,
    /// Its name in messages; empty for the root module.
    pub(crate) name: EcoString,
    /// The directory of the downloaded package it is in, which relative paths must not leave.
    pub(crate) package: Option<EcoString>,
    /// Something is wrong with it already: nothing is downloaded for it.
    pub(crate) is_wrong: bool,
}

/// Installed libraries, and the purpose of linking.
#[derive(Clone, Copy)]
pub(crate) struct LinkContext<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) purpose: Purpose,
}

/// The libraries of a module.
#[derive(Default)]
pub(crate) struct Linked {
    pub(crate) libraries: Libraries,
    /// Errors in the module and its use of libraries.
    pub(crate) problems: Diagnostics,
    /// Errors in the libraries themselves, reported once.
    pub(crate) about_libraries: Diagnostics,
    pub(crate) downloads: Downloads,
}

/// The libraries of a module, or libraries of these, that do not come with the files of the module.
#[derive(Clone, Debug, Default)]
pub struct Downloads {
    /// Whether there are any, installed or not.
    pub any: bool,
    /// Those that are installed, by the key of the record.
    pub installed: BTreeMap<EcoString, Installed>,
}

/// Libraries linked so far.
#[derive(Default)]
pub(crate) struct Linker {
    /// By identity: libraries that come with the files of the configuration, as all do that they include.
    done: HashMap<EcoString, Option<Arc<Library>>>,
    /// By identity: files of other libraries.
    read: HashMap<EcoString, Arc<LibraryFiles>>,
    /// Libraries that are being linked, outermost first.
    open: Vec<Open>,
    /// Diagnostics reported so far.
    reported: HashSet<DiagnosticKey>,
    linked: usize,
}

/// A library that is being linked.
struct Open {
    identity: EcoString,
    /// Source and version, if it is installed.
    source: Option<EcoString>,
    path: EcoString,
    /// Block that includes the next one.
    included: EcoString,
}

/// The libraries of one module while they are linked.
struct Linking<'l> {
    linker: &'l mut Linker,
    files: &'l mut dyn ModuleFiles,
    context: LinkContext<'l>,
    downloads: Downloads,
    about_libraries: Diagnostics,
}

/// Location of a library.
struct Location {
    path: EcoString,
    /// Source and version, if it is installed.
    source: Option<EcoString>,
    base: Base,
}

impl Linker {
    /// Links the libraries of a module and resolves types, defaults and messages that it takes from them.
    pub(crate) fn module(
        &mut self,
        module: &mut Arc<Module>,
        base: &Base,
        context: LinkContext<'_>,
        files: &mut dyn ModuleFiles,
    ) -> Linked {
        let mut problems = Diagnostics::new();
        let mut linking = Linking {
            linker: self,
            files,
            context,
            downloads: Downloads::default(),
            about_libraries: Diagnostics::new(),
        };
        let libraries = linking.include(&module.symbols, base, &mut problems);
        let Linking { downloads, about_libraries, .. } = linking;
        let pending_outputs = module.outputs.values().any(|output| output.deprecated_pending.is_some());
        if pending_outputs || module.variables.values().any(Variable::is_pending) {
            let empty = Sources::new();
            let sources = files.sources().unwrap_or(&empty);
            // Features and resources do not depend on variables and outputs.
            let context = Arc::clone(module);
            let opted_in = context.feature_enabled(Feature::SymbolLibraries);
            let symbols = opted_in.then_some((&*context as &dyn ParseRefContext, &libraries));
            let names = ConstantNames { symbols, sources: Some(sources), ..ConstantNames::default() };
            let constants = |expr: &Expr| constant_with(expr, &names);
            let decoding = Decoding::new(&constants, sources);
            let types = ModuleTypes::new(&libraries, &*context);
            let module = Arc::make_mut(module);
            for variable in module.variables.values_mut().filter(|variable| variable.is_pending()) {
                types.begin();
                problems.extend(variable.resolve(&decoding, &types));
            }
            for output in module.outputs.values_mut() {
                problems.extend(output.resolve(&decoding));
            }
        }
        Linked { libraries, problems, about_libraries, downloads }
    }
}

impl Linking<'_> {
    /// Links what `symbols` blocks name.
    fn include(
        &mut self,
        calls: &BTreeMap<EcoString, SymbolsCall>,
        base: &Base,
        problems: &mut Diagnostics,
    ) -> Libraries {
        let mut libraries = Libraries::new();
        for call in calls.values() {
            let location = self.files.sources().map(|sources| location(sources, call.span)).unwrap_or_default();
            if let Some(open) = self.linker.open.last_mut() {
                open.included.clone_from(&location);
            }
            let library = match self.locate(call, base, problems) {
                Some(location) => with_stack(|| self.library(call, location, problems)),
                None => None,
            };
            libraries.insert(call.name.clone(), Included { location, library });
        }
        libraries
    }

    /// Finds the library that a block names: beside the block, or where it is installed.
    fn locate(&mut self, call: &SymbolsCall, base: &Base, problems: &mut Diagnostics) -> Option<Location> {
        let (source, constraints) = match call.address() {
            Ok(found) => found?,
            Err(problem) => {
                problems.push(*problem);
                return None;
            }
        };
        let name = match base.name.is_empty() {
            true => eco_format!("symbol library {:?}", call.name),
            false => eco_format!("symbol library {:?} of {}", call.name, base.name),
        };
        let step = eco_format!("symbols:{}", call.name);
        let key = if base.key.is_empty() { step } else { eco_format!("{}.{step}", base.key) };
        let inner = Base { key, name, ..base.clone() };
        let at = call.source.as_ref().map_or(call.span, |(_, at)| *at);
        match &source {
            ModuleSource::Local(relative) => {
                let path = join(&base.dir, relative);
                if let Some(package) = &base.package
                    && !self.is_inside(&path, package)
                {
                    problems.push(diagnostics::leaves_package(&inner.name, &path, package, at));
                    return None;
                }
                Some(Location { path, source: None, base: inner })
            }
            _ => self.installed(call, &source, constraints.as_ref(), inner, problems),
        }
    }

    /// Whether a path stays in a package, also if links on the way are followed.
    fn is_inside(&mut self, path: &EcoString, package: &EcoString) -> bool {
        let below =
            |path: &str, dir: &str| path == dir || path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        below(path, package) && below(&self.files.identity(path), &self.files.identity(package))
    }

    /// Finds a library that is not beside the block that names it.
    fn installed(
        &mut self,
        call: &SymbolsCall,
        source: &ModuleSource,
        constraints: Option<&VersionConstraints>,
        base: Base,
        problems: &mut Diagnostics,
    ) -> Option<Location> {
        self.downloads.any = true;
        if base.is_wrong {
            return None;
        }
        let text = eco_format!("{source}");
        let of_open = |open: &Open| open.source.as_deref().is_some_and(|open| open == text);
        if let Some(start) = self.linker.open.iter().position(of_open) {
            self.includes_itself(start, call.span, problems);
            return None;
        }
        let wanted = Wanted { key: &base.key, name: &base.name, source, constraints, dir: None, span: call.span };
        let installed = match self.files.install(&wanted) {
            Some((installed, found)) => {
                problems.extend(found);
                installed?
            }
            None => {
                let Some(installed) = self.context.manifest.modules.get(&base.key) else {
                    problems.push(diagnostics::not_installed(&base.name, source, self.context.purpose, call.span));
                    return None;
                };
                let at = call.source.as_ref().map_or(call.span, |(_, at)| *at);
                if installed.source != text {
                    problems.push(diagnostics::source_changed(&installed.source, &text, at));
                    return None;
                }
                let version = installed.version.as_ref();
                let fits = constraints.is_none_or(|wanted| version.is_some_and(|version| wanted.allows(version)));
                if !fits {
                    let at = call.version.as_ref().map_or(at, |(_, at)| *at);
                    problems.push(diagnostics::version_changed(version, at));
                    return None;
                }
                installed.clone()
            }
        };
        let path = installed.dir.clone();
        let source = match &installed.version {
            Some(version) => eco_format!("{text} {version}"),
            None => text,
        };
        if let Some(start) = self.linker.open.iter().position(|open| open.source.as_ref() == Some(&source)) {
            self.includes_itself(start, call.span, problems);
            return None;
        }
        let package = Some(Manifest::package_root(&base.key, &path));
        self.downloads.installed.insert(base.key.clone(), installed);
        Some(Location { source: Some(source), base: Base { package, ..base }, path })
    }

    fn includes_itself(&self, start: usize, at: Span, problems: &mut Diagnostics) {
        let open = self.linker.open.iter().skip(start);
        let chain: Vec<(EcoString, EcoString)> = open.map(|open| (open.path.clone(), open.included.clone())).collect();
        problems.push(diagnostics::includes_itself(&chain, at));
    }

    fn library(&mut self, call: &SymbolsCall, location: Location, problems: &mut Diagnostics) -> Option<Arc<Library>> {
        let Location { path, source, base } = location;
        let at = call.source.as_ref().map_or(call.span, |(_, at)| *at);
        let identity = self.files.identity(&path);
        if let Some(start) = self.linker.open.iter().position(|open| open.identity == identity) {
            self.includes_itself(start, at, problems);
            return None;
        }
        if let Some(done) = self.linker.done.get(&identity) {
            return done.clone();
        }
        if self.linker.open.len() >= MAX_DEPTH {
            problems.push(diagnostics::too_deep(MAX_DEPTH, at));
            return None;
        }
        if self.linker.linked >= MAX_LIBRARIES {
            problems.push(diagnostics::too_many(MAX_LIBRARIES, at));
            return None;
        }
        self.linker.linked += 1;
        let known = self.linker.read.get(&identity).cloned();
        let read = match known.map_or_else(|| self.files.library(&path).map(Arc::new), Ok) {
            Ok(read) => read,
            Err(found) => {
                problems.push(match found.is_missing && source.is_some() {
                    true => diagnostics::cache_unreadable(&base.name, &path, call.span),
                    false => diagnostics::unreadable(&call.name, &path, &found.reason, at),
                });
                return None;
            }
        };
        let dir = if read.is_dir { path.as_str() } else { path.rsplit_once('/').map_or(".", |(dir, _)| dir) };
        let dir = if dir.is_empty() { "/" } else { dir };
        let mut found = read.problems.clone();
        let base = Base { dir: dir.into(), is_wrong: base.is_wrong || found.has_errors(), ..base };
        let is_installed = source.is_some();
        let included = EcoString::new();
        self.linker.open.push(Open { identity: identity.clone(), source, path: path.clone(), included });
        let before = std::mem::take(&mut self.downloads.any);
        let libraries = self.include(&read.declared.symbols, &base, &mut found);
        let is_shared = !self.downloads.any && !is_installed;
        self.downloads.any |= before;
        self.linker.open.pop();
        let empty = Sources::new();
        let decoding = Decoding::new(&crate::constant, self.files.sources().unwrap_or(&empty));
        let broken = libraries.values().any(|included| included.library.is_none());
        let (library, wrong) = library::link(path, &read.declared, libraries, &decoding);
        if !found.has_errors() {
            found.extend(wrong);
        }
        let usable = !broken && !found.has_errors();
        // Modules may include the same library from different locations. Its diagnostics are reported the first time.
        let reported = &mut self.linker.reported;
        found.retain(|problem| !reported.contains(&problem.key()));
        reported.extend(found.iter().map(yuba_syntax::Diagnostic::key));
        self.about_libraries.extend(found);
        let library = usable.then(|| Arc::new(library));
        match is_shared {
            true => drop(self.linker.done.insert(identity, library.clone())),
            false => drop(self.linker.read.insert(identity, read)),
        }
        library
    }
}

/// A location as text: `main.tf:3`.
pub(crate) fn location(sources: &Sources, span: Span) -> EcoString {
    match sources.get(span.file) {
        Some(source) => eco_format!("{}:{}", source.name, source.position(span.start as usize).line),
        None => "another file".into(),
    }
}
