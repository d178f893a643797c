//! JSON objects as bodies: properties become arguments or blocks as a schema says.

use std::sync::Arc;

use ecow::EcoString;
use foldhash::{HashMap, HashMapExt};

use super::{Json, JsonKind, Property};
use crate::body::{Attribute, Block, Body, BodySchema, Content, missing_required_argument};
use crate::source::Span;
use crate::suggestion::closest;
use crate::{Diagnostic, Diagnostics};

/// A property of this name is a comment.
const COMMENT: &str = "//";

/// A JSON object (or array of objects) as a body.
#[derive(Clone, Debug)]
pub struct JsonBody {
    value: Arc<Json>,
    /// Properties that an earlier question was answered with.
    hidden: Vec<EcoString>,
}

impl JsonBody {
    pub(super) fn new(value: Arc<Json>) -> JsonBody {
        JsonBody { value, hidden: Vec::new() }
    }

    pub(crate) fn content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        let (content, rest, mut diagnostics) = self.partial_content(schema);
        // Quirk: what is wrong with the value itself is said a second time.
        for property in properties(&self.value, None, &mut diagnostics) {
            let name = &property.name;
            if name == COMMENT || rest.hidden.contains(name) {
                continue;
            }
            let unused = schema.attributes.iter().map(|a| &a.name).filter(|name| !rest.hidden.contains(name));
            let names = unused.chain(schema.blocks.iter().map(|b| &b.kind)).map(EcoString::as_str);
            let hint = match closest(name, names) {
                Some(name) => format!(" Did you mean \"{name}\"?"),
                None => String::new(),
            };
            let detail = format!("There is no argument or block type \"{name}\" here.{hint}");
            diagnostics.push(
                Diagnostic::error("Extraneous JSON object property", detail)
                    .at(property.name_span)
                    .within(property.name_span),
            );
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
                    let detail = format!("The argument \"{name}\" is already set. Set it once.");
                    diagnostics.push(
                        Diagnostic::error("Duplicate argument", detail)
                            .at(property.name_span)
                            .within(property.name_span)
                            .after(first.name_span),
                    );
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
                diagnostics.push(missing_required_argument(&wanted.name, content.missing_span));
            }
        }
        (content, JsonBody { value: self.value.clone(), hidden }, diagnostics)
    }

    pub(crate) fn just_attributes(&self) -> (Vec<Attribute>, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let mut attributes: Vec<Attribute> = Vec::new();
        let mut names: HashMap<&EcoString, Span> = HashMap::new();
        let JsonKind::Object(properties) = &self.value.kind else {
            let detail = "The arguments of this block have to be given as a JSON object.";
            diagnostics.push(wrong_type(detail, self.value.start_span()));
            return (attributes, diagnostics);
        };
        for property in properties {
            let name = &property.name;
            if name == COMMENT || self.hidden.contains(name) {
                continue;
            }
            if let Some(first) = names.get(name) {
                let detail = format!("The argument \"{name}\" is already set. Set it once.");
                let problem = Diagnostic::error("Duplicate attribute definition", detail);
                diagnostics.push(problem.at(property.name_span).after(*first));
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

fn wrong_type(detail: impl Into<EcoString>, at: Span) -> Diagnostic {
    Diagnostic::error("Incorrect JSON value type", detail).at(at)
}

/// The properties of an object, or of all objects of an array. They are labels if a label's name is given.
fn properties<'j>(value: &'j Json, label: Option<&str>, diagnostics: &mut Diagnostics) -> Vec<&'j Property> {
    let wants = match label {
        Some(label) => format!("whose property names are the {label} of this block"),
        None => "for the arguments and blocks inside".to_owned(),
    };
    match &value.kind {
        JsonKind::Null => Vec::new(),
        JsonKind::Object(properties) => properties.iter().collect(),
        JsonKind::Array(values) => {
            let mut found = Vec::new();
            for value in values {
                match &value.kind {
                    JsonKind::Object(properties) => found.extend(properties),
                    _ => {
                        diagnostics
                            .push(wrong_type(format!("A JSON object has to come here, {wants}."), value.start_span()));
                    }
                }
            }
            found
        }
        _ => {
            let detail = format!("A JSON object or an array of JSON objects has to come here, {wants}.");
            diagnostics.push(wrong_type(detail, value.start_span()));
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
            let detail =
                format!("The {label} of this \"{kind}\" block is missing: the name of a property of an object.");
            diagnostics.push(Diagnostic::error("Missing block label", detail).at(value.start_span()));
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
        _ => {
            let detail = format!(
                "The content of \"{kind}\" blocks has to be a JSON object, or an array of them for several blocks."
            );
            diagnostics.push(wrong_type(detail, value.start_span()));
        }
    }
}
