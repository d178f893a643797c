//! From argv to a command: the working directory, extra arguments from the environment, help, unknown names.

use std::ffi::OsString;
use std::sync::Arc;

use crate::commands::{self, Command, Run};
use crate::completion::{self, install::Change};
use crate::exit::{self, Audience, Failure};
use crate::telemetry::Telemetry;
use crate::terminal::{DisplaySettings, Terminal};
use crate::{diagnostics, flags, help, words};
use yuba_install::Hosts;
use yuba_net::Environment;
use yuba_syntax::Diagnostics;
use yuba_syntax::suggestion::closest;

/// Options that change the startup files of a user's shells.
const AUTOCOMPLETE: [(&str, Change); 2] =
    [("-install-autocomplete", Change::Install), ("-uninstall-autocomplete", Change::Uninstall)];

/// Exit code when no command was named.
const NO_COMMAND: u8 = 127;

/// Runs the command that the process was asked for and gives its exit code.
pub(crate) fn run() -> u8 {
    let environment = environment();
    let mut terminal = Terminal::new(&environment);
    if let Some(request) = completion::Request::of_process() {
        terminal.out(&request.answer(environment));
        return terminal.finish(0);
    }
    // The path of the file is relative to the directory the process was started in, even with -chdir.
    let hosts = Arc::new(Hosts::new(environment));
    report_cli_config(&mut terminal, hosts.problems());
    match request(std::env::args_os().skip(1)) {
        Ok(request) => run_request(&mut terminal, &request, hosts),
        Err(message) => {
            terminal.err(&format!("{message}\n"));
            1
        }
    }
}

/// Reports problems in the CLI configuration. Commands use the valid rest of it.
fn report_cli_config(terminal: &mut Terminal, problems: &Diagnostics) {
    if problems.is_empty() {
        return;
    }
    terminal.err("There are some problems with the CLI configuration:\n");
    terminal.report_plain(problems);
    if problems.has_errors() {
        terminal.err("As a result of the above problems, Yuba may not behave as intended.\n\n\n");
    }
}

/// The arguments of the process after `-chdir` and the environment variables are applied.
struct Request {
    args: Vec<String>,
    /// The original directory, if `-chdir` changed it.
    original_dir: Option<String>,
}

/// The environment of the process, for everything below this crate: variables that are Unicode, and the user's directories.
fn environment() -> Environment {
    let unicode = std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
    // A directory that is gone has no name: paths stay relative then.
    let directory = std::env::current_dir().unwrap_or_default();
    Environment::new(unicode, std::env::home_dir(), std::env::temp_dir()).in_directory(directory).on_this_machine()
}

fn request(args: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let args = args.map(|arg| arg.into_string().map_err(|arg| format!("Invalid argument {arg:?}: not valid UTF-8")));
    let mut args = args.collect::<Result<Vec<String>, String>>()?;
    let mut original_dir = None;
    if let Some(directory) = take_chdir(&mut args)? {
        original_dir = std::env::current_dir().ok().map(|dir| dir.display().to_string());
        std::env::set_current_dir(&directory)
            .map_err(|error| format!("Error handling -chdir option: chdir {directory}: {error}"))?;
    }
    replace_alias(&mut args);
    let name = named_command(&args);
    let (path, last) = name
        .map_or((String::new(), ""), |name| (name.replace(['-', ' '], "_"), name.rsplit(' ').next().unwrap_or(name)));
    let last = last.to_owned();
    for variable in ["TF_CLI_ARGS".to_owned(), format!("TF_CLI_ARGS_{path}")] {
        let Some(value) = std::env::var_os(&variable).filter(|value| !value.is_empty()) else { continue };
        let extra = value
            .to_str()
            .and_then(words::split)
            .ok_or_else(|| format!("Error parsing extra CLI args from {variable}: invalid command line string"))?;
        let position = args.iter().position(|arg| *arg == last).map_or(0, |position| position + 1);
        args.splice(position..position, extra);
    }
    // Quirk: wherever it stands, this asks for the version.
    if args.iter().any(|arg| matches!(arg.as_str(), "-v" | "-version" | "--version")) {
        args.insert(0, "version".to_owned());
    }
    Ok(Request { args, original_dir })
}

/// Takes `-chdir=DIR` out of the arguments before the command.
fn take_chdir(args: &mut Vec<String>) -> Result<Option<String>, String> {
    let global = args.iter().take_while(|arg| arg.starts_with('-'));
    let mut found = None;
    for (position, arg) in global.enumerate() {
        match arg.strip_prefix("-chdir") {
            Some("" | "=") => {
                return Err("Invalid -chdir option: must include an equals sign followed by a directory path, like \
                            -chdir=example"
                    .to_owned());
            }
            Some(value) if value.starts_with('=') => found = Some((position, value[1..].to_owned())),
            _ => {}
        }
    }
    Ok(found.map(|(position, directory)| {
        args.remove(position);
        directory
    }))
}

