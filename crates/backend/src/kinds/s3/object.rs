//! Requests for objects of the bucket.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ecow::EcoString;
use md5::Md5;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use yuba_net::Secret;
use yuba_net::aws::{Aws, AwsFailure, Bucket, Element, Service};
use yuba_net::http::{Method, Request, Response, Url};

use super::failure::{Call, of_aws, refused};
use crate::kit::requests::{LIST_LIMIT, respond};
use crate::kit::store::StoreError;

/// Pages of a listing, a thousand objects each.
const MOST_PAGES: usize = 1000;

/// How S3 encrypts objects.
#[derive(Clone, Debug)]
pub(super) enum Encryption {
    /// As the bucket is set up.
    Bucket,
    /// With keys of S3.
    S3,
    /// With a key of KMS.
    Kms(String),
    /// With a key in each request, in Base64.
    Customer(Secret),
}

/// Whether requests and responses are checked by checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksums {
    Sha256,
    Off,
}

/// The bucket, and how objects in it are written.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    pub(super) aws: Aws,
    pub(super) bucket: Bucket,
    pub(super) encryption: Encryption,
    pub(super) acl: Option<EcoString>,
    pub(super) checksums: Checksums,
}

/// The content of an object.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) content: Vec<u8>,
    /// None where the server does not return one.
    pub(super) etag: Option<String>,
}

/// Required state of the object for an upload to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    None,
    /// No object.
    Absent,
    /// The object with this ETag.
    Etag(&'a str),
}

/// How an upload ended.
#[derive(Debug)]
pub(super) enum Upload {
    /// With the ETag of the new object.
    Done(Option<String>),
    /// The precondition failed.
    Refused,
    /// The server does not support conditions.
    Unconditional(StoreError),
}

impl Objects {
    fn request(&self, method: Method, url: Url) -> Request {
        Request { method, ..Request::new(url) }
    }

    fn url(&self, key: &str) -> Result<Url, StoreError> {
        self.bucket.object(key).map_err(|error| StoreError::lasting(error.reason))
    }

    /// Signs and sends a request.
    fn send(&self, request: &Request) -> Result<Response, StoreError> {
        let signed = self.aws.sign_for(request.clone(), Service::S3, &self.bucket.region);
        respond(self.aws.client(), signed.map_err(|error| of_aws(&error))?)
    }

    fn refused(&self, request: &Request, response: &Response, permission: &str, key: &str) -> StoreError {
        let container = &self.bucket.name;
        let resource = match permission {
            "s3:ListBucket" => format!("s3:::{container}"),
            _ => format!("s3:::{container}/{key}"),
        };
        let call = Call { permission, resource: &resource, container, service: Service::S3 };
        refused(&self.aws, request, response, &call)
    }

    /// Headers with the key of the customer, for requests that read or write.
    fn with_customer_key(&self, request: Request) -> Request {
        let Encryption::Customer(key) = &self.encryption else { return request };
        // The key was checked when the backend was opened.
        let bytes = BASE64.decode(key.reveal()).unwrap_or_default();
        request
            .with_header("x-amz-server-side-encryption-customer-algorithm", "AES256")
            .with_header("x-amz-server-side-encryption-customer-key", key.reveal())
            .with_header("x-amz-server-side-encryption-customer-key-md5", BASE64.encode(Md5::digest(&bytes)))
    }

    /// The content of an object; none if it does not exist.
    pub(super) fn get(&self, key: &str) -> Result<Option<Object>, StoreError> {
        let mut request = self.with_customer_key(self.request(Method::GET, self.url(key)?));
        if self.checksums == Checksums::Sha256 {
            request = request.with_header("x-amz-checksum-mode", "ENABLED");
        }
        let response = self.send(&request)?;
        match response.status {
            200 => {
                check_content(&request, &response)?;
                let etag = response.header("etag").map(str::to_owned);
                Ok(Some(Object { content: response.body, etag }))
            }
            404 if is_missing(&response) => Ok(None),
            _ => Err(self.refused(&request, &response, "s3:GetObject", key)),
        }
    }

    /// Whether an object exists, by its ETag.
    pub(super) fn head(&self, key: &str) -> Result<Option<Option<String>>, StoreError> {
        let request = self.with_customer_key(self.request(Method::HEAD, self.url(key)?));
        let response = self.send(&request)?;
        match response.status {
            200 => Ok(Some(response.header("etag").map(str::to_owned))),
            404 => Ok(None),
            _ => Err(self.refused(&request, &response, "s3:GetObject", key)),
        }
    }

