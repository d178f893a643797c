//! `yuba init`: initializes a working directory.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use yuba_eval::inputs::Ask;
use yuba_install::providers::installing::InstallEvent;
use yuba_session::backend::StateFlags;
use yuba_session::install::{self, InitEvent, InitRequest, Versions};
use yuba_session::migration::CopyApproval;
use yuba_session::prompt::{Prompt, Question, Typing};
use yuba_session::provider_install::ProviderFlags;
use yuba_syntax::Diagnostics;
use yuba_view::diagnostic::Style;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, TEST_DIR, VAR, VAR_FILE, ask, may_ask};
use crate::signals::Cancel;
use crate::state_access::IGNORE_REMOTE_VERSION;
use crate::terminal::Terminal;
use crate::typing::{self, Unseen};

pub(crate) const COMMAND: Command = Command {
    name: "init",
    synopsis: "Prepare your working directory for other commands",
    usage: "[options]",
    about: "Initializes the current directory for its configuration: installs modules and providers, and initializes the \
            backend. Running it again is safe and completes the missing steps.\n\n\
            Local modules, the built-in provider and a local state need no initialization.",
    flags: &[
        Flag::switch_off("backend", "Do not initialize the backend. Validating a configuration does not need it."),
        Flag::switch_off("cloud", "The same as -backend."),
        Flag::list("backend-config", "path", "Arguments for the backend, from a file or as 'key=value'."),
        Flag::switch("force-copy", "Copy the state to the new backend without a prompt."),
        Flag::text(
            "from-module",
            "source",
            "Copy a module into the current directory, which must be empty, before anything else.",
        ),
        Flag::switch_off("get", "Do not install modules."),
        Flag::switch_off("input", "Do not prompt for values of variables."),
        Flag::switch_off("lock", "Do not lock the state."),
        Flag::text("lock-timeout", "0s", "Duration to wait for the state lock, like \"30s\" or \"5m\"."),
        Flag::list("plugin-dir", "path", "Directory to search for providers instead of the default locations."),
        Flag::switch("reconfigure", "Ignore the backend that was initialized before."),
        Flag::switch("migrate-state", "Copy the state from the old backend to the new one."),
        Flag::switch("upgrade", "Update installed modules and providers to the newest allowed versions."),
        Flag::text(
            "lockfile",
            "MODE",
            "Mode of the dependency lock file. With \"readonly\" it is verified and not changed.",
        ),
        IGNORE_REMOTE_VERSION,
        JSON,
        JSON_INTO,
        TEST_DIR,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba init`.
struct InitSettings {
    /// The backend is initialized.
    backend: bool,
    backend_config: Vec<String>,
    reconfigure: bool,
    migrate: bool,
    /// `-force-copy`: states are copied without a prompt.
    force_copy: bool,
    /// The command can prompt.
    may_prompt: bool,
    ask: Option<Ask>,
    state: StateFlags,
    modules: bool,
    from_module: Option<String>,
    upgrade: bool,
    plugin_dirs: Vec<PathBuf>,
    /// `-lockfile=readonly`
    readonly_lock_file: bool,
    json: JsonSettings,
    project: Settings,
}

impl InitSettings {
    fn resolve(args: &Args) -> Result<InitSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected()));
        }
        if args.text("backend").is_some() && args.text("cloud").is_some() {
            return Err(Failure::usage(diagnostics::backend_flags_conflict()));
        }
        let (reconfigure, force_copy) = (args.is_on("reconfigure"), args.is_on("force-copy"));
        let migrate = args.is_on("migrate-state") || force_copy;
        // Quirk: -force-copy with -reconfigure copies local states without a prompt.
        if reconfigure && args.is_on("migrate-state") {
            return Err(Failure::usage(diagnostics::migration_flags_conflict()));
        }
        let json = JsonSettings::resolve(args)?;
        Ok(InitSettings {
            backend: args.is_on("backend") && args.is_on("cloud"),
            backend_config: args.list("backend-config"),
            reconfigure,
            migrate,
            force_copy,
            may_prompt: !json.is_on && may_ask(args),
            ask: if json.is_on { None } else { ask(args) },
            state: crate::state_access::flags_of_change(args)?,
            modules: args.is_on("get"),
            from_module: args.non_empty("from-module").map(str::to_owned),
            upgrade: args.is_on("upgrade"),
            plugin_dirs: args.list("plugin-dir").into_iter().map(PathBuf::from).collect(),
            readonly_lock_file: args.text("lockfile") == Some("readonly"),
            json,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = InitSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    if settings.upgrade && settings.readonly_lock_file {
        let text = "The -upgrade flag conflicts with -lockfile=readonly.";
        messages.complain(&format!("{text}\n"), text);
        return Ok(1);
    }
    let project = &settings.project;
    let cancel = Cancel::default();
    let request = InitRequest {
        project: project.project(),
        ask: settings.ask,
        backend: settings.backend,
        backend_config: &settings.backend_config,
        reconfigure: settings.reconfigure,
        migrate: settings.migrate,
        copying: if settings.force_copy { CopyApproval::Given } else { CopyApproval::Prompt },
        prompt: settings.may_prompt.then(|| prompt(messages.terminal().style())),
        flags: settings.state,
        is_interrupted: &|| cancel.is_raised(),
        modules: settings.modules,
        from_module: settings.from_module.as_deref(),
        versions: if settings.upgrade { Versions::Newest } else { Versions::Installed },
        providers: ProviderFlags {
            plugin_dirs: settings.plugin_dirs,
            readonly: settings.readonly_lock_file,
            upgrade: settings.upgrade,
        },
    };
    // Signals are handled from the first migration or installation on. During prompts before it, Ctrl-C ends the process as usual.
    let mut is_watched = false;
    let mut installing: Option<&str> = None;
    let mut subject = "Yuba";
    let mut summary = Summary::new();
    let outcome = install::init(request, &mut |event| {
        summary.event(&event);
        let what = match &event {
            InitEvent::CloudBackend => {
                subject = "Cloud backend";
                None
            }
            InitEvent::Modules { .. } | InitEvent::Copying(_) => Some("Module installation"),
            InitEvent::Providers => Some("Provider installation"),
            _ => None,
        };
        if (what.is_some() || event == InitEvent::Migrating) && !std::mem::replace(&mut is_watched, true) {
            cancel.begin(project);
        }
        installing = what.or(installing);
        messages.event(&event);
    });
    let none = Diagnostics::new();
    let problems = match &outcome {
        install::InitOutcome::Empty => &none,
        install::InitOutcome::Invalid(report) | install::InitOutcome::Done(report) => &report.problems,
    };
    // A migration reports itself which states it has copied.
    if installing.is_some_and(|what| cancel.reported(&mut messages, what, problems)) {
        return Ok(1);
    }
    let code = conclude(&mut messages, outcome, subject)?;
    if code == 0 && messages.terminal().shows_summaries() {
        messages.show(&summary.text(summary.begun.elapsed()));
    }
    Ok(code)
}

/// Packages that an initialization has installed.
struct Summary {
    begun: Instant,
    modules: usize,
    downloaded: usize,
    cached: usize,
}

impl Summary {
    fn new() -> Summary {
        Summary { begun: Instant::now(), modules: 0, downloaded: 0, cached: 0 }
    }

    fn event(&mut self, event: &InitEvent) {
        match event {
            InitEvent::Downloading { .. } => self.modules += 1,
            InitEvent::Provider(InstallEvent::Installed { .. }) => self.downloaded += 1,
            InitEvent::Provider(InstallEvent::FromCache(..)) => self.cached += 1,
            _ => {}
        }
    }

    /// A line for a terminal or the log of a pipeline, empty if nothing was installed.
    fn text(&self, took: Duration) -> String {
        let counted = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        let cached = counted(self.cached, "provider").map(|text| text + " from the shared cache");
        let parts = [counted(self.modules, "module"), counted(self.downloaded, "provider"), cached];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.as_slice() {
            [] => String::new(),
            [first @ .., last] if !first.is_empty() => {
                format!("\nInstalled {} and {last} in {:.1} s.\n", first.join(", "), took.as_secs_f64())
            }
            all => format!("\nInstalled {} in {:.1} s.\n", all.join(", "), took.as_secs_f64()),
        }
    }
}

/// Prints the result of an initialization of this subject.
fn conclude(messages: &mut Messages<'_>, outcome: install::InitOutcome, subject: &str) -> Outcome {
    match outcome {
        install::InitOutcome::Empty => {
            let text = "Yuba initialized in an empty directory!";
            let more =
                "The directory contains no configuration files. Create configuration files to start working with Yuba.";
            messages.say(&format!("{}\n\n{more}\n", messages.bold(text)), &format!("{text} {more}"));
            Ok(0)
        }
        install::InitOutcome::Invalid(report) => {
            let why = "There are problems with the configuration, described below.";
            let more = "The configuration must be valid to determine which modules and providers to install.";
            messages.complain(&format!("\n{why}\n\n{more}\n"), &format!("{why} {more}"));
            messages.report(&report);
            Ok(1)
        }
        install::InitOutcome::Done(report) => {
            if report.problems.has_errors() {
                messages.report(&report);
                return Ok(1);
            }
            messages.report(&report);
            let text = format!("{subject} has been successfully initialized!");
            messages.say(&format!("\n{}\n", messages.bold(&text)), &text);
            if !messages.terminal().shows_next_steps() {
                return Ok(0);
            }
            let more = "You may now begin working with Yuba. If you add or change modules, providers or the backend, run this \
                        command again. Other commands remind you if it is necessary.";
            messages.say(&format!("\n{}\n", yuba_view::wrap::wrap(more, 78)), more);
            Ok(0)
        }
    }
}

/// Prompts on standard output and reads standard input. Ctrl-C ends the prompt with an error, so that locks are released.
fn prompt(style: Style) -> Box<Prompt> {
    let bold = move |text: &str| match style {
        Style::Coloured => format!("\x1b[1m{text}\x1b[0m"),
        Style::Plain => text.to_owned(),
    };
    Box::new(move |question: &Question<'_>| {
        let mut text = format!("{}\n", bold(question.query));
        for line in question.description.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        if !question.description.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("  {} ", bold("Enter a value:")));
        let unseen = (question.typing == Typing::Hidden).then(Unseen::begin);
        let mut stdout = std::io::stdout();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| error.to_string())?;
        let line = typing::interruptible_line();
        drop(unseen);
        if line.is_ok() {
            let _ = stdout.write_all(b"\n");
        }
        line
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_what_was_installed() {
        let text = |modules, downloaded, cached| {
            let summary = Summary { modules, downloaded, cached, ..Summary::new() };
            summary.text(Duration::from_millis(3_440))
        };
        assert_eq!(text(0, 0, 0), "");
        assert_eq!(text(1, 0, 0), "\nInstalled 1 module in 3.4 s.\n");
        assert_eq!(text(0, 2, 0), "\nInstalled 2 providers in 3.4 s.\n");
        assert_eq!(
            text(3, 2, 1),
            "\nInstalled 3 modules, 2 providers and 1 provider from the shared cache in 3.4 s.\n"
        );
    }
}
