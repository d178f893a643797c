//! `resource "terraform_data"`: a stored value, and a resource for provisioners and triggers.
//!
//! There can be very many of them, so planning and applying one builds its object once, with existing types where
//! possible.

use ecow::{EcoString, eco_format};
use yuba_value::{Path, Type, Value, View, json, ops};

use super::TERRAFORM;
use crate::contract::{MoveAnswer, MoveRequest, Outcome, RawState};
use crate::diagnostics;
use crate::legality::{child, object_like};
use crate::problem::Problem;
use crate::schema::{Attribute, BlockSchema, Schema};

pub(super) fn schema() -> Schema {
    let attributes = [
        ("input", Attribute::optional(Type::dynamic())),
        ("output", Attribute::computed(Type::dynamic())),
        ("triggers_replace", Attribute::optional(Type::dynamic())),
        ("id", Attribute::computed(Type::string())),
    ];
    Schema { version: 0, block: BlockSchema::new(attributes) }
}

pub(super) fn validate(config: &Value) -> Vec<Problem> {
    let is_set = |name: &&str| ops::get_attr(config, name).is_ok_and(|value| !value.is_null());
    // Quirk: these have no location.
    ["id", "output"].into_iter().filter(is_set).map(|name| Problem::nowhere(diagnostics::read_only(name))).collect()
}

/// The values of an object, in the order of its attributes.
struct Parts<'v> {
    id: &'v Value,
    input: &'v Value,
    output: &'v Value,
    triggers_replace: &'v Value,
}

impl Parts<'_> {
    fn of(object: &Value) -> Option<Parts<'_>> {
        match object.view_ignoring_marks() {
            View::Object([id, input, output, triggers_replace]) => Some(Parts { id, input, output, triggers_replace }),
            _ => None,
        }
    }
}

/// The planned object, and what requires a replacement.
pub(super) fn plan(prior: &Value, proposed: &Value) -> (Value, Vec<Path>) {
    let Some(new) = Parts::of(proposed) else { return (proposed.clone(), Vec::new()) };
    let old = Parts::of(prior);
    let is_new = old.as_ref().is_none_or(|old| !old.triggers_replace.raw_equals(new.triggers_replace));
    // The output is of the input's type, even if it is null.
    let output = match &old {
        _ if is_new && new.input.is_null() => new.input.clone(),
        Some(old) if !is_new && old.input.raw_equals(new.input) => return (proposed.clone(), Vec::new()),
        _ => Value::unknown(new.input.ty().clone()),
    };
    let id = if is_new { Value::unknown(Type::string()).refine_not_null() } else { new.id.clone() };
    let items = vec![id, new.input.clone(), output, new.triggers_replace.clone()];
    let planned = object_like(&[proposed.ty(), prior.ty()], items);
    let replace = is_new && old.is_some();
    (planned, if replace { vec![Path::new().attr("triggers_replace")] } else { Vec::new() })
}

/// The object after the change.
pub(super) fn apply(planned: &Value, ids: &dyn Fn() -> EcoString) -> Value {
    let Some(plan) = Parts::of(planned) else { return planned.clone() };
    let output = if plan.output.is_known() { plan.output } else { plan.input };
    let id = if plan.id.is_known() { plan.id.clone() } else { Value::string(ids()) };
    let items = vec![id, plan.input.clone(), output.clone(), plan.triggers_replace.clone()];
    object_like(&[planned.ty()], items)
}

fn block() -> Option<&'static BlockSchema> {
    TERRAFORM.resources.get("terraform_data").map(|schema| &schema.block)
}

fn stored(id: Value, triggers_replace: Value) -> Value {
    let null = Value::null_dynamic;
    let names = ["id", "input", "output", "triggers_replace"];
    Value::object(names.into_iter().map(Into::into).zip([id, null(), null(), triggers_replace]).collect())
}

/// All that is known from an id.
pub(super) fn imported(id: EcoString) -> Value {
    stored(Value::string(id), Value::null_dynamic())
}

pub(super) fn upgrade(raw: &RawState) -> Outcome<Value> {
    let ty = block().map_or_else(Type::dynamic, |block| block.implied_type().clone());
    decode(raw, &ty)
}

fn decode(raw: &RawState, ty: &Type) -> Outcome<Value> {
    let problem = match raw {
        RawState::Flatmap(_) => diagnostics::stored_object_in_flatmap(),
        RawState::Json(text) => match json::decode(text.as_bytes(), ty) {
            Ok(value) => return Outcome::ok(value),
            Err(error) => diagnostics::stored_object_invalid(&eco_format!("{error}")),
        },
    };
    Outcome::failed(Problem::nowhere(problem))
}

/// An object that was a `null_resource`.
pub(super) fn moved(request: MoveRequest) -> Outcome<MoveAnswer> {
    let (source, target) = (&request.source_kind, &request.target_kind);
    if source != "null_resource" || target != "terraform_data" {
        return Outcome::failed(Problem::nowhere(diagnostics::move_between_types(source, target)));
    }
    let ty = Type::object([("id".into(), Type::string()), ("triggers".into(), Type::map(Type::string()))]);
    decode(&request.source_raw, &ty).map(|object| {
        let triggers = match child(&object, "triggers").entries() {
            Some(entries) => Value::object(entries),
            None => Value::null_dynamic(),
        };
        MoveAnswer { state: stored(child(&object, "id"), triggers), private: request.source_private, identity: None }
    })
}
