//! Exec plugins: executables that print a token or a client certificate (`client.authentication.k8s.io`).

use std::fmt;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use yuba_net::Secret;
use yuba_net::trust::ClientIdentity;

use crate::timestamp::UtcTime;

/// API versions of plugins.
const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
/// The environment variable with the description of the cluster.
const INFO: &str = "KUBERNETES_EXEC_INFO";
/// A plugin may wait for a person who signs in with a browser.
const LIMIT: Duration = Duration::from_secs(600);
/// The largest output of a plugin, in bytes.
const MAX_OUTPUT: u64 = 1 << 20;

/// A plugin with its arguments.
#[derive(Clone)]
pub(super) struct Exec {
    pub(super) api_version: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// Environment variables in addition to those of this process.
    pub(super) env: Vec<(String, String)>,
    pub(super) interaction: Interaction,
    /// How to install the plugin.
    pub(super) install_hint: Option<String>,
    pub(super) cluster_info: ClusterInfo,
}

/// The command only: arguments and variables may be credentials.
impl fmt::Debug for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exec").field(&self.command).finish()
    }
}

/// Whether a plugin reads from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interaction {
    Never,
    /// The plugin works without a terminal too.
    Optional,
    Required,
}

/// Whether a plugin gets a description of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClusterInfo {
    Passed,
    Hidden,
}

/// The output of a plugin.
#[derive(Clone, Debug)]
pub(super) struct ExecCredential {
    pub(super) token: Option<Secret>,
    pub(super) identity: Option<ClientIdentity>,
    pub(super) expires: Option<UtcTime>,
}

impl ExecCredential {
    pub(super) fn is_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires < UtcTime::now())
    }

    /// The credential in the output of a plugin. The error is part of a sentence and contains nothing of the output.
    fn parse(output: &[u8], version: &str) -> Result<ExecCredential, String> {
        let json: Json = serde_json::from_slice(output).map_err(|_| "its output is not JSON")?;
        let text = |json: &Json, name: &str| {
            json.get(name).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        match text(&json, "kind").as_deref() {
            Some("ExecCredential") => {}
            _ => return Err("its output is not an ExecCredential".to_owned()),
        }
        match text(&json, "apiVersion") {
            Some(found) if found == version => {}
            found => {
                let found = found.unwrap_or_default();
                return Err(format!(
                    "its output has the API version \"{found}\" and the configuration \"{version}\". Set the API version of \
                     the exec plugin to \"{found}\""
                ));
            }
        }
        let status = json.get("status").filter(|status| status.is_object()).ok_or("its output has no status")?;
        let token = text(status, "token").map(Secret::new);
        let identity = match (text(status, "clientCertificateData"), text(status, "clientKeyData")) {
            (Some(certificate), Some(key)) => {
                Some(ClientIdentity { certificates: certificate.into_bytes(), key: key.into_bytes() })
            }
            (None, None) => None,
            _ => return Err("its output has a certificate or a key, not both".to_owned()),
        };
        if token.is_none() && identity.is_none() {
            return Err("its output has neither a token nor a certificate".to_owned());
        }
        let expires = match text(status, "expirationTimestamp") {
            None => None,
            Some(time) => {
                Some(UtcTime::parse(&time).ok_or("its output has an expirationTimestamp that is not a time")?)
            }
        };
        Ok(ExecCredential { token, identity, expires })
    }
}

impl Exec {
    /// Fails if the plugin cannot be used at all. The error is part of a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        let command = &self.command;
        if command.is_empty() {
            return Err("the exec plugin has no command".to_owned());
        }
        if !VERSIONS.contains(&self.api_version.as_str()) {
            let (version, known) = (&self.api_version, VERSIONS.join("\" and \""));
            return Err(format!(
                "the exec plugin {command} has the API version \"{version}\". Supported versions are \"{known}\""
            ));
        }
        match self.interaction {
            Interaction::Never | Interaction::Optional => Ok(()),
            Interaction::Required => Err(format!(
                "the exec plugin {command} requires a terminal (interactiveMode \"Always\"), and Yuba runs plugins without one. Sign in \
                 before, or set a token"
            )),
        }
    }

    /// The description of the run that the plugin finds in its environment.
    fn info(&self, cluster: &Json) -> Json {
        let mut spec = json!({ "interactive": false });
        if self.cluster_info == ClusterInfo::Passed {
            spec["cluster"] = cluster.clone();
        }
        json!({ "kind": "ExecCredential", "apiVersion": self.api_version, "spec": spec })
    }

    /// Runs the plugin. Its error output goes to that of this process, so that people see how to sign in. The error is part of a
    /// sentence.
    pub(super) fn run(&self, cluster: &Json) -> Result<ExecCredential, String> {
        self.check()?;
        let command = &self.command;
        let failed = |reason: &str| format!("the exec plugin {command} failed: {reason}");
        let mut process = Command::new(command);
        process.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        process.env(INFO, self.info(cluster).to_string());
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = process.spawn().map_err(|error| {
            let hint = self.install_hint.as_deref().map(|hint| format!(". {}", printable(hint))).unwrap_or_default();
            failed(&format!("it cannot be started: {error}{hint}"))
        })?;
        let stdout = child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut output = Vec::new();
            let read = stdout.map(|stdout| stdout.take(MAX_OUTPUT).read_to_end(&mut output));
            read.unwrap_or(Ok(0)).map(|_| output)
        });
        let started = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if started.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(5)),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(&format!("it did not end within {} seconds", LIMIT.as_secs())));
                }
            }
        };
        if !status.success() {
            return Err(failed(&format!("{status}. Its error output is above")));
        }
        let output = reader.join().ok().and_then(Result::ok).ok_or_else(|| failed("its output cannot be read"))?;
        ExecCredential::parse(&output, &self.api_version).map_err(|reason| failed(&reason))
    }
}

/// Without control characters, which could change what a terminal shows.
fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
