//! Reads JSON text piece by piece, without building values that are not needed.
//!
//! It takes what Go's `encoding/json` takes: names of fields in any case, `null` for "not given", the last of several
//! fields of one name. Nothing here recurses over the text, so nesting is limited by a number only.

use std::borrow::Cow;
use std::sync::Arc;

use ecow::{EcoString, eco_format};

/// Maximum nesting of arrays and objects, as in Go.
const MAX_DEPTH: usize = 10_000;

/// Reason why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not JSON from this byte on.
    Syntax(usize),
    /// It is JSON, but a field has the wrong type.
    Type {
        /// The names of the fields that lead to it.
        field: &'static str,
        /// The value that was found, in the words of Go: `string`, `number -1`.
        found: EcoString,
    },
    /// It is JSON of the right types, but a field says something that it cannot say.
    Content {
        /// The names of the fields that lead to it.
        field: &'static str,
        /// The error.
        problem: EcoString,
    },
}

pub(crate) type Result<T> = std::result::Result<T, Fault>;

#[derive(Clone)]
pub(crate) struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// For a value that is stored without its white space: the part so far, and the start of the rest.
    kept: String,
    kept_to: usize,
    /// The arrays and objects that are open in a value that is passed over: whether each is an object.
    open: Vec<bool>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Reader<'t> {
        Reader { text, at: 0, kept: String::new(), kept_to: 0, open: Vec::new() }
    }

    fn syntax<T>(&self) -> Result<T> {
        Err(Fault::Syntax(self.at))
    }

    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        self.at += white_run(&bytes[self.at..]);
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() != Some(byte) {
            return self.syntax();
        }
        self.at += 1;
        Ok(())
    }

    /// Nothing but white space follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.syntax(),
        }
    }

    /// Kind of the next value, in the words of Go.
    pub(crate) fn kind(&mut self) -> &'static str {
        match self.peek() {
            Some(b'n') => "null",
            Some(b't' | b'f') => "bool",
            Some(b'"') => "string",
            Some(b'[') => "array",
            Some(b'{') => "object",
            _ => "number",
        }
    }

    fn type_fault<T>(&mut self, field: &'static str) -> Result<T> {
        Err(Fault::Type { field, found: self.kind().into() })
    }

    /// Reads `null` if that comes next.
    pub(crate) fn null(&mut self) -> Result<bool> {
        if self.peek() != Some(b'n') {
            return Ok(false);
        }
        self.word("null")?;
        Ok(true)
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if !self.text[self.at..].starts_with(word) {
            return self.syntax();
        }
        self.at += word.len();
        Ok(())
    }

    /// A truth value; `null` is false.
    pub(crate) fn bool(&mut self, field: &'static str) -> Result<bool> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            Some(b'f') => self.word("false").map(|()| false),
            Some(b'n') => self.word("null").map(|()| false),
            _ => self.type_fault(field),
        }
    }

    /// A text; `null` is the empty one.
    pub(crate) fn string(&mut self, field: &'static str) -> Result<Cow<'t, str>> {
        match self.peek() {
            Some(b'"') => self.text(),
            Some(b'n') => self.word("null").map(|()| Cow::Borrowed("")),
            _ => self.type_fault(field),
        }
    }

    /// A whole number, or none for `null`.
    pub(crate) fn integer<N: std::str::FromStr>(&mut self, field: &'static str) -> Result<Option<N>> {
        match self.peek() {
            Some(b'n') => self.word("null").map(|()| None),
            Some(b'-' | b'0'..=b'9') => {
                let start = self.at;
                self.number()?;
                match self.text[start..self.at].parse() {
                    Ok(number) => Ok(Some(number)),
                    Err(_) => Err(Fault::Type { field, found: eco_format!("number {}", &self.text[start..self.at]) }),
                }
            }
            _ => self.type_fault(field),
        }
    }

    /// Calls `entry` at the start of every value of an object; `null` is an empty one.
    pub(crate) fn object(
        &mut self,
        field: &'static str,
        mut entry: impl FnMut(&mut Self, &str) -> Result<()>,
    ) -> Result<()> {
        match self.peek() {
            Some(b'{') => self.at += 1,
            Some(b'n') => return self.word("null"),
            _ => return self.type_fault(field),
        }
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.syntax();
            }
            let key = self.text()?;
            self.expect(b':')?;
            entry(self, &key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.syntax(),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Calls `item` at the start of every element of an array; `null` is an empty one.
    pub(crate) fn array(&mut self, field: &'static str, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        match self.peek() {
            Some(b'[') => self.at += 1,
            Some(b'n') => return self.word("null"),
            _ => return self.type_fault(field),
        }
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.syntax(),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// The text of the next value.
    pub(crate) fn raw(&mut self) -> Result<&'t str> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
    }

    /// Reads a value and forgets it.
    pub(crate) fn skip(&mut self) -> Result<()> {
        self.pass::<false>()
    }

    /// The next value without its white space; in strings escaped what Go's `encoding/json` escapes.
    pub(crate) fn compact(&mut self) -> Result<Arc<str>> {
        self.peek();
        self.kept.clear();
        self.kept_to = self.at;
        self.pass::<true>()?;
        self.kept.push_str(&self.text[self.kept_to..self.at]);
        Ok(Arc::from(self.kept.as_str()))
    }

    /// Skips a value, and stores it if `KEEP`.
    fn pass<const KEEP: bool>(&mut self) -> Result<()> {
        self.open.clear();
        loop {
            match self.next::<KEEP>() {
                Some(byte @ (b'{' | b'[')) => {
                    self.at += 1;
                    let object = byte == b'{';
                    let close = if object { b'}' } else { b']' };
                    if self.next::<KEEP>() == Some(close) {
                        self.at += 1;
                    } else {
                        if self.open.len() >= MAX_DEPTH {
                            return self.syntax();
                        }
                        self.open.push(object);
                        if object {
                            self.pass_key::<KEEP>()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.pass_text::<KEEP>()?,
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                _ => self.number()?,
            }
            // After a value.
            loop {
                let Some(&object) = self.open.last() else { return Ok(()) };
                match self.next::<KEEP>() {
                    Some(b',') => {
                        self.at += 1;
                        if object {
                            self.pass_key::<KEEP>()?;
                        }
                        break;
                    }
                    Some(b'}') if object => self.at += 1,
                    Some(b']') if !object => self.at += 1,
                    _ => return self.syntax(),
                }
                self.open.pop();
            }
        }
    }

    /// The next byte that is not white space, which is dropped.
    fn next<const KEEP: bool>(&mut self) -> Option<u8> {
        let white = self.at;
        let byte = self.peek();
        if KEEP && self.at > white {
            self.kept.push_str(&self.text[self.kept_to..white]);
            self.kept_to = self.at;
        }
        byte
    }

    fn pass_key<const KEEP: bool>(&mut self) -> Result<()> {
        if self.next::<KEEP>() != Some(b'"') {
            return self.syntax();
        }
        self.pass_text::<KEEP>()?;
        if self.next::<KEEP>() != Some(b':') {
            return self.syntax();
        }
        self.at += 1;
        Ok(())
    }

    fn pass_text<const KEEP: bool>(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        while self.skip_plain()? == b'\\' {
            self.escape()?;
        }
        self.at += 1;
        let text = &self.text[start..self.at];
        if KEEP && has_special(text.as_bytes()) {
            self.kept.push_str(&self.text[self.kept_to..start]);
            escape_special(text, &mut self.kept);
            self.kept_to = self.at;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let count = self.text.as_bytes()[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        if count == 0 {
            return self.syntax();
        }
        self.at += count;
        Ok(())
    }

    /// Moves to the next byte of a string that is not plain.
    fn skip_plain(&mut self) -> Result<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let run = plain_run(rest);
        self.at += run;
        match rest.get(run) {
            Some(&byte) if byte >= 0x20 => Ok(byte),
            _ => self.syntax(),
        }
    }

    fn text(&mut self) -> Result<Cow<'t, str>> {
        self.at += 1;
        let start = self.at;
        if self.skip_plain()? == b'"' {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut out = self.text[start..self.at].to_owned();
        loop {
            out.push(self.escape()?);
            let from = self.at;
            let end = self.skip_plain()?;
            out.push_str(&self.text[from..self.at]);
            if end == b'"' {
                self.at += 1;
                return Ok(Cow::Owned(out));
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let c = match self.text.as_bytes().get(self.at + 1) {
            Some(&c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return self.syntax(),
        };
        self.at += 2;
        Ok(c)
    }

    /// `\uXXXX`, or two of them that make one character. Half a pair becomes the replacement character.
    fn unicode_escape(&mut self) -> Result<char> {
        let Some(first) = self.code_unit() else { return self.syntax() };
        self.at += 6;
        if (0xd800..0xdc00).contains(&first)
            && let Some(second) = self.code_unit()
            && let Some(Ok(c)) = char::decode_utf16([first, second]).next()
        {
            self.at += 6;
            return Ok(c);
        }
        Ok(char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn code_unit(&self) -> Option<u16> {
        let digits = self.text[self.at..].strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    }
}

/// The name of a field in lower case.
pub(crate) fn folded(key: &str) -> Cow<'_, str> {
    if key.bytes().any(|b| b.is_ascii_uppercase()) { Cow::Owned(key.to_ascii_lowercase()) } else { Cow::Borrowed(key) }
}

/// Eight bytes that are all the same.
const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The next eight bytes, the first one lowest.
fn next_eight(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// Zero bytes among eight, as their highest bits; beyond the first one it may be wrong.
fn zeros(eight_bytes: u64) -> u64 {
    eight_bytes.wrapping_sub(eight(1)) & !eight_bytes & eight(0x80)
}

/// Number of bytes of a string before a quote, a backslash or a control character.
fn plain_run(bytes: &[u8]) -> usize {
    let mut run = 0;
    while let Some(word) = next_eight(&bytes[run..]) {
        let control = word.wrapping_sub(eight(0x20)) & !word & eight(0x80);
        let special = control | zeros(word ^ eight(b'"')) | zeros(word ^ eight(b'\\'));
        if special != 0 {
            return run + special.trailing_zeros() as usize / 8;
        }
        run += 8;
    }
    run + bytes[run..].iter().take_while(|&&b| b != b'"' && b != b'\\' && b >= 0x20).count()
}

/// Number of bytes of white space.
fn white_run(bytes: &[u8]) -> usize {
    let mut run = 0;
    loop {
        match bytes.get(run) {
            Some(b' ') => {
                run += 1;
                while next_eight(&bytes[run..]) == Some(eight(b' ')) {
                    run += 8;
                }
            }
            Some(b'\n' | b'\r' | b'\t') => run += 1,
            _ => return run,
        }
    }
}

/// Whether something may be in a string that is to be escaped.
fn has_special(bytes: &[u8]) -> bool {
    let special = |&b: &u8| matches!(b, b'<' | b'>' | b'&' | 0xe2);
    let (chunks, rest) = bytes.as_chunks();
    let any = |word: u64| {
        zeros(word ^ eight(b'<')) | zeros(word ^ eight(b'>')) | zeros(word ^ eight(b'&')) | zeros(word ^ eight(0xe2))
    };
    chunks.iter().any(|chunk| any(u64::from_le_bytes(*chunk)) != 0) || rest.iter().any(special)
}

/// Escapes what is special in HTML, and the two line separators that are special in JavaScript.
fn escape_special(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_is() {
        for good in ["{}", " [ ] ", "-0.5e+3", r#"{"a":[1,{"b":null}],"c":"\u00e9\"\\"}"#, "[[],[[]]]", "\"\u{e9}\""] {
            let mut reader = Reader::new(good);
            assert_eq!(reader.skip().and_then(|()| reader.end()), Ok(()), "{good}");
        }
        for bad in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "nul",
            "\"",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12\"",
            "[}",
            "{]",
            "[1}",
            "{\"a\":1]",
            "1 1",
            "'a'",
            "{a:1}",
        ] {
            let mut reader = Reader::new(bad);
            assert!(reader.skip().and_then(|()| reader.end()).is_err(), "{bad}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Reader::new(&nested(MAX_DEPTH)).skip().is_ok());
        assert!(Reader::new(&nested(MAX_DEPTH + 1)).skip().is_err());
        assert!(Reader::new(&"[".repeat(1_000_000)).skip().is_err());
    }

    #[test]
    fn compact_keeps_the_content_of_strings() {
        let compact = |text| Reader::new(text).compact().expect("because it is JSON");
        assert_eq!(&*compact(" [1] "), "[1]");
        assert_eq!(&*compact(" [ ] , 2"), "[]");
        assert_eq!(&*compact(" 12 "), "12");
        assert_eq!(
            &*compact("{ \"a b\" : [ 1 ,\n \"\\\" < > & \u{2028}\u{2029}\u{2027}\" ] }"),
            "{\"a b\":[1,\"\\\" \\u003c \\u003e \\u0026 \\u2028\\u2029\u{2027}\"]}"
        );
    }

    #[test]
    fn strings_are_read_as_go_reads_them() {
        let text = |json: &str| Reader::new(json).string("x").map(Cow::into_owned);
        assert_eq!(text(r#""a\/\b\f\n\r\t\u0041\ud83d\ude00""#).as_deref(), Ok("a/\x08\x0c\n\r\tA\u{1f600}"));
        assert_eq!(text(r#""\ud83d!\ude00""#).as_deref(), Ok("\u{fffd}!\u{fffd}"));
        assert_eq!(text("null").as_deref(), Ok(""));
        assert_eq!(text("1"), Err(Fault::Type { field: "x", found: "number".into() }));
    }
}
