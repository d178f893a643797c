//! Expectations are bytes that go-cty writes.

use proptest::prelude::*;

use super::*;
use crate::properties::{Kinds, any_type, value_of};
use crate::{Bound, Number, Type, Value};

fn hex(value: &Value, ty: &Type) -> String {
    encode(value, ty).map_or_else(
        |e| format!("error: {e}"),
        |bytes| bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(""),
    )
}
fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
}

/// Writes to these bytes, which read back to the same.
fn check(value: &Value, ty: &Type, expect: &str) {
    assert_eq!(hex(value, ty), expect, "{value:?}");
    let again = decode(&unhex(expect), ty).expect("just written");
    assert!(again.raw_equals(value), "{again:?} {value:?}");
}

#[test]
fn numbers_take_the_shortest_exact_form() {
    for (text, expect) in [
        ("0", "00"),
        ("127", "7f"),
        ("128", "cc80"),
        ("256", "cd0100"),
        ("65536", "ce00010000"),
        ("4294967296", "cf0000000100000000"),
        ("-1", "ff"),
        ("-32", "e0"),
        ("-33", "d0df"),
        ("-129", "d1ff7f"),
        ("-32769", "d2ffff7fff"),
        ("-2147483649", "d3ffffffff7fffffff"),
        ("1.5", "cb3ff8000000000000"),
        ("0.1", "a3302e31"),
        ("18446744073709551615", "b43138343436373434303733373039353531363135"),
        ("inf", "cb7ff0000000000000"),
        ("-inf", "cbfff0000000000000"),
        ("-0", "00"),
    ] {
        check(&Value::number(Number::parse(text).expect("a number")), &Type::number(), expect);
    }
    let number = |bytes: &[u8]| decode(bytes, &Type::number()).map(|v| format!("{v:?}")).map_err(|e| e.to_string());
    assert_eq!(number(&[0xca, 0x3f, 0xc0, 0, 0]).as_deref(), Ok("1.5"));
    assert!(number(&[0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0]).is_err(), "not a number");
}

#[test]
fn values_are_written_by_type() {
    let (text, any) = (Type::string(), Type::dynamic());
    check(&Value::bool(true), &Type::bool(), "c3");
    check(&Value::string("é".repeat(20)), &text, &format!("d928{}", "c3a9".repeat(20)));
    check(&Value::null(text.clone()), &text, "c0");
    check(&Value::from("x"), &any, "92c40822737472696e6722a178");
    check(&Value::list(Type::bool(), vec![true.into()]), &any, "92c40f5b226c697374222c22626f6f6c225d91c3");
    check(&Value::null_dynamic(), &any, "c0");
    check(&Value::null(text.clone()), &any, "92c40822737472696e6722c0");
    let object = Value::object(vec![("b".into(), Value::int(1)), ("a".into(), Value::from("x"))]);
    let ty = Type::object([("a".into(), text.clone()), ("b".into(), any)]);
    check(&object, &ty, "82a161a178a16292c408226e756d6265722201");
    let list = Value::list(Type::number(), (0..20).map(Value::int).collect());
    check(&list, &Type::list(Type::number()), "dc0014000102030405060708090a0b0c0d0e0f10111213");
    let map = Value::map(Type::empty_tuple(), vec![("k".into(), Value::tuple(vec![]))]);
    check(&map, &Type::map(Type::empty_tuple()), "81a16b90");
    assert_eq!(hex(&Value::int(5), &text), "a135", "converted");
    assert_eq!(hex(&map, &text), "error: the value is not of the type it is to be written as");
    let marked = Value::int(1).mark(crate::Mark::Sensitive);
    assert_eq!(hex(&marked, &Type::number()), "error: a marked value cannot be written as MessagePack");
}

#[test]
fn unknown_values_keep_their_refinements() {
    let (text, number) = (Type::string(), Type::number());
    check(&Value::unknown(text.clone()), &text, "d40000");
    check(&Value::unknown(text.clone()), &Type::dynamic(), "92c40822737472696e6722d40000");
    check(&Value::unknown_dynamic(), &Type::dynamic(), "d40000");
    check(&Value::unknown(Type::bool()).refine_not_null(), &Type::bool(), "c7030c8101c2");
    let prefix = Value::unknown(text.clone()).refine().not_null().prefix_full("ab-").done();
    check(&prefix, &text, "d70c8201c202a361622d");
    let min = Bound { value: Number::ONE, inclusive: true };
    let max = Bound { value: Number::parse("2.5").expect("a number"), inclusive: false };
    let range = Value::unknown(number.clone()).refine().number_min(min).number_max(max).done();
    check(&range, &number, "c7110c82039201c30492cb4004000000000000c2");
    let list = Type::list(text.clone());
    let length = Value::unknown(list.clone()).refine().len_min(1).len_max(300).done();
    check(&length, &list, "c7070c82050106cd012c");
    let long = Value::unknown(text.clone()).refine().prefix_full(&"ab-".repeat(200)).done();
    let again = decode(&encode(&long, &text).expect("plain"), &text).expect("just written");
    assert!(!again.is_known(), "a long prefix is cut");
    // Keys of the future are skipped, those of other types are not.
    let shown = |bytes: &str| decode(&unhex(bytes), &Type::bool()).map_or_else(|e| e.to_string(), |v| format!("{v:?}"));
    assert_eq!(shown("c7070c82630501c20000"), "unknown(bool)!");
    assert_eq!(shown("c7040c8102a161"), "this cannot be known about a value of type bool (at byte 5)");
    assert_eq!(shown("c7030c8101c3"), "null(bool)");
}

#[test]
fn lengths_are_not_believed() {
    let list = Type::list(Type::string());
    let shown = |bytes: &str| decode(&unhex(bytes), &list).map_or_else(|e| e.to_string(), |v| format!("{v:?}"));
    assert_eq!(shown("ddffffffff"), "the data ends too early (at byte 5)");
    assert_eq!(shown("91dbffffffff61"), "the data ends too early (at byte 6)");
    assert_eq!(shown("c9ffffffff0c"), "an unknown value has too many refinements (at byte 6)");
    assert_eq!(shown(""), "the data ends too early (at byte 0)");
    assert_eq!(shown("c3"), "a value of type list(string) is required (at byte 1)");
    // Pairs of a type and a value can be nested in each other without end.
    let nested = "92c4092264796e616d696322".repeat(100_000);
    assert!(decode(&unhex(&nested), &Type::dynamic()).is_err());
}

proptest! {
    #[test]
    fn values_read_back(
        (ty, value) in any_type().prop_flat_map(|ty| {
            let value = value_of(&ty, Kinds { unknown: true, marked: false });
            (Just(ty), value)
        })
    ) {
        for ty in [&ty, &Type::dynamic()] {
            let bytes = encode(&value, ty).expect("unmarked");
            let again = decode(&bytes, ty).expect("written before");
            prop_assert!(again.raw_equals(&value), "{value:?} {bytes:?} {again:?}");
        }
    }

    #[test]
    fn any_bytes_are_answered(ty in any_type(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&bytes, &ty);
        let _ = decode(&bytes, &Type::dynamic());
    }
}
