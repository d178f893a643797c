//! Saved plans of a real provider: shown where the provider is not, applied only with the one they were made with.

use yuba_testkit::Sandbox;

use crate::{contains, deeds, fails, nothing_left, ok, sandbox};

const NESTED: &str = r#"
//- main.tf
provider "testing" {
  alias    = "by"
  for_each = toset(["a"])
}
resource "testing_thing" "a" {
  name = "a"
}
resource "testing_nested" "n" {
  provider = testing.by["a"]
  name     = "n"
  single {
    text = "s"
  }
  set {
    text = testing_thing.a.id
  }
  map "k" {
    text = "m"
  }
}
module "m" {
  source = "./m"
}
//- m/main.tf
terraform {
  required_providers {
    testing = {
      source = "yuba/testing"
    }
  }
}
resource "testing_thing" "in" {
  count = 2
  name  = "in${count.index}"
}
"#;

#[test]
fn a_plan_is_shown_without_providers_and_configuration() {
    for protocol in [5, 6] {
        let s = sandbox(protocol, NESTED);
        ok(&s, &["apply", "-auto-approve", "-target=testing_thing.a"]);
        ok(&s, &["plan", "-out=plan"]);
        let (text, json) = (ok(&s, &["show", "plan"]).stdout, ok(&s, &["show", "-json", "plan"]).stdout);
        assert!(text.contains("Plan: 3 to add, 0 to change, 0 to destroy."), "{text}");
        let plan = std::fs::read(s.dir().join("plan")).expect("because it was written");
        let elsewhere = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "").env("NO_COLOR", "1");
        elsewhere.write("plan", &plan);
        assert_eq!(ok(&elsewhere, &["show", "plan"]).stdout, text);
        assert_eq!(ok(&elsewhere, &["show", "-json", "plan"]).stdout, json);
        assert_eq!(ok(&elsewhere, &["show", "-plan=plan"]).stdout, text);
        // In the directory of the plan, but without any installed provider.
        std::fs::remove_dir_all(s.dir().join(".terraform")).expect("because the sandbox is writable");
        std::fs::remove_file(s.dir().join(".terraform.lock.hcl")).expect("because the sandbox is writable");
        assert_eq!(ok(&s, &["show", "-json", "plan"]).stdout, json);
        nothing_left(&s);
    }
}

#[test]
fn a_plan_is_applied_with_the_providers_it_was_made_with() {
    let s = sandbox(6, NESTED);
    ok(&s, &["plan", "-out=plan"]);
    let lock = s.read(".terraform.lock.hcl");
    let title = "Error: Inconsistent dependency lock file";
    let hashes = lock.replacen("\"h1:", "\"h1:xxxx=\",\n    \"h1:", 1);
    assert_ne!(hashes, lock);
    s.write(".terraform.lock.hcl", &hashes);
    fails(&s, &["apply", "plan"], &[title, "registry.opentofu.org/yuba/testing: the hashes of version 1.0.0 differ"]);
    // Another version that is installed as well.
    let mirror = s.home().join("2");
    yuba_testkit::provider_mirror_version(&mirror, "2.0.0");
    let from = format!("-plugin-dir={}", mirror.display());
    ok(&s, &["init", "-upgrade", &from]);
    fails(
        &s,
        &["apply", "plan"],
        &[title, "yuba/testing: the plan uses version 1.0.0, the lock file selects 2.0.0", "Make a new plan."],
    );
    assert_eq!(deeds(&s), [""; 0]);
    // Constraints say only why a version was selected, and comments say nothing.
    s.write(".terraform.lock.hcl", format!("# A comment\n{lock}"));
    std::fs::remove_dir_all(s.dir().join(".terraform")).expect("because the sandbox is writable");
    ok(&s, &["init"]);
    contains(&ok(&s, &["apply", "plan"]), &["4 added"]);
    nothing_left(&s);
}
