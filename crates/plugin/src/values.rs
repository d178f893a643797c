//! Values, paths and problems, between the wire and us.

use std::collections::BTreeMap;

use ecow::{EcoString, EcoVec, eco_format};
use prost::bytes::Bytes;
use yuba_provider::{Millis, Private, Problem, ProblemLocation, RawState, provider_reported};
use yuba_syntax::Severity;
use yuba_value::{Path, PathStep, Type, Value, View, json, msgpack};

use crate::wire::{self, DynamicValue, Selector};

/// A value for a reader that knows its type. The error is part of a sentence.
pub(crate) fn encode(value: &Value, ty: &Type) -> Result<DynamicValue, EcoString> {
    let msgpack = msgpack::encode(value, ty).map_err(|error| match error.path.is_empty() {
        true => eco_format!("{error}"),
        false => eco_format!("{error} (at {})", path_text(&error.path)),
    })?;
    Ok(DynamicValue { msgpack: msgpack.into(), json: Bytes::new() })
}

/// A value of a type; null if it is missing. The error is part of a sentence.
pub(crate) fn decode(value: Option<&DynamicValue>, ty: &Type) -> Result<Value, EcoString> {
    let decoded = match value {
        Some(value) if !value.msgpack.is_empty() => msgpack::decode(&value.msgpack, ty),
        Some(value) if !value.json.is_empty() => json::decode(&value.json, ty),
        _ => return Ok(Value::null(ty.clone())),
    };
    decoded.map_err(|error| match error.path.is_empty() {
        true => eco_format!("{error}"),
        false => eco_format!("{error} at {}", path_text(&error.path)),
    })
}

/// A path in a value. An empty step ends it.
pub(crate) fn path(path: wire::AttributePath) -> Path {
    let steps = path.steps.into_iter().map_while(|step| step.selector);
    Path(
        steps
            .map(|step| match step {
                Selector::AttributeName(name) => PathStep::Attr(name.into()),
                Selector::ElementKeyString(key) => PathStep::Index(Value::string(key)),
                Selector::ElementKeyInt(key) => PathStep::Index(Value::int(key)),
            })
            .collect(),
    )
}

/// As it would be written: `a.b[0]["c"]`.
pub(crate) fn path_text(path: &Path) -> EcoString {
    let text = path.0.iter().fold(EcoString::new(), |text, step| match step {
        PathStep::Attr(name) if text.is_empty() => text + name.as_str(),
        PathStep::Attr(name) => text + "." + name.as_str(),
        PathStep::Index(key) => match key.view_ignoring_marks() {
            View::Number(number) => text + eco_format!("[{number}]").as_str(),
            View::String(key) => text + eco_format!("[{key:?}]").as_str(),
            _ => text + "[...]",
        },
    });
    if text.is_empty() { "the value itself".into() } else { text }
}

/// The diagnostics that a provider reports.
pub(crate) fn problems(diagnostics: Vec<wire::Diagnostic>) -> Vec<Problem> {
    diagnostics
        .into_iter()
        .map(|found| {
            let severity = match found.severity() {
                wire::Severity::Warning => Severity::Warning,
                // A diagnostic without severity counts as an error, so that it is not lost.
                wire::Severity::Error | wire::Severity::Invalid => Severity::Error,
            };
            let diagnostic = provider_reported(severity, found.summary, found.detail);
            Problem {
                diagnostic,
                location: found.attribute.map_or(ProblemLocation::Block, |at| ProblemLocation::Value(path(at))),
            }
        })
        .collect()
}

/// An object as it is stored.
pub(crate) fn raw_state(raw: &RawState) -> wire::RawState {
    match raw {
        RawState::Json(json) => {
            wire::RawState { json: Bytes::copy_from_slice(json.as_bytes()), flatmap: BTreeMap::new() }
        }
        RawState::Flatmap(texts) => {
            let flatmap = texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
            wire::RawState { json: Bytes::new(), flatmap }
        }
    }
}

pub(crate) fn private_bytes(private: &Private) -> Bytes {
    Bytes::copy_from_slice(private)
}

pub(crate) fn private(bytes: &Bytes) -> Private {
    EcoVec::from(bytes.as_ref())
}

/// A moment.
pub(crate) fn millis(at: &wire::Timestamp) -> Millis {
    at.seconds.saturating_mul(1000).saturating_add(at.nanos / 1_000_000)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn values_go_there_and_back() {
        let ty = Type::object([("a".into(), Type::list(Type::string())), ("n".into(), Type::dynamic())]);
        let refined = Value::unknown(Type::string()).refine_not_null();
        let value = Value::object(vec![
            ("a".into(), Value::list(Type::string(), vec![Value::string("x"), refined])),
            ("n".into(), Value::int(5)),
        ]);
        let sent = encode(&value, &ty).expect("because it is of the type");
        let back = decode(Some(&sent), &ty).expect("because it was just written");
        assert!(back.raw_equals(&value), "{back:?}");
        let json = DynamicValue { msgpack: Bytes::new(), json: r#"["x"]"#.into() };
        let list = Type::list(Type::string());
        assert_eq!(format!("{:?}", decode(Some(&json), &list)), r#"Ok(["x"])"#);
        assert!(decode(None, &list).is_ok_and(|value| value.is_null()));
        assert!(decode(Some(&DynamicValue::default()), &list).is_ok_and(|value| value.is_null()));
        let broken = DynamicValue { msgpack: b"\x91\xc1".as_slice().into(), json: Bytes::new() };
        expect!["invalid MessagePack (at byte 2) at [0]"]
            .assert_eq(&decode(Some(&broken), &list).err().unwrap_or_default());
    }

    #[test]
    fn problems_have_a_path() {
        let step = |selector| wire::Step { selector: Some(selector) };
        let steps = vec![
            step(Selector::AttributeName("a".into())),
            step(Selector::ElementKeyInt(1)),
            step(Selector::ElementKeyString("k".into())),
            wire::Step { selector: None },
            step(Selector::AttributeName("lost".into())),
        ];
        let found = problems(vec![
            wire::Diagnostic {
                severity: wire::Severity::Warning.into(),
                summary: "s".into(),
                detail: "d".into(),
                attribute: Some(wire::AttributePath { steps }),
            },
            wire::Diagnostic { summary: "no severity".into(), ..wire::Diagnostic::default() },
        ]);
        let text = found.iter().map(|problem| {
            let location = match &problem.location {
                ProblemLocation::Value(path) => path_text(path),
                other => eco_format!("{other:?}"),
            };
            format!(
                "{} {} {location}\n",
                if problem.diagnostic.is_error() { "error" } else { "warning" },
                problem.diagnostic.summary
            )
        });
        expect![[r#"
            warning s a[1]["k"]
            error no severity Block
        "#]]
        .assert_eq(&text.collect::<String>());
    }
}
