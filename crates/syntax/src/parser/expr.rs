//! Expressions: conditionals, operators, terms, and what follows a term.

use ecow::EcoString;

use super::{MAX_CHAIN, Mark, Newlines, Parser, Tok, diagnostics};
use crate::expr::{
    BinaryExpr, BinaryOp, ConditionalExpr, Expr, ExprKind, IndexExpr, Literal, SplatExpr, Traversal, TraversalStep,
    UnaryExpr, UnaryOp,
};
use crate::source::Span;
use crate::token::{TokenKind, TokenKind as K};
use crate::tree::NodeKind;

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Expr {
        if !self.enter() {
            return self.invalid(self.next_span());
        }
        let expr = self.conditional();
        self.leave();
        expr
    }

    fn conditional(&mut self) -> Expr {
        let start = self.next_span();
        let mark = self.open();
        let before = self.mistakes;
        let condition = self.binary(0);
        if self.lost_since(before) || self.kind != K::Question {
            return condition;
        }
        self.read();
        let before = self.mistakes;
        let if_true = self.expression();
        if self.lost_since(before) {
            return condition;
        }
        if self.kind != K::Colon {
            let at = self.next_span();
            self.report(diagnostics::missing_false_expression(at, start.to(at)));
            return condition;
        }
        self.read();
        let before = self.mistakes;
        let if_false = self.expression();
        if self.lost_since(before) {
            return condition;
        }
        self.close(NodeKind::Conditional, mark);
        let span = start.to(if_false.span);
        Expr { kind: ExprKind::Conditional(Box::new(ConditionalExpr { condition, if_true, if_false })), span }
    }

    /// Operators of at least this precedence and their operands; all operators associate to the left.
    fn binary(&mut self, min_precedence: u8) -> Expr {
        let mark = self.open();
        let before = self.mistakes;
        let mut left = self.operand();
        if self.lost_since(before) {
            return left;
        }
        let mut chain = 0;
        while let Some((op, precedence)) = binary_op(self.kind)
            && precedence >= min_precedence
        {
            chain += 1;
            if chain > MAX_CHAIN {
                let at = self.next_span();
                self.report(diagnostics::too_long(at));
                self.recovery = true;
                return left;
            }
            self.read();
            let before = self.mistakes;
            let right = self.binary(precedence + 1);
            if self.lost_since(before) {
                return left;
            }
            self.close(NodeKind::Binary, mark);
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(Box::new(BinaryExpr { op, left, right })), span };
        }
        left
    }

    /// A term with the attributes, indexes and splats after it.
    fn operand(&mut self) -> Expr {
        let mark = self.open();
        let term = self.term();
        self.postfix(term, mark)
    }

    fn term(&mut self) -> Expr {
        let mark = self.open();
        match self.kind {
            K::OpenParen => self.parens(),
            K::Number => {
                let token = self.read();
                self.close(NodeKind::Literal, mark);
                match self.number(token) {
                    Some(number) => Expr { kind: ExprKind::Literal(number), span: token.span },
                    None => self.invalid(token.span),
                }
            }
            K::Ident => {
                let token = self.read();
                if matches!(self.kind, K::OpenParen | K::DoubleColon) {
                    return self.call(token, mark);
                }
                let literal = match self.text(token) {
                    "true" => Literal::Bool(true),
                    "false" => Literal::Bool(false),
                    "null" => Literal::Null,
                    name => {
                        self.close(NodeKind::Name, mark);
                        let root = EcoString::from(name);
                        let span = token.span;
                        let traversal = Traversal { root, root_span: span, steps: [].into(), span };
                        return Expr { kind: ExprKind::Traversal(traversal), span };
                    }
                };
                self.close(NodeKind::Literal, mark);
                Expr { kind: ExprKind::Literal(literal), span: token.span }
            }
            K::OpenQuote | K::OpenHeredoc => self.template_term(),
            K::Minus => self.unary(UnaryOp::Negate),
            K::Not => self.unary(UnaryOp::Not),
            K::OpenBracket => self.tuple(),
            K::OpenBrace => self.object(),
            kind => {
                let at = self.next_span();
                self.report_first(|| diagnostics::expression_expected(at, kind));
                self.recovery = true;
                self.invalid(at)
            }
        }
    }

    fn unary(&mut self, op: UnaryOp) -> Expr {
        let mark = self.open();
        let token = self.read();
        let operand = if self.enter() {
            let operand = self.operand();
            self.leave();
            operand
        } else {
            self.invalid(self.next_span())
        };
        self.close(NodeKind::Unary, mark);
        let span = token.span.to(operand.span);
        Expr { kind: ExprKind::Unary(Box::new(UnaryExpr { op, op_span: token.span, operand })), span }
    }

    /// Suffixes of a term: `.name`, `.0`, `[key]`, and splats, which take all that follows them.
    pub(super) fn postfix(&mut self, term: Expr, mark: Mark) -> Expr {
        let mut chain = Chain::new(term);
        let mut indexes = 0;
        loop {
            match self.kind {
                K::Dot => self.dot(&mut chain, mark),
                K::OpenBracket => {
                    indexes += 1;
                    if indexes > MAX_CHAIN {
                        let at = self.next_span();
                        self.report(diagnostics::too_long(at));
                        self.recovery = true;
                        self.skip_postfix();
                        return chain.finish();
                    }
                    self.bracket(&mut chain, mark);
                }
                _ => return chain.finish(),
            }
        }
    }

    /// Reads over what follows a term, after it turned out to be too much.
    fn skip_postfix(&mut self) {
        loop {
            match self.kind {
                K::Dot => {
                    self.read();
                    if matches!(self.kind, K::Ident | K::Number | K::Star) {
                        self.read();
                    }
                }
                K::OpenBracket => {
                    self.read();
                    self.recover(K::CloseBracket);
                }
                _ => return,
            }
        }
    }

    fn dot(&mut self, chain: &mut Chain, mark: Mark) {
        let dot = self.read();
        let token = self.peek();
        match token.kind {
            K::Ident => {
                self.read();
                self.close(NodeKind::Attr, mark);
                chain.push(TraversalStep::Attr { name: self.text(token).into(), span: dot.span.to(token.span) });
            }
            K::Number => {
                self.read();
                self.close(NodeKind::Attr, mark);
                let span = dot.span.to(token.span);
                match self.legacy_index(token, token, "the legacy index syntax") {
                    Some(key) => chain.push(TraversalStep::Index { key, span }),
                    None => chain.index(self.invalid(token.span), dot.span, span),
                }
            }
            K::Star => self.attribute_splat(chain, dot, mark),
            _ => {
                self.report(diagnostics::attribute_name_expected(token.span));
                self.recovery = true;
                let span = chain.start().to(dot.span);
                *chain = Chain::new(self.invalid(span));
            }
        }
    }

    /// The key of `.0`. The digits after a dot may look like the fraction of a number: `.0.1` is refused.
    fn legacy_index(&mut self, number: Tok, at: Tok, what: &str) -> Option<Literal> {
        if let Some((first, second)) = self.text(number).split_once('.') {
            self.report(diagnostics::chained_legacy_index(at.span, what, first, second));
            return None;
        }
        self.number(number)
    }

    /// `.*` takes the attributes and legacy indexes after it, nothing else.
    fn attribute_splat(&mut self, chain: &mut Chain, dot: Tok, mark: Mark) {
        let star = self.read();
        let marker_span = dot.span.to(star.span);
        let first = self.next_span();
        let mut last = star.span;
        let mut each = Chain::new(Expr { kind: ExprKind::SplatItem, span: marker_span });
        while self.kind == K::Dot {
            let dot = self.read();
            let token = self.peek();
            match token.kind {
                K::Number => {
                    self.read();
                    let span = dot.span.to(token.span);
                    match self.legacy_index(token, star, "the legacy index syntax in a splat") {
                        Some(key) => each.push(TraversalStep::Index { key, span }),
                        None => each.index(self.invalid(token.span), dot.span, span),
                    }
                }
                K::Ident => {
                    self.read();
                    each.push(TraversalStep::Attr { name: self.text(token).into(), span: dot.span.to(token.span) });
                }
                kind => {
                    self.report_first(|| match kind {
                        K::Star => diagnostics::nested_splat(token.span),
                        _ => diagnostics::attribute_name_expected(star.span),
                    });
                    self.recovery = true;
                    return;
                }
            }
            last = token.span;
        }
        self.close(NodeKind::Splat, mark);
        let mut each = each.finish();
        if !matches!(each.kind, ExprKind::SplatItem) {
            each.span = first.to(last);
        }
        chain.splat(each, marker_span, last);
    }

    fn bracket(&mut self, chain: &mut Chain, mark: Mark) {
        let open = self.read();
        if self.kind == K::Star {
            return self.full_splat(chain, open, mark);
        }
        let newlines = self.set_newlines(Newlines::Ignored);
        let before = self.mistakes;
        let key = self.expression();
        let close = if self.lost_since(before) {
            self.recover(K::CloseBracket)
        } else {
            let close = self.read();
            if close.kind != K::CloseBracket && !self.recovery {
                // Quirk: the location is where reading goes on, not where the bracket is missing.
                let close = self.recover(K::CloseBracket);
                self.report(diagnostics::unclosed_index(close.span));
                close
            } else {
                close
            }
        };
        self.set_newlines(newlines);
        self.close(NodeKind::Index, mark);
        let span = open.span.to(close.span);
        match key.kind {
            ExprKind::Literal(key) => chain.push(TraversalStep::Index { key, span }),
            _ => chain.index(key, open.span, span),
        }
    }

    /// `[*]` takes everything after it.
    fn full_splat(&mut self, chain: &mut Chain, open: Tok, mark: Mark) {
        self.read();
        let mut close = self.read();
        if close.kind != K::CloseBracket && !self.recovery {
            // Quirk: the location is where reading goes on, not where the bracket is missing.
            close = self.recover(K::CloseBracket);
            self.report(diagnostics::unclosed_splat(close.span));
        }
        let marker_span = open.span.to(close.span);
        let item = Expr { kind: ExprKind::SplatItem, span: marker_span };
        let each = if self.enter() {
            let each = self.postfix(item, mark);
            self.leave();
            each
        } else {
            self.skip_postfix();
            self.invalid(marker_span)
        };
        self.close(NodeKind::Splat, mark);
        let end = each.span;
        chain.splat(each, marker_span, end);
    }
}

