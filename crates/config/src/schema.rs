//! Schemas of blocks, written as lists of names.

use yuba_syntax::BodySchema;
use yuba_syntax::body::{AttributeSchema, BlockSchema};

/// A schema of required arguments, optional arguments, and block types with the names of their labels.
pub(crate) fn schema(required: &[&str], optional: &[&str], blocks: &[(&str, &[&str])]) -> BodySchema {
    let attribute = |required| move |name: &&str| AttributeSchema { name: (*name).into(), required };
    BodySchema {
        attributes: required.iter().map(attribute(true)).chain(optional.iter().map(attribute(false))).collect(),
        blocks: blocks
            .iter()
            .map(|(kind, labels)| BlockSchema {
                kind: (*kind).into(),
                labels: labels.iter().map(|label| (*label).into()).collect(),
            })
            .collect(),
    }
}

/// The same schema with nothing required: for override files.
pub(crate) fn nothing_required(schema: &BodySchema) -> BodySchema {
    let mut schema = schema.clone();
    schema.attributes.iter_mut().for_each(|attribute| attribute.required = false);
    schema
}
