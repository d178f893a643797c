//! Workspaces of the server: found, created with tags and a project, listed and deleted.

use serde_json::{Value as Json, json};
use yuba_net::http::Method;

use super::mapping::Mapping;
use super::{Form, TfeStore, versions};
use crate::kit::store::{StoreError, StoreErrorKind};
use crate::kit::workspaces::{Execution, Naming, StoredVariable, ValueSyntax, VersionMismatch, WorkspaceService};

/// A workspace, as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    pub(super) id: String,
    pub(super) name: String,
    /// `local`, `remote` or `agent`.
    execution: String,
    /// The version or constraint that operations on the server use.
    pub(super) version: String,
    tags: Vec<String>,
    /// Whether the server supports safe deletion.
    is_safely_deletable: bool,
    pub(super) is_locked: bool,
    /// The reason that was given with the lock, if the server returns it.
    pub(super) lock_reason: Option<String>,
    /// Type and ID of the object that holds the lock: a user, a team or a run.
    pub(super) locked_by: Option<(String, String)>,
}

impl Remote {
    /// None if the document does not describe a workspace.
    fn of_json(data: &Json) -> Option<Remote> {
        let attributes = &data["attributes"];
        let text = |name: &str| attributes[name].as_str().unwrap_or_default().to_owned();
        let by = &data["relationships"]["locked-by"]["data"];
        let reason = attributes["locked-reason"].as_str().filter(|reason| !reason.is_empty());
        // Servers older than execution modes have a switch.
        let execution = match (attributes["execution-mode"].as_str(), attributes["operations"].as_bool()) {
            (Some(mode), _) => mode.to_owned(),
            (None, Some(false)) => "local".to_owned(),
            (None, _) => "remote".to_owned(),
        };
        Some(Remote {
            id: data["id"].as_str().filter(|id| !id.is_empty())?.to_owned(),
            name: attributes["name"].as_str()?.to_owned(),
            execution,
            version: text("terraform-version"),
            tags: attributes["tag-names"].as_array().map(|tags| strings(tags)).unwrap_or_default(),
            is_safely_deletable: attributes["permissions"]["can-force-delete"].is_boolean(),
            is_locked: attributes["locked"] == true,
            lock_reason: reason.map(str::to_owned),
            locked_by: by["type"].as_str().zip(by["id"].as_str()).map(|(kind, id)| (kind.to_owned(), id.to_owned())),
        })
    }
}

