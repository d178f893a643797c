//! "Did you mean": the name closest to one that does not exist.

use ecow::{EcoString, eco_format};

/// The closest of `names` that is at most two edits away, one if the name is short; of equally close ones the first in
/// alphabetical order.
pub fn closest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = match given.chars().count() {
        0..2 => return None,
        2..5 => 1,
        5..200 => 2,
        _ => return None,
    };
    names
        .into_iter()
        .filter(|name| name.len().abs_diff(given.len()) <= most * char::MAX.len_utf8())
        .filter_map(|name| Some((edits(given, name, most)?, name)))
        .min()
        .map(|(_, name)| name)
}

/// Number of characters that must be added, removed, replaced or swapped with their neighbour to turn one string into
/// the other; `None` if more than `most`.
fn edits(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut least = (above[j] + usize::from(a[i] != b[j])).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        if row.iter().all(|edits| *edits > most) {
            return None;
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|edits| *edits <= most)
}

/// `Did you mean "name"?` as a hint of a diagnostic, empty if no name is close.
pub fn suggest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> EcoString {
    closest(given, names).map(|name| eco_format!("Did you mean {name:?}?")).unwrap_or_default()
}

/// ` Did you mean "name"?`, or nothing.
pub fn did_you_mean<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    closest(given, names).map(|name| format!(" Did you mean {name:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_suggested() {
        assert_eq!(closest("uppr", ["lower", "upper"]), Some("upper"));
        assert_eq!(closest("rot", ["root", "cwd"]), Some("root"));
        assert_eq!(closest("foo", ["root", "cwd"]), None);
        assert_eq!(closest("nosuch", ["one", "split"]), None);
        assert_eq!(closest("jon", ["min", "join", "log"]), Some("join"));
        assert_eq!(closest("a", ["b"]), None);
        assert_eq!(closest("mya", ["may", "need"]), Some("may"));
        assert_eq!(closest("plna", ["apply", "plan"]), Some("plan"));
        assert_eq!(closest("äa", ["öa"]), Some("öa"));
    }
}
