//! Structure of a random configuration, before it becomes blocks: small enough to be changed from step to step.

use std::collections::BTreeMap;

use super::block::{Argument, Block};

/// Repetition of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Repetition {
    Single,
    Count,
    ForEach,
    Enabled,
}

/// A resource or module call.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) repetition: Repetition,
    /// The directory of the module that is called; none for a resource.
    pub(super) module: Option<String>,
    pub(super) kind: String,
    pub(super) arguments: Vec<(String, Argument)>,
    pub(super) lifecycle: Vec<(String, Argument)>,
    pub(super) inner: Vec<Block>,
    pub(super) conditions: Vec<Block>,
}

/// One directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub(super) nodes: Vec<Node>,
    /// Outputs, checks, locals, moves, removals and imports as they are.
    pub(super) others: Vec<Block>,
}

/// All directories; the root module's is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Design {
    pub(super) modules: BTreeMap<String, Module>,
}

/// The input variables that every module has, so that expressions can move between modules. Beside them `place` names the
/// module instance: no two objects may have one file.
pub(super) const VARIABLES: [(&str, &str, &str); 5] = [
    ("n", "number", "1"),
    ("keys", "set(string)", "[\"a\", \"b\"]"),
    ("on", "bool", "true"),
    ("text", "string", "\"t\""),
    ("secret", "string", "\"s3cret\""),
];

impl Node {
    /// The address without instance keys, within its module.
    pub(super) fn address(&self) -> String {
        match self.module {
            Some(_) => format!("module.{}", self.name),
            None => format!("{}.{}", self.kind, self.name),
        }
    }

    /// Text of a template that distinguishes the instances.
    fn instance(&self) -> &'static str {
        match self.repetition {
            Repetition::Count => "${count.index}",
            Repetition::ForEach => "${each.key}",
            Repetition::Single | Repetition::Enabled => "",
        }
    }

    /// The block in a module of this directory; all directories lie beside each other in the root module's.
    fn block(&self, place: &str) -> Block {
        let mut block = match &self.module {
            Some(folder) => {
                let up = if place.is_empty() { "./" } else { "../" };
                let mut call = Block::new("module", &[&self.name]).text("source", format!("{up}{folder}"));
                for (name, _, _) in VARIABLES {
                    call = call.expression(name, format!("var.{name}"));
                }
                call.expression("place", format!("\"${{var.place}}{}{}-\"", self.name, self.instance()))
            }
            None => {
                let resource = Block::new("resource", &[&self.kind, &self.name]);
                let file = format!("\"${{path.root}}/files/${{var.place}}{}{}.txt\"", self.name, self.instance());
                if self.kind == "local_file" { resource.expression("filename", file) } else { resource }
            }
        };
        let mut lifecycle = Block::new("lifecycle", &[]);
        match self.repetition {
            Repetition::Single => {}
            Repetition::Count => block = block.expression("count", "var.n"),
            Repetition::ForEach => block = block.expression("for_each", "var.keys"),
            Repetition::Enabled => lifecycle = lifecycle.expression("enabled", "var.on"),
        }
        block.arguments.extend(self.arguments.iter().cloned());
        lifecycle.arguments.extend(self.lifecycle.iter().cloned());
        lifecycle.blocks.extend(self.conditions.iter().cloned());
        if !lifecycle.arguments.is_empty() || !lifecycle.blocks.is_empty() {
            block = block.with(lifecycle);
        }
        block.blocks.extend(self.inner.iter().cloned());
        block
    }
}

impl Design {
    /// The blocks of every directory.
    pub(super) fn blocks(&self) -> BTreeMap<String, Vec<Block>> {
        let mut folders = BTreeMap::new();
        for (folder, module) in &self.modules {
            let mut blocks = Vec::new();
            for (name, kind, default) in VARIABLES {
                let mut variable = Block::new("variable", &[name]).word("type", kind);
                if folder.is_empty() {
                    let default = serde_json::from_str(default).unwrap_or_default();
                    variable = variable.set("default", Argument::Constant(default));
                }
                if name == "secret" {
                    variable = variable.set("sensitive", Argument::Constant(true.into()));
                }
                blocks.push(variable);
            }
            let place = Block::new("variable", &["place"]).word("type", "string");
            blocks.push(place.set("default", Argument::Constant("".into())));
            blocks.extend(module.nodes.iter().map(|node| node.block(folder)));
            blocks.extend(module.others.iter().cloned());
            folders.insert(folder.clone(), blocks);
        }
        folders
    }
}
