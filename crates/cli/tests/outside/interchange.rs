//! OpenTofu and Yuba take turns in one working directory: neither plans changes after an apply of the other.

use std::process::Output;

use yuba_testkit::Sandbox;

/// Name, and files as in a fixture. Every configuration has a variable `v` that changes something.
const CONFIGURATIONS: [(&str, &str); 20] = [
    ("one object", r#"resource "terraform_data" "x" { input = var.v }"#),
    (
        "count",
        r#"resource "terraform_data" "x" {
  count = 3
  input = "${var.v}-${count.index}"
}"#,
    ),
    (
        "for_each",
        r#"resource "terraform_data" "x" {
  for_each = { a = 1, "b c" = 2, "ü\"" = 3 }
  input    = [each.key, each.value, var.v]
}"#,
    ),
    (
        "enabled",
        r#"resource "terraform_data" "on" {
  input = var.v
  lifecycle { enabled = true }
}
resource "terraform_data" "off" {
  lifecycle { enabled = false }
}"#,
    ),
    (
        "types",
        r#"resource "terraform_data" "x" {
  input = {
    v = var.v, null = null, list = tolist(["a"]), set = toset([1, 2]), map = tomap({ a = true }), tuple = [1, "a", null, {}]
    text = "line\nline\t\"<>&\\ \u2028 ünï", big = 12345678901234567890, small = 0.1, nothing = [], deep = [[{ a = [1] }]]
  }
}"#,
    ),
    (
        "replaced",
        r#"resource "terraform_data" "x" { triggers_replace = [var.v] }
resource "terraform_data" "y" {
  triggers_replace = terraform_data.x.id
  lifecycle { create_before_destroy = true }
}"#,
    ),
    (
        "dependencies",
        r#"resource "terraform_data" "a" { input = var.v }
resource "terraform_data" "b" { input = terraform_data.a.output }
resource "terraform_data" "c" {
  input      = terraform_data.b.id
  depends_on = [terraform_data.a]
}"#,
    ),
    (
        "sensitive",
        r#"variable "secret" {
  default   = "s"
  sensitive = true
}
resource "terraform_data" "x" { input = { open = var.v, secret = var.secret, list = [var.secret] } }
output "secret" {
  value     = terraform_data.x.output
  sensitive = true
}"#,
    ),
    (
        "outputs",
        r#"output "all" { value = { string = var.v, number = 1.5, list = tolist([1]), set = toset(["b", "a"]), null = null } }
output "tuple" { value = [1, "a", true] }
output "map" { value = tomap({ z = 1, a = 2 }) }
output "old" {
  value      = var.v
  deprecated = "Use all."
}"#,
    ),
    (
        "modules",
        r#"module "m" {
  source = "./m"
  v      = var.v
}
output "o" { value = module.m.o }
//- m/main.tf
variable "v" {}
resource "terraform_data" "x" { input = var.v }
module "n" { source = "./n" }
output "o" { value = terraform_data.x.output }
//- m/n/main.tf
resource "terraform_data" "deep" { count = 2 }"#,
    ),
    (
        "module instances",
        r#"module "m" {
  source   = "./m"
  for_each = toset(["a", "b"])
  v        = "${each.key}${var.v}"
}
//- m/main.tf
variable "v" {}
resource "terraform_data" "x" {
  count = 2
  input = var.v
}"#,
    ),
    (
        "provider alias",
        r#"provider "terraform" { alias = "other" }
resource "terraform_data" "x" {
  provider = terraform.other
  input    = var.v
}"#,
    ),
    (
        "provider instances",
        r#"provider "terraform" {
  alias    = "by"
  for_each = toset(["a", "b"])
}
resource "terraform_data" "x" {
  for_each = toset(["a", "b"])
  provider = terraform.by[each.key]
  input    = var.v
}"#,
    ),
    (
        "provider instances of modules",
        r#"terraform {
  required_providers { terraform = { source = "terraform.io/builtin/terraform" } }
}
provider "terraform" {
  alias    = "by"
  for_each = { a = 1, b = 2 }
}
module "m" {
  source    = "./m"
  for_each  = toset(["b"])
  v         = var.v
  providers = { terraform = terraform.by[each.key] }
}
//- m/main.tf
terraform {
  required_providers { terraform = { source = "terraform.io/builtin/terraform" } }
}
variable "v" {}
resource "terraform_data" "x" { input = var.v }"#,
    ),
    (
        "conditions",
        r#"resource "terraform_data" "x" {
  input = var.v
  lifecycle {
    precondition {
      condition     = var.v != ""
      error_message = "Not empty."
    }
    postcondition {
      condition     = self.output == var.v
      error_message = "The same."
    }
  }
}
output "o" {
  value = 1
  precondition {
    condition     = terraform_data.x.output != ""
    error_message = "Not empty."
  }
}"#,
    ),
    (
        "checks",
        r#"resource "terraform_data" "x" { input = var.v }
check "good" {
  assert {
    condition     = terraform_data.x.output == var.v
    error_message = "The same."
  }
}
variable "checked" {
  default = 1
  validation {
    condition     = var.checked > 0
    error_message = "Positive."
  }
}"#,
    ),
    (
        "data",
        r#"data "terraform_remote_state" "d" {
  backend = "local"
  config  = { path = "other.json" }
}
resource "terraform_data" "x" { input = "${data.terraform_remote_state.d.outputs.o} ${var.v}" }
//- other.json
{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"x","outputs":{"o":{"value":"v","type":"string"}},"resources":[]}"#,
    ),
    (
        "imported",
        r#"import {
  to = terraform_data.x
  id = "an-id"
}
resource "terraform_data" "x" {}
output "o" { value = "${terraform_data.x.id} ${var.v}" }"#,
    ),
    (
        "kept",
        r#"resource "terraform_data" "x" {
  input = var.v
  lifecycle { destroy = false }
}
resource "terraform_data" "y" {
  input = var.v
  lifecycle { prevent_destroy = true }
}"#,
    ),
    (
        "ignored changes",
        r#"resource "terraform_data" "x" {
  input = var.v
  lifecycle { ignore_changes = [input] }
}
resource "terraform_data" "y" { input = [for x in [terraform_data.x] : x.output] }
output "v" { value = var.v }"#,
    ),
];

