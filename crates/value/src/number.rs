//! Numbers as the language knows them: binary floating point whose precision travels with the value.
//!
//! The rules are those of Go's `big.Float` with rounding to nearest even, because results are visible to users down to
//! the last digit: a literal has 512 bits of precision, a machine integer 64, a machine float 53, and the result of an
//! operation has the larger precision of its operands. There are infinities and a negative zero, but no not-a-number.
//!
//! Whole numbers that fit in 64 bits, which is nearly all of them, are stored inline; all other numbers are a shared big
//! integer with a binary exponent.
//!
//! Not here: magnitudes beyond about `10^±315000`. Where Go would go on up to `10^±646000000`, arithmetic overflows to
//! infinity or to zero as it does there in the end, so that printing a number always takes bounded time and memory.

mod arith;
mod decimal;
mod format;
pub(crate) mod machine;
mod parse;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use dashu_int::ops::BitTest;
use dashu_int::{Sign, UBig};

/// Precision of numbers read from text.
const TEXT_PRECISION: u32 = 512;
/// Largest and smallest binary exponent: `2^±MAX_EXPONENT`.
const MAX_EXPONENT: i64 = 1 << 20;

/// A number.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    /// A whole number (zero is the positive zero) that has no more significant bits than its precision.
    Small {
        precision: u32,
        value: i64,
    },
    Big(Arc<Big>),
}

struct Big {
    sign: Sign,
    precision: u32,
    form: Form,
}

/// The magnitude.
#[derive(Clone)]
enum Form {
    Zero,
    Finite(Finite),
    Infinite,
}

/// `mantissa * 2^exponent`. Inside a [`Number`] the mantissa is odd and has at most `precision` bits.
#[derive(Clone)]
struct Finite {
    mantissa: UBig,
    exponent: i64,
}

/// A number taken apart: its sign and its magnitude.
struct Parts {
    sign: Sign,
    form: Form,
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number::small(0, 64);
    /// One.
    pub const ONE: Number = Number::small(1, 64);

