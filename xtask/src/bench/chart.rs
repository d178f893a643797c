//! Charts as SVG, readable on light and dark backgrounds.

use std::fmt::Write as _;

use super::measure::Figure;
use super::results::{OURS, PEER, Results};
use super::shapes::SHAPES;
use super::statistics::{count, megabytes, seconds};

/// Colors and fonts. The background is part of the picture, so the text is readable wherever it is shown.
const STYLE: &str = "\
<style>
  :root { --paper: #ffffff; --ink: #1f2328; --faint: #d1d9e0; --muted: #59636e; --ours: #0a7d45; --peer: #b35900; }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #0d1117; --ink: #f0f6fc; --faint: #3d444d; --muted: #9198a1; --ours: #3fb950; --peer: #f0883e; }
  }
  text { font: 12px system-ui, sans-serif; fill: var(--ink); }
  .title { font-weight: 600; font-size: 13px; }
  .small { font-size: 11px; fill: var(--muted); }
  .paper { fill: var(--paper); }
  .grid { stroke: var(--faint); stroke-width: 1; }
  .ours { fill: var(--ours); } .peer { fill: var(--peer); }
  .line-ours { stroke: var(--ours); stroke-width: 2; fill: none; }
  .line-peer { stroke: var(--peer); stroke-width: 2; fill: none; stroke-dasharray: 5 3; }
</style>";

/// Size of a panel of a chart of lines, with its labels.
const PANEL: (f64, f64) = (360.0, 230.0);
/// Space in it around the lines: left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (64.0, 34.0, 32.0, 34.0);
/// Height of the legend.
const LEGEND: f64 = 30.0;

/// All charts of a page: names and texts. Charts without figures are left out.
pub(super) fn all(results: &Results) -> Vec<(&'static str, String)> {
    let charts = [
        ("plan-time", lines(results, "plan", "Time of plan by size", Unit::Seconds, |sample| sample.wall)),
        ("apply-time", lines(results, "apply", "Time of apply by size", Unit::Seconds, |sample| sample.wall)),
        ("plan-memory", lines(results, "plan", "Memory of plan by size", Unit::Megabytes, |sample| sample.memory)),
        ("cloud", cloud(results)),
        ("crash", crash(results)),
    ];
    charts.into_iter().filter_map(|(name, chart)| Some((name, chart?))).collect()
}

/// Unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Seconds,
    Megabytes,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Unit::Seconds => seconds(value),
            Unit::Megabytes => megabytes(value),
        }
    }
}

/// The picture as a whole.
fn picture(width: f64, height: f64, title: &str, content: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n{STYLE}\n\
         <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\"/>\n{content}</svg>\n",
        title = escaped(title)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn text(x: f64, y: f64, class: &str, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{}</text>\n", escaped(text))
}

fn legend(results: &Results, y: f64) -> String {
    let mut content = String::new();
    for (at, (tool, class)) in [(OURS, "ours"), (PEER, "peer")].into_iter().enumerate() {
        let x = 20.0 + 170.0 * at as f64;
        let _ = writeln!(
            content,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\"/>",
            y - 10.0
        );
        content += &text(x + 18.0, y, "", "start", &tool_name(results, tool));
    }
    content
}

/// The name of a tool with its version.
pub(super) fn tool_name(results: &Results, tool: &str) -> String {
    let name = if tool == OURS { "Yuba" } else { "OpenTofu" };
    match results.versions.get(tool) {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

/// A panel for each shape: a figure over the size, both on logarithmic axes.
fn lines(results: &Results, step: &str, title: &str, unit: Unit, figure: Figure) -> Option<String> {
    let points = |shape: &str, tool: &str| -> Vec<(usize, f64)> {
        let rows = results.of(shape).filter(|row| row.step == step && row.size > 0);
        rows.filter_map(|row| Some((row.size, figure(row.sample(tool)?)))).filter(|(_, value)| *value > 0.0).collect()
    };
    let panels: Vec<_> =
        SHAPES.iter().map(|shape| (shape.name, points(shape.name, OURS), points(shape.name, PEER))).collect();
    let all = || panels.iter().flat_map(|(_, ours, peer)| ours.iter().chain(peer).copied());
    let sizes = Scale::around(all().map(|(size, _)| size as f64))?;
    let values = Scale::around(all().map(|(_, value)| value))?;
    let mut content = text(20.0, 24.0, "title", "start", title);
    for (at, (shape, ours, peer)) in panels.iter().enumerate() {
        let corner = ((at % 2) as f64 * PANEL.0, LEGEND + (at / 2) as f64 * PANEL.1);
        content += &panel(corner, shape, [ours, peer], &sizes, &values, unit);
    }
    let height = LEGEND + 2.0 * PANEL.1 + LEGEND;
    content += &legend(results, height - 12.0);
    Some(picture(2.0 * PANEL.0, height, title, &content))
}

/// A logarithmic axis between powers of ten.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn around(values: impl Iterator<Item = f64>) -> Option<Scale> {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if high <= 0.0 {
            return None;
        }
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        Some(Scale { low, high: high.max(low + 1.0) })
    }

    /// A share of the length of the axis.
    fn at(&self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|power| 10_f64.powi(power))
    }
}

