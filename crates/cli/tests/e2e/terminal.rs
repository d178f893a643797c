//! The live display, as a terminal shows it.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use yuba_testkit::Sandbox;

use crate::sandbox;

/// A sandbox whose output can have colors, with the state of three objects.
fn applied() -> Sandbox {
    let sandbox = sandbox(
        r#"
//- main.tf
variable "wait" {
  default = "0"
}
resource "terraform_data" "a" {
  count = 3
}
resource "terraform_data" "slow" {
  count            = var.wait == "0" ? 0 : 1
  triggers_replace = var.wait
  provisioner "local-exec" {
    command = "echo said by the provisioner; sleep ${var.wait}"
  }
}
"#,
    );
    let sandbox = sandbox.env("NO_COLOR", "").env("TERM", "xterm");
    let run = sandbox.run(&["apply", "-auto-approve"]);
    assert_eq!(run.code, 0, "{run}");
    sandbox
}

/// What a command writes to a terminal that is its standard output and standard error.
fn written(sandbox: &Sandbox, args: &[&str]) -> String {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("the system has terminals");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("the terminal is ours");
    let name = ptsname(&person, Vec::new()).expect("it has a name").into_string().expect("it is a path");
    let terminal = File::options().read(true).write(true).open(name).expect("it was unlocked");
    let mut command = sandbox.command(args);
    let errors = terminal.try_clone().expect("it can be shared");
    command.stdin(Stdio::null()).stdout(terminal).stderr(errors);
    let mut child = command.spawn().expect("the program starts");
    // The program has the only other end of the terminal.
    drop(command);
    let mut seen = Vec::new();
    // The end is an error where the other end is closed.
    let _ = File::from(person).read_to_end(&mut seen);
    child.wait().expect("it ends");
    String::from_utf8_lossy(&seen).replace("\r\n", "\n")
}

/// The lines that stay on a screen where nothing wraps.
fn screen(written: &str) -> Vec<String> {
    let (mut lines, mut row, mut rest) = (vec![String::new()], 0, written);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(String::new());
                }
            }
            '\r' => assert!(rest.starts_with("\x1b[J"), "only frames return to the start of a line: {rest:?}"),
            '\x1b' => {
                let end = rest.find(|c: char| c.is_ascii_alphabetic()).expect("it is a control sequence");
                let (sequence, after) = rest.split_at(end + 1);
                rest = after;
                let number = sequence[1..end].parse::<usize>().unwrap_or(1);
                match &sequence[end..] {
                    "m" => {}
                    "A" => row = row.checked_sub(number).expect("a frame does not leave the screen"),
                    "J" => {
                        lines.truncate(row + 1);
                        lines[row].clear();
                    }
                    other => panic!("unexpected control sequence {other}"),
                }
            }
            c => lines[row].push(c),
        }
    }
    lines
}

#[test]
fn a_frame_shows_what_runs_and_disappears() {
    let sandbox = applied();
    let written = written(&sandbox, &["apply", "-auto-approve", "-var", "wait=0.6"]);
    assert!(written.contains("terraform_data.slow[0]: Provisioning with 'local-exec'... ["), "{written}");
    assert!(written.contains("0 of 1 done, 1 running ["), "{written}");
    assert!(!written.contains("\x1b[?25l"), "the cursor stays visible: {written}");
    let screen = screen(&written);
    let has = |line: &str| screen.iter().filter(|shown| shown.contains(line)).count();
    assert_eq!(has(" running ["), 0, "{screen:#?}");
    assert_eq!(has("terraform_data.slow[0] (local-exec): said by the provisioner"), 1, "{screen:#?}");
    assert_eq!(has("terraform_data.slow[0]: Creation complete after"), 1, "{screen:#?}");
    assert_eq!(has("Apply complete! Resources: 1 added, 0 changed, 0 destroyed."), 1, "{screen:#?}");
}

#[test]
fn refreshed_objects_are_counted_on_a_terminal() {
    let sandbox = applied();
    let lines = "Refreshing state... [id=";
    let counted = written(&sandbox, &["plan"]);
    assert!(!counted.contains(lines) && counted.contains("Refreshed state: 3 objects in 0s"), "{counted}");
    let verbose = written(&sandbox, &["plan", "-verbose"]);
    assert_eq!(verbose.matches(lines).count(), 3, "{verbose}");
    let piped = sandbox.run(&["plan"]);
    assert_eq!(piped.stdout.matches(lines).count(), 3, "{piped}");
    assert!(!piped.stdout.contains("Refreshed state"), "{piped}");
}

#[test]
fn automation_and_simple_terminals_get_lines() {
    let checks: [(&str, &str, &[&str]); 3] =
        [("TF_IN_AUTOMATION", "1", &["plan"]), ("TERM", "dumb", &["plan"]), ("TERM", "xterm", &["plan", "-no-color"])];
    for (name, value, args) in checks {
        let sandbox = applied().env(name, value);
        let written = written(&sandbox, args);
        assert_eq!(written.matches("Refreshing state... [id=").count(), 3, "{name}={value} {args:?}: {written}");
        assert!(!written.contains("\x1b[J") && !written.contains("Refreshed state"), "{name}={value}: {written}");
    }
}