    const fn small(value: i64, precision: u32) -> Number {
        Number(Repr::Small { precision, value })
    }
    /// A whole number with 64 bits of precision.
    pub const fn from_i64(value: i64) -> Number {
        Number::small(value, 64)
    }
    /// A whole number with 64 bits of precision.
    pub fn from_u64(value: u64) -> Number {
        match i64::try_from(value) {
            Ok(value) => Number::from_i64(value),
            Err(_) => Number::finite(Sign::Positive, Finite { mantissa: value.into(), exponent: 0 }, 64),
        }
    }
    /// A machine float, 53 bits of precision. Not-a-number has no counterpart.
    pub fn from_f64(value: f64) -> Option<Number> {
        const PRECISION: u32 = 53;
        let sign = if value.is_sign_negative() { Sign::Negative } else { Sign::Positive };
        if value.is_nan() {
            return None;
        }
        if value.is_infinite() {
            return Some(Number::big(sign, Form::Infinite, PRECISION));
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (bits >> 52) & 0x7ff {
            0 => (fraction, -1074),
            biased => (fraction | 1 << 52, biased as i64 - 1075),
        };
        if mantissa == 0 {
            return Some(Number::zero(sign, PRECISION));
        }
        Some(Number::finite(sign, Finite { mantissa: mantissa.into(), exponent }, PRECISION))
    }
    /// The same number as a machine float, if it has more precision than it needs to be one. Whole numbers stay what they are.
    pub fn as_machine_float(&self) -> Option<Number> {
        if self.precision() <= 53 || self.is_infinite() || self.is_integer() {
            return None;
        }
        Number::from_f64(self.to_f64()).filter(|float| float.cmp(self).is_eq())
    }
    /// Infinity, of no particular precision.
    pub fn infinity() -> Number {
        Number::big(Sign::Positive, Form::Infinite, 0)
    }
    /// Negative infinity, of no particular precision.
    pub fn minus_infinity() -> Number {
        Number::big(Sign::Negative, Form::Infinite, 0)
    }

    fn big(sign: Sign, form: Form, precision: u32) -> Number {
        Number(Repr::Big(Arc::new(Big { sign, precision, form })))
    }
    fn zero(sign: Sign, precision: u32) -> Number {
        match sign {
            Sign::Positive => Number::small(0, precision),
            Sign::Negative => Number::big(sign, Form::Zero, precision),
        }
    }
    /// Rounds to the precision, normalizes, overflows to infinity or zero.
    fn finite(sign: Sign, value: Finite, precision: u32) -> Number {
        let Some(Finite { mantissa, exponent }) = value.round(precision).normal() else {
            return Number::zero(sign, precision);
        };
        let bits = mantissa.bit_len() as i64;
        let top = bits + exponent;
        if top > MAX_EXPONENT {
            return Number::big(sign, Form::Infinite, precision);
        }
        if top < -MAX_EXPONENT {
            return Number::zero(sign, precision);
        }
        if exponent >= 0 && top <= 63 {
            let magnitude = (mantissa << exponent as usize).try_into().unwrap_or(0i64);
            return Number::small(sign * magnitude, precision);
        }
        Number::big(sign, Form::Finite(Finite { mantissa, exponent }), precision)
    }
    fn parts(&self) -> Parts {
        match &self.0 {
            Repr::Small { value: 0, .. } => Parts { sign: Sign::Positive, form: Form::Zero },
            Repr::Small { value, .. } => {
                let zeros = value.trailing_zeros();
                let mantissa = UBig::from(value.unsigned_abs() >> zeros);
                let sign = if *value < 0 { Sign::Negative } else { Sign::Positive };
                Parts { sign, form: Form::Finite(Finite { mantissa, exponent: i64::from(zeros) }) }
            }
            Repr::Big(big) => Parts { sign: big.sign, form: big.form.clone() },
        }
    }

    // ---- questions ------------------------------------------------------------------------------------------------

    /// Bits of precision.
    pub fn precision(&self) -> u32 {
        match &self.0 {
            Repr::Small { precision, .. } => *precision,
            Repr::Big(big) => big.precision,
        }
    }
    /// Whether it is an infinity.
    pub fn is_infinite(&self) -> bool {
        matches!(&self.0, Repr::Big(big) if matches!(big.form, Form::Infinite))
    }
    /// Whether it is zero, of whatever sign.
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value == 0,
            Repr::Big(big) => matches!(big.form, Form::Zero),
        }
    }
    /// Whether it carries a minus sign, as the negative zero does too.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value < 0,
            Repr::Big(big) => big.sign == Sign::Negative,
        }
    }
    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        match (self.is_zero(), self.is_negative()) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
    /// Whether it is a whole number. Infinities are not.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Small { .. } => true,
            Repr::Big(big) => match &big.form {
                Form::Zero => true,
                Form::Finite(f) => f.exponent >= 0,
                Form::Infinite => false,
            },
        }
    }
    /// The value, where it is a whole number that fits.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small { value, .. } => Some(*value),
            Repr::Big(big) => match &big.form {
                Form::Zero => Some(0),
                // Every other whole number that fits is a small one.
                Form::Finite(f) => {
                    (big.sign == Sign::Negative && f.exponent == 63 && f.mantissa.is_one()).then_some(i64::MIN)
                }
                Form::Infinite => None,
            },
        }
    }
    /// The value, where it is a whole number so small that its shortest text is exact at any precision in use.
    fn to_plain_integer(&self) -> Option<i64> {
        const EXACT: i64 = 1 << 53;
        self.to_i64().filter(|value| (-EXACT..=EXACT).contains(value))
    }
    /// The value, where it is a whole number that fits and is not negative.
    pub fn to_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Small { value, .. } => u64::try_from(*value).ok(),
            Repr::Big(big) => match &big.form {
                Form::Zero => Some(0),
                Form::Finite(f) if big.sign == Sign::Positive && f.exponent >= 0 && f.top() <= 64 => {
                    f.whole().try_into().ok()
                }
                _ => None,
            },
        }
    }
    /// The nearest machine float; too large magnitudes become infinite, too small ones zero.
    pub fn to_f64(&self) -> f64 {
        let Parts { sign, form } = self.parts();
        let magnitude = match form {
            Form::Zero => 0.0,
            Form::Infinite => f64::INFINITY,
            Form::Finite(f) => f.to_f64(),
        };
        sign * magnitude
    }
}

