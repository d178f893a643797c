//! Values to YAML, byte for byte as OpenTofu writes it: block style, texts in double quotes or as literal blocks.

use crate::{Value, View};

use super::is_break;

/// Columns after which a space in a quoted text may become a line break.
const BEST_WIDTH: usize = 80;
/// Spaces per level.
const INDENT: isize = 2;
/// Keys of more bytes than this are written with a question mark.
const MAX_SIMPLE_KEY: usize = 128;

/// Writes a wholly known value; marks are the caller's business.
pub(super) fn encode(value: &Value) -> String {
    let mut emitter =
        Emitter { out: String::new(), column: 0, indent: -1, after_space: true, indented: true, open: false };
    emitter.node(value, NodePosition::Root);
    emitter.line(0);
    if emitter.open {
        emitter.indicator("...", Indicator::Separate);
        emitter.line(0);
    }
    emitter.out
}

/// Context of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodePosition {
    Root,
    Item,
    /// A key on one line with its value.
    SimpleKey,
    /// The value of a mapping, or a key of its own.
    Mapped,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    DoubleQuoted,
    Literal,
}

/// Spacing around an indicator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indicator {
    /// With a space before it.
    Separate,
    /// Without a space before it.
    Attached,
    /// With a space before it, and none after it.
    Opening,
    /// With a space before it; it counts as indentation.
    Leading,
}

struct Emitter {
    out: String,
    /// Characters since the last line break.
    column: usize,
    /// The current level's; -1 outside of everything.
    indent: isize,
    /// The next token needs no space before it.
    after_space: bool,
    /// Only indentation and indicators were written on this line.
    indented: bool,
    /// The document needs a mark at its end, as what comes after could be taken for a part of it.
    open: bool,
}

impl Emitter {
    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Goes to the indentation, on a new line if something stands on this one.
    fn line(&mut self, indent: isize) {
        let indent = usize::try_from(indent).unwrap_or(0);
        if !self.indented || self.column > indent || (self.column == indent && !self.after_space) {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.after_space = true;
        self.indented = true;
    }

    fn indicator(&mut self, text: &str, indicator: Indicator) {
        if indicator != Indicator::Attached && !self.after_space {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.after_space = indicator == Indicator::Opening;
        self.indented &= indicator == Indicator::Leading;
        self.open = false;
    }

    fn node(&mut self, value: &Value, position: NodePosition) {
        match value.view_ignoring_marks() {
            View::Null | View::Unknown(_) => self.scalar("null", Style::Plain, position),
            View::Bool(value) => self.scalar(if value { "true" } else { "false" }, Style::Plain, position),
            View::Number(number) => self.scalar(&number.format(b'f', None), Style::Plain, position),
            View::String(text) => self.text(text, position),
            View::List(items) | View::Set(items) | View::Tuple(items) => self.sequence(items, position),
            View::Map(_) | View::Object(_) => self.mapping(value),
        }
    }

    fn sequence(&mut self, items: &[Value], position: NodePosition) {
        if items.is_empty() {
            self.indicator("[", Indicator::Opening);
            return self.indicator("]", Indicator::Attached);
        }
        let outer = self.indent;
        let at_key = position == NodePosition::Mapped && !self.indented;
        self.indent = match outer {
            ..0 => 0,
            // The dashes stand below the key.
            _ if at_key => outer,
            _ => outer + INDENT,
        };
        for item in items {
            self.line(self.indent);
            self.indicator("-", Indicator::Leading);
            self.node(item, NodePosition::Item);
        }
        self.indent = outer;
    }

    fn mapping(&mut self, value: &Value) {
        let entries = value.entries().unwrap_or_default();
        if entries.is_empty() {
            self.indicator("{", Indicator::Opening);
            return self.indicator("}", Indicator::Attached);
        }
        let outer = self.indent;
        self.indent = if outer < 0 { 0 } else { outer + INDENT };
        for (key, value) in &entries {
            self.line(self.indent);
            if key.len() <= MAX_SIMPLE_KEY && !key.contains(is_break) {
                self.text(key, NodePosition::SimpleKey);
                self.indicator(":", Indicator::Attached);
            } else {
                self.indicator("?", Indicator::Leading);
                self.text(key, NodePosition::Mapped);
                self.line(self.indent);
                self.indicator(":", Indicator::Leading);
            }
            self.node(value, NodePosition::Mapped);
        }
        self.indent = outer;
    }

    fn text(&mut self, text: &str, position: NodePosition) {
        let block = text.contains('\n') && position != NodePosition::SimpleKey && fits_block(text);
        self.scalar(text, if block { Style::Literal } else { Style::DoubleQuoted }, position);
    }

    fn scalar(&mut self, text: &str, style: Style, position: NodePosition) {
        let outer = self.indent;
        self.indent = if outer < 0 { INDENT } else { outer + INDENT };
        match style {
            Style::Plain => {
                if !self.after_space {
                    self.put(' ');
                }
                text.chars().for_each(|c| self.put(c));
                self.after_space = false;
                self.indented = false;
                self.open |= position == NodePosition::Root;
            }
            Style::DoubleQuoted => self.double_quoted(text, position),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn double_quoted(&mut self, text: &str, position: NodePosition) {
        let may_break = position != NodePosition::SimpleKey;
        self.indicator("\"", Indicator::Separate);
        // Quirk: a byte order mark at the start makes every character an escape.
        let escape_all = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == ' ' && !escape_all {
                let inside = at > 0 && at + 1 < text.len();
                if may_break && !spaces && self.column > BEST_WIDTH && inside {
                    self.line(self.indent);
                    if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
                continue;
            }
            spaces = false;
            if !escape_all && is_printable(c) && !is_break(c) && c != '"' && c != '\\' {
                self.put(c);
            } else {
                escape(c).chars().for_each(|c| self.put(c));
            }
        }
        self.indicator("\"", Indicator::Attached);
        self.after_space = false;
        self.indented = false;
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", Indicator::Separate);
        if text.starts_with(|c: char| c == ' ' || is_break(c)) {
            self.indicator("2", Indicator::Attached);
        }
        self.open = false;
        let mut from_end = text.chars().rev();
        match (from_end.next().is_some_and(is_break), from_end.next().is_none_or(is_break)) {
            (false, _) => self.indicator("-", Indicator::Attached),
            // Quirk: the text may go on after its last line, and yet no mark is put at the end of the document.
            (true, true) => self.indicator("+", Indicator::Attached),
            (true, false) => {}
        }
        self.line_break();
        self.indented = true;
        self.after_space = true;
        let mut at_start = true;
        for c in text.chars() {
            if is_break(c) {
                if c == '\n' {
                    self.line_break();
                } else {
                    self.out.push(c);
                    self.column = 0;
                }
                self.indented = true;
                at_start = true;
            } else {
                if at_start {
                    self.line(self.indent);
                }
                self.put(c);
                self.indented = false;
                at_start = false;
            }
        }
    }
}

/// Whether a text of several lines survives as a literal block.
fn fits_block(text: &str) -> bool {
    let mut space = false;
    for c in text.chars() {
        if !is_printable(c) || (is_break(c) && space) {
            return false;
        }
        space = c == ' ';
    }
    !space
}

/// Quirk: characters beyond the basic multilingual plane count as not printable, and so does the tab.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
