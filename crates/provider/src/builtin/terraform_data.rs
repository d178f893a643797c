//! `resource "terraform_data"`: a value that is kept, and a resource to hang actions on.

use yuba_value::{Type, Value, ops};

use crate::diagnostics;
use crate::problem::Problem;
use crate::schema::{Attribute, BlockSchema, Schema};

pub(super) fn schema() -> Schema {
    let attributes = [
        ("input", Attribute::optional(Type::dynamic())),
        ("output", Attribute::computed(Type::dynamic())),
        ("triggers_replace", Attribute::optional(Type::dynamic())),
        ("id", Attribute::computed(Type::string())),
    ];
    Schema { version: 0, block: BlockSchema::new(attributes) }
}

pub(super) fn validate(config: &Value) -> Vec<Problem> {
    let is_set = |name: &&str| ops::get_attr(config, name).is_ok_and(|value| !value.is_null());
    // Quirk: these have no place.
    ["id", "output"].into_iter().filter(is_set).map(|name| Problem::nowhere(diagnostics::read_only(name))).collect()
}
