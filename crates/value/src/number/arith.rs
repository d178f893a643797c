//! Arithmetic: exact results, rounded once to the precision of the result.
//!
//! `None` stands for the cases that have no number as their result: the difference of equal infinities, zero times
//! infinity, zero by zero, infinity by infinity.

use dashu_int::ops::{BitTest, DivRem};
use dashu_int::{Sign, UBig};

use super::{Finite, Form, Number, Parts, Repr};

impl Number {
    /// The sum.
    pub fn add(&self, other: &Number) -> Option<Number> {
        let precision = self.precision().max(other.precision());
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && let Some(sum) = a.checked_add(*b)
            && precision >= 64
        {
            return Some(Number::small(sum, precision));
        }
        self.add_rounded(other, precision)
    }
    /// The difference.
    pub fn sub(&self, other: &Number) -> Option<Number> {
        self.add(&other.neg())
    }
    fn add_rounded(&self, other: &Number, precision: u32) -> Option<Number> {
        let (a, b) = (self.parts(), other.parts());
        Some(match (a.form, b.form) {
            (Form::Infinite, Form::Infinite) if a.sign != b.sign => return None,
            (Form::Infinite, _) => Number::big(a.sign, Form::Infinite, precision),
            (_, Form::Infinite) => Number::big(b.sign, Form::Infinite, precision),
            // Negative if both are.
            (Form::Zero, Form::Zero) => Number::zero(a.sign.max(b.sign), precision),
            (Form::Finite(f), Form::Zero) => Number::finite(a.sign, f, precision),
            (Form::Zero, Form::Finite(f)) => Number::finite(b.sign, f, precision),
            (Form::Finite(x), Form::Finite(y)) => {
                let exponent = x.exponent.min(y.exponent);
                let x = x.mantissa << (x.exponent - exponent) as usize;
                let y = y.mantissa << (y.exponent - exponent) as usize;
                let (sign, mantissa) = if a.sign == b.sign {
                    (a.sign, x + y)
                } else if x >= y {
                    (a.sign, x - y)
                } else {
                    (b.sign, y - x)
                };
                if mantissa.is_zero() {
                    return Some(Number::zero(Sign::Positive, precision));
                }
                Number::finite(sign, Finite { mantissa, exponent }, precision)
            }
        })
    }

    /// The product. Its precision grows up to 512 bits where that keeps it exact.
    pub fn mul(&self, other: &Number) -> Option<Number> {
        let precision = self.precision().max(other.precision());
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && let Some(product) = a.checked_mul(*b)
            && precision >= 64
            && (product != 0 || (*a >= 0 && *b >= 0))
        {
            return Some(Number::small(product, precision));
        }
        // Quirk: computed with exactly 512 bits, be the operands' precision smaller or larger.
        let product = self.mul_rounded(other, super::TEXT_PRECISION)?;
        let needed = match product.parts().form {
            Form::Finite(f) => f.mantissa.bit_len() as u32,
            Form::Zero | Form::Infinite => 0,
        };
        Some(product.with_precision(precision.max(needed)))
    }
    fn mul_rounded(&self, other: &Number, precision: u32) -> Option<Number> {
        let (a, b) = (self.parts(), other.parts());
        let sign = a.sign * b.sign;
        Some(match (a.form, b.form) {
            (Form::Zero, Form::Infinite) | (Form::Infinite, Form::Zero) => return None,
            (Form::Infinite, _) | (_, Form::Infinite) => Number::big(sign, Form::Infinite, precision),
            (Form::Zero, _) | (_, Form::Zero) => Number::zero(sign, precision),
            (Form::Finite(x), Form::Finite(y)) => Number::finite(sign, x.times(&y), precision),
        })
    }

    /// The quotient. A number by zero is an infinity.
    pub fn div(&self, other: &Number) -> Option<Number> {
        let precision = self.precision().max(other.precision());
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && precision >= 64
            && a.checked_rem(*b) == Some(0)
            && *a != 0
        {
            return Some(Number::small(a / b, precision));
        }
        let (a, b) = (self.parts(), other.parts());
        let sign = a.sign * b.sign;
        Some(match (a.form, b.form) {
            (Form::Zero, Form::Zero) | (Form::Infinite, Form::Infinite) => return None,
            (Form::Infinite, _) | (_, Form::Zero) => Number::big(sign, Form::Infinite, precision),
            (Form::Zero, _) | (_, Form::Infinite) => Number::zero(sign, precision),
            (Form::Finite(x), Form::Finite(y)) => Number::finite(sign, x.by(&y, precision), precision),
        })
    }

