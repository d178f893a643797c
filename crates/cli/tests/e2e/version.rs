//! `version` in its spellings.

use expect_test::expect;

use crate::{check_refused, sandbox};

fn masked(args: &[&str]) -> String {
    let os = std::env::consts::OS.replace("macos", "darwin");
    let arch = std::env::consts::ARCH.replace("x86_64", "amd64").replace("aarch64", "arm64");
    let text = sandbox("").run(args).to_string();
    text.replace(&format!("{os}_{arch}"), "<platform>").replace(env!("CARGO_PKG_VERSION"), "<version>")
}

#[test]
fn version_names_itself_and_the_language() {
    let expected = expect![[r#"
        exit 0
        --- stdout
        Yuba v<version>
        on <platform>
        language level: OpenTofu v1.12.6
    "#]];
    for args in [&["version"][..], &["-version"], &["--version"], &["-v"], &["version", "ignored"], &["plan", "-v"]] {
        expected.assert_eq(&masked(args));
    }
}

#[cfg(unix)]
#[test]
fn version_of_a_link_that_stands_in_for_tofu() {
    let sandbox = sandbox("");
    for (name, first) in [("tofu", "OpenTofu v1.12.6"), ("terraform", "OpenTofu v1.12.6"), ("iac", "Yuba v<version>")] {
        let link = sandbox.dir().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_yuba"), &link).expect("the sandbox is writable");
        let output = std::process::Command::new(&link).arg("-version").output().expect("it is a program");
        let text = String::from_utf8_lossy(&output.stdout).replace(env!("CARGO_PKG_VERSION"), "<version>");
        assert_eq!(text.lines().next(), Some(first), "{name}");
        assert!(text.contains("Yuba v<version>\n"), "{text}");
    }
}

#[test]
fn version_as_json() {
    let expected = expect![[r#"
        exit 0
        --- stdout
        {
          "terraform_version": "1.12.6",
          "yuba_version": "<version>",
          "platform": "<platform>",
          "provider_selections": {}
        }
    "#]];
    for args in [&["version", "-json"][..], &["version", "--json=true"], &["version", "-json=1"]] {
        expected.assert_eq(&masked(args));
    }
}

#[test]
fn version_knows_the_lock_file() {
    let lock_file = r#"
//- .terraform.lock.hcl
provider "registry.opentofu.org/hashicorp/null" {
  version     = "3.2.3"
  constraints = ">= 1.0.0, ~> 3.2"
  hashes      = ["h1:a"]
}
provider "example.com/own/unversioned" {
  version = "0.0.0"
}
"#;
    let run = sandbox(lock_file).run(&["version"]).stdout;
    let selections: Vec<&str> = run.lines().filter(|line| line.starts_with('+')).collect();
    expect![[r#"
        + provider example.com/own/unversioned (unversioned)
        + provider registry.opentofu.org/hashicorp/null v3.2.3"#]]
    .assert_eq(&selections.join("\n"));
    let json = sandbox(lock_file).run(&["version", "-json"]).stdout;
    let selections = json.split_once("\"provider_selections\": ").expect("it exists").1;
    expect![[r#"
        {
            "example.com/own/unversioned": "0.0.0",
            "registry.opentofu.org/hashicorp/null": "3.2.3"
          }
        }
    "#]]
    .assert_eq(selections);
    // A file with errors selects nothing; other commands report the errors.
    let broken = sandbox("//- .terraform.lock.hcl\nprovider \"null\" {}\n").run(&["version", "-json"]);
    assert!(broken.stdout.contains("\"provider_selections\": {}") && broken.code == 0, "{broken}");
}

#[test]
fn version_refuses_what_it_does_not_know() {
    check_refused(
        &["version", "-jsno"],
        &["version"],
        &expect![[r#"

            Error: Failed to parse command-line flags

            flag provided but not defined: -jsno
            Did you mean -json?

        "#]],
    );
}
