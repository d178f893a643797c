//! Numbers from text.

use dashu_int::ops::BitTest;
use dashu_int::{Sign, UBig};

use super::{Finite, Form, MAX_EXPONENT, Number, TEXT_PRECISION};

impl Number {
    /// Decimal text as Go's `big.ParseFloat(text, 10, 512, ToNearestEven)` reads it: `[sign] digits [. digits]`
    /// with an exponent of ten (`e`) or of two (`p`), or `inf` or `Inf`.
    ///
    /// `None` also stands for numbers of a magnitude outside of the supported range.
    pub fn parse(text: &str) -> Option<Number> {
        if text.len() <= 18 && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().ok().map(|value| Number::small(value, TEXT_PRECISION));
        }
        let (sign, text) = split_sign(text);
        if matches!(text, "inf" | "Inf") {
            return Some(Number::big(sign, Form::Infinite, TEXT_PRECISION));
        }
        let (digits, exponent) = match text.find(['e', 'E', 'p', 'P']) {
            None => (text, Exponent { base_two: false, value: 0 }),
            Some(at) => (&text[..at], Exponent::parse(&text[at..])?),
        };
        let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
        if before.len() + behind.len() == 0 || !before.bytes().chain(behind.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let mantissa = UBig::from_str_radix(&format!("{before}{behind}"), 10).ok()?;
        if mantissa.is_zero() {
            return Some(Number::zero(sign, TEXT_PRECISION));
        }
        // 10^e = 2^e * 5^e
        let shift = -(behind.len() as i64);
        let twos = exponent.value.checked_add(shift)?;
        let fives = if exponent.base_two { shift } else { twos };
        scaled(sign, mantissa, twos, fives)
    }

    /// A whole number in a base from 2 to 62, as Go's `big.Int.SetString` reads it; 64 bits of precision, or as many
    /// as it needs.
    pub fn from_int_text(text: &str, radix: u32) -> Option<Number> {
        let (sign, digits) = split_sign(text);
        if digits.is_empty() || !digits.bytes().all(|b| digit_value(b, radix).is_some()) {
            return None;
        }
        if digits.len() as i64 > MAX_EXPONENT {
            return None;
        }
        let mantissa = match radix {
            2..=36 => UBig::from_str_radix(digits, radix).ok()?,
            37..=62 => from_large_radix(digits.as_bytes(), radix),
            _ => return None,
        };
        if mantissa.is_zero() {
            return Some(Number::ZERO);
        }
        let precision = mantissa.bit_len().max(64) as u32;
        let number = Number::finite(sign, Finite { mantissa, exponent: 0 }, precision);
        (!number.is_infinite()).then_some(number)
    }
}

struct Exponent {
    base_two: bool,
    value: i64,
}

impl Exponent {
    /// `e`, `E`, `p` or `P`, a sign, digits.
    fn parse(text: &str) -> Option<Exponent> {
        let base_two = text.starts_with(['p', 'P']);
        let digits = text.get(1..)?;
        let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(Exponent { base_two, value: digits.parse().ok()? })
    }
}

fn split_sign(text: &str) -> (Sign, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (Sign::Negative, rest),
        None => (Sign::Positive, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `mantissa * 2^twos * 5^fives`
fn scaled(sign: Sign, mantissa: UBig, twos: i64, fives: i64) -> Option<Number> {
    const GO_MAX: i64 = i32::MAX as i64;
    let bits = mantissa.bit_len() as i64;
    // The size of the result and of the power of five, known well enough to stay away from huge powers.
    let top = twos.checked_add(bits)?;
    if !(-GO_MAX..=GO_MAX).contains(&top) {
        return None;
    }
    let size_of_fives = (fives.abs() as f64 * 5f64.log2()) as i64;
    let size = if fives < 0 { top - size_of_fives } else { top + size_of_fives };
    if size > GO_MAX || (fives > 0 && size_of_fives > GO_MAX) {
        return Some(Number::big(sign, Form::Infinite, TEXT_PRECISION));
    }
    if size < -GO_MAX || (fives < 0 && size_of_fives > GO_MAX) {
        return Some(Number::zero(sign, TEXT_PRECISION));
    }
    if size.abs() >= MAX_EXPONENT || size_of_fives > 2 * MAX_EXPONENT {
        return None;
    }
    let value = Finite { mantissa, exponent: twos };
    let value = match fives {
        0 => value,
        1.. => value.times(&power_of_five(fives as u64)),
        _ => value.by(&power_of_five(fives.unsigned_abs()), TEXT_PRECISION),
    };
    Some(Number::finite(sign, value, TEXT_PRECISION))
}

/// `5^n` with some more bits than the result of parsing has.
// Quirk: the power is rounded on its way, just as often as in Go, so that the last digits of very large and very small
// numbers come out the same.
fn power_of_five(n: u64) -> Finite {
    const PRECISION: u32 = TEXT_PRECISION + 64;
    const FIRST: u64 = 27;
    let five = |n: u64| Finite { mantissa: UBig::from(5u64.pow(n as u32)), exponent: 0 };
    if n <= FIRST {
        return five(n);
    }
    let mut power = five(FIRST);
    let mut factor = five(1);
    let mut n = n - FIRST;
    while n > 0 {
        if n & 1 == 1 {
            power = power.times(&factor).round(PRECISION);
        }
        factor = factor.times(&factor).round(PRECISION + 64);
        n >>= 1;
    }
    power
}

/// Go's digits: letters of either case up to base 36, beyond that capital letters come after the small ones.
fn digit_value(byte: u8, radix: u32) -> Option<u32> {
    let value = match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'z' => byte - b'a' + 10,
        b'A'..=b'Z' if radix <= 36 => byte - b'A' + 10,
        b'A'..=b'Z' => byte - b'A' + 36,
        _ => return None,
    };
    (u32::from(value) < radix).then_some(value.into())
}

fn from_large_radix(digits: &[u8], radix: u32) -> UBig {
    if digits.len() <= 10 {
        // 62^10 < 2^64
        let value =
            digits.iter().fold(0u64, |n, b| n * u64::from(radix) + u64::from(digit_value(*b, radix).unwrap_or(0)));
        return value.into();
    }
    let (high, low) = digits.split_at(digits.len() / 2);
    from_large_radix(high, radix) * UBig::from(radix).pow(low.len()) + from_large_radix(low, radix)
}
