//! Writes JSON, indented or without white space, as Go's `encoding/json` does.

use std::{fmt, io};

use crate::object::RawJson;

pub(crate) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    indented: bool,
    depth: usize,
    /// Nothing was written yet into what is open.
    fresh: bool,
    /// A text on its way into the output.
    scratch: String,
    pieces: Option<Pieces<'o>>,
}

/// Receiver of finished pieces of the output.
pub(crate) struct Pieces<'o> {
    pub(crate) size: usize,
    pub(crate) take: &'o mut dyn FnMut(&[u8]) -> io::Result<()>,
    /// After a failure nothing more is given away.
    pub(crate) result: io::Result<()>,
}

impl Pieces<'_> {
    fn give(&mut self, out: &mut Vec<u8>) {
        if self.result.is_ok() {
            self.result = (self.take)(out);
        }
        out.clear();
    }
}

impl<'o> Writer<'o> {
    pub(crate) fn indented(out: &'o mut Vec<u8>) -> Writer<'o> {
        Writer { out, indented: true, depth: 0, fresh: true, scratch: String::new(), pieces: None }
    }
    /// The same; what is written does not gather in `out` but goes on in pieces.
    pub(crate) fn in_pieces(out: &'o mut Vec<u8>, pieces: Pieces<'o>) -> Writer<'o> {
        Writer { pieces: Some(pieces), ..Writer::indented(out) }
    }
    /// Passes on the remaining output. Fails if any write failed.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Some(mut pieces) = self.pieces else { return Ok(()) };
        pieces.give(self.out);
        pieces.result
    }
    pub(crate) fn compact(out: &'o mut Vec<u8>) -> Writer<'o> {
        Writer { out, indented: false, depth: 0, fresh: true, scratch: String::new(), pieces: None }
    }

    fn line(&mut self) {
        if self.indented {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.depth, b' ');
        }
    }
    fn open(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.depth += 1;
        self.fresh = true;
    }
    fn close(&mut self, bracket: u8) {
        self.depth -= 1;
        if !self.fresh {
            self.line();
        }
        self.out.push(bracket);
        self.fresh = false;
        if let Some(pieces) = self.pieces.as_mut().filter(|pieces| self.out.len() >= pieces.size) {
            pieces.give(self.out);
        }
    }
    /// The end of a file.
    pub(crate) fn end_of_file(&mut self) {
        // Quirk: there is an empty line at the end.
        self.out.extend_from_slice(b"\n\n");
    }

    /// Before every element of an array.
    pub(crate) fn item(&mut self) {
        if !self.fresh {
            self.out.push(b',');
        }
        self.fresh = false;
        self.line();
    }
    /// Before every value of an object.
    pub(crate) fn key(&mut self, key: &str) {
        self.item();
        self.text(key);
        self.out.push(b':');
        if self.indented {
            self.out.push(b' ');
        }
    }
    pub(crate) fn object(&mut self, write: impl FnOnce(&mut Self)) {
        self.open(b'{');
        write(self);
        self.close(b'}');
    }
    pub(crate) fn array(&mut self, write: impl FnOnce(&mut Self)) {
        self.open(b'[');
        write(self);
        self.close(b']');
    }
    pub(crate) fn text(&mut self, text: &str) {
        if text.bytes().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\' | b'<' | b'>' | b'&')) {
            self.out.push(b'"');
            self.out.extend_from_slice(text.as_bytes());
            self.out.push(b'"');
        } else {
            self.out.extend_from_slice(yuba_value::json::quote(text).as_bytes());
        }
    }
    /// A text that is shown.
    pub(crate) fn shown(&mut self, shown: impl fmt::Display) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        // Writing to a string does not fail.
        let _ = fmt::Write::write_fmt(&mut scratch, format_args!("{shown}"));
        self.text(&scratch);
        self.scratch = scratch;
    }
    /// A number or a word.
    pub(crate) fn bare(&mut self, shown: impl fmt::Display) {
        // Writing to a vector does not fail.
        let _ = std::io::Write::write_fmt(self.out, format_args!("{shown}"));
    }
    pub(crate) fn raw(&mut self, raw: &RawJson) {
        if self.indented {
            self.indent(raw.as_str().as_bytes());
        } else {
            self.out.extend_from_slice(raw.as_str().as_bytes());
        }
    }
    /// `"key": "text"` unless the text is empty.
    pub(crate) fn optional_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.key(key);
            self.text(text);
        }
    }
    /// `"key": true` if so.
    pub(crate) fn optional_flag(&mut self, key: &str, flag: bool) {
        if flag {
            self.key(key);
            self.bare("true");
        }
    }

    /// White space for compact JSON.
    fn indent(&mut self, raw: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = raw.get(at) {
            match byte {
                b'"' => {
                    let mut end = at + 1;
                    while let Some(&b) = raw.get(end) {
                        end += if b == b'\\' { 2 } else { 1 };
                        if b == b'"' {
                            break;
                        }
                    }
                    self.out.extend_from_slice(&raw[at..end.min(raw.len())]);
                    at = end;
                    continue;
                }
                b'{' | b'[' => {
                    self.out.push(byte);
                    let close = byte + 2;
                    if raw.get(at + 1) == Some(&close) {
                        self.out.push(close);
                        at += 2;
                        continue;
                    }
                    self.depth += 1;
                    self.line();
                }
                b'}' | b']' => {
                    self.depth -= 1;
                    self.line();
                    self.out.push(byte);
                }
                b',' => {
                    self.out.push(byte);
                    self.line();
                }
                b':' => self.out.extend_from_slice(b": "),
                _ => self.out.push(byte),
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn indented_and_compact() {
        let raw = RawJson::parse(r#"{"a":[],"b":{},"c":[1,"x,:{}[]\""],"d":{"e":null}}"#).expect("because it is JSON");
        let write = |w: &mut Writer<'_>| {
            w.object(|w| {
                w.key("<k>");
                w.array(|_| {});
                w.key("r");
                w.raw(&raw);
                w.optional_text("no", "");
                w.optional_flag("yes", true);
                w.key("n");
                w.array(|w| {
                    w.item();
                    w.bare(1);
                    w.item();
                    w.shown("é\n");
                });
            });
        };
        let mut out = Vec::new();
        write(&mut Writer::indented(&mut out));
        out.push(b'\n');
        write(&mut Writer::compact(&mut out));
        expect![[r#"
            {
              "\u003ck\u003e": [],
              "r": {
                "a": [],
                "b": {},
                "c": [
                  1,
                  "x,:{}[]\""
                ],
                "d": {
                  "e": null
                }
              },
              "yes": true,
              "n": [
                1,
                "é\n"
              ]
            }
            {"\u003ck\u003e":[],"r":{"a":[],"b":{},"c":[1,"x,:{}[]\""],"d":{"e":null}},"yes":true,"n":[1,"é\n"]}"#]]
        .assert_eq(&String::from_utf8(out).expect("because JSON is text"));
    }
}