/// An expression that grows to the right, with the static steps not yet put into it.
struct Chain {
    base: Expr,
    steps: Vec<TraversalStep>,
    steps_span: Option<Span>,
}

impl Chain {
    fn new(base: Expr) -> Chain {
        Chain { base, steps: Vec::new(), steps_span: None }
    }
    fn start(&self) -> Span {
        self.base.span.at_start()
    }
    fn push(&mut self, step: TraversalStep) {
        let span = match &step {
            TraversalStep::Attr { span, .. } | TraversalStep::Index { span, .. } => *span,
        };
        self.steps_span = Some(span);
        self.steps.push(step);
    }
    fn take(&mut self) -> Expr {
        let placeholder = Expr { kind: ExprKind::Invalid, span: self.base.span };
        let base = std::mem::replace(&mut self.base, placeholder);
        let Some(end) = self.steps_span.take() else { return base };
        let span = base.span.to(end);
        let mut steps = std::mem::take(&mut self.steps);
        let kind = match base.kind {
            ExprKind::Traversal(traversal) => {
                if !traversal.steps.is_empty() {
                    steps.splice(0..0, traversal.steps.iter().cloned());
                }
                ExprKind::Traversal(Traversal { steps: steps.into(), span, ..traversal })
            }
            ExprKind::RelativeTraversal(source, first) => {
                steps.splice(0..0, first.iter().cloned());
                ExprKind::RelativeTraversal(source, steps.into())
            }
            _ => ExprKind::RelativeTraversal(Box::new(base), steps.into()),
        };
        Expr { kind, span }
    }
    fn index(&mut self, key: Expr, open_span: Span, bracket_span: Span) {
        let collection = self.take();
        let span = collection.span.to(bracket_span);
        let index = IndexExpr { collection, key, open_span, bracket_span };
        *self = Chain::new(Expr { kind: ExprKind::Index(Box::new(index)), span });
    }
    fn splat(&mut self, each: Expr, marker_span: Span, end: Span) {
        let source = self.take();
        let span = source.span.to(end);
        *self = Chain::new(Expr { kind: ExprKind::Splat(Box::new(SplatExpr { source, each, marker_span })), span });
    }
    fn finish(mut self) -> Expr {
        self.take()
    }
}

fn binary_op(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        K::Or => (BinaryOp::Or, 1),
        K::And => (BinaryOp::And, 2),
        K::EqualEqual => (BinaryOp::Equal, 3),
        K::NotEqual => (BinaryOp::NotEqual, 3),
        K::Greater => (BinaryOp::Greater, 4),
        K::GreaterEqual => (BinaryOp::GreaterEqual, 4),
        K::Less => (BinaryOp::Less, 4),
        K::LessEqual => (BinaryOp::LessEqual, 4),
        K::Plus => (BinaryOp::Add, 5),
        K::Minus => (BinaryOp::Subtract, 5),
        K::Star => (BinaryOp::Multiply, 6),
        K::Slash => (BinaryOp::Divide, 6),
        K::Percent => (BinaryOp::Modulo, 6),
        _ => return None,
    })
}
