//! `backend "pg" { layout = "resources" }` on PostgreSQL: runs lock what they touch.

use std::process::{Child, Stdio};
use std::time::Instant;

use libtest_mimic::Trial;
use yuba_testkit::Sandbox;

use crate::kills::{Journal, Locks, Target};
use crate::pg::{DATABASE, SERVER};
use crate::{fails, flowing, needs, ok, wait_until, yuba};

pub(crate) fn trials() -> Vec<Trial> {
    let server = &["postgresql"];
    vec![
        needs(server, "rows: a state is migrated to rows and back", a_state_is_migrated),
        needs(server, "rows: runs that touch other objects do not wait", disjoint_runs_do_not_wait),
        needs(server, "rows: runs that touch the same objects exclude each other", overlapping_runs_exclude),
        needs(server, "rows: runs that wait plan again once", waiting_runs_plan_once),
        needs(server, "rows: the commit of the repository is recorded", the_commit_is_recorded),
        needs(server, "rows: commands show the past and the estate", commands_show_the_past),
        needs(server, "rows: a plan is stale only if what it has read has changed", stale_plans),
        needs(server, "rows: a plan waits for no lock", a_plan_waits_for_no_lock),
        needs(server, "rows: commands on states change rows", commands_change_rows),
        needs(server, "rows: the table of states refuses other programs", the_table_of_states_refuses),
        needs(server, "rows: another machine goes on after a killed run", another_machine_goes_on),
        needs(server, "rows: contents are encrypted row by row", contents_are_encrypted),
        needs(server, "rows: killed applies lose nothing", killed_applies_lose_nothing),
    ]
}

fn backend(schema: &str) -> String {
    let url = SERVER.url(DATABASE);
    format!(
        "terraform {{\n  backend \"pg\" {{\n    conn_str = {url:?}\n    schema_name = {schema:?}\n    layout = \"resources\"\n  }}\n}}\n"
    )
}

/// Two chains of objects. The first object of each waits for a file if its variable is set.
const CONFIGURATION: &str = r#"
variable "a" { default = 1 }
variable "b" { default = 1 }
variable "wait" { default = "" }
resource "terraform_data" "a" {
  input            = "a${var.a}"
  triggers_replace = var.a
  provisioner "local-exec" {
    command = var.wait == "a" ? "touch started; while [ ! -e go ]; do sleep 0.05; done" : "true"
  }
}
resource "terraform_data" "a2" {
  input = terraform_data.a.output
}
resource "terraform_data" "b" {
  count            = 2
  input            = "b${var.b}"
  triggers_replace = var.b
}
resource "terraform_data" "b2" {
  input = terraform_data.b[*].output
}
output "a" { value = terraform_data.a2.output }
"#;

fn machine(schema: &str, configuration: &str) -> Sandbox {
    let s = yuba("");
    s.write("main.tf", configuration);
    s.write("backend.tf", backend(schema));
    ok(&s, &["init"]);
    s
}

fn begin(s: &Sandbox, args: &[&str]) -> Child {
    let mut command = s.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("because the program was built");
    wait_until("the apply has begun", || s.dir().join("started").exists());
    child
}

#[track_caller]
fn end(s: &Sandbox, child: Child) {
    s.write("go", "");
    let output = child.wait_with_output().expect("because it was started");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    for file in ["go", "started"] {
        std::fs::remove_file(s.dir().join(file)).expect("because it exists");
    }
}

fn sql(statement: &str) -> String {
    SERVER.sql(DATABASE, statement)
}

