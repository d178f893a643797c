//! Stored attributes that a schema no longer has, although its version is the same.

use ecow::EcoString;
use yuba_provider::RawState;
use yuba_state::{Attributes, Object};
use yuba_value::{Type, TypeKind, Value, View};

/// The attributes of a stored object without those that its type does not have, at any depth; none if it has them all.
pub(crate) fn without_removed(object: &Object, ty: &Type) -> Option<RawState> {
    let Attributes::Json(json) = &object.attributes else { return None };
    // Values that can be read as they are have nothing to drop, and most objects can.
    if object.decode(ty).is_ok() {
        return None;
    }
    let stored = yuba_value::json::decode_implied(json.as_str()).ok()?;
    let kept = kept(&stored, ty);
    if kept.raw_equals(&stored) {
        return None;
    }
    Some(RawState::Json(yuba_value::json::encode_plain(&kept).ok()?.into()))
}

fn kept(stored: &Value, ty: &Type) -> Value {
    match (stored.view_ignoring_marks(), ty.kind()) {
        (View::Tuple(items), TypeKind::List(element) | TypeKind::Set(element)) => {
            Value::tuple(items.iter().map(|item| kept(item, element)).collect::<Vec<_>>())
        }
        (View::Object(_), TypeKind::Map(element)) => of_entries(stored, |_| Some(element)),
        (View::Object(_), TypeKind::Object(_)) => of_entries(stored, |name| ty.attr(name).map(|attr| &attr.ty)),
        _ => stored.clone(),
    }
}

fn of_entries<'t>(stored: &Value, type_of: impl Fn(&EcoString) -> Option<&'t Type>) -> Value {
    let entries = stored.entries().unwrap_or_default().into_iter();
    Value::object(entries.filter_map(|(name, value)| Some((name.clone(), kept(&value, type_of(&name)?)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use yuba_state::RawJson;

    fn check(stored: &str, expected: Option<&str>) {
        let inner = Type::object([("k".into(), Type::string())]);
        let ty = Type::object([
            ("any".into(), Type::dynamic()),
            ("list".into(), Type::list(inner.clone())),
            ("map".into(), Type::map(inner)),
            ("size".into(), Type::number()),
        ]);
        let object = Object::new(0, Attributes::Json(RawJson::parse(stored).expect("because it is JSON")));
        let kept = without_removed(&object, &ty).map(|raw| match raw {
            RawState::Json(json) => json.to_string(),
            RawState::Flatmap(_) => String::from("flatmap"),
        });
        assert_eq!(kept.as_deref(), expected);
    }

    #[test]
    fn what_a_schema_has_is_left_alone() {
        check(r#"{"any":null,"list":[{"k":"a"}],"map":{"x":{"k":"b"}},"size":1}"#, None);
    }

    #[test]
    fn missing_attributes_change_nothing() {
        check(r#"{"list":[],"size":123456789012345678901234567890}"#, None);
    }

    #[test]
    fn removed_attributes_are_dropped_at_any_depth() {
        check(
            r#"{"gone":1,"list":[{"gone":true,"k":"a"}],"map":{"gone":{"gone":[],"k":"b"}},"size":12345678901234567890}"#,
            Some(r#"{"list":[{"k":"a"}],"map":{"gone":{"k":"b"}},"size":12345678901234567890}"#),
        );
    }

    #[test]
    fn values_of_any_type_stay_unchanged() {
        check(
            r#"{"any":{"type":["object",{"gone":"string"}],"value":{"gone":"x"}},"gone":1}"#,
            Some(r#"{"any":{"type":["object",{"gone":"string"}],"value":{"gone":"x"}}}"#),
        );
    }
}
