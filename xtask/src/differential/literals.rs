//! Random literals: the leaves of random expressions, ordinary ones and those at the edges.

use super::random::Random;

const WORDS: [&str; 12] = ["a", "b", "c", "foo", "bar", "x-1", "key", "name", "size", "zone", "A", "Foo Bar"];

const EDGE_STRINGS: [&str; 40] = [
    "",
    " ",
    " padded ",
    "1",
    "0",
    "-1",
    "1.50",
    "1e3",
    "0x10",
    "true",
    "false",
    "null",
    "é",
    "e\u{301}",
    "日本語",
    "👨‍👩‍👧",
    "ß",
    "\\n",
    "a\\nb\\n",
    "a\\r\\nb",
    "\\t",
    "\\\"quoted\\\"",
    "back\\\\slash",
    "\\u00e9",
    "\\U0001F600",
    "$${x}",
    "%%{y}",
    "$",
    "%",
    "<&>",
    "a,b,c",
    "a=b&c=d",
    "a/b/../c",
    "~/x",
    "%41%zz",
    "{\\\"a\\\":[1,null]}",
    "[1,2",
    "a: 1\\nb: [x, ~]",
    "h1,h2\\n1,2",
    "aGVsbG8=",
];

const EDGE_NUMBERS: [&str; 30] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "10",
    "0.5",
    "1.5",
    "-2.5",
    "0.1",
    "1e3",
    "1E-3",
    "1e10",
    "1e21",
    "1e100",
    "1e-10",
    "123456789012345678901234567890",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "0.30000000000000004",
    "3.141592653589793238462643383279502884197",
    "1.7976931348623157e308",
    "4.9e-324",
    "2147483648",
    "255",
    "65536",
    "1e400",
];

/// A string literal with its quotes.
pub(super) fn string(random: &mut Random) -> String {
    let text = if random.chance(60) { random.word(&WORDS) } else { random.word(&EDGE_STRINGS) };
    format!("\"{text}\"")
}

/// A number literal.
pub(super) fn number(random: &mut Random) -> String {
    if random.chance(60) { (random.below(14) as i64 - 2).to_string() } else { random.word(&EDGE_NUMBERS) }
}

/// The name of an attribute or a key without quotes.
pub(super) fn name(random: &mut Random) -> String {
    random.word(&["a", "b", "c", "foo", "name", "size"])
}

