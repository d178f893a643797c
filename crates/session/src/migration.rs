//! From one backend to another: where the state was before, and whether it comes along.

use ecow::eco_format;
use yuba_backend::{Disk, Local, LocalSettings, StateStore};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics};

use std::sync::Arc;

use crate::backend::StateFlags;
use crate::diagnostics;
use crate::encryption::Encryption;
use crate::initialized::{self, Initialized};
use crate::install::{Event, InitRequest};

/// Asks somebody: a question, and more about it. None if nobody can be asked.
pub type Confirm = dyn Fn(&str, &str) -> Option<bool>;

/// Keeps in mind which backend is used. A state that is elsewhere comes along if that is wanted.
pub(crate) fn set_up(
    request: &InitRequest<'_>,
    settings: &LocalSettings,
    has_backend: bool,
    encryption: &Encryption,
    emit: &mut dyn FnMut(Event),
) -> Result<(), Diagnostics> {
    let data_dir = request.load.data_dir;
    let before = initialized::read(data_dir);
    let is_same = match &before {
        Some(before) if before.kind != "local" => return Ok(()),
        Some(before) => before.is(settings),
        // Without any record the state is where it is by default.
        None => Initialized::by_default().is(settings),
    };
    if is_same && before.is_some() == has_backend {
        return Ok(());
    }
    if !is_same && !request.reconfigure {
        if before.is_some() && !request.migrate {
            let place = before.as_ref().map(Initialized::place).unwrap_or_default();
            return Err(diagnostics::backend_configuration_changed(&place).into());
        }
        if before.is_some() {
            emit(Event::BackendChanged);
        }
        let from = before.unwrap_or_else(Initialized::by_default).settings();
        let local =
            |settings: &LocalSettings| Local::new(Arc::new(Disk), settings.clone()).encrypted(encryption.state.clone());
        migrate(&local(&from), &local(settings), &request.flags, request.confirm.as_deref())?;
    }
    initialized::write(data_dir, has_backend.then_some(settings))?;
    if has_backend {
        emit(Event::BackendReady("local".into()));
    }
    Ok(())
}

/// Copies all states, after asking.
fn migrate(from: &Local, to: &Local, flags: &StateFlags, confirm: Option<&Confirm>) -> Result<(), Diagnostics> {
    use yuba_backend::Backend as _;
    let mut workspaces = from.workspaces()?;
    workspaces.sort();
    let confirmed = |question: &str, more: &str| {
        confirm.and_then(|confirm| confirm(question, more)).ok_or_else(|| {
            let detail = "Whether to copy the state cannot be asked. Use -force-copy to copy it, or -reconfigure to leave it \
                          where it is.";
            Diagnostics::from(Diagnostic::error("Can't ask approval for state migration", detail))
        })
    };
    if workspaces.len() > 1 {
        let question = "Do you want to migrate all workspaces to \"local\"?";
        let more = "Both the previous \"local\" backend and the new one have workspaces. All of them are copied, and replace \
                    those of the same name.\n  Enter \"yes\" to copy all workspaces, \"no\" to stop here.";
        if !confirmed(question, more)? {
            return Err(Diagnostic::error("Migration aborted by user.", "Nothing was changed.").into());
        }
        for workspace in &workspaces {
            let (mut source, mut target) = (from.open(workspace)?, to.open(workspace)?);
            copy(source.as_mut(), target.as_mut(), flags, &mut |_, _| Ok(true)).map_err(|problems| {
                let title = eco_format!("Error migrating the workspace {workspace:?}");
                crate::state::under(&title, &problems)
            })?;
        }
        return Ok(());
    }
    let (mut source, mut target) = (from.open("default")?, to.open("default")?);
    let (here, there) = (source.whereabouts(), target.whereabouts());
    copy(source.as_mut(), target.as_mut(), flags, &mut |_, present| {
        let question = "Do you want to copy existing state to the new backend?";
        let more = match present {
            None => format!(
                "There is a state in the previous \"local\" backend ({here}), and none yet in the new one ({there}).\n  Enter \
                 \"yes\" to copy it, \"no\" to start with an empty state."
            ),
            Some(_) => format!(
                "There is a state in the previous \"local\" backend ({here}), and another one in the new backend \
                 ({there}).\n  Enter \"yes\" to overwrite the new one with the previous one, \"no\" to keep the new one."
            ),
        };
        confirmed(question, &more)
    })
}

/// Whether a state is to be copied over what is there.
type Wanted<'w> = dyn FnMut(&State, Option<&State>) -> Result<bool, Diagnostics> + 'w;

/// Copies one state where that changes something and `wanted` says so.
fn copy(
    source: &mut dyn StateStore,
    target: &mut dyn StateStore,
    flags: &StateFlags,
    wanted: &mut Wanted<'_>,
) -> Result<(), Diagnostics> {
    let lock = |store: &mut dyn StateStore| -> Result<(), Diagnostics> {
        if flags.lock {
            let holder = yuba_backend::LockHolder::ourselves("migration");
            let mut wait = |delay| {
                std::thread::sleep(delay);
                true
            };
            yuba_backend::lock(store, &holder, flags.lock_timeout, &mut wait)?;
        }
        Ok(())
    };
    lock(source)?;
    lock(target)?;
    let result = || -> Result<(), Diagnostics> {
        let Some(state) = source.read()?.state.filter(|state| !state.is_empty()) else { return Ok(()) };
        let present = target.read()?.state.filter(|state| !state.is_empty());
        let same = |present: &State| present.lineage == state.lineage && present.same_content(&state);
        if present.as_ref().is_some_and(same) || !wanted(&state, present.as_ref())? {
            return Ok(());
        }
        target.push(&state, true)?;
        Ok(())
    };
    let mut result = result;
    let done = result();
    let unlocked = [target.unlock(), source.unlock()];
    done?;
    unlocked.into_iter().collect()
}
