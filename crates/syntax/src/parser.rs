//! The parser: tokens to a lossless tree, lowered bodies and expressions.
//!
//! Recursive descent that cannot fail: unreadable input is [`ExprKind::Invalid`] with a diagnostic, and reading goes on
//! after the next bracket or line that looks like an end. The titles, locations and number of diagnostics are those of
//! OpenTofu, which is why the first recovery silences most later errors of the same file.

mod body;
mod brackets;
mod diagnostics;
mod expr;
mod halves;
mod number;
mod recovery;
mod stray_tokens;
mod string;
mod template;
#[cfg(test)]
mod tests;
mod traversal;

use std::cmp::Ordering;
use std::sync::Arc;

use crate::body::{Body, ParsedFile};
use crate::lexer::{self, LexMode};
use crate::source::{FileId, Span};
use crate::token::{Token, TokenKind, TokenKind as K};
use crate::tree::{Node, NodeKind, SyntaxTree};
use crate::{Diagnostic, Diagnostics, Expr, ExprKind, Traversal};

pub use halves::{Both, LARGE_FILE, parse_config_body};
pub(crate) use number::number_literal;
pub(crate) use string::normalized;

/// Maximum nesting of expressions and blocks. OpenTofu has no limit; ours reports an error.
pub const MAX_DEPTH: u32 = 250;

/// Maximum number of reported errors of one text.
pub const MAX_MISTAKES: usize = 1000;

/// Maximum number of consecutive operators of one precedence, or brackets after one operand.
pub const MAX_CHAIN: u32 = 1000;

/// Parses a configuration file.
pub fn parse_config(file: FileId, bytes: &[u8]) -> (SyntaxTree, ParsedFile) {
    let mut parser = Parser::new(file, 0, bytes, LexMode::Config);
    let mark = parser.open();
    let body = parser.body(K::Eof);
    parser.close(NodeKind::File, mark);
    let Parser { tokens, mut nodes, diags, .. } = parser;
    if let Some(root) = nodes.last_mut() {
        (root.first, root.end) = (0, tokens.len() as u32);
    }
    (SyntaxTree::from_postorder(tokens, &nodes), ParsedFile { body: Body::Native(Arc::new(body)), diagnostics: diags })
}

/// Parses a text that is one expression. Line ends mean nothing, as inside parentheses.
pub fn parse_expression(file: FileId, bytes: &[u8]) -> (Expr, Diagnostics) {
    parse_expression_at(file, 0, bytes)
}

/// Parses one expression whose text starts at an offset of the file.
pub fn parse_expression_at(file: FileId, offset: u32, bytes: &[u8]) -> (Expr, Diagnostics) {
    let mut parser = Parser::new(file, offset, bytes, LexMode::Expression);
    parser.set_newlines(Newlines::Ignored);
    let expr = parser.expression();
    if parser.kind != K::Eof && !parser.recovery {
        let at = parser.next_span();
        parser.report(diagnostics::extra_after_expression(at));
    }
    (expr, parser.diags)
}

/// Parses a bare template, as in a template file.
pub fn parse_template(file: FileId, bytes: &[u8]) -> (Expr, Diagnostics) {
    parse_template_at(file, 0, bytes)
}

/// Parses a bare template whose text starts at an offset of the file.
pub fn parse_template_at(file: FileId, offset: u32, bytes: &[u8]) -> (Expr, Diagnostics) {
    let mut parser = Parser::new(file, offset, bytes, LexMode::Template);
    let expr = parser.bare_template();
    (expr, parser.diags)
}

/// Parses a text that is nothing but a reference: a name, attributes, and indexes with literal keys.
/// None when it does not start with a name; after other errors the steps before them are returned.
pub fn parse_traversal(file: FileId, bytes: &[u8]) -> (Option<Traversal>, Diagnostics) {
    parse_traversal_at(file, 0, bytes)
}

/// Parses a reference whose text starts at an offset of the file.
pub fn parse_traversal_at(file: FileId, offset: u32, bytes: &[u8]) -> (Option<Traversal>, Diagnostics) {
    let mut parser = Parser::new(file, offset, bytes, LexMode::Expression);
    parser.set_newlines(Newlines::Ignored);
    let traversal = parser.absolute_traversal();
    (traversal, parser.diags)
}

/// A token as the parser sees it: a comment that ends a line is a line end.
#[derive(Clone, Copy)]
struct Tok {
    kind: TokenKind,
    index: usize,
    span: Span,
}

/// Whether line ends are tokens for the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newlines {
    Significant,
    Ignored,
}

struct Parser<'s> {
    file: FileId,
    /// Start of the text in the file.
    offset: u32,
    source: &'s [u8],
    tokens: Vec<Token>,
    /// The first token not yet read.
    pos: usize,
    /// The last token read.
    prev: Option<usize>,
    /// The next token that counts, and its kind.
    next: usize,
    kind: TokenKind,
    newlines: Newlines,
    /// A recovery took place: errors that may be its consequence are no longer reported.
    recovery: bool,
    depth: u32,
    diags: Diagnostics,
    /// Number of errors, also those that are not in `diags`.
    mistakes: usize,
    /// The tree, in postorder.
    nodes: Vec<Node>,
}

