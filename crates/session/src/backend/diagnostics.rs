//! Diagnostics about arguments of backends and the record of `init`.

use std::io;
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResourceInstance;
use yuba_backend::{Backends, CLOUD, VersionMismatch};
use yuba_syntax::{Diagnostic, Diagnostics};

yuba_syntax::catalogue! {
    /// Neither the `backend` block, `-backend-config` nor the environment sets a required argument of the backend.
    BACKEND_ARGUMENT_MISSING = error "backend-argument-missing", "{argument}: required field is not set";
    /// The `-backend-config` flag sets an argument that the backend does not have.
    BACKEND_ARGUMENT_UNKNOWN = error "backend-argument-unknown", "Invalid backend configuration argument";
    /// The `-backend-config` flag sets an argument to a value of the wrong type.
    BACKEND_ARGUMENT_INVALID = error "backend-argument-invalid", "Invalid backend configuration argument";
    /// The file of a `-backend-config` flag cannot be read.
    BACKEND_CONFIG_FILE_UNREADABLE = error "backend-config-file-unreadable", "Failed to read file";
    /// The record of the backend in the data directory cannot be written.
    BACKEND_RECORD_NOT_WRITTEN = error "backend-record-not-written", "Failed to save backend configuration";
    /// The record of the backend in the data directory cannot be read.
    BACKEND_RECORD_NOT_READ = error "backend-record-not-read", "Failed to load state";
    /// The type of the backend that was used last is unknown.
    LAST_BACKEND_UNKNOWN = error "last-backend-unknown", "The backend {type} could not be found.";
    /// The command requires `layout = "resources"` of the backend `pg`.
    ROWS_REQUIRED = error "rows-required", "Unsupported backend";
    /// The history of the state has no object with this address.
    NO_HISTORY = error "no-history", "No history found";
    /// `force-unlock` is used with a backend whose arguments enable no locks.
    LOCKING_DISABLED = error "locking-disabled", "Locking disabled";
    /// The local states, which `init` may migrate, cannot be read.
    LOCAL_STATE_NOT_READ = error "local-state-not-read", "Error reading local state";
    /// The workspaces of the backend cannot be listed.
    WORKSPACES_NOT_READ = error "workspaces-not-read", "Failed to get existing workspaces";
    /// The backend does not have the selected workspace, and the command cannot ask for another.
    SELECTED_WORKSPACE_MISSING = error "selected-workspace-missing", "Currently selected workspace {workspace} does not exist";
    /// The user is asked for a workspace and enters no valid name.
    WORKSPACE_NOT_CHOSEN = error "workspace-not-chosen", "Failed to select workspace: {reason}";
    /// The user is asked for a required argument of the backend and enters nothing.
    BACKEND_ARGUMENT_NOT_ANSWERED = error "backend-argument-not-answered", "Error asking for input to configure backend {backend}: {reason}";
    /// `init` must migrate the state, and the command cannot ask whether to copy it.
    MIGRATION_NOT_CONFIRMED = error "migration-not-confirmed", "Can't ask approval for state migration when interactive input is disabled.";
    /// The user is asked whether to copy a state and enters nothing.
    CONFIRMATION_NOT_ANSWERED = error "confirmation-not-answered", "Error asking for confirmation: {reason}";
    /// `init` must migrate several workspaces, and the command cannot ask whether to copy them.
    MIGRATION_NOT_ASKED = error "migration-not-asked", "Error asking for state migration action: {reason}";
    /// The user refuses to copy the states to the new backend.
    MIGRATION_ABORTED = error "migration-aborted", "Migration aborted by user.";
    /// The workspaces of a backend cannot be listed before states are migrated.
    STATES_NOT_INSPECTED = error "states-not-inspected", "Error inspecting states in the {backend} backend:";
    /// A state cannot be read before it is migrated.
    MIGRATED_STATE_NOT_LOADED = error "migrated-state-not-loaded", "Error loading default state from the {backend} backend:";
    /// A state cannot be written to the new backend.
    STATE_NOT_COPIED = error "state-not-copied", "Error copying state from the previous {backend} backend to the newly configured";
    /// The state of a workspace cannot be copied to the new backend.
    WORKSPACE_NOT_MIGRATED = error "workspace-not-migrated", "Error migrating the workspace {workspace} from the previous {backend} backend";
    /// Ctrl-C ends a migration before the state is copied.
    MIGRATION_INTERRUPTED = error "migration-interrupted", "Error migrating state: interrupted";
    /// Copies of the two states, between which the user decides, cannot be written.
    INSPECTION_NOT_WRITTEN = error "inspection-not-written", "Error saving temporary state";
    /// A `terraform_remote_state` data source names a backend that does not exist.
    REMOTE_STATE_BACKEND_UNKNOWN = error "remote-state-backend-unknown", "Invalid backend configuration";
    /// The configuration has a `cloud` block, and `init` has not run since it was added or changed.
    CLOUD_NOT_INITIALIZED = error "cloud-not-initialized", "Cloud backend initialization required: please run \"yuba init\"";
    /// A flag of `init` has no effect together with a `cloud` block.
    CLOUD_FLAG_INVALID = error "cloud-flag-invalid", "Invalid command-line option";
    /// Operations of the workspace run on a server, which this version does not support.
    REMOTE_EXECUTION = error "remote-execution", "Remote operations not supported";
    /// The workspace is set to another version on the server.
    REMOTE_VERSION_MISMATCH = error "remote-version-mismatch", "{title}";
    /// The workspace is set to another version on the server, and `-ignore-remote-version` is set.
    REMOTE_VERSION_IGNORED = warning "remote-version-ignored", "{title}";
    /// The server does not return the value of a sensitive variable.
    STORED_VALUE_UNAVAILABLE = warning "stored-value-unavailable", "Value for var.{name} unavailable";
    /// The server stores an expression for a variable that cannot be evaluated.
    STORED_VALUE_INVALID = error "stored-value-invalid", "Invalid expression for var.{name}";
    /// The backend has no workspaces yet.
    NO_EXISTING_WORKSPACES = error "no-existing-workspaces", "No existing workspaces.";
    /// The user is asked for the name of the first workspace and gives none.
    WORKSPACE_NOT_NAMED = error "workspace-not-named", "Couldn't create initial workspace: {reason}";
    /// The user is asked for the name of the workspace that a state is copied to and gives none.
    NEW_WORKSPACE_NOT_NAMED = error "new-workspace-not-named", "Error asking for new state name: {reason}";
    /// The user is asked how workspaces are renamed and enters no valid name.
    RENAMING_INVALID = error "renaming-invalid", "{reason}";
    /// The `config` of a `terraform_remote_state` data source does not match the arguments of its backend.
    REMOTE_STATE_ARGUMENTS_INVALID = error "remote-state-arguments-invalid", "Invalid backend configuration";
}

