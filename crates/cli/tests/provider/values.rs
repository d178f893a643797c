//! Values with something special about them: never stored, never shown, better not used, not known yet.

use crate::{apply, contains, fails, no_changes, nothing_left, ok, sandbox};

fn write_only(protocol: u32) {
    let s = sandbox(
        protocol,
        r#"
//- main.tf
variable "password" {
  default   = "hunter2"
  ephemeral = true
}
variable "generation" {
  default = 1
}
resource "testing_thing" "a" {
  name             = "a"
  password_wo      = var.password
  password_version = var.generation
}
output "length" {
  value = testing_thing.a.password_length
}
output "all" {
  value     = testing_thing.a
  sensitive = true
}
output "nothing" {
  value = nonsensitive(testing_thing.a.password_wo) == null
}
"#,
    );
    contains(&apply(&s), &["password_wo = (write-only attribute)", "length = 7", "nothing = true"]);
    no_changes(&s);
    // Alone it changes nothing.
    ok(&s, &["plan", "-detailed-exitcode", "-var=password=different"]);
    let run = ok(&s, &["apply", "-auto-approve", "-var=password=longer than before", "-var=generation=2"]);
    contains(&run, &["length = 18"]);
    ok(&s, &["plan", "-out=saved", "-var=password=from a plan", "-var=generation=3"]);
    let run = ok(&s, &["apply", "-var=password=from a plan", "saved"]);
    contains(&run, &["length = 11"]);
    for place in ["terraform.tfstate", "terraform.tfstate.backup"] {
        let text = s.read(place);
        assert!(!text.contains("hunter2") && !text.contains("longer than") && !text.contains("from a plan"), "{text}");
    }
    assert!(!s.object("a#1").contains("hunter2"));
    nothing_left(&s);
}

#[test]
fn write_only_over_protocol_5() {
    write_only(5);
}

#[test]
fn write_only_over_protocol_6() {
    write_only(6);
}

#[test]
fn sensitive_values_are_not_shown() {
    let s = sandbox(
        6,
        r#"
//- main.tf
resource "testing_thing" "a" {
  name   = "a"
  secret = "s3cret-thing"
}
data "testing_data" "d" {
  input = "in"
}
resource "testing_nested" "n" {
  name = "n"
  one  = { secret = "s3cret-nested" }
  some = [{ secret = "s3cret-set" }]
}
output "o" {
  value     = testing_thing.a.secret
  sensitive = true
}
"#,
    );
    for args in [&["plan"][..], &["apply", "-auto-approve"], &["show"], &["state", "show", "testing_thing.a"]] {
        let run = ok(&s, args);
        assert!(!run.to_string().contains("s3cret"), "{run}");
    }
    assert_eq!(ok(&s, &["output", "-raw", "o"]).stdout, "s3cret-thing");
    s.write("more.tf", "output \"p\" {\n  value = testing_nested.n.one.secret\n}\n");
    fails(&s, &["plan"], &["Output refers to sensitive values"]);
    nothing_left(&s);
}

#[test]
fn deprecated_attributes_are_reported_when_they_are_read() {
    let s = sandbox(
        6,
        "//- main.tf\ndata \"testing_data\" \"d\" {\n  input = \"in\"\n}\noutput \"whole\" {\n  value     = data.testing_data.d\n  sensitive = true\n}\n",
    );
    contains(&ok(&s, &["plan"]), &["Warning", "data.testing_data.d.old", "Use `output` instead."]);
    s.write("main.tf", "data \"testing_data\" \"d\" {\n  input = \"in\"\n}\noutput \"new\" {\n  value = data.testing_data.d.output\n}\n");
    let run = ok(&s, &["plan"]);
    assert!(!run.to_string().contains("Warning"), "{run}");
    s.write("more.tf", "output \"old\" {\n  value = data.testing_data.d.old\n}\n");
    contains(&ok(&s, &["plan"]), &["Warning", "Use `output` instead."]);
    nothing_left(&s);
}

#[test]
fn refinements_of_unknown_values_cross_the_wire() {
    let s = sandbox(
        6,
        r#"
//- main.tf
resource "testing_thing" "a" {
  name = "a-name"
}
output "begins" {
  value = startswith(testing_thing.a.id, "a-n")
}
output "is_null" {
  value = testing_thing.a.id == null
}
output "number" {
  value = testing_thing.a.revision
}
"#,
    );
    contains(&ok(&s, &["plan"]), &["+ begins = true", "+ is_null = false", "+ number = (known after apply)"]);
    contains(&apply(&s), &["begins = true", "number = 1"]);
    nothing_left(&s);
}

