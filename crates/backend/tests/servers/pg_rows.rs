//! `backend "pg" { layout = "resources" }` on PostgreSQL: what is particular to it, bad input, and a model of concurrent runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use libtest_mimic::Trial;
use yuba_addrs::AbsResourceInstance;
use yuba_backend::{
    JournalOperation, LockHolder, LockRefusal, Reservation, StatePart, StateSelector, StateStore, SuccessorCheck,
    UtcTime, WorkspaceRemoval,
};
use yuba_state::{Attributes, Edit, State};
use yuba_testkit::servers::{is_installed, is_required};

use crate::pg::{DATABASE, Pg, Users, refused, start};
use crate::pg_runs::until;
use crate::subject::{Machine, Subject, unique};
use crate::suite::{add, edit, locked, numbers, read};

static SERVER: LazyLock<Option<Pg>> = LazyLock::new(|| start(Users::Many, "resources"));

type Test = fn(&Pg);

pub(crate) fn trials() -> Vec<Trial> {
    let tests: &[(&str, Test)] = &[
        ("a connection that breaks at any request loses nothing", |pg| {
            crate::pg_cuts::a_cut_at_any_request_loses_nothing(pg, pg.server.port(), "resources");
        }),
        ("only rows that changed are written", only_changed_rows_are_written),
        ("parts of a state are locked", parts_are_locked),
        ("a run without a session keeps locks that no other run wants", crate::pg_runs::absent_runs_keep_their_locks),
        ("a run that waited plans again under its locks", crate::pg_runs::waiting_runs_plan_under_locks),
        ("a live run is not ended by force", crate::pg_runs::live_runs_are_not_ended),
        ("a client of another version is refused", crate::pg_runs::other_versions_are_refused),
        ("a workspace is not deleted while a run locks it", crate::pg_runs::a_locked_workspace_stays),
        ("another table of the same schema is protected", crate::pg_runs::another_table_is_protected),
        ("operations that failed are recorded as failed", crate::pg_runs::failed_operations_are_recorded),
        ("a refusal names all holders", crate::pg_runs::a_refusal_names_all_holders),
        ("a state is read as it was at a time", a_state_of_the_past),
        ("history is removed after history_days", history_is_removed_by_runs),
        ("each role can do its part", roles_can_do_their_part),
        ("an estate is listed", an_estate_is_listed),
        ("outputs are read alone", outputs_are_read_alone),
        ("a statement timeout of a commit loses nothing", a_timeout_of_a_commit_loses_nothing),
        ("a pooler that changes sessions is refused", crate::pg_runs::a_pooler_is_refused),
        ("two runs begin a state at the same time", two_runs_begin_a_state),
        ("results without a database are saved by the next command", results_without_a_database),
        ("tables of a newer version are refused", newer_tables_are_refused),
        ("tables without a version are refused", half_a_migration_is_refused),
        ("two processes create the tables at the same time", tables_are_created_once),
        ("rows that were edited by hand are checked", edited_rows_are_checked),
        ("a state of the other layout is not lost", a_state_of_the_other_layout),
        ("a statement timeout is named", a_statement_timeout_is_named),
        ("history is removed by age", history_is_removed),
        ("many outputs and a large attribute are stored", large_contents_are_stored),
        ("simulated runs follow the model", crate::pg_simulator::simulated_runs_follow_the_model),
        ("concurrent runs follow the model", concurrent_runs_follow_the_model),
    ];
    let is_ignored = !is_installed("postgresql") && !is_required("postgresql");
    let missing = || libtest_mimic::Failed::from("postgresql is required by YUBA_REQUIRE and missing");
    let trial = |(name, test): &(&str, Test)| {
        let test = *test;
        let run = move || SERVER.as_ref().map(test).ok_or_else(missing);
        Trial::test(format!("pg with rows on PostgreSQL: {name}"), run).with_ignored_flag(is_ignored)
    };
    tests.iter().map(trial).collect()
}

pub(crate) fn sql(pg: &Pg, statement: &str) -> String {
    pg.server.sql(DATABASE, statement)
}

/// An object with a number.
pub(crate) fn counted(address: &str, n: u64) -> Edit {
    let line = format!(
        r#"{{"edit":"set_object","addr":"{address}","provider":"provider[\"terraform.io/builtin/terraform\"]","object":{{"schema_version":0,"attributes":{{"n":{n}}},"sensitive_attributes":[]}}}}"#
    );
    Edit::from_json_line(&line).expect("it is well-formed")
}

