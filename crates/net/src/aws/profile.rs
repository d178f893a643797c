//! Shared configuration and credentials files: `~/.aws/config` and `~/.aws/credentials`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{AwsError, Reader};
use crate::Environment;

/// Arguments of one section.
pub(super) type Section = BTreeMap<String, String>;

/// All sections of all files. Credentials files override configuration files.
#[derive(Clone, Debug, Default)]
pub(super) struct Profiles {
    profiles: BTreeMap<String, Section>,
    sso_sessions: BTreeMap<String, Section>,
    services: BTreeMap<String, Section>,
}

/// Kind of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Config,
    Credentials,
}

/// Files that arguments name; empty lists mean the usual files.
#[derive(Clone, Debug, Default)]
pub struct SharedFiles {
    /// Configuration files.
    pub config: Vec<String>,
    /// Credentials files.
    pub credentials: Vec<String>,
}

impl Profiles {
    /// Reads the files that arguments or the environment name. Files that do not exist are left out.
    pub(super) fn read(files: &SharedFiles, environment: &Environment, read: Reader<'_>) -> Result<Profiles, AwsError> {
        let usual = |variable: &str, name: &str| {
            let path = environment.get(variable).map(str::to_owned);
            let home = || environment.home().map(|home| home.join(".aws").join(name).display().to_string());
            path.or_else(home).into_iter().collect::<Vec<_>>()
        };
        let expand = |paths: &[String]| paths.iter().map(|path| expand(path, environment)).collect::<Vec<_>>();
        let config = match files.config.is_empty() {
            true => usual("AWS_CONFIG_FILE", "config"),
            false => expand(&files.config),
        };
        let credentials = match files.credentials.is_empty() {
            true => usual("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            false => expand(&files.credentials),
        };
        let mut profiles = Profiles::default();
        for (paths, kind) in [(config, Kind::Config), (credentials, Kind::Credentials)] {
            for path in paths {
                match read(&PathBuf::from(&path)) {
                    Ok(bytes) => profiles.add(&String::from_utf8_lossy(&bytes), kind),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => {
                        return Err(AwsError::configuration(format!("failed to read the file {path}: {error}")));
                    }
                }
            }
        }
        Ok(profiles)
    }

    fn add(&mut self, text: &str, kind: Kind) {
        let mut section: Option<&mut Section> = None;
        let mut parent = String::new();
        for line in text.lines() {
            let is_nested = line.starts_with([' ', '\t']);
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(header) = line.strip_prefix('[') {
                let header = header.split(']').next().unwrap_or(header).trim();
                section = self.section(header, kind);
                parent.clear();
                continue;
            }
            let (Some(section), Some((name, value))) = (section.as_deref_mut(), line.split_once('=')) else { continue };
            let name = name.trim().to_ascii_lowercase();
            let value = without_comment(value).trim().to_owned();
            if is_nested && !parent.is_empty() {
                section.insert(format!("{parent}.{name}"), value);
                continue;
            }
            if value.is_empty() {
                parent.clone_from(&name);
            } else {
                parent.clear();
            }
            section.insert(name, value);
        }
    }

    /// The section of a header; none if it has no meaning in this kind of file.
    fn section(&mut self, header: &str, kind: Kind) -> Option<&mut Section> {
        let (word, name) = header.split_once(char::is_whitespace).unwrap_or(("", header));
        let name = name.trim();
        let sections = match (kind, word) {
            (Kind::Credentials, "") => &mut self.profiles,
            (Kind::Config, "profile") => &mut self.profiles,
            (Kind::Config, "") if name == "default" => &mut self.profiles,
            (Kind::Config, "sso-session") => &mut self.sso_sessions,
            (Kind::Config, "services") => &mut self.services,
            _ => return None,
        };
        Some(sections.entry(name.to_owned()).or_default())
    }

    /// The arguments of a profile.
    pub(super) fn profile(&self, name: &str) -> Option<&Section> {
        self.profiles.get(name)
    }

    /// The arguments of an `sso-session` section.
    pub(super) fn sso_session(&self, name: &str) -> Option<&Section> {
        self.sso_sessions.get(name)
    }

    /// The endpoint of a service that a profile sets, for this service or for all.
    pub(super) fn endpoint(&self, profile: &str, service: &str) -> (Option<&str>, Option<&str>) {
        let section = self.profiles.get(profile);
        let services = section.and_then(|section| self.services.get(section.get("services")?));
        let own = services.and_then(|services| services.get(&format!("{}.endpoint_url", service.to_ascii_lowercase())));
        let all = section.and_then(|section| section.get("endpoint_url"));
        (own.map(String::as_str).filter(|url| !url.is_empty()), all.map(String::as_str).filter(|url| !url.is_empty()))
    }
}

/// A value without a comment, which starts with a space and `#` or `;`.
fn without_comment(value: &str) -> &str {
    let starts = [" #", " ;", "\t#", "\t;"];
    let end = starts.iter().filter_map(|start| value.find(start)).min().unwrap_or(value.len());
    value.get(..end).unwrap_or(value)
}

/// A path with environment variables (`$NAME`, `${NAME}`) and `~` replaced.
pub(super) fn expand(path: &str, environment: &Environment) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (name, remaining) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, remaining)) => (name, remaining),
            None => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                after.split_at(end)
            }
        };
        match name {
            "" => out.push('$'),
            name => out.push_str(environment.get(name).unwrap_or_default()),
        }
        rest = remaining;
    }
    out.push_str(rest);
    let home = environment.home().map(|home| home.display().to_string());
    match (out.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_override_configuration() {
        let environment: Environment = [("HOME", "/home/ann"), ("DIR", "/etc")].into_iter().collect();
        let config = "[default]\nregion = eu-west-1 # ours\n[profile a]\nrole_arn=arn\nservices = local\n\
                      s3 =\n  max = 1\naws_access_key_id = OLD\n[other]\nregion = x\n[services local]\ns3 =\n  endpoint_url = http://s3\n\
                      kms =\n  endpoint_url = http://kms\n[sso-session corp]\nsso_region = us-east-1\n";
        let credentials = "; comment\n[a]\naws_access_key_id = NEW\n[profile b]\nregion = y\n";
        let read = |path: &std::path::Path| match path.to_str() {
            Some("/etc/config") => Ok(config.as_bytes().to_vec()),
            Some("/home/ann/credentials") => Ok(credentials.as_bytes().to_vec()),
            _ => Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        };
        let files = SharedFiles { config: vec!["${DIR}/config".into()], credentials: vec!["~/credentials".into()] };
        let profiles = Profiles::read(&files, &environment, &read).expect("the files exist");
        let get = |profile: &str, name: &str| profiles.profile(profile).and_then(|section| section.get(name)).cloned();
        assert_eq!(get("default", "region").as_deref(), Some("eu-west-1"));
        assert_eq!(get("a", "aws_access_key_id").as_deref(), Some("NEW"));
        assert_eq!(get("a", "s3.max").as_deref(), Some("1"));
        assert_eq!((profiles.profile("other"), profiles.profile("b")), (None, None));
        assert_eq!(profiles.endpoint("a", "S3"), (Some("http://s3"), None));
        assert_eq!(profiles.endpoint("a", "KMS"), (Some("http://kms"), None));
        assert!(profiles.sso_session("corp").is_some());
    }
}
