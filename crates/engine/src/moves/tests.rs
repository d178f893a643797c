//! A configuration and the addresses of a state in; moves and messages out.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::testing;

/// Moved objects, blocked objects, final addresses, and errors.
fn check(fixture: &str, state: &str, expect: &Expect) {
    let config = testing::config(fixture);
    let mut state = testing::state(state);
    let statements = statements(&config.tree, &state);
    let moves = execute(&statements, &mut state);
    let mut out = String::new();
    for (to, origin) in &moves.changes {
        let how = if origin.implied { " (implied)" } else { "" };
        writeln!(out, "{} -> {to}{how}", origin.from).expect("because writing to a string works");
    }
    for (from, to) in &moves.blocked {
        writeln!(out, "{from} -x {to}").expect("because writing to a string works");
    }
    let all: Vec<String> = state.instances().map(|(addr, ..)| addr.to_string()).collect();
    writeln!(out, "= {}", all.join(" ")).expect("because writing to a string works");
    let live = testing::expand(&config.tree);
    let mut problems = validate(&statements, &config.tree, &live, yuba_plan::Mode::Normal, Some(&config.sources));
    problems.extend(moves.warnings());
    out += &testing::show(&problems, &config.sources);
    expect.assert_eq(&out);
}

const MODULE: &str = "//- m/main.tf\nresource \"t_x\" \"x\" {}\n";

fn with_module(main: &str) -> String {
    format!("//- main.tf\n{main}\n{MODULE}")
}

