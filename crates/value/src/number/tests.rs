//! Expectations are answers of Go's `math/big` and of OpenTofu's console.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use proptest::prelude::*;

use super::*;

fn n(text: &str) -> Number {
    Number::parse(text).expect("a number")
}

#[test]
fn numbers_are_two_words() {
    assert_eq!(size_of::<Number>(), 16);
}

#[test]
fn reads_what_go_reads() {
    let check = |text: &str, expect: &str| {
        assert_eq!(Number::parse(text).map_or("none".to_owned(), |n| n.to_string()), expect, "{text}");
    };
    check("0", "0");
    check("-0", "-0");
    check("+5", "5");
    check("5.", "5");
    check(".5", "0.5");
    check("007.250", "7.25");
    check("1p5", "32");
    check("1.5e3", "1500");
    check("15E-1", "1.5");
    check("inf", "+Inf");
    check("-Inf", "-Inf");
    check("123456789012345678901234567890.5", "123456789012345678901234567890.5");
    for text in ["", "-", ".", "e5", "1e", "1e+", "0x10", "1_0", " 5", "5 ", "--5", "+-5", "INF", "1.2.3", "1e5.5", "٣"]
    {
        check(text, "none");
    }
}

#[test]
fn magnitudes_are_bounded() {
    let infinite = |text: &str| Number::parse(text).is_some_and(|n| n.is_infinite());
    assert!(infinite("1e999999999"), "beyond what Go can represent");
    assert!(Number::parse("1e-999999999").is_some_and(|n| n.is_zero()));
    for text in ["1e5000000000", "1e-5000000000", "1e99999999999999999999", "1e1000000", "1e-1000000"] {
        assert!(Number::parse(text).is_none(), "{text}");
    }
    assert_eq!(n("1e100000").to_string().len(), 100_001);
    assert_eq!(n("1e-100000").to_string().len(), 100_002);
    let huge = n("1e300000");
    assert!(huge.mul(&huge).is_some_and(|n| n.is_infinite()));
    assert!(n("1e-300000").div(&huge).is_some_and(|n| n.is_zero()));
    assert!(Number::from_int_text(&"9".repeat(2_000_000), 10).is_none());
}

#[test]
fn arithmetic_rounds_like_go() {
    type Op = fn(&Number, &Number) -> Option<Number>;
    let check = |a: &Number, op: Op, b: &Number, expect: &str| {
        assert_eq!(op(a, b).map_or("none".to_owned(), |n| n.to_string()), expect, "{a} {b}");
    };
    let third = "0.3333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333\
                 3333333333333333333333333333333333333333333333333333335";
    check(&n("1"), Number::div, &n("3"), third);
    check(&Number::from_i64(1), Number::div, &Number::from_i64(3), "0.33333333333333333334");
    check(&n("1.1"), Number::mul, &n("1.1"), &format!("1.21{}1", "0".repeat(151)));
    check(&n("0.3"), Number::sub, &n("0.1"), &format!("0.2{}2", "0".repeat(153)));
    check(&n("9007199254740993"), Number::mul, &n("9007199254740993"), "81129638414606699710187514626049");
    check(&Number::from_i64(i64::MAX), Number::add, &Number::ONE, "9223372036854775808");
    check(&Number::from_i64(i64::MIN), Number::sub, &Number::ONE, "-9223372036854775809");
    check(&n("5.5"), Number::rem, &n("-2"), "1.5");
    check(&n("-7"), Number::rem, &n("3"), "-1");
    check(&n("5"), Number::rem, &n("0"), "5");
    check(&n("0"), Number::mul, &n("-5"), "-0");
    check(&n("1"), Number::div, &n("0"), "+Inf");
    check(&n("0"), Number::div, &n("0"), "none");
    check(&n("inf"), Number::sub, &n("inf"), "none");
    check(&n("inf"), Number::mul, &n("0"), "none");
    check(&n("inf"), Number::div, &n("-inf"), "none");
    check(&n("-inf"), Number::mul, &n("2"), "-Inf");
}

#[test]
fn rounds_to_whole_numbers() {
    for (text, floor, ceil, trunc) in [
        ("1.5", "1", "2", "1"),
        ("-1.5", "-2", "-1", "-1"),
        ("-0.5", "-1", "0", "0"),
        ("7", "7", "7", "7"),
        (
            "1e30",
            "1000000000000000000000000000000",
            "1000000000000000000000000000000",
            "1000000000000000000000000000000",
        ),
    ] {
        let n = n(text);
        let all = [n.floor(), n.ceil(), n.trunc()].map(|n| n.to_string());
        assert_eq!(all, [floor, ceil, trunc], "{text}");
    }
}

