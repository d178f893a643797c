//! The code a diagnostic is about: which lines, which part of them to highlight, and the block they are in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use ecow::{EcoString, eco_format};
use yuba_syntax::json::{self, Json, JsonKind};
use yuba_syntax::{Block, Body, Diagnostic, FileId, Position, SourceFile, Sources, Span, parser};

/// Location of a diagnostic, in the terms of people and editors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRange {
    /// Name of the file.
    pub filename: String,
    /// First character.
    pub start: Position,
    /// One past the last character; never equal to `start`.
    pub end: Position,
}

/// The code around a [`SourceRange`].
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

/// The files that diagnostics point into. Their outlines are made once per file.
pub struct Excerpts<'a> {
    sources: &'a Sources,
    outlines: RefCell<BTreeMap<FileId, Outline>>,
}

/// The part of a file that names the surroundings of a location.
enum Outline {
    /// The top-level blocks of a file in native syntax, in order.
    Native(Vec<Header>),
    /// All of a file in JSON syntax.
    Json(Json),
    /// Another kind of file.
    Other,
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
        Excerpts { sources, outlines: RefCell::default() }
    }

    /// Location of a diagnostic; `None` if it does not have one or its file is unknown.
    pub fn location(&self, diagnostic: &Diagnostic) -> Option<SourceRange> {
        let subject = diagnostic.subject?;
        let file = self.sources.get(subject.file)?;
        let start = file.position(subject.start as usize);
        let mut end = file.position(subject.end.max(subject.start) as usize);
        if subject.is_empty() {
            // Something must be visible: an empty range shows the character after it.
            end = Position { line: start.line, column: start.column + 1, byte: start.byte + 1 };
        }
        Some(SourceRange { filename: file.name.to_string(), start, end })
    }

    /// The detail and the hint of a diagnostic, with the location of an earlier definition that it is about.
    pub fn detail(&self, diagnostic: &Diagnostic) -> EcoString {
        let first = diagnostic.extra.as_ref().and_then(|extra| extra.first_definition);
        let Some((span, file)) = first.and_then(|span| Some((span, self.sources.get(span.file)?))) else {
            return diagnostic.explanation();
        };
        let line = file.line_at(span.start as usize);
        let detail = eco_format!("{} The first definition is at {}:{line}.", diagnostic.detail, file.name);
        Diagnostic { detail, ..diagnostic.clone() }.explanation()
    }

    /// The file and line a diagnostic points at; cheaper than its [`SourceRange`].
    pub fn line(&self, diagnostic: &Diagnostic) -> Option<(&'a str, usize)> {
        let subject = diagnostic.subject?;
        let file = self.sources.get(subject.file)?;
        Some((&file.name, file.line_at((subject.start as usize).min(file.bytes.len()))))
    }

    /// The code a diagnostic is about. Of lines with more than `max_line` bytes only the part around the subject.
    pub fn snippet(&self, diagnostic: &Diagnostic, max_line: usize) -> Option<Snippet> {
        let subject = diagnostic.subject?;
        let file = self.sources.get(subject.file)?;
        let around = match diagnostic.context {
            Some(context) if context.file == subject.file => context.to(subject),
            _ => subject,
        };
        let context = self.context(file, subject);
        Some(Snippet { context, ..lines(file, around, subject, max_line) })
    }

    /// The header of the top-level block that the subject is in, in JSON syntax the path to the object or array. A
    /// subject at the very start of a block is not in it.
    fn context(&self, file: &SourceFile, subject: Span) -> Option<String> {
        let before = (subject.start as usize).checked_sub(1)?;
        let mut outlines = self.outlines.borrow_mut();
        match outlines.entry(subject.file).or_insert_with(|| outline(subject.file, file)) {
            Outline::Native(headers) => {
                let after = headers.partition_point(|header| header.start <= before);
                headers[..after].last().filter(|header| before < header.end).map(|header| header.text.clone())
            }
            Outline::Json(json) => Some(json_path(json, before)).filter(|path| !path.is_empty()),
            Outline::Other => None,
        }
    }
}

/// Maximum number of shown lines, before and after the first line of the subject.
const MAX_LINES: usize = 50;

/// The lines around a span, and what to highlight in them.
fn lines(file: &SourceFile, around: Span, subject: Span, max_line: usize) -> Snippet {
    let first = file.line_at((around.start as usize).min(file.bytes.len()));
    let last = last_line(file, around).max(first);
    // The end of a long range is not useful; the line of the subject is always shown.
    let last = last.min(file.line_at((subject.start as usize).min(file.bytes.len())).max(first) + MAX_LINES);
    let first = first.max(last.saturating_sub(2 * MAX_LINES));
    let (from, to) = (subject.start as usize, (subject.end as usize).max(subject.start as usize + 1));
    let mut snippet =
        Snippet { context: None, code: String::new(), start_line: first, highlight_start: 0, highlight_end: 0 };
    for number in first..=last {
        if number > first {
            snippet.code.push('\n');
        }
        let line = file.line_range(number);
        let shown = window(&file.bytes, trim_return(&file.bytes, line.clone()), from, max_line);
        if shown.start > line.start {
            snippet.code.push('…');
        }
        // Offsets before this line become its start, those after it its end; the last line they are on wins.
        let offset = |byte: usize| byte.clamp(shown.start, shown.end) - shown.start + snippet.code.len();
        if from >= line.start {
            snippet.highlight_start = offset(from);
        }
        if to >= line.start {
            snippet.highlight_end = offset(to);
        }
        snippet.code.push_str(&file.text(shown.start, shown.end));
        if shown.end < trim_return(&file.bytes, line).end {
            snippet.code.push('…');
        }
    }
    // Bytes that are not UTF-8 become longer in the text, so that offsets behind them may be off.
    if to > file.line_range(last).end {
        snippet.highlight_end = snippet.code.len();
    }
    snippet.highlight_start = snippet.code.floor_char_boundary(snippet.highlight_start);
    snippet.highlight_end = snippet.code.ceil_char_boundary(snippet.highlight_end).max(snippet.highlight_start);
    snippet
}