/// A string that suits a parameter of this name of this function, if there are better ones than any.
pub(super) fn suited(random: &mut Random, function: &str, parameter: &str) -> Option<String> {
    let words: &[&str] = match (function, parameter) {
        (_, "prefix" | "containing_prefix" | "contained_ip_or_prefix") if function.starts_with("cidr") => &[
            "10.0.0.0/8",
            "10.1.2.3/16",
            "192.168.0.0/30",
            "0.0.0.0/0",
            "10.0.0.1/32",
            "fd00::/8",
            "2001:db8::1/64",
            "::/0",
            "10.0.0.300/8",
            "10.0.0.0/33",
            "10.0.0.5",
            "fd00::1",
            "010.0.0.0/8",
            "::ffff:10.0.0.0/104",
        ],
        (_, "timestamp" | "timestamp_a" | "timestamp_b" | "time") => &[
            "2024-02-29T12:30:45Z",
            "2024-02-29T12:30:45.123456Z",
            "2023-12-31T23:59:59+14:00",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59-07:00",
            "2024-02-30T00:00:00Z",
            "2024-02-29",
            "2024-02-29t12:30:45z",
            "2024-02-29 12:30:45Z",
            "2024-02-29T24:00:00Z",
        ],
        ("timeadd", "duration") => {
            &["1h", "-10m", "1.5h", "24h30m15s", "1ms", "1us", "-0.5s", "10", "1d", "", "9999999h", "+5m", "1h-1m"]
        }
        ("formatdate", "format") => &[
            "YYYY-MM-DD'T'hh:mm:ssZ",
            "DD MMM YYYY hh:mm ZZZ",
            "EEEE, DD-MMM-YY hh:mm:ss ZZZZ",
            "h:mm aa",
            "HH:mm AA",
            "M/D/YY",
            "'it''s'",
            "'open",
            "YYY",
            "x",
            "ZZZZZ",
            "EEE d",
        ],
        ("regex" | "regexall", "pattern") => &[
            "[a-z]+",
            "(a)(b)?",
            "(?P<first>[a-z])(?P<second>.)?",
            "(?P<n>x)|(y)",
            "^$",
            "(",
            "\\\\d+",
            "(?i)FOO",
            ".*",
            "a{2,1}",
            "\\\\pL",
            "\\\\b",
            "[[:alpha:]]",
            "(?s:.)",
            "x*",
        ],
        ("replace", "substr") => &["a", "", "/[aeiou]/", "/(a)(b)?/", "/(/", "/", "//", "/x*/", "o"],
        ("replace", "replace") => &["", "X", "$1", "${1}x", "$0", "$$", "$name"],
        ("format" | "formatlist", "format") => &[
            "%s",
            "%d",
            "%v",
            "%q",
            "%5.2f",
            "%-5s|",
            "%05d",
            "%x",
            "%X",
            "%b",
            "%o",
            "%e",
            "%g",
            "%t",
            "%%",
            "%#v",
            "%[2]s %[1]s",
            "%s-%s",
            "%+d",
            "% d",
            "%c",
            "%z",
            "%",
            "%!",
            "%[3]d",
            "%*d",
            "%.3s",
            "%6.3q",
            "%G",
            "%10v|",
        ],
        ("textencodebase64" | "textdecodebase64", "encoding") => {
            &["UTF-8", "UTF-16LE", "UTF-16", "windows-1252", "ascii", "ISO-8859-1", "Shift_JIS", "nope", ""]
        }
        ("base64decode" | "textdecodebase64" | "base64gunzip", _) => {
            &["aGVsbG8=", "aGVsbG8", "/+8=", "====", "", "H4sIAAAAAAAA/8pIzcnJBwQAAP//hqYQNgUAAAA=", "gICA", "YQBiAA=="]
        }
        ("jsondecode", _) => &[
            "{\\\"a\\\":1,\\\"b\\\":[true,null]}",
            "1e400",
            "[1,2,]",
            "\\\"\\\\ud800\\\"",
            "null",
            "{\\\"a\\\":1,\\\"a\\\":2}",
            " 12 ",
            "",
            "01",
            "1.0",
            "{} {}",
            "\\\"\\\\u00e9\\\"",
        ],
        ("yamldecode", _) => &[
            "a: 1",
            "- 1\\n- x\\n- ~",
            "{a: [1, 2.5, true]}",
            "a: &x 1\\nb: *x",
            "yes",
            "0o17",
            "0x1F",
            "2024-01-01",
            ".inf",
            "a: |\\n  text\\n  more\\n",
            "!!str 12",
            "a: b: c",
            "",
            "---\\na: 1\\n---\\nb: 2",
            "<<: {a: 1}",
            "\\\"é\\\"",
        ],
        ("csvdecode", _) => {
            &["a,b\\n1,2\\n3,4", "a\\n", "", "a,a\\n1,2", "a,b\\n1", "a,\\\"b c\\\"\\n1,\\\"x\\\"\\\"y\\\"", "a;b"]
        }
        ("uuidv5", "namespace") => &["dns", "url", "oid", "x500", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "x"],
        ("parseint", "number") => {
            &["100", "ff", "-7f", "zz", "Zz", "", " 1", "1_000", "0x1", "9223372036854775808", "+5"]
        }
        ("templatestring", "data") => return None,
        ("substr" | "strrev" | "title" | "upper" | "lower" | "indent" | "trimspace" | "chomp", "str") => {
            &["hello world", "日本語", "e\\u0301a", "👨‍👩‍👧x", "a\\nb\\n\\n", "ǆ straße", "\\r\\n", "İi", "", "ﬀ o'neil"]
        }
        ("basename" | "dirname", _) => &["a/b/c", "/", "", ".", "a//b/", "../x", "/a"],
        ("urlencode" | "urldecode", _) => &["a b&c=é", "a+b%20c", "%C3%A9", "%zz", "%", "~-._*'()!", "日本"],
        _ => return None,
    };
    Some(format!("\"{}\"", random.word(words)))
}
