//! `backend "local"`: its arguments. The files are the business of [`crate::local`].

use std::path::PathBuf;

use yuba_syntax::Diagnostics;
use yuba_value::{Type, Value};

use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::local::{DEFAULT_STATE, DEFAULT_WORKSPACE_DIRECTORY, LocalSettings};

pub(super) fn schema() -> ArgumentSchema {
    ArgumentSchema::new([
        Argument::optional("path", Type::string())
            .default_to(Value::string(DEFAULT_STATE))
            .described("The state file of the default workspace."),
        Argument::optional("workspace_dir", Type::string())
            .default_to(Value::string(DEFAULT_WORKSPACE_DIRECTORY))
            .described("The directory with the states of the other workspaces."),
    ])
}

pub(super) fn settings(arguments: &Arguments) -> LocalSettings {
    let path = |name: &str| arguments.text(name).map(|path| PathBuf::from(path.as_str()));
    LocalSettings { path: path("path"), workspace_directory: path("workspace_dir"), ..LocalSettings::default() }
}

pub(super) fn check(arguments: &Arguments) -> Diagnostics {
    settings(arguments).check()
}
