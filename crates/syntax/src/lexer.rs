//! The lexer: bytes to tokens, with a stack of modes for templates.
//!
//! One pass, linear on any input, lossless: the tokens' bytes put together are the input. Bytes that are not UTF-8,
//! characters outside the language and unterminated tokens become tokens of their own; the parser explains them.

use crate::token::{Token, TokenKind, TokenKind as K};

/// Kind of the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexMode {
    /// A configuration file.
    Config,
    /// One expression; its tokens are those of a configuration.
    Expression,
    /// A bare template, as in a template file: text unless `${` or `%{` says otherwise.
    Template,
}

/// Splits a text into tokens. Offsets are relative to `bytes`, which must be shorter than 4 GiB.
pub fn lex(bytes: &[u8], mode: LexMode) -> Vec<Token> {
    let mut lexer = Lexer {
        bytes,
        pos: 0,
        start: 0,
        // Real configurations have a token, whitespace included, every three bytes or so.
        tokens: Vec::with_capacity(bytes.len() / 3 + 2),
        modes: Vec::new(),
        mode: if mode == LexMode::Template { State::Bare } else { State::Normal },
        braces: 0,
        sequences: Vec::new(),
        heredocs: Vec::new(),
        no_comment_end_from: usize::MAX,
    };
    lexer.run();
    lexer.tokens
}

/// Whether a text is a name that can be written in expressions.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_ident_start) && chars.all(is_ident_continue)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Normal,
    Quoted,
    Heredoc,
    Bare,
}

struct Heredoc {
    /// The name that ends it, as a range of the input.
    marker: (usize, usize),
    /// Only whitespace was seen on this line so far, so that the closing name may come.
    at_line_start: bool,
}

struct Lexer<'s> {
    bytes: &'s [u8],
    pos: usize,
    /// Start of the current token.
    start: usize,
    tokens: Vec<Token>,
    mode: State,
    /// The states to return to.
    modes: Vec<State>,
    /// Number of open braces.
    braces: i64,
    /// For each open template sequence the brace count at which `}` ends it.
    sequences: Vec<i64>,
    heredocs: Vec<Heredoc>,
    /// From here on there is no `*/`: found once, so that many `/*` without end stay linear.
    no_comment_end_from: usize,
}

