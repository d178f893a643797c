//! Requests to the API server of Kubernetes: Secrets and Leases of one namespace.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value as Json, json};
use yuba_net::http::{ClientOptions, HttpClient, Method, Request, Response, Url, shown};
use yuba_net::trust::{ClientIdentity, TlsSettings};

use super::connection::Connection;
use super::credentials::{Credentials, Renewal};
use super::refusal;
use crate::kit::requests::exchange;
use crate::kit::store::{StoreError, StoreErrorKind};

/// Objects in one page of a list.
const PAGE: &str = "250";
/// Pages of a list.
const MOST_PAGES: usize = 1000;
/// A list without the data of the objects, which may be large. Servers that do not support it return all.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/// Attempts to read a list whose pages expire.
const LIST_ATTEMPTS: usize = 3;

/// Kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Secrets,
    Leases,
}

impl Resource {
    fn path(self) -> [&'static str; 2] {
        match self {
            Resource::Secrets => ["api", "v1"],
            Resource::Leases => ["apis/coordination.k8s.io", "v1"],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Resource::Secrets => "secrets",
            Resource::Leases => "leases",
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Resource::Secrets => "Secret",
            Resource::Leases => "Lease",
        }
    }
}

/// The outcome of a write.
#[derive(Debug)]
pub(super) enum Written {
    Done,
    /// The object exists already, has changed, or is gone.
    Conflict,
}

/// Where the API is and what every request contains.
pub(super) struct Api {
    client: HttpClient,
    base: Url,
    pub(super) namespace: String,
    options: ClientOptions,
    credentials: Credentials,
    headers: Vec<(String, String)>,
    /// The client with the certificate that a plugin has returned last.
    certified: Mutex<Option<(Vec<u8>, HttpClient)>>,
}

/// The address only.
impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Api").field(&shown(&self.base)).finish()
    }
}

impl Api {
    pub(super) fn new(connection: Connection, namespace: String, client: &HttpClient) -> Api {
        let Connection { base, options, credentials, headers } = connection;
        let client = client.with_options(options.clone());
        Api { client, base, namespace, options, credentials, headers, certified: Mutex::new(None) }
    }

