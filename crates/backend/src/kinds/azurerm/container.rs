//! The blob container: requests, their authorization, and failures in words.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};
use yuba_net::Secret;
use yuba_net::azure::{STORAGE_SCOPE, SharedKey, StorageAccount, TokenSource, account_key, http_date};
use yuba_net::http::{HttpClient, Method, Request, Response, Url};

use super::errors;
use crate::kit::requests::{LIST_LIMIT, exchange};
use crate::kit::store::{StoreError, StoreErrorKind};

/// The version of the blob service. It has all that is used here, and Azure Stack knows it.
const VERSION: &str = "2019-07-07";

/// How requests are authorized.
pub(super) enum Authorization {
    /// The access key of the account.
    Key(SharedKey),
    /// A shared access signature: the query without question mark.
    Signature(Secret),
    /// Tokens of an identity.
    Tokens(Box<TokenSource>),
    /// The access key of the account, requested with tokens of an identity when it is needed first.
    KeyOf {
        tokens: Box<TokenSource>,
        subscription: String,
        resource_group: String,
        known: std::sync::Mutex<Option<SharedKey>>,
    },
}

/// How the service encrypts blobs.
#[derive(Clone)]
pub(super) enum Encryption {
    /// With keys of its own.
    Service,
    /// With this key in base64.
    Key(Secret),
    /// With the key of this scope.
    Scope(String),
}

/// A container.
pub(super) struct Container {
    pub(super) client: HttpClient,
    pub(super) account: String,
    pub(super) name: String,
    pub(super) url: Url,
    pub(super) authorization: Authorization,
    pub(super) encryption: Encryption,
    pub(super) timeout: Duration,
}

impl std::fmt::Debug for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// A request to a container or a blob in it.
pub(super) struct Call<'c> {
    pub(super) method: Method,
    /// The blob; none for the container.
    pub(super) blob: Option<&'c str>,
    pub(super) query: &'c [(&'c str, &'c str)],
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Vec<u8>>,
    /// Whether the request reads or writes content, so that the headers of the encryption belong to it.
    pub(super) content: Content,
}

/// Whether a request concerns the content of a blob.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Used,
    Unused,
}

impl<'c> Call<'c> {
    /// A request without content.
    pub(super) fn new(method: Method, blob: &'c str, query: &'c [(&'c str, &'c str)]) -> Call<'c> {
        let body = (method == Method::PUT).then(Vec::new);
        Call { method, blob: Some(blob), query, headers: Vec::new(), body, content: Content::Unused }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Call<'c> {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    #[must_use]
    pub(super) fn using_content(mut self) -> Call<'c> {
        self.content = Content::Used;
        self
    }
}

/// A response of any status, with the code of its error.
pub(super) struct Reply {
    pub(super) request: Request,
    pub(super) response: Response,
    /// Empty if the request succeeded.
    pub(super) code: String,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.response.header(name)
    }

    pub(super) fn is_success(&self) -> bool {
        self.response.is_success()
    }

    /// Whether the service says that the blob does not exist. A missing container is something else, and so is the page of a proxy.
    pub(super) fn is_absent(&self) -> bool {
        let is_of_service = || self.header("x-ms-request-id").is_some();
        self.response.status == 404 && (self.code == "BlobNotFound" || self.code.is_empty() && is_of_service())
    }
}

impl Container {
    /// The URL of a blob. Slashes in its name are escaped, as in OpenTofu.
    pub(super) fn blob_url(&self, blob: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{}", self.url.path(), escaped(blob)));
        url
    }

    /// Sends a request. Responses of any status are returned, except those that ask to try again later.
    pub(super) fn send(&self, call: Call<'_>) -> Result<Reply, StoreError> {
        let mut url = call.blob.map_or_else(|| self.url.clone(), |blob| self.blob_url(blob));
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(call.query);
        }
        let mut request = Request { method: call.method, body: call.body, ..Request::new(url) };
        request.timeout = Some(self.timeout);
        request.limit = call.query.contains(&("comp", "list")).then_some(LIST_LIMIT);
        request = request.with_header("x-ms-date", http_date(SystemTime::now())).with_header("x-ms-version", VERSION);
        for (name, value) in call.headers {
            request = request.with_header(name, value);
        }
        if call.content == Content::Used {
            request = self.encrypted(request);
        }
        let request = self.authorized(request)?;
        let response =
            exchange(&self.client, request.clone()).map_err(|error| errors::without_response(error, &self.account))?;
        let code = errors::code(&response);
        Ok(Reply { request, response, code })
    }

    fn encrypted(&self, request: Request) -> Request {
        match &self.encryption {
            Encryption::Service => request,
            Encryption::Scope(scope) => request.with_header("x-ms-encryption-scope", scope.as_str()),
            Encryption::Key(key) => {
                let hash = Sha256::digest(BASE64.decode(key.reveal()).unwrap_or_default());
                request
                    .with_header("x-ms-encryption-key", key.reveal())
                    .with_header("x-ms-encryption-key-sha256", BASE64.encode(hash))
                    .with_header("x-ms-encryption-algorithm", "AES256")
            }
        }
    }

    fn authorized(&self, mut request: Request) -> Result<Request, StoreError> {
        let failed = |error: yuba_net::azure::AzureError| {
            let kind = if error.may_pass { StoreErrorKind::Transient } else { StoreErrorKind::Lasting };
            StoreError::new(kind, error.reason)
        };
        let key = match &self.authorization {
            Authorization::Key(key) => key.clone(),
            Authorization::Tokens(tokens) => {
                return Ok(request.with_token(Some(tokens.token(STORAGE_SCOPE).map_err(failed)?)));
            }
            Authorization::Signature(signature) => {
                let query = match request.url.query() {
                    Some(query) => format!("{query}&{}", signature.reveal()),
                    None => signature.reveal().to_owned(),
                };
                request.url.set_query(Some(&query));
                return Ok(request);
            }
            Authorization::KeyOf { tokens, subscription, resource_group, known } => {
                let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                match known.as_ref() {
                    Some(key) => key.clone(),
                    None => {
                        let account = StorageAccount { subscription, resource_group, name: &self.account };
                        let found = account_key(tokens, &account).map_err(failed)?;
                        let invalid = || StoreError::lasting("the resource manager returned a key that is not base64");
                        let key = SharedKey::new(&self.account, found.reveal()).ok_or_else(invalid)?;
                        *known = Some(key.clone());
                        key
                    }
                }
            }
        };
        let authorization = key.authorization(&request);
        Ok(request.with_header("authorization", authorization))
    }

    /// A response that is a failure.
    pub(super) fn failure(&self, reply: &Reply) -> StoreError {
        let signature = match &self.authorization {
            Authorization::Signature(signature) => Some(signature),
            _ => None,
        };
        errors::failure(reply, &errors::Place { account: &self.account, container: &self.name, signature })
    }
}

/// A name as one segment of a path, escaped as Go does it: letters, digits and `-_.~$&+=:@` stay.
pub(super) fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'~' | b'$' | b'&' | b'+' | b'=' | b':' | b'@' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with `url.PathEscape` of Go 1.25.
    #[test]
    fn names_are_escaped_as_go_does_it() {
        assert_eq!(escaped("dir/a b.tfstateenv:dev"), "dir%2Fa%20b.tfstateenv:dev");
        assert_eq!(escaped("a;b,c?d%e\\fü$&+=@~"), "a%3Bb%2Cc%3Fd%25e%5Cf%C3%BC$&+=@~");
    }
}
