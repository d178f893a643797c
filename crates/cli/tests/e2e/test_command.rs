//! `yuba test` when it is stopped or killed, and the order of its output.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::sandbox;

/// The lines that say how something ended, and those of lists.
fn told(text: &str) -> Vec<String> {
    let wanted = |line: &&str| {
        ["  - ", "Error: ", "Warning: "].iter().any(|start| line.starts_with(start))
            || line.contains("... ")
            || line.contains("! ")
    };
    text.lines().filter(wanted).map(|line| line.trim_end().to_owned()).collect()
}

#[test]
#[cfg(unix)]
fn one_interrupt_skips_the_rest_and_cleans_up() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "kill -INT $PPID; sleep 0.5"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo gone > destroyed"
  }
}
//- main.tftest.hcl
run "under_way" {
}
run "never" {
}
//- other.tftest.hcl
run "never_either" {
}
"#,
    );
    let run = sandbox.run(&["test", "-no-color"]);
    assert_eq!(run.code, 0, "{run}");
    let lines = told(&run.stdout);
    let expected = [
        "main.tftest.hcl... pass",
        "  run \"under_way\"... pass",
        "  run \"never\"... skip",
        "other.tftest.hcl... pass",
        "  run \"never_either\"... skip",
        "Success! 1 passed, 0 failed, 2 skipped.",
    ];
    assert_eq!(lines, expected, "{run}");
    assert_eq!(sandbox.read("destroyed"), "gone\n");
}

#[test]
#[cfg(unix)]
fn two_interrupts_list_what_exists() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "kill -INT $PPID; sleep 0.5"
  }
}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" {
    command = "kill -INT $PPID; sleep 60"
  }
}
//- main.tftest.hcl
run "under_way" {
}
"#,
    );
    let run = sandbox.run(&["test", "-no-color"]);
    assert_eq!(run.code, 1, "{run}");
    let lines = told(&run.stderr);
    assert!(lines.contains(&"  - terraform_data.a".to_owned()), "{run}");
    assert!(lines.contains(&"  - terraform_data.b".to_owned()), "{run}");
    assert!(sandbox.read("errored_test.tfstate").contains("terraform_data"));
}

#[test]
#[cfg(unix)]
fn what_a_killed_test_made_is_listed_by_the_next_one() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "a" {
}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" {
    command = "kill -9 $PPID"
  }
}
//- main.tftest.hcl
run "killed" {
}
"#,
    );
    assert_eq!(sandbox.run(&["test", "-no-color"]).code, -1);
    sandbox.write("main.tf", "");
    let run = sandbox.run(&["test", "-no-color"]);
    assert_eq!(run.code, 0, "{run}");
    let expected = [
        "Warning: Objects of a killed test may still exist",
        "  - terraform_data.a",
        "  - terraform_data.b",
        "main.tftest.hcl... pass",
        "  run \"killed\"... pass",
        "Success! 1 passed, 0 failed.",
    ];
    assert_eq!(told(&run.stdout), expected, "{run}");
}

const ENCRYPTION: &str = r#"
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "PASSPHRASE"
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }
  }
}
"#;

/// Files of tests and leftovers are encrypted as the state is.
#[test]
#[cfg(unix)]
fn what_tests_write_is_encrypted() {
    let killed = r#"
//- main.tf
resource "terraform_data" "a" {
  input = "a-secret-thing"
}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" {
    command = "kill -9 $PPID"
  }
}
//- main.tftest.hcl
run "killed" {
}
"#;
    let sandbox = sandbox(killed);
    let passphrase = |text: &str| ENCRYPTION.replace("PASSPHRASE", text);
    sandbox.write("encryption.tf", passphrase("0123456789abcdef"));
    assert_eq!(sandbox.run(&["test", "-no-color"]).code, -1);
    let mut written = Vec::new();
    let mut directories = vec![sandbox.dir()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("it exists").flatten() {
            let path = entry.path();
            let is_ours = path.extension().is_some_and(|ending| ending == "tf" || ending == "hcl");
            match path.is_dir() {
                true => directories.push(path),
                false if is_ours => {}
                false => {
                    let text = std::fs::read_to_string(&path).expect("it is text");
                    assert!(!text.contains("terraform_data") && !text.contains("a-secret-thing"), "{path:?}: {text}");
                    written.push(path);
                }
            }
        }
    }
    assert_eq!(written.len(), 2, "{written:?}");
    // With the key the message lists the objects, without it only that there are some.
    sandbox.write("main.tf", "");
    let run = sandbox.run(&["test", "-no-color"]);
    assert!(told(&run.stdout).contains(&"  - terraform_data.a".to_owned()), "{run}");
    sandbox.write("encryption.tf", passphrase("another-passphrase"));
    let run = sandbox.run(&["test", "-no-color"]);
    assert!(
        run.stdout.contains("Objects of a killed test may still exist") && run.stdout.contains("encrypted"),
        "{run}"
    );
}

