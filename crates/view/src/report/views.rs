//! Views of a plan in the terminal: a list of changes, groups of equal changes, tables of counts, a tree of modules. Each ends with
//! the changes that can lose something, so that they are on the screen after thousands of other lines.

use std::fmt::Write as _;

use ecow::EcoString;
use yuba_addrs::{InstanceKey, ResourceMode};

use super::diff_text::{Unchanged, indented, lines, named_lines, sign};
use super::{
    ChangeAction, ChangeCounts, ChangeRisk, ReplaceOrder, Report, ReportAddress, ReportChange, module_tree, tables,
};
use crate::change::render::attribute_name;
use crate::paint::{CYAN, GREEN, GREY, Paint, RED, YELLOW};
use crate::plan::Look;

/// Number of destroyed, replaced and forgotten objects at the end of a view.
pub const DIGEST_LINES: usize = 20;
/// Number of instance keys that are listed for a resource of a group.
const KEYS: usize = 8;
/// Number of resources that are listed for a group.
const RESOURCES: usize = 12;
/// Number of failed checks that are listed.
const CHECKS: usize = 10;

/// Settings of a view.
#[derive(Clone, Debug, Default)]
pub struct PlanView {
    /// Its form.
    pub form: PlanForm,
    /// Actions that are shown; empty for all.
    pub only: Vec<ShownAction>,
    /// Treatment of parts that do not change.
    pub unchanged: Unchanged,
}

/// Form of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanForm {
    /// Each change with its difference.
    #[default]
    List,
    /// Changes with equal differences once.
    Groups,
    /// Tables of counts.
    Summary,
    /// Modules with their resources and counts.
    Tree,
}

/// An action that a view selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownAction {
    /// Changes with an action.
    Action(ChangeAction),
    /// Imports.
    Import,
    /// Moves.
    Move,
}

impl ShownAction {
    /// Words of the actions that can be selected.
    pub const WORDS: [&'static str; 8] = ["create", "update", "replace", "destroy", "forget", "read", "import", "move"];

    /// The action with this word.
    pub fn parse(word: &str) -> Option<ShownAction> {
        Some(match word {
            "create" => ShownAction::Action(ChangeAction::Create),
            "update" => ShownAction::Action(ChangeAction::Update),
            "replace" => ShownAction::Action(ChangeAction::Replace),
            "destroy" => ShownAction::Action(ChangeAction::Destroy),
            "forget" => ShownAction::Action(ChangeAction::Forget),
            "read" => ShownAction::Action(ChangeAction::Read),
            "import" => ShownAction::Import,
            "move" => ShownAction::Move,
            _ => return None,
        })
    }

    fn selects(self, change: &ReportChange) -> bool {
        match self {
            ShownAction::Action(action) => change.action == action,
            ShownAction::Import => change.import.is_some(),
            ShownAction::Move => change.moved_from.is_some(),
        }
    }
}

impl PlanView {
    /// Whether it differs from the usual text of a plan.
    pub fn is_special(&self) -> bool {
        self.form != PlanForm::List || !self.only.is_empty() || self.unchanged != Unchanged::Counted
    }

    fn selects(&self, change: &ReportChange) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only.selects(change))
    }
}

/// A plan with changes as text. Begins with an empty line.
pub fn render(report: &Report, view: &PlanView, look: Look) -> String {
    let paint = look.paint();
    let selected: Vec<(u32, &ReportChange)> =
        (0..).zip(&report.changes).filter(|(_, change)| view.selects(change)).collect();
    let mut out = String::from("\n");
    if report.errored {
        let _ = writeln!(out, "{}\n", paint.bold_in(RED, "Planning failed: the plan is incomplete."));
    }
    match view.form {
        PlanForm::List => {
            for (_, change) in &selected {
                write_change(&mut out, change, view.unchanged, paint);
            }
        }
        PlanForm::Groups => write_groups(&mut out, report, &selected, view, paint),
        PlanForm::Summary => tables::write(&mut out, &selected, look),
        PlanForm::Tree => module_tree::write(&mut out, &selected, look),
    }
    if view.only.is_empty() && !report.outputs.is_empty() && matches!(view.form, PlanForm::List | PlanForm::Groups) {
        write_outputs(&mut out, report, view.unchanged, paint);
    }
    write_notes(&mut out, report, selected.len(), look);
    out.push_str(&digest(report, DIGEST_LINES, look));
    let _ = writeln!(out, "{}{}", paint.bold("Plan:"), sentence(report));
    out
}

/// The numbers after `Plan:`.
pub fn sentence(report: &Report) -> String {
    let totals = &report.totals;
    let import = if totals.import > 0 { format!(" {} to import,", totals.import) } else { String::new() };
    let forget = if totals.forget > 0 { format!(", {} to forget", totals.forget) } else { String::new() };
    format!("{import} {} to add, {} to change, {} to destroy{forget}.", totals.add, totals.change, totals.destroy)
}

