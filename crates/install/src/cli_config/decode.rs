//! From the tree of a CLI configuration file to what it says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use yuba_addrs::Hostname;
use yuba_net::Environment;
use yuba_syntax::Diagnostics;
use yuba_syntax::suggestion::closest;

use super::syntax::{self, Item, LineColumn, Malformed, Node};
use super::{CliConfig, CredentialsProgram, HostCredentials, diagnostics, installation, oci};

const KNOWN: [&str; 10] = [
    "plugin_cache_dir",
    "plugin_cache_may_break_dependency_lock_file",
    "credentials",
    "credentials_helper",
    "host",
    "provider_installation",
    "registry_protocols",
    "oci_default_credentials",
    "oci_credentials",
    "disable_checkpoint",
];
/// Old settings without effect.
const FORGOTTEN: [&str; 3] = ["disable_checkpoint_signature", "providers", "provisioners"];

/// Reads one file.
pub(super) fn file(path: &Path, bytes: &[u8], environment: &Environment, problems: &mut Diagnostics) -> CliConfig {
    let mut config = CliConfig::default();
    let parsed = match std::str::from_utf8(bytes) {
        Ok(text) => syntax::parse(text),
        Err(_) => Err(Malformed { position: LineColumn::default(), reason: "the file is not UTF-8".to_owned() }),
    };
    let items = match parsed {
        Ok(items) => items,
        Err(Malformed { position, reason }) => {
            problems.push(diagnostics::malformed(path, position, &reason));
            return config;
        }
    };
    let is_registry = |item: &&Item| item.keys.first().is_some_and(|key| key == "registry_protocols");
    if let [first, _, ..] = items.iter().filter(is_registry).collect::<Vec<_>>().as_slice() {
        problems.push(diagnostics::repeated_registry_protocols(path, first.position));
    }
    for item in items {
        let mut read = CliConfig::default();
        if let Err(reason) = setting(&item, path, environment, &mut read, problems) {
            problems.push(diagnostics::malformed(path, item.position, &reason));
        }
        config.merge(read, problems);
    }
    config
}

/// Reads one item at the top of a file.
fn setting(
    item: &Item,
    path: &Path,
    environment: &Environment,
    config: &mut CliConfig,
    problems: &mut Diagnostics,
) -> Result<(), String> {
    let Some(name) = item.keys.first() else { return Ok(()) };
    match name.as_str() {
        "plugin_cache_dir" => {
            config.plugin_cache_dir =
                Some(expand(&text(item)?, environment)).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        }
        "plugin_cache_may_break_dependency_lock_file" => config.plugin_cache_may_break_lock_file = boolean(item)?,
        "credentials" => {
            for (host, body) in labelled(item)? {
                if let Some(host) = hostname("credentials", &host, problems) {
                    let object = Node::Object(body.to_vec()).to_json().as_object().cloned().unwrap_or_default();
                    config.credentials.insert(host, HostCredentials(object));
                }
            }
        }
        "host" => {
            for (host, body) in labelled(item)? {
                let Some(host) = hostname("host", &host, problems) else { continue };
                let services = body.iter().filter(|item| item.keys.first().is_some_and(|key| key == "services"));
                let mut all = serde_json::Map::new();
                for services in services {
                    match Node::Object(vec![services.clone()]).to_json().pointer("/services") {
                        Some(serde_json::Value::Object(object)) => all.extend(object.clone()),
                        _ => return Err(format!("\"services\" of the host {host} must be an object")),
                    }
                }
                config.hosts.insert(host, all);
            }
        }
        "credentials_helper" => {
            let mut helpers = Vec::new();
            for (kind, body) in labelled(item)? {
                let mut args = Vec::new();
                for item in body.iter().filter(|item| item.keys.first().is_some_and(|key| key == "args")) {
                    args = texts(item)?;
                }
                helpers.push(CredentialsProgram { kind: kind.into(), args });
            }
            if helpers.len() > 1 {
                problems.push(diagnostics::several("credentials_helper"));
            }
            config.credentials_helper = helpers.into_iter().next();
        }
        "registry_protocols" => {
            if let Err(reason) = registry_protocols(item, config) {
                problems.push(diagnostics::invalid_registry_protocols(path, item.position, &reason));
            }
        }
        "provider_installation" => config.provider_installation = installation::decode(item, environment, problems),
        "oci_default_credentials" => {
            config.oci_default_credentials = oci::default_credentials(item, path, environment, problems);
        }
        "oci_credentials" => config.oci_credentials = oci::credentials(item, problems),
        name if KNOWN.contains(&name) || FORGOTTEN.contains(&name) => {}
        name => {
            problems.push(diagnostics::unknown_setting(path, item.position, name, closest(name, KNOWN)));
        }
    }
    Ok(())
}

