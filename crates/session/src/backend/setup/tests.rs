//! Changes of backend with the fake backend, which fails on demand. The table in `crates/cli/tests` has the rest.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use yuba_backend::encryption::{EncryptionMethod, Keys, Sealing, is_encrypted};
use yuba_backend::fake::{Call, FAKE, FakeStore, Fault};
use yuba_backend::kit::store::StoreErrorKind;
use yuba_backend::{BackendConfiguration, BackendEnvironment, Backends};
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};
use yuba_testkit::Sandbox;

use super::Setup;
use crate::backend::{StateFlags, StateLocation};
use crate::encryption::Encryption;
use crate::install::{InitEvent, InitRequest, Versions};
use crate::migration::CopyApproval;
use crate::project::{Project, ProjectSettings};
use crate::prompt::Prompt;
use crate::provider_install::ProviderFlags;

/// A working directory without configuration.
struct Directory {
    sandbox: Sandbox,
    backends: Arc<Backends>,
}

/// Flags of an initialization.
#[derive(Default)]
struct Flags<'f> {
    backend_config: &'f [&'f str],
    migrate: bool,
    force_copy: bool,
    prompt: Option<Box<Prompt>>,
    /// Seconds to wait for locks.
    lock_timeout: u64,
    is_interrupted: Option<&'f dyn Fn() -> bool>,
    encryption: Encryption,
}

fn migrating() -> Flags<'static> {
    Flags { migrate: true, force_copy: true, ..Flags::default() }
}

impl Directory {
    fn new() -> Directory {
        let sandbox = Sandbox::new("", "");
        let mut environment = BackendEnvironment::new(Default::default(), sandbox.dir().join("data"));
        environment.retries.attempts = 1;
        Directory { sandbox, backends: Arc::new(Backends::new(environment).with(&[FAKE])) }
    }

    fn configuration(&self, kind: &str, arguments: &serde_json::Value) -> BackendConfiguration {
        BackendConfiguration::of_json(self.backends.find(kind).expect("it is a kind"), arguments)
    }

    fn local(&self, name: &str) -> BackendConfiguration {
        let path = |name: &str| self.sandbox.dir().join(name).display().to_string();
        self.configuration("local", &json!({ "path": path(name), "workspace_dir": path("workspaces") }))
    }

    /// Runs the part of `init` that is about the backend.
    fn init(&self, block: &BackendConfiguration, flags: Flags<'_>) -> Result<Vec<String>, Diagnostics> {
        let mut settings =
            ProjectSettings { data_dir: self.sandbox.dir().join("data"), ..ProjectSettings::bare(self.sandbox.dir()) };
        settings.providers.backends = Arc::clone(&self.backends);
        let project = Project::new(settings);
        let backend_config: Vec<String> = flags.backend_config.iter().map(|flag| (*flag).to_owned()).collect();
        let request = InitRequest {
            project: &project,
            ask: None,
            backend: true,
            backend_config: &backend_config,
            reconfigure: false,
            migrate: flags.migrate,
            copying: if flags.force_copy { CopyApproval::Given } else { CopyApproval::Prompt },
            prompt: flags.prompt,
            flags: StateFlags { lock_timeout: Duration::from_secs(flags.lock_timeout), ..StateFlags::default() },
            is_interrupted: flags.is_interrupted.unwrap_or(&|| false),
            modules: false,
            from_module: None,
            versions: Versions::Installed,
            providers: ProviderFlags::default(),
        };
        let mut events = Vec::new();
        let mut emit = |event| {
            if event == InitEvent::Migrating {
                return;
            }
            events.push(match event {
                InitEvent::BackendChanged => "changed".to_owned(),
                InitEvent::BackendTypeChanged(before, now) => format!("{before} to {now}"),
                InitEvent::BackendReady(kind) => format!("ready {kind}"),
                other => format!("{other:?}"),
            });
        };
        let mut sources = Sources::new();
        Setup::new(&request, &flags.encryption, &mut sources, &mut emit).run(Some(block))?;
        Ok(events)
    }

