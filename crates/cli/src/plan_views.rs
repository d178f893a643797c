//! Flags of `plan`, `apply`, `destroy` and `show` that select a view of a plan.

mod diagnostics;

use yuba_plan::Plan;
use yuba_view::plan::{self, Look};
use yuba_view::report::views::{self, PlanForm, PlanView, ShownAction};
use yuba_view::report::{PlanSources, Report, Unchanged};

use crate::exit::Failure;
use crate::flags::{Args, Flag};

/// `-summary`
pub(crate) const SUMMARY: Flag = Flag::switch(
    "summary",
    "Show tables with the number of changes by module and by resource type, instead of the changes.",
);
/// `-tree`
pub(crate) const TREE: Flag =
    Flag::switch("tree", "Show the modules with their resources and the number of changes, instead of the changes.");
/// `-group`
pub(crate) const GROUP: Flag =
    Flag::switch("group", "Show changes of several instances with the same difference once.");
/// `-only`
pub(crate) const ONLY: Flag = Flag::list(
    "only",
    "actions",
    "Show only changes with one of these actions, separated by commas: create, update, replace, destroy, forget, read, import \
     or move.",
);
/// `-only-changed`
pub(crate) const ONLY_CHANGED: Flag =
    Flag::switch("only-changed", "Show only the attributes that change, without unchanged ones and their number.");

/// The view that the flags of a command select.
pub(crate) fn resolve(args: &Args) -> Result<PlanView, Failure> {
    let is_on = |flag: &Flag| args.table_has(flag.name) && args.is_on(flag.name);
    let forms = [(SUMMARY, PlanForm::Summary), (TREE, PlanForm::Tree), (GROUP, PlanForm::Groups)];
    let mut given = forms.iter().filter(|(flag, _)| is_on(flag));
    let form = given.next();
    if let (Some((first, _)), Some((second, _))) = (form, given.next()) {
        return Err(Failure::usage(diagnostics::several_forms(first.name, second.name)));
    }
    let words = if args.table_has(ONLY.name) { args.list(ONLY.name) } else { Vec::new() };
    let mut only = Vec::new();
    for word in words.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|word| !word.is_empty()) {
        only.push(ShownAction::parse(word).ok_or_else(|| Failure::usage(diagnostics::unknown_action(word)))?);
    }
    let unchanged = if is_on(&ONLY_CHANGED) { Unchanged::Omitted } else { Unchanged::Counted };
    let view = PlanView { form: form.map(|(_, form)| *form).unwrap_or_default(), only, unchanged };
    if view.is_special() && args.is_on("json") {
        return Err(Failure::usage(diagnostics::view_with_json()));
    }
    Ok(view)
}

/// A plan in a view, or in the usual form if nothing changes.
pub(crate) fn render(from: &PlanSources<'_>, view: &PlanView, look: Look) -> String {
    let report = Report::of_plan(from);
    match report.changes.is_empty() {
        true => plan::render(from.plan, from.schemas, look),
        false => views::render(&report, view, look),
    }
}

/// Rows of a terminal that follow the objects at risk: a prompt, which can be a question of several lines.
pub(crate) const ROWS_BELOW: usize = 8;

/// Rows of a digest besides its objects: empty lines, a title and the totals.
const ROWS_AROUND: usize = 4;

/// Destroyed, replaced and forgotten objects of a plan, for the end of a text that is longer than the screen; empty if no object
/// is at risk.
pub(crate) fn digest(from: &PlanSources<'_>, height: usize, look: Look) -> String {
    if !from.plan.changes.iter().any(|change| change.action.ends()) {
        return String::new();
    }
    let report = Report::of_plan(from);
    let digest =
        views::digest(&report, height.saturating_sub(ROWS_BELOW + ROWS_AROUND).clamp(3, views::DIGEST_LINES), look);
    if digest.is_empty() { digest } else { format!("\n{digest}{}\n", summary(from.plan, look)) }
}

fn summary(plan: &Plan, look: Look) -> String {
    let line = plan::summary_line(plan);
    match look.style {
        yuba_view::Style::Coloured => line.replacen("Plan:", "\x1b[1mPlan:\x1b[0m", 1),
        yuba_view::Style::Plain => line,
    }
}
