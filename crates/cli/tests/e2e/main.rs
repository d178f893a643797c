//! The real executable, from the outside: what it prints and how it exits.

mod bad_input;
mod colors;
mod comments;
mod completion;
mod console;
mod doctor;
mod examples;
mod flags;
mod fmt;
mod help;
#[cfg(unix)]
mod hooks;
mod init;
mod interrupted_init;
mod libraries;
mod logs;
mod machine_services;
mod metadata;
mod modules;
#[cfg(unix)]
mod on_terminal;
#[cfg(unix)]
mod pane;
#[cfg(unix)]
mod panes;
#[cfg(unix)]
mod pictures;
mod profile;
mod prompt;
mod providers;
mod saved_backend;
mod saving;
mod state;
#[cfg(unix)]
mod terminal;
mod test_command;
mod trace_events;
mod validate;
mod version;

use expect_test::Expect;
use yuba_testkit::Sandbox;

/// A sandbox for the executable under test.
fn sandbox(fixture: &str) -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_yuba"), fixture)
}

/// Runs the executable in an empty directory and compares exit code and outputs.
#[track_caller]
fn check(args: &[&str], expect: &Expect) {
    expect.assert_eq(&sandbox("").run(args).to_string());
}

/// An error in the arguments is reported, and the help of the command follows.
#[track_caller]
fn check_refused(args: &[&str], command: &[&str], expect: &Expect) {
    let run = sandbox("").run(args);
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout, sandbox("").run(&[command, &["-help"]].concat()).stdout);
    expect.assert_eq(&run.stderr);
}
