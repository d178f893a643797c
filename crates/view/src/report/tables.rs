//! Tables of counts: changes by module and by resource type.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
use yuba_addrs::ResourceMode;

use super::views::colour;
use super::{ChangeAction, ChangeCounts, ReportChange};
use crate::paint::Paint;
use crate::plan::Look;

/// Maximum number of rows of a table. Beyond that instances of modules become one row, and then rows without risk are summed up.
const ROWS: usize = 30;
/// Minimum width of the first column.
const MIN_NAME: usize = 16;

type Count = fn(&ChangeCounts) -> usize;

const COLUMNS: [(&str, Option<ChangeAction>, Count); 8] = [
    ("destroy", Some(ChangeAction::Destroy), |counts| counts.destroy),
    ("replace", Some(ChangeAction::Replace), |counts| counts.replace),
    ("forget", Some(ChangeAction::Forget), |counts| counts.forget),
    ("update", Some(ChangeAction::Update), |counts| counts.update),
    ("create", Some(ChangeAction::Create), |counts| counts.create),
    ("read", Some(ChangeAction::Read), |counts| counts.read),
    ("import", None, |counts| counts.import),
    ("move", None, |counts| counts.moved),
];

struct Row {
    name: String,
    counts: ChangeCounts,
}

/// Writes the tables, each with an empty line below it.
pub(super) fn write(out: &mut String, changes: &[(u32, &ReportChange)], look: Look) {
    let module = |change: &ReportChange| match change.address.module.as_str() {
        "" => "(root module)".to_owned(),
        module => module.to_owned(),
    };
    let mut modules = rows(changes, module);
    if modules.len() > ROWS {
        modules = rows(changes, |change| match change.address.module.as_str() {
            "" => "(root module)".to_owned(),
            module => without_keys(module),
        });
    }
    write_table(out, "Module", modules, look);
    let kind = |change: &ReportChange| match change.address.mode {
        ResourceMode::Data => format!("data.{}", change.address.kind),
        _ => change.address.kind.to_string(),
    };
    let mut types = rows(changes, kind);
    types.sort_by(|a, b| a.name.cmp(&b.name));
    write_table(out, "Resource type", types, look);
}

/// Rows in order of first appearance.
fn rows(changes: &[(u32, &ReportChange)], name: impl Fn(&ReportChange) -> String) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: foldhash::HashMap<String, usize> = foldhash::HashMap::default();
    for (_, change) in changes {
        let name = name(change);
        let next = rows.len();
        let at = *places.entry(name.clone()).or_insert(next);
        if at == next {
            rows.push(Row { name, counts: ChangeCounts::default() });
        }
        if let Some(row) = rows.get_mut(at) {
            row.counts.add(change);
        }
    }
    rows
}

/// A module address without instance keys.
pub(super) fn without_keys(module: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for c in module.chars() {
        match c {
            _ if quoted => {
                quoted = escaped || c != '"';
                escaped = c == '\\' && !escaped;
            }
            '"' if depth > 0 => quoted = true,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

fn write_table(out: &mut String, title: &str, mut rows: Vec<Row>, look: Look) {
    let total = rows.iter().fold(ChangeCounts::default(), |sum, row| sum.plus(&row.counts));
    if rows.len() > ROWS {
        // Rows with risks stay, then those with the most changes.
        let size = |counts: &ChangeCounts| COLUMNS.iter().map(|(_, _, count)| count(counts)).sum::<usize>();
        let weight = |row: &Row| (row.counts.destroy + row.counts.replace + row.counts.forget, size(&row.counts));
        rows.sort_by_key(|row| std::cmp::Reverse(weight(row)));
        let rest = rows.split_off(ROWS - 1);
        let counts = rest.iter().fold(ChangeCounts::default(), |sum, row| sum.plus(&row.counts));
        rows.push(Row { name: format!("... and {} other rows", rest.len()), counts });
    }
    let paint = look.paint();
    let columns: Vec<&(&str, Option<ChangeAction>, Count)> =
        COLUMNS.iter().filter(|(_, _, count)| count(&total) > 0).collect();
    let widths: Vec<usize> =
        columns.iter().map(|(name, _, count)| name.len().max(count(&total).to_string().len()) + 2).collect();
    let numbers: usize = widths.iter().sum();
    let longest = rows.iter().map(|row| row.name.width()).max().unwrap_or_default().max(title.len());
    let room = look.width.saturating_sub(1 + numbers).max(MIN_NAME);
    let name_width = longest.min(room);
    let mut head = pad(title, name_width);
    for ((name, ..), width) in columns.iter().zip(&widths) {
        let _ = write!(head, "{name:>width$}");
    }
    let _ = writeln!(out, "{}", paint.bold(&head));
    for row in &rows {
        write_row(out, row, name_width, &columns, &widths, paint);
    }
    if rows.len() > 1 {
        write_row(out, &Row { name: "Total".to_owned(), counts: total }, name_width, &columns, &widths, paint);
    }
    out.push('\n');
}

fn write_row(
    out: &mut String,
    row: &Row,
    name_width: usize,
    columns: &[&(&str, Option<ChangeAction>, Count)],
    widths: &[usize],
    paint: Paint,
) {
    out.push_str(&pad(&shortened(&row.name, name_width), name_width));
    for ((_, action, count), width) in columns.iter().zip(widths) {
        let count = count(&row.counts);
        let text = if count == 0 { "-".to_owned() } else { count.to_string() };
        let text = format!("{text:>width$}");
        match action.filter(|_| count > 0) {
            Some(action) => out.push_str(&paint.with(colour(action), &text)),
            None => out.push_str(&text),
        }
    }
    out.push('\n');
}

pub(super) fn pad(text: &str, width: usize) -> String {
    let gap = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(gap))
}

/// A text that is not wider than this: what is too much is left out in the middle, since addresses differ at their ends.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(1);
    let (first, last) = (keep / 2, keep - keep / 2);
    let take = |chars: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let fits = |c: &char| {
            used += c.width().unwrap_or_default();
            used <= room
        };
        chars.take_while(fits).collect::<Vec<char>>()
    };
    let start: String = take(&mut text.chars(), first).into_iter().collect();
    let end: String = take(&mut text.chars().rev(), last).into_iter().rev().collect();
    format!("{start}…{end}")
}

/// A text that is not wider than this: its end is left out.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or_default();
        used <= width
    };
    let start: String = text.chars().take_while(fits).collect();
    format!("{start}…")
}
