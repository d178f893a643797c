//! The JSON API of Cloud Storage: the requests that states and locks need.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use yuba_net::Secret;
use yuba_net::google::GoogleTokenSource;
use yuba_net::http::{HttpClient, Method, Request, Response, Url, shown};

use super::endpoint::Endpoint;
use super::failures::{self, Action};
use crate::kit::requests::{LIST_LIMIT, exchange};
use crate::kit::store::{StoreError, StoreErrorKind};

/// The type that OpenTofu's objects have.
const CONTENT_TYPE: &str = "text/plain; charset=utf-8";
/// Pages of a listing, a thousand objects each.
const MOST_PAGES: usize = 1000;

/// The objects of a bucket.
pub(super) struct Objects {
    /// Follows no redirects.
    pub(super) client: HttpClient,
    /// None for an emulator.
    pub(super) source: Option<GoogleTokenSource>,
    pub(super) bucket: String,
    pub(super) endpoint: Endpoint,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").field("bucket", &self.bucket).field("source", &self.source).finish_non_exhaustive()
    }
}

/// How an object is encrypted.
#[derive(Debug)]
pub(super) enum Protection {
    /// As the bucket is configured.
    Default,
    /// With a key that every request carries.
    Supplied(EncryptionKey),
    /// With a Cloud KMS key of this name.
    Managed(String),
}

/// A customer-supplied key in the form of its headers.
pub(super) struct EncryptionKey {
    key: Secret,
    sha256: String,
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey")
    }
}

impl EncryptionKey {
    pub(super) fn new(key: &[u8]) -> EncryptionKey {
        EncryptionKey { key: Secret::new(BASE64.encode(key)), sha256: BASE64.encode(Sha256::digest(key)) }
    }
}

/// An object with its generation.
pub(super) struct Object {
    pub(super) content: Vec<u8>,
    pub(super) generation: String,
}

/// The outcome of a request with a condition.
pub(super) enum Conditional<T> {
    Done(T),
    /// The precondition failed.
    Refused,
}