pub(crate) fn instance(address: &str) -> AbsResourceInstance {
    match counted(address, 0) {
        Edit::SetObject { addr, .. } => addr,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn count(state: &State, address: &str) -> u64 {
    let current = state.instance(&instance(address)).and_then(|instance| instance.current.clone());
    current.map_or(0, |object| match &object.attributes {
        Attributes::Json(json) => {
            json.as_str().trim_start_matches("{\"n\":").trim_end_matches('}').parse().expect("it is a number")
        }
        Attributes::Flat(_) => panic!("the test writes JSON"),
    })
}

pub(crate) fn part(reads: &[&str], writes: &[&str]) -> StatePart {
    let selectors = |list: &[&str]| list.iter().map(|one| StateSelector::Instance(instance(one))).collect();
    StatePart { reads: selectors(reads), writes: selectors(writes) }
}

pub(crate) fn announced(machine: &Machine) -> Box<dyn StateStore> {
    let mut store = machine.open("default");
    store.try_lock_part(machine.holder(), Duration::ZERO).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    read(store.as_mut());
    store
}

fn only_changed_rows_are_written(pg: &Pg) {
    let name = unique("written_rows");
    let machine = Machine::new(pg, &name);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    (0..50).for_each(|n| state.apply(edit(n)));
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    state.apply(counted("terraform_data.r[7]", 1));
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    let versions = format!("select version, count(*) from \"{name}\".yuba_objects group by 1 order by 1");
    assert_eq!(sql(pg, &versions).split_whitespace().collect::<String>(), "1|492|1");
    assert_eq!(sql(pg, &format!("select count(*) from \"{name}\".yuba_history")), "1");
    assert_eq!(sql(pg, &format!("select serial from \"{name}\".yuba_workspaces")), state.serial.to_string());
}

fn parts_are_locked(pg: &Pg) {
    let name = unique("parts");
    let (one, two) = (Machine::new(pg, &name), Machine::new(pg, &name));
    for n in 0..4 {
        add(&one, "default", n);
    }
    let (mut first, mut second) = (announced(&one), announced(&two));
    assert_eq!(first.reserve(None, &part(&["a.r[0]"], &["a.r[1]"])).expect("it is free"), Reservation::Held);
    // Both may read the same, and write other objects.
    assert_eq!(second.reserve(None, &part(&["a.r[0]"], &["a.r[2]"])).expect("it is free"), Reservation::Held);
    let refused = |outcome: Result<Reservation, LockRefusal>, path: &str| match outcome {
        Err(LockRefusal::Held { holder: Some(holder), .. }) => {
            assert_eq!((holder.path.as_str(), holder.operation.as_str()), (path, "OperationTypeApply"));
            assert!(holder.created.is_some());
        }
        outcome => panic!("{outcome:?}"),
    };
    refused(second.reserve(None, &part(&["a.r[1]"], &[])), "a.r[1]");
    refused(second.reserve(None, &part(&[], &["a.r[0]"])), "a.r[0]");
    // The whole resource and the whole state exclude it, too.
    let whole = StatePart {
        reads: BTreeSet::from([StateSelector::Config(instance("a.r[1]").config())]),
        ..StatePart::default()
    };
    refused(second.reserve(None, &whole), "a.r[1]");
    let mut third = Machine::new(pg, &name).open("default");
    assert!(matches!(third.try_lock(LockHolder { id: unique("id"), ..two.holder() }), Err(LockRefusal::Held { .. })));
    first.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(second.reserve(None, &part(&["a.r[1]"], &[])).expect("it is free"), Reservation::Held);
    second.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    // What has changed after the snapshot makes a plan stale, and only that.
    let mut late = announced(&one);
    let mut other = announced(&two);
    let mut state = read(other.as_mut());
    state.apply(edit(1));
    state.apply(counted("terraform_data.r[1]", 5));
    other.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    other.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    let stale = late.reserve(None, &part(&["terraform_data.r[1]"], &["terraform_data.r[2]"])).expect("it is free");
    assert_eq!(stale, Reservation::Stale(vec!["terraform_data.r[1]".to_owned()]));
    let fresh = late.reserve(None, &part(&["terraform_data.r[0]"], &["terraform_data.r[2]"])).expect("it is free");
    assert_eq!(fresh, Reservation::Held);
    // A row that was not locked and has changed is not overwritten.
    let mut start = read(late.as_mut());
    let mut journal = late.journal(&mut start).unwrap_or_else(|problems| panic!("{problems:?}"));
    let mut other = announced(&two);
    let mut state = read(other.as_mut());
    state.apply(counted("terraform_data.r[3]", 6));
    other.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    other.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    journal.append(&[counted("terraform_data.r[3]", 9)]);
    let problems = journal.flush().expect_err("it is not reported as finished");
    assert!(problems.iter().any(|problem| problem.code.id == "pg-saved-on-this-machine-only"), "{problems:?}");
    let problems = journal.hand_over().expect_err("nothing starts after a conflict");
    assert!(problems.joined().contains("terraform_data.r[3]"), "{problems:?}");
    start.apply(counted("terraform_data.r[3]", 9));
    drop(journal.close(&mut start));
    assert_eq!(count(&read(two.open("default").as_mut()), "terraform_data.r[3]"), 6);
}

fn a_state_of_the_past(pg: &Pg) {
    let name = unique("past");
    let machine = Machine::new(pg, &name);
    let clock = || {
        let now = sql(pg, "select to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
        UtcTime::parse(&now).expect("it is a time")
    };
    let before = clock();
    let mut states = Vec::new();
    for n in 1..4 {
        let mut store = locked(&machine, "default");
        let mut state = read(store.as_mut());
        state.apply(counted("terraform_data.r[0]", n));
        if n == 2 {
            state.apply(edit(9));
            let line = r#"{"edit":"set_output","name":"o","output":{"value":"v","type":"string"}}"#;
            state.apply(Edit::from_json_line(line).expect("it is well-formed"));
        }
        if n == 3 {
            let line = r#"{"edit":"set_output","name":"o"}"#;
            state.apply(Edit::from_json_line(line).expect("it is well-formed"));
        }
        store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
        store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
        states.push((clock(), state));
    }
    let mut store = machine.open("default");
    let mut at = |time| store.at(time).expect("it has a history");
    assert!(at(before).unwrap_or_else(|problems| panic!("{problems:?}")).is_none());
    for (time, state) in &states {
        let found = at(*time).unwrap_or_else(|problems| panic!("{problems:?}")).expect("it exists");
        assert!(found.same_content(state), "{found:?}");
        assert_eq!((found.serial, &found.lineage), (state.serial, &state.lineage));
    }
    let versions = machine.open("default").history(&instance("terraform_data.r[0]")).expect("it has a history");
    let versions = versions.unwrap_or_else(|problems| panic!("{problems:?}"));
    let revisions: Vec<_> =
        versions.iter().map(|version| (version.begin.revision, version.end.as_ref().map(|end| end.revision))).collect();
    assert_eq!(revisions, [(1, Some(2)), (2, Some(3)), (3, None)]);
    assert!(versions[1].object.contains("\"n\":2") && versions[1].begin.who == machine.holder().who, "{versions:?}");
    // What was removed is not invented.
    sql(pg, &format!("select \"{name}\".yuba_prune('0')"));
    let problems = machine.open("default").at(states[0].0).expect("it has a history").expect_err("it is gone");
    assert!(problems.joined().contains("was removed"), "{problems:?}");
}

/// The same server with other arguments.
pub(crate) struct With<'p>(pub(crate) &'p Pg, pub(crate) serde_json::Value);

impl Subject for With<'_> {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }
    fn arguments(&self, state: &str) -> serde_json::Value {
        let mut arguments = self.0.arguments(state);
        for (name, value) in self.1.as_object().expect("it is an object") {
            arguments[name] = value.clone();
        }
        arguments
    }
}

fn history_is_removed_by_runs(pg: &Pg) {
    let name = unique("retained");
    let machine = Machine::new(&With(pg, serde_json::json!({ "history_days": 30 })), &name);
    (1..4).for_each(|n| drop(add(&machine, "default", n)));
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    state.apply(counted("terraform_data.r[1]", 1));
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    let stored = format!("select count(*) from \"{name}\".yuba_history");
    assert_eq!(sql(pg, &stored), "1", "it is not old");
    sql(
        pg,
        &format!(
            "set search_path = \"{name}\"; update yuba_commits set committed = committed - interval '31 days'; \
             insert into yuba_replaced_states values ('states', 'default', 'x', now() - interval '31 days')"
        ),
    );
    add(&machine, "default", 5);
    assert_eq!(sql(pg, &stored), "1", "once a day is enough");
    sql(pg, &format!("update \"{name}\".yuba_workspaces set pruned_at = now() - interval '2 days'"));
    add(&machine, "default", 6);
    assert_eq!(sql(pg, &stored), "0");
    assert_eq!(sql(pg, &format!("select count(*) from \"{name}\".yuba_replaced_states")), "0");
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1, 2, 3, 5, 6]);
    let arguments = With(pg, serde_json::json!({ "history_days": 0 })).arguments(&name);
    let backends = &machine.backends;
    let kind = backends.find("pg").expect("it is a row of the table");
    let problems = yuba_backend::BackendConfiguration::of_json(kind, &arguments).check();
    assert!(problems.joined().contains("history_days"), "{problems:?}");
}

