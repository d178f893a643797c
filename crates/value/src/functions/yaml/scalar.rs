//! The value of a scalar.

use ecow::{EcoString, eco_format};

use crate::functions::encoding::decode_base64;
use crate::functions::timestamp::Timestamp;
use crate::{Number, Value};

/// Style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Quoted,
    Block,
}

/// The tags that have a meaning here, without their common beginning.
pub(super) const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// The value of a scalar, by its tag (empty for none), text and style.
pub(super) fn resolve(tag: &str, text: &str, style: Style) -> Result<Value, EcoString> {
    let kind = match (tag, tag.strip_prefix(TAG_PREFIX)) {
        ("", _) => "",
        (_, Some(kind @ ("str" | "bool" | "int" | "float" | "null" | "timestamp" | "binary"))) => kind,
        _ => return Err(eco_format!("unsupported tag {tag:?}")),
    };
    let wrong = || Err(eco_format!("cannot use {text:?} as {tag}"));
    let mut number = matches!(kind, "int" | "float");
    let first = text.bytes().next();
    let special = matches!(first, None | Some(b'+' | b'-' | b'0'..=b'9' | b'.' | b'~'))
        || first.is_some_and(|byte| b"yYnNtTfFoO".contains(&byte));
    if special && !matches!(kind, "str" | "binary") {
        // Quirk: quotes win over tags, and a word of the language wins over a tag that does not fit it.
        if style == Style::Quoted {
            return Ok(Value::string(text));
        }
        if let Some(value) = word(text) {
            return Ok(value);
        }
        match first {
            _ if kind.is_empty() && matches!(text, ".nan" | ".NaN" | ".NAN") => {
                return Err("not-a-number is not supported".into());
            }
            Some(b'.') => {
                if let Some(number) = Number::parse(text) {
                    return Ok(Value::number(number));
                }
            }
            Some(b'+' | b'-' | b'0'..=b'9') => {
                if let Some(time) = Timestamp::parse_yaml(text).filter(|_| matches!(kind, "" | "timestamp")) {
                    return Ok(Value::string(time.to_string()));
                }
                number |= is_integer(text) || is_float(text);
            }
            _ => {}
        }
    }
    if number {
        return parse_number(&text.replace('_', "")).map(Value::number).map_or_else(wrong, Ok);
    }
    match kind {
        "binary" if decode_base64(text).is_err() => wrong(),
        "bool" => word(text).filter(|value| value.as_bool().is_some()).map_or_else(wrong, Ok),
        "timestamp" => match Timestamp::parse_yaml(text) {
            Some(time) => Ok(Value::string(time.to_string())),
            None => wrong(),
        },
        "null" => Ok(Value::null_dynamic()),
        _ => Ok(Value::string(text)),
    }
}

/// The words that are not texts.
fn word(text: &str) -> Option<Value> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::bool(false),
        "" | "~" | "null" | "Null" | "NULL" => Value::null_dynamic(),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::number(Number::infinity()),
        "-.inf" | "-.Inf" | "-.INF" => Value::number(Number::minus_infinity()),
        _ => return None,
    })
}

fn digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

fn is_integer(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits(unsigned, 10)
        || text.strip_prefix("0o").is_some_and(|rest| digits(rest, 8))
        || text.strip_prefix("0x").is_some_and(|rest| digits(rest, 16))
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_fits = match mantissa.contains('.') {
        true => {
            (digits(whole, 10) && (fraction.is_empty() || digits(fraction, 10)))
                || (whole.is_empty() && digits(fraction, 10))
        }
        false => digits(whole, 10),
    };
    mantissa_fits && exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e), 10))
}

fn parse_number(text: &str) -> Option<Number> {
    if let Some(number) = Number::parse(text) {
        return Some(number);
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (prefix, rest) = unsigned.split_at_checked(2)?;
    let radix = match prefix {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    if !digits(rest, radix) {
        return None;
    }
    let magnitude = u64::from_str_radix(rest, radix).ok()?;
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(number)) => Some(Number::from_i64(number)),
        (true, Ok(number)) => Some(Number::from_i64(-number)),
        (true, Err(_)) => (magnitude == 1 << 63).then(|| Number::from_i64(i64::MIN)),
        // Quirk: a plus sign is refused for the upper half of the unsigned range.
        (false, Err(_)) => (!text.starts_with('+')).then(|| Number::from_u64(magnitude)),
    }
}
