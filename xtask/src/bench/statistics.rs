//! Growth of figures with the size of a configuration, and numbers as people read them.

/// The exponent of growth between the first and the last point: 1 is linear, 2 quadratic. Points are sizes and figures.
pub(super) fn growth(points: &[(usize, f64)]) -> Option<f64> {
    let ((first, low), (last, high)) = (points.first()?, points.last()?);
    let is_meaningful = last > first && *first > 0 && *low > 0.0 && *high > 0.0;
    is_meaningful.then(|| (high / low).ln() / (*last as f64 / *first as f64).ln())
}

/// The figure expected at a size: as the last two points grow, at least linearly.
pub(super) fn expected(points: &[(usize, f64)], size: usize) -> Option<f64> {
    let (last, figure) = points.last()?;
    let recent = points.get(points.len().saturating_sub(2)..).unwrap_or(points);
    let exponent = growth(recent).unwrap_or(1.0).clamp(1.0, 3.0);
    Some(figure * (size as f64 / *last as f64).powf(exponent))
}

/// A figure as text.
pub(super) type Shown = fn(f64) -> String;

/// Seconds with two significant digits and a unit.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 0.01 => format!("{:.1} ms", s * 1e3),
        s if s < 0.995 => format!("{:.0} ms", s * 1e3),
        s if s < 9.95 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

/// Megabytes.
pub(super) fn megabytes(megabytes: f64) -> String {
    match megabytes {
        m if m < 9.95 => format!("{m:.1} MB"),
        m => format!("{} MB", count(m.round() as u64)),
    }
}

/// A ratio with two significant digits.
pub(super) fn ratio(ratio: f64) -> String {
    match ratio {
        r if r < 0.995 => format!("{r:.2}"),
        r if r < 9.95 => format!("{r:.1}"),
        r => format!("{r:.0}"),
    }
}

/// A count with commas between thousands.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_an_exponent() {
        let near =
            |found: Option<f64>, wanted: f64| assert!(found.is_some_and(|f| (f - wanted).abs() < 1e-9), "{found:?}");
        near(growth(&[(100, 1.0), (200, 2.0), (1000, 10.0)]), 1.0);
        near(growth(&[(100, 1.0), (1000, 100.0)]), 2.0);
        assert_eq!(growth(&[(100, 1.0)]), None);
        near(expected(&[(100, 1.0)], 500), 5.0);
        near(expected(&[(10, 3.0), (100, 1.0), (200, 4.0)], 400), 16.0);
        near(expected(&[(100, 1.0), (200, 1.0)], 400), 2.0);
        assert_eq!(expected(&[], 400), None);
    }

    #[test]
    fn numbers_have_two_digits() {
        let all = [0.000_4, 0.002_34, 0.034, 0.999, 4.449, 61.7].map(seconds);
        assert_eq!(all, ["400 µs", "2.3 ms", "34 ms", "1.0 s", "4.4 s", "62 s"]);
        assert_eq!([0.5, 1.04, 12.4, 1234.5].map(ratio), ["0.50", "1.0", "12", "1234"]);
        assert_eq!([7.25, 1234.4].map(megabytes), ["7.2 MB", "1,234 MB"]);
        assert_eq!([1, 1000, 1_234_567].map(count), ["1", "1,000", "1,234,567"]);
    }
}
