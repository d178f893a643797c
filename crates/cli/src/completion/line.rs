//! The words of a line up to the cursor, as POSIX shells split them.

/// A line up to the cursor.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The words before the cursor, without the name of the executable and without quotes.
    pub(super) words: Vec<String>,
    /// The word at the cursor.
    pub(super) current: Word,
}

/// The word at the cursor.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    /// As typed.
    pub(super) raw: String,
    /// Without quotes.
    pub(super) text: String,
    /// The quote that is still open.
    pub(super) quote: Option<char>,
}

impl Line {
    /// Splits a line. Expansions stay as they are.
    pub(super) fn parse(line: &str) -> Line {
        let mut words = Vec::new();
        let mut word = Word::default();
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            if word.quote.is_none() && c.is_whitespace() {
                if !word.raw.is_empty() {
                    words.push(std::mem::take(&mut word).text);
                }
                continue;
            }
            word.raw.push(c);
            match (c, word.quote) {
                (c, Some(quote)) if c == quote => word.quote = None,
                ('\'' | '"', None) => word.quote = Some(c),
                ('\\', None | Some('"')) => {
                    let Some(escaped) = chars.next() else { break };
                    word.raw.push(escaped);
                    if word.quote.is_some() && !matches!(escaped, '"' | '\\' | '$' | '`') {
                        word.text.push('\\');
                    }
                    word.text.push(escaped);
                }
                _ => word.text.push(c),
            }
        }
        let program = usize::from(!words.is_empty());
        Line { words: words.split_off(program), current: word }
    }
}

impl Word {
    /// A completed word in the form that the shell reads, after the typed part: in the open quote, or with escapes.
    pub(super) fn quoted(&self, text: &str) -> String {
        let mut quoted = String::with_capacity(text.len());
        for c in text.chars() {
            match (self.quote, c) {
                // Neither can stand in the quote: it is closed and opened again. In double quotes, a history expansion begins with "!".
                (Some('\''), '\'') => quoted.push_str("'\\''"),
                (Some('"'), '!') => quoted.push_str("\"'!'\""),
                (Some('"'), '"' | '\\' | '$' | '`') => quoted.extend(['\\', c]),
                (Some(_), c) => quoted.push(c),
                (None, c) if c.is_alphanumeric() || "-_=./:,@%+~".contains(c) => quoted.push(c),
                (None, c) => quoted.extend(['\\', c]),
            }
        }
        quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, words: &[&str], text: &str, quote: Option<char>) {
        let parsed = Line::parse(line);
        assert_eq!(
            (parsed.words.as_slice(), &*parsed.current.text, parsed.current.quote),
            (&*words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), text, quote),
            "{line}"
        );
    }

    #[test]
    fn lines_are_split_like_a_shell_does() {
        check("yuba", &[], "yuba", None);
        check("yuba ", &[], "", None);
        check("yuba state  sh", &["state"], "sh", None);
        check("yuba taint 'a.b[\"x\"", &["taint"], "a.b[\"x\"", Some('\''));
        check("yuba taint \"a.b[\\\"x", &["taint"], "a.b[\"x", Some('"'));
        check("yuba taint a.b[\\\"x\\\"] -tar", &["taint", "a.b[\"x\"]"], "-tar", None);
    }

    #[test]
    fn candidates_are_quoted_like_the_word() {
        let word = |quote| Word { quote, ..Word::default() };
        assert_eq!(word(None).quoted("a.b[\"x y\"]"), "a.b\\[\\\"x\\ y\\\"\\]");
        assert_eq!(word(Some('\'')).quoted("a.b[\"x\"]"), "a.b[\"x\"]");
        assert_eq!(word(Some('"')).quoted("a.b[\"x\"]"), "a.b[\\\"x\\\"]");
        assert_eq!(word(Some('\'')).quoted("a'; b; '!"), "a'\\''; b; '\\''!");
        assert_eq!(word(Some('"')).quoted("a!b$c"), "a\"'!'\"b\\$c");
        assert_eq!(word(None).quoted("a!b'c"), "a\\!b\\'c");
    }

    #[test]
    fn quoted_candidates_are_one_word() {
        let hostile = "a'; touch x; '$(id)`id`\"; b \\ !c *?[d] {e,f} &|<>(#";
        for quote in [None, Some('\''), Some('"')] {
            let open = quote.map(String::from).unwrap_or_default();
            let quoted = Word { quote, ..Word::default() }.quoted(hostile);
            check(&format!("yuba show {open}{quoted}{open} "), &["show", hostile], "", None);
        }
    }
}