fn panel(
    corner: (f64, f64),
    shape: &str,
    series: [&Vec<(usize, f64)>; 2],
    sizes: &Scale,
    values: &Scale,
    unit: Unit,
) -> String {
    let (left, top, right, bottom) = MARGIN;
    let (width, height) = (PANEL.0 - left - right, PANEL.1 - top - bottom);
    let x = |size: f64| corner.0 + left + sizes.at(size) * width;
    let y = |value: f64| corner.1 + top + (1.0 - values.at(value)) * height;
    let mut content = text(corner.0 + left, corner.1 + top - 12.0, "title", "start", shape);
    for value in values.powers() {
        let (start, end) = (corner.0 + left, corner.0 + left + width);
        let at = y(value);
        let _ =
            writeln!(content, "<line class=\"grid\" x1=\"{start:.1}\" y1=\"{at:.1}\" x2=\"{end:.1}\" y2=\"{at:.1}\"/>");
        content += &text(start - 6.0, at + 4.0, "small", "end", &unit.text(value));
    }
    for size in sizes.powers() {
        content += &text(x(size), corner.1 + top + height + 18.0, "small", "middle", &count(size as u64));
    }
    for (points, class) in series.into_iter().zip(["ours", "peer"]) {
        let line: Vec<String> =
            points.iter().map(|(size, value)| format!("{:.1},{:.1}", x(*size as f64), y(*value))).collect();
        let _ = writeln!(content, "<polyline class=\"line-{class}\" points=\"{}\"/>", line.join(" "));
        for (size, value) in points {
            let (x, y) = (x(*size as f64), y(*value));
            // Shapes differ, too: colors carry no meaning alone.
            let _ = match class {
                "ours" => writeln!(content, "<circle class=\"ours\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
                _ => writeln!(
                    content,
                    "<rect class=\"peer\" x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\"/>",
                    x - 3.5,
                    y - 3.5
                ),
            };
        }
    }
    content
}

/// A bar: its label, its length, the text behind it, and its class.
struct Bar {
    label: String,
    length: f64,
    value: String,
    class: &'static str,
}

/// Horizontal bars in groups with titles.
fn bars(title: &str, groups: &[(String, Vec<Bar>)], results: &Results) -> Option<String> {
    const WIDTH: f64 = 720.0;
    let longest = groups.iter().flat_map(|(_, bars)| bars).map(|bar| bar.length).fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let mut content = text(20.0, 24.0, "title", "start", title);
    let mut y = 50.0;
    for (group, bars) in groups.iter().filter(|(_, bars)| !bars.is_empty()) {
        content += &text(20.0, y, "", "start", group);
        y += 8.0;
        for bar in bars {
            let length = (bar.length / longest * (WIDTH - 340.0)).max(1.0);
            content += &text(130.0, y + 12.0, "small", "end", &bar.label);
            let _ = writeln!(
                content,
                "<rect class=\"{}\" x=\"140\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"15\" rx=\"2\"/>",
                bar.class
            );
            content += &text(148.0 + length, y + 12.0, "small", "start", &bar.value);
            y += 20.0;
        }
        y += 22.0;
    }
    content += &legend(results, y + 2.0);
    Some(picture(WIDTH, y + 16.0, title, &content))
}

/// Times with a provider of the size of a large cloud's.
fn cloud(results: &Results) -> Option<String> {
    let mut groups = Vec::new();
    for (part, _) in super::cloud::CLOUD {
        for step in ["plan", "apply", "plan, no changes"] {
            let Some(row) = results.row(part, 0, step) else { continue };
            let bar = |tool, class| {
                let sample = row.sample(tool)?;
                let value = format!("{}, own cpu time {}", seconds(sample.wall), seconds(sample.own_cpu));
                Some(Bar { label: tool_name(results, tool), length: sample.wall, value, class })
            };
            groups.push((
                format!("{part}: {step}"),
                [bar(OURS, "ours"), bar(PEER, "peer")].into_iter().flatten().collect(),
            ));
        }
    }
    bars("Time with a provider of the size of a large cloud's", &groups, results)
}

/// Finished operations that were lost.
fn crash(results: &Results) -> Option<String> {
    let bar = |tool, class| {
        let lost = results.losses.get(tool)?;
        let value = format!("{} of {}", count(lost.lost), count(lost.finished));
        Some(Bar { label: tool_name(results, tool), length: lost.lost as f64, value, class })
    };
    let group = [bar(OURS, "ours"), bar(PEER, "peer")].into_iter().flatten().collect();
    bars("Finished operations missing in the state after a kill", &[("All kills".to_owned(), group)], results)
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, row};
    use super::*;

    /// Checks that tags are closed in order and attributes are quoted; returns the texts.
    fn well_formed(svg: &str) -> Vec<String> {
        let (mut open, mut texts) = (Vec::new(), Vec::new());
        let mut rest = svg;
        while let Some(start) = rest.find('<') {
            let before = rest[..start].trim();
            if open.last() == Some(&"text") {
                texts.push(before.to_owned());
            }
            assert!(open.last() == Some(&"style") || !before.contains('>'), "{before}");
            let end = start + rest[start..].find('>').expect("because each tag ends");
            let tag = &rest[start + 1..end];
            assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => assert_eq!(open.pop(), Some(name), "{svg}"),
                (false, false) => open.push(name),
                (false, true) => {}
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty(), "{open:?}");
        texts
    }

    #[test]
    fn charts_are_well_formed_and_name_tools_and_figures() {
        let mut results = results();
        results.rows.push(row("vpc", 0, "apply", 3.0, 6.0));
        results.versions.insert(PEER.into(), "1 & <2>".into());
        let charts = all(&results);
        let names: Vec<&str> = charts.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["plan-time", "plan-memory", "cloud", "crash"]);
        for (name, chart) in &charts {
            let texts = well_formed(chart);
            assert!(texts.contains(&"Yuba 0.1.0".to_owned()), "{name}: {texts:?}");
            assert!(texts.contains(&"OpenTofu 1 &amp; &lt;2&gt;".to_owned()), "{name}: {texts:?}");
            assert!(chart.contains("prefers-color-scheme: dark"));
        }
        let texts = well_formed(&charts[0].1);
        for wanted in ["flat", "locals", "1,000", "10,000", "100 ms", "10 s"] {
            assert!(texts.contains(&wanted.to_owned()), "{wanted}: {texts:?}");
        }
        assert!(well_formed(&charts[2].1).contains(&"2.0 s, own cpu time 2.0 s".to_owned()));
        assert!(well_formed(&charts[3].1).contains(&"100 of 300".to_owned()));
    }

    #[test]
    fn points_lie_inside_of_their_panel() {
        let scale = Scale::around([0.2, 30.0].into_iter()).expect("because it has values");
        assert_eq!(scale.powers().collect::<Vec<_>>(), [0.1, 1.0, 10.0, 100.0]);
        assert!((scale.at(0.1)).abs() < 1e-9 && (scale.at(100.0) - 1.0).abs() < 1e-9);
        assert!(Scale::around(std::iter::empty()).is_none());
    }

    #[test]
    fn without_figures_there_are_no_charts() {
        assert!(all(&Results::default()).is_empty());
    }
}