fn a_state_is_migrated() {
    let s = yuba("");
    s.write("main.tf", CONFIGURATION);
    ok(&s, &["init"]);
    ok(&s, &["apply", "-auto-approve"]);
    let before = ok(&s, &["state", "pull"]).stdout;
    s.write("backend.tf", backend("rows_migrated"));
    ok(&s, &["init", "-migrate-state", "-force-copy"]);
    assert_eq!(ok(&s, &["state", "pull"]).stdout, before);
    assert_eq!(ok(&s, &["plan", "-detailed-exitcode"]).code, 0);
    assert_eq!(sql("select count(*) from rows_migrated.resources"), "5");
    assert_eq!(sql("select value from rows_migrated.outputs"), "\"a1\"");
    let from = sql(
        "select attributes -> 'output' ->> 'value' from rows_migrated.resources where address = 'terraform_data.a'",
    );
    assert_eq!(from, "a1");
    std::fs::remove_file(s.dir().join("backend.tf")).expect("because it exists");
    ok(&s, &["init", "-migrate-state", "-force-copy"]);
    assert_eq!(ok(&s, &["state", "pull"]).stdout, before);
    // From the layout of OpenTofu in the same table: a copy of the replaced state stays.
    let of_states = backend("rows_same_table").replace("    layout = \"resources\"\n", "");
    s.write("backend.tf", &of_states);
    ok(&s, &["init", "-migrate-state", "-force-copy"]);
    s.write("backend.tf", backend("rows_same_table"));
    ok(&s, &["init", "-migrate-state", "-force-copy"]);
    assert_eq!(ok(&s, &["state", "pull"]).stdout, before);
    assert_eq!(sql("select count(*) from rows_same_table.yuba_replaced_states where data like '{\"version\":4%'"), "1");
}

