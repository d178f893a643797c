//! Sensitive strings that are taken out of free texts of a report: warnings, messages of checks, ids of imported objects and
//! generated configuration.
//!
//! Values never get into a report with their content, see `tree`. This is a second barrier for texts that other parts of the
//! program, providers and authors of modules have written.

use ecow::EcoString;
use yuba_value::quote;

use super::{Report, SENSITIVE};
use crate::change::node::{Data, Node};

/// Minimum length in bytes of a string that is removed from texts. Shorter ones occur in other words.
const MIN_LENGTH: usize = 6;

/// Sensitive strings.
#[derive(Default)]
pub(super) struct Secrets {
    found: Vec<EcoString>,
}

impl Secrets {
    /// Collects the strings and numbers in sensitive parts.
    pub(super) fn collect(&mut self, node: &Node) {
        match &node.data {
            _ if node.sensitive => self.collect_all(node),
            Data::Sequence(items) => items.iter().for_each(|item| self.collect(item)),
            Data::Members(members) => members.iter().for_each(|(_, item)| self.collect(item)),
            Data::Text(_) | Data::Number(_) | Data::Null | Data::Unknown | Data::Bool(_) => {}
        }
    }

    fn collect_all(&mut self, node: &Node) {
        match &node.data {
            Data::Sequence(items) => items.iter().for_each(|item| self.collect_all(item)),
            Data::Members(members) => members.iter().for_each(|(_, item)| self.collect_all(item)),
            Data::Text(text) | Data::Number(text) => self.add(text),
            Data::Null | Data::Unknown | Data::Bool(_) => {}
        }
    }

    fn add(&mut self, text: &EcoString) {
        let mut push = |text: EcoString| {
            if text.len() >= MIN_LENGTH {
                self.found.push(text);
            }
        };
        push(text.clone());
        if text.contains('\n') {
            text.lines().for_each(|line| push(line.trim().into()));
        }
        let quoted = quote(text);
        let inner = quoted.trim_matches('"');
        if inner != text.as_str() {
            push(inner.into());
        }
    }

    /// Replaces the sensitive strings in the texts of a report.
    pub(super) fn remove_from(self, report: &mut Report) {
        let mut texts: Vec<&mut EcoString> = Vec::new();
        for warning in &mut report.warnings {
            texts.extend([&mut warning.summary, &mut warning.detail]);
        }
        for check in &mut report.checks {
            texts.extend(&mut check.messages);
        }
        for change in report.changes.iter_mut().chain(&mut report.drift) {
            texts.extend(change.import.iter_mut().chain(&mut change.generated));
        }
        texts.retain(|text| text.len() >= MIN_LENGTH);
        if texts.is_empty() || self.found.is_empty() {
            return;
        }
        let sorted = SortedSecrets::new(self.found);
        for text in texts {
            if let Some(clean) = sorted.replaced(text) {
                *text = clean;
            }
        }
    }
}

/// Strings in order, and for each the longest other one that it begins with: one search per position of a text finds all of them
/// that begin there.
struct SortedSecrets {
    strings: Vec<EcoString>,
    prefix: Vec<Option<usize>>,
}

impl SortedSecrets {
    fn new(mut strings: Vec<EcoString>) -> SortedSecrets {
        strings.sort_unstable();
        strings.dedup();
        let mut prefix = Vec::with_capacity(strings.len());
        let mut above: Vec<usize> = Vec::new();
        for (at, text) in strings.iter().enumerate() {
            while above.last().is_some_and(|last| !text.starts_with(strings[*last].as_str())) {
                above.pop();
            }
            prefix.push(above.last().copied());
            above.push(at);
        }
        SortedSecrets { strings, prefix }
    }

    /// The length of the longest string that a text begins with.
    fn longest(&self, text: &str) -> Option<usize> {
        let mut at = self.strings.partition_point(|secret| secret.as_str() <= text).checked_sub(1);
        while let Some(index) = at {
            if text.starts_with(self.strings[index].as_str()) {
                return Some(self.strings[index].len());
            }
            at = self.prefix[index];
        }
        None
    }

    /// The text without the strings, or `None` if it does not contain any of them.
    fn replaced(&self, text: &str) -> Option<EcoString> {
        let mut out: Option<EcoString> = None;
        let (mut at, mut copied) = (0, 0);
        while at < text.len() {
            match self.longest(&text[at..]) {
                Some(length) => {
                    let out = out.get_or_insert_with(EcoString::new);
                    out.push_str(&text[copied..at]);
                    out.push_str(SENSITIVE);
                    at += length;
                    copied = at;
                }
                None => at += text[at..].chars().next().map_or(1, char::len_utf8),
            }
        }
        if let Some(out) = &mut out {
            out.push_str(&text[copied..]);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_string_is_replaced_wherever_it_begins() {
        let sorted =
            SortedSecrets::new(["secret", "secret-1", "secret-0-long", "other!"].map(EcoString::from).to_vec());
        assert_eq!(sorted.replaced("nothing here"), None);
        let replaced = sorted.replaced("a secret-1, secret-2, é other! and secret-0-lon").unwrap_or_default();
        let s = SENSITIVE;
        assert_eq!(replaced, format!("a {s}, {s}-2, é {s} and {s}-0-lon"));
    }
}
