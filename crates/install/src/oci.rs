//! Container registries that store packages: manifests, blobs and tags of a repository.

mod logins;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use yuba_net::http::{DOWNLOAD_LIMIT, DownloadProgress, HttpClient, HttpError, Request, Response, Url};
use yuba_net::{Environment, Secret};

use crate::CliConfig;
pub use logins::Login;

/// The kind of a manifest that lists layers.
pub const IMAGE_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The kind of a manifest that lists manifests.
pub const IMAGE_INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The longest manifest that is read.
const LONGEST_MANIFEST: u64 = 4 << 20;
/// The most pages of tags that are read.
const MOST_PAGES: usize = 1_000;

/// A repository of a container registry.
pub struct Repository {
    client: HttpClient,
    base: Url,
    shown: String,
    login: Option<Login>,
    /// The accepted authorization, once it is known.
    pass: Mutex<Option<Pass>>,
}

#[derive(Clone)]
enum Pass {
    Token(Secret),
    Basic(String, Secret),
}

/// A manifest as it came.
#[derive(Clone, Debug)]
pub struct OciManifest {
    /// `sha256:...`
    pub digest: String,
    /// Its media type.
    pub media_type: String,
    /// The text.
    pub bytes: Vec<u8>,
}

/// A descriptor in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its media type.
    pub media_type: String,
    /// `sha256:...`
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// The artifact type, if it is given.
    pub artifact_type: Option<String>,
    /// The system and the processor it is for, if given.
    pub platform: Option<(String, String)>,
}

impl Descriptor {
    /// Reads one.
    pub fn parse(json: &Json) -> Result<Descriptor, String> {
        let text = |name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
        let platform = json.get("platform").and_then(|platform| {
            let part = |name: &str| platform.get(name).and_then(Json::as_str).map(str::to_owned);
            Some((part("os")?, part("architecture")?))
        });
        match (text("mediaType"), text("digest"), json.get("size").and_then(Json::as_u64)) {
            (Some(media_type), Some(digest), Some(size)) => {
                Ok(Descriptor { media_type, digest, size, artifact_type: text("artifactType"), platform })
            }
            _ => Err("the manifest has a part without type, digest or size".to_owned()),
        }
    }
}

impl Repository {
    /// A repository, with the credentials that there are for it.
    pub fn new(
        client: &HttpClient,
        config: &CliConfig,
        environment: &Environment,
        registry: &str,
        name: &str,
    ) -> Result<Repository, String> {
        crate::cli_config::repository_prefix(&format!("{registry}/{name}"))?;
        let host = if registry == "docker.io" { "registry-1.docker.io" } else { registry };
        let base = Url::parse(&format!("https://{host}/v2/{name}/")).map_err(|error| error.to_string())?;
        let login = logins::find(config, environment, registry, name)?;
        let shown = format!("{registry}/{name}");
        Ok(Repository { client: client.clone(), base, shown, login, pass: Mutex::default() })
    }

    /// A repository of a host of this machine, without encryption.
    #[cfg(test)]
    pub(crate) fn plain(client: &HttpClient, host: &str, name: &str, login: Option<Login>) -> Repository {
        let base = Url::parse(&format!("http://{host}/v2/{name}/")).expect("it is a URL");
        let shown = format!("{host}/{name}");
        Repository { client: client.clone(), base, shown, login, pass: Mutex::default() }
    }

    /// The manifest of a tag or digest. One of a digest is what the digest says.
    pub fn manifest(&self, reference: &str) -> Result<OciManifest, String> {
        let is_digest = reference.contains(':');
        if is_digest {
            check_digest(reference)?;
        } else if !is_tag(reference) {
            return Err(format!("{reference:?} is not a valid tag"));
        }
        let response = self.get(&format!("manifests/{reference}"), LONGEST_MANIFEST)?;
        let shown = &self.shown;
        match response.status {
            200 => {}
            404 => return Err(format!("the repository {shown} does not have {reference:?}")),
            _ => return Err(format!("the registry of {shown} responded with \"{}\"", response.status_text())),
        }
        let digest = format!("sha256:{}", hex(&Sha256::digest(&response.body)));
        if is_digest && digest != reference {
            return Err(format!("the registry of {shown} sent a manifest that does not match the digest {reference}"));
        }
        let media_type = response.media_type().unwrap_or_default();
        Ok(OciManifest { digest, media_type, bytes: response.body })
    }

