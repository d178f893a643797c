//! Failures of the blob service, in words: what failed, why, and what to do.

use std::time::{Duration, SystemTime};

use yuba_net::Secret;
use yuba_net::azure::{http_date, parse_http_date};
use yuba_net::http::{Response, Url, shown};

use super::container::Reply;
use super::xml;
use crate::kit::requests::unexpected;
use crate::kit::store::{StoreError, StoreErrorKind};
use crate::timestamp::UtcTime;

/// The service refuses requests whose time differs by more.
const ALLOWED_SKEW: Duration = Duration::from_secs(15 * 60);

/// The names that advice contains.
pub(super) struct Place<'p> {
    pub(super) account: &'p str,
    pub(super) container: &'p str,
    pub(super) signature: Option<&'p Secret>,
}

/// The code of an error; empty for other responses. Responses to HEAD have it in a header only.
pub(super) fn code(response: &Response) -> String {
    if response.is_success() {
        return String::new();
    }
    match response.header("x-ms-error-code") {
        Some(code) => code.to_owned(),
        None => document(response).map(|error| error.code).unwrap_or_default(),
    }
}

fn document(response: &Response) -> Option<xml::ServiceError> {
    xml::error(std::str::from_utf8(&response.body).ok()?)
}

/// A request without response. A host that does not exist is most often a misspelled account.
pub(super) fn without_response(mut error: StoreError, account: &str) -> StoreError {
    if error.reason.contains("dns error") {
        error.reason = format!("{}. Check that the storage account \"{account}\" exists", error.reason);
    }
    error
}

/// A response that is a failure: the request, the code, and advice.
pub(super) fn failure(reply: &Reply, place: &Place<'_>) -> StoreError {
    let Reply { request, response, code } = reply;
    if code.is_empty() {
        return unexpected(request, response);
    }
    let found = document(response).unwrap_or_default();
    let (method, status) = (&request.method, response.status_text());
    let message = match (found.message.trim_end_matches('.'), found.detail.trim_end_matches('.')) {
        ("", _) => String::new(),
        (message, "") => format!(": {message}"),
        (message, detail) => format!(": {message} ({detail})"),
    };
    let advice = advice(reply, place).map(|advice| format!(". {advice}")).unwrap_or_default();
    let reason =
        format!("{method} {}: the server responded \"{status}\", {code}{message}{advice}", located(&request.url));
    let mut error = StoreError::new(kind(reply), reason);
    error.retry_after =
        response.header("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    error
}

/// The URL with the operation, which is not secret, and without the signature, which is.
fn located(url: &Url) -> String {
    let public = ["comp", "restype", "prefix"];
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| public.contains(&name.as_ref()))
        .map(|(a, b)| (a.into(), b.into()))
        .collect();
    let mut bare = url.clone();
    bare.set_query(None);
    if !kept.is_empty() {
        bare.query_pairs_mut().extend_pairs(kept);
        return bare.to_string();
    }
    shown(&bare)
}

fn kind(reply: &Reply) -> StoreErrorKind {
    match reply.code.as_str() {
        "ConditionNotMet" | "BlobAlreadyExists" | "TargetConditionNotMet" => StoreErrorKind::Conflict,
        "LeaseLost" | "LeaseIdMismatchWithBlobOperation" | "LeaseNotPresentWithBlobOperation" => {
            StoreErrorKind::LockLost
        }
        "ContainerBeingDeleted" | "OperationTimedOut" | "ServerBusy" | "InternalError" => StoreErrorKind::Transient,
        _ if reply.response.may_pass() => StoreErrorKind::Transient,
        _ => StoreErrorKind::Lasting,
    }
}

