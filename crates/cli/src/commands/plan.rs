//! `yuba plan`, `yuba apply`, `yuba destroy`, `yuba refresh` and `yuba ui`.

use super::{Command, JsonForm, Run};
use crate::annotations::FORMAT;
use crate::exit::Outcome;
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::operate::{self, Kind};
use crate::plan_views::{GROUP, ONLY, ONLY_CHANGED, SUMMARY, TREE};
use crate::settings::{VAR, VAR_FILE};
use crate::state_access::{BACKUP, LOCK, LOCK_TIMEOUT, SHOW_SENSITIVE, STATE, STATE_OUT};
use crate::terminal::Terminal;
use crate::ui::{self, PageEnd};

const DESTROY: Flag = Flag::switch("destroy", "Plan to destroy all managed objects.");
const REFRESH_ONLY: Flag =
    Flag::switch("refresh-only", "Update the state to match remote objects, without changing them.");
const REFRESH: Flag = Flag::switch_off("refresh", "Do not refresh the state from remote objects before planning.");
const REPLACE: Flag = Flag::list(
    "replace",
    "resource",
    "Replace this resource instance even if the plan would update it or leave it unchanged.",
);
pub(super) const TARGET: Flag =
    Flag::list("target", "resource", "Limit the operation to this resource and its dependencies.");
pub(super) const TARGET_FILE: Flag =
    Flag::list("target-file", "file", "Read addresses for -target from a file, one per line.");
pub(super) const EXCLUDE: Flag =
    Flag::list("exclude", "resource", "Exclude this resource and everything that depends on it.");
pub(super) const EXCLUDE_FILE: Flag =
    Flag::list("exclude-file", "file", "Read addresses for -exclude from a file, one per line.");
pub(super) const INPUT: Flag = Flag::switch_off("input", "Do not prompt for values of variables.");
pub(super) const PARALLELISM: Flag =
    Flag::text("parallelism", "10", "Number of operations that can run at the same time.");
const PAGE: Flag = Flag::switch(
    "ui",
    "Serve a page on this machine that follows the run in a browser. Standard error has its address.",
);
const AUTO_APPROVE: Flag = Flag::switch("auto-approve", "Apply without a prompt for approval.");

const VERBOSE: Flag = Flag::switch(
    "verbose",
    "List each object that is refreshed. Without the option a terminal shows their number. Pipes and files always get the list.",
);

/// `yuba plan`
pub(crate) const PLAN: Command = Command {
    name: "plan",
    synopsis: "Show changes required by the current configuration",
    usage: "[options]",
    about: "Compares the configuration with remote objects and shows the changes that \"yuba apply\" would make. The command \
            itself changes nothing. With -out it writes the plan to a file that \"yuba apply\" can execute.",
    flags: &[
        DESTROY,
        REFRESH_ONLY,
        REFRESH,
        REPLACE,
        TARGET,
        TARGET_FILE,
        EXCLUDE,
        EXCLUDE_FILE,
        Flag::switch(
            "detailed-exitcode",
            "Exit with 0 if the plan is empty, 2 if it contains changes, and 1 after an error.",
        ),
        Flag::text(
            "generate-config-out",
            "path",
            "Write configuration for imported objects that the configuration does not declare.",
        ),
        Flag::text("out", "path", "Write the plan to a file that \"yuba apply\" can execute."),
        INPUT,
        LOCK,
        LOCK_TIMEOUT,
        PARALLELISM,
        STATE,
        SUMMARY,
        TREE,
        GROUP,
        ONLY,
        ONLY_CHANGED,
        FORMAT,
        JSON,
        JSON_INTO,
        SHOW_SENSITIVE,
        PAGE,
        VAR,
        VAR_FILE,
        VERBOSE,
    ],
    json: JsonForm::Messages,
    long_help: true,
    run: Run::Function(plan),
};

/// `yuba ui`
pub(crate) const UI: Command = Command {
    name: "ui",
    synopsis: "Show a plan in a browser",
    usage: "[options] [PLAN]",
    about: "Plans the changes that the configuration requires and serves a page that shows the plan while it is made. With a \
            plan file of \"yuba plan -out\", shows that plan. The page stays open until Ctrl-C. It is available on this \
            machine only, at an address with a secret, and cannot change anything.\n\n\
            \"yuba apply -ui\" serves the same page for a run that applies.",
    flags: &[
        DESTROY,
        REFRESH_ONLY,
        REFRESH,
        REPLACE,
        TARGET,
        TARGET_FILE,
        EXCLUDE,
        EXCLUDE_FILE,
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
    run: Run::Function(ui),
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
    SUMMARY,
    TREE,
    GROUP,
    ONLY,
    ONLY_CHANGED,
    FORMAT,
    JSON,
    JSON_INTO,
    SHOW_SENSITIVE,
    PAGE,
    Flag::switch("suppress-forget-errors", "Do not fail if a destroy operation only forgets objects."),
    VAR,
    VAR_FILE,
    VERBOSE,
];

/// `yuba apply`
pub(crate) const APPLY: Command = Command {
    name: "apply",
    synopsis: "Create or update infrastructure",
    usage: "[options] [PLAN]",
    about: "Plans the changes that the configuration requires, shows them, prompts for approval and applies them. With a plan \
            file of \"yuba plan -out\", applies that plan without a prompt.",
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
    about: "Plans to destroy all objects that this configuration manages, shows the plan, prompts for approval and destroys \
            the objects. Equivalent to \"yuba apply -destroy\".",
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
    about: "Updates the state to match remote objects, without a prompt. Prefer \"yuba apply -refresh-only\", which shows the \
            changes first.",
    flags: &[
        Flag::switch("destroy", "No effect: the command changes only the state."),
        Flag::switch("refresh-only", "No effect: the command changes only the state."),
        Flag::switch_off("refresh", "No effect: the command always refreshes the state."),
        Flag::list("replace", "resource", "No effect: the command changes only the state."),
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

fn ui(terminal: &mut Terminal, args: &Args) -> Outcome {
    match args.positional.as_slice() {
        [path] => ui::serve_plan(terminal, args, path),
        _ => operate::run_with_page(terminal, args, Kind::Plan, Some(PageEnd::WithUser)),
    }
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
