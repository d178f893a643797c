//! The functions of the built-in provider: values as text in the language's syntax, and back.

use std::sync::LazyLock;

use ecow::{EcoString, eco_format};
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Diagnostic, Diagnostics, FileId, Sources, format, parser, source::SourceFile};
use yuba_value::function::{FunctionError, Param, Result, Signature, call};
use yuba_value::quote::is_printable;
use yuba_value::{Type, Value, View};

use crate::decode::{EvalExpr, LocalNames};

static SIGNATURES: LazyLock<[Signature; 3]> = LazyLock::new(|| {
    [
        signature(
            "decode_tfvars",
            "Reads the content of a .tfvars file into an object.",
            Param::new("content", Type::string(), "The content of the file."),
            Type::dynamic(),
        ),
        signature(
            "encode_tfvars",
            "Writes an object as the content of a .tfvars file.",
            Param::new("input", Type::dynamic(), "The object; its attributes become the variables."),
            Type::string(),
        ),
        signature(
            "encode_expr",
            "Writes a value as an expression of the language.",
            Param::new("expr", Type::dynamic(), "The value."),
            Type::string(),
        ),
    ]
});

fn signature(name: &'static str, description: &'static str, param: Param, result: Type) -> Signature {
    Signature { never_null: false, ..Signature::new(name, description, vec![param], result) }
}

/// The interfaces of all functions.
pub fn signatures() -> &'static [Signature] {
    &*SIGNATURES
}

/// Calls a function by its name without namespace, with arguments of the parameters' types; `None` if the function does
/// not exist.
/// function. `constants` evaluates expressions that refer to nothing and call nothing.
pub fn call_function(name: &str, args: &[Value], constants: &mut dyn EvalExpr) -> Option<Result> {
    let signature = signatures().iter().find(|signature| signature.name == name)?;
    let result_type = |_: &[Value]| Ok(signature.result.clone());
    Some(call(signature, args, result_type, |args, _| match (&*signature.name, args) {
        ("decode_tfvars", [content]) => decode_tfvars(content, constants),
        ("encode_tfvars", [input]) => encode_tfvars(input),
        (_, [value]) => encode_expr(value),
        _ => Err(FunctionError::new("takes one argument")),
    }))
}

fn decode_tfvars(content: &Value, constants: &mut dyn EvalExpr) -> Result {
    let text = content.as_str().map(EcoString::as_str).unwrap_or_default();
    let (_, file) = parser::parse_config(FileId::default(), text.as_bytes());
    check(text, &file.diagnostics)?;
    let (attributes, problems) = file.body.just_attributes();
    check(text, &problems)?;
    let mut values = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        let (value, problems) = constants.eval(&attribute.expr, &LocalNames::default());
        check(text, &problems)?;
        values.push((attribute.name, value));
    }
    Ok(Value::object(values))
}

/// The first error in a text as the function's error.
fn check(text: &str, problems: &Diagnostics) -> Result<()> {
    match problems.iter().find(|problem| problem.is_error()) {
        None => Ok(()),
        Some(problem) => Err(FunctionError::new(eco_format!(
            "failed to parse the string as a .tfvars file: {}{}: {}",
            location(text, problem),
            problem.summary,
            problem.explanation().trim_end_matches('.')
        ))),
    }
}

/// `line 1, column 5: `
fn location(text: &str, problem: &Diagnostic) -> EcoString {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("", text.as_bytes()));
    match (problem.subject, sources.get(file)) {
        (Some(span), Some(source)) => {
            let at = source.position(span.start as usize);
            eco_format!("line {}, column {}: ", at.line, at.column)
        }
        _ => EcoString::new(),
    }
}

fn encode_tfvars(input: &Value) -> Result {
    if !input.ty().is_object() {
        return Err(FunctionError::new("the input must be an object"));
    }
    let mut text = String::new();
    for (name, value) in input.entries().unwrap_or_default() {
        if !is_identifier(&name) {
            let message = eco_format!("the attribute name {name:?} cannot be the name of a variable");
            return Err(FunctionError::new(message));
        }
        if !value.is_wholly_known() {
            return Ok(Value::unknown(Type::string()));
        }
        text += &name;
        text += " = ";
        text += &expression(&value);
        text.push('\n');
    }
    Ok(Value::string(text))
}

