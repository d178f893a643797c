//! Plan files name their backend, and applying them uses it; waiting for a lock.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use yuba_testkit::Sandbox;

use crate::sandbox;

fn with_backend(path: &str) -> String {
    format!("terraform {{\n  backend \"local\" {{\n    path = \"{path}\"\n  }}\n}}\noutput \"o\" {{\n  value = 1\n}}\n")
}

fn planned() -> Sandbox {
    let sandbox = sandbox("");
    sandbox.write("main.tf", with_backend("a.tfstate"));
    for args in [&["init", "-backend-config=path=given.tfstate"][..], &["plan", "-out=saved"]] {
        let run = sandbox.run(args);
        assert_eq!(run.code, 0, "{run}");
    }
    sandbox
}

#[test]
fn a_saved_plan_uses_the_backend_it_was_made_with() {
    let sandbox = planned();
    // Neither the record nor the block of today matters.
    std::fs::remove_dir_all(sandbox.dir().join(".terraform")).expect("init has made it");
    sandbox.write("main.tf", with_backend("b.tfstate"));
    let run = sandbox.run(&["apply", "-no-color", "saved"]);
    assert!(run.code == 0 && run.stdout.contains("Apply complete!"), "{run}");
    assert!(sandbox.read("given.tfstate").contains("\"o\""));
    assert!(!sandbox.dir().join("a.tfstate").exists() && !sandbox.dir().join("b.tfstate").exists());
    assert_eq!(sandbox.run(&["plan"]).code, 1, "the block needs init");
    // The state has changed since.
    let run = sandbox.run(&["apply", "-no-color", "saved"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Saved plan is stale"), "{run}");
}

#[test]
fn a_saved_plan_needs_no_configuration() {
    let sandbox = planned();
    std::fs::remove_file(sandbox.dir().join("main.tf")).expect("it was written");
    let run = sandbox.run(&["apply", "-no-color", "saved"]);
    assert!(run.code == 0 && sandbox.read("given.tfstate").contains("\"o\""), "{run}");
}

#[test]
fn a_plan_of_another_workspace_is_refused() {
    let sandbox = planned();
    assert_eq!(sandbox.run(&["workspace", "new", "w"]).code, 0);
    let run = sandbox.run(&["apply", "-no-color", "saved"]);
    assert!(run.code == 1 && run.stderr.contains("Error: Saved plan does not match the given state"), "{run}");
    assert!(run.stderr.contains("\"default\"") && run.stderr.contains("\"w\""), "{run}");
    assert!(!sandbox.dir().join("given.tfstate").exists());
    assert_eq!(sandbox.env("TF_WORKSPACE", "default").run(&["apply", "saved"]).code, 0);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_wait_for_a_lock() {
    let sandbox = sandbox("//- main.tf\noutput \"o\" {\n  value = 1\n}\n");
    let start = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program was built")
    };
    // The prompt holds the lock.
    let mut holder = start(&["apply", "-no-color"]);
    let mut stdout = holder.stdout.take().expect("it is a pipe");
    let (mut shown, mut byte) = (Vec::new(), [0]);
    while !shown.ends_with(b"Enter a value: ") && stdout.read(&mut byte).is_ok_and(|read| read > 0) {
        shown.push(byte[0]);
    }
    let commands = [
        &["plan", "-lock-timeout=10m"][..],
        &["plan", "-json", "-lock-timeout=10m"],
        &["state", "rm", "-lock-timeout=10m", "terraform_data.x"],
        &["state", "push", "-json", "-lock-timeout=10m", "pushed.tfstate"],
    ];
    sandbox.write("pushed.tfstate", r#"{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}"#);
    for flags in commands {
        let json = flags.contains(&"-json");
        let mut waiting = start(flags);
        let mut lines = BufReader::new(waiting.stdout.take().expect("it is a pipe")).lines();
        let line = lines.find_map(|line| line.ok().filter(|line| line.contains("Acquiring state lock")));
        let line = line.expect("a lock that takes long is reported");
        assert_eq!(line.contains("\"type\":\"state_lock_acquire\""), json, "{line}");
        let killed = std::process::Command::new("kill").args(["-INT", &waiting.id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        let mut stderr = String::new();
        let _ = waiting.stderr.take().expect("it is a pipe").read_to_string(&mut stderr);
        let code = waiting.wait().expect("it was started").code();
        assert_eq!(code, Some(1), "{rest:?} {stderr}");
        let all = rest.join("\n") + &stderr;
        assert!(all.contains("Error acquiring the state lock"), "{all}");
    }
    let _ = holder.stdin.take().expect("it is a pipe").write_all(b"no\n");
    assert_eq!(holder.wait().expect("it was started").code(), Some(1));
}