/// With the type of the backend of the record, if there is one.
pub(crate) fn cloud_not_initialized(before: Option<&str>) -> Diagnostic {
    let detail = match before {
        None => "This working directory is not initialized for the cloud block of the configuration.".into(),
        Some(CLOUD) => eco_format!("The cloud block differs from the one of the last \"yuba init\"."),
        Some(before) => eco_format!(
            "The last \"yuba init\" used the backend \"{before}\", and the configuration has a cloud block."
        ),
    };
    Diagnostic::new(&CLOUD_NOT_INITIALIZED, detail).hint("Run \"yuba init\".")
}

pub(crate) fn cloud_flag_invalid(flag: &str) -> Diagnostic {
    let detail = eco_format!("{flag} is for backend blocks, and the configuration has a cloud block.");
    let hint = match flag {
        "-backend-config" => {
            "Set the arguments in the cloud block, or use the environment variables TF_CLOUD_HOSTNAME, \
                              TF_CLOUD_ORGANIZATION, TF_CLOUD_PROJECT and TF_WORKSPACE."
        }
        _ => {
            "Remove the flag. \"yuba init\" uses a changed cloud block without it, and prompts before it copies states."
        }
    };
    Diagnostic::new(&CLOUD_FLAG_INVALID, detail).hint(hint)
}

