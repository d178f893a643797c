//! The table of the README: the figures that a reader asks for first.

use std::fmt::Write as _;

use super::chart::tool_name;
use super::measure::Figure;
use super::results::{Losses, OURS, PEER, Results, Row};
use super::statistics::{Shown, count, megabytes, ratio, seconds};

/// The line before the table.
pub(super) const BEGIN: &str = "<!-- bench:begin -->";
/// The line after the table.
pub(super) const END: &str = "<!-- bench:end -->";

/// The README with the table between its markers, if it has them.
pub(super) fn with_table(readme: &str, results: &Results) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    if results.is_empty() {
        return Some(format!("{before}{BEGIN}\n{END}{after}"));
    }
    let fact = |name: &str| results.facts.iter().find(|(fact, _)| fact == name).map(|(_, value)| value.as_str());
    let mut text = table(results);
    let machine = fact("Processor").unwrap_or("one machine");
    let _ = writeln!(
        text,
        "\nMeasured in one run on {machine}. [Benchmarks](docs/benchmarks.md) has all figures, charts and the command that repeats the run."
    );
    Some(format!("{before}{BEGIN}\n{text}{END}{after}"))
}

/// The table.
pub(super) fn table(results: &Results) -> String {
    let mut text =
        format!("| | {} | {} | ratio |\n|---|---:|---:|---:|\n", tool_name(results, OURS), tool_name(results, PEER));
    let mut add = |about: &str, row: Option<&Row>, figure: Figure, shown: Shown| {
        let Some((ours, peer)) = row.and_then(|row| Some((figure(row.sample(OURS)?), figure(row.sample(PEER)?))))
        else {
            return;
        };
        let ratio = row.and_then(|row| row.ratio(figure)).map(ratio).unwrap_or_default();
        let _ = writeln!(text, "| {about} | {} | {} | {ratio} |", shown(ours), shown(peer));
    };
    let (wall, cpu): (Figure, Figure) = (|sample| sample.wall, |sample| sample.own_cpu);
    add("`validate` of a small configuration", results.row("startup", 0, "validate"), wall, seconds);
    if let Some(size) = largest(results, "flat", &["plan", "apply"]) {
        let n = count(size as u64);
        let row = |step| results.row("flat", size, step);
        add(&format!("`plan` of {n} resources"), row("plan"), wall, seconds);
        add(&format!("`plan` of {n} resources, cpu time"), row("plan"), cpu, seconds);
        add(&format!("`plan` of {n} resources, memory"), row("plan"), |sample| sample.memory, megabytes);
        add(&format!("`apply` of {n} resources"), row("apply"), wall, seconds);
        add(&format!("`apply` of {n} resources, cpu time"), row("apply"), cpu, seconds);
    }
    add("`plan` of a Kubernetes cluster with a large provider", results.row("kubernetes", 0, "plan"), wall, seconds);
    add("the same, cpu time without the provider", results.row("kubernetes", 0, "plan"), cpu, seconds);
    if let (Some(ours), Some(peer)) = (results.losses.get(OURS), results.losses.get(PEER)) {
        let mut add = |about: &str, part: fn(&Losses) -> u64| {
            let shown = |losses| format!("{} of {}", count(part(losses)), count(losses.finished));
            let _ = writeln!(text, "| {about} | {} | {} | |", shown(ours), shown(peer));
        };
        add("finished operations missing in the state after `kill -9`", |losses| losses.lost);
        add("of these not reported by the next command", |losses| losses.unnamed);
    }
    text
}

/// The largest size at which both tools have done these steps.
fn largest(results: &Results, part: &str, steps: &[&str]) -> Option<usize> {
    let is_complete = |size: usize, step: &str| {
        results.row(part, size, step).is_some_and(|row| row.sample(OURS).is_some() && row.sample(PEER).is_some())
    };
    let measured = |step: &&&str| results.of(part).any(|row| row.step == **step);
    let sizes = results.of(part).map(|row| row.size);
    sizes.filter(|size| steps.iter().filter(measured).all(|step| is_complete(*size, step))).max()
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::*;

    #[test]
    fn the_table_is_written_between_the_markers() {
        let readme = format!("# Title\n{BEGIN}\nold\n{END}\nrest\n");
        let written = with_table(&readme, &results()).expect("because it has the markers");
        assert!(
            written.starts_with("# Title\n")
                && written.ends_with(&format!("{END}\nrest\n"))
                && !written.contains("old")
        );
        assert!(written.contains("| `plan` of 1,000 resources | 100 ms | 2.0 s | 20 |"), "{written}");
        assert!(written.contains("| `plan` of 1,000 resources, cpu time | 100 ms | 2.0 s | 20 |"), "{written}");
        assert!(
            written.contains("| finished operations missing in the state after `kill -9` | 2 of 300 | 100 of 300 | |"),
            "{written}"
        );
        assert!(
            written.contains("| of these not reported by the next command | 1 of 300 | 50 of 300 | |"),
            "{written}"
        );
        assert!(written.contains("on 2 x Test CPU."));
        assert_eq!(with_table(&written, &results()).as_deref(), Some(written.as_str()));
        assert_eq!(with_table("# Title\n", &results()), None);
        let empty = with_table(&written, &Results::default());
        assert_eq!(empty, Some(format!("# Title\n{BEGIN}\n{END}\nrest\n")));
    }
}
