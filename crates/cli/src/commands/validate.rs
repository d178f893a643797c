//! `yuba validate`: whether a configuration is valid.

mod diagnostics;

use yuba_eval::FunctionTable;
use yuba_session::backend::about_journal;
use yuba_session::{Project, ProjectSettings};
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::function::Signature;
use yuba_view::annotations::sarif;
use yuba_view::validate_json;

use super::{Command, JsonForm, Run};
use crate::annotations::{FORMAT, repository_path};
use crate::deprecation::DeprecationChoice;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::{JsonInto, JsonSettings};
use crate::settings::{TEST_DIR, VAR, VAR_FILE, project};
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
        Flag::switch("json", "Write the result as a JSON object, for editors and other tools."),
        JSON_INTO,
        FORMAT,
        Flag::optional(
            "sarif",
            "FILE",
            "Write the result as a SARIF document, for code scanning: to a file, or instead of the text to standard output.",
        ),
        Flag::switch("no-tests", "Do not check test files."),
        TEST_DIR,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

/// Settings of the command.
struct ValidateSettings {
    project: ProjectSettings,
    /// Whether the directory is the working directory, which has a state.
    is_working_directory: bool,
    into: Option<JsonInto>,
    json: bool,
    sarif: Option<Sarif>,
    deprecation: DeprecationChoice,
}

/// `-sarif`
enum Sarif {
    /// To standard output.
    Output,
    /// To a file.
    File(String),
}

impl ValidateSettings {
    fn resolve(args: &Args) -> Result<ValidateSettings, Failure> {
        if args.positional.len() > 1 {
            return Err(Failure::Usage(diagnostics::several_directories().into()));
        }
        let into = JsonInto::open(&JsonSettings::resolve(args)?)?;
        let mut project = project(args);
        if let Some(dir) = args.positional.first() {
            project.dir = shown_dir(dir).to_owned();
        }
        if args.is_on("no-tests") {
            project.test_dir = None;
        }
        Ok(ValidateSettings {
            project,
            is_working_directory: args.positional.is_empty(),
            into,
            json: args.is_on("json"),
            sarif: match (args.text("sarif"), args.is_on("json")) {
                (None, _) => None,
                (Some(""), true) => return Err(Failure::usage(diagnostics::sarif_with_json())),
                (Some(""), false) => Some(Sarif::Output),
                (Some(path), _) => Some(Sarif::File(path.to_owned())),
            },
            deprecation: args.deprecation().unwrap_or_default(),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = ValidateSettings::resolve(args)?;
    let repository = repository_path(args.hosts.environment());
    let project = Project::new(settings.project);
    if settings.is_working_directory {
        // The document and the verdict are about the configuration alone.
        terminal.report_aside(&about_journal(&project), &Sources::new());
    }
    let (problems, sources) = project.validate();
    let problems = settings.deprecation.wanted(problems);
    if let Some(mut into) = settings.into {
        into.write(&rendered(&problems, &sources));
    }
    let document = || format!("{}\n", sarif::render(&problems, &sources, &repository).indented());
    match &settings.sarif {
        None => {}
        Some(Sarif::Output) => {
            terminal.out(&document());
            return Ok(u8::from(problems.has_errors()));
        }
        Some(Sarif::File(path)) => std::fs::write(path, document())
            .map_err(|error| Failure::failed(crate::diagnostics::sarif_file_not_written(path, &error)))?,
    }
    if settings.json {
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

/// The signature of a function.
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
