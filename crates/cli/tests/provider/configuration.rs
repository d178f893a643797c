//! Configurations of providers: checked, given once, not known yet; functions with and without one.

use crate::{apply, contains, fails, no_changes, nothing_left, ok, sandbox};

#[test]
fn errors_are_reported_at_their_location() {
    let s = sandbox(
        6,
        "//- main.tf\nprovider \"testing\" {\n  behave = \"fail_configure\"\n}\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n",
    );
    fails(
        &s,
        &["plan"],
        &["Failure on configure", "on main.tf line 2, in provider \"testing\"", "requested a failure"],
    );
    s.write("main.tf", "provider \"testing\" {\n  behave = \"fail_validate\"\n}\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n");
    fails(&s, &["validate"], &["Failure on validate", "on main.tf line 2, in provider \"testing\""]);
    s.write("main.tf", "resource \"testing_thing\" \"a\" {\n  name = \"a\"\n  size = -1\n}\n");
    fails(&s, &["validate"], &["Invalid size", "on main.tf line 3, in resource \"testing_thing\" \"a\""]);
    s.write("main.tf", "resource \"testing_thing\" \"a\" {\n  nam = \"a\"\n}\n");
    fails(&s, &["validate"], &["Missing required argument", "Unsupported argument", "Did you mean \"name\"?"]);
    nothing_left(&s);
}

/// The test provider has nested attributes only over protocol 6, so the cached schema is outdated with the other
/// protocol.
#[test]
fn what_a_provider_has_may_depend_on_its_surroundings() {
    let nested = "//- main.tf\nresource \"testing_nested\" \"a\" {\n  one = {\n    text = \"x\"\n  }\n}\n";
    let s = sandbox(5, nested);
    fails(&s, &["validate"], &["Unsupported argument"]);
    let s = s.env("TESTING_PROTOCOL", "6");
    ok(&s, &["validate"]);
    let s = s.env("TESTING_PROTOCOL", "5");
    fails(&s, &["plan"], &["Unsupported argument"]);
    let s = s.env("TESTING_PROTOCOL", "6");
    apply(&s);
    no_changes(&s);
    let s = s.env("TESTING_PROTOCOL", "5");
    let schemas = ok(&s, &["providers", "schema", "-json"]);
    assert!(!schemas.stdout.contains("nested_type"), "{schemas}");
    nothing_left(&s);
}

#[test]
fn two_configurations_are_two_processes() {
    let s = sandbox(
        5,
        r#"
//- main.tf
provider "testing" {
  instance = "one"
  option {
    name = "x"
  }
}
provider "testing" {
  alias    = "second"
  instance = "two"
}
resource "testing_thing" "a" {
  name = "a"
}
resource "testing_thing" "b" {
  provider = testing.second
  name     = "b"
}
"#,
    );
    s.clear_record();
    apply(&s);
    let created: Vec<_> = s.record().into_iter().filter(|line| line.starts_with("create")).collect();
    assert_eq!(created.len(), 2, "{created:?}");
    assert!(created.contains(&"create testing_thing a#1 one".to_owned()), "{created:?}");
    assert!(created.contains(&"create testing_thing b#1 two".to_owned()), "{created:?}");
    no_changes(&s);
    nothing_left(&s);
}

#[test]
fn configurations_may_be_known_only_later() {
    let s = sandbox(
        6,
        r#"
//- main.tf
provider "testing" {
  instance = "one"
}
provider "testing" {
  alias    = "later"
  instance = testing_thing.a.id
}
resource "testing_thing" "a" {
  name = "a"
}
resource "testing_item" "b" {
  provider = testing.later
  name     = "b"
}
"#,
    );
    apply(&s);
    let created: Vec<_> = s.record().into_iter().filter(|line| line.starts_with("create")).collect();
    assert_eq!(created, ["create testing_thing a#1 one", "create testing_item b#1 a#1"]);
    ok(&s, &["destroy", "-auto-approve"]);
    nothing_left(&s);
}

fn functions(protocol: u32) {
    let s = sandbox(
        protocol,
        r#"
//- main.tf
provider "testing" {
  instance  = "one"
  functions = ["extra"]
}
locals {
  upper = provider::testing::upper("abc")
}
output "o" {
  value = [local.upper, provider::testing::joined("-", "a", "b", "c"), provider::testing::echo({ a = [1, null] })]
}
output "configured" {
  value = [provider::testing::instance(), provider::testing::extra("x")]
}
"#,
    );
    let run = apply(&s);
    contains(&run, &["\"ABC\"", "\"a-b-c\"", "\"one\"", "\"extra of one: x\""]);
    for (call, says) in [
        ("provider::testing::fail(\"why\")", "It fails as asked: why."),
        ("provider::testing::upper()", "Not enough function arguments"),
        ("provider::testing::upper({})", "Invalid function argument"),
        ("provider::testing::nothing()", "nothing"),
        ("provider::other::nothing()", "other"),
    ] {
        s.write("bad.tf", format!("output \"bad\" {{\n  value = {call}\n}}\n"));
        fails(&s, &["plan"], &[says, "on bad.tf line 2"]);
    }
    nothing_left(&s);
}

#[test]
fn functions_over_protocol_5() {
    functions(5);
}

#[test]
fn functions_over_protocol_6() {
    functions(6);
}

#[test]
fn modules_send_their_metadata_to_the_provider() {
    let s = sandbox(
        6,
        "//- main.tf\nterraform {\n  provider_meta \"testing\" {\n    module = \"m1\"\n  }\n}\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n",
    );
    apply(&s);
    assert!(s.record().contains(&"meta testing_thing m1 -".to_owned()), "{:?}", s.record());
    nothing_left(&s);
}

#[test]
fn a_development_build_replaces_the_package() {
    let s = crate::uninstalled("//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n");
    let package = s
        .world()
        .with_file_name("mirror")
        .join(yuba_testkit::TEST_PROVIDER)
        .join("1.0.0")
        .join(yuba_testkit::platform());
    s.write("dev.tfrc", format!("provider_installation {{\n  dev_overrides {{\n    \"yuba/testing\" = {package:?}\n  }}\n  direct {{}}\n}}\n"));
    let s = s.env("TF_CLI_CONFIG_FILE", "dev.tfrc");
    // It is the first message, so that users know it before they approve.
    let warning = "Provider development overrides are in effect";
    let planned = ok(&s, &["plan", "-json"]).stdout;
    assert!(planned.lines().nth(1).is_some_and(|line| line.contains(warning)), "{planned}");
    let applied = apply(&s);
    contains(&applied, &["1 added"]);
    assert!(applied.stdout.trim_start().starts_with(&format!("Warning: {warning}")), "{applied}");
    nothing_left(&s);
}

#[test]
fn schemas_are_shown() {
    let s = sandbox(6, "//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n");
    let json = ok(&s, &["providers", "schema", "-json"]).stdout;
    for part in [
        "registry.opentofu.org/yuba/testing",
        "testing_nested",
        "\"nested_type\"",
        "testing_token",
        "\"joined\"",
        "password_wo",
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
    nothing_left(&s);
}
