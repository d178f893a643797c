//! Kills applies on a backend at random moments, and looks at what the next command finds: a harness for every backend.
//!
//! `YUBA_KILLS` is the number of applies, `YUBA_CRASH_SEED` repeats the moments of an earlier run, and `YUBA_PROGRAM` names another
//! executable, such as a release build.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value as Json;
use yuba_testkit::{Kills, Recovery, Run, Sandbox};

use crate::{ok, start, wait_until, yuba};

/// Number of applies, unless the environment says otherwise.
const KILLS: u64 = 9;
/// Instances of each resource: 32 before the apply, 40 after it, 64 operations.
const COUNT: u64 = 8;
/// The provider writes down this number of beginnings in a whole apply.
const BEGINNINGS: u64 = 64;

/// A backend.
pub(crate) struct Target {
    /// The `backend` block for a state with a name of its own.
    pub(crate) backend: Box<dyn Fn(&str) -> String + Sync>,
    /// Environment variables of all commands.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) locks: Locks,
    pub(crate) journal: Journal,
}

/// Fate of the lock of a killed process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locks {
    /// The server frees it.
    Freed,
    /// It stays until `force-unlock`, which counts as a stuck lock.
    Left,
}

/// Location of journals besides the working directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Journal {
    /// A third of the runs is recovered from another directory, and the working directory is gone.
    OnServer,
    Local,
}

/// Number of occurrences of each outcome.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) runs: u64,
    pub(crate) killed: AtomicU64,
    recovered: AtomicU64,
    elsewhere: AtomicU64,
    /// Commands that had to wait for the lock.
    waited: AtomicU64,
    /// Locks that stayed, so that a person has to release them.
    pub(crate) stuck: AtomicU64,
    /// Operations that the recovery names as without result.
    unknown: AtomicU64,
    /// Objects that no state has, and that the recovery names.
    orphans: AtomicU64,
    /// Finished operations that are neither in the state nor named.
    pub(crate) lost: Mutex<Vec<String>>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "{} applies: {} killed, {} recovered ({} elsewhere), {} waited for the lock, {} stuck locks, {} operations named \
             as unknown, {} orphans named, {} operations lost",
            self.runs,
            number(&self.killed),
            number(&self.recovered),
            number(&self.elsewhere),
            number(&self.waited),
            number(&self.stuck),
            number(&self.unknown),
            number(&self.orphans),
            self.lost.lock().map_or(0, |lost| lost.len())
        )
    }
}

/// Kills applies and recovers.
pub(crate) fn run(target: &Target) -> Figures {
    let kills = Kills::of_environment(KILLS);
    let figures = Figures { runs: kills.count, ..Figures::default() };
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let lane = Lane::new(target, &figures);
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= figures.runs {
                        break;
                    }
                    lane.round(kills, at);
                }
            });
        }
    });
    println!("{figures}");
    figures
}

fn config(version: u32) -> String {
    let lines = |kind: &str, more: &str| {
        format!(
            "resource \"testing_thing\" \"{kind}\" {{\n  count = {COUNT}\n  name = \"{kind}${{count.index}}\"\n{more}\n}}\n"
        )
    };
    let first = "lifecycle {\n    create_before_destroy = true\n  }";
    let run = "provisioner \"local-exec\" {\n    command = \"sleep 0.01\"\n  }";
    let mut text = lines("update", &format!("size = {version}"));
    text += &lines("replace", &format!("kind = \"k{version}\""));
    text += &lines("cbd", &format!("kind = \"k{version}\"\n{first}"));
    text += &match version {
        1 => lines("gone", ""),
        _ => lines("new", "") + &lines("provisioned", run),
    };
    text
}

const REQUIRED: &str =
    "terraform {\n  required_providers {\n    testing = {\n      source = \"yuba/testing\"\n    }\n  }\n}\n";

/// Objects by id, with the size that an update changes.
type Objects = BTreeMap<String, String>;

/// A sandbox whose applies are killed one after the other.
struct Lane<'a> {
    s: Sandbox,
    target: &'a Target,
    figures: &'a Figures,
}