fn roles_can_do_their_part(pg: &Pg) {
    let name = unique("roles");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    let prefix = name.replace('-', "_");
    let grants = machine.backend().grants(Some(&prefix)).expect("it has roles");
    sql(pg, &grants);
    // They can be reviewed and run again.
    sql(pg, &grants);
    let as_role = |role: &str| {
        let user = format!("{prefix}_{role}_user");
        sql(pg, &format!("create role \"{user}\" login password 'p'; grant \"{prefix}_{role}\" to \"{user}\""));
        let url = pg.arguments(&name)["conn_str"].as_str().expect("it is a string").to_owned();
        let (scheme, rest) = url.split_once("://").expect("it is a URL");
        let at = rest.find('@').map_or(0, |at| at + 1);
        With(pg, serde_json::json!({ "conn_str": format!("{scheme}://{user}:p@{}", &rest[at..]) }))
    };
    // `set role` in one session shows what the server allows.
    let allowed = |role: &str, statement: &str| {
        let run = format!(
            "begin; set local role \"{prefix}_{role}\"; set local search_path = \"{name}\"; \
             do $$ begin execute $q${statement}$q$; raise notice 'done'; exception when insufficient_privilege then \
             perform set_config('t.refused', 'yes', true); end $$; select coalesce(current_setting('t.refused', true), '') = ''; rollback"
        );
        sql(pg, &run).lines().any(|line| line == "t")
    };
    let parts = [
        ("select from resources, outputs, operations, history, locks", [true, true, true, true]),
        ("select from yuba_objects", [false, true, true, true]),
        ("select from states", [false, true, true, true]),
        ("update yuba_objects set version = version", [false, false, true, true]),
        ("delete from yuba_locks", [false, false, true, true]),
        ("update states set data = data where false", [false, false, true, true]),
        ("update yuba_history set version = version", [false, false, false, true]),
        ("update yuba_commits set committed = now()", [false, false, false, true]),
        ("update yuba_schema set version = 1", [false, false, false, true]),
        ("alter table yuba_objects add column more text", [false, false, false, true]),
        ("create table more (n integer)", [false, false, false, true]),
    ];
    for (statement, expected) in parts {
        let found = ["reader", "planner", "applier", "owner"].map(|role| allowed(role, statement));
        assert_eq!(found, expected, "{statement}");
    }
    // The same with the backend.
    let planner = Machine::new(&as_role("planner"), &name);
    assert_eq!(numbers(Some(&read(planner.open("default").as_mut()))), [1]);
    let refusal = planner.open("default").try_lock(planner.holder()).expect_err("it may not change anything");
    assert!(format!("{refusal:?}").contains("yuba state pg-grants"), "{refusal:?}");
    let applier = Machine::new(&as_role("applier"), &name);
    add(&applier, "default", 2);
    add(&applier, "w", 3);
    applier.backend().delete_workspace("w", WorkspaceRemoval::Forced).unwrap_or_else(|problems| panic!("{problems:?}"));
    let owner = Machine::new(&as_role("owner"), &name);
    add(&owner, "default", 3);
    assert_eq!(numbers(Some(&read(planner.open("default").as_mut()))), [1, 2, 3]);
    let reader = as_role("reader");
    let reason = refused(&reader.arguments(&name), &[]);
    assert!(reason.is_none_or(|reason| reason.contains("permission denied")));
}

