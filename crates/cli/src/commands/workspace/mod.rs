//! `yuba workspace ...`: several states for one configuration.

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod select;
pub(crate) mod show;

use super::{Command, JsonForm, Run};

pub(crate) const GROUP: Command = Command {
    name: "workspace",
    synopsis: "Workspace management",
    usage: "",
    about: "new, list, show, select and delete Yuba workspaces.",
    flags: &[],
    json: JsonForm::None,
    long_help: false,
    run: Run::Subcommands,
};
