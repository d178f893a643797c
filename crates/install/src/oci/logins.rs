//! Credentials for container registries: from the CLI configuration, from the files of other container tools, and from
//! credential helpers.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use serde_json::Value as Json;
use yuba_net::{Environment, Secret};

use crate::CliConfig;
use crate::cli_config::OciLogin;

/// Credentials.
#[derive(Clone, Debug)]
pub enum Login {
    /// With a name and a password.
    Basic(String, Secret),
    /// With tokens.
    Tokens {
        /// To be used at once.
        access: Secret,
        /// To get one that can be used.
        refresh: Option<Secret>,
    },
}

/// The credentials for a repository. The most specific ones apply; of equally specific ones, the CLI configuration overrides files.
pub(super) fn find(
    config: &CliConfig,
    environment: &Environment,
    registry: &str,
    name: &str,
) -> Result<Option<Login>, String> {
    let mut best: Option<(usize, &OciLogin)> = None;
    for known in &config.oci_credentials {
        if let Some(specific) = specificity(&known.prefix, registry, name)
            && best.is_none_or(|(other, _)| specific > other)
        {
            best = Some((specific, &known.login));
        }
    }
    let defaults = config.oci_default_credentials.clone().unwrap_or_default();
    let mut from_files: Option<(usize, Login)> = None;
    if defaults.discover {
        let files = match &defaults.docker_config_files {
            Some(files) => files.clone(),
            None => usual_files(environment, config.directories.home.as_deref()),
        };
        for file in files {
            let Ok(text) = std::fs::read(&file) else {
                if defaults.docker_config_files.is_some() {
                    return Err(format!("the file {} with credentials could not be read", file.display()));
                }
                continue;
            };
            let content: Json = serde_json::from_slice(&text).unwrap_or_default();
            if let Some((specific, login)) = in_file(&content, registry, name)
                && from_files.as_ref().is_none_or(|(other, _)| specific > *other)
            {
                from_files = Some((specific, login));
            }
        }
    }
    match (best, from_files) {
        (Some((specific, _)), Some((other, login))) if other > specific => Ok(Some(login)),
        (Some((_, OciLogin::Basic(user, password))), _) => Ok(Some(Login::Basic(user.to_string(), password.clone()))),
        (Some((_, OciLogin::Tokens { access, refresh })), _) => {
            Ok(Some(Login::Tokens { access: access.clone(), refresh: Some(refresh.clone()) }))
        }
        (Some((_, OciLogin::Helper(helper))), _) => ask_helper(helper, registry).map(Some),
        (None, Some((_, login))) => Ok(Some(login)),
        (None, None) => match &defaults.docker_helper {
            Some(helper) => Ok(ask_helper(helper, registry).ok()),
            None => Ok(None),
        },
    }
}

/// Number of matching parts of a prefix: the more, the better. None if it does not match.
fn specificity(prefix: &str, registry: &str, name: &str) -> Option<usize> {
    let mut parts = prefix.split('/');
    if parts.next() != Some(registry) {
        return None;
    }
    let mut names = name.split('/');
    let mut fitting = 1;
    for part in parts {
        if names.next() != Some(part) {
            return None;
        }
        fitting += 1;
    }
    Some(fitting)
}

fn usual_files(environment: &Environment, home: Option<&Path>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    files.extend(environment.path("XDG_RUNTIME_DIR").map(|dir| dir.join("containers/auth.json")));
    let config = environment.path("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    files.extend(config.map(|dir| dir.join("containers/auth.json")));
    let docker = environment.path("DOCKER_CONFIG").or_else(|| home.map(|home| home.join(".docker")));
    files.extend(docker.map(|dir| dir.join("config.json")));
    files
}

fn in_file(content: &Json, registry: &str, name: &str) -> Option<(usize, Login)> {
    let mut best = None;
    for (key, entry) in content.get("auths").and_then(Json::as_object).into_iter().flatten() {
        // Old files have whole URLs.
        let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
        let key = key.trim_end_matches("/v1/").trim_end_matches("/v2/").trim_end_matches('/');
        let key = if key == "index.docker.io" { "docker.io" } else { key };
        let Some(specific) = specificity(key, registry, name) else { continue };
        if best.as_ref().is_none_or(|(other, _)| specific > *other)
            && let Some(login) = entry_login(entry)
        {
            best = Some((specific, login));
        }
    }
    if best.is_some() {
        return best;
    }
    let of_registry = content.get("credHelpers").and_then(|helpers| helpers.get(registry)).and_then(Json::as_str);
    let helper = of_registry.or_else(|| content.get("credsStore").and_then(Json::as_str))?;
    Some((1, ask_helper(helper, registry).ok()?))
}

fn entry_login(entry: &Json) -> Option<Login> {
    if let Some(token) = entry.get("identitytoken").and_then(Json::as_str).filter(|token| !token.is_empty()) {
        return Some(Login::Tokens { access: Secret::new(""), refresh: Some(Secret::new(token)) });
    }
    let encoded = entry.get("auth").and_then(Json::as_str)?;
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some(Login::Basic(user.to_owned(), Secret::new(password.trim_end_matches('\0'))))
}

/// Asks a credential helper.
fn ask_helper(helper: &str, registry: &str) -> Result<Login, String> {
    let program = format!("docker-credential-{helper}");
    let failed =
        |reason: &dyn std::fmt::Display| format!("the credential helper {program:?} returned no credentials: {reason}");
    let mut command = Command::new(&program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(format!("https://{registry}").as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    let answer: Json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let text = |name: &str| answer.get(name).and_then(Json::as_str);
    match (output.status.success(), text("Username"), text("Secret")) {
        (true, Some("<token>"), Some(token)) => {
            Ok(Login::Tokens { access: Secret::new(""), refresh: Some(Secret::new(token)) })
        }
        (true, Some(user), Some(password)) => Ok(Login::Basic(user.to_owned(), Secret::new(password))),
        _ => Err(failed(&"its output has no user name and secret")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_entry_counts() {
        let entry = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let content = serde_json::json!({ "auths": {
            "r.example": { "auth": entry("a:1") },
            "r.example/x": { "auth": entry("b:2") },
            "https://index.docker.io/v1/": { "auth": entry("c:3") },
            "r.example/broken": { "auth": "%" },
        } });
        let check = |registry: &str, name: &str| match in_file(&content, registry, name) {
            Some((_, Login::Basic(user, password))) => format!("{user}:{}", password.reveal()),
            other => format!("{other:?}"),
        };
        assert_eq!(check("r.example", "y/z"), "a:1");
        assert_eq!(check("r.example", "x/z"), "b:2");
        assert_eq!(check("r.example", "xy"), "a:1");
        assert_eq!(check("r.example", "broken"), "a:1");
        assert_eq!(check("docker.io", "library/x"), "c:3");
        assert_eq!(check("other.example", "x"), "None");
    }
}