    fn location(&self, of: &BackendConfiguration, workspace: &str) -> StateLocation {
        let location = StateLocation::of(&self.backends, of, Encryption::default()).expect("it opens");
        location.in_workspace(workspace)
    }

    fn save(&self, of: &BackendConfiguration, workspace: &str, output: &str) {
        let mut opened = self.location(of, workspace).open("test", &StateFlags::default(), &mut || ());
        let opened = opened.as_mut().unwrap_or_else(|_| panic!("the lock is free"));
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
    // No record and no state in the default location: there is nothing to migrate.
    assert_eq!(directory.init(&local, Flags::default()).expect("it is the first time"), ["ready local"]);
    assert_eq!(directory.record()["backend"]["type"], "local");
    let bucket = &["bucket=moves"];
    let without_flag = Flags { backend_config: bucket, ..Flags::default() };
    assert!(directory.init(&fake, without_flag).is_err(), "the state would be left behind");
    let before = directory.location(&local, "default").look().expect("it can be read").state.expect("it was saved");
    let moved = directory.init(&fake, Flags { backend_config: bucket, ..migrating() }).expect("it may be copied");
    assert_eq!(moved, ["local to fake", "ready fake"]);
    let expected = json!({
        "access_key": null, "allowed": null, "bucket": "moves", "endpoints": null, "key": "k",
        "max_retries": null, "region": null, "use_lockfile": null, "workspaces": null,
    });
    assert_eq!((&directory.record()["version"], &directory.record()["backend"]["config"]), (&json!(3), &expected));
    let given = directory.configuration("fake", &json!({ "bucket": "moves", "key": "k" }));
    assert_eq!(directory.output(&given, "default").as_deref(), Some("first"));
    assert_eq!(directory.output(&given, "w").as_deref(), Some("second"));
    let copy = directory.location(&given, "default").look().expect("it can be read").state.expect("it was copied");
    assert_eq!((&copy.lineage, copy.serial), (&before.lineage, before.serial));
    let store = FakeStore::of_bucket("moves");
    assert!(!store.is_locked("default") && !store.is_locked("w"));
    assert!(store.content("default").is_some_and(|(content, _)| !is_encrypted(&content)));
    // The hash of the record is that of the block, so the values of -backend-config stay.
    assert_eq!(directory.init(&fake, Flags::default()).expect("nothing has changed"), Vec::<String>::new());
    directory.save(&given, "default", "third");
    assert_eq!(directory.init(&other, migrating()).expect("it may be copied"), ["fake to local", "ready local"]);
    assert_eq!(directory.output(&other, "default").as_deref(), Some("third"));
    let memory = directory.configuration("inmem", &json!({}));
    assert_eq!(directory.init(&memory, migrating()).expect("it may be copied"), ["local to inmem", "ready inmem"]);
    assert_eq!(directory.record()["backend"]["config"], json!({ "lock_id": null }));
}

#[test]
fn required_arguments_come_from_anywhere() {
    let directory = Directory::new();
    let fake = directory.configuration("fake", &json!({}));
    let problems = directory.init(&fake, Flags::default()).expect_err("the bucket is missing");
    assert!(problems.iter().all(|problem| problem.is(&crate::backend::diagnostics::BACKEND_ARGUMENT_MISSING)));
    assert!(!directory.sandbox.dir().join("data/terraform.tfstate").exists());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let queries = Arc::clone(&asked);
    let prompt: Box<Prompt> = Box::new(move |question| {
        queries.lock().expect("no thread panics with it").push(question.query.to_owned());
        Ok("prompted".to_owned())
    });
    assert!(directory.init(&fake, Flags { prompt: Some(prompt), ..Flags::default() }).is_ok());
    assert_eq!(*asked.lock().expect("no thread panics with it"), ["bucket"]);
    assert_eq!(directory.record()["backend"]["config"]["bucket"], "prompted");
    let ended: Box<Prompt> = Box::new(|_| Err("EOF".to_owned()));
    let other = directory.configuration("fake", &json!({ "key": "other" }));
    let flags = Flags { prompt: Some(ended), migrate: true, ..Flags::default() };
    let problems = directory.init(&other, flags).expect_err("there is no answer");
    let titles =
        ["Error asking for input to configure backend \"fake\": bucket: EOF", "\"bucket\": required field is not set"];
    assert_eq!(problems.iter().map(|problem| problem.summary.as_str()).collect::<Vec<_>>(), titles);
}

/// Two buckets with states, the first one initialized.
fn buckets(directory: &Directory, prefix: &str) -> [BackendConfiguration; 2] {
    let both = ["from", "to"]
        .map(|name| directory.configuration("fake", &json!({ "bucket": format!("{prefix}-{name}"), "key": "k" })));
    for workspace in ["default", "m", "w"] {
        directory.save(&both[0], workspace, &format!("{prefix} {workspace}"));
    }
    directory.init(&both[0], Flags::default()).expect("it is the first time");
    both
}

#[test]
fn a_migration_that_fails_on_the_way_says_how_far_it_came() {
    let directory = Directory::new();
    let [from, to] = buckets(&directory, "fails");
    let (source, destination) = (FakeStore::of_bucket("fails-from"), FakeStore::of_bucket("fails-to"));
    let before: Vec<_> = ["default", "m", "w"].map(|workspace| source.content(workspace)).into();
    // The first write is the state of "default", the second makes the workspace "m", the third is its state.
    destination.script([
        (Call::Write, Fault::ResponseLost),
        (Call::Write, Fault::ResponseLost),
        (Call::Write, Fault::Fails(StoreErrorKind::Lasting)),
    ]);
    let problems = directory.init(&to, migrating()).expect_err("a write fails");
    let [problem] = problems.iter().collect::<Vec<_>>()[..] else { panic!("{problems:?}") };
    assert_eq!(problem.summary, "Error migrating the workspace \"m\" from the previous \"fake\" backend");
    let detail = problem.explanation();
    assert!(detail.contains("Copied to the \"fake\" backend: default.\nNot copied: m, w."), "{detail}");
    assert_eq!(before, ["default", "m", "w"].map(|workspace| source.content(workspace)));
    for store in [&source, &destination] {
        assert!(["default", "m", "w"].iter().all(|workspace| !store.is_locked(workspace)));
    }
    assert_eq!(directory.record()["backend"]["config"]["bucket"], "fails-from");
    // The next attempt copies everything.
    directory.init(&to, migrating()).expect("nothing fails after that");
    assert_eq!(directory.output(&to, "w").as_deref(), Some("fails w"));
    drop(from);
}

#[test]
fn a_locked_destination_leaves_the_source_unlocked() {
    let directory = Directory::new();
    let [_, to] = buckets(&directory, "locked");
    let held = directory.location(&to, "default").open("another run", &StateFlags::default(), &mut || ());
    let problems = directory.init(&to, migrating()).expect_err("the destination is locked");
    let detail = problems.joined();
    assert!(detail.contains("Error acquiring the state lock") && detail.contains("another run"), "{detail}");
    assert!(!FakeStore::of_bucket("locked-from").is_locked("default"));
    drop(held);
    assert!(directory.init(&to, migrating()).is_ok());
}

#[test]
fn an_interrupt_while_the_destination_is_locked_releases_the_source() {
    let directory = Directory::new();
    let [_, to] = buckets(&directory, "interrupted");
    let held = directory.location(&to, "default").open("another run", &StateFlags::default(), &mut || ());
    let (source, begun) = (FakeStore::of_bucket("interrupted-from"), std::time::Instant::now());
    // The interrupt comes when the source is locked: the migration waits for the destination then.
    let is_interrupted = || source.is_locked("default");
    let flags = Flags { lock_timeout: 600, is_interrupted: Some(&is_interrupted), ..migrating() };
    let problems = directory.init(&to, flags).expect_err("the destination is locked");
    assert!(begun.elapsed() < Duration::from_secs(60), "the interrupt does not end the wait");
    assert!(!source.is_locked("default"), "{problems:?}");
    assert_eq!(directory.record()["backend"]["config"]["bucket"], "interrupted-from");
    // One that comes when both are locked ends the migration before it copies.
    drop(held);
    let destination = FakeStore::of_bucket("interrupted-to");
    let before = destination.content("default");
    let is_interrupted = || source.is_locked("default") && destination.is_locked("default");
    let flags = Flags { is_interrupted: Some(&is_interrupted), ..migrating() };
    let problems = directory.init(&to, flags).expect_err("it is interrupted");
    assert!(problems.joined().contains("Error migrating state: interrupted"), "{problems:?}");
    assert!(!source.is_locked("default") && !destination.is_locked("default"));
    assert_eq!(destination.content("default"), before);
}

/// A prompt that answers "no", and the descriptions that it has shown.
fn refusing() -> (Box<Prompt>, Arc<Mutex<Vec<String>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let prompt: Box<Prompt> = Box::new(move |question| {
        seen.lock().expect("no thread panics with it").push(question.description.to_owned());
        Ok("no".to_owned())
    });
    (prompt, shown)
}

#[test]
fn encrypted_states_are_compared_without_files_and_values() {
    let directory = Directory::new();
    let (one, other) = (directory.local("a.tfstate"), directory.local("b.tfstate"));
    directory.save(&one, "default", "old-value");
    directory.save(&other, "default", "new-value");
    directory.init(&one, Flags::default()).expect("it is the first time");
    let key = EncryptionMethod::AesGcm {
        keys: Keys::Given { encryption: vec![7; 32], decryption: vec![7; 32] },
        aad: Vec::new(),
    };
    // Present states are in clear text still: they can be read, and are not written so again.
    let sealing = Sealing::new("state", Vec::new(), vec![key, EncryptionMethod::Unencrypted]).expect("it is a key");
    let encryption = Encryption { state: Some(sealing), ..Encryption::default() };
    let (prompt, shown) = refusing();
    let flags = Flags { prompt: Some(prompt), migrate: true, encryption, ..Flags::default() };
    directory.init(&other, flags).expect("a refusal is not a failure");
    let shown = shown.lock().expect("no thread panics with it");
    let [text] = &shown[..] else { panic!("{shown:?}") };
    for part in ["Previous (type \"local\"): serial 1, lineage ", "1 output", "Different in both:\n  output \"o\""] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("-value") && !text.contains("yuba-migration"), "{text}");
}

