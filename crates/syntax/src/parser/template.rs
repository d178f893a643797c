//! Templates: literal text, interpolations and directives, in quotes, heredocs or files.
//!
//! In two steps: tokens to a flat list of parts with white space trimmed, then parts to expressions.

use ecow::EcoString;
use unicode_segmentation::UnicodeSegmentation;

use super::diagnostics::{DirectiveProblem, ForProblem};
use super::{Newlines, Parser, Tok, diagnostics, normalized};
use crate::expr::{ConditionalExpr, Expr, ExprKind, ForExpr, Literal};
use crate::source::Span;
use crate::token::{TokenKind, TokenKind as K};
use crate::tree::NodeKind;

enum Part {
    Text(String),
    Interpolation(Expr),
    If(Expr),
    For {
        key_name: Option<EcoString>,
        value_name: EcoString,
        collection: Expr,
    },
    /// `else`, `endif` or `endfor`
    End(Word),
    /// The end of the template: always the last part.
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Else,
    EndIf,
    EndFor,
}

impl Word {
    fn text(self) -> &'static str {
        match self {
            Word::Else => "else",
            Word::EndIf => "endif",
            Word::EndFor => "endfor",
        }
    }
}

/// Parts with their locations.
type Parts = Vec<(Part, Span)>;

/// Treatment of the indentation that all lines of a template share.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indentation {
    Kept,
    Removed,
}