/// Replaces an alias with the usual name of the command.
fn replace_alias(args: &mut [String]) {
    let Some(start) = args.iter().position(|arg| !arg.starts_with('-')) else { return };
    let Some([group, word]) = args.get_mut(start..start + 2) else { return };
    let given = format!("{group} {word}");
    if let Some((_, name)) = commands::ALIASES.iter().find(|(alias, _)| *alias == given) {
        *word = name.rsplit(' ').next().unwrap_or(name).to_owned();
    }
}

/// The words of the arguments that name a command, as far as we know it: `metadata functions`.
fn named_command(args: &[String]) -> Option<&str> {
    let start = args.iter().position(|arg| !arg.is_empty() && !arg.starts_with('-'))?;
    let known = commands::COMMANDS.iter().filter(|command| {
        let mut given = args[start..].iter();
        command.name.split(' ').all(|word| given.next().is_some_and(|arg| arg == word))
    });
    Some(known.max_by_key(|command| command.name.len()).map_or(args[start].as_str(), |command| command.name))
}

fn run_request(terminal: &mut Terminal, request: &Request, hosts: Arc<Hosts>) -> u8 {
    let args = &request.args;
    let wanted = |(flag, _): &&(&str, Change)| {
        args.first().is_some_and(|arg| arg == flag || arg.strip_prefix('-') == Some(flag))
    };
    if let Some((_, change)) = AUTOCOMPLETE.iter().find(wanted) {
        return change_completion(terminal, *change, hosts.environment());
    }
    let before_end = args.iter().take_while(|arg| *arg != "--");
    let wants_help = before_end.into_iter().any(|arg| matches!(arg.as_str(), "-h" | "-help" | "--help"));
    let Some(name) = named_command(args) else {
        terminal.out(&help::main());
        return terminal.finish(if wants_help { 0 } else { NO_COMMAND });
    };
    let Some(command) = commands::COMMANDS.iter().find(|command| command.name == name) else {
        terminal.err(&unknown(name));
        return 1;
    };
    if wants_help {
        terminal.out(&help::command(command));
        return terminal.finish(0);
    }
    if command.spaces_diagnostics() {
        terminal.space_diagnostics();
    }
    let start = args.iter().position(|arg| !arg.is_empty() && !arg.starts_with('-')).unwrap_or(0);
    if start > 0 {
        let flag = &args[0];
        let failure = Failure::usage(diagnostics::flag_before_subcommand(flag, name));
        return exit::code(terminal, command, Err(failure), Audience::People);
    }
    let args = &args[start + command.name.split(' ').count()..];
    run_command(terminal, command, args, request.original_dir.clone(), hosts)
}

/// Adds completion to the startup files of the user's shells, or removes it.
fn change_completion(terminal: &mut Terminal, change: Change, environment: &Environment) -> u8 {
    let home = std::env::home_dir().unwrap_or_default();
    let config = environment.path("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let program = std::env::current_exe().unwrap_or_else(|_| "yuba".into());
    match completion::install::run(change, &home, &config, &program) {
        Ok(messages) => {
            terminal.out(&(messages.join("\n") + "\n"));
            terminal.finish(0)
        }
        Err(message) => {
            terminal.err(&format!("{message}\n"));
            1
        }
    }
}

fn run_command(
    terminal: &mut Terminal,
    command: &'static Command,
    args: &[String],
    original_dir: Option<String>,
    hosts: Arc<Hosts>,
) -> u8 {
    let Run::Function(function) = command.run else {
        terminal.out(&help::command(command));
        return terminal.finish(1);
    };
    let parsed = flags::parse(command.flags, args).and_then(|args| args.deprecation().map(|_| args));
    let outcome = match parsed {
        Ok(mut args) => {
            args.original_dir = original_dir;
            args.hosts = hosts;
            let configured = DisplaySettings::resolve(&args).map(|settings| terminal.configure(&settings));
            configured.and_then(|()| Telemetry::start(command.name, &args)).and_then(|telemetry| {
                args.telemetry = telemetry;
                let _span = tracing::info_span!("command", name = command.name).entered();
                function(terminal, &args)
            })
        }
        Err(message) => {
            if args.iter().any(|arg| arg == "-no-color") {
                terminal.disable_colour();
            }
            Err(Failure::usage(diagnostics::invalid_flags(message)))
        }
    };
    exit::code(terminal, command, outcome, exit::audience(command, args))
}

fn unknown(name: &str) -> String {
    if commands::NOT_YET.contains(&name) {
        return format!(
            "`{name}` is a command of OpenTofu that this version of Yuba does not support yet.\n\n\
             To list the commands of this version, run:\n  yuba -help\n"
        );
    }
    let known = commands::COMMANDS.iter().map(|command| command.name).chain(commands::NOT_YET.iter().copied());
    let hint = closest(name, known).map_or_else(String::new, |close| format!(" Did you mean {close:?}?"));
    format!(
        "Yuba has no command named {name:?}.{hint}\n\nTo see all of Yuba's top-level commands, run:\n  yuba -help\n"
    )
}
