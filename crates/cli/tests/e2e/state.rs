//! Commands that work on a state: what they leave on disk, and what programs get.

use expect_test::expect;

use crate::sandbox;

const STATE: &str = r#"
//- terraform.tfstate
{
  "version": 4,
  "terraform_version": "1.12.6",
  "serial": 3,
  "lineage": "l",
  "outputs": {"n": {"value": 1, "type": "number"}},
  "resources": [
    {
      "mode": "managed",
      "type": "terraform_data",
      "name": "a",
      "instances": [
        {
          "provider": "provider[\"terraform.io/builtin/terraform\"].by_region[\"eu\"]",
          "schema_version": 0,
          "attributes": {"id": "id-a"}
        }
      ]
    },
    {
      "mode": "managed",
      "type": "terraform_data",
      "name": "b",
      "provider": "provider[\"terraform.io/builtin/terraform\"]",
      "instances": [{"schema_version": 0, "attributes": {"id": "id-b"}, "dependencies": ["terraform_data.a"]}]
    }
  ]
}
"#;

/// The names of the backups and other files beside a state.
fn backups(sandbox: &yuba_testkit::Sandbox) -> Vec<String> {
    let entries = std::fs::read_dir(sandbox.dir()).expect("because the sandbox exists");
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.ends_with(".backup")).collect()
}

