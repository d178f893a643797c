//! Diagnostics about arguments of `backend "gcs"`. They never show credentials or keys.

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The `gcs` backend has a customer-supplied encryption key and a Cloud KMS key.
    GCS_ENCRYPTION_KEY_CONFLICT = error "gcs-encryption-key-conflict", "\"encryption_key\": conflicts with kms_encryption_key";
    /// The credential file that the `gcs` backend names cannot be read.
    GCS_CREDENTIALS_NOT_READ = error "gcs-credentials-not-read", "Error loading credentials";
    /// The credentials of the `gcs` backend are neither a file nor JSON.
    GCS_CREDENTIALS_INVALID = error "gcs-credentials-invalid", "the string provided in credentials is neither valid json nor a valid file path";
    /// The `gcs` backend finds no usable credentials.
    GCS_CREDENTIALS_UNUSABLE = error "gcs-credentials-unusable", "storage.NewClient() failed";
    /// The file with the encryption key of the `gcs` backend cannot be read.
    GCS_ENCRYPTION_KEY_NOT_READ = error "gcs-encryption-key-not-read", "Error loading encryption key";
    /// The encryption key of the `gcs` backend is not a base64 string of 32 bytes.
    GCS_ENCRYPTION_KEY_INVALID = error "gcs-encryption-key-invalid", "Error decoding encryption key";
    /// The endpoint of the `gcs` backend is not a URL.
    GCS_ENDPOINT_INVALID = error "gcs-endpoint-invalid", "Invalid storage_custom_endpoint";
}

pub(crate) fn gcs_key_conflict() -> Diagnostic {
    let detail = "The backend \"gcs\" encrypts states with one key: a customer-supplied key (\"encryption_key\", \
                  GOOGLE_ENCRYPTION_KEY) or a Cloud KMS key (\"kms_encryption_key\", GOOGLE_KMS_ENCRYPTION_KEY).";
    Diagnostic::new(&GCS_ENCRYPTION_KEY_CONFLICT, detail).hint("Remove one of them.")
}

pub(crate) fn gcs_credentials_not_read(error: &std::io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to read the file that the backend argument \"credentials\" names: {error}.");
    Diagnostic::new(&GCS_CREDENTIALS_NOT_READ, detail)
}

pub(crate) fn gcs_credentials_invalid() -> Diagnostic {
    let detail = "The argument \"credentials\" of the backend \"gcs\" (GOOGLE_BACKEND_CREDENTIALS, GOOGLE_CREDENTIALS) \
                  requires the path or the JSON content of a credential file.";
    Diagnostic::new(&GCS_CREDENTIALS_INVALID, detail)
}

pub(crate) fn gcs_credentials_unusable(reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to load the credentials of the backend \"gcs\": {reason}.");
    Diagnostic::new(&GCS_CREDENTIALS_UNUSABLE, detail)
}

pub(crate) fn gcs_key_not_read(error: &std::io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to read the file that the backend argument \"encryption_key\" names: {error}.");
    Diagnostic::new(&GCS_ENCRYPTION_KEY_NOT_READ, detail)
}

pub(crate) fn gcs_key_invalid(reason: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument \"encryption_key\" of the backend \"gcs\" (GOOGLE_ENCRYPTION_KEY) requires a key of 32 bytes in base64 \
         or the path of a file with one: {reason}."
    );
    Diagnostic::new(&GCS_ENCRYPTION_KEY_INVALID, detail).hint("Create a key with `openssl rand -base64 32`.")
}

pub(crate) fn gcs_endpoint_invalid(argument: &str, value: &str) -> Diagnostic {
    let detail = eco_format!("{argument} is not an http or https URL: {value:?}.");
    Diagnostic::new(&GCS_ENDPOINT_INVALID, detail)
        .hint("Set a URL with the path of the API, such as https://storage-xyz.p.googleapis.com/storage/v1/.")
}