/// The configurations by name. Each is applied by Yuba first, then by OpenTofu first.
pub(crate) fn all() -> Vec<(&'static str, impl FnOnce() + Send + 'static)> {
    let check = |fixture| {
        move || {
            for first in [Who::Yuba, Who::Tofu] {
                if let Err(why) = take_turns(first, fixture) {
                    panic!("first {first:?}: {why}");
                }
            }
        }
    };
    CONFIGURATIONS.iter().map(|(name, fixture)| (*name, check(*fixture))).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Yuba,
    Tofu,
}

/// One applies, the other finds no change and changes something, and the first finds no change again.
fn take_turns(first: Who, fixture: &str) -> Result<(), String> {
    let sandbox = Sandbox::new(
        env!("CARGO_BIN_EXE_yuba"),
        &format!("//- variables.tf\nvariable \"v\" {{ default = \"1\" }}\n//- main.tf\n{fixture}\n"),
    );
    let second = if first == Who::Yuba { Who::Tofu } else { Who::Yuba };
    run(&sandbox, Who::Tofu, &["init"])?;
    run(&sandbox, first, &["apply", "-auto-approve"])?;
    let (lineage, serial) = version(&sandbox);
    run(&sandbox, second, &["plan", "-detailed-exitcode"])?;
    if version(&sandbox) != (lineage.clone(), serial) {
        return Err("a plan has changed the state".to_owned());
    }
    run(&sandbox, second, &["apply", "-auto-approve", "-var=v=2"])?;
    let now = version(&sandbox);
    if now.0 != lineage || now.1 <= serial {
        return Err(format!("lineage {lineage} and serial {serial} became {now:?}"));
    }
    run(&sandbox, first, &["plan", "-detailed-exitcode", "-var=v=2"])
}

fn run(sandbox: &Sandbox, who: Who, args: &[&str]) -> Result<(), String> {
    let output: Output = match who {
        Who::Yuba => sandbox.command(args).output(),
        Who::Tofu => sandbox.command_of("tofu", args).arg("-no-color").output(),
    }
    .expect("because both can be started");
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{who:?} {args:?}: {}\n{out}{err}", output.status))
}

/// Lineage and serial of the state.
fn version(sandbox: &Sandbox) -> (String, u64) {
    let text = sandbox.read("terraform.tfstate");
    let after = |key: &str| {
        let rest = text.split_once(&format!("\"{key}\": ")).expect("because every state has it").1;
        rest.split([',', '\n']).next().unwrap_or_default().to_owned()
    };
    (after("lineage"), after("serial").parse().expect("because it is a number"))
}