fn encode_expr(value: &Value) -> Result {
    if !value.is_wholly_known() {
        return Err(FunctionError::new("the value, or something in it, is not known yet"));
    }
    Ok(Value::string(expression(value)))
}

/// A known value as an expression in canonical style.
pub fn expression(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    String::from_utf8(format::format(text.as_bytes())).unwrap_or(text)
}

fn write(value: &Value, out: &mut String) {
    match value.view_ignoring_marks() {
        View::Null | View::Unknown(_) => out.push_str("null"),
        View::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        View::Number(number) => out.push_str(&number.to_string()),
        View::String(text) => write_text(text, out),
        View::List(items) | View::Set(items) | View::Tuple(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(item, out);
            }
            out.push(']');
        }
        View::Map(_) | View::Object(_) => {
            let items = value.entries().unwrap_or_default();
            out.push('{');
            if !items.is_empty() {
                out.push('\n');
            }
            for (name, item) in items {
                if is_identifier(&name) {
                    out.push_str(&name);
                } else {
                    write_text(&name, out);
                }
                out.push_str(" = ");
                write(&item, out);
                out.push('\n');
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '$' | '%' if chars.peek() == Some(&'{') => out.extend([c, c]),
            c if is_printable(c) => out.push(c),
            c if u32::from(c) < 0x1_0000 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::testing::{Literals, show};

    fn argument(text: &str) -> Value {
        let (expr, problems) = parser::parse_expression(FileId::default(), text.as_bytes());
        assert!(problems.is_empty());
        Literals.eval(&expr, &LocalNames::default()).0
    }

    fn check(name: &str, arg: &str, expect: Expect) {
        let answer = match call_function(name, &[argument(arg)], &mut Literals) {
            Some(Ok(value)) => value.as_str().map_or_else(|| show(&value), ToString::to_string),
            Some(Err(error)) => format!("error: {error}"),
            None => "no such function".into(),
        };
        expect.assert_eq(&answer);
    }

    #[test]
    fn values_become_expressions_in_canonical_style() {
        check(
            "encode_expr",
            r#"{ a = 1, longer = [1, "x\n$${a}%%{b} \"q\" \u0001", null, true], "b c" = { x = {}, y = [] }, e = [1.5],
                 nested = [{ a = 1 }, { b = 2 }] }"#,
            expect![[r#"
                {
                  a = 1
                  "b c" = {
                    x = {}
                    y = []
                  }
                  e      = [1.5]
                  longer = [1, "x\n$${a}%%{b} \"q\" \u0001", null, true]
                  nested = [{
                    a = 1
                    }, {
                    b = 2
                  }]
                }"#]],
        );
        check("encode_expr", r#""multi\nline\n""#, expect![[r#""multi\nline\n""#]]);
        check("encode_expr", "[[1, [2]], {}]", expect!["[[1, [2]], {}]"]);
        check("encode_expr", "null", expect!["error: argument must not be null"]);
    }

    #[test]
    fn objects_become_files_of_variables() {
        check(
            "encode_tfvars",
            r#"{ a = 1, longer = [1, "x"], o = { a = 1, bbb = 2 }, l = [{ a = 1, bb = 2 }, [1]], n = null }"#,
            expect![[r#"
                a = 1
                l = [{
                  a  = 1
                  bb = 2
                }, [1]]
                longer = [1, "x"]
                n = null
                o = {
                  a   = 1
                  bbb = 2
                }
            "#]],
        );
        check("encode_tfvars", "{}", expect![""]);
        check("encode_tfvars", "[1]", expect!["error: the input must be an object"]);
        check(
            "encode_tfvars",
            r#"{ "a b" = 1 }"#,
            expect![[r#"error: the attribute name "a b" cannot be the name of a variable"#]],
        );
        check("encode_tfvars", "{ a = unknown }", expect!["?string"]);
    }

    #[test]
    fn files_of_variables_become_objects() {
        check("decode_tfvars", r#""a = 1\nb = { x = [1] }\n""#, expect!["{a=1 b={x=tuple[1]}}"]);
        check("decode_tfvars", r#""""#, expect!["{}"]);
        check(
            "decode_tfvars",
            r#""a = 1\na {}""#,
            expect![[
                r#"error: failed to parse the string as a .tfvars file: line 2, column 1: Unexpected "a" block: Blocks are not allowed here"#
            ]],
        );
        check("nope", "1", expect!["no such function"]);
    }
}
