//! Formats of AWS in arguments: durations of Go, ARNs, identifiers of KMS keys.

use std::time::Duration;

/// Reads a duration as Go writes it: `1h30m`, `900s`. The error is the second half of a sentence.
pub(crate) fn duration(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "it is not a duration such as \"1h30m\" or \"900s\"";
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut seconds = 0.0;
    let mut parts = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(WRONG)?;
        let (number, after) = rest.split_at(end);
        let number: f64 = number.parse().map_err(|_| WRONG)?;
        let units = [
            ("ns", 1e-9),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("μs", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
        ];
        let length = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, remaining) = after.split_at(length);
        let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or(WRONG)?;
        seconds += number * factor;
        parts += 1;
        rest = remaining;
    }
    match parts {
        0 => Err(WRONG),
        _ => Duration::try_from_secs_f64(seconds).map_err(|_| WRONG),
    }
}

/// The resource of an ARN: everything after the fifth colon.
pub(crate) fn arn_resource(text: &str) -> Option<&str> {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    match parts[..] {
        ["arn", _, _, _, _, resource] => Some(resource),
        _ => None,
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Whether a text starts with the UUID of a key.
fn starts_with_uuid(text: &str) -> bool {
    let Some(text) = text.get(..36) else { return false };
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && parts.iter().all(|part| is_hex(part))
        && parts[2].starts_with(['1', '2', '3', '4', '5'])
        && parts[3].starts_with(['a', 'b', '8', '9'])
}

fn starts_with_multi_region_key(text: &str) -> bool {
    text.strip_prefix("mrk-").and_then(|rest| rest.get(..32)).is_some_and(is_hex)
}

fn is_alias(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-');
    text.strip_prefix("alias/").is_some_and(|name| !name.is_empty() && name.bytes().all(is_allowed))
}

/// Whether a text can be the ID of a KMS key.
pub(crate) fn is_key_id(text: &str) -> bool {
    // Quirk: only the beginning of a UUID and the end of an alias are compared.
    let from = |(at, _): (usize, char)| text.get(at..).unwrap_or_default();
    starts_with_uuid(text)
        || text.char_indices().map(from).any(|rest| starts_with_multi_region_key(rest) || is_alias(rest))
}

/// Whether the resource of an ARN is a KMS key or alias.
pub(crate) fn is_key_resource(resource: &str) -> bool {
    let is_key =
        |id: &str| (id.len() == 36 && starts_with_uuid(id)) || (id.len() == 36 && starts_with_multi_region_key(id));
    resource.strip_prefix("key/").is_some_and(is_key) || is_alias(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, seconds) in
            [("1h30m", 5400.0), ("900s", 900.0), ("1.5h", 5400.0), ("0", 0.0), ("1500ms", 1.5), ("+2m", 120.0)]
        {
            assert_eq!(duration(text).map(|found| found.as_secs_f64()), Ok(seconds), "{text}");
        }
        for wrong in ["", "900", "h", "1x", "-1h", "1h30", "1..5h", "é"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_of_kms() {
        let id = "57ff7a43-341d-46b6-aee3-a450c9de6dc8";
        let region_key = format!("mrk-{}", "f".repeat(32));
        for good in [id, &region_key, "alias/tofu", "alias/a/b_c-d"] {
            assert!(is_key_id(good), "{good}");
        }
        for bad in ["", "alias/", "57ff7a43", "key/57ff7a43-341d-46b6-aee3-a450c9de6dc8", "alias/a b"] {
            assert!(!is_key_id(bad), "{bad}");
        }
        for (arn, is_key) in [
            (format!("arn:aws:kms:us-east-1:1:key/{id}"), true),
            ("arn:aws:kms:us-east-1:1:alias/x".to_owned(), true),
            (format!("arn:aws:kms:us-east-1:1:key/{id}0"), false),
            ("arn:aws:s3:::bucket".to_owned(), false),
        ] {
            assert_eq!(arn_resource(&arn).is_some_and(is_key_resource), is_key, "{arn}");
        }
    }
}
