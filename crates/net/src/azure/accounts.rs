//! Storage accounts: their keys, from the resource manager.

use serde_json::Value as Json;

use super::{AzureError, TokenSource, json};
use crate::Secret;
use crate::http::{Method, Request};

/// The address of a storage account in the resource manager.
#[derive(Clone, Copy, Debug)]
pub struct StorageAccount<'a> {
    /// The subscription.
    pub subscription: &'a str,
    /// The resource group.
    pub resource_group: &'a str,
    /// The name of the account.
    pub name: &'a str,
}

/// Requests the first key of a storage account.
pub fn account_key(tokens: &TokenSource, account: &StorageAccount<'_>) -> Result<Secret, AzureError> {
    let cloud = tokens.cloud();
    let token = tokens.token(&cloud.resource_manager_scope())?;
    let mut url = cloud.resource_manager.clone();
    let StorageAccount { subscription, resource_group, name } = *account;
    let segments = ["subscriptions", subscription, "resourceGroups", resource_group, "providers", "Microsoft.Storage"];
    url.path_segments_mut()
        .map_err(|()| AzureError::lasting("the resource manager of the cloud is not a valid URL"))?
        .pop_if_empty()
        .extend(segments)
        .extend(["storageAccounts", name, "listKeys"]);
    url.set_query(Some("api-version=2024-01-01"));
    let request = Request { method: Method::POST, body: Some(Vec::new()), ..Request::new(url) }
        .with_token(Some(token))
        .with_header("accept", "application/json");
    let found = json(tokens.client(), &request).map_err(|error| explained(error, account))?;
    let key = found.pointer("/keys/0/value").and_then(Json::as_str).filter(|key| !key.is_empty());
    let missing = || AzureError::lasting(format!("the resource manager returned no key of storage account {name}"));
    key.map(Secret::new).ok_or_else(missing)
}

/// With the permission that is missing, or the object that does not exist.
fn explained(error: AzureError, account: &StorageAccount<'_>) -> AzureError {
    let StorageAccount { resource_group, name, .. } = account;
    let advice = [
        (
            "AuthorizationFailed",
            format!(
                "The identity needs the permission Microsoft.Storage/storageAccounts/listKeys/action on storage account {name}. \
                 Assign the role \"Storage Account Key Operator Service Role\", or set use_azuread_auth = true"
            ),
        ),
        ("ResourceGroupNotFound", format!("Check resource_group_name \"{resource_group}\" and subscription_id")),
        (
            "ResourceNotFound",
            format!("Check storage_account_name \"{name}\" and resource_group_name \"{resource_group}\""),
        ),
        ("SubscriptionNotFound", "Check subscription_id".to_owned()),
        ("InvalidSubscriptionId", "Check subscription_id".to_owned()),
    ];
    match advice.iter().find(|(code, _)| error.reason.contains(code)) {
        Some((_, advice)) => {
            let reason = format!("{}. {advice}", error.reason.trim_end_matches('.'));
            AzureError { reason, ..error }
        }
        None => error,
    }
}
