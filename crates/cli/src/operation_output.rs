//! Reports of planning and applying: for people, as lines of JSON, or both.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use yuba_engine::{AppliedCounts, Interrupt};
use yuba_plan::{Event, Phase, Plan};
use yuba_session::Project;
use yuba_state::Output;
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::EcoString;
use yuba_view::json::JsonValue;
use yuba_view::live::{Durations, Operations, Work};
use yuba_view::machine::{self, OperationKind};
use yuba_view::messages_json::{self, MessageLevel};
use yuba_view::plan::{Look, PieceWriter};
use yuba_view::report::views::PlanView;
use yuba_view::report::{PlanSources, Report};
use yuba_view::{events, outputs, plan, progress};

use crate::deprecation::DeprecationChoice;
use crate::durations;
use crate::exit::Failure;
use crate::flags::Args;
use crate::json_into::{JsonInto, JsonSettings};
use crate::lanes::in_order;
use crate::messages::{diagnostic_lines, greeting, now};
use crate::operate::Kind;
use crate::plan_views;
use crate::signals;
use crate::terminal::Terminal;
use crate::ui::{PageEnd, Ui};

/// Minimum age of a frame that is replaced because of a line before it. Bursts of lines are not slowed down.
const AFTER_LINE: Duration = Duration::from_millis(50);

/// The writer of events.
pub(crate) struct OperationOutput<'t> {
    inner: RefCell<Inner<'t>>,
    json: bool,
    look: Look,
    concise: bool,
    verbose: bool,
    project: Project,
    /// Time of the first event: durations are measured from here.
    start: Instant,
    deprecation: DeprecationChoice,
    view: PlanView,
    /// The objects at risk of the plan that was shown last, for the end of the output.
    risks: Option<Risks>,
}

/// Objects at risk, as text.
struct Risks {
    text: String,
    /// Rows of the terminal before the text that shows them first.
    before: usize,
}

/// Settings of the output of an operation.
pub(crate) struct OutputSettings {
    /// `-json`
    json: bool,
    /// `-json-into`
    into: Option<JsonInto>,
    /// `-show-sensitive`
    show_sensitive: bool,
    /// `-concise`
    concise: bool,
    /// `-verbose`
    verbose: bool,
    /// `TF_IN_AUTOMATION`
    in_automation: bool,
    /// `-deprecation`
    deprecation: DeprecationChoice,
    /// `-ui`, or the page of `yuba ui`
    page: Option<Ui>,
    /// `-summary` and the other flags that select a view of the plan.
    view: PlanView,
    /// The working directory, which has the durations of earlier runs.
    project: Project,
}

impl OutputSettings {
    /// Resolves the settings, and opens the file of `-json-into`.
    ///
    /// `page` is the page that the command always serves; other commands serve one with `-ui`.
    pub(crate) fn resolve(args: &Args, project: &Project, page: Option<PageEnd>) -> Result<OutputSettings, Failure> {
        let environment = project.environment();
        let wants_page = args.table_has("ui") && args.is_on("ui");
        let page = page.or(wants_page.then_some(PageEnd::WithRun));
        Ok(OutputSettings {
            view: plan_views::resolve(args)?,
            into: JsonInto::open(&JsonSettings::resolve(args)?)?,
            json: args.is_on("json"),
            show_sensitive: args.table_has("show-sensitive") && args.is_on("show-sensitive"),
            concise: args.is_on("concise"),
            verbose: args.table_has("verbose") && args.is_on("verbose"),
            in_automation: environment.get("TF_IN_AUTOMATION").is_some(),
            deprecation: args.deprecation().unwrap_or_default(),
            page: page.map(Ui::start).transpose()?,
            project: project.clone(),
        })
    }
}

struct Inner<'t> {
    terminal: &'t mut Terminal,
    into: Option<JsonInto>,
    page: Option<Ui>,
    operations: Operations,
    /// Time of the last frame of the live display.
    drawn: Duration,
    /// Number of reported interrupts.
    interrupts: u8,
}

