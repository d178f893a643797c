//! Differences as data, and the list of those that have a reason.

use std::fs;

use serde_json::Value;

use crate::tidy::root;

/// One observed difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    /// Compared part: `errors`, `value`, `text`, `exit`, `plan`, `state`, `events`, `crash`.
    pub(super) aspect: String,
    /// Location in it: a JSON path without array positions and keys, or empty.
    pub(super) path: String,
    pub(super) ours: String,
    pub(super) theirs: String,
}

impl Difference {
    /// A difference outside of any document.
    pub(super) fn new(aspect: &str, ours: &str, theirs: &str) -> Difference {
        Difference { aspect: aspect.to_owned(), path: String::new(), ours: ours.to_owned(), theirs: theirs.to_owned() }
    }

    /// Key for comparing differences while a case is reduced.
    pub(super) fn class(&self) -> (String, String) {
        let words = self.path.is_empty() || self.path == "diagnostics";
        let path = if words { format!("{} / {}", self.ours, self.theirs) } else { self.path.clone() };
        (self.aspect.clone(), path)
    }

    /// One line for people.
    pub(super) fn show(&self) -> String {
        format!("{} {}\n    ours:   {}\n    theirs: {}", self.aspect, self.path, cut(&self.ours), cut(&self.theirs))
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() > 400 {
        format!("{} ...", text.chars().take(400).collect::<String>())
    } else {
        text.to_owned()
    }
}

/// The differences that are wanted, each with its reason.
pub(super) struct Explained(Vec<Value>);

impl Explained {
    /// Reads `conformance/explained-differences.jsonl`.
    pub(super) fn load() -> Result<Explained, String> {
        let path = root().join("conformance/explained-differences.jsonl");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let entry: Value =
                serde_json::from_str(line).map_err(|e| format!("{}:{}: {e}", path.display(), index + 1))?;
            if entry["reason"].as_str().is_none_or(str::is_empty) || entry["aspect"].is_null() {
                return Err(format!("{}:{}: an entry needs an aspect and a reason", path.display(), index + 1));
            }
            entries.push(entry);
        }
        Ok(Explained(entries))
    }

    /// The entry that explains this difference. Each field of an entry is the text, with `*` for any part, or a list of
    /// texts of which one fits; `source` and `also` are parts of the configuration and command.
    pub(super) fn reason(&self, difference: &Difference, source: &str) -> Option<usize> {
        self.0.iter().position(|entry| {
            one_of(&entry["aspect"], |text| text == difference.aspect)
                && one_of(&entry["path"], |text| fits(text, &difference.path))
                && one_of(&entry["ours"], |text| fits(text, &difference.ours))
                && one_of(&entry["theirs"], |text| fits(text, &difference.theirs))
                && one_of(&entry["source"], |text| source.contains(text))
                && one_of(&entry["also"], |text| source.contains(text))
        })
    }

    /// True where everything else in the same step follows from this difference.
    pub(super) fn ends_case(&self, index: usize) -> bool {
        self.0[index]["ends"] == true
    }

    /// The reason of an entry.
    pub(super) fn text(&self, index: usize) -> &str {
        self.0[index]["reason"].as_str().unwrap_or_default()
    }
}

/// Whether a text has the form of a pattern, in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| fits(rest, &text[at..]))
}

fn one_of(field: &Value, fits: impl Fn(&str) -> bool) -> bool {
    match field {
        Value::Null => true,
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).any(fits),
        other => other.as_str().is_some_and(fits),
    }
}

/// Leaves that differ between two documents, with their paths.
pub(super) fn compare(aspect: &str, ours: &Value, theirs: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(aspect, "", ours, theirs, &mut found);
    found
}

fn walk(aspect: &str, path: &str, ours: &Value, theirs: &Value, found: &mut Vec<Difference>) {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let next = if key.starts_with("#output.") || key.contains(".output.") {
                    format!("{path}[output]")
                } else if key.contains(['.', '[', '"']) || key.starts_with('#') {
                    format!("{path}[]")
                } else if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                walk(
                    aspect,
                    &next,
                    left.get(key).unwrap_or(&Value::Null),
                    right.get(key).unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (one, other) in left.iter().zip(right) {
                walk(aspect, &format!("{path}[]"), one, other, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(Difference {
            aspect: aspect.to_owned(),
            path: path.to_owned(),
            ours: shown(ours),
            theirs: shown(theirs),
        }),
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn documents_differ_at_their_leaves() {
        let ours = json!({"resources": {"#a.b": {"x": 1, "y": [1, 2]}}});
        let theirs = json!({"resources": {"#a.b": {"x": 2, "y": [1, 3]}}});
        let found = super::compare("state", &ours, &theirs);
        let paths: Vec<&str> = found.iter().map(|d| d.path.as_str()).collect();
        assert_eq!(paths, ["resources[].x", "resources[].y[]"]);
    }

    #[test]
    fn patterns_stand_for_any_part() {
        assert!(super::fits("error: no change found for *", "error: no change found for a.b"));
        assert!(super::fits("*a*c", "xabc"));
        assert!(!super::fits("a*c", "ab"));
    }

    #[test]
    fn every_explained_difference_has_a_reason() {
        assert!(super::Explained::load().is_ok());
    }
}
