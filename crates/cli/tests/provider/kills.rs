//! The executable is killed while it applies updates, replacements in both orders, creations with and without provisioners, and
//! destructions, at random moments. Afterwards state and reality agree but for what is named, and the next apply converges.
//!
//! `YUBA_KILLS` says how many processes are killed, `YUBA_CRASH_SEED` repeats the moments of an earlier run.

#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value as Json;
use yuba_testkit::{Kills, Recovery, Sandbox};

use crate::{contains, finish, ok, sandbox, signal, start, wait_until};

/// Default number of killed processes.
const KILLS: u64 = 12;

fn config(version: u32) -> String {
    let lines = |kind: &str, lifecycle: &str, more: &str| {
        format!(
            r#"
resource "testing_thing" "{kind}" {{
  count = 5
  name  = "{kind}${{count.index}}"
  {more}
  {lifecycle}
}}
"#
        )
    };
    let first = "lifecycle {\n    create_before_destroy = true\n  }";
    let run = "provisioner \"local-exec\" {\n    command = \"sleep 0.01\"\n  }";
    let mut text = lines("update", "", &format!("size = {version}"));
    text += &lines("replace", "", &format!("kind = \"k{version}\""));
    text += &lines("cbd", first, &format!("kind = \"k{version}\""));
    text += &match version {
        1 => lines("gone", "", ""),
        _ => lines("new", "", "") + &lines("provisioned", run, ""),
    };
    text
}

/// Objects by id, with the size that an update changes.
type Objects = BTreeMap<String, String>;

fn reality(s: &Sandbox) -> Objects {
    let size = |id: &String| {
        let known: Json = serde_json::from_str(&s.object(id)).expect("because the provider writes JSON");
        known["size"].to_string()
    };
    s.objects().into_iter().map(|id| (id.clone(), size(&id))).collect()
}

fn known(s: &Sandbox) -> Objects {
    let state: Json = serde_json::from_str(&ok(s, &["state", "pull"]).stdout).expect("because it is a state");
    let resources = state["resources"].as_array().cloned().unwrap_or_default();
    let instances = resources.iter().flat_map(|resource| resource["instances"].as_array().cloned().unwrap_or_default());
    let attributes = instances.map(|instance| instance["attributes"].clone());
    attributes.map(|it| (it["id"].as_str().unwrap_or_default().to_owned(), it["size"].to_string())).collect()
}

/// Number of occurrences of each outcome.
#[derive(Default)]
struct Figures {
    killed: AtomicU64,
    recovered: AtomicU64,
    orphans: AtomicU64,
    unknown: AtomicU64,
}

struct Lane {
    s: Sandbox,
    state: String,
}

impl Lane {
    fn new() -> Lane {
        let s = sandbox(6, "");
        s.write("main.tf", config(1));
        ok(&s, &["apply", "-auto-approve"]);
        s.write("main.tf", config(2));
        s.save_objects();
        let state = s.read("terraform.tfstate");
        Lane { s, state }
    }

    /// As it was before the apply.
    fn restore(&self) {
        let s = &self.s;
        s.restore_objects();
        for entry in fs::read_dir(s.dir()).expect("because it exists").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.contains("tfstate") {
                fs::remove_file(entry.path()).expect("because the sandbox is writable");
            }
        }
        s.write("terraform.tfstate", &self.state);
    }

    /// Kills an apply after some deeds of the provider, and a little later.
    fn kill(&self, deeds: usize, later: Duration, figures: &Figures, label: &str) {
        self.restore();
        let s = &self.s;
        let mut child = start(s, &["apply", "-auto-approve"]);
        let verbs = ["begin-create ", "begin-update ", "begin-delete "];
        let is_deed = |line: &&String| verbs.iter().any(|verb| line.starts_with(verb));
        let count = || s.record().iter().filter(is_deed).count();
        wait_until(label, || count() > deeds || child.try_wait().is_ok_and(|ended| ended.is_some()));
        std::thread::sleep(later);
        if child.try_wait().is_ok_and(|ended| ended.is_none()) {
            signal(&child, "KILL");
            figures.killed.fetch_add(1, Ordering::Relaxed);
        }
        finish(child);
        wait_until("providers ended", || s.living_providers().is_empty());
        self.check(figures, label);
    }

    fn check(&self, figures: &Figures, label: &str) {
        let s = &self.s;
        // Takes the lock and recovers, and changes nothing else.
        let run = ok(s, &["plan", "-refresh=false"]);
        let report = Recovery::of(&run);
        let Recovery { finished, unknown } = &report;
        figures.recovered.fetch_add(u64::from(!report.is_empty()), Ordering::Relaxed);
        figures.unknown.fetch_add(unknown.len() as u64, Ordering::Relaxed);
        let set: BTreeSet<&String> = finished.iter().chain(unknown).collect();
        assert_eq!(set.len(), finished.len() + unknown.len(), "{label}: an object is named twice: {run}");
        let is_named = |id: &str| report.is_unknown(id);
        let (real, known) = (reality(s), known(s));
        for (id, size) in &real {
            let differs = known.get(id) != Some(size);
            assert!(!differs || is_named(id), "{label}: {id} is {size}, the state has {:?}: {run}", known.get(id));
            figures.orphans.fetch_add(u64::from(!known.contains_key(id)), Ordering::Relaxed);
        }
        for id in known.keys() {
            assert!(real.contains_key(id) || is_named(id), "{label}: {id} is in the state only: {run}");
        }
        // It is reported once.
        let again = ok(s, &["plan", "-refresh=false"]);
        assert!(Recovery::of(&again).is_empty(), "{label}: reported twice: {again}");
        ok(s, &["apply", "-auto-approve"]);
        let last = s.run(&["plan", "-detailed-exitcode"]);
        assert_eq!(last.code, 0, "{label}: it does not converge: {last}");
        contains(&last, &["No changes."]);
        let orphans: Vec<String> = real.keys().filter(|id| !known.contains_key(*id)).cloned().collect();
        let mut wanted: Vec<String> = self::known(s).into_keys().chain(orphans).collect();
        wanted.sort();
        wanted.dedup();
        let mut left = s.objects();
        left.sort();
        assert_eq!(left, wanted, "{label}: what exists is neither in the state nor was it named");
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing_and_the_next_apply_converges() {
    let sequence = Kills::of_environment(KILLS);
    let Kills { count: kills, seed } = sequence;
    let (next, figures) = (AtomicU64::new(0), Figures::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let lane = Lane::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= kills {
                        break;
                    }
                    // Replacements are two deeds each.
                    let deeds = (sequence.random(2 * at) % 40) as usize;
                    let later = Duration::from_micros(sequence.random(2 * at + 1) % 20_000);
                    let label = format!("kill {at} of seed {seed}, after {deeds} deeds and {later:?}");
                    lane.kill(deeds, later, &figures, &label);
                }
            });
        }
    });
    let Figures { killed, recovered, orphans, unknown } = figures;
    let [killed, recovered, orphans, unknown] = [killed, recovered, orphans, unknown].map(AtomicU64::into_inner);
    println!(
        "{kills} runs: {killed} killed, {recovered} recovered, {unknown} operations unknown, {orphans} orphans, all named"
    );
    assert!(killed > kills / 2, "only {killed} of {kills} processes were killed before their end");
}
