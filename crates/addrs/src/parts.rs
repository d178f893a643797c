//! A reference as a list of parts: the root name, then the steps. Addresses are read from the front of it.

use ecow::EcoString;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostics, FileId, Span, Traversal, TraversalStep, parser};

/// The parts of a traversal that are not read yet.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'t> {
    traversal: &'t Traversal,
    /// Part 0 is the root, part n the step n-1.
    next: usize,
}

/// One part.
pub(crate) enum Part<'t> {
    /// The root or `.name`
    Name(&'t EcoString),
    /// `[key]`
    Index(&'t Literal),
}

impl<'t> Parts<'t> {
    pub(crate) fn new(traversal: &'t Traversal) -> Parts<'t> {
        Parts { traversal, next: 0 }
    }

    /// Number of remaining parts.
    pub(crate) fn len(&self) -> usize {
        (self.traversal.steps.len() + 1).saturating_sub(self.next)
    }

    /// The part `ahead` positions after the next one, and its span.
    pub(crate) fn peek(&self, ahead: usize) -> Option<(Part<'t>, Span)> {
        let traversal = self.traversal;
        match (self.next + ahead).checked_sub(1) {
            None => Some((Part::Name(&traversal.root), traversal.root_span)),
            Some(at) => traversal.steps.get(at).map(|step| match step {
                TraversalStep::Attr { name, span } => (Part::Name(name), *span),
                TraversalStep::Index { key, span } => (Part::Index(key), *span),
            }),
        }
    }

    /// The name `ahead` positions after the next part, if it is a name.
    pub(crate) fn name(&self, ahead: usize) -> Option<&'t EcoString> {
        match self.peek(ahead) {
            Some((Part::Name(name), _)) => Some(name),
            _ => None,
        }
    }

    /// Goes on after `count` parts.
    pub(crate) fn skip(&mut self, count: usize) {
        self.next += count;
    }

    /// From the next part to the last; the whole address when all were read.
    pub(crate) fn span(&self) -> Span {
        match (self.peek(0), self.peek(self.len().saturating_sub(1))) {
            (Some((_, first)), Some((_, last))) => first.to(last),
            _ => self.traversal.span,
        }
    }
}

/// Parses an address, or fails with the reason.
pub(crate) fn parse_text<T>(
    file: FileId,
    text: &str,
    parse: impl FnOnce(&Traversal) -> Result<T, Diagnostics>,
) -> Result<T, Diagnostics> {
    match parser::parse_traversal(file, text.as_bytes()) {
        (Some(traversal), diagnostics) if !diagnostics.has_errors() => parse(&traversal),
        (_, diagnostics) => Err(diagnostics),
    }
}
