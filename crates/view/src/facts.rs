//! Facts in sections: aligned text for people, one JSON object for tools.

use std::fmt::Write as _;

use crate::json::JsonValue;

/// Facts under a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its key in JSON, in snake case.
    pub key: &'static str,
    /// Its title for people.
    pub title: &'static str,
    /// Its facts, in order.
    pub facts: Vec<Fact>,
}

/// A value with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    key: Key,
    value: FactValue,
}

/// The name of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    /// Words in snake case, shown with spaces.
    Words(&'static str),
    /// A name that is shown as it is, such as the address of a provider.
    Name(String),
}

/// The value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactValue {
    /// A string.
    Text(String),
    /// A count or size.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Strings.
    List(Vec<String>),
    /// Further facts.
    Group(Vec<Fact>),
}

impl From<&str> for FactValue {
    fn from(text: &str) -> FactValue {
        FactValue::Text(text.to_owned())
    }
}

impl From<String> for FactValue {
    fn from(text: String) -> FactValue {
        FactValue::Text(text)
    }
}

impl From<u64> for FactValue {
    fn from(number: u64) -> FactValue {
        FactValue::Number(number)
    }
}

impl From<usize> for FactValue {
    fn from(number: usize) -> FactValue {
        FactValue::Number(number as u64)
    }
}

impl From<Vec<String>> for FactValue {
    fn from(list: Vec<String>) -> FactValue {
        FactValue::List(list)
    }
}

impl From<Vec<Fact>> for FactValue {
    fn from(facts: Vec<Fact>) -> FactValue {
        FactValue::Group(facts)
    }
}

impl Fact {
    /// A fact whose name is words in snake case.
    pub fn new(key: &'static str, value: impl Into<FactValue>) -> Fact {
        Fact { key: Key::Words(key), value: value.into() }
    }

    /// A fact whose name is shown as it is.
    pub fn named(name: impl Into<String>, value: impl Into<FactValue>) -> Fact {
        Fact { key: Key::Name(name.into()), value: value.into() }
    }

    fn label(&self) -> String {
        match &self.key {
            Key::Words(words) => words.replace('_', " "),
            Key::Name(name) => name.clone(),
        }
    }
}

/// All sections as text. `bold` formats the titles.
pub fn text(sections: &[Section], bold: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    for section in sections {
        let _ = writeln!(out, "{}", bold(section.title));
        if section.facts.is_empty() {
            out.push_str("  none\n");
        }
        write_facts(&mut out, &section.facts, 2);
        out.push('\n');
    }
    out
}

fn write_facts(out: &mut String, facts: &[Fact], indent: usize) {
    let is_group = |fact: &&Fact| matches!(&fact.value, FactValue::Group(facts) if !facts.is_empty());
    let width = |fact: &Fact| fact.label().chars().count();
    let widest = facts.iter().filter(|fact| !is_group(fact)).map(width).max().unwrap_or_default();
    for fact in facts {
        let label = fact.label();
        let value = match &fact.value {
            FactValue::Text(text) => text.clone(),
            FactValue::Number(number) => number.to_string(),
            FactValue::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            FactValue::List(list) if list.is_empty() => "none".to_owned(),
            FactValue::List(list) => list.join(", "),
            FactValue::Group(facts) if facts.is_empty() => "none".to_owned(),
            FactValue::Group(facts) => {
                let _ = writeln!(out, "{:indent$}{label}", "");
                write_facts(out, facts, indent + 2);
                continue;
            }
        };
        let _ = writeln!(out, "{:indent$}{label:widest$}  {value}", "");
    }
}

/// All sections as the members of one JSON object.
pub fn json(sections: &[Section]) -> JsonValue {
    JsonValue::object(sections.iter().map(|section| (section.key, group(&section.facts))))
}

fn group(facts: &[Fact]) -> JsonValue {
    let member = |fact: &Fact| {
        let key = match &fact.key {
            Key::Words(words) => (*words).to_owned(),
            Key::Name(name) => name.clone(),
        };
        let value = match &fact.value {
            FactValue::Text(text) => JsonValue::from(text.as_str()),
            FactValue::Number(number) => JsonValue::Int(i64::try_from(*number).unwrap_or(i64::MAX)),
            FactValue::Flag(flag) => JsonValue::Bool(*flag),
            FactValue::List(list) => JsonValue::Array(list.iter().map(|text| JsonValue::from(text.as_str())).collect()),
            FactValue::Group(facts) => group(facts),
        };
        (key, value)
    };
    JsonValue::Object(facts.iter().map(member).collect())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn sections_are_aligned_text_and_one_object() {
        let package = vec![Fact::new("locked", "5.0.0"), Fact::new("installed", FactValue::Flag(true))];
        let sections = [
            Section {
                key: "state",
                title: "State",
                facts: vec![
                    Fact::new("file", "terraform.tfstate"),
                    Fact::new("size_in_bytes", 7_u64),
                    Fact::new("backups", Vec::<String>::new()),
                ],
            },
            Section { key: "providers", title: "Providers", facts: vec![Fact::named("acme/a_b", package)] },
            Section { key: "empty", title: "Empty", facts: Vec::new() },
        ];
        expect![[r"
            State
              file           terraform.tfstate
              size in bytes  7
              backups        none

            Providers
              acme/a_b
                locked     5.0.0
                installed  yes

            Empty
              none

        "]]
        .assert_eq(&text(&sections, &str::to_owned));
        assert_eq!(
            json(&sections).compact(),
            r#"{"state":{"file":"terraform.tfstate","size_in_bytes":7,"backups":[]},"providers":{"acme/a_b":{"locked":"5.0.0","installed":true}},"empty":{}}"#
        );
    }
}
