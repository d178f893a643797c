//! Terms in brackets: parentheses, calls, tuples, objects and `for` expressions.

use ecow::EcoString;

use super::diagnostics::ForProblem;
use super::{Mark, Newlines, Parser, Tok, diagnostics};
use crate::expr::{CallExpr, Expr, ExprKind, ForExpr, Literal, ObjectItem};
use crate::source::Span;
use crate::token::TokenKind as K;
use crate::tree::NodeKind;

impl Parser<'_> {
    pub(super) fn parens(&mut self) -> Expr {
        let mark = self.open();
        let open = self.read();
        let newlines = self.set_newlines(Newlines::Ignored);
        let before = self.mistakes;
        let inner = self.expression();
        if self.mistakes > before {
            self.recover(K::CloseParen);
            self.set_newlines(newlines);
            self.close(NodeKind::Parens, mark);
            return inner;
        }
        if self.kind != K::CloseParen {
            let at = self.next_span();
            self.report(diagnostics::unbalanced_parens(at, open.span.to(at)));
            self.recovery = true;
        }
        let close = self.read();
        self.set_newlines(newlines);
        self.close(NodeKind::Parens, mark);
        Expr { kind: ExprKind::Parens(Box::new(inner)), span: open.span.to(close.span) }
    }

    /// A call whose name, or first part of the name, has been read.
    pub(super) fn call(&mut self, first: Tok, mark: Mark) -> Expr {
        let mut open = self.read();
        let mut name = EcoString::from(self.text(first));
        let mut name_span = first.span;
        while open.kind == K::DoubleColon {
            let part = self.read();
            if part.kind != K::Ident {
                return self.bad_call(first, part, mark, diagnostics::missing_function_name);
            }
            name.push_str("::");
            name.push_str(self.text(part));
            name_span = name_span.to(part.span);
            open = self.read();
        }
        if open.kind != K::OpenParen {
            return self.bad_call(first, open, mark, diagnostics::missing_open_paren);
        }

        let newlines = self.set_newlines(Newlines::Ignored);
        let (args, expand_last, close) = self.arguments(first, open);
        self.set_newlines(newlines);
        self.close(NodeKind::Call, mark);
        let call =
            CallExpr { name, name_span, open_span: open.span, close_span: close.span, args: args.into(), expand_last };
        Expr { kind: ExprKind::Call(Box::new(call)), span: first.span.to(close.span) }
    }

    fn bad_call(
        &mut self,
        first: Tok,
        found: Tok,
        mark: Mark,
        diagnostic: fn(crate::Span, crate::Span) -> crate::Diagnostic,
    ) -> Expr {
        let span = first.span.to(found.span);
        self.report(diagnostic(found.span, span));
        self.recover_over_parens();
        self.close(NodeKind::Call, mark);
        self.invalid(span)
    }

    fn arguments(&mut self, name: Tok, open: Tok) -> (Vec<Expr>, bool, Tok) {
        let mut args = Vec::new();
        loop {
            // Also after the comma that may follow the last argument.
            if self.kind == K::CloseParen {
                return (args, false, self.read());
            }
            let before = self.mistakes;
            args.push(self.expression());
            if self.lost_since(before) {
                return (args, false, self.recover(K::CloseParen));
            }
            let separator = self.read();
            match separator.kind {
                K::CloseParen => return (args, false, separator),
                K::Comma => {}
                K::Ellipsis => {
                    if self.kind == K::CloseParen {
                        return (args, true, self.read());
                    }
                    self.report_first(|| {
                        diagnostics::missing_close_paren(separator.span, name.span.to(separator.span))
                    });
                    return (args, true, self.recover(K::CloseParen));
                }
                K::Eof => {
                    self.report(diagnostics::unterminated_call(name.span.to(open.span)));
                    return (args, false, self.recover(K::CloseParen));
                }
                _ => {
                    self.report(diagnostics::missing_argument_separator(separator.span, name.span.to(separator.span)));
                    return (args, false, self.recover(K::CloseParen));
                }
            }
        }
    }

    pub(super) fn tuple(&mut self) -> Expr {
        let mark = self.open();
        let open = self.read();
        let newlines = self.set_newlines(Newlines::Ignored);
        if self.next_is_word("for") {
            let expr = self.for_expr(open, mark);
            self.set_newlines(newlines);
            return expr;
        }
        let mut items = Vec::new();
        let close = loop {
            if self.kind == K::CloseBracket {
                break self.read();
            }
            let before = self.mistakes;
            items.push(self.expression());
            if self.lost_since(before) {
                break self.recover(K::CloseBracket);
            }
            match self.kind {
                K::CloseBracket => break self.read(),
                K::Comma => {
                    self.read();
                }
                kind => {
                    let at = self.next_span();
                    self.report_first(|| match kind {
                        K::Eof => diagnostics::unterminated_tuple(open.span),
                        _ => diagnostics::missing_item_separator(at, open.span.to(at)),
                    });
                    break self.recover(K::CloseBracket);
                }
            }
        };
        self.set_newlines(newlines);
        self.close(NodeKind::Tuple, mark);
        Expr { kind: ExprKind::Tuple(items.into()), span: open.span.to(close.span) }
    }

    pub(super) fn object(&mut self) -> Expr {
        let mark = self.open();
        let open = self.read();
        // Line ends separate the items of an object, but mean nothing in a `for` expression.
        let newlines = self.set_newlines(Newlines::Ignored);
        if self.next_is_word("for") {
            self.set_newlines(newlines);
            return self.for_expr(open, mark);
        }
        self.set_newlines(Newlines::Significant);
        let mut items = Vec::new();
        let close = self.object_items(open, &mut items);
        self.set_newlines(newlines);
        self.close(NodeKind::Object, mark);
        Expr { kind: ExprKind::Object(items.into()), span: open.span.to(close.span) }
    }

    fn object_items(&mut self, open: Tok, items: &mut Vec<ObjectItem>) -> Tok {
        loop {
            while self.kind == K::Newline {
                self.read();
            }
            if self.kind == K::CloseBrace {
                return self.read();
            }
            let mark = self.open();
            let first = self.kind;
            let before = self.mistakes;
            let key = self.expression();
            if self.lost_since(before) {
                return self.recover(K::CloseBrace);
            }
            if !matches!(self.kind, K::Equal | K::Colon) {
                let (kind, at) = (self.kind, self.next_span());
                self.report_first(|| diagnostics::missing_object_value(kind, at, open.span));
                return self.recover(K::CloseBrace);
            }
            self.read();
            let before = self.mistakes;
            let value = self.expression();
            self.close(NodeKind::ObjectItem, mark);
            let lost = self.lost_since(before);
            // An item without its name stays in the tree, so that tools see the item they may complete.
            let is_begun = || value.span.start < self.next_span().start;
            if !lost || matches!(value.kind, ExprKind::Invalid) && is_begun() {
                items.push(object_item(first, key, value));
            }
            if lost {
                return self.recover(K::CloseBrace);
            }
            match self.kind {
                K::CloseBrace => return self.read(),
                K::Comma | K::Newline => {
                    self.read();
                }
                kind => {
                    let at = self.next_span();
                    self.report_first(|| match kind {
                        K::Eof => diagnostics::unterminated_object(open.span),
                        _ => diagnostics::missing_attribute_separator(at, open.span.to(at)),
                    });
                    return self.recover(K::CloseBrace);
                }
            }
        }
    }

    /// A `for` expression whose opening bracket has been read.
    fn for_expr(&mut self, open: Tok, mark: Mark) -> Expr {
        let newlines = self.set_newlines(Newlines::Ignored);
        let expr = self.for_parts(open);
        self.set_newlines(newlines);
        self.close(NodeKind::For, mark);
        expr
    }

    fn for_parts(&mut self, open: Tok) -> Expr {
        let makes_object = open.kind == K::OpenBrace;
        let close_kind = if makes_object { K::CloseBrace } else { K::CloseBracket };
        self.read();

        if self.kind != K::Ident {
            return self.bad_for(open, ForProblem::ElementName);
        }
        let mut value_name = self.name();
        let mut key_name = None;
        if self.kind == K::Comma {
            self.read();
            if self.kind != K::Ident {
                return self.bad_for(open, ForProblem::ValueName);
            }
            key_name = Some(std::mem::replace(&mut value_name, self.name()));
        }
        if !self.next_is_word("in") {
            return self.bad_for(open, ForProblem::In);
        }
        self.read();
        let before = self.mistakes;
        let collection = self.expression();
        if self.lost_since(before) {
            return self.skip_for(open);
        }
        if self.kind != K::Colon {
            return self.bad_for(open, ForProblem::Colon);
        }
        self.read();

        let before = self.mistakes;
        let mut value = self.expression();
        let mut key = None;
        if self.kind == K::FatArrow {
            self.read();
            key = Some(std::mem::replace(&mut value, self.expression()));
        }
        if self.lost_since(before) {
            return self.skip_for(open);
        }
        let ellipsis = (self.kind == K::Ellipsis).then(|| self.read());
        let mut condition = None;
        if self.next_is_word("if") {
            self.read();
            let before = self.mistakes;
            condition = Some(self.expression());
            if self.lost_since(before) {
                return self.skip_for(open);
            }
        }
        let close = if self.kind == close_kind {
            self.read()
        } else {
            let at = self.next_span();
            self.report_first(|| diagnostics::invalid_for_expression(at, open.span.to(at), ForProblem::ExtraAtEnd));
            self.recover(close_kind)
        };

        let span = open.span.to(close.span);
        let parts = ForExpr {
            key_name,
            value_name,
            collection,
            key,
            value,
            condition,
            group: ellipsis.is_some(),
            open_span: open.span,
            close_span: close.span,
        };
        match makes_object {
            true => self.check_object_for(&parts, span),
            false => self.check_tuple_for(&parts, ellipsis, span),
        }
        Expr { kind: ExprKind::For(Box::new(parts)), span }
    }

    /// A `for` expression in braces needs a key.
    fn check_object_for(&mut self, parts: &ForExpr, span: Span) {
        if parts.key.is_none() {
            self.report(diagnostics::invalid_for_expression(parts.value.span, span, ForProblem::NoKeyInObject));
        }
    }

    /// A `for` expression in brackets has neither a key nor groups.
    fn check_tuple_for(&mut self, parts: &ForExpr, ellipsis: Option<Tok>, span: Span) {
        if let Some(key) = &parts.key {
            self.report(diagnostics::invalid_for_expression(key.span, span, ForProblem::KeyInTuple));
        }
        if let Some(ellipsis) = ellipsis {
            self.report(diagnostics::invalid_for_expression(ellipsis.span, span, ForProblem::GroupInTuple));
        }
    }

    pub(super) fn name(&mut self) -> EcoString {
        let token = self.read();
        self.text(token).into()
    }

    fn bad_for(&mut self, open: Tok, problem: ForProblem) -> Expr {
        let at = self.next_span();
        self.report_first(|| diagnostics::invalid_for_expression(at, open.span.to(at), problem));
        self.skip_for(open)
    }

    fn skip_for(&mut self, open: Tok) -> Expr {
        let close = self.recover(if open.kind == K::OpenBrace { K::CloseBrace } else { K::CloseBracket });
        self.invalid(open.span.to(close.span))
    }
}

/// A bare name as a key is text; the words `true`, `false` and `null` are names there. `first` is the first token of the key.
fn object_item(first: K, key: Expr, value: Expr) -> ObjectItem {
    let in_parens = first == K::OpenParen;
    let name = if in_parens { None } else { key.as_keyword() };
    let key_is_bare_traversal =
        !in_parens && matches!(&key.kind, ExprKind::Traversal(traversal) if !traversal.steps.is_empty());
    let key_is_bare_name = name.is_some();
    let key = match name {
        Some(name) => Expr { kind: ExprKind::Literal(Literal::String(super::normalized(&name))), span: key.span },
        None => key,
    };
    ObjectItem { key, key_is_bare_name, key_is_bare_traversal, value }
}
