//! A plan as people read it.

pub(crate) mod comment;
mod counts;
mod prose;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use yuba_addrs::ResourceMode;
use yuba_plan::{Action, Mode, OutputChange, Plan, ResourceChange};
use yuba_provider::{BlockSchema, Providers};

use crate::change::render::attribute_name;
use crate::change::{Change, Node, Options, Paths, Step};
use crate::paint::{GREEN, Paint, RED, Style, YELLOW};
use crate::state_json::schema_of;
use counts::PlanCounts;

/// Settings for showing a plan or state.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Colours or none.
    pub style: Style,
    /// Columns; 78 if the output is not a terminal.
    pub width: usize,
    /// `-show-sensitive`
    pub show_sensitive: bool,
    /// Commands that people could run next are not mentioned.
    pub in_automation: bool,
}

impl Default for Look {
    fn default() -> Look {
        Look { style: Style::Plain, width: 78, show_sensitive: false, in_automation: false }
    }
}

impl Look {
    pub(crate) fn paint(self) -> Paint {
        Paint::new(self.style)
    }
    pub(crate) fn options(self) -> Options {
        Options { show_sensitive: self.show_sensitive, ..Options::new(self.paint()) }
    }
}

/// Number of changes in a piece of the rendered plan.
const PIECE: usize = 64;

/// Writes the pieces of a text in order.
pub trait PieceWriter {
    /// Writes a piece.
    fn write(&mut self, piece: &str);
    /// Writes so many pieces, each made by its number. They do not depend on each other, so a writer with threads makes
    /// several at the same time.
    fn write_all(&mut self, count: usize, make: &(dyn Fn(usize) -> String + Sync)) {
        (0..count).for_each(|piece| self.write(&make(piece)));
    }
}

impl PieceWriter for String {
    fn write(&mut self, piece: &str) {
        self.push_str(piece);
    }
}

/// All there is to say about a plan: what changed outside, what will be done, and in which outputs it results. Begins
/// with an empty line.
pub fn render(plan: &Plan, schemas: &dyn Providers, look: Look) -> String {
    let mut text = String::new();
    render_in_pieces(plan, schemas, look, &mut text);
    text
}

/// The same in pieces, so that the text of a large plan is never in memory as a whole.
pub fn render_in_pieces(plan: &Plan, schemas: &dyn Providers, look: Look, writer: &mut dyn PieceWriter) {
    let mut out = String::new();
    let drift = write_drift(&mut out, plan, schemas, look);
    let changes: Vec<&ResourceChange> = plan.changes.iter().filter(|change| is_shown(change)).collect();
    let counts = PlanCounts::of(&changes);
    let outputs = render_outputs(&plan.outputs, look);
    if changes.is_empty() && outputs.is_empty() {
        // The section about drift is enough.
        let is_enough = plan.mode == Mode::RefreshOnly && drift == Drift::Shown && !plan.errored;
        if drift == Drift::Shown && !is_enough {
            out.push_str(&prose::rule(look));
            out.push('\n');
        }
        if !is_enough {
            out.push_str(&prose::no_changes(plan, drift, look));
        }
        writer.write(&out);
        return;
    }
    if drift == Drift::Shown {
        out.push_str(&prose::rule(look));
        out.push('\n');
    }
    if counts.any() {
        out.push_str(&prose::legend_head(look));
        for (action, _) in counts.legend() {
            let _ = writeln!(out, "{}", describe(action, look.paint()));
        }
    }
    if !changes.is_empty() {
        out.push_str(if plan.errored { prose::ACTIONS_THEN_PROBLEM } else { prose::ACTIONS });
        writer.write(&out);
        out.clear();
        let pieces: Vec<&[&ResourceChange]> = changes.chunks(PIECE).collect();
        writer.write_all(pieces.len(), &|piece| {
            let mut text = String::new();
            for change in pieces[piece] {
                write_resource(&mut text, change, schemas, Cause::Planned, &Paths::All, look);
            }
            text
        });
        let _ = writeln!(out, "\n{}{}", look.paint().bold("Plan:"), counts.sentence());
    }
    if !outputs.is_empty() {
        let _ = writeln!(out, "\nChanges to Outputs:\n{outputs}");
        if !counts.any() {
            out.push_str(&prose::outputs_only(look));
        }
    }
    writer.write(&out);
}

/// The sentence with the numbers: `Plan: 1 to add, 0 to change, 0 to destroy.`
pub fn summary_line(plan: &Plan) -> String {
    let changes: Vec<&ResourceChange> = plan.changes.iter().filter(|change| is_shown(change)).collect();
    format!("Plan:{}", PlanCounts::of(&changes).sentence())
}

