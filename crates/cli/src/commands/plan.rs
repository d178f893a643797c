//! `yuba plan`, `yuba apply`, `yuba destroy` and `yuba refresh`.

use super::{Command, JsonForm, Run};
use crate::exit::Outcome;
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::operate::{self, Kind};
use crate::settings::{VAR, VAR_FILE};
use crate::state_access::{BACKUP, LOCK, LOCK_TIMEOUT, SHOW_SENSITIVE, STATE, STATE_OUT};
use crate::terminal::Terminal;

const DESTROY: Flag = Flag::switch("destroy", "Plan to destroy everything that is managed.");
const REFRESH_ONLY: Flag =
    Flag::switch("refresh-only", "Only bring the state up to date with what exists; change nothing.");
const REFRESH: Flag = Flag::switch_off("refresh", "Do not read what exists again before planning.");
const REPLACE: Flag = Flag::list("replace", "resource", "Replace this resource instance, whether it changes or not.");
const TARGET: Flag = Flag::list("target", "resource", "Work only on this and on what it depends on.");
const TARGET_FILE: Flag = Flag::list("target-file", "file", "Read such addresses from a file, one per line.");
const EXCLUDE: Flag = Flag::list("exclude", "resource", "Leave this out, and what depends on it.");
const EXCLUDE_FILE: Flag = Flag::list("exclude-file", "file", "Read such addresses from a file, one per line.");
const INPUT: Flag = Flag::switch_off("input", "Do not ask for values of variables.");
const PARALLELISM: Flag = Flag::text("parallelism", "10", "How many operations may run at the same time.");
const AUTO_APPROVE: Flag = Flag::switch("auto-approve", "Do not ask before changes are made.");

/// `yuba plan`
pub(crate) const PLAN: Command = Command {
    name: "plan",
    synopsis: "Show changes required by the current configuration",
    usage: "[options]",
    about: "Reads what exists, compares it with the configuration, and shows what would have to change. It changes nothing \
            itself. With -out the plan is kept in a file, so that \"yuba apply\" does exactly that later.",
    flags: &[
        DESTROY,
        REFRESH_ONLY,
        REFRESH,
        REPLACE,
        TARGET,
        TARGET_FILE,
        EXCLUDE,
        EXCLUDE_FILE,
        Flag::switch("detailed-exitcode", "Exit with 0 if nothing changes, 2 if something does, and 1 after an error."),
        Flag::text("generate-config-out", "path", "Write configuration for imported objects that have none."),
        Flag::text("out", "path", "Keep the plan in a file, for \"yuba apply\"."),
        INPUT,
        LOCK,
        LOCK_TIMEOUT,
        PARALLELISM,
        STATE,
        JSON,
        JSON_INTO,
        SHOW_SENSITIVE,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: true,
    run: Run::Function(plan),
};

const CHANGING: &[Flag] = &[
    DESTROY,
    REFRESH_ONLY,
    REFRESH,
    REPLACE,
    TARGET,
    TARGET_FILE,
    EXCLUDE,
    EXCLUDE_FILE,
    AUTO_APPROVE,
    INPUT,
    LOCK,
    LOCK_TIMEOUT,
    PARALLELISM,
    STATE,
    STATE_OUT,
    BACKUP,
    JSON,
    JSON_INTO,
    SHOW_SENSITIVE,
    Flag::switch(
        "suppress-forget-errors",
        "Do not fail when objects are only forgotten where they were to be destroyed.",
    ),
    VAR,
    VAR_FILE,
];

/// `yuba apply`
pub(crate) const APPLY: Command = Command {
    name: "apply",
    synopsis: "Create or update infrastructure",
    usage: "[options] [PLAN]",
    about: "Makes the changes that the configuration asks for, after showing them and asking. With the file of a plan that \
            \"yuba plan -out\" made, it makes those changes, without asking.",
    flags: CHANGING,
    json: JsonForm::Messages,
    long_help: true,
    run: Run::Function(apply),
};

/// `yuba destroy`
pub(crate) const DESTROY_COMMAND: Command = Command {
    name: "destroy",
    synopsis: "Destroy previously-created infrastructure",
    usage: "[options]",
    about: "Destroys everything that this configuration manages, after showing it and asking. The same as \"yuba apply \
            -destroy\".",
    flags: CHANGING,
    json: JsonForm::Messages,
    long_help: true,
    run: Run::Function(destroy),
};

/// `yuba refresh`
pub(crate) const REFRESH_COMMAND: Command = Command {
    name: "refresh",
    synopsis: "Update the state to match remote systems",
    usage: "[options]",
    about: "Brings the state up to date with what exists, without asking. \"yuba apply -refresh-only\" does the same and \
            shows what changes first.",
    flags: &[
        Flag::switch("destroy", "Has no effect: the command changes only the state."),
        Flag::switch("refresh-only", "Has no effect: the command changes only the state."),
        Flag::switch_off("refresh", "Has no effect: the command always reads what exists."),
        Flag::list("replace", "resource", "Has no effect: the command changes only the state."),
        TARGET,
        TARGET_FILE,
        EXCLUDE,
        EXCLUDE_FILE,
        INPUT,
        LOCK,
        LOCK_TIMEOUT,
        PARALLELISM,
        STATE,
        STATE_OUT,
        BACKUP,
        JSON,
        JSON_INTO,
        SHOW_SENSITIVE,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: true,
    run: Run::Function(refresh),
};

fn plan(terminal: &mut Terminal, args: &Args) -> Outcome {
    operate::run(terminal, args, Kind::Plan)
}

fn apply(terminal: &mut Terminal, args: &Args) -> Outcome {
    operate::run(terminal, args, Kind::Apply)
}

fn destroy(terminal: &mut Terminal, args: &Args) -> Outcome {
    operate::run(terminal, args, Kind::Destroy)
}

fn refresh(terminal: &mut Terminal, args: &Args) -> Outcome {
    operate::run(terminal, args, Kind::Refresh)
}
