//! `yamldecode` and `yamlencode`.
//!
//! The dialect is that of libyaml 0.1, which OpenTofu reads and writes with: YAML 1.1 syntax, numbers of YAML 1.2, and
//! booleans of both.

mod decode;
mod encode;
mod scalar;
mod scanner;

use ecow::EcoString;

use crate::function::{Function, FunctionError, Param, Result};
use crate::{Type, Value};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        Function::new(
            "yamldecode",
            "Decodes a YAML document.",
            [Param::new("src", Type::string(), "The YAML document.")],
            Type::dynamic(),
            |args, _| decode(args),
        )
        .typed(|args| match args.first() {
            Some(source) if source.is_known() => Ok(decode(args)?.ty().clone()),
            _ => Ok(Type::dynamic()),
        })
        .nullable(),
        Function::new(
            "yamlencode",
            "Encodes a value as YAML.",
            [Param::new("value", Type::dynamic(), "The value to encode.").null().dynamic()],
            Type::string(),
            |args, _| match args.first() {
                Some(value) if value.is_wholly_known() => Ok(Value::string(encode::encode(value))),
                _ => Ok(Value::unknown(Type::string())),
            },
        )
        .nullable(),
    ]
}

fn decode(args: &[Value]) -> Result {
    decode::decode(args.first().and_then(Value::as_str).map_or("", EcoString::as_str)).map_err(FunctionError::new)
}

/// The value that a YAML document describes, as `yamldecode` reads it. The error is part of a sentence.
pub fn parse(text: &str) -> std::result::Result<Value, EcoString> {
    decode::decode(text)
}

