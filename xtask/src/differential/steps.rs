//! Random steps of a case: changes of the configuration and the commands that follow them.

use std::collections::BTreeMap;

use super::block::{Argument, Block};
use super::design::{Design, Node, Repetition};
use super::invention::{repetition, resource, value};
use super::random::Random;

/// Command of a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// `plan -out`, then `show -json` of the plan.
    Plan,
    /// The same, and then `apply` of the plan.
    ApplySaved,
    /// `apply -auto-approve`.
    Apply,
    /// Any other command, complete with its arguments.
    Other(Vec<String>),
}

/// One step: the configuration it runs with and the command.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) folders: BTreeMap<String, Vec<Block>>,
    pub(super) json: bool,
    pub(super) action: Action,
    pub(super) flags: Vec<String>,
}

/// A random case of a few steps.
pub(super) fn case(random: &mut Random, kinds: &[&str]) -> Vec<Step> {
    let mut design = super::invention::design(random, kinds);
    let mut variables: BTreeMap<&str, &str> = BTreeMap::new();
    let mut steps = vec![step(random, &design, &variables, Action::Apply)];
    for _ in 0..1 + random.below(4) {
        for _ in 0..random.below(3) {
            change(random, &mut design, kinds);
        }
        if random.chance(50) {
            let (name, values) = *random.pick(&[
                ("n", ["0", "1", "2", "3"]),
                ("keys", ["[]", "[\"a\"]", "[\"b\", \"c\"]", "[\"a\", \"b\"]"]),
                ("on", ["true", "false", "false", "true"]),
                ("text", ["t", "u", "bad", ""]),
                ("secret", ["s3cret", "other", "x", "y"]),
            ]);
            variables.insert(name, values[random.below(4)]);
        }
        let action = action(random, &design);
        steps.push(step(random, &design, &variables, action));
    }
    steps
}

fn step(random: &mut Random, design: &Design, variables: &BTreeMap<&str, &str>, action: Action) -> Step {
    let mut flags: Vec<String> = Vec::new();
    if !matches!(action, Action::Other(_)) {
        flags.extend(variables.iter().map(|(name, value)| format!("-var={name}={value}")));
        match random.below(16) {
            0 | 1 => flags.push(format!("-target={}", address(random, design))),
            2 | 3 => flags.push(format!("-exclude={}", address(random, design))),
            4 => flags.push(format!("-replace={}", address(random, design))),
            5 => flags.push("-refresh-only".to_owned()),
            6 => flags.push("-destroy".to_owned()),
            7 => {
                flags.push("-destroy".to_owned());
                flags.push(format!("-target={}", address(random, design)));
            }
            8 => flags.push("-refresh=false".to_owned()),
            _ => {}
        }
    }
    Step { folders: design.blocks(), json: random.chance(25), action, flags }
}

fn action(random: &mut Random, design: &Design) -> Action {
    let words = |list: &[&str]| Action::Other(list.iter().map(|w| (*w).to_owned()).collect());
    match random.below(20) {
        0..=6 => Action::ApplySaved,
        7..=10 => Action::Apply,
        11..=13 => Action::Plan,
        14 => words(&["taint", &address(random, design)]),
        15 => words(&["state", "mv", &address(random, design), &address(random, design)]),
        16 => words(&["state", "rm", &address(random, design)]),
        17 => words(&["import", "-input=false", &address(random, design), "imported-id"]),
        18 => words(&["validate", "-json"]),
        _ => match random.below(4) {
            0 => words(&["output", "-json"]),
            1 => words(&["state", "list"]),
            2 => words(&["show", "-json"]),
            _ => words(&["untaint", &address(random, design)]),
        },
    }
}

fn key(random: &mut Random, node: &Node) -> String {
    match node.repetition {
        Repetition::Count => random.word(&["[0]", "[1]", "[2]"]),
        Repetition::ForEach => random.word(&["[\"a\"]", "[\"b\"]", "[\"c\"]"]),
        _ if random.chance(5) => "[0]".to_owned(),
        _ => String::new(),
    }
}

