//! `yuba completion`: the completion script of a shell.

use super::{Command, JsonForm, Run};
use crate::completion::{SHELLS, script};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "completion",
    synopsis: "Write the completion script of a shell",
    usage: "bash|zsh|fish",
    about: "Writes a script that completes subcommands, options, files, addresses, workspaces, outputs and variables in bash, zsh or \
            fish. The script runs the binary for each completion, so it stays valid for later versions.\n\n\
            \"yuba -install-autocomplete\" adds the script to the startup files of your shells, and \
            \"yuba -uninstall-autocomplete\" removes it.",
    flags: &[],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [shell] = args.positional.as_slice() else {
        return Err(Failure::usage(diagnostics::one_shell_expected(&SHELLS)));
    };
    let script = script(shell).ok_or_else(|| Failure::usage(diagnostics::shell_unsupported(shell, &SHELLS)))?;
    terminal.out(script);
    Ok(0)
}
