//! Pieces: the tokens of a file without whitespace, after the rewriting of what has a better spelling.
//!
//! A file without errors has so simple a shape (names, labels, braces, expressions up to the end of the line) that its
//! items are found in the token stream directly, in one pass.

use super::label;
use crate::token::{Token, TokenKind};

/// A token of the result and the number of spaces before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) kind: TokenKind,
    start: u32,
    end: u32,
    pub(super) spaces: u32,
}

/// The pieces of a file with the text they stand for.
pub(super) struct Pieces<'a> {
    pub(super) list: Vec<Piece>,
    source: &'a [u8],
    /// Text of pieces that are not in the source, addressed by offsets beyond its end.
    added: Vec<u8>,
    /// Bytes between the last token and the end of the file.
    trailing: usize,
}

impl Pieces<'_> {
    /// The text of a piece.
    pub(super) fn text(&self, piece: Piece) -> &[u8] {
        let (start, end) = (piece.start as usize, piece.end as usize);
        match start.checked_sub(self.source.len()) {
            None => &self.source[start..end],
            Some(start) => &self.added[start..end - self.source.len()],
        }
    }

    /// Everything in a row, with its spaces.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.source.len() + self.source.len() / 8 + 64);
        for piece in &self.list {
            out.resize(out.len() + piece.spaces as usize, b' ');
            out.extend_from_slice(self.text(*piece));
        }
        // Quirk: whitespace after the last token is not trimmed, and each byte of it (a tab, a byte order mark with
        // nothing behind it) becomes a space.
        out.resize(out.len() + self.trailing, b' ');
        out
    }

    /// A piece whose text is not in the source.
    fn add(&mut self, kind: TokenKind, text: &[u8]) -> Piece {
        let start = self.source.len() + self.added.len();
        self.added.extend_from_slice(text);
        Piece { kind, start: start as u32, end: (start + text.len()) as u32, spaces: 0 }
    }
}

/// The pieces of a file in source order, rewritten.
pub(super) fn collect<'a>(source: &'a [u8], tokens: &[Token]) -> Pieces<'a> {
    let list = Vec::with_capacity(tokens.len());
    let mut walk = Walk {
        pieces: Pieces { list, source, added: Vec::new(), trailing: 0 },
        tokens: tokens.iter(),
        depth: 0,
        in_variable: false,
    };
    walk.body();
    let mut pieces = walk.pieces;
    let last = tokens.iter().rfind(|t| !matches!(t.kind, TokenKind::Whitespace | TokenKind::Eof | TokenKind::Bom));
    pieces.trailing = source.len() - last.map_or(0, |token| token.end as usize);
    pieces
}

/// A walk over the items of all bodies.
struct Walk<'a, 't> {
    pieces: Pieces<'a>,
    tokens: std::slice::Iter<'t, Token>,
    /// Number of open blocks.
    depth: usize,
    /// Whether the outermost open block is a `variable`.
    in_variable: bool,
}

impl Walk<'_, '_> {
    /// The next token that is not whitespace, `None` at the end.
    fn next(&mut self) -> Option<Piece> {
        for token in self.tokens.by_ref() {
            match token.kind {
                TokenKind::Whitespace | TokenKind::Bom => {}
                TokenKind::Eof => return None,
                kind => return Some(Piece { kind, start: token.start, end: token.end, spaces: 0 }),
            }
        }
        None
    }

    fn push(&mut self, piece: Piece) {
        self.pieces.list.push(piece);
    }

    /// Items up to the end of the file; nested bodies are counted, not recursed into.
    fn body(&mut self) {
        while let Some(piece) = self.next() {
            self.push(piece);
            match piece.kind {
                TokenKind::Ident => self.item(piece),
                TokenKind::CloseBrace => self.depth = self.depth.saturating_sub(1),
                // Line ends and comments.
                _ => {}
            }
        }
    }

