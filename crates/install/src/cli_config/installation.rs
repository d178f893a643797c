//! The block `provider_installation`: where providers come from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ecow::{EcoString, eco_format};
use yuba_addrs::ProviderSource;
use yuba_net::Environment;
use yuba_syntax::Diagnostics;

use super::diagnostics;

use super::decode::{boolean, text, texts, whole};
use super::oci::repository_prefix;
use super::syntax::{Item, LineColumn, Node};

/// Sources of providers.
#[derive(Clone, Debug, Default)]
pub struct ProviderInstallation {
    /// The ways, in order.
    pub methods: Vec<InstallationMethod>,
    /// Directories with providers that are being worked on, used without questions.
    pub dev_overrides: BTreeMap<ProviderSource, PathBuf>,
}

/// A way by which providers come.
#[derive(Clone, Debug)]
pub struct InstallationMethod {
    /// From where.
    pub location: Location,
    /// Patterns of the providers that come this way; all of them if none is given.
    pub include: Vec<EcoString>,
    /// Patterns of the providers that do not.
    pub exclude: Vec<EcoString>,
    /// Number of retries of a download, if set.
    pub download_retries: Option<u32>,
    /// Which checksums of a network mirror are recorded: `trust_all_hashes`.
    pub trusted_hashes: TrustedHashes,
}

/// Which checksums that a mirror lists for a package are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedHashes {
    /// Those that the downloaded archive has.
    Verified,
    /// All of them, if the downloaded archive has one.
    All,
}

/// Source of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The registry that a provider names.
    Direct,
    /// A directory.
    FilesystemMirror(PathBuf),
    /// A host that speaks the mirror protocol, as it was written.
    NetworkMirror(EcoString),
    /// Container registries.
    OciMirror(RepositoryTemplate),
}

/// The address of a repository, with `${hostname}`, `${namespace}` and `${type}` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryTemplate(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(EcoString),
    Hostname,
    Namespace,
    Kind,
}

impl RepositoryTemplate {
    fn parse(text: &str) -> Result<RepositoryTemplate, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let before = &rest[..at];
            if before.ends_with('$') {
                return Err("\"$${\" is not supported in the address of a repository".to_owned());
            }
            parts.push(Part::Text(before.into()));
            let Some(end) = rest[at..].find('}') else { return Err("a \"${\" has no closing brace".to_owned()) };
            parts.push(match rest[at + 2..at + end].trim() {
                "hostname" => Part::Hostname,
                "namespace" => Part::Namespace,
                "type" => Part::Kind,
                other => {
                    return Err(format!(
                        "{other:?} is not supported here; use \"hostname\", \"namespace\" and \"type\" \
                         without further expressions"
                    ));
                }
            });
            rest = &rest[at + end + 1..];
        }
        parts.push(Part::Text(rest.into()));
        Ok(RepositoryTemplate(parts))
    }

    fn fill(&self, hostname: &str, namespace: &str, kind: &str) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.to_string(),
            Part::Hostname => hostname.to_owned(),
            Part::Namespace => namespace.to_owned(),
            Part::Kind => kind.to_owned(),
        };
        self.0.iter().map(part).collect()
    }

    /// The registry and the repository of a provider, or the reason for an error.
    pub fn repository(&self, provider: &ProviderSource) -> Result<(String, String), String> {
        let filled = self.fill(provider.host.as_str(), &provider.namespace, &provider.kind);
        let (registry, repository) = repository_prefix(&filled)?;
        match repository {
            Some(repository) => Ok((registry, repository)),
            None => Err(format!("{filled:?} names a registry, but no repository in it")),
        }
    }
}

/// Reads a block; none if nothing can be made of it.
pub(super) fn decode(
    item: &Item,
    environment: &Environment,
    problems: &mut Diagnostics,
) -> Option<ProviderInstallation> {
    let position = item.position;
    let wrong = diagnostics::invalid_installation;
    if item.is_assigned {
        problems
            .push(wrong(eco_format!("The block provider_installation at {position} must not have an equals sign.")));
        return None;
    }
    if item.keys.len() > 1 {
        problems.push(wrong(eco_format!("The block provider_installation at {position} must not have labels.")));
    }
    let bodies: Vec<&Item> = match &item.value {
        Node::Object(items) => items.iter().collect(),
        // In JSON several objects in an array are allowed, for a fixed order.
        Node::List(nodes) if nodes.iter().all(|node| matches!(node, Node::Object(_))) => nodes
            .iter()
            .flat_map(|node| match node {
                Node::Object(items) => items.as_slice(),
                _ => &[],
            })
            .collect(),
        _ => {
            problems.push(wrong(eco_format!("provider_installation at {position} must be a block.")));
            return None;
        }
    };
    let mut installation = ProviderInstallation::default();
    for method in bodies {
        read_method(method, environment, &mut installation, problems);
    }
    Some(installation)
}

