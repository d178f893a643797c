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
use crate::install::{InitEvent, InitRequest};

/// Asks somebody: a question, and more about it. None if nobody can be asked.
pub type Confirm = dyn Fn(&str, &str) -> Option<bool>;

/// Keeps in mind which backend is used; none where the configuration has none. A state that is elsewhere comes along if that
/// is wanted. Gives back what there is to say besides.
pub(crate) fn set_up(
    request: &InitRequest<'_>,
    block: Option<&BackendConfiguration>,
    encryption: &Encryption,
    sources: &mut Sources,
    emit: &mut dyn FnMut(InitEvent),
) -> Result<Diagnostics, Diagnostics> {
    let project = request.project;
    let backends = project.backends();
    let before = initialized::read(project);
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
            initialized::write(project, used)?;
        }
        return Ok(notes);
    }
    if !is_same && !request.reconfigure {
        if let Some(before) = &before {
            let Some(known) = &before.configuration else {
                let pointer = initialized::file(project.data_dir());
                return Err(diagnostics::backend_not_movable(&before.kind, &pointer).into());
            };
            if !request.migrate {
                return Err(diagnostics::backend_configuration_changed(&known.location()).into());
            }
            emit(InitEvent::BackendChanged);
        }
        let location = |of: &BackendConfiguration| StateLocation::of(backends, of, encryption.clone());
        let (from, to_location) = (location(from.unwrap_or(&by_default))?, location(to)?);
        let kinds = (before.as_ref().map_or("local", |before| before.kind.as_str()), to.kind());
        migrate(from.backend().as_ref(), to_location.backend().as_ref(), kinds, request)?;
    }
    initialized::write(project, used)?;
    if let Some(configured) = &configured {
        emit(InitEvent::BackendReady(configured.kind().into()));
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
    let copying = Copying { flags, environment: &request.project.backends().environment.variables };
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
        let (mut source, mut target) = (from.open(request.project.workspace())?, to.open(DEFAULT_WORKSPACE)?);
        return copying.copy(source.as_mut(), target.as_mut(), &mut |_, _| Ok(true));
    }
    if workspaces.len() > 1 {
        let question = format!("Do you want to migrate all workspaces to {new:?}?");
        let more = format!(
            "The previous {old:?} backend has several workspaces. Yuba copies all of them to the new backend and overwrites \
             workspaces with the same name.\n  Enter \"yes\" to copy all workspaces, \"no\" to cancel."
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use serde_json::json;
    use yuba_backend::encryption::is_encrypted;
    use yuba_backend::fake::{FAKE, FakeStore};
    use yuba_backend::{BackendEnvironment, Backends};
    use yuba_testkit::Sandbox;

    use super::*;
    use crate::install::Versions;
    use crate::project::{Project, ProjectSettings};
    use crate::provider_install::ProviderFlags;

    /// A working directory with a data directory, where `init` is run several times.
    struct Directory {
        sandbox: Sandbox,
        backends: Arc<Backends>,
    }

    impl Directory {
        fn new() -> Directory {
            let sandbox = Sandbox::new("", "");
            let environment = BackendEnvironment::new(Default::default(), sandbox.dir().join("data"));
            let backends = Arc::new(Backends::new(environment).with(&[FAKE]));
            Directory { sandbox, backends }
        }

        fn configuration(&self, kind: &str, arguments: &serde_json::Value) -> BackendConfiguration {
            BackendConfiguration::of_json(self.backends.find(kind).expect("it is a kind"), arguments)
        }

        fn local(&self, name: &str) -> BackendConfiguration {
            let path = |name: &str| self.sandbox.dir().join(name).display().to_string();
            self.configuration("local", &json!({ "path": path(name), "workspace_dir": path("workspaces") }))
        }

        /// Runs the part of `init` that is about the backend.
        fn init(
            &self,
            block: &BackendConfiguration,
            flags: &[&str],
            migrate: bool,
        ) -> Result<Vec<String>, Diagnostics> {
            let mut settings = ProjectSettings {
                data_dir: self.sandbox.dir().join("data"),
                ..ProjectSettings::bare(self.sandbox.dir())
            };
            settings.providers.backends = Arc::clone(&self.backends);
            let project = Project::new(settings);
            let backend_config: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            let request = InitRequest {
                project: &project,
                ask: None,
                backend: true,
                backend_config: &backend_config,
                reconfigure: false,
                migrate,
                confirm: Some(Box::new(|_, _| Some(true))),
                flags: StateFlags::default(),
                modules: false,
                from_module: None,
                versions: Versions::Installed,
                providers: ProviderFlags::default(),
            };
            let mut events = Vec::new();
            set_up(&request, Some(block), &Encryption::default(), &mut Sources::new(), &mut |event| {
                events.push(match event {
                    InitEvent::BackendChanged => "changed".to_owned(),
                    InitEvent::BackendReady(kind) => format!("ready {kind}"),
                    _ => "other".to_owned(),
                });
            })?;
            Ok(events)
        }

        fn location(&self, of: &BackendConfiguration, workspace: &str) -> StateLocation {
            let location = StateLocation::of(&self.backends, of, Encryption::default()).expect("it opens");
            location.in_workspace(workspace)
        }

        fn save(&self, of: &BackendConfiguration, workspace: &str, output: &str) {
            let mut opened = self.location(of, workspace).open("test", &StateFlags::default(), &mut || ());
            let opened = opened.as_mut().unwrap_or_else(|_| panic!("nobody has the lock"));
            let mut state = State::empty();
            let value = yuba_value::Value::string(output);
            let value = yuba_state::Output { value, sensitive: false, deprecated: Default::default() };
            state.outputs.insert("o".into(), value);
            opened.save(&mut state).expect("it can be saved");
        }

        fn output(&self, of: &BackendConfiguration, workspace: &str) -> Option<String> {
            let state = self.location(of, workspace).look().expect("it can be read").state?;
            state.outputs.get("o").and_then(|output| output.value.as_str()).map(|text| text.to_string())
        }

        fn record(&self) -> serde_json::Value {
            let bytes = std::fs::read(self.sandbox.dir().join("data/terraform.tfstate")).expect("init has written it");
            serde_json::from_slice(&bytes).expect("it is JSON")
        }
    }

    #[test]
    fn states_move_between_all_kinds_of_backends() {
        let directory = Directory::new();
        let (local, other) = (directory.local("a.tfstate"), directory.local("b.tfstate"));
        let fake = directory.configuration("fake", &json!({ "key": "k" }));
        directory.save(&local, "default", "first");
        directory.save(&local, "w", "second");
        // From where no record is: nothing is there.
        assert_eq!(directory.init(&local, &[], false).expect("it is the first time"), ["ready local"]);
        assert_eq!(directory.record()["backend"]["type"], "local");
        assert!(directory.init(&fake, &["bucket=moves"], false).is_err(), "the state would be left behind");
        let moved = directory.init(&fake, &["bucket=moves"], true).expect("it may be copied");
        assert_eq!(moved, ["changed", "ready fake"]);
        let expected = json!({
            "type": "fake", "hash": 0,
            "config": { "access_key": null, "allowed": null, "bucket": "moves", "endpoints": null, "key": "k",
                "max_retries": null, "region": null, "use_lockfile": null, "workspaces": null },
            "block": { "access_key": null, "allowed": null, "bucket": null, "endpoints": null, "key": "k",
                "max_retries": null, "region": null, "use_lockfile": null, "workspaces": null },
        });
        assert_eq!((&directory.record()["version"], &directory.record()["backend"]), (&json!(3), &expected));
        let given = directory.configuration("fake", &json!({ "bucket": "moves", "key": "k" }));
        assert_eq!(directory.output(&given, "default").as_deref(), Some("first"));
        assert_eq!(directory.output(&given, "w").as_deref(), Some("second"));
        let store = FakeStore::of_bucket("moves");
        assert!(!store.is_locked("default") && !store.is_locked("w"));
        assert!(store.content("default").is_some_and(|(content, _)| !is_encrypted(&content)));
        // What -backend-config said stays.
        assert_eq!(directory.init(&fake, &[], false).expect("nothing has changed"), Vec::<String>::new());
        directory.save(&given, "default", "third");
        assert_eq!(directory.init(&other, &[], true).expect("it may be copied"), ["changed", "ready local"]);
        assert_eq!(directory.output(&other, "default").as_deref(), Some("third"));
        let memory = directory.configuration("inmem", &json!({}));
        assert_eq!(directory.init(&memory, &[], true).expect("it may be copied"), ["changed", "ready inmem"]);
        assert_eq!(directory.record()["backend"]["config"], json!({ "lock_id": null }));
    }

    #[test]
    fn required_arguments_come_from_anywhere() {
        let directory = Directory::new();
        let fake = directory.configuration("fake", &json!({}));
        let problems = directory.init(&fake, &[], false).expect_err("the bucket is missing");
        assert!(problems.iter().all(|problem| problem.is(&crate::backend::diagnostics::BACKEND_ARGUMENT_MISSING)));
        assert!(!Path::new(&directory.sandbox.dir().join("data/terraform.tfstate")).exists());
        assert!(directory.init(&fake, &["bucket=required"], false).is_ok());
    }
}
