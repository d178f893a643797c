//! Diagnostics of the phases of an operation: planning, applying, saved plans, imports.

use std::fmt::Display;
use std::io;
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResourceInstance;
use yuba_plan::PlannedWarning;
use yuba_syntax::{Diagnostic, Span};

yuba_syntax::catalogue! {
    /// `import` names a module that the configuration does not call.
    IMPORT_MODULE_NOT_DECLARED = error "import-module-not-declared", "Import to non-existent module";
    /// `import` names a resource that the configuration does not declare.
    IMPORT_RESOURCE_NOT_DECLARED = error "import-resource-not-declared", "resource address {address} does not exist in the configuration.";
    /// `refresh` is run while the state contains no objects.
    REFRESH_OF_EMPTY_STATE = warning "refresh-of-empty-state", "Empty or non-existent state";
    /// An output of a plan that is saved is an infinite number or contains one.
    INFINITE_OUTPUT_IN_PLAN = error "infinite-output-in-plan", "Failed to write plan file";
    /// An output of a plan that is applied is an infinite number or contains one.
    INFINITE_OUTPUT_IN_STATE = error "infinite-output-in-state", "Failed to write state";
    /// The file of `-out` cannot be written.
    PLAN_FILE_UNWRITABLE = error "plan-file-unwritable", "Failed to write plan file";
    /// The file of `-generate-config-out` cannot be written.
    GENERATED_CONFIGURATION_UNWRITABLE = error "generated-configuration-unwritable", "Failed to write generated configuration";
    /// A saved plan is applied that was saved after planning had failed.
    INCOMPLETE_SAVED_PLAN = error "incomplete-saved-plan", "Cannot apply incomplete plan";
    /// A destroy operation removed objects from the state without destroying them, as their configuration requires.
    FORGOTTEN_INSTANCES = error "forgotten-instances", "Destroy was successful but left behind forgotten instances";
    /// A warning about a deprecated object that was reported when a saved plan was made is repeated when the plan is applied.
    PLANNED_WARNING = warning "planned-warning", "{summary}";
    /// The file of a saved plan does not exist or is not a plan file.
    PLAN_FILE_NOT_LOADED = error "plan-file-not-loaded", "Failed to load {path} as a plan file";
    /// The file of a saved plan is damaged, or was written by another version.
    PLAN_FILE_UNREADABLE = error "plan-file-unreadable", "Failed to read plan from plan file";
    /// The dependency lock file selects other providers than those that a saved plan was made with.
    LOCK_FILE_DIFFERS_FROM_PLAN = error "lock-file-differs-from-plan", "Inconsistent dependency lock file";
    /// A saved plan was made from a state of another lineage.
    PLAN_OF_OTHER_STATE = error "plan-of-other-state", "Saved plan does not match the given state";
    /// The state has changed since a saved plan was made.
    STALE_PLAN = error "stale-plan", "Saved plan is stale";
    /// `graph` cannot read the saved plan that it should draw.
    PLAN_NOT_DRAWN = error "plan-not-drawn", "Failed loading the plan file";
    /// A saved plan is encrypted, and neither the configuration nor the environment has an encryption method for plans.
    ENCRYPTED_PLAN_WITHOUT_METHOD = error "encrypted-plan-without-method", "Plan file is encrypted";
}

pub(crate) fn import_into_undeclared_module(addr: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!("The configuration does not call {}.", addr.module);
    Diagnostic::new(&IMPORT_MODULE_NOT_DECLARED, detail)
        .hint(eco_format!("Add a module block for {} before you import {addr}.", addr.module))
}

pub(crate) fn import_into_undeclared_resource(addr: &AbsResourceInstance) -> Diagnostic {
    let place = match addr.module.is_root() {
        true => "the root module".into(),
        false => eco_format!("{}", addr.module),
    };
    let detail = eco_format!(
        "An object is imported to a resource that the configuration declares. Add this block to {place}:\n\nresource {:?} \
         {:?} {{\n  # (resource arguments)\n}}",
        addr.resource.kind,
        addr.resource.name
    );
    let title = eco_format!("resource address {:?} does not exist in the configuration.", addr.to_string());
    Diagnostic::new(&IMPORT_RESOURCE_NOT_DECLARED, detail).titled(title)
}

pub(crate) fn nothing_to_refresh() -> Diagnostic {
    Diagnostic::new(&REFRESH_OF_EMPTY_STATE, "The state contains no objects to refresh.")
}

pub(crate) fn infinite_output_in_plan(output: &str) -> Diagnostic {
    infinite(Diagnostic::new(&INFINITE_OUTPUT_IN_PLAN, infinite_output(output)))
}

pub(crate) fn infinite_output_in_state(output: &str) -> Diagnostic {
    infinite(Diagnostic::new(&INFINITE_OUTPUT_IN_STATE, infinite_output(output)))
}

fn infinite_output(output: &str) -> EcoString {
    eco_format!("The value of output {output:?} is an infinite number, or contains one, and cannot be saved.")
}

fn infinite(problem: Diagnostic) -> Diagnostic {
    problem.hint("Check the expression for divisions by zero.")
}

