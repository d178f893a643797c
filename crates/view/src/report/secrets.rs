//! Sensitive strings that are taken out of free texts of a report: warnings, messages of checks, ids of imported objects and
//! generated configuration.
//!
//! Values never get into a report with their content, see `tree`. This is a second barrier for texts that other parts of
//! Yuba, providers and authors of modules have written.

use std::collections::HashSet;

use ecow::EcoString;
use yuba_value::quote;

use super::{Report, SENSITIVE};
use crate::change::node::{Data, Node};

/// Minimum length in bytes of a string that is removed wherever it occurs. Shorter ones occur in other words: they are removed where they
/// stand alone.
const MIN_LENGTH: usize = 6;

/// Sensitive strings.
#[derive(Default)]
pub(super) struct Secrets {
    found: Vec<EcoString>,
    short: HashSet<EcoString>,
}

/// Texts in which sensitive strings are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prose {
    /// Sentences: a short string is removed where it is a word or a number.
    Sentences,
    /// Ids and configuration: a short string is removed where it is the whole text, or in quotes.
    Literals,
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
            } else if text.chars().any(char::is_alphanumeric) {
                self.short.insert(text);
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
        let mut texts: Vec<(Prose, &mut EcoString)> = Vec::new();
        for warning in &mut report.warnings {
            texts.extend([&mut warning.summary, &mut warning.detail].map(|text| (Prose::Sentences, text)));
        }
        for check in &mut report.checks {
            texts.extend(check.messages.iter_mut().map(|text| (Prose::Sentences, text)));
        }
        for change in report.changes.iter_mut().chain(&mut report.drift) {
            let literals = change.import.iter_mut().chain(&mut change.generated);
            texts.extend(literals.map(|text| (Prose::Literals, text)));
        }
        if texts.is_empty() || (self.found.is_empty() && self.short.is_empty()) {
            return;
        }
        let sorted = SortedSecrets::new(self.found, self.short);
        for (prose, text) in texts {
            if let Some(clean) = sorted.replaced(text, prose) {
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
    short: HashSet<EcoString>,
}

impl SortedSecrets {
    fn new(mut strings: Vec<EcoString>, short: HashSet<EcoString>) -> SortedSecrets {
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
        SortedSecrets { strings, prefix, short }
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

    /// The length of the longest short string that stands alone at a position of a text.
    fn alone(&self, text: &str, at: usize, prose: Prose) -> Option<usize> {
        if self.short.is_empty() {
            return None;
        }
        let before = text[..at].chars().next_back();
        let ends = text[at..].char_indices().map(|(end, _)| end).chain([text.len() - at]).skip(1);
        let stands_alone = |end: &usize| {
            let found = &text[at..at + end];
            let after = text[at + end..].chars().next();
            let is_apart = match prose {
                Prose::Sentences => {
                    let touches = |edge: Option<char>, other: Option<char>| {
                        edge.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
                    };
                    !touches(found.chars().next(), before) && !touches(found.chars().next_back(), after)
                }
                Prose::Literals => {
                    let is_edge = |other: Option<char>| other.is_none_or(|c| matches!(c, '"' | '\'' | '`'));
                    is_edge(before) && is_edge(after)
                }
            };
            is_apart && self.short.contains(found)
        };
        ends.take_while(|end| *end < MIN_LENGTH).filter(stands_alone).last()
    }

    /// The text without the strings, or `None` if it does not contain any of them.
    fn replaced(&self, text: &str, prose: Prose) -> Option<EcoString> {
        let mut out: Option<EcoString> = None;
        let (mut at, mut copied) = (0, 0);
        while at < text.len() {
            match self.longest(&text[at..]).or_else(|| self.alone(text, at, prose)) {
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
        let strings = ["secret", "secret-1", "secret-0-long", "other!"].map(EcoString::from).to_vec();
        let sorted = SortedSecrets::new(strings, HashSet::new());
        assert_eq!(sorted.replaced("nothing here", Prose::Sentences), None);
        let text = "a secret-1, secret-2, é other! and secret-0-lon";
        let replaced = sorted.replaced(text, Prose::Sentences).unwrap_or_default();
        let s = SENSITIVE;
        assert_eq!(replaced, format!("a {s}, {s}-2, é {s} and {s}-0-lon"));
    }

    #[test]
    fn short_strings_are_replaced_where_they_stand_alone() {
        let short = ["b", "12", "a-b", "a"].map(EcoString::from).into_iter().collect();
        let sorted = SortedSecrets::new(Vec::new(), short);
        let s = SENSITIVE;
        let sentence = |text: &str| sorted.replaced(text, Prose::Sentences);
        assert_eq!(sentence("be 120, aa, _a1_"), None);
        let replaced = sentence("b is 12, not \"a\". a-b").unwrap_or_default();
        assert_eq!(replaced, format!("{s} is {s}, not \"{s}\". {s}"));
        let literal = |text: &str| sorted.replaced(text, Prose::Literals);
        assert_eq!(literal("i-12/a b"), None);
        assert_eq!(literal("12").unwrap_or_default(), s);
        assert_eq!(literal("x = \"a-b\" # b").unwrap_or_default(), format!("x = \"{s}\" # b"));
    }
}
