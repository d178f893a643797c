//! Files that are damaged, foreign or in use, and requests that make no sense: a clear error, and nothing is lost.

use crate::sandbox;
use yuba_testkit::Sandbox;

const MAIN: &str = "//- main.tf\nresource \"terraform_data\" \"a\" {\n  input = \"x\"\n}\n";

/// A sandbox with one object.
fn applied() -> Sandbox {
    let sandbox = sandbox(MAIN);
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    sandbox
}

/// Refused with this title, and the state is what it was.
#[track_caller]
fn check_refused(sandbox: &Sandbox, args: &[&str], title: &str) {
    let before = sandbox.read("terraform.tfstate");
    let run = sandbox.run(args).to_string();
    assert!(run.starts_with("exit 1\n") && run.contains(title), "{run}");
    assert_eq!(sandbox.read("terraform.tfstate"), before);
}

#[test]
fn a_damaged_state() {
    let sandbox = applied();
    let good = sandbox.read("terraform.tfstate");
    let title = "Error: Unsupported state file format";
    for cut in [1, good.len() / 2, good.len() - 3] {
        sandbox.write("terraform.tfstate", &good[..cut]);
        check_refused(&sandbox, &["apply", "-auto-approve"], title);
    }
    sandbox.write("terraform.tfstate", good.replace("\"version\": 4", "\"version\": 5"));
    check_refused(&sandbox, &["apply", "-auto-approve"], title);
    sandbox.write("terraform.tfstate", good.replace("\"lineage\"", "\"lin\u{0}age\""));
    check_refused(&sandbox, &["apply", "-auto-approve"], title);
    // Whatever bit is wrong, it ends with an answer.
    for at in (0..good.len()).step_by(97) {
        let mut bytes = good.clone().into_bytes();
        bytes[at] ^= 4;
        sandbox.write("terraform.tfstate", &bytes);
        let run = sandbox.run(&["plan"]).to_string();
        assert!(run.starts_with("exit 0\n") || run.starts_with("exit 1\n"), "byte {at}: {run}");
    }
}

#[test]
fn a_damaged_or_foreign_plan() {
    let sandbox = applied();
    sandbox.write("main.tf", MAIN.replace("//- main.tf\n", "").replace("\"x\"", "\"y\""));
    assert_eq!(sandbox.run(&["plan", "-out=plan"]).code, 0);
    let plan = std::fs::read(sandbox.dir().join("plan")).expect("there is a plan");
    let title = "Error: Failed to load \"changed\" as a plan file";
    // A byte of the plan itself, one of a state, and the last one, which makes the end of the archive unreadable.
    let in_state = plan.windows(7).position(|bytes| bytes == b"tfstate").expect("there is an entry") + 10;
    for (at, flipped) in
        [(40, "Error: Failed to read plan"), (in_state, "Error: Failed to read plan"), (plan.len() - 1, title)]
    {
        let mut bytes = plan.clone();
        bytes[at] ^= 1;
        sandbox.write("changed", &bytes);
        check_refused(&sandbox, &["apply", "changed"], flipped);
        sandbox.write("changed", &plan[..at]);
        check_refused(&sandbox, &["apply", "changed"], title);
    }
    let other = applied();
    other.write("plan", &plan);
    check_refused(&other, &["apply", "plan"], "Error: Saved plan does not match the given state");
    assert_eq!(sandbox.run(&["apply", "-auto-approve"]).code, 0);
    check_refused(&sandbox, &["apply", "plan"], "Error: Saved plan is stale");
}

/// An archive with one entry.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file(name, zip::write::SimpleFileOptions::default()).expect("memory can be written");
    std::io::Write::write_all(&mut writer, content).expect("memory can be written");
    writer.finish().expect("memory can be written").into_inner()
}

#[test]
fn a_plan_of_another_program_or_version() {
    let sandbox = applied();
    // The beginning of what OpenTofu 1.12.6 writes: the version of the format, and its own.
    sandbox.write("theirs", archive("tfplan", b"\x08\x03\x72\x061.12.6"));
    sandbox.write("older", archive("tfplan", b"yuba plan 3 0.0.1\nrest"));
    sandbox.write("oldest", b"yuba plan 1\nrest");
    sandbox.write("other.zip", archive("main.tf", b""));
    for (file, title, says) in [
        ("theirs", "Failed to read plan from plan file", "written by OpenTofu or Terraform 1.12.6"),
        ("older", "Failed to read plan from plan file", "written by Yuba 0.0.1, and this is Yuba"),
        ("oldest", "Failed to read plan from plan file", "has format 1, and this version of Yuba reads format 3 only"),
        ("other.zip", "Failed to load \"other.zip\" as a plan file", "the file is not a plan file"),
    ] {
        let said = |args: &[&str]| sandbox.run(args).to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let applied = said(&["apply", file]);
        assert!(applied.contains(&format!("Error: {title}")) && applied.contains(says), "{applied}");
        let shown = said(&["show", file]);
        match file {
            "other.zip" => assert!(shown.contains("Failed to read the given file as a state or plan file"), "{shown}"),
            _ => assert!(shown.contains("Error: Couldn't show local plan") && shown.contains(says), "{shown}"),
        }
        assert!(said(&["show", &format!("-plan={file}")]).contains(says));
    }
}

