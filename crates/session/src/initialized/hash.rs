//! The number by which OpenTofu recognises a `backend` block in the record of `init`: a CRC-32 over the type and the values of
//! the block, without `-backend-config`. Both tools compute the same number, so each accepts the record of the other.

use yuba_backend::BackendConfiguration;
use yuba_value::quote::quote;
use yuba_value::{Number, Value, View};

/// The hash of a block.
pub(crate) fn of_block(block: &BackendConfiguration) -> u64 {
    let mut text = format!("<{};", quote(block.kind()));
    describe(block.recorded().value(), &mut text);
    text.push_str(";>");
    u64::from(crc32(text.as_bytes()))
}

/// Writes a value in the form that is hashed. It has no names: the order of attributes is that of their names.
fn describe(value: &Value, out: &mut String) {
    match value.view_ignoring_marks() {
        View::Null => out.push('~'),
        View::Unknown(_) => out.push('?'),
        View::Bool(value) => out.push(if value { 'T' } else { 'F' }),
        View::Number(number) => out.push_str(&ten_digits(number)),
        View::String(text) => out.push_str(&quote(text)),
        View::List(items) | View::Set(items) => all(items, ('[', ']'), out),
        View::Tuple(items) => all(items, ('<', '>'), out),
        View::Object(_) => {
            let mut entries = value.entries().unwrap_or_default();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            let items: Vec<Value> = entries.into_iter().map(|(_, value)| value).collect();
            all(&items, ('<', '>'), out);
        }
        View::Map(entries) => {
            out.push('{');
            for (key, value) in entries {
                out.push_str(&quote(key));
                out.push(':');
                describe(value, out);
                out.push(';');
            }
            out.push('}');
        }
    }
}

fn all(items: &[Value], (begin, end): (char, char), out: &mut String) {
    out.push(begin);
    for item in items {
        describe(item, out);
        out.push(';');
    }
    out.push(end);
}

/// A number with at most ten significant digits, with an exponent where the digits do not reach the point.
fn ten_digits(number: &Number) -> String {
    let value = number.to_f64();
    if !value.is_finite() {
        return if value < 0.0 { "-Inf".to_owned() } else { "+Inf".to_owned() };
    }
    let rounded = format!("{value:.9e}");
    let Some((digits, exponent)) = rounded.split_once('e') else { return rounded };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let all: String = digits.chars().filter(char::is_ascii_digit).collect();
    let significant = match all.trim_end_matches('0') {
        "" => "0",
        some => some,
    };
    let count = i32::try_from(significant.len()).unwrap_or(10);
    if !(-4..10).contains(&exponent) {
        let (first, rest) = significant.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{direction}{:02}", exponent.abs());
    }
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    match exponent {
        ..0 => format!("{sign}0.{}{significant}", zeros(-exponent - 1)),
        _ if count <= exponent + 1 => format!("{sign}{significant}{}", zeros(exponent + 1 - count)),
        _ => {
            let (whole, rest) = significant.split_at(usize::try_from(exponent + 1).unwrap_or_default());
            format!("{sign}{whole}.{rest}")
        }
    }
}

/// The checksum of ZIP and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = sum & 1;
            sum >>= 1;
            if carry == 1 {
                sum ^= 0xEDB8_8320;
            }
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yuba_backend::{BackendEnvironment, Backends};

    use super::*;

    /// Observed in records of `tofu init`.
    #[test]
    fn is_what_opentofu_records() {
        let backends = Backends::new(BackendEnvironment::new(Default::default(), ""));
        let local = backends.find("local").expect("every version has it");
        let hash = |arguments| of_block(&BackendConfiguration::of_json(local, &arguments));
        assert_eq!(hash(json!({ "path": "a.tfstate" })), 2_985_648_108);
        assert_eq!(hash(json!({ "path": "b.tfstate" })), 2_554_194_718);
    }

    /// Arguments that OpenTofu does not have are part of it only where they are set.
    #[test]
    fn leaves_out_own_arguments() {
        let backends = Backends::new(BackendEnvironment::new(Default::default(), ""));
        let pg = backends.find("pg").expect("every version has it");
        let hash = |arguments| of_block(&BackendConfiguration::of_json(pg, &arguments));
        let seven = r#"<"pg";<"c";~;"s";~;~;~;~;>;>"#;
        assert_eq!(hash(json!({ "conn_str": "c", "schema_name": "s" })), u64::from(crc32(seven.as_bytes())));
        let with_layout = json!({ "conn_str": "c", "schema_name": "s", "layout": "resources" });
        assert_ne!(hash(with_layout), u64::from(crc32(seven.as_bytes())));
    }

    /// Computed by go-cty for the same values, with all types of arguments.
    #[test]
    fn covers_nested_values() {
        let hash = |arguments| of_block(&BackendConfiguration::of_json(yuba_backend::fake::FAKE, &arguments));
        let all = json!({
            "bucket": "b", "region": "eu", "access_key": "", "max_retries": 5, "use_lockfile": true, "allowed": ["a", "b"],
            "endpoints": { "s3": "http://localhost:9000" }, "workspaces": { "prefix": "p-\"é\"\n\u{a0}" },
        });
        assert_eq!(hash(all), 473_937_596);
        assert_eq!(hash(json!({ "bucket": "b", "max_retries": 0.25, "use_lockfile": false })), 3_731_591_667);
    }

    /// As Go prints them with `%.10g`.
    #[test]
    fn numbers_have_ten_digits() {
        let shown = |value: f64| ten_digits(&Number::from_f64(value).expect("it is a number"));
        let cases = [
            (0.0, "0"),
            (5.0, "5"),
            (-30.0, "-30"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (0.000_012_5, "1.25e-05"),
            (1234.25, "1234.25"),
            (9_999_999_999.0, "9999999999"),
            (10_000_000_000.0, "1e+10"),
            (12_345_678_901.0, "1.23456789e+10"),
        ];
        for (value, expected) in cases {
            assert_eq!(shown(value), expected);
        }
    }
}