    /// The remainder of the division truncated to a whole number; it has the sign of `self`.
    // Quirk: the remainder of a division by zero is the dividend; with an infinity it is their product.
    pub fn rem(&self, other: &Number) -> Option<Number> {
        let precision = self.precision();
        if let (Repr::Small { value: a, .. }, Repr::Small { value: b, .. }) = (&self.0, &other.0)
            && precision >= 64
            && let Some(rem) = a.checked_rem(*b)
        {
            return Some(Number::small(rem, precision));
        }
        if self.is_infinite() || other.is_infinite() {
            return self.mul(other);
        }
        if other.is_zero() {
            return Some(self.clone());
        }
        let quotient = self.div(other)?.trunc().with_precision(precision);
        self.add_rounded(&other.mul_rounded(&quotient, precision)?.neg(), precision)
    }

    /// The number with the sign turned.
    #[must_use]
    pub fn neg(&self) -> Number {
        match &self.0 {
            Repr::Small { value, precision } => match value.checked_neg() {
                Some(0) => Number::zero(Sign::Negative, *precision),
                Some(value) => Number::small(value, *precision),
                None => Number::finite(
                    Sign::Positive,
                    Finite { mantissa: value.unsigned_abs().into(), exponent: 0 },
                    *precision,
                ),
            },
            Repr::Big(big) => match &big.form {
                Form::Zero => Number::zero(-big.sign, big.precision),
                form => Number::big(-big.sign, form.clone(), big.precision),
            },
        }
    }
    /// The magnitude.
    #[must_use]
    pub fn abs(&self) -> Number {
        if self.is_negative() { self.neg() } else { self.clone() }
    }
    /// Without what is behind the point.
    #[must_use]
    pub fn trunc(&self) -> Number {
        self.to_whole(|_sign| false)
    }
    /// The largest whole number that is not larger.
    #[must_use]
    pub fn floor(&self) -> Number {
        self.to_whole(|sign| sign == Sign::Negative)
    }
    /// The smallest whole number that is not smaller.
    #[must_use]
    pub fn ceil(&self) -> Number {
        self.to_whole(|sign| sign == Sign::Positive)
    }
    /// A whole number; `away` says by the sign whether what is behind the point leads away from zero.
    fn to_whole(&self, away: impl Fn(Sign) -> bool) -> Number {
        let Parts { sign, form } = self.parts();
        match form {
            // There is no negative zero among whole numbers.
            Form::Zero => Number::zero(Sign::Positive, self.precision()),
            Form::Finite(f) if f.exponent < 0 => {
                let mut mantissa = f.whole();
                if away(sign) {
                    mantissa += UBig::ONE;
                }
                if mantissa.is_zero() {
                    return Number::zero(Sign::Positive, self.precision());
                }
                Number::finite(sign, Finite { mantissa, exponent: 0 }, self.precision())
            }
            Form::Finite(_) | Form::Infinite => self.clone(),
        }
    }
    /// Rounded to that many bits.
    #[must_use]
    pub fn with_precision(&self, precision: u32) -> Number {
        match &self.0 {
            Repr::Small { value, .. } if precision >= 64 => Number::small(*value, precision),
            _ => match self.parts() {
                Parts { sign, form: Form::Finite(f) } => Number::finite(sign, f, precision),
                Parts { sign, form: Form::Zero } => Number::zero(sign, precision),
                Parts { sign, form } => Number::big(sign, form, precision),
            },
        }
    }
}

impl Finite {
    pub(super) fn times(&self, other: &Finite) -> Finite {
        Finite { mantissa: &self.mantissa * &other.mantissa, exponent: self.exponent + other.exponent }
    }
    /// The quotient with so many bits that rounding it to `precision` gives what rounding the exact one would.
    pub(super) fn by(&self, other: &Finite, precision: u32) -> Finite {
        let have = self.mantissa.bit_len() as i64 - other.mantissa.bit_len() as i64;
        let shift = (i64::from(precision) + 2 - have).max(0);
        let (quotient, rest) = (&self.mantissa << shift as usize).div_rem(&other.mantissa);
        let exponent = self.exponent - other.exponent - shift;
        // An extra bit records whether the division has a remainder.
        let sticky = if rest.is_zero() { UBig::ZERO } else { UBig::ONE };
        Finite { mantissa: (quotient << 1) + sticky, exponent: exponent - 1 }
    }
}
