//! An explanation for tools: one JSON document.

use super::{
    AttributeChange, Cause, Dependents, Effect, Explanation, Expression, FileLine, Given, InstanceSummary, Part,
    PlannedChange, ProviderUse, Recorded, RepetitionUse,
};
use crate::json::JsonValue;

/// Version of the document.
const FORMAT: &str = "1.0";

/// An explanation as JSON. Members without a value are null, lists can be empty.
pub fn json(explanation: &Explanation) -> JsonValue {
    let disabled = explanation
        .disabled
        .as_ref()
        .map(|off| JsonValue::object([("object", text(&off.object)), ("location", location(off.at.as_ref()))]));
    JsonValue::object([
        ("format_version", text(FORMAT)),
        ("address", text(&explanation.address)),
        ("kind", text(explanation.kind)),
        ("declared", location(explanation.declared.as_ref())),
        ("disabled", disabled.unwrap_or(JsonValue::Null)),
        ("value", optional(explanation.value.as_deref())),
        ("given", explanation.given.as_ref().map_or(JsonValue::Null, given)),
        ("definition", list(&explanation.definition, expression)),
        ("changes", list(&explanation.changes, change)),
        ("instances", list(&explanation.instances, instance)),
        ("repetition", list(&explanation.repetition, repetition)),
        ("provider", explanation.provider.as_ref().map_or(JsonValue::Null, provider)),
        ("state", list(&explanation.recorded, recorded)),
        ("dependents", explanation.dependents.as_ref().map_or(JsonValue::Null, dependents)),
    ])
}

fn text(text: &str) -> JsonValue {
    JsonValue::from(text)
}

fn optional(text: Option<&str>) -> JsonValue {
    text.map_or(JsonValue::Null, JsonValue::from)
}

fn list<T>(items: &[T], item: impl Fn(&T) -> JsonValue) -> JsonValue {
    JsonValue::Array(items.iter().map(item).collect())
}

fn location(at: Option<&FileLine>) -> JsonValue {
    at.map_or(JsonValue::Null, |at| {
        JsonValue::object([("filename", text(&at.file)), ("line", JsonValue::from(at.line))])
    })
}

fn names(names: &[String]) -> JsonValue {
    list(names, |name| text(name))
}

fn actions(action: yuba_plan::Action) -> JsonValue {
    JsonValue::Array(action.names().iter().map(|name| text(name)).collect())
}

fn change(change: &PlannedChange) -> JsonValue {
    let reason = change.reason.as_ref().map(|reason| {
        JsonValue::object([
            ("code", text(reason.code)),
            ("text", text(&reason.text)),
            ("location", location(reason.at.as_ref())),
        ])
    });
    JsonValue::object([
        ("deposed", optional(change.deposed.as_deref())),
        ("actions", actions(change.action)),
        ("reason", reason.unwrap_or(JsonValue::Null)),
        ("moved_from", optional(change.moved_from.as_deref())),
        ("imported_id", optional(change.imported.as_deref())),
        ("attributes", list(&change.attributes, attribute)),
        ("omitted_attributes", JsonValue::from(change.omitted)),
        ("known_after_apply", names(&change.decided_later)),
        ("triggers", list(&change.triggers, expression)),
    ])
}

fn attribute(attribute: &AttributeChange) -> JsonValue {
    JsonValue::object([
        ("path", text(&attribute.path)),
        ("before", text(&attribute.before)),
        ("after", text(&attribute.after)),
        ("forces_replacement", JsonValue::Bool(attribute.forces_replacement)),
        ("expressions", list(&attribute.expressions, expression)),
    ])
}

fn expression(expression: &Expression) -> JsonValue {
    JsonValue::object([
        ("text", optional(expression.text.as_deref())),
        ("location", location(expression.at.as_ref())),
        ("references", list(&expression.causes, cause)),
    ])
}