/// Advice for the user about an error.
fn advice(reply: &Reply, place: &Place<'_>) -> Option<String> {
    let Place { account, container, signature } = place;
    let role = "Assign the role \"Storage Blob Data Contributor\" on the container to the identity";
    Some(match reply.code.as_str() {
        "AuthenticationFailed" | "InvalidAuthenticationInfo" => not_authenticated(reply, *signature),
        "AuthorizationPermissionMismatch" => match signature {
            None => format!("{role}; a new assignment takes some minutes to take effect"),
            Some(_) => "The SAS token needs the permissions read, create, write, delete and list (rcwdl)".to_owned(),
        },
        "AuthorizationFailure" => format!(
            "Check the access key or SAS token, and that the network rules of storage account \"{account}\" allow this machine"
        ),
        "AuthorizationServiceMismatch" | "AuthorizationResourceTypeMismatch" | "AuthorizationProtocolMismatch"
        | "UnauthorizedBlobOverwrite" => {
            "The SAS token must allow the blob service, containers and objects, https, and the permissions rcwdl".to_owned()
        }
        "AuthorizationSourceIPMismatch" => "The SAS token does not allow the address of this machine".to_owned(),
        "InsufficientAccountPermissions" => role.to_owned(),
        "NoAuthenticationInformation" => "The request was sent without credentials. Check sas_token".to_owned(),
        "KeyBasedAuthenticationNotPermitted" => {
            format!("Storage account \"{account}\" does not allow access keys. Set use_azuread_auth = true")
        }
        "ContainerNotFound" | "ResourceNotFound" => format!(
            "Create the container \"{container}\" in storage account \"{account}\", or check container_name"
        ),
        "ContainerBeingDeleted" => format!("The container \"{container}\" is being deleted"),
        "AccountIsDisabled" => format!("Storage account \"{account}\" is disabled"),
        "LeaseIdMissing" => "Another process holds the lease of the blob, which is the lock of the state".to_owned(),
        "LeaseLost" | "LeaseNotPresentWithBlobOperation" => "The lease, which is the lock of the state, was broken".to_owned(),
        "LeaseIdMismatchWithBlobOperation" => "Another process has taken the lease, which is the lock of the state".to_owned(),
        "LeaseAlreadyPresent" => "Another process holds the lease of the blob".to_owned(),
        "BlobUsesCustomerSpecifiedEncryption" => {
            "The blob is encrypted with a key of the customer or in another scope. Set customer_provided_key or encryption_scope \
             as they were when the state was written"
                .to_owned()
        }
        "BlobImmutableDueToPolicy" | "BlobOverwriteNotAllowedDueToImmutabilityPolicy" => {
            "An immutability policy of the container forbids writing. Yuba overwrites states".to_owned()
        }
        "BlobArchived" => "The blob is in the archive tier. Move it to the hot tier".to_owned(),
        "InvalidBlobType" => "The blob is not a block blob. Use another key".to_owned(),
        _ => return None,
    })
}

/// Why credentials are refused: the clock, an expired signature, a wrong key.
fn not_authenticated(reply: &Reply, signature: Option<&Secret>) -> String {
    let now = SystemTime::now();
    if let Some(theirs) = reply.header("date").and_then(parse_http_date) {
        let skew = now.duration_since(theirs).or_else(|_| theirs.duration_since(now)).unwrap_or_default();
        if skew > ALLOWED_SKEW {
            let (ours, theirs) = (http_date(now), http_date(theirs));
            return format!("The clock of this machine shows {ours}, that of the server {theirs}. Set the clock");
        }
    }
    let expiry = signature.and_then(|signature| {
        let query = Url::parse(&format!("https://host/?{}", signature.reveal())).ok()?;
        let (_, text) = query.query_pairs().find(|(name, _)| name == "se")?;
        UtcTime::parse(&text)
    });
    match (signature, expiry) {
        (Some(_), Some(expiry)) if expiry < UtcTime::now() => {
            format!("The SAS token expired at {expiry}. Create a new one")
        }
        (Some(_), _) => "Check that sas_token is complete and signed with a current key".to_owned(),
        (None, _) if reply.code == "InvalidAuthenticationInfo" => {
            "The service does not accept the token. Check that tenant_id is the tenant of the storage account"
                .to_owned()
        }
        (None, _) => "Check that access_key is a current key of the storage account".to_owned(),
    }
}
