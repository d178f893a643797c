//! Decimal digits of a number: all of them, rounded to a count, or the shortest unique representation.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::Finite;

/// `0.digits * 10^exponent`; no zeros at the end, and zero has no digits.
pub(super) struct Decimal {
    pub(super) digits: Vec<u8>,
    pub(super) exponent: i64,
}

impl Decimal {
    pub(super) fn zero() -> Decimal {
        Decimal { digits: Vec::new(), exponent: 0 }
    }
    /// All digits of `mantissa * 2^exponent`.
    fn exact(mantissa: &UBig, exponent: i64) -> Decimal {
        let Some(zeros) = mantissa.trailing_zeros() else { return Decimal::zero() };
        // A binary fraction has as many digits behind the point as bits: 2^-n = 5^n / 10^n.
        let (whole, behind) = if exponent >= 0 {
            (mantissa << exponent as usize, 0)
        } else {
            let zeros = (zeros as i64).min(-exponent);
            let behind = -exponent - zeros;
            ((mantissa >> zeros as usize) * UBig::from(5u8).pow(behind as usize), behind)
        };
        let digits = whole.to_string().into_bytes();
        let mut decimal = Decimal { exponent: digits.len() as i64 - behind, digits };
        decimal.trim();
        decimal
    }
    pub(super) fn of(value: &Finite) -> Decimal {
        Decimal::exact(&value.mantissa, value.exponent)
    }
    /// The fewest digits that read back as `value` with `precision` bits.
    pub(super) fn shortest(value: &Finite, precision: u32) -> Decimal {
        let mut decimal = Decimal::of(value);
        // The value in units of half of its last bit; its neighbours on the way to the next numbers are one unit away.
        let spare = i64::from(precision) + 1 - value.mantissa.bit_len() as i64;
        let scaled = if spare >= 0 { &value.mantissa << spare as usize } else { &value.mantissa >> -spare as usize };
        let exponent = value.exponent - spare;
        // Half way rounds to the even one: with an even mantissa the bounds themselves still read back.
        let inclusive = !scaled.bit(1);
        let upper = Decimal::exact(&(&scaled + UBig::ONE), exponent);
        let lower = Decimal::exact(&(scaled - UBig::ONE), exponent);
        for i in 0..decimal.digits.len() {
            let (own, low, high) = (decimal.at(i as i64), lower.at(i as i64), upper.at(i as i64));
            let down = low != own || (inclusive && i + 1 == lower.digits.len());
            let up = own != high && (inclusive || own + 1 < high || i + 1 < upper.digits.len());
            match (down, up) {
                (true, true) => decimal.round(i as i64 + 1),
                (true, false) => decimal.round_down(i + 1),
                (false, true) => decimal.round_up(i + 1),
                (false, false) => continue,
            }
            break;
        }
        decimal
    }
    /// The digit at a position after the point of `0.digits`, as a character.
    pub(super) fn at(&self, digit: i64) -> u8 {
        usize::try_from(digit).ok().and_then(|i| self.digits.get(i)).copied().unwrap_or(b'0')
    }
    /// At most `count` digits, rounded to nearest, halves to even.
    // Quirk: a negative count changes nothing.
    pub(super) fn round(&mut self, count: i64) {
        let Some(count) = usize::try_from(count).ok().filter(|n| *n < self.digits.len()) else { return };
        let half = self.digits[count] == b'5' && count + 1 == self.digits.len();
        let up = if half { count > 0 && self.digits[count - 1] % 2 == 1 } else { self.digits[count] >= b'5' };
        if up { self.round_up(count) } else { self.round_down(count) }
    }
    fn round_down(&mut self, count: usize) {
        self.digits.truncate(count);
        self.trim();
    }
    fn round_up(&mut self, count: usize) {
        if count >= self.digits.len() {
            return;
        }
        self.digits.truncate(count);
        while self.digits.last() == Some(&b'9') {
            self.digits.pop();
        }
        match self.digits.last_mut() {
            Some(last) => *last += 1,
            None => {
                self.digits.push(b'1');
                self.exponent += 1;
            }
        }
    }
    fn trim(&mut self) {
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.exponent = 0;
        }
    }
}
