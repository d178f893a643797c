//! The pure functions on points in time: `formatdate`, `timeadd`, `timecmp`.

use std::fmt::Write as _;

use ecow::{EcoString, eco_format};

use super::timestamp::{Timestamp, parse_duration};
use crate::function::{Function, FunctionError, Param};
use crate::{Type, Value};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let text = |name, description| Param::new(name, Type::string(), description);
    vec![
        Function::new(
            "formatdate",
            "Formats a timestamp.",
            [
                text("format", "The format, like `DD MMM YYYY hh:mm ZZZ`; text in single quotes is literal."),
                text("time", "The timestamp in RFC 3339 syntax."),
            ],
            Type::string(),
            |args, _| {
                let time = Timestamp::parse_strict(argument(args, 1)).map_err(|e| FunctionError::arg(1, e))?;
                let text = format_date(argument(args, 0), &time).map_err(|e| FunctionError::arg(0, e))?;
                Ok(Value::string(text))
            },
        ),
        Function::new(
            "timeadd",
            "Adds a duration to a timestamp.",
            [
                text("timestamp", "The timestamp in RFC 3339 syntax."),
                text("duration", "Numbers with units, like `1h30m` or `-2.5s`; units are h, m, s, ms, us and ns."),
            ],
            Type::string(),
            |args, _| {
                let time = Timestamp::parse_strict(argument(args, 0)).map_err(FunctionError::new)?;
                let duration = parse_duration(argument(args, 1)).map_err(FunctionError::new)?;
                Ok(Value::string(time.plus(duration).to_string()))
            },
        )
        .nullable(),
        Function::new(
            "timecmp",
            "Compares two timestamps: -1 if the first is earlier, 1 if it is later, 0 if both are the same instant.",
            [
                text("timestamp_a", "The first timestamp, in RFC 3339 syntax."),
                text("timestamp_b", "The second timestamp, in RFC 3339 syntax."),
            ],
            Type::number(),
            |args, _| {
                let a = Timestamp::parse_lenient(argument(args, 0)).map_err(|e| FunctionError::arg(0, e))?;
                let b = Timestamp::parse_lenient(argument(args, 1)).map_err(|e| FunctionError::arg(1, e))?;
                Ok(Value::int(a.instant().cmp(&b.instant()) as i64))
            },
        ),
    ]
}

fn argument(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).map_or("", EcoString::as_str)
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

fn format_date(format: &str, time: &Timestamp) -> std::result::Result<EcoString, EcoString> {
    let mut out = EcoString::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => quoted_length(rest),
            c if c.is_ascii_alphabetic() => rest.bytes().take_while(|b| char::from(*b) == c).count(),
            _ => rest.find(|c: char| c == '\'' || c.is_ascii_alphabetic()).unwrap_or(rest.len()),
        };
        let (token, tail) = rest.split_at(length);
        rest = tail;
        match first {
            '\'' => out.push_str(&unquote(token)?),
            c if c.is_ascii_alphabetic() => write_verb(&mut out, c, token, time)?,
            _ => out.push_str(token),
        }
    }
    Ok(out)
}