/// Start of a node: the number of nodes and tokens before it.
#[derive(Clone, Copy)]
struct Mark {
    nodes: usize,
    token: usize,
}

impl<'s> Parser<'s> {
    fn new(file: FileId, offset: u32, source: &'s [u8], mode: LexMode) -> Parser<'s> {
        let tokens = lexer::lex(source, mode);
        let mut parser = Parser {
            file,
            offset,
            source,
            nodes: Vec::with_capacity(tokens.len() / 3),
            tokens,
            pos: 0,
            prev: None,
            next: 0,
            kind: K::Eof,
            newlines: Newlines::Significant,
            recovery: false,
            depth: 0,
            diags: Diagnostics::new(),
            mistakes: 0,
        };
        parser.check_tokens();
        parser.seek();
        parser
    }

    /// Finds the next token that counts. The last token, the end, always does.
    fn seek(&mut self) {
        let mut at = self.pos;
        self.kind = loop {
            let token = self.tokens[at];
            match token.kind {
                K::Whitespace | K::Bom => {}
                K::Comment if self.ends_line(token) => break K::Newline,
                K::Comment => {}
                K::Newline if self.newlines == Newlines::Ignored => {}
                kind => break kind,
            }
            at += 1;
        };
        self.next = at;
    }

    /// Whether a comment has a line end that counts.
    fn ends_line(&self, comment: Token) -> bool {
        self.newlines == Newlines::Significant && comment.bytes(self.source).last() == Some(&b'\n')
    }

    fn peek(&self) -> Tok {
        Tok { kind: self.kind, index: self.next, span: self.token_span(self.next) }
    }

    fn read(&mut self) -> Tok {
        let token = self.peek();
        self.prev = Some(token.index);
        self.pos = if token.kind == K::Eof { token.index } else { token.index + 1 };
        self.seek();
        token
    }

    /// Sets whether line ends count, and returns whether they did: for setting it back.
    fn set_newlines(&mut self, newlines: Newlines) -> Newlines {
        let before = std::mem::replace(&mut self.newlines, newlines);
        if before != newlines {
            self.seek();
        }
        before
    }

    fn token_span(&self, index: usize) -> Span {
        let token = self.tokens[index];
        Span { file: self.file, start: self.offset + token.start, end: self.offset + token.end }
    }

    fn next_span(&self) -> Span {
        self.token_span(self.next)
    }

    fn prev_span(&self) -> Span {
        self.token_span(self.prev.unwrap_or(self.next))
    }

    fn bytes(&self, token: Tok) -> &'s [u8] {
        self.tokens[token.index].bytes(self.source)
    }

    fn text(&self, token: Tok) -> &'s str {
        std::str::from_utf8(self.bytes(token)).unwrap_or_default()
    }

    fn next_is_word(&self, word: &str) -> bool {
        self.kind == K::Ident && self.tokens[self.next].bytes(self.source) == word.as_bytes()
    }

    /// All errors are counted; those beyond a limit are not stored.
    fn report(&mut self, diagnostic: Diagnostic) {
        self.mistakes += 1;
        match self.mistakes.cmp(&MAX_MISTAKES) {
            Ordering::Less => self.diags.push(diagnostic),
            Ordering::Equal => {
                self.diags.push(diagnostics::too_many_syntax_errors(diagnostic.subject.unwrap_or_default()))
            }
            Ordering::Greater => {}
        }
    }

    /// Reports unless some recovery took place already.
    fn report_first(&mut self, diagnostic: impl FnOnce() -> Diagnostic) {
        if !self.recovery {
            self.report(diagnostic());
        }
    }

    /// Whether an error occurred since there were this many diagnostics, so that the reading position is doubtful.
    fn lost_since(&self, diagnostics: usize) -> bool {
        self.recovery && self.mistakes > diagnostics
    }

    fn invalid(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Invalid, span }
    }

    /// Goes one level deeper, or reports that it is too deep. Pairs with [`Parser::leave`] if it succeeds.
    fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            let at = self.next_span();
            self.report(diagnostics::too_deep(at));
            self.recovery = true;
            return false;
        }
        self.depth += 1;
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn open(&self) -> Mark {
        Mark { nodes: self.nodes.len(), token: self.next }
    }

    /// Records a node from the mark to the last token read.
    fn close(&mut self, kind: NodeKind, mark: Mark) {
        let end = self.prev.map_or(mark.token, |prev| prev + 1).max(mark.token);
        let size = (self.nodes.len() - mark.nodes + 1) as u32;
        self.nodes.push(Node { kind, first: mark.token as u32, end: end as u32, size });
    }
}
