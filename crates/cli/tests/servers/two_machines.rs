//! Two machines plan and apply at the same time on one state: no update is lost.
//!
//! Each machine has a resource of its own, whose instances are a window of numbers that moves by one in every round. So every apply creates
//! one instance and destroys one; after a lost update it would be more. `YUBA_ROUNDS` is the number of rounds, `YUBA_CRASH_SEED` repeats
//! the choices of an earlier run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::Value as Json;
use yuba_testkit::servers::moto;
use yuba_testkit::{Kills, Relay, Run, Sandbox};

use crate::over_http::{S3_CREDENTIALS, s3_backend};
use crate::{needs, ok, yuba};

/// Number of rounds, unless the environment says otherwise.
const ROUNDS: u64 = 8;
/// Instances of a resource.
const WINDOW: u64 = 4;

const CONFIGURATION: &str = r#"
variable "n" {
  type = object({ a = number, b = number })
}
locals {
  windows = { for name, n in var.n : name => toset([for i in range(max(0, n - 4), n) : tostring(i)]) }
}
resource "terraform_data" "a" {
  for_each = local.windows.a
  input    = each.key
}
resource "terraform_data" "b" {
  for_each = local.windows.b
  input    = each.key
}
"#;

pub(crate) fn trials() -> Vec<Trial> {
    let name = |kind: &str| format!("two machines lose no update: {kind}");
    vec![
        needs(&["postgresql"], &name("pg"), || two_machines(&crate::pg::backend("two_machines"), &[])),
        needs(&["moto"], &name("s3 with lock objects"), || on_s3("use_lockfile = true")),
        needs(&["moto"], &name("s3 with a lock table"), || on_s3("dynamodb_table = \"locks\"")),
    ]
}

fn on_s3(lock: &str) {
    let server = moto().expect("because it is installed");
    server.create_bucket("states");
    server.create_lock_table("locks");
    let relay = Relay::one_at_a_time(server.address());
    two_machines(&s3_backend(&format!("http://{}", relay.address()), "two_machines", lock), &S3_CREDENTIALS);
}

/// Number of occurrences of each outcome.
#[derive(Default)]
struct Figures {
    applied: AtomicU64,
    /// Commands that were refused because the other machine held the lock.
    refused: AtomicU64,
    /// Saved plans that were refused because the other machine had changed the state.
    stale: AtomicU64,
}

fn two_machines(backend: &str, variables: &[(&str, &str)]) {
    let rounds = std::env::var("YUBA_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let dice = Kills::of_environment(0);
    let figures = Figures::default();
    let machines = ["a", "b"].map(|own| {
        let sandbox = variables.iter().fold(yuba(""), |sandbox, (name, value)| sandbox.env(name, value));
        sandbox.write("main.tf", CONFIGURATION);
        sandbox.write("backend.tf", backend);
        ok(&sandbox, &["init"]);
        Machine { sandbox, own, dice, figures: &figures }
    });
    std::thread::scope(|scope| {
        for machine in &machines {
            scope.spawn(move || (1..=rounds).for_each(|round| machine.round(round)));
        }
    });
    let pulled = ok(&machines[0].sandbox, &["state", "pull"]).stdout;
    assert_eq!(ok(&machines[1].sandbox, &["state", "pull"]).stdout, pulled);
    let state: Json = serde_json::from_str(&pulled).expect("because it is a state");
    let [applied, refused, stale] =
        [&figures.applied, &figures.refused, &figures.stale].map(|counter| counter.load(Ordering::Relaxed));
    println!("{rounds} rounds: {applied} applies, {refused} refused locks, {stale} stale plans");
    // Each apply has written one state over that of the one before.
    assert_eq!(state["serial"].as_u64(), Some(applied), "{pulled}");
    let expected: Vec<String> = (rounds.saturating_sub(WINDOW)..rounds).map(|n| n.to_string()).collect();
    for machine in &machines {
        let resources = state["resources"].as_array().expect("because it is a state");
        let own = resources.iter().find(|resource| resource["name"] == machine.own).expect("because it was applied");
        let instances = own["instances"].as_array().expect("because it is a state");
        let mut keys: Vec<&str> = instances.iter().filter_map(|instance| instance["index_key"].as_str()).collect();
        keys.sort_by_key(|key| key.parse::<u64>().ok());
        assert_eq!(keys, expected, "{pulled}");
    }
}

struct Machine<'a> {
    sandbox: Sandbox,
    /// The name of its resource.
    own: &'static str,
    dice: Kills,
    figures: &'a Figures,
}

impl Machine<'_> {
    /// Moves the window by one, whatever the other machine does meanwhile.
    fn round(&self, round: u64) {
        let turn = 2 * round + u64::from(self.own == "b");
        let (target, number) =
            (format!("-target=terraform_data.{}", self.own), format!("-var=n={{ a = {round}, b = {round} }}"));
        let (target, number) = (target.as_str(), number.as_str());
        let apply = ["apply", "-auto-approve", "-input=false", target, number];
        let run = match self.dice.random(2 * turn) % 8 {
            // The lock is waited for.
            0 => ok(&self.sandbox, &[&apply[..], &["-lock-timeout=120s"]].concat()),
            // The plan is saved, so the other machine may be faster.
            1 | 2 => {
                self.until_free(&["plan", "-input=false", "-out=p", target, number], turn);
                let run = self.sandbox.run(&["apply", "-input=false", "p"]);
                match run.code {
                    0 => run,
                    _ => {
                        let is_stale = run.stderr.contains("Saved plan is stale");
                        assert!(is_stale || is_locked(&run), "{run}");
                        let counter = if is_stale { &self.figures.stale } else { &self.figures.refused };
                        counter.fetch_add(1, Ordering::Relaxed);
                        self.until_free(&apply, turn)
                    }
                }
            }
            _ => self.until_free(&apply, turn),
        };
        self.figures.applied.fetch_add(1, Ordering::Relaxed);
        let destroyed = u64::from(round > WINDOW);
        let expected = format!("Resources: 1 added, 0 changed, {destroyed} destroyed.");
        assert!(run.stdout.contains(&expected), "machine {} lost an update in round {round}: {run}", self.own);
    }

    /// Repeats a command while the other machine holds the lock.
    fn until_free(&self, args: &[&str], turn: u64) -> Run {
        for attempt in 0.. {
            let run = self.sandbox.run(args);
            if run.code == 0 {
                return run;
            }
            assert!(is_locked(&run) && attempt < 2000, "{args:?}: {run}");
            self.figures.refused.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1 + self.dice.random(2 * turn + 1) % 40));
        }
        unreachable!("because the attempts are limited")
    }
}

fn is_locked(run: &Run) -> bool {
    run.stderr.contains("Error acquiring the state lock")
}