/// The lines after a plan that is not applied at once: its file, and the next steps. `saved` is the path of the plan
/// file, `generated` the path of a file with configuration for imported objects. Empty in automation.
pub fn next_steps(saved: Option<&str>, generated: Option<&str>, look: Look) -> String {
    if look.in_automation {
        return String::new();
    }
    prose::next_steps(saved, generated, look)
}

/// Reason for showing a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Planned,
    Drift,
}

fn is_moved(change: &ResourceChange) -> bool {
    change.moved_from.is_some()
}

/// Whether the plan shows it.
pub(crate) fn is_shown(change: &ResourceChange) -> bool {
    match change.addr.resource.mode {
        ResourceMode::Ephemeral => false,
        ResourceMode::Data if change.action == Action::Delete => false,
        _ => change.action != Action::NoOp || is_moved(change) || change.importing.is_some(),
    }
}

/// Whether the section about changes outside of Yuba is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drift {
    Shown,
    Empty,
}

fn write_drift(out: &mut String, plan: &Plan, schemas: &dyn Providers, look: Look) -> Drift {
    let refresh_only = plan.mode == Mode::RefreshOnly;
    let plan_is_empty = || {
        let outputs = plan.outputs.iter().all(|output| !changes(output));
        outputs && plan.changes.iter().all(|change| change.action == Action::NoOp && !is_moved(change))
    };
    if plan.drift.is_empty() || (!refresh_only && plan_is_empty()) {
        return Drift::Empty;
    }
    let relevant = if refresh_only { None } else { Some(Relevant::of(plan)) };
    let mut text = String::new();
    let mut any = false;
    for change in plan.drift.iter().filter(|change| refresh_only || change.action != Action::NoOp) {
        let paths = match &relevant {
            None => Paths::All,
            Some(relevant) => match relevant.paths(change) {
                Some(paths) => paths,
                None => continue,
            },
        };
        let shown = write_resource(&mut text, change, schemas, Cause::Drift, &paths, look);
        // In refresh-only mode a section without content is shown too.
        any |= refresh_only || shown;
    }
    if !any {
        return Drift::Empty;
    }
    out.push_str(&prose::drift_head(look));
    out.push_str(&text);
    out.push_str(&prose::drift_tail(plan.mode, look));
    Drift::Shown
}

/// An instance, or without key all instances of a resource.
type ResourceOrInstance<'a> =
    (&'a yuba_addrs::ModuleInstance, &'a yuba_addrs::Resource, Option<&'a yuba_addrs::InstanceKey>);

/// Attributes that the configuration depends on, by resource.
pub(crate) struct Relevant<'a> {
    by_resource: std::collections::HashMap<ResourceOrInstance<'a>, Vec<&'a yuba_value::Path>>,
}

impl<'a> Relevant<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Relevant<'a> {
        let mut by_resource: std::collections::HashMap<_, Vec<_>> = std::collections::HashMap::new();
        for attribute in &plan.relevant {
            let at = &attribute.resource;
            let key = (&at.module, &at.resource, at.key.as_ref());
            by_resource.entry(key).or_default().push(&attribute.path);
        }
        Relevant { by_resource }
    }
    pub(crate) fn paths(&self, change: &'a ResourceChange) -> Option<Paths<'a>> {
        let (module, resource) = (&change.addr.module, &change.addr.resource);
        let own = self.by_resource.get(&(module, resource, change.addr.key.as_ref()));
        let all = change.addr.key.as_ref().and_then(|_| self.by_resource.get(&(module, resource, None)));
        if own.is_none() && all.is_none() {
            return None;
        }
        Some(Paths::inherited(own.into_iter().chain(all).flatten().copied()))
    }
}

