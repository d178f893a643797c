//! Reads a configuration from disk: the directories of its modules, the files with values, what is installed; and links it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::Feature;
use yuba_backend::Backends;
use yuba_config::symbols::decode_library;
use yuba_config::test_file::{MOCK_SUFFIXES, MockProvider, decode_mocks};
use yuba_config::{Decoding, Module, ParsedConfigFile, decode_module, decode_test_file, select_files};
use yuba_eval::inputs::{Ask, Inputs, VarFile, VarFlag, auto_files};
use yuba_eval::static_eval::StaticEnv;
use yuba_eval::symbols::{LibraryFiles, UnreadableLibrary};
use yuba_eval::tree::{Link, Manifest, ModuleFiles, Purpose};
use yuba_eval::{ConfigTree, World, link};
use yuba_syntax::{Diagnostic, Diagnostics, FileId, SourceFile, Sources, json, parser};
use yuba_value::Value;

use crate::manifest::read_manifest;
use crate::module_install::{Directories, Missing};
use crate::providers::OurProviders;

/// Where test files are, besides the directory of the module, unless somebody says otherwise.
pub const DEFAULT_TEST_DIR: &str = "tests";

/// What to load, and with which values.
pub struct LoadRequest<'a> {
    /// The directory of the root module: `.` usually.
    pub dir: &'a str,
    /// Where things are kept that belong to the working directory: `.terraform` usually.
    pub data_dir: &'a Path,
    /// The outside.
    pub world: &'a dyn World,
    /// All providers there are.
    pub providers: &'a OurProviders,
    /// All backends there are, with what they may use of the outside.
    pub backends: &'a Arc<Backends>,
    /// The directory the program was started in, where that is not the working directory.
    pub original_dir: Option<&'a str>,
    /// The name of the workspace.
    pub workspace: &'a str,
    /// Flags that set variables, in the order given.
    pub variables: &'a [VariableFlag],
    /// Environment variables, of which those that set variables count.
    pub environment: &'a [(String, String)],
    /// Where test files are, besides the directory itself; none if they are of no interest.
    pub test_dir: Option<&'a str>,
    /// What for.
    pub purpose: Purpose,
    /// The configuration as it was when a plan was made, to be read instead of the directories.
    pub snapshot: Option<&'a Snapshot>,
}

/// A configuration as it was at some time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The files of all modules and symbol libraries, by path as shown to people.
    pub files: BTreeMap<EcoString, Arc<[u8]>>,
    /// What was installed.
    pub manifest: Manifest,
    /// Values of the variables of the root module that were given.
    pub variables: BTreeMap<EcoString, Value>,
}

impl Snapshot {
    /// The names of the files of a directory, sorted.
    fn names(&self, dir: &str) -> Vec<String> {
        let prefix = if dir == "." { EcoString::new() } else { eco_format!("{dir}/") };
        let inside = self.files.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(prefix.as_str()));
        let names = inside.map(|(path, _)| &path[prefix.len()..]).filter(|name| !name.contains('/'));
        names.map(str::to_owned).collect()
    }
}

/// A flag that sets variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableFlag {
    /// `-var`
    Var(String),
    /// `-var-file`
    File(String),
}

/// A configuration that was read and linked.
pub struct Configuration {
    /// Its modules.
    pub tree: ConfigTree,
    /// Values for the variables of the root module.
    pub inputs: Inputs,
    /// All files that were read.
    pub sources: Sources,
    /// What was installed.
    pub manifest: Manifest,
    /// Those files that belong to symbol libraries.
    pub libraries: Vec<FileId>,
}

impl Configuration {
    /// For the evaluation of its static places.
    pub fn static_env<'a>(&'a self, request: &LoadRequest<'a>) -> StaticEnv<'a> {
        StaticEnv {
            world: request.world,
            workspace: request.workspace,
            original_dir: request.original_dir,
            inputs: &self.inputs,
            sources: Some(&self.sources),
        }
    }
}

/// Reads and links a configuration. Where values for variables cannot be read there is no configuration. The files read are
/// given back in any case, for messages.
pub fn load(request: &LoadRequest<'_>, ask: Option<Ask>) -> (Result<Configuration, Sources>, Diagnostics) {
    load_or_install(request, ask, Missing::Told)
}

