//! Pictures as SVG documents that need nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::layout::{LETTER, Layout, MAX_LETTERS, Rect};
use super::picture::{Kind, Picture};

const STYLE: &str = "\
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2933}\
.m{fill:#f6f8fa;fill-opacity:.7;stroke:#9aa5b1;stroke-dasharray:4 3}.t{fill:#52606d;font-weight:bold}\
.e{fill:none;stroke:#7b8794;stroke-width:1.2}.resource{fill:#e3effd;stroke:#3b74c4}.data{fill:#e3f7ec;stroke:#2f9e63}\
.ephemeral{fill:#fdeef6;stroke:#c2418a}.variable{fill:#fff7dd;stroke:#c79a14}.local{fill:#ffffff;stroke:#7b8794}\
.output{fill:#f1eafd;stroke:#7a4fc9}.provider{fill:#fdeadd;stroke:#cf6a24}.check{fill:#e0f7f9;stroke:#1d93a3}";

const LEGEND_HEIGHT: f64 = 44.0;
/// Number of nodes above which edges are straight lines through other nodes.
const BIG: usize = 400;

/// The document.
pub fn svg(picture: &Picture, layout: &Layout) -> String {
    let whole = layout.groups.first().copied().unwrap_or_default();
    let (width, height) = (whole.right().max(360.0), whole.bottom() + LEGEND_HEIGHT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
         {height:.0}\">\n<style>{STYLE}</style>\n<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 1 7 4 0 7z\" fill=\"#7b8794\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (group, rect) in picture.groups.iter().zip(&layout.groups).skip(1) {
        rectangle(&mut out, rect, "m", 8);
        let _ = writeln!(
            out,
            "<text class=\"t\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            rect.x + 8.0,
            rect.y + 15.0,
            escaped(&group.title)
        );
    }
    for (from, to) in picture.edges.iter().enumerate() {
        for to in to {
            let (from, to) = (&layout.things[from], &layout.things[*to as usize]);
            edge(&mut out, from, to, around(from, to, &layout.things));
        }
    }
    for (thing, rect) in picture.things.iter().zip(&layout.things) {
        let title = &picture.groups[thing.group as usize].title;
        let gap = if title.is_empty() { "" } else { "." };
        let _ = write!(out, "<g><title>{}{gap}{}</title>", escaped(title), escaped(&thing.label));
        rectangle(&mut out, rect, thing.kind.word(), 5);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            rect.x + 10.0,
            rect.middle() + 4.0,
            escaped(&shortened(&thing.label))
        );
    }
    legend(&mut out, picture, height);
    out + "</svg>\n"
}

fn rectangle(out: &mut String, rect: &Rect, class: &str, radius: u32) {
    let Rect { x, y, width, height } = rect;
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\"/>"
    );
}

/// The nodes between the two ends of an edge: their extent, and the height of a free path past them.
fn around(from: &Rect, to: &Rect, things: &[Rect]) -> Option<(f64, f64, f64)> {
    // In large pictures single edges cannot be followed anyway.
    if things.len() > BIG {
        return None;
    }
    let (right, left) = (from.x, to.right());
    let mut found: Option<(f64, f64, f64)> = None;
    for thing in things.iter().filter(|thing| thing.x > left && thing.right() < right) {
        let part = (right - (thing.x + thing.width / 2.0)) / (right - left);
        let line = from.middle() + (to.middle() - from.middle()) * part;
        if line > thing.y - 3.0 && line < thing.bottom() + 3.0 {
            let (start, end, way) = found.unwrap_or((thing.right(), thing.x, thing.y - 6.0));
            found = Some((start.max(thing.right()), end.min(thing.x), way.min(thing.y - 6.0)));
        }
    }
    found
}

/// From something to what it depends on, which is to its left; past what is between them.
fn edge(out: &mut String, from: &Rect, to: &Rect, around: Option<(f64, f64, f64)>) {
    let (x1, y1, x2, y2) = (from.x, from.middle(), to.right() + 1.0, to.middle());
    if let Some((start, end, way)) = around {
        let (first, second) = ((x1 - start) / 2.0, (end - x2) / 2.0);
        let _ = writeln!(
            out,
            "<path class=\"e\" marker-end=\"url(#a)\" d=\"M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {way:.1} {start:.1} \
             {way:.1}L{end:.1} {way:.1}C{:.1} {way:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}\"/>",
            x1 - first,
            start + first,
            end - second,
            x2 + second
        );
        return;
    }
    let bend = ((x1 - x2) / 2.0).max(18.0);
    let _ = writeln!(
        out,
        "<path class=\"e\" marker-end=\"url(#a)\" d=\"M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}\"/>",
        x1 - bend,
        x2 + bend
    );
}

fn legend(out: &mut String, picture: &Picture, height: f64) {
    let kinds: BTreeSet<Kind> = picture.things.iter().map(|thing| thing.kind).collect();
    let (mut x, y) = (14.0, height - 30.0);
    for kind in kinds {
        let rect = Rect { x, y, width: kind.word().len() as f64 * LETTER + 14.0, height: 18.0 };
        rectangle(out, &rect, kind.word(), 4);
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 7.0, y + 13.0, kind.word());
        x = rect.right() + 8.0;
    }
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= MAX_LETTERS {
        return label.to_owned();
    }
    label.chars().take(MAX_LETTERS - 1).chain(['…']).collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            letter => out.push(letter),
        }
    }
    out
}
