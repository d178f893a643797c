//! Yuba and OpenTofu in turns on one state: `-lock-timeout`, the serial of `state push`, and the number of requests of a plan.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use serde_json::Value as Json;
use yuba_testkit::servers::{HttpLockServer, Moto, http_lock_server, moto};
use yuba_testkit::{Relay, Run, Sandbox};

use crate::over_http::{S3_CREDENTIALS, http_backend, s3_backend};
use crate::{needs, ok, start, tofu, wait_until, yuba};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        needs(&["postgresql", "tofu"], "both wait for a lock: pg", || {
            both_wait_for_a_lock(&pair(&crate::pg::backend("lock_timeout"), Plain))
        }),
        needs(&["moto", "tofu"], "both wait for a lock: s3", || both_wait_for_a_lock(&on_s3("wait"))),
        needs(&["tofu"], "both wait for a lock: http", || both_wait_for_a_lock(&on_http())),
        needs(&["moto", "tofu"], "a pushed state has the same serial: s3", || pushed_serials(&on_s3("push"))),
        needs(&["tofu"], "a pushed state has the same serial: http", || pushed_serials(&on_http())),
        needs(&["moto", "tofu"], "a plan sends no more requests than that of OpenTofu: s3", requests_of_a_plan),
    ]
}

/// The object waits for the file `go` if `wait` is set.
const CONFIGURATION: &str = r#"
variable "wait" { default = false }
variable "v" { default = 1 }
resource "terraform_data" "x" {
  input            = "v${var.v}"
  triggers_replace = var.v
  provisioner "local-exec" {
    command = var.wait ? "touch started; while [ ! -e go ]; do sleep 0.05; done" : "true"
  }
}
"#;

/// Keeps a server running.
trait Keeps {}
struct Plain;
impl Keeps for Plain {}
impl Keeps for Moto {}
impl Keeps for HttpLockServer {}

/// Working directories of both programs with one state.
struct Pair {
    ours: Sandbox,
    theirs: Sandbox,
    _server: Box<dyn Keeps>,
}

fn pair(backend: &str, server: impl Keeps + 'static) -> Pair {
    let [ours, theirs] = [yuba(""), tofu("")].map(|sandbox| {
        let sandbox = S3_CREDENTIALS.iter().fold(sandbox, |sandbox, (name, value)| sandbox.env(name, value));
        sandbox.write("main.tf", CONFIGURATION);
        sandbox.write("backend.tf", backend);
        ok(&sandbox, &["init"]);
        sandbox
    });
    Pair { ours, theirs, _server: Box::new(server) }
}

fn on_s3(key: &str) -> Pair {
    let server = moto().expect("because it is installed");
    server.create_bucket("states");
    pair(&s3_backend(&server.url(), key, "use_lockfile = true"), server)
}

fn on_http() -> Pair {
    let server = http_lock_server();
    pair(&http_backend(&server.url("/state")), server)
}

/// Runs a command with `-lock-timeout` while another program holds the lock, and returns how long it took.
fn waits(sandbox: &Sandbox, timeout: &str) -> (Run, Duration) {
    let begun = Instant::now();
    let run = sandbox.run(&["plan", "-no-color", &format!("-lock-timeout={timeout}")]);
    (run, begun.elapsed())
}

fn both_wait_for_a_lock(pair: &Pair) {
    ok(&pair.ours, &["apply", "-auto-approve"]);
    let second = |n| Duration::from_secs(n);
    for (version, holder, others) in
        [(2, &pair.ours, [&pair.theirs, &pair.ours]), (3, &pair.theirs, [&pair.ours, &pair.theirs])]
    {
        let version = format!("v={version}");
        let mut child = start(holder, &["apply", "-auto-approve", "-var", "wait=true", "-var", &version]);
        wait_until("the apply has begun", || holder.dir().join("started").exists());
        for other in others {
            let (run, took) = waits(other, "3s");
            assert!(run.code == 1 && run.stderr.contains("Error acquiring the state lock"), "{run}");
            // Attempts are after 0, 1 and 3 seconds; a process also takes its time.
            assert!(took >= second(2) && took < second(12), "{took:?} {run}");
            let waiting = run.stdout.contains("Acquiring state lock. This may take a few moments...");
            assert!(waiting, "{run}");
        }
        // The lock is released while it is waited for.
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| waits(others[0], "60s"));
            std::thread::sleep(Duration::from_millis(1500));
            holder.write("go", "");
            assert!(child.wait().expect("because it was started").success());
            let (run, took) = waiting.join().expect("because it does not panic");
            assert!(run.code == 0 && took >= second(1), "{took:?} {run}");
        });
        for file in ["go", "started"] {
            std::fs::remove_file(holder.dir().join(file)).expect("because it exists");
        }
    }
}

fn serial(sandbox: &Sandbox) -> u64 {
    let state: Json = serde_json::from_str(&ok(sandbox, &["state", "pull"]).stdout).expect("because it is a state");
    state["serial"].as_u64().expect("because it is a state")
}

/// Each program pushes the same states in the same order, and the serials are compared.
fn pushed_serials(pair: &Pair) {
    let state = |serial: u64, output: &str| {
        format!(
            r#"{{"version":4,"terraform_version":"1.12.6","serial":{serial},"lineage":"0a1b","outputs":{{"o":{{"value":"{output}","type":"string"}}}},"resources":[],"check_results":null}}"#
        )
    };
    let steps = [(3, "a", ""), (4, "a", ""), (7, "a", ""), (9, "b", ""), (12, "b", ""), (2, "c", "-force")];
    let serials = |sandbox: &Sandbox| -> Vec<u64> {
        let step = |(number, output, force): &(u64, &str, &str)| {
            sandbox.write("pushed.json", state(*number, output));
            let flags = [&["state", "push"][..], if force.is_empty() { &[] } else { &["-force"] }, &["pushed.json"]];
            let run = sandbox.run(&flags.concat());
            assert_eq!(run.code, 0, "{run}");
            serial(sandbox)
        };
        steps.iter().map(step).collect()
    };
    // OpenTofu replaces the lineage of a state that it pushes to an empty server, so Yuba writes the first one.
    let begin = |output: &str| {
        pair.ours.write("begin.json", state(1, output));
        ok(&pair.ours, &["state", "push", "-force", "begin.json"]);
    };
    begin("a");
    let first = serials(&pair.theirs);
    begin("begin");
    let theirs = serials(&pair.theirs);
    begin("begin");
    assert_eq!(serials(&pair.ours), theirs, "over its own state OpenTofu has written {first:?}");
}

fn requests_of_a_plan() {
    let server = moto().expect("because it is installed");
    server.create_bucket("states");
    let relay = Relay::one_at_a_time(server.address());
    let pair = pair(&s3_backend(&format!("http://{}", relay.address()), "counted", "use_lockfile = true"), server);
    ok(&pair.ours, &["apply", "-auto-approve"]);
    let requests = |sandbox: &Sandbox| {
        relay.take_requests();
        ok(sandbox, &["plan"]);
        relay.take_requests()
    };
    let (ours, theirs) = (requests(&pair.ours), requests(&pair.theirs));
    println!("ours {}: {ours:#?}\ntheirs {}: {theirs:#?}", ours.len(), theirs.len());
    assert!(!ours.is_empty() && ours.len() <= theirs.len(), "{ours:#?} {theirs:#?}");
}
