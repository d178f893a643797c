//! The functions on texts. A "character" is a grapheme cluster where a function counts, a code point where it maps.

use std::collections::HashSet;

use ecow::EcoString;
use unicode_segmentation::UnicodeSegmentation;

use super::arguments::{MAX_TEXT, elements, text, too_long, whole_number};
use super::letters;
use crate::function::{Function, FunctionError, Param, Result};
use crate::{Type, Value, View, eco_format};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let string = Type::string;
    let strings = || Type::list(Type::string());
    let of_text = |name, description, body| {
        let param = Param::new("str", string(), "The string.");
        Function::new(name, description, [param], string(), body)
    };
    let of_open_text = |name, description, body| {
        let param = Param::new("str", string(), "The string.").dynamic();
        Function::new(name, description, [param], string(), body)
    };
    let subject = || Param::new("str", string(), "The string to test.");
    vec![
        of_text("chomp", "Removes all line breaks from the end of a string.", |args, _| {
            Ok(Value::string(text(args, 0)?.trim_end_matches(['\r', '\n'])))
        }),
        Function::new(
            "endswith",
            "Returns whether a string ends with a given suffix.",
            [subject(), Param::new("suffix", string(), "The suffix to search for.")],
            Type::bool(),
            |args, _| Ok(Value::bool(text(args, 0)?.ends_with(text(args, 1)?.as_str()))),
        ),
        Function::new(
            "indent",
            "Inserts a number of spaces at the start of every line of a string but the first.",
            [
                Param::new("spaces", Type::number(), "The number of spaces."),
                Param::new("str", string(), "The string to indent."),
            ],
            string(),
            indent,
        ),
        Function::new(
            "join",
            "Joins all elements of the given lists, with a separator between them.",
            [Param::new("separator", string(), "The separator.")],
            string(),
            join,
        )
        .variadic(Param::new("lists", strings(), "The lists of strings to join.")),
        of_open_text("lower", "Converts all letters of a string to lower case.", |args, _| {
            Ok(Value::string(text(args, 0)?.chars().map(letters::lower).collect::<EcoString>()))
        }),
        Function::new(
            "split",
            "Splits a string into a list at every occurrence of the separator.",
            [
                Param::new("separator", string(), "The separator, which is not part of the result."),
                Param::new("str", string(), "The string to split."),
            ],
            strings(),
            split,
        ),
        Function::new(
            "startswith",
            "Returns whether a string starts with a given prefix.",
            [subject().unknown(), Param::new("prefix", string(), "The prefix to search for.")],
            Type::bool(),
            startswith,
        ),
        Function::new(
            "strcontains",
            "Returns whether a string contains another one.",
            [subject(), Param::new("substr", string(), "The substring to search for.")],
            Type::bool(),
            |args, _| Ok(Value::bool(text(args, 0)?.contains(text(args, 1)?.as_str()))),
        )
        .nullable(),
        of_open_text("strrev", "Reverses the characters of a string.", |args, _| {
            Ok(Value::string(text(args, 0)?.graphemes(true).rev().collect::<String>()))
        }),
        Function::new(
            "substr",
            "Returns a substring by the index of its first character and its length.",
            [
                Param::new("str", string(), "The string.").dynamic(),
                Param::new(
                    "offset",
                    Type::number(),
                    "The index of the first character; negative numbers count from the end.",
                )
                .dynamic(),
                Param::new("length", Type::number(), "The number of characters; -1 for all that follow.").dynamic(),
            ],
            string(),
            substr,
        ),
        of_text("title", "Converts the first letter of every word of a string to upper case.", title),
        Function::new(
            "trim",
            "Removes the given characters from both ends of a string.",
            [
                Param::new("str", string(), "The string to trim."),
                Param::new("cutset", string(), "The characters to remove, in any order."),
            ],
            string(),
            trim,
        ),
        Function::new(
            "trimprefix",
            "Removes a prefix of a string, if it has it.",
            [
                Param::new("str", string(), "The string to trim."),
                Param::new("prefix", string(), "The prefix to remove."),
            ],
            string(),
            |args, _| {
                let whole = text(args, 0)?.as_str();
                Ok(Value::string(whole.strip_prefix(text(args, 1)?.as_str()).unwrap_or(whole)))
            },
        ),
        of_text("trimspace", "Removes white space from both ends of a string.", |args, _| {
            Ok(Value::string(text(args, 0)?.trim()))
        }),
        Function::new(
            "trimsuffix",
            "Removes a suffix of a string, if it has it.",
            [
                Param::new("str", string(), "The string to trim."),
                Param::new("suffix", string(), "The suffix to remove."),
            ],
            string(),
            |args, _| {
                let whole = text(args, 0)?.as_str();
                Ok(Value::string(whole.strip_suffix(text(args, 1)?.as_str()).unwrap_or(whole)))
            },
        ),
        of_open_text("upper", "Converts all letters of a string to upper case.", |args, _| {
            Ok(Value::string(text(args, 0)?.chars().map(letters::upper).collect::<EcoString>()))
        }),
    ]
}

