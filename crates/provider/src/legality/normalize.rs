//! Converts objects of providers that use the old library to the form of all other providers.

use yuba_value::{Value, View};

use super::values::object_like;
use crate::schema::{BlockSchema, NestedBlock, Nesting};

/// The same object with nested blocks that are neither null nor unknown: no blocks where it said null, and one block of
/// unknown content where it said unknown. Marks stay.
pub fn normalize_legacy(schema: &BlockSchema, value: &Value) -> Value {
    let View::Object(items) = value.view_ignoring_marks() else {
        return if value.is_null() {
            Value::null(schema.implied_type().clone()).with_marks(value.marks())
        } else {
            value.clone()
        };
    };
    if schema.blocks().is_empty() {
        return value.clone();
    }
    let attrs = value.ty().attrs().unwrap_or_default();
    let items = attrs.iter().zip(items).map(|(attr, item)| match schema.blocks().get(&attr.name) {
        Some(nested) if !nested.is_heterogeneous() => block(nested, item).with_marks(item.marks()),
        _ => item.clone(),
    });
    object_like(&[value.ty(), schema.implied_type()], items.collect()).with_marks(value.marks())
}

fn block(schema: &NestedBlock, value: &Value) -> Value {
    match schema.nesting {
        Nesting::Map => value.clone(),
        Nesting::Single | Nesting::Group if !value.is_known() => unknown_content(&schema.block),
        Nesting::Group if value.is_null() => schema.empty_value(),
        Nesting::Single | Nesting::Group => normalize_legacy(&schema.block, value),
        _ if value.is_null() => schema.empty_value(),
        nesting => {
            let items = match value.as_seq() {
                None => vec![unknown_content(&schema.block)],
                Some(items) => items.iter().map(|item| normalize_legacy(&schema.block, item)).collect(),
            };
            let element = schema.block.implied_type().clone();
            if nesting == Nesting::Set { Value::set(element, items) } else { Value::list(element, items) }
        }
    }
}

/// An existing block with all values unknown.
fn unknown_content(schema: &BlockSchema) -> Value {
    let attributes = schema.attributes().keys().filter_map(|name| {
        let attr = schema.implied_type().attr(name)?;
        Some((name.clone(), Value::unknown(attr.ty.clone())))
    });
    let blocks = schema.blocks().iter().map(|(name, nested)| {
        let element = || nested.block.implied_type().clone();
        let content = || unknown_content(&nested.block);
        let value = match nested.nesting {
            Nesting::Single | Nesting::Group => content(),
            Nesting::List => Value::list(element(), vec![content()]),
            Nesting::Set => Value::set(element(), vec![content()]),
            Nesting::Map => Value::map(element(), Vec::new()),
        };
        (name.clone(), value)
    });
    Value::object(attributes.chain(blocks).collect())
}
