//! Credentials that a process prints: `credential_process` of a profile.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value as Json;

use super::{AwsCredentials, AwsError, Moment};
use crate::{Environment, Secret};

/// Maximum run time of the process.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest output that is read.
const LIMIT: u64 = 1 << 20;

/// Runs a command line with the shell and reads its output.
pub(super) fn run(command: &str, environment: &Environment) -> Result<AwsCredentials, AwsError> {
    let failed = |reason: String| AwsError::no_credentials(format!("credential_process failed: {reason}"));
    let (shell, flag) = if cfg!(windows) { ("cmd.exe", "/C") } else { ("sh", "-c") };
    let mut child = Command::new(shell)
        .args([flag, command])
        .env_clear()
        .envs(environment.given_with_prefix(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| failed(format!("the process cannot be started: {error}")))?;
    let Some(output) = child.stdout.take() else { return Err(failed("the process has no output".to_owned())) };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(LIMIT).read_to_end(&mut bytes).map(|_| bytes);
        let _ = sender.send(read);
    });
    let output = match receiver.recv_timeout(TIMEOUT) {
        Ok(output) => output.map_err(|error| failed(format!("its output cannot be read: {error}")))?,
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(format!("the process did not end within {} seconds", TIMEOUT.as_secs())));
        }
    };
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(format!("the process ended with {status}")));
    }
    parse(&output).map_err(failed)
}

/// The output may contain secrets, so messages do not repeat it.
fn parse(output: &[u8]) -> Result<AwsCredentials, String> {
    let json: Json = serde_json::from_slice(output).map_err(|_| "the output of the process is not JSON".to_owned())?;
    let text = |name: &str| json.get(name).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    if json.get("Version").and_then(Json::as_i64) != Some(1) {
        return Err("the output of the process does not have \"Version\": 1".to_owned());
    }
    let missing = |name: &str| format!("the output of the process has no {name}");
    let expires = match text("Expiration") {
        None => None,
        Some(end) => {
            let wrong = || "the Expiration in the output of the process is not RFC 3339".to_owned();
            Some(Moment::parse_rfc3339(&end).ok_or_else(wrong)?)
        }
    };
    Ok(AwsCredentials {
        access_key: text("AccessKeyId").ok_or_else(|| missing("AccessKeyId"))?,
        secret_key: Secret::new(text("SecretAccessKey").ok_or_else(|| missing("SecretAccessKey"))?),
        token: text("SessionToken").map(Secret::new),
        expires,
    })
}