    /// Uploads an object.
    pub(super) fn put(
        &self,
        key: &str,
        content: &[u8],
        tags: &BTreeMap<String, String>,
        condition: Condition<'_>,
    ) -> Result<Upload, StoreError> {
        let request = self.request(Method::PUT, self.url(key)?).with_header("content-type", "application/json");
        let request = self.with_encryption(self.with_customer_key(request));
        let mut request = Request { body: Some(content.to_vec()), ..request };
        if self.checksums == Checksums::Sha256 {
            request = request
                .with_header("x-amz-checksum-sha256", BASE64.encode(Sha256::digest(content)))
                .with_header("x-amz-sdk-checksum-algorithm", "SHA256");
        }
        if let Some(acl) = &self.acl {
            request = request.with_header("x-amz-acl", acl.as_str());
        }
        if let Some(tags) = tagging(tags) {
            request = request.with_header("x-amz-tagging", tags);
        }
        request = match condition {
            Condition::None => request,
            Condition::Absent => request.with_header("if-none-match", "*"),
            Condition::Etag(etag) => request.with_header("if-match", etag),
        };
        let response = self.send(&request)?;
        let failed = || self.refused(&request, &response, "s3:PutObject", key);
        let failure = AwsFailure::of(&response);
        match (response.status, failure.code.as_str()) {
            (200..=299, _) => Ok(Upload::Done(response.header("etag").map(str::to_owned))),
            (412, _) => Ok(Upload::Refused),
            // The object that a condition names is gone.
            (404, "NoSuchKey") if matches!(condition, Condition::Etag(_)) => Ok(Upload::Refused),
            (409, "ConditionalRequestConflict" | "OperationAborted") => Err(StoreError::transient(failed().reason)),
            (501, _) | (_, "NotImplemented") if condition != Condition::None => Ok(Upload::Unconditional(failed())),
            _ => Err(failed()),
        }
    }

    fn with_encryption(&self, request: Request) -> Request {
        match &self.encryption {
            Encryption::Bucket | Encryption::Customer(_) => request,
            Encryption::S3 => request.with_header("x-amz-server-side-encryption", "AES256"),
            Encryption::Kms(key) => request
                .with_header("x-amz-server-side-encryption", "aws:kms")
                .with_header("x-amz-server-side-encryption-aws-kms-key-id", key.as_str()),
        }
    }

    /// Deletes an object. An object that does not exist counts as deleted.
    pub(super) fn delete(&self, key: &str) -> Result<(), StoreError> {
        let request = self.request(Method::DELETE, self.url(key)?);
        let response = self.send(&request)?;
        match response.is_success() || is_missing(&response) {
            true => Ok(()),
            false => Err(self.refused(&request, &response, "s3:DeleteObject", key)),
        }
    }

    /// All keys that start with a prefix. None if listing is denied.
    pub(super) fn list(&self, prefix: &str) -> Result<Option<Vec<String>>, StoreError> {
        let mut keys = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut url = self.bucket.url().map_err(|error| StoreError::lasting(error.reason))?;
            url.query_pairs_mut()
                .append_pair("list-type", "2")
                .append_pair("max-keys", "1000")
                .append_pair("prefix", prefix);
            if let Some(token) = &after {
                url.query_pairs_mut().append_pair("continuation-token", token);
            }
            let request = self.request(Method::GET, url).at_most(LIST_LIMIT);
            let response = self.send(&request)?;
            if !response.is_success() {
                return match AwsFailure::of(&response).code.as_str() {
                    "AccessDenied" => Ok(None),
                    _ => Err(self.refused(&request, &response, "s3:ListBucket", "")),
                };
            }
            let list = Element::parse(&String::from_utf8_lossy(&response.body))
                .filter(|list| list.name == "ListBucketResult")
                .ok_or_else(|| {
                    StoreError::lasting(format!(
                        "GET {}: the response is not a list of objects, so the endpoint may not be S3",
                        yuba_net::http::shown(&request.url)
                    ))
                })?;
            keys.extend(list.all("Contents").filter_map(|object| object.text_of("Key")).map(str::to_owned));
            let is_last = list.text_of("IsTruncated").is_none_or(|text| text.trim() != "true");
            let next = list.text_of("NextContinuationToken").map(str::to_owned).filter(|_| !is_last);
            if next.is_none() {
                return Ok(Some(keys));
            }
            if next == after {
                break;
            }
            after = next;
        }
        let bucket = &self.bucket.name;
        Err(StoreError::lasting(format!(
            "the listing of bucket \"{bucket}\" repeats a page or has more than {MOST_PAGES} pages"
        )))
    }
}

/// Whether a response says that the bucket has no such object. The page of a proxy says nothing about it.
fn is_missing(response: &Response) -> bool {
    let is_page = response.media_type().is_some_and(|kind| kind == "text/html");
    response.status == 404 && !is_page && AwsFailure::of(response).code != "NoSuchBucket"
}

/// Compares the content with the checksum that the server sends. Checksums of parts (`...-3`) are not of the content.
fn check_content(request: &Request, response: &Response) -> Result<(), StoreError> {
    let expected = response.header("x-amz-checksum-sha256").filter(|sum| !sum.contains('-'));
    match expected {
        Some(expected) if BASE64.encode(Sha256::digest(&response.body)) != expected => {
            let url = yuba_net::http::shown(&request.url);
            Err(StoreError::transient(format!(
                "GET {url}: the content does not match the SHA-256 checksum of the object"
            )))
        }
        _ => Ok(()),
    }
}

/// Tags as a query string, sorted by name; none without tags.
fn tagging(tags: &BTreeMap<String, String>) -> Option<String> {
    if tags.is_empty() {
        return None;
    }
    let mut url = Url::parse("http://tags/").ok()?;
    url.query_pairs_mut().extend_pairs(tags);
    url.query().map(str::to_owned)
}
