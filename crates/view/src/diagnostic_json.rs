//! Diagnostics as JSON, for editors and other tools.

use yuba_syntax::diagnostic::FunctionCall;
use yuba_syntax::{Diagnostic, Position, Severity};
use yuba_value::function::Signature;
use yuba_value::{Value, View};

use crate::functions;
use crate::json::JsonValue;
use crate::snippet::{Excerpts, Snippet, SourceRange};

/// One diagnostic as an object. `signature` finds the signature of a function by the name it was called by.
pub fn render(
    diagnostic: &Diagnostic,
    excerpts: &Excerpts<'_>,
    signature: &dyn Fn(&str) -> Option<Signature>,
) -> JsonValue {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut members = vec![
        ("severity", JsonValue::from(severity)),
        ("summary", JsonValue::from(diagnostic.summary.as_str())),
        ("detail", JsonValue::from(excerpts.detail(diagnostic).as_str())),
    ];
    if let Some(address) = &diagnostic.address {
        members.push(("address", JsonValue::from(address.as_str())));
    }
    if let Some(location) = excerpts.location(diagnostic) {
        members.push(("range", range(&location)));
    }
    if let Some(snippet) = excerpts.snippet(diagnostic, usize::MAX) {
        members.push(("snippet", code(&snippet, diagnostic, signature)));
    }
    if let Some((before, after)) = diagnostic.extra.as_ref().and_then(|extra| extra.difference.as_ref()) {
        members.push(("difference", difference(before, after)));
    }
    if let Some(deprecation) = diagnostic.deprecation() {
        let cause = JsonValue::object([
            ("by", JsonValue::from(deprecation.source.as_str())),
            ("message", JsonValue::from(deprecation.message.as_str())),
            ("remote", JsonValue::Bool(deprecation.remote)),
        ]);
        members.push(("deprecation", cause));
    }
    members.push(("code", JsonValue::from(diagnostic.code.id)));
    JsonValue::object(members)
}

/// Both sides of a comparison, in the form of a change. If one of them is secret, the difference is omitted.
fn difference(before: &str, after: &str) -> JsonValue {
    let secrets = |text: &str| match yuba_value::json::decode_implied(text) {
        Ok(value) => JsonValue::Raw(no_secrets(&value)),
        Err(_) => JsonValue::Bool(false),
    };
    JsonValue::object([
        ("before", JsonValue::Raw(before.into())),
        ("after", JsonValue::Raw(after.into())),
        ("after_unknown", JsonValue::Bool(false)),
        ("before_sensitive", secrets(before)),
        ("after_sensitive", secrets(after)),
    ])
}

/// That nothing in a value is secret: members of objects are left out, elements of lists are not.
fn no_secrets(value: &Value) -> String {
    match value.view_ignoring_marks() {
        View::Object(_) | View::Map(_) => "{}".to_owned(),
        View::Tuple(items) | View::List(items) | View::Set(items) => {
            let items: Vec<String> = items.iter().map(no_secrets).collect();
            format!("[{}]", items.join(","))
        }
        _ => "false".to_owned(),
    }
}

fn range(location: &SourceRange) -> JsonValue {
    let filename = JsonValue::from(location.filename.as_str());
    JsonValue::object([("filename", filename), ("start", position(location.start)), ("end", position(location.end))])
}

fn position(position: Position) -> JsonValue {
    JsonValue::object([
        ("line", JsonValue::from(position.line)),
        ("column", JsonValue::from(position.column)),
        ("byte", JsonValue::from(position.byte)),
    ])
}

fn code(snippet: &Snippet, diagnostic: &Diagnostic, signature: &dyn Fn(&str) -> Option<Signature>) -> JsonValue {
    let extra = diagnostic.extra.as_deref();
    let mut values: Vec<_> = extra.map_or(&[][..], |extra| &extra.values).iter().collect();
    values.sort();
    let value = |(name, statement): &(ecow::EcoString, ecow::EcoString)| {
        JsonValue::object([
            ("traversal", JsonValue::from(name.as_str())),
            ("statement", JsonValue::from(statement.as_str())),
        ])
    };
    let mut members = vec![
        ("context", snippet.context.as_deref().map_or(JsonValue::Null, JsonValue::from)),
        ("code", JsonValue::from(snippet.code.as_str())),
        ("start_line", JsonValue::from(snippet.start_line)),
        ("highlight_start_offset", JsonValue::from(snippet.highlight_start)),
        ("highlight_end_offset", JsonValue::from(snippet.highlight_end)),
        ("values", JsonValue::Array(values.into_iter().map(value).collect())),
    ];
    if let Some(call) = extra.and_then(|extra| extra.function_call.as_ref()) {
        members.push(("function_call", function_call(call, signature)));
    }
    JsonValue::object(members)
}

