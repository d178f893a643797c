//! Runs of `backend "pg" { layout = "resources" }`: their sessions, their locks, and what others see of them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use yuba_backend::{JournalOperation, LockRefusal, Reservation, WorkspaceRemoval};

use crate::pg::{DATABASE, Pg};
use crate::pg_rows::{With, announced, count, counted, part, sql};
use crate::subject::{Machine, Subject, unique};
use crate::suite::{add, edit, locked, numbers, read};

/// Ends the session of the only run that has not ended.
fn end_session(pg: &Pg, name: &str) {
    sql(pg, &format!("select pg_terminate_backend(process) from \"{name}\".yuba_runs where ended is null"));
    let alive = format!("select count(*) from \"{name}\".yuba_runs where \"{name}\".yuba_alive(process, session_key)");
    until("the session is gone", || sql(pg, &alive) == "0");
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn absent_runs_keep_their_locks(pg: &Pg) {
    let name = unique("absent");
    let (one, two) = (Machine::new(pg, &name), Machine::new(pg, &name));
    (0..3).for_each(|n| drop(add(&one, "default", n)));
    let mut first = announced(&one);
    assert_eq!(first.reserve(None, &part(&[], &["terraform_data.r[1]"])).expect("it is free"), Reservation::Held);
    let mut start = read(first.as_mut());
    let mut journal = first.journal(&mut start).unwrap_or_else(|problems| panic!("{problems:?}"));
    end_session(pg, &name);
    // Another run takes other locks. The first one goes on with its own.
    let mut second = announced(&two);
    assert_eq!(second.reserve(None, &part(&[], &["terraform_data.r[2]"])).expect("it is free"), Reservation::Held);
    journal.append(&[counted("terraform_data.r[1]", 5)]);
    journal.flush().unwrap_or_else(|problems| panic!("{problems:?}"));
    second.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    // A run that takes the same lock ends it.
    end_session(pg, &name);
    let mut third = announced(&two);
    assert_eq!(third.reserve(None, &part(&["terraform_data.r[1]"], &[])).expect("it is free"), Reservation::Held);
    journal.append(&[counted("terraform_data.r[1]", 6)]);
    let problems = journal.flush().expect_err("the locks are lost");
    assert_eq!(problems.iter().next().map(|problem| problem.code.id), Some("pg-saved-on-this-machine-only"));
    let problems = journal.hand_over().expect_err("nothing starts");
    assert!(problems.joined().contains("another run has taken its locks"), "{problems:?}");
    drop(journal);
    assert_eq!(count(&read(two.open("default").as_mut()), "terraform_data.r[1]"), 5);
}

pub(crate) fn waiting_runs_plan_under_locks(pg: &Pg) {
    let name = unique("waiting");
    let machines = [(); 3].map(|()| Machine::new(pg, &name));
    (0..3).for_each(|n| drop(add(&machines[0], "default", n)));
    let [mut first, mut second, mut third] = machines.each_ref().map(announced);
    let wanted = part(&[], &["terraform_data.r[1]"]);
    assert_eq!(first.reserve(None, &wanted).expect("it is free"), Reservation::Held);
    assert!(matches!(second.reserve(None, &wanted), Err(LockRefusal::Held { .. })));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(60) {
                assert!(second.wait_for_holder(Duration::from_secs(60)), "the holder is known");
                match second.reserve(None, &wanted) {
                    Ok(reservation) => return (second, reservation),
                    Err(LockRefusal::Held { .. }) => {}
                    Err(refusal) => panic!("{refusal:?}"),
                }
            }
            panic!("the lock is never free");
        });
        let mut state = read(first.as_mut());
        state.apply(counted("terraform_data.r[1]", 5));
        first.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
        first.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
        // Its plan is stale, and it has the locks for the next one.
        let (mut second, reservation) = waiter.join().expect("it gets the lock");
        assert_eq!(reservation, Reservation::Stale(vec!["terraform_data.r[1]".to_owned()]));
        let wanted = part(&[], &["terraform_data.r[1]"]);
        assert!(matches!(third.reserve(None, &wanted), Err(LockRefusal::Held { .. })));
        read(second.as_mut());
        assert_eq!(second.reserve(None, &wanted).expect("it has the lock"), Reservation::Held);
        // A request that fails gives up what the run has: no run waits while another one waits for it.
        let more = part(&[], &["terraform_data.r[2]"]);
        assert_eq!(third.reserve(None, &more).expect("it is free"), Reservation::Held);
        let both = part(&[], &["terraform_data.r[1]", "terraform_data.r[2]"]);
        assert!(matches!(second.reserve(None, &both), Err(LockRefusal::Held { .. })));
        assert!(matches!(third.reserve(None, &both), Ok(Reservation::Stale(_))));
    });
}

