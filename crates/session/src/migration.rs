//! Copies states from one backend to another.
//!
//! Workspaces are copied one after the other, each with both sides locked. The source never changes here. A write to the
//! destination happens as a whole or not at all, so a failure leaves the workspace that it concerns as it was.

mod cloud;
mod inspection;

use yuba_backend::encryption::Sealing;
use yuba_backend::workspace::DEFAULT_WORKSPACE;
use yuba_backend::{
    Backend, CLOUD, LocalBackend, LockHolder, Naming, StateStore, Storage, SuccessorCheck, WORKSPACES_NOT_SUPPORTED,
    lock_left_behind,
};
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::backend::diagnostics;
use crate::backend::{LockWait, StateLocation, VersionCheck, acquire};
use crate::install::{InitEvent, InitRequest};
use crate::prompt::{Question, Typing, confirmed};
use inspection::{Comparison, Copies, Named};

/// Whether states are copied without a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyApproval {
    /// The user is asked.
    Prompt,
    /// `-force-copy`
    Given,
}

/// A backend that states are copied from or to.
pub(crate) struct Side {
    kind: &'static str,
    pub(crate) backend: Box<dyn Backend>,
    files: Option<LocalBackend>,
}

impl Side {
    /// The backend of a location.
    pub(crate) fn new(kind: &'static str, location: &StateLocation) -> Side {
        let files = match location.storage() {
            Storage::Files(settings) => {
                Some(LocalBackend::new(location.backends().environment.files.clone(), settings.clone()))
            }
            Storage::Store(_) | Storage::Objects(_) => None,
        };
        Side { kind, backend: location.backend(), files }
    }

    /// The files of its states, where it stores them in files of this machine.
    pub(crate) fn files(&self) -> Option<&LocalBackend> {
        self.files.as_ref()
    }

    /// Its workspaces; none where it stores a single state.
    fn workspaces(&self) -> Result<Option<Vec<String>>, Diagnostics> {
        match self.backend.workspaces() {
            Ok(mut names) => {
                names.sort();
                Ok(Some(names))
            }
            Err(problems) if problems.iter().any(|problem| problem.is(&WORKSPACES_NOT_SUPPORTED)) => Ok(None),
            Err(problems) => Err(diagnostics::states_not_inspected(self.kind, &problems).into()),
        }
    }

    /// Opens a state.
    fn open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        self.backend.open(workspace).map_err(|problems| self.not_loaded(&problems))
    }

    /// Reads a state. Returns none where it is empty.
    fn read(&self, store: &mut dyn StateStore) -> Result<Option<State>, Diagnostics> {
        let reading = store.read().map_err(|problems| self.not_loaded(&problems))?;
        Ok(reading.state.filter(|state| !state.is_empty()))
    }

    fn not_loaded(&self, problems: &Diagnostics) -> Diagnostics {
        diagnostics::migrated_state_not_loaded(self.kind, problems).into()
    }
}

/// Result of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// The destination has the state of the source.
    Yes,
    /// The user refused, or the source has no state.
    No,
}

/// States that are copied from one backend to another.
pub(crate) struct Migration<'m> {
    source: &'m Side,
    destination: &'m Side,
    request: &'m InitRequest<'m>,
    encryption: Option<&'m Sealing>,
    emit: &'m mut dyn FnMut(InitEvent),
    /// The workspace to select afterwards.
    pub(crate) selected: Option<String>,
}

