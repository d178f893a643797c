//! As many at the same time as allowed, and never more.

use crate::{nothing_left, ok, sandbox};

/// Number of requests that were under way at the same time, at most. Requests for other ids do not count.
fn most_at_once(s: &yuba_testkit::Sandbox, verb: &str, counts: impl Fn(&str) -> bool) -> i32 {
    let (mut now, mut most) = (0, 0);
    for line in s.record() {
        let mut words = line.split(' ');
        let (found, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
        if counts(id) {
            now += if found.strip_prefix("begin-") == Some(verb) { 1 } else { -i32::from(found == verb) };
            most = most.max(now);
        }
    }
    most
}

#[test]
fn as_many_as_allowed() {
    let s = sandbox(
        6,
        "//- main.tf\nresource \"testing_thing\" \"a\" {\n  count  = 9\n  name   = \"a${count.index}\"\n  behave = \"slow_create\"\n}\n",
    );
    let s = s.env("TESTING_SLOW_MS", "150");
    for (flag, expected) in [("-parallelism=1", 1), ("-parallelism=3", 3), ("-parallelism=10", 9)] {
        s.clear_record();
        ok(&s, &["apply", "-auto-approve", flag]);
        assert_eq!(most_at_once(&s, "create", |_| true), expected, "{flag}");
        ok(&s, &["destroy", "-auto-approve"]);
    }
    nothing_left(&s);
}

#[test]
fn validation_goes_on_while_providers_answer() {
    let resource = |n: u32| {
        format!("resource \"testing_thing\" \"r{n}\" {{\n  name   = \"n{n}\"\n  behave = \"slow_validate\"\n}}\n")
    };
    let s = sandbox(6, &format!("//- main.tf\n{}", (10..40).map(resource).collect::<String>()));
    let s = s.env("TESTING_SLOW_MS", "300");
    ok(&s, &["validate"]);
    assert_eq!(most_at_once(&s, "validate", |_| true), 10);
    // Requests after those that were sent first overlap as well.
    for later in ["n2", "n3"] {
        let most = most_at_once(&s, "validate", |id| id.starts_with(later));
        assert!(most > 5, "{later}: {most} at the same time\n{}", s.record().join("\n"));
    }
    s.clear_record();
    ok(&s, &["plan", "-parallelism=4"]);
    assert_eq!(most_at_once(&s, "validate", |_| true), 4);
    nothing_left(&s);
}
