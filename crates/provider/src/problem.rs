//! Problems of a provider with a configuration that it got as a value, and their locations in the body.

use ecow::EcoString;
use yuba_syntax::body::{AttributeSchema, BlockSchema as BlockHeader};
use yuba_syntax::expr::Literal;
use yuba_syntax::{Attribute, Body, BodySchema, Diagnostic, Expr, ExprKind, Span};
use yuba_value::{Mark, Path, PathStep, Value, View};

use crate::diagnostics;
use crate::schema::{Attribute as AttributeSchemaOf, AttributeType, BlockSchema, NestedAttribute};

/// A problem.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The message, without a location.
    pub diagnostic: Diagnostic,
    /// The location.
    pub location: ProblemLocation,
}

/// Path of a problem in a value.
#[derive(Clone, Debug)]
pub enum ProblemLocation {
    /// It was not said.
    Nowhere,
    /// In the block as a whole.
    Block,
    /// At a value in it.
    Value(Path),
}

impl Problem {
    /// At a value in the block.
    pub fn at(diagnostic: Diagnostic, path: Path) -> Problem {
        Problem { diagnostic, location: ProblemLocation::Value(path) }
    }
    /// Somewhere.
    pub fn nowhere(diagnostic: Diagnostic) -> Problem {
        Problem { diagnostic, location: ProblemLocation::Nowhere }
    }

    /// The same with the location in the body that the value comes from, and with the object's address.
    #[must_use]
    pub fn in_body(self, body: &Body, address: Option<&EcoString>) -> Diagnostic {
        let mut diagnostic = self.diagnostic;
        match &self.location {
            ProblemLocation::Nowhere => return diagnostic,
            ProblemLocation::Block => diagnostic.subject = Some(body.missing_item_span()),
            ProblemLocation::Value(path) if path.is_empty() => {}
            ProblemLocation::Value(path) => diagnostic.subject = Some(locate(body, path)),
        }
        if diagnostic.address.is_none() {
            diagnostic.address = address.cloned();
        }
        diagnostic
    }
}

/// The location in a body that a value in the block's object comes from; for a missing value, or one in a block from a
/// `dynamic` block, the location where it would be added.
pub fn locate(body: &Body, path: &Path) -> Span {
    let (steps, index) = match path.0.split_last() {
        Some((PathStep::Index(key), steps)) => (steps, Some(key)),
        _ => (path.0.as_slice(), None),
    };
    let Some(PathStep::Attr(name)) = steps.last() else { return body.missing_item_span() };
    let body = if steps.len() > 1 { inner_body(body, steps) } else { body.clone() };
    let wanted = AttributeSchema { name: name.clone(), required: false };
    let (content, _, _) = body.partial_content(&BodySchema { attributes: vec![wanted], blocks: Vec::new() });
    match (content.attribute(name), index) {
        (None, _) => body.missing_item_span(),
        (Some(attribute), None) => attribute.expr.span,
        (Some(attribute), Some(key)) => locate_element(attribute, key),
    }
}

/// The body of the innermost block that the steps lead through.
fn inner_body(body: &Body, steps: &[PathStep]) -> Body {
    let mut body = body.clone();
    let mut steps = steps.iter().peekable();
    while let Some(PathStep::Attr(kind)) = steps.next() {
        let index = steps.next_if(|next| matches!(next, PathStep::Index(_)));
        let key = match index {
            Some(PathStep::Index(key)) => Some(key),
            _ => None,
        };
        let label = key.and_then(Value::as_str);
        let labels = if label.is_some() { vec!["key".into()] } else { Vec::new() };
        let wanted = BlockHeader { kind: kind.clone(), labels };
        let (content, _, problems) = body.partial_content(&BodySchema { attributes: Vec::new(), blocks: vec![wanted] });
        if problems.has_errors() {
            break;
        }
        let mut blocks = content.blocks_of(kind).peekable();
        if blocks.peek().is_none() {
            continue;
        }
        let found = match (key.map(Value::view_ignoring_marks), label) {
            (None, _) => blocks.next().filter(|_| blocks.next().is_none()),
            (Some(View::Number(number)), _) => number.to_u64().and_then(|at| blocks.nth(usize::try_from(at).ok()?)),
            (_, Some(label)) => blocks.find(|block| block.labels.first().is_some_and(|(first, _)| first == label)),
            _ => None,
        };
        match found.map(|block| block.body.clone()) {
            Some(inner) => body = inner,
            None => break,
        }
    }
    body
}

