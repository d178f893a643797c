//! From files to modules: reads, parses and decodes the directories that `eval::link` requests, and caches all of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::Feature;
use yuba_config::symbols::decode_library;
use yuba_config::test_file::{MOCK_SUFFIXES, MockProvider, decode_mocks};
use yuba_config::{Decoding, Module, ParsedConfigFile, decode_module, decode_test_file, select_files};
use yuba_eval::symbols::{LibraryFiles, UnreadableLibrary};
use yuba_eval::tree::ModuleFiles;
use yuba_syntax::body::ParsedFile;
use yuba_syntax::files::{Files, entry_path, split_path};
use yuba_syntax::{Body, Diagnostics, FileId, SourceFile, Sources, json, parser};

use crate::diagnostics;

/// Directory of test files, below the directory of the module, unless a flag names another one.
pub const DEFAULT_TEST_DIR: &str = "tests";

/// Suffix of the files of a symbol library that is a directory.
const LIBRARY_SUFFIX: &str = ".sym.hcl";

/// Files read so far, by path. A clone shares everything.
#[derive(Clone, Debug, Default)]
pub struct ReadModules {
    /// The files, by id. A path keeps its id when its content changes.
    pub sources: Sources,
    trees: HashMap<EcoString, Tree>,
    modules: HashMap<EcoString, KeptModule>,
    /// Files of symbol libraries.
    libraries: BTreeSet<FileId>,
    /// Number of files parsed, of all snapshots up to this one.
    parsed: usize,
}

/// The syntax tree of a file with this content, or the empty tree of a file that could not be read.
#[derive(Clone, Debug)]
struct Tree {
    file: FileId,
    bytes: Option<Arc<[u8]>>,
    body: Body,
    diagnostics: Diagnostics,
}

/// The module of a directory.
#[derive(Clone, Debug)]
struct KeptModule {
    module: Arc<Module>,
    diagnostics: Diagnostics,
    /// Directories whose entries or files it depends on.
    directories: BTreeSet<EcoString>,
}

impl ReadModules {
    /// Forgets what depends on these files: their directories are listed again, and a file with new content is parsed again.
    fn invalidate(&mut self, changed: &[&str]) {
        let directories: BTreeSet<&str> = changed.iter().map(|path| split_path(path).0).collect();
        self.modules.retain(|_, kept| kept.directories.iter().all(|dir| !directories.contains(dir.as_str())));
    }

    /// Files of symbol libraries, in the order of their ids.
    pub fn libraries(&self) -> Vec<FileId> {
        self.libraries.iter().copied().collect()
    }

    /// Modules that were read without errors, by directory.
    pub fn valid_modules(&self) -> BTreeMap<EcoString, Arc<Module>> {
        let valid = self.modules.iter().filter(|(_, kept)| !kept.diagnostics.has_errors());
        valid.map(|(dir, kept)| (dir.clone(), Arc::clone(&kept.module))).collect()
    }

    /// Number of files parsed since the first snapshot.
    pub fn parsed(&self) -> usize {
        self.parsed
    }
}

/// Reads modules and symbol libraries for `eval::link`.
pub struct ModuleReader {
    files: Arc<dyn Files>,
    read: ReadModules,
    /// The directory whose test files are read, and the directory below it with more of them.
    tests: Option<(EcoString, EcoString)>,
    identities: BTreeMap<EcoString, EcoString>,
}

impl ModuleReader {
    /// A reader that has read nothing yet.
    pub fn new(files: Arc<dyn Files>) -> ModuleReader {
        ModuleReader::resume(files, ReadModules::default())
    }

    /// A reader that goes on with what another one has read.
    pub fn resume(files: Arc<dyn Files>, read: ReadModules) -> ModuleReader {
        ModuleReader { files, read, tests: None, identities: BTreeMap::new() }
    }

