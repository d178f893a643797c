//! `backend "pg"` on PostgreSQL.

use std::sync::{Arc, LazyLock};

use libtest_mimic::Trial;
use yuba_testkit::Sandbox;
use yuba_testkit::servers::{PostgreSql, postgresql};

use crate::kills::{Journal, Locks, Target};
use crate::{fails, needs, ok, start, tofu, wait_until, yuba};

pub(crate) const DATABASE: &str = "tofu_state";

pub(crate) static SERVER: LazyLock<Arc<PostgreSql>> = LazyLock::new(|| {
    let server = postgresql().expect("because it is installed");
    server.create_database(DATABASE);
    Arc::new(server)
});

pub(crate) fn trials() -> Vec<Trial> {
    let both = &["postgresql", "tofu"];
    let both_exclude = "both exclude each other while a state is created";
    vec![
        needs(both, "both apply in turns, with workspaces", both_apply_in_turns),
        needs(both, "both exclude each other", both_exclude_each_other),
        needs(both, both_exclude, both_exclude_each_other_at_creation),
        needs(both, "OpenTofu goes on after a killed run", opentofu_goes_on_after_a_killed_run),
        needs(&["postgresql"], "a state is migrated to the server and back", a_state_is_migrated),
        needs(&["postgresql"], "a run with a lost lock saves its state to a file", a_lost_lock_saves_to_a_file),
        needs(&["postgresql"], "killed applies lose nothing", killed_applies_lose_nothing),
    ]
}

pub(crate) fn backend(schema: &str) -> String {
    let url = SERVER.url(DATABASE);
    format!("terraform {{\n  backend \"pg\" {{\n    conn_str = {url:?}\n    schema_name = {schema:?}\n  }}\n}}\n")
}

/// The object waits for the file `go` if `wait` is set.
const CONFIGURATION: &str = r#"
variable "v" { default = 1 }
variable "wait" { default = false }
resource "terraform_data" "x" {
  count            = 2
  input            = "v${var.v}"
  triggers_replace = var.v
  provisioner "local-exec" {
    command = var.wait ? "touch started; while [ ! -e go ]; do sleep 0.05; done" : "true"
  }
}
output "o" { value = terraform_data.x[0].output }
"#;

/// Two working directories with the same state, one for each program.
fn pair(schema: &str) -> (Sandbox, Sandbox) {
    let (ours, theirs) = (yuba(""), tofu(""));
    for sandbox in [&ours, &theirs] {
        sandbox.write("main.tf", CONFIGURATION);
        sandbox.write("backend.tf", backend(schema));
        ok(sandbox, &["init"]);
    }
    (ours, theirs)
}

#[track_caller]
fn apply(sandbox: &Sandbox, version: u32) {
    ok(sandbox, &["apply", "-auto-approve", "-var", &format!("v={version}")]);
}

#[track_caller]
fn sees_no_changes(sandbox: &Sandbox, version: u32) {
    let run = sandbox.run(&["plan", "-detailed-exitcode", "-var", &format!("v={version}")]);
    assert_eq!(run.code, 0, "{run}");
}

fn both_apply_in_turns() {
    let (ours, theirs) = pair("turns");
    apply(&ours, 1);
    sees_no_changes(&theirs, 1);
    apply(&theirs, 2);
    sees_no_changes(&ours, 2);
    assert_eq!(ok(&ours, &["state", "pull"]).stdout, ok(&theirs, &["state", "pull"]).stdout);
    ok(&ours, &["workspace", "new", "made-by-us"]);
    apply(&ours, 3);
    ok(&theirs, &["workspace", "new", "made-by-them"]);
    apply(&theirs, 4);
    let listed = |sandbox: &Sandbox| ok(sandbox, &["workspace", "list"]).stdout.replace('*', " ");
    assert_eq!(listed(&ours).trim_end(), listed(&theirs).trim_end());
    ok(&theirs, &["workspace", "select", "made-by-us"]);
    sees_no_changes(&theirs, 3);
    ok(&ours, &["workspace", "select", "made-by-them"]);
    sees_no_changes(&ours, 4);
    let pushed = ok(&theirs, &["state", "pull"]).stdout;
    theirs.write("pushed.tfstate", &pushed);
    ok(&theirs, &["state", "push", "pushed.tfstate"]);
    ok(&ours, &["workspace", "select", "made-by-us"]);
    assert_eq!(ok(&ours, &["state", "pull"]).stdout, pushed);
    ok(&ours, &["workspace", "select", "default"]);
    ok(&ours, &["workspace", "delete", "-force", "made-by-them"]);
    ok(&theirs, &["workspace", "select", "default"]);
    ok(&theirs, &["workspace", "delete", "-force", "made-by-us"]);
    assert_eq!(listed(&ours).split_whitespace().collect::<Vec<_>>(), ["default"]);
}

/// One applies and waits, and the other one is refused.
fn refuses(holder: &Sandbox, other: &Sandbox, version: u32, says: &[&str]) {
    let variable = format!("v={version}");
    let mut child = start(holder, &["apply", "-auto-approve", "-var", &variable, "-var", "wait=true"]);
    wait_until("the apply has begun", || holder.dir().join("started").exists());
    fails(other, &["apply", "-auto-approve", "-var", "v=99"], says);
    // Reading is allowed.
    other.run(&["output"]);
    holder.write("go", "");
    assert!(child.wait().expect("because it was started").success());
    for file in ["go", "started"] {
        std::fs::remove_file(holder.dir().join(file)).expect("because it exists");
    }
    sees_no_changes(other, version);
}

