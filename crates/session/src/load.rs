//! Reads the files of a configuration from disk: the directories of its modules and the files with values for variables.

pub(crate) mod diagnostics;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ecow::EcoString;
pub use yuba_analysis::DEFAULT_TEST_DIR;
use yuba_backend::BackendConfiguration;
use yuba_eval::inputs::{Inputs, VarFile, VarFlag, auto_files};
use yuba_eval::tree::Manifest;
use yuba_syntax::files::{MemoryFiles, entry_path};
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::Value;

use crate::project::Project;

/// A configuration as it was at some time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The files of all modules and symbol libraries, by path as shown to people.
    pub files: MemoryFiles,
    /// Installed modules.
    pub manifest: Manifest,
    /// Values of the variables of the root module that were given.
    pub variables: BTreeMap<EcoString, Value>,
    /// The backend that stores the state, or none where the configuration decides.
    pub(crate) backend: Option<BackendConfiguration>,
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
    let mut read = |path: EcoString| match project.files().read(&path) {
        Ok(bytes) => Some((path, bytes)),
        Err(error) => {
            problems.push(diagnostics::unreadable_values(&path, &error));
            None
        }
    };
    let names = project.files().names(project.dir()).unwrap_or_default();
    let auto: Vec<(EcoString, Arc<[u8]>)> = auto_files(names.iter().map(EcoString::as_str))
        .into_iter()
        .filter_map(|name| read(entry_path(project.dir(), name)))
        .collect();
    let mut flags: Vec<(Option<EcoString>, Arc<[u8]>)> = project
        .variables()
        .iter()
        .filter_map(|flag| match flag {
            VariableFlag::Var(text) => Some((None, text.as_bytes().into())),
            VariableFlag::File(path) => read(path.into()).map(|(path, bytes)| (Some(path), bytes)),
        })
        .collect();
    // Quirk: what stands beside the tests wins even over the command line.
    let tests = tests.map(|below| entry_path(project.dir(), below));
    let names = tests.as_ref().and_then(|dir| project.files().names(dir).ok()).unwrap_or_default();
    let tests = tests.unwrap_or_default();
    let found = auto_files(names.iter().map(EcoString::as_str)).into_iter();
    flags.extend(found.filter_map(|name| read(entry_path(&tests, name))).map(|(path, bytes)| (Some(path), bytes)));
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
