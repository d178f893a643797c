//! Bodies by schema: what a block says becomes an object of the schema's type.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::body::BlockSchema as BlockHeader;
use yuba_syntax::{Attribute as WrittenAttribute, Body, BodySchema, Diagnostic, Diagnostics, Expr, Span};
use yuba_value::convert::{Allow, convert, unify_with};
use yuba_value::{Marks, Type, Value};

use crate::diagnostics;
use crate::dynamic::ExpandedBlock;
use crate::schema::{Attribute, BlockSchema, NestedBlock, Nesting};

/// The evaluator of expressions, provided by the caller.
///
/// Only reference errors of a body should be reported: collect them separately while evaluating (with unknown values),
/// and if there are any, report them instead of the errors of [`decode`].
pub trait EvalExpr {
    /// The value of an expression, with these names beside everything else that can be referred to.
    fn eval(&mut self, expr: &Expr, locals: &LocalNames) -> (Value, Diagnostics);

    /// A message about the value of an expression, with what helps to understand it.
    fn explain(&mut self, diagnostic: Diagnostic, _expr: &Expr, _locals: &LocalNames) -> Diagnostic {
        diagnostic
    }
}

/// Names that only the content of a `dynamic` block knows: its iterator, and those of the blocks around it.
#[derive(Clone, Debug, Default)]
pub struct LocalNames(Option<Arc<LocalName>>);

#[derive(Debug)]
struct LocalName {
    name: EcoString,
    value: Value,
    outer: LocalNames,
}

impl LocalNames {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
    /// The value of a name: an object with `key` and `value`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
    /// Names and values, inner ones first; of duplicate names the first one wins.
    pub fn iter(&self) -> impl Iterator<Item = (&EcoString, &Value)> {
        let mut next = self;
        std::iter::from_fn(move || {
            let local = next.0.as_ref()?;
            next = &local.outer;
            Some((&local.name, &local.value))
        })
    }
    /// With another name.
    #[must_use]
    pub fn with(&self, name: EcoString, value: Value) -> LocalNames {
        LocalNames(Some(Arc::new(LocalName { name, value, outer: self.clone() })))
    }
}

/// The value of a body. Invalid parts become unknown, so that the rest can be checked.
pub fn decode(body: &Body, schema: &BlockSchema, eval: &mut dyn EvalExpr) -> (Value, Diagnostics) {
    let mut decoder = Decoder { eval, diagnostics: Diagnostics::new() };
    let part = Part { body: body.clone(), locals: LocalNames::default(), marks: Marks::NONE, unknown: false };
    let value = decoder.body(&part, schema, Style::of(schema));
    (value, decoder.diagnostics)
}

pub(crate) struct Decoder<'e> {
    pub(crate) eval: &'e mut dyn EvalExpr,
    pub(crate) diagnostics: Diagnostics,
}

/// A body in the context of the `dynamic` blocks around it.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) body: Body,
    pub(crate) locals: LocalNames,
    /// Of the collections that the blocks around it are made from.
    pub(crate) marks: Marks,
    /// The number of these blocks is unknown, so all values in them are.
    pub(crate) unknown: bool,
}

/// Whether lists and sets of objects may be written as blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    AttributesAsBlocks,
    Modern,
}

impl Style {
    fn of(schema: &BlockSchema) -> Style {
        if schema.is_modern() { Style::Modern } else { Style::AttributesAsBlocks }
    }
}

/// Content of a body, `dynamic` blocks expanded.
struct PartContent {
    attributes: Vec<WrittenAttribute>,
    blocks: Vec<ExpandedBlock>,
    missing_span: Span,
}