fn indent(args: &[Value], _: &Type) -> Result {
    let spaces = whole_number(&args[0]).map_err(FunctionError::new)?;
    let spaces = usize::try_from(spaces)
        .map_err(|_| FunctionError::new(eco_format!("the number of spaces must not be negative, and {spaces} is")))?;
    let text = text(args, 1)?;
    let breaks = text.bytes().filter(|&b| b == b'\n').count();
    let length = spaces.checked_mul(breaks.max(1)).and_then(|added| added.checked_add(text.len()));
    if length.is_none_or(|length| length > MAX_TEXT) {
        return Err(too_long());
    }
    if breaks == 0 {
        return Ok(args[1].clone());
    }
    Ok(Value::string(text.replace("\n", &format!("\n{}", " ".repeat(spaces)))))
}

fn join(args: &[Value], _: &Type) -> Result {
    let separator = text(args, 0)?;
    let lists = &args[1..];
    if lists.is_empty() {
        return Err(FunctionError::new("there must be at least one list to join"));
    }
    if lists.iter().any(|list| !list.is_wholly_known()) {
        return Ok(Value::unknown(Type::string()));
    }
    let mut parts: Vec<&str> = Vec::new();
    let mut length = 0usize;
    for index in 1..args.len() {
        for (position, item) in elements(args, index)?.iter().enumerate() {
            let Some(part) = item.as_str() else {
                let which = if lists.len() > 1 { eco_format!(" of list {index}") } else { EcoString::new() };
                let message = eco_format!("element {position}{which} is null, and null values cannot be joined");
                return Err(FunctionError::arg(index, message));
            };
            length = length.saturating_add(part.len()).saturating_add(separator.len());
            parts.push(part);
        }
    }
    if length.saturating_sub(separator.len()) > MAX_TEXT {
        return Err(too_long());
    }
    Ok(Value::string(parts.join(separator.as_str())))
}

fn split(args: &[Value], _: &Type) -> Result {
    let separator = text(args, 0)?.as_str();
    let whole = text(args, 1)?.as_str();
    let parts: Vec<Value> = if separator.is_empty() {
        let mut buffer = [0; 4];
        whole.chars().map(|c| Value::string(&*c.encode_utf8(&mut buffer))).collect()
    } else {
        whole.split(separator).map(Value::string).collect()
    };
    Ok(Value::list(Type::string(), parts))
}

fn startswith(args: &[Value], _: &Type) -> Result {
    let prefix = text(args, 1)?.as_str();
    let View::Unknown(unknown) = args[0].view_ignoring_marks() else {
        return Ok(Value::bool(text(args, 0)?.starts_with(prefix)));
    };
    let known = unknown.refinement.prefix.as_str();
    Ok(if known.starts_with(prefix) {
        Value::bool(true)
    } else if known.len() >= prefix.len() {
        Value::bool(false)
    } else {
        Value::unknown(Type::bool())
    })
}

