//! `yuba metadata`: the tables of functions and commands for editors, documentation and other tools.

use std::path::{Path, PathBuf};

use yuba_eval::FunctionTable;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::reference::{self, Page};
use crate::terminal::Terminal;

pub(crate) const GROUP: Command = Command {
    name: "metadata",
    synopsis: "Show metadata of the language for tools",
    usage: "<subcommand> [options] [args]",
    about: "The subcommands print metadata of the language and of the command line for editors and other tools.",
    flags: &[],
    json: JsonForm::None,
    long_help: false,
    run: Run::Subcommands,
};

pub(crate) const FUNCTIONS: Command = Command {
    name: "metadata functions",
    synopsis: "Show the signatures and descriptions of all functions",
    usage: "-json",
    about: "Shows the name, parameters, result type and description of every function that expressions can call, as one \
            JSON object.",
    flags: &[Flag::switch("json", "Write JSON. This option is required.")],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

pub(crate) const COMMANDS: Command = Command {
    name: "metadata commands",
    synopsis: "Show the commands and their options",
    usage: "-json | -man=DIR | -markdown=DIR",
    about: "Shows the name, summary, description and options of every command, as one JSON object. With -man or -markdown, \
            writes a page for each command to a directory instead.\n\nFor example, \"yuba metadata commands \
            -man=$HOME/.local/share/man/man1\" installs the man pages of this version.",
    flags: &[
        Flag::switch("json", "Write JSON."),
        Flag::text("man", "DIR", "Write man pages to this directory. Existing pages of the same names are replaced."),
        Flag::text(
            "markdown",
            "DIR",
            "Write Markdown pages to this directory. Existing pages of the same names are replaced.",
        ),
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(commands),
};

/// Functions that OpenTofu removed. They exist only to name their replacement in an error.
const REMOVED: &[&str] = &["list", "map"];

/// Settings of `yuba metadata functions`.
struct FunctionsSettings;

impl FunctionsSettings {
    fn resolve(args: &Args) -> Result<FunctionsSettings, Failure> {
        match args.is_on("json") {
            true => Ok(FunctionsSettings),
            false => Err(Failure::usage(diagnostics::metadata_needs_json())),
        }
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let FunctionsSettings = FunctionsSettings::resolve(args)?;
    let functions = FunctionTable::module().all();
    let signatures = functions.iter().map(|function| function.signature());
    let json = yuba_view::functions::render(signatures.filter(|signature| !REMOVED.contains(&&*signature.name)));
    terminal.out(&format!("{}\n", json.compact()));
    Ok(0)
}

/// The form that `yuba metadata commands` writes.
enum CommandsSettings {
    Json,
    Man(PathBuf),
    Markdown(PathBuf),
}

impl CommandsSettings {
    fn resolve(args: &Args) -> Result<CommandsSettings, Failure> {
        match (args.is_on("json"), args.non_empty("man"), args.non_empty("markdown")) {
            (true, None, None) => Ok(CommandsSettings::Json),
            (false, Some(directory), None) => Ok(CommandsSettings::Man(directory.into())),
            (false, None, Some(directory)) => Ok(CommandsSettings::Markdown(directory.into())),
            _ => Err(Failure::usage(diagnostics::metadata_needs_form())),
        }
    }
}

fn commands(terminal: &mut Terminal, args: &Args) -> Outcome {
    match CommandsSettings::resolve(args)? {
        CommandsSettings::Json => terminal.out(&format!("{}\n", reference::json().compact())),
        CommandsSettings::Man(directory) => write(&directory, &reference::man_pages())?,
        CommandsSettings::Markdown(directory) => write(&directory, &reference::markdown_pages(&directory))?,
    }
    Ok(0)
}

fn write(directory: &Path, pages: &[Page]) -> Result<(), Failure> {
    let failed = |path: &Path, error: &std::io::Error| Failure::failed(diagnostics::page_not_written(path, error));
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    for page in pages {
        let path = directory.join(&page.file);
        std::fs::write(&path, &page.text).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}
