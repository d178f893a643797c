//! kubeconfig files: parsing, merging, and the choice of a cluster and a user.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};
use yuba_net::Secret;

use super::exec::{ClusterInfo, Exec, Interaction};

/// The extension of a cluster that is passed to exec plugins.
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

/// One file, or several that were merged.
#[derive(Clone, Debug, Default)]
pub(super) struct Kubeconfig {
    pub(super) current_context: Option<String>,
    clusters: BTreeMap<String, Cluster>,
    users: BTreeMap<String, User>,
    contexts: BTreeMap<String, Context>,
}

/// A certificate or key.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Source {
    File(PathBuf),
    Data(Vec<u8>),
}

/// The data may be a private key.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => f.debug_tuple("File").field(path).finish(),
            Source::Data(_) => f.write_str("Data"),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cluster {
    pub(super) server: Option<String>,
    pub(super) tls_server_name: Option<String>,
    pub(super) skips_verification: bool,
    pub(super) authority: Option<Source>,
    pub(super) proxy: Option<String>,
    pub(super) exec_config: Option<Json>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct User {
    pub(super) certificate: Option<Source>,
    pub(super) key: Option<Source>,
    pub(super) token: Option<Secret>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) exec: Option<Exec>,
    pub(super) auth_provider: Option<String>,
    /// Headers that make the server act as another user.
    pub(super) impersonation: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default)]
struct Context {
    cluster: Option<String>,
    user: Option<String>,
}

/// Names that the configuration sets instead of those of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) context: Option<String>,
    pub(super) cluster: Option<String>,
    pub(super) user: Option<String>,
}

impl Kubeconfig {
    /// Parses a file. Relative paths in it start at its directory. The error is part of a sentence.
    pub(super) fn parse(text: &str, file: &Path) -> Result<Kubeconfig, String> {
        // A file of comments is empty as well.
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Kubeconfig::default());
        }
        let value =
            yuba_value::functions::yaml::parse(text).map_err(|problem| format!("it is not valid YAML: {problem}"))?;
        let text = yuba_value::json::encode_plain(&value).map_err(|_| "it contains values that JSON does not have")?;
        let json: Json = serde_json::from_str(&text).map_err(|_| "it contains values that JSON does not have")?;
        let Json::Object(object) = json else { return Err("it is not a mapping".to_owned()) };
        let directory = file.parent().unwrap_or(Path::new(""));
        let root = Fields { object: &object, at: String::new(), directory };
        match root.text("kind")?.as_deref() {
            None | Some("Config") => {}
            Some(kind) => return Err(format!("its kind is \"{kind}\", not \"Config\"")),
        }
        Ok(Kubeconfig {
            current_context: root.text("current-context")?,
            clusters: root.named("clusters", "cluster", cluster)?,
            users: root.named("users", "user", user)?,
            contexts: root.named("contexts", "context", |fields| {
                Ok(Context { cluster: fields.text("cluster")?, user: fields.text("user")? })
            })?,
        })
    }

    /// With the entries of another file. The first file that has a name counts.
    #[must_use]
    pub(super) fn merged(mut self, other: Kubeconfig) -> Kubeconfig {
        self.current_context = self.current_context.or(other.current_context);
        for (name, cluster) in other.clusters {
            self.clusters.entry(name).or_insert(cluster);
        }
        for (name, user) in other.users {
            self.users.entry(name).or_insert(user);
        }
        for (name, context) in other.contexts {
            self.contexts.entry(name).or_insert(context);
        }
        self
    }

    /// The cluster and the user of a context; none if nothing names a cluster. The error is part of a sentence.
    pub(super) fn choose(&self, choice: &Choice) -> Result<Option<(Cluster, User)>, String> {
        let name = choice.context.as_ref().or(self.current_context.as_ref());
        let context = match name {
            None => Context::default(),
            Some(name) => match self.contexts.get(name) {
                Some(context) => context.clone(),
                None => {
                    return Err(format!(
                        "the context \"{name}\" does not exist. {}",
                        listed("contexts", self.contexts.keys())
                    ));
                }
            },
        };
        let Some(cluster) = choice.cluster.as_ref().or(context.cluster.as_ref()) else { return Ok(None) };
        let found = self.clusters.get(cluster);
        let found = found.ok_or_else(|| {
            format!("the cluster \"{cluster}\" does not exist. {}", listed("clusters", self.clusters.keys()))
        })?;
        let user = match choice.user.as_ref().or(context.user.as_ref()) {
            None => User::default(),
            Some(user) => {
                let found = self.users.get(user);
                found.cloned().ok_or_else(|| {
                    format!("the user \"{user}\" does not exist. {}", listed("users", self.users.keys()))
                })?
            }
        };
        if found.server.is_none() {
            return Err(format!("the cluster \"{cluster}\" has no server"));
        }
        Ok(Some((found.clone(), user)))
    }
}

