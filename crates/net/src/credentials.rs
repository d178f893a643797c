//! Tokens of hosts: from environment variables, CLI configuration files and a credentials helper, and the file in which `login`
//! stores them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use ecow::EcoString;
use serde_json::{Map, Value as Json, json};
use yuba_addrs::Hostname;

use crate::http::Url;
use crate::{Environment, Secret};

/// The arguments of a `credentials` block. Never printed.
#[derive(Clone, Default, PartialEq)]
pub struct HostCredentials(pub Map<String, Json>);

impl fmt::Debug for HostCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(credentials)")
    }
}

/// A `credentials_helper` block: an executable that stores credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsProgram {
    /// The name of the executable after `terraform-credentials-`.
    pub kind: EcoString,
    /// Arguments before the verb and the host.
    pub args: Vec<String>,
}

/// Sources of credentials, apart from the environment.
#[derive(Clone, Debug, Default)]
pub struct CredentialSources {
    /// The `credentials` blocks.
    pub configured: BTreeMap<Hostname, HostCredentials>,
    /// The credentials helper.
    pub helper: Option<CredentialsProgram>,
    /// Directories whose `plugins` contain credentials helpers.
    pub data_dirs: Vec<PathBuf>,
    /// The file in which `login` stores tokens.
    pub file: Option<PathBuf>,
}

/// All credentials for hosts.
pub struct Credentials {
    /// By the ASCII form of the hostname.
    from_environment: BTreeMap<String, Secret>,
    configured: BTreeMap<Hostname, HostCredentials>,
    /// Hosts whose credentials are in the file that we may change.
    in_file: BTreeSet<Hostname>,
    file: Option<PathBuf>,
    helper: Option<Program>,
}

struct Program {
    kind: String,
    program: PathBuf,
    args: Vec<String>,
    answers: Mutex<HashMap<Hostname, Option<Secret>>>,
}

/// Location of the credentials of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialsLocation {
    /// Nowhere yet.
    Nowhere,
    /// In the file of `login`.
    InFile,
    /// In a file that we leave alone.
    Elsewhere,
    /// A credentials helper stores them.
    ByHelper,
}

impl Credentials {
    /// From the configuration and the environment.
    pub fn new(sources: CredentialSources, environment: &Environment) -> Credentials {
        let tokens = environment.with_prefix("TF_TOKEN_").filter_map(|(name, token)| {
            let host = name.replace("__", "-").replace('_', ".");
            Some((ascii_name(&host)?, Secret::new(token)))
        });
        let CredentialSources { configured, helper, data_dirs, file } = sources;
        let helper = helper.and_then(|helper| {
            let program = find_helper(&data_dirs, &helper.kind, environment)?;
            Some(Program { kind: helper.kind.to_string(), program, args: helper.args, answers: Mutex::default() })
        });
        Credentials {
            from_environment: tokens.collect(),
            configured,
            in_file: file.as_deref().map(hosts_of).unwrap_or_default(),
            file,
            helper,
        }
    }

    /// The token for a host. None if the credentials helper fails.
    pub fn token(&self, host: &Hostname) -> Option<Secret> {
        if let Some(token) = ascii_name(host.as_str()).and_then(|name| self.from_environment.get(&name)) {
            return Some(token.clone());
        }
        if let Some(HostCredentials(object)) = self.configured.get(host) {
            return token_of(object);
        }
        let helper = self.helper.as_ref()?;
        let mut answers = helper.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.entry(host.clone()).or_insert_with(|| helper.get(host).ok().flatten()).clone()
    }

    /// Location of the credentials of a host, and the location for new ones.
    pub fn location(&self, host: &Hostname) -> CredentialsLocation {
        match (self.configured.contains_key(host), &self.helper) {
            (true, _) if self.in_file.contains(host) => CredentialsLocation::InFile,
            (true, _) => CredentialsLocation::Elsewhere,
            (false, Some(_)) => CredentialsLocation::ByHelper,
            (false, None) => CredentialsLocation::Nowhere,
        }
    }

    /// The file in which `login` stores tokens.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The name of the helper.
    pub fn helper(&self) -> Option<&str> {
        self.helper.as_ref().map(|helper| helper.kind.as_str())
    }

    /// Stores a token for a host, or removes the stored one. Fails with the reason.
    pub fn store(&self, host: &Hostname, token: Option<&Secret>) -> Result<(), String> {
        match (self.location(host), &self.helper) {
            (CredentialsLocation::Elsewhere, _) => Err(format!(
                "the credentials for {host} are in a CLI configuration file that was written by hand; change them there"
            )),
            (CredentialsLocation::ByHelper, Some(helper)) => helper.store(host, token),
            _ => match &self.file {
                Some(file) => update_file(file, host, token),
                None => Err("the home directory is unknown, so credentials cannot be stored".to_owned()),
            },
        }
    }
}

