//! Diagnostics about the `remote` backend and the `cloud` block.

use ecow::eco_format;
use yuba_addrs::Hostname;
use yuba_net::discovery::ServiceError;
use yuba_syntax::Diagnostic;

use crate::kit::store::StoreError;

yuba_syntax::catalogue! {
    /// The `organization` argument of the `remote` backend is empty.
    TFE_ORGANIZATION_EMPTY = error "tfe-organization-empty", "Invalid organization value";
    /// Neither the `cloud` block nor the environment sets the organization.
    TFE_ORGANIZATION_MISSING = error "tfe-organization-missing", "Invalid or missing required argument";
    /// The `workspaces` block selects no workspaces, or selects them in two ways.
    TFE_WORKSPACES_INVALID = error "tfe-workspaces-invalid", "Invalid workspaces configuration";
    /// The `remote` backend or the `cloud` block has no host.
    TFE_HOSTNAME_MISSING = error "tfe-hostname-missing", "Hostname is required for the {kind} backend";
    /// The host of the `remote` backend or of the `cloud` block is not a hostname.
    TFE_HOSTNAME_INVALID = error "tfe-hostname-invalid", "Invalid hostname";
    /// The discovery document of the host does not list the API.
    TFE_NOT_DISCOVERED = error "tfe-not-discovered", "Host {host} does not provide a {service} service";
    /// No API token is configured for the host.
    TFE_TOKEN_MISSING = error "tfe-token-missing", "Required token could not be found";
    /// The API token cannot be part of a request.
    TFE_TOKEN_INVALID = error "tfe-token-invalid", "Invalid API token";
    /// The organization does not exist, or cannot be read with the token.
    TFE_ORGANIZATION_UNREADABLE = error "tfe-organization-unreadable", "Failed to read organization {organization} at host {host}";
    /// The API of the host is too old for the `cloud` block.
    TFE_API_TOO_OLD = error "tfe-api-too-old", "Unsupported cloud backend version";
    /// TF_WORKSPACE selects a workspace that does not exist or does not have the tags of the configuration.
    TFE_WORKSPACE_NOT_SELECTABLE = error "tfe-workspace-not-selectable", "Invalid workspace selection";
    /// The request that looks up the workspace of TF_WORKSPACE fails.
    TFE_REQUEST_FAILED = error "tfe-request-failed", "Cloud backend returned an unexpected error";
}

pub(crate) fn tfe_organization_empty() -> Diagnostic {
    Diagnostic::new(&TFE_ORGANIZATION_EMPTY, "The argument \"organization\" must not be empty.")
}

pub(crate) fn tfe_organization_missing() -> Diagnostic {
    let detail = "The cloud block does not set \"organization\", and TF_CLOUD_ORGANIZATION is not set.";
    Diagnostic::new(&TFE_ORGANIZATION_MISSING, detail).hint("Set one of the two.")
}

pub(crate) fn tfe_workspaces_missing(other: &str) -> Diagnostic {
    let detail = eco_format!("The block \"workspaces\" sets neither \"name\" nor \"{other}\".");
    Diagnostic::new(&TFE_WORKSPACES_INVALID, detail)
        .hint(eco_format!("Set \"name\" to use one workspace, or \"{other}\" to use several."))
}

pub(crate) fn tfe_workspaces_ambiguous(other: &str) -> Diagnostic {
    let detail = eco_format!("The block \"workspaces\" sets both \"name\" and \"{other}\".");
    Diagnostic::new(&TFE_WORKSPACES_INVALID, detail)
        .hint(eco_format!("Keep \"name\" to use one workspace, or \"{other}\" to use several."))
}

pub(crate) fn tfe_workspace_differs(name: &str, selected: &str) -> Diagnostic {
    let detail = eco_format!(
        "TF_WORKSPACE is set to \"{selected}\", and the block \"workspaces\" of the cloud block sets \"name\" to \"{name}\"."
    );
    Diagnostic::new(&TFE_WORKSPACES_INVALID, detail).hint("Unset TF_WORKSPACE, or set it to the same name.")
}

