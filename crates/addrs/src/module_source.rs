//! Sources of modules: a local directory, a registry, or a remote package.

use std::fmt;

use ecow::{EcoString, eco_format};
use yuba_syntax::{Diagnostic, Span};
use yuba_value::quote;

use crate::diagnostics;
use crate::hostname::Hostname;
use crate::provider::DEFAULT_REGISTRY;
use crate::url;

/// Source of a module. The caller keeps the original string.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModuleSource {
    /// `./dir` or `../dir`: a directory of the same package, relative to the calling module.
    Local(EcoString),
    /// A module in a registry.
    Registry(RegistryModule),
    /// A package, and a directory in it.
    Remote(RemoteModule),
}

/// `[host/]namespace/name/system[//subdir]`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryModule {
    /// The registry.
    pub host: Hostname,
    /// Publisher.
    pub namespace: EcoString,
    /// Name of the module.
    pub name: EcoString,
    /// Target system.
    pub system: EcoString,
    /// The directory in its package.
    pub subdir: Option<EcoString>,
}

/// A package that is fetched from where its address says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteModule {
    /// The address with its protocol: `git::https://github.com/a/b.git?ref=v1`.
    pub package: EcoString,
    /// The directory in the package.
    pub subdir: Option<EcoString>,
}

/// Reason why a string is not a module source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleSourceError {
    /// It could be a path that lacks `./`.
    MaybeRelativePath(EcoString),
    /// The reason why it is malformed.
    Malformed(EcoString),
    /// The reason why it is not a registry address, which the `version` argument requires.
    MalformedRegistry(EcoString),
}

impl ModuleSourceError {
    /// As a diagnostic without a location.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            ModuleSourceError::MaybeRelativePath(address) => diagnostics::module_source_unknown(address),
            ModuleSourceError::Malformed(reason) => diagnostics::module_source_malformed(reason),
            ModuleSourceError::MalformedRegistry(reason) => diagnostics::module_source_not_registry(reason),
        }
    }
    /// As a diagnostic at this location.
    pub fn at(&self, span: Span) -> Diagnostic {
        self.diagnostic().at(span)
    }
}

impl ModuleSource {
    /// Reads a source. A source that looks neither like a path nor like a registry address is a package address.
    pub fn parse(raw: &str) -> Result<ModuleSource, ModuleSourceError> {
        if is_local(raw) {
            return Ok(ModuleSource::Local(clean_local(raw)));
        }
        if let Ok(module) = RegistryModule::parse(raw) {
            return Ok(ModuleSource::Registry(module));
        }
        RemoteModule::parse(raw).map(ModuleSource::Remote)
    }
    /// Reads a source that comes with a version constraint, so that it must be in a registry.
    pub fn parse_registry(raw: &str) -> Result<ModuleSource, ModuleSourceError> {
        if is_local(raw) {
            let reason = eco_format!("{} is a local directory", quote(raw));
            return Err(ModuleSourceError::MalformedRegistry(reason));
        }
        RegistryModule::parse(raw).map(ModuleSource::Registry).map_err(ModuleSourceError::MalformedRegistry)
    }
    /// Whether it leads to another package than that of the calling module.
    pub fn enters_new_package(&self) -> bool {
        !matches!(self, ModuleSource::Local(_))
    }
    /// Whether it is in the file system of this machine: relative to the calling module, or at an absolute path.
    pub fn is_in_file_system(&self) -> bool {
        match self {
            ModuleSource::Local(_) => true,
            ModuleSource::Remote(module) => module.package.starts_with("file://"),
            ModuleSource::Registry(_) => false,
        }
    }
    /// As people write it: without the hostname of the default registry.
    pub fn for_display(&self) -> EcoString {
        match self {
            ModuleSource::Registry(module) if module.host.as_str() == DEFAULT_REGISTRY => {
                eco_format!("{}", WithSubdir(&module.for_registry(), module.subdir.as_deref()))
            }
            _ => eco_format!("{self}"),
        }
    }
}

fn is_local(raw: &str) -> bool {
    ["./", "../", ".\\", "..\\"].iter().any(|prefix| raw.starts_with(prefix))
}

fn clean_local(raw: &str) -> EcoString {
    let clean = url::clean_path(&raw.replace('\\', "/"));
    if clean.starts_with("../") { clean } else { eco_format!("./{clean}") }
}

