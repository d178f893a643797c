//! A server with the TFE API, version 2, for one organization: workspaces with locks, state versions, variables, tags, projects.
//!
//! - Every request needs a token that the server knows, and the media type of JSON:API for documents and responses. Documents need
//!   the type of their resource.
//! - A state version is created by the user that holds the lock of the workspace, with the MD5 of its content, with a higher serial
//!   and the same lineage, unless it is forced. It becomes the current one when its content is uploaded.
//! - Contents are on another host, whose URLs are the only credential. It refuses uploads that come with a token.
//! - A workspace that is locked is not locked again, and unlocked by the user that has locked it, or by force.
//!
//! The interchange tests of the binary run OpenTofu against this server, too.

mod states;
mod workspaces;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value as Json, json};

use super::fault::{Fault, On};
use crate::{Asked, Cut, Host, Reply};
use states::Version;

/// The organization of the server.
const ORGANIZATION: &str = "acme";
/// The media type of JSON:API.
const JSON_API: &str = "application/vnd.api+json";

/// The server. It runs in the test process.
pub struct TfeServer {
    host: Host,
    archive: Host,
    shared: Arc<Mutex<Shared>>,
}

/// Where operations of a workspace run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// On the machine of the user.
    Local,
    /// On the server.
    Remote,
    /// On an agent of the server.
    Agent,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Local => "local",
            Mode::Remote => "remote",
            Mode::Agent => "agent",
        }
    }
}

/// A variable of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TfeVariable {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Its category: `terraform` or `env`.
    pub category: String,
    /// Whether the value is an expression.
    pub hcl: bool,
    /// Whether the server hides the value.
    pub sensitive: bool,
}

/// A workspace.
#[derive(Clone, Debug)]
pub struct TfeWorkspace {
    /// Its ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where its operations run.
    pub mode: Mode,
    /// The version of its operations.
    pub version: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The ID of its project.
    pub project: String,
    /// Its variables.
    pub variables: Vec<TfeVariable>,
    /// Type and ID of the holder of its lock, and the reason.
    pub lock: Option<(String, String, String)>,
    versions: Vec<Version>,
}

impl TfeWorkspace {
    /// The content of its current state.
    pub fn state(&self) -> Option<&[u8]> {
        self.current().and_then(|version| version.content.as_deref())
    }

    /// Number of its state versions.
    pub fn versions(&self) -> usize {
        self.versions.iter().filter(|version| version.content.is_some()).count()
    }

    fn current(&self) -> Option<&Version> {
        self.versions.iter().rev().find(|version| version.content.is_some())
    }
}

struct Shared {
    /// The root of the host with the contents.
    archive: String,
    /// User IDs by token.
    users: BTreeMap<String, String>,
    api_version: Option<String>,
    /// Whether the organization may run operations on the server.
    operations: bool,
    /// Seconds between snapshots.
    interval: Option<u64>,
    /// Whether the server returns the reasons of locks.
    tells_reasons: bool,
    /// Whether states are part of the document that creates them.
    inline_states: bool,
    /// Whether the server supports safe deletion.
    safe_deletion: bool,
    /// The mode of new workspaces.
    mode: Mode,
    page_size: usize,
    workspaces: Vec<TfeWorkspace>,
    /// IDs and names.
    projects: Vec<(String, String)>,
    serial: usize,
    faults: Vec<(On, Fault, usize)>,
    log: Vec<String>,
}