/// The element of a collection, if it is written as one.
fn locate_element(attribute: &Attribute, key: &Value) -> Span {
    let expr = &attribute.expr;
    match key.view_ignoring_marks() {
        View::Number(number) => {
            let Some(items) = expr.as_list() else { return expr.span };
            let at = number.to_u64().and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| items.get(at)).map_or(attribute.name_span, |item| item.span)
        }
        View::String(wanted) => {
            let Some(items) = expr.as_map() else { return expr.span };
            for item in items {
                match literal_key(&item.key) {
                    Some(key) if key == *wanted => return item.value.start_span(),
                    Some(_) => {}
                    None => return expr.span,
                }
            }
            attribute.name_span
        }
        _ => expr.span,
    }
}

fn literal_key(key: &Expr) -> Option<EcoString> {
    match &key.kind {
        ExprKind::Literal(Literal::Int(number)) => Some(ecow::eco_format!("{number}")),
        ExprKind::Literal(Literal::Bool(value)) => Some(ecow::eco_format!("{value}")),
        _ => key.as_literal_string().cloned(),
    }
}

/// Visits every mark of a value, with the path to what carries it.
pub fn each_mark(value: &Value, visit: &mut dyn FnMut(&Path, &Mark)) {
    walk_marks(value, &mut Path::new(), visit);
}

fn walk_marks(value: &Value, path: &mut Path, visit: &mut dyn FnMut(&Path, &Mark)) {
    value.marks().iter().for_each(|mark| visit(path, mark));
    if value.ignoring_marks().is_deeply_unmarked() {
        return;
    }
    let mut inside = |step: PathStep, item: &Value| {
        path.0.push(step);
        walk_marks(item, path, visit);
        path.0.pop();
    };
    match value.view_ignoring_marks() {
        View::List(items) | View::Tuple(items) => {
            for (index, item) in (0i64..).zip(items) {
                inside(PathStep::Index(Value::int(index)), item);
            }
        }
        View::Map(items) => {
            items.iter().for_each(|(key, item)| inside(PathStep::Index(Value::string(key.clone())), item));
        }
        View::Object(items) => {
            let attrs = value.ty().attrs().unwrap_or_default();
            attrs.iter().zip(items).for_each(|(attr, item)| inside(PathStep::Attr(attr.name.clone()), item));
        }
        _ => {}
    }
}

/// Ephemeral values where they cannot be: everywhere but in write-only attributes, unless the block is ephemeral.
pub fn ephemeral_problems(schema: &BlockSchema, value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    if schema.ephemeral || value.is_deeply_unmarked() {
        return problems;
    }
    each_mark(value, &mut |path, mark| {
        if *mark != Mark::Ephemeral {
            return;
        }
        let (attribute, known_path) = innermost_attribute(schema, path);
        if !attribute.is_some_and(|attribute| attribute.write_only) {
            problems.push(Problem::at(diagnostics::ephemeral_in_attribute(&known_path), known_path));
        }
    });
    problems
}

/// The attribute a path leads to or into; the path itself if there is no such attribute.
fn innermost_attribute<'s>(schema: &'s BlockSchema, path: &Path) -> (Option<&'s AttributeSchemaOf>, Path) {
    for length in (1..=path.0.len()).rev() {
        let steps = path.0.get(..length).unwrap_or_default();
        if let Some(attribute) = schema.attribute_at(steps) {
            return (Some(attribute), Path(steps.to_vec()));
        }
    }
    (None, path.clone())
}

