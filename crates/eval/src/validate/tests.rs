//! Errors in configurations: `--- path` starts a file.

mod modules;
mod providers;
mod symbols;

use std::sync::Arc;

use expect_test::{Expect, expect};
use yuba_addrs::ProviderSource;
use yuba_provider::{ProviderSchema, Providers, builtin};
use yuba_syntax::Severity;

use super::{PARALLELISM, ValidateEnv, validate};
use crate::inputs::Inputs;
use crate::module_scope::EvalEnv;
use crate::testing::{Lenient, now};
use crate::tree::tests::Memory;
use crate::tree::{Link, Manifest, Purpose, link};
use crate::world::MemoryWorld;

fn schemas(provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
    provider.is_builtin().then(|| Arc::new(builtin::TERRAFORM.clone()))
}

fn found(fixture: &str, details: bool) -> String {
    found_with(fixture, details, &Lenient(schemas))
}

/// Each message as `file:line:column severity: summary`, sorted; with the detail where `details` says so.
fn found_with(fixture: &str, details: bool, providers: &dyn Providers) -> String {
    let mut files = Memory::new(fixture);
    let (world, inputs, manifest) = (MemoryWorld::default(), Inputs::default(), Manifest::default());
    let options = Link {
        root_dir: ".",
        world: &world,
        workspace: "default",
        original_dir: None,
        inputs: &inputs,
        manifest: &manifest,
        purpose: Purpose::Use,
    };
    let (tree, problems) = link(&mut files, &options);
    let mut problems = problems.into_all();
    if !problems.has_errors() {
        let eval = EvalEnv {
            world: &world,
            workspace: "default",
            original_dir: None,
            providers,
            sources: Some(&files.sources),
        };
        let references = crate::graph::References::read(&tree, eval);
        let env = ValidateEnv { eval, references: &references, inputs: &inputs, parallelism: PARALLELISM };
        problems.extend(now(validate(&tree, &env)));
    }
    let mut lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let location = problem.subject.and_then(|span| Some((files.sources.get(span.file)?, span)));
            let location = location.map(|(file, span)| {
                let at = file.position(span.start as usize);
                format!("{}:{}:{} ", file.name, at.line, at.column)
            });
            let severity = if problem.severity == Severity::Error { "error" } else { "warning" };
            let detail = if details { format!("\n{}", problem.explanation()) } else { String::new() };
            format!("{}{severity}: {}{detail}\n", location.unwrap_or_default(), problem.summary)
        })
        .collect();
    lines.sort();
    lines.concat()
}

fn check(fixture: &str, expect: &Expect) {
    expect.assert_eq(&found(fixture, false));
}

fn check_details(fixture: &str, expect: &Expect) {
    expect.assert_eq(&found(fixture, true));
}

