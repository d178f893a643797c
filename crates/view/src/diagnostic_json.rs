//! Diagnostics as JSON, for editors and other programs.

use yuba_syntax::diagnostic::FunctionCall;
use yuba_syntax::{Diagnostic, Position, Severity, Sources};
use yuba_value::function::Signature;

use crate::functions;
use crate::json::Json;
use crate::snippet::{Place, Snippet, place, snippet};

/// One diagnostic as an object. `signature` finds the signature of a function by the name it was called by.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, signature: &dyn Fn(&str) -> Option<Signature>) -> Json {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut members = vec![
        ("severity", Json::from(severity)),
        ("summary", Json::from(diagnostic.summary.as_str())),
        ("detail", Json::from(diagnostic.detail.as_str())),
    ];
    if let Some(address) = &diagnostic.address {
        members.push(("address", Json::from(address.as_str())));
    }
    if let Some(place) = place(diagnostic, sources) {
        members.push(("range", range(&place)));
    }
    if let Some(snippet) = snippet(diagnostic, sources) {
        members.push(("snippet", code(&snippet, diagnostic, signature)));
    }
    Json::object(members)
}

fn range(place: &Place) -> Json {
    let filename = Json::from(place.filename.as_str());
    Json::object([("filename", filename), ("start", position(place.start)), ("end", position(place.end))])
}

fn position(position: Position) -> Json {
    Json::object([
        ("line", Json::from(position.line)),
        ("column", Json::from(position.column)),
        ("byte", Json::from(position.byte)),
    ])
}

fn code(snippet: &Snippet, diagnostic: &Diagnostic, signature: &dyn Fn(&str) -> Option<Signature>) -> Json {
    let extra = diagnostic.extra.as_deref();
    let mut values: Vec<_> = extra.map_or(&[][..], |extra| &extra.values).iter().collect();
    values.sort();
    let value = |(name, statement): &(ecow::EcoString, ecow::EcoString)| {
        Json::object([("traversal", Json::from(name.as_str())), ("statement", Json::from(statement.as_str()))])
    };
    let mut members = vec![
        ("context", snippet.context.as_deref().map_or(Json::Null, Json::from)),
        ("code", Json::from(snippet.code.as_str())),
        ("start_line", Json::from(snippet.start_line)),
        ("highlight_start_offset", Json::from(snippet.highlight_start)),
        ("highlight_end_offset", Json::from(snippet.highlight_end)),
        ("values", Json::Array(values.into_iter().map(value).collect())),
    ];
    if let Some(call) = extra.and_then(|extra| extra.function_call.as_ref()) {
        members.push(("function_call", function_call(call, signature)));
    }
    Json::object(members)
}

fn function_call(call: &FunctionCall, signature: &dyn Fn(&str) -> Option<Signature>) -> Json {
    let mut members = vec![("called_as", Json::from(call.called_as.as_str()))];
    if let Some(signature) = signature(&call.called_as) {
        let param = |name: &str, ty| Json::object([("name", Json::from(name)), ("type", functions::type_json(ty))]);
        let mut described = vec![
            ("name", Json::from(signature.name)),
            ("params", Json::Array(signature.params.iter().map(|p| param(p.name, &p.ty)).collect())),
        ];
        if let Some(variadic) = &signature.variadic {
            described.push(("variadic_param", param(variadic.name, &variadic.ty)));
        }
        described.push(("return_type", functions::type_json(&signature.result)));
        members.push(("signature", Json::object(described)));
    }
    Json::object(members)
}
