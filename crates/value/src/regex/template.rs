//! Replacement templates.

use ecow::EcoString;

use super::Match;

/// Reference after a dollar sign.
enum Reference<'t> {
    Number(usize),
    Name(&'t str),
}

/// Appends the template with the groups of a match put in.
pub(super) fn expand(template: &str, names: &[Option<EcoString>], found: &Match, haystack: &str, out: &mut String) {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        // Anything else than a reference leaves the dollar sign as it is.
        let Some((reference, after)) = reference(rest) else {
            out.push('$');
            continue;
        };
        rest = after;
        let text = match reference {
            Reference::Number(group) => found.text(group, haystack),
            // Of groups with the same name the first counts that took part.
            Reference::Name(name) => (0..names.len())
                .filter(|i| names[*i].as_deref() == Some(name))
                .find_map(|group| found.text(group, haystack)),
        };
        out.push_str(text.unwrap_or_default());
    }
    out.push_str(rest);
}

/// A leading `name` (as long as possible) or `{name}`, and what follows.
fn reference(text: &str) -> Option<(Reference<'_>, &str)> {
    let (braced, body) = match text.strip_prefix('{') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let end = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
    let (name, after) = body.split_at(end);
    if name.is_empty() {
        return None;
    }
    let after = if braced { after.strip_prefix('}')? } else { after };
    let numeric = name.bytes().all(|b| b.is_ascii_digit()) && (name.len() == 1 || !name.starts_with('0'));
    let number = if numeric && name.len() <= 9 { name.parse().ok() } else { None };
    Some((number.map_or(Reference::Name(name), Reference::Number), after))
}
