//! Global options and the environment.

use expect_test::expect;

use crate::{check, check_refused, sandbox};

#[test]
fn chdir() {
    assert_eq!(sandbox("//- d/x\n").run(&["-chdir=d", "version"]).code, 0);
    check(
        &["-chdir=nowhere", "version"],
        &expect![[r#"
            exit 1
            --- stderr
            Error handling -chdir option: chdir nowhere: No such file or directory (os error 2)
        "#]],
    );
    check(
        &["-chdir", "version"],
        &expect![[r#"
            exit 1
            --- stderr
            Invalid -chdir option: must include an equals sign followed by a directory path, like -chdir=example
        "#]],
    );
}

#[test]
fn flags_before_the_command() {
    check_refused(
        &["-json", "version"],
        &["version"],
        &expect![[r#"

            Error: Invalid flags before the subcommand

            "-json" stands before the subcommand "version". Only -chdir, -help and
            -version are supported there. Put the options of the subcommand after its
            name.

        "#]],
    );
}

#[test]
fn arguments_from_the_environment() {
    let json = sandbox("").run(&["version", "-json"]);
    assert_eq!(sandbox("").env("TF_CLI_ARGS", "-json").run(&["version"]), json);
    assert_eq!(sandbox("").env("TF_CLI_ARGS_version", "'-json'").run(&["version"]), json);
    assert_eq!(sandbox("").env("TF_CLI_ARGS_fmt", "-json").run(&["version"]), sandbox("").run(&["version"]));
    expect![[r#"
        exit 1
        --- stderr
        Error parsing extra CLI args from TF_CLI_ARGS: invalid command line string
    "#]]
    .assert_eq(&sandbox("").env("TF_CLI_ARGS", "'open").run(&["version"]).to_string());
}

#[test]
#[cfg(unix)]
fn a_closed_pipe_is_not_a_crash() {
    use std::process::Stdio;
    let sandbox = sandbox("");
    let mut command = sandbox.command(&["-help"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("because it was built");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("because it was started");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
