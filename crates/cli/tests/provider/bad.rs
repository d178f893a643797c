//! Providers that are not as they should be: a clear error that says who and what to do, and no process left.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{contains, fails, finish, nothing_left, sandbox, signal, uninstalled};

const ONE: &str = "//- main.tf\nresource \"testing_thing\" \"a\" {\n  name = \"a\"\n}\n";

/// Diagnostics about a bad provider.
#[track_caller]
fn check(bad: &str, says: &[&str]) {
    let s = sandbox(6, ONE).env("TESTING_BAD", bad);
    let run = s.run(&["plan"]);
    assert_eq!(run.code, 1, "{bad}: {run}");
    contains(&run, &["yuba/testing"]);
    contains(&run, says);
    nothing_left(&s);
}

#[test]
fn it_ends_at_once() {
    check("exit", &["exit status 3", "the licence of this provider has expired"]);
}

#[test]
fn it_prints_garbage() {
    check("garbage", &["Hello, I am a provider, I think?"]);
}

#[test]
fn it_speaks_protocol_4() {
    check("protocol4", &["\"4\"", "5 and 6"]);
}

#[test]
fn it_shows_another_certificate() {
    check("cert", &["certificate"]);
}

#[test]
fn its_schema_is_too_big() {
    check("huge", &["256"]);
}

#[test]
fn its_schema_has_invalid_types() {
    check("types", &["heap"]);
}

#[test]
fn it_dies_when_asked_for_its_schema() {
    check("panic", &["panic: runtime error: invalid memory address or nil pointer dereference", "exit status 2"]);
}

#[test]
fn its_values_cannot_be_read() {
    check("msgpack", &["testing_thing.a"]);
}

#[test]
fn it_never_answers_until_the_user_has_enough() {
    for bad in ["silent", "deaf"] {
        let s = sandbox(6, ONE);
        s.clear_record();
        let mut child = s.command(&["plan"]);
        let child = child.env("TESTING_BAD", bad).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("because the program was built");
        crate::wait_until("it runs", || !s.provider_processes().is_empty());
        signal(&child, "INT");
        std::thread::sleep(Duration::from_millis(100));
        // It may be gone already.
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
        let run = finish(child);
        assert_ne!(run.code, 0, "{bad}: {run}");
        crate::wait_until("providers ended", || s.living_providers().is_empty());
        crate::tidied(&s);
    }
}

#[test]
fn it_only_knows_the_oldest_calls() {
    let s = sandbox(5, ONE).env("TESTING_BAD", "old");
    crate::apply(&s);
    crate::no_changes(&s);
    crate::ok(&s, &["destroy", "-auto-approve"]);
    nothing_left(&s);
}

#[test]
fn it_is_not_an_executable() {
    let s = sandbox(6, ONE);
    let directory =
        s.dir().join(".terraform/providers/registry.opentofu.org/yuba/testing/1.0.0").join(yuba_testkit::platform());
    let real = std::fs::canonicalize(&directory).expect("because it was installed");
    std::fs::write(real.join("terraform-provider-testing_v1.0.0"), "not a program")
        .expect("because the sandbox is writable");
    // The installed package does not match the lock file.
    fails(&s, &["plan"], &["yuba/testing"]);
    nothing_left(&s);
}

#[test]
fn it_was_never_installed() {
    let s = uninstalled(ONE);
    fails(&s, &["plan"], &["registry.opentofu.org/yuba/testing", "init"]);
    nothing_left(&s);
}

/// Rules of planning and applying that are broken.
#[test]
fn it_lies() {
    for (behave, says) in [
        ("lie_plan", "Provider produced invalid plan"),
        ("lie_create", "Provider produced inconsistent result after apply"),
        ("unknown_create", "Provider returned invalid result object after apply"),
        ("null_create", "Provider produced inconsistent result after apply"),
        ("legacy,null_create", "Provider returned invalid result object after apply"),
        ("garbage_plan", "testing_thing.a"),
        ("garbage_create", "testing_thing.a"),
        ("defer_plan", "testing_thing.a"),
    ] {
        let s = sandbox(
            6,
            &format!(
                "//- main.tf\nresource \"testing_thing\" \"a\" {{\n  name = \"a\"\n  value = \"v\"\n  behave = \"{behave}\"\n}}\n"
            ),
        );
        let run = s.run(&["apply", "-auto-approve"]);
        assert_eq!(run.code, 1, "{behave}: {run}");
        contains(&run, &[says]);
        nothing_left(&s);
    }
    // Those that are made with an old library may.
    for behave in ["legacy,lie_create", "legacy,lie_plan,lie_create"] {
        let s = sandbox(
            5,
            &format!(
                "//- main.tf\nresource \"testing_thing\" \"a\" {{\n  name = \"a\"\n  value = \"v\"\n  behave = \"{behave}\"\n}}\n"
            ),
        );
        crate::apply(&s);
        nothing_left(&s);
    }
}