fn substr(args: &[Value], _: &Type) -> Result {
    let whole = text(args, 0)?.as_str();
    let mut offset = whole_number(&args[1]).map_err(FunctionError::new)?;
    let length = whole_number(&args[2]).map_err(FunctionError::new)?;
    if offset < 0 {
        offset = offset.saturating_add(i64::try_from(whole.graphemes(true).count()).unwrap_or(i64::MAX));
    } else if length == 0 {
        return Ok(Value::string(""));
    }
    let skipped = usize::try_from(offset).unwrap_or(0);
    let start = whole.grapheme_indices(true).nth(skipped).map_or(whole.len(), |(at, _)| at);
    let rest = &whole[start..];
    // Quirk: with a negative offset a length of zero takes everything that follows, like a negative length.
    if length <= 0 {
        return Ok(Value::string(rest));
    }
    let taken = usize::try_from(length).unwrap_or(usize::MAX);
    let end = rest.grapheme_indices(true).nth(taken).map_or(rest.len(), |(at, _)| at);
    Ok(Value::string(&rest[..end]))
}

fn title(args: &[Value], _: &Type) -> Result {
    let mut after_separator = true;
    let mapped: EcoString = text(args, 0)?
        .chars()
        .map(|c| {
            let mapped = if after_separator { letters::title(c) } else { c };
            // Quirk: every ASCII character but letters, digits and `_` ends a word; of the other characters only white space.
            after_separator = if c.is_ascii() { !c.is_ascii_alphanumeric() && c != '_' } else { c.is_whitespace() };
            mapped
        })
        .collect();
    Ok(Value::string(mapped))
}