pub(crate) fn remote_execution(workspace: &str, kind: &str, mode: &str) -> Diagnostic {
    let block = if kind == CLOUD { "cloud block".into() } else { eco_format!("backend \"{kind}\"") };
    let detail = eco_format!(
        "The server of the {block} runs the operations of workspace \"{workspace}\": its execution mode is \"{mode}\". Yuba \
         runs operations on this machine only."
    );
    Diagnostic::new(&REMOTE_EXECUTION, detail).hint(
        "Set the execution mode of the workspace to \"local\" in its settings on the server, or run the operation with OpenTofu. \
         Commands that read or edit the state work in every mode.",
    )
}

fn about_version(mismatch: &VersionMismatch) -> EcoString {
    let VersionMismatch { local, remote, workspace, .. } = mismatch;
    eco_format!("The workspace {workspace} is set to version {remote}, and Yuba writes states of version {local}.")
}

pub(crate) fn remote_version_mismatch(mismatch: &VersionMismatch) -> Diagnostic {
    Diagnostic::new(&REMOTE_VERSION_MISMATCH, about_version(mismatch)).titled(mismatch.title).hint(
        "Change the version of the workspace on the server. -ignore-remote-version writes the state anyway; operations on the \
         server may not be able to read it.",
    )
}

pub(crate) fn remote_version_ignored(mismatch: &VersionMismatch) -> Diagnostic {
    Diagnostic::new(&REMOTE_VERSION_IGNORED, about_version(mismatch)).titled(mismatch.title)
}

pub(crate) fn stored_value_unavailable(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The workspace stores a sensitive value for the variable \"{name}\", which the server does not send. Its value is unknown."
    );
    Diagnostic::new(&STORED_VALUE_UNAVAILABLE, detail)
        .titled(eco_format!("Value for var.{name} unavailable"))
        .hint(eco_format!("Set it with -var or TF_VAR_{name} if the command needs it."))
}

pub(crate) fn stored_value_invalid(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The workspace stores an HCL expression for the variable \"{name}\" that is not a constant. It must not refer to anything."
    );
    Diagnostic::new(&STORED_VALUE_INVALID, detail).titled(eco_format!("Invalid expression for var.{name}"))
}

pub(crate) fn no_existing_workspaces() -> Diagnostic {
    let detail = "The backend has no workspaces.";
    Diagnostic::new(&NO_EXISTING_WORKSPACES, detail).hint(
        "Run \"yuba workspace new NAME\" to create one. If the backend has workspaces, check its arguments: they select \
         workspaces by name, prefix or tags.",
    )
}

pub(crate) fn workspace_not_named(reason: &str) -> Diagnostic {
    Diagnostic::new(&WORKSPACE_NOT_NAMED, "No workspace was created.")
        .titled(eco_format!("Couldn't create initial workspace: {reason}"))
        .hint(
            "Set TF_WORKSPACE to an existing workspace, or create one with the tags of the cloud block on the server.",
        )
}

pub(crate) fn new_workspace_not_named(reason: &str) -> Diagnostic {
    Diagnostic::new(&NEW_WORKSPACE_NOT_NAMED, "No state was copied.")
        .titled(eco_format!("Error asking for new state name: {reason}"))
}

/// The reason is the whole title.
pub(crate) fn renaming_invalid(reason: &str) -> Diagnostic {
    Diagnostic::new(&RENAMING_INVALID, "No state was copied.").titled(reason)
}

pub(crate) fn remote_state_backend_unknown(backend: &str, backends: &Backends) -> Diagnostic {
    let similar = yuba_syntax::suggestion::did_you_mean(backend, backends.names());
    let detail = eco_format!("There is no backend type \"{backend}\".{similar}");
    Diagnostic::new(&REMOTE_STATE_BACKEND_UNKNOWN, detail)
}

pub(crate) fn remote_state_arguments_invalid(backend: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("This configuration does not match the backend \"{backend}\": {reason}.");
    Diagnostic::new(&REMOTE_STATE_ARGUMENTS_INVALID, detail)
}

