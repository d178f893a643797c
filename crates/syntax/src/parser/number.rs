//! Number literals.

use super::{Parser, Tok, diagnostics};
use crate::expr::Literal;

impl Parser<'_> {
    /// The number a token says, if it is one: the lexer is generous with dots and exponents.
    pub(super) fn number(&mut self, token: Tok) -> Option<Literal> {
        let number = number_literal(self.text(token));
        if number.is_none() {
            self.report(diagnostics::invalid_number(token.span));
        }
        number
    }
}

/// Digits with an optional sign, fraction and exponent, as a literal; None if the text is anything else, or the exponent is
/// out of all bounds.
pub(crate) fn number_literal(text: &str) -> Option<Literal> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // Minus zero is not zero.
    if digits.bytes().all(|b| b.is_ascii_digit())
        && let Ok(int) = text.parse::<i64>()
        && (int != 0 || digits.len() == text.len())
    {
        return Some(Literal::Int(int));
    }
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || !all_digits(unsigned) {
        return None;
    }
    let exponent: i64 = exponent.parse().ok()?;
    // The binary exponent must fit in 32 bits.
    let bits = (whole.trim_start_matches('0').len() + fraction.len()) as f64 * std::f64::consts::LOG2_10;
    let binary = exponent.saturating_sub(fraction.len() as i64).saturating_add(bits as i64 + 1);
    let is_zero = whole.bytes().chain(fraction.bytes()).all(|b| b == b'0');
    if !is_zero && i32::try_from(binary).is_err() {
        return None;
    }
    Some(Literal::Number(text.into()))
}