#[test]
fn a_move_keeps_the_instance_of_the_provider_and_a_backup() {
    let sandbox = sandbox(STATE);
    let before = sandbox.read("terraform.tfstate");
    assert_eq!(sandbox.run(&["state", "mv", "terraform_data.a", "module.m.terraform_data.z"]).code, 0);
    let [backup] = &backups(&sandbox)[..] else { panic!("{:?}", backups(&sandbox)) };
    assert!(backup.starts_with("terraform.tfstate.1") || backup.starts_with("terraform.tfstate.2"), "{backup}");
    assert_eq!(sandbox.read(backup), before);
    expect![[r#"
        {
          "version": 4,
          "terraform_version": "1.12.6",
          "serial": 4,
          "lineage": "l",
          "outputs": {
            "n": {
              "value": 1,
              "type": "number"
            }
          },
          "resources": [
            {
              "mode": "managed",
              "type": "terraform_data",
              "name": "b",
              "provider": "provider[\"terraform.io/builtin/terraform\"]",
              "instances": [
                {
                  "schema_version": 0,
                  "attributes": {
                    "id": "id-b"
                  },
                  "sensitive_attributes": []
                }
              ]
            },
            {
              "module": "module.m",
              "mode": "managed",
              "type": "terraform_data",
              "name": "z",
              "instances": [
                {
                  "provider": "provider[\"terraform.io/builtin/terraform\"].by_region[\"eu\"]",
                  "schema_version": 0,
                  "attributes": {
                    "id": "id-a"
                  },
                  "sensitive_attributes": []
                }
              ]
            }
          ],
          "check_results": null
        }

    "#]]
    .assert_eq(&sandbox.read("terraform.tfstate"));
}

#[test]
fn a_mark_and_another_provider_leave_the_instance_of_the_provider() {
    let sandbox = sandbox(STATE);
    let kept = r#"provider[\"terraform.io/builtin/terraform\"].by_region[\"eu\"]"#;
    assert_eq!(sandbox.run(&["taint", "terraform_data.a"]).code, 0);
    let tainted = sandbox.read("terraform.tfstate");
    assert!(tainted.contains(kept) && tainted.contains(r#""status": "tainted""#), "{tainted}");
    assert_eq!(backups(&sandbox), ["terraform.tfstate.backup"]);
    let args =
        ["state", "replace-provider", "-auto-approve", "-backup=b.json", "terraform.io/builtin/terraform", "a/b"];
    assert_eq!(sandbox.run(&args).code, 0);
    let replaced = sandbox.read("terraform.tfstate");
    assert!(replaced.contains(r#"provider[\"registry.opentofu.org/a/b\"].by_region[\"eu\"]"#), "{replaced}");
    assert_eq!(sandbox.read("b.json"), tainted);
}

#[test]
fn a_dry_run_and_an_error_change_nothing() {
    let sandbox = sandbox(STATE);
    let before = sandbox.read("terraform.tfstate");
    for args in [
        &["state", "mv", "-dry-run", "terraform_data.a", "terraform_data.z"][..],
        &["state", "rm", "-dry-run", "terraform_data.a"],
        &["state", "mv", "terraform_data.a", "terraform_data.b"],
        &["state", "push", "none.tfstate"],
        &["untaint", "terraform_data.a"],
    ] {
        sandbox.run(args);
        assert_eq!(sandbox.read("terraform.tfstate"), before, "{args:?}");
    }
    assert!(backups(&sandbox).is_empty());
}

#[test]
fn asking_before_providers_are_replaced() {
    let sandbox = sandbox(STATE);
    let args = ["state", "replace-provider", "terraform.io/builtin/terraform", "a/b"];
    let before = sandbox.read("terraform.tfstate");
    let run = sandbox.run_with(&args, b"no\n");
    assert!(run.stdout.ends_with("Enter a value: \nCancelled replacing providers.\n"), "{run}");
    assert_eq!((run.code, sandbox.read("terraform.tfstate")), (0, before));
    assert!(sandbox.run_with(&args, b"yes\n").stdout.ends_with("Successfully replaced provider for 2 resources.\n"));
}

#[test]
fn programs_get_lines_of_json() {
    let sandbox = sandbox(STATE);
    let messages = |args: &[&str]| {
        let run = sandbox.run(args);
        let lines = run.stdout.lines().filter_map(|line| line.split_once("\"@message\":\"")?.1.split("\",\"").next());
        format!("{} {:?} {:?}", run.code, lines.skip(1).collect::<Vec<_>>(), run.stderr)
    };
    assert_eq!(messages(&["state", "list", "-json"]), r#"0 ["terraform_data.a", "terraform_data.b"] """#);
    assert_eq!(messages(&["state", "rm", "-json", "x.y"]), r#"1 ["Error: Invalid target address"] """#);
    let moved = messages(&["state", "mv", "-json", "terraform_data.a", "terraform_data.c"]);
    assert!(moved.contains("Successfully moved 1 object(s)"), "{moved}");
    assert_eq!(messages(&["workspace", "list", "-json"]), r#"0 ["list of workspaces"] """#);
}

#[test]
fn a_state_of_another_backend_is_not_forgotten() {
    let sandbox = sandbox("//- .terraform/terraform.tfstate\n{\"version\": 3, \"backend\": {\"type\": \"oss\"}}\n");
    expect![[r#"
        exit 1
        --- stderr

        Error: Backend initialization required, please run "yuba init"

        The last "yuba init" in this working directory used the backend "oss" for the
        state. The configuration now has no backend. This version of Yuba does not
        support that backend and cannot migrate the state. Run "tofu init
        -migrate-state" to migrate the state. If the state is no longer needed,
        remove the file .terraform/terraform.tfstate.
    "#]]
    .assert_eq(&sandbox.run(&["output", "-no-color"]).to_string());
}

#[test]
fn flags_that_make_no_sense() {
    let sandbox = sandbox(STATE);
    for (args, title) in [
        (&["state", "rm", "-lock-timeout=soon", "terraform_data.a"][..], "Failed to parse command-line flags"),
        (&["output", "-json", "-raw", "n"], "Invalid output format"),
        (&["show", "-config"], "JSON output required for configuration"),
        (&["show", "-state", "-plan=p"], "Conflicting object types to show"),
        (&["workspace", "list", "x"], "Unexpected argument"),
        (&["force-unlock"], "Wrong number of arguments"),
        (&["force-unlock", "x"], "State locked by another local process"),
        (&["force-unlock", "-force", "x"], "Failed to unlock state: LocalState not locked"),
        (&["plan", "-parallelism=-1"], "Invalid parallelism value"),
        (&["import", "-parallelism=x", "a.b", "c"], "Failed to parse command-line flags"),
    ] {
        let run = sandbox.run(args);
        assert!(run.code == 1 && run.stderr.contains(&format!("Error: {title}")), "{args:?} {run}");
    }
    let sandbox = sandbox.env("TF_WORKSPACE", "a/b");
    assert!(sandbox.run(&["state", "list"]).stderr.contains("Error: Error selecting workspace"));
}

#[test]
fn a_refresh_after_a_move_is_not_a_change() {
    let moved =
        "resource \"terraform_data\" \"c\" {}\nmoved {\n  from = terraform_data.b\n  to = terraform_data.c\n}\n";
    let state = STATE.replace(".by_region[\\\"eu\\\"]", "");
    let sandbox = sandbox(&format!(
        "{state}//- main.tf\noutput \"n\" {{\n  value = 1\n}}\nresource \"terraform_data\" \"a\" {{}}\n{moved}"
    ));
    let plan = sandbox.run(&["plan", "-refresh-only", "-detailed-exitcode"]);
    assert_eq!(plan.code, 0, "{plan}");
    assert!(plan.stdout.contains("terraform_data.b has moved to terraform_data.c"), "{plan}");
    assert_eq!(sandbox.run(&["plan", "-detailed-exitcode"]).code, 2);
}
