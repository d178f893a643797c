//! Reads RE2 syntax with the flags of Go's `regexp.Compile`.
//!
//! Invariant: no recursion. Open groups are a list, so that nesting in the pattern never becomes nesting of calls; how
//! deep the result may be is checked as it is built.

use ecow::EcoString;
use regex_syntax::hir::{Capture, Class, ClassUnicode, Dot, Hir, Look, Repetition};

use super::class;
use super::{RegexError, RegexErrorKind as Kind};

const MAX_HEIGHT: u32 = 1000;
const MAX_REPEAT: u32 = 1000;

pub(super) struct Parsed {
    pub(super) hir: Hir,
    /// Names of the capture groups, the whole match first.
    pub(super) names: Vec<Option<EcoString>>,
}

/// A part of the expression, with what the limits need to know of it.
struct Node {
    hir: Hir,
    height: u32,
    /// Maximum number of repetitions of the innermost part of a counted repetition.
    repeats: u32,
}

impl Node {
    fn leaf(hir: Hir) -> Node {
        Node { hir, height: 1, repeats: 1 }
    }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    /// `i`
    fold: bool,
    /// `m`
    multiline: bool,
    /// `s`
    dot_newline: bool,
    /// `U`
    lazy: bool,
}

/// An open group, or the whole expression.
struct Group {
    capture: Option<u32>,
    /// The flags to go on with when the group closes.
    outer: Flags,
    alternatives: Vec<Node>,
    items: Vec<Node>,
}

struct Parser<'p> {
    pattern: &'p str,
    rest: &'p str,
    flags: Flags,
    groups: Vec<Group>,
    names: Vec<Option<EcoString>>,
}

type Result<T> = std::result::Result<T, RegexError>;

fn error<T>(kind: Kind, fragment: &str) -> Result<T> {
    Err(RegexError { kind, fragment: fragment.into() })
}

pub(super) fn parse(pattern: &str) -> Result<Parsed> {
    let whole = Group { capture: None, outer: Flags::default(), alternatives: Vec::new(), items: Vec::new() };
    let mut parser = Parser { pattern, rest: pattern, flags: Flags::default(), groups: vec![whole], names: vec![None] };
    // Start of the repetition directly before the rest.
    let mut last_repeat = None;
    while let Some(next) = parser.rest.chars().next() {
        last_repeat = parser.step(next, last_repeat)?;
    }
    let Some(whole) = parser.groups.pop().filter(|_| parser.groups.is_empty()) else {
        return error(Kind::MissingParen, pattern);
    };
    Ok(Parsed { hir: whole.close()?.hir, names: parser.names })
}

impl Group {
    fn close(mut self) -> Result<Node> {
        self.end_alternative()?;
        join(self.alternatives, Hir::alternation)
    }
    fn end_alternative(&mut self) -> Result<()> {
        let node = join(std::mem::take(&mut self.items), Hir::concat)?;
        self.alternatives.push(node);
        Ok(())
    }
}

fn join(mut nodes: Vec<Node>, make: fn(Vec<Hir>) -> Hir) -> Result<Node> {
    match nodes.len() {
        0 => Ok(Node::leaf(Hir::empty())),
        1 => Ok(nodes.remove(0)),
        _ => {
            let height = nodes.iter().map(|n| n.height).max().unwrap_or(0);
            let repeats = nodes.iter().map(|n| n.repeats).max().unwrap_or(1);
            let hir = make(nodes.into_iter().map(|n| n.hir).collect());
            higher(Node { hir, height, repeats })
        }
    }
}

/// One level more.
fn higher(node: Node) -> Result<Node> {
    if node.height >= MAX_HEIGHT {
        return error(Kind::TooDeep, "");
    }
    Ok(Node { height: node.height + 1, ..node })
}

