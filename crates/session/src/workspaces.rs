//! Workspaces: which there are, which one is selected, new ones and ones that go.

use std::path::Path;

use yuba_backend::{WORKSPACES_NOT_SUPPORTED, WorkspaceRemoval, workspace};
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::backend::{LockWait, OpenFailure, StateFlags, StateLocation};
use crate::diagnostics;

pub use yuba_backend::workspace::is_valid_name;

/// The workspace that is selected, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its name.
    pub name: String,
    /// Whether the environment variable `TF_WORKSPACE` says so.
    pub is_overridden: bool,
}

/// All workspaces.
pub fn list(location: &StateLocation) -> Result<Vec<String>, Diagnostics> {
    listed(location, "Error loading workspaces")
}

/// All workspaces. A backend with a single state refuses under this title.
fn listed(location: &StateLocation, title: &'static str) -> Result<Vec<String>, Diagnostics> {
    location.backend().workspaces().map_err(|problems| retitled(problems, title))
}

/// Problems, with another title for the refusal of a backend with a single state.
pub(crate) fn retitled(problems: Diagnostics, title: &'static str) -> Diagnostics {
    let mut retitled = Diagnostics::new();
    retitled.extend(problems.into_iter().map(|problem| match problem.is(&WORKSPACES_NOT_SUPPORTED) {
        true => problem.titled(title),
        false => problem,
    }));
    retitled
}

/// An error if no workspace can have this name.
pub fn check_name(name: &str) -> Result<(), Diagnostics> {
    match is_valid_name(name) {
        true => Ok(()),
        false => Err(diagnostics::invalid_workspace_name(name).into()),
    }
}

/// Makes a workspace and selects it.
pub fn create(location: &StateLocation, data_dir: &Path, name: &str, selected: &Selected) -> Result<(), Diagnostics> {
    check_name(name)?;
    if selected.is_overridden && selected.name != name {
        return Err(diagnostics::overridden_new().into());
    }
    if listed(location, "Error getting existing workspaces")?.iter().any(|there| there == name) {
        return Err(diagnostics::workspace_exists(name).into());
    }
    location.backend().open(name)?;
    workspace::select(location.files(), data_dir, name)
}

/// Gives the state of a new workspace the content of a file.
pub fn fill(
    location: &StateLocation,
    name: &str,
    file: &Path,
    flags: &StateFlags,
    waiting: &mut dyn LockWait,
) -> Result<Diagnostics, Diagnostics> {
    let mut state = crate::state::read_file(location.files(), file, location.encryption.state.as_ref())
        .map_err(|problems| diagnostics::under(&diagnostics::NEW_WORKSPACE_STATE_UNREADABLE, &problems))?;
    let location = location.in_workspace(name);
    let mut opened = location
        .open("workspace-new", flags, waiting)
        .map_err(|failure| failure.under(&diagnostics::NEW_WORKSPACE_NOT_OPENED))?;
    // A copy is a state of its own.
    state.lineage = Default::default();
    state.serial = 0;
    let saved = opened.save(&mut state);
    let mut problems = std::mem::take(&mut opened.notes);
    problems.extend(opened.close());
    match saved {
        Ok(_) => Ok(problems),
        Err(failed) => {
            problems.extend(failed);
            Err(problems)
        }
    }
}

/// Result of selecting a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceSelection {
    /// It was selected already.
    Same,
    /// It is selected now.
    Changed,
    /// It was made, and is selected now.
    Created,
}

/// Behaviour of [`select`] if the workspace does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingWorkspace {
    /// It fails.
    Fail,
    /// It creates the workspace.
    Create,
}

/// Selects a workspace.
pub fn select(
    location: &StateLocation,
    data_dir: &Path,
    name: &str,
    selected: &Selected,
    missing: MissingWorkspace,
) -> Result<WorkspaceSelection, Diagnostics> {
    if selected.is_overridden {
        return Err(diagnostics::overridden_select().into());
    }
    check_name(name)?;
    let exists = list(location)?.iter().any(|there| there == name);
    if selected.name == name {
        return Ok(WorkspaceSelection::Same);
    }
    if !exists && missing == MissingWorkspace::Fail {
        return Err(diagnostics::no_workspace(name).into());
    }
    if !exists {
        location.backend().open(name)?;
    }
    workspace::select(location.files(), data_dir, name)?;
    Ok(if exists { WorkspaceSelection::Changed } else { WorkspaceSelection::Created })
}

/// Workspaces that [`delete`] deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Workspaces whose state contains no objects.
    OnlyEmpty,
    /// All workspaces.
    Forced,
}

/// Deletes a workspace with its state. Returns whether the state contained objects.
pub fn delete(
    location: &StateLocation,
    name: &str,
    deletion: Deletion,
    flags: &StateFlags,
    waiting: &mut dyn LockWait,
) -> Result<bool, Diagnostics> {
    if !list(location)?.iter().any(|there| there == name) {
        return Err(diagnostics::no_workspace(name).into());
    }
    if name == location.workspace {
        return Err(diagnostics::current_workspace(name).into());
    }
    // A name that could not be created today has no state to check that way.
    let there = location.in_workspace(name);
    let mut opened = match there.open("workspace-delete", flags, waiting) {
        Ok(opened) => opened,
        Err(OpenFailure::Locked(problems)) => return Err(problems),
        Err(failure) => return Err(failure.under(&diagnostics::DELETED_WORKSPACE_UNREADABLE)),
    };
    let state = opened.state.take().unwrap_or_else(State::empty);
    let problems = opened.close();
    if problems.has_errors() {
        return Err(problems);
    }
    let has_objects = state.has_managed_objects();
    if has_objects && deletion == Deletion::OnlyEmpty {
        return Err(diagnostics::workspace_not_empty(name, &state).into());
    }
    let removal = match deletion {
        Deletion::OnlyEmpty => WorkspaceRemoval::OnlyEmpty,
        Deletion::Forced => WorkspaceRemoval::Forced,
    };
    location.backend().delete_workspace(name, removal)?;
    Ok(has_objects)
}
