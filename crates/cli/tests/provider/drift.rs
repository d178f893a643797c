//! `yuba drift`: what happened to objects outside of Yuba, rules, exit codes, and that the state stays as it is.

use expect_test::expect;
use yuba_testkit::Sandbox;

use crate::{apply, sandbox};

const THINGS: &str = r#"
//- main.tf
resource "testing_thing" "a" {
  count  = 2
  name   = "a"
  value  = "old"
  tags   = { env = "prod", team = "x" }
  secret = "hunter2"
}
resource "testing_thing" "b" {
  name  = "b"
  value = "old"
}
resource "testing_thing" "gone" {
  name = "gone"
}
"#;

/// Replaces a text in the file of a real object.
fn edit(sandbox: &Sandbox, id: &str, from: &str, to: &str) {
    let path = sandbox.world().join("objects").join(id);
    let text = std::fs::read_to_string(&path).expect("the object exists");
    assert!(text.contains(from), "{text}");
    std::fs::write(path, text.replace(from, to)).expect("the sandbox is writable");
}

fn drifted() -> Sandbox {
    let sandbox = sandbox(6, THINGS);
    apply(&sandbox);
    for id in ["a#1", "a#2"] {
        edit(&sandbox, id, "prod", "dev");
    }
    edit(&sandbox, "b#1", "old", "new");
    std::fs::remove_file(sandbox.world().join("objects/gone#1")).expect("the object exists");
    sandbox
}

#[test]
fn without_drift_the_code_is_zero() {
    let sandbox = sandbox(6, THINGS);
    apply(&sandbox);
    expect![[r"
        exit 0
        --- stdout
        No drift. The real objects match the state.
    "]]
    .assert_eq(&sandbox.run(&["drift"]).to_string());
}

#[test]
fn changed_and_deleted_objects_are_grouped_and_nothing_is_saved() {
    let sandbox = drifted();
    let state = sandbox.read("terraform.tfstate");
    expect![[r#"
        exit 2
        --- stdout
        Changed outside of Yuba:

          ~ testing_thing.a[0]
          ~ testing_thing.a[1]
              tags.env: "prod" -> "dev"

          ~ testing_thing.b
              value: "old" -> "new"

        Deleted outside of Yuba:

          - testing_thing.gone

        Drift: 3 changed, 1 deleted.
    "#]]
    .assert_eq(&sandbox.run(&["drift"]).to_string());
    assert_eq!(sandbox.read("terraform.tfstate"), state);
    assert!(!sandbox.dir().join("terraform.tfstate.backup").exists());
}

#[test]
fn sensitive_values_are_not_shown() {
    let sandbox = sandbox(6, THINGS);
    apply(&sandbox);
    edit(&sandbox, "a#1", "hunter2", "hunter3");
    for args in [&["drift"][..], &["drift", "-json"]] {
        let run = sandbox.run(args);
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stdout.contains("secret") && run.stdout.contains("(sensitive value)"), "{run}");
        assert!(!run.stdout.contains("hunter"), "{run}");
    }
}

#[test]
fn rules_ignore_differences() {
    let sandbox = drifted();
    sandbox.write(".yubadrift", "# expected\ntesting_thing:tags\n");
    let run = sandbox.run(&["drift", "-ignore=testing_thing.gone", "-ignore", "testing_thing.b:value"]);
    expect![[r"
        exit 0
        --- stdout
        No drift. The real objects match the state. Ignored by rules: 4 objects, 0 attributes.
    "]]
    .assert_eq(&run.to_string());
    // Another file replaces the default one.
    sandbox.write("rules", "testing_thing.a[0]\n");
    let run = sandbox.run(&["drift", "-ignore-file=rules"]);
    assert_eq!(run.code, 2, "{run}");
    assert!(!run.stdout.contains("a[0]") && run.stdout.contains("a[1]"), "{run}");
    sandbox.write(".yubadrift", "testing_thing:\n");
    let run = sandbox.run(&["drift"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("The rule in line 1 of .yubadrift is invalid"), "{run}");
    assert_eq!(sandbox.run(&["drift", "-ignore-file=missing"]).code, 1);
}

#[test]
fn targets_limit_the_comparison() {
    let run = drifted().run(&["drift", "-target=testing_thing.b"]);
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stdout.contains("Drift: 1 changed, 0 deleted."), "{run}");
}

#[test]
fn programs_get_one_object() {
    let run = drifted().run(&["drift", "-json", "-ignore=testing_thing.a"]);
    assert_eq!((run.code, run.stderr.as_str()), (2, ""), "{run}");
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    expect![[r#"{"format_version":"1.0","drift":true,"changed":[{"address":"testing_thing.b","mode":"managed","type":"testing_thing","name":"b","provider_name":"registry.opentofu.org/yuba/testing","attributes":[{"path":"value","before":"old","after":"new"}]}],"deleted":[{"address":"testing_thing.gone","mode":"managed","type":"testing_thing","name":"gone","provider_name":"registry.opentofu.org/yuba/testing"}],"ignored":{"objects":2,"attributes":0}}
"#]]
    .assert_eq(&run.stdout);
    assert_eq!(json["drift"], true);
}

#[test]
fn errors_have_their_own_code() {
    let sandbox = drifted();
    sandbox.write("broken.tf", "output \"x\" {\n  value = var.undeclared\n}\n");
    let run = sandbox.run(&["drift"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stdout.is_empty() && run.stderr.contains("Reference to undeclared input variable"), "{run}");
    std::fs::remove_file(sandbox.dir().join("broken.tf")).expect("it exists");
    let lock = sandbox.run(&["drift", "-lock-timeout=x"]);
    assert_eq!(lock.code, 1, "{lock}");
}
