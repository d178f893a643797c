//! Colors and frames in pipes, where logs of pipelines and scripts read them.

use expect_test::expect;
use yuba_testkit::{Run, Sandbox};

use crate::sandbox;

const INVALID: &str = "//- main.tf\nvariable \"x\" {\n  type    = number\n  default = \"a\"\n}\n";

/// A sandbox whose commands have frames, unless a variable or a flag disables them.
fn framed(fixture: &str) -> Sandbox {
    sandbox(fixture).env("NO_COLOR", "")
}

/// A sandbox whose commands write colors, unless another variable or a flag disables them.
fn colored(fixture: &str) -> Sandbox {
    framed(fixture).env("FORCE_COLOR", "1")
}

/// Both outputs with a visible sign for the beginning of a control sequence.
fn visible(run: &Run) -> String {
    run.to_string().replace('\x1b', "^")
}

/// Both outputs without control sequences.
fn uncolored(run: &Run) -> String {
    let mut text = String::new();
    for (at, part) in run.to_string().split('\x1b').enumerate() {
        text += if at == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) };
    }
    text
}

#[test]
fn diagnostics_have_frames_and_colors_in_pipes() {
    expect![[r#"
        exit 1
        --- stderr
        ^[31m╷^[0m
        ^[31m│^[0m ^[1;31mError: ^[0m^[1mInvalid default value for variable^[0m
        ^[31m│^[0m 
        ^[31m│^[0m   on main.tf line 3, in variable "x":
        ^[31m│^[0m    3:   default = ^[4m"a"^[0m
        ^[31m│^[0m 
        ^[31m│^[0m The default does not match the type of the variable: a number is required.
        ^[31m╵^[0m
    "#]]
    .assert_eq(&visible(&colored(INVALID).run(&["validate"])));
}

#[test]
fn pipes_have_colors_on_request_only() {
    let plain = framed(INVALID).run(&["validate"]);
    expect![[r#"
        exit 1
        --- stderr
        ╷
        │ Error: Invalid default value for variable
        │ 
        │   on main.tf line 3, in variable "x":
        │    3:   default = "a"
        │ 
        │ The default does not match the type of the variable: a number is required.
        ╵
    "#]]
    .assert_eq(&plain.to_string());
    assert_eq!(uncolored(&colored(INVALID).run(&["validate"])), plain.to_string());
    for (name, value, has_colors) in [
        ("FORCE_COLOR", "1", true),
        ("FORCE_COLOR", "0", false),
        ("CLICOLOR_FORCE", "1", true),
        ("CLICOLOR_FORCE", "0", false),
        ("GITHUB_ACTIONS", "true", true),
        ("GITHUB_ACTIONS", "", false),
        ("GITLAB_CI", "true", true),
        ("CLICOLOR", "1", false),
    ] {
        let run = framed(INVALID).env(name, value).run(&["validate"]);
        assert_eq!(run.stderr.contains('\x1b'), has_colors, "{name}={value}: {}", visible(&run));
        let run = framed(INVALID).env(name, value).run(&["validate", "-no-color"]);
        assert!(!run.stderr.contains('\x1b') && !run.stderr.contains('╷'), "{name}={value}: {}", visible(&run));
    }
}

#[test]
fn the_first_variable_that_is_set_decides() {
    for (variables, has_colors, has_frames) in [
        ([("NO_COLOR", "1"), ("FORCE_COLOR", "1")], false, false),
        ([("FORCE_COLOR", "0"), ("GITHUB_ACTIONS", "true")], false, true),
        ([("FORCE_COLOR", "1"), ("CLICOLOR", "0")], true, true),
        ([("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")], true, true),
        ([("CLICOLOR", "0"), ("GITLAB_CI", "true")], false, true),
    ] {
        let sandbox = variables.into_iter().fold(framed(INVALID), |sandbox, (name, value)| sandbox.env(name, value));
        let run = sandbox.run(&["validate"]);
        assert_eq!(run.stderr.contains('\x1b'), has_colors, "{variables:?}: {}", visible(&run));
        assert_eq!(run.stderr.contains('╷'), has_frames, "{variables:?}: {}", visible(&run));
    }
}

#[test]
fn titles_that_stand_alone_have_a_frame_too() {
    expect![[r"
        exit 1
        --- stderr
        ╷
        │ Error: Failed to parse command-line flags
        │ 
        │ flag provided but not defined: -bad
        ╵

        For more help on using this command, run:
          yuba plan -help
    "]]
    .assert_eq(&uncolored(&colored("").run(&["plan", "-bad"])));
}

#[test]
fn flags_and_variables_disable_colors_and_frames() {
    let plain = expect![[r#"
        exit 1
        --- stderr

        Error: Invalid default value for variable

          on main.tf line 3, in variable "x":
           3:   default = "a"

        The default does not match the type of the variable: a number is required.
    "#]];
    plain.assert_eq(&colored(INVALID).run(&["validate", "-no-color"]).to_string());
    for variable in ["TF_CLI_ARGS", "TF_CLI_ARGS_validate"] {
        plain.assert_eq(&colored(INVALID).env(variable, "-no-color").run(&["validate"]).to_string());
    }
    plain.assert_eq(&sandbox(INVALID).env("NO_COLOR", "1").run(&["validate"]).to_string());
    // The variable describes terminals, so it has no effect on a pipe.
    let dumb = colored(INVALID).env("TERM", "dumb").run(&["validate"]);
    assert!(dumb.stderr.contains("\x1b[31m╷"), "{dumb}");
}

#[test]
fn problems_before_the_arguments_are_known_are_plain() {
    let sandbox = colored(INVALID).env("TF_CLI_CONFIG_FILE", "/nonexistent");
    let run = sandbox.run(&["validate"]);
    let (before, after) = run.stderr.split_once('\x1b').expect("the error of the configuration is colored");
    assert!(before.contains("\nWarning: Unable to open CLI configuration file\n\n"), "{before}");
    assert!(after.starts_with("[31m╷"), "{after}");
}

#[test]
fn summaries_stand_alone_on_their_lines() {
    let sandbox = colored("//- main.tf\noutput \"o\" {\n  value = 1\n}\n");
    let run = sandbox.run(&["apply", "-auto-approve"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    for line in ["Apply complete! Resources: 0 added, 0 changed, 0 destroyed.", "Outputs:"] {
        assert!(lines.contains(&line), "{line:?} in {}", visible(&run));
    }
    let run = sandbox.run(&["destroy", "-auto-approve"]);
    assert!(run.stdout.lines().any(|line| line == "Destroy complete! Resources: 0 destroyed."), "{}", visible(&run));
    let run = sandbox.run_with(&["apply", "-var=x=1"], b"no\n");
    assert!(run.stderr.contains("╷"), "{}", visible(&run));
    let run = sandbox.run(&["plan"]);
    assert!(run.stdout.contains("\n\x1b[90m\n─────"), "{}", visible(&run));
}

#[test]
fn data_has_no_colors() {
    let sandbox = colored(
        "//- main.tf\nresource \"terraform_data\" \"a\" {\n  input = \"x\"\n}\noutput \"o\" {\n  value = terraform_data.a.output\n}\n",
    );
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    assert_eq!(sandbox.run(&["plan", "-out=p"]).code, 0);
    let commands: [&[&str]; 13] = [
        &["output"],
        &["output", "-raw", "o"],
        &["output", "-json"],
        &["state", "list"],
        &["state", "pull"],
        &["show", "-json"],
        &["show", "-json", "p"],
        &["validate", "-json"],
        &["plan", "-json"],
        &["graph"],
        &["providers", "schema", "-json"],
        &["version"],
        &["fmt", "-diff"],
    ];
    for args in commands {
        let run = sandbox.run(args);
        assert!(!run.stdout.contains('\x1b') && run.stderr.is_empty(), "{args:?}: {}", visible(&run));
    }
    let run = sandbox.run_with(&["console"], b"terraform_data.a\n");
    assert!(!run.stdout.contains('\x1b'), "{}", visible(&run));
}

#[test]
fn an_empty_line_follows_diagnostics_of_most_commands() {
    let spaced: [&[&str]; 6] =
        [&["get"], &["init"], &["graph"], &["state", "show", "a.b"], &["workspace", "list"], &["console"]];
    for args in spaced {
        let run = colored(INVALID).run(args);
        assert!(run.stderr.ends_with("╵\x1b[0m\n\n"), "{args:?}: {}", visible(&run));
    }
    let dense: [&[&str]; 6] = [&["validate"], &["plan"], &["show"], &["output"], &["test"], &["state", "list"]];
    for args in dense {
        let run = colored(INVALID).run(args);
        assert!(run.stderr.ends_with("╵\x1b[0m\n") && !run.stderr.ends_with("\n\n"), "{args:?}: {}", visible(&run));
    }
}
