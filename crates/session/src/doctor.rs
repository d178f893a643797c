//! The state of an installation and of a working directory, for `yuba doctor`: what was found, and problems with it.
//!
//! Invariant: no value of a variable, attribute, backend argument or credential is in an [`ProjectExamination`]. Nothing uses the network
//! unless [`Contact::Backend`] asks for it, no provider is started, and no file is changed.

pub(crate) mod diagnostics;
mod files;
mod providers;
mod state;

use std::path::PathBuf;

use yuba_backend::BackendConfiguration;
use yuba_eval::tree::Purpose;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::backend::{StateFlags, configured, in_use, state_location};
use crate::initialized;
use crate::loaded::{LoadOptions, Loaded};
use crate::manifest::read_manifest;
use crate::project::Project;

pub use files::{CacheFacts, FileFacts};
pub use providers::{ProviderFacts, ProviderInstall};
pub use state::{LockFacts, StateFacts};

/// Whether servers are contacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// None is.
    None,
    /// The backend is, to read the state.
    Backend,
}

/// Results of examining a project.
#[derive(Debug)]
pub struct ProjectExamination {
    /// The working directory.
    pub root: FileFacts,
    /// The data directory.
    pub data_dir: FileFacts,
    /// The configuration.
    pub configuration: ConfigurationFacts,
    /// The providers that the configuration requires or the lock file selects, by address.
    pub providers: Vec<ProviderFacts>,
    /// The backend.
    pub backend: BackendFacts,
    /// The state.
    pub state: StateFacts,
    /// Caches of the user.
    pub caches: Vec<CacheFacts>,
    /// Credentials files of the user.
    pub credentials: Option<FileFacts>,
    /// Problems.
    pub findings: Vec<Finding>,
}

/// The files of the configuration, and how they were understood.
#[derive(Debug, Default)]
pub struct ConfigurationFacts {
    /// Names of configuration files in the root module.
    pub files: Vec<String>,
    /// Names of files with values of variables.
    pub variable_files: Vec<String>,
    /// Number of test files.
    pub tests: usize,
    /// Number of module calls, nested ones included.
    pub modules: usize,
    /// Number of modules that `init` has recorded.
    pub installed_modules: usize,
    /// Number of errors.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
}

/// The backend of the state.
#[derive(Debug, Default)]
pub struct BackendFacts {
    /// The type in the configuration.
    pub configured: Option<String>,
    /// Names of the arguments that are set.
    pub arguments: Vec<String>,
    /// The type in the record of `init`.
    pub recorded: Option<String>,
    /// Whether the record fits the configuration.
    pub is_initialized: bool,
    /// Whether the state could be read; none if that was not tried.
    pub is_reachable: Option<bool>,
}

/// A problem.
#[derive(Debug)]
pub struct Finding {
    /// The area that it belongs to.
    pub area: Area,
    /// The problem.
    pub diagnostic: Diagnostic,
    /// The file and line, if it has a location.
    pub location: Option<String>,
}

/// The area of a problem. Details of problems in other areas than [`Area::Own`] may quote values and are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The problem was found here; its detail has no values.
    Own,
    /// CLI configuration.
    CliConfiguration,
    /// Configuration.
    Configuration,
    /// Backend and state.
    Backend,
}

impl Project {
    /// Examines the project and its surroundings.
    pub fn examine(&self, contact: Contact) -> ProjectExamination {
        let mut found = Findings::default();
        found.add(Area::CliConfiguration, self.hosts().problems().clone(), &Sources::new());
        let root = FileFacts::of(self.root(), ".");
        let data_dir = FileFacts::of(&self.path(self.data_dir()), &self.data_dir().to_string_lossy());
        found.files(&root, &data_dir);
        let loaded = self.loaded_as_far_as_possible(&mut found);
        let configuration = self.configuration_facts(loaded.as_ref(), &mut found);
        let providers = providers::examine(self, loaded.as_ref().map(|loaded| &loaded.tree), &mut found);
        let (mut backend, used) = self.backend_facts(loaded.as_ref(), &mut found);
        let state = state::examine(self, used.as_ref(), &mut found);
        if let (Contact::Backend, Some(loaded)) = (contact, &loaded) {
            backend.is_reachable = Some(reach(loaded, &mut found));
        }
        let caches = files::caches(self, &mut found);
        let credentials = files::credentials(self, &mut found);
        let findings = found.all;
        ProjectExamination { root, data_dir, configuration, providers, backend, state, caches, credentials, findings }
    }

    /// The configuration with its errors; none if there is not even a part of it.
    fn loaded_as_far_as_possible(&self, found: &mut Findings) -> Option<Loaded> {
        match self.load(LoadOptions::new(Purpose::Use)) {
            Ok(loaded) => Some(loaded),
            Err(refusal) => {
                found.add(Area::Configuration, refusal.problems, &refusal.sources);
                None
            }
        }
    }