#[test]
#[cfg(unix)]
fn states_of_leftovers_are_encrypted_and_not_overwritten() {
    let sandbox = sandbox(
        r#"
//- main.tf
resource "terraform_data" "a" {
  input = "a-secret-thing"
  provisioner "local-exec" {
    when    = destroy
    command = "false"
  }
}
//- main.tftest.hcl
run "left" {
}
"#,
    );
    sandbox.write("encryption.tf", ENCRYPTION.replace("PASSPHRASE", "0123456789abcdef"));
    for _ in 0..3 {
        let run = sandbox.run(&["test", "-no-color"]);
        assert!(run.to_string().contains("errored_test.tfstate"), "{run}");
    }
    for name in ["errored_test.tfstate", "errored_test.tfstate.backup", "errored_test.tfstate.1.backup"] {
        let text = sandbox.read(name);
        assert!(text.contains("encrypted_data") && !text.contains("a-secret-thing"), "{name}: {text}");
    }
    let shown = sandbox.run(&["show", "-no-color", "errored_test.tfstate"]);
    assert!(shown.stdout.contains("a-secret-thing"), "{shown}");
}

/// Without a key nothing is written, in clear text least of all; tests that write nothing need none.
#[test]
#[cfg(unix)]
fn tests_write_nothing_without_the_key() {
    let sandbox = sandbox(
        r#"
//- main.tf
variable "passphrase" {
  type = string
}
resource "terraform_data" "a" {
  input = "a-secret-thing"
}
//- main.tftest.hcl
variables {
  passphrase = "0123456789abcdef"
}
run "plain" {
}
"#,
    );
    sandbox.write("encryption.tf", ENCRYPTION.replace("\"PASSPHRASE\"", "var.passphrase"));
    let run = sandbox.run(&["test", "-no-color"]);
    assert_eq!(run.code, 0, "{run}");
    let provisioner = "  provisioner \"local-exec\" {\n    command = \"true\"\n  }\n}\n";
    sandbox.write("more.tf", format!("resource \"terraform_data\" \"b\" {{\n{provisioner}"));
    let run = sandbox.run(&["test", "-no-color"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(!sandbox.dir().join(".terraform/test-states").exists());
    let run = sandbox.run(&["test", "-no-color", "-var", "passphrase=0123456789abcdef"]);
    assert_eq!(run.code, 0, "{run}");
}

#[test]
fn files_run_in_parallel_and_report_in_order() {
    let sandbox = sandbox("//- main.tf\nvariable \"n\" {}\nresource \"terraform_data\" \"a\" {\n input = var.n\n}\n");
    let mut expected = Vec::new();
    for at in 10..40 {
        let name = format!("t{at}.tftest.hcl");
        let run = format!(
            "run \"r\" {{\n variables {{\n  n = {at}\n }}\n assert {{\n  condition = \
                           terraform_data.a.output == {at}\n  error_message = \"no\"\n }}\n}}\n"
        );
        sandbox.write(&name, run);
        expected.push(format!("{name}... pass"));
        expected.push("  run \"r\"... pass".to_owned());
    }
    expected.push("Success! 30 passed, 0 failed.".to_owned());
    for parallel in ["-parallel=8", "-parallel=1"] {
        let run = sandbox.run(&["test", "-no-color", parallel]);
        assert_eq!(told(&run.stdout), expected, "{run}");
    }
}

/// Output of a process until it waits.
fn told_until_waiting(lines: &Receiver<String>) -> Vec<String> {
    let mut said = String::new();
    loop {
        let line = lines.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("it says only:\n{said}"));
        if line.starts_with("Waiting for changes") {
            return told(&said);
        }
        said += &line;
        said.push('\n');
    }
}

#[test]
#[cfg(unix)]
fn a_watch_runs_again_what_a_saved_file_affects() {
    const MAIN: &str = "output \"n\" {\n  value = 1\n}\n";
    let wants = |n: u8| {
        let assert = format!("  assert {{\n    condition     = output.n == {n}\n    error_message = \"no\"\n  }}\n");
        format!("run \"r\" {{\n{assert}}}\n")
    };
    let sandbox = sandbox("");
    sandbox.write("main.tf", MAIN);
    sandbox.write("a.tftest.hcl", wants(1));
    sandbox.write("b.tftest.hcl", wants(1));
    let mut command = sandbox.command(&["test", "-watch", "-no-color"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    let reader = std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    // In one step, so that a reader never sees half of it.
    let save = |name: &str, text: &str| {
        sandbox.write("saved", text);
        std::fs::rename(sandbox.dir().join("saved"), sandbox.dir().join(name)).unwrap();
    };
    let of = |name: &str, word: &str| [format!("{name}.tftest.hcl... {word}"), format!("  run \"r\"... {word}")];
    let both = |a: &str, b: &str, end: &str| [&of("a", a)[..], &of("b", b)[..], &[end.to_owned()]].concat();
    assert_eq!(told_until_waiting(&lines), both("pass", "pass", "Success! 2 passed, 0 failed."));
    save("b.tftest.hcl", &wants(22));
    assert_eq!(
        told_until_waiting(&lines),
        [&of("b", "fail")[..], &["Failure! 0 passed, 1 failed.".to_owned()]].concat()
    );
    save("main.tf", &format!("# The same.\n{MAIN}"));
    assert_eq!(told_until_waiting(&lines), both("pass", "fail", "Failure! 1 passed, 1 failed."));
    save("main.tf", "output");
    assert_eq!(told_until_waiting(&lines), [] as [&str; 0]);
    save("main.tf", &MAIN.replace('1', "22"));
    assert_eq!(told_until_waiting(&lines), both("fail", "pass", "Failure! 1 passed, 1 failed."));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("  on main.tf line 1:"), "{said}");
    reader.join().unwrap();
}