impl Finite {
    /// The position above the highest bit: the value is less than `2^top`, and at least half of it.
    fn top(&self) -> i64 {
        self.mantissa.bit_len() as i64 + self.exponent
    }
    /// The integer part.
    fn whole(&self) -> UBig {
        if self.exponent >= 0 {
            &self.mantissa << self.exponent as usize
        } else {
            &self.mantissa >> usize::try_from(-self.exponent).unwrap_or(usize::MAX)
        }
    }
    /// At most `precision` bits, rounded to nearest, halves to even.
    fn round(self, precision: u32) -> Finite {
        let bits = self.mantissa.bit_len();
        let Some(drop) = bits.checked_sub(precision as usize).filter(|drop| *drop > 0) else { return self };
        let half = self.mantissa.bit(drop - 1);
        let up = half && {
            let odd = self.mantissa.bit(drop);
            let beyond_half = self.mantissa.trailing_zeros().is_some_and(|zeros| zeros < drop - 1);
            odd || beyond_half
        };
        let mut mantissa = self.mantissa >> drop;
        if up {
            mantissa += UBig::ONE;
        }
        Finite { mantissa, exponent: self.exponent + drop as i64 }
    }
    /// With an odd mantissa. Zero has no such form.
    fn normal(self) -> Option<Finite> {
        let zeros = self.mantissa.trailing_zeros()?;
        if zeros == 0 {
            return Some(self);
        }
        Some(Finite { mantissa: self.mantissa >> zeros, exponent: self.exponent + zeros as i64 })
    }
    fn to_f64(&self) -> f64 {
        let top = self.top();
        if top > 1024 {
            return f64::INFINITY;
        }
        // Below the smallest normal float the precision shrinks bit by bit.
        let precision = if top >= -1021 { 53 } else { 53 + (top + 1021) };
        if precision < 0 {
            return 0.0;
        }
        let rounded = self.clone().round(precision as u32);
        let mantissa: u64 = rounded.mantissa.try_into().unwrap_or(0);
        scale(mantissa, rounded.exponent)
    }
}

/// `mantissa * 2^exponent`, of a mantissa and exponent for which this is exact or beyond the largest float.
fn scale(mantissa: u64, exponent: i64) -> f64 {
    // Two factors, because the power alone may be out of range where the product is not.
    let power = |e: i64| 2f64.powi(e.clamp(-1022, 1023) as i32);
    let first = exponent.clamp(-1000, 1000);
    mantissa as f64 * power(first) * power(exponent - first)
}

/// Equality as the language has it: equal if both would be written with the same shortest text. That is equality of
/// values wherever the precisions are the same; of different precisions, 0.1 equals 0.1.
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        if let (Some(a), Some(b)) = (self.to_plain_integer(), other.to_plain_integer()) {
            return a == b;
        }
        match self.precision() == other.precision() {
            true => self.cmp(other) == Ordering::Equal,
            false => self.sign() == other.sign() && self.to_string() == other.to_string(),
        }
    }
}
impl Eq for Number {}

/// Agrees with equality.
impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.to_plain_integer() {
            Some(small) => small.hash(state),
            None => self.to_string().hash(state),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Order by exact value, as the language's comparison operators have it.
// Quirk: numbers of different precision can be equal by their text and yet be one less than the other.
impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0) {
            return a.cmp(b);
        }
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign.is_ne() {
            return by_sign;
        }
        let (a, b) = (self.parts(), other.parts());
        let by_magnitude = match (&a.form, &b.form) {
            (Form::Finite(a), Form::Finite(b)) => a.top().cmp(&b.top()).then_with(|| {
                let shift = a.exponent - b.exponent;
                if shift >= 0 {
                    (&a.mantissa << shift as usize).cmp(&b.mantissa)
                } else {
                    a.mantissa.cmp(&(&b.mantissa << -shift as usize))
                }
            }),
            (a, b) => rank(a).cmp(&rank(b)),
        };
        if a.sign == Sign::Negative { by_magnitude.reverse() } else { by_magnitude }
    }
}

fn rank(form: &Form) -> u8 {
    match form {
        Form::Zero => 0,
        Form::Finite(_) => 1,
        Form::Infinite => 2,
    }
}

/// The shortest decimal text without an exponent: `format(b'f', None)`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small { value, precision } if *precision >= 64 => fmt::Display::fmt(value, f),
            _ => f.pad(&self.format(b'f', None)),
        }
    }
}
impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::from_i64(value)
    }
}

#[cfg(test)]
mod tests;
