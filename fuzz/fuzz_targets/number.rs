//! A text that reads as a number prints as a text that reads as a number of the same text; arithmetic does not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_value::Number;

fuzz_target!(|text: &str| {
    // With the sanitizer's checks inside the big integers, exponents of five digits take seconds.
    if text.split(['e', 'E', 'p', 'P']).skip(1).any(|exponent| exponent.len() > 5) {
        return;
    }
    let (left, right) = text.split_once(' ').unwrap_or((text, "3"));
    let Some(a) = Number::parse(left) else { return };
    if !a.is_infinite() {
        let shown = a.to_string();
        // The text, not the value: like Go's, the shortest text of a power of two may belong to its neighbour.
        assert_eq!(Number::parse(&shown).map(|b| b.to_string()).as_ref(), Some(&shown), "{left}");
    }
    let Some(b) = Number::parse(right) else { return };
    for result in [a.add(&b), a.sub(&b), a.mul(&b)].into_iter().flatten() {
        let _ = result.to_string();
    }
    let _ = (a.div(&b), a.rem(&b), a.floor(), a.ceil(), a.cmp(&b), a.to_i64(), a.to_f64());
});