pub(crate) fn tfe_hostname_missing(kind: &str) -> Diagnostic {
    let detail = "The argument \"hostname\" has no default.";
    let variable = if kind == "cloud" { " or TF_CLOUD_HOSTNAME" } else { "" };
    Diagnostic::new(&TFE_HOSTNAME_MISSING, detail)
        .titled(eco_format!("Hostname is required for the {kind} backend"))
        .naming(kind)
        .hint(eco_format!("Set \"hostname\"{variable} to the host of the server."))
}

pub(crate) fn tfe_hostname_invalid(given: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("The argument \"hostname\" is \"{given}\": {reason}.");
    Diagnostic::new(&TFE_HOSTNAME_INVALID, detail)
}

/// The title contains the reason.
pub(crate) fn tfe_not_discovered(kind: &str, host: &Hostname, error: &ServiceError) -> Diagnostic {
    let title = match error {
        ServiceError::NotProvided(_) => eco_format!("Host {host} does not provide a tfe service"),
        ServiceError::OtherVersion(_) => eco_format!("Host {host} does not provide this version of the tfe service"),
        ServiceError::Unreachable(_) => eco_format!("Failed to request discovery document of {host}"),
        ServiceError::Malformed(_) => eco_format!("Failed to parse discovery document of {host}"),
    };
    let detail = eco_format!("The {kind} backend needs the API of the host: {}.", error.reason());
    Diagnostic::new(&TFE_NOT_DISCOVERED, detail).titled(title).hint("Check \"hostname\" and the network connection.")
}

pub(crate) fn tfe_token_missing(host: &Hostname) -> Diagnostic {
    let detail = eco_format!("No API token is configured for {host}.");
    Diagnostic::new(&TFE_TOKEN_MISSING, detail).hint(eco_format!("Run \"yuba login {host}\" to store one."))
}

pub(crate) fn tfe_token_invalid(host: &Hostname) -> Diagnostic {
    let detail = eco_format!("The API token for {host} contains characters that no token has, such as line breaks.");
    Diagnostic::new(&TFE_TOKEN_INVALID, detail)
}

fn about_organization(organization: &str, host: &str, detail: ecow::EcoString) -> Diagnostic {
    Diagnostic::new(&TFE_ORGANIZATION_UNREADABLE, detail)
        .titled(eco_format!("Failed to read organization {organization:?} at host {host}"))
        .naming(organization)
        .naming(host)
}

pub(crate) fn tfe_organization_unreadable(organization: &str, host: &str, error: &StoreError) -> Diagnostic {
    about_organization(organization, host, eco_format!("The request for its settings failed: {error}."))
}

pub(crate) fn tfe_organization_not_found(organization: &str, host: &str) -> Diagnostic {
    let detail = eco_format!("The organization does not exist at {host}, or the token has no access to it.");
    about_organization(organization, host, detail).hint("Check \"organization\", \"hostname\" and the token.")
}

pub(crate) fn tfe_api_too_old(host: &str, found: Option<&str>, required: &str) -> Diagnostic {
    let found = found.unwrap_or("older than 2.3");
    let detail =
        eco_format!("The API of {host} has version {found}. The cloud block requires version {required} or later.");
    Diagnostic::new(&TFE_API_TOO_OLD, detail).hint("Use backend \"remote\" instead of the cloud block.")
}

pub(crate) fn tfe_workspace_not_found(workspace: &str, organization: &str) -> Diagnostic {
    let detail =
        eco_format!("TF_WORKSPACE is set to \"{workspace}\", which organization \"{organization}\" does not have.");
    Diagnostic::new(&TFE_WORKSPACE_NOT_SELECTABLE, detail)
}

pub(crate) fn tfe_workspace_not_tagged(workspace: &str, tags: &[String]) -> Diagnostic {
    let tags = tags.join(", ");
    let detail = eco_format!(
        "TF_WORKSPACE is set to \"{workspace}\", which does not have the tags of the configuration: {tags}."
    );
    Diagnostic::new(&TFE_WORKSPACE_NOT_SELECTABLE, detail)
}

pub(crate) fn tfe_request_failed(error: &StoreError) -> Diagnostic {
    Diagnostic::new(&TFE_REQUEST_FAILED, eco_format!("The request for the workspace of TF_WORKSPACE failed: {error}."))
}
