//! `yuba workspace ...`: several states for one configuration.

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod select;
pub(crate) mod show;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::Failure;
use crate::flags::Args;

/// The workspace given as the only argument.
fn name(args: &Args) -> Result<String, Failure> {
    match args.positional.as_slice() {
        [name] => Ok(name.clone()),
        _ => Err(Failure::usage(diagnostics::workspace_expected())),
    }
}

pub(crate) const GROUP: Command = Command {
    name: "workspace",
    synopsis: "Workspace management",
    usage: "",
    about: "Creates, lists, shows, selects and deletes workspaces.",
    flags: &[],
    json: JsonForm::None,
    long_help: false,
    run: Run::Subcommands,
};
