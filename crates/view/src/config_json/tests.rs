//! Configurations and what OpenTofu writes about them.

use yuba_addrs::ProviderSource;
use yuba_provider::{Attribute, BlockSchema, NestedBlock, Nesting, ProviderSchema, RecordedSchemas, Schema};
use yuba_value::Type;

use super::{config, module};
use crate::testing::{builtin, one_module, tree};

#[test]
fn a_configuration() {
    let root = r#"
variable "v" {
  type    = object({ a = string, b = optional(number, 3) })
  default = { a = "x<y" }
  description = "d"
}
variable "s" {
  type      = string
  sensitive = true
  default   = "sec"
}
variable "req" {
  default   = null
  deprecated = "old"
}
variable "e" {
  type = string
  default = "e"
  ephemeral = true
}
resource "terraform_data" "a" {
  count = 2
  input = { s = var.s, l = [1, 2.5], n = var.v.a, "k<>" = null }
}
resource "terraform_data" "b" {
  input            = terraform_data.a[0].id
  triggers_replace = [var.s, "x"]
  depends_on       = [terraform_data.a]
  lifecycle {
    enabled = var.v.a != ""
    precondition {
      condition = var.v.b == 3
      error_message = "bad"
    }
  }
  provisioner "local-exec" {
    command = "echo hi; echo ${self.id}"
  }
}
module "m" {
  source   = "./m"
  for_each = toset(["x", "y.z"])
  x        = each.key
}
output "o" {
  value = terraform_data.a[*].output
  sensitive = true
}
output "k" {
  value = "const"
  description = "desc"
  deprecated = "no more"
}
output "mm" {
  value = module.m["x"].y.foo[0]
  depends_on = [module.m]
}
check "c" {
  data "terraform_remote_state" "r" {
    backend = "local"
    config = { path = "other.tfstate" }
  }
  assert {
    condition = data.terraform_remote_state.r.outputs.q == 1
    error_message = "c failed"
  }
}
"#;
    let child = r#"
variable "x" {
  validation {
    condition = length(var.x) > 0
    error_message = "nope"
  }
}
resource "terraform_data" "in" { input = var.x }
output "y" { value = { foo = [terraform_data.in.output] } }
"#;
    let expect = [
        r#"{"provider_config":{"terraform":{"name":"terraform","full_name":"terraform.io/builtin/terraform"}},"root_module":{"outputs":{"k":{"deprecated":"no more","expression":{"constant_value":"const"},"description":"desc"},"mm":{"expression":{"references":["module.m[\"x\"].y.foo[0]","module.m[\"x\"].y.foo","module.m[\"x\"].y","module.m[\"x\"]"]},"depends_on":["module.m"]},"o":{"sensitive":true,"expression":{"references":["terraform_data.a"]}}},"#,
        r#""resources":[{"address":"terraform_data.a","mode":"managed","type":"terraform_data","name":"a","provider_config_key":"terraform","expressions":{"input":{"references":["var.s","var.v.a","var.v"]}},"schema_version":0,"count_expression":{"constant_value":2}},"#,
        r#"{"address":"terraform_data.b","mode":"managed","type":"terraform_data","name":"b","provider_config_key":"terraform","provisioners":[{"type":"local-exec","expressions":{"command":{"references":["self.id","self"]}}}],"expressions":{"input":{"references":["terraform_data.a[0].id","terraform_data.a[0]","terraform_data.a"]},"triggers_replace":{"references":["var.s"]}},"schema_version":0,"enabled_expression":{"references":["var.v.a","var.v"]},"depends_on":["terraform_data.a"]},"#,
        r#"{"address":"data.terraform_remote_state.r","mode":"data","type":"terraform_remote_state","name":"r","provider_config_key":"terraform","expressions":{"backend":{"constant_value":"local"},"config":{"constant_value":{"path":"other.tfstate"}}},"schema_version":0}],"#,
        r#""module_calls":{"m":{"source":"./m","expressions":{"x":{"references":["each.key"]}},"module":{"outputs":{"y":{"expression":{"references":["terraform_data.in.output","terraform_data.in"]}}},"#,
        r#""resources":[{"address":"terraform_data.in","mode":"managed","type":"terraform_data","name":"in","provider_config_key":"terraform","expressions":{"input":{"references":["var.x"]}},"schema_version":0}],"variables":{"x":{"required":true}}}}},"#,
        r#""variables":{"e":{"type":"string","default":"e","ephemeral":true},"req":{"default":null,"deprecated":"old"},"s":{"type":"string","default":"sec","sensitive":true},"v":{"type":["object",{"a":"string","b":"number"},["b"]],"default":{"a":"x\u003cy","b":3},"description":"d"}}}}"#,
    ];
    let shown = config(&tree([(".", root), ("m", child)]), &builtin()).expect("because there are schemas");
    assert_eq!(shown, expect.concat());
}

