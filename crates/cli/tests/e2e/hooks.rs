//! The hooks for pre-commit run the installed binary on the directories of changed files.

use std::path::Path;
use std::process::Command;

use crate::sandbox;

const FILES: &str = r#"
//- main.tf
output "a" {
  value = 1
}
//- tests/a.tftest.hcl
run "a" {
}
//- wrong/main.tf
output "a" {
  value = nothing.at.all
}
//- calls/main.tf
module "m" {
  source = "./m"
}
//- calls/m/main.tf
"#;

/// Runs the script with the arguments; returns whether it succeeded, and its output.
fn validate(arguments: &[&str]) -> (bool, String) {
    let sandbox = sandbox(FILES);
    let directory = Path::new(env!("CARGO_BIN_EXE_yuba")).parent().expect("it is a file");
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/validate-directories.sh");
    let mut command: Command = sandbox.command_of(script, arguments);
    let output = command.env("PATH", path).output().expect("the script is executable");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn each_directory_of_changed_files_is_validated_once() {
    let (succeeded, text) = validate(&["main.tf", "tests/a.tftest.hcl"]);
    assert!(succeeded && text.matches("Success!").count() == 1, "{text}");
    let (succeeded, text) = validate(&["main.tf", "wrong/main.tf"]);
    assert!(!succeeded && text.contains("nothing") && text.contains("Success!"), "{text}");
}

#[test]
fn modules_are_installed_on_request() {
    let (succeeded, text) = validate(&["--init", "calls/main.tf"]);
    assert!(succeeded, "{text}");
    let (succeeded, _) = validate(&["--init", "wrong/main.tf"]);
    assert!(!succeeded);
}