/// Length of the quotation at the start of `text`: all of it if the closing quote is missing.
fn quoted_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.get(1) == Some(&b'\'') {
        return 2;
    }
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] == b'\'' {
            if bytes.get(at + 1) != Some(&b'\'') {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    bytes.len()
}

fn unquote(token: &str) -> std::result::Result<EcoString, EcoString> {
    if token.len() == 1 || !token.ends_with('\'') {
        return Err("unterminated literal: a quote (') has no partner".into());
    }
    let content = &token[1..token.len() - 1];
    if content.is_empty() {
        return Ok("'".into());
    }
    // Quirk: in a quotation whose end is missing but which ends with two quotes, half a pair is left over.
    let content = content.strip_suffix('\'').filter(|c| c.bytes().rev().take_while(|b| *b == b'\'').count() % 2 == 0);
    match content {
        Some(content) => Ok(eco_format!("{}'", content.replace("''", "'"))),
        None => Ok(token[1..token.len() - 1].replace("''", "'").into()),
    }
}

fn write_verb(out: &mut EcoString, verb: char, token: &str, time: &Timestamp) -> std::result::Result<(), EcoString> {
    let date = time.civil();
    let hour_of_twelve = (date.hour + 11) % 12 + 1;
    let wrong = |choices: &str| Err(eco_format!("invalid date format verb {token:?}: {choices}"));
    let number = |out: &mut EcoString, number: u8| {
        let width = token.len();
        write!(out, "{number:0width$}").map_err(|_| EcoString::new())
    };
    let written = match (verb, token.len()) {
        ('Y', 2) => write!(out, "{:02}", date.year % 100),
        ('Y', 4) => write!(out, "{:04}", date.year),
        ('Y', _) => return wrong("the year is \"YY\" or \"YYYY\""),
        ('M', 1 | 2) => return number(out, date.month),
        ('M', 3) => write!(out, "{}", &MONTHS[usize::from(date.month - 1)][..3]),
        ('M', 4) => write!(out, "{}", MONTHS[usize::from(date.month - 1)]),
        ('M', _) => return wrong("the month is \"M\", \"MM\", \"MMM\" or \"MMMM\""),
        ('D', 1 | 2) => return number(out, date.day),
        ('D', _) => return wrong("the day of the month is \"D\" or \"DD\""),
        ('E', 3) => write!(out, "{}", &WEEKDAYS[usize::from(date.weekday)][..3]),
        ('E', 4) => write!(out, "{}", WEEKDAYS[usize::from(date.weekday)]),
        ('E', _) => return wrong("the day of the week is \"EEE\" or \"EEEE\""),
        ('h', 1 | 2) => return number(out, date.hour),
        ('h', _) => return wrong("the hour of 24 is \"h\" or \"hh\""),
        ('H', 1 | 2) => return number(out, hour_of_twelve),
        ('H', _) => return wrong("the hour of 12 is \"H\" or \"HH\""),
        ('A', 2) => write!(out, "{}", if date.hour < 12 { "AM" } else { "PM" }),
        ('a', 2) => write!(out, "{}", if date.hour < 12 { "am" } else { "pm" }),
        ('A' | 'a', _) => return wrong("the half of the day is \"AA\" or \"aa\""),
        ('m', 1 | 2) => return number(out, date.minute),
        ('m', _) => return wrong("the minute is \"m\" or \"mm\""),
        ('s', 1 | 2) => return number(out, date.second),
        ('s', _) => return wrong("the second is \"s\" or \"ss\""),
        ('Z', 1) => write!(out, "{}", if time.offset() == 0 { "Z".into() } else { time.offset_text(":") }),
        ('Z', 3) => write!(out, "{}", if time.offset() == 0 { "UTC".into() } else { time.offset_text("") }),
        ('Z', 4) => write!(out, "{}", time.offset_text("")),
        ('Z', 5) => write!(out, "{}", time.offset_text(":")),
        ('Z', _) => return wrong("the time zone is \"Z\", \"ZZZ\", \"ZZZZ\" or \"ZZZZZ\""),
        _ => return wrong("there is no such verb; put literal letters in single quotes"),
    };
    written.map_err(|_| EcoString::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: &str, time: &str, expect: &str) {
        let time = Timestamp::parse_strict(time).expect("the test's timestamp is valid");
        let text = format_date(format, &time).unwrap_or_else(|e| e);
        assert_eq!(text, expect, "{format}");
    }

    #[test]
    fn verbs_and_literals() {
        let time = "2018-01-02T23:12:01Z";
        check("DD MMM YYYY hh:mm ZZZ", time, "02 Jan 2018 23:12 UTC");
        check("EEEE, DD-MMM-YY hh:mm:ss ZZZ", time, "Tuesday, 02-Jan-18 23:12:01 UTC");
        check("h 'o''clock' AA aa", time, "23 o'clock PM pm");
        check("''H''", time, "'11'");
        check("EEE, DD MMM YYYY hh:mm:ss Z", "2018-01-02T23:12:01-08:00", "Tue, 02 Jan 2018 23:12:01 -08:00");
        check("ZZZZ ZZZZZ", "2018-01-02T23:12:01-08:30", "-0830 -08:30");
        check("M.D. H:m:s", "0003-01-02T00:02:01Z", "1.2. 12:2:1");
        check("YYYY YY", "0003-01-02T00:02:01Z", "0003 03");
        check("'x", time, "unterminated literal: a quote (') has no partner");
        check("'", time, "unterminated literal: a quote (') has no partner");
        check("'ab''", time, "ab'");
        check("YYY", time, "invalid date format verb \"YYY\": the year is \"YY\" or \"YYYY\"");
        check("é’", time, "é’");
    }
}
