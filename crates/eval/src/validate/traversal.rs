//! Steps into the value of a block, checked by its schema before there is a value.

use ecow::eco_format;
use std::sync::Arc;
use yuba_config::resource::ResourceKey;
use yuba_provider::{Attribute, BlockSchema, Followed, Nesting};
use yuba_syntax::{Diagnostics, Span, TraversalStep};
use yuba_value::{Deprecation, EcoString, Mark, Value};

use super::diagnostics;
use crate::expression::take_step;

/// Errors in the steps after the name of a resource.
pub(crate) fn check(
    schema: &BlockSchema,
    key: &ResourceKey,
    steps: &[TraversalStep],
    span: Option<Span>,
) -> Diagnostics {
    match steps.first() {
        Some(TraversalStep::Attr { name, .. }) if name == "count" => diagnostics::old_count_attribute(key, span).into(),
        _ => check_steps(schema, steps),
    }
}

/// Errors in steps into a block.
pub(crate) fn check_steps(schema: &BlockSchema, steps: &[TraversalStep]) -> Diagnostics {
    let (ty, after) = match schema.follow(steps) {
        Ok(Followed::Block) => return Diagnostics::new(),
        Ok(Followed::Attribute(ty, after)) => (ty, after),
        Err(problem) => return problem.into(),
    };
    let mut value = Value::unknown(ty);
    for step in after {
        match take_step(&value, step) {
            Ok(next) => value = next,
            Err(problem) => return (*problem).into(),
        }
    }
    Diagnostics::new()
}

/// The attribute that steps lead to, if they lead to one.
pub(super) fn attribute_at<'s>(schema: &'s BlockSchema, steps: &[TraversalStep]) -> Option<&'s Attribute> {
    let (next, after) = steps.split_first()?;
    let TraversalStep::Attr { name, .. } = next else { return None };
    if let Some(attribute) = schema.attributes().get(name) {
        return after.is_empty().then_some(attribute);
    }
    let block = schema.blocks().get(name)?;
    match (block.nesting, after.split_first()) {
        (Nesting::Single | Nesting::Group, _) => attribute_at(&block.block, after),
        (Nesting::List | Nesting::Map, Some((TraversalStep::Index { .. }, inside))) => {
            attribute_at(&block.block, inside)
        }
        _ => None,
    }
}

/// A value of which nothing is known but its type and the marks that the schema puts on its attributes. `module` is the
/// address of the module of the resource.
pub(crate) fn unknown_value(schema: &BlockSchema, key: &ResourceKey, module: &str) -> Value {
    if !has_marks(schema) {
        return Value::unknown(schema.implied_type().clone());
    }
    let address = diagnostics::address(key);
    unknown_block(schema, &address, module)
}

fn has_marks(schema: &BlockSchema) -> bool {
    schema.attributes().values().any(|attribute| attribute.sensitive || attribute.deprecated.is_some())
        || schema.blocks().values().any(|block| {
            let single = matches!(block.nesting, Nesting::Single | Nesting::Group);
            block.block.deprecated.is_some() || (single && has_marks(&block.block))
        })
}

fn unknown_block(schema: &BlockSchema, path: &str, module: &str) -> Value {
    let attributes = schema.attributes().iter().map(|(name, attribute)| {
        let value = Value::unknown(attribute.implied_type());
        let value = if attribute.sensitive { value.mark(Mark::Sensitive) } else { value };
        (name.clone(), deprecated(value, attribute.deprecated.as_ref(), (path, name), module))
    });
    let blocks = schema.blocks().iter().map(|(kind, block)| {
        let single = matches!(block.nesting, Nesting::Single | Nesting::Group);
        let value = match single && has_marks(&block.block) {
            true => unknown_block(&block.block, &eco_format!("{path}.{kind}"), module),
            false => Value::unknown(block.implied_type()),
        };
        (kind.clone(), deprecated(value, block.block.deprecated.as_ref(), (path, kind), module))
    });
    Value::object(attributes.chain(blocks).collect())
}

fn deprecated(value: Value, message: Option<&EcoString>, (path, name): (&str, &str), module: &str) -> Value {
    match message {
        None => value,
        Some(message) => {
            let source = eco_format!("{path}.{name}");
            let (module, message) = (module.into(), message.clone());
            let deprecation = Deprecation { source, module, message, remote: false, unread: false };
            value.mark(Mark::Deprecated(Arc::new(deprecation)))
        }
    }
}