pub(crate) fn missing_backend_argument(kind: &str, name: &str) -> Diagnostic {
    let detail = eco_format!("The backend \"{kind}\" requires the argument \"{name}\".");
    // Quirk: the title of this backend differs.
    let title = match kind {
        "s3" => "Invalid Value".into(),
        _ => eco_format!("\"{name}\": required field is not set"),
    };
    Diagnostic::new(&BACKEND_ARGUMENT_MISSING, detail)
        .titled(title)
        .hint(eco_format!("Set it in the backend block or with -backend-config=\"{name}=VALUE\"."))
}

pub(crate) fn unknown_backend_argument(kind: &str, name: &str) -> Diagnostic {
    let detail =
        eco_format!("The backend \"{kind}\" does not have the argument \"{name}\", which -backend-config sets.");
    Diagnostic::new(&BACKEND_ARGUMENT_UNKNOWN, detail)
}

/// Without the value, which may be a credential.
pub(crate) fn invalid_backend_argument(name: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("-backend-config sets the argument \"{name}\" to an invalid value: {reason}.");
    Diagnostic::new(&BACKEND_ARGUMENT_INVALID, detail)
}

pub(crate) fn backend_file_not_read(path: &str, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to read the backend configuration file {path}: {error}.");
    Diagnostic::new(&BACKEND_CONFIG_FILE_UNREADABLE, detail)
}

pub(crate) fn backend_record_not_written(path: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to write the record {} of the backend: {error}.", path.display());
    Diagnostic::new(&BACKEND_RECORD_NOT_WRITTEN, detail)
}

pub(crate) fn backend_record_not_read(path: &Path, reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to read the record {} of the backend: {reason}.", path.display());
    Diagnostic::new(&BACKEND_RECORD_NOT_READ, detail)
        .hint("Fix or restore the file. \"yuba init -reconfigure\" replaces it with the backend of the configuration.")
}

/// Quirk: the title has several paragraphs.
pub(crate) fn last_backend_unknown(kind: &str) -> Diagnostic {
    let title = eco_format!(
        "The backend {kind:?} could not be found.\n\n\
         This is the backend that this Yuba environment is configured to use\n\
         both in your configuration and saved locally as your last-used backend.\n\
         If it isn't found, it could mean an alternate version of Yuba was\n\
         used with this configuration. Please use the proper version of Yuba that\n\
         contains support for this backend.\n\n\
         If you'd like to force remove this backend, you must update your configuration\n\
         to not use the backend and run \"yuba init\" (or any other command) again."
    );
    Diagnostic::new(&LAST_BACKEND_UNKNOWN, "").titled(title)
}

pub(crate) fn selected_workspace_missing(name: &str) -> Diagnostic {
    let detail = "The backend has several workspaces, and the selected one is not among them.";
    Diagnostic::new(&SELECTED_WORKSPACE_MISSING, detail)
        .titled(eco_format!("Currently selected workspace {name:?} does not exist"))
        .hint("Set TF_WORKSPACE to an existing workspace, or run the command without -input=false to choose one.")
}

pub(crate) fn workspace_not_chosen(reason: &str) -> Diagnostic {
    let detail = "The prompt expects the number of a workspace in the list.";
    Diagnostic::new(&WORKSPACE_NOT_CHOSEN, detail).titled(eco_format!("Failed to select workspace: {reason}"))
}

pub(crate) fn argument_not_answered(kind: &str, name: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&BACKEND_ARGUMENT_NOT_ANSWERED, eco_format!("The argument \"{name}\" has no value."))
        .titled(eco_format!("Error asking for input to configure backend {kind:?}: {name}: {reason}"))
        .hint(eco_format!("Set it in the backend block or with -backend-config=\"{name}=VALUE\"."))
}

pub(crate) fn migration_not_confirmed() -> Diagnostic {
    let detail = "Both states are unchanged.";
    Diagnostic::new(&MIGRATION_NOT_CONFIRMED, detail)
        .hint("Use -force-copy to copy the state without a prompt, or remove -input=false.")
}

/// The reason is the whole title.
pub(crate) fn not_answered(reason: &str) -> Diagnostic {
    Diagnostic::new(&CONFIRMATION_NOT_ANSWERED, "Both states are unchanged.").titled(reason)
}

