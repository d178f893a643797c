//! What is reported while changes are planned and made: to people, or to programs as lines of JSON, or to both.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use yuba_engine::{AppliedCounts, Interrupt};
use yuba_net::Environment;
use yuba_plan::{Action, Event, Plan};
use yuba_provider::Providers;
use yuba_state::Output;
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::EcoString;
use yuba_view::json::JsonValue;
use yuba_view::machine::{self, OperationKind};
use yuba_view::messages_json::{self, MessageLevel};
use yuba_view::plan::Look;
use yuba_view::{outputs, plan, progress};

use crate::deprecation::DeprecationChoice;
use crate::exit::Failure;
use crate::flags::Args;
use crate::json_into::{JsonInto, JsonSettings};
use crate::messages::{diagnostic_lines, greeting, now};
use crate::operate::Kind;
use crate::running::Running;
use crate::signals;
use crate::terminal::Terminal;

/// Where things are reported.
pub(crate) struct OperationOutput<'t> {
    inner: RefCell<Inner<'t>>,
    json: bool,
    look: Look,
    concise: bool,
    deprecation: DeprecationChoice,
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
    /// `TF_IN_AUTOMATION`
    in_automation: bool,
    /// `-deprecation`
    deprecation: DeprecationChoice,
}

impl OutputSettings {
    /// Resolves the settings, and opens the file of `-json-into`.
    pub(crate) fn resolve(args: &Args, environment: &Environment) -> Result<OutputSettings, Failure> {
        Ok(OutputSettings {
            into: JsonInto::open(&JsonSettings::resolve(args)?)?,
            json: args.is_on("json"),
            show_sensitive: args.table_has("show-sensitive") && args.is_on("show-sensitive"),
            concise: args.is_on("concise"),
            in_automation: environment.get("TF_IN_AUTOMATION").is_some(),
            deprecation: args.deprecation().unwrap_or_default(),
        })
    }
}

struct Inner<'t> {
    terminal: &'t mut Terminal,
    into: Option<JsonInto>,
    running: Running,
    /// Number of reported interrupts.
    interrupts: u8,
}

impl<'t> OperationOutput<'t> {
    /// Begins the output with the version, for programs.
    pub(crate) fn new(terminal: &'t mut Terminal, settings: OutputSettings) -> OperationOutput<'t> {
        let OutputSettings { json, into, show_sensitive, concise, in_automation, deprecation } = settings;
        let look = Look { style: terminal.style(), width: terminal.width(), show_sensitive, in_automation };
        let inner = Inner { terminal, into, running: Running::default(), interrupts: 0 };
        let output = OperationOutput { inner: RefCell::new(inner), json, look, concise, deprecation };
        output.lines(&greeting());
        output
    }

    /// Whether programs listen.
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
            let mut inner = self.inner.borrow_mut();
            match inner.running.erase() {
                Some(erase) => inner.terminal.out(&(erase + text)),
                None => inner.terminal.out(text),
            }
        }
    }

    /// How often [`OperationOutput::tick`] wants to be called while others work.
    pub(crate) fn beat(&self) -> Duration {
        let draws = self.draws();
        Duration::from_millis(if draws { 100 } else { 500 })
    }

    fn draws(&self) -> bool {
        !self.json && !self.concise && self.inner.borrow().terminal.redraws()
    }

    /// Shows what is under way, and says when somebody asked to stop.
    pub(crate) fn tick(&self, interrupt: &Interrupt) {
        let asked = interrupt.count().min(2);
        let reported = std::mem::replace(&mut self.inner.borrow_mut().interrupts, asked);
        for text in [signals::FIRST, signals::SECOND].iter().take(usize::from(asked)).skip(usize::from(reported)) {
            self.human(&format!("{text}\n"));
            self.lines(&messages_json::line(MessageLevel::Info, text, &now(), vec![("type", JsonValue::from("log"))]));
        }
        if self.draws() {
            let mut inner = self.inner.borrow_mut();
            let block = inner.running.draw(self.look.style, self.look.width);
            inner.terminal.out(&block);
            inner.terminal.flush();
        }
        let (people, programs) = self.inner.borrow_mut().running.beat(self.look.style, now);
        if !people.is_empty() && !self.concise && !self.draws() {
            self.human(&people);
        }
        if !programs.is_empty() {
            self.lines(&programs);
        }
    }

    /// Nothing is under way any more; whoever asked to stop hears that they were heard.
    pub(crate) fn rest(&self, interrupt: &Interrupt) {
        self.inner.borrow_mut().running.settle();
        self.tick(interrupt);
    }

    /// From here on the changes of a plan are made.
    pub(crate) fn expect(&self, plan: &Plan) {
        let steps = |action| match action {
            Action::NoOp => 0,
            Action::DeleteThenCreate | Action::CreateThenDelete => 2,
            _ => 1,
        };
        let total = plan.changes.iter().map(|change| steps(change.action)).sum();
        self.inner.borrow_mut().running.expect(total);
    }

    /// Says something to programs: whole lines.
    fn lines(&self, lines: &str) {
        let mut inner = self.inner.borrow_mut();
        if self.json {
            inner.terminal.out(lines);
        }
        if let Some(into) = &mut inner.into {
            into.write(lines);
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

    /// Whether programs listen, to the output or to a file.
    fn has_programs(&self) -> bool {
        self.json || self.inner.borrow().into.is_some()
    }

    /// Says what happens.
    pub(crate) fn event(&self, event: &Event) {
        let seconds = self.inner.borrow_mut().running.event(event);
        if !self.json
            && !self.concise
            && let Some(line) = progress::line(event, seconds, self.look.style)
        {
            self.human(&format!("{line}\n"));
        }
        if self.has_programs() {
            self.lines(&machine::event(event, seconds, &now()));
        }
    }

    /// Shows a plan.
    pub(crate) fn plan(&mut self, planned: &Plan, schemas: &dyn Providers) {
        if !self.json {
            plan::render_in_pieces(planned, schemas, self.look, &mut |piece| self.human(piece));
        }
        if self.has_programs() {
            self.lines(&machine::plan(planned, &now()));
        }
    }

    /// Tells programs what a plan that was made before is about to do; people have seen it.
    pub(crate) fn saved_plan(&mut self, saved: &Plan) {
        if self.has_programs() {
            self.lines(&machine::planned_changes(saved, &now()));
        }
    }

    /// What can be done with a plan that was not applied.
    pub(crate) fn next_steps(&mut self, saved: Option<&str>, generated: Option<&str>) {
        let text = plan::next_steps(saved, generated, self.look);
        self.human(&text);
    }

    /// Shows what there is to say.
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
            let programs = machine::ChangeCounts {
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
