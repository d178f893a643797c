//! Tokens of Rust: enough of the language to find words in code and not in comments or strings.

/// Kinds of tokens. Comments are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, a keyword or a lifetime.
    Word,
    /// A number.
    Number,
    /// A string or a character, with its quotes.
    String,
    /// One punctuation character, or two or three that mean something together.
    Sign,
}

/// A token and the line that it starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) text: &'t str,
    pub(crate) line: usize,
}

impl Token<'_> {
    /// Whether it is this word or sign.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != Kind::String && self.text == text
    }
}

/// Signs of several characters that rules look for. `>>` is not among them: it often closes two lists of types.
const SIGNS: [&str; 8] = ["..=", "::", "->", "=>", "==", "!=", "..", "&&"];

/// All tokens of a source file.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, comment(rest))
        } else if let Some(length) = string(rest) {
            (Some(Kind::String), length)
        } else if first.is_alphabetic() || first == '_' || first == '\'' {
            (Some(Kind::Word), first.len_utf8() + word(&rest[first.len_utf8()..]))
        } else if first.is_ascii_digit() {
            (Some(Kind::Number), word(rest))
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (Some(Kind::Sign), sign.map_or(first.len_utf8(), |sign| sign.len()))
        };
        let token = &rest[..length];
        found.extend(kind.map(|kind| Token { kind, text: token, line }));
        line += token.matches('\n').count();
        at += length;
    }
    found
}

/// The length of a word without its first character.
fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// The length of a block comment, which may contain nested comments.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string or character that a text begins with: `"a"`, `b"a"`, `r#"a"#`, `'a'`.
fn string(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let rest = text.strip_prefix(prefix).unwrap_or_default();
        let rest = if prefix.ends_with('r') { rest.trim_start_matches('#') } else { rest };
        rest.starts_with('"') || (prefix.len() < 2 && !prefix.ends_with('r') && rest.starts_with('\''))
    })?;
    let rest = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let content = &rest[hashes + 1..];
        let length = content.find(&end).map_or(content.len(), |at| at + end.len());
        return Some(prefix.len() + hashes + 1 + length);
    }
    let quote = rest.chars().next()?;
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(prefix.len() + at + c.len_utf8()),
            // A lifetime has no second quote. A character has exactly one before it.
            _ if quote == '\'' && !rest[at + c.len_utf8()..].starts_with('\'') && !rest.starts_with("'\\") => {
                return None;
            }
            _ => {}
        }
    }
    (quote == '"').then_some(text.len())
}

/// The tokens that are compiled into the product: without items for tests.
pub(crate) fn shipped(text: &str) -> Vec<Token<'_>> {
    let all = tokens(text);
    let mut found = Vec::with_capacity(all.len());
    let mut at = 0;
    while at < all.len() {
        match attribute(&all[at..]) {
            Some((length, true)) => at += length + item(&all[at + length..]),
            Some((length, false)) => {
                found.extend_from_slice(&all[at..at + length]);
                at += length;
            }
            None => {
                found.push(all[at]);
                at += 1;
            }
        }
    }
    found
}

/// The length of an attribute that tokens begin with, and whether it leaves its item to tests: `#[cfg(test)]`,
/// `#[cfg(all(test, ...))]`.
fn attribute(tokens: &[Token<'_>]) -> Option<(usize, bool)> {
    let [hash, open, ..] = tokens else { return None };
    if !hash.is("#") || !open.is("[") {
        return None;
    }
    let length = 1 + group(&tokens[1..]);
    let words: Vec<&str> = tokens[2..length].iter().map(|token| token.text).collect();
    let of_tests =
        words.starts_with(&["cfg", "(", "test", ")"]) || words.starts_with(&["cfg", "(", "all", "(", "test"]);
    Some((length, of_tests))
}

/// The length of the item, field or statement that tokens begin with, with its attributes.
fn item(tokens: &[Token<'_>]) -> usize {
    const ITEMS: [&str; 12] =
        ["fn", "mod", "use", "struct", "enum", "impl", "trait", "const", "static", "type", "let", "macro_rules"];
    let (mut at, mut is_item) = (0, false);
    while at < tokens.len() {
        if let Some((length, _)) = attribute(&tokens[at..]) {
            at += length;
            continue;
        }
        let token = &tokens[at];
        is_item |= ITEMS.contains(&token.text);
        if token.is(";") || (token.is(",") && !is_item) {
            return at + 1;
        }
        if token.is("}") {
            return at;
        }
        let is_block = token.is("{");
        at += if ["(", "[", "{"].iter().any(|open| token.is(open)) { group(&tokens[at..]) } else { 1 };
        if is_block {
            return at + usize::from(tokens.get(at).is_some_and(|token| token.is(";") || token.is(",")));
        }
    }
    at
}

/// The length of the brackets that tokens begin with, up to the closing one.
pub(crate) fn group(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if ["(", "[", "{"].iter().any(|open| token.is(open)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|close| token.is(close)) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + 1;
            }
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::{shipped, tokens};

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        assert_eq!(
            texts(
                "let a = \"http://x\\\"\"; b::c(/* d /* e */ */ 'f', '\\'', r#\"g\"h\"#, b'i', b\"j\", 1_0); // k\nl"
            ),
            [
                "let",
                "a",
                "=",
                "\"http://x\\\"\"",
                ";",
                "b",
                "::",
                "c",
                "(",
                "'f'",
                ",",
                "'\\''",
                ",",
                "r#\"g\"h\"#",
                ",",
                "b'i'",
                ",",
                "b\"j\"",
                ",",
                "1_0",
                ")",
                ";",
                "l"
            ]
        );
        assert_eq!(
            texts("fn f<'a>(x: &'a str) -> r#type"),
            ["fn", "f", "<", "'a", ">", "(", "x", ":", "&", "'a", "str", ")", "->", "r", "#", "type"]
        );
        assert_eq!(tokens("a\n\"b\nc\"\nd").iter().map(|token| token.line).collect::<Vec<_>>(), [1, 2, 4]);
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let code = |text| shipped(text).into_iter().map(|token| token.text).collect::<Vec<_>>().join(" ");
        assert_eq!(code("fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}"), "fn a ( ) { } fn c ( ) { }");
        assert_eq!(
            code("#[cfg(test)] #[path = \"x\"] mod d; struct S { #[cfg(test)] e: u8, f: u8 }"),
            "struct S { f : u8 }"
        );
        assert_eq!(
            code("#[cfg(all(test, unix))]\nfn g<A, B>(a: [u8; 2]) -> u8 { 1 }\n#[cfg(unix)] fn h() {}"),
            "# [ cfg ( unix ) ] fn h ( ) { }"
        );
        assert_eq!(code("#[cfg(test)] use a::{b, c}; use d;"), "use d ;");
    }
}
