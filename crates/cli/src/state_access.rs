//! What commands that work on a state have in common: their flags, and how they get at it.

use std::path::PathBuf;
use std::time::Duration;

use yuba_eval::tree::Purpose;
use yuba_session::backend::{self, OpenState, Refusal, StateFlags, StateLocation};
use yuba_session::state;
use yuba_session::workspaces::is_valid_name;
use yuba_syntax::{Code, Diagnostics};
use yuba_value::functions::timestamp::parse_duration;
use yuba_value::quote::quote;

use crate::diagnostics;
use crate::exit::Failure;
use crate::flags::{Args, Flag};
use crate::messages::Messages;
use crate::settings::Settings;

/// `-state` of commands that look at a state.
pub(crate) const STATE: Flag =
    Flag::text("state", "path", "State file to read instead of the state of the selected workspace.");
/// `-state` of commands that change a state.
pub(crate) const STATE_TO_CHANGE: Flag =
    Flag::text("state", "path", "State file to change instead of the state of the selected workspace.");
/// `-state-out`
pub(crate) const STATE_OUT: Flag =
    Flag::text("state-out", "path", "File to write the new state to. The default is the file it was read from.");
/// `-backup`
pub(crate) const BACKUP: Flag = Flag::text(
    "backup",
    "path",
    "File for the backup of the state. The default is the path of the state file with the extension \".backup\". \"-\" disables \
     the backup.",
);
/// `-backup` of commands that always keep a backup.
pub(crate) const BACKUP_ALWAYS: Flag = Flag::text(
    "backup",
    "path",
    "File for the backup of the state. The default is a file next to the state with the time in its name.",
);
/// `-lock`
pub(crate) const LOCK: Flag = Flag::switch_off(
    "lock",
    "Do not lock the state. Changes can be lost if another process changes the state at the same time.",
);
/// `-lock-timeout`
pub(crate) const LOCK_TIMEOUT: Flag =
    Flag::text("lock-timeout", "0s", "Duration to wait for the state lock, like \"30s\" or \"5m\".");
/// `-ignore-remote-version`
pub(crate) const IGNORE_REMOTE_VERSION: Flag = Flag::switch("ignore-remote-version", "");
/// `-show-sensitive`
pub(crate) const SHOW_SENSITIVE: Flag = Flag::switch("show-sensitive", "Show sensitive values.");

/// What the flags say about the state.
pub(crate) fn flags(args: &Args) -> Result<StateFlags, Failure> {
    let path = |name: &str| args.text(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let lock_timeout = match args.text("lock-timeout") {
        None => Duration::ZERO,
        Some(text) => parse_duration(text)
            .ok()
            .map(|nanos| Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
            .ok_or_else(|| {
                let message = format!("invalid value {} for flag -lock-timeout: parse error", quote(text));
                Failure::usage(diagnostics::invalid_flags(message))
            })?,
    };
    Ok(StateFlags {
        state: path("state"),
        state_out: path("state-out"),
        backup: path("backup"),
        lock: args.text("lock") != Some("false"),
        lock_timeout,
    })
}

/// Fails where the configuration has errors. Commands that exchange or change the state without it check that first.
pub(crate) fn check_configuration(settings: &Settings) -> Result<(), Refusal> {
    state::usable_configuration(settings.project(), Purpose::Look)
}

/// Where the state is.
pub(crate) fn location(settings: &Settings, flags: &StateFlags) -> Result<StateLocation, Refusal> {
    let selected = settings.selected();
    if selected.is_overridden && !is_valid_name(&selected.name) {
        return Err(diagnostics::selected_workspace_invalid(&selected.name).into());
    }
    backend::find(settings.project(), flags)
}

/// Where a state is that a command changes and always keeps a backup of.
pub(crate) fn location_with_backup(settings: &Settings, flags: &StateFlags) -> Result<StateLocation, Refusal> {
    check_configuration(settings)?;
    let location = location(settings, flags)?;
    // A file that was named is the state, whatever workspace is selected.
    let location = match &flags.state {
        Some(path) => {
            StateLocation::file(path.clone(), flags.backup.clone(), location.backends()).encrypted_as(&location)
        }
        None => location,
    };
    Ok(location.with_backup_of_its_own())
}

/// Opens a state to change it.
pub(crate) fn open(
    messages: &mut Messages<'_>,
    location: &StateLocation,
    operation: &str,
    flags: &StateFlags,
    unreadable: &'static Code,
) -> Result<OpenState, Refusal> {
    let opened = location.open(operation, flags, &mut || messages.locking());
    let mut opened = opened.map_err(|failure| Refusal::from(failure.under(unreadable)))?;
    messages.note(&std::mem::take(&mut opened.notes));
    Ok(opened)
}

/// Lets others at a state again, whatever came of the work with it.
pub(crate) fn close<T>(messages: &mut Messages<'_>, opened: OpenState, done: Result<T, Refusal>) -> Result<T, Refusal> {
    let problems = opened.close();
    if !problems.is_empty() {
        messages.diagnostics(&problems, &yuba_syntax::Sources::new());
    }
    done
}

/// A new state that could not be saved.
pub(crate) fn not_saved(problems: &Diagnostics) -> Refusal {
    diagnostics::changed_state_not_saved(problems).into()
}
