//! Ephemeral resources: opened when needed, open as long as needed, closed always.

use crate::{apply, contains, fails, nothing_left, ok, sandbox};

fn token(more: &str) -> String {
    format!(
        r#"
//- main.tf
ephemeral "testing_token" "t" {{
  name = "t"
  {more}
}}
resource "testing_thing" "a" {{
  name        = "a"
  password_wo = ephemeral.testing_token.t.token
  behave      = "slow_create"
}}
"#
    )
}

/// The life of tokens, without what happened to objects.
fn life(s: &yuba_testkit::Sandbox) -> Vec<String> {
    let of_tokens = s.record().into_iter().filter(|line| line.contains("testing_token"));
    of_tokens.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

fn renewed(protocol: u32) {
    let s = sandbox(protocol, &token("renew_ms = 60")).env("TESTING_SLOW_MS", "500");
    s.clear_record();
    let run = apply(&s);
    contains(&run, &["ephemeral.testing_token.t: Opening...", "ephemeral.testing_token.t: Close complete"]);
    let life = life(&s);
    let renewals = life.iter().filter(|verb| *verb == "renew").count();
    assert!(renewals >= 3, "{life:?}");
    // Once for the plan and once for the changes, each closed at its end.
    let ends: Vec<&str> = life.iter().map(String::as_str).filter(|verb| *verb != "renew").collect();
    assert_eq!(ends, ["open", "close", "open", "close"], "{life:?}");
    assert!(s.object("a#1").contains(r#""password_length":10"#), "{}", s.object("a#1"));
    assert!(!s.read("terraform.tfstate").contains("token of t"));
    nothing_left(&s);
}

#[test]
fn tokens_are_renewed_over_protocol_5() {
    renewed(5);
}

#[test]
fn tokens_are_renewed_over_protocol_6() {
    renewed(6);
}

#[test]
fn unused_tokens_are_not_opened_to_apply() {
    let s = sandbox(
        6,
        r#"
//- main.tf
ephemeral "testing_token" "first" {
  name = "first"
}
ephemeral "testing_token" "second" {
  name = ephemeral.testing_token.first.name
}
resource "testing_thing" "a" {
  name = "a"
}
"#,
    );
    s.clear_record();
    apply(&s);
    assert_eq!(life(&s), ["open", "open", "close", "close"]);
    s.write(
        "out.tf",
        "resource \"testing_thing\" \"b\" {\n  name = \"b\"\n  password_wo = ephemeral.testing_token.first.token\n}\n",
    );
    s.clear_record();
    apply(&s);
    assert_eq!(life(&s), ["open", "open", "close", "close", "open", "close"]);
    nothing_left(&s);
}

#[test]
fn tokens_that_fail() {
    let s = sandbox(6, &token("behave = \"fail_open\""));
    fails(&s, &["apply", "-auto-approve"], &["Failure on open"]);
    nothing_left(&s);
    let s = sandbox(6, &token("behave = \"fail_close\""));
    fails(&s, &["plan"], &["Failure on close"]);
    nothing_left(&s);
    let s = sandbox(6, &token("behave = \"fail_renew\"\n  renew_ms = 20")).env("TESTING_SLOW_MS", "300");
    let run = s.run(&["apply", "-auto-approve"]);
    contains(&run, &["Failure on renew"]);
    assert_eq!(life(&s).last().map(String::as_str), Some("close"));
    nothing_left(&s);
}

/// Closed although what they were for failed.
#[test]
fn tokens_are_closed_after_failures() {
    let s = sandbox(6, &token(""));
    let main = s.read("main.tf").replace("slow_create", "fail_create");
    s.write("main.tf", main);
    s.clear_record();
    fails(&s, &["apply", "-auto-approve"], &["Failure on create"]);
    assert_eq!(life(&s), ["open", "close", "open", "close"]);
    ok(&s, &["plan"]);
    nothing_left(&s);
}
