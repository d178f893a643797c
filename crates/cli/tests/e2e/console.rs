//! `console` reading from a pipe.

use expect_test::{Expect, expect};

use crate::{check, sandbox};

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
fn the_first_mistake_ends_it() {
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

        An expression has to come here, but the text ends.
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

        The value given for the parameter "str" is not accepted: argument must not be
        null.
    "#]],
    );
}

#[test]
fn configuration_is_not_read_yet() {
    let run = sandbox("//- main.tf\nlocals {\n").run_with(&["console"], b"1\n");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "1\n", ""));
}

#[test]
fn what_it_cannot_do_yet_is_refused() {
    check(
        &["console", "-var", "a=1"],
        &expect![[r#"
        exit 1
        --- stderr

        Error: Option not available yet

        The option -var is part of the OpenTofu command line, but the console of this
        version of Yuba does not read configuration and state yet. Leave the option
        out to evaluate expressions without them.

        For more help on using this command, run:
          yuba console -help
    "#]],
    );
    check(
        &["console", "x"],
        &expect![[r#"
        exit 1
        --- stderr

        Error: Too many command line arguments

        The console takes no arguments. Type expressions at its prompt or pipe them
        into it.

        For more help on using this command, run:
          yuba console -help
    "#]],
    );
    check(
        &["console", "-json"],
        &expect![[r#"
        exit 1
        --- stderr

        Error: Output only in json is not allowed

        The console writes values as people read them. Use an output of the
        configuration and `output -json`, or the function jsonencode, to get JSON.

        For more help on using this command, run:
          yuba console -help
    "#]],
    );
}