/// Splits `package//subdir?query` into `package?query` and the cleaned subdirectory.
fn split_subdir(source: &str) -> (EcoString, Option<EcoString>) {
    let stop = source.find('?').unwrap_or(source.len());
    let offset = source[..stop].find("://").map_or(0, |at| at + 3);
    let Some(at) = source[offset..stop].find("//").map(|at| at + offset) else { return (source.into(), None) };
    let subdir = &source[at + 2..stop];
    let package = eco_format!("{}{}", &source[..at], &source[stop..]);
    (package, (!subdir.is_empty()).then(|| url::clean_path(subdir)))
}

fn outside_package(subdir: Option<&EcoString>) -> Option<EcoString> {
    let subdir = subdir.filter(|subdir| subdir.starts_with("../"))?;
    Some(eco_format!("the subdirectory {} leads out of the module's package", quote(subdir)))
}

impl RegistryModule {
    /// Reads an address, or fails with the reason.
    pub fn parse(raw: &str) -> Result<RegistryModule, EcoString> {
        let (package, subdir) = split_subdir(raw);
        if let Some(reason) = outside_package(subdir.as_ref()) {
            return Err(reason);
        }
        let parts: Vec<&str> = package.split('/').collect();
        let (host, namespace, name, system) = match parts.as_slice() {
            [namespace, name, system] => (Hostname::known(DEFAULT_REGISTRY), *namespace, *name, *system),
            [host, namespace, name, system] => (registry_host(host)?, *namespace, *name, *system),
            _ => return Err("it must have three or four parts, with slashes between them".into()),
        };
        if ["github.com", "bitbucket.org"].contains(&host.as_str()) {
            return Err(eco_format!("\"{host}\" is not a registry, but a host of version control repositories"));
        }
        if !is_registry_name(namespace) {
            return Err(if namespace.contains('.') {
                "after the hostname there must be three parts: namespace, name and target system".into()
            } else {
                eco_format!("the namespace {} {NAME_RULE}", quote(namespace))
            });
        }
        if !is_registry_name(name) {
            return Err(eco_format!("the module name {} {NAME_RULE}", quote(name)));
        }
        if !is_registry_system(system) {
            return Err(if system.contains('?') {
                "it cannot have a query string".into()
            } else {
                eco_format!("the target system {} must have one to 64 digits and lower-case letters", quote(system))
            });
        }
        let [namespace, name, system] = [namespace, name, system].map(EcoString::from);
        Ok(RegistryModule { host, namespace, name, system, subdir })
    }
    /// As its registry knows it: `namespace/name/system`.
    pub fn for_registry(&self) -> EcoString {
        eco_format!("{}/{}/{}", self.namespace, self.name, self.system)
    }
}

const NAME_RULE: &str =
    "must have one to 64 letters, digits, dashes and underscores, and must start and end with a letter or digit";

fn registry_host(given: &str) -> Result<Hostname, EcoString> {
    let host = Hostname::parse(given)
        .map_err(|reason| eco_format!("the hostname {} of the registry is not valid: {reason}", quote(given)))?;
    if host.as_str().contains('.') { Ok(host) } else { Err("the hostname of the registry must have a dot".into()) }
}

fn is_registry_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= 64
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_')
}

fn is_registry_system(system: &str) -> bool {
    (1..=64).contains(&system.len()) && system.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
}

impl RemoteModule {
    /// Reads an address: completes shorthands like `github.com/a/b` and adds the protocol.
    pub fn parse(raw: &str) -> Result<RemoteModule, ModuleSourceError> {
        let (given, subdir) = split_subdir(raw);
        if let Some(reason) = outside_package(subdir.as_ref()) {
            return Err(ModuleSourceError::Malformed(reason));
        }
        let (package, found) = split_subdir(&detect(&given)?);
        let subdir = match (found, subdir) {
            (Some(found), Some(subdir)) => Some(url::clean_path(&eco_format!("{found}/{subdir}"))),
            (found, subdir) => found.or(subdir),
        };
        if let Some(reason) = outside_package(subdir.as_ref()) {
            return Err(ModuleSourceError::Malformed(reason));
        }
        Ok(RemoteModule { package, subdir })
    }
    /// The location that a registry names for a module: its subdirectory, then the requested one.
    #[must_use]
    pub fn from_registry(mut self, asked: &RegistryModule) -> RemoteModule {
        if let Some(asked) = &asked.subdir {
            self.subdir = Some(match &self.subdir {
                Some(subdir) => url::clean_path(&eco_format!("{subdir}/{asked}")),
                None => asked.clone(),
            });
        }
        self
    }
}

