//! Reads JSON text piece by piece.

use ecow::EcoString;

use super::{JsonError, MAX_DEPTH};
use crate::{Value, eco_format};

/// Start of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    Array,
    Object,
}

pub(super) struct Reader<'t> {
    text: &'t str,
    pub(super) offset: usize,
    depth: usize,
}

type Result<T> = std::result::Result<T, JsonError>;

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Reader<'t> {
        Reader { text, offset: 0, depth: 0 }
    }
    pub(super) fn error<T>(&self, message: impl Into<EcoString>) -> Result<T> {
        Err(JsonError::new(self.offset, message))
    }
    fn rest(&self) -> &'t str {
        &self.text[self.offset..]
    }
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.offset), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.offset += 1;
        }
        bytes.get(self.offset).copied()
    }
    fn unexpected<T>(&self, wanted: &str) -> Result<T> {
        match self.rest().chars().next() {
            None => self.error(eco_format!("the text ends where {wanted} should be")),
            Some(c) => self.error(eco_format!("unexpected {c:?} where {wanted} should be")),
        }
    }
    fn expect(&mut self, byte: u8, wanted: &str) -> Result<()> {
        if self.peek() != Some(byte) {
            return self.unexpected(wanted);
        }
        self.offset += 1;
        Ok(())
    }
    /// Nothing but white space follows.
    pub(super) fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.error("there is more text after the value"),
        }
    }

    pub(super) fn kind(&mut self) -> Result<Kind> {
        match self.peek() {
            Some(b'n') => Ok(Kind::Null),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'"') => Ok(Kind::Text),
            Some(b'[') => Ok(Kind::Array),
            Some(b'{') => Ok(Kind::Object),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            _ => self.unexpected("a value"),
        }
    }
    fn word(&mut self, word: &str) -> Result<()> {
        if !self.rest().starts_with(word) {
            return self.unexpected("a value");
        }
        self.offset += word.len();
        Ok(())
    }
    pub(super) fn null(&mut self) -> Result<()> {
        self.word("null")
    }
    pub(super) fn bool(&mut self) -> Result<bool> {
        let value = self.peek() == Some(b't');
        self.word(if value { "true" } else { "false" })?;
        Ok(value)
    }
    /// The text of a number.
    pub(super) fn number(&mut self) -> Result<&'t str> {
        let start = self.offset;
        let bytes = self.text.as_bytes();
        if self.peek() == Some(b'-') {
            self.offset += 1;
        }
        if bytes.get(self.offset) == Some(&b'0') {
            self.offset += 1;
        } else {
            self.digits()?;
        }
        if bytes.get(self.offset) == Some(&b'.') {
            self.offset += 1;
            self.digits()?;
        }
        if matches!(bytes.get(self.offset), Some(b'e' | b'E')) {
            self.offset += 1;
            if matches!(bytes.get(self.offset), Some(b'+' | b'-')) {
                self.offset += 1;
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.offset])
    }
    fn digits(&mut self) -> Result<()> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return self.unexpected("a digit");
        }
        self.offset += count;
        Ok(())
    }
    /// The content of a string.
    pub(super) fn text(&mut self) -> Result<EcoString> {
        self.expect(b'"', "a string")?;
        let mut out = EcoString::new();
        loop {
            let run = self.rest().find(|c: char| matches!(c, '"' | '\\' | '\0'..='\x1f'));
            let Some(run) = run else {
                self.offset = self.text.len();
                return self.error("the closing quote of a string is missing");
            };
            out.push_str(&self.rest()[..run]);
            self.offset += run;
            match self.text.as_bytes().get(self.offset) {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return self.error("a control character in a string must be escaped"),
            }
        }
    }
    fn escape(&mut self) -> Result<char> {
        let letter = self.text.as_bytes().get(self.offset + 1).copied();
        let c = match letter {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return self.error("invalid escape sequence in a string"),
        };
        self.offset += 2;
        Ok(c)
    }
    /// `\uXXXX`, or two of them that make one character. Half a pair becomes the replacement character.
    fn unicode_escape(&mut self) -> Result<char> {
        let Some(first) = self.code_unit() else {
            return self.error("\\u must be followed by four hexadecimal digits");
        };
        self.offset += 6;
        if (0xd800..0xdc00).contains(&first)
            && let Some(second) = self.code_unit()
            && let Some(Ok(c)) = char::decode_utf16([first, second]).next()
        {
            self.offset += 6;
            return Ok(c);
        }
        Ok(char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
    fn code_unit(&self) -> Option<u16> {
        let digits = self.rest().strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(eco_format!("arrays and objects are nested more than {MAX_DEPTH} levels deep"));
        }
        Ok(())
    }
    /// Calls `item` at the start of every element.
    pub(super) fn array(&mut self, mut item: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        self.expect(b'[', "an array")?;
        self.deeper()?;
        if self.peek() != Some(b']') {
            for index in 0.. {
                item(self, index)?;
                match self.peek() {
                    Some(b',') => self.offset += 1,
                    Some(b']') => break,
                    _ => return self.unexpected("a comma or the closing bracket of an array"),
                }
            }
        }
        self.offset += 1;
        self.depth -= 1;
        Ok(())
    }
    /// Calls `entry` at the start of every value, with its key in normal form.
    pub(super) fn object(&mut self, mut entry: impl FnMut(&mut Self, EcoString) -> Result<()>) -> Result<()> {
        self.expect(b'{', "an object")?;
        self.deeper()?;
        if self.peek() != Some(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return self.unexpected("a property name in quotes");
                }
                let key = self.text()?;
                let key = if key.is_ascii() { key } else { Value::string(key).as_str().cloned().unwrap_or_default() };
                self.expect(b':', "a colon")?;
                entry(self, key)?;
                match self.peek() {
                    Some(b',') => self.offset += 1,
                    Some(b'}') => break,
                    _ => return self.unexpected("a comma or the closing brace of an object"),
                }
            }
        }
        self.offset += 1;
        self.depth -= 1;
        Ok(())
    }
    /// Reads a value and forgets it.
    pub(super) fn skip(&mut self) -> Result<()> {
        match self.kind()? {
            Kind::Null => self.null(),
            Kind::Bool => self.bool().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::Text => self.text().map(drop),
            Kind::Array => self.array(|reader, _| reader.skip()),
            Kind::Object => self.object(|reader, _| reader.skip()),
        }
    }
}
