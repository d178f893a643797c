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

              The subcommands print metadata of the language for editors and other tools.

            Subcommands:
                functions    Show the signatures and descriptions of all functions
        "#]],
    );
}