/// Destroyed, replaced and forgotten objects, in this order; empty if no object is at risk. Ends with an empty line.
pub fn digest(report: &Report, limit: usize, look: Look) -> String {
    let paint = look.paint();
    let mut risky: Vec<&ReportChange> =
        report.changes.iter().filter(|change| change.risk == ChangeRisk::High).collect();
    if risky.is_empty() {
        return String::new();
    }
    risky.sort_by_key(|change| change.action);
    let counts = &report.counts;
    let parts = [(counts.destroy, "destroyed"), (counts.replace, "replaced"), (counts.forget, "forgotten")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let mut out = format!("{}\n", paint.bold(&format!("Objects at risk: {}", parts.join(", "))));
    let shown = if risky.len() > limit { limit.saturating_sub(1) } else { risky.len() };
    for change in risky.iter().take(shown) {
        let plain = format!("  {} {}", symbol(change), change.address.display());
        let details = details(change);
        let room = look.width.saturating_sub(1);
        let (symbol, address) =
            (painted_symbol(change, paint), tables::shortened(&change.address.display(), room.saturating_sub(6)));
        let used = plain.chars().count();
        let details = match room.checked_sub(used + 4) {
            Some(room) if room >= 12 && !details.is_empty() => {
                format!("  {}", paint.with(GREY, &tables::cut(&details, room)))
            }
            _ => String::new(),
        };
        let _ = writeln!(out, "  {symbol} {address}{details}");
    }
    if risky.len() > shown {
        let rest = risky.len() - shown;
        let _ = writeln!(out, "  ... and {rest} other objects; -only=destroy,replace,forget shows all of them");
    }
    out.push('\n');
    out
}

/// Reason and dependents of a change, in few words.
fn details(change: &ReportChange) -> String {
    let mut parts = Vec::new();
    if let Some(reason) = &change.reason {
        parts.push(reason.text.to_string());
    }
    match change.dependents.total {
        0 => {}
        1 => parts.push("1 change depends on it".to_owned()),
        count => parts.push(format!("{count} changes depend on it")),
    }
    if parts.is_empty() { String::new() } else { format!("({})", parts.join("; ")) }
}

/// Symbol of an action in three columns.
pub(super) fn symbol(change: &ReportChange) -> &'static str {
    match (change.action, change.order) {
        (ChangeAction::Replace, Some(ReplaceOrder::CreateFirst)) => "+/-",
        (ChangeAction::Replace, Some(ReplaceOrder::ForgetFirst)) => "./+",
        (ChangeAction::Replace, _) => "-/+",
        (ChangeAction::Create, _) => "  +",
        (ChangeAction::Update, _) => "  ~",
        (ChangeAction::Destroy, _) => "  -",
        (ChangeAction::Forget, _) => "  .",
        (ChangeAction::Read, _) => " <=",
        (ChangeAction::NoOp, _) => "   ",
    }
}

pub(super) fn colour(action: ChangeAction) -> &'static str {
    match action {
        ChangeAction::Destroy | ChangeAction::Replace | ChangeAction::Forget => RED,
        ChangeAction::Update => YELLOW,
        ChangeAction::Create => GREEN,
        ChangeAction::Read | ChangeAction::NoOp => CYAN,
    }
}

fn painted_symbol(change: &ReportChange, paint: Paint) -> String {
    paint.with(colour(change.action), symbol(change)).into_owned()
}

/// The action for an object: `will be destroyed`.
pub(super) fn headline(change: &ReportChange, paint: Paint) -> String {
    let red = |text: &str| paint.bold_in(RED, text).into_owned();
    match (change.action, change.order) {
        (ChangeAction::Create, _) => "will be created".to_owned(),
        (ChangeAction::Read, _) => "will be read during apply".to_owned(),
        (ChangeAction::Update, _) => "will be updated in-place".to_owned(),
        (ChangeAction::Destroy, _) => format!("will be {}", red("destroyed")),
        (ChangeAction::Replace, Some(ReplaceOrder::ForgetFirst)) => {
            format!("must be {}; the older object will not be destroyed", red("replaced"))
        }
        (ChangeAction::Replace, _) => format!("must be {}", red("replaced")),
        (ChangeAction::Forget, _) => {
            format!("will be removed from the Yuba state {}", red("but will not be destroyed"))
        }
        (ChangeAction::NoOp, _) if change.import.is_some() => "will be imported".to_owned(),
        (ChangeAction::NoOp, _) => "has moved".to_owned(),
    }
}

