//! Diagnostics of `show`.

use std::path::Path;

use yuba_syntax::{Diagnostic, Diagnostics};

yuba_syntax::catalogue! {
    /// `show -config` is used without `-json`.
    SHOW_CONFIG_WITHOUT_JSON = error "show-config-without-json", "JSON output required for configuration";
    /// `show -module` is used without `-json`.
    SHOW_MODULE_WITHOUT_JSON = error "show-module-without-json", "JSON output required for module";
    /// `show` has more than one file as arguments.
    SHOW_SEVERAL_FILES = error "show-several-files", "Too many command line arguments";
    /// `show` has both an option that selects the object and a file as argument.
    SHOW_FILE_WITH_OPTION = error "show-file-with-option", "Unexpected command line arguments";
    /// `show` has more than one option that selects the object.
    SHOW_SEVERAL_OBJECTS = error "show-several-objects", "Conflicting object types to show";
    /// The file that `show` reads is a plan that cannot be used.
    SHOWN_PLAN_UNUSABLE = error "shown-plan-unusable", "Couldn't show local plan";
    /// The file of `show -plan` is not a plan, or cannot be used.
    SHOWN_PLAN_NOT_LOADED = error "shown-plan-not-loaded", "couldn't load the provided path as either a local plan file ({reason})";
    /// `show` cannot read the state of the selected workspace.
    SHOWN_STATE_NOT_LOADED = error "shown-state-not-loaded", "failed to load state: {reason}";
    /// The file that `show` reads is JSON and not a valid state.
    SHOWN_STATE_FILE_INVALID = error "shown-state-file-invalid", "Couldn't show state file";
    /// The file that `show` reads is neither a state nor a plan.
    SHOWN_FILE_INVALID = error "shown-file-invalid", "Failed to read the given file as a state or plan file";
}

pub(super) fn configuration_without_json() -> Diagnostic {
    Diagnostic::new(&SHOW_CONFIG_WITHOUT_JSON, "-config requires -json.")
}

pub(super) fn module_without_json() -> Diagnostic {
    Diagnostic::new(&SHOW_MODULE_WITHOUT_JSON, "-module requires -json.")
}

pub(super) fn several_files() -> Diagnostic {
    Diagnostic::new(&SHOW_SEVERAL_FILES, "The command takes at most one file.")
}

pub(super) fn file_with_subject() -> Diagnostic {
    let detail = "A file cannot be combined with -state, -plan, -config or -module.";
    Diagnostic::new(&SHOW_FILE_WITH_OPTION, detail)
}

pub(super) fn several_subjects() -> Diagnostic {
    let detail = "-state, -plan, -config and -module cannot be used together.";
    Diagnostic::new(&SHOW_SEVERAL_OBJECTS, detail).hint("Choose one of them.")
}

pub(super) fn unusable_plan(path: &Path, reason: &str) -> Diagnostic {
    let detail = format!("Failed to use the plan file {}: {reason}.", path.display());
    Diagnostic::new(&SHOWN_PLAN_UNUSABLE, detail)
}

/// Quirk: the reason is part of the title, and there is no detail.
pub(super) fn plan_not_loaded(reason: &str) -> Diagnostic {
    let title = format!("couldn't load the provided path as either a local plan file ({reason})");
    Diagnostic::new(&SHOWN_PLAN_NOT_LOADED, "").titled(title)
}

/// Quirk: the reason is part of the title, and there is no detail.
pub(super) fn state_not_loaded(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&SHOWN_STATE_NOT_LOADED, "").titled(format!("failed to load state: {}", problems.joined()))
}

pub(super) fn state_file_not_shown(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&SHOWN_STATE_FILE_INVALID, problems.joined())
}

pub(super) fn neither_state_nor_plan(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&SHOWN_FILE_INVALID, problems.joined())
}
