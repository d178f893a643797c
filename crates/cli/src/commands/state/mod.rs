//! `yuba state ...`: looking at a state and changing it by hand.

pub(crate) mod list;
pub(crate) mod mv;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod replace_provider;
pub(crate) mod rm;
pub(crate) mod show;

use super::{Command, JsonForm, Run};

pub(crate) const GROUP: Command = Command {
    name: "state",
    synopsis: "Advanced state management",
    usage: "<subcommand> [options] [args]",
    about: "Looks at a state and changes it by hand, one object at a time. Usually no one needs to: \"yuba apply\" keeps \
            the state right, and \"moved\", \"removed\" and \"import\" blocks in the configuration say what happens to \
            objects in a way that others can read.\n\n\
            Each subcommand that changes the state keeps a copy of it first, with the time in its name.",
    flags: &[],
    json: JsonForm::None,
    long_help: false,
    run: Run::Subcommands,
};
