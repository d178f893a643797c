//! From one backend to another: where the state was before, and whether it comes along.

use yuba_backend::workspace::DEFAULT_WORKSPACE;
use yuba_backend::{Backend, BackendConfiguration, LockHolder, StateStore};
use yuba_net::Environment;
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};

use crate::backend::diagnostics::{migration_aborted, migration_not_confirmed, workspace_not_migrated};
use crate::backend::{StateFlags, StateLocation, check_required, overridden};
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
    block: Option<&BackendConfiguration>,
    encryption: &Encryption,
    sources: &mut Sources,
    emit: &mut dyn FnMut(Event),
) -> Result<Diagnostics, Diagnostics> {
    let (data_dir, backends) = (request.load.data_dir, request.load.backends);
    let before = initialized::read(data_dir, backends);
    let mut notes = Diagnostics::new();
    let configured = match block {
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
            Some(known.and_then(|before| before.configuration.clone()).unwrap_or_else(|| block.clone()))
        }
    };
    if let Some(configured) = &configured {
        check_required(configured, backends)?;
    }
    let used = configured.as_ref().zip(block);
    let by_default = BackendConfiguration::default();
    let to = configured.as_ref().unwrap_or(&by_default);
    // Without any record the state is where it is by default.
    let from = before.as_ref().map_or(Some(&by_default), |before| before.configuration.as_ref());
    let is_same = from.is_some_and(|from| from.is_same_location(to));
    if is_same && before.is_some() == configured.is_some() {
        if used.is_some() {
            initialized::write(data_dir, backends, used)?;
        }
        return Ok(notes);
    }
    if !is_same && !request.reconfigure {
        if let Some(before) = &before {
            let Some(known) = &before.configuration else {
                let pointer = initialized::file(data_dir);
                return Err(diagnostics::backend_not_movable(&before.kind, &pointer).into());
            };
            if !request.migrate {
                return Err(diagnostics::backend_configuration_changed(&known.location()).into());
            }
            emit(Event::BackendChanged);
        }
        let location = |of: &BackendConfiguration| StateLocation::of(backends, of, encryption.clone());
        let (from, to_location) = (location(from.unwrap_or(&by_default))?, location(to)?);
        let kinds = (before.as_ref().map_or("local", |before| before.kind.as_str()), to.kind());
        migrate(from.backend().as_ref(), to_location.backend().as_ref(), kinds, request)?;
    }
    initialized::write(data_dir, backends, used)?;
    if let Some(configured) = &configured {
        emit(Event::BackendReady(configured.kind().into()));
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
    let mut workspaces = match from.has_workspaces() {
        true => from.workspaces()?,
        false => vec![DEFAULT_WORKSPACE.to_owned()],
    };
    workspaces.sort();
    let confirmed = |question: &str, more: &str| {
        let answer = confirm.and_then(|confirm| confirm(question, more));
        answer.ok_or_else(|| Diagnostics::from(migration_not_confirmed()))
    };
    let copying = Copying { flags, environment: &request.load.backends.environment.variables };
    if workspaces.len() > 1 && !to.has_workspaces() {
        let question = format!(
            "Destination state {new:?} doesn't support workspaces.\nDo you want to copy only your current workspace?"
        );
        let more = format!(
            "The previous {old:?} backend has several workspaces, and the new one stores a single state.\n  Enter \"yes\" to \
             copy the state of the selected workspace, \"no\" to stop here."
        );
        if !confirmed(&question, &more)? {
            return Err(migration_aborted().into());
        }
        let (mut source, mut target) = (from.open(request.load.workspace)?, to.open(DEFAULT_WORKSPACE)?);
        return copying.copy(source.as_mut(), target.as_mut(), &mut |_, _| Ok(true));
    }
    if workspaces.len() > 1 {
        let question = format!("Do you want to migrate all workspaces to {new:?}?");
        let more = format!(
            "Both the previous {old:?} backend and the new one have workspaces. All of them are copied, and replace those of \
             the same name.\n  Enter \"yes\" to copy all workspaces, \"no\" to stop here."
        );
        if !confirmed(&question, &more)? {
            return Err(migration_aborted().into());
        }
        for workspace in &workspaces {
            let (mut source, mut target) = (from.open(workspace)?, to.open(workspace)?);
            let copied = copying.copy(source.as_mut(), target.as_mut(), &mut |_, _| Ok(true));
            copied.map_err(|problems| workspace_not_migrated(workspace, &problems.joined()))?;
        }
        return Ok(());
    }
    let (mut source, mut target) = (from.open(DEFAULT_WORKSPACE)?, to.open(DEFAULT_WORKSPACE)?);
    let (here, there) = (source.whereabouts(), target.whereabouts());
    copying.copy(source.as_mut(), target.as_mut(), &mut |_, present| {
        let question = "Do you want to copy existing state to the new backend?";
        let more = match present {
            None => format!(
                "There is a state in the previous {old:?} backend ({here}), and none yet in the new one ({there}).\n  Enter \
                 \"yes\" to copy it, \"no\" to start with an empty state."
            ),
            Some(_) => format!(
                "There is a state in the previous {old:?} backend ({here}), and another one in the new backend \
                 ({there}).\n  Enter \"yes\" to overwrite the new one with the previous one, \"no\" to keep the new one."
            ),
        };
        confirmed(question, &more)
    })
}

/// Whether a state is to be copied over what is there.
type Wanted<'w> = dyn FnMut(&State, Option<&State>) -> Result<bool, Diagnostics> + 'w;

/// How states are copied.
struct Copying<'c> {
    flags: &'c StateFlags,
    environment: &'c Environment,
}

impl Copying<'_> {
    fn lock(&self, store: &mut dyn StateStore) -> Result<(), Diagnostics> {
        if self.flags.lock {
            let holder = LockHolder::ourselves("migration", self.environment);
            let mut wait = |delay| {
                std::thread::sleep(delay);
                true
            };
            yuba_backend::lock(store, &holder, self.flags.lock_timeout, &mut wait)?;
        }
        Ok(())
    }

    /// Copies one state where that changes something and `wanted` says so.
    fn copy(
        &self,
        source: &mut dyn StateStore,
        target: &mut dyn StateStore,
        wanted: &mut Wanted<'_>,
    ) -> Result<(), Diagnostics> {
        // Nobody has to be kept out where there is nothing to copy.
        if source.read()?.state.is_none_or(|state| state.is_empty()) {
            return Ok(());
        }
        self.lock(source)?;
        self.lock(target)?;
        let done = copy_locked(source, target, wanted);
        let unlocked = [target.unlock(), source.unlock()];
        done?;
        unlocked.into_iter().collect()
    }
}

fn copy_locked(
    source: &mut dyn StateStore,
    target: &mut dyn StateStore,
    wanted: &mut Wanted<'_>,
) -> Result<(), Diagnostics> {
    let Some(state) = source.read()?.state.filter(|state| !state.is_empty()) else { return Ok(()) };
    let present = target.read()?.state.filter(|state| !state.is_empty());
    let same = |present: &State| present.lineage == state.lineage && present.same_content(&state);
    if present.as_ref().is_some_and(same) || !wanted(&state, present.as_ref())? {
        return Ok(());
    }
    target.push(&state, true)?;
    Ok(())
}