/// The comments above a change.
pub(super) fn remarks(change: &ReportChange) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(reason) = &change.reason {
        out.push(format!("({})", reason.text));
    }
    if let Some(from) = &change.moved_from {
        out.push(format!("(moved from {from})"));
    }
    if let Some(import) = &change.import {
        out.push(format!("(imported from {import})"));
    }
    if change.address.deposed.is_some() {
        out.push("(left over from a partially-failed replacement of this instance)".to_owned());
    }
    match change.dependents.total {
        0 => {}
        _ if change.risk != ChangeRisk::High => {}
        1 => out.push("(1 change depends on it)".to_owned()),
        count => out.push(format!("({count} changes depend on it)")),
    }
    out
}

pub(super) fn block_head(address: &ReportAddress) -> String {
    let word = if address.mode == ResourceMode::Data { "data" } else { "resource" };
    format!("{word} \"{}\" \"{}\" {{", address.kind, address.name)
}

fn write_change(out: &mut String, change: &ReportChange, unchanged: Unchanged, paint: Paint) {
    let head = paint.bold(&format!("  # {}", change.address.display())).into_owned();
    let _ = writeln!(out, "{head} {}", headline(change, paint));
    for remark in remarks(change) {
        let _ = writeln!(out, "  # {remark}");
    }
    let _ = writeln!(out, "{} {}", painted_symbol(change, paint), block_head(&change.address));
    out.push_str(&indented(&lines(&change.diff, unchanged, paint), paint));
    out.push_str("    }\n\n");
}

fn write_groups(out: &mut String, report: &Report, selected: &[(u32, &ReportChange)], view: &PlanView, paint: Paint) {
    for (at, change) in selected {
        let Some(group) = change.group.and_then(|group| report.groups.get(group as usize)) else {
            write_change(out, change, view.unchanged, paint);
            continue;
        };
        // The first member stands for all of them.
        if group.members.first() != Some(at) {
            continue;
        }
        let count = group.members.len();
        let title = format!("  # {count} instances of {}", group.kind);
        let _ = writeln!(out, "{} {}", paint.bold(&title), headline(change, paint));
        if let Some(reason) = &change.reason {
            let _ = writeln!(out, "  # ({})", general_reason(reason.code, &reason.text));
        }
        let members = group.members.iter().filter_map(|at| report.changes.get(*at as usize));
        for line in instance_lines(members) {
            let _ = writeln!(out, "  #   {line}");
        }
        let _ = writeln!(out, "{} resource \"{}\" {{", painted_symbol(change, paint), group.kind);
        out.push_str(&indented(&lines(&group.diff, Unchanged::Omitted, paint), paint));
        let note = paint.with(GREY, &format!("# applies to {count} instances")).into_owned();
        let _ = writeln!(out, "    }} {note}\n");
    }
}

/// The reason of a group, without the key of one of its members.
pub(super) fn general_reason(code: &str, text: &str) -> String {
    match code {
        "delete_because_count_index" => "because the indexes are out of range for count".to_owned(),
        "delete_because_each_key" => "because the keys are not in the for_each map".to_owned(),
        "delete_because_no_resource_config" => "because the resources are not in configuration".to_owned(),
        "delete_because_no_module" | "delete_because_module_enabled_false" => {
            "because their modules are not in configuration or not enabled".to_owned()
        }
        _ => text.to_owned(),
    }
}

/// A line for each resource, with the keys of its instances: `aws_instance.web[0-36]`.
pub(super) fn instance_lines<'c>(members: impl Iterator<Item = &'c ReportChange>) -> Vec<String> {
    let mut resources: Vec<(EcoString, Vec<&InstanceKey>)> = Vec::new();
    let mut places: foldhash::HashMap<EcoString, usize> = foldhash::HashMap::default();
    for change in members {
        let address = &change.address;
        let resource = resource_of(address);
        let next = resources.len();
        let at = *places.entry(resource.clone()).or_insert(next);
        if at == next {
            resources.push((resource, Vec::new()));
        }
        if let (Some((_, keys)), Some(key)) = (resources.get_mut(at), &address.key) {
            keys.push(key);
        }
    }
    let rest = resources.len().saturating_sub(RESOURCES);
    let shown = resources.iter().take(RESOURCES);
    let mut lines: Vec<String> = shown.map(|(resource, keys)| format!("{resource}{}", shown_keys(keys))).collect();
    if rest > 0 {
        lines.push(format!("... and {rest} more resources"));
    }
    lines
}

/// The address without instance key.
pub(super) fn resource_of(address: &ReportAddress) -> EcoString {
    let prefix = if address.mode == ResourceMode::Data { "data." } else { "" };
    let gap = if address.module.is_empty() { "" } else { "." };
    let deposed = address.deposed.as_ref().map(|key| format!(" (deposed object {key})")).unwrap_or_default();
    ecow::eco_format!("{}{gap}{prefix}{}.{}{deposed}", address.module, address.kind, address.name)
}