/// One object: why it exists, and its action. Returns whether anything was shown.
fn write_resource(
    out: &mut String,
    change: &ResourceChange,
    schemas: &dyn Providers,
    cause: Cause,
    relevant: &Paths<'_>,
    look: Look,
) -> bool {
    let fallback;
    let provider = schemas.schema(&change.provider.provider);
    let schema = match schema_of(provider.as_deref(), &change.addr.resource) {
        Some(schema) => &schema.block,
        None => {
            let object = if change.after.ty().is_object() { &change.after } else { &change.before };
            fallback = BlockSchema::of_object(object.ty());
            &fallback
        }
    };
    let (before, after) = (Node::of_block(&change.before, schema), Node::of_block(&change.after, schema));
    let replace = Paths::new(&change.required_replace);
    let diff =
        Change { replace, relevant: relevant.clone(), ..Change::new(Some(&before), Some(&after)) }.by_block(schema);
    // Only values without dependents can have changed.
    if cause == Cause::Drift && diff.step == Step::Keep && !matches!(relevant, Paths::All) {
        return false;
    }
    if change.action == Action::NoOp && !is_moved(change) && change.importing.is_none() {
        return false;
    }
    out.push('\n');
    comment::write(out, change, cause, look.paint());
    let mut options = look.options();
    let forget = change.action == Action::Forget;
    (options.no_symbols, options.no_null) = (forget, forget);
    options.show_kept = change.importing.is_some();
    let resource = &change.addr.resource;
    let word = if resource.mode == ResourceMode::Managed { "resource" } else { "data" };
    let symbol = symbol(change.action, look.paint());
    let _ = write!(out, "{symbol} {word} \"{}\" \"{}\" ", resource.kind, resource.name);
    diff.write(out, 0, options);
    out.push('\n');
    true
}

/// The values of an output before and after. Marks inside are ignored: it is shown as a whole, or not.
fn output_nodes(output: &OutputChange) -> (Node, Node) {
    let node = |value: &yuba_value::Value| Node { sensitive: output.sensitive, ..Node::of(&value.unmark_deep().0) };
    (node(&output.before), node(&output.after))
}

fn changes(output: &OutputChange) -> bool {
    let (before, after) = output_nodes(output);
    Change::new(Some(&before), Some(&after)).by_look().step != Step::Keep || deprecation_note(output).is_some()
}

/// The note of an output whose value does not change and whose deprecation changes.
pub(crate) fn deprecation_note(output: &OutputChange) -> Option<String> {
    match (output.deprecated_before.is_empty(), output.deprecated.is_empty()) {
        _ if output.action != Action::Update || output.deprecated_before == output.deprecated => None,
        (false, true) => Some("no longer deprecated".to_owned()),
        (_, false) => Some(format!("deprecated: {}", output.deprecated.lines().next().unwrap_or_default())),
        (true, true) => None,
    }
}

/// A line or more for each output that changes; without the last line end.
fn render_outputs(outputs: &[OutputChange], look: Look) -> String {
    let width = outputs.iter().map(|output| attribute_name(&output.name).len()).max().unwrap_or_default();
    let mut out = String::new();
    for output in outputs {
        let (before, after) = output_nodes(output);
        let diff = Change::new(Some(&before), Some(&after)).by_look();
        let note = deprecation_note(output).filter(|_| diff.step == Step::Keep);
        let action = match diff.step {
            Step::Keep if note.is_some() => Action::Update,
            Step::Keep => continue,
            Step::Create => Action::Create,
            Step::Update => Action::Update,
            Step::Delete => Action::Delete,
        };
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = write!(out, "{gap}{} {:<width$} = ", symbol(action, look.paint()), attribute_name(&output.name));
        diff.write(&mut out, 0, look.options());
        if let Some(note) = note {
            let _ = write!(out, " # {note}");
        }
    }
    out
}

/// Symbol of an action, in three columns.
fn symbol(action: Action, paint: Paint) -> String {
    let (plus, minus, dot) = (paint.with(GREEN, "+"), paint.with(RED, "-"), paint.with(RED, "."));
    match action {
        Action::NoOp => "   ".to_owned(),
        Action::Create => format!("  {plus}"),
        Action::Read => format!(" {}", paint.with(crate::paint::CYAN, "<=")),
        Action::Update => format!("  {}", paint.with(YELLOW, "~")),
        Action::DeleteThenCreate => format!("{minus}/{plus}"),
        Action::CreateThenDelete => format!("{plus}/{minus}"),
        Action::Delete => format!("  {minus}"),
        Action::Forget => format!("  {dot}"),
        // Quirk: this one is wider.
        Action::ForgetThenCreate => format!("  {dot}/{plus}"),
    }
}

/// A line of the legend.
fn describe(action: Action, paint: Paint) -> String {
    let meaning = match action {
        Action::NoOp => "",
        Action::Create => "create",
        Action::Read => "read (data resources)",
        Action::Update => "update in-place (current -> planned)",
        Action::DeleteThenCreate => "destroy and then create replacement",
        Action::CreateThenDelete => "create replacement and then destroy",
        Action::Delete => "destroy",
        Action::Forget => "forget",
        Action::ForgetThenCreate => "forget and then create replacement",
    };
    let symbol = symbol(action, paint);
    let symbol = if action == Action::ForgetThenCreate { symbol.trim_start() } else { &symbol };
    format!("{symbol} {meaning}")
}