#[test]
fn writes_like_go() {
    let check = |n: &Number, format: u8, digits: Option<usize>, expect: &str| {
        assert_eq!(n.format(format, digits), expect);
    };
    check(&n("1234567.891"), b'e', None, "1.234567891e+06");
    check(&n("1234567.891"), b'g', None, "1.234567891e+06");
    check(&n("123456.7"), b'g', None, "123456.7");
    check(&n("0.00001"), b'G', None, "1E-05");
    check(&n("1234567.891"), b'g', Some(3), "1.23e+06");
    check(&n("100"), b'g', Some(3), "100");
    check(&n("2.5"), b'f', Some(0), "2");
    check(&n("3.5"), b'f', Some(0), "4");
    check(&n("0.04"), b'f', Some(1), "0.0");
    check(&n("9.99"), b'e', Some(1), "1.0e+01");
    check(&n("0"), b'e', Some(2), "0.00e+00");
    check(&n("-0"), b'f', Some(2), "-0.00");
    check(&n("1e100"), b'E', Some(0), "1E+100");
    check(&Number::from_f64(0.1).expect("finite"), b'f', None, "0.1");
    check(&Number::from_f64(2f64.powi(60)).expect("finite"), b'f', None, "1152921504606847000");
    check(&Number::infinity(), b'g', Some(1), "+Inf");
    assert_eq!(n("-255.9").to_int_text(16).as_deref(), Some("-ff"));
    assert_eq!(n("3843").to_int_text(62).as_deref(), Some("ZZ"));
    assert_eq!(Number::minus_infinity().to_int_text(10), None);
}

#[test]
fn reads_whole_numbers_in_any_base() {
    for (text, radix, expect) in [
        ("ff", 16, Some("255")),
        ("-FF", 16, Some("-255")),
        ("+101", 2, Some("5")),
        ("ZZ", 62, Some("3843")),
        ("aA", 62, Some("656")),
        ("ZZZZZZZZZZZZZ", 62, Some("200028539268669788905471")),
        ("2", 2, None),
        ("1_0", 10, None),
        ("", 10, None),
        ("-", 10, None),
        ("1", 63, None),
        ("-0", 10, Some("0")),
    ] {
        assert_eq!(Number::from_int_text(text, radix).map(|n| n.to_string()).as_deref(), expect, "{text}");
    }
    assert_eq!(Number::from_int_text(&"f".repeat(40), 16).map(|n| n.precision()), Some(160));
}

#[test]
fn equality_is_by_text_and_order_by_value() {
    let machine = Number::from_f64(0.1).expect("finite");
    assert_eq!(machine, n("0.1"));
    assert!(machine > n("0.1"));
    assert_eq!(n("-0"), Number::ZERO);
    assert_eq!(n("inf"), Number::infinity());
    assert_ne!(Number::minus_infinity(), Number::infinity());
    let hash = |n: &Number| FixedState::default().hash_one(n);
    assert_eq!(hash(&machine), hash(&n("0.1")));
    assert_eq!(hash(&n("-0")), hash(&Number::ZERO));
    assert_eq!(hash(&n("5")), hash(&Number::from_i64(5)));
}

proptest! {
    #[test]
    fn text_reads_back(digits in "[0-9]{1,160}", point in 0usize..160, exponent in -400i32..400) {
        let (before, behind) = digits.split_at(point.min(digits.len()));
        let number = n(&format!("{before}0.{behind}e{exponent}"));
        let again = n(&number.to_string());
        prop_assert_eq!(number.cmp(&again), Ordering::Equal);
        prop_assert_eq!(&n(&number.format(b'e', None)), &number);
    }

    #[test]
    fn machine_floats_keep_their_value(value in any::<f64>().prop_filter("a number", |f| !f.is_nan())) {
        let number = Number::from_f64(value).expect("filtered");
        prop_assert_eq!(number.to_f64().to_bits(), value.to_bits());
        if value.is_finite() {
            prop_assert_eq!(number.format(b'e', None).parse::<f64>().ok(), Some(value));
        }
    }

    #[test]
    fn whole_numbers_are_exact(a in any::<i64>(), b in any::<i64>()) {
        let (x, y) = (Number::from_i64(a), Number::from_i64(b));
        let (a, b) = (i128::from(a), i128::from(b));
        prop_assert_eq!(x.mul(&y).map(|p| p.cmp(&n(&(a * b).to_string()))), Some(Ordering::Equal));
        prop_assert_eq!(x.to_i64().map(i128::from), Some(a));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        if b != 0 {
            prop_assert_eq!(x.rem(&y).map(|n| n.to_string()), Some((a % b).to_string()));
        }
    }
}

#[test]
fn large_floats_equal_the_number_they_are_written_as() {
    let float = Number::from_f64(1_152_921_504_606_846_976.0).expect("a number");
    assert_eq!(float.to_string(), "1152921504606847000");
    assert_eq!(float, n("1152921504606847000"));
    assert_ne!(float, n("1152921504606846976"));
    let hash = |n: &Number| FixedState::default().hash_one(n);
    assert_eq!(hash(&float), hash(&n("1152921504606847000")));
}