pub(crate) fn migration_not_asked(reason: &str) -> Diagnostic {
    Diagnostic::new(&MIGRATION_NOT_ASKED, "No state was copied.")
        .titled(eco_format!("Error asking for state migration action: {reason}"))
        .hint("Use -force-copy to copy the states without a prompt.")
}

pub(crate) fn migration_aborted() -> Diagnostic {
    Diagnostic::new(&MIGRATION_ABORTED, "No state was copied, and the backend is the same as before.")
}

pub(crate) fn states_not_inspected(kind: &str, problems: &Diagnostics) -> Diagnostic {
    let detail = eco_format!("{}\n\nThe states in both backends are unchanged.", problems.joined());
    Diagnostic::new(&STATES_NOT_INSPECTED, detail)
        .titled(eco_format!("Error inspecting states in the {kind:?} backend:"))
}

pub(crate) fn migrated_state_not_loaded(kind: &str, problems: &Diagnostics) -> Diagnostic {
    let detail = eco_format!("{}\n\nThe states in both backends are unchanged.", problems.joined());
    Diagnostic::new(&MIGRATED_STATE_NOT_LOADED, detail)
        .titled(eco_format!("Error loading default state from the {kind:?} backend:"))
}

pub(crate) fn state_not_copied((old, new): (&str, &str), problems: &Diagnostics) -> Diagnostic {
    let detail = eco_format!(
        "Failed to write the state to the {new:?} backend. {}\n\nThe state in the {old:?} backend is unchanged.",
        problems.joined()
    );
    Diagnostic::new(&STATE_NOT_COPIED, detail)
        .titled(eco_format!("Error copying state from the previous {old:?} backend to the newly configured"))
}

/// Workspaces of a migration that failed.
pub(crate) struct MigrationProgress<'m> {
    /// The workspace whose state was not copied.
    pub(crate) failed: &'m str,
    /// Workspaces that were copied before.
    pub(crate) copied: &'m [String],
    /// Workspaces that come after it.
    pub(crate) rest: &'m [String],
}

pub(crate) fn workspace_not_migrated(
    progress: &MigrationProgress<'_>,
    (old, new): (&str, &str),
    problems: &Diagnostics,
) -> Diagnostic {
    let listed = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let failed = progress.failed;
    let detail = eco_format!(
        "{}\n\nCopied to the {new:?} backend: {}.\nNot copied: {}.\nThe states in the {old:?} backend are unchanged, and \
         the working directory still uses it.",
        problems.joined(),
        listed(progress.copied),
        listed(&[&[failed.to_owned()], progress.rest].concat())
    );
    Diagnostic::new(&WORKSPACE_NOT_MIGRATED, detail)
        .titled(eco_format!("Error migrating the workspace {failed:?} from the previous {old:?} backend"))
        .hint("Fix the cause and run the command again: it copies all workspaces again.")
}

pub(crate) fn migration_interrupted() -> Diagnostic {
    let detail = "An interrupt signal ended the migration. This state was not copied, and its locks are released.";
    Diagnostic::new(&MIGRATION_INTERRUPTED, detail).hint("Run the command again to migrate the states.")
}

pub(crate) fn inspection_not_written(directory: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to write copies of the two states below {}: {error}.", directory.display());
    Diagnostic::new(&INSPECTION_NOT_WRITTEN, detail)
}

/// `what` is what the backend does not store.
pub(crate) fn rows_required(kind: &str, what: &str) -> Diagnostic {
    let detail = eco_format!(
        "The backend \"{kind}\" does not store {what}. This command requires the backend \"pg\" with layout = \"resources\"."
    );
    Diagnostic::new(&ROWS_REQUIRED, detail)
}

pub(crate) fn no_history(addr: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!("The stored history of the selected workspace does not contain {addr}.");
    Diagnostic::new(&NO_HISTORY, detail).hint("Earlier versions are removed after history_days, and by yuba_prune.")
}

pub(crate) fn locking_disabled() -> Diagnostic {
    Diagnostic::new(&LOCKING_DISABLED, "The arguments of the backend enable no locks, so there is no lock to remove.")
}
