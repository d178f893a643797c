//! Diagnostics about arguments and identities of Azure. They show no credentials.

use ecow::eco_format;
use yuba_net::azure::{AzureCloud, IdentityKind, Unsuitable};
use yuba_syntax::{Diagnostic, Diagnostics};

yuba_syntax::catalogue! {
    /// Two arguments of the `azurerm` backend exclude each other.
    AZURE_ARGUMENTS_CONFLICT = error "azure-arguments-conflict", "Conflicting configuration arguments";
    /// An argument of the `azurerm` backend has an invalid value.
    AZURE_ARGUMENT_INVALID = error "azure-argument-invalid", "Invalid backend configuration argument";
    /// An argument of the `azurerm` backend is deprecated.
    AZURE_ARGUMENT_DEPRECATED = warning "azure-argument-deprecated", "Deprecated backend configuration argument";
    /// The name of a storage account has invalid characters or a wrong length.
    AZURE_ACCOUNT_INVALID = error "azure-account-invalid", "invalid storage account name";
    /// The name of a container cannot exist.
    AZURE_CONTAINER_INVALID = error "azure-container-invalid", "invalid storage container name";
    /// No cloud has the name of the `environment` argument.
    AZURE_ENVIRONMENT_UNKNOWN = error "azure-environment-unknown", "unknown environment identifier";
    /// The endpoints of a cloud cannot be found.
    AZURE_CLOUD_INVALID = error "azure-cloud-invalid", "Failed to read the Azure environment";
    /// The client certificate cannot be used.
    AZURE_CERTIFICATE_UNUSABLE = error "azure-certificate-unusable", "Invalid Azure Client Certificate Auth";
    /// The client secret cannot be used.
    AZURE_SECRET_UNUSABLE = error "azure-secret-unusable", "Invalid Azure Client Secret Auth";
    /// The service connection of Azure DevOps cannot be used.
    AZURE_DEVOPS_UNUSABLE = error "azure-devops-unusable", "Invalid Azure DevOps Auth";
    /// ID tokens of another provider cannot be used.
    AZURE_OIDC_UNUSABLE = error "azure-oidc-unusable", "Invalid Azure OpenID Connect Auth";
    /// The managed identity cannot be used.
    AZURE_MANAGED_IDENTITY_UNUSABLE = error "azure-managed-identity-unusable", "Invalid Azure Managed Service Identity Auth";
    /// The workload identity cannot be used.
    AZURE_WORKLOAD_IDENTITY_UNUSABLE = error "azure-workload-identity-unusable", "Invalid AKS Workload Identity Auth";
    /// The account of the Azure CLI cannot be used.
    AZURE_CLI_UNUSABLE = error "azure-cli-unusable", "Invalid Azure Command Line Auth";
    /// No kind of identity can be used.
    AZURE_IDENTITY_MISSING = error "azure-identity-missing", "No valid azure auth methods found";
    /// The access key of a storage account is requested without its resource group.
    AZURE_RESOURCE_GROUP_MISSING = error "azure-resource-group-missing", "Resource Group is empty";
    /// The access key of a storage account is requested without its subscription.
    AZURE_SUBSCRIPTION_MISSING = error "azure-subscription-missing", "Subscription ID is empty";
}

pub(crate) fn conflicting(one: &str, other: &str) -> Diagnostic {
    let detail = eco_format!("The backend arguments \"{one}\" and \"{other}\" are both set.");
    Diagnostic::new(&AZURE_ARGUMENTS_CONFLICT, detail).hint("Remove one of them. Environment variables also set them.")
}

/// The value itself may be a credential.
pub(crate) fn invalid_argument(name: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&AZURE_ARGUMENT_INVALID, eco_format!("The backend argument \"{name}\" is not valid. {reason}."))
}

pub(crate) fn deprecated(name: &str, instead: &str) -> Diagnostic {
    Diagnostic::new(
        &AZURE_ARGUMENT_DEPRECATED,
        eco_format!("The backend argument \"{name}\" is deprecated. {instead}."),
    )
}

pub(crate) fn invalid_account(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "\"{name}\" is not a valid name of a storage account. A name has 3 to 24 characters: lower-case letters and digits."
    );
    Diagnostic::new(&AZURE_ACCOUNT_INVALID, detail)
}

pub(crate) fn invalid_container(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "\"{name}\" is not a valid name of a container. A name has 3 to 63 characters: lower-case letters, digits and single hyphens, \
         with a letter or digit at both ends."
    );
    Diagnostic::new(&AZURE_CONTAINER_INVALID, detail)
}

pub(crate) fn unknown_environment(name: &str) -> Diagnostic {
    let names: Vec<&str> = AzureCloud::names().collect();
    let detail = eco_format!("No Azure environment is named \"{name}\". Valid names are {}.", names.join(", "));
    Diagnostic::new(&AZURE_ENVIRONMENT_UNKNOWN, detail).hint("For other clouds set metadata_host.")
}

pub(crate) fn invalid_cloud(reason: &str) -> Diagnostic {
    Diagnostic::new(
        &AZURE_CLOUD_INVALID,
        eco_format!("Failed to read the endpoints of the Azure environment: {reason}."),
    )
}

/// One diagnostic for each kind of identity, and one for all.
pub(crate) fn no_identity(refused: &[Unsuitable]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for Unsuitable { method, reasons } in refused {
        let code = match method {
            IdentityKind::ClientCertificate => &AZURE_CERTIFICATE_UNUSABLE,
            IdentityKind::ClientSecret => &AZURE_SECRET_UNUSABLE,
            IdentityKind::AzureDevOps => &AZURE_DEVOPS_UNUSABLE,
            IdentityKind::OpenIdConnect => &AZURE_OIDC_UNUSABLE,
            IdentityKind::ManagedIdentity => &AZURE_MANAGED_IDENTITY_UNUSABLE,
            IdentityKind::WorkloadIdentity => &AZURE_WORKLOAD_IDENTITY_UNUSABLE,
            IdentityKind::AzureCli => &AZURE_CLI_UNUSABLE,
        };
        let sentences: String = reasons.iter().map(|reason| format!("{reason}. ")).collect();
        problems.push(Diagnostic::new(code, sentences.trim_end()));
    }
    let detail =
        "No identity type has all required arguments. The errors above list the missing arguments of each type.";
    let hint = "Set the arguments of one type, or sign in with `az login`.";
    problems.push(Diagnostic::new(&AZURE_IDENTITY_MISSING, detail).hint(hint));
    problems
}

pub(crate) fn no_resource_group() -> Diagnostic {
    let detail = "The identity requests the access key of the storage account, which requires its resource group.";
    Diagnostic::new(&AZURE_RESOURCE_GROUP_MISSING, detail)
        .hint("Set resource_group_name, or use_azuread_auth = true to access blobs without access key.")
}

pub(crate) fn no_subscription() -> Diagnostic {
    let detail = "The identity requests the access key of the storage account, which requires its subscription.";
    Diagnostic::new(&AZURE_SUBSCRIPTION_MISSING, detail).hint(
        "Set subscription_id or ARM_SUBSCRIPTION_ID, or use_azuread_auth = true to access blobs without access key.",
    )
}