    /// A reader with sources that were read elsewhere, such as variable files.
    pub fn with_sources(files: Arc<dyn Files>, sources: Sources) -> ModuleReader {
        ModuleReader::resume(files, ReadModules { sources, ..ReadModules::default() })
    }

    /// Reads test files too: those in this directory and in a directory below it.
    #[must_use]
    pub fn with_tests(mut self, dir: &str, below: Option<&str>) -> ModuleReader {
        self.tests = below.map(|below| (dir.into(), below.into()));
        self
    }

    /// Adds modules that replace those in their directories, whose files are not read.
    #[must_use]
    pub fn with_modules(mut self, modules: impl IntoIterator<Item = (EcoString, Arc<Module>)>) -> ModuleReader {
        self.read.modules.extend(modules.into_iter().map(|(dir, module)| {
            let directories = BTreeSet::from([dir.clone()]);
            (dir, KeptModule { module, diagnostics: Diagnostics::new(), directories })
        }));
        self
    }

    /// The files that are read.
    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    /// The same reader for files that have changed at these paths.
    pub(crate) fn changed(mut self, changed: &[&str]) -> ModuleReader {
        self.read.invalidate(changed);
        self
    }

    /// Sources, for files that are not part of a module.
    pub fn sources_mut(&mut self) -> &mut Sources {
        &mut self.read.sources
    }

    /// The files that were read.
    pub fn read_modules(&self) -> &ReadModules {
        &self.read
    }

    /// The files that were read.
    pub fn into_read_modules(self) -> ReadModules {
        self.read
    }

    /// The test files below the directory of a module, and those beside it.
    fn read_tests(
        &mut self,
        dir: &str,
        below: &str,
        beside: &[EcoString],
        problems: &mut Diagnostics,
    ) -> Vec<ParsedConfigFile> {
        let mut names: Vec<EcoString> = beside.to_vec();
        let path = entry_path(dir, below);
        match self.files.names(&path) {
            Ok(found) => {
                let found = select_files(found.iter().map(EcoString::as_str)).tests;
                names.extend(found.iter().map(|name| eco_format!("{below}/{name}")));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                problems.push(diagnostics::unreadable_tests(&path, &error));
            }
            Err(_) if below != DEFAULT_TEST_DIR => problems.push(diagnostics::missing_tests(&path)),
            Err(_) => {}
        }
        names.iter().map(|name| self.parse(dir, name, Role::Ordinary)).collect()
    }

