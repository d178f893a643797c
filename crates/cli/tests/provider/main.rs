//! The real executable with a real provider process: what really happens, what is in the state, what is left behind.

mod automation;
mod bad;
mod configuration;
mod crash;
mod drift;
mod ephemeral;
mod for_each;
mod import;
mod kills;
mod lifecycle;
mod logging;
mod many_runs;
#[cfg(unix)]
#[path = "../e2e/on_terminal.rs"]
mod on_terminal;
mod parallel;
mod profile;
mod references;
mod saved_plans;
mod test_files;
#[path = "../e2e/trace_events.rs"]
mod trace_events;
mod values;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use yuba_testkit::{Run, Sandbox};

const REQUIRED: &str = r#"terraform {
  required_providers {
    testing = {
      source = "yuba/testing"
    }
  }
}
"#;

/// A sandbox with the test provider installed, speaking a protocol.
#[track_caller]
fn sandbox(protocol: u32, fixture: &str) -> Sandbox {
    let sandbox = uninstalled(fixture).env("TESTING_PROTOCOL", &protocol.to_string());
    ok(&sandbox, &["init"]);
    sandbox
}

/// A sandbox with the test provider in a mirror, not installed yet.
fn uninstalled(fixture: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), fixture).with_test_provider().env("NO_COLOR", "1");
    sandbox.write("required.tf", REQUIRED);
    sandbox
}

/// Runs a command that must succeed.
#[track_caller]
fn ok(sandbox: &Sandbox, args: &[&str]) -> Run {
    let run = sandbox.run(args);
    assert_eq!(run.code, 0, "{args:?} failed: {run}");
    run
}

/// Runs a command that must fail and say all of this.
#[track_caller]
fn fails(sandbox: &Sandbox, args: &[&str], says: &[&str]) -> Run {
    let run = sandbox.run(args);
    assert_eq!(run.code, 1, "{args:?} did not fail as expected: {run}");
    contains(&run, says);
    run
}

/// The output says all of this, wherever lines are broken.
#[track_caller]
fn contains(run: &Run, says: &[&str]) {
    let said = flowing(&run.to_string());
    for text in says {
        assert!(said.contains(&flowing(text)), "{text:?} is not in {run}");
    }
}

/// Text without line breaks, colours and the bar beside diagnostics.
fn flowing(text: &str) -> String {
    let mut bare = String::new();
    for (at, part) in text.split("\x1b[").enumerate() {
        // A colour ends with `m`.
        bare.push_str(if at == 0 { part } else { part.split_once('m').map_or(part, |(_, rest)| rest) });
    }
    let bare = bare.replace(['│', '╷', '╵'], " ");
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn apply(sandbox: &Sandbox) -> Run {
    ok(sandbox, &["apply", "-auto-approve"])
}

/// Plans, and expects that nothing is to be done.
#[track_caller]
fn no_changes(sandbox: &Sandbox) {
    let run = sandbox.run(&["plan", "-detailed-exitcode"]);
    assert_eq!(run.code, 0, "{run}");
}

/// New operations on managed objects, in order.
fn deeds(sandbox: &Sandbox) -> Vec<String> {
    let verbs = ["create ", "update ", "delete ", "import ", "move "];
    let lines = sandbox.record().into_iter().filter(|line| verbs.iter().any(|verb| line.starts_with(verb)));
    let lines = lines.collect();
    sandbox.clear_record();
    lines
}

/// No process of a provider is left, and no temporary file.
#[track_caller]
fn nothing_left(sandbox: &Sandbox) {
    // A process may need a moment to end.
    wait_until("providers ended", || sandbox.living_providers().is_empty());
    assert_eq!(sandbox.temporary_files(), [] as [String; 0]);
}

/// A killed Yuba cannot remove its socket; a later run does when it is certain that the socket is unused.
#[track_caller]
fn tidied(sandbox: &Sandbox) {
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    for name in sandbox.temporary_files() {
        let path = sandbox.world().with_file_name("tmp").join(name);
        let file = std::fs::File::open(path).expect("because it exists");
        file.set_modified(long_ago).expect("because it is ours");
    }
    // A cached schema requires no request to the provider.
    ok(sandbox, &["plan"]);
    nothing_left(sandbox);
}

/// Waits until something is so. For what happens in other processes.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a command that is not waited for yet.
fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("because the program was built")
}

/// Waits for a command.
fn finish(child: Child) -> Run {
    let output = child.wait_with_output().expect("because it was started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "no signal {name} for {}", child.id());
}

/// Addresses in the state, sorted.
fn addresses(sandbox: &Sandbox) -> Vec<String> {
    let run = sandbox.run(&["state", "list"]);
    let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}