impl<'p> Parser<'p> {
    fn skip(&mut self, bytes: usize) -> &'p str {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        skipped
    }
    fn next_char(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.skip(c.len_utf8());
        Some(c)
    }
    /// Text read since the rest was `from`.
    fn since(&self, from: &'p str) -> &'p str {
        &from[..from.len() - self.rest.len()]
    }
    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("because the outermost group is closed only at the end")
    }
    fn push(&mut self, hir: Hir) {
        self.group().items.push(Node::leaf(hir));
    }
    fn push_class(&mut self, class: ClassUnicode) {
        self.push(Hir::class(Class::Unicode(class)));
    }
    fn push_literal(&mut self, code: u32) {
        let Some(c) = char::from_u32(code) else {
            // A surrogate: no text has it.
            return self.push(Hir::fail());
        };
        if self.flags.fold {
            let mut class = class::of_ranges(&[(code, code)]);
            class::fold(&mut class);
            return self.push_class(class);
        }
        self.push(Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes().to_vec()));
    }

    /// Reads one item. Returns the start if it was a repetition.
    fn step(&mut self, next: char, last_repeat: Option<&'p str>) -> Result<Option<&'p str>> {
        let start = self.rest;
        match next {
            '(' if start.starts_with("(?") => self.flag_group()?,
            '(' => {
                self.skip(1);
                self.open_capture(None);
            }
            '|' => {
                self.skip(1);
                self.group().end_alternative()?;
            }
            ')' => self.close_group()?,
            '^' => {
                self.skip(1);
                self.push(Hir::look(if self.flags.multiline { Look::StartLF } else { Look::Start }));
            }
            '$' => {
                self.skip(1);
                self.push(Hir::look(if self.flags.multiline { Look::EndLF } else { Look::End }));
            }
            '.' => {
                self.skip(1);
                self.push(Hir::dot(if self.flags.dot_newline { Dot::AnyChar } else { Dot::AnyCharExceptLF }));
            }
            '[' => self.bracket_class()?,
            '*' | '+' | '?' => {
                self.skip(1);
                let (min, max) = match next {
                    '*' => (0, None),
                    '+' => (1, None),
                    _ => (0, Some(1)),
                };
                self.repeat(min, max, start, last_repeat, 1)?;
                return Ok(Some(start));
            }
            '{' => match self.counts()? {
                Some((min, max)) => {
                    let repeats = max.unwrap_or(min);
                    self.repeat(min, max, start, last_repeat, repeats)?;
                    return Ok(Some(start));
                }
                // A brace that is not part of a count is literal.
                None => {
                    self.skip(1);
                    self.push_literal('{'.into());
                }
            },
            '\\' => self.backslash()?,
            c => {
                self.skip(c.len_utf8());
                self.push_literal(c.into());
            }
        }
        Ok(None)
    }

    // ---- groups ---------------------------------------------------------------------------------------------------

    fn open_capture(&mut self, name: Option<&str>) {
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.map(EcoString::from));
        self.open(Some(index));
    }
    fn open(&mut self, capture: Option<u32>) {
        let outer = self.flags;
        self.groups.push(Group { capture, outer, alternatives: Vec::new(), items: Vec::new() });
    }
    fn close_group(&mut self) -> Result<()> {
        self.skip(1);
        if self.groups.len() < 2 {
            return error(Kind::UnexpectedParen, self.pattern);
        }
        let Some(group) = self.groups.pop() else { return Ok(()) };
        self.flags = group.outer;
        let capture = group.capture;
        let mut node = group.close()?;
        if let Some(index) = capture {
            node = higher(node)?;
            node.hir = Hir::capture(Capture { index, name: None, sub: Box::new(node.hir) });
        }
        self.group().items.push(node);
        Ok(())
    }
    /// `(?P<name>`, `(?<name>`, `(?flags)` or `(?flags:`
    fn flag_group(&mut self) -> Result<()> {
        let start = self.rest;
        let named = start.strip_prefix("(?P<").or_else(|| start.strip_prefix("(?<"));
        if let Some(after) = named.filter(|after| !after.is_empty()) {
            let Some((name, after)) = after.split_once('>') else { return error(Kind::InvalidGroupName, start) };
            self.rest = after;
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return error(Kind::InvalidGroupName, self.since(start));
            }
            self.open_capture(Some(name));
            return Ok(());
        }
        self.skip(2);
        let mut flags = self.flags;
        let mut on = true;
        let mut any = false;
        while let Some(c) = self.next_char() {
            match c {
                'i' => flags.fold = on,
                'm' => flags.multiline = on,
                's' => flags.dot_newline = on,
                'U' => flags.lazy = on,
                '-' if on => {
                    on = false;
                    any = false;
                    continue;
                }
                ':' | ')' if on || any => {
                    if c == ':' {
                        self.open(None);
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
            any = true;
        }
        error(Kind::UnsupportedGroup, self.since(start))
    }

    // ---- repetition -----------------------------------------------------------------------------------------------

    fn repeat(
        &mut self,
        min: u32,
        max: Option<u32>,
        start: &'p str,
        last_repeat: Option<&'p str>,
        repeats: u32,
    ) -> Result<()> {
        let mut greedy = !self.flags.lazy;
        if self.rest.starts_with('?') {
            self.skip(1);
            greedy = !greedy;
        }
        if let Some(last) = last_repeat {
            return error(Kind::NestedRepetition, self.since(last));
        }
        let fragment = self.since(start);
        let Some(node) = self.group().items.pop() else { return error(Kind::MissingRepeatArgument, fragment) };
        let repeats = if repeats == 0 { 1 } else { node.repeats.saturating_mul(repeats) };
        if repeats > MAX_REPEAT {
            return error(Kind::InvalidRepeatCount, fragment);
        }
        let mut node = higher(node)?;
        node.repeats = repeats;
        node.hir = Hir::repetition(Repetition { min, max, greedy, sub: Box::new(node.hir) });
        self.group().items.push(node);
        Ok(())
    }
    /// `{n}`, `{n,}` or `{n,m}`; otherwise reads nothing.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let Some((body, after)) = self.rest[1..].split_once('}') else { return Ok(None) };
        let (min, max) = match body.split_once(',') {
            None => (body, Some(body)),
            Some((min, "")) => (min, None),
            Some((min, max)) => (min, Some(max)),
        };
        let is_number = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'))
        };
        if !is_number(min) || !max.is_none_or(is_number) {
            return Ok(None);
        }
        let start = self.rest;
        self.rest = after;
        let value = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
        let (min, max) = (value(min), max.map(value));
        if min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || min > max) {
            return error(Kind::InvalidRepeatCount, self.since(start));
        }
        Ok(Some((min, max)))
    }

    // ---- escapes and classes --------------------------------------------------------------------------------------

    fn backslash(&mut self) -> Result<()> {
        let look = match self.rest.as_bytes().get(1) {
            Some(b'A') => Some(Look::Start),
            Some(b'z') => Some(Look::End),
            Some(b'b') => Some(Look::WordAscii),
            Some(b'B') => Some(Look::WordAsciiNegate),
            Some(b'Q') => {
                self.skip(2);
                let (literal, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.rest = rest;
                literal.chars().for_each(|c| self.push_literal(c.into()));
                return Ok(());
            }
            _ => None,
        };
        if let Some(look) = look {
            self.skip(2);
            self.push(Hir::look(look));
            return Ok(());
        }
        if let Some(class) = self.escaped_class()? {
            self.push_class(class);
            return Ok(());
        }
        let code = self.escape()?;
        self.push_literal(code);
        Ok(())
    }

    /// `\d` and its like, `\pL`, `\p{Greek}`, `\P{^Greek}`; otherwise reads nothing.
    fn escaped_class(&mut self) -> Result<Option<ClassUnicode>> {
        let start = self.rest;
        let Some(letter) = start.strip_prefix('\\').and_then(|s| s.chars().next()) else { return Ok(None) };
        if let Some((class, negated)) = class::perl(letter) {
            self.skip(2);
            return Ok(Some(if negated { self.complement(class) } else { self.folded(class) }));
        }
        if !matches!(letter, 'p' | 'P') {
            return Ok(None);
        }
        self.skip(2);
        let name = if self.rest.starts_with('{') {
            let Some((name, after)) = self.rest[1..].split_once('}') else {
                return error(Kind::InvalidClassRange, start);
            };
            self.rest = after;
            name
        } else {
            match self.rest.chars().next() {
                Some(c) => self.skip(c.len_utf8()),
                None => return error(Kind::InvalidClassRange, start),
            }
        };
        let (name, turned) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let Some(class) = class::unicode(name) else { return error(Kind::InvalidClassRange, self.since(start)) };
        let negated = (letter == 'P') != turned;
        Ok(Some(if negated { self.complement(class) } else { self.folded(class) }))
    }

    fn folded(&self, mut class: ClassUnicode) -> ClassUnicode {
        if self.flags.fold {
            class::fold(&mut class);
        }
        class
    }

    /// All other characters than those of the folded class.
    fn complement(&self, class: ClassUnicode) -> ClassUnicode {
        let mut class = self.folded(class);
        class.negate();
        class
    }

    /// A backslash and what stands for one character.
    fn escape(&mut self) -> Result<u32> {
        let start = self.rest;
        self.skip(1);
        let Some(c) = self.next_char() else { return error(Kind::TrailingBackslash, "") };
        let octal = |b: u8| (b'0'..=b'7').contains(&b);
        let code = match c {
            'a' => Some(7),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'v' => Some(11),
            'x' => self.hexadecimal(),
            // A single digit other than zero would be a back-reference.
            '0'..='7' if c == '0' || self.rest.bytes().next().is_some_and(octal) => {
                let mut code = u32::from(c) - u32::from('0');
                for _ in 0..2 {
                    let Some(digit) = self.rest.bytes().next().filter(|b| octal(*b)) else { break };
                    code = code * 8 + u32::from(digit - b'0');
                    self.skip(1);
                }
                Some(code)
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c.into()),
            _ => None,
        };
        code.map_or_else(|| error(Kind::InvalidEscape, self.since(start)), Ok)
    }
    /// `hh` or `{h...}` after `\x`
    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.next_char()?;
        if first != '{' {
            let second = self.next_char()?;
            return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
        }
        let mut code = 0;
        let mut any = false;
        loop {
            match self.next_char()? {
                '}' => return any.then_some(code),
                c => code = code * 16 + c.to_digit(16)?,
            }
            any = true;
            if code > 0x10ffff {
                return None;
            }
        }
    }

    /// `[...]`
    fn bracket_class(&mut self) -> Result<()> {
        let start = self.rest;
        self.skip(1);
        let negated = self.rest.starts_with('^');
        if negated {
            self.skip(1);
        }
        // Collected first: the class sorts its ranges again whenever some are added.
        let mut ranges = Vec::new();
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if let Some(class) = self.posix_class()? {
                ranges.extend_from_slice(class.ranges());
                continue;
            }
            if let Some(class) = self.escaped_class()? {
                ranges.extend_from_slice(class.ranges());
                continue;
            }
            let range = self.rest;
            let low = self.class_char(start)?;
            let mut high = low;
            if self.rest.len() >= 2 && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.skip(1);
                high = self.class_char(start)?;
                if high < low {
                    return error(Kind::InvalidClassRange, self.since(range));
                }
            }
            let mut class = class::of_ranges(&[(low, high)]);
            if self.flags.fold {
                class::fold(&mut class);
            }
            ranges.extend_from_slice(class.ranges());
        }
        self.skip(1);
        let mut whole = ClassUnicode::new(ranges);
        if negated {
            whole.negate();
        }
        self.push_class(whole);
        Ok(())
    }
    fn class_char(&mut self, class_start: &'p str) -> Result<u32> {
        match self.rest.chars().next() {
            None => error(Kind::MissingBracket, class_start),
            Some('\\') => self.escape(),
            Some(c) => {
                self.skip(c.len_utf8());
                Ok(c.into())
            }
        }
    }
    /// `[:alpha:]` or `[:^alpha:]`; nothing is read if it is neither.
    fn posix_class(&mut self) -> Result<Option<ClassUnicode>> {
        let Some((name, after)) = self.rest.strip_prefix("[:").and_then(|s| s.split_once(":]")) else {
            return Ok(None);
        };
        let start = self.rest;
        self.rest = after;
        let (name, negated) = match name.strip_prefix('^') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let Some(class) = class::posix(name) else { return error(Kind::InvalidClassRange, self.since(start)) };
        Ok(Some(if negated { self.complement(class) } else { self.folded(class) }))
    }
}
