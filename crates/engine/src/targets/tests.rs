//! A configuration and options in; what is part of the run out.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use yuba_eval::graph::References;
use yuba_eval::{EvalEnv, MemoryWorld};
use yuba_provider::RecordedSchemas;
use yuba_syntax::FileId;

use super::*;
use crate::testing;

fn targets(options: &str) -> Targets {
    let mut targets = Targets::default();
    for option in options.split_whitespace() {
        let (name, value) = option.split_once('=').expect("because options have values");
        let target = Target::parse_text(FileId(0), value).expect("because it is well-formed");
        match name {
            "-target" => targets.targets.push(target),
            _ => targets.excludes.push(target),
        }
    }
    targets
}

/// Objects that are part of the run, and their instances.
fn check(fixture: &str, options: &str, instances: &[&str], expect: &Expect) {
    let config = testing::config(fixture);
    let world = MemoryWorld::default();
    let env = EvalEnv {
        world: &world,
        workspace: "default",
        original_dir: None,
        providers: &RecordedSchemas::new(BTreeMap::new()),
        sources: None,
    };
    let graph = References::read(&config.tree, env).graph;
    let selection = TargetSelection::new(&graph, &config.tree, &targets(options));
    let vertices = 0..graph.nodes.len() as u32;
    let mut lines: Vec<String> =
        vertices.filter(|at| selection.includes(*at)).map(|at| graph.name(at, &config.tree).to_string()).collect();
    lines.sort();
    for text in instances {
        let addr = testing::addr_of(text);
        let vertex = resources(&graph, &config.tree).find(|(_, config)| *config == addr.config());
        let selected = match vertex {
            Some((at, _)) => selection.selects(at, &addr),
            None => selection.selects_orphan(&addr),
        };
        lines.push(format!("{text} {}", if selected { "yes" } else { "no" }));
    }
    expect.assert_eq(&lines.join("\n"));
}

const FIXTURE: &str = r#"
//- main.tf
variable "v" { default = 1 }
variable "unused" { default = 1 }
locals { l = terraform_data.a[0].id }
resource "terraform_data" "a" {
  count = 2
  input = var.v
}
resource "terraform_data" "b" { input = local.l }
module "m" {
  source = "./m"
  count  = 2
  x      = terraform_data.b.id
}
output "of_a" { value = terraform_data.a }
output "of_m" { value = module.m[0].y }
output "constant" { value = 1 }
//- m/main.tf
variable "x" {}
resource "terraform_data" "c" { input = var.x }
output "y" { value = terraform_data.c.id }
"#;

#[test]
fn targets_include_their_dependencies() {
    check(
        FIXTURE,
        "-target=terraform_data.b",
        &["terraform_data.b", "terraform_data.a[1]", "module.m[0].terraform_data.c", "terraform_data.gone"],
        &expect![[r#"
            local.l (expand)
            output.of_a (expand)
            terraform_data.a
            terraform_data.b
            var.v (expand, reference)
            terraform_data.b yes
            terraform_data.a[1] yes
            module.m[0].terraform_data.c no
            terraform_data.gone no"#]],
    );
    check(
        FIXTURE,
        "-target=module.m[1] -target=terraform_data.a[0] -target=terraform_data.gone",
        &[
            "module.m[0].terraform_data.c",
            "module.m[1].terraform_data.c",
            "terraform_data.a[1]",
            "terraform_data.a[0]",
            "terraform_data.gone[3]",
        ],
        &expect![[r#"
            local.l (expand)
            module.m (expand)
            module.m.output.y (expand)
            module.m.terraform_data.c
            module.m.var.x (expand, input)
            module.m.var.x (expand, reference)
            output.of_a (expand)
            output.of_m (expand)
            terraform_data.a
            terraform_data.b
            var.v (expand, reference)
            module.m[0].terraform_data.c no
            module.m[1].terraform_data.c yes
            terraform_data.a[1] no
            terraform_data.a[0] yes
            terraform_data.gone[3] yes"#]],
    );
}

#[test]
fn exclusions_include_their_dependents() {
    check(
        FIXTURE,
        "-exclude=terraform_data.b -exclude=terraform_data.gone",
        &["terraform_data.a[0]", "terraform_data.gone", "terraform_data.other"],
        &expect![[r#"
            output.of_a (expand)
            terraform_data.a
            var.v (expand, reference)
            terraform_data.a[0] yes
            terraform_data.gone no
            terraform_data.other yes"#]],
    );
    check(
        FIXTURE,
        "-exclude=module.m[1]",
        &["module.m[0].terraform_data.c", "module.m[1].terraform_data.c", "terraform_data.b"],
        &expect![[r#"
            local.l (expand)
            module.m (expand)
            module.m.output.y (expand)
            module.m.terraform_data.c
            module.m.var.x (expand, input)
            module.m.var.x (expand, reference)
            output.of_a (expand)
            output.of_m (expand)
            terraform_data.a
            terraform_data.b
            var.v (expand, reference)
            module.m[0].terraform_data.c yes
            module.m[1].terraform_data.c no
            terraform_data.b yes"#]],
    );
    check(
        FIXTURE,
        "-exclude=terraform_data.a[1]",
        &["terraform_data.a[0]", "terraform_data.a[1]", "terraform_data.b"],
        &expect![[r#"
            output.of_a (expand)
            terraform_data.a
            var.v (expand, reference)
            terraform_data.a[0] yes
            terraform_data.a[1] no
            terraform_data.b no"#]],
    );
}

#[test]
fn destroying_goes_the_other_way() {
    let state = testing::state(
        r#"
        a.x
        b.x[0] < a.x
        b.x[1] < a.x
        module.m[0].c.x < a.x b.x
        module.m[0].d.x < a.x b.x module.m.c.x
        module.m[1].c.x < a.x b.x
        module.m[1].d.x < a.x b.x module.m.c.x
        e.x
        "#,
    );
    let check = |options: &str, expect: &Expect| {
        let destroying = Destroying::new(&state, &targets(options));
        let selected = state.instances().map(|(addr, ..)| addr).filter(|addr| destroying.selects(addr));
        expect.assert_eq(&selected.map(|addr| addr.to_string()).collect::<Vec<_>>().join(" "));
    };
    check("", &expect!["a.x b.x[0] b.x[1] e.x module.m[0].c.x module.m[0].d.x module.m[1].c.x module.m[1].d.x"]);
    check("-target=b.x[0]", &expect!["b.x[0] module.m[0].c.x module.m[0].d.x module.m[1].c.x module.m[1].d.x"]);
    check("-target=module.m[1].c.x", &expect!["module.m[1].c.x module.m[1].d.x"]);
    check("-exclude=module.m[1].c.x", &expect!["e.x module.m[0].c.x module.m[0].d.x module.m[1].d.x"]);
    check("-exclude=b.x[1]", &expect!["b.x[0] e.x module.m[0].c.x module.m[0].d.x module.m[1].c.x module.m[1].d.x"]);
}
