//! `yuba metadata functions`: the table of functions for editors and other tools.

use yuba_eval::FunctionTable;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

pub(crate) const GROUP: Command = Command {
    name: "metadata",
    synopsis: "Show metadata of the language for tools",
    usage: "<subcommand> [options] [args]",
    about: "The subcommands print metadata of the language for editors and other tools.",
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