impl Parser<'_> {
    /// A quoted template or heredoc.
    pub(super) fn template_term(&mut self) -> Expr {
        let mark = self.open();
        let open = self.read();
        let close = if open.kind == K::OpenQuote { K::CloseQuote } else { K::CloseHeredoc };
        let indentation = match open.kind == K::OpenHeredoc && self.bytes(open).starts_with(b"<<-") {
            true => Indentation::Removed,
            false => Indentation::Kept,
        };
        let (mut expr, _) = self.template(close, indentation);
        expr.span = open.span.to(self.prev_span());
        self.close(NodeKind::Template, mark);
        expr
    }

    /// A template that is the whole text.
    pub(super) fn bare_template(&mut self) -> Expr {
        let mark = self.open();
        let (mut expr, span) = self.template(K::Eof, Indentation::Kept);
        expr.span = span;
        self.close(NodeKind::Template, mark);
        expr
    }

    fn template(&mut self, close: TokenKind, indentation: Indentation) -> (Expr, Span) {
        let (mut parts, span) = self.template_parts(close);
        if indentation == Indentation::Removed {
            remove_indentation(&mut parts);
        }
        join_texts(&mut parts);
        let single = parts.len() == 2 && matches!(parts[0].0, Part::Interpolation(_));
        let mut exprs = self.nest_parts(parts);
        let expr = match exprs.pop() {
            Some(inner) if single => Expr { kind: ExprKind::TemplateWrap(Box::new(inner)), span },
            last => {
                exprs.extend(last);
                concatenation(exprs, span)
            }
        };
        (expr, span)
    }

    /// Reads up to the closing token: the parts and the location of them all.
    fn template_parts(&mut self, close: TokenKind) -> (Parts, Span) {
        let start = self.next_span();
        let mut parts: Parts = Vec::new();
        let mut trim_next = false;
        let mut trim_previous_allowed = false;
        let end = loop {
            let token = self.read();
            if token.kind == close {
                break token.span;
            }
            let trim = std::mem::take(&mut trim_next);
            let after_text = std::mem::take(&mut trim_previous_allowed);
            match token.kind {
                K::TemplateText | K::QuotedText => {
                    let mut text = self.literal_text(token).into_owned();
                    if trim {
                        text.drain(..text.len() - text.trim_start().len());
                    }
                    parts.push((Part::Text(text), token.span));
                    trim_previous_allowed = true;
                }
                K::InterpolationStart | K::DirectiveStart => {
                    if after_text
                        && self.bytes(token).ends_with(b"~")
                        && let Some((Part::Text(text), _)) = parts.last_mut()
                    {
                        text.truncate(text.trim_end().len());
                    }
                    let newlines = self.set_newlines(Newlines::Ignored);
                    if token.kind == K::InterpolationStart {
                        let (part, span, trims) = self.interpolation(token, start, close);
                        trim_next = trims;
                        parts.push((part, span));
                    } else if let Some(keyword) = self.directive(token, &mut parts) {
                        trim_next = self.directive_end(start, keyword);
                    }
                    self.set_newlines(newlines);
                }
                _ => {
                    self.report_first(|| diagnostics::unterminated_template(token.span, start.to(token.span)));
                    break self.recover(close).span;
                }
            }
        };
        if parts.is_empty() {
            parts.push((Part::Text(String::new()), start.at_end()));
        }
        parts.push((Part::Over, end));
        (parts, start.to(end))
    }

    /// The rest of an interpolation, and whether it trims the text after it.
    fn interpolation(&mut self, open: Tok, start: Span, close: TokenKind) -> (Part, Span, bool) {
        let mark = super::Mark { nodes: self.nodes.len(), token: open.index };
        let expr = self.expression();
        let end = self.peek();
        let mut trims = false;
        if end.kind == K::TemplateSequenceEnd {
            self.read();
            trims = self.bytes(end).starts_with(b"~");
        } else {
            let in_quotes = close == K::CloseQuote;
            self.report_first(|| match end.kind {
                K::Eof => diagnostics::unclosed_interpolation(start, "file"),
                K::Colon => diagnostics::colon_in_interpolation(end.span, start.to(end.span)),
                K::CloseQuote | K::OpenQuote if in_quotes => {
                    diagnostics::unclosed_interpolation(start, "quoted template")
                }
                _ => diagnostics::extra_in_interpolation(end.span, start.to(end.span)),
            });
            self.recover(K::TemplateSequenceEnd);
        }
        self.close(NodeKind::Interpolation, mark);
        (Part::Interpolation(expr), open.span.to(end.span), trims)
    }

    /// The inside of a directive as a part; its keyword, or None if it was skipped to its end already.
    fn directive(&mut self, open: Tok, parts: &mut Parts) -> Option<Tok> {
        let mark = super::Mark { nodes: self.nodes.len(), token: open.index };
        let keyword = self.peek();
        if keyword.kind != K::Ident {
            self.report_first(|| diagnostics::directive_keyword_expected(keyword.span, open.span.to(keyword.span)));
            self.recover(K::TemplateSequenceEnd);
            return None;
        }
        self.read();
        let part = match self.text(keyword) {
            "if" => Part::If(self.expression()),
            "else" => Part::End(Word::Else),
            "endif" => Part::End(Word::EndIf),
            "endfor" => Part::End(Word::EndFor),
            "for" => match self.for_directive() {
                Ok(part) => part,
                Err(problem) => {
                    let at = self.next_span();
                    self.report_first(|| diagnostics::invalid_for_directive(at, problem));
                    self.recover(K::TemplateSequenceEnd);
                    return None;
                }
            },
            other => {
                let context = open.span.to(keyword.span);
                self.report_first(|| diagnostics::unknown_directive(keyword.span, context, other));
                self.recover(K::TemplateSequenceEnd);
                return None;
            }
        };
        self.close(NodeKind::Directive, mark);
        parts.push((part, open.span.to(self.next_span())));
        Some(keyword)
    }

    fn for_directive(&mut self) -> Result<Part, ForProblem> {
        if self.kind != K::Ident {
            return Err(ForProblem::ElementName);
        }
        let mut value_name = self.name();
        let mut key_name = None;
        if self.kind == K::Comma {
            self.read();
            if self.kind != K::Ident {
                return Err(ForProblem::ValueName);
            }
            key_name = Some(std::mem::replace(&mut value_name, self.name()));
        }
        if !self.next_is_word("in") {
            return Err(ForProblem::In);
        }
        self.read();
        Ok(Part::For { key_name, value_name, collection: self.expression() })
    }

    /// The end of a directive, and whether it trims the text after it.
    fn directive_end(&mut self, start: Span, keyword: Tok) -> bool {
        let end = self.peek();
        if end.kind == K::TemplateSequenceEnd {
            self.read();
            return self.bytes(end).starts_with(b"~");
        }
        let keyword = self.text(keyword);
        self.report_first(|| diagnostics::extra_in_directive(end.span, start.to(end.span), keyword));
        self.recover(K::TemplateSequenceEnd);
        false
    }

    fn nest_parts(&mut self, parts: Parts) -> Vec<Expr> {
        let mut parts = parts.into_iter().peekable();
        let mut exprs = Vec::new();
        while let Some((part, span)) = parts.next_if(|(part, _)| !matches!(part, Part::Over)) {
            exprs.push(self.nest_part(part, span, &mut parts));
        }
        exprs
    }

    fn nest_part(&mut self, part: Part, span: Span, rest: &mut PartIter) -> Expr {
        match part {
            Part::Text(text) => text_expr(&text, span),
            Part::Interpolation(expr) => expr,
            Part::If(_) | Part::For { .. } => {
                if self.depth >= super::MAX_DEPTH {
                    self.report(diagnostics::too_deep(span));
                    skip_nested(rest);
                    return self.invalid(span);
                }
                self.depth += 1;
                let expr = match part {
                    Part::If(condition) => self.nest_if(condition, span, rest),
                    Part::For { key_name, value_name, collection } => {
                        let names = (key_name, value_name);
                        self.nest_for(names, collection, span, rest)
                    }
                    _ => self.invalid(span),
                };
                self.depth -= 1;
                expr
            }
            Part::End(word) => {
                self.report(diagnostics::unmatched_directive(span, word.text(), DirectiveProblem::NothingOpen));
                self.invalid(span)
            }
            Part::Over => self.invalid(span),
        }
    }

    fn nest_if(&mut self, condition: Expr, open: Span, rest: &mut PartIter) -> Expr {
        let mut if_exprs = Vec::new();
        let mut else_exprs = None;
        let end = loop {
            match rest.peek() {
                None => return self.invalid(open),
                Some((Part::Over, over)) => {
                    let over = *over;
                    self.report(diagnostics::unexpected_end_of_template(over, "if", "endif"));
                    return self.invalid(over);
                }
                Some(_) => {}
            }
            let Some((part, span)) = rest.next() else { return self.invalid(open) };
            match part {
                Part::End(Word::Else) if else_exprs.is_none() => else_exprs = Some(Vec::new()),
                Part::End(Word::EndIf) => break span,
                Part::End(word) => {
                    let problem = match word {
                        Word::Else => DirectiveProblem::SecondElse,
                        _ => DirectiveProblem::IfOpen,
                    };
                    self.report(diagnostics::unmatched_directive(span, word.text(), problem));
                    return self.invalid(span);
                }
                part => {
                    let expr = self.nest_part(part, span, rest);
                    else_exprs.as_mut().unwrap_or(&mut if_exprs).push(expr);
                }
            }
        };
        let if_true = block(if_exprs, open.at_end());
        let if_false = block(else_exprs.unwrap_or_default(), end.at_start());
        let conditional = ConditionalExpr { condition, if_true, if_false };
        Expr { kind: ExprKind::Conditional(Box::new(conditional)), span: open.to(end) }
    }

    fn nest_for(
        &mut self,
        (key_name, value_name): (Option<EcoString>, EcoString),
        collection: Expr,
        open: Span,
        rest: &mut PartIter,
    ) -> Expr {
        let mut exprs = Vec::new();
        let end = loop {
            if let Some((Part::Over, over)) = rest.peek() {
                let over = *over;
                self.report(diagnostics::unexpected_end_of_template(over, "for", "endfor"));
                return self.invalid(over);
            }
            let Some((part, span)) = rest.next() else { return self.invalid(open) };
            match part {
                Part::End(Word::EndFor) => break span,
                Part::End(word) => {
                    let problem = match word {
                        Word::Else => DirectiveProblem::ElseInFor,
                        _ => DirectiveProblem::ForOpen,
                    };
                    self.report(diagnostics::unmatched_directive(span, word.text(), problem));
                    return self.invalid(span);
                }
                part => exprs.push(self.nest_part(part, span, rest)),
            }
        };
        let span = open.to(end);
        let parts = ForExpr {
            key_name,
            value_name,
            collection,
            key: None,
            value: block(exprs, open.at_end()),
            condition: None,
            group: false,
            open_span: open,
            close_span: end,
        };
        let tuple = Expr { kind: ExprKind::For(Box::new(parts)), span };
        Expr { kind: ExprKind::TemplateJoin(Box::new(tuple)), span }
    }

    /// A quoted text that may not contain template sequences, such as a label.
    pub(super) fn quoted_literal(&mut self) -> (String, Span) {
        let open = self.read();
        let mut text = String::new();
        loop {
            let token = self.read();
            let context = open.span.to(token.span);
            match token.kind {
                K::CloseQuote => return (text, context),
                K::QuotedText => {
                    let part = self.literal_text(token);
                    text.push_str(&part);
                }
                K::InterpolationStart | K::DirectiveStart => {
                    let which = if token.kind == K::InterpolationStart { '$' } else { '%' };
                    self.report(diagnostics::template_in_literal(token.span, context, which));
                    text.push(which);
                    text.push_str("{ ... }");
                    self.recover(K::TemplateSequenceEnd);
                }
                K::Eof => {
                    self.report(diagnostics::unterminated_literal(token.span, context));
                    return (text, context);
                }
                _ => {
                    self.report(diagnostics::invalid_in_literal(token.span, context));
                    self.recover(K::CloseQuote);
                    return (text, context);
                }
            }
        }
    }
}