/// Starts the server with the users `ann` and `bob`, whose tokens are `token-ann` and `token-bob`.
pub fn tfe_server() -> TfeServer {
    let users = ["ann", "bob"].map(|user| (format!("token-{user}"), format!("user-{user}")));
    let shared = Arc::new(Mutex::new(Shared {
        archive: String::new(),
        users: users.into_iter().collect(),
        api_version: Some("2.5".to_owned()),
        operations: true,
        interval: None,
        tells_reasons: true,
        inline_states: false,
        safe_deletion: true,
        mode: Mode::Local,
        page_size: 20,
        workspaces: Vec::new(),
        projects: vec![("prj-default".to_owned(), "Default Project".to_owned())],
        serial: 0,
        faults: Vec::new(),
        log: Vec::new(),
    }));
    let (api, contents) = (Arc::clone(&shared), Arc::clone(&shared));
    let archive = Host::start(move |asked| answer(&contents, asked, Shared::archived));
    lock(&shared).archive = archive.url("");
    let host = Host::start(move |asked| answer(&api, asked, Shared::serve));
    TfeServer { host, archive, shared }
}

impl TfeServer {
    /// The host, as configurations name it: `localhost:PORT`.
    pub fn name(&self) -> String {
        format!("localhost:{}", self.host.address().port())
    }

    /// The organization.
    pub fn organization(&self) -> &'static str {
        ORGANIZATION
    }

    /// The URL of the API.
    pub fn api(&self) -> String {
        self.host.url("/api/v2/")
    }

    /// A CLI configuration that knows the services of the host, and the token of a user.
    pub fn cli_configuration(&self, user: &str) -> String {
        let (name, api) = (self.name(), self.api());
        format!(
            "host {name:?} {{\n  services = {{\n    \"tfe.v2\" = {api:?}\n    \"tfe.v2.1\" = {api:?}\n    \"tfe.v2.2\" = {api:?}\n    \
             \"state.v2\" = {api:?}\n  }}\n}}\ncredentials {name:?} {{\n  token = \"token-{user}\"\n}}\n"
        )
    }

    /// Everything that was asked of the API and of the host with the contents.
    pub fn asked(&self) -> Vec<Asked> {
        [self.host.asked(), self.archive.asked()].concat()
    }

    /// Everything that was asked of the host with the contents.
    pub fn archive_asked(&self) -> Vec<Asked> {
        self.archive.asked()
    }

    /// Every request so far as `METHOD PATH -> STATUS`.
    pub fn log_lines(&self) -> Vec<String> {
        self.shared().log.clone()
    }

    /// Forgets the requests so far.
    pub fn clear_log(&self) {
        self.shared().log.clear();
    }

    /// Shows a fault to the next `times` matching requests.
    pub fn fail(&self, on: On, fault: Fault, times: usize) {
        self.shared().faults.push((on, fault, times));
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared().faults.clear();
    }

    /// The version of the API; none leaves the header out.
    pub fn set_api_version(&self, version: Option<&str>) {
        self.shared().api_version = version.map(str::to_owned);
    }

    /// The organization has no operations on the server.
    pub fn without_operations(&self) {
        self.shared().operations = false;
    }

    /// The server asks for a snapshot at this interval, in seconds.
    pub fn set_interval(&self, seconds: u64) {
        self.shared().interval = Some(seconds);
    }

    /// The server does not return the reasons of locks.
    pub fn without_reasons(&self) {
        self.shared().tells_reasons = false;
    }

    /// The server takes states in the document that creates a state version, as old servers do.
    pub fn with_inline_states(&self) {
        self.shared().inline_states = true;
    }

    /// The server does not know safe deletion.
    pub fn without_safe_deletion(&self) {
        self.shared().safe_deletion = false;
    }

    /// Lists have pages of this size.
    pub fn set_page_size(&self, size: usize) {
        self.shared().page_size = size;
    }

    /// The mode of workspaces that are created from now on.
    pub fn set_mode(&self, mode: Mode) {
        self.shared().mode = mode;
    }

    /// Creates a workspace.
    pub fn create(&self, name: &str) {
        self.shared().create(name);
    }

    /// A workspace as it is now.
    pub fn workspace(&self, name: &str) -> Option<TfeWorkspace> {
        self.shared().workspaces.iter().find(|workspace| workspace.name == name).cloned()
    }

    /// Names of all workspaces.
    pub fn names(&self) -> Vec<String> {
        self.shared().workspaces.iter().map(|workspace| workspace.name.clone()).collect()
    }

    /// Names of all projects.
    pub fn projects(&self) -> Vec<String> {
        self.shared().projects.iter().map(|(_, name)| name.clone()).collect()
    }

    /// Changes a workspace behind the back of its users.
    ///
    /// # Panics
    /// If there is no such workspace.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut TfeWorkspace)) {
        let mut shared = self.shared();
        let workspace = shared.workspaces.iter_mut().find(|workspace| workspace.name == name);
        change(workspace.expect("because the test has created the workspace"));
    }

    /// Replaces the content of the current state.
    pub fn overwrite(&self, name: &str, content: &[u8]) {
        self.change(name, |workspace| {
            let current = workspace.versions.iter_mut().rev().find(|version| version.content.is_some());
            current.expect("because the workspace has a state").content = Some(content.to_vec());
        });
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(shared: &Mutex<Shared>, asked: &Asked, serve: fn(&mut Shared, &Asked) -> Reply) -> Reply {
    let fault = lock(shared).next_fault(asked);
    let serve = || serve(&mut lock(shared), asked);
    let reply = fault.map_or_else(serve, |fault| fault.reply(serve));
    let status = match reply.stalls || reply.cut == Some(Cut::BeforeHead) {
        true => "none".to_owned(),
        false => reply.status.to_string(),
    };
    lock(shared).log.push(format!("{} {} -> {status}", asked.method, asked.path()));
    reply
}

/// A document with a status.
fn document(status: u16, document: &Json) -> Reply {
    Reply { body: document.to_string().into_bytes(), ..Reply::status(status) }.with("Content-Type", JSON_API)
}

/// An error document.
fn refused(status: u16, title: &str, detail: &str) -> Reply {
    let error = json!({ "status": status.to_string(), "title": title, "detail": detail });
    document(status, &json!({ "errors": [error] }))
}

fn not_found() -> Reply {
    document(404, &json!({ "errors": [{ "status": "404", "title": "not found" }] }))
}

/// A request to the API, checked.
struct Call<'a> {
    method: &'a str,
    path: Vec<String>,
    query: Vec<(String, String)>,
    /// The ID of the user.
    user: String,
    document: Json,
}

