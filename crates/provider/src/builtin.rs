//! The provider that is built in: `terraform.io/builtin/terraform`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use yuba_value::Type;

use crate::schema::{Attribute, BlockSchema, ProviderSchema, Schema};

/// The schema of the built-in provider.
pub static TERRAFORM: LazyLock<ProviderSchema> = LazyLock::new(|| ProviderSchema {
    resources: BTreeMap::from([("terraform_data".into(), terraform_data())]),
    data: BTreeMap::from([("terraform_remote_state".into(), terraform_remote_state())]),
    ..ProviderSchema::default()
});

fn terraform_data() -> Schema {
    let attributes = [
        ("input", Attribute::optional(Type::dynamic())),
        ("output", Attribute::computed(Type::dynamic())),
        ("triggers_replace", Attribute::optional(Type::dynamic())),
        ("id", Attribute::computed(Type::string())),
    ];
    Schema { version: 0, block: BlockSchema::new(attributes) }
}

fn terraform_remote_state() -> Schema {
    let attributes = [
        (
            "backend",
            Attribute::required(Type::string()).described("The kind of backend that has the state, such as `s3`."),
        ),
        (
            "config",
            Attribute::optional(Type::dynamic())
                .described("What the backend needs to know: the arguments of its `backend` block, as an object."),
        ),
        (
            "defaults",
            Attribute::optional(Type::dynamic())
                .described("Values for outputs that the state does not have, or for all if there is no state."),
        ),
        ("outputs", Attribute::computed(Type::dynamic()).described("All outputs of the root module in that state.")),
        (
            "workspace",
            Attribute::optional(Type::string()).described("The workspace to read, if the backend has workspaces."),
        ),
    ];
    Schema { version: 0, block: BlockSchema::new(attributes) }
}
