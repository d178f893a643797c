//! Bodies: the content of a file or block, requested by a schema. Native and JSON syntax respond alike.

use std::sync::Arc;

use ecow::EcoString;
use foldhash::HashMap;

use crate::diagnostics::{
    block_among_arguments, block_label_missing, duplicate_argument, extraneous_block_label, required_argument_missing,
    unsupported_argument, unsupported_block_type,
};
use crate::overridden::OverriddenBody;
use crate::{Diagnostic, Diagnostics, Expr, Span, json};

/// The content of a file or block.
#[derive(Clone, Debug)]
pub enum Body {
    /// Native syntax.
    Native(Arc<NativeBody>),
    /// JSON syntax: only the schema distinguishes arguments and blocks.
    Json(Arc<json::JsonBody>),
    /// A body and what overrides parts of it.
    Overridden(Arc<OverriddenBody>),
    /// Several bodies that are read as one.
    Merged(Arc<[Body]>),
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
    /// Location for a missing item: the end of the body.
    pub end_span: Span,
}

/// `name = expr`
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name.
    pub name: EcoString,
    /// Location of the name.
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
    /// Location of the type.
    pub kind_span: Span,
    /// Labels with their locations.
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

/// Possible content of a body.
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

/// Content of a body for a schema.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// In source order.
    pub attributes: Vec<Attribute>,
    /// In source order.
    pub blocks: Vec<Block>,
    /// Location for a missing item.
    pub missing_span: Span,
}

impl Content {
    /// The argument of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
    /// The blocks of this type.
    pub fn blocks_of<'c>(&'c self, kind: &'c str) -> impl Iterator<Item = &'c Block> {
        self.blocks.iter().filter(move |block| block.kind == kind)
    }
}

impl BodySchema {
    pub(crate) fn attribute(&self, name: &str) -> Option<&AttributeSchema> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
    pub(crate) fn block(&self, kind: &str) -> Option<&BlockSchema> {
        self.blocks.iter().find(|block| block.kind == kind)
    }
}

impl Body {
    /// A body without content.
    pub fn empty(span: Span) -> Body {
        Body::Native(Arc::new(NativeBody { span, end_span: span.at_end(), ..NativeBody::default() }))
    }

    /// Bodies that are read as one; an argument in two of them is an error.
    pub fn merged(bodies: impl Into<Arc<[Body]>>) -> Body {
        Body::Merged(bodies.into())
    }

    /// The items that the schema requests; all other items are errors.
    pub fn content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        match self {
            Body::Native(body) => body.content(schema),
            Body::Json(body) => body.content(schema),
            Body::Overridden(body) => {
                let (content, _, diagnostics) = body.partial_content(schema);
                (content, diagnostics)
            }
            Body::Merged(bodies) => merged_content(bodies, schema, Body::content),
        }
    }

    /// Items of the schema; all other items are ignored.
    pub fn known_content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        match self {
            Body::Native(body) => body.matching(schema),
            _ => {
                let (content, _, diagnostics) = self.partial_content(schema);
                (content, diagnostics)
            }
        }
    }

    /// Items of the schema, and a body of all other items.
    pub fn partial_content(&self, schema: &BodySchema) -> (Content, Body, Diagnostics) {
        match self {
            Body::Native(body) => {
                let (content, diagnostics) = body.matching(schema);
                // Most blocks of large configurations have nothing that the schema names: the rest is the whole body.
                let rest = if body.has_any(schema) { Arc::new(body.without(schema)) } else { Arc::clone(body) };
                (content, Body::Native(rest), diagnostics)
            }
            Body::Json(body) => {
                let (content, rest, diagnostics) = body.partial_content(schema);
                (content, Body::Json(Arc::new(rest)), diagnostics)
            }
            Body::Overridden(body) => body.partial_content(schema),
            Body::Merged(bodies) => {
                let mut rests = Vec::with_capacity(bodies.len());
                let (content, diagnostics) = merged_content(bodies, schema, |body, schema| {
                    let (content, rest, diagnostics) = body.partial_content(schema);
                    rests.push(rest);
                    (content, diagnostics)
                });
                (content, Body::Merged(rests.into()), diagnostics)
            }
        }
    }

    /// All arguments, whatever their names; blocks are errors.
    pub fn just_attributes(&self) -> (Vec<Attribute>, Diagnostics) {
        match self {
            Body::Native(body) => {
                let mut diagnostics = Diagnostics::new();
                if let Some(block) = body.blocks.first() {
                    diagnostics.push(block_among_arguments(block));
                }
                (body.attributes.clone(), diagnostics)
            }
            Body::Json(body) => body.just_attributes(),
            Body::Overridden(body) => body.just_attributes(),
            Body::Merged(bodies) => {
                let (mut attributes, mut diagnostics) = (Vec::new(), Diagnostics::new());
                for body in bodies.iter() {
                    let (found, problems) = body.just_attributes();
                    diagnostics.extend(problems);
                    add_attributes(&mut attributes, found, &mut diagnostics);
                }
                (attributes, diagnostics)
            }
        }
    }

    /// Location for a missing item.
    pub fn missing_item_span(&self) -> Span {
        match self {
            Body::Native(body) => body.span.at_start(),
            Body::Json(body) => body.missing_item_span(),
            Body::Overridden(body) => body.missing_item_span(),
            Body::Merged(bodies) => bodies.first().map(Body::missing_item_span).unwrap_or_default(),
        }
    }
}

