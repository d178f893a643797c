//! Logarithm and power of machine floats.
//!
//! The standard library's come from the platform and differ in the last digit from one to the next. These take the
//! steps of Go's `math` package (the methods of FreeBSD's `e_log.c` and of SLEEF), so that results are the same
//! everywhere, and the same as OpenTofu's. (Not for logarithms of subnormal floats, where Go's are wrong.)

use std::f64::consts::{FRAC_1_SQRT_2, LOG2_E};

/// The natural logarithm.
pub(crate) fn ln(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Coefficients of the polynomial, for odd and for even powers of s².
    const ODD: [f64; 4] =
        [1.479_819_860_511_658_6e-1, 1.818_357_216_161_805e-1, 2.857_142_874_366_239e-1, 6.666_666_666_666_735e-1];
    const EVEN: [f64; 3] = [1.531_383_769_920_937_3e-1, 2.222_219_843_214_978_4e-1, 3.999_999_999_940_942e-1];
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 {
        return f64::NAN;
    }
    let (mut fraction, mut exponent) = split(x);
    if fraction < FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1;
    }
    let f = fraction - 1.0;
    let k = f64::from(exponent);
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let poly = |coefficients: &[f64]| coefficients[1..].iter().fold(coefficients[0], |sum, c| sum * s4 + c);
    let r = s2 * poly(&ODD) + s4 * poly(&EVEN);
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + r) + k * LN2_LOW)) - f)
}

/// `e^x`, for the moderate `x` that [`pow`] needs.
fn exp(x: f64) -> f64 {
    // The decimal digits are longer than a float needs; they say where the upper half ends.
    #[allow(clippy::excessive_precision)]
    const LN2_UPPER: f64 = 0.69314718055966295651160180568695068359375;
    const LN2_LOWER: f64 = 0.282_352_905_630_315_77e-12;
    const TAYLOR: [f64; 8] = [
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        1.666_666_666_666_666_6e-1,
        0.5,
        1.0,
    ];
    if x > 709.782_712_893_384 {
        return f64::INFINITY;
    }
    let k = (x * LOG2_E).round_ties_even();
    let reduced = (-k).mul_add(LN2_UPPER, x);
    let reduced = (-k).mul_add(LN2_LOWER, reduced) * 0.0625;
    let sum = TAYLOR[1..].iter().fold(TAYLOR[0], |sum, c| sum.mul_add(reduced, *c));
    // (e^r - 1) doubles its argument four times by e^2r - 1 = (e^r - 1) * (e^r - 1 + 2).
    let mut minus_one = reduced * sum;
    for _ in 0..3 {
        minus_one *= minus_one + 2.0;
    }
    join(minus_one.mul_add(minus_one + 2.0, 1.0), k as i64)
}

/// `x` to the power of `y`.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    if let Some(special) = special_pow(x, y) {
        return special;
    }
    let (mut whole, mut part) = (y.abs().trunc(), y.abs().fract());
    let mut result = 1.0;
    let mut exponent = 0i64;
    if part != 0.0 {
        if part > 0.5 {
            part -= 1.0;
            whole += 1.0;
        }
        result = exp(part * ln(x));
    }
    // Square and multiply, powers of two apart.
    let (mut square, square_exponent) = split(x);
    let mut square_exponent = i64::from(square_exponent);
    let mut bits = whole as i64;
    while bits != 0 {
        if square_exponent.abs() > 1 << 12 {
            // Out of range by now, whatever follows.
            exponent += square_exponent;
            break;
        }
        if bits & 1 == 1 {
            result *= square;
            exponent += square_exponent;
        }
        square *= square;
        square_exponent <<= 1;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        bits >>= 1;
    }
    if y < 0.0 {
        result = 1.0 / result;
        exponent = -exponent;
    }
    join(result, exponent)
}

/// The powers that need no multiplication: of zeros, infinities and NaN, square roots, and exponents too large to matter.
fn special_pow(x: f64, y: f64) -> Option<f64> {
    let odd = |y: f64| y.abs() < 2f64.powi(53) && y % 2.0 != 0.0 && y.fract() == 0.0;
    // The limit for an infinite exponent.
    let limit = || match (x.abs() < 1.0) != (y > 0.0) {
        _ if x == -1.0 => 1.0,
        true => f64::INFINITY,
        false => 0.0,
    };
    if y == 0.0 || x == 1.0 {
        return Some(1.0);
    }
    if y == 1.0 {
        return Some(x);
    }
    if x.is_nan() || y.is_nan() {
        return Some(f64::NAN);
    }
    if x == 0.0 {
        let magnitude = if y < 0.0 { f64::INFINITY } else { 0.0 };
        return Some(if x.is_sign_negative() && odd(y) { -magnitude } else { magnitude });
    }
    if y.is_infinite() {
        return Some(limit());
    }
    if x == f64::NEG_INFINITY {
        return Some(pow(-0.0, -y));
    }
    if x == f64::INFINITY {
        return Some(if y < 0.0 { 0.0 } else { f64::INFINITY });
    }
    if y == 0.5 {
        return Some(x.sqrt());
    }
    if y == -0.5 {
        return Some(1.0 / x.sqrt());
    }
    if y.fract() != 0.0 && x < 0.0 {
        return Some(f64::NAN);
    }
    (y.abs() >= 2f64.powi(63)).then(limit)
}

/// A fraction from one half up to one, and an exponent of two.
fn split(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let (x, extra) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(52), -52) } else { (x, 0) };
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022 + extra;
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent)
}

/// `fraction * 2^exponent`, rounded once.
fn join(fraction: f64, exponent: i64) -> f64 {
    let (fraction, own) = split(fraction);
    if fraction == 0.0 || !fraction.is_finite() {
        return fraction;
    }
    let exponent = exponent + i64::from(own);
    if exponent > 1024 {
        return f64::INFINITY.copysign(fraction);
    }
    if exponent < -1074 {
        return 0f64.copysign(fraction);
    }
    // The first factor is exact; only the second may leave the normal range.
    if exponent < -1020 {
        return fraction * 2f64.powi(-1000) * 2f64.powi((exponent + 1000) as i32);
    }
    fraction * 2.0 * 2f64.powi((exponent - 1) as i32)
}