    /// The URL of an object, or of all objects of a kind.
    fn url(&self, resource: Resource, name: Option<&str>) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(resource.path().iter().flat_map(|part| part.split('/')));
            segments.extend(["namespaces", &self.namespace, resource.name()]).extend(name);
        }
        url
    }

    /// An object for messages.
    pub(super) fn shown(&self, resource: Resource, name: &str) -> String {
        shown(&self.url(resource, Some(name)))
    }

    /// The client for a certificate of a plugin.
    fn client(&self, identity: Option<ClientIdentity>) -> HttpClient {
        let Some(identity) = identity else { return self.client.clone() };
        let mut certified = self.certified.lock().unwrap_or_else(PoisonError::into_inner);
        match certified.as_ref().filter(|(known, _)| *known == identity.certificates) {
            Some((_, client)) => client.clone(),
            None => {
                let known = identity.certificates.clone();
                let tls = TlsSettings { identity: Some(identity), ..self.options.tls.clone() };
                let client = self.client.with_options(ClientOptions { tls, ..self.options.clone() });
                *certified = Some((known, client.clone()));
                client
            }
        }
    }

    fn send(&self, request: Request) -> Result<(Request, Response), StoreError> {
        let mut request = request;
        if !request.headers.iter().any(|(name, _)| name == "accept") {
            request = request.with_header("accept", "application/json");
        }
        if request.body.is_some() {
            request = request.with_header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.with_header(name.clone(), value.clone());
        }
        let (sent, response) = self.send_once(&request)?;
        match response.status == 401 && self.credentials.rejected() == Renewal::Possible {
            true => self.send_once(&request),
            false => Ok((sent, response)),
        }
    }

    fn send_once(&self, request: &Request) -> Result<(Request, Response), StoreError> {
        let failed = |reason| {
            let reason = format!("{} {}: {reason}", request.method, shown(&request.url));
            StoreError::new(self.credentials.failure(), reason)
        };
        let (sent, identity) = self.credentials.applied(request.clone()).map_err(failed)?;
        let response = exchange(&self.client(identity), sent.clone()).map_err(refusal::unreachable)?;
        Ok((sent, response))
    }

    /// The JSON object in a response.
    fn object(request: &Request, response: &Response) -> Result<Json, StoreError> {
        let json: Option<Json> = serde_json::from_slice(&response.body).ok();
        json.filter(Json::is_object).ok_or_else(|| {
            let (method, url) = (&request.method, shown(&request.url));
            StoreError::lasting(format!(
                "{method} {url}: the response is not what the API of Kubernetes responds. Check \"host\""
            ))
        })
    }

    /// An object; none if it does not exist.
    pub(super) fn get(&self, resource: Resource, name: &str) -> Result<Option<Json>, StoreError> {
        let (request, response) = self.send(Request::new(self.url(resource, Some(name))))?;
        match response.status {
            200 => Api::object(&request, &response).map(Some),
            404 if refusal::is_status(&response) => Ok(None),
            _ => Err(refusal::refused(self, "get", resource, &request, &response)),
        }
    }

    /// Creates an object. Fails if an object of this name exists.
    pub(super) fn create(&self, resource: Resource, object: &Json) -> Result<Written, StoreError> {
        let body = Some(object.to_string().into_bytes());
        let (request, response) =
            self.send(Request { method: Method::POST, body, ..Request::new(self.url(resource, None)) })?;
        match response.status {
            200..=202 => Api::object(&request, &response).map(|_| Written::Done),
            409 => Ok(Written::Conflict),
            _ => Err(refusal::refused(self, "create", resource, &request, &response)),
        }
    }

    /// Replaces an object, if it has the `resourceVersion` of the new one.
    pub(super) fn replace(&self, resource: Resource, name: &str, object: &Json) -> Result<Written, StoreError> {
        let body = Some(object.to_string().into_bytes());
        let (request, response) =
            self.send(Request { method: Method::PUT, body, ..Request::new(self.url(resource, Some(name))) })?;
        match response.status {
            200..=201 => Api::object(&request, &response).map(|_| Written::Done),
            409 => Ok(Written::Conflict),
            404 if refusal::is_status(&response) => Ok(Written::Conflict),
            _ => Err(refusal::refused(self, "update", resource, &request, &response)),
        }
    }

    /// Deletes an object that was read before. One that does not exist is deleted already.
    pub(super) fn delete(&self, resource: Resource, name: &str, object: &Json) -> Result<(), StoreError> {
        let mut options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background" });
        if let Some(uid) = object.pointer("/metadata/uid") {
            options["preconditions"] = json!({ "uid": uid });
        }
        let body = Some(options.to_string().into_bytes());
        let (request, response) =
            self.send(Request { method: Method::DELETE, body, ..Request::new(self.url(resource, Some(name))) })?;
        match response.status {
            200..=202 => Ok(()),
            404 if refusal::is_status(&response) => Ok(()),
            409 => {
                let object = self.shown(resource, name);
                let reason = format!("DELETE {object}: another process has replaced the {}", resource.kind());
                Err(StoreError::new(StoreErrorKind::Conflict, reason))
            }
            _ => Err(refusal::refused(self, "delete", resource, &request, &response)),
        }
    }

    /// Labels of all objects that a selector matches.
    pub(super) fn labels(
        &self,
        resource: Resource,
        selector: &str,
    ) -> Result<Vec<BTreeMap<String, String>>, StoreError> {
        for _ in 0..LIST_ATTEMPTS {
            if let Some(all) = self.all_pages(resource, selector)? {
                return Ok(all);
            }
        }
        let list = shown(&self.url(resource, None));
        Err(StoreError::transient(format!("GET {list}: the list expires before its last page is read")))
    }

    /// All pages of a list. None if a page refers to a list that the server has forgotten.
    fn all_pages(
        &self,
        resource: Resource,
        selector: &str,
    ) -> Result<Option<Vec<BTreeMap<String, String>>>, StoreError> {
        let mut all = Vec::new();
        let mut next: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut url = self.url(resource, None);
            url.query_pairs_mut().append_pair("labelSelector", selector).append_pair("limit", PAGE);
            if let Some(next) = &next {
                url.query_pairs_mut().append_pair("continue", next);
            }
            let (request, response) = self.send(Request::new(url).with_header("accept", METADATA))?;
            match response.status {
                200 => {}
                410 if next.is_some() => return Ok(None),
                _ => return Err(refusal::refused(self, "list", resource, &request, &response)),
            }
            let page = Api::object(&request, &response)?;
            let items = page.get("items").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
            all.extend(items.iter().map(|item| {
                let labels = item.pointer("/metadata/labels").and_then(Json::as_object).into_iter().flatten();
                labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
            }));
            match page.pointer("/metadata/continue").and_then(Json::as_str).filter(|text| !text.is_empty()) {
                Some(text) => next = Some(text.to_owned()),
                None => return Ok(Some(all)),
            }
        }
        let list = shown(&self.url(resource, None));
        Err(StoreError::lasting(format!("GET {list}: the list has more than {MOST_PAGES} pages")))
    }
}
