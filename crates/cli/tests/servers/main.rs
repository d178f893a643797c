//! The real executable with backends on real servers: side by side with OpenTofu, and killed at random moments.
//!
//! Tests of a server or a tool that is not installed report themselves as ignored, with its name. `YUBA_REQUIRE=postgresql,tofu`
//! makes that a failure.

#[path = "../outside/azure_cloud.rs"]
mod azure_cloud;
mod kills;
mod migrations;
mod over_http;
mod pg;
mod pg_rows;
mod side_by_side;
mod tfe;
mod two_machines;

use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use yuba_testkit::servers::{is_installed, is_required};
use yuba_testkit::{Run, Sandbox, has_program};

/// The test, ignored where a server or tool is missing. They are part of the name.
fn needs(tools: &[&str], name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    let is_present = |tool: &&&str| if **tool == "tofu" { has_program("tofu") } else { is_installed(tool) };
    let missing: Vec<&&str> = tools.iter().filter(|tool| !is_present(tool)).collect();
    let is_ignored = !missing.is_empty() && !missing.iter().any(|tool| is_required(tool));
    let missing = missing.first().map(|tool| (**tool).to_owned());
    let run = move || match missing {
        Some(tool) => Err(format!("{tool} is required by YUBA_REQUIRE and missing").into()),
        None => {
            test();
            Ok(())
        }
    };
    let name = match tools {
        [] => name.to_owned(),
        tools => format!("needs {}: {name}", tools.join(" and ")),
    };
    Trial::test(name, run).with_ignored_flag(is_ignored)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = [
        pg::trials(),
        pg_rows::trials(),
        over_http::trials(),
        migrations::trials(),
        tfe::trials(),
        two_machines::trials(),
        side_by_side::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A sandbox for this program, or for the one that `YUBA_PROGRAM` names.
fn yuba(fixture: &str) -> Sandbox {
    let program = std::env::var("YUBA_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_yuba").to_owned());
    Sandbox::new(program, fixture).env("NO_COLOR", "1")
}

/// A sandbox for OpenTofu.
fn tofu(fixture: &str) -> Sandbox {
    Sandbox::new("tofu", fixture).env("NO_COLOR", "1")
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
    let said = flowing(&run.to_string());
    for text in says {
        assert!(said.contains(text), "{text:?} is not in {run}");
    }
    run
}

/// Text without line breaks and the bar beside diagnostics.
fn flowing(text: &str) -> String {
    text.replace(['│', '╷', '╵'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Starts a command and does not wait for it.
fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("because the program was built")
}

/// Waits until something is so. For what happens in other processes.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
