//! One-to-one case mapping of characters, as the reference implementation does it.
//!
//! Texts keep their number of characters: `ß` has no upper case, and `ŉ` stays as it is. Characters that got their
//! case only after Unicode 15.0 count as having none.

/// The upper case character, or the character itself.
pub(crate) fn upper(c: char) -> char {
    let code = c as u32;
    match code {
        // Greek letters with iota subscript: the full mapping is two characters, the simple one is the title case form.
        0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7 => shifted(c, 8),
        0x1FB3 | 0x1FC3 | 0x1FF3 => shifted(c, 9),
        _ => single(c, c.to_uppercase()),
    }
}

/// The lower case character, or the character itself.
pub(crate) fn lower(c: char) -> char {
    if c == '\u{130}' { 'i' } else { single(c, c.to_lowercase()) }
}

/// The title case character, or the character itself. Differs from upper case for digraphs and Georgian letters.
pub(crate) fn title(c: char) -> char {
    match c {
        '\u{1C4}'..='\u{1C6}' => '\u{1C5}',
        '\u{1C7}'..='\u{1C9}' => '\u{1C8}',
        '\u{1CA}'..='\u{1CC}' => '\u{1CB}',
        '\u{1F1}'..='\u{1F3}' => '\u{1F2}',
        '\u{10D0}'..='\u{10FF}' => c,
        _ => upper(c),
    }
}

fn shifted(c: char, by: u32) -> char {
    char::from_u32(c as u32 + by).unwrap_or(c)
}

fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(only), None) if !is_younger(c) && !is_younger(only) => only,
        _ => c,
    }
}

/// Whether the character got its case in Unicode 16 or later.
fn is_younger(c: char) -> bool {
    matches!(c,
        '\u{1C89}' | '\u{1C8A}' | '\u{A7CB}'..='\u{A7CF}' | '\u{A7D2}'..='\u{A7D5}' | '\u{A7DA}'..='\u{A7DC}'
        | '\u{10D50}'..='\u{10D85}' | '\u{16EA0}'..='\u{16ED3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_stays_one_character() {
        let map = |text: &str, f: fn(char) -> char| text.chars().map(f).collect::<String>();
        assert_eq!(map("ßŉᾀᾳİıſﬀǆა", upper), "ßŉᾈᾼİISﬀǄᲐ");
        assert_eq!(map("İÀΣǄᲐᾈ", lower), "iàσǆაᾀ");
        assert_eq!(map("ǆǄაᾀéa", title), "ǅǅაᾈÉA");
        assert_eq!(map("\u{19B}\u{264}\u{10D70}", upper), "\u{19B}\u{264}\u{10D70}");
    }
}
