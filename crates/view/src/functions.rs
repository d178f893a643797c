//! The table of functions as JSON, for editors and other tools.

use yuba_value::function::{Param, Signature};
use yuba_value::{Type, TypeKind};

use crate::json::JsonValue;

/// Version of the format.
const FORMAT_VERSION: &str = "1.0";

/// All functions, sorted by name, each under its plain name and its name in the namespace `core`.
pub fn render<'a>(signatures: impl IntoIterator<Item = &'a Signature>) -> JsonValue {
    let mut rows: Vec<(String, JsonValue)> = Vec::new();
    for signature in signatures {
        let described = function(signature);
        rows.push((format!("core::{}", signature.name), described.clone()));
        rows.push((signature.name.to_string(), described));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    JsonValue::object([
        ("format_version", JsonValue::from(FORMAT_VERSION)),
        ("function_signatures", JsonValue::Object(rows)),
    ])
}

fn function(signature: &Signature) -> JsonValue {
    let mut members = Vec::new();
    if !signature.description.is_empty() {
        members.push(("description", JsonValue::from(&*signature.description)));
    }
    members.push(("return_type", type_json(&signature.result)));
    if !signature.params.is_empty() {
        members.push(("parameters", JsonValue::Array(signature.params.iter().map(parameter).collect())));
    }
    if let Some(variadic) = &signature.variadic {
        members.push(("variadic_parameter", parameter(variadic)));
    }
    JsonValue::object(members)
}

fn parameter(param: &Param) -> JsonValue {
    let mut members = vec![("name", JsonValue::from(&*param.name))];
    if !param.description.is_empty() {
        members.push(("description", JsonValue::from(&*param.description)));
    }
    if param.allow_null {
        members.push(("is_nullable", JsonValue::Bool(true)));
    }
    members.push(("type", type_json(&param.ty)));
    JsonValue::object(members)
}

/// A type in the notation of providers and state files: `"string"`, `["list","string"]`.
pub fn type_json(ty: &Type) -> JsonValue {
    let pair = |kind: &str, inner: JsonValue| JsonValue::Array(vec![JsonValue::from(kind), inner]);
    match ty.kind() {
        TypeKind::Bool => JsonValue::from("bool"),
        TypeKind::Number => JsonValue::from("number"),
        TypeKind::String => JsonValue::from("string"),
        TypeKind::Dynamic => JsonValue::from("dynamic"),
        TypeKind::List(element) => pair("list", type_json(element)),
        TypeKind::Set(element) => pair("set", type_json(element)),
        TypeKind::Map(element) => pair("map", type_json(element)),
        TypeKind::Tuple(elements) => pair("tuple", JsonValue::Array(elements.iter().map(type_json).collect())),
        TypeKind::Object(attrs) => {
            let members = attrs.iter().map(|attr| (attr.name.as_str(), type_json(&attr.ty)));
            let mut parts = vec![JsonValue::from("object"), JsonValue::object(members)];
            let optional: Vec<JsonValue> =
                attrs.iter().filter(|a| a.optional).map(|a| JsonValue::from(a.name.as_str())).collect();
            if !optional.is_empty() {
                parts.push(JsonValue::Array(optional));
            }
            JsonValue::Array(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_two_names() {
        let params = vec![Param::new("a", Type::list(Type::dynamic()), "First.").null()];
        let variadic = Some(Param::new("more", Type::string(), ""));
        let signature = Signature { variadic, ..Signature::new("f", "Does it.", params, Type::bool()) };
        let described = r#"{"description":"Does it.","return_type":"bool","parameters":[{"name":"a","description":"First.","is_nullable":true,"type":["list","dynamic"]}],"variadic_parameter":{"name":"more","type":"string"}}"#;
        let expected =
            format!(r#"{{"format_version":"1.0","function_signatures":{{"core::f":{described},"f":{described}}}}}"#);
        assert_eq!(render([&signature]).compact(), expected);
    }
}