/// Keys in brackets: numbers as ranges, of strings the first ones.
fn shown_keys(keys: &[&InstanceKey]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let mut parts: Vec<String> = Vec::new();
    let mut range: Option<(u64, u64)> = None;
    let close = |range: &mut Option<(u64, u64)>, parts: &mut Vec<String>| match range.take() {
        Some((first, last)) if first == last => parts.push(first.to_string()),
        Some((first, last)) => parts.push(format!("{first}-{last}")),
        None => {}
    };
    for key in keys {
        match key {
            InstanceKey::Int(number) => {
                let number = u64::try_from(*number).unwrap_or_default();
                match &mut range {
                    Some((_, last)) if *last + 1 == number => *last = number,
                    _ => {
                        close(&mut range, &mut parts);
                        range = Some((number, number));
                    }
                }
            }
            InstanceKey::String(name) => {
                close(&mut range, &mut parts);
                parts.push(yuba_value::quote(name).to_string());
            }
        }
    }
    close(&mut range, &mut parts);
    let more = if parts.len() > KEYS { format!(", {} other keys", parts.len() - KEYS) } else { String::new() };
    parts.truncate(KEYS);
    format!("[{}{more}]", parts.join(", "))
}

fn write_outputs(out: &mut String, report: &Report, unchanged: Unchanged, paint: Paint) {
    out.push_str("Changes to Outputs:\n");
    let width =
        report.outputs.iter().map(|output| attribute_name(&output.name).chars().count()).max().unwrap_or_default();
    for output in &report.outputs {
        let name = format!("{:<width$}", attribute_name(&output.name));
        for line in named_lines(&name, &output.diff, unchanged, paint) {
            out.extend(std::iter::repeat_n("    ", line.level));
            let _ = writeln!(out, "  {} {}", sign(line.mark, paint), line.text);
        }
    }
    out.push('\n');
}

/// Remarks below the changes: how many are shown, outside changes, failed checks.
fn write_notes(out: &mut String, report: &Report, selected: usize, look: Look) {
    let paint = look.paint();
    let start = out.len();
    if selected < report.changes.len() {
        let _ = writeln!(out, "Showing {selected} of {} changes.", report.changes.len());
    }
    if !report.drift.is_empty() {
        let relevant = report.drift.iter().filter(|change| change.relevant).count();
        let objects = if report.drift.len() == 1 { "object has" } else { "objects have" };
        let note =
            format!("{} {objects} changed outside of Yuba; {relevant} of them affect the plan.", report.drift.len());
        let _ = writeln!(out, "{} {note}", paint.bold_in(CYAN, "Note:"));
    }
    let failed: Vec<_> = report.checks.iter().filter(|check| matches!(check.status, "fail" | "error")).collect();
    for check in failed.iter().take(CHECKS) {
        let messages = check.messages.join("; ");
        let text = format!("{}: {messages}", check.address);
        let text = tables::cut(&text.replace('\n', " "), look.width.saturating_sub(15));
        let _ = writeln!(out, "{} {text}", paint.bold_in(RED, "Check failed:"));
    }
    if failed.len() > CHECKS {
        let _ = writeln!(out, "... and {} more failed checks.", failed.len() - CHECKS);
    }
    if out.len() > start {
        out.push('\n');
    }
}

/// Counts as `+3 ~1 -/+2`, coloured, and their width.
pub(super) fn counts_text(counts: &ChangeCounts, paint: Paint) -> (String, usize) {
    let parts = [
        (counts.destroy, "-", ChangeAction::Destroy),
        (counts.replace, "-/+", ChangeAction::Replace),
        (counts.forget, ".", ChangeAction::Forget),
        (counts.update, "~", ChangeAction::Update),
        (counts.create, "+", ChangeAction::Create),
        (counts.read, "<=", ChangeAction::Read),
    ];
    let (mut out, mut width) = (String::new(), 0);
    for (count, sign, action) in parts.into_iter().filter(|(count, ..)| *count > 0) {
        let text = format!("{sign}{count}");
        let gap = if width == 0 { "" } else { " " };
        width += gap.len() + text.len();
        let _ = write!(out, "{gap}{}", paint.with(colour(action), &text));
    }
    for (count, word) in [(counts.import, "import"), (counts.moved, "move")].into_iter().filter(|(count, _)| *count > 0)
    {
        let gap = if width == 0 { "" } else { " " };
        let text = format!("{gap}{word} {count}");
        width += text.len();
        out.push_str(&text);
    }
    (out, width)
}
