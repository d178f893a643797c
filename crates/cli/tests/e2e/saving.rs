//! States that cannot be saved, and operations that are cut short: the messages, the saved files, and the result of
//! following the advice.

use yuba_testkit::{Run, Sandbox};

use crate::sandbox;

/// Text without line breaks.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn ok(sandbox: &Sandbox, args: &[&str]) -> Run {
    let run = sandbox.run(args);
    assert_eq!(run.code, 0, "{args:?}: {run}");
    run
}

/// Objects whose creation was reported as complete.
fn complete(run: &Run) -> Vec<String> {
    let ended = run.stdout.lines().filter_map(|line| line.split_once(": Creation complete"));
    let mut addresses: Vec<String> = ended.map(|(address, _)| address.to_owned()).collect();
    addresses.sort();
    addresses
}

fn listed(sandbox: &Sandbox) -> Vec<String> {
    let mut addresses: Vec<String> = ok(sandbox, &["state", "list"]).stdout.lines().map(str::to_owned).collect();
    addresses.sort();
    addresses
}

const MANY: &str = r#"
//- main.tf
variable "number" {
  default = 120
}
resource "terraform_data" "x" {
  count = var.number
  input = count.index
  provisioner "local-exec" {
    command = "true"
  }
}
"#;

/// No file may grow beyond a limit: neither the journal, nor the state, nor errored.tfstate.
#[test]
#[cfg(unix)]
fn a_limit_for_files_loses_nothing() {
    let sandbox = sandbox(MANY);
    ok(&sandbox, &["apply", "-auto-approve", "-var=number=40"]);
    let script = "trap '' XFSZ; ulimit -f 32; exec \"$YUBA\" apply -auto-approve -no-color";
    let run = sandbox.shell(&["sh", "-c"], script);
    assert_eq!(run.code, 1, "{run}");
    let complete = complete(&run);
    // The number of objects that fit depends on the number of simultaneous creations: room is reserved for each result.
    assert!(!complete.is_empty() && complete.len() < 80, "{}", complete.len());
    let said = flowing(&run.stderr);
    assert_eq!(said.matches("Failed to save state").count(), 1, "{said}");
    assert!(said.contains("No further operation starts."), "{said}");
    // The state was printed, because no file could take it.
    let from = run.stdout.find("\n{\n").expect("it was printed") + 1;
    let to = run.stdout[from..].find("\n}\n").expect("it is whole") + from + 3;
    sandbox.write("errored.tfstate", &run.stdout[from..to]);
    // Reported changes are in the journal, whatever happens next.
    let recovered = listed(&sandbox);
    assert!(complete.iter().all(|address| recovered.contains(address)), "{complete:?} of {recovered:?}");
    ok(&sandbox, &["state", "push", "errored.tfstate"]);
    let pushed = listed(&sandbox);
    assert!(recovered.iter().all(|address| pushed.contains(address)));
    let next = ok(&sandbox, &["apply", "-auto-approve", "-no-color"]);
    let rest = format!("Resources: {} added, 0 changed, 0 destroyed.", 120 - pushed.len());
    assert!(next.stdout.contains(&rest), "{rest}: {next}");
}

/// Maximum number of simultaneous creations.
fn most_at_once(run: &Run) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for line in run.stdout.lines() {
        open += usize::from(line.ends_with(": Creating..."));
        open -= usize::from(line.contains(": Creation complete"));
        most = most.max(open);
    }
    most
}

#[test]
#[cfg(unix)]
fn parallelism_counts_provisioners() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "x" {
  count = 12
  provisioner "local-exec" {
    command = "sleep 0.1"
  }
}
"#,
    );
    let run = ok(&sandbox, &["apply", "-auto-approve", "-no-color", "-parallelism=3"]);
    assert_eq!((complete(&run).len(), most_at_once(&run)), (12, 3), "{run}");
}

#[test]
#[cfg(unix)]
fn an_interrupt_completes_what_has_begun() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "x" {
  count = 60
  provisioner "local-exec" {
    command = count.index == 3 ? "kill -INT $PPID; sleep 0.5" : "sleep 0.5"
  }
}
"#,
    );
    let run = sandbox.run(&["apply", "-auto-approve", "-no-color"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("Error: Execution halted"), "{run}");
    let count = listed(&sandbox).len();
    assert!((4..=20).contains(&count), "{count} objects");
    assert_eq!(complete(&run).len(), count, "{run}");
    assert!(!ok(&sandbox, &["show", "-no-color"]).stdout.contains("(tainted)"));
}

#[test]
#[cfg(unix)]
fn tainted_objects_are_named_when_the_run_is_cut_short() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "fine" {
}
resource "terraform_data" "x" {
  count      = 2
  depends_on = [terraform_data.fine]
  provisioner "local-exec" {
    command = count.index == 0 ? "sleep 60" : "sleep 0.3; kill -INT $PPID; sleep 0.3; kill -INT $PPID; sleep 60"
  }
}
"#,
    );
    let run = sandbox.run(&["apply", "-auto-approve", "-no-color"]);
    assert_eq!(run.code, 1, "{run}");
    let said = flowing(&run.stderr);
    assert!(said.contains("so the next apply replaces them: - terraform_data.x[0] - terraform_data.x[1]"), "{run}");
    assert!(!said.contains("results of these operations are unknown"), "{run}");
    // A failed provisioner and an interrupt: both are reported.
    sandbox.write(
        "main.tf",
        r#"resource "terraform_data" "y" {
  provisioner "local-exec" {
    command = "kill -INT $PPID; sleep 0.2; false"
  }
}
"#,
    );
    let run = sandbox.run(&["apply", "-auto-approve", "-no-color"]);
    let said = flowing(&run.stderr);
    assert!(said.contains("Error: local-exec provisioner error"), "{run}");
    assert!(said.contains("Error: Execution halted"), "{run}");
    assert!(said.contains("so the next apply replaces them: - terraform_data.y"), "{run}");
}