    /// Saves a blob to a file that must not exist. It is what its descriptor says.
    pub fn blob(&self, wanted: &Descriptor, file: &Path, progress: DownloadProgress<'_>) -> Result<(), String> {
        check_digest(&wanted.digest)?;
        let (digest, shown) = (&wanted.digest, &self.shown);
        if wanted.size > DOWNLOAD_LIMIT {
            let size = wanted.size;
            return Err(format!(
                "{digest} in {shown} has {size} bytes; downloads are limited to {DOWNLOAD_LIMIT} bytes"
            ));
        }
        let url = self.url(&format!("blobs/{digest}"))?;
        let response = self.authorized(|pass| {
            let request = with_pass(Request::new(url.clone()), pass).at_most(wanted.size);
            self.client.download(&request, file, &mut *progress)
        })?;
        if !response.is_success() {
            return Err(format!("the registry of {shown} responded with \"{}\" for {digest}", response.status_text()));
        }
        let checked = File::open(file).and_then(|mut input| {
            let mut hasher = Sha256::new();
            let size = std::io::copy(&mut input, &mut hasher)?;
            Ok((size, format!("sha256:{}", hex(&hasher.finalize()))))
        });
        match checked {
            Ok((size, found)) if size == wanted.size && found == *digest => Ok(()),
            Ok(_) => {
                let _ = std::fs::remove_file(file);
                Err(format!("the registry of {shown} sent data that does not match {digest}"))
            }
            Err(error) => Err(format!("{} could not be read: {error}", file.display())),
        }
    }

    /// All tags; none if there is no such repository.
    pub fn tags(&self) -> Result<Option<Vec<String>>, String> {
        let mut tags = Vec::new();
        let mut next = Some(self.url("tags/list")?);
        for _ in 0..MOST_PAGES {
            let Some(url) = next.take() else { break };
            let response = self.get_url(&url, LONGEST_MANIFEST)?;
            let shown = &self.shown;
            match response.status {
                200 => {}
                404 => return Ok(None),
                _ => return Err(format!("the registry of {shown} responded with \"{}\"", response.status_text())),
            }
            let answer: Json = serde_json::from_slice(&response.body)
                .map_err(|error| format!("the list of tags of {shown} is not JSON: {error}"))?;
            let found = answer.get("tags").and_then(Json::as_array).into_iter().flatten();
            tags.extend(found.filter_map(|tag| tag.as_str().map(str::to_owned)));
            next = response.header("link").and_then(|link| {
                let target = link.split_once('<')?.1.split_once('>')?.0;
                // Only to the same host: it gets the same pass.
                response.url.join(target).ok().filter(|next| next.origin() == url.origin())
            });
        }
        Ok(Some(tags))
    }

    fn url(&self, path: &str) -> Result<Url, String> {
        self.base.join(path).map_err(|error| error.to_string())
    }

    fn get(&self, path: &str, limit: u64) -> Result<Response, String> {
        self.get_url(&self.url(path)?, limit)
    }

    fn get_url(&self, url: &Url, limit: u64) -> Result<Response, String> {
        self.authorized(|pass| {
            let kinds = format!("{IMAGE_MANIFEST}, {IMAGE_INDEX}, application/json");
            let request = Request::new(url.clone()).with_header("accept", kinds).at_most(limit);
            self.client.get(&with_pass(request, pass))
        })
    }

    /// Asks, gets the pass that the registry demands if it demands one, and asks again.
    fn authorized(
        &self,
        mut ask: impl FnMut(Option<&Pass>) -> Result<Response, HttpError>,
    ) -> Result<Response, String> {
        let pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let response = ask(pass.as_ref()).map_err(|error| error.to_string())?;
        if response.status != 401 {
            return Ok(response);
        }
        let challenge = response.header("www-authenticate").unwrap_or_default().to_owned();
        let pass = self.answer(&challenge)?;
        let again = ask(Some(&pass)).map_err(|error| error.to_string())?;
        if again.status == 401 {
            return Err(self.refused());
        }
        *self.pass.lock().unwrap_or_else(PoisonError::into_inner) = Some(pass);
        Ok(again)
    }

    fn refused(&self) -> String {
        let shown = &self.shown;
        match self.login {
            Some(_) => format!("the registry of {shown} does not accept the credentials for it"),
            None => format!(
                "the registry of {shown} requires credentials, and none are configured; see oci_credentials in the CLI \
                 configuration"
            ),
        }
    }

