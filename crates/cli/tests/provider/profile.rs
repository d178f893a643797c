//! Profiles of runs with provider processes: concurrent calls are in lanes of their own.

use std::collections::BTreeSet;

use crate::trace_events::{Slice, named, only, slices};
use crate::{finish, nothing_left, ok, sandbox, signal, start, wait_until};

const SLOW: &str = "//- main.tf\nresource \"testing_thing\" \"a\" {\n  count  = 4\n  name   = \"a${count.index}\"\n  behave = \"slow_create\"\n}\n";

fn calls<'s>(all: &'s [Slice], method: &str) -> Vec<&'s Slice> {
    named(all, "call provider").into_iter().filter(|slice| slice.args["method"] == method).collect()
}

#[test]
fn concurrent_operations_are_in_lanes_of_their_own() {
    let s = sandbox(6, SLOW).env("TESTING_SLOW_MS", "150");
    ok(&s, &["apply", "-auto-approve", "-profile=p.json"]);
    let all = slices(&s, "p.json");
    let operations = named(&all, "apply operation");
    let lanes: BTreeSet<u64> = operations.iter().map(|slice| slice.lane).collect();
    assert_eq!((operations.len(), lanes.len()), (4, 4), "{operations:?}");
    let applied = calls(&all, "ApplyResourceChange");
    assert_eq!(applied.len(), 4);
    for call in applied {
        assert_eq!(call.args["provider"], "registry.opentofu.org/yuba/testing");
        let around = operations.iter().find(|slice| slice.lane == call.lane);
        assert!(around.is_some_and(|operation| operation.contains(call)), "{call:?} is not within {around:?}");
    }
    let plan = only(&all, "plan");
    assert_eq!(calls(&all, "PlanResourceChange").into_iter().filter(|call| plan.contains(call)).count(), 4);
    assert!(!named(&all, "start provider").is_empty());
    nothing_left(&s);
}

#[test]
fn an_interrupted_apply_has_a_complete_profile() {
    let s = sandbox(6, SLOW).env("TESTING_SLOW_MS", "400");
    let child = start(&s, &["apply", "-auto-approve", "-parallelism=1", "-profile=p.json"]);
    wait_until("an object is created", || s.record().iter().any(|line| line.starts_with("begin-create")));
    signal(&child, "INT");
    let run = finish(child);
    assert_eq!(run.code, 1, "{run}");
    let all = slices(&s, "p.json");
    assert!(only(&all, "command").args["unfinished"].is_null(), "the command ended by itself");
    assert!(only(&all, "apply").contains(named(&all, "apply operation")[0]));
    assert!(only(&all, "command").contains(only(&all, "save state")));
    nothing_left(&s);
}