#[test]
fn data_that_a_provider_is_configured_with_is_read_again_to_destroy() {
    let s = sandbox(
        6,
        r#"
//- main.tf
variable "token" {}
data "testing_data" "token" {
  input = var.token
}
data "testing_data" "other" {
  input = "other"
}
provider "testing" {
  alias    = "by_token"
  instance = data.testing_data.token.output
}
resource "testing_thing" "a" {
  provider = testing.by_token
  name     = "a"
}
"#,
    );
    ok(&s, &["apply", "-auto-approve", "-var=token=one"]);
    assert_eq!(crate::deeds(&s), ["create testing_thing a#1 ONE"]);
    ok(&s, &["plan", "-destroy", "-refresh=false", "-var=token=two"]);
    assert!(s.record().iter().all(|line| !line.starts_with("data ")), "{:?}", s.record());
    s.clear_record();
    ok(&s, &["plan", "-destroy", "-var=token=two"]);
    // Like a plan that creates: everything is read before anything is destroyed.
    let mut read: Vec<String> = s.record().into_iter().filter(|line| line.starts_with("data ")).collect();
    read.sort();
    assert_eq!(read, ["data testing_data other -", "data testing_data two -"]);
    s.clear_record();
    ok(&s, &["destroy", "-auto-approve", "-var=token=two"]);
    assert_eq!(crate::deeds(&s), ["delete testing_thing a#1 TWO"]);
    nothing_left(&s);
}

#[test]
fn data_is_read_when_it_can_be() {
    let s = sandbox(
        5,
        r#"
//- main.tf
resource "testing_thing" "a" {
  name = "a"
}
data "testing_data" "now" {
  input = "now"
}
data "testing_data" "later" {
  input = testing_thing.a.id
}
output "o" {
  value = [data.testing_data.now.output, data.testing_data.later.output]
}
"#,
    );
    let plan = ok(&s, &["plan"]);
    contains(&plan, &["# data.testing_data.later will be read during apply"]);
    assert!(!plan.stdout.contains("data.testing_data.now will be read"), "{plan}");
    contains(&apply(&s), &["\"NOW\"", "\"A#1\""]);
    no_changes(&s);
    s.write("bad.tf", "data \"testing_data\" \"bad\" {\n  input  = \"x\"\n  behave = \"fail_data\"\n}\n");
    fails(
        &s,
        &["plan"],
        &["Failure on data", "on bad.tf line 3, in data \"testing_data\" \"bad\"", "requested a failure"],
    );
    s.write("bad.tf", "data \"testing_data\" \"bad\" {\n  input  = \"x\"\n  behave = \"warn_data\"\n}\n");
    contains(&ok(&s, &["plan"]), &["Warning: Warning on data"]);
    nothing_left(&s);
}

#[test]
fn ephemeral_values_in_stored_attributes_are_reported_with_the_resource() {
    let main = "//- main.tf\nvariable \"v\" {\n  ephemeral = true\n  default = \"v\"\n}\n\
                resource \"testing_thing\" \"a\" {\n  name = \"a\"\n  value = var.v\n}\n";
    let s = sandbox(6, main);
    let run = s.run(&["validate", "-json"]);
    assert_eq!(run.code, 1, "{run}");
    contains(&run, &["Ephemeral value used in non-ephemeral context", "\"address\": \"testing_thing.a\""]);
    nothing_left(&s);
}

/// Whatever takes a whole object uses its deprecated attributes, too.
#[test]
fn whole_objects_with_deprecated_attributes_warn() {
    let s = sandbox(
        6,
        r#"
//- main.tf
resource "testing_thing" "a" {
  name = "a"
}
data "testing_data" "d" {
  input = "in"
}
locals {
  whole = testing_thing.a
}
resource "terraform_data" "user" {
  input = keys(testing_thing.a)
}
output "value" {
  value = testing_thing.a.value
}
output "read" {
  value     = { data = data.testing_data.d }
  sensitive = true
}
"#,
    );
    for args in [&["validate"][..], &["plan"]] {
        let run = ok(&s, &[args, &["-no-color", "-consolidate-warnings=false"]].concat());
        let text = run.to_string();
        assert_eq!(text.matches("Warning: Value derived from a deprecated source").count(), 2, "{run}");
        assert!(text.contains("whole = testing_thing.a") && text.contains("data = data.testing_data.d"), "{run}");
    }
}

/// The schema says what is sensitive in a data source: its state lists what the configuration makes sensitive.
#[test]
fn states_of_data_sources_list_sensitive_arguments() {
    let s = sandbox(
        6,
        r#"
//- main.tf
variable "secret" {
  default   = "in"
  sensitive = true
}
data "testing_data" "plain" {
  input = "in"
}
data "testing_data" "marked" {
  input = var.secret
}
"#,
    );
    apply(&s);
    let state = s.read("terraform.tfstate");
    let lines: Vec<&str> = state.lines().map(str::trim).filter(|line| line.starts_with("\"value\":")).collect();
    assert_eq!(lines, ["\"value\": \"input\""], "{state}");
}