    /// An argument or the head of a block, its name already read.
    fn item(&mut self, name: Piece) {
        // Comments are cut off when another label follows.
        let mut head = self.pieces.list.len();
        while let Some(piece) = self.next() {
            match piece.kind {
                TokenKind::Comment => self.push(piece),
                TokenKind::Equal => {
                    self.push(piece);
                    return self.argument(name);
                }
                TokenKind::Ident | TokenKind::OpenQuote => {
                    // Quirk: comments between the labels are dropped, those between the last one and the brace stay.
                    self.pieces.list.truncate(head);
                    self.label(piece);
                    head = self.pieces.list.len();
                }
                TokenKind::OpenBrace => {
                    self.push(piece);
                    if self.depth == 0 {
                        self.in_variable = self.pieces.text(name) == b"variable";
                    }
                    self.depth += 1;
                    return;
                }
                // Not possible without errors.
                _ => return self.push(piece),
            }
        }
    }

    /// A block label, in quotes whether it was or not, with the shortest escapes.
    fn label(&mut self, first: Piece) {
        let mut end = first;
        if first.kind == TokenKind::OpenQuote {
            while let Some(piece) = self.next() {
                end = piece;
                if piece.kind != TokenKind::QuotedText {
                    break;
                }
            }
        }
        let quoted = end.kind == TokenKind::CloseQuote;
        let text = match quoted {
            true => &self.pieces.source[first.end as usize..end.start as usize],
            false => &self.pieces.source[first.start as usize..end.end as usize],
        };
        let rewritten = label::canonical(text);
        let open = if quoted { first } else { self.pieces.add(TokenKind::OpenQuote, b"\"") };
        self.push(open);
        match rewritten {
            Some(text) => {
                let text = self.pieces.add(TokenKind::QuotedText, text.as_bytes());
                self.push(text);
            }
            None if quoted && first.end == end.start => {}
            None if quoted => {
                self.push(Piece { kind: TokenKind::QuotedText, start: first.end, end: end.start, spaces: 0 });
            }
            None => self.push(Piece { kind: TokenKind::QuotedText, ..first }),
        }
        let close = if quoted { end } else { self.pieces.add(TokenKind::CloseQuote, b"\"") };
        self.push(close);
    }

    /// The expression of an argument up to the end of its line, or to the brace that ends a block on one line.
    fn argument(&mut self, name: Piece) {
        let mut start = None;
        let mut end = self.pieces.list.len();
        let mut nesting = 0_usize;
        let stop = loop {
            let Some(piece) = self.next() else { break None };
            match piece.kind {
                TokenKind::Newline if nesting == 0 => break Some(piece),
                TokenKind::Comment if nesting == 0 && self.pieces.text(piece).ends_with(b"\n") => break Some(piece),
                TokenKind::CloseBrace if nesting == 0 => {
                    self.depth = self.depth.saturating_sub(1);
                    break Some(piece);
                }
                TokenKind::Comment => {
                    self.push(piece);
                    continue;
                }
                kind if opens(kind) => nesting += 1,
                kind if closes(kind) => nesting = nesting.saturating_sub(1),
                _ => {}
            }
            start.get_or_insert(self.pieces.list.len());
            self.push(piece);
            end = self.pieces.list.len();
        };
        if let Some(start) = start {
            if self.depth_of_argument(stop) == 1 && self.in_variable && self.pieces.text(name) == b"type" {
                self.rewrite_type(start, end);
            } else {
                while self.unwrap(start, &mut end, stop) {}
            }
        }
        if let Some(piece) = stop {
            self.push(piece);
        }
    }

    /// Number of open blocks at an argument that ended with this piece.
    fn depth_of_argument(&self, stop: Option<Piece>) -> usize {
        self.depth + usize::from(stop.is_some_and(|stop| stop.kind == TokenKind::CloseBrace))
    }

    /// Gives the type constraints of old their present form: `"list"` is `list(string)`, `list` is `list(any)`.
    fn rewrite_type(&mut self, start: usize, end: usize) {
        let list = &self.pieces.list[start..end];
        let (keyword, element): (&[u8], &[u8]) = match *list {
            [word] if word.kind == TokenKind::Ident => match self.pieces.text(word) {
                b"list" => (b"list", b"any"),
                b"map" => (b"map", b"any"),
                b"set" => (b"set", b"any"),
                _ => return,
            },
            [open, text, _] if open.kind == TokenKind::OpenQuote && text.kind == TokenKind::QuotedText => {
                match self.pieces.text(text) {
                    b"string" => (b"string", b""),
                    b"list" => (b"list", b"string"),
                    b"map" => (b"map", b"string"),
                    _ => return,
                }
            }
            _ => return,
        };
        let mut new = vec![self.pieces.add(TokenKind::Ident, keyword)];
        if !element.is_empty() {
            new.push(self.pieces.add(TokenKind::OpenParen, b"("));
            new.push(self.pieces.add(TokenKind::Ident, element));
            new.push(self.pieces.add(TokenKind::CloseParen, b")"));
        }
        self.pieces.list.splice(start..end, new);
    }

