//! `console` reading from a pipe.

use expect_test::{Expect, expect};

use crate::{check_refused, sandbox};

/// Pipes lines into the console.
#[track_caller]
fn piped(input: &str, expect: &Expect) {
    expect.assert_eq(&sandbox("").run_with(&["console"], input.as_bytes()).to_string());
}

#[test]
fn lines_are_expressions() {
    piped(
        "1 + 2\n\n\"a${upper(\"b\")}\"\r\n[for x in [1, 2] : x * 2]",
        &expect![[r#"
            exit 0
            --- stdout
            3

            "aB"
            [
              2,
              4,
            ]
        "#]],
    );
}

#[test]
fn open_brackets_and_backslashes_continue() {
    piped(
        "(1 +\n\n  2)\n1 + \\\n2\n",
        &expect![[r#"
            exit 0
            --- stdout
            3
            3
        "#]],
    );
    piped(
        "1\n[1,\n",
        &expect![[r#"
            exit 0
            --- stdout
            1
            --- stderr
            The input ended inside an open bracket; its last expression was not evaluated.
        "#]],
    );
}

#[test]
fn exit_leaves() {
    piped(
        "1\n exit \n2\n",
        &expect![[r#"
            exit 0
            --- stdout
            1
        "#]],
    );
}

#[test]
fn help_helps() {
    let run = sandbox("").run_with(&["console"], b"help\n");
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("To leave, type \"exit\""), "{run}");
}

#[test]
fn the_first_error_ends_it() {
    piped(
        "1\n1 +\n2\n",
        &expect![[r#"
            exit 1
            --- stdout
            1
            --- stderr

            Error: Missing expression

              on <console-input> line 1:
               1: 1 +

            The input ends where an expression is required.

        "#]],
    );
    piped(
        "upper(null)\n",
        &expect![[r#"
            exit 1
            --- stderr

            Error: Invalid function argument

              on <console-input> line 1:
               1: upper(null)
                ├────────────────
                │ while calling upper(str)

            The value of the parameter "str" is not valid: argument must not be null.

        "#]],
    );
}

const CONFIGURATION: &str = r#"
//- main.tf
variable "greeting" {
  type = string
}
variable "name" {
  default   = "you"
  sensitive = true
}
locals {
  text = "${var.greeting}!"
  now  = timestamp() != ""
}
module "a" {
  source = "./a"
  in     = 4
}
resource "terraform_data" "r" {}
//- a/main.tf
variable "in" {}
output "out" {
  value = "${var.in}x"
}
//- terraform.tfvars
greeting = "hello"
"#;

#[test]
fn names_of_the_configuration_are_known() {
    let lines = b"local.text\nlocal.now\nvar.name\nmodule.a\nmodule.a.out\nterraform_data.r.id\npath.module\n";
    expect![[r#"
        exit 0
        --- stdout
        "hello!"
        true
        (sensitive value)
        {
          "out" = "4x"
        }
        "4x"
        (known after apply)
        "."
    "#]]
    .assert_eq(&sandbox(CONFIGURATION).run_with(&["console"], lines).to_string());
    let with = |args: &[&str]| sandbox(CONFIGURATION).run_with(args, b"local.text\n").stdout;
    assert_eq!(with(&["console", "-var", "greeting=moin"]), "\"moin!\"\n");
    assert_eq!(with(&["console", "-var-file=terraform.tfvars"]), "\"hello!\"\n");
}

#[test]
fn values_that_are_not_given_are_unknown() {
    let run = sandbox("//- main.tf\nvariable \"x\" {}\n").run_with(&["console"], b"var.x\n");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "(known after apply)\n", ""));
}

#[test]
fn invalid_values_are_missing() {
    let sandbox = sandbox("//- main.tf\nvariable \"n\" {\n  type = number\n}\n");
    let run = sandbox.run_with(&["console", "-var=n=abc"], b"1 + 1\nvar.n\n2 + 2\n");
    assert!(run.code == 1 && run.stdout.ends_with("\n2\n"), "{run}");
    let titles: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("Error")).collect();
    assert_eq!(titles, ["Error: Invalid value for input variable", "Error: Reference to unresolved input variable"]);
}

#[test]
fn errors_in_expressions_of_the_configuration_do_not_end_it() {
    let fixture = "//- main.tf\nlocals {\n  a = 1\n  b = nope()\n}\n";
    expect![[r#"
        exit 0
        --- stdout

        Warning: Due to the problems above, some expressions may produce unexpected results.


        1
        (known after apply)
        --- stderr

        Error: Call to unknown function

          on main.tf line 3, in locals:
           3:   b = nope()

        There is no function named "nope".

    "#]]
    .assert_eq(&sandbox(fixture).run_with(&["console"], b"local.a\nlocal.b\n").to_string());
}

#[test]
fn a_configuration_that_cannot_be_read_ends_it() {
    for (fixture, expected) in [
        ("//- main.tf\nlocals {\n", "Unclosed configuration block"),
        ("//- main.tf\nlocals {\n  a = local.b\n  b = local.a\n}\n", "Cycle: local.a (expand), local.b (expand)"),
        ("//- main.tf\nvariable \"x\" {}\n//- terraform.tfvars\nx = y\n", "Variables not allowed"),
    ] {
        let run = sandbox(fixture).run_with(&["console"], b"1\n");
        assert!(run.code == 1 && run.stdout.is_empty() && run.stderr.contains(expected), "{run}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    check_refused(
        &["console", "x"],
        &["console"],
        &expect![[r#"

            Error: Too many command line arguments

            The console takes no arguments. Type expressions at its prompt or pipe them
            into it.

        "#]],
    );
    check_refused(
        &["console", "-json"],
        &["console"],
        &expect![[r#"

            Error: Output only in json is not allowed

            The console does not support -json. Use the function jsonencode, or "yuba
            output -json", to get JSON.

        "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_terminal_has_completion_and_a_history_that_only_its_user_can_read() {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::on_terminal::on_terminal;

    let sandbox = sandbox("//- main.tf\nlocals {\n  settings = { region = \"eu-1\" }\n}\n");
    let typed = |steps: &[(&str, &str)]| on_terminal(sandbox.command(&["console"]), steps);
    // The terminal reads keys once it shows the prompt; before that it reads lines.
    let (code, seen) = typed(&[
        ("> ", "local.sett\t.reg\t\n"),
        ("\"eu-1\"\r\n", ""),
        ("> ", " \"hunter2\"\n"),
        ("\"hunter2\"\r\n", ""),
        ("> ", "40 + 2\n"),
        ("42\r\n", ""),
        ("> ", "exit\n"),
    ]);
    assert!(code == 0 && seen.contains("local.settings.region"), "{seen}");
    let history = sandbox.home().join(".local/state/yuba/console_history");
    let text = || std::fs::read_to_string(&history).expect("it was recorded");
    assert_eq!(text(), "local.settings.region\n40 + 2\nexit\n");
    let mode = std::fs::metadata(&history).expect("it was recorded").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Ctrl-P is the key for the previous line, here of the previous session.
    let (code, seen) = typed(&[("> ", "\u{10}\u{10}\n"), ("42\r\n", ""), ("> ", "exit\n")]);
    assert_eq!(code, 0, "{seen}");
    // A pipe records nothing.
    assert_eq!(sandbox.run_with(&["console"], b"7\n").code, 0);
    assert!(!text().contains('7'));
}
