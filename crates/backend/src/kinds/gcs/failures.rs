//! Refusals of Cloud Storage in words: the request, what the server said, and what to do about it.

use serde_json::Value as Json;
use yuba_net::http::{Request, Response};

use crate::kit::requests::unexpected;
use crate::kit::store::{StoreError, StoreErrorKind};

/// Operation of a request on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    List,
    Create,
    /// Cloud Storage deletes the object that is replaced.
    Replace,
    Delete,
}

impl Action {
    /// The permissions that it requires on the bucket.
    fn permissions(self) -> &'static str {
        match self {
            Action::Read => "storage.objects.get",
            Action::List => "storage.objects.list",
            Action::Create => "storage.objects.create",
            Action::Replace => "storage.objects.create and storage.objects.delete",
            Action::Delete => "storage.objects.delete",
        }
    }
}

/// Whether a response says that the bucket has no such object. A missing bucket is something else, and so is the page of a proxy.
pub(super) fn is_object_missing(response: &Response) -> bool {
    let text = String::from_utf8_lossy(&response.body);
    let is_of_service = || {
        let document: Json = serde_json::from_slice(&response.body).unwrap_or_default();
        document["error"].is_object()
            || response.header("x-guploader-uploadid").is_some()
            || text.starts_with("No such object")
            // Emulators respond so to requests for contents.
            || text.trim() == "Not Found"
    };
    response.status == 404 && !text.contains("bucket does not exist") && is_of_service()
}

/// Whether a response of status 404 is about the bucket.
fn is_bucket_missing(response: &Response) -> bool {
    String::from_utf8_lossy(&response.body).contains("bucket does not exist")
}

/// A response that does not say what was asked for.
pub(super) fn refused(action: Action, bucket: &str, request: &Request, response: &Response) -> StoreError {
    let document: Json = serde_json::from_slice(&response.body).unwrap_or_default();
    let reason = document["error"]["errors"][0]["reason"].as_str().unwrap_or_default();
    let message = document["error"]["message"].as_str().unwrap_or_default();
    let kind = match (response.status, reason) {
        // Limits of a project are reported as denied access.
        (408, _) | (403, "rateLimitExceeded" | "userRateLimitExceeded") => StoreErrorKind::Transient,
        _ => unexpected(request, response).kind,
    };
    let advice = match (response.status, reason) {
        (401, _) => "The access token is invalid or expired. Access tokens of \"access_token\" and \
                     GOOGLE_OAUTH_ACCESS_TOKEN are not renewed: create one with `gcloud auth print-access-token`"
            .to_owned(),
        (403, "rateLimitExceeded" | "userRateLimitExceeded") => String::new(),
        (403, "accountDisabled") => "The billing account of the project is disabled".to_owned(),
        (403, _) if message.contains("KMS") || message.contains("cloudkms") => {
            "The Cloud Storage service agent of the project requires the role \
             roles/cloudkms.cryptoKeyEncrypterDecrypter on the key of \"kms_encryption_key\""
                .to_owned()
        }
        (403, _) => format!("The credentials require {} on bucket \"{bucket}\"", action.permissions()),
        (404, _) if !is_bucket_missing(response) && action != Action::Create && action != Action::List => {
            "The response is not one of Cloud Storage. Check \"storage_custom_endpoint\" and proxies".to_owned()
        }
        (404, _) => format!("The bucket \"{bucket}\" does not exist. Create it, or change the argument \"bucket\""),
        (400, "customerEncryptionKeyIsIncorrect" | "customerEncryptionKeySha256IsInvalid") => {
            "The state is encrypted with another key than \"encryption_key\"".to_owned()
        }
        (400, "resourceIsEncryptedWithCustomerEncryptionKey") => {
            "The state is encrypted with a customer-supplied key. Set \"encryption_key\" to it".to_owned()
        }
        (400, "resourceNotEncryptedWithCustomerEncryptionKey") => {
            "The state is not encrypted with a customer-supplied key. Remove \"encryption_key\" to read it".to_owned()
        }
        (300..400, _) => "The endpoint redirects, and credentials are not sent to another host. Check \
                          \"storage_custom_endpoint\""
            .to_owned(),
        _ => String::new(),
    };
    let described = unexpected(request, response);
    let separator = if described.reason.ends_with('.') { " " } else { ". " };
    let text = match advice.is_empty() {
        true => described.reason.clone(),
        false => format!("{}{separator}{advice}", described.reason),
    };
    StoreError { kind, reason: text.trim_end_matches('.').to_owned(), ..described }
}

/// A transient failure, with what its status means for states.
pub(super) fn transient(action: Action, error: StoreError) -> StoreError {
    let is_write = matches!(action, Action::Create | Action::Replace);
    match is_write && error.reason.contains("\"429 ") {
        true => {
            let reason = error.reason.trim_end_matches('.');
            let reason = format!("{reason}. Cloud Storage allows one write per second to an object");
            StoreError { reason, ..error }
        }
        false => error,
    }
}
