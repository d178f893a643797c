//! Random designs: nodes that refer to earlier nodes, with every lifecycle argument, condition and provisioner.

use super::block::{Argument, Block};
use super::design::{Design, Module, Node, Repetition};
use super::random::Random;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A random configuration of up to three modules.
pub(super) fn design(random: &mut Random, kinds: &[&str]) -> Design {
    let mut design = Design::default();
    let nested = random.chance(25);
    let child = random.chance(50);
    if nested {
        design.modules.insert("deep".to_owned(), module(random, kinds, None));
    }
    if child || nested {
        design.modules.insert("child".to_owned(), module(random, kinds, nested.then_some("deep")));
    }
    let root = module(random, kinds, (child || nested).then_some("child"));
    design.modules.insert(String::new(), root);
    design
}

fn module(random: &mut Random, kinds: &[&str], called: Option<&str>) -> Module {
    let mut module = Module::default();
    let count = 1 + random.below(4);
    let position = random.below(count + 1);
    for index in 0..=count {
        if index == position
            && let Some(folder) = called
        {
            let mut call = Node {
                name: "m".to_owned(),
                repetition: repetition(random),
                module: Some(folder.to_owned()),
                kind: String::new(),
                arguments: Vec::new(),
                lifecycle: Vec::new(),
                inner: Vec::new(),
                conditions: Vec::new(),
            };
            if random.chance(15) && !module.nodes.is_empty() {
                call.arguments.push(depends_on(random, &module.nodes));
            }
            module.nodes.push(call);
        }
        if let Some(name) = NAMES[..count].get(index) {
            let node = resource(random, kinds, name, &module.nodes);
            module.nodes.push(node);
        }
    }
    outputs(random, &mut module);
    if random.chance(20) {
        module.others.push(check(random, &module.nodes));
    }
    if random.chance(12) {
        module.others.push(
            Block::new("data", &["terraform_remote_state", "other"])
                .text("backend", "local")
                .expression("config", "{ path = \"${path.root}/other.tfstate\" }"),
        );
        module
            .others
            .push(Block::new("output", &["remote"]).expression("value", "data.terraform_remote_state.other.outputs.x"));
    }
    module
}

/// Repetition of a node.
pub(super) fn repetition(random: &mut Random) -> Repetition {
    *random.pick(&[
        Repetition::Single,
        Repetition::Single,
        Repetition::Single,
        Repetition::Count,
        Repetition::ForEach,
        Repetition::Enabled,
    ])
}

fn depends_on(random: &mut Random, earlier: &[Node]) -> (String, Argument) {
    ("depends_on".to_owned(), Argument::Words(vec![random.pick(earlier).address()]))
}

/// A resource of one of these types that may refer to the earlier nodes of its module.
pub(super) fn resource(random: &mut Random, kinds: &[&str], name: &str, earlier: &[Node]) -> Node {
    let mut node = Node {
        name: name.to_owned(),
        repetition: repetition(random),
        module: None,
        kind: random.word(kinds),
        arguments: Vec::new(),
        lifecycle: Vec::new(),
        inner: Vec::new(),
        conditions: Vec::new(),
    };
    arguments(random, &mut node, earlier);
    if random.chance(15) && !earlier.is_empty() {
        node.arguments.push(depends_on(random, earlier));
    }
    lifecycle(random, &mut node, earlier);
    if random.chance(15) {
        node.inner.push(provisioner(random));
    }
    node
}

fn arguments(random: &mut Random, node: &mut Node, earlier: &[Node]) {
    let mut set = |name: &str, value: String| node.arguments.push((name.to_owned(), Argument::Expression(value)));
    match node.kind.as_str() {
        "random_integer" => {
            set("min", "7".to_owned());
            set("max", "7".to_owned());
            set("keepers", format!("{{ k = jsonencode({}) }}", value(random, earlier)));
        }
        "random_id" => {
            set("byte_length", "4".to_owned());
            set("keepers", format!("{{ k = jsonencode({}) }}", value(random, earlier)));
        }
        "null_resource" => set("triggers", format!("{{ k = jsonencode({}) }}", value(random, earlier))),
        "local_file" => set("content", format!("jsonencode({})", value(random, earlier))),
        _ => {
            if random.chance(90) {
                set("input", value(random, earlier));
            }
            if random.chance(20) {
                set("triggers_replace", value(random, earlier));
            }
        }
    }
}

