//! Word wrap of sentences.

/// Breaks the lines of a text at spaces so that none is longer than `width` characters, as far as words allow.
pub fn wrap(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 40);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        wrap_line(&mut out, line, width);
    }
    out
}

fn wrap_line(out: &mut String, line: &str, width: usize) {
    let is_space = |c: char| c.is_whitespace() && c != '\u{a0}';
    let mut column = 0;
    let mut rest = line;
    while !rest.is_empty() {
        let word_start = rest.find(|c| !is_space(c)).unwrap_or(rest.len());
        let (space, after) = rest.split_at(word_start);
        let (word, after) = after.split_at(after.find(is_space).unwrap_or(after.len()));
        let (space_width, word_width) = (space.chars().count(), word.chars().count());
        // Quirk: a word that follows a single space at the start of a line stays there.
        let before = column + space_width;
        if before + word_width > width && before > 1 {
            if !word.is_empty() {
                out.push('\n');
                out.push_str(word);
                column = word_width;
            }
        } else {
            out.push_str(space);
            out.push_str(word);
            column = before + word_width;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_at_spaces() {
        for (text, width, expected) in [
            ("", 5, ""),
            ("a b c d", 3, "a b\nc d"),
            ("one two three", 7, "one two\nthree"),
            ("one two three", 8, "one two\nthree"),
            ("superlongword a", 5, "superlongword\na"),
            ("a superlongword", 5, "a\nsuperlongword"),
            ("two superlongword b", 5, "two\nsuperlongword\nb"),
            (" superlongword", 5, " superlongword"),
            (" abc", 3, " abc"),
            ("abc defg", 3, "abc\ndefg"),
            ("keep\nlines", 20, "keep\nlines"),
            ("non\u{a0}breaking space", 12, "non\u{a0}breaking\nspace"),
            ("trailing   ", 8, "trailing"),
        ] {
            assert_eq!(wrap(text, width), expected, "{text:?}");
        }
    }
}
