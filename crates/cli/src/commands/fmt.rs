//! `yuba fmt`: configuration in the canonical style.

use std::io::Read as _;
use std::path::PathBuf;

use yuba_session::format::{self, Formatted, Problems, Request};
use yuba_syntax::Sources;
use yuba_view::diff;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "fmt",
    synopsis: "Reformat your configuration in the standard style",
    usage: "[options] [target...]",
    about: "Rewrites configuration files in the canonical style: indentation, spaces, alignment. Files that end in .tf, \
            .tofu, .tfvars, .tftest.hcl and .tofutest.hcl have one; files in JSON syntax do not.\n\n\
            A target is a file or a directory, whose files are meant. Without a target it is the current directory. The \
            target \"-\" stands for standard input; the result goes to standard output then.\n\n\
            A file with syntax errors is left alone. The exit code is 0 when all went well, 2 after an error, and with \
            -check 3 when a file is not in the canonical style.",
    flags: &[
        Flag::switch_off(
            "list",
            "Do not list the files whose style is not canonical. (Standard input is never listed.)",
        ),
        Flag::switch_off("write", "Do not write the files. (With -check they are never written.)"),
        Flag::switch("diff", "Show what changes in each file."),
        Flag::switch("check", "Only check the style: write nothing, and exit with 3 if a file is not canonical."),
        Flag::switch("recursive", "Format the files in directories within the given ones too."),
    ],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

/// Exit code after an error.
const FAILED: u8 = 2;
/// Exit code of `-check` when something is not in canonical form.
const NOT_CANONICAL: u8 = 3;

/// What to show of each file.
struct Show {
    names: bool,
    diffs: bool,
    results: bool,
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let check = args.is_on("check");
    // Only the first target counts, as in OpenTofu.
    let from_stdin = args.positional.first().is_some_and(|target| target == "-");
    let list = args.is_on("list") && !from_stdin;
    let write = args.is_on("write") && !check && !from_stdin;
    let diffs = args.is_on("diff");
    let show = Show { names: list, diffs, results: !list && !write && !diffs && !check };
    let mut all_canonical = true;
    let mut each = |formatted: Formatted| {
        all_canonical &= !formatted.is_changed();
        present(terminal, &formatted, &show);
    };
    let problems = if from_stdin {
        let formatted = format::format_text("<stdin>", read_stdin()?);
        formatted.map(&mut each).err().unwrap_or_default()
    } else {
        let mut targets: Vec<PathBuf> = args.positional.iter().map(PathBuf::from).collect();
        if targets.is_empty() {
            targets.push(PathBuf::from("."));
        }
        let recursive = args.is_on("recursive");
        format::format(&Request { targets, directory: current_directory()?, recursive, write }, &mut each)
    };
    finish(terminal, problems, check && !all_canonical)
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

fn finish(terminal: &mut Terminal, problems: Problems, is_off_style: bool) -> Outcome {
    let Problems { diagnostics, sources } = problems;
    if diagnostics.has_errors() {
        return Err(Failure::FailedWith(FAILED, diagnostics, sources));
    }
    terminal.report(&diagnostics, &sources);
    Ok(if is_off_style { NOT_CANONICAL } else { 0 })
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut source = Vec::new();
    match std::io::stdin().read_to_end(&mut source) {
        Ok(_) => Ok(source),
        Err(error) => Err(failed("Failed to read file", format!("Standard input cannot be read: {error}."))),
    }
}

fn current_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| failed("Invalid path", format!("The current directory cannot be found: {error}.")))
}

fn failed(summary: &str, detail: String) -> Failure {
    Failure::FailedWith(FAILED, yuba_syntax::Diagnostic::error(summary, detail).into(), Sources::new())
}
