//! Layout: how many spaces stand before each piece.
//!
//! A line has up to three cells: the lead, the assignment (from `=` on, where everything it opens is closed on the line)
//! and a trailing comment. Assignments of consecutive lines start in the same column, and so do trailing comments.

use unicode_segmentation::UnicodeSegmentation;

use super::pieces::{Piece, Pieces, bracket_change};
use crate::token::TokenKind;

/// The pieces of a line: `start..assign` is the lead, `assign..comment` the assignment, `comment..end` the comment.
#[derive(Clone, Copy)]
struct Line {
    start: usize,
    assign: usize,
    comment: usize,
    end: usize,
}

/// Sets the spaces before every piece.
pub(super) fn arrange(pieces: &mut Pieces<'_>) {
    let mut lines = Vec::with_capacity(pieces.list.len() / 6 + 1);
    let mut indent = Indent::default();
    let mut start = 0;
    while start < pieces.list.len() {
        let line = line_at(pieces, start);
        let level = indent.of_line(&pieces.list, line);
        space_out(pieces, line.start, line.assign);
        space_out(pieces, line.assign, line.comment);
        pieces.list[line.start].spaces = level;
        start = line.end;
        lines.push(line);
    }
    align(pieces, &lines, |line| (line.assign < line.comment).then_some(line.assign));
    align(pieces, &lines, |line| (line.comment < line.end).then_some(line.comment));
}

/// The line that starts at a piece, and its cells.
fn line_at(pieces: &Pieces<'_>, start: usize) -> Line {
    let mut equal = None;
    let mut open = 0;
    let mut end = start;
    let mut comment = None;
    for piece in &pieces.list[start..] {
        match piece.kind {
            TokenKind::Equal if end > start && equal.is_none() => equal = Some(end),
            kind if equal.is_some() => open += bracket_change(kind),
            _ => {}
        }
        end += 1;
        if piece.kind == TokenKind::Newline {
            break;
        }
        if piece.kind == TokenKind::Comment {
            let ends_line = pieces.text(*piece).ends_with(b"\n");
            if end - start > 1 && (ends_line || end == pieces.list.len()) {
                comment = Some(end - 1);
            }
            if ends_line {
                break;
            }
        }
    }
    let comment = comment.unwrap_or(end);
    let assign = equal.filter(|_| open == 0).unwrap_or(comment);
    Line { start, assign, comment, end }
}

/// The indentation so far: for each level, how many brackets were opened on the line that began it.
#[derive(Default)]
struct Indent {
    levels: Vec<i32>,
}

impl Indent {
    /// Spaces before the first piece of the next line.
    fn of_line(&mut self, list: &[Piece], line: Line) -> u32 {
        if list[line.start].kind == TokenKind::Newline {
            return 0;
        }
        let mut change = 0;
        for piece in &list[line.start..line.assign] {
            change += bracket_change(piece.kind);
            // Quirk: brackets in a heredoc of the lead are ignored.
            if piece.kind == TokenKind::OpenHeredoc {
                break;
            }
        }
        if change > 0 {
            let spaces = self.spaces();
            self.levels.push(change);
            return spaces;
        }
        let mut closed = -change;
        while closed > 0
            && let Some(level) = self.levels.last_mut()
        {
            if *level > closed {
                *level -= closed;
                break;
            }
            closed -= *level;
            self.levels.pop();
        }
        self.spaces()
    }

    fn spaces(&self) -> u32 {
        2 * self.levels.len() as u32
    }
}

/// One space or none between the pieces of a cell.
fn space_out(pieces: &mut Pieces<'_>, start: usize, end: usize) {
    let mut before = None;
    for i in start..end.saturating_sub(1) {
        let (piece, after) = (pieces.list[i], pieces.list[i + 1].kind);
        let spaced = if piece.kind == TokenKind::Ident
            && before == Some(TokenKind::Ident)
            && !never_follows_space(after)
            && pieces.text(piece) == b"in"
        {
            // `[for x in [y] : x]`: a keyword, not a name with an index.
            after != TokenKind::OpenParen && after != TokenKind::DoubleColon
        } else {
            space_between(before, piece.kind, after)
        };
        pieces.list[i + 1].spaces = u32::from(spaced);
        before = Some(piece.kind);
    }
}

