//! References on their own: for static contexts, addresses and JSON strings.

use ecow::EcoString;

use super::{Parser, diagnostics, normalized};
use crate::expr::{Literal, Traversal, TraversalStep};
use crate::source::Span;
use crate::token::TokenKind as K;

impl Parser<'_> {
    pub(super) fn absolute_traversal(&mut self) -> Option<Traversal> {
        let root = self.read();
        if root.kind != K::Ident {
            self.report(diagnostics::variable_name_expected(root.span));
            return None;
        }
        let before = self.mistakes;
        let mut steps = Vec::new();
        let mut span = root.span;
        while let Some(step) = self.traversal_step(root.span) {
            span = span.to(match &step {
                TraversalStep::Attr { span, .. } | TraversalStep::Index { span, .. } => *span,
            });
            steps.push(step);
            if self.mistakes > before {
                break;
            }
        }
        let name = EcoString::from(self.text(root));
        Some(Traversal { root: name, root_span: root.span, steps: steps.into(), span })
    }

    fn traversal_step(&mut self, root: Span) -> Option<TraversalStep> {
        match self.kind {
            K::Eof => None,
            K::Dot => {
                let dot = self.read();
                let name = self.read();
                if name.kind != K::Ident {
                    self.report(match name.kind {
                        K::Star => diagnostics::splat_in_reference(name.span, root.to(name.span), ".*"),
                        _ => diagnostics::step_name_expected(name.span, root.to(name.span)),
                    });
                    return None;
                }
                Some(TraversalStep::Attr { name: self.text(name).into(), span: dot.span.to(name.span) })
            }
            K::OpenBracket => {
                let open = self.read();
                let key = match self.kind {
                    K::Number => {
                        let token = self.read();
                        self.number(token)
                    }
                    K::OpenQuote => {
                        let (text, _) = self.quoted_literal();
                        Some(Literal::String(normalized(&text)))
                    }
                    kind => {
                        let at = self.next_span();
                        self.report(match kind {
                            K::Star => diagnostics::splat_in_reference(at, root.to(at), "[*]"),
                            _ => diagnostics::step_key_expected(at, root.to(at)),
                        });
                        return None;
                    }
                };
                let close = self.read();
                let span = open.span.to(close.span);
                if close.kind != K::CloseBracket {
                    self.report(diagnostics::unclosed_step(close.span, span));
                }
                key.map(|key| TraversalStep::Index { key, span })
            }
            _ => {
                let at = self.next_span();
                self.report(diagnostics::step_expected(at, root.to(at)));
                None
            }
        }
    }
}
