//! Splitting the text of `TF_CLI_ARGS` into words, as a shell would without expanding anything.

/// The words of a line; `None` if a quote or an escape is left open.
///
/// Quirk: as in OpenTofu, an unquoted `;`, `&`, `|`, `<` or `>` ends the line silently, backquotes and `$(...)` group
/// without being run, and `(` without `$` before it is an error.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut open: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, open) {
            ('\\', Some('\'')) => word.get_or_insert_default().push(c),
            ('\\', _) => word.get_or_insert_default().push(chars.next()?),
            ('\'' | '"', Some(quote)) if c == quote => open = None,
            ('\'' | '"', None) => {
                open = Some(c);
                word.get_or_insert_default();
            }
            ('`', Some('`')) => {
                open = None;
                word.get_or_insert_default().push(c);
            }
            (')', Some('(')) => {
                open = None;
                word.get_or_insert_default().push(c);
            }
            ('`', None) => {
                open = Some(c);
                word.get_or_insert_default().push(c);
            }
            ('(', None) => {
                let word = word.as_mut().filter(|word| word.ends_with('$'))?;
                open = Some(c);
                word.push(c);
            }
            (')', None) => return None,
            (' ' | '\t' | '\r' | '\n', None) => words.extend(word.take()),
            (';' | '&' | '|' | '<' | '>', None) => {
                // Quirk: `2>file`: the digit belongs to the redirection.
                if c == '>' && word.as_ref().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
                    word = None;
                }
                break;
            }
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    open.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_in_a_shell() {
        for (line, expected) in [
            ("", Some(vec![])),
            ("  -a  -b\t-c ", Some(vec!["-a", "-b", "-c"])),
            (r#"-var 'a=b c' -var="x y""#, Some(vec!["-var", "a=b c", "-var=x y"])),
            (r#"a\ b "c\"d" 'e\f'"#, Some(vec!["a b", "c\"d", "e\\f"])),
            (r#"'' """#, Some(vec!["", ""])),
            ("a $(b c) `d e`", Some(vec!["a", "$(b c)", "`d e`"])),
            ("a; b", Some(vec!["a"])),
            ("a 2>b", Some(vec!["a"])),
            ("'a", None),
            ("a\\", None),
            ("(a)", None),
        ] {
            let got = split(line);
            let got = got.as_ref().map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(got, expected, "{line}");
        }
    }
}