fn token_of(object: &Map<String, Json>) -> Option<Secret> {
    object.get("token").and_then(Json::as_str).map(Secret::new)
}

/// The name of a host as the network knows it, with its port.
fn ascii_name(host: &str) -> Option<String> {
    let url = Url::parse(&format!("https://{host}/")).ok()?;
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{}{port}", url.host_str()?))
}

/// The hosts of the file of `login`. Empty if the file cannot be read.
fn hosts_of(file: &Path) -> BTreeSet<Hostname> {
    let content: Json = fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let hosts = content.get("credentials").and_then(Json::as_object);
    hosts.into_iter().flat_map(|hosts| hosts.keys()).filter_map(|host| Hostname::parse(host).ok()).collect()
}

/// Changes the entry of a host, and nothing else. A reader sees the old or the new file, and only its owner may read it.
fn update_file(file: &Path, host: &Hostname, token: Option<&Secret>) -> Result<(), String> {
    let shown = file.display();
    let mut content: Map<String, Json> = match fs::read(file) {
        Ok(text) if text.is_empty() => Map::new(),
        Ok(text) => serde_json::from_slice(&text).map_err(|error| format!("{shown} could not be read: {error}"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(format!("{shown} could not be read: {error}")),
    };
    let hosts = content.entry("credentials").or_insert_with(|| json!({}));
    let Json::Object(hosts) = hosts else {
        return Err(format!("{shown} is wrong: \"credentials\" must be a JSON object"));
    };
    hosts.retain(|given, _| Hostname::parse(given).ok().as_ref() != Some(host));
    if let Some(token) = token {
        hosts.insert(host.to_string(), json!({ "token": token.reveal() }));
    }
    let text = serde_json::to_string_pretty(&content).map_err(|error| error.to_string())?;
    write_private(file, text.as_bytes()).map_err(|error| format!("{shown} could not be written: {error}"))
}

fn write_private(file: &Path, text: &[u8]) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let new = file.with_extension(format!("new-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&new).and_then(|mut output| {
        output.write_all(text)?;
        output.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&new, file));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// The newest helper of this name in the directories for plugins.
fn find_helper(data_dirs: &[PathBuf], kind: &str, environment: &Environment) -> Option<PathBuf> {
    let name = format!("terraform-credentials-{kind}");
    let machine = format!("{}_{}", crate::http::OS, crate::http::ARCH);
    let dirs = data_dirs.iter().flat_map(|dir| [dir.join("plugins"), dir.join("plugins").join(&machine)]);
    let mut found = Vec::new();
    for dir in dirs {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(file) = entry.file_name().into_string() else { continue };
            let Some(rest) = file.strip_prefix(&name) else { continue };
            let version = match rest.strip_prefix("_v") {
                Some(version) => yuba_addrs::Version::parse(version.split("_x").next().unwrap_or(version)).ok(),
                None if rest.is_empty() => yuba_addrs::Version::parse("0.0.0").ok(),
                None => None,
            };
            if let Some(version) = version {
                found.push((version, environment.absolute(entry.path())));
            }
        }
    }
    found.into_iter().max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, path)| path)
}

impl Program {
    fn run(&self, verb: &str, host: &Hostname, input: Option<&str>) -> Result<Vec<u8>, String> {
        let program = self.program.display();
        let host = ascii_name(host.as_str()).unwrap_or_else(|| host.to_string());
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(verb).arg(host).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(|error| format!("{program} could not be started: {error}"))?;
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // It need not read it.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| format!("{program} failed: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        match String::from_utf8_lossy(&output.stderr).trim() {
            "" => Err(format!("{program} failed without a message")),
            reason => Err(format!("{program} failed: {reason}")),
        }
    }

    fn get(&self, host: &Hostname) -> Result<Option<Secret>, String> {
        let output = self.run("get", host, None)?;
        let object: Map<String, Json> = serde_json::from_slice(&output)
            .map_err(|_| format!("{} did not print a JSON object", self.program.display()))?;
        Ok(token_of(&object))
    }

    fn store(&self, host: &Hostname, token: Option<&Secret>) -> Result<(), String> {
        let input = token.map(|token| json!({ "token": token.reveal() }).to_string());
        let verb = if token.is_some() { "store" } else { "forget" };
        self.run(verb, host, input.as_deref()).map(drop)
    }
}