/// The same, with something done about modules that are missing.
pub(crate) fn load_or_install(
    request: &LoadRequest<'_>,
    ask: Option<Ask>,
    missing: Missing<'_, '_>,
) -> (Result<Configuration, Sources>, Diagnostics) {
    let mut dirs = ModuleDirs {
        tests: request.test_dir.map(|tests| (request.dir.into(), tests.into())),
        snapshot: request.snapshot.cloned(),
        ..ModuleDirs::new()
    };
    let (inputs, mut problems) = match request.snapshot {
        None => read_inputs(request, None, &mut dirs.sources),
        Some(snapshot) => {
            // Where they were given does not matter any more.
            let place = yuba_syntax::Span::default();
            let values = snapshot.variables.iter().map(|(name, value)| (name.clone(), (value.clone(), place)));
            let (inputs, problems) = read_inputs(request, None, &mut dirs.sources);
            (inputs.planned(values.collect()), problems)
        }
    };
    if problems.has_errors() {
        return (Err(dirs.sources), problems);
    }
    let inputs = match ask {
        Some(ask) => inputs.asking(ask),
        None => inputs,
    };
    let manifest = match request.snapshot.map_or_else(|| read_manifest(request.data_dir), |s| Ok(s.manifest.clone())) {
        Ok(manifest) => manifest,
        Err(problem) => {
            problems.push(problem);
            return (Err(dirs.sources), problems);
        }
    };
    let options = Link {
        root_dir: request.dir,
        world: request.world,
        workspace: request.workspace,
        original_dir: request.original_dir,
        inputs: &inputs,
        manifest: &manifest,
        purpose: request.purpose,
    };
    let mut directories = Directories::new(&mut dirs, &manifest, missing);
    let (mut tree, found) = link(&mut directories, &options);
    tree.stages.root += problems.len();
    tree.stages.modules += problems.len();
    problems.extend(found);
    (Ok(Configuration { tree, inputs, sources: dirs.sources, manifest, libraries: dirs.libraries }), problems)
}

/// Collects values for variables: environment, files of the directory, flags, and at last files of a directory of tests.
pub(crate) fn read_inputs(
    request: &LoadRequest<'_>,
    tests: Option<&str>,
    sources: &mut Sources,
) -> (Inputs, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut read = |path: EcoString| match fs::read(path.as_str()) {
        Ok(bytes) => Some((path, bytes)),
        Err(error) => {
            problems.push(unreadable_values(&path, &error));
            None
        }
    };
    let names = file_names(Path::new(request.dir)).unwrap_or_default();
    let auto: Vec<(EcoString, Vec<u8>)> = auto_files(names.iter().map(String::as_str))
        .into_iter()
        .filter_map(|name| read(shown_path(request.dir, name)))
        .collect();
    let mut flags: Vec<(Option<EcoString>, Vec<u8>)> = request
        .variables
        .iter()
        .filter_map(|flag| match flag {
            VariableFlag::Var(text) => Some((None, text.clone().into_bytes())),
            VariableFlag::File(path) => read(path.into()).map(|(path, bytes)| (Some(path), bytes)),
        })
        .collect();
    // Quirk: what stands beside the tests wins even over the command line.
    let tests = tests.map(|below| shown_path(request.dir, below));
    let names = tests.as_ref().and_then(|dir| file_names(Path::new(dir.as_str())).ok()).unwrap_or_default();
    let tests = tests.unwrap_or_default();
    let found = auto_files(names.iter().map(String::as_str)).into_iter();
    flags.extend(found.filter_map(|name| read(shown_path(&tests, name))).map(|(path, bytes)| (Some(path), bytes)));
    let auto: Vec<VarFile<'_>> = auto.iter().map(|(name, bytes)| VarFile { name, bytes }).collect();
    let flags: Vec<VarFlag<'_>> = flags
        .iter()
        .map(|(name, bytes)| match name {
            Some(name) => VarFlag::File(VarFile { name, bytes }),
            None => VarFlag::Var(std::str::from_utf8(bytes).unwrap_or_default()),
        })
        .collect();
    let environment = request.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let (inputs, found) = Inputs::collect(sources, environment, &auto, &flags);
    problems.extend(found);
    (inputs, problems)
}

