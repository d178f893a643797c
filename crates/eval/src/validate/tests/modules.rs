//! Calls, outputs, and what depends on what.

use expect_test::expect;

use super::{check, check_details};

#[test]
fn what_depends_on_something_wrong_is_not_checked() {
    check(
        r#"
--- main.tf
locals {
  wrong = upper(nope.x)
  after = lower(1, 2, local.wrong)
}
resource "terraform_data" "after" {
  inputs = local.wrong
}
output "after" {
  value = module.m.out.nope
}
module "m" {
  source = "./m"
  v      = local.wrong
}
--- m/m.tf
variable "v" {}
output "out" {
  value = { x = nope(var.v) }
}
output "other" {
  value = nope(1)
}
"#,
        &expect![[r#"
            m/m.tf:6:11 error: Call to unknown function
            main.tf:2:17 error: Reference to undeclared resource
            main.tf:6:3 error: Unsupported argument
        "#]],
    );
}

#[test]
fn calls_have_the_arguments_of_the_module() {
    check(
        r#"
--- main.tf
module "m" {
  source = "./m"
  extra  = 1
}
--- m/m.tf
variable "needed" {}
variable "other" {
  default = 1
}
"#,
        &expect![[r#"
            main.tf:1:12 error: Missing required argument
            main.tf:3:3 error: Unsupported argument
        "#]],
    );
    check(
        r#"
--- main.tf
variable "unknown" {}
variable "short" {
  ephemeral = true
}
module "m" {
  source = "./m"
  number = "x"
  text   = null
  stored = var.short
  rule   = 3
  object = { a = 1, b = { c = 1, d = 2 }, e = 3 }
  old    = 1
}
module "ok" {
  source = "./m"
  number = var.unknown
  text   = "x"
  stored = 1
  rule   = 7
  object = { a = 1, b = { c = 1 } }
}
module "null" {
  source = "./m"
  number = 1
  text   = "x"
  stored = 1
  rule   = 7
  object = { a = 1, b = { c = 1 } }
  old    = null
}
--- m/m.tf
variable "number" {
  type = number
}
variable "text" {
  type     = string
  nullable = false
}
variable "stored" {}
variable "rule" {
  validation {
    condition     = var.rule > 5
    error_message = "too small"
  }
}
variable "object" {
  type = object({ a = number, b = object({ c = number }) })
}
variable "old" {
  default    = 1
  deprecated = "use number"
}
"#,
        &expect![[r#"
            m/m.tf:1:1 error: Invalid value for input variable
            main.tf:10:12 error: Invalid value for variable
            main.tf:11:34 warning: Object attribute is ignored
            main.tf:11:43 warning: Object attribute is ignored
            main.tf:12:12 warning: The variable "old" is marked as deprecated by module author.
            main.tf:8:12 error: Required variable not set
            main.tf:9:12 error: Variable does not allow ephemeral value
        "#]],
    );
}

#[test]
fn outputs_of_modules_keep_the_marks_of_their_blocks() {
    check(
        r#"
--- main.tf
module "m" {
  source = "./m"
}
module "many" {
  source   = "./m"
  for_each = toset(["a"])
}
output "missing" {
  value = module.m.nope
}
output "old" {
  value = module.m.old
}
output "old_of_many" {
  value = module.many["a"].old
}
output "secret" {
  value = module.m.secret
}
locals {
  fine      = module.m.fine
  unrelated = can(module.m.old)
}
output "fine" {
  value = [local.fine, module.many["a"].fine, module.many["a"].nope]
}
--- m/m.tf
output "fine" {
  value = 1
}
output "old" {
  value      = 1
  deprecated = "use fine"
}
output "secret" {
  value      = 1
  sensitive  = true
  deprecated = "use fine"
}
"#,
        &expect![[r#"
            main.tf:12:11 warning: Value derived from a deprecated source
            main.tf:15:11 warning: Value derived from a deprecated source
            main.tf:17:1 error: Output refers to sensitive values
            main.tf:18:11 warning: Value derived from a deprecated source
            main.tf:25:63 error: Unsupported attribute
            main.tf:9:19 error: Unsupported attribute
        "#]],
    );
}

#[test]
fn deprecated_outputs_have_the_path_that_their_user_can_see() {
    check_details(
        r#"
--- main.tf
module "outer" {
  source = "./outer"
}
output "deep" {
  value = module.outer.whole.old
}
--- outer/main.tf
module "inner" {
  source = "./inner"
}
output "whole" {
  value = module.inner
}
output "read" {
  value = module.inner.old
}
--- outer/inner/main.tf
output "old" {
  value      = 1
  deprecated = "use new"
}
"#,
        &expect![[r#"
            main.tf:5:11 warning: Value derived from a deprecated source
            This value is derived from module.outer.module.inner.old, which is deprecated with the following message:

            use new
            outer/main.tf:8:11 warning: Value derived from a deprecated source
            This value is derived from module.inner.old, which is deprecated with the following message:

            use new
        "#]],
    );
}

#[test]
fn outputs_of_the_root_module_are_stored_and_shown() {
    check(
        r#"
--- main.tf
variable "secret" {
  sensitive = true
}
variable "short" {
  ephemeral = true
}
output "secret" {
  value = "${var.secret}"
}
output "told" {
  value     = var.secret
  sensitive = true
}
output "short" {
  value = var.short
}
output "ephemeral" {
  value     = 1
  ephemeral = true
}
output "rule" {
  value = 1
  precondition {
    condition     = var.nope
    error_message = "no ${var.secret}"
  }
}
output "false" {
  value = 1
  precondition {
    condition     = path.module == "x"
    error_message = "no"
  }
}
resource "terraform_data" "short" {
  input = var.short
}
"#,
        &expect![[r#"
            main.tf:15:11 error: Output does not allow ephemeral value
            main.tf:17:1 error: Invalid output configuration
            main.tf:24:21 error: Reference to undeclared input variable
            main.tf:31:21 error: Module output value precondition failed
            main.tf:36:11 error: Ephemeral value used in non-ephemeral context
            main.tf:7:1 error: Output refers to sensitive values
        "#]],
    );
}

#[test]
fn cycles_are_shown_as_a_chain() {
    check_details(
        r#"
--- main.tf
locals {
  a = local.b
  b = [for x in local.c : x]
  c = "${local.a}"
}
resource "terraform_data" "x" {
  input = terraform_data.y.id
}
resource "terraform_data" "y" {
  input = terraform_data.x.id
}
"#,
        &expect![[r#"
            error: Cycle: local.a (expand), local.b (expand), local.c (expand)
            These objects depend on each other:
              local.a (expand) (main.tf:2,3-14) depends on
              local.b (expand) (main.tf:3,3-29) depends on
              local.c (expand) (main.tf:4,3-19) depends on
              local.a (expand)

            To break the cycle, remove one of these references.
            error: Cycle: terraform_data.x, terraform_data.y
            These objects depend on each other:
              terraform_data.x (main.tf:6,1-30) depends on
              terraform_data.y (main.tf:9,1-30) depends on
              terraform_data.x

            To break the cycle, remove one of these references.
        "#]],
    );
    check(
        r#"
--- main.tf
module "m" {
  source = "./m"
  v      = module.m.out
}
--- m/m.tf
variable "v" {}
output "out" {
  value = var.v
}
"#,
        &expect![[r#"
            error: Cycle: module.m.output.out (expand), module.m.var.v (expand, input), module.m.var.v (expand, reference)
        "#]],
    );
}

#[test]
fn a_dynamic_for_each_of_a_provider_is_checked_as_far_as_it_is_known() {
    check(
        r#"
--- main.tf
language { experiments = [dynamic_provider_for_each] }
variable "unset" {}
resource "terraform_data" "a" {}
provider "terraform" {
  alias    = "later"
  for_each = toset([terraform_data.a.id])
  wrong    = each.key
}
provider "terraform" {
  alias    = "given"
  for_each = var.unset
}
provider "terraform" {
  alias    = "number"
  for_each = length(terraform_data.a.id)
}
provider "terraform" {
  alias    = "undeclared"
  for_each = toset([terraform_data.a.id, local.none])
}
resource "terraform_data" "b" { provider = terraform.later["any"] }
"#,
        &expect![[r#"
            main.tf:15:14 error: Invalid for_each argument
            main.tf:19:42 error: Reference to undeclared local value
            main.tf:1:27 warning: Experimental feature is active
            main.tf:7:3 error: Unsupported argument
        "#]],
    );
    check(
        r#"
--- main.tf
language { experiments = [dynamic_provider_for_each] }
resource "terraform_data" "a" { provider = terraform.later["any"] }
provider "terraform" {
  alias    = "later"
  for_each = toset([terraform_data.a.id])
}
"#,
        &expect![[r#"
            error: Cycle: provider["terraform.io/builtin/terraform"].later, terraform_data.a
            main.tf:1:27 warning: Experimental feature is active
        "#]],
    );
}

#[test]
fn keys_of_passed_providers_are_checked() {
    check(
        r#"
--- main.tf
terraform {
  required_providers { terraform = { source = "terraform.io/builtin/terraform" } }
}
provider "terraform" {
  alias    = "by"
  for_each = toset(["a"])
}
module "m" {
  source    = "./m"
  providers = { terraform = terraform.by[local.none] }
}
module "n" {
  source    = "./m"
  providers = { terraform = terraform.by[each.key] }
}
--- m/main.tf
terraform {
  required_providers { terraform = { source = "terraform.io/builtin/terraform" } }
}
resource "terraform_data" "a" {}
"#,
        &expect![[r#"
            main.tf:10:42 error: Reference to undeclared local value
            main.tf:14:42 error: Reference to "each" in context without for_each
        "#]],
    );
}
