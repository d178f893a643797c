//! The order of events, compared with the dependencies.

use std::collections::{BTreeMap, BTreeSet};

use ecow::EcoString;
use yuba_plan::{Action, Plan};
use yuba_provider::fake::FakeWorld;
use yuba_value::Value;

/// The address, without keys, of the resource whose object has a name like `m5-a/t3-b` or `t3-b`.
pub(super) fn resource_of(name: &str) -> String {
    let number = |part: &str| part.split_once('-').map_or(part, |(number, _)| number).to_owned();
    match name.split_once('/') {
        Some((call, thing)) => format!("module.{}.fake_thing.{}", number(call), number(thing)),
        None => format!("fake_thing.{}", number(name)),
    }
}

pub(super) fn text(value: &Value, attribute: &str) -> EcoString {
    let entries = value.entries().unwrap_or_default();
    let found = entries.iter().find(|(name, _)| name == attribute);
    found.and_then(|(_, value)| value.as_str().cloned()).unwrap_or_default()
}

/// Begin and end of operations on objects of a resource.
#[derive(Default)]
struct Times {
    /// The first that began, the last that ended.
    first: Option<usize>,
    last: Option<usize>,
}

impl Times {
    fn note(&mut self, at: usize) {
        self.first.get_or_insert(at);
        self.last = Some(at);
    }
}

fn made_in_order(made: &BTreeMap<String, Times>, needs: &BTreeMap<String, BTreeSet<String>>) -> Result<(), String> {
    for (resource, times) in made {
        for need in needs.get(resource).into_iter().flatten() {
            if made.get(need).is_some_and(|theirs| theirs.last > times.first) {
                return Err(format!("{resource} was made before {need}, which it depends on"));
            }
        }
    }
    Ok(())
}

/// Checks a log: what was made after what it depends on now, what was destroyed after what depended on it then.
pub(super) fn check(plan: &Plan, log: &[EcoString], needs: &BTreeMap<String, BTreeSet<String>>) -> Result<(), String> {
    let mut made: BTreeMap<String, Times> = BTreeMap::new();
    let mut ended: BTreeMap<String, Times> = BTreeMap::new();
    let mut by_name: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (at, line) in log.iter().enumerate() {
        let Some((verb, name)) = line.split_once(' ') else { continue };
        by_name.insert((verb, name), at);
        match verb {
            "create" | "update" | "created" | "updated" => made.entry(resource_of(name)).or_default().note(at),
            "delete" | "deleted" => ended.entry(resource_of(name)).or_default().note(at),
            _ => {}
        }
    }
    made_in_order(&made, needs)?;
    for (addr, _, instance) in plan.previous_state.instances() {
        let resource = addr.containing().config().to_string();
        let Some(times) = ended.get(&resource) else { continue };
        for need in instance.objects().flat_map(|(_, object)| object.dependencies.iter().map(ToString::to_string)) {
            if need != resource && ended.get(&need).is_some_and(|theirs| theirs.first < times.last) {
                return Err(format!("{need} was destroyed before {resource}, which depended on it"));
            }
        }
    }
    let schema = FakeWorld::schema();
    debug_assert!(schema.resources.contains_key("fake_thing"));
    for change in &plan.changes {
        let (before, after) = (text(&change.before, "name"), text(&change.after, "name"));
        let at = |verb: &str, name: &str| by_name.get(&(verb, name)).copied();
        let wrong = match change.action {
            Action::DeleteThenCreate => at("create", &after).is_some() && at("deleted", &before) > at("create", &after),
            Action::CreateThenDelete => {
                at("delete", &before).is_some_and(|ended| at("created", &after).is_none_or(|made| made > ended))
            }
            _ => false,
        };
        if wrong && before == after {
            return Err(format!("{} was not replaced in the order of {:?}", change.addr, change.action));
        }
    }
    Ok(())
}

/// A check that cannot fail checks nothing.
#[test]
fn a_wrong_order_is_noticed() {
    let needs = BTreeMap::from([("fake_thing.t2".to_owned(), BTreeSet::from(["fake_thing.t1".to_owned()]))]);
    let check = |names: [&str; 2]| {
        let mut made: BTreeMap<String, Times> = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            made.entry(resource_of(name)).or_default().note(at);
        }
        made_in_order(&made, &needs)
    };
    assert_eq!(check(["t1-a", "t2-b"]), Ok(()));
    let wrong = "fake_thing.t2 was made before fake_thing.t1, which it depends on";
    assert_eq!(check(["t2-b", "t1-a"]), Err(wrong.to_owned()));
}
