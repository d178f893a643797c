//! Diagnostics about files that cannot be read while a configuration is loaded or shown.

use std::io;

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// A file with values for variables does not exist or cannot be read.
    VARIABLES_FILE_UNREADABLE = error "variables-file-unreadable", "Failed to read variables file";
    /// `show -config` is run in a directory without configuration files.
    NO_CONFIGURATION_TO_SHOW = error "no-configuration-to-show", "No configuration files";
    /// `show -module` names a directory that does not exist or cannot be read.
    SHOWN_MODULE_UNREADABLE = error "shown-module-unreadable", "Failed to read module directory";
}

pub(crate) fn unreadable_values(path: &str, error: &io::Error) -> Diagnostic {
    let detail = match error.kind() {
        io::ErrorKind::NotFound => eco_format!("The file {path} with values for variables does not exist."),
        _ => eco_format!("Failed to read the file {path} with values for variables: {error}."),
    };
    Diagnostic::new(&VARIABLES_FILE_UNREADABLE, detail)
}

pub(crate) fn no_configuration_to_show() -> Diagnostic {
    let detail = "The directory has no configuration files. Their names end with .tf or .tofu.";
    Diagnostic::new(&NO_CONFIGURATION_TO_SHOW, detail)
}

pub(crate) fn module_directory_unreadable(dir: &str) -> Diagnostic {
    Diagnostic::new(&SHOWN_MODULE_UNREADABLE, eco_format!("The directory {dir} does not exist or cannot be read."))
}