impl NativeBody {
    fn content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        let (content, mut diagnostics) = self.matching(schema);
        for attribute in self.attributes.iter().filter(|attribute| schema.attribute(&attribute.name).is_none()) {
            diagnostics.push(unsupported_argument(attribute, schema, &content));
        }
        for block in self.blocks.iter().filter(|block| schema.block(&block.kind).is_none()) {
            diagnostics.push(unsupported_block_type(block, schema));
        }
        (content, diagnostics)
    }

    fn matching(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let missing_span = self.span.at_start();
        for wanted in schema.attributes.iter().filter(|attribute| attribute.required) {
            if !self.attributes.iter().any(|attribute| attribute.name == wanted.name) {
                diagnostics.push(required_argument_missing(&wanted.name, missing_span));
            }
        }
        let attributes = self.attributes.iter().filter(|a| schema.attribute(&a.name).is_some()).cloned().collect();
        let mut blocks = Vec::new();
        for block in &self.blocks {
            let Some(wanted) = schema.block(&block.kind) else { continue };
            match label_problem(block, wanted) {
                Some(problem) => diagnostics.push(problem),
                None => blocks.push(block.clone()),
            }
        }
        (Content { attributes, blocks, missing_span }, diagnostics)
    }

    /// Whether the schema names any of its items.
    fn has_any(&self, schema: &BodySchema) -> bool {
        self.attributes.iter().any(|a| schema.attribute(&a.name).is_some())
            || self.blocks.iter().any(|b| schema.block(&b.kind).is_some())
    }

    fn without(&self, schema: &BodySchema) -> NativeBody {
        NativeBody {
            attributes: self.attributes.iter().filter(|a| schema.attribute(&a.name).is_none()).cloned().collect(),
            blocks: self.blocks.iter().filter(|b| schema.block(&b.kind).is_none()).cloned().collect(),
            span: self.span,
            end_span: self.end_span,
        }
    }
}

/// Asks each body, and merges the results.
fn merged_content(
    bodies: &[Body],
    schema: &BodySchema,
    mut ask: impl FnMut(&Body, &BodySchema) -> (Content, Diagnostics),
) -> (Content, Diagnostics) {
    let mut optional = schema.clone();
    optional.attributes.iter_mut().for_each(|attribute| attribute.required = false);
    let mut diagnostics = Diagnostics::new();
    let missing_span = bodies.first().map(Body::missing_item_span).unwrap_or_default();
    let mut merged = Content { missing_span, ..Content::default() };
    for body in bodies {
        let (content, problems) = ask(body, &optional);
        diagnostics.extend(problems);
        add_attributes(&mut merged.attributes, content.attributes, &mut diagnostics);
        merged.blocks.extend(content.blocks);
    }
    for wanted in schema.attributes.iter().filter(|wanted| wanted.required && merged.attribute(&wanted.name).is_none())
    {
        // Quirk: the message has no location.
        let problem = required_argument_missing(&wanted.name, missing_span);
        diagnostics.push(Diagnostic { subject: None, ..problem });
    }
    (merged, diagnostics)
}

fn add_attributes(all: &mut Vec<Attribute>, more: Vec<Attribute>, diagnostics: &mut Diagnostics) {
    let known: HashMap<EcoString, Span> =
        all.iter().map(|attribute| (attribute.name.clone(), attribute.name_span)).collect();
    for attribute in more {
        if let Some(first) = known.get(&attribute.name) {
            diagnostics.push(duplicate_argument(&attribute.name, attribute.name_span, *first));
        } else {
            all.push(attribute);
        }
    }
}

/// The error about the number of a block's labels.
fn label_problem(block: &Block, expected: &BlockSchema) -> Option<Diagnostic> {
    match block.labels.get(expected.labels.len()) {
        Some((_, span)) => Some(extraneous_block_label(block, expected, *span)),
        None => {
            let missing = expected.labels.get(block.labels.len())?;
            Some(block_label_missing(block, expected, missing))
        }
    }
}

/// Result of parsing a file.
#[derive(Clone, Debug)]
pub struct ParsedFile {
    /// The content.
    pub body: Body,
    /// Its errors.
    pub diagnostics: Diagnostics,
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::FileId;
    use crate::parser::parse_config;

    fn schema() -> BodySchema {
        let attribute = |name: &str, required| AttributeSchema { name: name.into(), required };
        BodySchema {
            attributes: vec![attribute("need", true), attribute("may", false)],
            blocks: vec![
                BlockSchema { kind: "plain".into(), labels: vec![] },
                BlockSchema { kind: "resource".into(), labels: vec!["type".into(), "name".into()] },
            ],
        }
    }

