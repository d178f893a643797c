//! `output` blocks.

use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Block, BodySchema, Diagnostics, Expr, Span, Traversal};

use crate::check::{self, CheckRule};
use crate::constant::Decoding;
use crate::depends_on;
use crate::diagnostics;
use crate::file::FileKind;
use crate::schema::{nothing_required, schema};

/// An `output` block.
#[derive(Clone, Debug)]
pub struct Output {
    /// The label.
    pub name: EcoString,
    /// For people.
    pub description: Option<EcoString>,
    /// `value`; missing only where the block overrides another one.
    pub value: Option<Arc<Expr>>,
    /// `depends_on`
    pub depends_on: Vec<Traversal>,
    /// `sensitive`, if given.
    pub sensitive: Option<bool>,
    /// `ephemeral`, if given.
    pub ephemeral: Option<bool>,
    /// The author's message.
    pub deprecated: Option<EcoString>,
    /// `deprecated`, if it refers to a library: [`Output::resolve`] reads it.
    pub deprecated_pending: Option<Arc<Expr>>,
    /// `precondition` blocks.
    pub preconditions: Vec<CheckRule>,
    /// The block's header.
    pub span: Span,
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    schema(
        &["value"],
        &["description", "depends_on", "sensitive", "ephemeral", "deprecated"],
        &[("precondition", &[]), ("postcondition", &[])],
    )
});
static OVERRIDE_SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| nothing_required(&SCHEMA));

impl Output {
    /// Reads what refers to symbol libraries, now that these are known.
    pub fn resolve(&mut self, decoding: &Decoding<'_>) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        if let Some(expr) = self.deprecated_pending.take() {
            self.deprecated = decoding.later_string(&expr, &mut diagnostics);
            if self.deprecated.as_ref().is_some_and(|text| text.trim().is_empty()) {
                diagnostics.push(diagnostics::empty_deprecated_output(expr.span));
            }
        }
        diagnostics
    }
}

/// Decodes an `output` block.
pub(crate) fn decode(block: &Block, kind: FileKind, decoding: &Decoding<'_>) -> (Output, Diagnostics) {
    let (name, name_span) = block.labels.first().cloned().unwrap_or_default();
    let (content, mut diagnostics) =
        block.body.content(if kind == FileKind::Override { &OVERRIDE_SCHEMA } else { &SCHEMA });
    if !is_identifier(&name) {
        diagnostics.push(diagnostics::invalid_name("output", &name, name_span));
    }
    let mut output = Output {
        name,
        description: None,
        value: content.attribute("value").map(|attribute| attribute.expr.clone()),
        depends_on: Vec::new(),
        sensitive: None,
        ephemeral: None,
        deprecated: None,
        deprecated_pending: None,
        preconditions: Vec::new(),
        span: block.header_span,
    };
    let argument = |name: &str| content.attribute(name).map(|attribute| &attribute.expr);
    if let Some(expr) = argument("description") {
        output.description = decoding.string(expr, &mut diagnostics);
    }
    if let Some(expr) = argument("sensitive") {
        output.sensitive = Some(decoding.bool(expr, &mut diagnostics).unwrap_or_default());
    }
    if let Some(expr) = argument("deprecated").filter(|expr| decoding.needs_symbols(expr)) {
        output.deprecated_pending = Some(expr.clone());
    } else if let Some(expr) = argument("deprecated") {
        output.deprecated = decoding.string(expr, &mut diagnostics);
        // Quirk: an empty message is not reported when anything before it was wrong.
        if output.deprecated.as_ref().is_some_and(|text| text.trim().is_empty()) && !diagnostics.has_errors() {
            diagnostics.push(diagnostics::empty_deprecated_output(expr.span));
        }
    }
    if let Some(expr) = argument("ephemeral") {
        output.ephemeral = Some(decoding.bool(expr, &mut diagnostics).unwrap_or_default());
    }
    if let Some(expr) = argument("depends_on") {
        let (references, problems) = depends_on::decode(expr);
        diagnostics.extend(problems);
        output.depends_on = references;
    }
    for nested in &content.blocks {
        if nested.kind == "precondition" {
            let (rule, problems) = check::decode_rule(nested, kind);
            diagnostics.extend(problems);
            output.preconditions.push(rule);
        } else {
            diagnostics.push(diagnostics::output_postcondition(nested.kind_span));
        }
    }
    (output, diagnostics)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_all, check_each};

    #[test]
    fn arguments_of_outputs() {
        check_each(
            "main.tf",
            "output \"a\" {\n *\n}",
            &[
                ("", "1:12 Missing required argument"),
                ("value = 1\n foo=1", "3:2 Unsupported argument"),
                ("value=1\n sensitive=\"x\"", "3:13 Unsuitable value type"),
                ("value=1\n deprecated=\"\"", "3:13 Invalid `deprecated` attribute"),
                (r#"deprecated="""#, "1:12 Missing required argument"),
                ("value=1\n depends_on=[a.b]", ""),
                ("value=1\n depends_on=\"a\"", "3:14 Invalid expression"),
                ("value=1\n depends_on=[\"a.b\"]", "(3:14 Quoted references are deprecated)"),
                ("value=1\n depends_on=[1]", "3:14 Invalid expression"),
                ("value=1\n depends_on=[\"a.b c\"]", "3:19 Invalid character; (3:14 Quoted references are deprecated)"),
                ("value=1\n depends_on=[a.b[*]]", "3:14 Invalid expression"),
                ("value=1\n postcondition {}", "3:2 Postconditions are not allowed"),
                ("value=1\n precondition {}", "3:15 Missing required argument; 3:15 Missing required argument"),
                (
                    "value=1\n precondition {\n condition=true\n error_message=\"x\"\n}",
                    "4:12 Invalid precondition expression",
                ),
                ("value=1\n description=[]", "3:14 Unsuitable value type"),
                ("value=1\n depends_on=a.b", "3:13 Invalid expression"),
                (
                    "value=1\n depends_on=[\"\"]",
                    "3:15 Variable name required; (3:14 Quoted references are deprecated); 3:14 Invalid expression",
                ),
            ],
        );
    }

    #[test]
    fn outputs_in_json() {
        check_all(
            "main.tf.json",
            &[
                (r#"{"output":{"a":{"value":1,"x":2}}}"#, "1:27 Extraneous JSON object property"),
                (r#"{"output":{"a":{"value":1,"depends_on":["a.b"]}}}"#, ""),
                (r#"{"output":{"a":{"value":1,"depends_on":"a.b"}}}"#, "1:40 Invalid expression"),
                (r#"{"output":{"a":{"value":1,"depends_on":[1]}}}"#, "1:41 Invalid expression"),
                (r#"{"output":{"a":{"value":1,"sensitive":"x"}}}"#, "1:39 Unsuitable value type"),
            ],
        );
    }
}
