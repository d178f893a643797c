//! Help texts and names that are no commands.

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

              Shows the version of Yuba, the release of OpenTofu whose language it speaks,
              and the versions of providers that the lock file of the current directory
              selects.

            Options:

              -json                        Show the same as a JSON object.

              -no-color                    Write no colors. The environment variable
                                           NO_COLOR does the same for all commands.

              -compact-warnings            If there are warnings but no errors, show only
                                           the title and the place of each warning.

              -consolidate-warnings=false  Show warnings with the same title one by one
                                           instead of as one.

              -consolidate-errors          Show errors with the same title as one.

              -concise                     Leave progress messages out.

              -deprecation=module:all      Which warnings about deprecated variables and
                                           outputs to show: "module:all", "module:local"
                                           (only where a local module uses them) or
                                           "module:none". "provider:none" hides those about
                                           attributes of resources, "module.a.b:none" those
                                           about one module or one output. The option can
                                           be given several times.

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
            `push` is part of the OpenTofu command line, but this version of Yuba does not have it yet.

            To see what this version has, run:
              yuba -help
        "#]],
    );
}
