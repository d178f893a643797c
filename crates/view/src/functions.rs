//! The table of functions as JSON, for editors and other tools.

use yuba_value::function::{Param, Signature};
use yuba_value::{Type, TypeKind};

use crate::json::Json;

/// Version of the format.
const FORMAT_VERSION: &str = "1.0";

/// All functions, sorted by name, each under its plain name and its name in the namespace `core`.
pub fn render<'a>(signatures: impl IntoIterator<Item = &'a Signature>) -> Json {
    let mut rows: Vec<(String, Json)> = Vec::new();
    for signature in signatures {
        let described = function(signature);
        rows.push((format!("core::{}", signature.name), described.clone()));
        rows.push((signature.name.to_string(), described));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    Json::object([("format_version", Json::from(FORMAT_VERSION)), ("function_signatures", Json::Object(rows))])
}

fn function(signature: &Signature) -> Json {
    let mut members = Vec::new();
    if !signature.description.is_empty() {
        members.push(("description", Json::from(&*signature.description)));
    }
    members.push(("return_type", type_json(&signature.result)));
    if !signature.params.is_empty() {
        members.push(("parameters", Json::Array(signature.params.iter().map(parameter).collect())));
    }
    if let Some(variadic) = &signature.variadic {
        members.push(("variadic_parameter", parameter(variadic)));
    }
    Json::object(members)
}

fn parameter(param: &Param) -> Json {
    let mut members = vec![("name", Json::from(&*param.name))];
    if !param.description.is_empty() {
        members.push(("description", Json::from(&*param.description)));
    }
    if param.allow_null {
        members.push(("is_nullable", Json::Bool(true)));
    }
    members.push(("type", type_json(&param.ty)));
    Json::object(members)
}

/// A type in the notation of providers and state files: `"string"`, `["list","string"]`.
pub fn type_json(ty: &Type) -> Json {
    let pair = |kind: &str, inner: Json| Json::Array(vec![Json::from(kind), inner]);
    match ty.kind() {
        TypeKind::Bool => Json::from("bool"),
        TypeKind::Number => Json::from("number"),
        TypeKind::String => Json::from("string"),
        TypeKind::Dynamic => Json::from("dynamic"),
        TypeKind::List(element) => pair("list", type_json(element)),
        TypeKind::Set(element) => pair("set", type_json(element)),
        TypeKind::Map(element) => pair("map", type_json(element)),
        TypeKind::Tuple(elements) => pair("tuple", Json::Array(elements.iter().map(type_json).collect())),
        TypeKind::Object(attrs) => {
            let members = attrs.iter().map(|attr| (attr.name.as_str(), type_json(&attr.ty)));
            let mut parts = vec![Json::from("object"), Json::object(members)];
            let optional: Vec<Json> =
                attrs.iter().filter(|a| a.optional).map(|a| Json::from(a.name.as_str())).collect();
            if !optional.is_empty() {
                parts.push(Json::Array(optional));
            }
            Json::Array(parts)
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
