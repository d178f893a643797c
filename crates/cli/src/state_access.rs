//! Shared flags of commands that work on a state, and access to the state.

use std::path::PathBuf;
use std::time::Duration;

use yuba_eval::tree::Purpose;
use yuba_session::backend::{self, LockWait, OpenState, Refusal, StateFlags, StateLocation, VersionCheck};
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
use crate::signals::Stop;

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
/// `-backup` of commands that always write a backup.
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
pub(crate) const IGNORE_REMOTE_VERSION: Flag = Flag::switch(
    "ignore-remote-version",
    "Write the state even if its workspace is set to another version on the server of the backend \"remote\" or the cloud block.",
);
/// `-show-sensitive`
pub(crate) const SHOW_SENSITIVE: Flag = Flag::switch("show-sensitive", "Show sensitive values.");

/// Flags about the state.
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
        version: VersionCheck::Skipped,
    })
}

/// The same for commands that may upgrade the format of a state.
pub(crate) fn flags_of_change(args: &Args) -> Result<StateFlags, Failure> {
    let version = match args.is_on("ignore-remote-version") {
        true => VersionCheck::Warned,
        false => VersionCheck::Required,
    };
    Ok(StateFlags { version, ..flags(args)? })
}

/// Fails where the configuration has errors. Commands that exchange or change the state without it check that first.
pub(crate) fn check_configuration(settings: &Settings) -> Result<(), Refusal> {
    state::usable_configuration(settings.project(), Purpose::Look)
}

/// Location of the state.
pub(crate) fn location(settings: &Settings, flags: &StateFlags) -> Result<StateLocation, Refusal> {
    let selected = settings.selected();
    if selected.is_overridden && !is_valid_name(&selected.name) {
        return Err(diagnostics::selected_workspace_invalid(&selected.name).into());
    }
    backend::find(settings.project(), flags)
}

/// Location of a state that a command changes and always backs up.
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
    Ok(location.with_backup_of_its_own(settings.project()))
}

/// Opens a state to change it.
pub(crate) fn open(
    messages: &mut Messages<'_>,
    location: &StateLocation,
    operation: &str,
    flags: &StateFlags,
    unreadable: &'static Code,
) -> Result<OpenState, Refusal> {
    let opened = location.open(operation, flags, &mut StateWait::new(messages));
    let mut opened = opened.map_err(|failure| Refusal::from(failure.under(unreadable)))?;
    messages.note(&std::mem::take(&mut opened.notes));
    Ok(opened)
}

/// Follows the lock of a command that changes a state. From the request for the lock on, the first Ctrl-C ends the wait for it and otherwise
/// lets the command complete, so that it releases the lock.
pub(crate) struct StateWait<'m, 't> {
    messages: &'m mut Messages<'t>,
    stop: Option<Stop>,
}

impl<'m, 't> StateWait<'m, 't> {
    pub(crate) fn new(messages: &'m mut Messages<'t>) -> StateWait<'m, 't> {
        StateWait { messages, stop: None }
    }

    /// The interrupts of the operation that follows.
    pub(crate) fn into_stop(self) -> Stop {
        self.stop.unwrap_or_else(Stop::watch)
    }
}

impl LockWait for StateWait<'_, '_> {
    fn starting(&mut self) {
        self.stop.get_or_insert_with(Stop::watch);
    }

    fn slow(&mut self) {
        self.messages.locking();
    }

    fn is_interrupted(&mut self) -> bool {
        let interrupts = self.stop.as_ref().map_or(0, |stop| stop.interrupt().count());
        if interrupts > 1 {
            // A request for the lock is pending: nothing was changed yet.
            crate::telemetry::finish();
            std::process::exit(1);
        }
        interrupts > 0
    }
}

/// Closes a state, which releases its lock, and returns the result of the work with it.
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
