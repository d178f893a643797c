//! `fake_thing`: what it is planned to be, and what it becomes.

use ecow::{EcoString, eco_format};
use yuba_value::{Path, Type, Value, json};

use super::schema::SCHEMA;
use super::{Fault, problem};
use crate::contract::{Outcome, RawState};
use crate::legality::child;
use crate::problem::Problem;
use crate::schema::BlockSchema;

pub(super) fn block() -> &'static BlockSchema {
    &SCHEMA.resources.get("fake_thing").expect("the schema has it").block
}

pub(super) fn text(value: &Value, attribute: &str) -> EcoString {
    child(value, attribute).as_str().cloned().unwrap_or_default()
}

pub(super) fn name(value: &Value) -> EcoString {
    text(value, "name")
}

/// An object with another value of one attribute.
pub(super) fn with(object: &Value, attribute: &str, value: Value) -> Value {
    let mut entries = object.entries().unwrap_or_default();
    if let Some((_, item)) = entries.iter_mut().find(|(name, _)| name == attribute) {
        *item = value;
    }
    Value::object(entries)
}

pub(super) fn validate(config: &Value) -> Vec<Problem> {
    let problem = |summary: &str, attribute: &str| {
        Problem::at(problem(summary, "The fake provider says so.".into()).diagnostic, Path::new().attr(attribute))
    };
    let mut problems = Vec::new();
    if child(config, "size").as_number().is_some_and(yuba_value::Number::is_negative) {
        problems.push(problem("Invalid size", "size"));
    }
    if text(config, "behave") == "invalid" {
        problems.push(problem("Invalid behaviour", "behave"));
    }
    problems
}

/// The planned object, and the paths that require a replacement.
pub(super) fn plan(prior: &Value, proposed: &Value, region: &EcoString, fault: Option<Fault>) -> (Value, Vec<Path>) {
    let mut planned = with(proposed, "password", Value::null(Type::string()));
    let unset = |value: &Value, attribute: &str| child(value, attribute).is_null();
    if prior.is_null() {
        planned = with(&planned, "id", Value::unknown(Type::string()).refine_not_null());
        planned = with(&planned, "region", Value::string(region.clone()));
    }
    if unset(&planned, "color") {
        planned = with(&planned, "color", Value::unknown(Type::string()));
    }
    let unknown_handle = |_: &Value| Value::unknown(Type::string());
    planned = with_handles(&planned, Value::is_null, unknown_handle);
    if fault == Some(Fault::Lie) {
        planned = with(&planned, "name", Value::string(eco_format!("{} or not", name(&planned))));
    }
    let changes = |attribute: &str| !child(prior, attribute).raw_equals(&child(proposed, attribute));
    let replace = !prior.is_null() && changes("kind");
    (planned, if replace { vec![Path::new().attr("kind")] } else { Vec::new() })
}

/// The object with other handles in its steps and rules, where `wanted` returns true for the handle.
fn with_handles(thing: &Value, wanted: impl Fn(&Value) -> bool, handle: impl Fn(&Value) -> Value) -> Value {
    ["step", "rule"].iter().fold(thing.clone(), |thing, kind| {
        let parts = child(&thing, kind);
        let (Some(items), Some(element)) = (parts.as_seq(), parts.ty().element()) else { return thing };
        let items = items.iter().map(|part| match wanted(&child(part, "handle")) {
            true => with(part, "handle", handle(part)),
            false => part.clone(),
        });
        let (items, element) = (items.collect(), element.clone());
        let parts = if *kind == "rule" { Value::set(element, items) } else { Value::list(element, items) };
        with(&thing, kind, parts)
    })
}

/// The object with all values known.
pub(super) fn finished(planned: &Value, id: EcoString) -> Value {
    let mut thing = planned.clone();
    if !child(&thing, "id").is_known() {
        thing = with(&thing, "id", Value::string(id));
    }
    if !child(&thing, "color").is_known() {
        thing = with(&thing, "color", Value::string("blue"));
    }
    let handle = |part: &Value| match child(part, "port").as_number() {
        Some(port) => Value::string(eco_format!("handle-{port}")),
        None => Value::string("handle"),
    };
    with_handles(&thing, |handle| !handle.is_known(), handle)
}

/// The invalid response about an object, for faults of responses.
pub(super) fn distorted(thing: &Value, fault: Option<Fault>) -> Value {
    match fault {
        Some(Fault::Lie) => with(thing, "name", Value::string(eco_format!("{} or not", name(thing)))),
        Some(Fault::Unknown) => with(thing, "color", Value::unknown(Type::string())),
        _ => thing.clone(),
    }
}

/// A stored object. In version 0 the name was `label`.
pub(super) fn upgrade(version: u64, raw: &RawState) -> Outcome<Value> {
    let RawState::Json(text) = raw else {
        return Outcome::failed(problem("Invalid stored object", "A thing is never stored like this.".into()));
    };
    let decoded = match version {
        0 => json::decode_implied(text).map(|value| {
            let entries = value.entries().unwrap_or_default().into_iter();
            let renamed = entries.map(|(name, value)| (if name == "label" { "name".into() } else { name }, value));
            Value::object(renamed.collect())
        }),
        _ => json::decode(text.as_bytes(), block().implied_type()),
    };
    let coerced = decoded.map_err(|error| eco_format!("{error}"));
    let coerced = coerced.and_then(|value| block().coerce(&value).map_err(|error| error.message));
    match coerced {
        Ok(value) => Outcome::ok(value),
        Err(why) => Outcome::failed(problem("Invalid stored object", why)),
    }
}
