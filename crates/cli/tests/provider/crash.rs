//! Providers that die, hang or fail during an operation: completed changes are saved, and the failure is reported.

use std::time::Duration;

use crate::{addresses, apply, contains, deeds, fails, finish, nothing_left, ok, sandbox, signal, start, wait_until};

/// Three in a row, the second one special.
fn three(behave: &str) -> String {
    format!(
        r#"
//- main.tf
resource "testing_thing" "a" {{
  name = "a"
}}
resource "testing_thing" "b" {{
  name   = "b"
  value  = testing_thing.a.id
  behave = "{behave}"
}}
resource "testing_thing" "c" {{
  name  = "c"
  value = testing_thing.b.id
}}
"#
    )
}

fn crashes(protocol: u32) {
    let s = sandbox(protocol, &three("crash_create"));
    let run = fails(&s, &["apply", "-auto-approve"], &["yuba/testing", "testing_thing.b"]);
    contains(&run, &["panic: the test requested a crash on create of b"]);
    assert_eq!(addresses(&s), ["testing_thing.a"]);
    assert_eq!(s.objects(), ["a#1"]);
    nothing_left(&s);
    // Later it goes on from there.
    s.write("main.tf", three("").replace("//- main.tf", ""));
    deeds(&s);
    apply(&s);
    assert_eq!(deeds(&s), ["create testing_thing b#1 -", "create testing_thing c#1 -"]);
    nothing_left(&s);
}

#[test]
fn it_crashes_over_protocol_5() {
    crashes(5);
}

#[test]
fn it_crashes_over_protocol_6() {
    crashes(6);
}

#[test]
fn it_crashes_on_other_occasions() {
    for verb in ["validate", "plan", "read", "update", "delete"] {
        let s = sandbox(6, &three(""));
        apply(&s);
        // The stored object carries the faults for reading and destroying it.
        s.change_object("b#1", |json| json.replace("\"behave\":\"\"", &format!("\"behave\":\"crash_{verb}\"")));
        let main = three(&format!("crash_{verb}")).replace("//- main.tf", "");
        s.write(
            "main.tf",
            if verb == "update" { main.replace("\"b\"\n  value", "\"b\"\n  size   = 5\n  value") } else { main },
        );
        if verb == "read" {
            s.write("main.tf", three("").replace("//- main.tf", ""));
            ok(&s, &["apply", "-refresh-only", "-auto-approve"]);
        }
        let args: &[&str] = if verb == "delete" { &["destroy", "-auto-approve"] } else { &["apply", "-auto-approve"] };
        fails(&s, args, &[&format!("panic: the test requested a crash on {verb}"), "yuba/testing"]);
        let expected: &[&str] = match verb {
            "delete" => &["testing_thing.a", "testing_thing.b"],
            _ => &["testing_thing.a", "testing_thing.b", "testing_thing.c"],
        };
        assert_eq!(addresses(&s), expected, "{verb}");
        nothing_left(&s);
    }
}

#[test]
fn it_fails() {
    let s = sandbox(6, &three("fail_create"));
    let run = fails(&s, &["apply", "-auto-approve"], &["Failure on create", "with testing_thing.b"]);
    contains(&run, &["on main.tf line 7, in resource \"testing_thing\" \"b\""]);
    assert_eq!(addresses(&s), ["testing_thing.a"]);
    nothing_left(&s);
}

#[test]
fn what_came_half_the_way_is_replaced() {
    let s = sandbox(6, &three("partial_create"));
    fails(&s, &["apply", "-auto-approve"], &["Half a create"]);
    assert_eq!(addresses(&s), ["testing_thing.a", "testing_thing.b"]);
    contains(&ok(&s, &["plan"]), &["# testing_thing.b is tainted, so it must be replaced"]);
    s.write("main.tf", three("").replace("//- main.tf", ""));
    deeds(&s);
    apply(&s);
    assert_eq!(deeds(&s), ["delete testing_thing b#1 -", "create testing_thing b#1 -", "create testing_thing c#1 -"]);
    nothing_left(&s);
}

/// The first interrupt asks providers to stop; what they say then counts.
#[test]
fn it_hangs_until_it_is_stopped() {
    let s = sandbox(6, &three("hang_create"));
    let child = start(&s, &["apply", "-auto-approve"]);
    wait_until("b is being created", || s.record().contains(&"begin-create testing_thing b -".to_owned()));
    signal(&child, "INT");
    let run = finish(child);
    assert_eq!(run.code, 1, "{run}");
    contains(&run, &["It was stopped on create."]);
    assert_eq!(addresses(&s), ["testing_thing.a"]);
    nothing_left(&s);
}

/// The second interrupt ends everything; known results are saved.
#[test]
fn it_hangs_for_ever() {
    let s = sandbox(6, &three("deaf_create"));
    let child = start(&s, &["apply", "-auto-approve"]);
    wait_until("b is being created", || s.record().contains(&"begin-create testing_thing b -".to_owned()));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "INT");
    let run = finish(child);
    assert_eq!(run.code, 1, "{run}");
    assert_eq!(addresses(&s), ["testing_thing.a"]);
    nothing_left(&s);
}

/// Killed without a chance to do anything: providers go too, and the next run knows what was done.
#[test]
fn yuba_is_killed() {
    let s = sandbox(6, &three("deaf_create"));
    let child = start(&s, &["apply", "-auto-approve"]);
    wait_until("b is being created", || s.record().contains(&"begin-create testing_thing b -".to_owned()));
    signal(&child, "KILL");
    finish(child);
    wait_until("the provider is gone", || s.living_providers().is_empty());
    s.write("main.tf", three("").replace("//- main.tf", ""));
    deeds(&s);
    apply(&s);
    assert_eq!(deeds(&s), ["create testing_thing b#1 -", "create testing_thing c#1 -"]);
    assert_eq!(s.objects(), ["a#1", "b#1", "c#1"]);
    nothing_left(&s);
}