fn listed<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    match names.is_empty() {
        true => format!("The kubeconfig files contain no {what}"),
        false => format!("The kubeconfig files contain the {what} {}", names.join(", ")),
    }
}

/// Fields of a mapping, and where it is in the file.
struct Fields<'a> {
    object: &'a Map<String, Json>,
    at: String,
    directory: &'a Path,
}

impl Fields<'_> {
    fn place(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    fn get(&self, name: &str) -> Option<&Json> {
        self.object.get(name).filter(|json| !json.is_null())
    }

    /// A string that is not empty.
    fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(Json::Number(_) | Json::Bool(_)) => {
                Err(format!("{} is not a string. Write its value in quotes", self.place(name)))
            }
            Some(_) => Err(format!("{} is not a string", self.place(name))),
        }
    }

    fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        Ok(self.text(name)?.map(Secret::new))
    }

    fn is_on(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Json::Bool(value)) => Ok(*value),
            Some(_) => Err(format!("{} is neither true nor false", self.place(name))),
        }
    }

    fn file(&self, name: &str) -> Result<Option<PathBuf>, String> {
        Ok(self.text(name)?.map(|path| self.directory.join(path)))
    }

    /// A file, or the same in Base64 in a field of its own.
    fn source(&self, file: &str, data: &str) -> Result<Option<Source>, String> {
        match (self.file(file)?, self.text(data)?) {
            (None, None) => Ok(None),
            (Some(path), None) => Ok(Some(Source::File(path))),
            (None, Some(text)) => {
                let text: String = text.split_whitespace().collect();
                let bytes = STANDARD.decode(text).map_err(|_| format!("{} is not valid Base64", self.place(data)))?;
                Ok(Some(Source::Data(bytes)))
            }
            (Some(_), Some(_)) => Err(format!("{} and {} are both set", self.place(file), self.place(data))),
        }
    }

    fn list(&self, name: &str) -> Result<&[Json], String> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Json::Array(items)) => Ok(items),
            Some(_) => Err(format!("{} is not a list", self.place(name))),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let text = |item: &Json| item.as_str().map(str::to_owned);
        let found: Option<Vec<String>> = self.list(name)?.iter().map(text).collect();
        found.ok_or_else(|| format!("{} is not a list of strings. Write its values in quotes", self.place(name)))
    }

    fn object(&self, name: &str) -> Result<Option<Fields<'_>>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(Fields { object, at: self.place(name), directory: self.directory })),
            Some(_) => Err(format!("{} is not a mapping", self.place(name))),
        }
    }

    /// A list of entries with a name and a content.
    fn named<T>(
        &self,
        list: &str,
        content: &str,
        read: impl Fn(&Fields<'_>) -> Result<T, String>,
    ) -> Result<BTreeMap<String, T>, String> {
        let mut all = BTreeMap::new();
        for (index, item) in self.list(list)?.iter().enumerate() {
            let Json::Object(object) = item else { return Err(format!("{list}[{index}] is not a mapping")) };
            let entry = Fields { object, at: format!("{list}[{index}]"), directory: self.directory };
            let name = entry.text("name")?.unwrap_or_default();
            let empty = Map::new();
            let fields = entry.object(content)?;
            let fields = fields.unwrap_or(Fields { object: &empty, at: String::new(), directory: self.directory });
            if all.insert(name.clone(), read(&Fields { at: format!("{content} \"{name}\""), ..fields })?).is_some() {
                return Err(format!("{list} contains \"{name}\" twice"));
            }
        }
        Ok(all)
    }
}