impl Call<'_> {
    fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The attributes of the resource in the document, which has to have this type.
    fn attributes(&self, kind: &str) -> Result<&Json, Reply> {
        let data = &self.document["data"];
        match data["type"] == kind && data["attributes"].is_object() {
            true => Ok(&data["attributes"]),
            false => Err(refused(400, "invalid document", &format!("expected a resource of type {kind}"))),
        }
    }
}

impl Shared {
    fn next_fault(&mut self, asked: &Asked) -> Option<Fault> {
        let matches =
            |(on, _, times): &&mut (On, Fault, usize)| *times > 0 && on.matches(0, &asked.method, asked.path());
        let (_, fault, times) = self.faults.iter_mut().find(matches)?;
        *times -= 1;
        Some(fault.clone())
    }

    /// An ID that no other object has.
    fn id(&mut self, kind: &str) -> String {
        self.serial += 1;
        format!("{kind}-{:016}", self.serial)
    }

    fn serve(&mut self, asked: &Asked) -> Reply {
        if asked.path() == "/.well-known/terraform.json" {
            return Reply::json(
                r#"{"tfe.v2":"/api/v2/","tfe.v2.1":"/api/v2/","tfe.v2.2":"/api/v2/","state.v2":"/api/v2/"}"#,
            );
        }
        let reply = match self.checked(asked) {
            Ok(call) => self.route(&call).unwrap_or_else(|refused| refused),
            Err(refused) => refused,
        };
        match &self.api_version {
            Some(version) => reply.with("TFP-API-Version", version),
            None => reply,
        }
    }

