//! `yuba test` when somebody stops or kills it, and how it orders what it says.

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

#[test]
fn files_run_together_and_tell_in_order() {
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
