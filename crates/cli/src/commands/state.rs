//! `yuba state ...`: shows and changes single objects in a state.

pub(crate) mod at;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod mv;
pub(crate) mod pg_grants;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod query;
pub(crate) mod replace_provider;
pub(crate) mod rm;
pub(crate) mod show;

use super::{Command, JsonForm, Run};
use crate::flags::Args;

/// Whether a command changes the state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunMode {
    Change,
    /// `-dry-run`: it prints what it would change.
    Dry,
}

impl RunMode {
    fn resolve(args: &Args) -> RunMode {
        if args.is_on("dry-run") { RunMode::Dry } else { RunMode::Change }
    }
}

pub(crate) const GROUP: Command = Command {
    name: "state",
    synopsis: "Advanced state management",
    usage: "<subcommand> [options] [args]",
    about: "Shows and changes single objects in a state. \"yuba apply\" updates the state itself. To move, remove and import \
            objects, prefer \"moved\", \"removed\" and \"import\" blocks in the configuration, which can be reviewed.\n\n\
            Each subcommand that changes the state writes a backup first, with the time in its name.",
    flags: &[],
    json: JsonForm::None,
    long_help: false,
    run: Run::Subcommands,
};