impl Objects {
    fn url(&self, object: &str) -> Url {
        let mut url = self.endpoint.objects(&self.bucket);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(object);
        }
        url
    }

    fn send(&self, action: Action, request: Request) -> Result<(Request, Response), StoreError> {
        let mut request = request;
        if let Some(source) = &self.source {
            let token = source.token().map_err(|error| {
                let kind = if error.may_pass { StoreErrorKind::Transient } else { StoreErrorKind::Lasting };
                StoreError::new(kind, format!("failed to get an access token: {}", error.reason))
            })?;
            request.token = Some(token);
            if let Some(project) = source.quota_project() {
                request = request.with_header("x-goog-user-project", project);
            }
        }
        let response = exchange(&self.client, request.clone()).map_err(|error| failures::transient(action, error))?;
        Ok((request, response))
    }

    fn refused(&self, action: Action, request: &Request, response: &Response) -> StoreError {
        failures::refused(action, &self.bucket, request, response)
    }

    /// The content and the generation of an object; none if it does not exist.
    pub(super) fn read(&self, name: &str, protection: &Protection) -> Result<Option<Object>, StoreError> {
        let mut url = self.url(name);
        url.query_pairs_mut().append_pair("alt", "media");
        let (request, response) = self.send(Action::Read, with_key(Request::new(url), protection))?;
        match response.status {
            200 => {}
            404 if failures::is_object_missing(&response) => return Ok(None),
            _ => return Err(self.refused(Action::Read, &request, &response)),
        }
        match response.header("x-goog-generation").map(str::to_owned) {
            Some(generation) => Ok(Some(Object { content: response.body, generation })),
            None => Err(StoreError::lasting(format!(
                "GET {}: the response has no header \"x-goog-generation\", so the endpoint is not Cloud Storage",
                shown(&request.url)
            ))),
        }
    }

    /// The generation of an object; none if it does not exist.
    pub(super) fn generation(&self, name: &str) -> Result<Option<String>, StoreError> {
        let mut url = self.url(name);
        url.query_pairs_mut().append_pair("fields", "generation");
        let (request, response) = self.send(Action::Read, Request::new(url))?;
        match response.status {
            200 => generation_of(&request, &response).map(Some),
            404 if failures::is_object_missing(&response) => Ok(None),
            _ => Err(self.refused(Action::Read, &request, &response)),
        }
    }

    /// Writes an object whose generation is the given one, 0 for none, and returns its new generation.
    pub(super) fn create(
        &self,
        name: &str,
        content: &[u8],
        generation: &str,
        protection: &Protection,
    ) -> Result<Conditional<String>, StoreError> {
        let mut url = self.endpoint.uploads(&self.bucket);
        url.query_pairs_mut()
            .append_pair("uploadType", "media")
            .append_pair("name", name)
            .append_pair("ifGenerationMatch", generation)
            .append_pair("fields", "generation");
        if let Protection::Managed(key) = protection {
            url.query_pairs_mut().append_pair("kmsKeyName", key);
        }
        let request = Request { method: Method::POST, body: Some(content.to_vec()), ..Request::new(url) };
        let request = with_key(request.with_header("content-type", CONTENT_TYPE), protection);
        let action = if generation == "0" { Action::Create } else { Action::Replace };
        let (request, response) = self.send(action, request)?;
        match response.status {
            200 | 201 => generation_of(&request, &response).map(Conditional::Done),
            412 => Ok(Conditional::Refused),
            _ => Err(self.refused(action, &request, &response)),
        }
    }

    /// Deletes an object, if it has the given generation. An object that does not exist counts as deleted.
    pub(super) fn delete(&self, name: &str, generation: Option<&str>) -> Result<Conditional<()>, StoreError> {
        let mut url = self.url(name);
        if let Some(generation) = generation {
            url.query_pairs_mut().append_pair("ifGenerationMatch", generation);
        }
        let (request, response) = self.send(Action::Delete, Request { method: Method::DELETE, ..Request::new(url) })?;
        match response.status {
            200 | 204 => Ok(Conditional::Done(())),
            404 if failures::is_object_missing(&response) => Ok(Conditional::Done(())),
            412 => Ok(Conditional::Refused),
            _ => Err(self.refused(Action::Delete, &request, &response)),
        }
    }

    /// Names of the objects right below a prefix.
    pub(super) fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        let mut page: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut url = self.endpoint.objects(&self.bucket);
            url.query_pairs_mut()
                .append_pair("delimiter", "/")
                .append_pair("prefix", prefix)
                .append_pair("fields", "items(name),nextPageToken");
            if let Some(page) = &page {
                url.query_pairs_mut().append_pair("pageToken", page);
            }
            let (request, response) = self.send(Action::List, Request::new(url).at_most(LIST_LIMIT))?;
            if response.status != 200 {
                return Err(self.refused(Action::List, &request, &response));
            }
            let listing = document(&request, &response)?;
            let items = listing["items"].as_array().into_iter().flatten();
            names.extend(items.filter_map(|item| item["name"].as_str().map(str::to_owned)));
            page = listing["nextPageToken"].as_str().filter(|token| !token.is_empty()).map(str::to_owned);
            if page.is_none() {
                return Ok(names);
            }
        }
        Err(StoreError::lasting(format!("the listing of bucket \"{}\" has more than {MOST_PAGES} pages", self.bucket)))
    }
}

/// With the headers of a customer-supplied key.
fn with_key(request: Request, protection: &Protection) -> Request {
    match protection {
        Protection::Default | Protection::Managed(_) => request,
        Protection::Supplied(key) => request
            .with_header("x-goog-encryption-algorithm", "AES256")
            .with_header("x-goog-encryption-key", key.key.reveal())
            .with_header("x-goog-encryption-key-sha256", &key.sha256),
    }
}

fn document(request: &Request, response: &Response) -> Result<Json, StoreError> {
    serde_json::from_slice(&response.body).map_err(|_| {
        let (method, url) = (&request.method, shown(&request.url));
        StoreError::lasting(format!("{method} {url}: the response is not JSON, so the endpoint is not Cloud Storage"))
    })
}

fn generation_of(request: &Request, response: &Response) -> Result<String, StoreError> {
    let document = document(request, response)?;
    let generation = &document["generation"];
    let text = generation.as_str().map(str::to_owned).or_else(|| generation.as_u64().map(|number| number.to_string()));
    text.ok_or_else(|| {
        let (method, url) = (&request.method, shown(&request.url));
        StoreError::lasting(format!("{method} {url}: the response has no \"generation\""))
    })
}