#[test]
fn two_states_are_shown_in_files_that_end_with_the_prompt() {
    let directory = Directory::new();
    let (one, other) = (directory.local("a.tfstate"), directory.local("b.tfstate"));
    directory.save(&one, "default", "old");
    directory.save(&other, "default", "new");
    directory.init(&one, Flags::default()).expect("it is the first time");
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let prompt: Box<Prompt> = Box::new(move |question| {
        let paths = question.description.lines().filter_map(|line| line.split_once("(type \"local\"): "));
        let mut seen = seen.lock().expect("no thread panics with it");
        for (_, path) in paths {
            seen.push((PathBuf::from(path), std::fs::read_to_string(path).expect("it exists while the user decides")));
        }
        Ok("no".to_owned())
    });
    let flags = Flags { prompt: Some(prompt), migrate: true, ..Flags::default() };
    directory.init(&other, flags).expect("a refusal is not a failure");
    let shown = shown.lock().expect("no thread panics with it");
    let [(first, old), (second, new)] = &shown[..] else { panic!("{shown:?}") };
    assert!(first.ends_with("1-local.tfstate") && second.ends_with("2-local.tfstate"), "{shown:?}");
    assert!(old.contains("\"old\"") && new.contains("\"new\""), "{shown:?}");
    assert!(!first.exists() && !second.exists());
    assert_eq!(directory.output(&other, "default").as_deref(), Some("new"));
}