pub(crate) fn live_runs_are_not_ended(pg: &Pg) {
    let name = unique("forced");
    let (one, two) = (Machine::new(pg, &name), Machine::new(pg, &name));
    add(&one, "default", 1);
    let mut store = one.open("default");
    let id = store.try_lock(one.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    let mut other = two.open("default");
    assert!(other.force_unlock("00000000-0000-0000-0000-000000000000").is_err());
    let problems = other.force_unlock(&id).expect_err("the session exists");
    assert!(problems.joined().contains("still exists"), "{problems:?}");
    // A role that does not see the sessions of others gets the same result.
    let role = format!("{name}_blind").replace('-', "_");
    sql(
        pg,
        &format!(
            "create role \"{role}\" login; grant usage on schema \"{name}\" to \"{role}\"; \
             grant select, insert, update, delete on all tables in schema \"{name}\" to \"{role}\""
        ),
    );
    let blind = format!("set role \"{role}\"; select \"{name}\".yuba_force('{id}') is not null");
    assert_eq!(sql(pg, &blind).lines().last(), Some("t"));
    let mut state = read(store.as_mut());
    state.apply(edit(2));
    store.write(&mut state).unwrap_or_else(|problems| panic!("the run goes on: {problems:?}"));
    // Another session with the number of that process is not the run.
    let mine = format!(
        "begin; update \"{name}\".yuba_runs set process = pg_backend_pid() where id = '{id}'; \
         select \"{name}\".yuba_force('{id}') is null; rollback"
    );
    assert!(sql(pg, &mine).lines().any(|line| line == "t"));
    end_session(pg, &name);
    other.force_unlock(&id).unwrap_or_else(|problems| panic!("{problems:?}"));
    state.apply(edit(3));
    let problems = store.write(&mut state).expect_err("the run was ended");
    assert!(problems.iter().any(|problem| problem.code.id == "state-lock-lost"), "{problems:?}");
    assert_eq!(numbers(Some(&read(two.open("default").as_mut()))), [1, 2]);
}

pub(crate) fn other_versions_are_refused(pg: &Pg) {
    let name = unique("fence");
    let machine = Machine::new(pg, &name);
    add(&machine, "default", 1);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    let mut journal = store.journal(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    journal.append(&[edit(2)]);
    journal.flush().unwrap_or_else(|problems| panic!("{problems:?}"));
    // A later version migrates the tables while this client runs.
    sql(
        pg,
        &format!(
            "begin; lock table \"{name}\".yuba_schema in access exclusive mode; \
             alter table \"{name}\".yuba_objects add column more text; \
             update \"{name}\".yuba_schema set version = version + 1; commit"
        ),
    );
    journal.append(&[edit(3)]);
    let problems = journal.flush().expect_err("the client is too old");
    assert!(problems.joined().contains("supports version"), "{problems:?}");
    drop(journal);
    drop(store);
    let locked = machine.open("default").try_lock(machine.holder()).expect_err("the client is too old");
    assert!(format!("{locked:?}").contains("supports version"), "{locked:?}");
    let problems = machine.open("default").read().expect_err("the client is too old");
    assert!(problems.joined().contains("newer version of Yuba"), "{problems:?}");
    let deleted = machine.backend().delete_workspace("w", WorkspaceRemoval::Forced);
    assert!(deleted.is_ok(), "there is no such workspace: {deleted:?}");
    assert_eq!(sql(pg, &format!("select count(*) from \"{name}\".yuba_objects")), "2");
    // A migration waits for transactions of clients that have checked the version.
    let waits = format!(
        "begin; select \"{name}\".yuba_check(2); \
         select count(*) from pg_locks where relation = '\"{name}\".yuba_schema'::regclass and mode = 'AccessShareLock'; commit"
    );
    assert!(sql(pg, &waits).lines().any(|line| line == "1"));
}

pub(crate) fn a_locked_workspace_stays(pg: &Pg) {
    let name = unique("deleted");
    let (one, two) = (Machine::new(pg, &name), Machine::new(pg, &name));
    add(&one, "w", 1);
    let waiting = format!(
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%\"{name}\".yuba_%'"
    );
    // A transaction of another client makes both wait: the run that locks, and the command that deletes.
    let hold = format!(
        "begin; select 1 from \"{name}\".yuba_workspaces where name = 'w' for update; \
         do $$ begin loop perform pg_stat_clear_snapshot(); exit when ({waiting}) >= 2; perform pg_sleep(0.01); end loop; end $$; \
         commit"
    );
    let mut store = one.open("w");
    store.try_lock_part(one.holder(), Duration::ZERO).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let mut state = read(store.as_mut());
    let (reserved, deleted) = std::thread::scope(|scope| {
        scope.spawn(|| sql(pg, &hold));
        let is_held = format!(
            "select count(*) from pg_locks where relation = '\"{name}\".yuba_workspaces'::regclass and mode = 'RowShareLock'"
        );
        until("the row is locked", || sql(pg, &is_held) == "1");
        let locker = scope.spawn(|| store.reserve(None, &part(&[], &["terraform_data.r[1]"])));
        until("the run waits", || sql(pg, &waiting) == "1");
        let deleted = two.backend().delete_workspace("w", WorkspaceRemoval::Forced);
        (locker.join().expect("it does not panic"), deleted)
    });
    // The run registers itself before it locks, so either of them can be the first. It is never both.
    match (reserved, deleted) {
        (Ok(reservation), Err(refused)) => {
            assert_eq!(reservation, Reservation::Held);
            assert!(refused.joined().contains("holds locks"), "{refused:?}");
        }
        (Err(_), Ok(())) => {
            drop(store);
            add(&one, "w", 1);
            store = one.open("w");
            store.try_lock_part(one.holder(), Duration::ZERO).unwrap_or_else(|refusal| panic!("{refusal:?}"));
            state = read(store.as_mut());
            let reserved = store.reserve(None, &part(&[], &["terraform_data.r[1]"]));
            assert_eq!(reserved.expect("it is free"), Reservation::Held);
        }
        both => panic!("{both:?}"),
    }
    let refused = two.backend().delete_workspace("w", WorkspaceRemoval::Forced);
    assert!(refused.expect_err("a run has locks").joined().contains("holds locks"));
    state.apply(counted("terraform_data.r[1]", 7));
    store.write(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    two.backend().delete_workspace("w", WorkspaceRemoval::Forced).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(sql(pg, &format!("select count(*) from \"{name}\".yuba_workspaces where name = 'w'")), "0");
}

pub(crate) fn another_table_is_protected(pg: &Pg) {
    let name = unique("tables");
    add(&Machine::new(pg, &name), "default", 1);
    let others = With(pg, serde_json::json!({ "table_name": "others", "index_name": "others_by_name" }));
    add(&Machine::new(&others, &name), "default", 2);
    let write = format!(
        "do $$ begin update \"{name}\".others set data = '{{}}'; exception when raise_exception then null; end $$; \
         select count(*) from \"{name}\".others where data like '%yuba_layout%'"
    );
    assert_eq!(sql(pg, &write), "1");
}

pub(crate) fn failed_operations_are_recorded(pg: &Pg) {
    let name = unique("outcomes");
    let machine = Machine::new(pg, &name);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    let mut journal = store.journal(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    let operation =
        |n: usize| JournalOperation { address: format!("terraform_data.r[{n}]").into(), action: "create".into() };
    let ids = [1, 2, 3].map(|n| journal.begin(operation(n)));
    journal.hand_over().unwrap_or_else(|problems| panic!("{problems:?}"));
    journal.finish(ids[0], &[edit(1)]);
    journal.fail(ids[1], &[]);
    journal.flush().unwrap_or_else(|problems| panic!("{problems:?}"));
    let results = format!("select string_agg(result, ',' order by address) from \"{name}\".operations");
    assert_eq!(sql(pg, &results), "finished,failed,running");
    drop(journal);
    drop(store);
    until("the session is gone", || sql(pg, &results) == "finished,failed,unknown");
}

pub(crate) fn a_refusal_names_all_holders(pg: &Pg) {
    let name = unique("holders");
    let machines = [(); 3].map(|()| Machine::new(pg, &name));
    (0..3).for_each(|n| drop(add(&machines[0], "default", n)));
    let [mut first, mut second, mut third] = machines.each_ref().map(announced);
    assert_eq!(first.reserve(None, &part(&[], &["a.r[1]"])).expect("it is free"), Reservation::Held);
    assert_eq!(second.reserve(None, &part(&[], &["a.r[2]"])).expect("it is free"), Reservation::Held);
    match third.reserve(None, &part(&["a.r[1]"], &["a.r[2]"])) {
        Err(LockRefusal::Held { holder: Some(holder), .. }) => {
            let named = format!("{} {}", holder.path, holder.info);
            assert!(named.contains("a.r[1]") && named.contains("a.r[2]"), "{holder:?}");
        }
        outcome => panic!("{outcome:?}"),
    }
}

/// A pooler that gives each transaction the next of three sessions.
struct Pooler<'p> {
    pg: &'p Pg,
    port: u16,
}

impl<'p> Pooler<'p> {
    fn start(pg: &'p Pg) -> Pooler<'p> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let (port, server) = (listener.local_addr().expect("it is bound").port(), pg.server.port());
        // The thread ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                std::thread::spawn(move || pool(client, server));
            }
        });
        Pooler { pg, port }
    }
}

