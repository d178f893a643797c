//! Workspaces and projects of the TFE server: lists, settings, tags, variables, locks, deletion.

use serde_json::{Value as Json, json};

use super::{Call, Shared, TfeWorkspace, document, not_found, refused};
use crate::Reply;

impl TfeWorkspace {
    fn to_json(&self, shared: &Shared) -> Json {
        let mut attributes = json!({
            "name": self.name, "execution-mode": self.mode.name(), "operations": self.mode != super::Mode::Local,
            "terraform-version": self.version, "tag-names": self.tags, "locked": self.lock.is_some(),
            "permissions": { "can-lock": true, "can-unlock": true, "can-force-unlock": true, "can-update": true },
        });
        if shared.safe_deletion {
            attributes["permissions"]["can-force-delete"] = true.into();
        }
        let mut relationships = json!({ "project": { "data": { "type": "projects", "id": self.project } } });
        if let Some((kind, id, reason)) = &self.lock {
            relationships["locked-by"] = json!({ "data": { "type": kind, "id": id } });
            if shared.tells_reasons {
                attributes["locked-reason"] = reason.as_str().into();
            }
        }
        json!({ "id": self.id, "type": "workspaces", "attributes": attributes, "relationships": relationships })
    }
}

/// The names of tags in a list of resource identifiers.
fn tag_names(list: &Json) -> Option<Vec<String>> {
    let tag = |item: &Json| match item["type"] == "tags" {
        true => item["attributes"]["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
        false => None,
    };
    list.as_array()?.iter().map(tag).collect()
}

impl Shared {
    pub(super) fn create(&mut self, name: &str) -> usize {
        let id = self.id("ws");
        self.workspaces.push(TfeWorkspace {
            id,
            name: name.to_owned(),
            mode: self.mode,
            version: "1.10.0".to_owned(),
            tags: Vec::new(),
            project: "prj-default".to_owned(),
            variables: Vec::new(),
            lock: None,
            versions: Vec::new(),
        });
        self.workspaces.len() - 1
    }

    pub(super) fn serve_projects(&mut self, call: &Call<'_>) -> Result<Reply, Reply> {
        let project =
            |(id, name): &(String, String)| json!({ "id": id, "type": "projects", "attributes": { "name": name } });
        match call.method {
            "GET" => {
                let wanted = call.query("filter[names]");
                let found = self.projects.iter().filter(|(_, name)| wanted.is_none_or(|wanted| wanted == name));
                let items: Vec<Json> = found.map(project).collect();
                Ok(self.page(call, &items))
            }
            "POST" => {
                let name = call.attributes("projects")?["name"].as_str().unwrap_or_default().to_owned();
                if name.is_empty() || self.projects.iter().any(|(_, present)| *present == name) {
                    return Err(refused(422, "invalid attribute", "Name has already been taken"));
                }
                let created = (self.id("prj"), name);
                let reply = document(201, &json!({ "data": project(&created) }));
                self.projects.push(created);
                Ok(reply)
            }
            _ => Err(not_found()),
        }
    }

    /// `organizations/ORGANIZATION/workspaces` and what is below.
    pub(super) fn serve_workspaces(&mut self, call: &Call<'_>, rest: &[&str]) -> Result<Reply, Reply> {
        let find =
            |name: &str| self.workspaces.iter().position(|workspace| workspace.name == name).ok_or_else(not_found);
        match (call.method, rest) {
            ("GET", []) => {
                let tags: Vec<&str> = call
                    .query("search[tags]")
                    .into_iter()
                    .flat_map(|tags| tags.split(','))
                    .filter(|tag| !tag.is_empty())
                    .collect();
                let (name, project) =
                    (call.query("search[name]").unwrap_or_default(), call.query("filter[project][id]"));
                let found = self.workspaces.iter().filter(|workspace| {
                    workspace.name.contains(name)
                        && project.is_none_or(|project| project == workspace.project)
                        && tags.iter().all(|tag| workspace.tags.iter().any(|present| present == tag))
                });
                let items: Vec<Json> = found.map(|workspace| workspace.to_json(self)).collect();
                Ok(self.page(call, &items))
            }
            ("POST", []) => self.created(call),
            ("GET", [name]) => self.described(find(name)?, 200),
            ("DELETE", [name]) => {
                let at = find(name)?;
                self.workspaces.remove(at);
                Ok(Reply::status(204))
            }
            ("POST", [name, "actions", "safe-delete"]) if self.safe_deletion => {
                let at = find(name)?;
                let workspace = &self.workspaces[at];
                if workspace.lock.is_some() {
                    return Err(refused(409, "conflict", "Unable to delete a workspace that is locked"));
                }
                if workspace.manages_objects() {
                    return Err(refused(409, "conflict", "Unable to delete a workspace that manages resources"));
                }
                self.workspaces.remove(at);
                Ok(Reply::status(204))
            }
            _ => Err(not_found()),
        }
    }

    fn created(&mut self, call: &Call<'_>) -> Result<Reply, Reply> {
        let attributes = call.attributes("workspaces")?;
        let name = attributes["name"].as_str().unwrap_or_default();
        let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(is_valid) {
            return Err(refused(422, "invalid attribute", "Name can only include letters, numbers, -, and _."));
        }
        if self.workspaces.iter().any(|workspace| workspace.name == name) {
            return Err(refused(422, "invalid attribute", "Name has already been taken"));
        }
        let relationships = &call.document["data"]["relationships"];
        let tags = match relationships["tags"]["data"].is_null() {
            true => Vec::new(),
            false => {
                tag_names(&relationships["tags"]["data"]).ok_or_else(|| refused(400, "invalid document", "tags"))?
            }
        };
        let project = relationships["project"]["data"]["id"].as_str().map(str::to_owned);
        if project.as_ref().is_some_and(|id| self.projects.iter().all(|(present, _)| present != id)) {
            return Err(refused(422, "invalid attribute", "Project does not exist"));
        }
        let version = attributes["terraform-version"].as_str().map(str::to_owned);
        let at = self.create(name);
        let workspace = &mut self.workspaces[at];
        workspace.tags = tags;
        workspace.project = project.unwrap_or_else(|| workspace.project.clone());
        workspace.version = version.unwrap_or_else(|| workspace.version.clone());
        self.described(at, 201)
    }

    fn described(&self, at: usize, status: u16) -> Result<Reply, Reply> {
        Ok(document(status, &json!({ "data": self.workspaces[at].to_json(self) })))
    }

    /// `workspaces/ID` and what is below.
    pub(super) fn serve_workspace(&mut self, call: &Call<'_>, at: usize, rest: &[&str]) -> Result<Reply, Reply> {
        match (call.method, rest) {
            ("PATCH", []) => {
                if let Some(version) = call.attributes("workspaces")?["terraform-version"].as_str() {
                    self.workspaces[at].version = version.to_owned();
                }
                self.described(at, 200)
            }
            ("POST", ["actions", action]) => self.act(call, at, action),
            ("POST", ["relationships", "tags"]) => {
                let tags = tag_names(&call.document["data"]).ok_or_else(|| refused(400, "invalid document", "tags"))?;
                let present = &mut self.workspaces[at].tags;
                for tag in tags {
                    if !present.contains(&tag) {
                        present.push(tag);
                    }
                }
                Ok(Reply::status(204))
            }
            ("GET", ["vars"]) => {
                let variable = |(n, variable): (usize, &super::TfeVariable)| {
                    let value = if variable.sensitive { Json::Null } else { variable.value.as_str().into() };
                    let attributes = json!({ "key": variable.key, "value": value, "category": variable.category,
                                             "hcl": variable.hcl, "sensitive": variable.sensitive });
                    json!({ "id": format!("var-{n}"), "type": "vars", "attributes": attributes })
                };
                let items: Vec<Json> = self.workspaces[at].variables.iter().enumerate().map(variable).collect();
                Ok(self.page(call, &items))
            }
            ("GET", ["current-state-version"]) => {
                let current = self.workspaces[at].current().ok_or_else(not_found)?;
                Ok(self.with_interval(document(200, &json!({ "data": current.to_json(&self.archive) }))))
            }
            ("GET", ["current-state-version-outputs"]) => {
                let items = self.workspaces[at].current().map(|current| current.outputs()).unwrap_or_default();
                Ok(self.page(call, &items))
            }
            ("POST", ["state-versions"]) => self.new_version(call, at),
            _ => Err(not_found()),
        }
    }

    fn act(&mut self, call: &Call<'_>, at: usize, action: &str) -> Result<Reply, Reply> {
        let workspace = &mut self.workspaces[at];
        let (name, held) = (workspace.name.clone(), workspace.lock.clone());
        match (action, held) {
            ("lock", Some(_)) => Err(refused(
                409,
                "conflict",
                &format!("Unable to lock workspace {name}. The workspace is already locked."),
            )),
            ("lock", None) => {
                let reason = [&call.document["data"]["attributes"]["reason"], &call.document["reason"]];
                let reason = reason.iter().find_map(|reason| reason.as_str()).unwrap_or_default().to_owned();
                workspace.lock = Some(("users".to_owned(), call.user.clone(), reason));
                self.described(at, 200)
            }
            ("unlock" | "force-unlock", None) => Err(refused(
                409,
                "conflict",
                &format!("Unable to unlock workspace {name}. The workspace is already unlocked."),
            )),
            ("unlock", Some((kind, id, _))) if kind != "users" || id != call.user => {
                let kind = if kind == "runs" { "Run" } else { "User" };
                let detail = format!("Unable to unlock workspace {name}. The workspace is locked by {kind} {id}.");
                Err(refused(409, "conflict", &detail))
            }
            ("unlock" | "force-unlock", Some(_)) => {
                workspace.lock = None;
                self.described(at, 200)
            }
            _ => Err(not_found()),
        }
    }
}