impl BlockSchema {
    /// The attribute at a path, if the path ends at one.
    pub fn attribute_at(&self, path: &[PathStep]) -> Option<&AttributeSchemaOf> {
        let mut block = self;
        for (at, step) in path.iter().enumerate() {
            let PathStep::Attr(name) = step else { continue };
            if let Some(attribute) = block.attributes().get(name) {
                return attribute_inside(attribute, path.get(at + 1..).unwrap_or_default());
            }
            block = &block.blocks().get(name)?.block;
        }
        None
    }
}

fn attribute_inside<'s>(attribute: &'s AttributeSchemaOf, rest: &[PathStep]) -> Option<&'s AttributeSchemaOf> {
    if rest.is_empty() {
        return Some(attribute);
    }
    let AttributeType::Nested(NestedAttribute { attributes, .. }) = &attribute.ty else { return None };
    let at = rest.iter().position(|step| matches!(step, PathStep::Attr(name) if attributes.contains_key(name)))?;
    let PathStep::Attr(name) = rest.get(at)? else { return None };
    attribute_inside(attributes.get(name)?, rest.get(at + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::decode;
    use crate::testing::{Kind, Literals, parse, schema};

    #[test]
    fn values_are_found_in_their_body() {
        let text = "name = 1\ntags = { a = \"x\", b = [2] }\nlist { a = 3 }\nlist { a = 4 }\nmap \"k\" { a = 5 }\n\
                    single {\n deep { c = 6 }\n}\n";
        let (file, _) = parse(text);
        let index = |key: i64| PathStep::Index(Value::int(key));
        let key = |key: &str| PathStep::Index(Value::string(key));
        let attr = |name: &str| PathStep::Attr(name.into());
        let check = |steps: &[PathStep], expected: &str| {
            let span = locate(&file.body, &Path(steps.to_vec()));
            let rest = text.get(span.start as usize..).unwrap_or_default();
            let found = if span.is_empty() { rest } else { &rest[..(span.end - span.start) as usize] };
            assert!(found.starts_with(expected), "{steps:?}: {found:?}");
        };
        check(&[attr("name")], "1");
        check(&[attr("tags"), key("a")], "x");
        check(&[attr("tags"), key("b")], "[");
        check(&[attr("tags"), key("c")], "tags");
        check(&[attr("list"), index(1), attr("a")], "4");
        check(&[attr("list"), index(2), attr("a")], "name");
        check(&[attr("list"), index(0), attr("b")], "a = 3");
        check(&[attr("map"), key("k"), attr("a")], "5");
        check(&[attr("single"), attr("deep"), index(0), attr("c")], "6");
        check(&[attr("id")], "name");
        check(&[index(0)], "name");
    }

    fn check_ephemeral(text: &str, expect: Expect) {
        let (file, sources) = parse(text);
        let mut schema = schema(Kind::Modern);
        let (value, _) = decode(&file.body, &schema, &mut Literals);
        let found = ephemeral_problems(&schema, &value).into_iter().map(|problem| problem.in_body(&file.body, None));
        let mut diagnostics = yuba_syntax::Diagnostics::new();
        diagnostics.extend(found);
        expect.assert_eq(&crate::testing::problems(&diagnostics, &sources));
        schema.ephemeral = true;
        assert!(ephemeral_problems(&schema, &value).is_empty());
    }

    #[test]
    fn ephemeral_values_are_not_stored() {
        check_ephemeral(
            "name = secret_text\ntags = { a = secret_text }\nany_list {\n  v = [secret_text]\n}\n",
            expect![[r#"
                1:8-1:19 Ephemeral value used in non-ephemeral context
                2:8-2:27 Ephemeral value used in non-ephemeral context
                4:7-4:20 Ephemeral value used in non-ephemeral context
            "#]],
        );
    }
}
