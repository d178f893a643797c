//! `TF_IN_AUTOMATION`: no command suggests next steps, and everything else stays.

use yuba_testkit::Sandbox;

use crate::{flowing, uninstalled};

const FIXTURE: &str = r#"
//- main.tf
resource "testing_thing" "a" {
  name = "a"
}
resource "testing_thing" "b" {
  name = "b"
}
output "o" {
  value = testing_thing.a.id
}
//- a.tftest.hcl
run "r" {
  command = plan
}
"#;

/// Commands in the order of a pipeline.
const COMMANDS: &[&[&str]] = &[
    &["init"],
    &["init", "-upgrade"],
    &["validate"],
    &["providers", "lock", "-fs-mirror=../mirror"],
    &["plan"],
    &["plan", "-out=p"],
    &["show", "p"],
    &["apply", "p"],
    &["plan", "-refresh-only"],
    &["refresh"],
    &["drift"],
    &["output"],
    &["state", "list"],
    &["state", "query"],
    &["state", "mv", "testing_thing.b", "testing_thing.c"],
    &["state", "rm", "testing_thing.c"],
    &["import", "testing_thing.b", "b#1"],
    &["taint", "testing_thing.a"],
    &["untaint", "testing_thing.a"],
    &["test"],
    &["workspace", "new", "w"],
    &["workspace", "select", "default"],
    &["workspace", "delete", "w"],
    &["get"],
    &["fmt", "-check"],
    &["graph"],
    &["console"],
    &["destroy", "-auto-approve"],
    &["version"],
];

/// Beginnings of sentences about next steps.
const NEXT_STEPS: [&str; 7] = [
    "You may now begin",
    "Include this file in your version control",
    "Review those changes and commit",
    "Review the changes in .terraform.lock.hcl",
    "You didn't use the -out option",
    "run the following command to apply",
    "run \"yuba ",
];

/// The outputs of all commands, each in one line.
fn outputs(sandbox: &Sandbox) -> Vec<String> {
    let run = |args: &&[&str]| {
        if args.starts_with(&["providers", "lock"]) {
            std::fs::remove_file(sandbox.dir().join(".terraform.lock.hcl")).expect("init has created it");
        }
        let run = sandbox.run(args);
        assert_eq!(run.code, 0, "{args:?}: {run}");
        flowing(&format!("{} {}", run.stdout, run.stderr))
    };
    COMMANDS.iter().map(run).collect()
}

#[test]
fn no_command_suggests_next_steps() {
    let silent = outputs(&uninstalled(FIXTURE).env("TF_IN_AUTOMATION", "1"));
    let talking = outputs(&uninstalled(FIXTURE));
    let mut seen = [false; NEXT_STEPS.len()];
    for ((args, silent), talking) in COMMANDS.iter().zip(&silent).zip(&talking) {
        for (text, seen) in NEXT_STEPS.iter().zip(&mut seen) {
            assert!(!silent.contains(text), "{args:?}: {silent}");
            *seen |= talking.contains(text);
        }
    }
    // Each of these texts exists, apart from the last one, which stands for all others.
    let missing: Vec<&&str> = NEXT_STEPS.iter().zip(seen).filter(|(_, seen)| !seen).map(|(text, _)| text).collect();
    assert_eq!(missing, [&"Review those changes and commit"], "{talking:#?}");
    let empty: Vec<_> =
        COMMANDS.iter().zip(&silent).filter(|(_, silent)| silent.is_empty()).map(|(args, _)| args).collect();
    assert_eq!(empty, [&&["get"][..], &&["fmt", "-check"][..], &&["console"][..]]);
}

#[cfg(unix)]
#[test]
fn terminals_and_logs_of_pipelines_get_the_summary_of_init() {
    let run = uninstalled(FIXTURE).run(&["init"]);
    assert!(run.code == 0 && !run.stdout.contains("\nInstalled "), "{run}");
    let run =
        uninstalled(FIXTURE).env("GITHUB_ACTIONS", "true").env("TF_IN_AUTOMATION", "1").run(&["init", "-no-color"]);
    assert!(run.code == 0 && run.stdout.contains("\nInstalled 1 provider in "), "{run}");
    let run = uninstalled(FIXTURE).env("GITHUB_ACTIONS", "true").run(&["init", "-json"]);
    assert!(run.code == 0 && !run.stdout.contains("Installed 1 provider"), "{run}");
    let sandbox = uninstalled(FIXTURE);
    let init = || crate::on_terminal::on_terminal(sandbox.command(&["init"]), &[]);
    let (code, seen) = init();
    assert!(code == 0 && seen.contains("\nInstalled 1 provider in "), "{seen}");
    // Nothing is installed the second time.
    let (code, seen) = init();
    assert!(code == 0 && !seen.contains("\nInstalled "), "{seen}");
}