fn disjoint_runs_do_not_wait() {
    let ours = machine("rows_disjoint", CONFIGURATION);
    ok(&ours, &["apply", "-auto-approve"]);
    let theirs = machine("rows_disjoint", CONFIGURATION);
    let first = ["apply", "-auto-approve", "-target=terraform_data.a2", "-var=a=2", "-var=wait=a"];
    let child = begin(&ours, &first);
    // The other chain is free, and other commands see its result before the first run ends.
    ok(&theirs, &["apply", "-auto-approve", "-target=terraform_data.b2", "-var=b=2"]);
    assert!(ok(&theirs, &["state", "show", "terraform_data.b2"]).stdout.contains("b2"));
    end(&ours, child);
    let run = theirs.run(&["plan", "-detailed-exitcode", "-var=a=2", "-var=b=2"]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(sql("select count(*) from rows_disjoint.yuba_locks"), "0");
    let runs =
        sql("select count(*) from rows_disjoint.yuba_runs where outcome = 'done' and operation = 'OperationTypeApply'");
    assert_eq!(runs, "3");
}

fn overlapping_runs_exclude() {
    let ours = machine("rows_overlap", CONFIGURATION);
    ok(&ours, &["apply", "-auto-approve"]);
    let theirs = machine("rows_overlap", CONFIGURATION).env("YUBA_COMMIT", "0123abc");
    let child = begin(&ours, &["apply", "-auto-approve", "-target=terraform_data.a", "-var=a=2", "-var=wait=a"]);
    // It reads what the first run writes.
    let other = ["apply", "-auto-approve", "-target=terraform_data.a2", "-replace=terraform_data.a2"];
    let says = [
        "Error acquiring the state lock",
        "Path: terraform_data.a",
        "OperationTypeApply",
        "That process is still running.",
    ];
    fails(&theirs, &other, &says);
    fails(&theirs, &["state", "rm", "terraform_data.a"], &["Error acquiring the state lock", "terraform_data.a"]);
    // With patience it waits, sees that its plan is stale, and plans again.
    let mut command =
        theirs.command(&["apply", "-auto-approve", "-target=terraform_data.a2", "-var=a=2", "-lock-timeout=60s"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let waiting = command.spawn().expect("because the program was built");
    let asked = Instant::now();
    wait_until("it asks for locks", || {
        sql("select count(*) from rows_overlap.yuba_runs where ended is null") == "2" || asked.elapsed().as_secs() > 20
    });
    end(&ours, child);
    let output = waiting.wait_with_output().expect("because it was started");
    let said = flowing(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    assert!(output.status.success() && said.contains("Planning again"), "{said}");
    assert_eq!(theirs.run(&["plan", "-detailed-exitcode", "-var=a=2"]).code, 0);
    assert_eq!(sql("select count(*) from rows_overlap.operations where source_commit = '0123abc'"), "1");
}

fn waiting_runs_plan_once() {
    const RUNS: usize = 5;
    let ours = machine("rows_queue", CONFIGURATION);
    ok(&ours, &["apply", "-auto-approve"]);
    let others: Vec<Sandbox> = (0..RUNS).map(|_| machine("rows_queue", CONFIGURATION)).collect();
    let first = begin(&ours, &["apply", "-auto-approve", "-target=terraform_data.a", "-var=a=2", "-var=wait=a"]);
    let waiting: Vec<Child> = others
        .iter()
        .enumerate()
        .map(|(at, other)| {
            let value = format!("-var=a={}", at + 10);
            let mut command =
                other.command(&["apply", "-auto-approve", "-target=terraform_data.a", &value, "-lock-timeout=120s"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("because the program was built")
        })
        .collect();
    let registered = (RUNS + 1).to_string();
    wait_until("all of them ask for locks", || {
        sql("select count(*) from rows_queue.yuba_runs where ended is null") == registered
    });
    end(&ours, first);
    for child in waiting {
        let output = child.wait_with_output().expect("because it was started");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{said}");
        assert_eq!(said.matches("Planning again").count(), 1, "{said}");
    }
    let runs = "select count(distinct run) from rows_queue.operations where address = 'terraform_data.a' and result = 'finished'";
    assert_eq!(sql(runs), (RUNS + 2).to_string());
}

fn the_commit_is_recorded() {
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let mut s = machine("rows_commit", CONFIGURATION);
    for name in ["YUBA_COMMIT", "GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "BITBUCKET_COMMIT", "GIT_COMMIT"]
    {
        s = s.env(name, "");
    }
    s.write(".git/HEAD", "ref: refs/heads/main\n");
    s.write(".git/refs/heads/main", commit);
    ok(&s, &["apply", "-auto-approve"]);
    assert_eq!(sql("select distinct source_commit from rows_commit.operations"), commit);
}

fn commands_show_the_past() {
    let s = machine("rows_past", CONFIGURATION);
    ok(&s, &["apply", "-auto-approve"]);
    let before = ok(&s, &["state", "pull"]).stdout;
    let time = sql("select to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
    ok(&s, &["apply", "-auto-approve", "-var=b=2"]);
    ok(&s, &["taint", "terraform_data.a2"]);
    ok(&s, &["state", "rm", "terraform_data.b2"]);
    assert_eq!(ok(&s, &["state", "at", &time]).stdout, before);
    assert_eq!(ok(&s, &["state", "at", "2000-01-01T00:00:00+01:00"]).stdout, "");
    fails(&s, &["state", "at", "yesterday"], &["Invalid time"]);
    let kinds = |address: &str| -> Vec<String> {
        let said = ok(&s, &["state", "history", address]).stdout;
        said.lines().map(|line| line.split("  ").nth(1).unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(kinds("terraform_data.b2"), ["created", "changed input, output", "removed"]);
    assert_eq!(kinds("terraform_data.a2"), ["created", "tainted"]);
    let json = ok(&s, &["state", "history", "-json", "terraform_data.b2"]).stdout;
    let last = json.lines().rfind(|line| line.contains("object_change")).expect("there are messages");
    assert!(last.contains(r#""change":"removed""#) && last.contains(r#""address":"terraform_data.b2""#), "{json}");
    fails(&s, &["state", "history", "terraform_data.none"], &["No history found"]);
    let listed = ok(&s, &["estate", "list"]).stdout;
    let line = listed.lines().find(|line| line.contains("rows_past.states default")).expect("it is listed");
    assert!(line.contains("4 objects, 1 output, 0 locks, last operation:"), "{line}");
    let json = ok(&s, &["estate", "list", "-json"]).stdout;
    assert!(
        json.lines().any(|line| line.contains(r#""schema":"rows_past""#) && line.contains(r#""objects":4"#)),
        "{json}"
    );
    let grants = ok(&s, &["state", "pg-grants", "-prefix=past"]).stdout;
    sql(&grants);
    assert_eq!(sql("select count(*) from pg_roles where rolname like 'past\\_%'"), "4");
    fails(&s, &["state", "pg-grants", "-prefix=a$$b"], &["Invalid role prefix"]);
    // Other backends do not store this.
    let other = yuba("");
    other.write("main.tf", CONFIGURATION);
    ok(&other, &["init"]);
    for command in [&["state", "history", "terraform_data.a"][..], &["state", "at", &time], &["estate", "list"]] {
        fails(&other, command, &["Unsupported backend", "\"local\""]);
    }
}

fn stale_plans() {
    let ours = machine("rows_stale", CONFIGURATION);
    ok(&ours, &["apply", "-auto-approve"]);
    let theirs = machine("rows_stale", CONFIGURATION);
    let chain = ["plan", "-out=saved", "-target=terraform_data.a2", "-var=a=2"];
    ok(&ours, &chain);
    ok(&theirs, &["apply", "-auto-approve", "-target=terraform_data.b2", "-var=b=2"]);
    // Something else has changed: the plan holds, and the other change stays.
    ok(&ours, &["apply", "saved"]);
    assert_eq!(theirs.run(&["plan", "-detailed-exitcode", "-var=a=2", "-var=b=2"]).code, 0);
    ok(&ours, &["plan", "-out=saved", "-target=terraform_data.a2", "-var=a=3"]);
    ok(&theirs, &["apply", "-auto-approve", "-target=terraform_data.a", "-var=a=4"]);
    fails(&ours, &["apply", "saved"], &["Saved plan is stale", "terraform_data.a"]);
    ok(&ours, &["plan", "-out=saved", "-target=terraform_data.a2", "-var=a=5"]);
    ok(&theirs, &["state", "rm", "terraform_data.a2"]);
    fails(&ours, &["apply", "saved"], &["Saved plan is stale", "terraform_data.a2"]);
    // Without locks a plan is stale if anything has changed.
    ok(&ours, &["plan", "-out=saved", "-target=terraform_data.a2", "-var=a=5"]);
    ok(&theirs, &["apply", "-auto-approve", "-target=terraform_data.b2", "-var=b=3"]);
    fails(&ours, &["apply", "-lock=false", "saved"], &["Saved plan is stale"]);
    ok(&ours, &["apply", "saved"]);
}

fn a_plan_waits_for_no_lock() {
    let ours = machine("rows_plan", CONFIGURATION);
    ok(&ours, &["apply", "-auto-approve"]);
    let theirs = machine("rows_plan", CONFIGURATION);
    let child = begin(&ours, &["apply", "-auto-approve", "-target=terraform_data.a", "-var=a=2", "-var=wait=a"]);
    for _ in 0..3 {
        ok(&theirs, &["plan"]);
    }
    // A role that may only read can plan.
    sql("create role rows_planner login password 'p'; grant usage on schema rows_plan to rows_planner; \
         grant select on all tables in schema rows_plan to rows_planner");
    let url = SERVER.url(DATABASE);
    let user = url.split_once("//").and_then(|(_, rest)| rest.split_once('@')).map_or("", |(user, _)| user);
    let reader = yuba("").env("PG_CONN_STR", &url.replacen(&format!("{user}@"), "rows_planner:p@", 1));
    reader.write("main.tf", CONFIGURATION);
    let url_line = format!("    conn_str = {url:?}\n");
    reader.write("backend.tf", backend("rows_plan").replace(&url_line, ""));
    ok(&reader, &["init"]);
    ok(&reader, &["plan"]);
    fails(&reader, &["apply", "-auto-approve", "-var=b=2"], &["permission denied"]);
    end(&ours, child);
}

fn commands_change_rows() {
    let s = machine("rows_commands", CONFIGURATION);
    ok(&s, &["apply", "-auto-approve"]);
    let version =
        |address: &str| sql(&format!("select version from rows_commands.yuba_objects where address = '{address}'"));
    let untouched = version("terraform_data.b2");
    ok(&s, &["taint", "terraform_data.a"]);
    assert_eq!(sql("select status from rows_commands.resources where address = 'terraform_data.a'"), "tainted");
    ok(&s, &["untaint", "terraform_data.a"]);
    ok(&s, &["state", "mv", "terraform_data.a2", "terraform_data.moved"]);
    ok(&s, &["state", "mv", "terraform_data.moved", "terraform_data.a2"]);
    ok(&s, &["state", "rm", "terraform_data.b[1]"]);
    assert_eq!(sql("select count(*) from rows_commands.resources"), "4");
    assert_eq!(version("terraform_data.b2"), untouched, "rows that do not change are not written");
    ok(&s, &["apply", "-auto-approve"]);
    ok(&s, &["refresh"]);
    // Moves of the configuration.
    s.write("moved.tf", "moved {\n  from = terraform_data.a2\n  to   = terraform_data.a3\n}\n");
    s.write("main.tf", CONFIGURATION.replace("\"a2\"", "\"a3\"").replace(".a2.", ".a3."));
    ok(&s, &["apply", "-auto-approve"]);
    assert_eq!(sql("select count(*) from rows_commands.resources where address = 'terraform_data.a3'"), "1");
    // Workspaces.
    ok(&s, &["workspace", "new", "w"]);
    ok(&s, &["apply", "-auto-approve"]);
    assert_eq!(sql("select count(*) from rows_commands.resources where workspace = 'w'"), "5");
    ok(&s, &["workspace", "select", "default"]);
    fails(&s, &["workspace", "delete", "w"], &["Workspace is not empty"]);
    ok(&s, &["workspace", "delete", "-force", "w"]);
    assert_eq!(sql("select count(*) from rows_commands.resources where workspace = 'w'"), "0");
    // Pulled and pushed.
    let pulled = ok(&s, &["state", "pull"]).stdout;
    s.write("pulled.tfstate", &pulled);
    ok(&s, &["state", "push", "pulled.tfstate"]);
    assert_eq!(ok(&s, &["state", "pull"]).stdout, pulled);
    ok(&s, &["apply", "-auto-approve", "-var=a=9"]);
    fails(&s, &["state", "push", "pulled.tfstate"], &["newer"]);
    ok(&s, &["destroy", "-auto-approve"]);
    ok(&s, &["state", "push", "-force", "pulled.tfstate"]);
    assert_eq!(s.run(&["plan", "-detailed-exitcode"]).code, 0);
    let history = "select count(*) > 10 from rows_commands.yuba_history";
    assert_eq!(sql(history), "t");
}

fn the_table_of_states_refuses() {
    let s = machine("rows_refuses", CONFIGURATION);
    ok(&s, &["apply", "-auto-approve"]);
    let other = yuba("");
    other.write("main.tf", CONFIGURATION);
    other.write("backend.tf", backend("rows_refuses").replace("    layout = \"resources\"\n", ""));
    let run = other.run(&["init"]);
    let said = flowing(&run.to_string());
    let run = if run.code == 0 { flowing(&other.run(&["plan"]).to_string()) } else { said };
    assert!(run.contains("layout = \"resources\""), "{run}");
    // What OpenTofu would do.
    let write = "do $$ begin update rows_refuses.states set data = '{}' where name = 'default'; raise notice 'written'; \
                 exception when raise_exception then raise notice 'refused'; end $$; select data from rows_refuses.states";
    assert!(sql(write).contains("yuba_layout"));
    let remove = "do $$ begin delete from rows_refuses.states; exception when raise_exception then null; end $$; \
                  select count(*) from rows_refuses.states";
    assert_eq!(sql(remove), "1");
    assert_eq!(s.run(&["plan", "-detailed-exitcode"]).code, 0);
}

fn another_machine_goes_on() {
    let ours = machine("rows_killed", CONFIGURATION);
    ok(&ours, &["apply", "-auto-approve"]);
    let mut child = begin(&ours, &["apply", "-auto-approve", "-var=a=2", "-var=b=2", "-var=wait=a"]);
    wait_until("the other chain is finished", || {
        sql("select count(*) from rows_killed.operations where finished is not null and address like '%.b2'")
            .parse::<u32>()
            .is_ok_and(|finished| finished >= 2)
    });
    child.kill().expect("because it runs");
    child.wait().expect("because it was started");
    std::fs::remove_dir_all(ours.dir().join(".terraform")).expect("because it exists");
    let theirs = machine("rows_killed", CONFIGURATION);
    let run = ok(&theirs, &["apply", "-auto-approve", "-var=a=2", "-var=b=2", "-lock-timeout=30s"]);
    let said = flowing(&run.to_string());
    assert!(said.contains("interrupted") && said.contains("terraform_data.a"), "{said}");
    assert_eq!(theirs.run(&["plan", "-detailed-exitcode", "-var=a=2", "-var=b=2"]).code, 0);
    assert_eq!(sql("select count(*) from rows_killed.yuba_runs where outcome = 'lost'"), "1");
}

fn contents_are_encrypted() {
    let encryption = "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"a long passphrase for tests\"\n    }\n\
                      \x20   method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\n";
    let s = yuba("");
    s.write("main.tf", CONFIGURATION);
    s.write("backend.tf", backend("rows_sealed"));
    s.write("encryption.tf", encryption);
    ok(&s, &["init"]);
    ok(&s, &["apply", "-auto-approve"]);
    let sealed = "select count(*) from rows_sealed.yuba_objects where object ->> 'encrypted_data' is not null";
    assert_eq!(sql(sealed), "5");
    assert_eq!(sql("select value ->> 'encrypted_data' is not null from rows_sealed.yuba_outputs"), "t");
    assert_eq!(s.run(&["plan", "-detailed-exitcode"]).code, 0);
    assert!(ok(&s, &["state", "pull"]).stdout.contains("\"a1\""));
    // Runs with the same configuration share a salt, so a read derives one key.
    ok(&s, &["apply", "-auto-approve", "-var=b=2"]);
    let salts = "select count(distinct object ->> 'meta') from rows_sealed.yuba_objects";
    assert_eq!(sql(salts), "1");
    assert!(ok(&s, &["state", "history", "terraform_data.b2"]).stdout.contains("changed input, output"));
    // A content that was copied to another row is refused.
    sql("create table rows_sealed.copy as select * from rows_sealed.yuba_objects; \
         update rows_sealed.yuba_objects o set object = c.object from rows_sealed.copy c \
         where o.address = 'terraform_data.b[0]' and c.address = 'terraform_data.b[1]'");
    fails(&s, &["plan"], &["was written for another row"]);
    sql("update rows_sealed.yuba_objects o set object = c.object from rows_sealed.copy c where o.address = c.address");
    assert_eq!(s.run(&["plan", "-detailed-exitcode", "-var=b=2"]).code, 0);
    // Without the key nothing is read, and nothing is written.
    let other = yuba("");
    other.write("main.tf", CONFIGURATION);
    other.write("backend.tf", backend("rows_sealed"));
    fails(&other, &["init"], &["encrypted"]);
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
