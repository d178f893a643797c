//! The `ID` in the JSON of a lock.

/// The string value of `ID` in a JSON object, at its top level. `None` if the text is not an object or has no such
/// string.
pub(crate) fn lock_id(text: &str) -> Option<String> {
    let mut rest = text.trim_start().strip_prefix('{')?.trim_start();
    loop {
        let (name, after) = string(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        if name == "ID" {
            return string(value).map(|(id, _)| id);
        }
        rest = skip(value)?.trim_start().strip_prefix(',')?.trim_start();
    }
}

/// A string at the start of the text, and the text after it. Only escapes of quotes and backslashes are decoded: IDs
/// have no others.
fn string(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => match characters.next()?.1 {
                escaped @ ('"' | '\\' | '/') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
    None
}

/// The text after a value of any kind.
fn skip(text: &str) -> Option<&str> {
    if text.starts_with('"') {
        return string(text).map(|(_, rest)| rest);
    }
    let (mut depth, mut rest) = (0_u32, text);
    loop {
        let character = rest.chars().next()?;
        match character {
            '"' => rest = string(rest)?.1,
            ',' | '}' | ']' if depth == 0 => return Some(rest),
            _ => {
                match character {
                    '{' | '[' => depth += 1,
                    '}' | ']' => depth -= 1,
                    _ => {}
                }
                rest = &rest[character.len_utf8()..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lock_id;

    #[test]
    fn the_id_is_that_of_the_outer_object() {
        let text = r#" {"Info":"\"ID\":\"x\"", "Nested":{"ID":"inner","a":[1,{"b":"}"}]}, "N":12,"ID" : "outer"}"#;
        assert_eq!(lock_id(text).as_deref(), Some("outer"));
        assert_eq!(lock_id(r#"{"Who":"a"}"#), None);
        assert_eq!(lock_id("[]"), None);
        assert_eq!(lock_id(""), None);
    }
}