impl Lexer<'_> {
    fn run(&mut self) {
        if self.bytes.starts_with(b"\xef\xbb\xbf") {
            self.pos = 3;
            self.emit(K::Bom);
        }
        while self.pos < self.bytes.len() {
            self.start = self.pos;
            match self.mode {
                State::Normal => self.normal(),
                State::Quoted => self.quoted(),
                State::Heredoc | State::Bare => self.text(),
            }
        }
        self.start = self.pos;
        self.emit(K::Eof);
    }

    fn emit(&mut self, kind: TokenKind) {
        self.tokens.push(Token { kind, start: self.start as u32, end: self.pos as u32 });
        self.start = self.pos;
    }

    /// The byte this far from the current position; 0 past the end, which no rule looks for.
    fn at(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn advance(&mut self, by: usize, kind: TokenKind) {
        self.pos += by;
        self.emit(kind);
    }

    /// The scanner of OpenTofu stops where no rule applies. Quirk: all that remains is one token then.
    fn give_up(&mut self) {
        self.pos = self.bytes.len();
        let bare = self.mode == State::Bare && self.modes.is_empty();
        self.emit(if bare { K::TemplateText } else { K::Invalid });
    }

    fn enter(&mut self, state: State) {
        self.modes.push(self.mode);
        self.mode = state;
    }

    fn leave(&mut self) {
        self.mode = self.modes.pop().unwrap_or(State::Normal);
    }

    fn normal(&mut self) {
        let byte = self.bytes[self.pos];
        match byte {
            b' ' | b'\t' => {
                self.pos += self.bytes[self.pos..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
                self.emit(K::Whitespace);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.pos = self.ident_end(self.pos + 1);
                self.emit(K::Ident);
            }
            b'\n' => self.advance(1, K::Newline),
            b'\r' if self.at(1) == b'\n' => self.advance(2, K::Newline),
            b'0'..=b'9' => self.number(),
            b'"' => {
                self.advance(1, K::OpenQuote);
                self.enter(State::Quoted);
            }
            b'#' => self.line_comment(),
            b'/' if self.at(1) == b'/' => self.line_comment(),
            b'/' if self.at(1) == b'*' => self.block_comment(),
            b'{' => {
                self.braces += 1;
                self.advance(1, K::OpenBrace);
            }
            b'}' => self.close_brace(1),
            b'~' if self.at(1) == b'}' => self.close_brace(2),
            b'<' if self.at(1) == b'<' => self.heredoc_start(),
            b'.' if self.at(1) == b'.' && self.at(2) == b'.' => self.advance(3, K::Ellipsis),
            b'=' if self.at(1) == b'=' => self.advance(2, K::EqualEqual),
            b'=' if self.at(1) == b'>' => self.advance(2, K::FatArrow),
            b'!' if self.at(1) == b'=' => self.advance(2, K::NotEqual),
            b'>' if self.at(1) == b'=' => self.advance(2, K::GreaterEqual),
            b'<' if self.at(1) == b'=' => self.advance(2, K::LessEqual),
            b'&' if self.at(1) == b'&' => self.advance(2, K::And),
            b'|' if self.at(1) == b'|' => self.advance(2, K::Or),
            b':' if self.at(1) == b':' => self.advance(2, K::DoubleColon),
            _ => match symbol(byte) {
                Some(kind) => self.advance(1, kind),
                None => self.other(),
            },
        }
    }

    /// A name that starts outside ASCII, or a character the language does not know.
    fn other(&mut self) {
        if let Some(first) = char_at(self.bytes, self.pos).filter(|c| is_ident_start(*c)) {
            self.pos = self.ident_end(self.pos + first.len_utf8());
            return self.emit(K::Ident);
        }
        match utf8_len(&self.bytes[self.pos..]) {
            0 => self.advance(1, K::BadUtf8),
            len => self.advance(len, K::Invalid),
        }
    }

    fn ident_end(&self, mut pos: usize) -> usize {
        loop {
            match self.bytes.get(pos) {
                Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'-' | b'0'..=b'9') => pos += 1,
                Some(0x80..) => match char_at(self.bytes, pos).filter(|c| is_ident_continue(*c)) {
                    Some(c) => pos += c.len_utf8(),
                    None => return pos,
                },
                _ => return pos,
            }
        }
    }

    /// Digits, dots and exponents in any number, ending in a digit: the parser reports invalid numbers.
    fn number(&mut self) {
        let mut end = self.pos + 1;
        let mut pos = end;
        loop {
            match self.bytes.get(pos) {
                Some(b'0'..=b'9') => pos += 1,
                Some(b'.') => {
                    pos += 1;
                    continue;
                }
                Some(b'e' | b'E') => {
                    let sign = usize::from(matches!(self.bytes.get(pos + 1), Some(b'+' | b'-')));
                    if !self.bytes.get(pos + 1 + sign).is_some_and(u8::is_ascii_digit) {
                        break;
                    }
                    pos += sign + 2;
                }
                _ => break,
            }
            end = pos;
        }
        self.pos = end;
        self.emit(K::Number);
    }

    fn line_comment(&mut self) {
        let rest = &self.bytes[self.pos..];
        self.pos += rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |at| at + 1);
        self.emit(K::Comment);
    }

    fn block_comment(&mut self) {
        let content = self.pos + 2;
        if content < self.no_comment_end_from {
            if let Some(at) = self.bytes[content..].windows(2).position(|w| w == b"*/") {
                self.pos = content + at + 2;
                return self.emit(K::Comment);
            }
            self.no_comment_end_from = content;
        }
        self.advance(1, K::Slash);
    }

    fn close_brace(&mut self, len: usize) {
        let ends_sequence = self.sequences.last() == Some(&self.braces);
        self.braces -= 1;
        self.advance(len, if ends_sequence || len == 2 { K::TemplateSequenceEnd } else { K::CloseBrace });
        if ends_sequence {
            self.sequences.pop();
            self.leave();
        }
    }

    fn heredoc_start(&mut self) {
        let name = self.pos + 2 + usize::from(self.at(2) == b'-');
        if let Some(first) = char_at(self.bytes, name).filter(|c| is_ident_start(*c)) {
            let end = self.ident_end(name + first.len_utf8());
            let line_end = match self.bytes.get(end..) {
                Some([b'\n', ..]) => 1,
                Some([b'\r', b'\n', ..]) => 2,
                _ => 0,
            };
            if line_end > 0 {
                self.pos = end + line_end;
                self.emit(K::OpenHeredoc);
                self.heredocs.push(Heredoc { marker: (name, end), at_line_start: true });
                return self.enter(State::Heredoc);
            }
        }
        self.advance(1, K::Less);
    }

    /// `${` or `%{`, with or without `~`, if it stands here.
    fn sequence_start(&mut self) -> bool {
        let kind = match (self.at(0), self.at(1)) {
            (b'$', b'{') => K::InterpolationStart,
            (b'%', b'{') => K::DirectiveStart,
            _ => return false,
        };
        self.advance(2 + usize::from(self.at(2) == b'~'), kind);
        self.braces += 1;
        self.sequences.push(self.braces);
        if let Some(heredoc) = self.heredocs.last_mut() {
            heredoc.at_line_start = false;
        }
        self.enter(State::Normal);
        true
    }

    /// The length of `$${`, `%%{` and their forms with `~`, if one stands here.
    fn escape_len(&self) -> usize {
        match (self.at(0), self.at(1), self.at(2), self.at(3)) {
            (b'$', b'$', b'{', next) | (b'%', b'%', b'{', next) => 3 + usize::from(next == b'~'),
            _ => 0,
        }
    }

    fn quoted(&mut self) {
        match self.bytes[self.pos] {
            b'"' => {
                self.advance(1, K::CloseQuote);
                self.leave();
            }
            b'$' | b'%' => {
                if self.sequence_start() {
                    return;
                }
                match self.escape_len() {
                    0 if self.pos + 1 == self.bytes.len() => self.give_up(),
                    0 => self.advance(1, K::QuotedText),
                    len => self.advance(len, K::QuotedText),
                }
            }
            b'\r' | b'\n' => {
                self.pos += self.bytes[self.pos..].iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
                self.emit(K::QuotedNewline);
            }
            _ => {
                self.pos = self.quoted_text_end();
                if self.pos > self.start {
                    return self.emit(K::QuotedText);
                }
                match utf8_len(&self.bytes[self.pos..]) {
                    0 => self.advance(1, K::BadUtf8),
                    len => self.advance(len, K::Invalid),
                }
            }
        }
    }

    fn quoted_text_end(&self) -> usize {
        let mut pos = self.pos;
        loop {
            match self.bytes.get(pos) {
                None | Some(b'"' | b'$' | b'%' | b'\r' | b'\n') => return pos,
                Some(b'\\') => match self.bytes.get(pos + 1) {
                    None | Some(b'\r' | b'\n') => return pos,
                    Some(_) => match utf8_len(&self.bytes[pos + 1..]) {
                        0 => return pos,
                        len => pos += 1 + len,
                    },
                },
                Some(0x80..) => match utf8_len(&self.bytes[pos..]) {
                    0 => return pos,
                    len => pos += len,
                },
                Some(_) => pos += 1,
            }
        }
    }

    /// Literal text of heredocs and bare templates, one line at a time.
    fn text(&mut self) {
        if self.sequence_start() {
            return;
        }
        if matches!(self.at(0), b'$' | b'%') {
            match self.escape_len() {
                0 if self.pos + 1 == self.bytes.len() => return self.give_up(),
                // Quirk: the character between a lone `$` and the line end belongs to the `$`, valid or not.
                0 => self.pos += 1 + usize::from(matches!(self.at(2), b'\r' | b'\n')),
                len => {
                    self.pos += len;
                    if self.line_end() > 0 {
                        return self.end_line();
                    }
                }
            }
            return self.mid_line();
        }
        loop {
            match self.bytes.get(self.pos) {
                None | Some(b'$' | b'%') => break,
                Some(b'\r' | b'\n') => {
                    if self.line_end() > 0 {
                        return self.end_line();
                    }
                    break;
                }
                Some(0x80..) => match utf8_len(&self.bytes[self.pos..]) {
                    0 => break,
                    len => self.pos += len,
                },
                Some(_) => self.pos += 1,
            }
        }
        if self.pos > self.start {
            self.mid_line();
        } else if self.at(0) == b'\r' {
            self.give_up();
        } else {
            self.advance(1, K::BadUtf8);
        }
    }

    /// The length of the line end at the current position, or 0.
    fn line_end(&self) -> usize {
        match (self.at(0), self.at(1)) {
            (b'\n', _) => 1,
            (b'\r', b'\n') => 2,
            _ => 0,
        }
    }

    fn mid_line(&mut self) {
        if self.mode == State::Heredoc
            && let Some(heredoc) = self.heredocs.last_mut()
        {
            heredoc.at_line_start = false;
        }
        self.emit(K::TemplateText);
    }

    /// Text up to the current position, with the line end that follows; or the end of the heredoc.
    fn end_line(&mut self) {
        let line_end = self.line_end();
        if self.mode == State::Heredoc
            && let Some(heredoc) = self.heredocs.last_mut()
        {
            let marker = &self.bytes[heredoc.marker.0..heredoc.marker.1];
            if heredoc.at_line_start && trim_space(&self.bytes[self.start..self.pos]) == marker {
                self.heredocs.pop();
                self.emit(K::CloseHeredoc);
                self.advance(line_end, K::Newline);
                return self.leave();
            }
            heredoc.at_line_start = true;
        }
        self.advance(line_end, K::TemplateText);
    }
}