fn registry_protocols(item: &Item, config: &mut CliConfig) -> Result<(), String> {
    let Node::Object(body) = &item.value else { return Err("\"registry_protocols\" must be a block".to_owned()) };
    for item in body {
        match item.keys.first().map(String::as_str) {
            Some("retry_count") => config.registry_retries = Some(whole(item)?),
            Some("request_timeout_seconds") => {
                config.registry_timeout = Some(Duration::from_secs(whole(item)?.into()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn hostname(block: &str, given: &str, problems: &mut Diagnostics) -> Option<Hostname> {
    match Hostname::parse(given) {
        Ok(host) => Some(host),
        Err(reason) => {
            problems.push(diagnostics::invalid_hostname(block, given, &reason));
            None
        }
    }
}

/// The blocks of an item that has one label: `block "label" { }`, and the forms in which the label is a key within.
pub(super) fn labelled(item: &Item) -> Result<Vec<(String, Vec<Item>)>, String> {
    let name = item.keys.first().map_or("", String::as_str);
    let wrong = || format!("{name:?} must be a block with one label");
    match (item.keys.as_slice(), &item.value) {
        ([_, label], Node::Object(body)) => Ok(vec![(label.clone(), body.clone())]),
        ([_], Node::Object(items)) => {
            let mut found = Vec::new();
            for item in items {
                match (item.keys.as_slice(), &item.value) {
                    ([label], Node::Object(body)) => found.push((label.clone(), body.clone())),
                    ([label], Node::List(bodies)) => {
                        for body in bodies {
                            let Node::Object(body) = body else { return Err(wrong()) };
                            found.push((label.clone(), body.clone()));
                        }
                    }
                    _ => return Err(wrong()),
                }
            }
            Ok(found)
        }
        ([_], Node::List(bodies)) => {
            let mut found = Vec::new();
            for body in bodies {
                let one = Item { value: body.clone(), ..item.clone() };
                if !matches!(body, Node::Object(_)) {
                    return Err(wrong());
                }
                found.extend(labelled(&one)?);
            }
            Ok(found)
        }
        _ => Err(wrong()),
    }
}

fn needed(item: &Item, what: &str) -> String {
    format!("{:?} needs {what}, not {}", item.keys.join(" "), item.value.kind())
}

/// A string; numbers and booleans are converted to strings.
pub(super) fn text(item: &Item) -> Result<String, String> {
    match &item.value {
        Node::Text(text) => Ok(text.clone()),
        Node::Number(number) => Ok(number.to_string()),
        _ => Err(needed(item, "a string")),
    }
}

pub(super) fn texts(item: &Item) -> Result<Vec<String>, String> {
    let Node::List(nodes) = &item.value else { return Err(needed(item, "a list of strings")) };
    let text = |node: &Node| match node {
        Node::Text(text) => Ok(text.clone()),
        _ => Err(needed(item, "a list of strings")),
    };
    nodes.iter().map(text).collect()
}

pub(super) fn boolean(item: &Item) -> Result<bool, String> {
    match &item.value {
        Node::Bool(value) => Ok(*value),
        Node::Text(text) if text == "true" || text == "1" => Ok(true),
        Node::Text(text) if text == "false" || text == "0" => Ok(false),
        Node::Number(number) => Ok(*number != 0.0),
        _ => Err(needed(item, "true or false")),
    }
}

pub(super) fn whole(item: &Item) -> Result<u32, String> {
    let number = match &item.value {
        Node::Number(number) => Some(*number),
        Node::Text(text) => text.parse().ok(),
        _ => None,
    };
    match number {
        Some(number) if number.fract() == 0.0 && (0.0..=1e9).contains(&number) => Ok(number as u32),
        _ => Err(needed(item, "a whole number")),
    }
}

/// Replaces `$NAME` and `${NAME}` by the values of environment variables.
fn expand(given: &str, environment: &Environment) -> String {
    let mut expanded = String::new();
    let mut rest = given;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, end) = match after.strip_prefix('{').and_then(|inner| inner.find('}').map(|end| (inner, end))) {
            Some((inner, end)) => (&inner[..end], end + 2),
            None => {
                let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
                (&after[..end], end)
            }
        };
        if name.is_empty() {
            expanded.push('$');
        } else {
            expanded.push_str(environment.get(name).unwrap_or_default());
        }
        rest = &after[end.min(after.len())..];
    }
    expanded + rest
}
