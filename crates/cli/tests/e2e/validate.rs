//! `validate`: what it says to people and to programs.

use expect_test::{Expect, expect};

use crate::sandbox;

#[track_caller]
fn check(fixture: &str, args: &[&str], expect: &Expect) {
    expect.assert_eq(&sandbox(fixture).run(&[&["validate"], args].concat()).to_string());
}

const WARNING: &str = "//- main.tf\nremoved {\n  from = terraform_data.x\n}\n";

#[test]
fn a_valid_configuration() {
    check(
        "//- main.tf\nmodule \"a\" {\n  source = \"./a\"\n}\n//- a/main.tf\nlocals {}\n",
        &[],
        &expect![[r#"
            exit 0
            --- stdout
            Success! The configuration is valid.
        "#]],
    );
}

#[test]
fn warnings_do_not_make_it_invalid() {
    check(
        WARNING,
        &[],
        &expect![[r#"
        exit 0
        --- stdout

        Warning: Missing lifecycle from the removed block

          on main.tf line 1:
           1: removed {

        This block does not set whether the objects are destroyed. By default they
        are removed from the state and continue to exist. Add lifecycle { destroy =
        false } to confirm this, or lifecycle { destroy = true } to destroy them.
        Success! The configuration is valid, but there were some validation warnings
        as shown above.
    "#]],
    );
    check(
        WARNING,
        &["-json"],
        &expect![[r#"
        exit 0
        --- stdout
        {
          "format_version": "1.0",
          "valid": true,
          "error_count": 0,
          "warning_count": 1,
          "diagnostics": [
            {
              "severity": "warning",
              "summary": "Missing lifecycle from the removed block",
              "detail": "This block does not set whether the objects are destroyed. By default they are removed from the state and continue to exist. Add lifecycle { destroy = false } to confirm this, or lifecycle { destroy = true } to destroy them.",
              "range": {
                "filename": "main.tf",
                "start": {
                  "line": 1,
                  "column": 1,
                  "byte": 0
                },
                "end": {
                  "line": 1,
                  "column": 8,
                  "byte": 7
                }
              },
              "snippet": {
                "context": null,
                "code": "removed {",
                "start_line": 1,
                "highlight_start_offset": 0,
                "highlight_end_offset": 7,
                "values": []
              },
              "code": "removed-without-lifecycle"
            }
          ]
        }
    "#]],
    );
}

#[test]
fn errors_make_it_invalid() {
    let broken = "//- main.tf\nvariable \"a\" {\n  typ = string\n}\n";
    check(
        broken,
        &[],
        &expect![[r#"
        exit 1
        --- stderr

        Error: Unsupported argument

          on main.tf line 2, in variable "a":
           2:   typ = string

        An argument named "typ" is not expected here. Did you mean "type"?
    "#]],
    );
    check(
        broken,
        &["-json"],
        &expect![[r#"
        exit 1
        --- stdout
        {
          "format_version": "1.0",
          "valid": false,
          "error_count": 1,
          "warning_count": 0,
          "diagnostics": [
            {
              "severity": "error",
              "summary": "Unsupported argument",
              "detail": "An argument named \"typ\" is not expected here. Did you mean \"type\"?",
              "range": {
                "filename": "main.tf",
                "start": {
                  "line": 2,
                  "column": 3,
                  "byte": 17
                },
                "end": {
                  "line": 2,
                  "column": 6,
                  "byte": 20
                }
              },
              "snippet": {
                "context": "variable \"a\"",
                "code": "  typ = string",
                "start_line": 2,
                "highlight_start_offset": 2,
                "highlight_end_offset": 5,
                "values": []
              },
              "code": "unsupported-argument"
            }
          ]
        }
    "#]],
    );
}

#[test]
fn a_directory_can_be_named_and_test_files_count() {
    let fixture = "//- a/main.tf\nlocals {}\n//- a/tests/x.tftest.hcl\nrun {}\n//- a/other/y.tftest.hcl\nrun {}\n";
    for (args, expected) in [
        (&["a/"][..], &["a/tests/x.tftest.hcl line 1"][..]),
        (&["-no-tests", "a"], &[]),
        (&["-test-directory=other", "a"], &["a/other/y.tftest.hcl line 1"]),
        (&["-test-directory=nowhere", "a"], &["Test directory does not exist"]),
    ] {
        let run = sandbox(fixture).run(&[&["validate"], args].concat()).to_string();
        assert!(expected.iter().all(|text| run.contains(text)), "{args:?}: {run}");
        assert_eq!(run.contains("Missing name for run"), expected.iter().any(|text| text.ends_with("line 1")), "{run}");
    }
}

#[test]
fn the_same_json_can_go_to_a_file() {
    let sandbox = sandbox(WARNING);
    let shown = sandbox.run(&["validate", "-json"]).stdout;
    sandbox.run(&["validate", "-json-into=out.json"]);
    assert_eq!(sandbox.read("out.json"), shown);
}

#[test]
fn flags_that_make_no_sense() {
    for (args, expected) in [
        (&["validate", "a", "b"][..], "Too many command line arguments"),
        (&["validate", "-json", "-json-into=x"], "Invalid output format"),
        (&["validate", "-json-into=no/such/dir"], "Invalid argument"),
        (&["validate", "-deprecation=some"], "invalid value \"some\" for -deprecation"),
        (&["validate", "-module-deprecation-warnings=x"], "invalid value \"x\" for -module-deprecation-warnings"),
        (&["validate", "-var", "x"], "Invalid -var option"),
        (&["validate", "-var-file", "x"], "Failed to read variables file"),
        (&["validate", "nowhere"], "Failed to read module directory"),
    ] {
        let run = sandbox("").run(args);
        assert!(run.code == 1 && run.stderr.contains(expected), "{args:?}: {run}");
    }
    for level in ["all", "module:local", "none", "module:none"] {
        assert_eq!(sandbox("").run(&["validate", &format!("-deprecation={level}")]).code, 0, "{level}");
    }
}

#[test]
fn odd_files_are_reported_not_fatal() {
    let sandbox = sandbox("//- main.tf/x\n//- ok.tf\nlocals {}\n");
    sandbox.write("bytes.tf", b"locals {\n  a = \"\xff\"\n}\n");
    let run = sandbox.run(&["validate"]);
    assert!(run.code == 1 && run.stderr.contains("Invalid character encoding"), "{run}");
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_or_in_circles() {
    let sandbox = sandbox("//- main.tf\nmodule \"a\" {\n  source = \"./a\"\n}\n//- a/main.tf\nlocals {}\n");
    std::os::unix::fs::symlink("nowhere.tf", sandbox.dir().join("link.tf")).expect("the sandbox is writable");
    let run = sandbox.run(&["validate"]);
    assert!(run.code == 1 && run.stderr.contains("Failed to read file"), "{run}");
    let sandbox = crate::sandbox("//- main.tf\nmodule \"a\" {\n  source = \"./a\"\n}\n");
    std::os::unix::fs::symlink(".", sandbox.dir().join("a")).expect("the sandbox is writable");
    let run = sandbox.run(&["validate"]);
    assert!(run.code == 1 && run.stderr.contains("Module calls itself"), "{run}");
}

#[test]
fn messages_about_a_string_point_at_its_content() {
    let sandbox = sandbox(
        "//- main.tf\noutput \"a\" {\n  value = 1\n  sensitive = \"yes\"\n}\n//- b.tf\noutput \"b\" {\n  value = 1\n  sensitive = <<EOT\nabc\nEOT\n}\n",
    );
    let told = sandbox.run(&["validate", "-json"]).stdout;
    let told = told.split_whitespace().collect::<String>();
    for range in [
        r#""start":{"line":3,"column":16,"byte":40},"end":{"line":3,"column":19,"byte":43}"#,
        r#""start":{"line":4,"column":1,"byte":45},"end":{"line":5,"column":1,"byte":49}"#,
    ] {
        assert!(told.contains(range), "{range} in {told}");
    }
}