#[test]
fn a_number_of_instances_that_is_not_known() {
    let fixture = "//- main.tf\nresource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  \
                   count = length(terraform_data.a.id)\n}\n";
    let run = sandbox(fixture).run(&["apply", "-auto-approve"]).to_string();
    assert!(run.starts_with("exit 1\n") && run.contains("Error: Invalid count argument"), "{run}");
}

#[test]
fn a_stale_lock() {
    let sandbox = applied();
    let info = r#"{"ID":"1b2c3d4e-0000-4000-8000-000000000000","Operation":"OperationTypeApply","Info":"",
        "Who":"me@nowhere","Version":"1.12.6","Created":"2020-01-01T00:00:00Z","Path":"terraform.tfstate"}"#;
    sandbox.write(".terraform.tfstate.lock.info", info);
    let run = sandbox.run(&["apply", "-auto-approve"]).to_string();
    assert!(run.starts_with("exit 0\n"), "{run}");
    assert!(run.contains("Warning: A previous run ended without releasing its lock"), "{run}");
    assert!(run.contains("host nowhere"), "{run}");
}

#[cfg(unix)]
#[test]
fn a_second_process_while_the_first_one_applies() {
    let fixture = "//- main.tf\nresource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"touch \
                   begun; read line < door\"\n  }\n}\n";
    let sandbox = sandbox(fixture);
    let made = std::process::Command::new("mkfifo").arg(sandbox.dir().join("door")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let mut first = sandbox.command(&["apply", "-auto-approve"]);
    let mut first = first.stdout(std::process::Stdio::null()).spawn().expect("it can be started");
    while !sandbox.dir().join("begun").exists() {
        assert!(first.try_wait().is_ok_and(|ended| ended.is_none()), "the first process has ended");
        std::thread::yield_now();
    }
    let second = sandbox.run(&["apply", "-auto-approve"]).to_string();
    sandbox.write("door", "go on\n");
    assert!(first.wait().is_ok_and(|status| status.success()));
    assert!(second.starts_with("exit 1\n") && second.contains("Error: Error acquiring the state lock"), "{second}");
    assert!(sandbox.read("terraform.tfstate").contains("\"terraform_data\""));
}

#[cfg(unix)]
#[test]
fn a_state_directory_that_vanishes() {
    let fixture = "//- main.tf\nterraform {\n  backend \"local\" {\n    path = \"kept/terraform.tfstate\"\n  \
                   }\n}\nresource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"rm -rf kept && \
                   touch kept\"\n  }\n}\n";
    let sandbox = sandbox(fixture);
    assert_eq!(sandbox.run(&["init"]).code, 0);
    let run = sandbox.run(&["apply", "-auto-approve"]).to_string();
    assert!(run.starts_with("exit 1\n") && run.contains("errored.tfstate"), "{run}");
    assert!(sandbox.read("errored.tfstate").contains("\"terraform_data\""));
}

#[test]
fn a_long_string() {
    let fixture = "//- main.tf\nresource \"terraform_data\" \"a\" {\n  input = join(\"\", [for i in range(1000) : \
                   format(\"%04096d\", i)])\n}\n";
    let sandbox = sandbox(fixture);
    let run = sandbox.run(&["apply", "-auto-approve"]).to_string();
    assert!(run.starts_with("exit 0\n"), "{}", &run[..200]);
    let again = sandbox.run(&["plan", "-detailed-exitcode"]).to_string();
    assert!(again.starts_with("exit 0\n"), "{}", &again[..200]);
}

#[cfg(unix)]
#[test]
fn a_kill_while_a_provisioner_runs() {
    let fixture = "//- main.tf\nresource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"touch \
                   begun; exec sleep 9\"\n  }\n}\n";
    let sandbox = sandbox(fixture);
    let mut first = sandbox.command(&["apply", "-auto-approve"]);
    let mut first = first.stdout(std::process::Stdio::null()).spawn().expect("it can be started");
    while !sandbox.dir().join("begun").exists() {
        assert!(first.try_wait().is_ok_and(|ended| ended.is_none()), "the process has ended");
        std::thread::yield_now();
    }
    first.kill().expect("it can be killed");
    assert!(first.wait().is_ok());
    let plan = sandbox.run(&["plan"]).to_string();
    for part in ["terraform_data.a (create)", "terraform_data.a is tainted", "1 to add, 0 to change, 1 to destroy"] {
        assert!(plan.starts_with("exit 0\n") && plan.contains(part), "{part} is missing: {plan}");
    }
}

#[test]
fn a_cycle_that_only_instances_have() {
    let fixture = "//- main.tf\nresource \"terraform_data\" \"a\" {\n  for_each = toset([\"x\", \"y\"])\n  input    = \
                   each.key == \"x\" ? 1 : terraform_data.b[\"x\"].id\n}\nresource \"terraform_data\" \"b\" {\n  for_each = \
                   toset([\"x\", \"y\"])\n  input    = each.key == \"x\" ? 1 : terraform_data.a[\"x\"].id\n}\n";
    let run = sandbox(fixture).run(&["apply", "-auto-approve"]).to_string();
    assert!(run.starts_with("exit 1\n") && run.contains("Error: Cycle: terraform_data.a, terraform_data.b"), "{run}");
}