fn lifecycle(random: &mut Random, node: &mut Node, earlier: &[Node]) {
    let mut set = |name: &str, value: Argument| node.lifecycle.push((name.to_owned(), value));
    if random.chance(20) {
        set("create_before_destroy", Argument::Constant(random.chance(85).into()));
    }
    if random.chance(6) {
        set("prevent_destroy", Argument::Constant(true.into()));
    }
    if random.chance(8) && node.kind == "terraform_data" {
        set(
            "ignore_changes",
            if random.chance(40) {
                Argument::Word("all".to_owned())
            } else {
                Argument::Words(vec!["input".to_owned()])
            },
        );
    }
    let others: Vec<&Node> = earlier.iter().filter(|n| n.module.is_none()).collect();
    if random.chance(12) && !others.is_empty() {
        let other = random.pick(&others);
        let attribute =
            if other.kind == "terraform_data" { random.word(&["", ".output", ".input", ".id"]) } else { String::new() };
        let key = match other.repetition {
            Repetition::Count if random.chance(60) => random.word(&["[0]", "[count.index]"]),
            Repetition::ForEach if random.chance(60) => "[\"a\"]".to_owned(),
            _ => String::new(),
        };
        if node.repetition == Repetition::Count || !key.contains("count") {
            set("replace_triggered_by", Argument::Words(vec![format!("{}{key}{attribute}", other.address())]));
        }
    }
    for kind in ["precondition", "postcondition"] {
        if random.chance(8) {
            let condition = match (kind, node.kind.as_str()) {
                ("postcondition", "terraform_data") if random.chance(60) => "self.output != \"bad\"".to_owned(),
                _ => random.word(&["var.on", "var.text != \"bad\"", "var.n < 3", "length(var.keys) > 0"]),
            };
            let message = random.word(&["\"wrong: ${var.text}\"", "\"It must not be.\"", "\"secret ${var.secret}\""]);
            node.conditions
                .push(Block::new(kind, &[]).expression("condition", condition).expression("error_message", message));
        }
    }
}

fn provisioner(random: &mut Random) -> Block {
    let mut block = Block::new("provisioner", &["local-exec"]);
    let command = random.word(&["true", "exit 1", "test '${var}' != bad", "echo done"]);
    let destroy = random.chance(35);
    block = match command.as_str() {
        "test '${var}' != bad" if destroy => block.expression("command", "\"test '${self.id}' != bad\""),
        "test '${var}' != bad" => block.expression("command", "\"test '${var.text}' != bad\""),
        plain => block.text("command", plain),
    };
    if destroy {
        block = block.word("when", "destroy");
    }
    if random.chance(25) {
        block = block.word("on_failure", "continue");
    }
    block
}

/// An expression over the variables and earlier nodes.
pub(super) fn value(random: &mut Random, earlier: &[Node]) -> String {
    if earlier.is_empty() || random.chance(45) {
        return random.word(&[
            "var.text",
            "\"v1\"",
            "\"v2\"",
            "var.n",
            "[var.text, var.n]",
            "{ a = var.text, n = var.n }",
            "var.secret",
            "{ open = 1, hidden = var.secret }",
            "tolist(var.keys)",
            "null",
            "\"bad\"",
            "sensitive({ a = var.n })",
        ]);
    }
    let node = random.pick(earlier);
    let address = node.address();
    let attribute = match (&node.module, node.kind.as_str()) {
        (Some(_), _) => "first".to_owned(),
        (None, "terraform_data") => random.word(&["output", "output", "input", "id"]),
        (None, _) => "id".to_owned(),
    };
    match node.repetition {
        Repetition::Single if random.chance(15) => address,
        Repetition::Single => format!("{address}.{attribute}"),
        Repetition::Count => match random.below(5) {
            0 => format!("length({address})"),
            1 => format!("one({address}[*].{attribute})"),
            2 => format!("try({address}[0].{attribute}, \"none\")"),
            _ => format!("{address}[*].{attribute}"),
        },
        Repetition::ForEach => match random.below(5) {
            0 => format!("keys({address})"),
            1 => format!("{{ for k, v in {address} : k => v.{attribute} }}"),
            2 => format!("{address}[\"a\"].{attribute}"),
            3 => format!("values({address})[*].{attribute}"),
            _ => format!("length({address})"),
        },
        Repetition::Enabled => match random.below(4) {
            0 => format!("{address} == null"),
            1 => format!("{address}.{attribute}"),
            _ => format!("try({address}.{attribute}, \"none\")"),
        },
    }
}

fn outputs(random: &mut Random, module: &mut Module) {
    module.others.push(Block::new("output", &["first"]).expression("value", {
        let text = value(random, &module.nodes);
        format!("nonsensitive(try({text}, \"none\"))")
    }));
    // `nonsensitive` of what is not sensitive is an error in no version that is compared.
    for name in ["second", "third"] {
        if random.chance(50) {
            let mut block = Block::new("output", &[name]).expression("value", value(random, &module.nodes));
            if random.chance(60) {
                block = block.set("sensitive", Argument::Constant(true.into()));
            }
            if random.chance(12) {
                block = block.with(
                    Block::new("precondition", &[])
                        .expression("condition", random.word(&["var.on", "var.n < 3", "var.text != \"bad\""]))
                        .expression("error_message", "\"Output refused.\""),
                );
            }
            module.others.push(block);
        }
    }
}

fn check(random: &mut Random, nodes: &[Node]) -> Block {
    let condition = match random.below(3) {
        0 => "var.on".to_owned(),
        1 => "var.text != \"bad\"".to_owned(),
        _ => format!("jsonencode(nonsensitive({})) != \"\"", value(random, nodes)),
    };
    Block::new("check", &["c"]).with(
        Block::new("assert", &[]).expression("condition", condition).expression("error_message", "\"Check ${var.n}.\""),
    )
}
