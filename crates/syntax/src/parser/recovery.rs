//! Recovery after an error.

use super::{Parser, Tok};
use crate::token::{TokenKind, TokenKind as K};

impl Parser<'_> {
    /// Reads up to and including the closing bracket of this kind that belongs to the current level, or to the end.
    pub(super) fn recover(&mut self, close: TokenKind) -> Tok {
        self.recovery = true;
        let open = opener(close);
        let mut nesting = 0usize;
        loop {
            let token = self.read();
            let kind = match token.kind {
                K::DirectiveStart if close == K::TemplateSequenceEnd => K::InterpolationStart,
                kind => kind,
            };
            if Some(kind) == open {
                nesting += 1;
            } else if kind == close {
                if nesting == 0 {
                    return token;
                }
                nesting -= 1;
            } else if kind == K::Eof {
                return token;
            }
        }
    }

    /// Reads past the next parenthesised part, wherever it starts.
    pub(super) fn recover_over_parens(&mut self) {
        while !matches!(self.read().kind, K::OpenParen | K::Eof) {}
        self.recover(K::CloseParen);
    }

    /// Reads up to the end of the line on which all brackets opened from here on are closed.
    pub(super) fn recover_after_item(&mut self) {
        self.recovery = true;
        let mut open: Vec<TokenKind> = Vec::new();
        loop {
            let token = self.read();
            match token.kind {
                K::Newline if open.is_empty() => return,
                K::Eof => return,
                K::OpenBrace
                | K::OpenBracket
                | K::OpenParen
                | K::OpenQuote
                | K::OpenHeredoc
                | K::InterpolationStart
                | K::DirectiveStart => open.push(token.kind),
                K::TemplateSequenceEnd => {
                    pop_through(&mut open, |kind| matches!(kind, K::InterpolationStart | K::DirectiveStart));
                }
                kind => {
                    if let Some(opens) = opener(kind) {
                        pop_through(&mut open, |kind| kind == opens);
                    }
                }
            }
        }
    }
}

/// Drops the innermost brackets up to and including the first that matches; all of them if none does.
fn pop_through(open: &mut Vec<TokenKind>, matches: impl Fn(TokenKind) -> bool) {
    while open.pop().is_some_and(|kind| !matches(kind)) {}
}

fn opener(close: TokenKind) -> Option<TokenKind> {
    Some(match close {
        K::CloseBrace => K::OpenBrace,
        K::CloseBracket => K::OpenBracket,
        K::CloseParen => K::OpenParen,
        K::CloseQuote => K::OpenQuote,
        K::CloseHeredoc => K::OpenHeredoc,
        K::TemplateSequenceEnd => K::InterpolationStart,
        _ => return None,
    })
}