/// The workspace that a working directory has selected, unless the environment variable `TF_WORKSPACE` says otherwise.
pub fn selected_workspace(data_dir: &Path) -> String {
    let selected = fs::read_to_string(data_dir.join("environment")).unwrap_or_default();
    match selected.trim() {
        "" => "default".to_owned(),
        name => name.to_owned(),
    }
}

/// The directories of modules on this machine, and the files read from them.
#[derive(Default)]
pub struct ModuleDirs {
    /// What has been read.
    pub sources: Sources,
    identities: HashMap<EcoString, EcoString>,
    /// The directory whose test files are read, and where more of them are below it.
    tests: Option<(EcoString, EcoString)>,
    /// Read instead of the directories.
    snapshot: Option<Snapshot>,
    /// Files of symbol libraries among those that have been read.
    libraries: Vec<FileId>,
}

impl ModuleDirs {
    /// Nothing read yet.
    pub fn new() -> ModuleDirs {
        ModuleDirs::default()
    }

    /// These files were read before.
    pub(crate) fn with_sources(sources: Sources) -> ModuleDirs {
        ModuleDirs { sources, ..ModuleDirs::new() }
    }

    /// Nothing read yet; test files of a directory, and below it, are of interest.
    pub(crate) fn with_tests(dir: &str, below: Option<&str>) -> ModuleDirs {
        ModuleDirs { tests: below.map(|below| (dir.into(), below.into())), ..ModuleDirs::new() }
    }

    fn names(&self, dir: &str) -> io::Result<Vec<String>> {
        match &self.snapshot {
            None => file_names(Path::new(dir)),
            Some(snapshot) => Ok(snapshot.names(dir)),
        }
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        match &self.snapshot {
            None => read_file(path),
            Some(snapshot) => match snapshot.files.get(path) {
                Some(bytes) => Ok(bytes.to_vec()),
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }

    /// Reads test files beside a module and in a directory below it.
    fn read_tests(
        &mut self,
        dir: &str,
        below: &str,
        beside: &[EcoString],
        problems: &mut Diagnostics,
    ) -> Vec<ParsedConfigFile> {
        let mut names: Vec<EcoString> = beside.to_vec();
        match file_names(&Path::new(dir).join(below)) {
            Ok(found) => {
                let found = select_files(found.iter().map(String::as_str)).tests;
                names.extend(found.iter().map(|name| eco_format!("{below}/{name}")));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                problems.push(unreadable_tests(&shown_path(dir, below), &error));
            }
            Err(_) if below != DEFAULT_TEST_DIR => problems.push(no_test_dir(&shown_path(dir, below))),
            Err(_) => {}
        }
        names.iter().map(|name| self.read(dir, name, false)).collect()
    }

    /// Adds the files of the directory that a `mock_provider` block names. `symbols`: the module has opted in to symbol
    /// libraries.
    fn add_mocks(&mut self, dir: &str, symbols: bool, mock: &mut MockProvider) -> Diagnostics {
        let Some((source, span)) = mock.source.clone() else { return Diagnostics::new() };
        let path = shown_path(dir, source.strip_prefix("./").unwrap_or(&source));
        let names = match file_names(Path::new(path.as_str())) {
            Ok(names) => names,
            Err(error) => return no_mocks(&path, &error).at(span).into(),
        };
        let mut problems = Diagnostics::new();
        for name in names.iter().filter(|name| MOCK_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))) {
            let file = self.read(&path, &name.into(), false);
            problems.extend(file.diagnostics);
            let decoding = Decoding { symbols, ..Decoding::new(&yuba_eval::constant, &self.sources) };
            let (mocks, found) = decode_mocks(&file.body, &decoding);
            problems.extend(found);
            mock.add(mocks);
        }
        problems
    }

