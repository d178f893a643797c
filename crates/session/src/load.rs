//! Reads the files of a configuration from disk: the directories of its modules and the files with values for variables.

pub(crate) mod diagnostics;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::Feature;
use yuba_config::symbols::decode_library;
use yuba_config::test_file::{MOCK_SUFFIXES, MockProvider, decode_mocks};
use yuba_config::{Decoding, Module, ParsedConfigFile, decode_module, decode_test_file, select_files};
use yuba_eval::inputs::{Inputs, VarFile, VarFlag, auto_files};
use yuba_eval::symbols::{LibraryFiles, UnreadableLibrary};
use yuba_eval::tree::{Manifest, ModuleFiles};
use yuba_syntax::{Diagnostics, FileId, SourceFile, Sources, json, parser};
use yuba_value::Value;

use crate::project::Project;

/// Where test files are, besides the directory of the module, unless somebody says otherwise.
pub const DEFAULT_TEST_DIR: &str = "tests";

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

/// Collects values for variables: environment, files of the directory, flags, and at last files of a directory of tests.
pub(crate) fn read_inputs(project: &Project, tests: Option<&str>, sources: &mut Sources) -> (Inputs, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut read = |path: EcoString| match fs::read(project.path(path.as_str())) {
        Ok(bytes) => Some((path, bytes)),
        Err(error) => {
            problems.push(diagnostics::unreadable_values(&path, &error));
            None
        }
    };
    let names = file_names(&project.path(project.dir())).unwrap_or_default();
    let auto: Vec<(EcoString, Vec<u8>)> = auto_files(names.iter().map(String::as_str))
        .into_iter()
        .filter_map(|name| read(shown_path(project.dir(), name)))
        .collect();
    let mut flags: Vec<(Option<EcoString>, Vec<u8>)> = project
        .variables()
        .iter()
        .filter_map(|flag| match flag {
            VariableFlag::Var(text) => Some((None, text.clone().into_bytes())),
            VariableFlag::File(path) => read(path.into()).map(|(path, bytes)| (Some(path), bytes)),
        })
        .collect();
    // Quirk: what stands beside the tests wins even over the command line.
    let tests = tests.map(|below| shown_path(project.dir(), below));
    let names = tests.as_ref().and_then(|dir| file_names(&project.path(dir.as_str())).ok()).unwrap_or_default();
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
    let environment: Vec<(String, &str)> = project.variables_of_environment().collect();
    let environment = environment.iter().map(|(name, value)| (name.as_str(), *value));
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
    /// The directory that relative paths start from.
    root: PathBuf,
    /// What has been read.
    pub sources: Sources,
    identities: HashMap<EcoString, EcoString>,
    /// The directory whose test files are read, and where more of them are below it.
    tests: Option<(EcoString, EcoString)>,
    /// Read instead of the directories.
    snapshot: Option<Snapshot>,
    /// Files of symbol libraries among those that have been read.
    pub(crate) libraries: Vec<FileId>,
}

impl ModuleDirs {
    /// Nothing read yet. Test files of the root module, and of a directory below it, are of interest where that is named; the
    /// files of a saved plan are read instead of the directories.
    pub(crate) fn of(project: &Project, tests: Option<&str>, snapshot: Option<&Snapshot>) -> ModuleDirs {
        ModuleDirs {
            root: project.root().to_owned(),
            tests: tests.map(|below| (project.dir().into(), below.into())),
            snapshot: snapshot.cloned(),
            ..ModuleDirs::default()
        }
    }

    /// These files were read before.
    pub(crate) fn with_sources(project: &Project, sources: Sources) -> ModuleDirs {
        ModuleDirs { sources, ..ModuleDirs::of(project, None, None) }
    }

    /// Where a path that messages show is on this machine.
    pub(crate) fn path(&self, shown: &str) -> PathBuf {
        self.root.join(shown)
    }

    fn names(&self, dir: &str) -> io::Result<Vec<String>> {
        match &self.snapshot {
            None => file_names(&self.path(dir)),
            Some(snapshot) => Ok(snapshot.names(dir)),
        }
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        match &self.snapshot {
            None => read_file(&self.path(path)),
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
        match file_names(&self.path(dir).join(below)) {
            Ok(found) => {
                let found = select_files(found.iter().map(String::as_str)).tests;
                names.extend(found.iter().map(|name| eco_format!("{below}/{name}")));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                problems.push(diagnostics::unreadable_tests(&shown_path(dir, below), &error));
            }
            Err(_) if below != DEFAULT_TEST_DIR => problems.push(diagnostics::no_test_dir(&shown_path(dir, below))),
            Err(_) => {}
        }
        names.iter().map(|name| self.read(dir, name, false)).collect()
    }

    /// Adds the files of the directory that a `mock_provider` block names. `symbols`: the module has opted in to symbol
    /// libraries.
    fn add_mocks(&mut self, dir: &str, symbols: bool, mock: &mut MockProvider) -> Diagnostics {
        let Some((source, span)) = mock.source.clone() else { return Diagnostics::new() };
        let path = shown_path(dir, source.strip_prefix("./").unwrap_or(&source));
        let names = match file_names(&self.path(&path)) {
            Ok(names) => names,
            Err(error) => return diagnostics::no_mocks(&path, &error).at(span).into(),
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
            Err(error) => (Vec::new(), Some(diagnostics::unreadable_file(&path, &error))),
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
        let _span = tracing::debug_span!("parse module", dir).entered();
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
        let _span = tracing::debug_span!("parse library", path).entered();
        let is_dir = match (&self.snapshot, fs::metadata(self.path(path))) {
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
        let real = fs::canonicalize(self.path(dir)).ok().and_then(|path| path.into_os_string().into_string().ok());
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
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loaded::LoadOptions;
    use crate::project::ProjectSettings;
    use yuba_eval::tree::Purpose;
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
        let settings = |variables: Vec<VariableFlag>| ProjectSettings {
            environment: [("TF_VAR_where", "./c")].into_iter().collect(),
            test_dir: Some(DEFAULT_TEST_DIR.to_owned()),
            variables,
            ..ProjectSettings::bare(sandbox.dir())
        };
        let project = Project::new(settings(Vec::new()));
        let loaded = project.load(LoadOptions::new(Purpose::Use)).unwrap_or_else(|_| panic!("no configuration"));
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        assert_eq!(
            loaded.tree.root().module.tests.keys().collect::<Vec<_>>(),
            ["main.tftest.hcl", "tests/more.tftest.hcl"]
        );
        let child = loaded.tree.iter().last().map(|(_, node)| node.module.outputs.len());
        assert_eq!((loaded.tree.len(), child), (2, Some(1)));
        let project = Project::new(settings(vec![VariableFlag::File("/nope.tfvars".into())]));
        let Err(refusal) = project.load(LoadOptions::new(Purpose::Use)) else { panic!("the file does not exist") };
        let problems = refusal.problems;
        assert_eq!(problems.iter().map(|p| p.summary.as_str()).collect::<Vec<_>>(), ["Failed to read variables file"]);
    }
}