fn symbol(byte: u8) -> Option<TokenKind> {
    Some(match byte {
        b'[' => K::OpenBracket,
        b']' => K::CloseBracket,
        b'(' => K::OpenParen,
        b')' => K::CloseParen,
        b'.' => K::Dot,
        b',' => K::Comma,
        b'*' => K::Star,
        b'/' => K::Slash,
        b'%' => K::Percent,
        b'+' => K::Plus,
        b'-' => K::Minus,
        b'=' => K::Equal,
        b'<' => K::Less,
        b'>' => K::Greater,
        b'!' => K::Not,
        b'?' => K::Question,
        b':' => K::Colon,
        b'&' | b'|' | b'~' | b'^' => K::Bitwise,
        b';' => K::Semicolon,
        b'`' => K::Backtick,
        b'\'' => K::Apostrophe,
        _ => return None,
    })
}

/// Number of bytes that look like one UTF-8 character, 0 if they do not. Quirk: overlong forms and surrogates pass.
fn utf8_len(bytes: &[u8]) -> usize {
    let len = match bytes.first() {
        None | Some(0x80..=0xbf | 0xf8..) => return 0,
        Some(0x00..=0x7f) => 1,
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
    };
    match bytes.get(1..len) {
        Some(rest) if rest.iter().all(|b| b & 0xc0 == 0x80) => len,
        _ => 0,
    }
}

