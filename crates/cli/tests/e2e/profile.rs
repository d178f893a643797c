//! `-profile`: a trace of the run, whatever comes of it.

use std::collections::BTreeSet;

use expect_test::expect;

use crate::sandbox;
use crate::trace_events::{named, only, slices};

const FIVE: &str = "//- main.tf\nresource \"terraform_data\" \"a\" {\n  count = 5\n  input = count.index\n}\n";

#[test]
fn phases_nest_and_every_planned_instance_has_a_slice() {
    let s = sandbox(FIVE);
    let plain = s.run(&["plan"]);
    assert_eq!(s.run(&["plan", "-profile=p.json"]), plain, "the output is the same");
    let all = slices(&s, "p.json");
    let command = only(&all, "command");
    assert_eq!(command.args["name"], "plan");
    for phase in ["load configuration", "validate configuration", "lock state", "read state", "plan", "unlock state"] {
        assert!(command.contains(only(&all, phase)), "{phase}");
    }
    assert!(only(&all, "load configuration").contains(only(&all, "parse module")));
    let instances = named(&all, "plan instance");
    let addresses: BTreeSet<&str> = instances.iter().filter_map(|slice| slice.args["address"].as_str()).collect();
    assert_eq!((instances.len(), addresses.len()), (5, 5), "{instances:?}");
    assert!(addresses.contains("terraform_data.a[4]"));
    let plan = only(&all, "plan");
    assert!(instances.iter().all(|instance| plan.contains(instance)));

    assert_eq!(s.run(&["apply", "-auto-approve", "-profile", "p.json"]).code, 0);
    let all = slices(&s, "p.json");
    let operations = named(&all, "apply operation");
    assert_eq!(operations.len(), 5);
    assert!(operations.iter().all(|slice| slice.args["action"] == "Create" && only(&all, "apply").contains(slice)));
    assert!(only(&all, "save state").contains(only(&all, "write state snapshot")));
}

#[test]
fn a_failed_command_has_a_profile_too() {
    let s = sandbox("//- main.tf\nlocals {\n  a = local.b\n}\n");
    assert_eq!(s.run(&["validate", "-profile=p.json"]).code, 1);
    let all = slices(&s, "p.json");
    assert!(only(&all, "command").contains(only(&all, "load configuration")));
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_before_anything_happens() {
    let s = sandbox(FIVE);
    let run = s.run(&["apply", "-auto-approve", "-profile=missing/p.json"]);
    expect![[r#"
        exit 1
        --- stderr

        Error: Failed to create profile

        Failed to create the file "missing/p.json" of -profile: No such file or
        directory (os error 2). Name a file in an existing directory that you can
        write to.
    "#]]
    .assert_eq(&run.to_string());
    assert!(!s.dir().join("terraform.tfstate").exists());
}

/// A signal that nothing handles ends the process, and the profile says what was open.
#[cfg(unix)]
#[test]
fn an_interrupted_command_has_a_complete_profile() {
    use std::io::Read as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};

    let s = sandbox("//- main.tf\nvariable \"a\" {}\n");
    let mut command = s.command(&["plan", "-profile=p.json"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("because the program was built");
    let mut said = Vec::new();
    let mut stderr = child.stderr.take().expect("because it is a pipe");
    while !said.ends_with(b"Enter a value: ") {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).ok(), Some(1), "{}", String::from_utf8_lossy(&said));
        said.extend(byte);
    }
    // Waiting closes standard input unless it is taken. The command would read its end as the answer, and could exit before
    // it handles the signal.
    let stdin = child.stdin.take();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    let status = child.wait().expect("because it was started");
    drop(stdin);
    assert_eq!(status.signal(), Some(2), "{status}");
    let all = slices(&s, "p.json");
    assert_eq!(only(&all, "command").args["unfinished"], true);
}
