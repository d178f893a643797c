//! Texts that hold JSON.

use ecow::EcoString;

use super::node::{Data, Node};

/// Maximum nesting of arrays and objects.
const MAX_DEPTH: usize = 500;

/// The array or object that a text holds. Numbers stay as they are written.
pub(crate) fn parse(text: &str) -> Option<Node> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut reader = Reader { text, at: 0 };
    let node = reader.value(0)?;
    reader.space();
    (reader.at == text.len()).then_some(node)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
    /// Takes a byte, and white space before it.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        self.take_here(byte)
    }
    fn take_here(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }
    fn word(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        let data = match self.peek()? {
            b'{' => self.members(depth)?,
            b'[' => self.sequence(depth)?,
            b'"' => Data::Text(self.string()?),
            b't' => self.word("true").map(|()| Data::Bool(true))?,
            b'f' => self.word("false").map(|()| Data::Bool(false))?,
            b'n' => self.word("null").map(|()| Data::Null)?,
            _ => Data::Number(self.number()?.into()),
        };
        Some(data.into())
    }
    fn members(&mut self, depth: usize) -> Option<Data> {
        self.take(b'{')?;
        let mut members: Vec<(EcoString, Node)> = Vec::new();
        if self.take(b'}').is_some() {
            return Some(Data::Members(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.take(b':')?;
            members.push((name, self.value(depth + 1)?));
            if self.take(b',').is_none() {
                break;
            }
        }
        self.take(b'}')?;
        // Of two members with the same name the later one counts.
        members.reverse();
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        members.dedup_by(|(a, _), (b, _)| a == b);
        Some(Data::Members(members))
    }
    fn sequence(&mut self, depth: usize) -> Option<Data> {
        self.take(b'[')?;
        let mut items = Vec::new();
        if self.take(b']').is_some() {
            return Some(Data::Sequence(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b',').is_none() {
                break;
            }
        }
        self.take(b']')?;
        Some(Data::Sequence(items))
    }
    fn digits(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        (count > 0).then_some(())
    }
    fn number(&mut self) -> Option<&'a str> {
        let start = self.at;
        let _ = self.take_here(b'-');
        if self.take_here(b'0').is_none() {
            self.digits()?;
        }
        if self.take_here(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(&self.text[start..self.at])
    }
    fn string(&mut self) -> Option<EcoString> {
        self.take_here(b'"')?;
        let mut out = EcoString::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c: char| matches!(c, '"' | '\\') || c < ' ')?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            if self.take_here(b'"').is_some() {
                return Some(out);
            }
            self.take_here(b'\\')?;
            let escape = self.peek()?;
            self.at += 1;
            out.push(match escape {
                b'"' | b'\\' | b'/' => char::from(escape),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => self.unicode()?,
                _ => return None,
            });
        }
    }
    /// The digits after `\u`. Unpaired surrogates become a replacement character.
    fn unicode(&mut self) -> Option<char> {
        let first = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after_first = self.at;
        if self.word("\\u").is_some()
            && let Some(second @ 0xdc00..0xe000) = self.code_unit()
        {
            return char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        }
        self.at = after_first;
        Some(char::REPLACEMENT_CHARACTER)
    }
    fn code_unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
