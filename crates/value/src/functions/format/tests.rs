//! Expectations are answers of OpenTofu's console; the wording of errors is our own.

use super::*;

fn num(text: &str) -> Value {
    Value::number(Number::parse(text).expect("a number"))
}

fn call(name: &str, pattern: &str, values: &[Value]) -> String {
    let function = functions().into_iter().find(|f| f.signature.name == name).expect("a function of this family");
    let args: Vec<Value> = std::iter::once(Value::from(pattern)).chain(values.iter().cloned()).collect();
    match function.call(&args) {
        Ok(value) => value.as_str().map_or_else(|| format!("{value:?}"), |s| s.to_string()),
        Err(error) => format!("error {:?}: {error}", error.arg),
    }
}

#[test]
fn verbs_for_whole_numbers() {
    for (pattern, value, expect) in [
        ("%-05d|", "3", "3    |"),
        ("%+05d", "3", "+0003"),
        ("% d", "4", " 4"),
        ("%x", "255", "ff"),
        ("%#X", "255", "0XFF"),
        ("%#x", "-255", "-0xff"),
        ("%#o", "8", "010"),
        ("%b", "5", "101"),
        ("%.3d", "7", "007"),
        ("%8.3d", "7", "     007"),
        ("%08.3d", "7", "     007"),
        ("%.0d|", "0", "|"),
        ("%-8d|", "7", "7       |"),
        ("%d", "-0", "0"),
        ("%d", "123456789012345678901234567890", "123456789012345678901234567890"),
        ("%d", "1.5", "error None: unsupported value for \"%d\" at offset 0: a whole number is required"),
        ("%d", "inf", "error None: unsupported value for \"%d\" at offset 0: a whole number is required"),
    ] {
        assert_eq!(call("format", pattern, &[num(value)]), expect, "{pattern}");
    }
    assert_eq!(call("format", "%d", &[Value::from("12")]), "12");
}

#[test]
fn verbs_for_fractions() {
    for (pattern, value, expect) in [
        ("%08.3f", "3.14159", "0003.142"),
        ("%+.2e", "12345.678", "+1.23e+04"),
        ("%g", "1e-7", "1e-07"),
        ("%G", "1e21", "1E+21"),
        ("%-10.1f|", "2.25", "2.2       |"),
        ("%010g", "-1.5", "-0000001.5"),
        ("% f", "1", " 1.000000"),
        ("%-+8.2f|", "3.14159", "+3.14   |"),
        ("%-08.2f", "3.14159", "00003.14"),
        ("%.f", "2.5", "2"),
        ("%e", "0", "0.000000e+00"),
        ("%05f", "inf", " +Inf"),
        ("% f", "inf", " Inf"),
        ("%v", "123456789", "1.23456789e+08"),
        ("%05v", "-7", "000-7"),
    ] {
        assert_eq!(call("format", pattern, &[num(value)]), expect, "{pattern}");
    }
}

#[test]
fn verbs_for_texts_and_anything() {
    for (pattern, text, expect) in [
        ("%5s|", "ab", "   ab|"),
        ("%-5s|", "ab", "ab   |"),
        ("%05s", "ab", "000ab"),
        ("%.2s", "héllo", "hé"),
        ("%.0s", "xyz", "xyz"),
        ("%q", "a\"b<", r#""a\"b\u003c""#),
        ("%.1q", "xyz", "\"x\""),
        ("%#v", "x", "\"x\""),
        ("%t", "true", "true"),
        ("100%% %s", "x", "100% x"),
        ("%[1]s%[1]s", "x", "xx"),
    ] {
        assert_eq!(call("format", pattern, &[Value::from(text)]), expect, "{pattern}");
    }
    let object = Value::object(vec![("a".into(), num("1"))]);
    let values = [Value::bool(true), Value::null_dynamic(), Value::tuple(vec![num("1")]), object];
    assert_eq!(call("format", "%v %v %5v|%v", &values), r#"true null   [1]|{"a":1}"#);
    assert_eq!(call("format", "%[2]s %[1]s %s", &["a".into(), "b".into()]), "b a b");
}

#[test]
fn errors_are_explained() {
    let one = [num("1")];
    for (pattern, values, expect) in [
        ("%y", &one[..], "error None: unsupported verb 'y' in \"%y\" at offset 0"),
        ("%", &one[..], "error None: the format string ends in the middle of a verb, at offset 1"),
        ("a%é", &one[..], "error None: unexpected 'é' in the verb at offset 2 of the format string"),
        ("%5%", &one[..], "error None: unexpected '%' in the verb at offset 2 of the format string"),
        ("%[0]s", &one[..], "error None: unexpected '0' in the verb at offset 2 of the format string"),
        (
            "%[3]s",
            &one[..],
            "error None: not enough arguments: \"%[3]s\" at offset 0 takes argument 3, but there are only 1",
        ),
        ("x", &one[..], "error Some(1): too many arguments: the format string has no verbs"),
        (
            "%s",
            &[one[0].clone(), one[0].clone()][..],
            "error Some(2): too many arguments: the format string uses only 1",
        ),
        ("%s", &[Value::null_dynamic()][..], "error None: unsupported value for \"%s\" at offset 0: null has no text"),
        ("%9999999d", &one[..], "error None: the width or precision of \"%9999999d\" is larger than 1000000"),
        (
            "%99999999999999999999999[99999999999999999999]d",
            &one[..],
            "error None: the width or precision of \"%99999999999999999999999[99999999999999999999]d\" is larger than \
             1000000",
        ),
    ] {
        assert_eq!(call("format", pattern, values), expect);
    }
}

#[test]
fn unknown_values_leave_a_prefix() {
    let unknown = Value::unknown(Type::string());
    let known = |pattern: &str| {
        let args = [Value::from(pattern), unknown.clone()];
        let value = functions()[0].call(&args).expect("no error");
        match value.ignoring_marks().view() {
            crate::View::Unknown(unknown) => unknown.refinement.prefix.to_string(),
            _ => "known".to_owned(),
        }
    };
    assert_eq!(known("%s"), "");
    assert_eq!(known("ab-%s"), "ab-");
}

#[test]
fn lists_are_walked_together() {
    let list = |items: &[&str]| Value::list(Type::string(), items.iter().map(|s| Value::from(*s)).collect());
    let check = |pattern: &str, values: &[Value], expect: &str| assert_eq!(call("formatlist", pattern, values), expect);
    check("%s-%s", &[list(&["a", "b"]), "c".into()], r#"["a-c", "b-c"]"#);
    check("x", &[], r#"["x"]"#);
    check("%s", &[list(&[])], "[]");
    check("%s", &["a".into()], r#"["a"]"#);
    check(
        "%s%s",
        &[list(&["a"]), list(&["b", "c"])],
        "error Some(2): all lists must have the same length, but argument 2 has 2 elements and argument 1 has 1",
    );
    check(
        "%s",
        &[list(&["a"]), "b".into()],
        "error None: for element 0: too many arguments: the format string uses only 1",
    );
    check("%s", &[Value::unknown(Type::list(Type::string()))], "unknown(list(string))!");
    check("%s", &[Value::unknown_dynamic()], "unknown(list(string))!");
    let partly = Value::tuple(vec!["a".into(), Value::unknown(Type::string())]);
    check("%s", &[partly], r#"["a", unknown(string)!]"#);
}