    /// Turns `"${x}"`, a template of nothing but one interpolation, into `x`; says whether it did.
    fn unwrap(&mut self, start: usize, end: &mut usize, stop: Option<Piece>) -> bool {
        let [open, begin, inside @ .., finish, close] = &self.pieces.list[start..*end] else { return false };
        let shape = [open.kind, begin.kind, finish.kind, close.kind];
        let wrapped = [
            TokenKind::OpenQuote,
            TokenKind::InterpolationStart,
            TokenKind::TemplateSequenceEnd,
            TokenKind::CloseQuote,
        ];
        if shape != wrapped || !is_one_interpolation(inside) {
            return false;
        }
        let Some(first) = inside.iter().position(|piece| piece.kind != TokenKind::Newline) else { return false };
        let last = inside.iter().rposition(|piece| piece.kind != TokenKind::Newline).unwrap_or(first);
        let trimmed = &inside[first..=last];
        let in_parens = self.needs_parens(trimmed, stop);
        let mut new = trimmed.to_vec();
        if in_parens {
            new.insert(0, self.pieces.add(TokenKind::OpenParen, b"("));
            new.push(self.pieces.add(TokenKind::CloseParen, b")"));
        }
        let length = new.len();
        self.pieces.list.splice(start..*end, new);
        *end = start + length;
        true
    }

    /// Whether an expression without its quotes must stand in parentheses, because of its line ends.
    fn needs_parens(&self, expression: &[Piece], stop: Option<Piece>) -> bool {
        let [first, .., last] = expression else { return false };
        let line_goes_on = stop.is_some_and(|stop| stop.kind == TokenKind::CloseBrace);
        let looks_grouped = first.kind == TokenKind::OpenParen && last.kind == TokenKind::CloseParen;
        let mut nesting = 0;
        expression.iter().enumerate().any(|(i, piece)| {
            nesting += bracket_change(piece.kind);
            match piece.kind {
                // Quirk: any line end will do, though inside of brackets it is harmless.
                TokenKind::Newline => nesting == 0 || !looks_grouped,
                // The last comment on the argument's own line is harmless too.
                TokenKind::Comment if nesting == 0 && (line_goes_on || i + 1 < expression.len()) => {
                    self.pieces.text(*piece).ends_with(b"\n")
                }
                _ => false,
            }
        })
    }
}

fn opens(kind: TokenKind) -> bool {
    use TokenKind::{DirectiveStart, InterpolationStart, OpenBrace, OpenBracket, OpenParen};
    matches!(kind, OpenBrace | OpenBracket | OpenParen | InterpolationStart | DirectiveStart)
}

fn closes(kind: TokenKind) -> bool {
    use TokenKind::{CloseBrace, CloseBracket, CloseParen, TemplateSequenceEnd};
    matches!(kind, CloseBrace | CloseBracket | CloseParen | TemplateSequenceEnd)
}

/// Change of the number of open brackets by a piece.
pub(super) fn bracket_change(kind: TokenKind) -> i32 {
    i32::from(opens(kind)) - i32::from(closes(kind))
}

/// Whether what stands between the first `"${` and the last `}"` belongs to one interpolation: outside of nested strings
/// there is neither text nor the end of a sequence.
fn is_one_interpolation(inside: &[Piece]) -> bool {
    let mut quotes = 0_i32;
    for piece in inside {
        match piece.kind {
            TokenKind::OpenQuote => quotes += 1,
            TokenKind::CloseQuote => quotes -= 1,
            TokenKind::InterpolationStart | TokenKind::TemplateSequenceEnd | TokenKind::QuotedText if quotes <= 0 => {
                return false;
            }
            _ => {}
        }
    }
    true
}
