//! Copies of sensitive values in the same object. Providers copy arguments to computed attributes, such as `output` of `terraform_data`,
//! and nothing marks the copy as sensitive.

use std::collections::HashSet;

use ecow::EcoString;
use yuba_value::quote;

use super::SENSITIVE;
use super::tree::{DiffKind, DiffNode};
use crate::change::json_text;
use crate::change::node::{Data, Node};

/// Minimum length in bytes of a string whose copies are hidden. Shorter strings are equal by chance.
const MIN_LENGTH: usize = 4;

/// Hides strings and lines of a difference that are equal to a sensitive string of the same object.
pub(super) fn hide(diff: &mut DiffNode, objects: &[&Node]) {
    let mut found = Found::default();
    objects.iter().for_each(|object| found.find(object));
    if !found.literals.is_empty() {
        found.hide(diff);
    }
}

/// Sensitive strings of an object.
#[derive(Default)]
struct Found {
    /// As literals of the language.
    literals: HashSet<EcoString>,
    /// Their lines, if they have several.
    lines: HashSet<EcoString>,
}

impl Found {
    /// Finds the sensitive parts of a value.
    fn find(&mut self, node: &Node) {
        match &node.data {
            _ if node.sensitive => self.take(node),
            Data::Sequence(items) => items.iter().for_each(|item| self.find(item)),
            Data::Members(members) => members.iter().for_each(|(_, item)| self.find(item)),
            Data::Text(_) | Data::Number(_) | Data::Null | Data::Unknown | Data::Bool(_) => {}
        }
    }

    /// Takes the strings of a sensitive value.
    fn take(&mut self, node: &Node) {
        match &node.data {
            Data::Sequence(items) => items.iter().for_each(|item| self.take(item)),
            Data::Members(members) => members.iter().for_each(|(_, item)| self.take(item)),
            Data::Text(text) if text.len() >= MIN_LENGTH => {
                self.literals.insert(quote(text));
                let lines = text.lines().filter(|line| text.contains('\n') && line.len() >= MIN_LENGTH);
                self.lines.extend(lines.map(EcoString::from));
                // A difference shows the content of a string with JSON.
                if let Some(content) = json_text::parse(text) {
                    self.take(&content);
                }
            }
            Data::Text(_) | Data::Number(_) | Data::Null | Data::Unknown | Data::Bool(_) => {}
        }
    }

    fn hide(&self, diff: &mut DiffNode) {
        self.hide_texts(diff, &self.literals);
        for child in &mut diff.children {
            if diff.kind == DiffKind::Text {
                self.hide_texts(child, &self.lines);
            } else {
                self.hide(child);
            }
        }
    }

    fn hide_texts(&self, diff: &mut DiffNode, secrets: &HashSet<EcoString>) {
        for text in diff.before.iter_mut().chain(&mut diff.after) {
            if secrets.contains(text) {
                *text = SENSITIVE.into();
                diff.sensitive = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use yuba_plan::Action;
    use yuba_value::{Mark, Value};

    use crate::report::json;
    use crate::report::tests::{new, null, old, report_of};
    use crate::testing::{change, object, plan};

    /// The report of an update from a sensitive value, which the provider has copied to `output`.
    fn updated_from(secret: &str) -> String {
        let mut update = change("terraform_data.a", Action::Update, old(Value::int(1)), new(Value::string("new")));
        update.before = object([
            ("id", Value::string("i")),
            ("input", Value::string(secret).mark(Mark::Sensitive)),
            ("output", Value::string(secret)),
            ("triggers_replace", null()),
        ]);
        json::report(&report_of(&plan(vec![update], Vec::new())))
    }

    #[test]
    fn copies_of_sensitive_strings_are_hidden() {
        for secret in ["hunter2", "two\nlines of it", "{\"key\":\"inner-secret\"}"] {
            let text = updated_from(secret);
            for part in ["hunter2", "lines of it", "inner-secret"] {
                assert!(!text.contains(part), "{text}");
            }
            assert!(text.contains("\"output\""), "{text}");
        }
    }
}