fn an_estate_is_listed(pg: &Pg) {
    let (one, two) = (unique("estate"), unique("estate"));
    let machines = [&one, &two].map(|name| Machine::new(pg, name));
    add(&machines[0], "default", 1);
    add(&machines[0], "w", 1);
    add(&machines[0], "w", 2);
    add(&machines[1], "default", 1);
    crate::suite::interrupted_run(&machines[1]);
    until("its session is gone", || sql(pg, &format!("select bool_or(alive) is true from \"{two}\".locks")) == "f");
    let holder = locked(&machines[0], "w");
    let listed = machines[1].backend().estate().expect("it knows them");
    let mut listed = listed.unwrap_or_else(|problems| panic!("{problems:?}"));
    listed.retain(|found| found.schema == one || found.schema == two);
    let summary: Vec<_> = listed
        .iter()
        .map(|found| (found.schema.as_str(), found.workspace.as_str(), found.objects, found.locks))
        .collect();
    assert_eq!(summary, [(&*one, "default", 1, 0), (&*one, "w", 2, 1), (&*two, "default", 2, 0)]);
    assert!(listed[0].last.is_none());
    let last = listed[2].last.as_ref().expect("it has operations");
    assert_eq!((last.address.as_str(), last.result.as_str()), ("terraform_data.r[77]", "unknown"));
    drop(holder);
}