fn read_method(
    item: &Item,
    environment: &Environment,
    installation: &mut ProviderInstallation,
    problems: &mut Diagnostics,
) {
    let position = item.position;
    if item.is_assigned {
        problems.push(diagnostics::method_not_a_block(position));
        return;
    }
    if item.keys.len() > 1 {
        problems.push(diagnostics::method_with_labels(position));
    }
    let kind = item.keys.first().map_or("", String::as_str);
    let bodies: Vec<&[Item]> = match &item.value {
        Node::Object(body) => vec![body],
        Node::List(nodes) => {
            nodes.iter().filter_map(|n| if let Node::Object(b) = n { Some(b.as_slice()) } else { None }).collect()
        }
        _ => Vec::new(),
    };
    if bodies.is_empty() {
        problems.push(diagnostics::method_not_a_block(position));
    }
    for body in bodies {
        let read = match kind {
            "dev_overrides" if !installation.methods.is_empty() => {
                Err("it must be the first block, because it takes precedence over them".to_owned())
            }
            "dev_overrides" => {
                overrides(body, environment, installation, problems);
                Ok(())
            }
            _ => one_method(kind, position, body, problems).map(|method| installation.methods.extend(method)),
        };
        if let Err(reason) = read {
            problems.push(diagnostics::invalid_method(kind, position, &reason));
        }
    }
}

fn one_method(
    kind: &str,
    position: LineColumn,
    body: &[Item],
    problems: &mut Diagnostics,
) -> Result<Option<InstallationMethod>, String> {
    let argument = |name: &str| body.iter().rev().find(|item| item.keys.first().is_some_and(|key| key == name));
    let patterns = |name: &str| match argument(name) {
        Some(item) => texts(item).map(|list| list.into_iter().map(EcoString::from).collect()),
        None => Ok(Vec::new()),
    };
    let required = |name: &str| match argument(name).map(text).transpose()? {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(format!("the argument {name:?} is required")),
    };
    let include: Vec<EcoString> = patterns("include")?;
    let location = match kind {
        "direct" => Location::Direct,
        "filesystem_mirror" => Location::FilesystemMirror(required("path")?.into()),
        "network_mirror" => Location::NetworkMirror(required("url")?.into()),
        "oci_mirror" => match template(&required("repository_template")?, &include) {
            Ok(template) => Location::OciMirror(template),
            Err(reason) => {
                problems.push(diagnostics::invalid_template(position, &reason));
                return Ok(None);
            }
        },
        _ => {
            return Err(format!(
                "the installation method {kind:?} is not supported; the supported methods are direct, \
                 filesystem_mirror, network_mirror, oci_mirror and dev_overrides"
            ));
        }
    };
    Ok(Some(InstallationMethod {
        location,
        include,
        exclude: patterns("exclude")?,
        download_retries: argument("download_retry_count").map(whole).transpose()?,
        trusted_hashes: match argument("trust_all_hashes").map(boolean).transpose()? {
            Some(true) => TrustedHashes::All,
            _ => TrustedHashes::Verified,
        },
    }))
}

fn overrides(
    body: &[Item],
    environment: &Environment,
    installation: &mut ProviderInstallation,
    problems: &mut Diagnostics,
) {
    for item in body {
        let name = item.keys.join(" ");
        match (ProviderSource::parse(&name), text(item)) {
            (Ok(provider), Ok(path)) => {
                installation.dev_overrides.insert(provider, environment.absolute(path));
            }
            (Err(error), _) => {
                problems.push(diagnostics::invalid_override(item.position, &error.diagnostic().explanation()));
            }
            (_, Err(reason)) => {
                problems.push(diagnostics::invalid_method("dev_overrides", item.position, &reason));
            }
        }
    }
}

/// Reads a template. It must distinguish all providers that it is for.
fn template(text: &str, include: &[EcoString]) -> Result<RepositoryTemplate, String> {
    let template = RepositoryTemplate::parse(text)?;
    // The three parts of a pattern; what is not written is the default registry, or its namespace.
    let parts = include.iter().map(|pattern| {
        let parts: Vec<&str> = pattern.split('/').collect();
        match parts.as_slice() {
            [host, namespace, kind] => [*host, *namespace, *kind],
            [namespace, kind] => [yuba_addrs::DEFAULT_REGISTRY, *namespace, *kind],
            _ => [yuba_addrs::DEFAULT_REGISTRY, "hashicorp", pattern.as_str()],
        }
    });
    let parts: Vec<[&str; 3]> = parts.collect();
    let needed = [(Part::Hostname, "hostname"), (Part::Namespace, "namespace"), (Part::Kind, "type")];
    for (at, (part, name)) in needed.iter().enumerate() {
        let mut values: Vec<&str> = parts.iter().map(|parts| parts[at]).filter(|value| *value != "*").collect();
        values.sort_unstable();
        values.dedup();
        if values.len() != 1 && !template.0.contains(part) {
            return Err(format!("it must contain \"${{{name}}}\", unless \"include\" selects exactly one {name}"));
        }
    }
    match repository_prefix(&template.fill("example.com", "example-namespace", "example-type")) {
        Ok((_, Some(_))) => Ok(template),
        _ => Err("it must form the address of a repository: the hostname of a registry, a slash and a name".to_owned()),
    }
}
