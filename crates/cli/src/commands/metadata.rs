//! `yuba metadata functions`: the table of functions for editors and other tools.

use yuba_eval::FunctionTable;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::terminal::Terminal;

pub(crate) const GROUP: Command = Command {
    name: "metadata",
    synopsis: "Show what the language offers, for tools",
    usage: "<subcommand> [options] [args]",
    about: "The subcommands of this command tell tools what the language offers.",
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
    flags: &[Flag::switch("json", "Required: there is no other form than JSON.")],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// Functions that only exist to say what replaced them.
const GONE: &[&str] = &["list", "map"];

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if !args.is_on("json") {
        let detail = "The `yuba metadata functions` command writes JSON only: give it the `-json` flag.";
        return Err(Failure::usage("Invalid arguments", detail));
    }
    let functions = FunctionTable::module().all();
    let signatures = functions.iter().map(|function| function.signature());
    let json = yuba_view::functions::render(signatures.filter(|signature| !GONE.contains(&&*signature.name)));
    terminal.out(&format!("{}\n", json.compact()));
    Ok(0)
}
