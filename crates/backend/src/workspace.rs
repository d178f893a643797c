//! The selected workspace of a working directory, and valid names of workspaces.

use std::path::{Path, PathBuf};

use yuba_syntax::Diagnostics;

use crate::diagnostics;
use crate::files::{Access, StateFiles, replace};

/// The workspace that is always there.
pub const DEFAULT_WORKSPACE: &str = "default";

/// File with the name of the selected workspace, in the data directory (`.terraform`).
pub fn selection_path(data_directory: &Path) -> PathBuf {
    data_directory.join("environment")
}

/// The workspace that was selected in a working directory. `TF_WORKSPACE` goes first; that is for the caller to ask.
pub fn selected(files: &dyn StateFiles, data_directory: &Path) -> String {
    // Quirk: if the file cannot be read for any reason, the default workspace is selected.
    let bytes = files.read(&selection_path(data_directory)).unwrap_or_default();
    let name = String::from_utf8_lossy(&bytes).trim().to_owned();
    if name.is_empty() { DEFAULT_WORKSPACE.to_owned() } else { name }
}

/// Selects a workspace.
pub fn select(files: &dyn StateFiles, data_directory: &Path, name: &str) -> Result<(), Diagnostics> {
    let path = selection_path(data_directory);
    let write = || {
        files.create_directory(data_directory)?;
        replace(files, &path, name.as_bytes(), Access::ByMask)
    };
    write().map_err(|error| diagnostics::workspace_not_selected(name, &path, &error).into())
}

/// Whether a workspace may be called this: what needs no escaping in a path of a URL.
pub fn is_valid_name(name: &str) -> bool {
    // OpenTofu's rule lets names of dots pass, which would lead to another directory.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+:=@".contains(&byte);
    !name.is_empty() && name != "." && name != ".." && name.bytes().all(plain)
}
