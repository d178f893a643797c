//! Configurations in, what is imported to where out.

use expect_test::{Expect, expect};
use yuba_eval::{EvalEnv, EvalMode, Evaluation, MemoryWorld, ModuleId};
use yuba_provider::{RecordedSchemas, builtin};

use super::*;
use crate::testing;

fn check(fixture: &str, expect: &Expect) {
    let config = testing::config(fixture);
    let live = testing::expand(&config.tree);
    let world = MemoryWorld::default();
    let env = EvalEnv {
        world: &world,
        workspace: "default",
        original_dir: None,
        providers: &RecordedSchemas::new(BTreeMap::new()),
        sources: None,
    };
    let evaluation = Evaluation::new(&config.tree, env, EvalMode::Live(&live));
    let scope = evaluation.scope(ModuleId::ROOT);
    let mut imports = Imports::default();
    let mut problems = Diagnostics::new();
    let source = ProviderSource::implied_for("terraform").expect("because it is well-formed");
    let provider = ImportProvider { source: &source, schema: &builtin::TERRAFORM };
    for import in &config.tree.root().module.imports {
        let resolved = ResolvedImport::of(import, &scope, Some(provider));
        problems.extend(imports.add(import, resolved, Some(&config.sources)));
    }
    problems.extend(imports.check(&live, Instances::Complete));
    let mut out = String::new();
    for (addr, imported) in &imports.by_addr {
        out += &match &imported.by {
            ImportBy::Id(id) => format!("{addr} by {id:?}\n"),
            ImportBy::Identity(_) => format!("{addr} by identity\n"),
        };
    }
    expect.assert_eq(&(out + &testing::show(&problems, &config.sources)));
}

#[test]
fn blocks_are_repeated() {
    check(
        r#"
resource "terraform_data" "one" {}
resource "terraform_data" "many" { for_each = { a = 1, b = 2 } }
resource "terraform_data" "count" { count = 2 }
import {
  to = terraform_data.one
  id = "x${1 + 1}"
}
import {
  for_each = { a = "q", b = 7 }
  to       = terraform_data.many[each.key]
  id       = each.value
}
import {
  for_each = ["r", "s"]
  to       = terraform_data.count[each.key]
  id       = each.value
}
"#,
        &expect![[r#"
            terraform_data.count[0] by "r"
            terraform_data.count[1] by "s"
            terraform_data.many["a"] by "q"
            terraform_data.many["b"] by "7"
            terraform_data.one by "x2"
        "#]],
    );
}

#[test]
fn errors_in_values() {
    check(
        r#"
resource "terraform_data" "a" { count = 1 }
import {
  to = terraform_data.a[0]
  id = sensitive("x")
}
import {
  to = terraform_data.a[1 == 1]
  id = "x"
}
import {
  to = terraform_data.a[tostring(null)]
  id = null
}
import {
  to = terraform_data.a[1 + 0]
  id = ["x"]
}
import {
  to       = terraform_data.a[2]
  identity = { id = "x" }
}
import {
  for_each = null
  to       = terraform_data.a[each.key]
  id       = "x"
}
import {
  for_each = sensitive(["x"])
  to       = terraform_data.a[each.key]
  id       = "x"
}
import {
  for_each = toset([1])
  to       = terraform_data.a[each.key]
  id       = "x"
}
import {
  to = terraform_data.a[sensitive(0)]
  id = "x"
}
"#,
        &expect![[r#"
            main.tf:5:8 error: Invalid import id argument
            main.tf:8:25 error: Import block 'to' address contains an invalid key
            main.tf:12:25 error: Import block 'to' address contains an invalid key
            main.tf:17:8 error: Incorrect value type
            main.tf:21:14 error: Unable to determine identity schema for import identity
            main.tf:24:14 error: Invalid for_each argument
            main.tf:29:14 error: Invalid for_each argument
            main.tf:34:14 error: Invalid for_each argument
            main.tf:39:25 error: Import block 'to' address contains an invalid key
        "#]],
    );
}

#[test]
fn targets_exist_once() {
    check(
        r#"
//- main.tf
resource "terraform_data" "a" { count = 1 }
resource "terraform_data" "off" {
  lifecycle { enabled = false }
}
module "off" {
  source = "./m"
  lifecycle { enabled = false }
}
import {
  to = terraform_data.a[0 + 0]
  id = "x"
}
import {
  to = terraform_data.a[0]
  id = "y"
}
import {
  to = terraform_data.a[1]
  id = "x"
}
import {
  to = terraform_data.off
  id = "x"
}
import {
  to = module.off.terraform_data.x
  id = "x"
}
//- m/main.tf
resource "terraform_data" "x" {}
"#,
        &expect![[r#"
            terraform_data.a[0] by "x"
            terraform_data.a[1] by "x"
            terraform_data.off by "x"
            module.off.terraform_data.x by "x"
            main.tf:9:1 error: Duplicate import configuration for "terraform_data.a[0]"
            error: Configuration for import target does not exist
            main.tf:21:1 warning: Import target is not enabled
            main.tf:25:1 warning: Import target is not enabled
        "#]],
    );
}

#[test]
fn configuration_can_be_written_for_some_targets() {
    let config = testing::config(
        r#"
//- main.tf
module "m" { source = "./m" }
import {
  to = t_x.a
  id = "x"
}
import {
  to = t_x.b[0]
  id = "x"
}
import {
  to = t_x.c[1 + 1]
  id = "x"
}
import {
  to = module.m.t_x.d
  id = "x"
}
import {
  to = module.gone.t_x.e
  id = "x"
}
//- m/main.tf
"#,
    );
    let check = |generation, expect: &Expect| {
        let (undeclared, problems) = check_targets(&config.tree, generation);
        let found: String = undeclared.generate.iter().map(|(addr, _)| format!("{addr}\n")).collect();
        expect.assert_eq(&(found + &testing::show(&problems, &config.sources)));
    };
    check(
        Generation::Enabled,
        &expect![[r#"
            t_x.a
            main.tf:6:1 error: Configuration generation for count and for_each resources not supported
            main.tf:10:1 error: Configuration generation for count and for_each resources not supported
            main.tf:14:1 error: Cannot generate configuration for resource inside sub-module
            main.tf:18:1 error: Cannot generate configuration for resource inside sub-module
        "#]],
    );
    check(
        Generation::Disabled,
        &expect![[r#"
            main.tf:2:1 error: Configuration for import target does not exist
            main.tf:6:1 error: Configuration for import target does not exist
            main.tf:10:1 error: Configuration for import target does not exist
            main.tf:14:1 error: Configuration for import target does not exist
            main.tf:18:1 error: Configuration for import target does not exist
        "#]],
    );
}
