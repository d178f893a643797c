//! `for_each` over a provider: one process for each key.

use crate::{addresses, apply, contains, deeds, no_changes, nothing_left, ok, sandbox};

const REGIONS: &str = r#"
//- main.tf
variable "regions" {
  default = ["eu", "us", "ap"]
}
provider "testing" {
  alias    = "by_region"
  for_each = toset(var.regions)
  instance = "in-${each.key}"
}
resource "testing_thing" "a" {
  for_each = toset(var.regions)
  provider = testing.by_region[each.key]
  name     = each.key
}
module "m" {
  source   = "./m"
  for_each = toset(var.regions)
  providers = {
    testing = testing.by_region[each.key]
  }
  name = "m-${each.key}"
}
//- m/main.tf
terraform {
  required_providers {
    testing = {
      source = "yuba/testing"
    }
  }
}
variable "name" {}
resource "testing_item" "b" {
  count = 2
  name  = "${var.name}-${count.index}"
}
"#;

fn by_region(protocol: u32) {
    let s = sandbox(protocol, REGIONS);
    s.clear_record();
    ok(&s, &["plan"]);
    let configured = |s: &yuba_testkit::Sandbox| {
        let mut names: Vec<String> = s.record().into_iter().filter(|line| line.starts_with("configure")).collect();
        names.sort();
        names.iter().map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(configured(&s), ["in-ap", "in-eu", "in-us"]);
    // One for each key, and another process for schemas.
    let processes = s.provider_processes().len();
    assert!((3..=4).contains(&processes), "{processes} processes for a plan");

    s.clear_record();
    contains(&apply(&s), &["9 added"]);
    let mut made = deeds(&s);
    made.sort();
    let expected: Vec<String> = ["ap", "eu", "us"]
        .iter()
        .flat_map(|key| {
            [format!("create testing_item m-{key}-0#1 in-{key}"), format!("create testing_item m-{key}-1#1 in-{key}")]
        })
        .chain(["ap", "eu", "us"].iter().map(|key| format!("create testing_thing {key}#1 in-{key}")))
        .collect();
    assert_eq!(made, expected);
    no_changes(&s);
    let state = s.read("terraform.tfstate");
    for key in ["eu", "us", "ap"] {
        let told = format!(r#"provider[\"registry.opentofu.org/yuba/testing\"].by_region[\"{key}\"]"#);
        assert!(state.contains(&told), "{told} is not in {state}");
    }
    assert_eq!(addresses(&s).len(), 9);
    ok(&s, &["destroy", "-auto-approve"]);
    let by_instance = deeds(&s);
    assert!(by_instance.iter().all(|line| line.starts_with("delete")), "{by_instance:?}");
    assert!(by_instance.contains(&"delete testing_thing us#1 in-us".to_owned()), "{by_instance:?}");
    assert_eq!(s.objects(), [] as [&str; 0]);
    nothing_left(&s);
}

#[test]
fn by_region_over_protocol_5() {
    by_region(5);
}

#[test]
fn by_region_over_protocol_6() {
    by_region(6);
}