#[test]
fn a_module_alone() {
    let text = r#"
terraform {
  required_providers {
    aws  = { source = "hashicorp/aws", version = "~> 5.0" }
    west = { source = "x/y", version = ">= 1, < 2", configuration_aliases = [west.one] }
  }
}
provider "aws" {
  region = "eu"
}
provider "aws" {
  alias    = "by"
  for_each = toset(["a", "b"])
  region   = each.key
}
resource "aws_thing" "a" {
  for_each = toset(["a", "b"])
  provider = aws.by[each.key]
}
resource "null_resource" "n" {
  depends_on = [aws_thing.a]
}
module "m" {
  source  = "ns/m/aws"
  version = ">= 1.0, != 1.5"
  providers = { aws = aws.by["a"] }
  count = 1
}
"#;
    let expect = [
        r#"{"provider_config":{"aws":{"name":"aws","full_name":"registry.opentofu.org/hashicorp/aws","version_constraint":"~\u003e 5.0"},"aws.by":{"name":"aws","full_name":"registry.opentofu.org/hashicorp/aws","alias":"by","version_constraint":"~\u003e 5.0"},"#,
        r#""null":{"name":"null","full_name":"registry.opentofu.org/hashicorp/null"},"west":{"name":"west","full_name":"registry.opentofu.org/x/y","version_constraint":"\u003e= 1.0.0, \u003c 2.0.0"},"west.one":{"name":"west","full_name":"registry.opentofu.org/x/y","version_constraint":"\u003e= 1.0.0, \u003c 2.0.0"},"y":{"name":"y","full_name":"registry.opentofu.org/x/y"}},"#,
        r#""root_module":{"resources":[{"address":"aws_thing.a","mode":"managed","type":"aws_thing","name":"a","provider_config_key":"aws.by"},{"address":"null_resource.n","mode":"managed","type":"null_resource","name":"n","provider_config_key":"null","depends_on":["aws_thing.a"]}],"module_calls":{"m":{"source":"ns/m/aws","version_constraint":"\u003e= 1.0, != 1.5"}}}}"#,
    ];
    assert_eq!(module(&one_module(text)), expect.concat());
}

/// A provider with one resource type that has all kinds of blocks.
fn other() -> RecordedSchemas {
    let block = || BlockSchema::new([("x", Attribute::optional(Type::string()))]);
    let nested = |nesting| NestedBlock::new(nesting, block());
    let blocks = [("list", nested(Nesting::List)), ("map", nested(Nesting::Map)), ("single", nested(Nesting::Single))];
    let schema = Schema { version: 2, block: block().with_blocks(blocks) };
    let provider = Schema { version: 0, block: block() };
    let resources = [("o_thing", schema)].into();
    let source = ProviderSource::parse("hashicorp/o").expect("because it is well-formed");
    RecordedSchemas::new([(source, ProviderSchema { provider, resources, ..ProviderSchema::default() })].into())
}

#[test]
fn providers_that_are_passed_and_blocks_in_blocks() {
    let root = r#"
        provider "o" {
          alias    = "by"
          for_each = { a = 1, b = 2 }
          x        = each.key
        }
        provider "o" { x = "y" }
        resource "o_thing" "a" {
          provider = o.by["a"]
          list { x = "1" }
          list {}
          map "k" { x = path.module }
          single { x = "s" }
          dynamic "list" {
            for_each = []
            content {}
          }
        }
        module "m" {
          source    = "./m"
          providers = { o.in = o.by["b"], o = o }
          lifecycle { enabled = true }
        }
    "#;
    let child = r#"
        terraform {
          required_providers {
            o = { source = "hashicorp/o", version = "1.0", configuration_aliases = [o.in] }
          }
        }
        resource "o_thing" "b" { provider = o.in }
        resource "o_thing" "c" {}
        module "n" { source = "./n" }
    "#;
    let grandchild = r#"
        resource "o_thing" "d" {}
    "#;
    let shown = config(&tree([(".", root), ("m", child), ("m/n", grandchild)]), &other());
    let shown = shown.expect("because there are schemas").replace(",\"schema_version\":2", "");
    let expect = [
        r#"{"provider_config":{"o":{"name":"o","full_name":"registry.opentofu.org/hashicorp/o","expressions":{"x":{"constant_value":"y"}}},"#,
        r#""o.by":{"name":"o","full_name":"registry.opentofu.org/hashicorp/o","alias":"by","expressions":{"x":{"references":["each.key"]}}}},"#,
        r#""root_module":{"resources":[{"address":"o_thing.a","mode":"managed","type":"o_thing","name":"a","provider_config_key":"o.by","#,
        r#""expressions":{"list":[{"x":{"constant_value":"1"}},{}],"map":{"k":{"x":{"references":["path.module"]}}},"single":{"x":{"constant_value":"s"}}}}],"#,
        r#""module_calls":{"m":{"source":"./m","enabled_expression":{"constant_value":true},"module":{"resources":[{"address":"o_thing.b","mode":"managed","type":"o_thing","name":"b","provider_config_key":"o.by"},"#,
        r#"{"address":"o_thing.c","mode":"managed","type":"o_thing","name":"c","provider_config_key":"o"}],"#,
        r#""module_calls":{"n":{"source":"./n","module":{"resources":[{"address":"o_thing.d","mode":"managed","type":"o_thing","name":"d","provider_config_key":"o"}]}}}}}}}}"#,
    ];
    assert_eq!(shown, expect.concat());
}
