//! Opening the backend: checks of the arguments, the cloud, and how requests are authorized.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use yuba_net::azure::{AzureCloud, Outside, SharedKey, TokenSource};
use yuba_net::http::Url;
use yuba_syntax::Diagnostics;

use super::arguments::{TIMEOUT, identity_settings};
use super::container::{Authorization, Container, Encryption};
use super::{AzureBlobs, Snapshots};
use crate::diagnostics::azure as diagnostics;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::Arguments;
use crate::kit::store::Store;

/// Problems of the arguments as they are written.
pub(in crate::kinds) fn check(arguments: &Arguments) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let is_set = |name: &str| arguments.text(name).is_some_and(|text| !text.is_empty());
    for (one, other) in [("metadata_host", "environment"), ("customer_provided_key", "encryption_scope")] {
        if is_set(one) && is_set(other) {
            problems.push(diagnostics::conflicting(one, other));
        }
    }
    if arguments
        .secret("customer_provided_key")
        .is_some_and(|key| !key.reveal().is_empty() && !is_aes_256(key.reveal()))
    {
        problems.push(diagnostics::invalid_argument("customer_provided_key", "It must be 32 bytes in base64"));
    }
    if !arguments.get("timeout_seconds").is_null() && arguments.whole("timeout_seconds").is_none() {
        problems
            .push(diagnostics::invalid_argument("timeout_seconds", "It must be a whole number that is not negative"));
    }
    for (name, instead) in
        [("endpoint", "Set environment or metadata_host instead"), ("msi_endpoint", "Set MSI_ENDPOINT instead")]
    {
        if is_set(name) {
            problems.push(diagnostics::deprecated(name, instead));
        }
    }
    if let Some(account) = arguments.text("storage_account_name").filter(|name| !name.is_empty() && !is_account(name)) {
        problems.push(diagnostics::invalid_account(&account));
    }
    if let Some(container) = arguments.text("container_name").filter(|name| !name.is_empty() && !is_container(name)) {
        problems.push(diagnostics::invalid_container(&container));
    }
    if arguments.text("key").is_some_and(|key| matches!(key.as_str(), "." | "..")) {
        problems.push(diagnostics::invalid_argument("key", "It must be the name of a blob, not \".\" or \"..\""));
    }
    problems
}

fn is_aes_256(key: &str) -> bool {
    BASE64.decode(key).is_ok_and(|bytes| bytes.len() == 32)
}

/// Names of accounts are part of host names.
fn is_account(name: &str) -> bool {
    (3..=24).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Names of containers are part of URLs.
fn is_container(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_fine = (3..=63).contains(&name.len()) && name.bytes().all(is_inner);
    is_fine && !name.starts_with('-') && !name.ends_with('-') && !name.contains("--")
}

/// Makes the store. An identity may be looked up; blobs are not.
pub(in crate::kinds) fn open(
    arguments: &Arguments,
    environment: &BackendEnvironment,
) -> Result<Arc<dyn Store>, Diagnostics> {
    // Environment variables may have added values that the first check has not seen.
    let mut problems = check(arguments);
    problems.retain(|problem| problem.is_error());
    if problems.has_errors() {
        return Err(problems);
    }
    let files = Arc::clone(&environment.files);
    let read = Arc::new(move |path: &std::path::Path| files.read(path));
    let outside = Outside::new(environment.services.client(), environment.variables.clone(), read);
    let text = |name: &str| arguments.text(name).map(String::from).unwrap_or_default();
    let cloud = cloud(&text("environment"), &text("metadata_host"), &outside)?;
    let (account, name) = (text("storage_account_name"), text("container_name"));
    // Arguments of the environment and of records are not always checked before.
    if !is_account(&account) {
        return Err(diagnostics::invalid_account(&account).into());
    }
    if !is_container(&name) {
        return Err(diagnostics::invalid_container(&name).into());
    }
    let url = Url::parse(&format!("https://{account}.blob.{}/{name}", cloud.storage_suffix));
    let url = url.map_err(|_| diagnostics::invalid_cloud("the suffix of storage hosts is not valid"))?;
    let encryption = match (arguments.secret("customer_provided_key"), text("encryption_scope")) {
        (Some(key), _) if !key.reveal().is_empty() => Encryption::Key(key),
        (_, scope) if !scope.is_empty() => Encryption::Scope(scope),
        _ => Encryption::Service,
    };
    let timeout = arguments.whole("timeout_seconds").filter(|seconds| *seconds > 0).unwrap_or(TIMEOUT.unsigned_abs());
    let authorization = authorization(arguments, &account, &cloud, &outside)?;
    let client = outside.client().clone();
    let timeout = Duration::from_secs(timeout);
    let container = Container { client, account, name, url, authorization, encryption, timeout };
    let snapshots = if arguments.is_on("snapshot") { Snapshots::Created } else { Snapshots::NotCreated };
    Ok(Arc::new(AzureBlobs { container, key: text("key"), snapshots }))
}

/// The cloud of a metadata host or with a name.
fn cloud(environment: &str, metadata_host: &str, outside: &Outside) -> Result<AzureCloud, Diagnostics> {
    if !metadata_host.is_empty() {
        let found = AzureCloud::of_metadata_host(outside, metadata_host);
        return found.map_err(|error| diagnostics::invalid_cloud(&error.reason).into());
    }
    AzureCloud::named(environment).ok_or_else(|| diagnostics::unknown_environment(environment).into())
}

fn authorization(
    arguments: &Arguments,
    account: &str,
    cloud: &AzureCloud,
    outside: &Outside,
) -> Result<Authorization, Diagnostics> {
    let secret = |name: &str| arguments.secret(name).filter(|secret| !secret.reveal().is_empty());
    if let Some(key) = secret("access_key") {
        let key = SharedKey::new(account, key.reveal());
        let invalid = || diagnostics::invalid_argument("access_key", "It is not valid base64");
        return Ok(Authorization::Key(key.ok_or_else(invalid)?));
    }
    if let Some(signature) = secret("sas_token") {
        let query = signature.reveal().trim().trim_start_matches('?');
        return Ok(Authorization::Signature(yuba_net::Secret::new(query)));
    }
    let tokens =
        identity_settings(arguments).select(cloud, outside).map_err(|refused| diagnostics::no_identity(&refused))?;
    match arguments.is_on("use_azuread_auth") {
        true => Ok(Authorization::Tokens(Box::new(tokens))),
        false => key_of(arguments, tokens),
    }
}

/// The access key of the account is requested with the identity.
fn key_of(arguments: &Arguments, tokens: TokenSource) -> Result<Authorization, Diagnostics> {
    let resource_group = arguments.text("resource_group_name").map(String::from).unwrap_or_default();
    let subscription = tokens.subscription().to_owned();
    let mut problems = Diagnostics::new();
    if resource_group.is_empty() {
        problems.push(diagnostics::no_resource_group());
    }
    if subscription.is_empty() {
        problems.push(diagnostics::no_subscription());
    }
    match problems.has_errors() {
        true => Err(problems),
        false => {
            Ok(Authorization::KeyOf { tokens: Box::new(tokens), subscription, resource_group, known: Mutex::default() })
        }
    }
}