    fn check(text: &str, expect: Expect) {
        let (_, file) = parse_config(FileId(0), text.as_bytes());
        assert!(file.diagnostics.is_empty());
        let (content, diagnostics) = file.body.content(&schema());
        let names = content.attributes.iter().map(|a| &a.name).chain(content.blocks.iter().map(|b| &b.kind));
        let mut out = names.map(EcoString::as_str).collect::<Vec<_>>().join(" ") + "\n";
        for diagnostic in diagnostics.iter() {
            let span = diagnostic.subject.unwrap_or_default();
            out += &format!("! {} @{}-{}\n  {}\n", diagnostic.summary, span.start, span.end, diagnostic.explanation());
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn a_body_without_items_of_the_schema_is_its_own_rest() {
        let rest_of = |text: &str| {
            let (_, file) = parse_config(FileId(0), text.as_bytes());
            let rest = file.body.partial_content(&schema()).1;
            let (Body::Native(body), Body::Native(rest)) = (file.body, rest) else { panic!("it is native syntax") };
            (Arc::ptr_eq(&body, &rest), rest.attributes.len() + rest.blocks.len())
        };
        assert_eq!(rest_of("need = 1\nother = 2\nplain {}\nmore {}\n"), (false, 2));
        assert_eq!(rest_of("other = 2\nmore {}\n"), (true, 2));
    }

    #[test]
    fn content_is_what_the_schema_asks_for() {
        check(
            "need = 1\nmay = 2\nplain {}\nresource \"a\" \"b\" {}\n",
            expect![[r#"
            need may plain resource
        "#]],
        );
        check(
            "may = 1\n",
            expect![[r#"
            may
            ! Missing required argument @0-0
              The argument "need" is required, but no definition was found.
        "#]],
        );
        check(
            "need = 1\nmya = 1\nplain = 2\nxyz = 3\n",
            expect![[r#"
            need
            ! Unsupported argument @9-12
              An argument named "mya" is not expected here. Did you mean "may"?
            ! Unsupported argument @17-22
              An argument named "plain" is not expected here. To define a block of type "plain", remove the equals sign.
            ! Unsupported argument @27-30
              An argument named "xyz" is not expected here.
        "#]],
        );
        check(
            "need = 1\nplian {}\nmay {}\nxyz {}\n",
            expect![[r#"
            need
            ! Unsupported block type @9-14
              Blocks of type "plian" are not expected here. Did you mean "plain"?
            ! Unsupported block type @18-21
              Blocks of type "may" are not expected here. To set the argument "may", put an equals sign after its name.
            ! Unsupported block type @25-28
              Blocks of type "xyz" are not expected here.
        "#]],
        );
        check(
            "need = 1\nplain \"a\" {}\nresource \"a\" {}\nresource a b c {}\n",
            expect![[r#"
            need
            ! Extraneous label for plain @15-18
              Blocks of type "plain" do not take labels.
            ! Missing name for resource @35-36
              Blocks of type "resource" require these labels: type, name.
            ! Extraneous label for resource @51-52
              Blocks of type "resource" take only these labels: type, name.
        "#]],
        );
    }

    #[test]
    fn the_rest_has_what_was_not_asked_for() {
        let (_, file) = parse_config(FileId(0), b"need = 1\nother = 2\nplain {}\nextra {}\n");
        let (content, rest, diagnostics) = file.body.partial_content(&schema());
        assert!(diagnostics.is_empty());
        assert_eq!((content.attributes.len(), content.blocks.len()), (1, 1));
        let (attributes, diagnostics) = rest.just_attributes();
        assert_eq!(attributes.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["other"]);
        let summaries: Vec<&str> = diagnostics.iter().map(|d| d.summary.as_str()).collect();
        assert_eq!(summaries, ["Unexpected \"extra\" block"]);
    }

    #[test]
    fn merged_bodies_are_read_as_one() {
        let parse = |text: &[u8]| parse_config(FileId(0), text).1.body;
        let body = Body::merged(vec![parse(b"need = 1\nplain {}\n"), parse(b"need = 2\nmay = 3\nplain {}\nxyz = 4\n")]);
        let (content, diagnostics) = body.content(&schema());
        assert_eq!((content.attributes.len(), content.blocks.len()), (2, 2));
        let summaries: Vec<&str> = diagnostics.iter().map(|d| d.summary.as_str()).collect();
        assert_eq!(summaries, ["Unsupported argument", "Duplicate argument"]);
        let (_, rest, diagnostics) = body.partial_content(&schema());
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(rest.just_attributes().0.len(), 1);
        let (_, diagnostics) = Body::merged(vec![parse(b"")]).content(&schema());
        assert!(diagnostics.iter().all(|d| d.summary == "Missing required argument" && d.subject.is_none()));
    }
}