impl Decoder<'_> {
    fn body(&mut self, part: &Part, schema: &BlockSchema, style: Style) -> Value {
        let content = self.content(part, schema, style);
        let mut fields = BTreeMap::new();
        for (name, attribute) in schema.attributes() {
            let value = match content.attributes.iter().find(|written| written.name == *name) {
                Some(written) => self.attribute(written, attribute, part),
                None => match attribute.block_object().filter(|_| style == Style::AttributesAsBlocks) {
                    Some(object) => self.attribute_as_blocks(name, attribute, object, &content),
                    None => Value::null(attribute.implied_type()),
                },
            };
            fields.insert(name, value);
        }
        for (name, nested) in schema.blocks() {
            fields.insert(name, self.nested(name, nested, &content, style));
        }
        let ty = schema.implied_type();
        if ty.has_dynamic() {
            Value::object(fields.into_iter().map(|(name, value)| (name.clone(), value)).collect())
        } else {
            Value::structure(ty.clone(), fields.into_values().collect())
        }
    }

    fn content(&mut self, part: &Part, schema: &BlockSchema, style: Style) -> PartContent {
        let wanted = match style {
            Style::AttributesAsBlocks => ask_for_blocks(&part.body, schema),
            Style::Modern => Cow::Borrowed(schema.dynamic_body_schema()),
        };
        let (content, problems) = part.body.content(&wanted);
        self.diagnostics.extend(problems);
        PartContent {
            blocks: self.expand(content.blocks, &wanted, part),
            attributes: content.attributes,
            missing_span: content.missing_span,
        }
    }

    fn attribute(&mut self, written: &WrittenAttribute, schema: &Attribute, part: &Part) -> Value {
        let value = if part.unknown {
            Value::unknown_dynamic()
        } else {
            let (value, problems) = self.eval.eval(&written.expr, &part.locals);
            self.diagnostics.extend(problems);
            value
        };
        let ty = schema.spec_type();
        convert(&value.with_marks(&part.marks), &ty).unwrap_or_else(|error| {
            let problem = diagnostics::incorrect_attribute_value_type(&written.name, &error)
                .at(written.expr.span)
                .within(written.name_span.to(written.expr.span));
            let problem = self.eval.explain(problem, &written.expr, &part.locals);
            self.diagnostics.push(problem);
            Value::unknown(ty.without_optional())
        })
    }

    /// A list or set of objects, written as one block for each.
    fn attribute_as_blocks(
        &mut self,
        name: &EcoString,
        attribute: &Attribute,
        object: &Type,
        content: &PartContent,
    ) -> Value {
        let schema = BlockSchema::of_object(object);
        let style = Style::of(&schema);
        let mut header_span = None;
        let mut items = Vec::new();
        for block in content.blocks.iter().filter(|block| block.kind == *name) {
            header_span.get_or_insert(block.header_span);
            items.push(self.body(&block.part, &schema, style));
        }
        let ty = attribute.spec_type();
        let Some(header_span) = header_span else { return Value::null(ty.without_optional()) };
        convert(&Value::tuple(items), &ty).unwrap_or_else(|error| {
            self.diagnostics.push(diagnostics::incorrect_attribute_value_type(name, &error).at(header_span));
            Value::unknown(ty.without_optional())
        })
    }

    fn nested(&mut self, kind: &EcoString, schema: &NestedBlock, content: &PartContent, style: Style) -> Value {
        let blocks: Vec<&ExpandedBlock> = content.blocks.iter().filter(|block| block.kind == *kind).collect();
        match schema.nesting {
            Nesting::Single | Nesting::Group => self.single(kind, schema, &blocks, content.missing_span, style),
            Nesting::List | Nesting::Set => self.sequence(kind, schema, &blocks, content.missing_span, style),
            Nesting::Map => self.labelled(kind, schema, &blocks, style),
        }
    }

    fn single(
        &mut self,
        kind: &EcoString,
        schema: &NestedBlock,
        blocks: &[&ExpandedBlock],
        missing_span: Span,
        style: Style,
    ) -> Value {
        if let Some(second) = blocks.get(1) {
            self.diagnostics.push(diagnostics::duplicate_block(kind).at(second.header_span));
        }
        match blocks.first() {
            Some(block) => self.body(&block.part, &schema.block, style),
            None => {
                if schema.min == 1 {
                    self.diagnostics.push(diagnostics::missing_block(kind).at(missing_span));
                }
                schema.empty_value()
            }
        }
    }

    fn sequence(
        &mut self,
        kind: &EcoString,
        schema: &NestedBlock,
        blocks: &[&ExpandedBlock],
        missing_span: Span,
        style: Style,
    ) -> Value {
        let mut items = Vec::with_capacity(blocks.len());
        for block in blocks {
            let value = self.body(&block.part, &schema.block, style);
            if block.part.unknown {
                return Value::unknown(schema.implied_type()).with_marks(&block.part.marks);
            }
            items.push(marked(value, &block.part, style));
        }
        let (min, max) = (schema.min as usize, schema.max as usize);
        if items.len() < min {
            self.diagnostics.push(diagnostics::insufficient_blocks(kind, schema.min).at(missing_span));
        } else if max > 0
            && let Some(first_too_many) = blocks.get(max)
        {
            let at = first_too_many.part.body.missing_item_span();
            self.diagnostics.push(diagnostics::too_many_blocks(kind, schema.max).at(at));
        }
        let element = schema.block.implied_type().clone();
        match schema.nesting {
            _ if items.is_empty() => schema.empty_value(),
            Nesting::List if schema.is_heterogeneous() => Value::tuple(items),
            Nesting::List => Value::list(element, items),
            _ if !schema.is_heterogeneous() => Value::set(element, items),
            _ => self.unified_set(kind, &items, blocks),
        }
    }

    /// A set of objects with attributes of any type. Each attribute must become the same type in all objects.
    fn unified_set(&mut self, kind: &EcoString, items: &[Value], blocks: &[&ExpandedBlock]) -> Value {
        let unified = unify_with(items.iter().map(Value::ty), Allow::Unsafe);
        let mut converted = Vec::with_capacity(items.len());
        let mut culprit = 0;
        if let Some(unified) = &unified {
            for (index, item) in items.iter().enumerate() {
                culprit = index;
                match unified.convert(index, item) {
                    Ok(value) => converted.push(value),
                    Err(_) => break,
                }
            }
        }
        match unified {
            Some(unified) if converted.len() == items.len() => Value::set(unified.ty, converted),
            _ => {
                let at = blocks.get(culprit).map(|block| block.part.body.missing_item_span()).unwrap_or_default();
                self.diagnostics.push(diagnostics::inconsistent_blocks(kind).at(at));
                Value::unknown_dynamic()
            }
        }
    }

    fn labelled(&mut self, kind: &EcoString, schema: &NestedBlock, blocks: &[&ExpandedBlock], style: Style) -> Value {
        let mut items: BTreeMap<EcoString, Value> = BTreeMap::new();
        for block in blocks {
            if block.part.unknown {
                return Value::unknown(schema.implied_type()).with_marks(&block.part.marks);
            }
            let value = self.body(&block.part, &schema.block, style);
            let Some(key) = block.labels.first() else { continue };
            if items.contains_key(key) {
                self.diagnostics.push(diagnostics::duplicate_labelled_block(kind, key).at(block.header_span));
            } else {
                items.insert(key.clone(), marked(value, &block.part, style));
            }
        }
        if items.is_empty() {
            schema.empty_value()
        } else if schema.is_heterogeneous() {
            Value::object(items.into_iter().collect())
        } else {
            Value::map(schema.block.implied_type().clone(), items.into_iter().collect())
        }
    }
}

