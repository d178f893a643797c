//! Packages in Google Cloud Storage: `gcs::https://www.googleapis.com/storage/v1/BUCKET/PATH`, an archive or a directory.
//!
//! Credentials are GOOGLE_OAUTH_ACCESS_TOKEN or application default credentials. They are sent to the Cloud Storage API only,
//! whatever host the address names.

use std::fs;
use std::path::{Component, Path};
use std::sync::Arc;

use serde_json::Value as Json;
use yuba_net::Secret;
use yuba_net::google::{self, CLOUD_PLATFORM, GoogleSettings, GoogleTokenSource, ReadFile};
use yuba_net::http::{Request, Response, Url, shown};

use super::address::Address;
use super::{Fetcher, web};
use crate::archive::Limits;

const ENDPOINT: &str = "https://storage.googleapis.com";
const READ_SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_only";

/// Downloads an archive, or all objects of a directory.
pub(super) fn fetch(fetcher: &Fetcher, mut address: Address, into: &Path) -> Result<(), String> {
    let format = address.take_format()?;
    let checksum = address.take("checksum").filter(|given| !given.is_empty());
    let object = Object::parse(&address.url)?;
    let bucket = Bucket::open(fetcher, &object.bucket)?;
    match (format, checksum) {
        (Some(format), checksum) => {
            let checksum = checksum.map(|given| web::checksum(fetcher, &given, &address.url)).transpose()?;
            let request = bucket.media(&object.path, object.generation.as_deref())?;
            let fetched = web::archive(fetcher, &request, format, checksum.as_ref(), into);
            fetched.map_err(|reason| bucket.explained(&reason))
        }
        (None, Some(_)) => Err("a checksum is for archives only, and this address does not look like one; add the \
                                argument \"archive\" to say what kind it is"
            .to_owned()),
        (None, None) => directory(fetcher, &bucket, &object, into),
    }
}

/// Target of an address.
struct Object {
    bucket: String,
    path: String,
    /// The fragment of the address.
    generation: Option<String>,
}

impl Object {
    fn parse(url: &Url) -> Result<Object, String> {
        let wrong = || {
            format!(
                "{} is not an address of Google Cloud Storage, which is https://www.googleapis.com/storage/v1/BUCKET/PATH",
                shown(url)
            )
        };
        let host = url.host_str().unwrap_or_default();
        let is_google = host.ends_with(".googleapis.com") && host.split('.').count() == 3;
        // `/storage/v1/BUCKET/PATH`, with slashes in the path.
        let parts: Vec<&str> = url.path().splitn(5, '/').collect();
        let [_, _, _, bucket, path] = parts.as_slice() else { return Err(wrong()) };
        if !is_google || bucket.is_empty() || path.is_empty() {
            return Err(wrong());
        }
        let generation = url.fragment().filter(|fragment| !fragment.is_empty()).map(str::to_owned);
        if generation.as_ref().is_some_and(|generation| generation.parse::<u64>().is_err()) {
            return Err(format!(
                "the fragment of {} is not the generation of an object, which is a number",
                shown(url)
            ));
        }
        Ok(Object { bucket: decoded(bucket), path: decoded(path), generation })
    }
}

/// A part of a path without percent encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A bucket with the credentials to read it.
struct Bucket<'f> {
    fetcher: &'f Fetcher,
    name: String,
    endpoint: String,
    /// None for an emulator.
    source: Option<GoogleTokenSource>,
}

