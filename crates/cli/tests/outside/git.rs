//! Modules and symbol libraries from git repositories.

use std::process::Command;

use expect_test::expect;
use yuba_testkit::Sandbox;

/// Makes a repository of the directory `repo`, with a tag.
fn commit(sandbox: &Sandbox) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(args);
        command.current_dir(sandbox.dir().join("repo")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.output().is_ok_and(|output| output.status.success())
    };
    assert!(git(&["init", "-q"]) && git(&["add", "-A"]) && git(&["commit", "-q", "-m", "x"]) && git(&["tag", "v1"]));
}

/// A module comes from a directory of a repository, at a tag.
pub(crate) fn repositories_are_modules() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "//- repo/x/main.tf\noutput \"v\" {\n  value = 1\n}\n");
    commit(&sandbox);
    let repo = sandbox.dir().join("repo").display().to_string();
    let call = |name: &str| format!("module \"{name}\" {{\n  source = \"git::file://{repo}//x?ref=v1\"\n}}\n");
    sandbox.write("main.tf", format!("{}{}", call("a"), call("b")));
    let run = sandbox.run(&["get", "-no-color"]);
    expect![[r#"
        exit 0
        --- stdout
        Downloading git::file://<dir>/repo?ref=v1 for a...
        - a in .terraform/modules/a/x
        Downloading git::file://<dir>/repo?ref=v1 for b...
        - b in .terraform/modules/b/x
    "#]]
    .assert_eq(&run.to_string());
}

/// A symbol library comes from a directory of a repository, and includes another one of the repository.
pub(crate) fn repositories_are_libraries() {
    let sandbox = Sandbox::new(
        env!("CARGO_BIN_EXE_yuba"),
        "//- repo/lib/x.sym.hcl\nsymbols \"other\" {\n  source = \"../other\"\n}\nvalues {\n  v = symbols.other.v\n}\n\
         //- repo/other/y.sym.hcl\nvalues {\n  v = \"from git\"\n}\n",
    );
    commit(&sandbox);
    let repo = sandbox.dir().join("repo").display().to_string();
    sandbox.write("main.tf", format!("symbols \"l\" {{\n  source = \"git::file://{repo}//lib?ref=v1\"\n}}\n"));
    let run = sandbox.run(&["get", "-no-color"]);
    expect![[r#"
        exit 0
        --- stdout
        Downloading git::file://<dir>/repo?ref=v1 for symbols:l...
        - symbols:l in .terraform/modules/symbols@l/lib
    "#]]
    .assert_eq(&run.to_string());
    let run = sandbox.run_with(&["console"], b"symbols.l.v\n");
    assert_eq!(run.stdout, "\"from git\"\n", "{run}");
}