type PartIter = std::iter::Peekable<std::vec::IntoIter<(Part, Span)>>;

/// Skips the content of a directive that is open, and its end.
fn skip_nested(rest: &mut PartIter) {
    let mut open = 1;
    while open > 0
        && let Some((part, _)) = rest.next_if(|(part, _)| !matches!(part, Part::Over))
    {
        match part {
            Part::If(_) | Part::For { .. } => open += 1,
            Part::End(Word::EndIf | Word::EndFor) => open -= 1,
            _ => {}
        }
    }
}

fn text_expr(text: &str, span: Span) -> Expr {
    Expr { kind: ExprKind::Literal(Literal::String(normalized(text))), span }
}

/// The content of a directive: always text, so a single interpolation is not just its value.
fn block(exprs: Vec<Expr>, empty_at: Span) -> Expr {
    match (exprs.first(), exprs.last()) {
        (Some(first), Some(last)) => {
            let span = first.span.to(last.span);
            concatenation(exprs, span)
        }
        _ => text_expr("", empty_at),
    }
}

/// Text if it is nothing else, otherwise a template.
fn concatenation(mut exprs: Vec<Expr>, span: Span) -> Expr {
    let is_text = matches!(exprs.as_slice(), [Expr { kind: ExprKind::Literal(Literal::String(_)), .. }]);
    match exprs.pop() {
        Some(text) if is_text => Expr { span, ..text },
        last => {
            exprs.extend(last);
            Expr { kind: ExprKind::Template(exprs.into()), span }
        }
    }
}

