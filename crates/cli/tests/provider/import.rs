//! Objects that exist already, objects that become another type, and what identifies them.

use crate::{addresses, apply, contains, deeds, fails, no_changes, nothing_left, ok, sandbox};

const TWO: &str = r#"
//- main.tf
resource "testing_thing" "a" {
  name  = "a"
  value = "v"
}
"#;

/// A sandbox where `a#1` exists and is not managed.
fn forgotten(protocol: u32) -> yuba_testkit::Sandbox {
    let s = sandbox(protocol, TWO);
    apply(&s);
    ok(&s, &["state", "rm", "testing_thing.a"]);
    deeds(&s);
    s
}

fn by_command(protocol: u32) {
    let s = forgotten(protocol);
    contains(&ok(&s, &["import", "testing_thing.a", "a#1"]), &["Import successful!"]);
    assert_eq!(deeds(&s), ["import testing_thing a#1 -"]);
    no_changes(&s);
    fails(&s, &["import", "testing_thing.a", "a#1"], &["Resource already managed"]);
    ok(&s, &["state", "rm", "testing_thing.a"]);
    fails(&s, &["import", "testing_thing.a", "zz#1"], &["Cannot import non-existent remote object", "zz#1"]);
    fails(&s, &["import", "testing_thing.a", "fail"], &["Failure on import"]);
    assert_eq!(addresses(&s), [] as [&str; 0]);
    nothing_left(&s);
}

#[test]
fn by_command_over_protocol_5() {
    by_command(5);
}

#[test]
fn by_command_over_protocol_6() {
    by_command(6);
}

#[test]
fn by_block_and_by_identity() {
    for how in ["id = \"a#1\"", "identity = { id = \"a#1\" }"] {
        let s = forgotten(6);
        s.write("import.tf", format!("import {{\n  to = testing_thing.a\n  {how}\n}}\n"));
        let run = apply(&s);
        contains(&run, &["Plan: 1 to import", "1 imported, 0 added, 0 changed, 0 destroyed"]);
        contains(&run, &["testing_thing.a: Preparing import... [id=a#1]", "testing_thing.a: Importing... [id=a#1]"]);
        assert_eq!(deeds(&s), ["import testing_thing a#1 -"], "{how}");
        let state = s.read("terraform.tfstate");
        assert!(state.contains("identity"), "{state}");
        no_changes(&s);
        nothing_left(&s);
    }
}

#[test]
fn configuration_is_written_for_imported_objects() {
    let s = forgotten(6);
    s.write("main.tf", "import {\n  to = testing_thing.b\n  id = \"a#1\"\n}\n");
    contains(&ok(&s, &["plan", "-generate-config-out=generated.tf", "-out=saved"]), &["Plan: 1 to import, 0 to add"]);
    let written = s.read("generated.tf");
    assert!(written.contains("resource \"testing_thing\" \"b\"") && written.contains("\"a\""), "{written}");
    let planned = ok(&s, &["show", "-json", "saved"]).stdout;
    let values = planned.split_once("\"resource_changes\"").map(|(before, _)| before);
    assert!(values.is_some_and(|values| values.contains("\"identity\":{\"id\":\"a#1\"")), "{planned}");
    nothing_left(&s);
}

#[test]
fn configuration_that_was_written_is_planned() {
    let s = forgotten(6);
    s.write("main.tf", TWO.replace("//- main.tf", "").replace("value =", "secret = \"s\"\n  value ="));
    apply(&s);
    ok(&s, &["state", "rm", "testing_thing.a"]);
    s.write("main.tf", "import {\n  to = testing_thing.b\n  id = \"a#2\"\n}\n");
    deeds(&s);
    let shown = ok(&s, &["plan", "-generate-config-out=generated.tf", "-out=saved"]);
    // Secrets are not written, so this is what the configuration leads to.
    contains(&shown, &["- secret", "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy."]);
    assert!(s.read("generated.tf").contains("= null # sensitive"));
    fails(&s, &["apply", "saved"], &["Resource has no configuration", "testing_thing.b"]);
    assert_eq!(deeds(&s), ["import testing_thing a#2 -"]);
    // It was imported all the same.
    contains(&apply(&s), &["0 added, 1 changed, 0 destroyed"]);
    no_changes(&s);
    nothing_left(&s);
}

