//! Every verb in the life of an object, over both protocols.

use crate::{addresses, apply, contains, deeds, no_changes, nothing_left, ok, sandbox};

const THING: &str = r#"
//- main.tf
variable "value" {
  default = "first"
}
variable "kind" {
  default = "k1"
}
resource "testing_thing" "a" {
  name  = "a"
  value = var.value
  kind  = var.kind
  tags  = { b = "2", a = "1" }
  any   = { list = [1, "two", null], flag = true }
}
output "id" {
  value = testing_thing.a.id
}
output "revision" {
  value = testing_thing.a.revision
}
"#;

fn every_verb(protocol: u32) {
    let s = sandbox(protocol, THING);
    let plan = ok(&s, &["plan"]);
    contains(
        &plan,
        &["# testing_thing.a will be created", "+ size = 1", "+ id = (known after apply)", "Plan: 1 to add"],
    );
    assert_eq!(deeds(&s), [] as [&str; 0]);

    contains(
        &apply(&s),
        &["testing_thing.a: Creation complete after 0s [id=a#1]", "Apply complete! Resources: 1 added"],
    );
    assert_eq!(deeds(&s), ["create testing_thing a#1 -"]);
    no_changes(&s);

    // In place.
    let run = ok(&s, &["apply", "-auto-approve", "-var=value=second"]);
    contains(&run, &["~ value = \"first\" -> \"second\"", "~ revision = 1 -> (known after apply)", "revision = 2"]);
    assert_eq!(deeds(&s), ["update testing_thing a#1 -"]);
    assert!(s.object("a#1").contains(r#""value":"second""#));

    // An attribute that requires replacement.
    let run = ok(&s, &["apply", "-auto-approve", "-var=value=second", "-var=kind=k2"]);
    contains(&run, &["# testing_thing.a must be replaced", "# forces replacement", "1 added, 0 changed, 1 destroyed"]);
    assert_eq!(deeds(&s), ["delete testing_thing a#1 -", "create testing_thing a#1 -"]);

    // On demand.
    ok(&s, &["apply", "-auto-approve", "-var=value=second", "-var=kind=k2", "-replace=testing_thing.a"]);
    assert_eq!(deeds(&s).len(), 2);

    // A saved plan.
    ok(&s, &["plan", "-out=saved", "-var=value=third", "-var=kind=k2"]);
    ok(&s, &["apply", "saved"]);
    assert_eq!(deeds(&s), ["update testing_thing a#1 -"]);

    // Another user changed it, then destroyed it.
    s.change_object("a#1", |json| json.replace("third", "drifted"));
    let run = ok(&s, &["plan", "-var=value=third", "-var=kind=k2"]);
    contains(&run, &["~ value = \"drifted\" -> \"third\""]);
    ok(&s, &["apply", "-refresh-only", "-auto-approve"]);
    assert!(s.read("terraform.tfstate").contains("drifted"));
    s.destroy_object("a#1");
    contains(&ok(&s, &["plan"]), &["# testing_thing.a will be created"]);
    apply(&s);
    assert_eq!(deeds(&s), ["create testing_thing a#1 -"]);

    ok(&s, &["destroy", "-auto-approve"]);
    assert_eq!(deeds(&s), ["delete testing_thing a#1 -"]);
    assert_eq!((s.objects(), addresses(&s)), (vec![], vec![]));
    nothing_left(&s);
}

#[test]
fn every_verb_over_protocol_5() {
    every_verb(5);
}

#[test]
fn every_verb_over_protocol_6() {
    every_verb(6);
}

#[test]
fn create_before_destroy_has_both_for_a_moment() {
    let s = sandbox(6, THING);
    s.write(
        "override.tf",
        "resource \"testing_thing\" \"a\" {\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n",
    );
    apply(&s);
    deeds(&s);
    ok(&s, &["apply", "-auto-approve", "-var=kind=k2"]);
    assert_eq!(deeds(&s), ["create testing_thing a#2 -", "delete testing_thing a#1 -"]);
    nothing_left(&s);
}

/// Every way to nest blocks; attributes that are nested only where the protocol has them.
fn nested(protocol: u32, attributes: &str) {
    let s = sandbox(
        protocol,
        r#"
//- main.tf
variable "inner" {
  default = "deep"
}
resource "testing_nested" "n" {
  name = "n"
  single {
    text = "s"
  }
  list {
    text = "l1"
    inner {
      text = var.inner
    }
  }
  dynamic "list" {
    for_each = ["l2", "l3"]
    content {
      text = list.value
    }
  }
  set {
    text = "x"
  }
  set {
    text = "y"
  }
  map "k" {
    text = "m"
  }
  map "l" {}
}
output "made" {
  value = [testing_nested.n.single.made, testing_nested.n.list[2].made, testing_nested.n.map["k"].made,
    [for part in testing_nested.n.set : part.text], testing_nested.n.group.text]
}
"#,
    );
    s.write("override.tf", format!("resource \"testing_nested\" \"n\" {{\n{attributes}}}\n"));
    let run = apply(&s);
    contains(&run, &[r#"made = [ "made-n#1", "made-n#1", "made-n#1", [ "x", "y", ], tostring(null), ]"#]);
    no_changes(&s);
    let run = ok(&s, &["apply", "-auto-approve", "-var=inner=deeper"]);
    contains(&run, &["~ text = \"deep\" -> \"deeper\"", "1 changed"]);
    if protocol == 6 {
        s.write(
            "override.tf",
            format!("resource \"testing_nested\" \"n\" {{\n{}}}\n", attributes.replace("\"p2\"", "\"p3\"")),
        );
        contains(&ok(&s, &["apply", "-auto-approve", "-var=inner=deeper"]), &["~ text = \"p2\" -> \"p3\""]);
    }
    let shown = ok(&s, &["show"]);
    contains(&shown, &["inner {", "text = \"deeper\""]);
    ok(&s, &["destroy", "-auto-approve"]);
    nothing_left(&s);
}

#[test]
fn blocks_are_nested_over_protocol_5() {
    nested(5, "");
}

#[test]
fn blocks_and_attributes_are_nested_over_protocol_6() {
    let attributes = r#"
  one   = { text = "o" }
  many  = [{ text = "p" }, { text = "p2" }]
  some  = [{ text = "r" }]
  named = { k = { text = "t" }, l = {} }
"#;
    nested(6, attributes);
}

#[test]
fn stored_objects_are_upgraded() {
    let s = sandbox(6, "//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n");
    let state = r#"{"version":4,"terraform_version":"1.5.0","serial":1,"lineage":"0d5b1cf5-4a0a-1d2b-98c4-b0dd39e9f3a1",
      "outputs":{},"resources":[{"mode":"managed","type":"testing_thing","name":"a",
      "provider":"provider[\"registry.opentofu.org/yuba/testing\"]",
      "instances":[{"schema_version":0,"attributes":{"id":"a#1","title":"a","gone":true,"size":1}}]}]}"#;
    s.write("terraform.tfstate", state);
    std::fs::create_dir_all(s.world().join("objects")).expect("because the sandbox is writable");
    std::fs::write(s.world().join("objects/a#1"), r#"{"id":"a#1","name":"a","size":1,"instance":""}"#)
        .expect("because the sandbox is writable");
    no_changes(&s);
    ok(&s, &["apply", "-auto-approve"]);
    ok(&s, &["apply", "-refresh-only", "-auto-approve"]);
    let stored = s.read("terraform.tfstate");
    assert!(!stored.contains("title"), "{stored}");
    let future = state.replace("\"schema_version\":0", "\"schema_version\":9");
    s.write("terraform.tfstate", future);
    crate::fails(&s, &["plan"], &["testing_thing.a"]);
    nothing_left(&s);
}

#[test]
fn attributes_that_a_schema_has_lost_are_forgotten() {
    let s = sandbox(6, "//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n");
    apply(&s);
    let state = s.read("terraform.tfstate");
    s.write(
        "terraform.tfstate",
        state.replace("\"attributes\": {", "\"attributes\": {\n            \"gone\": [{\"by\": 1}],"),
    );
    contains(&ok(&s, &["plan", "-out=saved"]), &["No changes."]);
    let shown = ok(&s, &["show", "-json", "saved"]).stdout;
    assert!(shown.contains("\"resource_changes\"") && !shown.contains("gone"), "{shown}");
    apply(&s);
    let stored = s.read("terraform.tfstate");
    assert!(!stored.contains("gone"), "{stored}");
    nothing_left(&s);
}

#[test]
fn warnings_about_stored_objects_are_reported() {
    let s =
        sandbox(6, "//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n  behave = \"warn_upgrade\"\n}\n");
    apply(&s);
    contains(&ok(&s, &["plan"]), &["Warning: Warning on upgrade", "with testing_thing.a"]);
    s.write("main.tf", "");
    contains(&ok(&s, &["plan"]), &["Warning: Warning on upgrade", "1 to destroy"]);
    nothing_left(&s);
}
