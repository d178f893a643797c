//! `yuba doctor`: what it reports, what it leaves out, and its exit code.

use expect_test::expect;
use yuba_testkit::Run;

use crate::sandbox;

/// The lines of one section.
fn section<'r>(run: &'r Run, title: &str) -> &'r str {
    let start = run.stdout.find(&format!("{title}\n")).unwrap_or_else(|| panic!("{title}: {run}"));
    let rest = &run.stdout[start..];
    &rest[..rest.find("\n\n").map_or(rest.len(), |end| end + 1)]
}

#[test]
fn a_directory_without_problems() {
    let sandbox = sandbox("//- main.tf\nresource \"terraform_data\" \"a\" {}\n//- x.auto.tfvars\n");
    let run = sandbox.run(&["doctor"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
    expect![[r"
        Configuration
          files              main.tf
          variable files     x.auto.tfvars
          test files         0
          module calls       0
          installed modules  0
          errors             0
          warnings           0
    "]]
    .assert_eq(section(&run, "Configuration"));
    expect![[r"
        Providers
          terraform.io/builtin/terraform
            required   any version
            locked     no
            installed  built in
    "]]
    .assert_eq(section(&run, "Providers"));
    expect![[r"
        CLI configuration
          files                   ~/.tofurc (default file, not found or not readable)
          provider installation   default
          hosts with credentials  0
          credentials file        none
          credentials helper      no
    "]]
    .assert_eq(section(&run, "CLI configuration"));
    assert!(run.stdout.ends_with("\nNo problems found.\n"), "{run}");
    assert!(!sandbox.dir().join(".terraform").exists(), "it changes nothing");
}

#[test]
fn problems_are_listed_with_what_to_do() {
    let sandbox = sandbox(
        r#"
//- main.tf
terraform {
  required_providers {
    aws = { source = "hashicorp/aws", version = "~> 5.0" }
    dns = { source = "hashicorp/dns" }
  }
  backend "http" {
    address  = "http://localhost:1"
    password = "hunter2"
  }
}
resource "terraform_data" "a" {
  inputt = "hunter2"
}
//- .terraform.lock.hcl
provider "registry.opentofu.org/hashicorp/aws" {
  version = "4.0.0"
}
//- errored.tfstate
{}
"#,
    )
    .env("TF_DATADIR", "x");
    let run = sandbox.run(&["doctor"]);
    assert_eq!(run.code, 1);
    expect![[r#"
        Problems
          Error: Provider is not installed
            The lock file selects hashicorp/aws 4.0.0, which is not in the data
            directory. Run "yuba init".
          Error: Locked provider version does not match
            The lock file selects hashicorp/aws 4.0.0, which the configuration does
            not accept. Run "yuba init -upgrade".
          Error: Provider is not in the dependency lock file
            The configuration requires hashicorp/dns, and the lock file has no version
            of it. Run "yuba init".
          Error: Backend initialization required, please run "yuba init"
            Run "yuba state list" to see the details.
          Error: A state was not saved
            An earlier run failed to save its state and wrote it to errored.tfstate in
            the working directory. Run "yuba state push errored.tfstate", then remove
            the file.
          Warning: Environment variable is not used
            Yuba does not read the environment variable TF_DATADIR. Did you mean
            TF_DATA_DIR?
    "#]]
    .assert_eq(section(&run, "Problems"));
    expect![[r"
        Backend
          type              http
          arguments set     address, password
          initialized type  none
          is initialized    no
          reachable         not checked (-check-backend)
    "]]
    .assert_eq(section(&run, "Backend"));
    assert!(run.stdout.ends_with("\n5 errors, 1 warning.\n"), "{run}");
    assert!(!run.stdout.contains("hunter2"), "{run}");
}

#[test]
fn programs_get_an_object_with_the_same_facts() {
    let sandbox = sandbox("//- main.tf\nvariable \"x\" {\n  default = \"hunter2\n}\n")
        .env("TF_VAR_secret", "hunter2")
        .env("TF_LOG_CORE", "off");
    let run = sandbox.run(&["doctor", "-json"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{run}");
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    assert_eq!(json["format_version"], "1.0");
    assert_eq!(json["environment"]["TF_VAR_secret"], "(not shown)");
    assert_eq!(json["environment"]["TF_LOG_CORE"], "off");
    assert_eq!(json["configuration"]["files"], serde_json::json!(["main.tf"]));
    assert_eq!(json["workspace"]["name"], "default");
    let problem = &json["problems"][0];
    assert_eq!((&problem["severity"], &problem["location"]), (&"error".into(), &"main.tf line 2".into()), "{run}");
    assert_eq!(problem["detail"], serde_json::Value::Null);
    assert!(!run.stdout.contains("hunter2"), "{run}");
    assert!(!run.stdout.contains("<home>"), "{run}");
}

#[cfg(unix)]
#[test]
fn locks_journals_and_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = sandbox("//- main.tf\nresource \"terraform_data\" \"a\" {}\n");
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    let lock = r#"{"ID":"d5b1e1c0-0000-4000-8000-000000000000","Operation":"OperationTypeApply","Info":"pid 4194305","Who":"ann@elsewhere","Version":"1.12.6","Created":"2025-11-16T00:40:05Z","Path":""}"#;
    sandbox.write(".terraform.tfstate.lock.info", lock);
    let chmod = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the test owns the file");
    };
    let caches = sandbox.home().join(".cache/yuba");
    std::fs::create_dir_all(caches.join("sums")).expect("the sandbox is writable");
    chmod(&caches.join("sums"), 0o777);
    let run = sandbox.run(&["doctor"]);
    assert_eq!(run.code, 0, "{run}");
    let problems = section(&run, "Problems");
    assert!(problems.contains("Warning: A process ended without releasing the state lock\n"), "{problems}");
    assert!(problems.contains("Process 4194305 left its record of the state lock."), "{problems}");
    assert!(problems.contains("~/.cache/yuba/sums"), "{problems}");
    assert!(!run.stdout.contains("ann@"), "{run}");
    let state = section(&run, "State");
    assert!(state.contains("\n    held                no\n"), "{state}");
    assert!(state.contains("\n    process             4194305\n"), "{state}");
    assert!(section(&run, "Caches").contains("~/.cache/yuba/sums (0777, writable), not used\n"), "{run}");
}

#[test]
fn the_backend_is_read_on_request_only() {
    let sandbox =
        sandbox("//- main.tf\nresource \"terraform_data\" \"a\" {}\n//- terraform.tfstate\n{\"version\": 99}\n");
    assert_eq!(sandbox.run(&["doctor"]).code, 0);
    let run = sandbox.run(&["doctor", "-check-backend"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(section(&run, "Backend").contains("reachable         no\n"), "{run}");
}

#[test]
fn arguments_are_refused() {
    assert_eq!(sandbox("").run(&["doctor", "x"]).code, 1);
}
