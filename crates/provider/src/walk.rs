//! The expressions of a body, found by its schema without evaluating anything.

use std::borrow::Cow;
use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Block, Body, BodySchema, Expr, ExprKind, Traversal};
use yuba_value::{PathStep, Value};

use crate::decode::{not_written_as_attributes, with_blocks};
use crate::dynamic;
use crate::schema::BlockSchema;

/// Visits every expression that the schema has an attribute for, in `dynamic` blocks too, with the iterator names that
/// are known at its location.
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

/// An expression of a body that decides a part of its value.
#[derive(Clone, Debug)]
pub struct DecidingExpression {
    /// The expression, or the part of it for the element that was asked for.
    pub expr: Expr,
    /// The iterators of `dynamic` blocks around it.
    pub iterators: Vec<EcoString>,
}

/// The expressions that decide the part of a body's value at a path: one for an argument, several for blocks of which the path
/// names none, and the `for_each` of `dynamic` blocks. Empty where the configuration says nothing about the part.
pub fn expressions_at(body: &Body, schema: &BlockSchema, path: &[PathStep]) -> Vec<DecidingExpression> {
    let mut found = Vec::new();
    decide(body, schema, path, &mut Vec::new(), &mut found);
    found
}

fn decide(
    body: &Body,
    schema: &BlockSchema,
    path: &[PathStep],
    iterators: &mut Vec<EcoString>,
    found: &mut Vec<DecidingExpression>,
) {
    let Some((PathStep::Attr(name), rest)) = path.split_first() else {
        let mut add = |expr: &Arc<Expr>, iterators: &[EcoString]| {
            found.push(DecidingExpression { expr: Expr::clone(expr), iterators: iterators.to_vec() });
        };
        return walk(body, schema, iterators, &mut add);
    };
    let (content, _) = body.content(&wanted(body, schema));
    if let Some(attribute) = content.attribute(name) {
        let expr = element(&attribute.expr, rest).clone();
        return found.push(DecidingExpression { expr, iterators: iterators.clone() });
    }
    let (key, rest) = match rest.split_first() {
        Some((PathStep::Index(key), rest)) => (Some(key), rest),
        _ => (None, rest),
    };
    let is_dynamic =
        |block: &Block| block.kind == "dynamic" && block.labels.first().is_some_and(|(kind, _)| kind == name);
    // Positions count the blocks that `dynamic` blocks make, which are not known here.
    let key = key.filter(|_| !content.blocks.iter().any(is_dynamic));
    for (position, block) in content.blocks_of(name).enumerate() {
        if key.is_none_or(|key| is_block(block, position, key)) {
            decide_block(&block.body, name, schema, rest, iterators, found);
        }
    }
    for block in content.blocks.iter().filter(|block| is_dynamic(block)) {
        let (inner, _) = block.body.content(&dynamic::ANY);
        if let Some(for_each) = inner.attribute("for_each") {
            found.push(DecidingExpression { expr: Expr::clone(&for_each.expr), iterators: iterators.clone() });
        }
        let named = inner.attribute("iterator").and_then(|attribute| attribute.expr.as_traversal());
        iterators.push(named.map_or_else(|| name.clone(), |traversal| traversal.root));
        for content in inner.blocks_of("content") {
            decide_block(&content.body, name, schema, rest, iterators, found);
        }
        iterators.pop();
    }
}

fn decide_block(
    body: &Body,
    kind: &EcoString,
    schema: &BlockSchema,
    path: &[PathStep],
    iterators: &mut Vec<EcoString>,
    found: &mut Vec<DecidingExpression>,
) {
    if let Some(nested) = schema.blocks().get(kind) {
        decide(body, &nested.block, path, iterators, found);
    } else if let Some(object) = schema.attributes().get(kind).and_then(|attribute| attribute.block_object()) {
        decide(body, &BlockSchema::of_object(object), path, iterators, found);
    }
}

/// Whether a key of a path means a block: the position in a list or the label of a map. Elements of sets have no key of their own.
fn is_block(block: &Block, position: usize, key: &Value) -> bool {
    match (key.as_number(), key.as_str()) {
        (Some(number), _) => number.to_string() == position.to_string(),
        (_, Some(label)) => block.labels.first().is_none_or(|(found, _)| found == label),
        _ => true,
    }
}

/// The part of an expression that is the element at a path; the expression itself where it does not list its elements.
fn element<'e>(expr: &'e Expr, path: &[PathStep]) -> &'e Expr {
    let Some((step, rest)) = path.split_first() else { return expr };
    let name = match step {
        PathStep::Attr(name) => Some(name),
        PathStep::Index(key) => key.as_str(),
    };
    let part = match &expr.kind {
        ExprKind::Parens(inner) => return element(inner, path),
        ExprKind::Object(items) | ExprKind::JsonObject(items) => {
            items.iter().rev().find_map(|item| match &item.key.kind {
                ExprKind::Literal(Literal::String(key)) if Some(key) == name => Some(&item.value),
                ExprKind::JsonString(key) if key.template.is_none() && Some(&key.text) == name => Some(&item.value),
                _ => None,
            })
        }
        ExprKind::Tuple(items) => match step {
            PathStep::Index(key) => {
                let position = key.as_number().and_then(|number| number.to_string().parse::<usize>().ok());
                position.and_then(|at| items.get(at))
            }
            PathStep::Attr(_) => None,
        },
        _ => None,
    };
    part.map_or(expr, |part| element(part, rest))
}

/// The schema for decoding a body: lists and sets of objects may be written as blocks.
fn wanted<'s>(body: &Body, schema: &'s BlockSchema) -> Cow<'s, BodySchema> {
    let usual = schema.dynamic_body_schema();
    if schema.ambiguous().is_empty() {
        return Cow::Borrowed(usual);
    }
    Cow::Owned(with_blocks(usual, &not_written_as_attributes(body, schema)))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_value::Path;

    use super::*;
    use crate::testing::{Kind, parse, schema};

    const TEXT: &str = r#"name = upper("n")
tags = { a = one, "b" = [two, three] }
single {
  a = four
}
list {
  a = five
}
list {
  a = six
}
map "k" {
  a = seven
}
dynamic "any_set" {
  for_each = eight
  content {
    v = any_set.value
  }
}
"#;

    #[test]
    fn a_path_leads_to_the_expressions_that_decide_it() {
        let (file, _) = parse(TEXT);
        let root = || Path::new();
        let mut out = String::new();
        for path in [
            root().attr("name"),
            root().attr("tags").index(Value::string("a")),
            root().attr("tags").index(Value::string("b")).index(Value::int(1)),
            root().attr("tags").index(Value::string("c")),
            root().attr("single").attr("a"),
            root().attr("list").index(Value::int(1)).attr("a"),
            root().attr("list"),
            root().attr("map").index(Value::string("k")).attr("a"),
            root().attr("any_set").index(Value::string("x")).attr("v"),
            root().attr("absent"),
        ] {
            for found in expressions_at(&file.body, &schema(Kind::Legacy), &path.0) {
                let (start, end) = (found.expr.span.start as usize, found.expr.span.end as usize);
                out +=
                    &format!("{}{} ", &TEXT[start..end], if found.iterators.is_empty() { "" } else { " (iterated)" });
            }
            out += "\n";
        }
        let shown: String = out.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        expect![[r#"
            upper("n")
            one
            three
            { a = one, "b" = [two, three] }
            four
            six
            five six
            seven
            eight any_set.value (iterated)

        "#]]
        .assert_eq(&shown);
    }
}
