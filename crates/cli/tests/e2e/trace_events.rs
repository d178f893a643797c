//! Reads profiles, and checks what holds for every profile. Used by two test binaries.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use yuba_testkit::Sandbox;

/// A complete event. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) name: String,
    pub(crate) lane: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) args: Json,
}

impl Slice {
    /// Whether another slice is within this one.
    pub(crate) fn contains(&self, other: &Slice) -> bool {
        self.begin <= other.begin && other.end <= self.end
    }
    fn overlaps(&self, other: &Slice) -> bool {
        self.begin < other.end && other.begin < self.end
    }
}

/// The slices of a profile. They nest in each lane, and each lane has a name.
#[track_caller]
pub(crate) fn slices(sandbox: &Sandbox, path: &str) -> Vec<Slice> {
    let document: Json = serde_json::from_str(&sandbox.read(path)).expect("because a profile is valid JSON");
    let events = document["traceEvents"].as_array().expect("because it is a list");
    let mut slices = Vec::new();
    let mut lanes = BTreeMap::new();
    for event in events {
        assert!(event["pid"].as_u64().is_some_and(|pid| pid > 0), "{event}");
        match event["ph"].as_str() {
            Some("X") => slices.push(slice(event)),
            Some("M") if event["name"] == "thread_name" => {
                lanes.insert(event["tid"].as_u64(), event["args"]["name"].clone());
            }
            Some("M") => {}
            other => panic!("{other:?} is not a phase of a profile"),
        }
    }
    for (at, slice) in slices.iter().enumerate() {
        assert!(lanes.contains_key(&Some(slice.lane)), "lane {} has no name", slice.lane);
        for other in slices.iter().skip(at + 1).filter(|other| other.lane == slice.lane) {
            let nests = slice.contains(other) || other.contains(slice) || !slice.overlaps(other);
            assert!(nests, "{slice:?} and {other:?} overlap in one lane");
        }
    }
    slices
}

fn slice(event: &Json) -> Slice {
    let nanoseconds = |name: &str| {
        let microseconds = event[name].as_f64().expect("because times are numbers");
        (microseconds * 1000.0).round() as u64
    };
    Slice {
        name: event["name"].as_str().unwrap_or_default().to_owned(),
        lane: event["tid"].as_u64().unwrap_or_default(),
        begin: nanoseconds("ts"),
        end: nanoseconds("ts") + nanoseconds("dur"),
        args: event["args"].clone(),
    }
}

/// The slices with a name.
pub(crate) fn named<'s>(slices: &'s [Slice], name: &str) -> Vec<&'s Slice> {
    slices.iter().filter(|slice| slice.name == name).collect()
}

/// The one slice with a name.
#[track_caller]
pub(crate) fn only<'s>(slices: &'s [Slice], name: &str) -> &'s Slice {
    match named(slices, name).as_slice() {
        [slice] => slice,
        found => panic!("{} slices are named {name:?}: {slices:#?}", found.len()),
    }
}
