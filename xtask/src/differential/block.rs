//! Configuration as data that is written in native or in JSON syntax.

use std::fmt::Write;

use serde_json::{Map, Value, json};

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    /// An expression, which JSON writes as a template of its own.
    Expression(String),
    /// A word or an address, which JSON writes as a plain string.
    Word(String),
    /// A list of such words.
    Words(Vec<String>),
    /// A string without interpolation.
    Text(String),
    /// A constant, where nothing else may stand.
    Constant(Value),
}

/// A block with what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) labels: Vec<String>,
    pub(super) arguments: Vec<(String, Argument)>,
    pub(super) blocks: Vec<Block>,
}

impl Block {
    /// An empty block.
    pub(super) fn new(kind: &str, labels: &[&str]) -> Block {
        Block {
            kind: kind.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            arguments: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// The block with a further argument.
    pub(super) fn set(mut self, name: &str, value: Argument) -> Block {
        self.arguments.push((name.to_owned(), value));
        self
    }

    /// The block with an expression.
    pub(super) fn expression(self, name: &str, text: impl Into<String>) -> Block {
        self.set(name, Argument::Expression(text.into()))
    }

    /// The block with a word or an address.
    pub(super) fn word(self, name: &str, text: impl Into<String>) -> Block {
        self.set(name, Argument::Word(text.into()))
    }

    /// The block with a string.
    pub(super) fn text(self, name: &str, text: impl Into<String>) -> Block {
        self.set(name, Argument::Text(text.into()))
    }

    /// The block with a further block in it.
    pub(super) fn with(mut self, block: Block) -> Block {
        self.blocks.push(block);
        self
    }

    fn native(&self, indent: usize, out: &mut String) {
        let space = "  ".repeat(indent);
        let labels: String = self.labels.iter().map(|label| format!(" \"{label}\"")).collect();
        let _ = writeln!(out, "{space}{}{labels} {{", self.kind);
        for (name, value) in &self.arguments {
            let value = match value {
                Argument::Expression(text) | Argument::Word(text) => text.clone(),
                Argument::Words(words) => format!("[{}]", words.join(", ")),
                Argument::Text(text) => json!(text).to_string(),
                Argument::Constant(value) => value.to_string(),
            };
            let _ = writeln!(out, "{space}  {name} = {value}");
        }
        for block in &self.blocks {
            block.native(indent + 1, out);
        }
        let _ = writeln!(out, "{space}}}");
    }

    fn json(&self) -> Value {
        let mut body = Map::new();
        for (name, value) in &self.arguments {
            let value = match value {
                Argument::Expression(text) => json!(format!("${{{text}}}")),
                Argument::Word(text) | Argument::Text(text) => json!(text),
                Argument::Words(words) => json!(words),
                Argument::Constant(value) => value.clone(),
            };
            body.insert(name.clone(), value);
        }
        body.extend(grouped(&self.blocks));
        self.labels.iter().rev().fold(Value::Object(body), |inner, label| json!({ label.clone(): inner }))
    }
}

fn grouped(blocks: &[Block]) -> Map<String, Value> {
    let mut groups: Map<String, Value> = Map::new();
    for block in blocks {
        let entry = groups.entry(block.kind.clone()).or_insert_with(|| json!([]));
        if let Some(list) = entry.as_array_mut() {
            list.push(block.json());
        }
    }
    groups
}

/// The text of a file in native syntax.
pub(super) fn native(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        block.native(0, &mut out);
    }
    out
}

/// The text of a file in JSON syntax.
pub(super) fn json_syntax(blocks: &[Block]) -> String {
    format!("{:#}\n", Value::Object(grouped(blocks)))
}

#[cfg(test)]
mod tests {
    use super::{Block, json_syntax, native};

    #[test]
    fn both_syntaxes_say_the_same() {
        let block = Block::new("resource", &["terraform_data", "a"])
            .expression("input", "var.x")
            .with(Block::new("lifecycle", &[]).set("ignore_changes", super::Argument::Words(vec!["input".to_owned()])));
        assert_eq!(
            native(std::slice::from_ref(&block)),
            "resource \"terraform_data\" \"a\" {\n  input = var.x\n  lifecycle {\n    ignore_changes = [input]\n  }\n}\n"
        );
        let json: serde_json::Value = serde_json::from_str(&json_syntax(&[block])).unwrap();
        assert_eq!(json["resource"][0]["terraform_data"]["a"]["input"], "${var.x}");
        assert_eq!(json["resource"][0]["terraform_data"]["a"]["lifecycle"][0]["ignore_changes"][0], "input");
    }
}
