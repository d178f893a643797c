//! `yuba fmt` on files, directories and standard input.

use expect_test::{Expect, expect};
use yuba_testkit::Sandbox;

use crate::sandbox;

/// A file of each kind that has a canonical form, one that is in it, and what a listing passes over.
const FILES: &str = "\
//- a.tf
a=1
//- b.tofu
b=1
//- c.tfvars
c=1
//- d.tftest.hcl
d=1
//- e.tofutest.hcl
e=1
//- ok.tf
ok = 1
//- other.hcl
x=1
//- a.tf.json
{}
//- .hidden.tf
x=1
//- backup.tf~
x=1
//- .terraform/modules/m.tf
x=1
//- m/main.tf
m=1
//- m/deep/main.tf
m=1
";

fn check(sandbox: &Sandbox, args: &[&str], stdin: &str, expect: &Expect) {
    let args: Vec<&str> = std::iter::once("fmt").chain(args.iter().copied()).collect();
    expect.assert_eq(&sandbox.run_with(&args, stdin.as_bytes()).to_string());
}

#[test]
fn files_of_a_directory_are_listed_and_written() {
    let sandbox = sandbox(FILES);
    check(
        &sandbox,
        &[],
        "",
        &expect![[r#"
            exit 0
            --- stdout
            a.tf
            b.tofu
            c.tfvars
            d.tftest.hcl
            e.tofutest.hcl
        "#]],
    );
    assert_eq!(sandbox.read("a.tf"), "a = 1\n");
    assert_eq!(sandbox.read("e.tofutest.hcl"), "e = 1\n");
    for untouched in ["other.hcl", ".hidden.tf", "backup.tf~", ".terraform/modules/m.tf"] {
        assert_eq!(sandbox.read(untouched), "x=1\n", "{untouched}");
    }
    assert_eq!(sandbox.read("m/main.tf"), "m=1\n");
    check(
        &sandbox,
        &["-recursive"],
        "",
        &expect![[r#"
            exit 0
            --- stdout
            m/deep/main.tf
            m/main.tf
        "#]],
    );
    check(&sandbox, &["-recursive", "-check"], "", &expect![["exit 0\n"]]);
}

#[test]
fn targets_are_files_and_directories() {
    let sandbox = sandbox(FILES);
    check(
        &sandbox,
        &["-write=false", "./m/../.hidden.tf", "m", "ok.tf"],
        "",
        &expect![[r#"
            exit 0
            --- stdout
            .hidden.tf
            m/main.tf
        "#]],
    );
    assert_eq!(sandbox.read("m/main.tf"), "m=1\n");
    check(
        &sandbox,
        &["-write=false", "-list=false", "a.tf", "ok.tf"],
        "",
        &expect![[r#"
            exit 0
            --- stdout
            a = 1
            ok = 1
        "#]],
    );
}

#[test]
fn check_writes_nothing_and_exits_with_3() {
    let sandbox = sandbox(FILES);
    check(&sandbox, &["-check", "a.tf", "ok.tf"], "", &expect![["exit 3\n--- stdout\na.tf\n"]]);
    check(&sandbox, &["-check", "-list=false", "a.tf"], "", &expect![["exit 3\n"]]);
    check(&sandbox, &["-check", "ok.tf"], "", &expect![["exit 0\n"]]);
    check(&sandbox, &["-check", "-"], "a=1\n", &expect![["exit 3\n"]]);
    assert_eq!(sandbox.read("a.tf"), "a=1\n");
}

#[test]
fn diffs_are_unified() {
    let sandbox = sandbox("//- a.tf\na=1\nb = 2\n\nc = 3\n\nd = 4\n\ne = 5\n\nx   {}\n");
    check(
        &sandbox,
        &["-diff", "-write=false"],
        "",
        &expect![[r#"
            exit 0
            --- stdout
            a.tf
            --- old/a.tf
            +++ new/a.tf
            @@ -1,4 +1,4 @@
            -a=1
            +a = 1
             b = 2
             
             c = 3
            @@ -7,4 +7,4 @@
             
             e = 5
             
            -x   {}
            +x {}
        "#]],
    );
    check(
        &sandbox,
        &["-diff", "-"],
        "a=1",
        &expect![[r#"
            exit 0
            --- stdout
            --- old/<stdin>
            +++ new/<stdin>
            @@ -1 +1 @@
            -a=1
            \ No newline at end of file
            +a = 1
            \ No newline at end of file
        "#]],
    );
}

#[test]
fn standard_input_goes_to_standard_output() {
    let sandbox = sandbox("");
    check(&sandbox, &["-"], "a=1\nbcd=2", &expect![["exit 0\n--- stdout\na   = 1\nbcd = 2<no line end>\n"]]);
    check(&sandbox, &["-write", "-"], "", &expect![["exit 0\n"]]);
    check(
        &sandbox,
        &["-"],
        "resource \"a\" \"b\" {\n  x = \n}\n",
        &expect![[r#"
            exit 2
            --- stderr

            Error: Invalid expression

              on <stdin> line 2, in resource "a" "b":
               2:   x = 
               3: }

            An expression is required here, but this cannot start one.

        "#]],
    );
}

#[test]
fn a_file_with_errors_is_left_alone_and_the_others_are_formatted() {
    let sandbox = sandbox("//- a.tf\nx=1\n//- b.tf\nx=\n//- c.tf\nx=1\n");
    check(
        &sandbox,
        &[],
        "",
        &expect![[r#"
            exit 2
            --- stdout
            a.tf
            c.tf
            --- stderr

            Error: Invalid expression

              on b.tf line 1:
               1: x=

            An expression is required here, but this cannot start one.

        "#]],
    );
    assert_eq!((sandbox.read("b.tf"), sandbox.read("c.tf")), ("x=\n".to_owned(), "x = 1\n".to_owned()));
}

#[test]
fn targets_that_cannot_be_formatted() {
    let sandbox = sandbox(FILES);
    check(
        &sandbox,
        &["other.hcl", "a.tf.json", "nowhere.tf", "a.tf"],
        "",
        &expect![[r#"
            exit 2
            --- stderr

            Error: Invalid file extension

            Cannot format other.hcl: supported file extensions are .tf, .tofu, .tfvars,
            .tftest.hcl and .tofutest.hcl.


            Error: Invalid file extension

            Cannot format a.tf.json: supported file extensions are .tf, .tofu, .tfvars,
            .tftest.hcl and .tofutest.hcl. Configuration in JSON syntax has no canonical
            style.


            Error: Invalid file or directory path

            File or directory nowhere.tf does not exist.

        "#]],
    );
    assert_eq!(sandbox.read("a.tf"), "a=1\n");
}

#[cfg(unix)]
#[test]
fn links_are_written_through_and_modes_preserved() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let sandbox = sandbox("//- real.txt\na=1\n");
    let (real, link) = (sandbox.dir().join("real.txt"), sandbox.dir().join("a.tf"));
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o604)).unwrap();
    symlink("real.txt", &link).unwrap();
    symlink("nowhere", sandbox.dir().join("b.tf")).unwrap();
    check(
        &sandbox,
        &[],
        "",
        &expect![[r#"
            exit 2
            --- stdout
            a.tf
            --- stderr

            Error: Failed to open file

            Failed to open b.tf: it does not exist.

        "#]],
    );
    assert!(link.is_symlink());
    assert_eq!(sandbox.read("real.txt"), "a = 1\n");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o604);
    assert_eq!(std::fs::read_dir(sandbox.dir()).unwrap().count(), 3);
}