/// Joins texts that follow each other: the lexer splits them at line ends and dollar signs.
fn join_texts(parts: &mut Parts) {
    let mut joined: Parts = Vec::with_capacity(parts.len().min(8));
    for (part, span) in parts.drain(..) {
        match (part, joined.last_mut()) {
            (Part::Text(text), Some((Part::Text(before), before_span))) => {
                before.push_str(&text);
                before_span.end = span.end;
            }
            (part, _) => joined.push((part, span)),
        }
    }
    *parts = joined;
}

/// Removes from all lines the smallest indentation of a line. Lines of white space alone are ignored and stay as they
/// are. Only literal text is measured, not the values of interpolations.
fn remove_indentation(parts: &mut Parts) {
    let mut least = usize::MAX;
    let mut line_starts = Vec::new();
    let mut at_line_start = true;
    for (at, (part, _)) in parts.iter().enumerate() {
        if std::mem::take(&mut at_line_start) {
            match part {
                Part::Text(text) => {
                    let spaces = &text[..text.len() - text.trim_start().len()];
                    if spaces.len() != text.len() || !text.ends_with('\n') {
                        least = least.min(spaces.graphemes(true).count());
                        line_starts.push(at);
                    }
                }
                Part::Over => break,
                _ => least = 0,
            }
        }
        at_line_start = matches!(part, Part::Text(text) if text.ends_with('\n'));
    }
    for at in line_starts {
        if let (Part::Text(text), span) = &mut parts[at] {
            let bytes: usize = text.graphemes(true).take(least).map(str::len).sum();
            text.drain(..bytes);
            span.start += bytes as u32;
        }
    }
}
