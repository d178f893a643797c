//! Killed applies on backends over HTTP. Their servers cannot know that a process is gone: a lock stays, is named, and is released by
//! `force-unlock`. The journal is on the machine of the run.

use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::Duration;

use libtest_mimic::Trial;
use yuba_testkit::servers::{Fault, On, http_lock_server, moto};

use crate::kills::{Figures, Journal, Locks, Target};
use crate::{needs, ok, start, wait_until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        needs(&["moto"], "killed applies lose nothing: s3 with lock objects", || on_s3("use_lockfile = true")),
        needs(&["moto"], "killed applies lose nothing: s3 with a lock table", || on_s3("dynamodb_table = \"locks\"")),
        needs(&[], "killed applies lose nothing: http", on_http),
        needs(&[], "an interrupt during a change of the state leaves no lock", an_interrupt_leaves_no_lock),
        needs(&[], "an interrupt of a migration leaves no lock", an_interrupted_migration_leaves_no_lock),
    ]
}

pub(crate) const S3_CREDENTIALS: [(&str, &str); 2] =
    [("AWS_ACCESS_KEY_ID", "AKIATEST"), ("AWS_SECRET_ACCESS_KEY", "secret")];

/// The `backend` block for a key in the bucket `states` of a server, with an argument that chooses the kind of lock.
pub(crate) fn s3_backend(url: &str, key: &str, lock: &str) -> String {
    format!(
        "terraform {{\n  backend \"s3\" {{\n    bucket = \"states\"\n    key = {key:?}\n    region = \"us-east-1\"\n    \
         {lock}\n    use_path_style = true\n    skip_credentials_validation = true\n    \
         skip_requesting_account_id = true\n    skip_metadata_api_check = true\n    endpoints = {{\n      s3 = {url:?}\n      \
         dynamodb = {url:?}\n    }}\n  }}\n}}\n"
    )
}

fn on_s3(lock: &'static str) {
    let server = moto().expect("because it is installed");
    server.create_bucket("states");
    server.create_lock_table("locks");
    let url = server.url();
    let backend = move |state: &str| s3_backend(&url, state, lock);
    let environment = S3_CREDENTIALS.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    check(&Target { backend: Box::new(backend), environment, locks: Locks::Left, journal: Journal::Local });
}

/// The `backend` block for a state and its lock at one URL.
pub(crate) fn http_backend(url: &str) -> String {
    format!(
        "terraform {{\n  backend \"http\" {{\n    address = {url:?}\n    lock_address = {url:?}\n    unlock_address = {url:?}\n  \
         }}\n}}\n"
    )
}

/// Ctrl-C while a command changes a state that responds slowly: the change completes, and the lock is released.
fn an_interrupt_leaves_no_lock() {
    let server = http_lock_server();
    let s = crate::yuba("//- main.tf\nresource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n");
    s.write("backend.tf", http_backend(&server.url("/state")));
    ok(&s, &["init"]);
    ok(&s, &["apply", "-auto-approve"]);
    for args in [&["state", "rm", "terraform_data.a"][..], &["taint", "terraform_data.b"]] {
        server.clear_log();
        server.fail(On::Method("GET"), Fault::Delay(Duration::from_millis(1500)), 1);
        let mut child = start(&s, args);
        wait_until("the lock is taken", || server.lock("/state").is_some());
        let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        let ended = child.wait().expect("because it was started");
        assert!(ended.success() && server.lock("/state").is_none(), "{args:?}: {ended}, {:?}", server.log_lines());
    }
    let state = String::from_utf8_lossy(&server.state("/state").expect("because it was written")).into_owned();
    assert!(!state.contains("\"a\"") && state.contains("tainted"), "{state}");
}

/// Ctrl-C while `init` waits for the lock of the destination: the lock of the source is released, and nothing is copied.
fn an_interrupted_migration_leaves_no_lock() {
    let server = http_lock_server();
    let s = crate::yuba("//- main.tf\nresource \"terraform_data\" \"a\" {}\n");
    s.write("backend.tf", http_backend(&server.url("/from")));
    ok(&s, &["init"]);
    ok(&s, &["apply", "-auto-approve"]);
    server.set_lock("/to", r#"{"ID":"other","Operation":"OperationTypeApply","Who":"ann@elsewhere"}"#);
    s.write("backend.tf", http_backend(&server.url("/to")));
    let record = s.read(".terraform/terraform.tfstate");
    let mut command = s.command(&["init", "-migrate-state", "-force-copy", "-lock-timeout=300s"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("because the program was built");
    wait_until("the source is locked", || server.lock("/from").is_some());
    wait_until("the destination is requested", || server.log_lines().iter().any(|line| line == "LOCK /to -> 423"));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("because it was started");
    let said = crate::flowing(&String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Error acquiring the state lock") && said.contains("ann@elsewhere"), "{said}");
    assert!(server.lock("/from").is_none(), "{:?}", server.log_lines());
    assert!(server.state("/to").is_none() && s.read(".terraform/terraform.tfstate") == record);
    // The same command works once the destination is free.
    server.remove_lock("/to");
    ok(&s, &["init", "-migrate-state", "-force-copy"]);
    assert!(server.state("/to").is_some() && server.lock("/to").is_none());
}

fn on_http() {
    let server = http_lock_server();
    let backend = move |state: &str| http_backend(&server.url(&format!("/{state}")));
    check(&Target { backend: Box::new(backend), environment: Vec::new(), locks: Locks::Left, journal: Journal::Local });
}

fn check(target: &Target) {
    let figures: Figures = crate::kills::run(target);
    let lost = figures.lost.lock().expect("because nothing panics while it is held");
    assert!(lost.is_empty(), "{figures}\n{}", lost.join("\n"));
    let [killed, stuck] = [&figures.killed, &figures.stuck].map(|counter| counter.load(Ordering::Relaxed));
    assert!(killed > figures.runs / 2 && stuck <= killed, "{figures}");
}
