//! `yuba init`: prepares a working directory.

use std::io::{BufRead as _, Write as _};

use yuba_session::install::{self, Event, InitRequest};
use yuba_session::migration::Confirm;
use yuba_session::provider_install::ProviderFlags;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, TEST_DIR, VAR, VAR_FILE, ask, may_ask};
use crate::signals::Cancel;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "init",
    synopsis: "Prepare your working directory for other commands",
    usage: "[options]",
    about: "Installs what the configuration in the current directory needs: modules, providers, the backend of its \
            state. It is safe to run it again; then it does what is still to do.\n\n\
            Local modules, the built-in provider and a local state need no preparation at all: other commands find them \
            by themselves.",
    flags: &[
        Flag::switch_off("backend", "Leave the backend alone: the state is not needed to validate a configuration."),
        Flag::switch_off("cloud", "The same as -backend."),
        Flag::list("backend-config", "path", "Arguments for the backend, from a file or as 'key=value'."),
        Flag::switch("force-copy", "Answer \"yes\" to questions about copying a state."),
        Flag::text("from-module", "source", "Copy a module into the current directory first, which must be empty."),
        Flag::switch_off("get", "Do not install modules."),
        Flag::switch_off("input", "Do not ask for values of variables that are needed now."),
        Flag::switch_off("lock", "Do not lock the state."),
        Flag::text("lock-timeout", "0s", "How long to wait for a lock of the state."),
        Flag::list("plugin-dir", "path", "Where to look for providers instead of the usual places."),
        Flag::switch("reconfigure", "Forget what was known about the backend."),
        Flag::switch("migrate-state", "Copy the state from the old backend to the new one."),
        Flag::switch("upgrade", "Look for newer versions of modules and providers that are installed already."),
        Flag::text("lockfile", "MODE", "What to do with the dependency lock file. \"readonly\" leaves it alone."),
        Flag::switch("ignore-remote-version", ""),
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

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let backend = check(args)?;
    let settings = Settings::new(args);
    let mut messages = Messages::new(terminal, args)?;
    if args.is_on("upgrade") && args.text("lockfile") == Some("readonly") {
        let text = "The -upgrade flag conflicts with -lockfile=readonly.";
        messages.complain(&format!("{text}\n"), text);
        return Ok(1);
    }
    let backend_config: Vec<String> =
        args.iter().filter(|(name, _)| *name == "backend-config").map(|(_, given)| given.to_owned()).collect();
    let request = InitRequest {
        project: settings.project(),
        ask: if args.is_on("json") { None } else { ask(args) },
        backend,
        backend_config: &backend_config,
        reconfigure: args.is_on("reconfigure"),
        migrate: args.is_on("migrate-state") || args.is_on("force-copy"),
        confirm: confirm(args),
        flags: crate::state_access::flags(args)?,
        modules: args.is_on("get"),
        from_module: args.text("from-module").filter(|source| !source.is_empty()),
        upgrade: args.is_on("upgrade"),
        providers: ProviderFlags {
            plugin_dirs: args.iter().filter(|(name, _)| *name == "plugin-dir").map(|(_, dir)| dir.into()).collect(),
            readonly: args.text("lockfile") == Some("readonly"),
            upgrade: args.is_on("upgrade"),
        },
    };
    // Begins when packages are brought. Before, when questions are asked, Ctrl-C ends the process as usual.
    let mut cancel: Option<(Cancel, &str)> = None;
    let outcome = install::init(request, &mut |event| {
        let what = match &event {
            Event::Modules { .. } | Event::Copying(_) => Some("Module installation"),
            Event::Providers => Some("Provider installation"),
            _ => None,
        };
        if let Some(what) = what {
            let watching = cancel.take().map_or_else(|| Cancel::watch(&settings), |(cancel, _)| cancel);
            cancel = Some((watching, what));
        }
        messages.event(&event);
    });
    let failed = match &outcome {
        install::Outcome::Empty => false,
        install::Outcome::Invalid(_) => true,
        install::Outcome::Done(report) => report.problems.has_errors(),
    };
    if cancel.is_some_and(|(cancel, what)| cancel.tell(&mut messages, what, failed)) {
        return Ok(1);
    }
    match outcome {
        install::Outcome::Empty => {
            let text = "Yuba initialized in an empty directory!";
            let more =
                "There are no configuration files here. Create some and you can begin to work with them at once.";
            messages.say(&format!("{}\n\n{more}\n", messages.bold(text)), &format!("{text} {more}"));
            Ok(0)
        }
        install::Outcome::Invalid(report) => {
            let why = "There are problems with the configuration, described below.";
            let more =
                "It must be valid before anything can be installed: it says which modules and providers are needed.";
            messages.complain(&format!("\n{why}\n\n{more}\n"), &format!("{why} {more}"));
            messages.report(&report);
            Ok(1)
        }
        install::Outcome::Done(report) => {
            if report.problems.has_errors() {
                messages.report(&report);
                return Ok(1);
            }
            messages.report(&report);
            let text = "Yuba has been successfully initialized!";
            messages.say(&format!("\n{}\n", messages.bold(text)), text);
            let more = "You may now begin working with Yuba. If you set or change modules, providers or the backend, run \
                        this command again; other commands remind you of it if necessary.";
            messages.say(&format!("\n{}\n", yuba_view::wrap::wrap(more, 78)), more);
            Ok(0)
        }
    }
}

/// Somebody who can be asked whether a state is copied.
fn confirm(args: &Args) -> Option<Box<Confirm>> {
    if args.is_on("force-copy") {
        return Some(Box::new(|_, _| Some(true)));
    }
    if args.is_on("json") || !may_ask(args) {
        return None;
    }
    Some(Box::new(|question, more| {
        let mut stdout = std::io::stdout();
        let prompt = format!("{question}\n  {more}\n\n  Enter a value: ");
        stdout.write_all(prompt.as_bytes()).and_then(|()| stdout.flush()).ok()?;
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).ok()?;
        let _ = stdout.write_all(b"\n");
        match line.trim() {
            "yes" => Some(true),
            _ if read == 0 => None,
            _ => Some(false),
        }
    }))
}

/// Whether the backend is wanted. Refuses flags that make no sense together, and what this version cannot do.
fn check(args: &Args) -> Result<bool, Failure> {
    if !args.positional.is_empty() {
        let detail = "This command takes no arguments. Did you mean to use -chdir?";
        return Err(Failure::usage("Unexpected argument", detail));
    }
    if args.text("backend").is_some() && args.text("cloud").is_some() {
        let detail = "-backend and -cloud are two names for one thing: give one of them.";
        return Err(Failure::usage("Wrong combination of options", detail));
    }
    if args.is_on("reconfigure") && (args.is_on("migrate-state") || args.is_on("force-copy")) {
        let detail = "-reconfigure forgets what -migrate-state and -force-copy would copy: give one of them.";
        return Err(Failure::usage("Wrong combination of migration options", detail));
    }
    Ok(args.is_on("backend") && args.is_on("cloud"))
}
