//! The code a diagnostic is about: which lines, which part of them to highlight, and the block they are in.

use yuba_syntax::{Diagnostic, Position, SourceFile, Sources, Span};

/// Where a diagnostic points, in the terms of people and editors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the file.
    pub filename: String,
    /// First character.
    pub start: Position,
    /// One past the last character; never equal to `start`.
    pub end: Position,
}

/// The code around a [`Place`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The header of the top-level block around it: `resource "a" "b"`.
    pub context: Option<String>,
    /// Whole lines, without the last line end.
    pub code: String,
    /// Number of the first line.
    pub start_line: usize,
    /// Byte offset in `code` where the highlight starts.
    pub highlight_start: usize,
    /// Byte offset in `code` where the highlight ends.
    pub highlight_end: usize,
}

/// Where a diagnostic points; `None` if it points nowhere or its file is not known.
pub fn place(diagnostic: &Diagnostic, sources: &Sources) -> Option<Place> {
    let subject = diagnostic.subject?;
    let file = sources.get(subject.file)?;
    let start = file.position(subject.start as usize);
    let mut end = file.position(subject.end.max(subject.start) as usize);
    if subject.is_empty() {
        // Something must be visible: an empty range shows the character after it.
        end = Position { line: start.line, column: start.column + 1, byte: start.byte + 1 };
    }
    Some(Place { filename: file.name.to_string(), start, end })
}

/// The code a diagnostic is about.
pub fn snippet(diagnostic: &Diagnostic, sources: &Sources) -> Option<Snippet> {
    let subject = diagnostic.subject?;
    let file = sources.get(subject.file)?;
    let around = match diagnostic.context {
        Some(context) if context.file == subject.file => context.to(subject),
        _ => subject,
    };
    let first = file.position(around.start as usize).line;
    let last = last_line(file, around).max(first);
    let mut code = String::new();
    let mut lines = Vec::new();
    for number in first..=last {
        if number > first {
            code.push('\n');
        }
        lines.push(code.len());
        code.push_str(&file.line(number).unwrap_or_default());
    }
    let offset = |byte: usize| {
        let position = file.position(byte);
        let line = position.line.clamp(first, last);
        let line_start = lines[line - first];
        let line_end = lines.get(line - first + 1).map_or(code.len(), |next| next - 1);
        if position.line > last {
            return code.len();
        }
        code.floor_char_boundary((line_start + byte - line_byte(file, byte)).min(line_end))
    };
    let start = offset(subject.start as usize);
    let mut end = if subject.is_empty() { start + 1 } else { offset(subject.end as usize) };
    end = code.ceil_char_boundary(end.min(code.len())).max(start);
    let context = context(file, subject);
    Some(Snippet { context, start_line: first, highlight_start: start, highlight_end: end, code })
}

/// The last line to show. Quirk: a range that ends with a line end also shows the next line, unless it is empty.
fn last_line(file: &SourceFile, span: Span) -> usize {
    let end = (span.end as usize).max(span.start as usize + 1);
    let line = file.position(end).line;
    let shown = end <= file.bytes.len() && file.line(line).is_some_and(|text| !text.is_empty());
    if shown { line } else { file.position(end - 1).line }
}

/// The offset at which the line of a byte starts.
fn line_byte(file: &SourceFile, byte: usize) -> usize {
    let byte = byte.min(file.bytes.len());
    file.bytes[..byte].iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1)
}

/// The header of the top-level block that the subject is in.
fn context(_file: &SourceFile, _subject: Span) -> Option<String> {
    None
}