impl<'t> OperationOutput<'t> {
    /// Begins the output with the version, for tools.
    pub(crate) fn new(terminal: &'t mut Terminal, settings: OutputSettings) -> OperationOutput<'t> {
        let OutputSettings {
            json,
            into,
            show_sensitive,
            concise,
            verbose,
            in_automation,
            deprecation,
            view,
            page,
            project,
        } = settings;
        if let Some(page) = &page {
            terminal.err(&page.greeting());
            terminal.flush();
        }
        let look = Look { style: terminal.style(), width: terminal.width(), show_sensitive, in_automation };
        let past = if page.is_some() || terminal.redraws() { durations::load(&project) } else { Durations::default() };
        let (operations, drawn) = (Operations::new(past), Duration::ZERO);
        let inner = Inner { terminal, into, page, operations, drawn, interrupts: 0 };
        let start = Instant::now();
        let output = OperationOutput {
            inner: RefCell::new(inner),
            json,
            look,
            concise,
            verbose,
            project,
            start,
            deprecation,
            view,
            risks: None,
        };
        output.lines(&greeting());
        output
    }

    /// Whether the output is JSON for tools.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// In bold letters, for people.
    pub(crate) fn bold(&self, text: &str) -> String {
        self.inner.borrow().terminal.bold(text)
    }

    /// Says something to people, as it is.
    pub(crate) fn raw(&mut self, text: &str) {
        self.human(text);
    }

    /// Says a line to people, in bold letters.
    pub(crate) fn bold_line(&self, text: &str) {
        let line = format!("{}\n", self.bold(text));
        self.human(&line);
    }

    /// Says that all went well.
    pub(crate) fn succeeded(&mut self, title: &str, more: &str) {
        let text = yuba_view::wrap::wrap(&format!("{title}\n\n{more}"), self.look.width.saturating_sub(1));
        let text = self.inner.borrow().terminal.coloured("32", &text);
        self.human(&format!("\n{text}\n\n"));
        self.lines(&messages_json::line(MessageLevel::Info, &format!("{title} {more}"), &now(), Vec::new()));
    }

    fn human(&self, text: &str) {
        if !self.json {
            self.inner.borrow_mut().terminal.out(text);
        }
    }

    /// Interval between calls of [`OperationOutput::tick`] while operations run.
    pub(crate) fn beat(&self) -> Duration {
        let draws = self.draws();
        Duration::from_millis(if draws { 100 } else { 500 })
    }

    fn draws(&self) -> bool {
        !self.json && !self.concise && self.inner.borrow().terminal.redraws()
    }

    /// Shows the operations in progress, and confirms a request to stop.
    pub(crate) fn tick(&self, interrupt: &Interrupt) {
        let asked = interrupt.count().min(2);
        let reported = std::mem::replace(&mut self.inner.borrow_mut().interrupts, asked);
        for text in [signals::FIRST, signals::SECOND].iter().take(usize::from(asked)).skip(usize::from(reported)) {
            self.human(&format!("{text}\n"));
            self.lines(&messages_json::line(MessageLevel::Info, text, &now(), vec![("type", JsonValue::from("log"))]));
        }
        self.draw(Duration::ZERO);
        self.show_status();
        let (people, programs) = self.slow_operations();
        if !people.is_empty() && !self.concise && !self.draws() {
            self.human(&people);
        }
        if !programs.is_empty() {
            self.lines(&programs);
        }
    }

    /// Shows on the page how many operations are done, and what is probably left.
    fn show_status(&self) {
        let inner = self.inner.borrow();
        if let Some(page) = &inner.page {
            page.progress(inner.operations.status(self.start.elapsed()));
        }
    }

    /// Draws the live display, unless the last frame is not as old as `age`.
    fn draw(&self, age: Duration) {
        if self.draws() {
            let inner = &mut *self.inner.borrow_mut();
            let now = self.start.elapsed();
            if now.saturating_sub(inner.drawn) >= age {
                inner.drawn = now;
                let frame = inner.operations.frame(inner.terminal.size(), now);
                inner.terminal.show_live(&frame);
            }
        }
    }

    /// Lines about operations that have taken ten seconds more since they were reported last: for people, and for tools.
    fn slow_operations(&self) -> (String, String) {
        let (mut people, mut programs) = (String::new(), String::new());
        let inner = &mut *self.inner.borrow_mut();
        for (started, seconds) in inner.operations.slow(self.start.elapsed()) {
            if let Some(line) = progress::still(started, seconds, self.look.style) {
                let _ = writeln!(people, "{line}");
            }
            if let Event::Started { addr, phase, .. } = started {
                programs += &machine::progress(addr, *phase, seconds, &now());
            }
        }
        (people, programs)
    }

    /// Clears the operations in progress and prints the confirmation of a request to stop.
    pub(crate) fn rest(&self, interrupt: &Interrupt) {
        self.inner.borrow_mut().operations.settle();
        self.tick(interrupt);
        let refreshed = self.inner.borrow_mut().operations.take_refreshed();
        if let Some((count, seconds)) = refreshed.filter(|_| self.counts_refreshes()) {
            self.human(&format!("{}\n", progress::refreshed(count, seconds, self.look.style)));
        }
    }

    /// Whether refreshed objects are counted instead of listed.
    fn counts_refreshes(&self) -> bool {
        self.draws() && !self.verbose
    }

    /// Number of objects that planning refreshes.
    pub(crate) fn expect_refresh(&self, expected: BTreeMap<Work, usize>) {
        self.inner.borrow_mut().operations.expect_refresh(expected);
    }

    /// From here on the changes of a plan are made.
    pub(crate) fn expect(&self, plan: &Plan) {
        let (total, expected) = durations::planned(plan);
        self.inner.borrow_mut().operations.expect_changes(total, expected);
    }

    /// Writes whole lines for tools.
    fn lines(&self, lines: &str) {
        let mut inner = self.inner.borrow_mut();
        if self.json {
            inner.terminal.out(lines);
        }
        if let Some(into) = &mut inner.into {
            into.write(lines);
        }
        if let Some(page) = &inner.page {
            page.lines(lines);
        }
    }

    /// Reports that the lock of the state takes long.
    pub(crate) fn waiting(&self) {
        let text = "Acquiring state lock. This may take a few moments...";
        self.human(&format!("{text}\n"));
        self.inner.borrow_mut().terminal.flush();
        let kind = vec![("type", JsonValue::from("state_lock_acquire"))];
        self.lines(&messages_json::line(MessageLevel::Info, text, &now(), kind));
    }

    /// Reports that the plan is made again.
    pub(crate) fn planning_again(&self) {
        let text = "Other runs have changed objects that the plan depends on. Planning again...";
        self.human(&format!("{text}\n"));
        self.inner.borrow_mut().terminal.flush();
        let kind = vec![("type", JsonValue::from("log"))];
        self.lines(&messages_json::line(MessageLevel::Info, text, &now(), kind));
    }

    /// Whether standard output, a file or a page gets messages for tools.
    fn has_programs(&self) -> bool {
        let inner = self.inner.borrow();
        self.json || inner.into.is_some() || inner.page.is_some()
    }

    /// Shows the report of a plan on the page, if there is one.
    pub(crate) fn publish(&self, from: &PlanSources<'_>) {
        if let Some(page) = &self.inner.borrow().page {
            page.publish(&Report::of_plan(from));
        }
    }

    /// Ends the page, if there is one.
    pub(crate) fn close_page(self) {
        let Inner { terminal, page, operations, .. } = self.inner.into_inner();
        durations::save(&self.project, operations.learned());
        if let Some(page) = page {
            page.finish(terminal);
        }
    }

    /// Says what happens.
    pub(crate) fn event(&self, event: &Event) {
        let seconds = self.inner.borrow_mut().operations.event(event, self.start.elapsed());
        let is_counted = matches!(event, Event::Started { phase: Phase::Refresh, .. }) && self.counts_refreshes();
        if !self.json
            && !self.concise
            && !is_counted
            && let Some(line) = events::line(event, seconds, self.look.style)
        {
            self.human(&format!("{line}\n"));
            // The line has removed the frame.
            self.draw(AFTER_LINE);
        }
        if self.has_programs() {
            self.lines(&events::json(event, seconds, &now()));
        }
    }

    /// Shows a plan.
    pub(crate) fn plan(&mut self, from: &PlanSources<'_>) {
        if !self.json {
            let before = self.rows();
            let is_special = self.view.is_special();
            if is_special {
                self.human(&plan_views::render(from, &self.view, self.look));
            } else {
                plan::render_in_pieces(from.plan, from.schemas, self.look, &mut InOrder { output: self });
            }
            let height = self.inner.borrow().terminal.height();
            let text = height.map(|height| plan_views::digest(from, height, self.look)).filter(|text| !text.is_empty());
            // Views end with the objects at risk.
            let own = |text: &String| {
                if is_special { self.rows().saturating_sub(text.matches('\n').count()) } else { before }
            };
            self.risks = text.map(|text| Risks { before: own(&text), text });
        }
        if self.has_programs() {
            self.lines(&machine::plan(from.plan, &now()));
        }
        self.publish(from);
    }

    fn rows(&self) -> usize {
        self.inner.borrow().terminal.rows()
    }

    /// Ends the report of a plan: shows the objects at risk if they are no longer on the screen.
    pub(crate) fn end_of_plan(&mut self) {
        let height = self.inner.borrow().terminal.height();
        if let (Some(risks), Some(height)) = (self.risks.take(), height)
            && self.rows().saturating_sub(risks.before) > height.saturating_sub(plan_views::ROWS_BELOW)
        {
            self.human(&risks.text);
        }
    }

    /// Reports the changes of a saved plan as machine-readable messages; people have seen them.
    pub(crate) fn saved_plan(&mut self, saved: &Plan) {
        if self.has_programs() {
            self.lines(&machine::planned_changes(saved, &now()));
        }
    }

    /// Next steps for a plan that was not applied.
    pub(crate) fn next_steps(&mut self, saved: Option<&str>, generated: Option<&str>) {
        let text = plan::next_steps(saved, generated, self.look);
        self.human(&text);
    }

    /// Shows diagnostics.
    pub(crate) fn report(&mut self, problems: &Diagnostics, sources: &Sources) {
        let wanted = self.deprecation.wanted(problems.clone());
        if !self.json {
            self.inner.borrow_mut().terminal.report(&wanted, sources);
        }
        if self.has_programs() {
            self.lines(&diagnostic_lines(wanted.iter(), sources));
        }
    }

    /// After all changes were made.
    pub(crate) fn applied(&mut self, counts: &AppliedCounts, kind: Kind, values: &BTreeMap<EcoString, Output>) {
        let (destroy, refresh) = (kind == Kind::Destroy, kind == Kind::Refresh);
        let people = progress::SummaryCounts {
            imported: counts.imported,
            added: counts.added,
            changed: counts.changed,
            destroyed: counts.destroyed,
            forgotten: counts.forgotten,
        };
        match kind {
            Kind::Refresh => {}
            Kind::Destroy => self.human(&progress::destroyed(&people, self.look.style)),
            _ => self.human(&progress::applied(&people, self.look.style)),
        }
        if !destroy {
            self.human(&outputs::section(values, self.look));
        }
        if self.has_programs() {
            let programs = machine::MessageCounts {
                add: counts.added,
                change: counts.changed,
                import: counts.imported,
                remove: counts.destroyed,
                forget: counts.forgotten,
            };
            if !refresh {
                let operation = if destroy { OperationKind::Destroy } else { OperationKind::Apply };
                self.lines(&machine::summary(programs, operation, &now()));
            }
            if !destroy {
                self.lines(&machine::outputs(values, &now()));
            }
        }
    }
}

/// Writes the pieces of a plan for people.
struct InOrder<'o, 't> {
    output: &'o OperationOutput<'t>,
}

impl PieceWriter for InOrder<'_, '_> {
    fn write(&mut self, piece: &str) {
        self.output.human(piece);
    }
    fn write_all(&mut self, count: usize, make: &(dyn Fn(usize) -> String + Sync)) {
        in_order(count, make, &mut |piece| self.write(piece));
    }
}
