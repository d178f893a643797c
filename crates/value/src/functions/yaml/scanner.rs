//! Text to tokens. Indentation becomes tokens for starts and ends of blocks; a key without question mark is recognized
//! when its colon is found, and its token is put in where it began.

mod scalars;

use std::collections::VecDeque;

use ecow::{EcoString, eco_format};

use super::is_break;
use super::scalar::Style;

/// Brackets nested deeper than this are refused.
pub(super) const MAX_DEPTH: usize = 250;
/// A key on one line with its value may have this many characters.
const MAX_SIMPLE_KEY: usize = 1024;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Version(u8, u8),
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: String, style: Style },
}

type Result<T> = std::result::Result<T, EcoString>;

/// A position where a key may have begun.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    /// The number of its first token, counted from the start of the text.
    token: usize,
    position: usize,
    line: usize,
    column: isize,
}

/// The state between two tokens.
pub(super) struct Scanner {
    chars: Vec<char>,
    position: usize,
    line: usize,
    column: isize,
    /// Tokens that are complete, except that a key may be inserted later.
    /// Each with the line it begins on.
    queue: VecDeque<(usize, Token)>,
    /// The line of the token that is being read.
    start: usize,
    /// The line of the token last looked at.
    looked_at: usize,
    /// Number of tokens taken from the queue.
    taken: usize,
    indent: isize,
    indents: Vec<isize>,
    /// Number of open brackets, plus one.
    simple_keys: Vec<SimpleKey>,
    simple_key_allowed: bool,
    ended: bool,
}

/// Stands for the end of the text; no text has it.
const END: char = '\0';

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}
fn is_line_end(c: char) -> bool {
    is_break(c) || c == END
}
fn is_blank_or_end(c: char) -> bool {
    is_blank(c) || is_line_end(c)
}
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

