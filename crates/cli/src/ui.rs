//! A page on this machine that follows a run in a browser: `-ui` of commands that plan, and `yuba ui`.
//!
//! The page shows what the command prints: the messages of `-json` while operations run, and the report of the plan. It cannot start,
//! approve or stop anything.

mod diagnostics;
mod server;

use std::io::Error;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use yuba_session::show::{self, NotShown};
use yuba_syntax::Sources;
use yuba_view::html;
use yuba_view::live::LiveStatus;
use yuba_view::report::{PlanSources, Report};

use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::settings::Settings;
use crate::terminal::Terminal;
use server::Shared;

/// Time that browsers have at the end of a run to load the rest.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Behaviour of the page when the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageEnd {
    /// It closes with the run.
    WithRun,
    /// It stays until the user stops the command.
    WithUser,
}

/// A page that is served.
pub(crate) struct Ui {
    shared: Arc<Shared>,
    end: PageEnd,
}

impl Ui {
    /// Serves a page on a free port of the loopback interface.
    pub(crate) fn start(end: PageEnd) -> Result<Ui, Failure> {
        let failed = |error: Error| Failure::failed(diagnostics::page_not_served(&error));
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let mut secret = [0; 24];
        getrandom::fill(&mut secret).map_err(|error| failed(Error::other(error.to_string())))?;
        let token: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let shared = Arc::new(Shared::new(port, token, html::live()));
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("page".to_owned());
        thread.spawn(move || server::serve(&listener, &serving)).map_err(failed)?;
        Ok(Ui { shared, end })
    }

    /// The line with the address of the page.
    pub(crate) fn greeting(&self) -> String {
        format!("Open {} in a browser on this machine to follow the run.\n", self.shared.url())
    }

    /// Adds messages: lines of JSON.
    pub(crate) fn lines(&self, lines: &str) {
        self.shared.add(lines);
    }

    /// Shows how many operations are done.
    pub(crate) fn progress(&self, status: Option<LiveStatus>) {
        self.shared.set_status(status);
    }

    /// Shows the report of a plan.
    pub(crate) fn publish(&self, report: &Report) {
        self.shared.publish(html::data(report));
    }

    /// Ends the run: browsers get the rest. Waits for the user if the page stays.
    pub(crate) fn finish(self, terminal: &mut Terminal) {
        self.shared.end();
        if self.end == PageEnd::WithUser
            && let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
        {
            terminal.err("The page stays open. Press Ctrl-C to close it.\n");
            terminal.flush();
            signals.forever().next();
        }
        self.shared.wait_for_browsers(LAST_WORDS);
    }
}

/// `yuba ui PLAN`: serves the report of a saved plan.
pub(crate) fn serve_plan(terminal: &mut Terminal, args: &Args, path: &str) -> Outcome {
    let settings = Settings::new(args);
    let found = show::plan_file(path.as_ref(), settings.project()).map_err(|problem| match problem {
        NotShown::Unusable(reason) | NotShown::Other(reason) => {
            Failure::Failed(diagnostics::plan_not_loaded(path, &reason).into(), Sources::new())
        }
    })?;
    let configuration = &found.configuration;
    let references = found.references();
    let report = Report::of_plan(&PlanSources {
        plan: &found.plan,
        tree: &configuration.tree,
        graph: &references.graph,
        files: &configuration.sources,
        schemas: found.schemas(),
    });
    let page = Ui::start(PageEnd::WithUser)?;
    page.publish(&report);
    terminal.err(&page.greeting());
    page.finish(terminal);
    Ok(0)
}
