//! Processes that are killed while they apply 500 changes: afterwards the state matches the real objects, except for
//! operations in progress, which are named.
//!
//! The test runs itself as the process that is killed. The provider is the built-in one, and writes down what it does in a
//! file: that is what really exists.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use ecow::EcoString;
use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_engine::{Interrupt, PlanOptions, ProvisionOrder, Provisioners};
use yuba_eval::tree::Purpose;
use yuba_provider::contract::{
    Answer, ApplyAnswer, ApplyRequest, DataAnswer, DataRequest, ImportRequest, Imported, MoveAnswer, MoveRequest,
    Opened, Outcome, PlanAnswer, PlanRequest, Private, Provider, ReadAnswer, ReadRequest, Renewed, UpgradeRequest,
};
use yuba_provider::{Problem, ProviderSchema, Providers};
use yuba_session::backend::{BackendEnvironment, Backends, StateFlags, StateLocation};
use yuba_session::providers::InstalledProviders;
use yuba_session::{
    ConfigurationCheck, EarlyProcesses, ForgottenInstances, LoadOptions, Loaded, LockOptions, Planned, Progress,
    Project, ProjectSettings, RemoteWorkspaces,
};
use yuba_testkit::Kills;
use yuba_value::Value;
use yuba_value::function::FunctionError;

/// Default number of killed processes; the environment variable `YUBA_KILLS` overrides it.
const KILLS: u64 = 200;

const BEFORE: &str = r#"
resource "terraform_data" "first" {
  count            = 100
  input            = "terraform_data.first[${count.index}]"
  triggers_replace = "old"
}
resource "terraform_data" "later" {
  count            = 100
  input            = "terraform_data.later[${count.index}]"
  triggers_replace = "old"
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "gone" {
  count = 100
  input = "terraform_data.gone[${count.index}]"
}
"#;

const AFTER: &str = r#"
resource "terraform_data" "first" {
  count            = 100
  input            = "terraform_data.first[${count.index}]"
  triggers_replace = "new"
}
resource "terraform_data" "later" {
  count            = 100
  input            = "terraform_data.later[${count.index}]"
  triggers_replace = "new"
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "new" {
  count = 200
  input = "terraform_data.new[${count.index}]"
}
"#;

static BACKENDS: LazyLock<Arc<Backends>> =
    LazyLock::new(|| Arc::new(Backends::new(BackendEnvironment::new(Default::default(), ".terraform"))));
static BUILT_IN: LazyLock<InstalledProviders> = LazyLock::new(InstalledProviders::built_in);

/// Writes down what is made and destroyed.
struct Recording {
    record: Arc<Mutex<File>>,
}

struct Recorded {
    inner: Arc<dyn Provider>,
    record: Arc<Mutex<File>>,
}

impl Providers for Recording {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        BUILT_IN.schema(provider)
    }
    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        Ok(Arc::new(Recorded { inner: BUILT_IN.start(config)?, record: self.record.clone() }))
    }
    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        BUILT_IN.unconfigured(provider)
    }
}

fn text(value: &Value, attribute: &str) -> EcoString {
    let entries = value.entries().unwrap_or_default();
    let found = entries.iter().find(|(name, _)| name == attribute);
    found.and_then(|(_, value)| value.as_str().cloned()).unwrap_or_default()
}

