//! Copies states to the server of a `cloud` block, whose workspaces all have names of their own.

use yuba_backend::Naming;
use yuba_backend::workspace::DEFAULT_WORKSPACE;
use yuba_syntax::Diagnostics;

use super::{Copied, CopyApproval, Migration};
use crate::backend::diagnostics;
use crate::install::InitEvent;
use crate::prompt::{Question, Typing, confirmed};

impl Migration<'_> {
    /// Copies what the user wants to be copied. `names` are the workspaces of the source, if it has more than a single state.
    pub(super) fn move_to_cloud(&mut self, names: Option<Vec<String>>) -> Result<Vec<String>, Diagnostics> {
        let naming = self.destination.backend.naming();
        match (names.unwrap_or_else(|| vec![DEFAULT_WORKSPACE.to_owned()]), naming) {
            (names, _) if names.is_empty() => Ok(Vec::new()),
            (names, _) if names.len() == 1 => self.single_to_cloud(&names[0]),
            (_, Naming::Only(name)) => self.current_to_cloud(&name),
            (names, _) => self.all_to_cloud(&names),
        }
    }

    /// The only state of the source.
    fn single_to_cloud(&mut self, from: &str) -> Result<Vec<String>, Diagnostics> {
        let mut source = self.source.open(from)?;
        if self.source.read(source.as_mut())?.is_none() {
            return Ok(Vec::new());
        }
        drop(source);
        let description = "Yuba can copy the state of the current workspace to the workspace of the cloud block.\n\nEnter \"yes\" to \
                           copy the state, \"no\" to use the workspace with the state that it has, if any.";
        if !self.proceeds("Do you wish to proceed?", description)? {
            return Ok(Vec::new());
        }
        let copied = self.copy(from, DEFAULT_WORKSPACE, CopyApproval::Prompt)?;
        Ok(if copied == Copied::Yes { vec![from.to_owned()] } else { Vec::new() })
    }

    /// The selected workspace, to the only workspace of the cloud block.
    fn current_to_cloud(&mut self, to: &str) -> Result<Vec<String>, Diagnostics> {
        let current = self.request.project.workspace();
        let description = format!(
            "The {:?} backend has several workspaces, and the cloud block has a single one ({to:?}).\nYuba copies the selected \
             workspace {current:?} only. To copy all of them, cancel and use \"tags\" in the cloud block.\n\nEnter \"yes\" to \
             proceed, \"no\" to cancel.",
            self.source.kind
        );
        if !self.proceeds("Do you want to copy only your current workspace?", &description)? {
            return Err(diagnostics::migration_aborted().into());
        }
        let copied = self.copy(current, to, CopyApproval::Prompt)?;
        Ok(if copied == Copied::Yes { vec![current.to_owned()] } else { Vec::new() })
    }

    /// All workspaces, with names that the user gives.
    fn all_to_cloud(&mut self, names: &[String]) -> Result<Vec<String>, Diagnostics> {
        let current = self.request.project.workspace().to_owned();
        let default = match names.iter().any(|name| name == DEFAULT_WORKSPACE) && self.has_content(DEFAULT_WORKSPACE)? {
            true => Some(self.new_name()?),
            false => None,
        };
        let pattern = self.pattern()?;
        let renamed = |name: &str| match &default {
            Some(new) if name == DEFAULT_WORKSPACE => pattern.replace('*', new),
            _ => pattern.replace('*', name),
        };
        let mut copied = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match self.copy(name, &renamed(name), CopyApproval::Given) {
                Ok(Copied::Yes) => copied.push(name.clone()),
                Ok(Copied::No) => {}
                Err(problems) => {
                    let kinds = (self.source.kind, self.destination.kind);
                    let progress =
                        diagnostics::MigrationProgress { failed: name, copied: &copied, rest: &names[at + 1..] };
                    return Err(diagnostics::workspace_not_migrated(&progress, kinds, &problems).into());
                }
            }
        }
        let present = self.destination.workspaces()?.unwrap_or_default();
        let selected = renamed(&current);
        // A workspace that was not copied does not exist. The user selects another one afterwards.
        if present.contains(&selected) {
            (self.emit)(InitEvent::WorkspacesMigrated(present, selected.clone()));
            self.selected = Some(selected);
        }
        Ok(copied)
    }

    fn has_content(&self, workspace: &str) -> Result<bool, Diagnostics> {
        let mut source = self.source.open(workspace)?;
        Ok(self.source.read(source.as_mut())?.is_some())
    }

    /// How workspaces are called in the destination: an asterisk stands for their names in the source.
    fn pattern(&self) -> Result<String, Diagnostics> {
        if let Naming::Prefix(prefix) = self.source.backend.naming() {
            let description = "The workspaces of the \"remote\" backend keep the names that they have on the server, and get the tags \
                               of the cloud block.\n\nEnter \"yes\" to proceed, \"no\" to cancel.";
            return match self.proceeds("Do you wish to proceed?", description)? {
                true => Ok(format!("{prefix}*")),
                false => Err(diagnostics::migration_aborted().into()),
            };
        }
        let description = format!(
            "Names of workspaces are unique in an organization, so they often contain the component, the environment and the region: \
             \"network-prod-eu\".\nThe {:?} backend has names for one configuration only. Enter 1 or 2:\n\n1. Rename all workspaces by \
             a pattern.\n2. Keep the names.",
            self.source.kind
        );
        match self.line("Would you like to rename your workspaces?", &description)?.as_str() {
            "1" => {}
            "2" => return Ok("*".to_owned()),
            _ => return Err(diagnostics::renaming_invalid("Please select 1 or 2 as part of this option.").into()),
        }
        let description = "Enter a pattern with an asterisk (*), which stands for the current name of a workspace: \"app-*\" renames \
                           \"prod\" to \"app-prod\".";
        let pattern = self.line("How would you like to rename your workspaces?", description)?;
        match pattern.matches('*').count() {
            0 => Err(diagnostics::renaming_invalid("The pattern must have an '*'").into()),
            1 => Ok(pattern),
            _ => Err(diagnostics::renaming_invalid("The pattern '*' cannot be used more than once.").into()),
        }
    }

    fn line(&self, query: &str, description: &str) -> Result<String, Diagnostics> {
        let Some(prompt) = self.request.prompt.as_deref() else {
            return Err(diagnostics::migration_not_confirmed().into());
        };
        let line = prompt(&Question { query, description, typing: Typing::Shown });
        let line = line.map_err(|reason| diagnostics::migration_not_asked(&reason))?;
        Ok(line.trim().to_owned())
    }

    fn proceeds(&self, query: &str, description: &str) -> Result<bool, Diagnostics> {
        confirmed(self.request.prompt.as_deref(), query, description).map_err(|reason| reason.about_copying().into())
    }
}