/// Quirk: where attributes may be written as blocks, a block made from a marked collection is not marked itself, only
/// the attributes in it.
fn marked(value: Value, part: &Part, style: Style) -> Value {
    match style {
        Style::AttributesAsBlocks => value,
        Style::Modern => value.with_marks(&part.marks),
    }
}

/// Schema for decoding a body: every list or set of objects that is not written as an attribute is a block type.
///
/// Quirk: so an absent attribute is not reported even if it is required.
fn ask_for_blocks<'s>(body: &Body, schema: &'s BlockSchema) -> Cow<'s, BodySchema> {
    let usual = schema.dynamic_body_schema();
    if schema.ambiguous().is_empty() {
        return Cow::Borrowed(usual);
    }
    let as_blocks = not_written_as_attributes(body, schema);
    if as_blocks.is_empty() { Cow::Borrowed(usual) } else { Cow::Owned(with_blocks(usual, &as_blocks)) }
}

/// Lists and sets of objects that the body does not contain as attributes.
pub(crate) fn not_written_as_attributes<'s>(body: &Body, schema: &'s BlockSchema) -> Vec<&'s EcoString> {
    let is_ambiguous = |name: &EcoString| schema.ambiguous().contains(name);
    let attributes = schema.body_schema().attributes.iter().filter(|attribute| is_ambiguous(&attribute.name));
    let mut probe = BodySchema { attributes: attributes.cloned().collect(), blocks: Vec::new() };
    probe.attributes.iter_mut().for_each(|attribute| attribute.required = false);
    let (content, _, _) = body.partial_content(&probe);
    schema.ambiguous().iter().filter(|name| content.attribute(name).is_none()).collect()
}

/// The schema with some attributes as block types.
pub(crate) fn with_blocks(schema: &BodySchema, as_blocks: &[&EcoString]) -> BodySchema {
    let attributes = schema.attributes.iter().filter(|attribute| !as_blocks.contains(&&attribute.name));
    let header = |kind: &&EcoString| BlockHeader { kind: (*kind).clone(), labels: Vec::new() };
    BodySchema {
        attributes: attributes.cloned().collect(),
        blocks: as_blocks.iter().map(header).chain(schema.blocks.iter().cloned()).collect(),
    }
}