impl Provider for Recorded {
    fn apply(&self, request: ApplyRequest) -> Answer<'_, Outcome<ApplyAnswer>> {
        let prior = request.prior.clone();
        let answer = self.inner.apply(request);
        Box::pin(async move {
            let outcome = answer.await;
            let made = outcome.value.as_ref().map(|answer| &answer.state).filter(|state| !state.is_null());
            let line = match (prior.is_null(), made) {
                (true, Some(made)) => format!("+ {} {}\n", text(made, "id"), text(made, "input")),
                (false, None) => format!("- {} {}\n", text(&prior, "id"), text(&prior, "input")),
                _ => String::new(),
            };
            let mut record = self.record.lock().expect("because nothing panics while it is held");
            record.write_all(line.as_bytes()).expect("the record can be written");
            outcome
        })
    }

    fn schema(&self) -> Arc<ProviderSchema> {
        self.inner.schema()
    }
    fn validate_provider_config(&self, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.validate_provider_config(config)
    }
    fn validate_resource_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.validate_resource_config(kind, config)
    }
    fn validate_data_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.validate_data_config(kind, config)
    }
    fn validate_ephemeral_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.validate_ephemeral_config(kind, config)
    }
    fn configure(&self, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.configure(config)
    }
    fn upgrade_state(&self, request: UpgradeRequest) -> Answer<'_, Outcome<Value>> {
        self.inner.upgrade_state(request)
    }
    fn read(&self, request: ReadRequest) -> Answer<'_, Outcome<ReadAnswer>> {
        self.inner.read(request)
    }
    fn plan(&self, request: PlanRequest) -> Answer<'_, Outcome<PlanAnswer>> {
        self.inner.plan(request)
    }
    fn import(&self, request: ImportRequest) -> Answer<'_, Outcome<Vec<Imported>>> {
        self.inner.import(request)
    }
    fn move_state(&self, request: MoveRequest) -> Answer<'_, Outcome<MoveAnswer>> {
        self.inner.move_state(request)
    }
    fn read_data(&self, request: DataRequest) -> Answer<'_, Outcome<DataAnswer>> {
        self.inner.read_data(request)
    }
    fn open_ephemeral(&self, kind: EcoString, config: Value) -> Answer<'_, Outcome<Opened>> {
        self.inner.open_ephemeral(kind, config)
    }
    fn renew_ephemeral(&self, kind: EcoString, private: Private) -> Answer<'_, Outcome<Renewed>> {
        self.inner.renew_ephemeral(kind, private)
    }
    fn close_ephemeral(&self, kind: EcoString, private: Private) -> Answer<'_, Vec<Problem>> {
        self.inner.close_ephemeral(kind, private)
    }
    fn call_function(&self, name: EcoString, args: Vec<Value>) -> Answer<'_, Result<Value, FunctionError>> {
        self.inner.call_function(name, args)
    }
}

struct NoProvisioners;

impl Provisioners for NoProvisioners {
    fn run<'p>(
        &'p self,
        _: ProvisionOrder,
        _: &'p dyn Fn(EcoString),
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<(), EcoString>> + 'p>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The process that is killed; in an ordinary test run there is nothing to do.
#[test]
fn child() {
    let Ok(task) = std::env::var("YUBA_CRASH_TASK") else { return };
    let record = OpenOptions::new().append(true).create(true).open("record").expect("there is a record");
    let recording = Recording { record: Arc::new(Mutex::new(record)) };
    let progress = Progress { events: &|_| {}, interrupt: &Interrupt::new(), tick: None };
    let dir = std::env::current_dir().expect("there is a directory");
    let project = Project::new(ProjectSettings::bare(dir));
    let saved = (task != "prepare").then(|| project.read_plan(Path::new("plan")).expect("there is a plan"));
    let options = LoadOptions::new(Purpose::Use).of_snapshot(saved.as_ref().map(|saved| &saved.snapshot));
    let Ok(loaded) = project.load(options).and_then(Loaded::ready) else { panic!("it cannot be loaded") };
    let lock = LockOptions {
        operation: "test",
        state: StateFlags::default(),
        parallelism: 10,
        check: ConfigurationCheck::Full,
        remote: RemoteWorkspaces::Refused,
        processes: EarlyProcesses::ForPlan,
    };
    let Ok(mut locked) = loaded.lock(&lock, &mut || {}) else { panic!("it cannot begin") };
    locked.set_providers(&recording);
    let apply = |planned: Planned<'_>| {
        let applied = planned.apply(ForgottenInstances::Error, &NoProvisioners, progress);
        assert!(!applied.has_failed());
    };
    if let Some(saved) = saved {
        let Ok(planned) = locked.resume(saved) else { panic!("the plan is stale") };
        let started = Instant::now();
        if let Ok(delay) = task.parse::<u64>() {
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_micros(delay));
                let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
            });
        }
        apply(planned);
        fs::write("took", started.elapsed().as_micros().to_string()).expect("it can be written");
        return;
    }
    let mut planned = locked.plan(&PlanOptions::default(), progress);
    assert!(!planned.has_failed());
    let plan = planned.plan().expect("because it did not fail");
    if plan.prior_state.has_managed_objects() {
        planned.save(Path::new("plan")).expect("it can be saved");
    } else {
        apply(planned);
    }
}