    /// Adds the files of the directory that a `mock_provider` block names, and gives back that directory.
    fn add_mocks(
        &mut self,
        dir: &str,
        features: Features,
        mock: &mut MockProvider,
        problems: &mut Diagnostics,
    ) -> Option<EcoString> {
        let (source, span) = mock.source.clone()?;
        let path = entry_path(dir, source.strip_prefix("./").unwrap_or(&source));
        let names = match self.files.names(&path) {
            Ok(names) => names,
            Err(error) => {
                problems.push(diagnostics::unreadable_mocks(&path, &error).at(span));
                return Some(path);
            }
        };
        for name in names.iter().filter(|name| MOCK_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))) {
            let file = self.parse(&path, name, Role::Ordinary);
            problems.extend(file.diagnostics);
            let (mocks, found) = decode_mocks(&file.body, &features.decoding(&self.read.sources));
            problems.extend(found);
            mock.add(mocks);
        }
        Some(path)
    }

    /// The tree of a file. A file that cannot be read is empty, with an error.
    fn parse(&mut self, dir: &str, name: &EcoString, role: Role) -> ParsedConfigFile {
        let path = entry_path(dir, name);
        let (bytes, problem) = match self.files.read(&path) {
            Ok(bytes) => (Some(bytes), None),
            Err(error) => (None, Some(diagnostics::unreadable_file(&path, &error))),
        };
        let tree = match self.read.trees.get(&path).filter(|tree| tree.bytes == bytes) {
            Some(tree) => tree.clone(),
            None => self.parse_new(&path, bytes),
        };
        let mut diagnostics = tree.diagnostics;
        diagnostics.extend(problem);
        let is_override = role == Role::Override;
        ParsedConfigFile { name: name.clone(), file: tree.file, body: tree.body, diagnostics, is_override }
    }

    fn parse_new(&mut self, path: &EcoString, bytes: Option<Arc<[u8]>>) -> Tree {
        let source = SourceFile::new(path.as_str(), bytes.clone().unwrap_or_default());
        let file = match self.read.trees.get(path) {
            Some(old) => {
                self.read.sources.replace(old.file, source);
                old.file
            }
            None => self.read.sources.add(source),
        };
        let parsed = parsed(path, file, bytes.as_deref(), &|first, second| self.files.both(first, second));
        self.keep(path, Tree { file, bytes, body: parsed.body, diagnostics: parsed.diagnostics })
    }

    fn keep(&mut self, path: &EcoString, tree: Tree) -> Tree {
        self.read.trees.insert(path.clone(), tree.clone());
        self.read.parsed += 1;
        tree
    }

    /// Parses the files of a directory that were not read before, at the same time where there is much to parse.
    fn parse_together(&mut self, dir: &str, names: &[EcoString]) {
        let mut new = Vec::new();
        let paths = names.iter().map(|name| entry_path(dir, name));
        for path in paths.filter(|path| !self.read.trees.contains_key(path)) {
            // A file that cannot be read is reported when it is parsed alone.
            let Ok(bytes) = self.files.read(&path) else { continue };
            new.push((path, bytes));
        }
        let size = |files: &[(EcoString, Arc<[u8]>)]| files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        if new.len() < 2 || size(&new) < parser::LARGE_FILE {
            return;
        }
        let middle = (1..new.len()).find(|at| size(&new[..*at]) * 2 >= size(&new)).unwrap_or(1);
        let add = |(path, bytes): (EcoString, Arc<[u8]>)| {
            let file = self.read.sources.add(SourceFile::new(path.as_str(), bytes.clone()));
            (path, file, bytes)
        };
        let mut first: Vec<_> = new.into_iter().map(add).collect();
        let mut second = first.split_off(middle);
        let parse = |files: Vec<(EcoString, FileId, Arc<[u8]>)>| {
            let parse = |(path, file, bytes): (EcoString, FileId, Arc<[u8]>)| {
                let parsed = parsed(&path, file, Some(&*bytes), &|first, second| {
                    first();
                    second();
                });
                (path, Tree { file, bytes: Some(bytes), body: parsed.body, diagnostics: parsed.diagnostics })
            };
            files.into_iter().map(parse).collect::<Vec<_>>()
        };
        let (mut trees, mut more) = (Vec::new(), Vec::new());
        self.files.both(&mut || trees = parse(std::mem::take(&mut first)), &mut || {
            more = parse(std::mem::take(&mut second));
        });
        for (path, tree) in trees.into_iter().chain(more) {
            self.keep(&path, tree);
        }
    }

    fn decode(&mut self, dir: &str) -> Option<KeptModule> {
        let names = self.files.names(dir).ok()?;
        let selection = select_files(names.iter().map(EcoString::as_str));
        let mut files = Vec::with_capacity(selection.primary.len() + selection.overrides.len());
        for (names, role) in [(&selection.primary, Role::Ordinary), (&selection.overrides, Role::Override)] {
            self.parse_together(dir, names);
            files.extend(names.iter().map(|name| self.parse(dir, name, role)));
        }
        let mut directories = BTreeSet::from([EcoString::from(dir)]);
        let mut tests = Vec::new();
        let mut found = Diagnostics::new();
        if let Some((_, below)) = self.tests.clone().filter(|(of, _)| of == dir) {
            tests = self.read_tests(dir, &below, &selection.tests, &mut found);
            directories.insert(entry_path(dir, &below));
        }
        let (mut module, mut diagnostics) =
            decode_module(dir, &files, &Features::default().decoding(&self.read.sources));
        let features = Features { symbols: module.features.contains(Feature::SymbolLibraries) };
        for test in tests {
            let (mut decoded, wrong) = decode_test_file(&test, &features.decoding(&self.read.sources));
            diagnostics.extend(wrong);
            for mock in decoded.mock_providers.values_mut() {
                directories.extend(self.add_mocks(dir, features, mock, &mut diagnostics));
            }
            module.tests.insert(test.name, decoded);
        }
        diagnostics.extend(found);
        Some(KeptModule { module: Arc::new(module), diagnostics, directories })
    }
}

