//! Help texts and unknown command names.

use expect_test::expect;

use crate::{check, sandbox};

#[test]
fn help_and_no_command() {
    let help = sandbox("").run(&["-help"]);
    assert_eq!(help.code, 0);
    assert!(help.stdout.starts_with("Usage: yuba [global options] <subcommand> [args]\n"), "{help}");
    assert_eq!(sandbox("").run(&["--help"]), help);
    assert_eq!(sandbox("").run(&["-h"]), help);
    let none = sandbox("").run(&[]);
    assert_eq!((none.code, &none.stdout), (127, &help.stdout));
    assert_eq!(sandbox("").run(&["-unknown"]).code, 127);
}

#[test]
fn help_of_a_command() {
    check(
        &["version", "-help"],
        &expect![[r#"
            exit 0
            --- stdout
            Usage: yuba [global options] version [options]

              Shows the version of Yuba, the release of OpenTofu whose language it
              implements, and the provider versions in the dependency lock file.

            Options:

              -json                        Write a JSON object.

              -no-color                    Disable colors. The environment variable
                                           NO_COLOR disables them for all commands.

              -compact-warnings            If there are warnings and no errors, show only
                                           the title and the location of each warning.

              -consolidate-warnings=false  Show each warning instead of combining similar
                                           warnings.

              -consolidate-errors          Combine similar errors.

              -concise                     Disable progress messages.

              -deprecation=module:all      Deprecation warnings to show. For variables and
                                           outputs: "module:all", "module:local" (only uses
                                           in local modules) or "module:none". For
                                           attributes of resources: "provider:all" or
                                           "provider:none". For one module or output: its
                                           address and ":all" or ":none". Repeat the option
                                           to combine them.

              -profile=FILE                Write a trace of this run to a file: how long
                                           each phase, resource instance, provider call and
                                           request takes. Perfetto and chrome://tracing
                                           open it.
        "#]],
    );
}

#[test]
fn unknown_commands() {
    check(
        &["versoin"],
        &expect![[r#"
            exit 1
            --- stderr
            Yuba has no command named "versoin". Did you mean "version"?

            To see all of Yuba's top-level commands, run:
              yuba -help
        "#]],
    );
    check(
        &["banana"],
        &expect![[r#"
            exit 1
            --- stderr
            Yuba has no command named "banana".

            To see all of Yuba's top-level commands, run:
              yuba -help
        "#]],
    );
    check(
        &["push", "x"],
        &expect![[r#"
            exit 1
            --- stderr
            `push` is a command of OpenTofu that this version of Yuba does not support yet.

            To list the commands of this version, run:
              yuba -help
        "#]],
    );
}