/// Runs the child in a directory. Returns whether it ended by itself.
fn run(dir: &Path, task: &str) -> bool {
    let mut command = Command::new(std::env::current_exe().expect("there is a test program"));
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).current_dir(dir);
    command.env("YUBA_CRASH_TASK", task).output().expect("it can be run").status.success()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    for name in ["main.tf", "plan", "record", "terraform.tfstate"] {
        fs::copy(from.join(name), to.join(name)).expect("it can be copied");
    }
}

/// Existing objects: ids with addresses.
fn reality(dir: &Path) -> BTreeMap<String, String> {
    let mut real = BTreeMap::new();
    for line in fs::read_to_string(dir.join("record")).expect("there is a record").lines() {
        let mut parts = line.splitn(3, ' ');
        let (what, id, addr) = (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        match what {
            Some("+") => drop(real.insert(id.to_owned(), addr.to_owned())),
            _ => drop(real.remove(id)),
        }
    }
    real
}

/// Opens the state as the next command does, and compares it. How many objects exist.
fn check(dir: &Path, what: &str) -> usize {
    let place = StateLocation::file(dir.join("terraform.tfstate"), None, &BACKENDS);
    let opened = place.open("test", &StateFlags::default(), &mut || {});
    let Ok(opened) = opened else { panic!("{what}: the state cannot be opened") };
    let notes: String = opened.notes.iter().map(|note| format!("{}\n{}\n", note.summary, note.detail)).collect();
    let state = opened.state.clone().expect("because there was one before");
    let ty = BUILT_IN
        .schema(&ProviderSource::builtin("terraform"))
        .and_then(|schema| Some(schema.resources.get("terraform_data")?.block.implied_type().clone()))
        .expect("because it is built in");
    let mut known = BTreeMap::new();
    for (addr, _, instance) in state.instances() {
        for (_, object) in instance.objects() {
            let value = object.decode(&ty).unwrap_or_else(|_| panic!("{what}: {addr} cannot be read"));
            known.insert(text(&value, "id").to_string(), addr.to_string());
        }
    }
    let real = reality(dir);
    let differing = real.iter().filter(|(id, _)| !known.contains_key(*id));
    let differing = differing.chain(known.iter().filter(|(id, _)| !real.contains_key(*id)));
    for (id, addr) in differing {
        assert!(notes.contains(&format!("{addr} (")), "{what}: {id} of {addr} differs, and nothing says so:\n{notes}");
    }
    assert!(opened.close().is_empty());
    real.len()
}

#[test]
fn a_kill_at_any_moment_loses_nothing() {
    let top = std::env::temp_dir().join(format!("yuba-crash-{}", std::process::id()));
    let base = top.join("base");
    fs::create_dir_all(&base).expect("it can be made");
    fs::write(base.join("main.tf"), BEFORE).expect("it can be written");
    assert!(run(&base, "prepare"), "the first apply failed");
    fs::write(base.join("main.tf"), AFTER).expect("it can be written");
    assert!(run(&base, "prepare"), "no plan was made");
    assert_eq!(reality(&base).len(), 300);
    // Its duration without a kill.
    let whole = top.join("whole");
    copy(&base, &whole);
    assert!(run(&whole, "whole"), "the second apply failed");
    assert_eq!(check(&whole, "without a kill"), 400);
    let took: u64 = fs::read_to_string(whole.join("took")).ok().and_then(|text| text.parse().ok()).unwrap_or(100_000);

    let kills = Kills::of_environment(KILLS);
    println!("an apply takes {took} microseconds");
    let (next, killed) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= kills.count {
                        break;
                    }
                    let delay = kills.random(number) % (took * 11 / 10);
                    let dir: PathBuf = top.join(number.to_string());
                    copy(&base, &dir);
                    let ended = run(&dir, &delay.to_string());
                    killed.fetch_add(u64::from(!ended), Ordering::Relaxed);
                    check(&dir, &format!("killed after {delay} of {took} microseconds"));
                    drop(fs::remove_dir_all(&dir));
                }
            });
        }
    });
    drop(fs::remove_dir_all(&top));
    let killed = killed.into_inner();
    let count = kills.count;
    assert!(killed > count / 2, "only {killed} of {count} processes were killed before their end");
}
