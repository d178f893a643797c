//! Bodies: arguments and blocks, one per line.

use std::sync::Arc;

use ecow::EcoString;
use foldhash::{HashMap, HashMapExt};

use super::{MAX_MISTAKES, Parser, Tok, diagnostics};
use crate::body::{Attribute, Block, Body, NativeBody};
use crate::source::Span;
use crate::token::{TokenKind, TokenKind as K};
use crate::tree::NodeKind;

/// Tokens that end an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentEnd {
    /// The line.
    Newline,
    /// The block around it, on the same line.
    Brace,
}

impl Parser<'_> {
    /// Arguments and blocks up to the closing token, which is read.
    pub(super) fn body(&mut self, close: TokenKind) -> NativeBody {
        let start = self.prev_span();
        let mut body = NativeBody::default();
        let mut names: HashMap<EcoString, Span> = HashMap::new();
        let end = loop {
            if self.mistakes > MAX_MISTAKES {
                self.pos = self.tokens.len() - 1;
                self.seek();
            }
            match self.kind {
                kind if kind == close => {
                    let end = self.next_span();
                    self.read();
                    break end;
                }
                K::Newline => {
                    self.read();
                }
                K::Ident => self.item(&mut body, &mut names),
                kind => {
                    let bad = self.read();
                    self.report_first(|| match kind {
                        K::OpenQuote => diagnostics::quoted_argument_name(bad.span),
                        K::Eof => diagnostics::unclosed_block(start),
                        _ => diagnostics::item_expected(bad.span),
                    });
                    self.recover(close);
                    break bad.span;
                }
            }
        };
        body.span = start.to(end);
        body.end_span = end.at_end();
        body
    }

    fn item(&mut self, body: &mut NativeBody, names: &mut HashMap<EcoString, Span>) {
        let mark = self.open();
        let name = self.read();
        match self.kind {
            K::Equal => {
                let attribute = self.attribute(name, ArgumentEnd::Newline);
                self.close(NodeKind::Attribute, mark);
                // Few names are compared faster than hashed.
                let first = if body.attributes.len() < 8 {
                    body.attributes.iter().find(|a| a.name == attribute.name).map(|a| a.name_span)
                } else {
                    if names.is_empty() {
                        names.extend(body.attributes.iter().map(|a| (a.name.clone(), a.name_span)));
                    }
                    names.get(&attribute.name).copied()
                };
                if let Some(first) = first {
                    self.report(diagnostics::argument_redefined(attribute.name_span, &attribute.name, first));
                    return;
                }
                if !names.is_empty() {
                    names.insert(attribute.name.clone(), attribute.name_span);
                }
                body.attributes.push(attribute);
            }
            K::OpenQuote | K::OpenBrace | K::Ident => {
                let block = self.block(name);
                self.close(NodeKind::Block, mark);
                body.blocks.push(block);
            }
            _ => {
                self.recover_after_item();
                self.report(diagnostics::equals_expected(name.span));
            }
        }
    }

    /// The rest of an argument whose name has been read, with the line end after it unless its block ends there.
    fn attribute(&mut self, name: Tok, argument_end: ArgumentEnd) -> Attribute {
        self.read();
        let before = self.mistakes;
        let expr = self.expression();
        let end = self.prev_span();
        if self.lost_since(before) {
            self.recover_after_item();
        } else if argument_end == ArgumentEnd::Newline {
            let next = self.peek();
            if matches!(next.kind, K::Newline | K::Eof) {
                self.read();
            } else {
                let context = name.span.to(next.span);
                self.report_first(|| match next.kind {
                    K::Comma => diagnostics::comma_after_argument(next.span, context),
                    _ => diagnostics::newline_after_argument(next.span, context),
                });
                self.recover_after_item();
            }
        }
        Attribute { name: self.text(name).into(), name_span: name.span, expr: Arc::new(expr), span: name.span.to(end) }
    }

    /// The rest of a block whose type has been read.
    fn block(&mut self, kind: Tok) -> Block {
        let mut labels = Vec::new();
        let open = loop {
            let mark = self.open();
            match self.kind {
                K::OpenBrace => break self.read(),
                K::OpenQuote => {
                    let (text, span) = self.quoted_literal();
                    labels.push((EcoString::from(text), span));
                    self.close(NodeKind::Label, mark);
                }
                K::Ident => {
                    let label = self.read();
                    labels.push((EcoString::from(self.text(label)), label.span));
                    self.close(NodeKind::Label, mark);
                }
                _ => return self.bad_block(kind, labels),
            }
        };
        let before = self.mistakes;
        let body = self.block_body(kind, open);
        let close = self.prev_span();
        let end = self.peek();
        if matches!(end.kind, K::Newline | K::Eof) {
            self.read();
        } else {
            self.report_first(|| diagnostics::newline_after_block(end.span, kind.span.to(end.span)));
            self.recover_after_item();
        }
        let body = body.unwrap_or_else(|| {
            debug_assert!(self.mistakes > before, "a block without a body has been complained about");
            NativeBody { span: open.span.to(close), end_span: close, ..NativeBody::default() }
        });
        self.finish_block(kind, labels, body, open.span, close)
    }

    fn finish_block(
        &self,
        kind: Tok,
        labels: Vec<(EcoString, Span)>,
        body: NativeBody,
        open_span: Span,
        close: Span,
    ) -> Block {
        let header_span = kind.span.to(labels.last().map_or(kind.span, |(_, span)| *span));
        Block {
            kind: self.text(kind).into(),
            kind_span: kind.span,
            labels,
            body: Body::Native(Arc::new(body)),
            header_span,
            open_span,
            span: kind.span.to(close),
        }
    }

    fn bad_block(&mut self, kind: Tok, labels: Vec<(EcoString, Span)>) -> Block {
        let found = self.peek();
        let context = kind.span.to(found.span);
        match found.kind {
            K::Equal | K::Newline => self.report(diagnostics::invalid_block_header(found.kind, found.span, context)),
            _ => self.report_first(|| diagnostics::invalid_block_header(found.kind, found.span, context)),
        }
        self.recover_after_item();
        let body = NativeBody { span: kind.span, end_span: kind.span, ..NativeBody::default() };
        self.finish_block(kind, labels, body, kind.span, kind.span)
    }

    /// Content of the braces, with the closing one. None if it is unusable.
    fn block_body(&mut self, kind: Tok, open: Tok) -> Option<NativeBody> {
        if matches!(self.kind, K::Newline | K::Eof | K::CloseBrace) {
            if self.depth >= super::MAX_DEPTH {
                self.report(diagnostics::blocks_too_deep(open.span));
                self.recover(K::CloseBrace);
                return None;
            }
            self.depth += 1;
            let body = self.body(K::CloseBrace);
            self.depth -= 1;
            return Some(body);
        }
        let outside = std::mem::take(&mut self.diags);
        let body = self.single_argument();
        let inside = std::mem::replace(&mut self.diags, outside);
        let end = self.peek();
        // Errors about the block as a whole come before errors inside it.
        match end.kind {
            K::CloseBrace => {
                self.diags.extend(inside);
                self.read();
                return body;
            }
            K::Comma | K::Newline => self.report(diagnostics::invalid_single_line_block(end.kind, end.span)),
            K::Eof => {
                self.report_first(|| diagnostics::unclosed_block(open.span).within(kind.span.to(open.span)));
            }
            _ => self.report_first(|| diagnostics::invalid_single_line_block(end.kind, end.span)),
        }
        self.diags.extend(inside);
        self.recover(K::CloseBrace);
        body
    }

    /// `name = value` in a block on one line.
    fn single_argument(&mut self) -> Option<NativeBody> {
        let mark = self.open();
        let name = self.read();
        let found = self.peek();
        let problem = match (name.kind, found.kind) {
            (K::Ident, K::Equal) => {
                let attribute = self.attribute(name, ArgumentEnd::Brace);
                self.close(NodeKind::Attribute, mark);
                let (span, end_span) = (attribute.span, attribute.span.at_end());
                return Some(NativeBody { attributes: vec![attribute], blocks: Vec::new(), span, end_span });
            }
            (K::Ident, K::OpenQuote | K::OpenBrace | K::Ident) => {
                diagnostics::argument_expected(name.span.to(found.span), self.text(name))
            }
            (K::Ident, _) => diagnostics::equals_expected(name.span),
            _ => diagnostics::item_expected(name.span),
        };
        self.recover_after_item();
        self.report(problem);
        None
    }
}