fn cause(cause: &Cause) -> JsonValue {
    JsonValue::object([
        ("name", text(&cause.name)),
        ("kind", text(cause.kind.as_str())),
        ("value", optional(cause.value.as_deref())),
        ("given", cause.given.as_ref().map_or(JsonValue::Null, given)),
        ("effect", cause.effect.as_ref().map_or(JsonValue::Null, effect)),
        ("expressions", list(&cause.expressions, expression)),
        ("explained_before", JsonValue::Bool(cause.is_repeated)),
    ])
}

fn given(given: &Given) -> JsonValue {
    let (by, at, name) = match given {
        Given::Default(at) => ("default", at.as_ref(), None),
        Given::File(at) => ("file", Some(at), None),
        Given::Flag => ("flag", None, None),
        Given::Environment(name) => ("environment", None, Some(name.as_str())),
        Given::Prompt => ("prompt", None, None),
        Given::Plan => ("plan", None, None),
        Given::Call => ("module_call", None, None),
        Given::Missing => ("nothing", None, None),
    };
    JsonValue::object([("by", text(by)), ("location", location(at)), ("name", optional(name))])
}

fn effect(effect: &Effect) -> JsonValue {
    let (part, before, after) = match &effect.part {
        Part::Whole => (JsonValue::Null, None, None),
        Part::KnownLater => (text("known_after_apply"), None, None),
        Part::Changes(before, after) => (text("changes"), Some(before.as_str()), Some(after.as_str())),
        Part::Same(value) => (text("unchanged"), Some(value.as_str()), Some(value.as_str())),
    };
    JsonValue::object([
        ("actions", effect.action.map_or(JsonValue::Null, actions)),
        ("attribute", part),
        ("before", optional(before)),
        ("after", optional(after)),
    ])
}

fn instance(instance: &InstanceSummary) -> JsonValue {
    JsonValue::object([
        ("address", text(&instance.address)),
        ("actions", instance.action.map_or(JsonValue::Null, actions)),
    ])
}

fn repetition(repetition: &RepetitionUse) -> JsonValue {
    JsonValue::object([
        ("object", text(&repetition.object)),
        ("argument", optional(repetition.argument)),
        ("key", optional(repetition.key.as_deref())),
        ("value", optional(repetition.value.as_deref())),
        ("declared", location(repetition.declared.as_ref())),
        ("expressions", list(&repetition.expressions, expression)),
    ])
}

fn provider(provider: &ProviderUse) -> JsonValue {
    let step = |(sentence, at): &(String, Option<FileLine>)| {
        JsonValue::object([("text", text(sentence)), ("location", location(at.as_ref()))])
    };
    JsonValue::object([
        ("address", text(&provider.address)),
        ("key", optional(provider.key.as_deref())),
        ("declared", location(provider.declared.as_ref())),
        ("route", list(&provider.route, step)),
        ("key_expression", provider.key_expression.as_ref().map_or(JsonValue::Null, expression)),
        ("for_each", provider.for_each.as_ref().map_or(JsonValue::Null, expression)),
    ])
}

fn recorded(object: &Recorded) -> JsonValue {
    JsonValue::object([
        ("address", text(&object.address)),
        ("deposed", optional(object.deposed.as_deref())),
        ("tainted", JsonValue::Bool(object.is_tainted)),
        ("create_before_destroy", JsonValue::Bool(object.creates_before_destroy)),
        ("skip_destroy", JsonValue::Bool(object.is_kept)),
        ("dependencies", names(&object.dependencies)),
    ])
}

fn dependents(dependents: &Dependents) -> JsonValue {
    let direct = |(name, at): &(String, Option<FileLine>)| {
        JsonValue::object([("name", text(name)), ("location", location(at.as_ref()))])
    };
    JsonValue::object([
        ("direct", list(&dependents.direct, direct)),
        ("total", JsonValue::from(dependents.total)),
        ("in_state", names(&dependents.recorded)),
    ])
}
