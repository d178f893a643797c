//! "Did you mean": the name that is close to a misspelt one.

/// The first of the names that is at most two edits away. Quirk: the first, not the closest.
pub fn similar_name<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names.into_iter().find(|name| distance_below_three(given, name))
}

fn distance_below_three(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 {
        return false;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
        if row.iter().all(|distance| *distance > 2) {
            return false;
        }
    }
    row[b.len()] < 3
}

#[cfg(test)]
mod tests {
    use super::similar_name;

    #[test]
    fn finds_the_first_name_within_two_edits() {
        let names = ["count", "for_each", "provider"];
        assert_eq!(similar_name("cuont", names), Some("count"));
        assert_eq!(similar_name("foreach", names), Some("for_each"));
        assert_eq!(similar_name("lifecycle", names), None);
        assert_eq!(similar_name("if", ["if", "for"]), Some("if"));
        assert_eq!(similar_name("ef", ["if", "for"]), Some("if"));
        assert_eq!(similar_name("", ["a"]), Some("a"));
    }
}