#[test]
fn resources_and_instances_move() {
    check(
        r#"
resource "t_x" "b" { count = 2 }
resource "t_x" "d" { for_each = { k = 1 } }
moved {
  from = t_x.a
  to   = t_x.b
}
moved {
  from = t_x.c
  to   = t_x.d["k"]
}
moved {
  from = t_x.gone
  to   = t_x.nowhere
}
"#,
        "t_x.a[0]\nt_x.a[1]\nt_x.c\nt_x.other",
        &expect![[r#"
            t_x.a[0] -> t_x.b[0]
            t_x.a[1] -> t_x.b[1]
            t_x.c -> t_x.d["k"]
            = t_x.b[0] t_x.b[1] t_x.d["k"] t_x.other
        "#]],
    );
}

#[test]
fn chains_are_one_move() {
    check(
        r#"
resource "t_x" "c" {}
moved {
  from = t_x.b
  to   = t_x.c
}
moved {
  from = t_x.a
  to   = t_x.b
}
"#,
        "t_x.a",
        &expect![[r#"
            t_x.a -> t_x.c
            = t_x.c
        "#]],
    );
    // An object at an intermediate address stays there, and blocks the object behind it.
    check(
        r#"
resource "t_x" "c" {}
moved {
  from = t_x.b
  to   = t_x.c
}
moved {
  from = t_x.a
  to   = t_x.b
}
"#,
        "t_x.a\nt_x.b",
        &expect![[r#"
            t_x.b -> t_x.c
            t_x.a -x t_x.b
            = t_x.a t_x.c
            warning: Unresolved resource instance address changes
        "#]],
    );
}

#[test]
fn modules_move_with_all_in_them() {
    check(
        &with_module(
            r#"
module "new" {
  source = "./m"
  count  = 1
}
moved {
  from = module.old
  to   = module.new[0]
}
moved {
  from = t_x.loose
  to   = module.new[0].t_x.x
}
"#,
        ),
        "module.old.t_x.x\nmodule.old.module.deep[\"k\"].t_x.y[3]\nt_x.loose",
        &expect![[r#"
            module.old.t_x.x -> module.new[0].t_x.x
            module.old.module.deep["k"].t_x.y[3] -> module.new[0].module.deep["k"].t_x.y[3]
            t_x.loose -x module.new[0].t_x.x
            = t_x.loose module.new[0].t_x.x module.new[0].module.deep["k"].t_x.y[3]
            warning: Unresolved resource instance address changes
        "#]],
    );
    check(
        &with_module(
            r#"
module "new" {
  source   = "./m"
  for_each = { a = 1, b = 2 }
}
moved {
  from = module.old
  to   = module.new
}
"#,
        ),
        "module.old[\"a\"].t_x.x\nmodule.old[\"b\"].t_x.x\nmodule.new[\"b\"].t_x.x",
        &expect![[r#"
            module.old["a"].t_x.x -> module.new["a"].t_x.x
            module.old["b"] -x module.new["b"]
            = module.new["a"].t_x.x module.new["b"].t_x.x module.old["b"].t_x.x
            warning: Unresolved resource instance address changes
        "#]],
    );
}

#[test]
fn statements_of_a_module_hold_for_all_its_instances() {
    let fixture = r#"
//- main.tf
module "m" {
  source   = "./m"
  for_each = { a = 1, b = 2 }
}
moved {
  from = module.old
  to   = module.m["a"]
}
//- m/main.tf
resource "t_x" "new" {}
module "n" { source = "./n" }
moved {
  from = t_x.old
  to   = t_x.new
}
moved {
  from = t_x.inner
  to   = module.n.t_x.y
}
//- m/n/main.tf
resource "t_x" "y" {}
"#;
    check(
        fixture,
        "module.m[\"a\"].t_x.inner\nmodule.m[\"b\"].t_x.old\nt_x.old\nmodule.old.t_x.old",
        &expect![[r#"
            module.m["b"].t_x.old -> module.m["b"].t_x.new
            module.m["a"].t_x.inner -> module.m["a"].module.n.t_x.y
            module.old -x module.m["a"]
            = t_x.old module.m["b"].t_x.new module.old.t_x.old module.m["a"].module.n.t_x.y
            warning: Unresolved resource instance address changes
        "#]],
    );
    check(
        fixture,
        "module.old.t_x.old\nmodule.old.t_x.inner",
        &expect![[r#"
            module.old.t_x.old -> module.m["a"].t_x.new
            module.old.t_x.inner -> module.m["a"].module.n.t_x.y
            = module.m["a"].t_x.new module.m["a"].module.n.t_x.y
        "#]],
    );
}

#[test]
fn keys_of_a_module_change_around_moves_in_it() {
    check(
        r#"
//- main.tf
module "m" {
  source   = "./m"
  for_each = { a = 1 }
}
moved {
  from = module.m[0]
  to   = module.m["a"]
}
//- m/main.tf
resource "t_x" "new" {}
moved {
  from = t_x.old
  to   = t_x.new
}
"#,
        "module.m[0].t_x.old",
        &expect![[r#"
            module.m[0].t_x.old -> module.m["a"].t_x.new
            = module.m["a"].t_x.new
        "#]],
    );
}

#[test]
fn count_comes_and_goes() {
    check(
        r#"
resource "t_x" "single" {}
resource "t_x" "enabled" {
  lifecycle { enabled = true }
}
resource "t_x" "disabled" {
  lifecycle { enabled = false }
}
resource "t_x" "count" { count = 1 }
resource "t_x" "none" { count = 0 }
resource "t_x" "each" { for_each = { a = 1 } }
"#,
        "t_x.single[0]\nt_x.single[1]\nt_x.enabled[0]\nt_x.disabled[0]\nt_x.count\nt_x.none\nt_x.each[0]\nt_x.gone[0]",
        &expect![[r#"
            t_x.count -> t_x.count[0] (implied)
            t_x.disabled[0] -> t_x.disabled (implied)
            t_x.enabled[0] -> t_x.enabled (implied)
            t_x.none -> t_x.none[0] (implied)
            t_x.single[0] -> t_x.single (implied)
            = t_x.count[0] t_x.disabled t_x.each[0] t_x.enabled t_x.gone[0] t_x.none[0] t_x.single t_x.single[1]
        "#]],
    );
    // Both exist: the wanted one stays.
    check(
        "resource \"t_x\" \"a\" {}",
        "t_x.a\nt_x.a[0]",
        &expect![[r#"
            t_x.a[0] -x t_x.a
            = t_x.a t_x.a[0]
            warning: Unresolved resource instance address changes
        "#]],
    );
}

#[test]
fn count_of_modules_comes_and_goes() {
    check(
        &with_module("module \"m\" {\n  source = \"./m\"\n  lifecycle { enabled = true }\n}"),
        "module.m[0].t_x.x\nmodule.m[1].t_x.x",
        &expect![[r#"
            module.m[0].t_x.x -> module.m.t_x.x (implied)
            = module.m.t_x.x module.m[1].t_x.x
        "#]],
    );
    check(
        &with_module("module \"m\" {\n  source = \"./m\"\n  count = 2\n}"),
        "module.m.t_x.x\nmodule.other.t_x.x",
        &expect![[r#"
            module.m.t_x.x -> module.m[0].t_x.x (implied)
            = module.m[0].t_x.x module.other.t_x.x
        "#]],
    );
    // Nothing but other modules is in it.
    check(
        r#"
//- main.tf
module "m" {
  source = "./m"
}
//- m/main.tf
module "n" { source = "./n" }
//- m/n/main.tf
resource "t_x" "x" { count = 1 }
"#,
        "module.m[0].module.n.t_x.x",
        &expect![[r#"
            module.m[0].module.n.t_x.x -> module.m.module.n.t_x.x[0] (implied)
            = module.m.module.n.t_x.x[0]
        "#]],
    );
}

#[test]
fn explicit_statements_replace_implied_ones() {
    check(
        r#"
resource "t_x" "a" {}
moved {
  from = t_x.a[1]
  to   = t_x.a
}
"#,
        "t_x.a[0]\nt_x.a[1]",
        &expect![[r#"
            t_x.a[1] -> t_x.a
            = t_x.a t_x.a[0]
        "#]],
    );
    check(
        &with_module(
            r#"
module "m" {
  source = "./m"
  lifecycle { enabled = true }
}
moved {
  from = module.m[1]
  to   = module.m
}
"#,
        ),
        "module.m[0].t_x.x\nmodule.m[1].t_x.x",
        &expect![[r#"
            module.m[1].t_x.x -> module.m.t_x.x
            = module.m.t_x.x module.m[0].t_x.x
        "#]],
    );
}

#[test]
fn statements_that_contradict_something() {
    check(
        r#"
resource "t_x" "a" { count = 2 }
resource "t_x" "b" {}
moved {
  from = t_x.a
  to   = t_x.a
}
moved {
  from = t_x.a[1]
  to   = t_x.b
}
moved {
  from = t_x.b
  to   = t_x.z
}
moved {
  from = t_x.c[0]
  to   = t_x.b
}
moved {
  from = t_x.c[0]
  to   = t_x.d
}
"#,
        "",
        &expect![[r#"
            = 
            main.tf:4:1 error: Redundant move statement
            main.tf:8:1 error: Moved object still exists
            main.tf:12:1 error: Moved object still exists
            main.tf:16:1 error: Ambiguous move statements
            main.tf:20:1 error: Ambiguous move statements
        "#]],
    );
    check(
        &with_module(
            r#"
module "a" { source = "./m" }
module "b" {
  source = "./m"
  count  = 1
}
moved {
  from = module.a
  to   = module.c
}
moved {
  from = module.b[0]
  to   = module.d
}
moved {
  from = module.b[1]
  to   = module.c
}
"#,
        ),
        "",
        &expect![[r#"
            = 
            main.tf:7:1 error: Moved object still exists
            main.tf:11:1 error: Moved object still exists
        "#]],
    );
    check(
        r#"
moved {
  from = t_x.a
  to   = t_x.b
}
moved {
  from = t_x.b
  to   = t_x.a
}
"#,
        "t_x.a",
        &expect![[r#"
            = t_x.a
            error: Cyclic dependency in move statements
        "#]],
    );
}

#[test]
fn what_moved_must_be_targeted() {
    let config = testing::config("resource \"t_x\" \"b\" {}\nmoved {\n  from = t_x.a\n  to = t_x.b\n}");
    let mut state = testing::state("t_x.a");
    let moves = execute(&statements(&config.tree, &state), &mut state);
    let target =
        |text: &str| vec![Target::parse_text(yuba_syntax::FileId(0), text).expect("because it is well-formed")];
    for (targets, excludes, expect) in [
        (vec![], vec![], 0),
        (target("t_x.b"), vec![], 1),
        ([target("t_x.b"), target("t_x.a")].concat(), vec![], 0),
        (vec![], target("t_x.a"), 1),
        (vec![], target("t_x.c"), 0),
    ] {
        assert_eq!(moves.check_targets(&targets, &excludes).len(), expect, "{targets:?} {excludes:?}");
    }
}

#[test]
fn many_statements_take_little_time() {
    let mut main = String::from("module \"m\" {\n  source = \"./m\"\n  count = 3000\n}\n");
    let mut lines = String::new();
    for at in 0..3000 {
        write!(main, "moved {{\n  from = t_x.old[{at}]\n  to = t_x.new[\"{at}\"]\n}}\n")
            .expect("because it is a string");
        writeln!(lines, "t_x.old[{at}]\nmodule.m[{at}].t_x.x[0]").expect("because it is a string");
    }
    let config = testing::config(&with_module(&main));
    let mut state = testing::state(&lines);
    let statements = statements(&config.tree, &state);
    assert_eq!((statements.iter().len(), statements.groups.len()), (6000, 6000));
    assert_eq!(execute(&statements, &mut state).changes.len(), 6000);
}

#[test]
fn an_object_that_moves_to_its_own_address_is_in_its_own_way() {
    check(
        r#"
resource "t_x" "a" {}
resource "t_x" "b" { count = 1 }
moved {
  from = t_x.a
  to   = t_x.a
}
moved {
  from = t_x.b[0]
  to   = t_x.b[0]
}
"#,
        "t_x.a\nt_x.b[0]",
        &expect![[r#"
            t_x.a -x t_x.a
            t_x.b[0] -x t_x.b[0]
            = t_x.a t_x.b[0]
            main.tf:4:1 error: Redundant move statement
            main.tf:8:1 error: Redundant move statement
            warning: Unresolved resource instance address changes
        "#]],
    );
}
