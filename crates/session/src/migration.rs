//! From one backend to another: where the state was before, and whether it comes along.

use yuba_backend::{Backend, StateStore};
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};

use crate::backend::{BackendSettings, Place, StateFlags, overridden};
use crate::diagnostics;
use crate::encryption::Encryption;
use crate::initialized;
use crate::install::{Event, InitRequest};

/// Asks somebody: a question, and more about it. None if nobody can be asked.
pub type Confirm = dyn Fn(&str, &str) -> Option<bool>;

/// Keeps in mind which backend is used; none where the configuration has none. A state that is elsewhere comes along if that
/// is wanted. Gives back what there is to say besides.
pub(crate) fn set_up(
    request: &InitRequest<'_>,
    block: Option<&BackendSettings>,
    encryption: &Encryption,
    sources: &mut Sources,
    emit: &mut dyn FnMut(Event),
) -> Result<Diagnostics, Diagnostics> {
    let data_dir = request.load.data_dir;
    let before = initialized::read(data_dir);
    let mut notes = Diagnostics::new();
    let settings = match block {
        None => {
            if request.backend_config.iter().any(|flag| !flag.is_empty()) {
                notes.push(diagnostics::missing_backend());
            }
            None
        }
        Some(block) if !request.backend_config.is_empty() => Some(overridden(block, request.backend_config, sources)?),
        // What was said with -backend-config stays until it is said anew.
        Some(block) => {
            let known = before.as_ref().filter(|before| !request.reconfigure && before.is_for(block));
            Some(known.and_then(|before| before.settings.clone()).unwrap_or_else(|| block.clone()))
        }
    };
    let used = settings.as_ref().zip(block);
    let by_default = BackendSettings::default();
    let to = settings.as_ref().unwrap_or(&by_default);
    // Without any record the state is where it is by default.
    let from = before.as_ref().map_or(Some(&by_default), |before| before.settings.as_ref());
    let is_same = from.is_some_and(|from| from.is_same_place(to));
    if is_same && before.is_some() == settings.is_some() {
        if used.is_some() {
            initialized::write(data_dir, used)?;
        }
        return Ok(notes);
    }
    if !is_same && !request.reconfigure {
        if let Some(before) = &before {
            let Some(known) = &before.settings else {
                let pointer = initialized::file(data_dir);
                return Err(diagnostics::backend_not_movable(&before.kind, &pointer).into());
            };
            if !request.migrate {
                return Err(diagnostics::backend_configuration_changed(&known.place()).into());
            }
            emit(Event::BackendChanged);
        }
        let place = |settings: &BackendSettings| Place::of(settings.clone(), encryption.clone());
        let from = place(from.unwrap_or(&by_default));
        let kinds = (before.as_ref().map_or("local", |before| before.kind.as_str()), to.kind());
        migrate(from.backend().as_ref(), place(to).backend().as_ref(), kinds, request)?;
    }
    initialized::write(data_dir, used)?;
    if let Some(settings) = &settings {
        emit(Event::BackendReady(settings.kind().into()));
    }
    Ok(notes)
}

/// Copies all states, after asking.
fn migrate(
    from: &dyn Backend,
    to: &dyn Backend,
    (old, new): (&str, &str),
    request: &InitRequest<'_>,
) -> Result<(), Diagnostics> {
    let (flags, confirm) = (&request.flags, request.confirm.as_deref());
    let mut workspaces = from.workspaces()?;
    workspaces.sort();
    let confirmed = |question: &str, more: &str| {
        confirm
            .and_then(|confirm| confirm(question, more))
            .ok_or_else(|| Diagnostics::from(diagnostics::migration_not_confirmable()))
    };
    if workspaces.len() > 1 {
        let question = format!("Do you want to migrate all workspaces to {new:?}?");
        let more = format!(
            "The previous {old:?} backend has several workspaces. Yuba copies all of them to the new backend and overwrites \
             workspaces with the same name.\n  Enter \"yes\" to copy all workspaces, \"no\" to cancel."
        );
        if !confirmed(&question, &more)? {
            return Err(diagnostics::migration_declined().into());
        }
        for workspace in &workspaces {
            let (mut source, mut target) = (from.open(workspace)?, to.open(workspace)?);
            copy(source.as_mut(), target.as_mut(), flags, &mut |_, _| Ok(true))
                .map_err(|problems| diagnostics::workspace_not_migrated(workspace, &problems))?;
        }
        return Ok(());
    }
    let (mut source, mut target) = (from.open("default")?, to.open("default")?);
    let (here, there) = (source.whereabouts(), target.whereabouts());
    copy(source.as_mut(), target.as_mut(), flags, &mut |_, present| {
        let question = "Do you want to copy existing state to the new backend?";
        let more = match present {
            None => format!(
                "The previous {old:?} backend ({here}) has a state, and the new backend ({there}) is empty.\n  Enter \"yes\" to \
                 copy the state, \"no\" to start with an empty state."
            ),
            Some(_) => format!(
                "The previous {old:?} backend ({here}) has a state, and the new backend ({there}) has a different state.\n  \
                 Enter \"yes\" to overwrite the state in the new backend, \"no\" to use the state in the new backend."
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
    // Nobody has to be kept out where there is nothing to copy.
    if source.read()?.state.is_none_or(|state| state.is_empty()) {
        return Ok(());
    }
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