/// The last line to show. Quirk: a range that ends with a line end also shows the next line, unless it is empty.
fn last_line(file: &SourceFile, span: Span) -> usize {
    let end = (span.end as usize).max(span.start as usize + 1);
    if end <= file.bytes.len() {
        let line = file.line_at(end);
        if !trim_return(&file.bytes, file.line_range(line)).is_empty() {
            return line;
        }
    }
    file.line_at((end - 1).min(file.bytes.len()))
}

/// A line without the `\r` at its end.
fn trim_return(bytes: &[u8], line: Range<usize>) -> Range<usize> {
    let end = if bytes[line.clone()].ends_with(b"\r") { line.end - 1 } else { line.end };
    line.start..end
}

/// The shown part of a line: all of it, or the surroundings of the subject if it is very long.
fn window(bytes: &[u8], line: Range<usize>, subject: usize, max_line: usize) -> Range<usize> {
    if line.len() <= max_line {
        return line;
    }
    let to_char = |mut at: usize| {
        while at < line.end && bytes[at] & 0xc0 == 0x80 {
            at += 1;
        }
        at
    };
    let start = subject.saturating_sub(max_line / 2).clamp(line.start, line.end - max_line);
    to_char(start)..to_char(start + max_line)
}

/// Names of files in native syntax end like this. Standard input is a file in native syntax wherever a file is read from it.
const NATIVE: [&str; 6] = [".tf", ".tofu", ".hcl", ".tfvars", ".tofuvars", "<stdin>"];

fn outline(id: FileId, file: &SourceFile) -> Outline {
    if file.name.ends_with(".json") {
        return Outline::Json(json::parse_value(id, &file.bytes).0);
    }
    if !NATIVE.iter().any(|ending| file.name.ends_with(ending)) {
        return Outline::Other;
    }
    let (_, parsed) = parser::parse_config(id, &file.bytes);
    let Body::Native(body) = parsed.body else { return Outline::Other };
    let header = |block: &Block| {
        let labels = block.labels.iter().map(|(label, _)| format!(" {label:?}"));
        let text = std::iter::once(block.kind.to_string()).chain(labels).collect();
        Header { start: block.span.start as usize, end: block.span.end as usize, text }
    };
    Outline::Native(body.blocks.iter().map(header).collect())
}

/// The path to the innermost object or array around a byte: `resource.a[0]`.
fn json_path(json: &Json, byte: usize) -> String {
    let is_around = |json: &Json| {
        let is_nested = matches!(json.kind, JsonKind::Object(_) | JsonKind::Array(_));
        is_nested && (json.span.start as usize..json.span.end as usize).contains(&byte)
    };
    let mut path = String::new();
    let mut json = json;
    loop {
        let inner = match &json.kind {
            JsonKind::Object(properties) => properties
                .iter()
                .find(|property| is_around(&property.value))
                .map(|property| (format!(".{}", property.name), &*property.value)),
            JsonKind::Array(elements) => {
                let inner = elements.iter().enumerate().find(|(_, element)| is_around(element));
                inner.map(|(index, element)| (format!("[{index}]"), &**element))
            }
            _ => None,
        };
        let Some((step, inner)) = inner else { break };
        path.push_str(&step);
        json = inner;
    }
    path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use yuba_syntax::Severity;

    use super::*;
    use crate::{diagnostic, diagnostic_json};

    #[test]
    fn json_files_show_the_path() {
        let text = r#"{"locals": [{"a": 1, "b": {"c": 2}}], "x": 3}"#;
        let mut sources = Sources::new();
        let id = sources.add(SourceFile::new("a.tf.json", text.as_bytes()));
        let context = |part: &str| {
            let start = text.find(part).expect("because the part exists");
            let diagnostic = crate::testing::diagnostic(Severity::Error, "Bad", "").at(Span::new(id, start, start + 1));
            Excerpts::new(&sources).snippet(&diagnostic, 100).and_then(|snippet| snippet.context)
        };
        assert_eq!(context("1").as_deref(), Some("locals[0]"));
        assert_eq!(context("2").as_deref(), Some("locals[0].b"));
        assert_eq!(context("3"), None);
    }

    proptest! {
        #[test]
        fn any_location_in_any_bytes_can_be_shown(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(0xc3), Just(0xa9), any::<u8>()], 0..60),
            subject in (0..70usize, 0..70usize),
            context in prop::option::of((0..70usize, 0..70usize)),
            max_line in 1..20usize,
        ) {
            let mut sources = Sources::new();
            let id = sources.add(SourceFile::new("a.tf", bytes));
            let mut diagnostic = crate::testing::diagnostic(Severity::Error, "Bad", "Detail.").at(Span::new(id, subject.0, subject.1));
            diagnostic.context = context.map(|(start, end)| Span::new(id, start, end));
            let excerpts = Excerpts::new(&sources);
            for max_line in [max_line, usize::MAX] {
                let snippet = excerpts.snippet(&diagnostic, max_line).expect("because the file exists");
                prop_assert!(snippet.code.get(snippet.highlight_start..snippet.highlight_end).is_some());
            }
            for style in [diagnostic::Style::Coloured, diagnostic::Style::Plain] {
                diagnostic::render(&diagnostic, &excerpts, style, 20);
            }
            diagnostic_json::render(&diagnostic, &excerpts, &|_| None);
        }
    }
}