fn an_old_identity_is_upgraded(protocol: u32) {
    let s = sandbox(protocol, TWO);
    apply(&s);
    deeds(&s);
    let state = s.read("terraform.tfstate");
    let current = ["\"identity_schema_version\": 1", "\"id\": \"a#1\"", "\"instance\": \"\""];
    assert!(current.iter().all(|part| state.contains(part)), "{state}");
    let identity = state.split_once("\"identity\": {").and_then(|(_, rest)| rest.split_once('}')).map(|(one, _)| one);
    let identity = identity.expect("because there is one");
    let old = state.replace(identity, "\"thing\": \"a#1\"").replace(current[0], "\"identity_schema_version\": 0");
    s.write("terraform.tfstate", &old);
    ok(&s, &["apply", "-auto-approve", "-refresh=false"]);
    let now = s.read("terraform.tfstate");
    assert!(current.iter().all(|part| now.contains(part)) && !now.contains("\"thing\""), "{now}");

    s.write("terraform.tfstate", state.replace(current[0], "\"identity_schema_version\": 7"));
    fails(&s, &["plan"], &["Resource identity managed by newer provider version", "testing_thing.a"]);
    nothing_left(&s);
}

#[test]
fn an_old_identity_is_upgraded_over_protocol_5() {
    an_old_identity_is_upgraded(5);
}

#[test]
fn an_old_identity_is_upgraded_over_protocol_6() {
    an_old_identity_is_upgraded(6);
}

#[test]
fn what_moves_to_another_type_has_the_identity_of_that_type() {
    let s = sandbox(6, "//- main.tf\nresource \"testing_item\" \"a\" {\n  name = \"a\"\n  value = \"v\"\n}\n");
    apply(&s);
    assert!(!s.read("terraform.tfstate").contains("\"identity\""));
    s.write(
        "main.tf",
        "resource \"testing_thing\" \"b\" {\n  name = \"a\"\n  value = \"v\"\n}\nmoved {\n  from = testing_item.a\n  to = \
         testing_thing.b\n}\n",
    );
    ok(&s, &["apply", "-auto-approve", "-refresh=false"]);
    let state = s.read("terraform.tfstate");
    assert!(state.contains("\"identity\": {") && state.contains("\"identity_schema_version\": 1"), "{state}");
    s.write(
        "main.tf",
        "resource \"testing_item\" \"a\" {\n  name = \"a\"\n  value = \"v\"\n}\nmoved {\n  from = testing_thing.b\n  to = \
         testing_item.a\n}\n",
    );
    deeds(&s);
    ok(&s, &["apply", "-auto-approve"]);
    let told = s.record().into_iter().find(|line| line.starts_with("identity testing_thing->testing_item 1:"));
    assert!(told.as_ref().is_some_and(|line| line.contains("\"a#1\"")), "{told:?}");
    assert!(!s.read("terraform.tfstate").contains("\"identity\""));
    nothing_left(&s);
}

fn becomes_another_type(protocol: u32) {
    let s = sandbox(protocol, TWO);
    apply(&s);
    deeds(&s);
    let moved = |from: &str, to: &str| {
        format!(
            "resource \"{to}\" \"b\" {{\n  name = \"a\"\n  value = \"v\"\n}}\nmoved {{\n  from = {from}\n  to = {to}.b\n}}\n"
        )
    };
    s.write("main.tf", moved("testing_thing.a", "testing_item"));
    let run = apply(&s);
    contains(&run, &["0 added, 0 changed, 0 destroyed"]);
    assert_eq!(addresses(&s), ["testing_item.b"]);
    let state = s.read("terraform.tfstate");
    assert!(!state.contains("testing_thing"), "{state}");
    no_changes(&s);
    assert_eq!(s.objects(), ["a#1"]);
    // Not everything can become everything.
    s.write("main.tf", moved("testing_item.b", "testing_nested").replace("  value = \"v\"\n", ""));
    fails(&s, &["plan"], &["A testing_item cannot become a testing_nested."]);
    nothing_left(&s);
}

#[test]
fn objects_become_another_type_over_protocol_5() {
    becomes_another_type(5);
}

#[test]
fn objects_become_another_type_over_protocol_6() {
    becomes_another_type(6);
}

#[test]
fn terraform_data_becomes_an_item() {
    let s = sandbox(6, "//- main.tf\nresource \"terraform_data\" \"t\" {}\n");
    apply(&s);
    s.write(
        "main.tf",
        "resource \"testing_item\" \"b\" {\n  name = \"b\"\n}\nmoved {\n  from = terraform_data.t\n  to = testing_item.b\n}\n",
    );
    ok(&s, &["plan"]);
    assert!(s.record().iter().any(|line| line.starts_with("move terraform_data->testing_item")));
    nothing_left(&s);
}

#[test]
fn identities_are_checked_before_anything_is_planned() {
    let s = sandbox(6, TWO);
    let import = |identity: &str| format!("import {{\n  to = testing_thing.a\n  identity = {identity}\n}}\n");
    for wrong in ["{ nope = \"a#1\" }", "{ id = [] }", "7"] {
        s.write("import.tf", import(wrong));
        fails(&s, &["validate"], &["Error: Incorrect value type", "import.tf line 3"]);
    }
    s.write("import.tf", import("{ id = \"a#1\" }"));
    ok(&s, &["validate"]);
    nothing_left(&s);
}