fn outputs_are_read_alone(pg: &Pg) {
    let name = unique("outputs");
    let machine = Machine::new(pg, &name);
    assert!(machine.open("default").outputs().unwrap_or_else(|problems| panic!("{problems:?}")).is_none());
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    state.apply(edit(1));
    let line = r#"{"edit":"set_output","name":"o","output":{"value":"v","type":"string","sensitive":true}}"#;
    state.apply(Edit::from_json_line(line).expect("it is well-formed"));
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    // Reading outputs does not depend on objects that are damaged.
    sql(pg, &format!("update \"{name}\".yuba_objects set object = '[]'"));
    let outputs = machine.open("default").outputs().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(outputs.expect("it exists"), state.outputs);
}

fn a_timeout_of_a_commit_loses_nothing(pg: &Pg) {
    let name = unique("commit_timeout");
    let direct = Machine::new(pg, &name);
    add(&direct, "default", 1);
    let url = format!(
        "{}&options=-cstatement_timeout%3D400",
        pg.arguments(&name)["conn_str"].as_str().expect("it is a string")
    );
    let limited = With(pg, serde_json::json!({ "conn_str": url }));
    let machine = Machine::new(&limited, &name);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    let mut journal = store.journal(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    sql(
        pg,
        &format!(
            "set search_path = \"{name}\"; create function slow() returns trigger language plpgsql as \
             $f$ begin perform pg_sleep(3); return new; end $f$; \
             create trigger slow before insert on yuba_objects for each row execute function \"{name}\".slow()"
        ),
    );
    journal.append(&[edit(2)]);
    let problems = journal.flush().expect_err("the statement takes too long");
    let problem = problems.iter().next().expect("there is one");
    assert_eq!(problem.code.id, "pg-saved-on-this-machine-only");
    assert!(problem.explanation().contains("Raise statement_timeout"), "{problems:?}");
    drop(journal);
    drop(store);
    assert_eq!(numbers(Some(&read(direct.open("default").as_mut()))), [1]);
    sql(pg, &format!("drop function \"{name}\".slow() cascade"));
    let next = machine.restarted(&limited, &name);
    assert_eq!(numbers(Some(&read(locked(&next, "default").as_mut()))), [1, 2]);
}

fn two_runs_begin_a_state(pg: &Pg) {
    let name = unique("begun");
    let machines = [Machine::new(pg, &name), Machine::new(pg, &name)];
    let mut stores = machines.each_ref().map(announced);
    let lineages = [0, 1].map(|n| {
        let mut state = State::empty();
        state.apply(edit(n));
        stores[n].write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
        read(machines[n].open("default").as_mut()).lineage
    });
    let state = read(machines[0].open("default").as_mut());
    assert_eq!((numbers(Some(&state)), state.serial), (vec![0, 1], 2));
    assert_eq!(lineages, [state.lineage.clone(), state.lineage]);
}

fn results_without_a_database(pg: &Pg) {
    let name = unique("outage_unsaved").replace("outage", "reach");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    let mut journal = store.journal(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    let begun = journal.begin(JournalOperation { address: "terraform_data.r[10]".into(), action: "create".into() });
    journal.hand_over().unwrap_or_else(|problems| panic!("{problems:?}"));
    // The tables are out of reach while the operation runs.
    sql(pg, &format!("alter table \"{name}\".yuba_objects rename to gone"));
    journal.finish(begun, &[edit(10)]);
    // Another machine cannot see the result, so it is not reported as finished.
    let problems = journal.flush().expect_err("the database does not have the result");
    let problem = problems.iter().next().expect("there is one");
    assert_eq!(problem.code.id, "pg-saved-on-this-machine-only");
    assert!(problem.explanation().contains(".unsaved"), "{problems:?}");
    assert!(journal.hand_over().is_err(), "nothing else starts");
    state.apply(edit(10));
    journal.close(&mut state).expect_err("it cannot be saved");
    drop(store);
    sql(pg, &format!("alter table \"{name}\".gone rename to yuba_objects"));
    assert_eq!(numbers(Some(&read(Machine::new(pg, &name).open("default").as_mut()))), [1]);
    let next = machine.restarted(pg, &name);
    let reading = locked(&next, "default").read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(numbers(reading.state.as_ref()), [1, 10]);
    assert_eq!(reading.recovered.expect("it was saved").addresses, ["terraform_data.r[10]"]);
    assert_eq!(numbers(Some(&read(Machine::new(pg, &name).open("default").as_mut()))), [1, 10]);
    let again = locked(&next, "default").read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert!(again.recovered.is_none());
}

fn newer_tables_are_refused(pg: &Pg) {
    let name = unique("newer");
    add(&Machine::new(pg, &name), "default", 1);
    sql(pg, &format!("update \"{name}\".yuba_schema set version = 99"));
    let reason = refused(&pg.arguments(&name), &[]).expect("the version is not known");
    assert!(reason.contains("have version 99") && reason.contains("newer version of Yuba"), "{reason}");
}

fn half_a_migration_is_refused(pg: &Pg) {
    let name = unique("half");
    add(&Machine::new(pg, &name), "default", 1);
    sql(pg, &format!("drop table \"{name}\".yuba_schema"));
    let reason = refused(&pg.arguments(&name), &[]).expect("the version is not known");
    assert!(reason.contains("does not say its version"), "{reason}");
}

fn tables_are_created_once(pg: &Pg) {
    let name = unique("created_once");
    std::thread::scope(|scope| {
        for n in 0..4 {
            let name = &name;
            scope.spawn(move || add(&Machine::new(pg, name), "default", n));
        }
    });
    assert_eq!(numbers(Some(&read(Machine::new(pg, &name).open("default").as_mut()))), [0, 1, 2, 3]);
}

fn edited_rows_are_checked(pg: &Pg) {
    let edits: &[(&str, &str)] = &[
        ("update yuba_objects set object = '[]' where address like '%[1]'", "state"),
        ("update yuba_objects set mode = 'other' where address like '%[1]'", "other"),
        ("update yuba_objects set provider = 'nonsense' where address like '%[1]'", "provider"),
        (
            "update yuba_objects set provider = 'provider[\"example.com/a/b\"]' where address like '%[1]'",
            "different provider addresses",
        ),
        ("update yuba_objects set instance_key = 'true' where address like '%[1]'", "key"),
        ("update yuba_objects set deposed = 'short' where address like '%[1]'", "deposed"),
        // Two current objects of one instance.
        ("update yuba_objects set instance_key = '2' where address like '%[1]'", "terraform_data.r[2]"),
        ("update yuba_objects set dependencies = '[\"not an address!\"]' where address like '%[1]'", "address"),
    ];
    for (statement, says) in edits {
        let name = unique("edited");
        let machine = Machine::new(pg, &name);
        (1..3).for_each(|n| drop(add(&machine, "default", n)));
        sql(pg, &format!("set search_path = \"{name}\"; {statement}"));
        let problems = machine.open("default").read().expect_err(statement);
        assert!(problems.joined().contains(says), "{statement}: {problems:?}");
    }
    // A dependency that does not exist is accepted: its object may be gone already.
    let name = unique("dangling");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    sql(pg, &format!("update \"{name}\".yuba_objects set dependencies = '[\"terraform_data.none\"]'"));
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1]);
}