/// Tokens that follow the previous one without a space.
fn never_follows_space(kind: TokenKind) -> bool {
    use TokenKind::{CloseHeredoc, CloseQuote, Comma, Dot, Ellipsis, Newline, QuotedText, TemplateText};
    matches!(kind, Newline | Dot | Comma | Ellipsis | QuotedText | TemplateText | CloseQuote | CloseHeredoc)
}

/// Whether there is a space between two pieces of a cell, given the one before them. The first rule that fits decides.
fn space_between(before: Option<TokenKind>, piece: TokenKind, after: TokenKind) -> bool {
    use TokenKind as K;
    match (piece, after) {
        // Digits, a dot and digits would grow together into another number.
        (K::Number, K::Dot) if before != Some(K::Dot) => true,
        (K::Dot, K::Number) if before == Some(K::Number) => true,
        (_, after) if never_follows_space(after) => false,
        (K::Ident, K::OpenParen | K::DoubleColon) | (K::DoubleColon, K::Ident) | (K::Dot, _) => false,
        (K::Comma, _) => true,
        (K::QuotedText | K::TemplateText | K::OpenQuote | K::OpenHeredoc, _) => false,
        (K::Ident | K::Number, K::OpenBracket) => false,
        (piece, K::OpenBracket) if bracket_change(piece) < 0 => false,
        (K::Not, _) => false,
        (K::Minus, _) => before.is_some_and(ends_operand),
        (K::OpenBrace, K::CloseBrace) => false,
        (K::OpenBrace, _) | (_, K::CloseBrace) => true,
        (K::InterpolationStart | K::DirectiveStart, K::OpenBrace) => true,
        (K::CloseBrace, K::TemplateSequenceEnd) => true,
        (K::TemplateSequenceEnd, K::InterpolationStart | K::DirectiveStart) => false,
        (piece, after) => bracket_change(piece) <= 0 && bracket_change(after) >= 0,
    }
}

/// Whether a minus after this is a subtraction, not a sign.
fn ends_operand(kind: TokenKind) -> bool {
    use TokenKind as K;
    !matches!(
        kind,
        K::OpenParen
            | K::OpenBrace
            | K::OpenBracket
            | K::Equal
            | K::Colon
            | K::Comma
            | K::Question
            | K::Plus
            | K::Star
            | K::Slash
            | K::Percent
            | K::Minus
            | K::EqualEqual
            | K::NotEqual
            | K::Greater
            | K::GreaterEqual
            | K::Less
            | K::LessEqual
            | K::And
            | K::Or
            | K::Not
    )
}

/// Moves a cell to the same column over consecutive lines that have it.
fn align(pieces: &mut Pieces<'_>, lines: &[Line], cell: impl Fn(&Line) -> Option<usize>) {
    let mut columns = Vec::new();
    let mut rest = lines;
    while let Some(first) = rest.iter().position(|line| cell(line).is_some()) {
        rest = &rest[first..];
        columns.clear();
        columns.extend(rest.iter().map_while(|line| Some((cell(line)?, width(pieces, line.start, cell(line)?)))));
        let widest = columns.iter().map(|(_, width)| *width).max().unwrap_or(0);
        for (at, width) in &columns {
            pieces.list[*at].spaces = (widest - width + 1) as u32;
        }
        rest = &rest[columns.len()..];
    }
}

/// Width of some pieces with the spaces before each, in columns.
fn width(pieces: &Pieces<'_>, start: usize, end: usize) -> usize {
    pieces.list[start..end].iter().map(|piece| piece.spaces as usize + columns(pieces.text(*piece))).sum()
}

/// Width of a text in columns: its grapheme clusters.
fn columns(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len() - text.windows(2).filter(|pair| *pair == b"\r\n").count();
    }
    text.utf8_chunks().map(|chunk| chunk.valid().graphemes(true).count() + chunk.invalid().len()).sum()
}
