//! The Azure CLI: tokens of the account that `az login` has signed in.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::tokens::{Token, validity};
use super::{AzureError, EXCERPT};
use crate::{Environment, Secret};

/// Limit for one call. The Azure CLI takes some seconds to start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The Azure CLI with a signed-in account.
#[derive(Debug)]
pub(super) struct AzureCli {
    program: PathBuf,
    environment: Environment,
    /// The subscription of the configuration; empty if it is not set.
    subscription: String,
    /// The subscription that `az account show` reports.
    default_subscription: String,
}

impl AzureCli {
    /// Finds the executable `az` and checks that an account is signed in. The error is a sentence without its period.
    pub(super) fn find(environment: &Environment, subscription: &str) -> Result<AzureCli, String> {
        if !subscription.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.')) {
            return Err(format!("The subscription \"{subscription}\" contains invalid characters. Use its ID"));
        }
        let program = in_path(environment).ok_or("The executable az is not in PATH. Install the Azure CLI")?;
        let (environment, subscription) = (environment.clone(), subscription.to_owned());
        let mut cli = AzureCli { program, environment, subscription, default_subscription: String::new() };
        let account = cli.run(&["account", "show", "-o", "json"])?;
        cli.default_subscription = account.get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
        Ok(cli)
    }

    pub(super) fn default_subscription(&self) -> &str {
        &self.default_subscription
    }

    /// Requests a token for a resource, in the tenant of the account if none is named.
    pub(super) fn token(&self, resource: &str, tenant: &str) -> Result<Token, AzureError> {
        let mut arguments = vec!["account", "get-access-token", "-o", "json", "--resource", resource];
        if !tenant.is_empty() {
            arguments.extend(["--tenant", tenant]);
        }
        if !self.subscription.is_empty() {
            arguments.extend(["--subscription", &self.subscription]);
        }
        let found = self.run(&arguments).map_err(AzureError::lasting)?;
        let token = found.get("accessToken").and_then(Json::as_str).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| AzureError::lasting("`az account get-access-token` printed no token"))?;
        Ok(Token { token: Secret::new(token), validity: validity(&found) })
    }

    /// Runs `az` and parses the JSON that it prints.
    fn run(&self, arguments: &[&str]) -> Result<Json, String> {
        let called = format!("`az {} {}`", arguments[0], arguments[1]);
        let mut command = Command::new(&self.program);
        command.args(arguments).env_clear().envs(self.environment.given_with_prefix(""));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("Failed to start {called}: {error}"))?;
        let output = child.stdout.take().map(reading);
        let errors = child.stderr.take().map(reading);
        let since = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if since.elapsed() < TIMEOUT => std::thread::sleep(Duration::from_millis(10)),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("{called} did not end within {} seconds", TIMEOUT.as_secs()));
                }
                Err(error) => return Err(format!("Failed to wait for {called}: {error}")),
            }
        };
        let text = |reader: Option<std::thread::JoinHandle<Vec<u8>>>| {
            reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        if !status.success() {
            let said = String::from_utf8_lossy(&text(errors)).split_whitespace().collect::<Vec<_>>().join(" ");
            let said: String = said.trim_end_matches('.').chars().filter(|c| !c.is_control()).take(EXCERPT).collect();
            return Err(format!("{called} failed ({status}): {said}"));
        }
        serde_json::from_slice(&text(output)).map_err(|_| format!("{called} printed no valid JSON"))
    }
}

/// Reads a pipe in a thread, so that the process never waits for it.
fn reading(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(super::LIMIT).read_to_end(&mut bytes);
        bytes
    })
}

/// The executable in the directories of PATH. Relative directories are skipped: they depend on where a command runs.
fn in_path(environment: &Environment) -> Option<PathBuf> {
    let names: &[&str] = if cfg!(windows) { &["az.cmd", "az.exe", "az.bat"] } else { &["az"] };
    let path = environment.get("PATH")?;
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let mut files = directories.flat_map(|directory| names.iter().map(move |name| directory.join(name)));
    files.find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &std::path::Path) -> bool {
    file.is_file()
}
