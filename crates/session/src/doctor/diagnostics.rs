//! Catalogue of the problems that `doctor` finds. No text contains values of variables, arguments or credentials.

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The working directory has no configuration files.
    DOCTOR_NO_CONFIGURATION = warning "doctor-no-configuration", "No configuration files";
    /// A file or directory that commands write to is not writable.
    DOCTOR_NOT_WRITABLE = error "doctor-not-writable", "Missing write permission";
    /// Other users can write to a cache, so that it is not used.
    DOCTOR_CACHE_NOT_TRUSTED = warning "doctor-cache-not-trusted", "Cache is not used";
    /// Other users can read the credentials file.
    DOCTOR_CREDENTIALS_READABLE = warning "doctor-credentials-readable", "Credentials file is readable by other users";
    /// A provider is locked and not installed.
    DOCTOR_PROVIDER_MISSING = error "doctor-provider-missing", "Provider is not installed";
    /// A provider is required and neither locked nor installed.
    DOCTOR_PROVIDER_NOT_SELECTED = error "doctor-provider-not-selected", "Provider is not in the dependency lock file";
    /// An installed provider differs from the checksums in the lock file, or cannot be read.
    DOCTOR_PROVIDER_DAMAGED = error "doctor-provider-damaged", "Provider package cannot be used";
    /// The locked version of a provider is not one that the configuration accepts.
    DOCTOR_PROVIDER_OUTSIDE_CONSTRAINTS = error "doctor-provider-outside-constraints", "Locked provider version does not match";
    /// The CLI configuration replaces a required provider with a local directory.
    DOCTOR_PROVIDER_OVERRIDDEN = warning "doctor-provider-overridden", "Provider development override in use";
    /// The selected workspace has a name that no workspace can have.
    DOCTOR_WORKSPACE_NAME_INVALID = error "doctor-workspace-name-invalid", "Invalid workspace name";
    /// A state that could not be saved is in the working directory.
    DOCTOR_ERRORED_STATE = error "doctor-errored-state", "A state was not saved";
    /// The record of a lock exists, and no process holds the lock.
    DOCTOR_LOCK_LEFT_BEHIND = warning "doctor-lock-left-behind", "A process ended without releasing the state lock";
    /// A journal of an interrupted run exists.
    DOCTOR_JOURNAL_LEFT_BEHIND = warning "doctor-journal-left-behind", "An interrupted run left a journal";
}

pub(super) fn no_configuration() -> Diagnostic {
    Diagnostic::new(&DOCTOR_NO_CONFIGURATION, "The directory has no files with the endings .tf or .tofu.")
        .hint("Change to the directory of the root module, or use -chdir.")
}

pub(super) fn not_writable(path: &str) -> Diagnostic {
    Diagnostic::new(&DOCTOR_NOT_WRITABLE, eco_format!("This user cannot write to {path}."))
        .hint("Change the owner or the permissions.")
}

pub(super) fn cache_not_trusted(path: &str) -> Diagnostic {
    let detail = eco_format!("Another user owns {path} or can write to it, so Yuba does not use this cache.");
    Diagnostic::new(&DOCTOR_CACHE_NOT_TRUSTED, detail)
        .hint(eco_format!("Remove the directory, or run \"chmod go-w {path}\"."))
}

pub(super) fn credentials_readable(path: &str) -> Diagnostic {
    Diagnostic::new(&DOCTOR_CREDENTIALS_READABLE, eco_format!("Other users can read {path}, which contains tokens."))
        .hint(eco_format!("Run \"chmod 600 {path}\"."))
}

pub(super) fn provider_missing(provider: &str, version: &str) -> Diagnostic {
    let detail = eco_format!("The lock file selects {provider} {version}, which is not in the data directory.");
    Diagnostic::new(&DOCTOR_PROVIDER_MISSING, detail).hint("Run \"yuba init\".")
}

pub(super) fn provider_not_selected(provider: &str) -> Diagnostic {
    let detail = eco_format!("The configuration requires {provider}, and the lock file has no version of it.");
    Diagnostic::new(&DOCTOR_PROVIDER_NOT_SELECTED, detail).hint("Run \"yuba init\".")
}

pub(super) fn provider_damaged(provider: &str) -> Diagnostic {
    let detail =
        eco_format!("The package of {provider} is incomplete, or differs from the checksums in the lock file.");
    Diagnostic::new(&DOCTOR_PROVIDER_DAMAGED, detail).hint("Run \"yuba init\" to install it again.")
}

pub(super) fn provider_outside_constraints(provider: &str, version: &str) -> Diagnostic {
    let detail = eco_format!("The lock file selects {provider} {version}, which the configuration does not accept.");
    Diagnostic::new(&DOCTOR_PROVIDER_OUTSIDE_CONSTRAINTS, detail).hint("Run \"yuba init -upgrade\".")
}

pub(super) fn provider_overridden(provider: &str) -> Diagnostic {
    let detail = eco_format!("The CLI configuration replaces {provider} with a local directory (dev_overrides).");
    Diagnostic::new(&DOCTOR_PROVIDER_OVERRIDDEN, detail)
        .hint("Remove the override from the CLI configuration, unless you develop this provider.")
}

pub(super) fn workspace_name_invalid() -> Diagnostic {
    Diagnostic::new(
        &DOCTOR_WORKSPACE_NAME_INVALID,
        "The name of the selected workspace has characters that are not allowed.",
    )
    .hint("Correct TF_WORKSPACE, or run \"yuba workspace select default\".")
}

pub(super) fn errored_state() -> Diagnostic {
    let detail = "An earlier run failed to save its state and wrote it to errored.tfstate in the working directory.";
    Diagnostic::new(&DOCTOR_ERRORED_STATE, detail)
        .hint("Run \"yuba state push errored.tfstate\", then remove the file.")
}

pub(super) fn lock_left_behind(pid: Option<u32>) -> Diagnostic {
    let process = pid.map_or_else(|| "A process".into(), |pid| eco_format!("Process {pid}"));
    let detail = eco_format!("{process} left its record of the state lock. The lock itself is free.");
    Diagnostic::new(&DOCTOR_LOCK_LEFT_BEHIND, detail)
        .hint("The next command that locks the state takes over. No action is required.")
}

pub(super) fn journal_left_behind() -> Diagnostic {
    let detail = "A run ended before it saved its state. The journal has the results of its operations.";
    Diagnostic::new(&DOCTOR_JOURNAL_LEFT_BEHIND, detail)
        .hint("Run \"yuba plan\": the next command that locks the state completes it from the journal.")
}
