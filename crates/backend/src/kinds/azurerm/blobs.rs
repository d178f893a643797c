//! Blobs: their properties and metadata, lists of them, and empty ones to lock.

use std::collections::BTreeMap;

use yuba_net::http::{Method, Response};

use super::container::{Call, Content};
use super::{AzureBlobs, MOST_PAGES, xml};
use crate::kit::requests::unexpected;
use crate::kit::store::{StoreError, StoreVersion};

/// The metadata with the holder of the lock: its JSON in base64.
pub(super) const HOLDER: &str = "terraformlockid";
/// Headers with metadata begin so.
const METADATA: &str = "x-ms-meta-";

/// The properties of a blob.
#[derive(Clone, Debug)]
pub(super) struct Properties {
    pub(super) etag: String,
    /// The version of the content.
    pub(super) version: StoreVersion,
    pub(super) length: u64,
    /// By name in lower case.
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) lease: Lease,
}

/// Whether a blob has a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lease {
    Locked,
    Unlocked,
}

impl Properties {
    pub(super) fn of(response: &Response) -> Properties {
        let header = |name: &str| response.header(name).unwrap_or_default().to_owned();
        let metadata = response.headers.iter().filter_map(|(name, value)| {
            let name = name.as_str().strip_prefix(METADATA)?;
            Some((name.to_ascii_lowercase(), value.to_str().ok()?.to_owned()))
        });
        Properties {
            etag: header("etag"),
            version: version(response),
            length: header("content-length").parse().unwrap_or(0),
            metadata: metadata.collect(),
            lease: match header("x-ms-lease-status").eq_ignore_ascii_case("locked") {
                true => Lease::Locked,
                false => Lease::Unlocked,
            },
        }
    }

    /// Adds the metadata to a request that would remove them otherwise.
    pub(super) fn described<'c>(&self, call: Call<'c>) -> Call<'c> {
        self.metadata.iter().fold(call, |call, (name, value)| call.with(&format!("{METADATA}{name}"), value))
    }
}

/// The version of the content of a blob: its MD5 sum, which the service computes for all blobs that are written at once. Metadata do
/// not change it. Other blobs have the ETag, which changes with metadata, too.
pub(super) fn version(response: &Response) -> StoreVersion {
    let header = |name: &str| response.header(name).filter(|value| !value.is_empty());
    match header("content-md5").or_else(|| header("x-ms-blob-content-md5")) {
        Some(sum) => StoreVersion(format!("md5:{sum}")),
        None => StoreVersion(format!("etag:{}", header("etag").unwrap_or_default())),
    }
}

/// A request that writes a whole block blob.
pub(super) fn block_blob<'c>(call: Call<'c>, content: &[u8]) -> Call<'c> {
    let call = call.using_content().with("x-ms-blob-type", "BlockBlob").with("content-type", "application/json");
    Call { body: Some(content.to_vec()), ..call.with("x-ms-blob-content-type", "application/json") }
}

impl AzureBlobs {
    /// The properties of the blob of a workspace; none if it does not exist.
    pub(super) fn properties(&self, workspace: &str) -> Result<Option<Properties>, StoreError> {
        let blob = self.blob(workspace);
        let reply = self.container.send(Call::new(Method::HEAD, &blob, &[]).using_content())?;
        if reply.is_absent() {
            return Ok(None);
        }
        self.succeeded(reply).map(|reply| Some(Properties::of(&reply.response)))
    }

    /// Creates an empty blob, unless there is one by now.
    pub(super) fn create(&self, workspace: &str) -> Result<(), StoreError> {
        let blob = self.blob(workspace);
        let call = block_blob(Call::new(Method::PUT, &blob, &[]), b"").with("if-none-match", "*");
        let reply = self.container.send(call)?;
        match reply.code.as_str() {
            // Another process has created and perhaps locked it.
            "BlobAlreadyExists" | "ConditionNotMet" | "LeaseIdMissing" => Ok(()),
            _ => self.succeeded(reply).map(drop),
        }
    }

    /// Names of all blobs with a prefix, without the prefix.
    pub(super) fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        let mut marker = String::new();
        for _ in 0..MOST_PAGES {
            let mut query = vec![("restype", "container"), ("comp", "list"), ("prefix", prefix)];
            if !marker.is_empty() {
                query.push(("marker", &marker));
            }
            let call = Call {
                method: Method::GET,
                blob: None,
                query: &query,
                headers: Vec::new(),
                body: None,
                content: Content::Unused,
            };
            let reply = self.container.send(call).and_then(|reply| self.succeeded(reply))?;
            let page = std::str::from_utf8(&reply.response.body).ok().and_then(xml::page);
            let page = page.ok_or_else(|| unexpected(&reply.request, &reply.response))?;
            names.extend(page.names.iter().filter_map(|name| name.strip_prefix(prefix)).map(str::to_owned));
            match page.next {
                Some(next) => marker = next,
                None => return Ok(names),
            }
        }
        Err(StoreError::lasting(format!(
            "the list of blobs of container \"{}\" has too many pages",
            self.container.name
        )))
    }
}
