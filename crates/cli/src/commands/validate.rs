//! `yuba validate`: whether a configuration is valid.

use yuba_eval::FunctionTable;
use yuba_eval::tree::Purpose;
use yuba_session::backend::about_journal;
use yuba_session::validate;
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::function::Signature;
use yuba_view::validate_json;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::{JsonInto, JsonSettings};
use crate::settings::{Settings, TEST_DIR, VAR, VAR_FILE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "validate",
    synopsis: "Check whether the configuration is valid",
    usage: "[options] [directory]",
    about: "Checks the configuration in a directory: syntax, references, types, arguments and test files. The default is the \
            current directory. The command needs no variable values and no state, and accesses no remote service.\n\n\
            Other than local modules and the built-in provider, modules and providers must be installed. Run \"yuba init \
            -backend=false\" to install them without initializing the backend.\n\n\
            The exit code is 0 if the configuration is valid, with or without warnings, and 1 if it is not.",
    flags: &[
        Flag::switch("json", "Write the result as a JSON object, for editors and other programs."),
        JSON_INTO,
        Flag::switch("no-tests", "Do not check test files."),
        TEST_DIR,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if args.positional.len() > 1 {
        return Err(Failure::usage(diagnostics::too_many_arguments("directory")));
    }
    let mut into = JsonInto::open(&JsonSettings::resolve(args)?)?;
    let mut settings = Settings::new(args);
    if let Some(dir) = args.positional.first() {
        settings.dir = shown_dir(dir).to_owned();
    }
    if args.is_on("no-tests") {
        settings.test_dir = None;
    }
    let request = settings.request(Purpose::Use);
    if args.positional.is_empty() {
        // The document and the verdict are about the configuration alone.
        terminal.report_aside(&about_journal(&request), &Sources::new());
    }
    let (problems, sources) = validate::validate(&request);
    let problems = args.wanted(problems);
    if let Some(into) = &mut into {
        into.write(&rendered(&problems, &sources));
    }
    if args.is_on("json") {
        terminal.out(&rendered(&problems, &sources));
        return Ok(u8::from(problems.has_errors()));
    }
    if problems.has_errors() {
        return Err(Failure::Failed(problems, sources));
    }
    terminal.report(&problems, &sources);
    terminal.success(if problems.is_empty() {
        "The configuration is valid."
    } else {
        "The configuration is valid, but there were some validation warnings as shown above."
    });
    Ok(0)
}

fn rendered(problems: &Diagnostics, sources: &Sources) -> String {
    format!("{}\n", validate_json::render(problems, sources, &signature).indented())
}

/// How a function is called.
pub(crate) fn signature(name: &str) -> Option<Signature> {
    FunctionTable::module().get(name).map(|function| function.signature().clone())
}

/// A directory without a slash at the end.
fn shown_dir(dir: &str) -> &str {
    match dir.trim_end_matches('/') {
        "" if !dir.is_empty() => "/",
        "" => ".",
        dir => dir,
    }
}