/// Splits `git::address` into the protocol that is forced and the address.
fn forced_protocol(source: &str) -> (Option<&str>, &str) {
    match source.split_once("::") {
        Some((protocol, rest))
            if !protocol.is_empty()
                && protocol.bytes().all(|b| b.is_ascii_alphanumeric())
                && !rest.is_empty()
                && !rest.contains('\n') =>
        {
            (Some(protocol), rest)
        }
        _ => (None, source),
    }
}

/// The address with its protocol, found by the forms that are known.
fn detect(source: &str) -> Result<EcoString, ModuleSourceError> {
    let malformed = |reason: EcoString| Err(ModuleSourceError::Malformed(reason));
    let (forced, address) = forced_protocol(source);
    let (address, subdir) = split_subdir(address);
    if url::has_scheme(&address) {
        return Ok(source.into());
    }
    if address.is_empty() {
        return malformed(eco_format!("{} is not a source", quote(source)));
    }
    for form in [github, git_ssh, bitbucket, google_storage, amazon_s3] {
        match form(&address) {
            Ok(None) => {}
            Ok(Some((protocol, found))) => {
                let (found, inner) = split_subdir(&found);
                let subdir = match (inner, &subdir) {
                    (Some(inner), Some(subdir)) => Some(url::clean_path(&eco_format!("{inner}/{subdir}"))),
                    (inner, subdir) => inner.or_else(|| subdir.clone()),
                };
                let found = eco_format!("{}", WithSubdir(&found, subdir.as_deref()));
                return Ok(eco_format!("{}::{found}", forced.unwrap_or(protocol)));
            }
            Err(reason) => return malformed(reason),
        }
    }
    let Some(path) = address.strip_prefix('/') else { return Err(ModuleSourceError::MaybeRelativePath(address)) };
    let found = eco_format!("file:///{path}");
    let found = eco_format!("{}", WithSubdir(&found, subdir.as_deref()));
    Ok(match forced {
        Some(forced) => eco_format!("{forced}::{found}"),
        None => found,
    })
}

