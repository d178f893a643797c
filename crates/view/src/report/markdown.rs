//! Plans as Markdown for comments on pull requests: totals and what is destroyed first, then differences by module in collapsed
//! sections, within a number of bytes.
//!
//! All texts that users, providers or states have written are in code spans, fences or escaped HTML: none of them becomes Markdown,
//! HTML, a mention or a link.

use std::fmt::Write as _;

use super::diff_text::{Unchanged, lines, named_lines};
use super::tables::{cut, shortened, without_keys};
use super::views::{block_head, general_reason, headline, instance_lines, remarks, sentence, symbol};
use super::{ChangeAction, ChangeCounts, ChangeRisk, DiffMark, DiffNode, Report, ReportChange};
use crate::diagnostic::visible_in_line;
use crate::paint::Paint;
use crate::paint::Style;

/// The number of characters that a comment on GitHub can have.
pub const DEFAULT_LIMIT: usize = 65_536;
/// The smallest limit.
pub const MIN_LIMIT: usize = 2_000;
/// Room for a line with the number of entries that are left out.
const REST: usize = 160;
/// Maximum width of an address, a name or a message in a line.
const WIDTH: usize = 240;
/// Maximum width of the name of a root module or workspace.
const NAME: usize = 60;
/// Maximum number of rows of the table of resource types.
const TYPES: usize = 20;

/// A plan of a root module.
#[derive(Clone, Copy)]
pub struct MarkdownPlan<'r> {
    /// Name of the root module: its directory.
    pub root: &'r str,
    /// The plan.
    pub report: &'r Report,
}

