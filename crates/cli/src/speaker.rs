//! What is said while changes are planned and made: to people, or to programs as lines of JSON, or to both.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use yuba_addrs::ProviderSource;
use yuba_engine::Counts;
use yuba_plan::{Event, Phase, Plan};
use yuba_provider::ProviderSchema;
use yuba_state::Output;
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::EcoString;
use yuba_view::machine::{self, Operation};
use yuba_view::messages_json::{self, Level};
use yuba_view::plan::Look;
use yuba_view::snippet::Excerpts;
use yuba_view::{outputs, plan, progress};

use crate::commands::validate::signature;
use crate::commands::version::LANGUAGE_LEVEL;
use crate::exit::Failure;
use crate::flags::Args;
use crate::json_into::JsonInto;
use crate::messages::now;
use crate::settings::environment;
use crate::terminal::Terminal;

/// Where things are said.
pub(crate) struct Speaker<'t> {
    inner: RefCell<Inner<'t>>,
    json: bool,
    look: Look,
    concise: bool,
    args: Args,
}

struct Inner<'t> {
    terminal: &'t mut Terminal,
    into: Option<JsonInto>,
    started: HashMap<(String, Kind), Instant>,
    waiting: bool,
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Phase(Phase),
    Provision,
}

impl<'t> Speaker<'t> {
    /// As the flags want it.
    pub(crate) fn new(terminal: &'t mut Terminal, args: &Args) -> Result<Speaker<'t>, Failure> {
        let into = JsonInto::open(args)?;
        let look = Look {
            style: terminal.style(),
            width: terminal.width(),
            show_sensitive: args.table_has("show-sensitive") && args.is_on("show-sensitive"),
            in_automation: environment("TF_IN_AUTOMATION").is_some(),
        };
        let json = args.is_on("json");
        let inner = Inner { terminal, into, started: HashMap::new(), waiting: false };
        let mut speaker =
            Speaker { inner: RefCell::new(inner), json, look, concise: args.is_on("concise"), args: args.clone() };
        let name = format!("Yuba {}", env!("CARGO_PKG_VERSION"));
        speaker.line(&messages_json::version(&name, LANGUAGE_LEVEL, &now()));
        Ok(speaker)
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
        self.lines(&messages_json::line(Level::Info, &format!("{title} {more}"), &now(), Vec::new()));
    }

    fn human(&self, text: &str) {
        if !self.json {
            self.inner.borrow_mut().terminal.out(text);
        }
    }

    /// Says something to programs: whole lines.
    fn line(&mut self, lines: &str) {
        self.lines(lines);
    }

    fn lines(&self, lines: &str) {
        let mut inner = self.inner.borrow_mut();
        if self.json {
            inner.terminal.out(lines);
        }
        if let Some(into) = &mut inner.into {
            into.write(lines);
        }
    }

    /// Says that somebody else has the state.
    pub(crate) fn waiting(&mut self) {
        if !std::mem::replace(&mut self.inner.borrow_mut().waiting, true) {
            self.human("Acquiring state lock. This may take a few moments...\n");
        }
    }

    /// Says what happens.
    pub(crate) fn event(&self, event: &Event) {
        let seconds = self.seconds(event);
        if !self.json
            && !self.concise
            && let Some(line) = progress::line(event, seconds, self.look.style)
        {
            self.inner.borrow_mut().terminal.out(&format!("{line}\n"));
        }
        let has_file = self.inner.borrow().into.is_some();
        if self.json || has_file {
            self.lines(&machine::event(event, seconds, &now()));
        }
    }

    /// How long something took that is over now.
    fn seconds(&self, event: &Event) -> u64 {
        let mut inner = self.inner.borrow_mut();
        match event {
            Event::Started { addr, phase, .. } => {
                inner.started.insert((addr.to_string(), Kind::Phase(*phase)), Instant::now());
                0
            }
            Event::Finished { addr, phase, .. } => {
                let since = inner.started.remove(&(addr.to_string(), Kind::Phase(*phase)));
                since.map_or(0, |since| since.elapsed().as_secs())
            }
            Event::ProvisionStarted { addr, .. } => {
                inner.started.insert((addr.to_string(), Kind::Provision), Instant::now());
                0
            }
            Event::ProvisionFinished { addr, .. } => {
                let since = inner.started.remove(&(addr.to_string(), Kind::Provision));
                since.map_or(0, |since| since.elapsed().as_secs())
            }
            Event::ProvisionOutput { .. } => 0,
        }
    }

    /// Shows a plan.
    pub(crate) fn plan(&mut self, planned: &Plan, schemas: &dyn Fn(&ProviderSource) -> Option<Arc<ProviderSchema>>) {
        if !self.json {
            let text = plan::render(planned, schemas, self.look);
            self.human(&text);
        }
        let has_file = self.inner.borrow().into.is_some();
        if self.json || has_file {
            self.lines(&machine::plan(planned, &now()));
        }
    }

    /// What can be done with a plan that was not applied.
    pub(crate) fn next_steps(&mut self, saved: Option<&str>, generated: Option<&str>) {
        let text = plan::next_steps(saved, generated, self.look);
        self.human(&text);
    }

    /// Shows what there is to say.
    pub(crate) fn report(&mut self, problems: &Diagnostics, sources: &Sources) {
        let wanted = self.args.wanted(problems.clone());
        if !self.json {
            self.inner.borrow_mut().terminal.report(&wanted, sources);
        }
        let has_file = self.inner.borrow().into.is_some();
        if self.json || has_file {
            let excerpts = Excerpts::new(sources);
            for diagnostic in wanted.iter() {
                self.lines(&messages_json::diagnostic(diagnostic, &excerpts, &signature, &now()));
            }
        }
    }

    /// After all changes were made.
    pub(crate) fn applied(
        &mut self,
        counts: &Counts,
        destroy: bool,
        refresh: bool,
        values: &BTreeMap<EcoString, Output>,
    ) {
        let people = progress::Counts {
            imported: counts.imported,
            added: counts.added,
            changed: counts.changed,
            destroyed: counts.destroyed,
            forgotten: counts.forgotten,
        };
        if !refresh {
            self.human(&progress::applied(&people, destroy, self.look.style));
        }
        self.human(&outputs::section(values, self.look.show_sensitive, self.look.style));
        let has_file = self.inner.borrow().into.is_some();
        if self.json || has_file {
            let programs = machine::Counts {
                add: counts.added,
                change: counts.changed,
                import: counts.imported,
                remove: counts.destroyed,
                forget: counts.forgotten,
            };
            if !refresh {
                let operation = if destroy { Operation::Destroy } else { Operation::Apply };
                self.lines(&machine::summary(programs, operation, &now()));
            }
            self.lines(&machine::outputs(values, &now()));
        }
    }
}
