//! Diagnostics of `show`.

use std::io::Error;
use std::path::Path;

use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_view::report::markdown::{DEFAULT_LIMIT, MIN_LIMIT};

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
    /// `show` has flags for more than one form of its output.
    SHOW_SEVERAL_FORMS = error "show-several-forms", "Conflicting output formats";
    /// The number of bytes of `show -markdown` is not a number, or too small.
    SHOW_LIMIT_INVALID = error "show-limit-invalid", "Invalid limit of a comment";
    /// `show -markdown` has no plan file.
    SHOW_MARKDOWN_WITHOUT_PLAN = error "show-markdown-without-plan", "Plan file required";
    /// A flag that selects a view of a plan is used to show something else.
    SHOW_VIEW_WITHOUT_PLAN = error "show-view-without-plan", "Plan required";
    /// The file that `show` reads is neither a state nor a plan.
    SHOWN_FILE_INVALID = error "shown-file-invalid", "Failed to read the given file as a state or plan file";
    /// `show -html` is used with a configuration or a module.
    SHOW_REPORT_OF_CONFIGURATION = error "show-report-of-configuration", "Report requires a plan or a state";
    /// `show -html` cannot write its file.
    SHOW_REPORT_NOT_WRITTEN = error "show-report-not-written", "Failed to write report";
}

pub(super) fn configuration_without_json() -> Diagnostic {
    Diagnostic::new(&SHOW_CONFIG_WITHOUT_JSON, "-config requires -json.")
}

pub(super) fn module_without_json() -> Diagnostic {
    Diagnostic::new(&SHOW_MODULE_WITHOUT_JSON, "-module requires -json.")
}

pub(super) fn several_forms() -> Diagnostic {
    let detail = "-json, -report-json, -markdown and the views -summary, -tree, -group, -only and -only-changed are different \
                  outputs. Use one of them.";
    Diagnostic::new(&SHOW_SEVERAL_FORMS, detail)
}

pub(super) fn invalid_limit(text: &str) -> Diagnostic {
    let detail = format!(
        "-markdown={text} is not a number of bytes. The smallest limit is {MIN_LIMIT}, the default {DEFAULT_LIMIT}."
    );
    Diagnostic::new(&SHOW_LIMIT_INVALID, detail)
}

pub(super) fn markdown_without_plan() -> Diagnostic {
    Diagnostic::new(&SHOW_MARKDOWN_WITHOUT_PLAN, "-markdown requires one or more plan files of `yuba plan -out`.")
}

pub(super) fn view_without_plan() -> Diagnostic {
    Diagnostic::new(
        &SHOW_VIEW_WITHOUT_PLAN,
        "-summary, -tree, -group, -only and -only-changed show a plan. Name a plan file.",
    )
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

pub(super) fn report_of_configuration() -> Diagnostic {
    let detail = "-html cannot be combined with -config, -module or -markdown.";
    Diagnostic::new(&SHOW_REPORT_OF_CONFIGURATION, detail)
        .hint("Name a plan file, or omit the option to show the state.")
}

pub(super) fn report_not_written(path: &Path, error: &Error) -> Diagnostic {
    Diagnostic::new(&SHOW_REPORT_NOT_WRITTEN, format!("Failed to write {}: {error}.", path.display()))
}
