//! As many at the same time as allowed, and never more.

use crate::{nothing_left, ok, sandbox};

/// How many changes were under way at once at most.
fn most_at_once(s: &yuba_testkit::Sandbox) -> i32 {
    let (mut now, mut most) = (0, 0);
    for line in s.record() {
        now += if line.starts_with("begin-create") { 1 } else { -i32::from(line.starts_with("create")) };
        most = most.max(now);
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
        assert_eq!(most_at_once(&s), expected, "{flag}");
        ok(&s, &["destroy", "-auto-approve"]);
    }
    nothing_left(&s);
}