fn a_state_of_the_other_layout(pg: &Pg) {
    let name = unique("layouts");
    let rows = Machine::new(pg, &name);
    let content = r#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"x","outputs":{},"resources":[{"mode":"managed"}]}"#;
    sql(pg, &format!("insert into \"{name}\".states (name, data) values ('default', '{content}')"));
    let mut store = locked(&rows, "default");
    let reading = store.read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert!(reading.diagnostics.iter().any(|problem| problem.code.id == "pg-state-elsewhere"), "{reading:?}");
    let mut state = State::empty();
    state.apply(edit(1));
    let problems = store.write(&mut state).expect_err("the table has a state");
    assert!(problems.iter().any(|problem| problem.code.id == "pg-other-layout"), "{problems:?}");
    assert_eq!(sql(pg, &format!("select data from \"{name}\".states")), content);
    // A command that copies a state replaces it, and a copy stays.
    store.push(&state, SuccessorCheck::Skipped).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(sql(pg, &format!("select data from \"{name}\".yuba_replaced_states")), content);
    assert!(sql(pg, &format!("select data from \"{name}\".states")).contains("yuba_layout"));
}

fn a_statement_timeout_is_named(pg: &Pg) {
    let name = unique("timeout");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    sql(
        pg,
        &format!(
            "alter table \"{name}\".yuba_objects rename to o; create view \"{name}\".yuba_objects as \
             select o.* from \"{name}\".o, pg_sleep(2)"
        ),
    );
    let mut arguments = pg.arguments(&name);
    let url = format!("{}&options=-cstatement_timeout%3D300", arguments["conn_str"].as_str().expect("it is a string"));
    arguments["conn_str"] = url.into();
    let kind = machine.backends.find("pg").expect("it is a row of the table");
    let configuration = yuba_backend::BackendConfiguration::of_json(kind, &arguments);
    let storage = machine.backends.open(&configuration).unwrap_or_else(|problems| panic!("{problems:?}"));
    let backend = machine.backends.backend(&storage, None);
    let mut store = backend.open("default").unwrap_or_else(|problems| panic!("{problems:?}"));
    let problems = store.read().expect_err("the statement takes too long");
    assert!(problems.joined().contains("statement_timeout"), "{problems:?}");
}