impl<'f> Bucket<'f> {
    fn open(fetcher: &'f Fetcher, name: &str) -> Result<Bucket<'f>, String> {
        let environment = &fetcher.environment;
        if let Some(host) = environment.get("STORAGE_EMULATOR_HOST") {
            let endpoint = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
            let endpoint = endpoint.trim_end_matches('/').to_owned();
            return Ok(Bucket { fetcher, name: name.to_owned(), endpoint, source: None });
        }
        let settings = GoogleSettings {
            access_token: environment.get("GOOGLE_OAUTH_ACCESS_TOKEN").map(Secret::new),
            scopes: vec![READ_SCOPE, CLOUD_PLATFORM],
            ..GoogleSettings::default()
        };
        let read: ReadFile = Arc::new(|path| fs::read(path));
        let source = google::find(&settings, environment, fetcher.services.client(), read);
        let source = source.map_err(|error| format!("failed to load Google credentials: {}", error.reason))?;
        Ok(Bucket { fetcher, name: name.to_owned(), endpoint: ENDPOINT.to_owned(), source: Some(source) })
    }

    /// A request for the objects of the bucket, or for one of them.
    fn request(&self, object: Option<&str>, query: &[(&str, &str)]) -> Result<Request, String> {
        let base = format!("{}/storage/v1/b", self.endpoint);
        let mut url = Url::parse(&base).map_err(|error| format!("{base} is not a URL: {error}"))?;
        match url.path_segments_mut() {
            Ok(mut segments) => drop(segments.push(&self.name).push("o").extend(object)),
            Err(()) => return Err(format!("{base} is not a URL with a path")),
        }
        url.query_pairs_mut().extend_pairs(query);
        let mut request = Request::new(url);
        if let Some(source) = &self.source {
            let token = source.token().map_err(|error| format!("failed to get an access token: {}", error.reason))?;
            request.token = Some(token);
            if let Some(project) = source.quota_project() {
                request = request.with_header("x-goog-user-project", project);
            }
        }
        Ok(request)
    }

    /// A request for the content of an object.
    fn media(&self, object: &str, generation: Option<&str>) -> Result<Request, String> {
        let mut query = vec![("alt", "media")];
        query.extend(generation.map(|generation| ("generation", generation)));
        self.request(Some(object), &query)
    }

    fn get(&self, request: &Request) -> Result<Response, String> {
        let response = self.fetcher.services.client().get(request).map_err(|error| error.to_string())?;
        match response.is_success() {
            true => Ok(response),
            false => {
                let reason = format!("{} responded with \"{}\"", shown(&request.url), response.status_text());
                Err(self.explained(&reason))
            }
        }
    }

    /// A refusal with what to do about it.
    fn explained(&self, reason: &str) -> String {
        let name = &self.name;
        let advice = match reason {
            reason if reason.contains("\"401 ") => "; the access token is invalid or expired".to_owned(),
            reason if reason.contains("\"403 ") => {
                format!("; the credentials require storage.objects.get and storage.objects.list on bucket {name:?}")
            }
            reason if reason.contains("\"404 ") => format!("; bucket {name:?} or the object does not exist"),
            _ => String::new(),
        };
        format!("{reason}{advice}")
    }

    /// Names and sizes of the objects below a directory.
    fn list(&self, prefix: &str, limits: &Limits) -> Result<Vec<String>, String> {
        let (mut names, mut bytes, mut page) = (Vec::new(), 0_u64, None::<String>);
        loop {
            let mut query = vec![("prefix", prefix), ("fields", "items(name,size),nextPageToken")];
            query.extend(page.as_deref().map(|page| ("pageToken", page)));
            let request = self.request(None, &query)?;
            let response = self.get(&request)?;
            let listing: Json = serde_json::from_slice(&response.body)
                .map_err(|_| format!("the response of {} is not JSON", shown(&request.url)))?;
            for item in listing["items"].as_array().into_iter().flatten() {
                let size = item["size"].as_str().and_then(|size| size.parse().ok()).unwrap_or(0);
                bytes = bytes.saturating_add(size);
                names.extend(item["name"].as_str().map(str::to_owned));
            }
            if names.len() as u64 > limits.entries || bytes > limits.bytes {
                let (entries, bytes) = (limits.entries, limits.bytes);
                return Err(format!("gs://{}/{prefix} has more than {entries} objects or {bytes} bytes", self.name));
            }
            let next = listing["nextPageToken"].as_str().filter(|token| !token.is_empty()).map(str::to_owned);
            if next.is_none() || next == page {
                return Ok(names);
            }
            page = next;
        }
    }
}

/// Downloads all objects below a path. Objects whose names only begin alike are not part of it.
fn directory(fetcher: &Fetcher, bucket: &Bucket<'_>, object: &Object, into: &Path) -> Result<(), String> {
    let prefix = format!("{}/", object.path.trim_end_matches('/'));
    let names = bucket.list(&prefix, &Limits::default())?;
    // Names that end with a slash stand for empty directories.
    let files = names.iter().filter_map(|name| Some((name, name.strip_prefix(&prefix)?)));
    let files: Vec<(&String, &str)> = files.filter(|(name, _)| !name.ends_with('/')).collect();
    if files.is_empty() {
        return Err(format!(
            "gs://{}/{prefix} has no objects, and the address does not look like an archive",
            bucket.name
        ));
    }
    for (name, relative) in files {
        let path = Path::new(relative);
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || relative.contains('\\') {
            return Err(format!("the object gs://{}/{name} would be stored outside of the module", bucket.name));
        }
        let file = into.join(path);
        super::files::create_parent(&file)?;
        let downloaded = web::download(fetcher, &bucket.media(name, None)?, &file);
        downloaded.map_err(|reason| bucket.explained(&reason))?;
    }
    Ok(())
}
