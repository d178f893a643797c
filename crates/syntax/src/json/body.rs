//! JSON objects as bodies: properties become arguments or blocks as a schema says.

use std::sync::Arc;

use ecow::EcoString;
use foldhash::{HashMap, HashMapExt};

use super::diagnostics as messages;
use super::{Json, JsonKind, Property};
use crate::Diagnostics;
use crate::body::{Attribute, Block, Body, BodySchema, Content};
use crate::diagnostics::required_argument_missing;
use crate::source::Span;

/// A property of this name is a comment.
const COMMENT: &str = "//";

/// A JSON object (or array of objects) as a body.
#[derive(Clone, Debug)]
pub struct JsonBody {
    value: Arc<Json>,
    /// Properties that an earlier request returned.
    hidden: Vec<EcoString>,
}

impl JsonBody {
    pub(super) fn new(value: Arc<Json>) -> JsonBody {
        JsonBody { value, hidden: Vec::new() }
    }

    pub(crate) fn content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        let (content, rest, mut diagnostics) = self.partial_content(schema);
        // Quirk: errors in the value itself are reported a second time.
        for property in properties(&self.value, None, &mut diagnostics) {
            let name = &property.name;
            if name == COMMENT || rest.hidden.contains(name) {
                continue;
            }
            diagnostics.push(messages::extraneous_property(property, schema, &rest.hidden));
        }
        (content, diagnostics)
    }

    pub(crate) fn partial_content(&self, schema: &BodySchema) -> (Content, JsonBody, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let mut content = Content { missing_span: self.missing_item_span(), ..Content::default() };
        let mut hidden = self.hidden.clone();
        for property in properties(&self.value, None, &mut diagnostics) {
            let name = &property.name;
            if self.hidden.contains(name) {
                continue;
            }
            if schema.attributes.iter().any(|attribute| attribute.name == *name) {
                if let Some(first) = content.attribute(name) {
                    diagnostics.push(messages::duplicate_argument(property, first.name_span));
                    continue;
                }
                content.attributes.push(attribute(property));
            } else if let Some(block) = schema.blocks.iter().find(|block| block.kind == *name) {
                let mut labels = Vec::new();
                unpack(property, &property.value, &block.labels, &mut labels, &mut content.blocks, &mut diagnostics);
            } else {
                continue;
            }
            if !hidden.contains(name) {
                hidden.push(name.clone());
            }
        }
        for wanted in schema.attributes.iter().filter(|attribute| attribute.required) {
            if content.attribute(&wanted.name).is_none() {
                diagnostics.push(required_argument_missing(&wanted.name, content.missing_span));
            }
        }
        (content, JsonBody { value: self.value.clone(), hidden }, diagnostics)
    }

    pub(crate) fn just_attributes(&self) -> (Vec<Attribute>, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let mut attributes: Vec<Attribute> = Vec::new();
        let mut names: HashMap<&EcoString, Span> = HashMap::new();
        let JsonKind::Object(properties) = &self.value.kind else {
            diagnostics.push(messages::arguments_not_object(self.value.start_span()));
            return (attributes, diagnostics);
        };
        for property in properties {
            let name = &property.name;
            if name == COMMENT || self.hidden.contains(name) {
                continue;
            }
            if let Some(first) = names.get(name) {
                diagnostics.push(messages::duplicate_attribute(property, *first));
                continue;
            }
            names.insert(name, property.name_span);
            attributes.push(attribute(property));
        }
        (attributes, diagnostics)
    }

    pub(crate) fn missing_item_span(&self) -> Span {
        match self.value.kind {
            JsonKind::Object(_) => {
                let Span { file, start, end } = self.value.span;
                Span { file, start: end.saturating_sub(1).max(start), end }
            }
            _ => self.value.start_span(),
        }
    }
}

fn attribute(property: &Property) -> Attribute {
    Attribute {
        name: property.name.clone(),
        name_span: property.name_span,
        expr: Arc::new(property.value.to_expr()),
        span: property.name_span.to(property.value.span),
    }
}

/// The properties of an object, or of all objects of an array. They are labels if a label's name is given.
fn properties<'j>(value: &'j Json, label: Option<&str>, diagnostics: &mut Diagnostics) -> Vec<&'j Property> {
    match &value.kind {
        JsonKind::Null => Vec::new(),
        JsonKind::Object(properties) => properties.iter().collect(),
        JsonKind::Array(values) => {
            let mut found = Vec::new();
            for value in values {
                match &value.kind {
                    JsonKind::Object(properties) => found.extend(properties),
                    _ => diagnostics.push(messages::item_not_object(label, value.start_span())),
                }
            }
            found
        }
        _ => {
            diagnostics.push(messages::body_not_object(label, value.start_span()));
            Vec::new()
        }
    }
}

/// The blocks a property stands for: each label is one level of objects, and an array is several blocks.
fn unpack(
    property: &Property,
    value: &Arc<Json>,
    labels_left: &[EcoString],
    labels: &mut Vec<(EcoString, Span)>,
    blocks: &mut Vec<Block>,
    diagnostics: &mut Diagnostics,
) {
    let kind = &property.name;
    if let Some((label, labels_left)) = labels_left.split_first() {
        let found = properties(value, Some(label), diagnostics);
        if found.is_empty() {
            diagnostics.push(messages::block_label_missing(kind, label, value.start_span()));
        }
        for inner in found {
            labels.push((inner.name.clone(), inner.name_span));
            unpack(property, &inner.value, labels_left, labels, blocks, diagnostics);
            labels.pop();
        }
        return;
    }
    let mut push = |content: &Arc<Json>| {
        blocks.push(Block {
            kind: kind.clone(),
            kind_span: property.name_span,
            labels: labels.clone(),
            body: Body::Json(Arc::new(JsonBody::new(content.clone()))),
            header_span: value.start_span(),
            open_span: value.start_span(),
            span: content.span,
        });
    };
    match &value.kind {
        JsonKind::Null => {}
        JsonKind::Object(_) => push(value),
        JsonKind::Array(values) => values.iter().for_each(push),
        _ => diagnostics.push(messages::block_not_object(kind, value.start_span())),
    }
}
