//! Diagnostics about arguments of backends and the record of `init`.

use std::io;
use std::path::Path;

use ecow::eco_format;
use yuba_backend::Backends;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// Neither the `backend` block, `-backend-config` nor the environment sets a required argument of the backend.
    BACKEND_ARGUMENT_MISSING = error "backend-argument-missing", "Missing required argument";
    /// The `-backend-config` flag sets an argument that the backend does not have.
    BACKEND_ARGUMENT_UNKNOWN = error "backend-argument-unknown", "Invalid backend configuration argument";
    /// The `-backend-config` flag sets an argument to a value of the wrong type.
    BACKEND_ARGUMENT_INVALID = error "backend-argument-invalid", "Invalid backend configuration argument";
    /// The file of a `-backend-config` flag cannot be read.
    BACKEND_CONFIG_FILE_UNREADABLE = error "backend-config-file-unreadable", "Failed to read file";
    /// The record of the backend in the data directory cannot be written.
    BACKEND_RECORD_NOT_WRITTEN = error "backend-record-not-written", "Failed to save backend configuration";
    /// The state has to be migrated and no user can be asked whether to copy it.
    MIGRATION_NOT_CONFIRMED = error "migration-not-confirmed", "Can't ask approval for state migration";
    /// The user refuses to copy the states to the new backend.
    MIGRATION_ABORTED = error "migration-aborted", "Migration aborted by user.";
    /// The state of a workspace cannot be copied to the new backend.
    WORKSPACE_NOT_MIGRATED = error "workspace-not-migrated", "Error migrating the workspace {workspace}";
    /// A `terraform_remote_state` data source names a backend that does not exist.
    REMOTE_STATE_BACKEND_UNKNOWN = error "remote-state-backend-unknown", "Invalid backend configuration";
    /// The `config` of a `terraform_remote_state` data source does not match the arguments of its backend.
    REMOTE_STATE_ARGUMENTS_INVALID = error "remote-state-arguments-invalid", "Invalid backend configuration";
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
    Diagnostic::new(&BACKEND_ARGUMENT_MISSING, detail)
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

pub(crate) fn migration_not_confirmed() -> Diagnostic {
    let detail = "Copying the state to the new backend needs a confirmation, and this command cannot ask for input.";
    Diagnostic::new(&MIGRATION_NOT_CONFIRMED, detail)
        .hint("Use -force-copy to copy the state, or -reconfigure to leave it where it is.")
}

pub(crate) fn migration_aborted() -> Diagnostic {
    Diagnostic::new(&MIGRATION_ABORTED, "Nothing was changed.")
}

pub(crate) fn workspace_not_migrated(workspace: &str, reasons: &str) -> Diagnostic {
    let title = eco_format!("Error migrating the workspace {workspace:?}");
    Diagnostic::new(&WORKSPACE_NOT_MIGRATED, reasons).titled(title)
}
