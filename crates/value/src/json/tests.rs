//! Expectations are answers of `jsonencode` and `jsondecode`, and of go-cty.

use proptest::prelude::*;

use super::*;
use crate::ObjectAttr;
use crate::properties::{Kinds, any_type, value_of};

fn show<T: fmt::Debug>(result: Result<T, JsonError>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn plain_text_is_as_go_writes_it() {
    let number = |text: &str| Value::number(Number::parse(text).expect("a number"));
    let value = Value::object(vec![
        ("b".into(), number("1")),
        ("a".into(), Value::from("<x>&\u{2028}é\t\u{7}\u{7f}\u{8}\u{c}\"\\")),
        ("c".into(), Value::null_dynamic()),
        ("d".into(), Value::tuple(vec![number("1.50"), Value::bool(true), number("1e21"), number("-0.0")])),
    ]);
    let expect = r#"{"a":"\u003cx\u003e\u0026\u2028é\t\u0007#\b\f\"\\","b":1,"c":null,"d":[1.5,true,1000000000000000000000,-0]}"#;
    assert_eq!(encode_plain(&value).expect("plain"), expect.replace('#', "\u{7f}"));
}

#[test]
fn what_cannot_be_written_says_where() {
    let check = |inner: Value, expect: &str| {
        let value = Value::object(vec![("a".into(), Value::tuple(vec![inner]))]);
        let error = encode_plain(&value).expect_err("not writable");
        assert_eq!(format!("{} {:?}", error.message, error.path.0), format!("{expect} [Attr(\"a\"), Index(0)]"));
    };
    check(Value::unknown(Type::string()), "the value is not known yet");
    check(Value::number(Number::infinity()), "JSON has no way to write infinity");
    check(Value::int(1).mark(crate::Mark::Ephemeral), "a marked value cannot be written as JSON");
}

#[test]
fn text_says_its_type() {
    let check = |text: &str, expect: &str| assert_eq!(show(decode_implied(text)), expect, "{text}");
    check(r#" {"a":1,"a":2} "#, "{a=2}");
    check(r#""\ud800x\ud83d\ude00\u00e9\/""#, "\"\u{fffd}x😀é/\"");
    check("[null,-0,1.0,1e3,true]", "tuple[null(any), -0, 1, 1000, true]");
    check("{}", "{}");
    check("1e999999999", "+Inf");
    check(r#"{"a":1,"a":"x"}"#, "error: the property \"a\" is given twice in one object (at byte 15)");
    check("[1,]", "error: unexpected ']' where a value should be (at byte 3)");
    check("", "error: the text ends where a value should be (at byte 0)");
    check("1 2", "error: there is more text after the value (at byte 2)");
    check("01", "error: there is more text after the value (at byte 1)");
    check("nul", "error: unexpected 'n' where a value should be (at byte 0)");
    check("-", "error: the text ends where a digit should be (at byte 1)");
    check("\"a\nb\"", "error: a control character in a string must be escaped (at byte 2)");
    check(r#""\x""#, "error: invalid escape sequence in a string (at byte 1)");
    check(r#""\u00g0""#, "error: \\u must be followed by four hexadecimal digits (at byte 1)");
    check(r#"{"a" 1}"#, "error: unexpected '1' where a colon should be (at byte 5)");
    check(r#"{a:1}"#, "error: unexpected 'a' where a property name in quotes should be (at byte 1)");
    check("\"abc", "error: the closing quote of a string is missing (at byte 4)");
    check("1e5000000000", "error: 1e5000000000 is not a number of a supported magnitude (at byte 12)");
    assert!(decode_implied(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn types_lead_the_reading() {
    let ty = Type::object([
        ("any".into(), Type::dynamic()),
        ("list".into(), Type::list(Type::number())),
        ("text".into(), Type::string()),
    ]);
    let check = |text: &str, expect: &str| assert_eq!(show(decode(text.as_bytes(), &ty)), expect, "{text}");
    check(
        r#"{"any":{"value":["x"],"type":["list","string"]},"list":[1,"2.5"],"text":true}"#,
        r#"{any=["x"], list=[1, 2.5], text="true"}"#,
    );
    check("{}", "{any=null(any), list=null(list(number)), text=null(string)}");
    check(r#"{"text":1.50}"#, r#"{any=null(any), list=null(list(number)), text="1.50"}"#);
    check(r#"{"x":1}"#, "error: the object has no attribute \"x\" (at byte 5)");
    check(r#"{"list":[true]}"#, "error: a number is required (at byte 9)");
    check(r#"{"any":1}"#, "error: unexpected '1' where an object should be (at byte 7)");
    check(r#"{"any":{"value":1}}"#, "error: a value of any type needs its \"value\" and its \"type\" (at byte 18)");
    let error = decode(br#"{"list":[1,"x"]}"#, &ty).expect_err("not a number");
    assert_eq!(format!("{:?}", error.path.0), r#"[Attr("list"), Index(1)]"#);
}

#[test]
fn types_are_written_as_arrays() {
    let attr = |name: &str, optional| ObjectAttr { name: name.into(), ty: Type::list(Type::dynamic()), optional };
    let ty = Type::object_with_optional([attr("b", true), attr("a", false)]);
    let ty = Type::tuple(vec![ty, Type::map(Type::set(Type::bool()))]);
    let text = r#"["tuple",[["object",{"a":["list","dynamic"],"b":["list","dynamic"]},["b"]],["map",["set","bool"]]]]"#;
    assert_eq!(encode_type(&ty), text);
    assert_eq!(show(decode_type(text.as_bytes())), format!("{ty:?}"));
    for bad in [r#""text""#, r#"["list"]"#, r#"["list","bool",1]"#, r#"["box","bool"]"#, "1", r#"["object",{},["a"]]"#]
    {
        assert!(decode_type(bad.as_bytes()).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn values_read_back(
        (ty, value) in any_type().prop_flat_map(|ty| {
            let value = value_of(&ty, Kinds { unknown: false, marked: false });
            (Just(ty), value)
        })
    ) {
        for ty in [&ty, &Type::dynamic()] {
            let text = encode(&value, ty).expect("known and unmarked");
            let again = decode(text.as_bytes(), ty).expect("written before");
            prop_assert!(again.raw_equals(&value), "{value:?} {text} {again:?}");
        }
        prop_assert_eq!(decode_type(encode_type(&ty).as_bytes()).ok(), Some(ty));
        prop_assert!(decode_implied(&encode_plain(&value).expect("plain")).is_ok());
    }

    #[test]
    fn any_text_is_answered(text in r#"[\[\]{}",:\\un0-9.eE+a-f -]{0,40}"#) {
        let _ = decode_implied(&text);
        let _ = decode(text.as_bytes(), &Type::dynamic());
        let _ = decode_type(text.as_bytes());
    }
}
