//! Events that OpenTofu loses where one instance has several objects in a run.
//!
//! Its hooks (`jsonHook.applying` and `countHook.pending`) hold the operations in progress by the address of the instance, without the
//! deposed key. Where a current and a deposed object of one instance are destroyed at the same time, the first that ends removes the
//! entry of both: the other one is neither reported as complete nor counted, depending on which goroutine runs first. The objects
//! are destroyed all the same, as the states show. Only the comparison of both tools leaves these events out; runs of Yuba are compared
//! with each other as they are.

use std::collections::BTreeMap;

use serde_json::Value;

/// Takes the ends of operations that OpenTofu may lose, and the totals made of them, out of both lists of events.
pub(super) fn drop_lost_events(ours: &mut Value, theirs: &mut Value) {
    let (Some(ours), Some(theirs)) = (ours.as_array_mut(), theirs.as_array_mut()) else { return };
    let [started, completed] = ["apply_start", "apply_complete"].map(|kind| count(ours, kind));
    let [also_started, observed] = ["apply_start", "apply_complete"].map(|kind| count(theirs, kind));
    // An operation that OpenTofu did not start has no end that it could lose.
    let is_in_both = |address: &String, times: usize| also_started.get(address) == Some(&times);
    let several = started.iter().filter(|(address, times)| **times > 1 && is_in_both(address, **times));
    let several: Vec<&String> = several.map(|(address, _)| address).collect();
    let lost = |address: &&&String| observed.get(**address) < completed.get(**address);
    let lost: Vec<String> = several.iter().filter(lost).map(|address| (*address).clone()).collect();
    let twice = |event: &Value| theirs.iter().filter(|other| *other == event).count() > 1;
    let is_start = |event: &Value| parts(event).0 == "apply_start";
    let counted_once = ours.windows(2).any(|pair| pair[0] == pair[1] && is_start(&pair[0]) && twice(&pair[0]));
    for events in [ours, theirs] {
        events.retain(|event| match parts(event) {
            ("apply_complete", detail) => !lost.contains(&address(detail)),
            ("change_summary", detail) => !counted_once && lost.is_empty() || detail.contains("\"operation\":\"plan\""),
            _ => true,
        });
    }
}

/// Number of events of a kind by address.
fn count(events: &[Value], kind: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for detail in events.iter().map(parts).filter(|parts| parts.0 == kind).map(|parts| parts.1) {
        *found.entry(address(detail)).or_default() += 1;
    }
    found
}

/// The kind of an event and the rest of its text.
fn parts(event: &Value) -> (&str, &str) {
    event.as_str().and_then(|text| text.split_once(' ')).unwrap_or_default()
}

fn address(detail: &str) -> String {
    let json: Value = serde_json::from_str(detail).unwrap_or_default();
    json["resource"].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::drop_lost_events;

    fn events(complete: &[&str]) -> Value {
        let mut all = vec![json!(r#"apply_start {"action":"delete","resource":"t.a"}"#); 2];
        all.push(json!(r#"apply_start {"action":"delete","resource":"t.b"}"#));
        let complete =
            complete.iter().map(|name| format!(r#"apply_complete {{"action":"delete","resource":"t.{name}"}}"#));
        all.extend(complete.map(Value::from));
        Value::from(all)
    }

    #[test]
    fn one_of_two_objects_may_end_without_a_report() {
        let (mut ours, mut theirs) = (events(&["a", "a", "b"]), events(&["a", "b"]));
        drop_lost_events(&mut ours, &mut theirs);
        assert_eq!(ours, theirs);
    }

    #[test]
    fn what_opentofu_does_not_start_is_not_lost() {
        let summary = |count: u32| json!(format!(r#"change_summary {{"operation":"apply","remove":{count}}}"#));
        let (mut ours, mut theirs) = (events(&["a", "a", "b"]), json!([]));
        for (events, count) in [(&mut ours, 3), (&mut theirs, 0)] {
            events.as_array_mut().expect("it is a list").push(summary(count));
        }
        let unchanged = (ours.clone(), theirs.clone());
        drop_lost_events(&mut ours, &mut theirs);
        assert_eq!((ours, theirs), unchanged);
    }

    #[test]
    fn the_end_of_a_single_object_and_an_end_that_yuba_loses_still_differ() {
        for (ours, theirs) in [(["a", "a", "b"].as_slice(), ["a", "a"].as_slice()), (&["a", "b"], &["a", "a", "b"])] {
            let (mut ours, mut theirs) = (events(ours), events(theirs));
            drop_lost_events(&mut ours, &mut theirs);
            assert_ne!(ours, theirs);
        }
    }
}