/// A form: the protocol and address it stands for, nothing if the text is not of this form, or the reason why it is invalid.
type Detected = Result<Option<(&'static str, EcoString)>, EcoString>;

fn github(source: &str) -> Detected {
    if !source.starts_with("github.com/") {
        return Ok(None);
    }
    let (source, query) = source.find('?').map_or((source, ""), |at| source.split_at(at));
    let parts: Vec<&str> = source.splitn(4, '/').collect();
    let [host, user, repository, rest @ ..] = parts.as_slice() else {
        return Err("a GitHub address is of the form github.com/username/repository".into());
    };
    let escaped = url::escape_path(&eco_format!("{user}/{repository}"));
    let path = escaped.ok_or_else(|| eco_format!("{} is not a GitHub address", quote(source)))?;
    let suffix = if path.ends_with(".git") { "" } else { ".git" };
    let rest: EcoString = rest.iter().map(|rest| eco_format!("//{}", url::escape_raw_path(rest))).collect();
    let query = if query == "?" { "" } else { query };
    Ok(Some(("git", eco_format!("https://{host}/{path}{suffix}{rest}{query}"))))
}

/// `git@host:path`
fn git_ssh(source: &str) -> Detected {
    let Some((host, path)) = source.strip_prefix("git@").and_then(|rest| rest.split_once(':')) else { return Ok(None) };
    let path = match path.strip_prefix('/') {
        Some(rest) if !rest.is_empty() => rest,
        _ => path,
    };
    if host.is_empty() || path.is_empty() || path.contains('\n') {
        return Ok(None);
    }
    let (path, query) = match path.split_once('?') {
        None => (path, EcoString::new()),
        Some((path, query)) => match url::normalize_query(query) {
            Some(query) if query.is_empty() => (path, query),
            Some(query) => (path, eco_format!("?{query}")),
            None => return Err(eco_format!("the query of {} is malformed", quote(source))),
        },
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(Some(("git", eco_format!("ssh://git@{host}{slash}{}{query}", url::escape_raw_path(path)))))
}

/// All repositories of Bitbucket use git, so there is no need to ask it.
fn bitbucket(source: &str) -> Detected {
    if !source.starts_with("bitbucket.org/") {
        return Ok(None);
    }
    let (path, query) = source.find('?').map_or((source, ""), |at| source.split_at(at));
    let path = url::escape_path(path).ok_or_else(|| eco_format!("{} is not a Bitbucket address", quote(source)))?;
    let suffix = if path.ends_with(".git") { "" } else { ".git" };
    Ok(Some(("git", eco_format!("https://{path}{suffix}{query}"))))
}

fn google_storage(source: &str) -> Detected {
    if !source.contains(".googleapis.com/") {
        return Ok(None);
    }
    let parts: Vec<&str> = source.splitn(5, '/').collect();
    let [_, _, version, bucket, object] = parts.as_slice() else {
        return Err("it is not the address of an object in Google Cloud Storage".into());
    };
    Ok(Some(("gcs", eco_format!("https://www.googleapis.com/storage/{version}/{bucket}/{object}"))))
}

fn amazon_s3(source: &str) -> Detected {
    if !source.contains(".amazonaws.com/") {
        return Ok(None);
    }
    let (host, path) = source.split_once('/').unwrap_or((source, ""));
    let host: Vec<&str> = host.split('.').collect();
    let found = match host.as_slice() {
        [region, _, _] => eco_format!("https://{region}.amazonaws.com/{path}"),
        [bucket, region, _, _] => eco_format!("https://{region}.amazonaws.com/{bucket}/{path}"),
        [bucket, "s3", region, _, _] => eco_format!("https://s3.{region}.amazonaws.com/{bucket}/{path}"),
        _ => return Err("it is not the address of an object in Amazon S3".into()),
    };
    Ok(Some(("s3", found)))
}

/// `package//subdir?query`
struct WithSubdir<'a>(&'a str, Option<&'a str>);

impl fmt::Display for WithSubdir<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (package, None) => f.write_str(package),
            (package, Some(subdir)) => match package.split_once('?') {
                Some((package, query)) => write!(f, "{package}//{subdir}?{query}"),
                None => write!(f, "{package}//{subdir}"),
            },
        }
    }
}

/// In full.
impl fmt::Display for ModuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModuleSource::Local(path) => f.write_str(path),
            ModuleSource::Registry(module) => write!(f, "{module}"),
            ModuleSource::Remote(module) => write!(f, "{module}"),
        }
    }
}

impl fmt::Display for RegistryModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, WithSubdir(&self.for_registry(), self.subdir.as_deref()))
    }
}

impl fmt::Display for RemoteModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", WithSubdir(&self.package, self.subdir.as_deref()))
    }
}