impl<'m> Migration<'m> {
    /// From the old backend to the new one. `encryption` is the one of states.
    pub(crate) fn new(
        (source, destination): (&'m Side, &'m Side),
        request: &'m InitRequest<'m>,
        encryption: Option<&'m Sealing>,
        emit: &'m mut dyn FnMut(InitEvent),
    ) -> Migration<'m> {
        Migration { source, destination, request, encryption, emit, selected: None }
    }

    /// Copies what the user wants to be copied. The result are the workspaces of the source that were copied.
    pub(crate) fn run(&mut self) -> Result<Vec<String>, Diagnostics> {
        let (from, to) = (self.source.workspaces()?, self.destination.workspaces()?);
        self.check_versions(to.as_deref())?;
        if self.destination.kind == CLOUD {
            return self.move_to_cloud(from);
        }
        if let Naming::Only(name) = self.source.backend.naming() {
            let copied = self.copy(&name, DEFAULT_WORKSPACE, self.request.copying)?;
            self.selected.get_or_insert_with(|| DEFAULT_WORKSPACE.to_owned());
            return Ok(if copied == Copied::Yes { vec![name] } else { Vec::new() });
        }
        let copied = match (from, to) {
            (Some(names), _) if names.is_empty() => return Ok(Vec::new()),
            (Some(names), to) if names != [DEFAULT_WORKSPACE] => match to {
                Some(_) => return self.all(&names),
                None => return self.current(),
            },
            _ => self.copy(DEFAULT_WORKSPACE, DEFAULT_WORKSPACE, self.request.copying)?,
        };
        Ok(if copied == Copied::Yes { vec![DEFAULT_WORKSPACE.to_owned()] } else { Vec::new() })
    }

    /// Fails if a workspace of the destination is set to a version that does not suit this version.
    fn check_versions(&self, workspaces: Option<&[String]>) -> Result<(), Diagnostics> {
        if self.request.flags.version != VersionCheck::Required {
            return Ok(());
        }
        let default = [DEFAULT_WORKSPACE.to_owned()];
        for workspace in workspaces.unwrap_or(&default) {
            if let Some(mismatch) = self.destination.backend.version_mismatch(workspace)? {
                return Err(diagnostics::remote_version_mismatch(&mismatch).into());
            }
        }
        Ok(())
    }

    /// The workspace of the destination that a workspace of the source is copied to. A destination without default workspace
    /// needs a name for it.
    fn named(&mut self, to: &str) -> Result<String, Diagnostics> {
        let naming = self.destination.backend.naming();
        if to != DEFAULT_WORKSPACE || naming.has_default() {
            return Ok(to.to_owned());
        }
        if let Naming::Only(name) = naming {
            return Ok(name);
        }
        let name = self.new_name()?;
        if self.request.project.workspace() == DEFAULT_WORKSPACE {
            self.selected = Some(name.clone());
        }
        Ok(name)
    }

    /// Asks for the name of the workspace that the default workspace is copied to.
    fn new_name(&self) -> Result<String, Diagnostics> {
        let Some(prompt) = self.request.prompt.as_deref() else {
            return Err(diagnostics::migration_not_confirmed().into());
        };
        let query = match self.destination.kind {
            CLOUD => "Cloud backend requires all workspaces to be given an explicit name.".to_owned(),
            kind => format!("The {kind:?} backend configuration only allows named workspaces!"),
        };
        let description = "Enter a name for the workspace that gets the state of the current default workspace.";
        let question = Question { query: &query, description, typing: Typing::Shown };
        let line = prompt(&question).map_err(|reason| diagnostics::new_workspace_not_named(&reason))?;
        let name = line.trim();
        crate::workspaces::check_name(name)?;
        Ok(name.to_owned())
    }

    /// Asks before anything of several workspaces is copied.
    fn approved(&self, query: &str, description: &str) -> Result<(), Diagnostics> {
        if self.request.copying == CopyApproval::Given {
            return Ok(());
        }
        match confirmed(self.request.prompt.as_deref(), query, description) {
            Ok(true) => Ok(()),
            Ok(false) => Err(diagnostics::migration_aborted().into()),
            Err(reason) => Err(diagnostics::migration_not_asked(&reason.reason()).into()),
        }
    }

    /// All workspaces, to workspaces of the same names.
    fn all(&mut self, names: &[String]) -> Result<Vec<String>, Diagnostics> {
        let (old, new) = (self.source.kind, self.destination.kind);
        let query = format!("Do you want to migrate all workspaces to {new:?}?");
        let description = format!(
            "The {old:?} backend has several workspaces:\n{}.\n\nYuba copies all of them to workspaces of the same names in the \
             {new:?} backend.\nSTATES OF WORKSPACES WITH THESE NAMES IN THE {new:?} BACKEND ARE OVERWRITTEN.\n\nTo copy only \
             some of the workspaces, use \"yuba state pull\" and \"yuba state push\".\n\nEnter \"yes\" to copy all \
             workspaces, \"no\" to cancel.",
            names.join(", ")
        );
        self.approved(&query, &description)?;
        let mut copied = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match self.copy(name, name, CopyApproval::Given) {
                Ok(Copied::Yes) => copied.push(name.clone()),
                Ok(Copied::No) => {}
                Err(problems) => {
                    let progress =
                        diagnostics::MigrationProgress { failed: name, copied: &copied, rest: &names[at + 1..] };
                    return Err(diagnostics::workspace_not_migrated(&progress, (old, new), &problems).into());
                }
            }
        }
        Ok(copied)
    }

    /// The selected workspace, to a backend with a single state.
    fn current(&mut self) -> Result<Vec<String>, Diagnostics> {
        let (old, new, current) = (self.source.kind, self.destination.kind, self.request.project.workspace());
        let query = format!(
            "Destination state {new:?} doesn't support workspaces.\nDo you want to copy only your current workspace?"
        );
        let description = format!(
            "The {old:?} backend has several workspaces, and the {new:?} backend stores a single state.\nYuba copies the \
             selected workspace {current:?} to it. The workspaces of the {old:?} backend do not change.\n\nEnter \"yes\" to \
             copy this workspace, \"no\" to cancel, for example to select another workspace first."
        );
        self.approved(&query, &description)?;
        self.selected = Some(DEFAULT_WORKSPACE.to_owned());
        let copied = self.copy(current, DEFAULT_WORKSPACE, self.request.copying)?;
        Ok(if copied == Copied::Yes { vec![current.to_owned()] } else { Vec::new() })
    }

    /// Copies one state where that changes something.
    fn copy(&mut self, from: &str, to: &str, approval: CopyApproval) -> Result<Copied, Diagnostics> {
        let mut source = self.source.open(from)?;
        // A state without content needs no locks.
        let Some(state) = self.source.read(source.as_mut())? else { return Ok(Copied::No) };
        let to = self.named(to)?;
        let mut destination = self.destination.open(&to)?;
        let present = self.destination.read(destination.as_mut())?;
        if present.is_some_and(|present| is_same(&present, &state)) {
            return Ok(Copied::Yes);
        }
        // From here on an interrupt ends the copy between two steps, so that no lock stays.
        (self.emit)(InitEvent::Migrating);
        self.lock(source.as_mut(), "migration source state")?;
        // Dropping a store that is locked releases its lock.
        self.lock(destination.as_mut(), "migration destination state")?;
        let done = self.copy_locked(source.as_mut(), destination.as_mut(), approval);
        let unlocked = [destination.unlock(), source.unlock()];
        let done = done?;
        unlocked.into_iter().collect::<Result<(), Diagnostics>>()?;
        Ok(done)
    }

    fn copy_locked(
        &self,
        source: &mut dyn StateStore,
        destination: &mut dyn StateStore,
        approval: CopyApproval,
    ) -> Result<Copied, Diagnostics> {
        let Some(state) = self.source.read(source)? else { return Ok(Copied::No) };
        let present = self.destination.read(destination)?;
        if approval == CopyApproval::Prompt && !self.wanted(&state, present.as_ref(), (source, destination))? {
            return Ok(Copied::No);
        }
        self.check_goes_on()?;
        // The copy has the lineage and the serial of the source, so plans and backups of it stay valid. OpenTofu counts the write,
        // and makes up another lineage in stores that were empty.
        let kinds = (self.source.kind, self.destination.kind);
        destination
            .push(&state, SuccessorCheck::Skipped)
            .map_err(|problems| diagnostics::state_not_copied(kinds, &problems))?;
        Ok(Copied::Yes)
    }

    /// Asks whether a state is copied.
    fn wanted(
        &self,
        state: &State,
        present: Option<&State>,
        (source, destination): (&dyn StateStore, &dyn StateStore),
    ) -> Result<bool, Diagnostics> {
        let prompt = self.request.prompt.as_deref();
        let (old, new) = (self.source.kind, self.destination.kind);
        let (here, there) = (source.whereabouts(), destination.whereabouts());
        let query = match new {
            CLOUD => "Do you want to copy existing state to cloud backend?",
            _ => "Do you want to copy existing state to the new backend?",
        };
        let asked = match present {
            // The user has been asked before.
            None if new == CLOUD => Ok(true),
            None => {
                let description = format!(
                    "The previous {old:?} backend has a state ({here}).\nThe newly configured {new:?} backend has no state \
                     ({there}).\n\nEnter \"yes\" to copy the state to the new backend, \"no\" to start with an empty state."
                );
                confirmed(prompt, query, &description)
            }
            Some(present) if prompt.is_some() => {
                let comparison = self.comparison((old, state), (new, present))?;
                let description = format!(
                    "The previous {old:?} backend has a state ({here}).\nThe newly configured {new:?} backend has another state \
                     ({there}).\n{}\n\nEnter \"yes\" to overwrite the state in the new backend with the previous one, \"no\" to keep the state in \
                     the new backend.",
                    comparison.described(old, new)
                );
                confirmed(prompt, query, &description)
            }
            Some(_) => confirmed(None, query, ""),
        };
        asked.map_err(|reason| reason.about_copying().into())
    }

    /// The files or the lists by which the user compares two states.
    fn comparison(&self, old: Named<'_>, new: Named<'_>) -> Result<Comparison, Diagnostics> {
        if self.encryption.is_some_and(Sealing::has_encryption) {
            return Ok(Comparison::Listed(inspection::listed(old, new)));
        }
        let directory = self.request.project.environment().temporary();
        let copies = Copies::write(&directory, old, new);
        let copies = copies.map_err(|error| diagnostics::inspection_not_written(&directory, &error))?;
        Ok(Comparison::Files(copies))
    }

    fn lock(&mut self, store: &mut dyn StateStore, operation: &str) -> Result<(), Diagnostics> {
        let flags = &self.request.flags;
        if !flags.lock {
            return Ok(());
        }
        let holder = LockHolder::ourselves(operation, &self.request.project.backends().environment.variables);
        self.check_goes_on()?;
        let mut waiting = Waiting { emit: &mut *self.emit, is_interrupted: self.request.is_interrupted };
        let locked = acquire(store, &holder, flags.lock_timeout, &mut waiting)?;
        if let Some(warning) = locked.left_behind.as_ref().map(lock_left_behind) {
            tracing::warn!(title = %warning.summary, "a process has left a lock");
        }
        Ok(())
    }

    /// Fails after an interrupt.
    fn check_goes_on(&self) -> Result<(), Diagnostics> {
        match (self.request.is_interrupted)() {
            true => Err(diagnostics::migration_interrupted().into()),
            false => Ok(()),
        }
    }
}

/// Waits for a lock until the user asks to stop.
struct Waiting<'w> {
    emit: &'w mut dyn FnMut(InitEvent),
    is_interrupted: &'w dyn Fn() -> bool,
}

impl LockWait for Waiting<'_> {
    fn slow(&mut self) {
        (self.emit)(InitEvent::Locking);
    }

    fn is_interrupted(&mut self) -> bool {
        (self.is_interrupted)()
    }
}

fn is_same(one: &State, other: &State) -> bool {
    one.lineage == other.lineage && one.same_content(other)
}