/// The state file is replaced before the plan is approved.
#[test]
#[cfg(unix)]
fn a_state_that_is_replaced_before_the_approval_is_not_worked_with() {
    let sandbox = sandbox("//- main.tf\nresource \"terraform_data\" \"a\" {\n}\n");
    ok(&sandbox, &["apply", "-auto-approve"]);
    sandbox.write("main.tf", "resource \"terraform_data\" \"b\" {\n}\n");
    let script = "(sleep 1; cp terraform.tfstate other; mv other terraform.tfstate; echo yes) | $YUBA apply -no-color";
    let run = sandbox.shell(&["sh", "-c"], script);
    assert_eq!(run.code, 1, "{run}");
    assert!(flowing(&run.stderr).contains("No changes were made. Check the file, then plan again."), "{run}");
    assert_eq!(listed(&sandbox), ["terraform_data.a"]);
}

/// The form of what a command writes with `-json`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Json {
    /// It has no such flag.
    None,
    /// A message a line; warnings are among them.
    Messages,
    /// One document; warnings go to standard error.
    Document,
    /// One document, and the command does not work without the flag.
    Only,
}

/// Runs every read-only command, for people and for programs. Each has to warn once.
#[cfg(unix)]
#[track_caller]
fn every_read_only_command_mentions(sandbox: &Sandbox, title: &str) {
    let warning = format!("Warning: {title}");
    // The instance that `state show` shows is in the state, whatever the journal says.
    let commands: [(&[&str], Json); 13] = [
        (&["show"], Json::Document),
        (&["output"], Json::Document),
        (&["state", "list"], Json::Messages),
        (&["state", "show", "terraform_data.first"], Json::Document),
        (&["state", "pull"], Json::None),
        (&["graph"], Json::None),
        (&["console"], Json::None),
        (&["providers"], Json::None),
        (&["providers", "schema"], Json::Only),
        (&["workspace", "list"], Json::Messages),
        (&["workspace", "show"], Json::Messages),
        (&["validate"], Json::Document),
        (&["plan", "-lock=false"], Json::Messages),
    ];
    for (command, json) in commands {
        if json != Json::Only {
            let run = sandbox.run_with(command, b"1 + 1\n");
            assert_eq!(run.code, 0, "{command:?}: {run}");
            assert_eq!(flowing(&run.to_string()).matches(&warning).count(), 1, "{command:?}: {run}");
        }
        if json != Json::None {
            // Flags come before arguments.
            let words = command.iter().take_while(|word| !word.contains('.')).count();
            let run = sandbox.run(&[&command[..words], &["-json"], &command[words..]].concat());
            assert_eq!(run.code, 0, "{command:?} -json: {run}");
            let (text, other) = match json {
                Json::Messages => (&run.stdout, &run.stderr),
                _ => (&run.stderr, &run.stdout),
            };
            assert_eq!(text.matches(&warning).count(), 1, "{command:?} -json: {run}");
            assert!(!other.contains(title), "{command:?} -json: {run}");
            for line in run.stdout.lines().filter(|_| json == Json::Messages) {
                assert!(line.starts_with('{') && line.ends_with('}'), "{command:?} -json: {line}");
            }
        }
    }
}

/// A journal that was changed is mentioned by every read-only command, and none of them touches it.
#[test]
#[cfg(unix)]
fn commands_that_look_mention_a_damaged_journal() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "first" {
}
resource "terraform_data" "a" {
}
resource "terraform_data" "b" {
  input = terraform_data.a.id
}
resource "terraform_data" "c" {
  depends_on = [terraform_data.b]
  provisioner "local-exec" {
    command = "kill -9 $PPID"
  }
}
"#,
    );
    ok(&sandbox, &["apply", "-auto-approve", "-target=terraform_data.first"]);
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, -1);
    let journal = ".terraform.tfstate.journal";
    let written = sandbox.read(journal);
    let with_damage = written.replacen("terraform_data.a\",\"provider\"", "terraform_data.z\",\"provider\"", 1);
    assert_ne!(with_damage, written);
    for (damaged, title) in [
        ("no journal\n".to_owned(), "Unreadable journal of an interrupted run"),
        (with_damage, "Damaged journal of an interrupted run"),
    ] {
        sandbox.write(journal, &damaged);
        every_read_only_command_mentions(&sandbox, title);
        assert_eq!(sandbox.read(journal), damaged, "{title}");
    }
    // The next one that takes the lock puts it aside.
    let run = ok(&sandbox, &["plan"]);
    assert!(
        flowing(&run.to_string()).contains("The journal is stored as .terraform.tfstate.journal.damaged-"),
        "{run}"
    );
}
