//! `yuba test` with a real provider: objects of its runs are destroyed by the provider that created them.

use crate::{contains, deeds, nothing_left, ok, sandbox};

/// Operations, unordered.
fn done(s: &yuba_testkit::Sandbox) -> Vec<String> {
    let mut done = deeds(s);
    done.sort();
    done
}

#[test]
fn each_provider_instance_destroys_what_it_made() {
    let s = sandbox(
        6,
        r#"
//- main.tf
variable "regions" {
  default = ["eu"]
}
variable "used" {
  default = ["eu"]
}
provider "testing" {
  alias    = "by"
  for_each = toset(var.regions)
  instance = "in-${each.key}"
}
resource "testing_thing" "a" {
  for_each = toset(var.used)
  provider = testing.by[each.key]
  name     = each.key
}
//- main.tftest.hcl
provider "testing" {
  alias    = "by"
  for_each = toset(var.regions)
  instance = "test-${each.key}"
}
run "two" {
  variables {
    regions = ["eu", "us"]
    used    = ["eu", "us"]
  }
}
run "other_keys" {
  variables {
    regions = ["ap", "eu", "us"]
    used    = ["ap", "us"]
  }
}
"#,
    );
    s.clear_record();
    contains(&ok(&s, &["test"]), &["2 passed"]);
    let expected = [
        "create testing_thing ap#1 test-ap",
        "create testing_thing eu#1 test-eu",
        "create testing_thing us#1 test-us",
        "delete testing_thing ap#1 test-ap",
        "delete testing_thing eu#1 test-eu",
        "delete testing_thing us#1 test-us",
    ];
    assert_eq!(done(&s), expected);
    nothing_left(&s);
}

const MIXED: &str = r#"
//- main.tf
variable "names" {
  default = ["a"]
}
resource "testing_thing" "x" {
  for_each = toset(var.names)
  name     = each.key
}
//- other/main.tf
terraform {
  required_providers {
    testing = {
      source = "yuba/testing"
    }
  }
}
resource "testing_thing" "y" {
  name = "y"
}
"#;

#[test]
fn mocks_and_providers_destroy_their_own_objects() {
    let s = sandbox(6, MIXED);
    s.write(
        "main.tftest.hcl",
        r#"
mock_provider "testing" {
  alias = "mock"
}
run "real" {}
run "mocked" {
  providers = {
    testing = testing.mock
  }
  module {
    source = "./other"
  }
}
"#,
    );
    s.clear_record();
    ok(&s, &["init"]);
    contains(&ok(&s, &["test"]), &["2 passed"]);
    assert_eq!(done(&s), ["create testing_thing a#1 -", "delete testing_thing a#1 -"]);
    nothing_left(&s);
}

/// Both work on the same state: the second run creates another object with the mock.
#[test]
fn one_state_may_have_objects_of_a_mock_and_of_a_real_provider() {
    let s = sandbox(6, MIXED);
    s.write(
        "main.tftest.hcl",
        r#"
mock_provider "testing" {
  alias = "mock"
}
run "real" {}
run "mocked" {
  variables {
    names = ["a", "b"]
  }
  providers = {
    testing = testing.mock
  }
}
"#,
    );
    s.clear_record();
    contains(&ok(&s, &["test"]), &["2 passed"]);
    assert_eq!(done(&s), ["create testing_thing a#1 -", "delete testing_thing a#1 -"]);
    nothing_left(&s);
}