fn both_exclude_each_other() {
    let (ours, theirs) = pair("exclusion");
    apply(&ours, 1);
    let title = "Error acquiring the state lock";
    refuses(&ours, &theirs, 2, &[title, "Workspace is already locked: default"]);
    // The server knows the session of OpenTofu, which has no name.
    refuses(&theirs, &ours, 3, &[title, "server process ", "client 127.0.0.1 port ", "Who: tofu"]);
    let second = yuba("");
    second.write("main.tf", CONFIGURATION);
    second.write("backend.tf", backend("exclusion"));
    ok(&second, &["init"]);
    refuses(&ours, &second, 4, &[title, "OperationTypeApply", "application \"yuba ", "That process is still running."]);
}

fn both_exclude_each_other_at_creation() {
    let (ours, theirs) = pair("creation_ours");
    refuses(&ours, &theirs, 1, &["Error acquiring the state lock", "lready locked for workspace creation: default"]);
    let (ours, theirs) = pair("creation_theirs");
    refuses(&theirs, &ours, 1, &["Error acquiring the state lock", "server process "]);
    // While a state is created, no workspace is.
    let (ours, theirs) = pair("creation_workspace");
    let mut child = start(&ours, &["apply", "-auto-approve", "-var", "wait=true"]);
    wait_until("the apply has begun", || ours.dir().join("started").exists());
    fails(&theirs, &["workspace", "new", "w"], &["lready locked for workspace creation: w"]);
    ours.write("go", "");
    assert!(child.wait().expect("because it was started").success());
    ok(&theirs, &["workspace", "new", "w"]);
}

fn opentofu_goes_on_after_a_killed_run() {
    let (ours, theirs) = pair("killed");
    apply(&ours, 1);
    let mut child = start(&ours, &["apply", "-auto-approve", "-var", "v=2", "-var", "wait=true"]);
    wait_until("the apply has begun", || ours.dir().join("started").exists());
    let journal = || {
        SERVER
            .sql(DATABASE, "select count(*) from pg_tables where schemaname = 'killed' and tablename = 'yuba_journal'")
    };
    assert_eq!(journal(), "1", "the run has a journal on the server");
    child.kill().expect("because it runs");
    child.wait().expect("because it was started");
    ours.write("go", "");
    let holders = "select count(*) from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid()";
    wait_until("the lock is free", || SERVER.sql(DATABASE, holders) == "0");
    ok(&theirs, &["workspace", "list"]);
    ok(&theirs, &["plan", "-var", "v=1"]);
    // The id does not matter, because no session holds the lock.
    ok(&ours, &["force-unlock", "-force", "1-1"]);
    ok(&theirs, &["force-unlock", "-force", "x"]);
    apply(&theirs, 3);
    sees_no_changes(&ours, 3);
}

fn a_state_is_migrated() {
    let s = yuba("");
    s.write("main.tf", CONFIGURATION);
    ok(&s, &["init"]);
    apply(&s, 1);
    s.write("backend.tf", backend("migrated"));
    ok(&s, &["init", "-migrate-state", "-force-copy"]);
    sees_no_changes(&s, 1);
    assert_eq!(SERVER.sql(DATABASE, "select name from migrated.states"), "default");
    std::fs::remove_file(s.dir().join("backend.tf")).expect("because it exists");
    ok(&s, &["init", "-migrate-state", "-force-copy"]);
    sees_no_changes(&s, 1);
}

fn a_lost_lock_saves_to_a_file() {
    let s = yuba("");
    s.write("main.tf", CONFIGURATION);
    s.write("backend.tf", backend("lost"));
    ok(&s, &["init"]);
    apply(&s, 1);
    let mut command = s.command(&["apply", "-auto-approve", "-var", "v=2", "-var", "wait=true"]);
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("because the program was built");
    wait_until("the apply has begun", || s.dir().join("started").exists());
    let end =
        "select pg_terminate_backend(pid) from pg_locks join lost.states on objid = id where locktype = 'advisory'";
    assert_eq!(SERVER.sql(DATABASE, end), "t");
    s.write("go", "");
    let output = child.wait_with_output().expect("because it was started");
    let said = crate::flowing(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    assert!(!output.status.success(), "{said}");
    for text in ["Failed to save state", "The lock of the state", "errored.tfstate"] {
        assert!(said.contains(text), "{text:?} is not in {said}");
    }
    ok(&s, &["state", "push", "errored.tfstate"]);
    apply(&s, 2);
    sees_no_changes(&s, 2);
}

fn killed_applies_lose_nothing() {
    let target =
        Target { backend: Box::new(backend), environment: Vec::new(), locks: Locks::Freed, journal: Journal::OnServer };
    let figures = crate::kills::run(&target);
    let lost = figures.lost.lock().expect("because nothing panics while it is held");
    assert!(lost.is_empty(), "{figures}\n{}", lost.join("\n"));
    assert_eq!(figures.stuck.load(std::sync::atomic::Ordering::Relaxed), 0, "{figures}");
    let killed = figures.killed.load(std::sync::atomic::Ordering::Relaxed);
    assert!(killed > figures.runs / 2, "{figures}");
}
