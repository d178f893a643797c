//! The code a diagnostic is about: which lines, which part of them to highlight, and the block they are in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use yuba_syntax::{Block, Body, Diagnostic, FileId, Position, SourceFile, Sources, Span, parser};

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

/// The files that diagnostics point into. The headers of their blocks are found once per file.
pub struct Excerpts<'a> {
    sources: &'a Sources,
    headers: RefCell<BTreeMap<FileId, Rc<[Header]>>>,
}

/// The header of a top-level block, and the bytes the block covers.
struct Header {
    start: usize,
    end: usize,
    text: String,
}

impl<'a> Excerpts<'a> {
    /// Excerpts of these files.
    pub fn new(sources: &'a Sources) -> Excerpts<'a> {
        Excerpts { sources, headers: RefCell::default() }
    }

    /// Where a diagnostic points; `None` if it points nowhere or its file is not known.
    pub fn place(&self, diagnostic: &Diagnostic) -> Option<Place> {
        let subject = diagnostic.subject?;
        let file = self.sources.get(subject.file)?;
        let start = file.position(subject.start as usize);
        let mut end = file.position(subject.end.max(subject.start) as usize);
        if subject.is_empty() {
            // Something must be visible: an empty range shows the character after it.
            end = Position { line: start.line, column: start.column + 1, byte: start.byte + 1 };
        }
        Some(Place { filename: file.name.to_string(), start, end })
    }

    /// The code a diagnostic is about.
    pub fn snippet(&self, diagnostic: &Diagnostic) -> Option<Snippet> {
        let subject = diagnostic.subject?;
        let file = self.sources.get(subject.file)?;
        let around = match diagnostic.context {
            Some(context) if context.file == subject.file => context.to(subject),
            _ => subject,
        };
        let (code, start_line, highlight_start, highlight_end) = lines(file, around, subject);
        let context = self.context(file, subject);
        Some(Snippet { context, start_line, highlight_start, highlight_end, code })
    }

    /// The header of the top-level block that the subject is in. A subject at the very start of a block is not in it.
    fn context(&self, file: &SourceFile, subject: Span) -> Option<String> {
        let mut known = self.headers.borrow_mut();
        let headers = known.entry(subject.file).or_insert_with(|| headers(subject.file, file).into());
        let before = (subject.start as usize).checked_sub(1)?;
        let around = headers.iter().find(|header| (header.start..header.end).contains(&before))?;
        Some(around.text.clone())
    }
}

/// The lines around a span: their text, the number of the first, and what to highlight in them.
fn lines(file: &SourceFile, around: Span, subject: Span) -> (String, usize, usize, usize) {
    let first = file.position(around.start as usize).line;
    let last = last_line(file, around).max(first);
    let mut code = String::new();
    let mut starts = Vec::new();
    for number in first..=last {
        if number > first {
            code.push('\n');
        }
        starts.push(code.len());
        code.push_str(&file.line(number).unwrap_or_default());
    }
    let offset = |byte: usize| {
        let line = file.position(byte).line;
        if line > last {
            return code.len();
        }
        let index = line.max(first) - first;
        let line_end = starts.get(index + 1).map_or(code.len(), |next| next - 1);
        code.floor_char_boundary((starts[index] + byte - line_byte(file, byte)).min(line_end))
    };
    let start = offset(subject.start as usize);
    let end = if subject.is_empty() { start + 1 } else { offset(subject.end as usize) };
    let end = code.ceil_char_boundary(end.min(code.len())).max(start);
    (code, first, start, end)
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

/// Names of files in native syntax end like this. Standard input is a file in native syntax wherever a file is read from it.
const NATIVE: [&str; 6] = [".tf", ".tofu", ".hcl", ".tfvars", ".tofuvars", "<stdin>"];

/// The headers of the top-level blocks of a configuration file, in order.
fn headers(id: FileId, file: &SourceFile) -> Vec<Header> {
    if !NATIVE.iter().any(|ending| file.name.ends_with(ending)) {
        return Vec::new();
    }
    let (_, parsed) = parser::parse_config(id, &file.bytes);
    let Body::Native(body) = parsed.body else { return Vec::new() };
    let header = |block: &Block| {
        let labels = block.labels.iter().map(|(label, _)| format!(" {label:?}"));
        let text = std::iter::once(block.kind.to_string()).chain(labels).collect();
        Header { start: block.span.start as usize, end: block.span.end as usize, text }
    };
    body.blocks.iter().map(header).collect()
}