    /// The request, if it is one that the API accepts.
    fn checked<'a>(&self, asked: &'a Asked) -> Result<Call<'a>, Reply> {
        let token = asked.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let Some(user) = token.and_then(|token| self.users.get(token)).cloned() else {
            return Err(document(401, &json!({ "errors": [{ "status": "401", "title": "unauthorized" }] })));
        };
        let Some(path) = asked.path().strip_prefix("/api/v2/") else { return Err(not_found()) };
        let path: Vec<String> = path.split('/').map(decoded).collect();
        if asked.header("accept") != Some(JSON_API) {
            return Err(refused(406, "not acceptable", "the API responds with application/vnd.api+json"));
        }
        let has_document = !asked.bytes.is_empty();
        if has_document && asked.header("content-type") != Some(JSON_API) {
            return Err(refused(415, "unsupported media type", "the API accepts application/vnd.api+json"));
        }
        let document = match has_document {
            true => serde_json::from_slice(&asked.bytes).map_err(|_| refused(400, "invalid document", "no JSON"))?,
            false => Json::Null,
        };
        let query = asked.target.split_once('?').map(|(_, query)| query).unwrap_or_default();
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let query = query.map(|(name, value)| (decoded(name), decoded(&value.replace('+', " "))));
        Ok(Call { method: &asked.method, path, query: query.collect(), user, document })
    }

    fn route(&mut self, call: &Call<'_>) -> Result<Reply, Reply> {
        let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
        match (call.method, path.as_slice()) {
            ("GET", ["ping"]) => Ok(Reply::status(204)),
            (_, ["organizations", organization, ..]) if *organization != ORGANIZATION => Err(not_found()),
            ("GET", ["organizations", _, "entitlement-set"]) => {
                let attributes = json!({ "operations": self.operations, "state-storage": true, "teams": false });
                let data = json!({ "id": "org-1", "type": "entitlement-sets", "attributes": attributes });
                Ok(document(200, &json!({ "data": data })))
            }
            (_, ["organizations", _, "projects"]) => self.serve_projects(call),
            (_, ["organizations", _, "workspaces", rest @ ..]) => self.serve_workspaces(call, rest),
            (_, ["workspaces", id, rest @ ..]) => {
                let at = self.workspaces.iter().position(|workspace| workspace.id == *id).ok_or_else(not_found)?;
                self.serve_workspace(call, at, rest)
            }
            ("GET", ["state-versions", id]) => {
                let mut versions = self.workspaces.iter().flat_map(|workspace| &workspace.versions);
                let found = versions.find(|version| version.id == *id).ok_or_else(not_found)?;
                Ok(self.with_interval(document(200, &json!({ "data": found.to_json(&self.archive) }))))
            }
            ("GET", ["state-version-outputs", id]) => self.output(id).ok_or_else(not_found),
            _ => Err(not_found()),
        }
    }

    fn with_interval(&self, reply: Reply) -> Reply {
        match self.interval {
            Some(seconds) => reply.with("X-Terraform-Snapshot-Interval", &seconds.to_string()),
            None => reply,
        }
    }

    /// One page of a list.
    fn page(&self, call: &Call<'_>, items: &[Json]) -> Reply {
        let page = call.query("page[number]").and_then(|text| text.parse().ok()).unwrap_or(1_usize).max(1);
        let size = call.query("page[size]").and_then(|text| text.parse().ok()).unwrap_or(self.page_size).max(1);
        let pages = items.len().div_ceil(size).max(1);
        let shown: Vec<&Json> = items.iter().skip((page - 1) * size).take(size).collect();
        let pagination = json!({
            "current-page": page, "page-size": size, "total-pages": pages, "total-count": items.len(),
            "prev-page": (page > 1).then_some(page - 1), "next-page": (page < pages).then_some(page + 1),
        });
        document(200, &json!({ "data": shown, "meta": { "pagination": pagination } }))
    }
}

/// Without percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