pub(crate) fn unwritable_plan(path: &Path, reason: &dyn Display) -> Diagnostic {
    let detail = eco_format!("Failed to write the plan to {}: {reason}.", path.display());
    Diagnostic::new(&PLAN_FILE_UNWRITABLE, detail)
}

pub(crate) fn unwritable_generated_configuration(path: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to write the configuration of imported objects to {}: {error}.", path.display());
    Diagnostic::new(&GENERATED_CONFIGURATION_UNWRITABLE, detail)
}

pub(crate) fn incomplete_plan() -> Diagnostic {
    let detail = "The plan was saved after planning had failed. It can be shown, but not applied.";
    Diagnostic::new(&INCOMPLETE_SAVED_PLAN, detail).hint("Fix the errors that planning reported and make a new plan.")
}

pub(crate) fn forgotten_instances() -> Diagnostic {
    let detail = "All other objects were destroyed. The lifecycle of the forgotten objects removes them from the state only: \
                  they still exist, and Yuba no longer manages them.";
    Diagnostic::new(&FORGOTTEN_INSTANCES, detail).hint("Use -suppress-forget-errors to accept forgotten objects.")
}

pub(crate) fn planned_warning(saved: &PlannedWarning, span: Option<Span>) -> Diagnostic {
    let mut warning = Diagnostic::new(&PLANNED_WARNING, saved.detail.clone()).titled(saved.summary.clone());
    warning.subject = span;
    warning.address = Some(saved.address.clone()).filter(|address| !address.is_empty());
    warning.extra.get_or_insert_default().deprecation = Some(saved.deprecated.clone());
    warning
}

pub(crate) fn plan_not_loaded(path: &Path, reason: &str) -> Diagnostic {
    let name = path.display().to_string();
    unreadable_plan(Diagnostic::new(&PLAN_FILE_NOT_LOADED, not_read(path, reason)))
        .titled(eco_format!("Failed to load {name:?} as a plan file"))
}

pub(crate) fn plan_not_read(path: &Path, reason: &str) -> Diagnostic {
    unreadable_plan(Diagnostic::new(&PLAN_FILE_UNREADABLE, not_read(path, reason)))
}

fn not_read(path: &Path, reason: &str) -> EcoString {
    eco_format!("Failed to read {}: {reason}.", path.display())
}

fn unreadable_plan(problem: Diagnostic) -> Diagnostic {
    problem.hint("Make a plan with \"yuba plan -out=FILE\".")
}

pub(crate) fn plan_not_drawn(problem: &Diagnostic) -> Diagnostic {
    Diagnostic::new(&PLAN_NOT_DRAWN, eco_format!("Failed to draw the plan. {}", problem.explanation()))
}

/// `differences` are lines, one for each provider.
pub(crate) fn lock_file_differs(differences: &str) -> Diagnostic {
    let detail = eco_format!(
        "The lock file of the working directory differs from the one of the plan:{differences}\n\nA saved plan can be \
         applied only with the providers it was made with."
    );
    Diagnostic::new(&LOCK_FILE_DIFFERS_FROM_PLAN, detail).hint("Make a new plan.")
}

pub(crate) fn plan_of_other_workspace(planned: &str, selected: &str) -> Diagnostic {
    let detail = format!("The plan was made in the workspace {planned:?}, and the workspace {selected:?} is selected.");
    let hint =
        format!("Select the workspace of the plan: run \"yuba workspace select {planned}\" or set TF_WORKSPACE.");
    Diagnostic::new(&PLAN_OF_OTHER_STATE, detail).hint(hint)
}

pub(crate) fn plan_of_other_state() -> Diagnostic {
    let detail = "The plan was made from a state of another lineage: it belongs to another working directory or workspace, or \
                  the state was replaced.";
    Diagnostic::new(&PLAN_OF_OTHER_STATE, detail).hint("Make a new plan.")
}

pub(crate) fn stale_plan() -> Diagnostic {
    Diagnostic::new(&STALE_PLAN, "The state has changed since the plan was made.").hint("Make a new plan.")
}

/// Objects that a plan depends on have changed.
pub(crate) fn stale_objects(addresses: &[String]) -> Diagnostic {
    const SHOWN: usize = 10;
    let shown: Vec<&str> = addresses.iter().map(String::as_str).filter(|address| !address.is_empty()).collect();
    let more = shown.len().saturating_sub(SHOWN);
    let mut list = shown.iter().take(SHOWN).map(|address| format!("\n  - {address}")).collect::<String>();
    if more > 0 {
        list += &format!("\n  - {more} more objects");
    }
    let detail = match list.is_empty() {
        true => "The state has changed since the plan was made.".to_owned(),
        false => format!("Other runs have changed objects that the plan depends on:\n{list}"),
    };
    Diagnostic::new(&STALE_PLAN, detail).hint("Make a new plan.")
}

pub(crate) fn encrypted_plan() -> Diagnostic {
    let detail =
        "The plan file is encrypted. Neither the configuration nor TF_ENCRYPTION has an encryption method for plans.";
    Diagnostic::new(&ENCRYPTED_PLAN_WITHOUT_METHOD, detail)
        .hint("Add the plan block of the encryption configuration that the plan was saved with.")
}