impl Scanner {
    /// Begins; characters that no YAML text may have are an error.
    pub(super) fn new(text: &str) -> Result<Scanner> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        if let Some(c) = text.chars().find(|c| !allowed(*c)) {
            return Err(eco_format!("the control character U+{:04X} is not allowed", u32::from(c)));
        }
        Ok(Scanner {
            chars: text.chars().collect(),
            position: 0,
            line: 0,
            column: 0,
            queue: VecDeque::new(),
            start: 0,
            looked_at: 0,
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            simple_keys: vec![SimpleKey::default()],
            simple_key_allowed: true,
            ended: false,
        })
    }

    /// The next token, which stays where it is.
    pub(super) fn peek(&mut self) -> Result<&Token> {
        self.fill()?;
        Ok(self.queue.front().map_or(&Token::StreamEnd, |(line, token)| {
            self.looked_at = *line;
            token
        }))
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<Token> {
        self.fill()?;
        self.taken += 1;
        Ok(self.queue.pop_front().map_or(Token::StreamEnd, |(line, token)| {
            self.looked_at = line;
            token
        }))
    }

    /// An error at the position of the last token.
    pub(super) fn error_at_token(&self, problem: impl AsRef<str>) -> EcoString {
        eco_format!("on line {}: {}", self.looked_at + 1, problem.as_ref())
    }

    /// An error at the current position.
    fn error(&self, problem: impl AsRef<str>) -> EcoString {
        eco_format!("on line {}, column {}: {}", self.line + 1, self.column + 1, problem.as_ref())
    }

    /// Reads on until it is certain what the first token in the queue is.
    fn fill(&mut self) -> Result<()> {
        loop {
            let uncertain = match self.queue.is_empty() {
                true => !self.ended,
                false => {
                    self.drop_stale_keys()?;
                    self.simple_keys.iter().any(|key| key.possible && key.token == self.taken)
                }
            };
            if !uncertain {
                return Ok(());
            }
            self.fetch()?;
        }
    }

    // ---- characters -------------------------------------------------------------------------------------------------

    fn at(&self, offset: usize) -> char {
        self.chars.get(self.position + offset).copied().unwrap_or(END)
    }
    fn skip(&mut self, count: usize) {
        self.position += count;
        self.column += count as isize;
    }
    fn take(&mut self) -> char {
        let c = self.at(0);
        self.skip(1);
        c
    }
    /// Passes over a line break and gives what it means in a text.
    fn take_break(&mut self) -> Option<char> {
        let c = self.at(0);
        if !is_break(c) {
            return None;
        }
        self.position += if c == '\r' && self.at(1) == '\n' { 2 } else { 1 };
        self.column = 0;
        self.line += 1;
        Some(if matches!(c, '\u{2028}' | '\u{2029}') { c } else { '\n' })
    }
    fn skip_blanks(&mut self) {
        while is_blank(self.at(0)) {
            self.skip(1);
        }
    }
    fn skip_comment(&mut self) {
        if self.at(0) == '#' {
            while !is_line_end(self.at(0)) {
                self.skip(1);
            }
        }
    }
    fn take_word(&mut self) -> String {
        let mut word = String::new();
        while is_word(self.at(0)) {
            word.push(self.take());
        }
        word
    }
    fn in_flow(&self) -> bool {
        self.simple_keys.len() > 1
    }
    fn at_document_mark(&self) -> bool {
        let mark = self.at(0);
        self.column == 0
            && matches!(mark, '-' | '.')
            && self.at(1) == mark
            && self.at(2) == mark
            && is_blank_or_end(self.at(3))
    }

    // ---- keys and indentation ---------------------------------------------------------------------------------------

    fn drop_stale_keys(&mut self) -> Result<()> {
        let (line, position) = (self.line, self.position);
        for key in &mut self.simple_keys {
            if key.possible && (key.line < line || key.position + MAX_SIMPLE_KEY < position) {
                if key.required {
                    return Err(eco_format!("on line {}: there is no ':' after this key", key.line + 1));
                }
                key.possible = false;
            }
        }
        Ok(())
    }
    fn save_simple_key(&mut self) -> Result<()> {
        if self.simple_key_allowed {
            self.remove_simple_key()?;
            let key = SimpleKey {
                possible: true,
                required: !self.in_flow() && self.indent == self.column,
                token: self.taken + self.queue.len(),
                position: self.position,
                line: self.line,
                column: self.column,
            };
            if let Some(last) = self.simple_keys.last_mut() {
                *last = key;
            }
        }
        Ok(())
    }
    fn remove_simple_key(&mut self) -> Result<()> {
        if let Some(key) = self.simple_keys.last_mut() {
            if key.possible && key.required {
                return Err(eco_format!("on line {}: there is no ':' after this key", key.line + 1));
            }
            key.possible = false;
        }
        Ok(())
    }
    /// Opens a block if this column is deeper than the current one. Its token goes to the end of the queue or to a
    /// position.
    fn roll_indent(&mut self, column: isize, position: Option<SimpleKey>, token: Token) -> Result<()> {
        if self.in_flow() || self.indent >= column {
            return Ok(());
        }
        if self.indents.len() >= MAX_DEPTH {
            return Err(self.error("blocks are nested too deeply"));
        }
        self.indents.push(self.indent);
        self.indent = column;
        let (position, line) =
            position.map_or((self.queue.len(), self.line), |key| (key.token.saturating_sub(self.taken), key.line));
        self.queue.insert(position.min(self.queue.len()), (line, token));
        Ok(())
    }
    fn unroll_indent(&mut self, column: isize) {
        while !self.in_flow() && self.indent > column {
            self.push(Token::BlockEnd);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn push(&mut self, token: Token) {
        self.queue.push_back((self.start, token));
    }

    // ---- tokens -----------------------------------------------------------------------------------------------------

    fn fetch(&mut self) -> Result<()> {
        self.skip_to_token();
        self.drop_stale_keys()?;
        self.start = self.line;
        self.unroll_indent(self.column);
        let (c, next) = (self.at(0), self.at(1));
        let flow = self.in_flow();
        match c {
            END => self.end_stream()?,
            '%' if self.column == 0 => {
                self.reset_blocks()?;
                let token = self.directive()?;
                self.push(token);
            }
            '-' | '.' if self.at_document_mark() => {
                self.reset_blocks()?;
                self.skip(3);
                self.push(if c == '-' { Token::DocumentStart } else { Token::DocumentEnd });
            }
            '[' => self.open_bracket(Token::FlowSequenceStart)?,
            '{' => self.open_bracket(Token::FlowMappingStart)?,
            ']' => self.close_bracket(Token::FlowSequenceEnd)?,
            '}' => self.close_bracket(Token::FlowMappingEnd)?,
            ',' => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.skip(1);
                self.push(Token::FlowEntry);
            }
            '-' if is_blank_or_end(next) => {
                self.block_start(Token::BlockSequenceStart, "a list item cannot begin here")?;
                self.simple_key_allowed = true;
                self.skip(1);
                self.push(Token::BlockEntry);
            }
            '?' if flow || is_blank_or_end(next) => {
                self.block_start(Token::BlockMappingStart, "a mapping key cannot begin here")?;
                self.simple_key_allowed = !flow;
                self.skip(1);
                self.push(Token::Key);
            }
            ':' if flow || is_blank_or_end(next) => self.value()?,
            '*' => {
                let name = self.anchor_name()?;
                self.push(Token::Alias(name));
            }
            '&' => {
                let name = self.anchor_name()?;
                self.push(Token::Anchor(name));
            }
            '!' => {
                self.simple_token()?;
                let token = self.tag()?;
                self.push(token);
            }
            '|' | '>' if !flow => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                let text = self.block_scalar(c)?;
                self.push(Token::Scalar { text, style: Style::Block });
            }
            '\'' | '"' => {
                self.simple_token()?;
                let text = self.quoted_scalar(c)?;
                self.push(Token::Scalar { text, style: Style::Quoted });
            }
            _ if self.starts_plain(c, next) => {
                self.simple_token()?;
                let text = self.plain_scalar()?;
                self.push(Token::Scalar { text, style: Style::Plain });
            }
            _ => return Err(self.error(eco_format!("{c:?} cannot begin a value here"))),
        }
        Ok(())
    }

    fn end_stream(&mut self) -> Result<()> {
        if self.column != 0 {
            // A possible key on this line has no value on it.
            self.column = 0;
            self.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.ended = true;
        self.push(Token::StreamEnd);
        Ok(())
    }

    fn open_bracket(&mut self, token: Token) -> Result<()> {
        self.save_simple_key()?;
        if self.simple_keys.len() > MAX_DEPTH {
            return Err(self.error("brackets are nested too deeply"));
        }
        self.simple_keys.push(SimpleKey::default());
        self.simple_key_allowed = true;
        self.skip(1);
        self.push(token);
        Ok(())
    }

    fn close_bracket(&mut self, token: Token) -> Result<()> {
        self.remove_simple_key()?;
        if self.in_flow() {
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        self.skip(1);
        self.push(token);
        Ok(())
    }

    /// Reads the name after `*` or `&`.
    fn anchor_name(&mut self) -> Result<String> {
        self.simple_token()?;
        self.skip(1);
        let name = self.take_word();
        let end = self.at(0);
        if name.is_empty() || !(is_blank_or_end(end) || "?:,]}%@`".contains(end)) {
            return Err(self.error("the name of an anchor has letters and digits only"));
        }
        Ok(name)
    }

    fn starts_plain(&self, c: char, next: char) -> bool {
        match c {
            '-' => !is_blank(next),
            '?' | ':' => !self.in_flow() && !is_blank_or_end(next),
            _ => !is_blank_or_end(c) && !",[]{}#&*!|>'\"%@`".contains(c),
        }
    }

    /// A token that begins here may be a key on one line with its value; the one directly after it may not.
    fn simple_token(&mut self) -> Result<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }
    fn reset_blocks(&mut self) -> Result<()> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }
    fn block_start(&mut self, token: Token, problem: &str) -> Result<()> {
        if !self.in_flow() {
            if !self.simple_key_allowed {
                return Err(self.error(problem));
            }
            self.roll_indent(self.column, None, token)?;
        }
        self.remove_simple_key()
    }

    fn value(&mut self) -> Result<()> {
        let key = self.simple_keys.last().copied().unwrap_or_default();
        if key.possible {
            let position = key.token.saturating_sub(self.taken).min(self.queue.len());
            self.queue.insert(position, (key.line, Token::Key));
            self.roll_indent(key.column, Some(key), Token::BlockMappingStart)?;
            if let Some(last) = self.simple_keys.last_mut() {
                last.possible = false;
            }
            self.simple_key_allowed = false;
        } else {
            if !self.in_flow() {
                if !self.simple_key_allowed {
                    return Err(self.error("a mapping value cannot begin here"));
                }
                self.roll_indent(self.column, None, Token::BlockMappingStart)?;
            }
            self.simple_key_allowed = !self.in_flow();
        }
        self.skip(1);
        self.push(Token::Value);
        Ok(())
    }

    fn skip_to_token(&mut self) {
        loop {
            if self.column == 0 && self.at(0) == '\u{feff}' {
                self.skip(1);
            }
            // A tab is not indentation: not at the start of a line, nor where a block could begin.
            while self.at(0) == ' ' || ((self.in_flow() || !self.simple_key_allowed) && self.at(0) == '\t') {
                self.skip(1);
            }
            self.skip_comment();
            if self.take_break().is_none() {
                return;
            }
            if !self.in_flow() {
                self.simple_key_allowed = true;
            }
        }
    }

    fn directive(&mut self) -> Result<Token> {
        self.skip(1);
        let name = self.take_word();
        if name.is_empty() || !is_blank_or_end(self.at(0)) {
            return Err(self.error("the name of a directive has letters and digits only"));
        }
        self.skip_blanks();
        let token = match name.as_str() {
            "YAML" => {
                let major = self.version_number()?;
                if self.take() != '.' {
                    return Err(self.error("a version like 1.1 is expected"));
                }
                Token::Version(major, self.version_number()?)
            }
            "TAG" => {
                let handle = self.tag_handle()?;
                if handle != "!" && (handle.len() < 2 || !handle.ends_with('!')) {
                    return Err(self.error("a '!' is expected at the end of the tag handle"));
                }
                if !is_blank(self.at(0)) {
                    return Err(self.error("a space is expected after the tag handle"));
                }
                self.skip_blanks();
                let prefix = self.tag_uri("")?;
                if !is_blank_or_end(self.at(0)) {
                    return Err(self.error("a space or line break is expected after the tag prefix"));
                }
                Token::TagDirective { handle, prefix }
            }
            _ => return Err(self.error(eco_format!("there is no directive %{name}"))),
        };
        self.skip_blanks();
        self.skip_comment();
        if !is_line_end(self.at(0)) {
            return Err(self.error("nothing but a comment can follow a directive"));
        }
        self.take_break();
        Ok(token)
    }
    fn version_number(&mut self) -> Result<u8> {
        let mut number = String::new();
        while self.at(0).is_ascii_digit() && number.len() < 3 {
            number.push(self.take());
        }
        number.parse().ok().filter(|_| number.len() < 3).ok_or_else(|| self.error("a version like 1.1 is expected"))
    }

    fn tag(&mut self) -> Result<Token> {
        let (handle, suffix) = if self.at(1) == '<' {
            self.skip(2);
            let suffix = self.tag_uri("")?;
            if self.take() != '>' {
                return Err(self.error("a '>' is expected at the end of the tag"));
            }
            (String::new(), suffix)
        } else {
            let handle = self.tag_handle()?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.tag_uri("")?;
                (handle, suffix)
            } else {
                let suffix = self.tag_uri(&handle)?;
                if suffix.is_empty() { (String::new(), "!".to_owned()) } else { ("!".to_owned(), suffix) }
            }
        };
        if !is_blank_or_end(self.at(0)) {
            return Err(self.error("a space or line break is expected after the tag"));
        }
        Ok(Token::Tag { handle, suffix })
    }
    fn tag_handle(&mut self) -> Result<String> {
        if self.at(0) != '!' {
            return Err(self.error("a '!' is expected at the start of the tag handle"));
        }
        let mut handle = String::from(self.take());
        handle.push_str(&self.take_word());
        if self.at(0) == '!' {
            handle.push(self.take());
        }
        Ok(handle)
    }
    /// The rest of a tag, whose `head` was taken for a handle before.
    fn tag_uri(&mut self, head: &str) -> Result<String> {
        let mut uri = head.get(1..).unwrap_or("").as_bytes().to_vec();
        let mut found = !head.is_empty();
        loop {
            let c = self.at(0);
            if c == '%' {
                let (Some(high), Some(low)) = (self.at(1).to_digit(16), self.at(2).to_digit(16)) else {
                    return Err(self.error("two hexadecimal digits are expected after '%' in a tag"));
                };
                uri.push((high << 4 | low) as u8);
                self.skip(3);
            } else if is_word(c) || ";/?:@&=+$,.!~*'()[]".contains(c) {
                uri.push(c as u8);
                self.skip(1);
            } else {
                break;
            }
            found = true;
        }
        match String::from_utf8(uri) {
            Ok(uri) if found => Ok(uri),
            _ => Err(self.error("the tag is incomplete or not valid UTF-8")),
        }
    }
}
