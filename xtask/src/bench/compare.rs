//! Two results of the same tool: what has changed from one to the other.

use std::fmt::Write as _;

use super::measure::Figure;
use super::results::{OURS, Results};
use super::statistics::{Shown, megabytes, ratio, seconds};

/// A change below this share may be noise.
const NOISE: f64 = 0.1;
/// A difference below this, in seconds or megabytes, may be noise.
const LEAST: (f64, f64) = (0.005, 2.0);

/// Figures of our tool in both results. Changes beyond noise are marked.
pub(super) fn report(old: &Results, new: &Results) -> String {
    let mut text = format!("{:10} {:>7} {:17} {:^28} {:^28} {:^28}\n", "part", "size", "step", "cpu", "memory", "time");
    let (mut better, mut worse, mut compared) = (0, 0, 0);
    for row in &new.rows {
        let before = old.row(&row.part, row.size, &row.step).and_then(|row| row.sample(OURS));
        let (Some(before), Some(now)) = (before, row.sample(OURS)) else { continue };
        compared += 1;
        let size = if row.size == 0 { String::new() } else { row.size.to_string() };
        let _ = write!(text, "{:10} {size:>7} {:17}", row.part, row.step);
        let figures: [(Figure, f64, Shown); 3] = [
            (|sample| sample.own_cpu, LEAST.0, seconds),
            (|sample| sample.memory, LEAST.1, megabytes),
            (|sample| sample.wall, LEAST.0, seconds),
        ];
        for (figure, least, shown) in figures {
            let (before, now) = (figure(before), figure(now));
            let change = Change::of(before, now, least);
            better += u32::from(change == Change::Better);
            worse += u32::from(change == Change::Worse);
            let factor = if before > 0.0 { ratio(now / before) } else { "-".to_owned() };
            let _ = write!(text, " {:>9} {:>9} x{factor:<5}{}", shown(before), shown(now), change.mark());
        }
        text.push('\n');
    }
    if compared == 0 {
        return "bench: the results have no step in common".to_owned();
    }
    let _ = write!(text, "\n{compared} steps compared: {better} figures are better (+), {worse} are worse (!)");
    text
}

/// Change of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Same,
    Better,
    Worse,
}

impl Change {
    fn of(before: f64, now: f64, least: f64) -> Change {
        let difference = now - before;
        match difference.abs() < least || difference.abs() < before * NOISE {
            true => Change::Same,
            false if difference < 0.0 => Change::Better,
            false => Change::Worse,
        }
    }

    fn mark(self) -> char {
        match self {
            Change::Same => ' ',
            Change::Better => '+',
            Change::Worse => '!',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, row};
    use super::*;

    #[test]
    fn changes_beyond_noise_are_marked() {
        let old = results();
        let mut new = results();
        new.rows = vec![
            row("flat", 1000, "plan", 0.2, 2.0),
            row("flat", 5000, "plan", 0.51, 2.0),
            row("new", 0, "plan", 1.0, 1.0),
        ];
        let text = report(&old, &new);
        let line = text.lines().nth(1).unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "flat", "1000", "plan", "100", "ms", "200", "ms", "x2.0", "!", "10", "MB", "20", "MB", "x2.0", "!",
                "100", "ms", "200", "ms", "x2.0", "!"
            ]
        );
        assert!(text.ends_with("2 steps compared: 0 figures are better (+), 3 are worse (!)"), "{text}");
        assert_eq!(report(&Results::default(), &new), "bench: the results have no step in common");
    }

    #[test]
    fn small_differences_are_noise() {
        assert_eq!(Change::of(1.0, 1.09, 0.005), Change::Same);
        assert_eq!(Change::of(0.001, 0.003, 0.005), Change::Same);
        assert_eq!(Change::of(1.0, 0.8, 0.005), Change::Better);
        assert_eq!(Change::of(1.0, 1.2, 0.005), Change::Worse);
    }
}
