//! `metadata functions`.

use expect_test::expect;

use crate::{check, check_refused, sandbox};

#[test]
fn functions_as_json() {
    let run = sandbox("").run(&["metadata", "functions", "-json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let starts = run.stdout.starts_with(r#"{"format_version":"1.0","function_signatures":{"#);
    assert!(starts && run.stdout.ends_with("}}\n"));
    for (name, expected) in [("upper", true), ("core::upper", true), ("list", false), ("map", false), ("type", false)] {
        assert_eq!(run.stdout.contains(&format!(r#""{name}":{{"description":"#)), expected, "{name}");
    }
}

#[test]
fn json_is_required() {
    check_refused(
        &["metadata", "functions"],
        &["metadata", "functions"],
        &expect![[r#"

            Error: Invalid arguments

            The `yuba metadata functions` command supports JSON output only. Add the
            `-json` flag.
        "#]],
    );
}

#[test]
fn the_group_alone_shows_its_subcommands() {
    check(
        &["metadata"],
        &expect![[r#"
            exit 1
            --- stdout
            Usage: yuba [global options] metadata <subcommand> [options] [args]

              The subcommands print metadata of the language and of the command line for
              editors and other tools.

            Subcommands:
                commands     Show the commands and their options
                functions    Show the signatures and descriptions of all functions
        "#]],
    );
}

#[test]
fn commands_as_json() {
    let run = sandbox("").run(&["metadata", "commands", "-json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with(r#"{"format_version":"1.0","commands":{"apply":{"summary":"#), "{run}");
    let target = r#"{"name":"target","kind":"repeatable","placeholder":"resource","description":"#;
    assert!(run.stdout.contains(target) && run.stdout.contains(r#""state replace-provider":{"#), "{run}");
}

#[test]
fn commands_need_one_form() {
    let run = sandbox("").run(&["metadata", "commands"]);
    assert!(run.code == 1 && run.stderr.contains("Add one of the options"), "{run}");
    let run = sandbox("").run(&["metadata", "commands", "-json", "-man=x"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Invalid arguments"), "{run}");
}

#[test]
fn pages_that_cannot_be_written_are_named() {
    let run = sandbox("//- file\nx\n").run(&["metadata", "commands", "-man=file"]);
    assert!(
        run.code == 1
            && run.stderr.contains("Error: Failed to write file")
            && run.stderr.contains("Failed to write file: "),
        "{run}"
    );
}

#[test]
fn man_pages_have_all_commands_and_no_date() {
    let sandbox = sandbox("");
    assert_eq!(sandbox.run(&["metadata", "commands", "-man=man1"]).to_string(), "exit 0\n");
    let page = sandbox.read("man1/yuba-state-mv.1");
    assert!(page.starts_with(".TH \"YUBA\\-STATE\\-MV\" \"1\" \"\" \"Yuba "), "{page}");
    assert!(page.contains(".TP\n\\fB\\-dry\\-run\\fR\n") && page.ends_with("\\fByuba\\-state\\fR(1)\n"), "{page}");
    let main = sandbox.read("man1/yuba.1");
    assert!(main.contains("\\fByuba\\-workspace\\-new(1)\\fR") && main.contains("TF_WORKSPACE"), "{main}");
}