fn history_is_removed(pg: &Pg) {
    let name = unique("history");
    let machine = Machine::new(pg, &name);
    (1..4).for_each(|n| drop(add(&machine, "default", n)));
    let mut old = announced(&machine);
    let mut store = locked(&Machine::new(pg, &name), "default");
    let mut state = read(store.as_mut());
    state.apply(counted("terraform_data.r[1]", 1));
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    let versions = format!("select count(*) from \"{name}\".history where address = 'terraform_data.r[1]'");
    assert_eq!(sql(pg, &versions), "2");
    assert_eq!(sql(pg, &format!("select \"{name}\".yuba_prune('1 day')")), "0");
    assert_eq!(sql(pg, &format!("select \"{name}\".yuba_prune('0')")), "1");
    assert_eq!(sql(pg, &versions), "1");
    // What has changed since is no longer known.
    let stale = old.reserve(None, &part(&["terraform_data.r[2]"], &[])).expect("it is free");
    assert!(matches!(stale, Reservation::Stale(_)), "{stale:?}");
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1, 2, 3]);
}

fn large_contents_are_stored(pg: &Pg) {
    let name = unique("large_rows");
    let machine = Machine::new(pg, &name);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    let large = "x".repeat(40 << 20);
    let line = format!(
        r#"{{"edit":"set_object","addr":"terraform_data.large","provider":"provider[\"terraform.io/builtin/terraform\"]","object":{{"schema_version":0,"attributes":{{"id":"\u0000{large}"}},"sensitive_attributes":[]}}}}"#
    );
    state.apply(Edit::from_json_line(&line).expect("it is well-formed"));
    for n in 0..50_000 {
        let line = format!(r#"{{"edit":"set_output","name":"o{n}","output":{{"value":"v","type":"string"}}}}"#);
        state.apply(Edit::from_json_line(&line).expect("it is well-formed"));
    }
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    let again = read(Machine::new(pg, &name).open("default").as_mut());
    assert!(again.same_content(&state) && again.serial == state.serial);
}

/// Objects of the model.
pub(crate) const OBJECTS: u64 = 8;
/// Runs that change objects at the same time.
const APPLIERS: u64 = 4;

/// What the model knows of an object: how often it was changed, at least and at most.
pub(crate) type Model = Mutex<BTreeMap<u64, (u64, u64)>>;

pub(crate) fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

/// Stores all objects with a count of zero.
pub(crate) fn store_objects(machine: &Machine) {
    let mut store = locked(machine, "default");
    let mut state = read(store.as_mut());
    (0..OBJECTS).for_each(|n| state.apply(counted(&format!("a.r[{n}]"), 0)));
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
}

/// Appliers and planners run at the same time. Sessions end, processes end between any two steps, and each object counts how often it
/// was changed. `YUBA_ROUNDS` is the number of runs of each applier, `YUBA_CRASH_SEED` repeats their decisions.
fn concurrent_runs_follow_the_model(pg: &Pg) {
    let variable = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let rounds = variable("YUBA_ROUNDS").unwrap_or(30);
    let seed = variable("YUBA_CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("YUBA_CRASH_SEED={seed}");
    let name = unique("model");
    let first = Machine::new(pg, &name);
    store_objects(&first);
    let model: Model = Mutex::new((0..OBJECTS).map(|n| (n, (0, 0))).collect());
    let (is_over, plans) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let appliers: Vec<_> = (0..APPLIERS)
            .map(|applier| {
                let (model, name) = (&model, &name);
                scope.spawn(move || {
                    let mut random =
                        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (applier + 1).wrapping_mul(0x1234_5678_9abc_def1);
                    let mut machine = Machine::new(pg, name);
                    for _ in 0..rounds {
                        if !one_run(&machine, model, &mut random) {
                            machine = Machine::new(pg, name);
                        }
                    }
                })
            })
            .collect();
        // Planners see whole commits only, and never wait.
        scope.spawn(|| {
            let machine = Machine::new(pg, &name);
            let mut last = 0;
            while !is_over.load(Ordering::SeqCst) {
                let state = read(machine.open("default").as_mut());
                let sum: u64 = (0..OBJECTS).map(|n| count(&state, &format!("a.r[{n}]"))).sum();
                assert!(sum >= last, "a snapshot goes back: {sum} after {last}");
                last = sum;
                plans.fetch_add(1, Ordering::SeqCst);
            }
        });
        // Sessions of runs end at any time.
        scope.spawn(|| {
            let mut random = seed | 1;
            while !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(20 + next(&mut random) % 60));
                let end = format!(
                    "select count(pg_terminate_backend(process)) from (select process from \"{name}\".yuba_runs \
                     where ended is null order by random() limit 1) r"
                );
                sql(pg, &end);
            }
        });
        for applier in appliers {
            applier.join().expect("an applier has found no violation");
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let state = read(first.open("default").as_mut());
    for (n, (least, most)) in model.lock().expect("nothing panics while it is held").iter() {
        let found = count(&state, &format!("a.r[{n}]"));
        assert!((*least..=*most).contains(&found), "object {n} was changed {found} times, and not {least} to {most}");
    }
    // Everything can be locked again.
    drop(locked(&first, "default"));
    let changes: u64 = (0..OBJECTS).map(|n| count(&state, &format!("a.r[{n}]"))).sum();
    println!("{changes} changes in {} runs, {} plans", rounds * APPLIERS, plans.load(Ordering::SeqCst));
    assert!(changes > 0);
}

/// One run of an applier. False if its process has ended.
pub(crate) fn one_run(machine: &Machine, model: &Model, random: &mut u64) -> bool {
    let mut store = machine.open("default");
    if store.try_lock_part(machine.holder(), Duration::ZERO).is_err() {
        return true;
    }
    let Ok(reading) = store.read() else { return true };
    let mut state = reading.state.expect("it exists");
    let wanted: BTreeSet<u64> = (0..=next(random) % 3).map(|_| next(random) % OBJECTS).collect();
    let names: Vec<String> = wanted.iter().map(|n| format!("a.r[{n}]")).collect();
    let read_too = format!("a.r[{}]", next(random) % OBJECTS);
    let writes: Vec<&str> = names.iter().map(String::as_str).collect();
    let reserved = store.reserve(None, &part(&[&read_too], &writes));
    if !matches!(reserved, Ok(Reservation::Held)) {
        let _ = store.unlock();
        return true;
    }
    let crash = next(random) % 12;
    if crash == 0 {
        return false;
    }
    let Ok(mut journal) = store.journal(&mut state) else { return true };
    for n in &wanted {
        let address = format!("a.r[{n}]");
        let begun = journal.begin(JournalOperation { address: address.as_str().into(), action: "update".into() });
        if journal.hand_over().is_err() {
            break;
        }
        if crash == 1 {
            return false;
        }
        // The real object changes here. From now on the result may be in the state.
        let value = count(&state, &address) + 1;
        journal.finish(begun, &[counted(&address, value)]);
        state.apply(counted(&address, value));
        model.lock().expect("nothing panics while it is held").entry(*n).or_default().1 += 1;
        if crash == 2 {
            return false;
        }
        if journal.flush().is_err() {
            break;
        }
        // It is reported here, so no machine may lose it from now on.
        model.lock().expect("nothing panics while it is held").entry(*n).or_default().0 += 1;
        if crash == 3 {
            return false;
        }
    }
    let _ = journal.close(&mut state);
    let _ = store.unlock();
    true
}