    /// Reads and parses a file that is shown by its path. A file that cannot be read is empty, with an error.
    fn read(&mut self, dir: &str, name: &EcoString, is_override: bool) -> ParsedConfigFile {
        let path = shown_path(dir, name);
        let (bytes, problem) = match self.bytes(&path) {
            Ok(bytes) => (bytes, None),
            Err(error) => (Vec::new(), Some(unreadable_file(&path, &error))),
        };
        let file = self.sources.add(SourceFile::new(path.as_str(), bytes.as_slice()));
        let parsed = match (problem, name.ends_with(".json")) {
            (Some(problem), _) => {
                let mut parsed = parser::parse_config(file, b"").1;
                parsed.diagnostics.push(problem);
                parsed
            }
            (None, true) => json::parse_config(file, &bytes),
            (None, false) => parser::parse_config(file, &bytes).1,
        };
        ParsedConfigFile { name: name.clone(), file, body: parsed.body, diagnostics: parsed.diagnostics, is_override }
    }
}

impl ModuleFiles for ModuleDirs {
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        let names = self.names(dir).ok()?;
        let selection = select_files(names.iter().map(String::as_str));
        let mut files = Vec::with_capacity(selection.primary.len() + selection.overrides.len());
        for (names, is_override) in [(&selection.primary, false), (&selection.overrides, true)] {
            files.extend(names.iter().map(|name| self.read(dir, name, is_override)));
        }
        let mut tests = Vec::new();
        let mut found = Diagnostics::new();
        if let Some((_, below)) = self.tests.clone().filter(|(of, _)| of == dir) {
            tests = self.read_tests(dir, &below, &selection.tests, &mut found);
        }
        let decoding = Decoding::new(&yuba_eval::constant, &self.sources);
        let (mut module, mut problems) = decode_module(dir, &files, &decoding);
        let symbols = module.features.contains(Feature::SymbolLibraries);
        for test in tests {
            let decoding = Decoding { symbols, ..Decoding::new(&yuba_eval::constant, &self.sources) };
            let (mut decoded, wrong) = decode_test_file(&test, &decoding);
            problems.extend(wrong);
            for mock in decoded.mock_providers.values_mut() {
                problems.extend(self.add_mocks(dir, symbols, mock));
            }
            module.tests.insert(test.name, decoded);
        }
        problems.extend(found);
        Some((Arc::new(module), problems))
    }

    fn library(&mut self, path: &str) -> Result<LibraryFiles, UnreadableLibrary> {
        let is_dir = match (&self.snapshot, fs::metadata(path)) {
            (Some(snapshot), _) => !snapshot.files.contains_key(path),
            (None, Ok(found)) => found.is_dir(),
            (None, Err(error)) => return Err(unreadable_library(path, &error)),
        };
        let names: Vec<EcoString> = match is_dir {
            true => {
                let names = self.names(path).map_err(|error| unreadable_library(path, &error))?;
                names.iter().filter(|name| name.ends_with(LIBRARY_SUFFIX)).map(EcoString::from).collect()
            }
            false => vec![path.into()],
        };
        if names.is_empty() {
            let reason = eco_format!("this directory has no files whose names end with {LIBRARY_SUFFIX:?}");
            return Err(UnreadableLibrary { is_missing: false, reason });
        }
        let dir = if is_dir { path } else { "." };
        let files: Vec<ParsedConfigFile> = names.iter().map(|name| self.read(dir, name, false)).collect();
        self.libraries.extend(files.iter().map(|file| file.file));
        let decoding = Decoding::new(&yuba_eval::constant, &self.sources);
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
        if self.snapshot.is_some() {
            return dir.into();
        }
        let real = fs::canonicalize(dir).ok().and_then(|path| path.into_os_string().into_string().ok());
        let identity = real.map_or_else(|| dir.into(), EcoString::from);
        self.identities.insert(dir.into(), identity.clone());
        identity
    }

    fn sources(&self) -> Option<&Sources> {
        Some(&self.sources)
    }
}

/// How the names of files end that make up a symbol library which is a directory.
const LIBRARY_SUFFIX: &str = ".sym.hcl";

