//! `jsondecode` and `jsonencode`.

use ecow::{EcoString, eco_format};

use crate::function::{Function, FunctionError, Param, Result};
use crate::{Refinement, Type, TypeKind, Value, View, json};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let text = |name, description| Param::new(name, Type::string(), description);
    vec![
        Function::new(
            "jsondecode",
            "Decodes a JSON document.",
            [text("str", "The JSON document.")],
            Type::dynamic(),
            |args, _| decode_json(argument(args, 0)),
        )
        .typed(jsondecode_type)
        .nullable(),
        Function::new(
            "jsonencode",
            "Encodes a value as JSON.",
            [Param::new("val", Type::dynamic(), "The value to encode.").null().unknown().dynamic()],
            Type::string(),
            |args, _| jsonencode(&args[0]),
        ),
    ]
}

fn argument(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).map_or("", EcoString::as_str)
}

fn decode_json(text: &str) -> Result {
    json::decode_implied(text).map_err(|problem| FunctionError::new(eco_format!("{problem}")))
}

fn jsondecode_type(args: &[Value]) -> Result<Type> {
    let Some(unknown) = args.first().and_then(|arg| match arg.view_ignoring_marks() {
        View::Unknown(unknown) => Some(unknown),
        _ => None,
    }) else {
        return Ok(decode_json(argument(args, 0))?.ty().clone());
    };
    // The first character determines the kind of the document.
    match unknown.refinement.prefix.trim_start().chars().next() {
        None | Some('{' | '[' | 'n') => Ok(Type::dynamic()),
        Some('"') => Ok(Type::string()),
        Some('t' | 'f') => Ok(Type::bool()),
        Some('-' | '.' | '0'..='9') => Ok(Type::number()),
        Some(other) => {
            Err(FunctionError::arg(0, eco_format!("a JSON document cannot begin with the character {other:?}")))
        }
    }
}

fn jsonencode(value: &Value) -> Result {
    if !value.is_wholly_known() {
        let unknown = match value.view_ignoring_marks() {
            View::Unknown(unknown) if !unknown.refinement.not_null => return Ok(Value::unknown(Type::string())),
            _ => value.ty().kind(),
        };
        let prefix = match unknown {
            TypeKind::String => "\"",
            TypeKind::Object(_) | TypeKind::Map(_) => "{",
            TypeKind::Tuple(_) | TypeKind::List(_) | TypeKind::Set(_) => "[",
            TypeKind::Bool | TypeKind::Number | TypeKind::Dynamic => "",
        };
        let refinement = Refinement { not_null: true, prefix: prefix.into(), ..Refinement::default() };
        return Ok(Value::unknown_refined(Type::string(), refinement));
    }
    let text = json::encode_plain(value).map_err(|problem| FunctionError::new(eco_format!("{problem}")))?;
    Ok(Value::string(text))
}