fn strings(items: &[Json]) -> Vec<String> {
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn named(kind: &str, id: &str) -> Json {
    json!({ "data": { "type": kind, "id": id } })
}

impl TfeStore {
    /// A workspace as it is now; none if it does not exist.
    pub(super) fn look_up(&self, name: &str) -> Result<Option<Remote>, StoreError> {
        let path = ["organizations", &self.organization, "workspaces", name];
        let Some(data) = self.api.get(&path, &[])?.found()? else {
            self.memory().workspaces.remove(name);
            return Ok(None);
        };
        self.remember(&data).map(Some)
    }

    /// A workspace, as it was when this process saw it first; none if it does not exist.
    pub(super) fn known(&self, name: &str) -> Result<Option<Remote>, StoreError> {
        let known = self.memory().workspaces.get(name).cloned();
        match known {
            Some(known) => Ok(Some(known)),
            None => self.look_up(name),
        }
    }

    /// The ID of a workspace. Fails if the workspace does not exist.
    pub(super) fn id_of(&self, name: &str) -> Result<String, StoreError> {
        match self.known(name)? {
            Some(known) => Ok(known.id),
            None => Err(StoreError::lasting(format!(
                "the workspace {} does not exist, or the token lacks permissions for it",
                self.qualified(name)
            ))),
        }
    }

    fn remember(&self, data: &Json) -> Result<Remote, StoreError> {
        let remote = Remote::of_json(data)
            .ok_or_else(|| StoreError::lasting("the server responded with an incomplete workspace"))?;
        self.memory().workspaces.insert(remote.name.clone(), remote.clone());
        Ok(remote)
    }

    /// Names of the workspaces of the configuration, as they are called here.
    pub(super) fn listed(&self) -> Result<Vec<String>, StoreError> {
        let project = self.project()?;
        let tags = self.mapping.tags().join(",");
        let mut query: Vec<(&str, &str)> = match &self.mapping {
            Mapping::Default(_) => {
                let reason = "the backend has the argument \"name\"";
                return Err(StoreError::new(StoreErrorKind::NoWorkspaces, reason));
            }
            // The server creates it when it is used.
            Mapping::Name { name, .. } => return Ok(vec![name.clone()]),
            Mapping::Prefix(prefix) => vec![("search[name]", prefix)],
            Mapping::Tags { .. } => vec![("search[tags]", &tags)],
        };
        query.extend(project.as_deref().map(|id| ("filter[project][id]", id)));
        let path = ["organizations", self.organization.as_str(), "workspaces"];
        let found = self.api.list(&path, &query)?.unwrap_or_default();
        let names = found.iter().filter_map(|item| self.mapping.local(item["attributes"]["name"].as_str()?));
        Ok(names.filter(|name| !name.is_empty()).collect())
    }

    /// The ID of the project of the arguments; none if there is no such project.
    fn project(&self) -> Result<Option<String>, StoreError> {
        let Some(project) = self.mapping.project().filter(|_| !matches!(self.mapping, Mapping::Name { .. })) else {
            return Ok(None);
        };
        self.find_project(project)
    }

    fn find_project(&self, project: &str) -> Result<Option<String>, StoreError> {
        let path = ["organizations", self.organization.as_str(), "projects"];
        let found = self.api.list(&path, &[("filter[names]", project)])?.unwrap_or_default();
        let found = found.iter().find(|item| item["attributes"]["name"] == project);
        Ok(found.and_then(|item| item["id"].as_str()).map(str::to_owned))
    }

    /// Creates a workspace. The project of the arguments is created with it.
    fn create(&self, name: &str) -> Result<Remote, StoreError> {
        let organization = self.organization.as_str();
        let mut data = json!({ "type": "workspaces", "attributes": { "name": name } });
        if self.form == Form::Remote {
            data["attributes"]["terraform-version"] = yuba_state::WRITER_VERSION.into();
        }
        let tags: Vec<Json> = self.mapping.tags().iter().map(|tag| tag_of(tag)).collect();
        if !tags.is_empty() {
            data["relationships"]["tags"] = json!({ "data": tags });
        }
        if let Some(project) = self.mapping.project() {
            let id = match self.find_project(project)? {
                Some(id) => id,
                None => {
                    let document = json!({ "data": { "type": "projects", "attributes": { "name": project } } });
                    let path = ["organizations", organization, "projects"];
                    let created = self.api.send(Method::POST, &path, Some(&document))?.data()?;
                    created["id"].as_str().unwrap_or_default().to_owned()
                }
            };
            data["relationships"]["project"] = named("projects", &id);
        }
        let path = ["organizations", organization, "workspaces"];
        let reply = self.api.send(Method::POST, &path, Some(&json!({ "data": data })))?;
        if reply.status == 422 {
            // Another process has created it meanwhile.
            if let Some(present) = self.look_up(name)? {
                return Ok(present);
            }
        }
        let created = self.remember(&reply.data()?)?;
        if self.form == Form::Cloud {
            self.set_version(&created);
        }
        Ok(created)
    }

    /// Asks the server to use Yuba's language level as the version of a new workspace. A server without this version keeps its own.
    fn set_version(&self, created: &Remote) {
        let version = yuba_state::WRITER_VERSION;
        let data = json!({ "type": "workspaces", "id": created.id, "attributes": { "terraform-version": version } });
        let sent = self.api.send(Method::PATCH, &["workspaces", &created.id], Some(&json!({ "data": data })));
        match sent.and_then(super::api::Reply::data) {
            Ok(data) => drop(self.remember(&data)),
            Err(error) => tracing::debug!(reason = %error, "the server keeps the version of the new workspace"),
        }
    }

    /// Adds the tags of the arguments that a workspace lacks.
    fn add_tags(&self, workspace: &Remote) -> Result<(), StoreError> {
        let tags = self.mapping.tags();
        if tags.iter().all(|tag| workspace.tags.contains(tag)) {
            return Ok(());
        }
        let all: Vec<Json> = tags.iter().map(|tag| tag_of(tag)).collect();
        let path = ["workspaces", &workspace.id, "relationships", "tags"];
        self.api.send(Method::POST, &path, Some(&json!({ "data": all })))?.done()?;
        if let Some(known) = self.memory().workspaces.get_mut(&workspace.name) {
            known.tags.extend(tags.iter().cloned());
        }
        Ok(())
    }

    /// Deletes a workspace with its states, whatever they contain. A workspace that does not exist is deleted.
    pub(super) fn delete_workspace(&self, name: &str) -> Result<(), StoreError> {
        let path = ["organizations", &self.organization, "workspaces", name];
        let reply = self.api.send(Method::DELETE, &path, None)?;
        self.forget(name);
        if reply.status == 404 { Ok(()) } else { reply.done() }
    }

    fn forget(&self, name: &str) {
        let mut memory = self.memory();
        memory.workspaces.remove(name);
        memory.heads.remove(name);
    }
}

fn tag_of(name: &str) -> Json {
    json!({ "type": "tags", "attributes": { "name": name } })
}

impl WorkspaceService for TfeStore {
    fn prepare(&self, workspace: &str) -> Result<(), StoreError> {
        let name = self.mapping.remote(workspace)?;
        let present = match self.known(&name)? {
            Some(present) => present,
            None => self.create(&name)?,
        };
        self.add_tags(&present)
    }

    fn naming(&self) -> Naming {
        self.mapping.naming()
    }

    fn execution(&self, workspace: &str) -> Result<Execution, StoreError> {
        if self.forces_local {
            return Ok(Execution::Local);
        }
        let found = self.known(&self.mapping.remote(workspace)?)?;
        Ok(match found.map(|found| found.execution) {
            Some(mode) if mode != "local" => Execution::Remote { mode },
            _ => Execution::Local,
        })
    }

    fn version_mismatch(&self, workspace: &str) -> Result<Option<VersionMismatch>, StoreError> {
        let name = self.mapping.remote(workspace)?;
        let Some(found) = self.known(&name)? else { return Ok(None) };
        // The version of a workspace means nothing where operations run here.
        if found.execution == "local" || found.version == "latest" {
            return Ok(None);
        }
        let local = yuba_state::WRITER_VERSION;
        let (title, required) = match self.form {
            Form::Remote => ("OpenTofu version mismatch", versions::remote_mismatch(local, &found.version)),
            Form::Cloud => ("Incompatible TF version", versions::cloud_mismatch(local, &found.version)),
        };
        Ok(required.map(|remote| VersionMismatch {
            title,
            local: local.to_owned(),
            remote,
            workspace: self.qualified(&name),
        }))
    }

    fn variables(&self, workspace: &str) -> Result<Vec<StoredVariable>, StoreError> {
        let name = self.mapping.remote(workspace)?;
        let Some(found) = self.known(&name)? else { return Ok(Vec::new()) };
        // Quirk: OpenTofu reads them only if operations would run on the server.
        if found.execution == "local" {
            return Ok(Vec::new());
        }
        let listed = self.api.list(&["workspaces", &found.id, "vars"], &[])?.unwrap_or_default();
        let of_root = listed.iter().map(|item| &item["attributes"]).filter(|item| item["category"] == "terraform");
        let stored = of_root.filter_map(|item| {
            let is_sensitive = item["sensitive"] == true;
            Some(StoredVariable {
                name: item["key"].as_str()?.to_owned(),
                value: (!is_sensitive).then(|| item["value"].as_str().unwrap_or_default().to_owned()),
                syntax: if item["hcl"] == true { ValueSyntax::Hcl } else { ValueSyntax::Literal },
            })
        });
        Ok(stored.collect())
    }

    fn delete_if_safe(&self, workspace: &str) -> Result<(), StoreError> {
        let name = self.mapping.deletable(workspace)?;
        let Some(found) = self.look_up(&name)? else { return Ok(()) };
        if self.form == Form::Remote || !found.is_safely_deletable {
            return self.delete_workspace(&name);
        }
        let path = ["organizations", &self.organization, "workspaces", &name, "actions", "safe-delete"];
        let reply = self.api.send(Method::POST, &path, None)?;
        self.forget(&name);
        match reply.status {
            404 => Ok(()),
            409 => Err(StoreError::lasting(format!(
                "the server does not delete a workspace that is locked, being processed, or manages resources: {}. \
                 \"-force\" deletes it anyway",
                reply.said()
            ))),
            _ => reply.done(),
        }
    }
}
