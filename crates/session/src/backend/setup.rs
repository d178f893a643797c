//! `init` and the backend: compares the `backend` block with the record of the last `init`, migrates states where the
//! location changes, and writes the new record.

use std::path::Path;

use yuba_backend::{Backend, BackendConfiguration, CLOUD, Naming, WORKSPACES_NOT_SUPPORTED, workspace};
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::Value;
use yuba_value::convert::convert;

use super::{StateLocation, diagnostics, overridden};
use crate::encryption::Encryption;
use crate::initialized::{self, Initialized};
use crate::install::{InitEvent, InitRequest};
use crate::migration::{CopyApproval, Migration, Side};
use crate::prompt::{Question, Typing};

/// A backend that is set up.
pub(crate) struct SetUp {
    /// Warnings.
    pub(crate) notes: Diagnostics,
    /// The workspace that was selected because the backend does not have the one before.
    pub(crate) selected: Option<String>,
}

/// Sets up the backend of a configuration.
pub(crate) struct Setup<'s> {
    pub(crate) request: &'s InitRequest<'s>,
    pub(crate) encryption: &'s Encryption,
    pub(crate) sources: &'s mut Sources,
    pub(crate) emit: &'s mut dyn FnMut(InitEvent),
    selected: Option<String>,
}

impl<'s> Setup<'s> {
    /// For a request.
    pub(crate) fn new(
        request: &'s InitRequest<'s>,
        encryption: &'s Encryption,
        sources: &'s mut Sources,
        emit: &'s mut dyn FnMut(InitEvent),
    ) -> Setup<'s> {
        Setup { request, encryption, sources, emit, selected: None }
    }

    /// Sets up the backend that a block configures, or none where the configuration has no block.
    pub(crate) fn run(mut self, block: Option<&BackendConfiguration>) -> Result<SetUp, Diagnostics> {
        let (project, mut notes) = (self.request.project, Diagnostics::new());
        let flags = self.request.backend_config;
        let before = match self.request.reconfigure {
            true => None,
            false => initialized::read(project)?,
        };
        match (block, before) {
            (None, before) => {
                if flags.iter().any(|flag| !flag.is_empty()) {
                    notes.push(crate::diagnostics::missing_backend());
                }
                self.without_block(before)?;
            }
            (Some(block), before) => {
                if block.kind() == CLOUD {
                    self.check_cloud_flags()?;
                }
                let given = overridden(block, flags, project.files(), self.sources)?;
                match before {
                    None => self.first(block, given)?,
                    Some(before) => self.again(block, given, &before)?,
                }
            }
        }
        Ok(SetUp { notes, selected: self.selected })
    }

    /// The configuration has no backend: a state in another backend comes back to files of the working directory.
    fn without_block(&mut self, before: Option<Initialized>) -> Result<(), Diagnostics> {
        let project = self.request.project;
        let Some(before) = before else {
            // OpenTofu leaves the record there with -reconfigure, and refuses the next command because of it.
            if self.request.reconfigure && initialized::read(project).ok().flatten().is_some() {
                initialized::write(project, None)?;
            }
            return Ok(());
        };
        self.check_migrates(&before)?;
        (self.emit)(match before.kind.as_str() {
            CLOUD => InitEvent::CloudLeft(None),
            kind => InitEvent::Unconfiguring(kind.into()),
        });
        let source = self.saved(&before)?;
        let destination = self.side(&BackendConfiguration::default())?;
        self.migrate(&source, &destination)?;
        initialized::write(project, None)?;
        (self.emit)(InitEvent::BackendUnset(before.kind.as_str().into()));
        Ok(())
    }

    /// No backend was used before: states in files of the working directory come along.
    fn first(&mut self, block: &BackendConfiguration, given: BackendConfiguration) -> Result<(), Diagnostics> {
        let source = self.side(&BackendConfiguration::default())?;
        let with_states = non_empty(source.backend.as_ref()).map_err(|problems| {
            Diagnostics::from(crate::diagnostics::under(&diagnostics::LOCAL_STATE_NOT_READ, &problems))
        })?;
        if given.kind() == CLOUD {
            self.check_enters_cloud()?;
        }
        let given = self.completed(given)?;
        let destination = self.side(&given)?;
        if !with_states.is_empty() {
            let copied = self.migrate(&source, &destination)?;
            // A state that the user did not copy stays where it is. OpenTofu removes it.
            if let Some(files) = source.files() {
                for workspace in copied.iter().filter(|workspace| with_states.contains(workspace)) {
                    if !destination.files().is_some_and(|to| files.shares_file_with(to, workspace)) {
                        files.erase(workspace)?;
                    }
                }
            }
        }
        self.record(block, &given, destination.backend.as_ref())
    }

    /// Another backend, or the same, was used before.
    fn again(
        &mut self,
        block: &BackendConfiguration,
        given: BackendConfiguration,
        before: &Initialized,
    ) -> Result<(), Diagnostics> {
        let project = self.request.project;
        let is_as_before = self.request.backend_config.is_empty() && before.has_hash_of(block);
        if is_as_before || before.equals(&given) {
            let saved = self.saved(before)?;
            if let Some(used) = before.configuration.as_ref().filter(|_| !before.has_hash_of(block)) {
                initialized::write(project, Some((used, block)))?;
            }
            return self.select_workspace(saved.backend.as_ref());
        }
        match given.kind() {
            CLOUD => self.check_enters_cloud()?,
            _ => self.check_migrates(before)?,
        }
        (self.emit)(match (before.kind.as_str(), given.kind()) {
            (CLOUD, CLOUD) => InitEvent::CloudChanged,
            (before, CLOUD) => InitEvent::CloudEntered(before.into()),
            (CLOUD, now) => InitEvent::CloudLeft(Some(now.into())),
            (before, now) if before == now => InitEvent::BackendChanged,
            (before, now) => InitEvent::BackendTypeChanged(before.into(), now.into()),
        });
        let given = self.completed(given)?;
        let destination = self.side(&given)?;
        // The states of a server stay where they are: another cloud block selects other workspaces.
        if (before.kind.as_str(), given.kind()) != (CLOUD, CLOUD) {
            let source = self.saved(before)?;
            self.migrate(&source, &destination)?;
        }
        self.record(block, &given, destination.backend.as_ref())
    }

    /// Fails where a flag is set that a `cloud` block does not have.
    fn check_cloud_flags(&self) -> Result<(), Diagnostics> {
        let flags = self.request.backend_config;
        if flags.iter().any(|flag| !flag.is_empty()) {
            return Err(diagnostics::cloud_flag_invalid("-backend-config").into());
        }
        if self.request.reconfigure {
            return Err(diagnostics::cloud_flag_invalid("-reconfigure").into());
        }
        Ok(())
    }

    /// Fails where a flag says how states are migrated: with a new or changed `cloud` block, prompts do.
    fn check_enters_cloud(&self) -> Result<(), Diagnostics> {
        match (self.request.migrate, self.request.copying) {
            (false, _) => Ok(()),
            (true, CopyApproval::Given) => Err(diagnostics::cloud_flag_invalid("-force-copy").into()),
            (true, CopyApproval::Prompt) => Err(diagnostics::cloud_flag_invalid("-migrate-state").into()),
        }
    }

    /// Fails unless a flag asks to migrate states, and where this version cannot read the old ones.
    fn check_migrates(&self, before: &Initialized) -> Result<(), Diagnostics> {
        let Some(known) = &before.configuration else {
            let pointer = initialized::file(self.request.project.data_dir());
            return Err(crate::diagnostics::backend_not_movable(&before.kind, &pointer).into());
        };
        match self.request.migrate {
            true => Ok(()),
            false => Err(crate::diagnostics::backend_configuration_changed(&known.location()).into()),
        }
    }

    /// Asks for required arguments that are missing. Fails where prompts are disabled.
    fn completed(&mut self, given: BackendConfiguration) -> Result<BackendConfiguration, Diagnostics> {
        let project = self.request.project;
        let schema = given.schema();
        let mut given = given;
        for name in given.missing(&project.backends().environment.variables) {
            let ty = schema.type_of(name).filter(|ty| ty.is_primitive());
            let (Some(prompt), Some(ty)) = (self.request.prompt.as_deref(), ty) else { continue };
            let question = Question {
                query: name,
                description: schema.description_of(name),
                typing: if schema.is_secret(name) { Typing::Hidden } else { Typing::Shown },
            };
            loop {
                let line = prompt(&question).map_err(|reason| {
                    let mut problems =
                        Diagnostics::from(diagnostics::argument_not_answered(given.kind(), name, &reason));
                    problems.extend(super::check_required(&given, project.backends()).err().unwrap_or_default());
                    problems
                })?;
                match convert(&Value::string(line.trim_end()), &ty) {
                    Ok(value) => {
                        given = given.with(given.arguments().with(name, &value));
                        break;
                    }
                    Err(error) => (self.emit)(InitEvent::InvalidAnswer(error.message.as_str().into())),
                }
            }
        }
        super::check_required(&given, project.backends())?;
        let problems = given.check();
        if problems.has_errors() { Err(problems) } else { Ok(given) }
    }

    fn side(&self, configuration: &BackendConfiguration) -> Result<Side, Diagnostics> {
        let location = StateLocation::of(self.request.project.backends(), configuration, self.encryption.clone())?;
        Ok(Side::new(configuration.kind(), &location))
    }

    /// The backend of the record.
    fn saved(&self, before: &Initialized) -> Result<Side, Diagnostics> {
        match &before.configuration {
            Some(configuration) => self.side(configuration),
            None => {
                let pointer = initialized::file(self.request.project.data_dir());
                Err(crate::diagnostics::backend_not_movable(&before.kind, &pointer).into())
            }
        }
    }

    /// Copies states. The result are the workspaces that were copied.
    fn migrate(&mut self, source: &Side, destination: &Side) -> Result<Vec<String>, Diagnostics> {
        let mut migration =
            Migration::new((source, destination), self.request, self.encryption.state.as_ref(), &mut *self.emit);
        let copied = migration.run()?;
        if let Some(selected) = migration.selected.take() {
            self.select(&selected)?;
        }
        Ok(copied)
    }

    /// Writes the record of a new backend.
    fn record(
        &mut self,
        block: &BackendConfiguration,
        used: &BackendConfiguration,
        backend: &dyn Backend,
    ) -> Result<(), Diagnostics> {
        let selected = self.select_workspace(backend);
        // Without the record, no command could create the first workspace.
        let lacks_workspaces =
            |problems: &Diagnostics| problems.iter().any(|p| p.is(&diagnostics::NO_EXISTING_WORKSPACES));
        if selected.as_ref().is_err_and(|problems| !lacks_workspaces(problems)) {
            return selected;
        }
        initialized::write(self.request.project, Some((used, block)))?;
        // The last message of the command reports a cloud block.
        if used.kind() != CLOUD {
            (self.emit)(InitEvent::BackendReady(used.kind().into()));
        }
        selected
    }

    fn select(&mut self, name: &str) -> Result<(), Diagnostics> {
        let project = self.request.project;
        let data_dir: &Path = project.data_dir();
        workspace::select(&**project.state_files(), data_dir, name)?;
        if !project.selected().is_overridden {
            self.selected = Some(name.to_owned());
        }
        Ok(())
    }

    /// Selects the workspace that becomes the first one of the backend.
    fn name_workspace(&mut self, naming: &Naming) -> Result<(), Diagnostics> {
        // A migration has selected a workspace that it does not copy: it is created when it is used.
        if self.selected.as_ref().is_some_and(|selected| selected != workspace::DEFAULT_WORKSPACE) {
            return Ok(());
        }
        let (Naming::Tags(tags), Some(prompt)) = (naming, self.request.prompt.as_deref()) else {
            return Err(diagnostics::no_existing_workspaces().into());
        };
        let description = format!(
            "No workspace of the organization has the tags of the cloud block ({}).\nEnter a name to create a workspace with these \
             tags.",
            tags.join(", ")
        );
        let question = Question { query: "\nNo workspaces found.", description: &description, typing: Typing::Shown };
        let line = prompt(&question).map_err(|reason| diagnostics::workspace_not_named(&reason))?;
        match line.trim() {
            "" => Err(diagnostics::workspace_not_named("no name provided").into()),
            name => {
                crate::workspaces::check_name(name)?;
                self.select(name)
            }
        }
    }

    /// Selects a workspace of the backend where it does not have the selected one.
    fn select_workspace(&mut self, backend: &dyn Backend) -> Result<(), Diagnostics> {
        let names = match backend.workspaces() {
            Ok(names) => names,
            Err(problems) if problems.iter().any(|problem| problem.is(&WORKSPACES_NOT_SUPPORTED)) => return Ok(()),
            Err(problems) => return Err(crate::diagnostics::under(&diagnostics::WORKSPACES_NOT_READ, &problems).into()),
        };
        if names.is_empty() {
            return self.name_workspace(&backend.naming());
        }
        let current = self.selected.clone().unwrap_or_else(|| self.request.project.workspace().to_owned());
        if names.contains(&current) {
            return Ok(());
        }
        if let [only] = names.as_slice() {
            return self.select(only);
        }
        let Some(prompt) = self.request.prompt.as_deref() else {
            return Err(diagnostics::selected_workspace_missing(&current).into());
        };
        let list: String = names.iter().enumerate().map(|(at, name)| format!("{}. {name}\n", at + 1)).collect();
        let query = format!("\nThe currently selected workspace ({current}) does not exist.");
        let description = format!(
            "The backend has other workspaces. A workspace without resources and outputs may not be among them.\nEnter the \
             number of a workspace to select it:\n\n{list}"
        );
        let question = Question { query: &query, description: &description, typing: Typing::Shown };
        let line = prompt(&question).map_err(|reason| diagnostics::workspace_not_chosen(&reason))?;
        let chosen = line.trim().parse::<usize>().ok().and_then(|number| names.get(number.checked_sub(1)?));
        match chosen {
            Some(name) => self.select(&name.clone()),
            None => Err(diagnostics::workspace_not_chosen("input not a valid number").into()),
        }
    }
}

/// Workspaces whose state has content.
fn non_empty(backend: &dyn Backend) -> Result<Vec<String>, Diagnostics> {
    let mut found = Vec::new();
    for workspace in backend.workspaces()? {
        let state = backend.existing(&workspace)?.read()?.state;
        if state.is_some_and(|state| !state.is_empty()) {
            found.push(workspace);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