    fn configuration_facts(&self, loaded: Option<&Loaded>, found: &mut Findings) -> ConfigurationFacts {
        let names = self.files().names(self.dir()).unwrap_or_default();
        let ends = |name: &str, endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let is_test = |name: &str| ends(name, &[".tftest.hcl", ".tftest.json", ".tofutest.hcl", ".tofutest.json"]);
        let is_source = |name: &str| ends(name, &[".tf", ".tofu", ".tf.json", ".tofu.json"]);
        let is_values = |name: &str| ends(name, &[".tfvars", ".tfvars.json"]);
        let select = |wanted: &dyn Fn(&str) -> bool| {
            names.iter().filter(|name| wanted(name)).map(ToString::to_string).collect::<Vec<_>>()
        };
        let mut facts =
            ConfigurationFacts { files: select(&is_source), variable_files: select(&is_values), ..Default::default() };
        let beside = self.test_dir().and_then(|dir| self.files().names(dir).ok()).unwrap_or_default();
        facts.tests = names.iter().chain(&beside).filter(|name| is_test(name)).count();
        facts.installed_modules =
            read_manifest(self).map_or(0, |manifest| manifest.modules.keys().filter(|key| !key.is_empty()).count());
        if facts.files.is_empty() {
            found.own(diagnostics::no_configuration());
        }
        if let Some(loaded) = loaded {
            facts.modules = loaded.tree.iter().count().saturating_sub(1);
            facts.errors = loaded.diagnostics.iter().filter(|problem| problem.is_error()).count();
            facts.warnings = loaded.diagnostics.len() - facts.errors;
            let mut errors = loaded.diagnostics.clone();
            errors.retain(Diagnostic::is_error);
            found.add(Area::Configuration, errors, &loaded.sources);
        }
        facts
    }

    /// Facts about the backend, and the backend that commands use, if it can be determined.
    fn backend_facts(
        &self,
        loaded: Option<&Loaded>,
        found: &mut Findings,
    ) -> (BackendFacts, Option<BackendConfiguration>) {
        let mut facts = BackendFacts::default();
        match initialized::read(self) {
            Ok(recorded) => facts.recorded = recorded.map(|recorded| recorded.kind),
            Err(problem) => found.add(Area::Backend, problem.into(), &Sources::new()),
        }
        let Some(loaded) = loaded else { return (facts, None) };
        // A configuration with errors may leave out the block. Its errors are reported above.
        let configured = match configured(loaded) {
            Ok(configured) => configured,
            Err(_) if loaded.diagnostics.has_errors() => return (facts, None),
            Err(problems) => {
                found.add(Area::Backend, problems, &loaded.sources);
                return (facts, None);
            }
        };
        if let Some(configured) = &configured {
            facts.configured = Some(configured.kind().to_owned());
            let arguments = configured.arguments().to_json();
            let set = arguments.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
            facts.arguments = set.map(|(name, _)| name.clone()).collect();
        }
        match in_use(self, configured) {
            Ok(used) => {
                facts.is_initialized = true;
                (facts, Some(used))
            }
            Err(problems) => {
                found.add(Area::Backend, problems, &Sources::new());
                (facts, None)
            }
        }
    }
}

/// Reads the state from the backend. Whether that succeeded.
fn reach(loaded: &Loaded, found: &mut Findings) -> bool {
    match state_location(loaded, &StateFlags::default()).and_then(|location| location.look()) {
        Ok(_) => true,
        Err(problems) => {
            found.add(Area::Backend, problems, &loaded.sources);
            false
        }
    }
}

/// Problems so far.
#[derive(Default)]
pub(crate) struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    /// Adds a problem that was found here.
    pub(crate) fn own(&mut self, diagnostic: Diagnostic) {
        self.all.push(Finding { area: Area::Own, diagnostic, location: None });
    }

    fn add(&mut self, area: Area, problems: Diagnostics, sources: &Sources) {
        for diagnostic in problems {
            let location = diagnostic.subject.and_then(|span| {
                let file = sources.get(span.file)?;
                Some(format!("{} line {}", file.name, file.position(span.start as usize).line))
            });
            self.all.push(Finding { area, diagnostic, location });
        }
    }

    fn files(&mut self, root: &FileFacts, data_dir: &FileFacts) {
        for file in [root, data_dir] {
            if file.exists && !file.is_writable {
                self.own(diagnostics::not_writable(&file.shown));
            }
        }
    }
}

/// A path below the home directory, with `~` for it, and without the name of the user.
pub fn redacted(path: &std::path::Path, home: Option<&PathBuf>, user: Option<&str>) -> String {
    let path = match home.filter(|home| home.components().count() > 1).and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => PathBuf::from("~"),
        Some(rest) => PathBuf::from("~").join(rest),
        None => path.to_path_buf(),
    };
    let user = user.filter(|user| !user.is_empty() && *user != "root");
    let steps = path.components().map(|step| match user {
        Some(user) if step.as_os_str() == user => std::ffi::OsStr::new("USER"),
        _ => step.as_os_str(),
    });
    steps.collect::<PathBuf>().display().to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn paths_have_neither_the_home_directory_nor_the_user() {
        let home = PathBuf::from("/home/ann");
        for (path, expected) in [
            ("/home/ann", "~"),
            ("/home/ann/infra/main.tf", "~/infra/main.tf"),
            ("/data/ann/infra", "/data/USER/infra"),
            ("/data/annex", "/data/annex"),
            ("relative/x", "relative/x"),
        ] {
            assert_eq!(redacted(Path::new(path), Some(&home), Some("ann")), expected);
        }
        assert_eq!(redacted(Path::new("/etc/x"), Some(&PathBuf::from("/")), Some("root")), "/etc/x");
    }
}