/// The address of a package without the password and the key for ssh that may be in it, to be shown to people.
pub fn without_secrets(address: &str) -> EcoString {
    let (start, query) = address.split_once('?').map_or((address, None), |(start, query)| (start, Some(query)));
    let start = match start.split_once("://") {
        Some((before, after)) => {
            let (host, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            // Hosts accept a token as the name of the user, in place of a password.
            let is_web = matches!(before.rsplit("::").next(), Some("http" | "https"));
            match host.rsplit_once('@').map(|(user, host)| (user.split_once(':').unwrap_or((user, "")), host)) {
                Some(((_, "" | "x-oauth-basic"), host)) if is_web => eco_format!("{before}://(secret)@{host}{path}"),
                Some(((user, password), host)) if !password.is_empty() => {
                    eco_format!("{before}://{user}:(secret)@{host}{path}")
                }
                _ => start.into(),
            }
        }
        None => start.into(),
    };
    let Some(query) = query else { return start };
    let is_key = |argument: &&str| argument.split('=').next() == Some("sshkey");
    let arguments = query.split('&').map(|argument| if is_key(&argument) { "sshkey=(secret)" } else { argument });
    eco_format!("{start}?{}", arguments.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(parse: impl Fn(&str) -> Result<ModuleSource, ModuleSourceError>, sources: &[&str], expect: &Expect) {
        let mut out = String::new();
        for source in sources {
            out += &match parse(source) {
                Ok(ModuleSource::Local(path)) => format!("{source} -> local {path}\n"),
                Ok(found @ ModuleSource::Registry(_)) => {
                    format!("{source} -> registry {found} ({})\n", found.for_display())
                }
                Ok(ModuleSource::Remote(found)) => {
                    let subdir = found.subdir.map_or(String::new(), |subdir| format!(" in {subdir}"));
                    format!("{source} -> {}{subdir}\n", found.package)
                }
                Err(ModuleSourceError::MaybeRelativePath(path)) => format!("{source} ! perhaps ./{path}\n"),
                Err(ModuleSourceError::Malformed(reason)) => format!("{source} ! {reason}\n"),
                Err(ModuleSourceError::MalformedRegistry(reason)) => format!("{source} ! registry: {reason}\n"),
            };
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn paths_and_registry_addresses() {
        check(
            ModuleSource::parse,
            &[
                "./child",
                "./",
                "../child/../x//y",
                ".\\child\\x",
                "../",
                "hashicorp/subnets/cidr",
                "hashicorp/subnets/cidr//examples/foo",
                "Example.com/aws_corp/Net-1/aws",
                "example.com:8443/a/b/c//x?y",
                "registry.opentofu.org/a/b/c",
            ],
            &expect![[r#"
                ./child -> local ./child
                ./ -> local ./.
                ../child/../x//y -> local ../x/y
                .\child\x -> local ./child/x
                ../ -> local ./..
                hashicorp/subnets/cidr -> registry registry.opentofu.org/hashicorp/subnets/cidr (hashicorp/subnets/cidr)
                hashicorp/subnets/cidr//examples/foo -> registry registry.opentofu.org/hashicorp/subnets/cidr//examples/foo (hashicorp/subnets/cidr//examples/foo)
                Example.com/aws_corp/Net-1/aws -> registry example.com/aws_corp/Net-1/aws (example.com/aws_corp/Net-1/aws)
                example.com:8443/a/b/c//x?y -> example.com:8443/a/b/c?y in x
                registry.opentofu.org/a/b/c -> registry registry.opentofu.org/a/b/c (a/b/c)
            "#]],
        );
    }

    #[test]
    fn packages_elsewhere() {
        check(
            ModuleSource::parse,
            &[
                "github.com/hashicorp/example",
                "github.com/hashicorp/example.git",
                "github.com/hashicorp/example//sub?ref=v1",
                "github.com/hashicorp/example/sub/dir?ref=v1",
                "github.com/a/b/c",
                "git@github.com:hashicorp/example.git",
                "git@github.com:hashicorp/example.git//sub?ref=b&depth=1",
                "git::git@example.com:x/y.git",
                "git::https://example.com/x.git//sub?ref=v1",
                "git::ssh://user@example.com/x.git",
                "https://example.com/module.zip",
                "https://example.com/module//sub?archive=zip",
                "bitbucket.org/a/b",
                "www.googleapis.com/storage/v1/bucket/a/b.zip",
                "s3-eu-west-1.amazonaws.com/bucket/a.zip",
                "bucket.s3-eu-west-1.amazonaws.com/a.zip//sub",
                "bucket.s3.eu-west-1.amazonaws.com/a.zip",
                "s3::https://s3.amazonaws.com/bucket/a.zip",
                "oci://example.com/repo?tag=1",
                "/tmp/module//sub",
                "git::github.com/a b/c//x",
                "localhost:8080/a/b/c",
                "hg::http://example.com/x",
            ],
            &expect![[r#"
                github.com/hashicorp/example -> git::https://github.com/hashicorp/example.git
                github.com/hashicorp/example.git -> git::https://github.com/hashicorp/example.git
                github.com/hashicorp/example//sub?ref=v1 -> git::https://github.com/hashicorp/example.git?ref=v1 in sub
                github.com/hashicorp/example/sub/dir?ref=v1 -> git::https://github.com/hashicorp/example.git?ref=v1 in sub/dir
                github.com/a/b/c -> git::https://github.com/a/b.git in c
                git@github.com:hashicorp/example.git -> git::ssh://git@github.com/hashicorp/example.git
                git@github.com:hashicorp/example.git//sub?ref=b&depth=1 -> git::ssh://git@github.com/hashicorp/example.git?depth=1&ref=b in sub
                git::git@example.com:x/y.git -> git::ssh://git@example.com/x/y.git
                git::https://example.com/x.git//sub?ref=v1 -> git::https://example.com/x.git?ref=v1 in sub
                git::ssh://user@example.com/x.git -> git::ssh://user@example.com/x.git
                https://example.com/module.zip -> https://example.com/module.zip
                https://example.com/module//sub?archive=zip -> https://example.com/module?archive=zip in sub
                bitbucket.org/a/b -> git::https://bitbucket.org/a/b.git
                www.googleapis.com/storage/v1/bucket/a/b.zip -> gcs::https://www.googleapis.com/storage/v1/bucket/a/b.zip
                s3-eu-west-1.amazonaws.com/bucket/a.zip -> s3::https://s3-eu-west-1.amazonaws.com/bucket/a.zip
                bucket.s3-eu-west-1.amazonaws.com/a.zip//sub -> s3::https://s3-eu-west-1.amazonaws.com/bucket/a.zip in sub
                bucket.s3.eu-west-1.amazonaws.com/a.zip -> s3::https://s3.eu-west-1.amazonaws.com/bucket/a.zip
                s3::https://s3.amazonaws.com/bucket/a.zip -> s3::https://s3.amazonaws.com/bucket/a.zip
                oci://example.com/repo?tag=1 -> oci://example.com/repo?tag=1
                /tmp/module//sub -> file:///tmp/module in sub
                git::github.com/a b/c//x -> git::https://github.com/a%20b/c.git in x
                localhost:8080/a/b/c -> localhost:8080/a/b/c
                hg::http://example.com/x -> hg::http://example.com/x
            "#]],
        );
    }

    #[test]
    fn errors_in_sources() {
        check(
            ModuleSource::parse,
            &[
                "",
                "child",
                "modules/child",
                "child//sub",
                "github.com/a",
                "github.com/a/b/../c",
                "git::foo",
                "..",
                "a/b/c/d",
                "hashicorp/x/aws//../y",
                "a/b/c?x",
            ],
            &expect![[r#"
                 ! "" is not a source
                child ! perhaps ./child
                modules/child ! perhaps ./modules/child
                child//sub ! perhaps ./child
                github.com/a ! a GitHub address is of the form github.com/username/repository
                github.com/a/b/../c ! the subdirectory "../c" leads out of the module's package
                git::foo ! perhaps ./foo
                .. ! perhaps ./..
                a/b/c/d ! perhaps ./a/b/c/d
                hashicorp/x/aws//../y ! the subdirectory "../y" leads out of the module's package
                a/b/c?x ! perhaps ./a/b/c?x
            "#]],
        );
        check(
            ModuleSource::parse_registry,
            &["a/b/c", "./x", "a/b", "github.com/a/b/c", "host/a/b/c", "a.b/c/d", "a/b/C", "a/b/c?x", "a/-b/c"],
            &expect![[r#"
                a/b/c -> registry registry.opentofu.org/a/b/c (a/b/c)
                ./x ! registry: "./x" is a local directory
                a/b ! registry: it must have three or four parts, with slashes between them
                github.com/a/b/c ! registry: "github.com" is not a registry, but a host of version control repositories
                host/a/b/c ! registry: the hostname of the registry must have a dot
                a.b/c/d ! registry: after the hostname there must be three parts: namespace, name and target system
                a/b/C ! registry: the target system "C" must have one to 64 digits and lower-case letters
                a/b/c?x ! registry: it cannot have a query string
                a/-b/c ! registry: the module name "-b" must have one to 64 letters, digits, dashes and underscores, and must start and end with a letter or digit
            "#]],
        );
    }

    #[test]
    fn secrets_of_addresses_are_not_shown() {
        let check = |address: &str, expect: &str| assert_eq!(without_secrets(address), expect);
        check("https://u:p@h.example/x.zip?a=1", "https://u:(secret)@h.example/x.zip?a=1");
        check("git::https://u:p@h.example", "git::https://u:(secret)@h.example");
        check("git::https://TOKEN@h.example/x", "git::https://(secret)@h.example/x");
        check("https://TOKEN:x-oauth-basic@h.example/x", "https://(secret)@h.example/x");
        check("https://TOKEN:@h.example/x", "https://(secret)@h.example/x");
        check("git::ssh://git@h.example/x?ref=v1&sshkey=QUJD", "git::ssh://git@h.example/x?ref=v1&sshkey=(secret)");
        check("https://h.example/u:p@x?sshkeys=1", "https://h.example/u:p@x?sshkeys=1");
        check("team/net/test", "team/net/test");
    }
}
