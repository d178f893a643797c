//! Numbers as text.

use dashu_int::{Sign, UBig};

use super::decimal::Decimal;
use super::{Form, Number, Parts};

const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

impl Number {
    /// Text in one of the formats of Go's `big.Float.Text`: `f` without exponent, `e` and `E` with one, `g` and `G`
    /// with one where it is large. `digits` counts those behind the point, for `g` and `G` all of them; `None` selects
    /// the shortest unique representation.
    pub fn format(&self, format: u8, digits: Option<usize>) -> String {
        let Parts { sign, form } = self.parts();
        let mut out = String::from(if sign == Sign::Negative { "-" } else { "" });
        let mut decimal = match (&form, digits) {
            (Form::Infinite, _) => return String::from(if sign == Sign::Negative { "-Inf" } else { "+Inf" }),
            (Form::Zero, _) => Decimal::zero(),
            (Form::Finite(f), None) => Decimal::shortest(f, self.precision()),
            (Form::Finite(f), Some(_)) => Decimal::of(f),
        };
        let length = |d: &Decimal| d.digits.len() as i64;
        let wanted = digits.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
        match format {
            b'e' | b'E' => {
                if let Some(n) = wanted {
                    decimal.round(n.saturating_add(1));
                }
                let places = wanted.unwrap_or(length(&decimal) - 1);
                write_scientific(&mut out, format, places, &decimal);
            }
            b'g' | b'G' => {
                let mut count = wanted.map_or_else(|| length(&decimal), |n| n.max(1));
                if wanted.is_some() {
                    decimal.round(count);
                }
                let mut limit = count;
                if limit > length(&decimal) && length(&decimal) >= decimal.exponent {
                    limit = length(&decimal);
                }
                if wanted.is_none() {
                    limit = 6;
                }
                let exponent = decimal.exponent - 1;
                if exponent < -4 || exponent >= limit {
                    let places = count.min(length(&decimal)) - 1;
                    write_scientific(&mut out, format - 2, places, &decimal);
                } else {
                    if count > decimal.exponent {
                        count = length(&decimal);
                    }
                    write_plain(&mut out, (count - decimal.exponent).max(0), &decimal);
                }
            }
            _ => {
                if let Some(n) = wanted {
                    decimal.round(decimal.exponent.saturating_add(n));
                }
                let places = wanted.unwrap_or((length(&decimal) - decimal.exponent).max(0));
                write_plain(&mut out, places, &decimal);
            }
        }
        out
    }

    /// The whole part in a base from 2 to 62, with a minus sign where negative. Empty for infinities.
    pub fn to_int_text(&self, radix: u32) -> Option<String> {
        let Parts { sign, form } = self.parts();
        let whole = match form {
            Form::Infinite => return None,
            Form::Zero => UBig::ZERO,
            Form::Finite(f) => f.whole(),
        };
        let sign = if sign == Sign::Negative && !whole.is_zero() { "-" } else { "" };
        let digits = match radix {
            2..=36 => whole.in_radix(radix).to_string(),
            37..=62 => in_large_radix(whole, radix),
            _ => return None,
        };
        Some(format!("{sign}{digits}"))
    }
}

fn in_large_radix(mut value: UBig, radix: u32) -> String {
    use dashu_int::ops::DivRem;
    let mut digits = Vec::new();
    while !value.is_zero() || digits.is_empty() {
        let (quotient, digit): (UBig, u32) = value.div_rem(radix);
        digits.push(DIGITS[digit as usize % DIGITS.len()]);
        value = quotient;
    }
    digits.iter().rev().map(|d| char::from(*d)).collect()
}

/// `d.dddde±dd`
fn write_scientific(out: &mut String, letter: u8, places: i64, decimal: &Decimal) {
    out.push(char::from(decimal.at(0)));
    if places > 0 {
        out.push('.');
        write_digits(out, decimal, 1, places);
    }
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.exponent - 1 };
    out.push(char::from(letter));
    out.push(if exponent < 0 { '-' } else { '+' });
    out.push_str(&format!("{:02}", exponent.unsigned_abs()));
}

/// `ddd.ddd`
fn write_plain(out: &mut String, places: i64, decimal: &Decimal) {
    if decimal.exponent > 0 {
        write_digits(out, decimal, 0, decimal.exponent);
    } else {
        out.push('0');
    }
    if places > 0 {
        out.push('.');
        write_digits(out, decimal, decimal.exponent, places);
    }
}

fn write_digits(out: &mut String, decimal: &Decimal, from: i64, count: i64) {
    out.extend((from..from.saturating_add(count)).map(|digit| char::from(decimal.at(digit))));
}