fn cluster(fields: &Fields<'_>) -> Result<Cluster, String> {
    let mut exec_config = None;
    for extension in fields.list("extensions")? {
        if extension.get("name").and_then(Json::as_str) == Some(EXEC_EXTENSION) {
            exec_config = extension.get("extension").cloned();
        }
    }
    Ok(Cluster {
        server: fields.text("server")?,
        tls_server_name: fields.text("tls-server-name")?,
        skips_verification: fields.is_on("insecure-skip-tls-verify")?,
        authority: fields.source("certificate-authority", "certificate-authority-data")?,
        proxy: fields.text("proxy-url")?,
        exec_config,
    })
}

fn user(fields: &Fields<'_>) -> Result<User, String> {
    let exec = match fields.object("exec")? {
        None => None,
        Some(exec) => Some(plugin(&exec)?),
    };
    let auth_provider = match fields.object("auth-provider")? {
        None => None,
        Some(provider) => Some(provider.text("name")?.unwrap_or_default()),
    };
    let user = User {
        certificate: fields.source("client-certificate", "client-certificate-data")?,
        key: fields.source("client-key", "client-key-data")?,
        token: fields.secret("token")?,
        token_file: fields.file("tokenFile")?,
        username: fields.text("username")?,
        password: fields.secret("password")?,
        exec,
        auth_provider,
        impersonation: impersonation(fields)?,
    };
    Ok(user)
}

fn impersonation(fields: &Fields<'_>) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::new();
    let Some(name) = fields.text("as")? else { return Ok(headers) };
    headers.push(("Impersonate-User".to_owned(), name));
    headers.extend(fields.text("as-uid")?.map(|uid| ("Impersonate-Uid".to_owned(), uid)));
    headers.extend(fields.texts("as-groups")?.into_iter().map(|group| ("Impersonate-Group".to_owned(), group)));
    if let Some(extra) = fields.object("as-user-extra")? {
        for key in extra.object.keys() {
            let header = format!("Impersonate-Extra-{}", escaped(key));
            headers.extend(extra.texts(key)?.into_iter().map(|value| (header.clone(), value)));
        }
    }
    Ok(headers)
}

/// A name as part of the name of a header: other characters are percent-encoded.
fn escaped(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
    name.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn plugin(fields: &Fields<'_>) -> Result<Exec, String> {
    let missing = |name: &str| format!("{} is missing", fields.place(name));
    let mut env = Vec::new();
    for (index, variable) in fields.list("env")?.iter().enumerate() {
        let part = |name: &str| variable.get(name).and_then(Json::as_str).map(str::to_owned);
        let name = part("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| format!("{}[{index}] has no name", fields.place("env")))?;
        let value = match variable.get("value") {
            None | Some(Json::Null) => String::new(),
            Some(Json::String(value)) => value.clone(),
            Some(_) => {
                return Err(format!(
                    "{}[{index}].value is not a string. Write its value in quotes",
                    fields.place("env")
                ));
            }
        };
        env.push((name, value));
    }
    let command = fields.text("command")?.ok_or_else(|| missing("command"))?;
    // A command without slash is looked up in PATH.
    let command = if command.contains('/') { fields.directory.join(command).display().to_string() } else { command };
    let interaction = match fields.text("interactiveMode")?.as_deref() {
        None | Some("IfAvailable") => Interaction::Optional,
        Some("Never") => Interaction::Never,
        Some("Always") => Interaction::Required,
        Some(other) => {
            let place = fields.place("interactiveMode");
            return Err(format!("{place} is \"{other}\". Its values are \"Never\", \"IfAvailable\" and \"Always\""));
        }
    };
    let cluster_info = match fields.is_on("provideClusterInfo")? {
        true => ClusterInfo::Passed,
        false => ClusterInfo::Hidden,
    };
    Ok(Exec {
        api_version: fields.text("apiVersion")?.ok_or_else(|| missing("apiVersion"))?,
        command,
        args: fields.texts("args")?,
        env,
        interaction,
        install_hint: fields.text("installHint")?,
        cluster_info,
    })
}
