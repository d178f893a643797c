//! `init`, `get` and `providers`: what they say, and what they leave behind.

use expect_test::expect;

use crate::{check, sandbox};

const MODULES: &str = r#"
//- main.tf
module "a" {
  source = "./a"
}
resource "terraform_data" "x" {}
//- a/main.tf
module "b" {
  source = "../b"
}
//- b/main.tf
output "o" {
  value = 1
}
"#;

#[test]
fn an_empty_directory_needs_nothing() {
    check(
        &["init"],
        &expect![[r#"
            exit 0
            --- stdout
            Yuba initialized in an empty directory!

            The directory contains no configuration files. Create configuration files to start working with Yuba.
        "#]],
    );
}

#[test]
fn modules_are_named_before_one_that_fails() {
    let sandbox = sandbox(
        r#"
//- main.tf
module "a" {
  source = "./a"
}
module "missing" {
  source = "./missing"
}
//- a/main.tf
"#,
    );
    expect![[r#"

        Initializing the backend...
        Initializing modules...
        - a in a
    "#]]
    .assert_eq(&sandbox.run(&["init"]).stdout);
    // Installed packages are not downloaded again.
    let recorded = r#"{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"a","Source":"./a","Dir":"a"}]}"#;
    assert_eq!(sandbox.read(".terraform/modules/modules.json"), recorded);
}

#[test]
fn init_records_modules_once() {
    let sandbox = sandbox(MODULES);
    expect![[r#"
        exit 0
        --- stdout

        Initializing the backend...
        Initializing modules...
        - a in a
        - a.b in b

        Initializing provider plugins...
        - terraform.io/builtin/terraform is built in to Yuba

        Yuba has been successfully initialized!

        You may now begin working with Yuba. If you add or change modules, providers
        or the backend, run this command again. Other commands remind you if it is
        necessary.
    "#]]
    .assert_eq(&sandbox.run(&["init"]).to_string());
    let manifest = sandbox.read(".terraform/modules/modules.json");
    expect![[r#"{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"a","Source":"./a","Dir":"a"},{"Key":"a.b","Source":"../b","Dir":"b"}]}"#]].assert_eq(&manifest);
    expect![[r#"
        exit 0
        --- stdout
        Initializing modules...

        Initializing provider plugins...
        - terraform.io/builtin/terraform is built in to Yuba

        Yuba has been successfully initialized!

        You may now begin working with Yuba. If you add or change modules, providers
        or the backend, run this command again. Other commands remind you if it is
        necessary.
    "#]]
    .assert_eq(&sandbox.run(&["init", "-backend=false"]).to_string());
    assert_eq!(sandbox.read(".terraform/modules/modules.json"), manifest);
    let upgraded = sandbox.run(&["init", "-upgrade"]).stdout;
    assert!(upgraded.contains("Upgrading modules...\n- a in a\n- a.b in b\n"), "{upgraded}");
}

#[test]
fn init_reports_the_same_as_json() {
    let run = sandbox(MODULES).run(&["init", "-json"]);
    let messages = run.stdout.lines().map(|line| {
        let message = line.split_once("\"@message\":\"").map_or(line, |(_, rest)| rest);
        message.split_once("\",\"@module\"").map_or(message, |(message, _)| message)
    });
    expect![[r#"
        Yuba <version>
        Initializing the backend...
        Initializing modules...
        installing a in a
        installing a.b in b
        Initializing provider plugins...
        terraform.io/builtin/terraform is built in to Yuba
        Yuba has been successfully initialized!
        You may now begin working with Yuba. If you add or change modules, providers or the backend, run this command again. Other commands remind you if it is necessary."#]].assert_eq(&messages.collect::<Vec<_>>().join("\n").replace(env!("CARGO_PKG_VERSION"), "<version>"));
}

#[test]
fn what_fails_leaves_nothing_behind() {
    for (fixture, args, expected) in [
        ("//- main.tf\nmodule \"a\" {\n  source = \"./nowhere\"\n}\n", &["init"][..], "Unreadable module directory"),
        ("//- main.tf\nmodule \"a\" {\n  source = \"./nowhere\"\n}\n", &["get"], "Unreadable module directory"),
        ("//- main.tf\nresource {}\n", &["init"], "There are problems with the configuration"),
        ("//- main.tf\nterraform {\n  backend \"oss\" {}\n}\n", &["init"], "Backend not available yet"),
        ("//- main.tf\nterraform {\n  backend \"s4\" {}\n}\n", &["init"], "Unsupported backend type"),
        ("//- main.tf\nlocals {}\n", &["init", "-from-module=x"], "The working directory already contains files"),
        ("//- main.tf\nlocals {}\n", &["init", "x"], "Unexpected argument"),
        ("//- main.tf\nlocals {}\n", &["init", "-backend=false", "-cloud=false"], "Wrong combination of options"),
        ("//- main.tf\nlocals {}\n", &["init", "-reconfigure", "-migrate-state"], "Wrong combination of options"),
    ] {
        let sandbox = sandbox(fixture);
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains(expected), "{args:?}: {run}");
        assert!(!sandbox.dir().join(".terraform").exists(), "{args:?}");
        assert!(!sandbox.dir().join(".terraform.lock.hcl").exists(), "{args:?}");
    }
}

#[test]
fn get_installs_modules_though_providers_are_wrong() {
    let fixture = "//- main.tf\nmodule \"a\" {\n  source = \"./a\"\n  count = 1\n}\n//- a/main.tf\nprovider \"aws\" {\n  x = 1\n}\n";
    let sandbox = sandbox(fixture);
    let run = sandbox.run(&["get"]);
    assert!(run.code == 0 && run.stdout.contains("Warning: Module is incompatible with count"), "{run}");
    assert!(sandbox.read(".terraform/modules/modules.json").contains("\"Key\":\"a\""));
    assert_eq!(sandbox.run(&["init", "-backend=false"]).code, 1);
}

#[test]
fn providers_are_shown_as_a_tree() {
    let fixture = r#"
//- main.tf
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 2.0, < 3"
    }
  }
}
module "a" {
  source = "./a"
}
//- a/main.tf
resource "terraform_data" "x" {}
resource "foo_x" "y" {}
"#;
    expect![[r#"
        exit 0
        --- stdout

        Providers required by configuration:
        .
        ├── provider[registry.opentofu.org/hashicorp/aws] >= 2.0.0, < 3.0.0
        └── module.a
            ├── provider[registry.opentofu.org/hashicorp/foo]
            └── provider[terraform.io/builtin/terraform]

    "#]]
    .assert_eq(&sandbox(fixture).run(&["providers"]).to_string());
    let run = sandbox("").run(&["providers"]);
    assert!(run.code == 1 && run.stderr.contains("No configuration files"), "{run}");
}