/// The body of a file; of a file that could not be read, an empty one.
fn parsed(path: &str, file: FileId, bytes: Option<&[u8]>, both: parser::Both<'_>) -> ParsedFile {
    match bytes {
        Some(bytes) if path.ends_with(".json") => json::parse_config(file, bytes),
        bytes => parser::parse_config_body(file, bytes.unwrap_or_default(), both),
    }
}

/// Role of a file in its module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Ordinary,
    Override,
}

/// Opt-in features of a module that change how its test files are decoded.
#[derive(Clone, Copy, Default)]
struct Features {
    symbols: bool,
}

impl Features {
    fn decoding(self, sources: &Sources) -> Decoding<'_> {
        Decoding { symbols: self.symbols, ..Decoding::new(&yuba_eval::constant, sources) }
    }
}

impl ModuleFiles for ModuleReader {
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        let _span = tracing::debug_span!("parse module", dir).entered();
        if !self.read.modules.contains_key(dir) {
            let decoded = self.decode(dir)?;
            self.read.modules.insert(dir.into(), decoded);
        }
        self.read.modules.get(dir).map(|kept| (Arc::clone(&kept.module), kept.diagnostics.clone()))
    }

    fn library(&mut self, path: &str) -> Result<LibraryFiles, UnreadableLibrary> {
        let _span = tracing::debug_span!("parse library", path).entered();
        let unreadable = |error: &io::Error| diagnostics::unreadable_library(path, error);
        let is_dir = self.files.is_dir(path).map_err(|error| unreadable(&error))?;
        let names: Vec<EcoString> = match is_dir {
            true => {
                let names = self.files.names(path).map_err(|error| unreadable(&error))?;
                names.into_iter().filter(|name| name.ends_with(LIBRARY_SUFFIX)).collect()
            }
            false => vec![path.into()],
        };
        if names.is_empty() {
            return Err(diagnostics::empty_library(LIBRARY_SUFFIX));
        }
        let dir = if is_dir { path } else { "." };
        let files: Vec<ParsedConfigFile> = names.iter().map(|name| self.parse(dir, name, Role::Ordinary)).collect();
        self.read.libraries.extend(files.iter().map(|file| file.file));
        let decoding = Features::default().decoding(&self.read.sources);
        let (declared, found) = decode_library(files.iter().map(|file| &file.body), &decoding);
        let mut problems = Diagnostics::new();
        for file in files {
            problems.extend(file.diagnostics);
        }
        problems.extend(found);
        Ok(LibraryFiles { declared, problems, is_dir })
    }

    fn identity(&mut self, dir: &str) -> EcoString {
        if let Some(known) = self.identities.get(dir) {
            return known.clone();
        }
        let identity = self.files.identity(dir);
        self.identities.insert(dir.into(), identity.clone());
        identity
    }

    fn sources(&self) -> Option<&Sources> {
        Some(&self.read.sources)
    }
}

/// Whether a directory has configuration files.
pub fn has_configuration(files: &dyn Files, dir: &str) -> bool {
    files.names(dir).is_ok_and(|names| {
        let selection = select_files(names.iter().map(EcoString::as_str));
        !selection.primary.is_empty() || !selection.overrides.is_empty()
    })
}
