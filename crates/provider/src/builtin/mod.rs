//! The provider that is built in: `terraform.io/builtin/terraform`.

mod functions;
mod remote_state;
mod terraform_data;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use yuba_addrs::ResourceMode;
use yuba_value::Value;

use crate::problem::Problem;
use crate::schema::ProviderSchema;

pub use functions::{call_function, expression, signatures};

/// The schema of the built-in provider.
pub static TERRAFORM: LazyLock<ProviderSchema> = LazyLock::new(|| ProviderSchema {
    resources: BTreeMap::from([("terraform_data".into(), terraform_data::schema())]),
    data: BTreeMap::from([("terraform_remote_state".into(), remote_state::schema())]),
    functions: signatures().iter().map(|signature| (signature.name.into(), signature.clone())).collect(),
    ..ProviderSchema::default()
});

/// What the provider finds wrong with the configuration of a resource, decoded by its schema.
pub fn validate_resource_config(mode: ResourceMode, kind: &str, config: &Value) -> Vec<Problem> {
    let (config, _) = config.unmark_deep();
    if config.is_null() || !config.is_known() {
        return Vec::new();
    }
    match (mode, kind) {
        (ResourceMode::Managed, "terraform_data") => terraform_data::validate(&config),
        (ResourceMode::Data, "terraform_remote_state") => remote_state::validate(&config),
        _ => Vec::new(),
    }
}
