//! Copies of sensitive values in the same object. Providers copy arguments to computed attributes, such as `output` of `terraform_data`,
//! and nothing marks the copy as sensitive.

use std::collections::HashSet;

use ecow::EcoString;
use yuba_value::quote;

use super::SENSITIVE;
use super::tree::{DiffKind, DiffNode};
use crate::change::json_text;
use crate::change::node::{Data, Node};

/// Minimum length in bytes of a string whose copies are hidden in every attribute. Shorter strings, numbers and bools are equal by chance:
/// their copies are hidden in attributes that only the provider sets.
const MIN_LENGTH: usize = 4;

/// Hides strings and lines of a difference that are equal to a sensitive string of the same object.
pub(super) fn hide(diff: &mut DiffNode, objects: &[&Node]) {
    let mut found = Found::default();
    objects.iter().for_each(|object| found.find(object));
    if !found.literals.is_empty() || !found.short.is_empty() {
        found.hide(diff, Setter::Anyone);
    }
}

/// Who sets an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setter {
    /// The configuration or the provider.
    Anyone,
    /// Only the provider.
    Provider,
}

/// Sensitive values of an object.
#[derive(Default)]
struct Found {
    /// As literals of the language.
    literals: HashSet<EcoString>,
    /// The lines of strings that have several.
    lines: HashSet<EcoString>,
    /// Literals that can be equal by chance.
    short: HashSet<EcoString>,
    /// Lines that can be equal by chance.
    short_lines: HashSet<EcoString>,
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
            Data::Number(text) => {
                self.short.insert(text.clone());
            }
            Data::Bool(value) => {
                self.short.insert(if *value { "true" } else { "false" }.into());
            }
            Data::Text(text) if text.is_empty() => {}
            Data::Text(text) => {
                let is_long = |text: &str| text.len() >= MIN_LENGTH;
                if is_long(text) { &mut self.literals } else { &mut self.short }.insert(quote(text));
                for line in text.lines().filter(|line| text.contains('\n') && !line.is_empty()) {
                    if is_long(line) { &mut self.lines } else { &mut self.short_lines }.insert(line.into());
                }
                // A difference shows the content of a string with JSON.
                if let Some(content) = json_text::parse(text) {
                    self.take(&content);
                }
            }
            Data::Null | Data::Unknown => {}
        }
    }

    fn hide(&self, diff: &mut DiffNode, setter: Setter) {
        let setter = if diff.computed { Setter::Provider } else { setter };
        self.hide_texts(diff, setter, (&self.literals, &self.short));
        for child in &mut diff.children {
            if diff.kind == DiffKind::Text {
                self.hide_texts(child, setter, (&self.lines, &self.short_lines));
            } else {
                self.hide(child, setter);
            }
        }
    }

    fn hide_texts(&self, diff: &mut DiffNode, setter: Setter, secrets: (&HashSet<EcoString>, &HashSet<EcoString>)) {
        let (long, short) = secrets;
        for text in diff.before.iter_mut().chain(&mut diff.after) {
            if long.contains(text) || (setter == Setter::Provider && short.contains(text)) {
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

    use super::*;
    use crate::report::NodeName;
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

    #[test]
    fn copies_of_short_values_are_hidden_where_only_the_provider_writes() {
        for secret in [Value::string("x"), Value::int(7), Value::bool(true)] {
            let mut update = change("terraform_data.a", Action::Update, old(Value::int(1)), new(Value::string("new")));
            update.before = object([
                ("id", Value::string("i")),
                ("input", secret.clone().mark(Mark::Sensitive)),
                ("output", secret.clone()),
                ("triggers_replace", secret.clone()),
            ]);
            let report = report_of(&plan(vec![update], Vec::new()));
            let before = |name: &str| {
                let is_it = |node: &&DiffNode| matches!(&node.name, Some(NodeName::Text(text)) if text == name);
                report.changes[0].diff.children.iter().find(is_it).and_then(|node| node.before.clone())
            };
            assert_eq!(before("output").as_deref(), Some(SENSITIVE), "{secret:?}");
            assert_ne!(before("triggers_replace").as_deref(), Some(SENSITIVE), "equal by chance: {secret:?}");
        }
    }
}
