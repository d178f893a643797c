//! Bodies: what a file or block contains, asked for by a schema. Native and JSON syntax answer alike.

use std::sync::Arc;

use ecow::EcoString;

use crate::{Diagnostics, Expr, Span, json};

/// The content of a file or block.
#[derive(Clone, Debug)]
pub enum Body {
    /// Native syntax.
    Native(Arc<NativeBody>),
    /// JSON syntax: what is an argument and what a block only the schema tells.
    Json(Arc<json::JsonBody>),
}

/// Arguments and blocks as written.
#[derive(Clone, Debug, Default)]
pub struct NativeBody {
    /// In source order, names unique (a second definition is a diagnostic of the parser).
    pub attributes: Vec<Attribute>,
    /// In source order.
    pub blocks: Vec<Block>,
    /// All of it.
    pub span: Span,
    /// Where something missing would be added: the end of the body.
    pub end_span: Span,
}

/// `name = expr`
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name.
    pub name: EcoString,
    /// Where the name stands.
    pub name_span: Span,
    /// The value, shared so that bodies can be cloned.
    pub expr: Arc<Expr>,
    /// All of it.
    pub span: Span,
}

/// `type "label" { ... }`
#[derive(Clone, Debug)]
pub struct Block {
    /// The type.
    pub kind: EcoString,
    /// Where the type stands.
    pub kind_span: Span,
    /// Labels with their places.
    pub labels: Vec<(EcoString, Span)>,
    /// The content.
    pub body: Body,
    /// Type and labels: what messages about the block point at.
    pub header_span: Span,
    /// The opening brace.
    pub open_span: Span,
    /// All of it.
    pub span: Span,
}

/// What may be in a body.
#[derive(Clone, Debug, Default)]
pub struct BodySchema {
    /// Arguments.
    pub attributes: Vec<AttributeSchema>,
    /// Block types.
    pub blocks: Vec<BlockSchema>,
}

/// One argument of a schema.
#[derive(Clone, Debug)]
pub struct AttributeSchema {
    /// The name.
    pub name: EcoString,
    /// Its absence is an error.
    pub required: bool,
}

/// One block type of a schema.
#[derive(Clone, Debug)]
pub struct BlockSchema {
    /// The type.
    pub kind: EcoString,
    /// Names of its labels.
    pub labels: Vec<EcoString>,
}

/// What a body contains of what a schema asked for.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// In source order.
    pub attributes: Vec<Attribute>,
    /// In source order.
    pub blocks: Vec<Block>,
    /// Where something missing would be added.
    pub missing_span: Span,
}

/// What parsing a file gives.
#[derive(Clone, Debug)]
pub struct ParsedFile {
    /// The content.
    pub body: Body,
    /// What is wrong with it.
    pub diagnostics: Diagnostics,
}
