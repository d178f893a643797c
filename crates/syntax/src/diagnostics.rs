//! The diagnostics about bodies and about expressions that are read without evaluating them.

use ecow::{EcoString, eco_format};

use crate::body::{Block, BlockSchema, BodySchema, Content};
use crate::source::Span;
use crate::suggestion::suggest;
use crate::{Attribute, Diagnostic};

crate::catalogue! {
    /// A body contains an argument that its schema does not have.
    UNSUPPORTED_ARGUMENT = error "unsupported-argument", "Unsupported argument";
    /// A body contains a block of a type that its schema does not have.
    pub UNSUPPORTED_BLOCK_TYPE = error "unsupported-block-type", "Unsupported block type";
    /// A block stands where only arguments are allowed.
    BLOCK_AMONG_ARGUMENTS = error "block-among-arguments", "Unexpected \"{type}\" block";
    /// A body lacks a required argument.
    REQUIRED_ARGUMENT_MISSING = error "required-argument-missing", "Missing required argument";
    /// Two bodies that are read as one set the same argument.
    DUPLICATE_ARGUMENT = error "duplicate-argument", "Duplicate argument";
    /// A block has more labels than its type takes.
    EXTRANEOUS_BLOCK_LABEL = error "extraneous-block-label", "Extraneous label for {type}";
    /// A block lacks a label that its type requires.
    BLOCK_LABEL_MISSING = error "block-label-missing", "Missing {label} for {type}";
    /// An expression stands where only a reference is allowed.
    REFERENCE_REQUIRED = error "reference-required", "Invalid expression";
}

/// `content` is what the body contains of the schema.
pub(crate) fn unsupported_argument(attribute: &Attribute, schema: &BodySchema, content: &Content) -> Diagnostic {
    let name = &attribute.name;
    let unset = schema.attributes.iter().map(|a| a.name.as_str()).filter(|n| content.attribute(n).is_none());
    let hint = match suggest(name, unset) {
        none if none.is_empty() && schema.block(name).is_some() => {
            eco_format!("To define a block of type \"{name}\", remove the equals sign.")
        }
        hint => hint,
    };
    // Clients and tests of providers look for these words.
    let detail = eco_format!("An argument named \"{name}\" is not expected here.");
    Diagnostic::new(&UNSUPPORTED_ARGUMENT, detail).hint(hint).at(attribute.name_span)
}

pub(crate) fn unsupported_block_type(block: &Block, schema: &BodySchema) -> Diagnostic {
    let kind = &block.kind;
    let hint = match suggest(kind, schema.blocks.iter().map(|b| b.kind.as_str())) {
        none if none.is_empty() && schema.attribute(kind).is_some() => {
            eco_format!("To set the argument \"{kind}\", put an equals sign after its name.")
        }
        hint => hint,
    };
    let detail = eco_format!("Blocks of type \"{kind}\" are not expected here.");
    Diagnostic::new(&UNSUPPORTED_BLOCK_TYPE, detail).hint(hint).at(block.kind_span)
}

pub(crate) fn block_among_arguments(block: &Block) -> Diagnostic {
    Diagnostic::new(&BLOCK_AMONG_ARGUMENTS, "Blocks are not allowed here.")
        .titled(eco_format!("Unexpected \"{}\" block", block.kind))
        .naming(&block.kind)
        .at(block.kind_span)
}

pub(crate) fn required_argument_missing(name: &str, at: Span) -> Diagnostic {
    // Tests of providers look for these words.
    let detail = eco_format!("The argument \"{name}\" is required, but no definition was found.");
    Diagnostic::new(&REQUIRED_ARGUMENT_MISSING, detail).at(at)
}

pub(crate) fn duplicate_argument(name: &str, at: Span, first: Span) -> Diagnostic {
    let detail = eco_format!("The argument \"{name}\" is already set.");
    Diagnostic::new(&DUPLICATE_ARGUMENT, detail).hint("Set each argument once.").at(at).after(first)
}

pub(crate) fn extraneous_block_label(block: &Block, expected: &BlockSchema, at: Span) -> Diagnostic {
    let kind = &block.kind;
    let detail = match expected.labels.is_empty() {
        true => eco_format!("Blocks of type \"{kind}\" do not take labels."),
        false => eco_format!("Blocks of type \"{kind}\" take only these labels: {}.", expected.labels.join(", ")),
    };
    Diagnostic::new(&EXTRANEOUS_BLOCK_LABEL, detail)
        .titled(eco_format!("Extraneous label for {kind}"))
        .naming(kind)
        .at(at)
        .within(block.kind_span.to(block.open_span))
}

pub(crate) fn block_label_missing(block: &Block, expected: &BlockSchema, label: &EcoString) -> Diagnostic {
    let kind = &block.kind;
    let detail = eco_format!("Blocks of type \"{kind}\" require these labels: {}.", expected.labels.join(", "));
    Diagnostic::new(&BLOCK_LABEL_MISSING, detail)
        .titled(eco_format!("Missing {label} for {kind}"))
        .naming(label)
        .naming(kind)
        .at(block.open_span)
        .within(block.kind_span.to(block.open_span))
}

/// The error about an expression where only a reference is allowed.
pub fn reference_required(at: Span) -> Diagnostic {
    let detail = "Only a reference is allowed here: a name, attributes, and indexes with constant keys. Operators, \
        function calls and templates are not allowed.";
    Diagnostic::new(&REFERENCE_REQUIRED, detail).at(at)
}