#[test]
fn names_must_be_declared() {
    check(
        r#"
--- main.tf
variable "name" {}
locals {
  a = var.nam
  b = local.zzz
  c = terraform_data.nope.id
  d = data.terraform_data.one
  e = module.nope.x
  f = path.nope
  g = terraform.nope
  h = count.index
  i = each.key
  j = each.value
  k = each.other
  l = count.other
  m = self.id
  n = terraform_data.one.nope
  o = terraform_data.one["id"]
  p = try(terraform_data.nope.id, 1)
  q = symbols.lib.value
  r = local.r
}
resource "terraform_data" "one" {}
"#,
        &expect![[r#"
            main.tf:10:7 error: Reference to "count" in non-counted context
            main.tf:11:7 error: Reference to "each" in context without for_each
            main.tf:12:7 error: each.value cannot be used in this context
            main.tf:13:7 error: Invalid "each" attribute
            main.tf:14:7 error: Invalid "count" attribute
            main.tf:15:7 error: Invalid "self" reference
            main.tf:16:25 error: Unsupported attribute
            main.tf:17:7 error: Unexpected resource instance key
            main.tf:18:11 error: Reference to undeclared resource
            main.tf:19:7 error: Reference to undefined symbol library
            main.tf:20:7 error: Self-referencing local value
            main.tf:3:7 error: Reference to undeclared input variable
            main.tf:4:7 error: Reference to undeclared local value
            main.tf:5:7 error: Reference to undeclared resource
            main.tf:6:7 error: Reference to undeclared resource
            main.tf:7:7 error: Reference to undeclared module
            main.tf:8:7 error: Invalid "path" attribute
            main.tf:9:7 error: Invalid "terraform" attribute
        "#]],
    );
}

#[test]
fn instance_keys_fit_the_repetition() {
    check(
        r#"
--- main.tf
resource "terraform_data" "one" {}
resource "terraform_data" "many" {
  count = 2
  input = count.index
}
resource "terraform_data" "each" {
  for_each = toset(["a"])
  input    = each.value
}
resource "terraform_data" "maybe" {
  input = each.key
  lifecycle {
    enabled = var.on
  }
}
variable "on" {
  type = bool
}
output "ok" {
  value = [
    terraform_data.one.id, terraform_data.many[0].id, terraform_data.many[*].id, terraform_data.each["a"].id,
    terraform_data.maybe.id, terraform_data.many, [for x in terraform_data.each : x.id],
  ]
}
output "wrong" {
  value = [
    terraform_data.one[0].id, terraform_data.many.id, terraform_data.each.id, terraform_data.maybe[0],
    terraform_data.one.count,
  ]
}
"#,
        &expect![[r#"
            main.tf:11:11 error: Reference to "each" in context without for_each
        "#]],
    );
}

#[test]
fn repetition_arguments_are_checked_as_far_as_they_are_known() {
    check(
        r#"
--- main.tf
variable "unknown" {}
variable "secret" {
  sensitive = true
}
variable "short" {
  ephemeral = true
}
resource "terraform_data" "count" {
  count = -1
}
resource "terraform_data" "count_text" {
  count = "x"
}
resource "terraform_data" "count_null" {
  count = null
}
resource "terraform_data" "count_part" {
  count = 1.5
}
resource "terraform_data" "count_unknown" {
  count = var.unknown
}
resource "terraform_data" "count_secret" {
  count = var.secret
}
resource "terraform_data" "count_short" {
  count = var.short
}
resource "terraform_data" "each_list" {
  for_each = ["a"]
}
resource "terraform_data" "each_numbers" {
  for_each = toset([1, 2])
}
resource "terraform_data" "each_null" {
  for_each = null
}
resource "terraform_data" "each_secret" {
  for_each = var.secret
}
resource "terraform_data" "each_unknown" {
  for_each = var.unknown
}
resource "terraform_data" "each_unknown_values" {
  for_each = { a = var.unknown }
}
module "m" {
  source   = "./m"
  for_each = "text"
}
module "n" {
  source = "./m"
  count  = true
}
--- m/m.tf
# Nothing.
"#,
        &expect![[r#"
            main.tf:12:11 error: Incorrect value type
            main.tf:15:11 error: Invalid count argument
            main.tf:18:11 error: Invalid count argument
            main.tf:27:11 error: Invalid count argument
            main.tf:30:14 error: Invalid for_each argument
            main.tf:33:14 error: Invalid for_each argument
            main.tf:36:14 error: Invalid for_each argument
            main.tf:39:14 error: Invalid for_each argument
            main.tf:49:14 error: Invalid for_each argument
            main.tf:53:12 error: Incorrect value type
            main.tf:9:11 error: Invalid count argument
        "#]],
    );
}

#[test]
fn enabled_is_checked_already() {
    check(
        r#"
--- main.tf
variable "unknown" {}
variable "secret" {
  sensitive = true
}
resource "terraform_data" "ok" {
  lifecycle {
    enabled = var.unknown
  }
}
resource "terraform_data" "text" {
  lifecycle {
    enabled = "maybe"
  }
}
resource "terraform_data" "null" {
  lifecycle {
    enabled = null
  }
}
resource "terraform_data" "secret" {
  lifecycle {
    enabled = var.secret
  }
}
resource "terraform_data" "own" {
  lifecycle {
    enabled = terraform_data.own == null
  }
}
module "m" {
  source = "./m"
  lifecycle {
    enabled = 5
  }
}
--- m/m.tf
# Nothing.
"#,
        &expect![[r#"
            main.tf:12:15 error: Invalid enabled argument
            main.tf:17:15 error: Invalid enabled argument
            main.tf:22:15 error: Invalid enabled argument
            main.tf:27:15 error: Self-referential block
            main.tf:33:15 error: Invalid enabled argument
        "#]],
    );
}

#[test]
fn resources_are_checked_by_schema() {
    check(
        r#"
--- main.tf
resource "terraform_data" "a" {
  id      = "x"
  unknown = 1
}
resource "terraform_data" "b" {
  id = "x"
  block {}
}
resource "terraform_data" "c" {
  id     = "x"
  output = 1
}
resource "terraform_nope" "d" {}
data "terraform_data" "e" {}
ephemeral "terraform_data" "f" {}
data "terraform_remote_state" "g" {}
resource "terraform_data" "h" {
  depends_on = [terraform_data.k.id, terraform_data.nope]
  lifecycle {
    ignore_changes       = [input, id, nope]
    replace_triggered_by = [terraform_data.nope, terraform_data.k.nope, terraform_data.k.id]
    prevent_destroy      = "maybe"
    precondition {
      condition     = terraform_data.nope.id == 1
      error_message = "no"
    }
    postcondition {
      condition     = self.id == 1 && self.nope == 2
      error_message = "no ${self.id}"
    }
  }
}
resource "terraform_data" "i" {
  input = terraform_data.i.id
}
resource "terraform_data" "k" {
  lifecycle {
    ignore_changes = [id]
  }
}
resource "terraform_data" "j" {
  dynamic "nope" {
    for_each = [1]
    content {}
  }
  input = nope(1)
}
"#,
        &expect![[r#"
            error: "id" attribute is read-only
            error: "output" attribute is read-only
            main.tf:13:10 error: Invalid resource type
            main.tf:14:6 error: Invalid data source
            main.tf:15:11 error: Invalid ephemeral resource
            main.tf:16:35 error: Missing required argument
            main.tf:18:33 error: Invalid depends_on reference
            main.tf:20:40 error: Unsupported attribute
            main.tf:21:29 error: Undeclared resource in replace_triggered_by
            main.tf:21:66 error: Unsupported attribute
            main.tf:22:28 error: Invalid value for prevent_destroy
            main.tf:24:23 error: Reference to undeclared resource
            main.tf:24:23 error: Unknown variable
            main.tf:28:23 error: Unknown variable
            main.tf:28:39 error: Unknown variable
            main.tf:28:43 error: Unsupported attribute
            main.tf:36:10 warning: Redundant ignore_changes element
            main.tf:3:3 error: Unsupported argument
            main.tf:42:11 error: Unsupported block type
            main.tf:46:11 error: Call to unknown function
            main.tf:7:3 error: Unsupported block type
        "#]],
    );
}

#[test]
fn provisioners_and_connections() {
    check(
        r#"
--- main.tf
resource "terraform_data" "a" {
  connection {
    nope = 1
  }
  provisioner "local-exec" {
    command = self.id
  }
}
resource "terraform_data" "b" {
  provisioner "local-exec" {
    command = ""
  }
  provisioner "local-exec" {
    cmd = "not reached"
  }
}
resource "terraform_data" "c" {
  connection {
    host = "h"
  }
  provisioner "remote-exec" {
    connection {
      type = "winrm"
    }
    inline = [self.nope]
  }
}
resource "terraform_data" "d" {
  connection {
    host = "h"
    type = "winrm"
  }
  provisioner "file" {
    destination = "x"
    content     = "${path.module} ${self.id}"
  }
}
resource "terraform_data" "e" {
  provisioner "remote-exec" {
    inline = ["a"]
    script = "b"
  }
}
"#,
        &expect![[r#"
            error: Invalid local-exec provisioner command
            error: Invalid remote-exec provisioner configuration
            main.tf:25:19 error: Unsupported attribute
            main.tf:2:14 error: Missing required argument
            main.tf:31:12 warning: WinRM connection type is deprecated
            main.tf:3:5 error: Unsupported argument
        "#]],
    );
    check(
        r#"
--- main.tf
resource "terraform_data" "a" {
  provisioner "shell" {}
}
resource "aws_instance" "b" {
  provisioner "local-exec" {}
}
"#,
        &expect![[r#"
            error: Missing required provider
            error: Missing required provisioner plugin
        "#]],
    );
}

#[test]
fn checks_see_their_own_data_only() {
    check(
        r#"
--- main.tf
check "a" {
  data "terraform_remote_state" "state" {
    backend = "local"
  }
  assert {
    condition     = data.terraform_remote_state.state.outputs.x == upper(1, 2)
    error_message = "no ${data.terraform_remote_state.state.nope}"
  }
}
output "x" {
  value = data.terraform_remote_state.state.outputs
}
check "b" {
  assert {
    condition     = nope.nope.id == 1
    error_message = upper(1, 2)
  }
}
"#,
        &expect![[r#"
            main.tf:11:11 error: Reference to scoped resource
            main.tf:15:21 error: Reference to undeclared resource
            main.tf:16:30 error: Too many function arguments
            main.tf:7:27 error: Unknown variable
            main.tf:7:60 error: Unsupported attribute
        "#]],
    );
}

#[test]
fn provider_configurations_that_are_used_are_checked() {
    check(
        r#"
--- main.tf
terraform {
  required_providers {
    terraform = {
      source = "terraform.io/builtin/terraform"
    }
  }
}
provider "terraform" {
  nope = 1
}
provider "terraform" {
  alias = "unused"
  nope  = 1
}
resource "terraform_data" "a" {}
output "ok" {
  value = provider::terraform::encode_tfvars({ a = 1 })
}
"#,
        &expect![[r#"
            main.tf:9:3 error: Unsupported argument
        "#]],
    );
}

#[test]
fn imports_say_what_to_import() {
    check(
        r#"
--- main.tf
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  for_each = toset(["x"])
}
import {
  to = terraform_data.a
  id = terraform_data.b["x"].nope
}
import {
  for_each = { x = null }
  to       = terraform_data.b[each.key]
  id       = each.value
}
"#,
        &expect![[r#"
            main.tf:12:14 error: Invalid import id argument
        "#]],
    );
}
