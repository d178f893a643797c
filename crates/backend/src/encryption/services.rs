//! Key providers that are services: one row each, with an argument schema and a constructor.
//!
//! A service creates data keys and decrypts them again. Which data is encrypted with them, and what is stored beside it, is
//! decided in [`super`].

mod gcp_kms;
mod openbao;

use std::fmt;
use std::sync::Arc;

use crate::kit::BackendEnvironment;
use crate::kit::arguments::{ArgumentSchema, Arguments};

/// One kind of service: a row of [`KEY_SERVICES`].
#[derive(Clone, Copy)]
pub struct KeyServiceKind {
    /// The first label of its `key_provider` block.
    pub name: &'static str,
    /// The arguments of its block.
    pub schema: fn() -> ArgumentSchema,
    /// Makes the service. It sends no request. The error is a sentence without secrets.
    pub open: OpenKeyService,
}

/// Makes a service from resolved arguments.
pub type OpenKeyService = fn(&Arguments, &BackendEnvironment) -> Result<Arc<dyn KeyService>, String>;

impl fmt::Debug for KeyServiceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyServiceKind").field(&self.name).finish()
    }
}

/// All key services of this version.
pub(crate) static KEY_SERVICES: &[KeyServiceKind] = &[
    super::aws_kms::AWS_KMS,
    KeyServiceKind { name: "azure_vault", schema: super::azure_vault::schema, open: super::azure_vault::open },
    KeyServiceKind { name: "gcp_kms", schema: gcp_kms::schema, open: gcp_kms::open },
    KeyServiceKind { name: "openbao", schema: openbao::schema, open: openbao::open },
];

/// The row with this name.
pub fn key_service(name: &str) -> Option<KeyServiceKind> {
    KEY_SERVICES.iter().copied().find(|kind| kind.name == name)
}

/// The names of all rows.
pub fn key_services() -> impl Iterator<Item = &'static str> {
    KEY_SERVICES.iter().map(|kind| kind.name)
}

/// A service that creates and decrypts data keys. Errors are sentences that name the request and contain no secret.
pub trait KeyService: fmt::Debug + Send + Sync {
    /// A new data key.
    fn new_key(&self) -> Result<DataKey, String>;
    /// The data key that was created with this metadata.
    fn known_key(&self, metadata: &[u8]) -> Result<Vec<u8>, String>;
}

/// A data key, and what the service needs to find it again.
#[derive(Clone)]
pub struct DataKey {
    /// The key itself.
    pub key: Vec<u8>,
    /// Stored beside the encrypted data, in the JSON format of OpenTofu.
    pub metadata: Vec<u8>,
}