fn char_at(bytes: &[u8], pos: usize) -> Option<char> {
    let rest = bytes.get(pos..)?;
    let len = utf8_len(rest);
    std::str::from_utf8(rest.get(..len)?).ok()?.chars().next()
}

/// Characters with `ID_Start` and `ID_Continue` that lack their `XID` variants.
fn is_id_but_not_xid(c: char) -> bool {
    matches!(c, '\u{37a}' | '\u{309b}' | '\u{309c}' | '\u{fc5e}'..='\u{fc63}' | '\u{fdfa}' | '\u{fdfb}')
        || (matches!(c, '\u{fe70}'..='\u{fe7e}') && (c as u32).is_multiple_of(2))
}

fn is_ident_start(c: char) -> bool {
    c == '_'
        || unicode_ident::is_xid_start(c)
        || is_id_but_not_xid(c)
        || matches!(c, '\u{e33}' | '\u{eb3}' | '\u{ff9e}' | '\u{ff9f}')
}

fn is_ident_continue(c: char) -> bool {
    c == '-' || unicode_ident::is_xid_continue(c) || is_id_but_not_xid(c)
}

/// Without white space, as Unicode has it, at both ends. Bytes that are not UTF-8 are not white space.
fn trim_space(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.trim().as_bytes(),
        Err(_) => bytes.trim_ascii(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn show(bytes: &[u8], mode: LexMode) -> String {
        let tokens = lex(bytes, mode);
        let text = |t: &Token| format!("{:?}{:?}", t.kind, String::from_utf8_lossy(t.bytes(bytes)));
        tokens.iter().filter(|t| t.kind != K::Whitespace).map(text).collect::<Vec<_>>().join(" ")
    }

    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&show(text.as_bytes(), LexMode::Config));
    }

    #[test]
    fn operators_take_the_longest_form() {
        check(
            "a==b!=c>=d<=e&&f||!g=>h...i..::j:k",
            expect![[
                r#"Ident"a" EqualEqual"==" Ident"b" NotEqual"!=" Ident"c" GreaterEqual">=" Ident"d" LessEqual"<=" Ident"e" And"&&" Ident"f" Or"||" Not"!" Ident"g" FatArrow"=>" Ident"h" Ellipsis"..." Ident"i" Dot"." Dot"." DoubleColon"::" Ident"j" Colon":" Ident"k" Eof"""#
            ]],
        );
    }

    #[test]
    fn numbers_end_in_a_digit() {
        check(
            "1.5e+3 1.x 1e 1... 1.2.3 007",
            expect![[
                r#"Number"1.5e+3" Number"1" Dot"." Ident"x" Number"1" Ident"e" Number"1" Ellipsis"..." Number"1.2.3" Number"007" Eof"""#
            ]],
        );
    }

    #[test]
    fn names_may_have_dashes_and_any_letters() {
        check(
            "foo-bar _x größe 名前 -a",
            expect![[r#"Ident"foo-bar" Ident"_x" Ident"größe" Ident"名前" Minus"-" Ident"a" Eof"""#]],
        );
    }

    #[test]
    fn comments_of_a_line_include_its_end() {
        check(
            "# a\r\n// b\n/* c\n*/ /* open",
            expect![[r##"Comment"# a\r\n" Comment"// b\n" Comment"/* c\n*/" Slash"/" Star"*" Ident"open" Eof"""##]],
        );
    }

    #[test]
    fn templates_nest() {
        check(
            r#""a ${ {b = "c${d}"} ~} %{~ if x }$${y} $z %% \" e""#,
            expect![[
                r#"OpenQuote"\"" QuotedText"a " InterpolationStart"${" OpenBrace"{" Ident"b" Equal"=" OpenQuote"\"" QuotedText"c" InterpolationStart"${" Ident"d" TemplateSequenceEnd"}" CloseQuote"\"" CloseBrace"}" TemplateSequenceEnd"~}" QuotedText" " DirectiveStart"%{~" Ident"if" Ident"x" TemplateSequenceEnd"}" QuotedText"$${" QuotedText"y} " QuotedText"$" QuotedText"z " QuotedText"%" QuotedText"%" QuotedText" \\\" e" CloseQuote"\"" Eof"""#
            ]],
        );
    }

    #[test]
    fn heredocs_end_at_their_name_alone_on_a_line() {
        check(
            "<<-E\n a ${b}E\n Ex\n  E \r\nc\n",
            expect![[
                r#"OpenHeredoc"<<-E\n" TemplateText" a " InterpolationStart"${" Ident"b" TemplateSequenceEnd"}" TemplateText"E\n" TemplateText" Ex\n" CloseHeredoc"  E " Newline"\r\n" Ident"c" Newline"\n" Eof"""#
            ]],
        );
        check("<<E\nno end\nE", expect![[r#"OpenHeredoc"<<E\n" TemplateText"no end\n" TemplateText"E" Eof"""#]]);
        check("<<E not a heredoc", expect![[r#"Less"<" Less"<" Ident"E" Ident"not" Ident"a" Ident"heredoc" Eof"""#]]);
    }

    #[test]
    fn errors_are_tokens() {
        check(
            "a & b ~ 'c' `d`; “e” \0",
            expect![[
                r#"Ident"a" Bitwise"&" Ident"b" Bitwise"~" Apostrophe"'" Ident"c" Apostrophe"'" Backtick"`" Ident"d" Backtick"`" Semicolon";" Invalid"“" Ident"e" Invalid"”" Invalid"\0" Eof"""#
            ]],
        );
        check(
            "\"never\nclosed",
            expect![[r#"OpenQuote"\"" QuotedText"never" QuotedNewline"\n" QuotedText"closed" Eof"""#]],
        );
        expect![[r#"Bom"\u{feff}" Ident"a" BadUtf8"�" OpenQuote"\"" BadUtf8"�" QuotedText"(" CloseQuote"\"" Eof"""#]]
            .assert_eq(&show(b"\xef\xbb\xbfa \xff \"\xe2\x28\"", LexMode::Config));
    }

    #[test]
    fn bare_templates_are_text_by_default() {
        expect![[r#"TemplateText"a \"b\" # c\n" InterpolationStart"${" Ident"d" TemplateSequenceEnd"}" TemplateText"\n" DirectiveStart"%{" Ident"if" Ident"e" TemplateSequenceEnd"}" TemplateText"$" Eof"""#]].assert_eq(&show(b"a \"b\" # c\n${d}\n%{ if e }$", LexMode::Template));
    }

    #[test]
    fn hostile_input_takes_linear_time() {
        for unit in ["/*", "\"${", "<<a\n", "<<a", "1.", "${", "\\", "\"", "{", "}", "~}", "$", "é", "\r"] {
            let text = unit.repeat(50_000);
            for mode in [LexMode::Config, LexMode::Template] {
                assert!(lex(text.as_bytes(), mode).len() <= text.len() + 1);
            }
        }
    }

    #[test]
    fn identifiers() {
        for (text, valid) in [("a", true), ("_a-1", true), ("é", true), ("1a", false), ("-a", false), ("", false)] {
            assert_eq!(is_identifier(text), valid, "{text}");
        }
    }

    proptest! {
        #[test]
        fn tokens_are_the_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_lossless(&bytes)?;
        }

        #[test]
        fn tokens_of_likely_text_are_the_text(text in r#"([a-z]|[ \n\r"$%{}~\\<#/*.0-9-]|<<E\n|\nE\n|\$\{|%\{){0,60}"#) {
            prop_assert_lossless(text.as_bytes())?;
        }
    }

    fn prop_assert_lossless(bytes: &[u8]) -> Result<(), TestCaseError> {
        for mode in [LexMode::Config, LexMode::Template] {
            let tokens = lex(bytes, mode);
            let mut at = 0;
            for token in &tokens {
                prop_assert_eq!(token.start, at);
                at = token.end;
            }
            prop_assert_eq!(at as usize, bytes.len());
            prop_assert_eq!(tokens.last().map(|t| t.kind), Some(K::Eof));
        }
        Ok(())
    }
}