fn trim(args: &[Value], _: &Type) -> Result {
    let cutset: HashSet<char> = text(args, 1)?.chars().collect();
    Ok(Value::string(text(args, 0)?.trim_matches(|c| cutset.contains(&c))))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, list, n, nulls, s, unknown};
    use super::*;
    use expect_test::expect;

    #[test]
    fn ends_and_parts() {
        check(
            &[
                ("chomp", vec![s("a\n\r\r\n\n")]),
                ("endswith", vec![s("abc"), s("bc")]),
                ("startswith", vec![s("abc"), s("bc")]),
                ("strcontains", vec![s("abc"), s("b")]),
                ("trim", vec![s("?!hi?!?"), s("!?")]),
                ("trimprefix", vec![s("aab"), s("a")]),
                ("trimsuffix", vec![s("abb"), s("b")]),
                ("trimspace", vec![s(" \u{a0}\u{2003}x\n\t")]),
                ("split", vec![s(","), s("a,,b")]),
                ("split", vec![s(""), s("añ")]),
                ("split", vec![s(""), s("")]),
                ("split", vec![s(","), s("")]),
                ("strrev", vec![s("ab👨‍👩‍👧c")]),
            ],
            &expect![[r#"
                chomp("a\n\r\r\n\n") = "a"
                endswith("abc", "bc") = true
                startswith("abc", "bc") = false
                strcontains("abc", "b") = true
                trim("?!hi?!?", "!?") = "hi"
                trimprefix("aab", "a") = "ab"
                trimsuffix("abb", "b") = "ab"
                trimspace(" \u{a0}\u{2003}x\n\t") = "x"
                split(",", "a,,b") = ["a", "", "b"]
                split("", "añ") = ["a", "ñ"]
                split("", "") = []
                split(",", "") = [""]
                strrev("ab👨\u{200d}👩\u{200d}👧c") = "c👨\u{200d}👩\u{200d}👧ba"
            "#]],
        );
    }

    #[test]
    fn substr_counts_grapheme_clusters() {
        check(
            &[
                ("substr", vec![s("hello"), n(1), n(3)]),
                ("substr", vec![s("hello"), n(-2), n(-1)]),
                ("substr", vec![s("hello"), n(-2), n(0)]),
                ("substr", vec![s("hello"), n(2), n(0)]),
                ("substr", vec![s("hello"), n(10), n(-1)]),
                ("substr", vec![s("hello"), n(-10), n(2)]),
                ("substr", vec![s("👨‍👩‍👧é😀"), n(1), n(1)]),
                ("substr", vec![s("a"), n(i64::MIN), n(i64::MAX)]),
            ],
            &expect![[r#"
                substr("hello", 1, 3) = "ell"
                substr("hello", -2, -1) = "lo"
                substr("hello", -2, 0) = "lo"
                substr("hello", 2, 0) = ""
                substr("hello", 10, -1) = ""
                substr("hello", -10, 2) = "he"
                substr("👨\u{200d}👩\u{200d}👧é😀", 1, 1) = "é"
                substr("a", -9223372036854775808, 9223372036854775807) = "a"
            "#]],
        );
    }

    #[test]
    fn case() {
        check(
            &[
                ("title", vec![s("hello-world foo_bar o'neil é élan ǆ a\u{2014}b")]),
                ("upper", vec![s("straße ŉ")]),
                ("lower", vec![s("ÀΣİ")]),
            ],
            &expect![[r#"
                title("hello-world foo_bar o'neil é élan ǆ a—b") = "Hello-World Foo_bar O'Neil É Élan ǅ A—b"
                upper("straße ŉ") = "STRAßE ŉ"
                lower("ÀΣİ") = "àσi"
            "#]],
        );
    }

    #[test]
    fn join_and_indent() {
        let ab = || list([s("a"), s("b")]);
        check(
            &[
                ("join", vec![s("-"), ab(), ab()]),
                ("join", vec![s("-")]),
                ("join", vec![s("-"), nulls()]),
                ("join", vec![s("-"), ab(), nulls()]),
                ("join", vec![s("-"), list([unknown(Type::string())]), nulls()]),
                ("indent", vec![n(2), s("a\nb\n\nc")]),
                ("indent", vec![n(-1), s("a")]),
                ("indent", vec![n(1 << 40), s("a\nb")]),
            ],
            &expect![[r#"
                join("-", ["a", "b"], ["a", "b"]) = "a-b-a-b"
                join("-") = error: there must be at least one list to join
                join("-", ["a", null(string)]) = error in argument 1: element 1 is null, and null values cannot be joined
                join("-", ["a", "b"], ["a", null(string)]) = error in argument 2: element 1 of list 2 is null, and null values cannot be joined
                join("-", [unknown(string)], ["a", null(string)]) = unknown(string)!
                indent(2, "a\nb\n\nc") = "a\n  b\n  \n  c"
                indent(-1, "a") = error: the number of spaces must not be negative, and -1 is
                indent(1099511627776, "a\nb") = error: the result would be longer than 128 MiB
            "#]],
        );
        let wide = Value::string(EcoString::from("x".repeat(1 << 20)));
        let many = list(vec![s(""); 1 << 10]);
        check(
            &[("join", vec![wide, many])],
            &expect![[r#"
            join("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..., ["", "", "", "", "", "", "", "", "", "", "", "", "", "", "",...) = error: the result would be longer than 128 MiB
        "#]],
        );
    }

    #[test]
    fn startswith_uses_the_known_prefix() {
        let refinement = crate::Refinement { prefix: "ami-".into(), not_null: true, ..Default::default() };
        let ami = || Value::unknown_refined(Type::string(), refinement.clone());
        check(
            &[
                ("startswith", vec![ami(), s("ami")]),
                ("startswith", vec![ami(), s("x")]),
                ("startswith", vec![ami(), s("ami-0")]),
                ("startswith", vec![ami(), s("")]),
                ("endswith", vec![ami(), s("")]),
            ],
            &expect![[r#"
                startswith(unknown(string)! prefix "ami-", "ami") = true
                startswith(unknown(string)! prefix "ami-", "x") = false
                startswith(unknown(string)! prefix "ami-", "ami-0") = unknown(bool)!
                startswith(unknown(string)! prefix "ami-", "") = true
                endswith(unknown(string)! prefix "ami-", "") = unknown(bool)!
            "#]],
        );
    }
}
