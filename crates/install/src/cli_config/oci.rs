//! Credentials for container registries: the blocks `oci_default_credentials` and `oci_credentials`.

use std::path::{Path, PathBuf};

use ecow::EcoString;
use yuba_net::{Environment, Secret};
use yuba_syntax::Diagnostics;

use super::diagnostics;

use super::decode::{boolean, labelled, text, texts};
use super::syntax::{Item, Node};

/// Sources of credentials without an `oci_credentials` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciDefaultCredentials {
    /// Whether configuration files of container tools are searched.
    pub discover: bool,
    /// The files to search instead of the usual ones.
    pub docker_config_files: Option<Vec<PathBuf>>,
    /// Name of a credential helper, without `docker-credential-`.
    pub docker_helper: Option<EcoString>,
}

impl Default for OciDefaultCredentials {
    fn default() -> OciDefaultCredentials {
        OciDefaultCredentials { discover: true, docker_config_files: None, docker_helper: None }
    }
}

/// Credentials for the repositories whose addresses begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciCredentials {
    /// Prefix of their addresses: `registry.example.com/path`.
    pub prefix: EcoString,
    /// Credentials.
    pub login: OciLogin,
}

/// Credentials for a container registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OciLogin {
    /// With a name and a password.
    Basic(EcoString, Secret),
    /// With tokens.
    Tokens {
        /// To be used at once.
        access: Secret,
        /// To get another one.
        refresh: Secret,
    },
    /// From the credential helper of this name, without `docker-credential-`.
    Helper(EcoString),
}

/// Splits the address of a repository into the registry and the path in it, or fails with the reason.
pub fn repository_prefix(address: &str) -> Result<(String, Option<String>), String> {
    let (registry, path) = match address.split_once('/') {
        Some((registry, path)) => (registry, Some(path)),
        None => (address, None),
    };
    let is_host = yuba_net::http::Url::parse(&format!("https://{registry}/")).is_ok_and(|url| {
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        url.username().is_empty()
            && url.password().is_none()
            && url.host_str().is_some_and(|host| format!("{host}{port}").eq_ignore_ascii_case(registry))
    });
    if !is_host {
        return Err(format!("{registry:?} is not the hostname of a registry"));
    }
    let Some(path) = path else { return Ok((registry.to_owned(), None)) };
    if path.contains([':', '@']) {
        return Err("a tag or digest is not supported here".to_owned());
    }
    let is_part = |part: &str| {
        let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
        edge(part.as_bytes().first()) && edge(part.as_bytes().last()) && part.bytes().all(is_inner)
    };
    if !path.split('/').all(is_part) {
        return Err(format!(
            "{path:?} is not the name of a repository: it may have lower-case letters, digits, and \".\", \"_\", \"-\" between them"
        ));
    }
    Ok((registry.to_owned(), Some(path.to_owned())))
}

fn is_program(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '\0'])
}

/// Reads a block; relative paths in it are relative to its file.
pub(super) fn default_credentials(
    item: &Item,
    file: &Path,
    environment: &Environment,
    problems: &mut Diagnostics,
) -> Option<OciDefaultCredentials> {
    let position = item.position;
    let mut complain = |reason: &str| {
        problems.push(diagnostics::invalid_oci_default_credentials(position, reason));
    };
    if item.is_assigned {
        complain("must not have an equals sign");
        return None;
    }
    if item.keys.len() > 1 {
        complain("must not have labels");
        return None;
    }
    let Node::Object(body) = &item.value else {
        complain("must be an object");
        return None;
    };
    let mut read = OciDefaultCredentials::default();
    for item in body {
        let outcome = match item.keys.first().map(String::as_str) {
            Some("discover_ambient_credentials") => boolean(item).map(|discover| read.discover = discover),
            Some("docker_style_config_files") => texts(item).map(|files| {
                let base = file.parent().unwrap_or(Path::new("."));
                let absolute = |name: String| environment.absolute(base.join(name));
                read.docker_config_files = Some(files.into_iter().map(absolute).collect());
            }),
            Some("docker_credentials_helper") => match text(item) {
                Ok(name) if is_program(&name) => {
                    read.docker_helper = Some(name.into());
                    Ok(())
                }
                Ok(name) => Err(format!("{name:?} cannot be part of the name of an executable")),
                Err(reason) => Err(reason),
            },
            _ => Ok(()),
        };
        if let Err(reason) = outcome {
            complain(&format!("is wrong: {reason}"));
            return None;
        }
    }
    if !read.discover && read.docker_config_files.is_some() {
        complain("sets docker_style_config_files, but disables the discovery of credentials");
    }
    Some(read)
}

/// Reads blocks.
pub(super) fn credentials(item: &Item, problems: &mut Diagnostics) -> Vec<OciCredentials> {
    let position = item.position;
    let mut complain = |reason: &str| {
        problems.push(diagnostics::invalid_oci_credentials(position, reason));
    };
    let blocks = match labelled(item) {
        Ok(blocks) if !item.is_assigned => blocks,
        Ok(_) => {
            complain("must not have an equals sign");
            return Vec::new();
        }
        Err(_) => {
            complain("must have one label: how the addresses of the repositories begin");
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (prefix, body) in blocks {
        match login(&prefix, &body) {
            Ok(login) => found.push(OciCredentials { prefix: prefix.into(), login }),
            Err(reason) => complain(&format!("is wrong: {reason}")),
        }
    }
    found
}

fn login(prefix: &str, body: &[Item]) -> Result<OciLogin, String> {
    let (_, path) = repository_prefix(prefix)?;
    let argument = |name: &str| {
        let item = body.iter().rev().find(|item| item.keys.first().is_some_and(|key| key == name));
        item.map(text).transpose()
    };
    let (username, password) = (argument("username")?, argument("password")?);
    let (access, refresh) = (argument("access_token")?, argument("refresh_token")?);
    let helper = argument("docker_credentials_helper")?;
    let groups = [username.is_some() || password.is_some(), access.is_some() || refresh.is_some(), helper.is_some()];
    if groups.iter().filter(|given| **given).count() != 1 {
        return Err("it needs one of these: username and password; access_token and refresh_token; \
                    docker_credentials_helper"
            .to_owned());
    }
    match (username, password, access, refresh, helper) {
        (Some(username), Some(password), ..) => Ok(OciLogin::Basic(username.into(), Secret::new(password))),
        (_, _, Some(access), Some(refresh), _) => {
            Ok(OciLogin::Tokens { access: Secret::new(access), refresh: Secret::new(refresh) })
        }
        (.., Some(_)) if path.is_some() => {
            Err("credential helpers support whole registries only, so the label must not contain a path".to_owned())
        }
        (.., Some(helper)) if is_program(&helper) => Ok(OciLogin::Helper(helper.into())),
        (.., Some(helper)) => Err(format!("{helper:?} cannot be part of the name of an executable")),
        (Some(_), None, ..) | (None, Some(_), ..) => Err("username and password are needed together".to_owned()),
        _ => Err("access_token and refresh_token are needed together".to_owned()),
    }
}