/// A comment on these plans, with at most `limit` bytes. The first line identifies it, so that a later comment can replace it.
pub fn render(plans: &[MarkdownPlan<'_>], limit: usize) -> String {
    let footer = footer(plans);
    let mut out = Comment { text: String::new(), limit: limit.max(MIN_LIMIT), reserved: footer.len() + 4 * REST };
    out.text.push_str(&marker(plans));
    out.text.push_str(&title(plans));
    if plans.len() > 1 {
        out.roots(plans);
    }
    out.errors(plans);
    out.risks(plans);
    if let [plan] = plans {
        out.types(plan.report);
    }
    out.reserved = footer.len() + 2 * REST;
    out.modules(plans);
    out.reserved = footer.len() + REST;
    out.other(plans);
    out.text.push_str(&footer);
    out.text
}

/// The line that identifies a comment: `<!-- yuba:plan WORKSPACE/ROOT -->`, with `*` for several plans.
fn marker(plans: &[MarkdownPlan<'_>]) -> String {
    let encoded = |text: &str| {
        let mut out = String::new();
        for byte in text.bytes() {
            match byte {
                // Two hyphens can end a comment.
                b'-' if out.ends_with('-') => out.push_str("%2D"),
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'/' | b'-' => out.push(char::from(byte)),
                _ => {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
        }
        out
    };
    match plans {
        [plan] => {
            let name = format!("{}/{}", plan.report.workspace, plan.root);
            format!("<!-- yuba:plan {} -->\n", cut(&encoded(&name), 300))
        }
        _ => "<!-- yuba:plan * -->\n".to_owned(),
    }
}

fn title(plans: &[MarkdownPlan<'_>]) -> String {
    let [plan] = plans else {
        let totals = plans.iter().fold([0; 3], |[add, change, destroy], plan| {
            let totals = &plan.report.totals;
            [add + totals.add, change + totals.change, destroy + totals.destroy]
        });
        let [add, change, destroy] = totals;
        let count = plans.len();
        return format!("### {count} plans: {add} to add, {change} to change, {destroy} to destroy\n\n");
    };
    let report = plan.report;
    let mut out = format!("### Plan for {}", code(&shortened(plan.root, NAME)));
    if report.workspace != "default" {
        let _ = write!(out, " in workspace {}", code(&shortened(&report.workspace, NAME)));
    }
    match report.changes.is_empty() && report.outputs.is_empty() {
        true if report.errored => out.push_str(": failed\n\n"),
        true => out.push_str(": no changes\n\n"),
        false => {
            let _ = writeln!(out, ":{}\n", sentence(report));
        }
    }
    out
}

fn footer(plans: &[MarkdownPlan<'_>]) -> String {
    let Some(plan) = plans.first() else { return String::new() };
    let time = match plan.report.timestamp.as_str() {
        "" => String::new(),
        time => format!(" at {}", escaped(time)),
    };
    format!("<sub>Planned by {}{time}</sub>\n", escaped(&plan.report.tool))
}

/// A comment with a limit.
struct Comment {
    text: String,
    limit: usize,
    /// Bytes for the parts that must follow.
    reserved: usize,
}

impl Comment {
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len() + self.reserved)
    }

    /// Writes a text if there is room for it.
    fn push(&mut self, text: &str) -> Written {
        if text.len() > self.room() {
            return Written::No;
        }
        self.text.push_str(text);
        Written::Yes
    }

    /// Writes a title and as many lines as there is room for; `rest` is the line for those left out, which always has room.
    fn list(&mut self, title: &str, lines: &[String], rest: impl Fn(usize) -> String) {
        let mut written = 0;
        if self.push(title) == Written::Yes {
            written = lines.iter().take_while(|line| self.push(line) == Written::Yes).count();
        }
        if written < lines.len() {
            self.text.push_str(&rest(lines.len() - written));
        }
        self.text.push('\n');
        self.reserved = self.reserved.saturating_sub(REST);
    }

    /// The table of several plans.
    fn roots(&mut self, plans: &[MarkdownPlan<'_>]) {
        let row = |plan: &MarkdownPlan<'_>| {
            let (report, totals) = (plan.report, &plan.report.totals);
            let state = match (report.errored, report.changes.is_empty() && report.outputs.is_empty()) {
                (true, _) => "failed",
                (false, true) => "no changes",
                (false, false) => "",
            };
            let cell = |text: &str| code(&shortened(text, NAME)).replace('|', "\\|");
            format!(
                "| {} | {} | {} | {} | {} | {state} |\n",
                cell(plan.root),
                cell(&report.workspace),
                totals.add,
                totals.change,
                totals.destroy
            )
        };
        let rows: Vec<String> = plans.iter().map(row).collect();
        let head = "| Root | Workspace | Add | Change | Destroy | |\n|---|---|--:|--:|--:|---|\n";
        self.list(head, &rows, |count| format!("\n... and {count} more plans.\n"));
    }

    /// Failed plans and failed checks.
    fn errors(&mut self, plans: &[MarkdownPlan<'_>]) {
        let mut found = Vec::new();
        for plan in plans {
            let root = of_root(plans, plan);
            if plan.report.errored {
                found.push(format!("- **Planning failed{root}: the plan is incomplete.**\n"));
            }
            for check in plan.report.checks.iter().filter(|check| matches!(check.status, "fail" | "error")) {
                let address = code(&shortened(&check.address, WIDTH));
                let messages = check.messages.join("; ");
                let message =
                    if messages.is_empty() { String::new() } else { format!(": {}", code(&cut(&messages, WIDTH))) };
                found.push(format!("- Check {address}{root} failed{message}\n"));
            }
        }
        if !found.is_empty() {
            self.list("", &found, |count| format!("- ... and {count} more failed checks and plans.\n"));
        }
    }

    /// Destroyed, replaced and forgotten objects.
    fn risks(&mut self, plans: &[MarkdownPlan<'_>]) {
        let mut found: Vec<(&MarkdownPlan<'_>, &ReportChange)> = Vec::new();
        let mut counts = ChangeCounts::default();
        for plan in plans {
            counts = counts.plus(&plan.report.counts);
            let risky = plan.report.changes.iter().filter(|change| change.risk == ChangeRisk::High);
            found.extend(risky.map(|change| (plan, change)));
        }
        if found.is_empty() {
            return;
        }
        found.sort_by_key(|(_, change)| change.action);
        let parts = [(counts.destroy, "destroyed"), (counts.replace, "replaced"), (counts.forget, "forgotten")];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        let line = |(plan, change): &(&MarkdownPlan<'_>, &ReportChange)| {
            let word = match change.action {
                ChangeAction::Destroy => "destroy",
                ChangeAction::Replace => "replace",
                _ => "forget",
            };
            let reason = change.reason.as_ref().map(|reason| format!(": {}", code(&cut(&reason.text, WIDTH))));
            let dependents = match change.dependents.total {
                0 => String::new(),
                1 => "; 1 change depends on it".to_owned(),
                count => format!("; {count} changes depend on it"),
            };
            let address = code(&shortened(&change.address.display(), WIDTH));
            format!("- **{word}** {address}{}{}{dependents}\n", of_root(plans, plan), reason.unwrap_or_default())
        };
        let found: Vec<String> = found.iter().map(line).collect();
        let title = format!("**Objects at risk: {}**\n\n", parts.join(", "));
        let parts = parts.join(", ");
        self.list(&title, &found, |count| format!("- ... and {count} more objects at risk (in total {parts}).\n"));
    }

    /// Counts by resource type, if there is room for all of them.
    fn types(&mut self, report: &Report) {
        let is_shown = |counts: &ChangeCounts| counts.create + counts.update + counts.replace + counts.destroy > 0;
        let shown: Vec<_> = report.types.iter().filter(|of_type| is_shown(&of_type.counts)).collect();
        if shown.is_empty() || shown.len() > TYPES {
            return;
        }
        let mut table = "| Resource type | Create | Update | Replace | Destroy |\n|---|--:|--:|--:|--:|\n".to_owned();
        for of_type in shown {
            let counts = &of_type.counts;
            let name = code(&shortened(&of_type.kind, 100)).replace('|', "\\|");
            let _ = writeln!(
                table,
                "| {name} | {} | {} | {} | {} |",
                counts.create, counts.update, counts.replace, counts.destroy
            );
        }
        table.push('\n');
        if table.len() < self.room() / 4 {
            self.push(&table);
        }
    }

    /// A collapsed section for each module. Modules with risks come first, and get room first.
    fn modules(&mut self, plans: &[MarkdownPlan<'_>]) {
        let mut sections: Vec<Section<'_>> = plans.iter().flat_map(|plan| sections(plans, plan)).collect();
        sections.sort_by_key(|section| section.first_action());
        let total: usize = sections.iter().map(|section| section.changes.len()).sum();
        let mut shown_sections = Vec::new();
        let mut left = self.room();
        for section in sections {
            // The frame with the line for changes that are left out.
            let frame = section.head().len() + section.foot("```", 9_999_999).len() + FENCE;
            if frame > left {
                break;
            }
            left -= frame;
            shown_sections.push(section);
        }
        let mut shown_changes = 0;
        let mut texts: Vec<(Section<'_>, String, usize)> = Vec::new();
        for section in shown_sections {
            shown_changes += section.changes.len();
            let (text, missing) = section.content(&mut left);
            texts.push((section, text, missing));
        }
        for (section, text, missing) in texts {
            self.text.push_str(&section.head());
            let fence = fence(&text);
            if !text.is_empty() {
                let _ = write!(self.text, "{fence}diff\n{text}");
            }
            self.text.push_str(&section.foot(if text.is_empty() { "" } else { &fence }, missing));
        }
        if shown_changes < total {
            let rest = total - shown_changes;
            let _ = writeln!(
                self.text,
                "{rest} more changes in other modules are not shown: the comment is limited to {} bytes.\n",
                self.limit
            );
        }
    }

    /// Outputs, outside changes and warnings, each as a whole or as a number.
    fn other(&mut self, plans: &[MarkdownPlan<'_>]) {
        for plan in plans {
            let (report, root) = (plan.report, of_root(plans, plan));
            let outputs = outputs(report);
            let count =
                |count: usize, one: &str, many: &str| format!("{count} {}{root}", if count == 1 { one } else { many });
            self.details(&count(report.outputs.len(), "changed output", "changed outputs"), &outputs);
            let drift: String = report
                .drift
                .iter()
                .map(|change| format!("{} {}\n", symbol(change).trim(), change.address.display()))
                .collect();
            let title = count(report.drift.len(), "object changed outside of Yuba", "objects changed outside of Yuba");
            self.details(&title, &drift);
            let mut warnings = String::new();
            for warning in &report.warnings {
                let location = match (&warning.file, warning.line) {
                    (Some(file), Some(line)) => format!(" ({file}:{line})"),
                    _ => String::new(),
                };
                let _ = writeln!(warnings, "{}{location}: {}", warning.summary, warning.detail);
            }
            self.details(&count(report.warnings.len(), "warning", "warnings"), &warnings);
        }
    }

    fn details(&mut self, title: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let text: String = text.lines().map(|line| format!("{}\n", visible_in_line(line))).collect();
        let fence = fence(&text);
        let title = title.replace('`', "");
        let whole =
            format!("<details><summary>{}</summary>\n\n{fence}diff\n{text}{fence}\n\n</details>\n\n", escaped(&title));
        if self.push(&whole) == Written::No {
            let _ = self.push(&format!("{}\n\n", escaped(&title)));
        }
    }
}

/// Whether a text was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Yes,
    No,
}

/// Number of instances of a module that have sections of their own. More of them share one.
const INSTANCES: usize = 5;

/// Bytes of the two fences of a section.
const FENCE: usize = 64;

/// The changes of one module.
struct Section<'r> {
    title: String,
    report: &'r Report,
    /// By risk.
    changes: Vec<(u32, &'r ReportChange)>,
}

fn sections<'r>(plans: &[MarkdownPlan<'r>], plan: &MarkdownPlan<'r>) -> Vec<Section<'r>> {
    let mut instances: foldhash::HashMap<String, foldhash::HashSet<&str>> = foldhash::HashMap::default();
    for change in &plan.report.changes {
        let module = change.address.module.as_str();
        instances.entry(without_keys(module)).or_default().insert(module);
    }
    let mut out: Vec<Section<'r>> = Vec::new();
    let mut places: foldhash::HashMap<String, usize> = foldhash::HashMap::default();
    for (at, change) in (0..).zip(&plan.report.changes) {
        let common = without_keys(&change.address.module);
        let number = instances.get(&common).map_or(0, foldhash::HashSet::len);
        let module = if number > INSTANCES {
            format!("{common} ({number} instances)")
        } else {
            change.address.module.to_string()
        };
        let next = out.len();
        let place = *places.entry(module.clone()).or_insert(next);
        if place == next {
            let name = if module.is_empty() { "root module" } else { &module };
            let root = if plans.len() > 1 { format!("{}: ", plan.root) } else { String::new() };
            let title = shortened(&format!("{root}{name}"), WIDTH);
            out.push(Section { title, report: plan.report, changes: Vec::new() });
        }
        out[place].changes.push((at, change));
    }
    out.iter_mut().for_each(|section| section.changes.sort_by_key(|(_, change)| change.action));
    out
}

impl Section<'_> {
    fn first_action(&self) -> ChangeAction {
        self.changes.first().map_or(ChangeAction::NoOp, |(_, change)| change.action)
    }

    fn head(&self) -> String {
        let mut counts = ChangeCounts::default();
        self.changes.iter().for_each(|(_, change)| counts.add(change));
        let counts = super::views::counts_text(&counts, Paint::new(Style::Plain)).0;
        format!("<details><summary><code>{}</code> {}</summary>\n\n", escaped(&self.title), escaped(&counts))
    }

    fn foot(&self, fence: &str, missing: usize) -> String {
        let gap = if fence.is_empty() { "" } else { "\n" };
        let missing = match missing {
            0 => String::new(),
            count => format!("\n{count} changes of this module are not shown: the comment is too long.\n"),
        };
        format!("{fence}{gap}{missing}\n</details>\n\n")
    }

    /// As many differences as there is room for, and the number of changes that are left out.
    fn content(&self, left: &mut usize) -> (String, usize) {
        let mut out = String::new();
        let mut missing = 0;
        let mut groups: foldhash::HashMap<u32, Vec<u32>> = foldhash::HashMap::default();
        for (at, change) in &self.changes {
            if let Some(group) = change.group {
                groups.entry(group).or_default().push(*at);
            }
        }
        for (at, change) in &self.changes {
            let members = change.group.and_then(|group| groups.get(&group)).filter(|members| members.len() > 1);
            let text = match members {
                Some(members) if members.first() != Some(at) => continue,
                Some(members) => self.group(change, members),
                None => change_text(change),
            };
            // Fences are longer than the runs of backticks in them.
            let size = text.len() + 2 * longest_run(&text);
            if size > *left {
                missing += members.map_or(1, Vec::len);
                continue;
            }
            *left -= size;
            out.push_str(&text);
        }
        (out, missing)
    }

    fn group(&self, change: &ReportChange, members: &[u32]) -> String {
        let Some(group) = change.group.and_then(|group| self.report.groups.get(group as usize)) else {
            return change_text(change);
        };
        let plain = Paint::new(Style::Plain);
        let mut out = format!("# {} instances of {} {}\n", members.len(), group.kind, headline(change, plain));
        let members = members.iter().filter_map(|at| self.report.changes.get(*at as usize));
        for line in instance_lines(members) {
            let _ = writeln!(out, "#   {}", visible_in_line(&line));
        }
        if let Some(reason) = &change.reason {
            let _ = writeln!(out, "# ({})", visible_in_line(&general_reason(reason.code, &reason.text)));
        }
        object(&mut out, change, &group.diff, &format!("resource \"{}\" {{", group.kind));
        out
    }
}

fn change_text(change: &ReportChange) -> String {
    let plain = Paint::new(Style::Plain);
    let mut out = format!("# {} {}\n", change.address.display(), headline(change, plain));
    for remark in remarks(change) {
        let _ = writeln!(out, "# {}", visible_in_line(&remark));
    }
    object(&mut out, change, &change.diff, &block_head(&change.address));
    out
}

/// Signs stand in the first column, where languages of differences expect them.
fn object(out: &mut String, change: &ReportChange, diff: &DiffNode, head: &str) {
    let plain = Paint::new(Style::Plain);
    let _ = writeln!(out, "{} {head}", symbol(change).trim().replace('~', "!"));
    for line in lines(diff, Unchanged::Counted, plain) {
        let indent = "    ".repeat(line.level + 1);
        let _ = writeln!(out, "{}{indent}{}", first_column(line.whole), line.text);
    }
    out.push_str("  }\n\n");
}

fn first_column(mark: DiffMark) -> &'static str {
    match mark {
        DiffMark::Same => " ",
        DiffMark::Added => "+",
        DiffMark::Removed => "-",
        DiffMark::Changed => "!",
    }
}

fn outputs(report: &Report) -> String {
    let plain = Paint::new(Style::Plain);
    let mut out = String::new();
    for output in &report.outputs {
        for line in named_lines(&output.name, &output.diff, Unchanged::Counted, plain) {
            let _ = writeln!(out, "{} {}{}", first_column(line.whole), "    ".repeat(line.level), line.text);
        }
    }
    out
}

/// The root of a plan among several.
fn of_root(plans: &[MarkdownPlan<'_>], plan: &MarkdownPlan<'_>) -> String {
    if plans.len() > 1 { format!(" in {}", code(&shortened(plan.root, NAME))) } else { String::new() }
}

/// A fence that is longer than any run of backticks in a text.
fn fence(text: &str) -> String {
    "`".repeat(longest_run(text).max(2) + 1)
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// A code span.
fn code(text: &str) -> String {
    let text: String = text.split(['\n', '\r']).collect::<Vec<_>>().join(" ");
    let text = visible_in_line(&text);
    let ticks = "`".repeat(longest_run(&text) + 1);
    // One space at each side is not part of the code.
    let edge = |c: Option<char>| c.is_none_or(|c| c == '`' || c == ' ');
    let gap = if edge(text.chars().next()) || edge(text.chars().next_back()) { " " } else { "" };
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible_in_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
