//! Expectations are answers of Go's `regexp`.

use proptest::prelude::*;

use super::*;

fn all(pattern: &str, haystack: &str) -> String {
    let regex = match Regex::compile(pattern) {
        Ok(regex) => regex,
        Err(error) => return format!("{:?} {}", error.kind, error.fragment),
    };
    let groups = regex.group_names().len() + 1;
    let show = |m: Match| (0..groups).map(|i| m.text(i, haystack).unwrap_or("-").to_owned()).collect::<Vec<_>>();
    regex.captures_all(haystack).map(|m| show(m).join(",")).collect::<Vec<_>>().join(";")
}

#[test]
fn finds_what_go_finds() {
    for (pattern, haystack, expect) in [
        ("a|ab", "abab", "a;a"),
        ("a*", "baac", ";aa;"),
        ("(a)|b", "ab", "a,a;b,-"),
        (r"\d+", "a1٣23", "1;23"),
        (r"(?i)k", "kK\u{212a}", "k;K;\u{212a}"),
        (r"\bé\b", "é", ""),
        (r"\w+", "naïve", "na;ve"),
        (r"[[:^alpha:]]+", "ab12cd", "12"),
        (r"\Qa.b\E+", "a.bbb axb", "a.bbb"),
        (r"(?s).", "\n", "\n"),
        ("(?m)^b$", "a\nb\nc", "b"),
        ("^b$", "a\nb", ""),
        (r"(?U)a+", "aaa", "a;a;a"),
        (r"(?U)a+?", "aaa", "aaa"),
        (r"\x{e9}|\x41|\101", "éAA", "é;A;A"),
        (r"a{,2}", "a{,2}", "a{,2}"),
        (r"\p{Greek}\P{Lu}[\pN]", "λa1", "λa1"),
        (r"\p{^Greek}", "λa", "a"),
        (r"[]a]+", "]a", "]a"),
        (r"(?P<x>a)(?<y>b)", "ab", "ab,a,b"),
        (r"[^\x00-\x{10FFFF}]", "a", ""),
    ] {
        assert_eq!(all(pattern, haystack), expect, "{pattern}");
    }
}

#[test]
fn blames_what_go_blames() {
    for (pattern, expect) in [
        ("*", "MissingRepeatArgument *"),
        ("a|*?", "MissingRepeatArgument *?"),
        ("a**", "NestedRepetition **"),
        ("a{2}{3}", "NestedRepetition {2}{3}"),
        ("a{1001}", "InvalidRepeatCount {1001}"),
        ("a{2,1}", "InvalidRepeatCount {2,1}"),
        ("(a{100}){11}", "InvalidRepeatCount {11}"),
        ("(a", "MissingParen (a"),
        ("a)", "UnexpectedParen a)"),
        ("[a", "MissingBracket [a"),
        ("[z-a]", "InvalidClassRange z-a"),
        ("[[:foo:]]", "InvalidClassRange [:foo:]"),
        (r"\p{Nope}", r"InvalidClassRange \p{Nope}"),
        (r"\q", r"InvalidEscape \q"),
        (r"\1", r"InvalidEscape \1"),
        (r"\C", r"InvalidEscape \C"),
        (r"\Z", r"InvalidEscape \Z"),
        ("a\\", "TrailingBackslash "),
        ("(?=a)", "UnsupportedGroup (?="),
        ("(?P<a-b>x)", "InvalidGroupName (?P<a-b>"),
    ] {
        assert_eq!(all(pattern, ""), expect, "{pattern}");
    }
}

#[test]
fn templates_name_groups() {
    let check = |pattern: &str, text: &str, template: &str, expect: &str| {
        assert_eq!(
            Regex::compile(pattern).expect("valid").replace_all(text, template, 1000).as_deref(),
            Some(expect),
            "{template}"
        );
    };
    check("(a)(?P<n>b)", "ab", "$2$1", "ba");
    check("(a)(?P<n>b)", "ab", "${n}_$1", "b_a");
    check("(a)(?P<n>b)", "ab", "$1x", "");
    check("(a)(?P<n>b)", "ab", "${1}x$$", "ax$");
    check("(a)(?P<n>b)", "ab", "${1", "${1");
    check("(a)(?P<n>b)", "ab", "$", "$");
    check("(a)(?P<n>b)", "ab", "$01$9", "");
    check("a*", "baac", "x", "xbxcx");
    check("", "éa", "-", "-é-a-");
}

#[test]
fn limits_hold() {
    let nested = |n: usize| format!("{}a{}", "(".repeat(n), ")".repeat(n));
    assert!(Regex::compile(&nested(999)).is_ok());
    assert_eq!(Regex::compile(&nested(1001)).map_err(|e| e.kind).err(), Some(RegexErrorKind::TooDeep));
    assert_eq!(Regex::compile(&nested(100_000)).map_err(|e| e.kind).err(), Some(RegexErrorKind::TooDeep));
    assert!(Regex::compile(&"(?:".repeat(100_000)).is_err());
    let large = r"(?:[^/]{1000}.{1000})".repeat(2);
    assert!(Regex::compile(&large).is_ok());
    assert_eq!(Regex::compile_within(&large, 1 << 20).map_err(|e| e.kind).err(), Some(RegexErrorKind::TooLarge));
}

proptest! {
    #[test]
    fn any_pattern_is_answered(pattern in r"[ab()\[\]{}|*+?^$.\\dQE:<>Pix0-9,-]{0,24}", text in "[ab1\n ]{0,8}") {
        if let Ok(regex) = Regex::compile_within(&pattern, SIZE_LIMIT) {
            let replaced = regex.replace_all(&text, "$0", 1000).expect("short");
            prop_assert_eq!(replaced, text);
        }
    }
}
