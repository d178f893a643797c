//! `yuba estate ...`: all states of a database.

pub(crate) mod list;

use super::{Command, JsonForm, Run};

pub(crate) const GROUP: Command = Command {
    name: "estate",
    synopsis: "Show all states of a database",
    usage: "<subcommand> [options] [args]",
    about: "Shows the states of all configurations in the database of the backend \"pg\" with layout = \"resources\".",
    flags: &[],
    json: JsonForm::None,
    long_help: false,
    run: Run::Subcommands,
};