    /// The pass that a challenge demands.
    fn answer(&self, challenge: &str) -> Result<Pass, String> {
        let (scheme, parameters) = challenge.split_once(' ').unwrap_or((challenge, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return match &self.login {
                Some(Login::Basic(user, password)) => Ok(Pass::Basic(user.clone(), password.clone())),
                _ => Err(self.refused()),
            };
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(self.refused());
        }
        let parameters = parameters_of(parameters);
        let get = |name: &str| parameters.get(name).map(String::as_str).unwrap_or_default();
        let realm = Url::parse(get("realm"))
            .map_err(|_| format!("the registry of {} does not name a token service", self.shown))?;
        if !may_get_credentials(&realm, &self.base) {
            return Err(format!("the registry of {} requires credentials over an unencrypted connection", self.shown));
        }
        let mut request = Request::new(realm.clone()).at_most(LONGEST_MANIFEST);
        match &self.login {
            Some(Login::Tokens { access, refresh: None }) => return Ok(Pass::Token(access.clone())),
            Some(Login::Tokens { refresh: Some(refresh), .. }) => {
                let form = [
                    ("grant_type", "refresh_token"),
                    ("service", get("service")),
                    ("client_id", "yuba"),
                    ("scope", get("scope")),
                    ("refresh_token", refresh.reveal()),
                ];
                request = Request::form(realm.clone(), &form).at_most(LONGEST_MANIFEST);
            }
            login => {
                for name in ["service", "scope"] {
                    if !get(name).is_empty() {
                        request.url.query_pairs_mut().append_pair(name, get(name));
                    }
                }
                if let Some(Login::Basic(user, password)) = login {
                    request.basic = Some((user.clone(), password.clone()));
                }
            }
        }
        let response = self.client.get(&request).map_err(|error| error.to_string())?;
        if !response.is_success() {
            return Err(self.refused());
        }
        let answer: Json = serde_json::from_slice(&response.body).unwrap_or_default();
        let token = ["token", "access_token"].iter().find_map(|name| answer.get(name)?.as_str());
        token.map(|token| Pass::Token(Secret::new(token))).ok_or_else(|| self.refused())
    }
}

/// Whether a token service may get the credentials for a registry: an unencrypted one only if the registry is unencrypted too and has the
/// same host. That is a registry of tests.
fn may_get_credentials(realm: &Url, base: &Url) -> bool {
    match realm.scheme() {
        "https" => true,
        "http" => base.scheme() == "http" && realm.host_str() == base.host_str(),
        _ => false,
    }
}

fn with_pass(mut request: Request, pass: Option<&Pass>) -> Request {
    match pass {
        Some(Pass::Token(token)) => request.token = Some(token.clone()),
        Some(Pass::Basic(user, password)) => request.basic = Some((user.clone(), password.clone())),
        None => {}
    }
    request
}

/// `name="value",other=value`
fn parameters_of(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while let Some((name, value)) = rest.split_once('=') {
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => value.split_once(',').unwrap_or((value, "")),
        };
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        found.insert(name, value.trim().to_owned());
        rest = after;
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check_digest(digest: &str) -> Result<(), String> {
    match digest.strip_prefix("sha256:") {
        Some(digits) if digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) => Ok(()),
        _ => Err(format!("{digest:?} is not a digest of the form sha256:...")),
    }
}

fn is_tag(tag: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (1..=128).contains(&tag.len())
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|b| is_word(b) || b == b'.' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encrypted_like_the_registry() {
        let check = |realm: &str, base: &str| {
            let [realm, base] = [realm, base].map(|url| Url::parse(url).expect("it is a URL"));
            may_get_credentials(&realm, &base)
        };
        assert!(check("https://auth.example/token", "https://reg.example/v2/a/"));
        assert!(check("http://127.0.0.1:1/token", "http://127.0.0.1:2/v2/a/"));
        assert!(!check("http://reg.example/token", "https://reg.example/v2/a/"));
        assert!(!check("http://auth.example/token", "http://reg.example/v2/a/"));
        assert!(!check("ftp://reg.example/token", "http://reg.example/v2/a/"));
    }

    #[test]
    fn challenges_are_read() {
        let read = parameters_of(r#"realm="https://auth.example/token",service="reg, istry",scope=repository:a:pull"#);
        let read: Vec<(&str, &str)> = read.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let expected =
            [("realm", "https://auth.example/token"), ("scope", "repository:a:pull"), ("service", "reg, istry")];
        assert_eq!(read, expected);
        assert!(is_tag("v1.0_x") && !is_tag("../x") && !is_tag("") && !is_tag("-x"));
    }
}