fn unreadable_library(path: &str, error: &io::Error) -> UnreadableLibrary {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let reason = match is_missing {
        true => eco_format!("there is neither a file nor a directory {path}"),
        false => eco_format!("{path} could not be read: {error}"),
    };
    UnreadableLibrary { is_missing, reason }
}

/// The content of a file, unless it is so large that places in it could not be told.
fn read_file(path: &str) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > u64::from(u32::MAX) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 GiB"));
    }
    fs::read(path)
}

/// Whether a directory has any configuration files.
pub fn has_configuration(dir: &Path) -> bool {
    file_names(dir).is_ok_and(|names| {
        let selection = select_files(names.iter().map(String::as_str));
        !selection.primary.is_empty() || !selection.overrides.is_empty()
    })
}

/// The names of what is not a directory, sorted. Names that are not Unicode cannot be those of configuration files.
fn file_names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

pub(crate) fn shown_path(dir: &str, name: &str) -> EcoString {
    if dir == "." { name.into() } else { eco_format!("{dir}/{name}") }
}

fn unreadable_values(path: &str, error: &io::Error) -> Diagnostic {
    let detail = match error.kind() {
        io::ErrorKind::NotFound => eco_format!("There is no file {path} with values for variables."),
        _ => eco_format!("The file {path} with values for variables could not be read: {error}."),
    };
    Diagnostic::error("Failed to read variables file", detail)
}

fn unreadable_tests(path: &str, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("The directory {path} with tests could not be read: {error}.");
    Diagnostic::error("Failed to read test directory", detail)
}

fn no_mocks(path: &str, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("The directory {path} with mocks could not be read: {error}.");
    Diagnostic::error("Failed to read mock directory", detail)
}

fn no_test_dir(path: &str) -> Diagnostic {
    Diagnostic::warning("Test directory does not exist", eco_format!("There is no directory {path} with tests."))
}

fn unreadable_file(path: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error("Failed to read file", eco_format!("The file {path:?} could not be read: {error}."))
}

#[cfg(test)]
mod tests {
    use yuba_backend::BackendEnvironment;
    use yuba_net::Environment;

    use super::*;
    use crate::SystemWorld;
    use yuba_testkit::Sandbox;

    #[test]
    fn a_directory_with_everything_is_loaded() {
        let sandbox = Sandbox::new(
            "",
            r#"
//- main.tf
variable "where" {}
module "a" { source = var.where }
//- terraform.tfvars
where = "./b"
//- x.auto.tfvars
where = "./a"
//- a/main.tf
locals {}
//- a/main.tofu
output "o" { value = 1 }
//- main.tftest.hcl
run "one" {}
//- tests/more.tftest.hcl
run "two" {}
//- d.tf/not_a_file.txt
"#,
        );
        let dir = sandbox.dir().to_str().expect("it is Unicode").to_owned();
        let mut request = LoadRequest {
            dir: &dir,
            data_dir: Path::new(".terraform"),
            world: &SystemWorld,
            providers: &OurProviders::built_in(),
            backends: &Arc::new(Backends::new(BackendEnvironment::new(Environment::default(), ".terraform"))),
            original_dir: None,
            workspace: "default",
            variables: &[],
            environment: &[("TF_VAR_where".into(), "./c".into())],
            test_dir: Some(DEFAULT_TEST_DIR),
            purpose: Purpose::Use,
            snapshot: None,
        };
        let (loaded, problems) = load(&request, None);
        assert!(problems.is_empty(), "{problems:?}");
        let loaded = loaded.unwrap_or_else(|_| panic!("no configuration"));
        assert_eq!(
            loaded.tree.root().module.tests.keys().collect::<Vec<_>>(),
            ["main.tftest.hcl", "tests/more.tftest.hcl"]
        );
        let child = loaded.tree.iter().last().map(|(_, node)| node.module.outputs.len());
        assert_eq!((loaded.tree.len(), child), (2, Some(1)));
        let flags = [VariableFlag::File("/nope.tfvars".into())];
        request.variables = &flags;
        let (loaded, problems) = load(&request, None);
        assert!(loaded.is_err());
        assert_eq!(problems.iter().map(|p| p.summary.as_str()).collect::<Vec<_>>(), ["Failed to read variables file"]);
    }
}