fn function_call(call: &FunctionCall, signature: &dyn Fn(&str) -> Option<Signature>) -> JsonValue {
    let mut members = vec![("called_as", JsonValue::from(call.called_as.as_str()))];
    if let Some(signature) = signature(&call.called_as) {
        let param =
            |name: &str, ty| JsonValue::object([("name", JsonValue::from(name)), ("type", functions::type_json(ty))]);
        let mut described = vec![
            ("name", JsonValue::from(&*signature.name)),
            ("params", JsonValue::Array(signature.params.iter().map(|p| param(&p.name, &p.ty)).collect())),
        ];
        if let Some(variadic) = &signature.variadic {
            described.push(("variadic_param", param(&variadic.name, &variadic.ty)));
        }
        described.push(("return_type", functions::type_json(&signature.result)));
        members.push(("signature", JsonValue::object(described)));
    }
    JsonValue::object(members)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_syntax::diagnostic::Extra;
    use yuba_syntax::{SourceFile, Sources, Span};
    use yuba_value::Type;
    use yuba_value::function::Param;

    use super::*;

    #[test]
    fn every_member_is_written() {
        let mut sources = Sources::new();
        let file = sources.add(SourceFile::new("a.tf", &b"a = 1\nb = join(local.x)\n"[..]));
        let mut diagnostic =
            crate::testing::diagnostic(Severity::Error, "Invalid <value>", "No.").at(Span::new(file, 15, 22));
        diagnostic.extra = Some(Box::new(Extra {
            values: vec![("local.x".into(), "is 5".into())],
            function_call: Some(FunctionCall { called_as: "join".into(), signature: None }),
            difference: Some(("{\"a\":1}".into(), "[1,\"b\"]".into())),
            ..Extra::default()
        }));
        let signature = |name: &str| {
            (name == "join").then(|| Signature {
                variadic: Some(Param::new("lists", Type::list(Type::string()), "")),
                ..Signature::new("join", "", vec![Param::new("separator", Type::string(), "")], Type::string())
            })
        };
        expect![[r#"
            {
              "severity": "error",
              "summary": "Invalid \u003cvalue\u003e",
              "detail": "No.",
              "range": {
                "filename": "a.tf",
                "start": {
                  "line": 2,
                  "column": 10,
                  "byte": 15
                },
                "end": {
                  "line": 2,
                  "column": 17,
                  "byte": 22
                }
              },
              "snippet": {
                "context": null,
                "code": "b = join(local.x)",
                "start_line": 2,
                "highlight_start_offset": 9,
                "highlight_end_offset": 16,
                "values": [
                  {
                    "traversal": "local.x",
                    "statement": "is 5"
                  }
                ],
                "function_call": {
                  "called_as": "join",
                  "signature": {
                    "name": "join",
                    "params": [
                      {
                        "name": "separator",
                        "type": "string"
                      }
                    ],
                    "variadic_param": {
                      "name": "lists",
                      "type": [
                        "list",
                        "string"
                      ]
                    },
                    "return_type": "string"
                  }
                }
              },
              "difference": {
                "before": {"a":1},
                "after": [1,"b"],
                "after_unknown": false,
                "before_sensitive": {},
                "after_sensitive": [false,false]
              },
              "code": "test"
            }"#]]
        .assert_eq(&render(&diagnostic, &Excerpts::new(&sources), &signature).indented());
    }

    #[test]
    fn unknown_members_are_left_out() {
        let sources = Sources::new();
        let json =
            render(&crate::testing::diagnostic(Severity::Warning, "Hm", ""), &Excerpts::new(&sources), &|_| None);
        assert_eq!(json.compact(), r#"{"severity":"warning","summary":"Hm","detail":"","code":"test"}"#);
    }
}
