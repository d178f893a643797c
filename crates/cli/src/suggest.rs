//! "Did you mean": the name that is close to what was typed.

/// The first candidate that is at most two edits away.
pub(crate) fn similar<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().find(|candidate| distance(given, candidate) < 3)
}

/// Levenshtein distance in characters. Long input cannot be close to any name we have, so it is not measured.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_edits_are_close() {
        assert_eq!(similar("plna", ["apply", "plan"]), Some("plan"));
        assert_eq!(similar("foo", ["fmt"]), Some("fmt"));
        assert_eq!(similar("banana", ["plan", "fmt"]), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
