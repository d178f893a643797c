//! Catalogue of the diagnostics of this crate.

use std::fmt::Display;

use yuba_addrs::{AbsResourceInstance, ProviderSource};
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The provider of an object in the state does not support its resource type.
    STATE_OBJECT_TYPE_UNKNOWN = error "state-object-type-unknown", "Failed to show the state";
    /// An object in the state has another schema version than its provider supports.
    STATE_OBJECT_SCHEMA_VERSION = error "state-object-schema-version", "Failed to show the state";
    /// An object in the state does not match the schema of its resource type.
    STATE_OBJECT_MISMATCH = error "state-object-mismatch", "Failed to show the state";
}

pub(crate) fn object_type_unknown(addr: &AbsResourceInstance, provider: &ProviderSource) -> Diagnostic {
    let detail = format!("Provider {provider} does not support the resource type of {addr}.");
    Diagnostic::new(&STATE_OBJECT_TYPE_UNKNOWN, detail)
}

pub(crate) fn object_schema_version(
    addr: &AbsResourceInstance,
    provider: &ProviderSource,
    (stored, supported): (u64, u64),
) -> Diagnostic {
    let detail = format!(
        "The state stores {addr} with schema version {stored}, and provider {provider} has schema version {supported}."
    );
    Diagnostic::new(&STATE_OBJECT_SCHEMA_VERSION, detail)
}

pub(crate) fn object_mismatch(addr: &AbsResourceInstance, reason: &dyn Display) -> Diagnostic {
    let detail = format!("The object of {addr} in the state does not match the schema of its resource type: {reason}.");
    Diagnostic::new(&STATE_OBJECT_MISMATCH, detail)
}
