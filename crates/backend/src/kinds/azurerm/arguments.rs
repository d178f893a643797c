//! The arguments of `backend "azurerm"`.

use yuba_net::Secret;
use yuba_net::azure::IdentitySettings;
use yuba_value::{Type, Value};

use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};

/// Seconds for one request, unless `timeout_seconds` says otherwise.
pub(super) const TIMEOUT: i64 = 300;

fn text(name: &'static str, variables: &'static [&'static str]) -> Argument {
    Argument::optional(name, Type::string()).from_environment(variables)
}

fn switch(name: &'static str, variables: &'static [&'static str], default: Value) -> Argument {
    Argument::optional(name, Type::bool()).from_environment(variables).default_to(default)
}

pub(in crate::kinds) fn schema() -> ArgumentSchema {
    let mut arguments = vec![
        Argument::required("storage_account_name", Type::string()).described("The name of the storage account."),
        Argument::required("container_name", Type::string()).described("The name of the blob container."),
        Argument::required("key", Type::string())
            .described("The name of the blob with the state of the default workspace."),
        text("metadata_host", &["ARM_METADATA_HOST"])
            .described("The host that describes the endpoints of the cloud, such as one of Azure Stack."),
        text("environment", &["ARM_ENVIRONMENT"]).described("The cloud: public, usgovernment or china."),
        text("access_key", &["ARM_ACCESS_KEY"]).secret().described("The access key of the storage account."),
        text("sas_token", &["ARM_SAS_TOKEN"]).secret().described("A shared access signature for the container."),
        switch("snapshot", &["ARM_SNAPSHOT"], Value::bool(false))
            .described("Create a snapshot of the blob before each write."),
        text("resource_group_name", &[])
            .described("The resource group of the storage account, to request its access key."),
        text("endpoint", &[]).described("Deprecated and ignored."),
        Argument::optional("timeout_seconds", Type::number())
            .from_environment(&["ARM_TIMEOUT_SECONDS"])
            .default_to(Value::int(TIMEOUT))
            .described("The limit for one request, in seconds."),
        switch("use_azuread_auth", &["ARM_USE_AZUREAD"], Value::bool(false))
            .described("Access blobs with a token of the identity instead of the access key."),
        text("customer_provided_key", &["ARM_CUSTOMER_PROVIDED_KEY"])
            .secret()
            .described("The AES-256 key in base64 that the service encrypts blobs with."),
        // Quirk: the name of the variable is misspelled, as in OpenTofu.
        text("encryption_scope", &["ARM_ENCYRPTION_SCOPE"])
            .described("The encryption scope that the service encrypts blobs with."),
    ];
    arguments.extend(identity());
    ArgumentSchema::new(arguments)
}

/// Arguments that describe the identity.
fn identity() -> [Argument; 19] {
    [
        text("subscription_id", &["ARM_SUBSCRIPTION_ID"]).described("The subscription of the storage account."),
        text("tenant_id", &["ARM_TENANT_ID"]).described("The tenant of the identity."),
        text("client_id", &["ARM_CLIENT_ID"]).described("The client ID of the application or of the managed identity."),
        text("client_id_file_path", &["ARM_CLIENT_ID_FILE_PATH"]).described("A file with the client ID."),
        text("client_certificate", &["ARM_CLIENT_CERTIFICATE"])
            .secret()
            .described("The PKCS#12 file with certificate and private key of the application, in base64."),
        text("client_certificate_password", &["ARM_CLIENT_CERTIFICATE_PASSWORD"])
            .secret()
            .described("The password of the PKCS#12 file."),
        text("client_certificate_path", &["ARM_CLIENT_CERTIFICATE_PATH"])
            .described("The PKCS#12 file with certificate and private key of the application."),
        text("client_secret", &["ARM_CLIENT_SECRET"]).secret().described("The secret of the application."),
        text("client_secret_file_path", &["ARM_CLIENT_SECRET_FILE_PATH"]).described("A file with the secret."),
        switch("use_msi", &["ARM_USE_MSI"], Value::bool(false)).described("Use the managed identity of this machine."),
        text("msi_endpoint", &["ARM_MSI_ENDPOINT"])
            .described("Deprecated: the endpoint of the managed identity. Set MSI_ENDPOINT instead."),
        switch("use_oidc", &["ARM_USE_OIDC"], Value::bool(false)).described("Use an ID token of another provider."),
        text("oidc_token", &["ARM_OIDC_TOKEN"]).secret().described("The ID token."),
        text("oidc_token_file_path", &["ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE"])
            .described("A file with the ID token."),
        text("oidc_request_url", &["ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"])
            .described("The URL that returns an ID token."),
        text("oidc_request_token", &["ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"])
            .secret()
            .described("The bearer token for oidc_request_url."),
        text(
            "ado_service_connection_id",
            &[
                "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID",
                "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID",
                "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID",
            ],
        )
        .described("The service connection of Azure DevOps."),
        switch("use_aks_workload_identity", &["ARM_USE_AKS_WORKLOAD_IDENTITY"], Value::bool(false))
            .described("Use the workload identity of the pod."),
        switch("use_cli", &["ARM_USE_CLI"], Value::bool(true)).described("Use the account of the Azure CLI."),
    ]
}

/// The identity that resolved arguments describe.
pub(crate) fn identity_settings(arguments: &Arguments) -> IdentitySettings {
    let text = |name: &str| arguments.text(name).map(String::from).unwrap_or_default();
    let secret = |name: &str| arguments.secret(name).filter(|secret: &Secret| !secret.reveal().is_empty());
    IdentitySettings {
        tenant_id: text("tenant_id"),
        subscription_id: text("subscription_id"),
        client_id: text("client_id"),
        client_id_file: text("client_id_file_path"),
        client_secret: secret("client_secret"),
        client_secret_file: text("client_secret_file_path"),
        certificate: secret("client_certificate"),
        certificate_file: text("client_certificate_path"),
        certificate_password: secret("client_certificate_password"),
        use_oidc: arguments.is_on("use_oidc"),
        oidc_token: secret("oidc_token"),
        oidc_token_file: text("oidc_token_file_path"),
        oidc_request_url: text("oidc_request_url"),
        oidc_request_token: secret("oidc_request_token"),
        service_connection_id: text("ado_service_connection_id"),
        use_managed_identity: arguments.is_on("use_msi"),
        managed_identity_endpoint: text("msi_endpoint"),
        use_workload_identity: arguments.is_on("use_aks_workload_identity"),
        use_cli: arguments.is_on("use_cli"),
    }
}