/// The characters that end a line.
fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn check_decode(source: &str, expect: &str) {
        let text = match decode::decode(source) {
            Ok(value) => json::encode_plain(&value).expect("decoded values are known"),
            Err(problem) => format!("error: {problem}"),
        };
        assert_eq!(text, expect, "{source}");
    }

    fn check_encode(source: &str, expect: &str) {
        let value = json::decode_implied(source).expect("the test's JSON is valid");
        assert_eq!(encode::encode(&value), expect, "{source}");
    }

    #[test]
    fn scalars() {
        check_decode("[a, 1, 0x1F, 0o17, 017, -1.5e3, .5, 1_000]", r#"["a",1,31,15,17,-1500,0.5,"1_000"]"#);
        check_decode("[yes, No, on, TRUE, tRue, y, 'y']", r#"[true,false,true,true,"tRue",true,"y"]"#);
        check_decode("[~, null, Null, '', !!null x]", r#"[null,null,null,"",null]"#);
        check_decode(
            "[2001-1-2, 2001-12-14t21:59:43.10-05:00]",
            r#"["2001-01-02T00:00:00Z","2001-12-14T21:59:43-05:00"]"#,
        );
        check_decode("[!!str 5, !!int 0b11, !!int '5', !!binary aGk=]", r#"["5",3,"5","aGk="]"#);
        check_decode("|-\n  0x10\n", "\"16\"");
        check_decode(".nan", "error: on line 1: not-a-number is not supported");
        check_decode("!foo x", "error: on line 1: unsupported tag \"!foo\"");
    }

    #[test]
    fn collections() {
        check_decode("a:\n- 1\n-\n- b: c\n  d: {e: f, g}\n", r#"{"a":[1,null,{"b":"c","d":{"e":"f","g":null}}]}"#);
        check_decode("? a\n: - b\n? c\n", r#"{"a":["b"],"c":null}"#);
        check_decode("[a: b, \"c\":d, e:f]", r#"[{"a":"b"},{"c":"d"},"e:f"]"#);
        check_decode("{1.0: a, 0x10: b, yes: c}", r#"{"1":"a","16":"b","true":"c"}"#);
        check_decode("a: &x {b: 1}\nc: {b: 2, <<: *x, d: 3}\ne: *x", r#"{"a":{"b":1},"c":{"b":1,"d":3},"e":{"b":1}}"#);
        check_decode(
            "a: >-\n  x\n  y\n\n   z\nb: |+\n  t\n\nc: 'q\n\n  r'",
            "{\"a\":\"x y\\n\\n z\",\"b\":\"t\\n\\n\",\"c\":\"q\\nr\"}",
        );
        check_decode("--- a\n...\n", "\"a\"");
        check_decode("---", "null");
    }

    #[test]
    fn error_cases() {
        check_decode("", "error: the string contains no YAML document");
        check_decode("a\n---\nb", "error: on line 2: only a single document is allowed");
        check_decode("a: b: c", "error: on line 1, column 5: a mapping value cannot begin here");
        check_decode("a: &x [*x]", "error: on line 1: the anchor \"x\" refers to itself");
        check_decode("*x", "error: on line 1: there is no anchor \"x\"");
        check_decode("[a]: b", "error: on line 1: only strings are allowed as mapping keys");
        check_decode("\ta: b", "error: on line 1, column 1: '\\t' cannot begin a value here");
        check_decode("a: \u{1}", "error: the control character U+0001 is not allowed");
        check_decode("\"a", "error: on line 1, column 3: the closing quote is missing");
    }

    #[test]
    fn texts_made_to_exhaust_end_with_an_error() {
        let problem =
            |source: &str| decode::decode(source).expect_err("too much").split(": ").last().map(str::to_owned);
        assert_eq!(problem(&"[".repeat(100_000)).as_deref(), Some("brackets are nested too deeply"));
        assert_eq!(problem(&"- ".repeat(100_000)).as_deref(), Some("blocks are nested too deeply"));
        let mut laughs = String::from("a0: &a0 [x]\n");
        for i in 1..40 {
            laughs.push_str(&format!("a{i}: &a{i} [{}]\n", format!("*a{},", i - 1).repeat(9)));
        }
        assert_eq!(problem(&laughs).as_deref(), Some("aliases repeat too many values"));
        assert!(decode::decode(&format!("{}{}", "[".repeat(249), "]".repeat(249))).is_ok());
    }

    #[test]
    fn block_style() {
        check_encode(
            r#"{"b":[1,[2,{"c":null}],[]],"a":{},"d":{"e":true}}"#,
            "\"a\": {}\n\"b\":\n- 1\n- - 2\n  - \"c\": null\n- []\n\"d\":\n  \"e\": true\n",
        );
        check_encode("5", "5\n...\n");
        check_encode("[]", "[]\n");
        check_encode(
            r#"["x\ny"," x\ny\n","x\n\n","x \ny","\t\u00e9\ud83d\ude00\u2028"]"#,
            "- |-\n  x\n  y\n- |2\n   x\n  y\n- |+\n  x\n\n- \"x \\ny\"\n- \"\\té\\U0001F600\\L\"\n",
        );
        check_encode(&format!("{{\"{}\":[1]}}", "k".repeat(129)), &format!("? \"{}\"\n: - 1\n", "k".repeat(129)));
        check_encode(&format!("\"{}\"", "word ".repeat(18)), &format!("\"{}word\n  word \"\n", "word ".repeat(16)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_decodes_or_fails(source in "[-a:?&*!|>'\"#%@{}\\[\\], \n\t~0-9<.\\\\]{0,60}") {
            let _ = decode::decode(&source);
        }
        #[test]
        fn texts_survive_the_round_trip(text in "[ -~\n\u{85}\u{a0}-\u{ff}\u{2028}\u{1f600}]{0,120}") {
            let value = Value::tuple(vec![Value::string(text.as_str())]);
            let back = decode::decode(&encode::encode(&value)).expect("encoded values can be decoded");
            proptest::prop_assert_eq!(back.as_seq().and_then(|items| items[0].as_str().cloned()), Some(text.into()));
        }
    }
}