impl<'a> Lane<'a> {
    /// Applies the first version of the configuration to a state of this machine.
    fn new(target: &'a Target, figures: &'a Figures) -> Lane<'a> {
        let mut s = yuba("").with_test_provider();
        for (name, value) in &target.environment {
            s = s.env(name, value);
        }
        s.write("required.tf", REQUIRED);
        s.write("main.tf", config(1));
        ok(&s, &["init"]);
        ok(&s, &["apply", "-auto-approve"]);
        s.save_objects();
        fs::rename(s.dir().join("terraform.tfstate"), s.dir().join("base.json")).expect("because it was written");
        s.write("main.tf", config(2));
        Lane { s, target, figures }
    }

    /// One apply, killed and recovered.
    fn round(&self, kills: Kills, at: u64) {
        let seed = kills.seed;
        let number = |position: u64| kills.random(4 * at + position);
        let label = format!("kill {at} of seed {seed}");
        self.restore(&format!("kills_{seed}_{at}_{}", std::process::id()));
        // One in eight is killed before it has changed anything, or while it ends.
        let moment = match number(0) % 8 {
            0 => Moment::After(Duration::from_millis(number(1) % 1500)),
            _ => Moment::Beginnings(number(1) % BEGINNINGS, Duration::from_micros(number(2) % 20_000)),
        };
        self.kill(&moment, &label);
        let is_elsewhere = self.target.journal == Journal::OnServer && number(3) % 3 == 0;
        let place = if is_elsewhere { self.elsewhere() } else { self.s.dir() };
        self.check(&place, &label);
    }

    /// As it was before the apply, with a new state on the server.
    fn restore(&self, state: &str) {
        let s = &self.s;
        s.restore_objects();
        s.write("backend.tf", (self.target.backend)(state));
        // The record of `init` and the journals belong to the state before.
        let _ = fs::remove_dir_all(s.dir().join(".terraform"));
        ok(s, &["init"]);
        ok(s, &["state", "push", "base.json"]);
    }

    fn kill(&self, moment: &Moment, label: &str) {
        let s = &self.s;
        let mut child = start(s, &["apply", "-auto-approve"]);
        match moment {
            Moment::After(delay) => std::thread::sleep(*delay),
            Moment::Beginnings(count, later) => {
                let is_beginning = |line: &&String| line.starts_with("begin-");
                let begun = || s.record().iter().filter(is_beginning).count() as u64;
                wait_until(label, || begun() > *count || child.try_wait().is_ok_and(|ended| ended.is_some()));
                std::thread::sleep(*later);
            }
        }
        if child.try_wait().is_ok_and(|ended| ended.is_none()) && child.kill().is_ok() {
            self.figures.killed.fetch_add(1, Ordering::Relaxed);
        }
        child.wait().expect("because it was started");
        wait_until("providers ended", || s.living_providers().is_empty());
    }

    /// A directory with the configuration alone. The working directory of the killed apply is gone.
    fn elsewhere(&self) -> PathBuf {
        let (from, to) = (self.s.dir(), self.s.dir().with_file_name("elsewhere"));
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to).expect("because the sandbox is writable");
        for name in ["main.tf", "required.tf", "backend.tf", ".terraform.lock.hcl"] {
            fs::copy(from.join(name), to.join(name)).expect("because the sandbox is writable");
        }
        fs::remove_dir_all(from.join(".terraform")).expect("because it is ours");
        self.figures.elsewhere.fetch_add(1, Ordering::Relaxed);
        self.ok(&to, &["init"]);
        to
    }

    fn run(&self, place: &Path, args: &[&str]) -> Run {
        let chdir = format!("-chdir={}", place.display());
        self.s.run(&[&[chdir.as_str()], args].concat())
    }

    #[track_caller]
    fn ok(&self, place: &Path, args: &[&str]) -> Run {
        let run = self.run(place, args);
        assert_eq!(run.code, 0, "{args:?} failed: {run}");
        run
    }

    /// The first command after the kill. It takes the lock and recovers, and changes nothing else.
    fn next_command(&self, place: &Path, label: &str) -> Run {
        let run = self.run(place, &["plan", "-refresh=false"]);
        if run.code == 0 {
            return run;
        }
        let text = run.to_string();
        assert!(text.contains("Error acquiring the state lock"), "{label}: {run}");
        if self.target.locks == Locks::Freed {
            self.figures.waited.fetch_add(1, Ordering::Relaxed);
            let run = self.run(place, &["plan", "-refresh=false", "-lock-timeout=20s"]);
            if run.code == 0 {
                return run;
            }
        }
        self.figures.stuck.fetch_add(1, Ordering::Relaxed);
        let id = text.lines().find_map(|line| line.trim_start_matches(['│', ' ']).strip_prefix("ID:"));
        let id = id.unwrap_or_else(|| panic!("{label}: no lock is named: {text}")).trim();
        self.ok(place, &["force-unlock", "-force", id]);
        self.ok(place, &["plan", "-refresh=false"])
    }

    fn reality(&self) -> Objects {
        let size = |id: &String| {
            let known: Json = serde_json::from_str(&self.s.object(id)).expect("because the provider writes JSON");
            known["size"].to_string()
        };
        self.s.objects().into_iter().map(|id| (id.clone(), size(&id))).collect()
    }

    fn known(&self, place: &Path) -> Objects {
        let pulled = self.ok(place, &["state", "pull"]).stdout;
        let state: Json = serde_json::from_str(&pulled).expect("because it is a state");
        let resources = state["resources"].as_array().cloned().unwrap_or_default();
        let instances = resources.iter().flat_map(|one| one["instances"].as_array().cloned().unwrap_or_default());
        let attributes = instances.map(|instance| instance["attributes"].clone());
        attributes.map(|it| (it["id"].as_str().unwrap_or_default().to_owned(), it["size"].to_string())).collect()
    }

    fn check(&self, place: &Path, label: &str) {
        let figures = self.figures;
        let run = self.next_command(place, label);
        let report = Recovery::of(&run);
        figures.recovered.fetch_add(u64::from(!report.is_empty()), Ordering::Relaxed);
        figures.unknown.fetch_add(report.unknown.len() as u64, Ordering::Relaxed);
        let is_named = |id: &str| report.is_unknown(id);
        let (real, known) = (self.reality(), self.known(place));
        let mut lost = Vec::new();
        for (id, size) in &real {
            match known.get(id) {
                Some(known) if known == size => {}
                before if !is_named(id) => {
                    lost.push(format!("{label}: {id} is {size}, the state has {before:?}:\n{run}"));
                }
                Some(_) => {}
                None => {
                    figures.orphans.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        for id in known.keys().filter(|id| !real.contains_key(*id) && !is_named(id)) {
            lost.push(format!("{label}: {id} is in the state only:\n{run}"));
        }
        figures.lost.lock().expect("because nothing panics while it is held").extend(lost);
        let again = self.ok(place, &["plan", "-refresh=false"]);
        assert!(Recovery::of(&again).is_empty(), "{label}: reported twice: {again}");
        self.ok(place, &["apply", "-auto-approve"]);
        let last = self.run(place, &["plan", "-detailed-exitcode"]);
        assert_eq!(last.code, 0, "{label}: it does not converge: {last}");
    }
}

/// Moment of the kill.
enum Moment {
    /// After a time.
    After(Duration),
    /// After more than this number of operations have begun, and a little later.
    Beginnings(u64, Duration),
}
