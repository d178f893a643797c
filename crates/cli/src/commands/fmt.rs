//! `yuba fmt`: configuration in the canonical style.

use std::io::Read as _;
use std::path::PathBuf;

use yuba_session::format::{self, FormatRequest, Formatted, Problems};
use yuba_syntax::{Diagnostic, Sources};
use yuba_view::annotations::github;
use yuba_view::diff;

use super::{Command, JsonForm, Run};
use crate::annotations::FORMAT;
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "fmt",
    synopsis: "Reformat your configuration in the standard style",
    usage: "[options] [target...]",
    about: "Rewrites configuration files in the canonical style: indentation, spaces and alignment. The style exists for files \
            with the extensions .tf, .tofu, .tfvars, .tftest.hcl and .tofutest.hcl, and not for JSON syntax.\n\n\
            A target is a file or a directory. The default target is the current directory. With the target \"-\", the \
            command reads standard input and writes the result to standard output.\n\n\
            The command does not change files with syntax errors. The exit code is 0 on success, 2 after an error, and 3 \
            with -check if a file is not in the canonical style.",
    flags: &[
        Flag::switch_off("list", "Do not list the files that are not in the canonical style."),
        Flag::switch_off("write", "Do not write the files. -check implies this."),
        Flag::switch("diff", "Show the changes of each file as a diff."),
        Flag::switch(
            "check",
            "Check the style without writing files. Exit with 3 if a file is not in the canonical style.",
        ),
        Flag::switch("recursive", "Format files in subdirectories too."),
        FORMAT,
    ],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

/// Exit code after an error.
const FAILED: u8 = 2;
/// Exit code of `-check` if a file is not in the canonical style.
const NOT_CANONICAL: u8 = 3;

/// Settings of `yuba fmt`.
struct FmtSettings {
    input: Input,
    /// The exit code shows whether all files are in the canonical style.
    check: bool,
    /// Files are written.
    write: bool,
    recursive: bool,
    show: Show,
}

/// The files to format.
enum Input {
    StandardInput,
    Targets(Vec<PathBuf>),
}

/// Output for each file.
struct Show {
    names: bool,
    diffs: bool,
    results: bool,
}

impl FmtSettings {
    fn resolve(args: &Args) -> FmtSettings {
        // Only the first target counts, as in OpenTofu.
        let from_stdin = args.positional.first().is_some_and(|target| target == "-");
        let check = args.is_on("check");
        let names = args.is_on("list") && !from_stdin;
        let write = args.is_on("write") && !check && !from_stdin;
        let diffs = args.is_on("diff");
        let input = match args.positional.as_slice() {
            _ if from_stdin => Input::StandardInput,
            [] => Input::Targets(vec![PathBuf::from(".")]),
            targets => Input::Targets(targets.iter().map(PathBuf::from).collect()),
        };
        let results = !names && !write && !diffs && !check;
        FmtSettings { input, check, write, recursive: args.is_on("recursive"), show: Show { names, diffs, results } }
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let FmtSettings { input, check, write, recursive, show } = FmtSettings::resolve(args);
    let mut all_canonical = true;
    let mut each = |formatted: Formatted| {
        all_canonical &= !formatted.is_changed();
        present(terminal, &formatted, &show);
        if check && formatted.is_changed() {
            annotate(terminal, &formatted);
        }
    };
    let Problems { diagnostics, sources } = match input {
        Input::StandardInput => {
            let formatted = format::format_text("<stdin>", read_stdin()?);
            formatted.map(&mut each).err().unwrap_or_default()
        }
        Input::Targets(targets) => {
            format::format(&FormatRequest { targets, directory: current_directory()?, recursive, write }, &mut each)
        }
    };
    if diagnostics.has_errors() {
        return Err(Failure::FailedWith(FAILED, diagnostics, sources));
    }
    terminal.report(&diagnostics, &sources);
    Ok(if check && !all_canonical { NOT_CANONICAL } else { 0 })
}

fn present(terminal: &mut Terminal, formatted: &Formatted, show: &Show) {
    if formatted.is_changed() {
        if show.names {
            terminal.out(&format!("{}\n", formatted.name));
        }
        if show.diffs {
            let (old, new) = (format!("old/{}", formatted.name), format!("new/{}", formatted.name));
            terminal.out_bytes(&diff::unified(&old, &formatted.source, &new, &formatted.result));
        }
    }
    if show.results {
        terminal.out_bytes(&formatted.result);
    }
}

/// Annotates the first line that is not in the canonical style.
fn annotate(terminal: &mut Terminal, formatted: &Formatted) {
    let Some(repository) = terminal.annotations() else { return };
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (old, new) = (lines(&formatted.source), lines(&formatted.result));
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let line = github::not_canonical(&formatted.name, same + 1, repository);
    terminal.annotate(&line);
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut source = Vec::new();
    match std::io::stdin().read_to_end(&mut source) {
        Ok(_) => Ok(source),
        Err(error) => Err(failed(diagnostics::standard_input_unreadable(&error))),
    }
}

fn current_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| failed(diagnostics::current_directory_unknown(&error)))
}

fn failed(problem: Diagnostic) -> Failure {
    Failure::FailedWith(FAILED, problem.into(), Sources::new())
}