/// Serves a client. Transactions take turns on three sessions.
fn pool(mut client: TcpStream, server: u16) {
    let mut sessions = [(); 3].map(|()| TcpStream::connect(("127.0.0.1", server)).expect("the server runs"));
    let mut buffer = vec![0; 1 << 16];
    let (mut turn, mut is_started) = (0, false);
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let request = buffer[..length].to_vec();
        let to: &[usize] = if is_started { &[turn] } else { &[1, 2, 0] };
        let mut status = b'I';
        for session in to {
            if sessions[*session].write_all(&request).is_err() {
                return;
            }
            let mut response = Vec::new();
            while !(response.len() >= 6 && response[response.len() - 6..].starts_with(&[b'Z', 0, 0, 0, 5])) {
                match sessions[*session].read(&mut buffer) {
                    Ok(length @ 1..) => response.extend_from_slice(&buffer[..length]),
                    _ => return,
                }
            }
            status = response[response.len() - 1];
            if *session == turn && client.write_all(&response).is_err() {
                return;
            }
        }
        is_started = true;
        if status == b'I' {
            turn = (turn + 1) % sessions.len();
        }
    }
}

impl Subject for Pooler<'_> {
    fn kind(&self) -> &'static str {
        "pg"
    }
    fn arguments(&self, state: &str) -> serde_json::Value {
        let mut arguments = self.pg.arguments(state);
        arguments["conn_str"] = format!("postgres://tofu@127.0.0.1:{}/{DATABASE}?sslmode=disable", self.port).into();
        arguments
    }
}

pub(crate) fn a_pooler_is_refused(pg: &Pg) {
    let name = unique("pooled");
    add(&Machine::new(pg, &name), "default", 1);
    let machine = Machine::new(&Pooler::start(pg), &name);
    // Reading needs no session.
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1]);
    let refusal = machine.open("default").try_lock(machine.holder()).expect_err("locks do not hold");
    assert!(format!("{refusal:?}").contains("PgBouncer"), "{refusal:?}");
    assert_eq!(sql(pg, &format!("select count(*) from \"{name}\".yuba_locks")), "0");
}