/// The address of something in the configuration, mostly of one instance.
fn address(random: &mut Random, design: &Design) -> String {
    let mut folder = "";
    let mut path = String::new();
    loop {
        let Some(module) = design.modules.get(folder).filter(|m| !m.nodes.is_empty()) else {
            return "terraform_data.none".to_owned();
        };
        let node = random.pick(&module.nodes);
        let whole = random.chance(25);
        let key = if whole { String::new() } else { key(random, node) };
        path = format!("{path}{}{key}", node.address());
        match &node.module {
            Some(next) if random.chance(70) => {
                folder = next;
                path.push('.');
            }
            _ => return path,
        }
    }
}

/// Changes the configuration in one respect.
fn change(random: &mut Random, design: &mut Design, kinds: &[&str]) {
    let folders: Vec<String> = design.modules.keys().cloned().collect();
    let folder = random.pick(&folders).clone();
    let Some(module) = design.modules.get_mut(&folder) else { return };
    if module.nodes.is_empty() {
        return;
    }
    let index = random.below(module.nodes.len());
    let (earlier, later) = module.nodes.split_at_mut(index);
    let node = &mut later[0];
    let old = node.address();
    match random.below(13) {
        0 | 1 => {
            if let Some((_, argument)) = node.arguments.iter_mut().find(|(name, _)| name == "input") {
                *argument = Argument::Expression(value(random, earlier));
            }
        }
        2 => {
            let before = key(random, node);
            node.repetition = repetition(random);
            if random.chance(50) {
                let after = key(random, node);
                module.others.push(moved(&format!("{old}{before}"), &format!("{old}{after}")));
            }
        }
        3 | 4 => {
            node.name = format!("{}x", node.name);
            let new = node.address();
            for block in &mut module.others {
                rename(block, &old, &new);
            }
            for block in later[1..].iter_mut() {
                for (_, argument) in block.arguments.iter_mut().chain(&mut block.lifecycle) {
                    rename_argument(argument, &old, &new);
                }
            }
            if random.chance(75) {
                module.others.push(moved(&old, &new));
            }
        }
        5 | 6 => {
            let removed = node.clone();
            module.nodes.remove(index);
            if random.chance(40) {
                let lifecycle =
                    Block::new("lifecycle", &[]).set("destroy", Argument::Constant(random.chance(50).into()));
                module.others.push(Block::new("removed", &[]).word("from", removed.address()).with(lifecycle));
            }
        }
        7 => {
            let name = random.word(&["g", "h"]);
            if !module.nodes.iter().any(|n| n.name == name) {
                let node = resource(random, kinds, &name, &module.nodes);
                if random.chance(40) && folder.is_empty() {
                    let key = key(random, &node);
                    let import =
                        Block::new("import", &[]).word("to", format!("{}{key}", node.address())).text("id", "imported");
                    module.others.push(import);
                }
                module.nodes.push(node);
            }
        }
        8 => node.lifecycle.clear(),
        9 => {
            let flag = Argument::Constant(random.chance(70).into());
            node.lifecycle.retain(|(name, _)| name != "create_before_destroy");
            node.lifecycle.push(("create_before_destroy".to_owned(), flag));
        }
        10 => node.inner.clear(),
        11 => module.others.retain(|block| block.kind != "moved" && block.kind != "removed" && block.kind != "import"),
        _ => {
            if let Some(position) =
                module.others.iter().position(|block| block.kind == "output" && block.labels[0] != "first")
            {
                module.others.remove(position);
            }
        }
    }
}

fn moved(from: &str, to: &str) -> Block {
    Block::new("moved", &[]).word("from", from).word("to", to)
}

fn rename(block: &mut Block, old: &str, new: &str) {
    if block.kind == "moved" {
        return;
    }
    for (_, argument) in &mut block.arguments {
        rename_argument(argument, old, new);
    }
    for inner in &mut block.blocks {
        rename(inner, old, new);
    }
}

fn rename_argument(argument: &mut Argument, old: &str, new: &str) {
    let replace = |text: &mut String| {
        // A name may be the beginning of another one.
        for end in [".", "[", ")", " ", ",", "]"] {
            *text = text.replace(&format!("{old}{end}"), &format!("{new}{end}"));
        }
        if text == old {
            new.clone_into(text);
        }
    };
    match argument {
        Argument::Expression(text) | Argument::Word(text) => replace(text),
        Argument::Words(words) => words.iter_mut().for_each(replace),
        Argument::Text(_) | Argument::Constant(_) => {}
    }
}
