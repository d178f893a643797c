//! The expressions of a body, found by its schema without evaluating anything.

use std::borrow::Cow;
use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Body, BodySchema, Expr, Traversal};

use crate::decode::{not_written_as_attributes, with_blocks};
use crate::dynamic;
use crate::schema::BlockSchema;

/// Visits every expression that the schema has a place for, in `dynamic` blocks too, with the iterator names that are
/// known where it stands.
pub fn each_expression(body: &Body, schema: &BlockSchema, visit: &mut dyn FnMut(&Arc<Expr>, &[EcoString])) {
    walk(body, schema, &mut Vec::new(), visit);
}

/// Everything a body refers to, except iterators of its own `dynamic` blocks.
pub fn references(body: &Body, schema: &BlockSchema) -> Vec<Traversal> {
    let mut found = Vec::new();
    each_expression(body, schema, &mut |expr, iterators| {
        let outside = |traversal: &&Traversal| !iterators.contains(&traversal.root);
        found.extend(expr.variables().into_iter().filter(outside).cloned());
    });
    found
}

fn walk(
    body: &Body,
    schema: &BlockSchema,
    iterators: &mut Vec<EcoString>,
    visit: &mut dyn FnMut(&Arc<Expr>, &[EcoString]),
) {
    let (content, _) = body.content(&wanted(body, schema));
    for attribute in &content.attributes {
        visit(&attribute.expr, iterators);
    }
    for block in &content.blocks {
        if block.kind != "dynamic" {
            walk_block(&block.body, &block.kind, schema, iterators, visit);
            continue;
        }
        let Some((kind, _)) = block.labels.first() else { continue };
        let (inner, _) = block.body.content(&dynamic::ANY);
        let iterator = match inner.attribute("iterator") {
            None => kind.clone(),
            Some(attribute) => match attribute.expr.as_traversal() {
                Some(traversal) => traversal.root,
                None => continue,
            },
        };
        if let Some(attribute) = inner.attribute("for_each") {
            visit(&attribute.expr, iterators);
        }
        iterators.push(iterator);
        if let Some(attribute) = inner.attribute("labels") {
            visit(&attribute.expr, iterators);
        }
        for content in &inner.blocks {
            walk_block(&content.body, kind, schema, iterators, visit);
        }
        iterators.pop();
    }
}

fn walk_block(
    body: &Body,
    kind: &EcoString,
    schema: &BlockSchema,
    iterators: &mut Vec<EcoString>,
    visit: &mut dyn FnMut(&Arc<Expr>, &[EcoString]),
) {
    if let Some(nested) = schema.blocks().get(kind) {
        walk(body, &nested.block, iterators, visit);
    } else if let Some(object) = schema.attributes().get(kind).and_then(|attribute| attribute.block_object()) {
        walk(body, &BlockSchema::of_object(object), iterators, visit);
    }
}

/// What to ask a body for: lists and sets of objects may be there as blocks.
fn wanted<'s>(body: &Body, schema: &'s BlockSchema) -> Cow<'s, BodySchema> {
    let usual = schema.dynamic_body_schema();
    if schema.ambiguous().is_empty() {
        return Cow::Borrowed(usual);
    }
    Cow::Owned(with_blocks(usual, &not_written_as_attributes(body, schema)))
}
