//! The tests that every backend passes.

use std::time::{Duration, Instant};

use yuba_backend::{JournalOperation, LockRefusal, Saved, StateStore, WorkspaceRemoval};
use yuba_state::{Edit, State};

use crate::subject::{Machine, OUTAGE, Subject, unique};

/// A test over a backend.
pub(crate) type Test = fn(&dyn Subject);

/// Names and tests.
pub(crate) const TESTS: &[(&str, Test)] = &[
    ("a state is written and read", a_state_is_written_and_read),
    ("an old state is not written over a newer one", an_old_state_is_not_written_over_a_newer_one),
    ("a lock excludes others and names its holder", a_lock_excludes_others_and_names_its_holder),
    ("a lock is released by force", a_lock_is_released_by_force),
    ("workspaces have states of their own", workspaces_have_states_of_their_own),
    ("a state of 10 MB is written and read", a_large_state_is_written_and_read),
    ("concurrent writers lose no update", concurrent_writers_lose_no_update),
    ("an interrupted run is completed", an_interrupted_run_is_completed),
    ("another machine completes an interrupted run", another_machine_completes_an_interrupted_run),
    ("a lost lock stops the run", a_lost_lock_stops_the_run),
    ("a damaged state is an error", a_damaged_state_is_an_error),
    ("an outage loses nothing", an_outage_loses_nothing),
];

/// An object is made at `terraform_data.r[n]`.
pub(crate) fn edit(n: usize) -> Edit {
    let line = format!(
        r#"{{"edit":"set_object","addr":"terraform_data.r[{n}]","provider":"provider[\"terraform.io/builtin/terraform\"]","object":{{"schema_version":0,"attributes":{{"id":"{n:0>200}"}},"sensitive_attributes":[]}}}}"#
    );
    Edit::from_json_line(&line).expect("it is well-formed")
}

/// Numbers of the objects in a state.
pub(crate) fn numbers(state: Option<&State>) -> Vec<usize> {
    let instances = state.into_iter().flat_map(State::instances);
    let texts = instances.map(|(addr, ..)| addr.to_string());
    let mut found: Vec<usize> =
        texts.filter_map(|text| text.strip_prefix("terraform_data.r[")?.strip_suffix(']')?.parse().ok()).collect();
    found.sort_unstable();
    found
}

pub(crate) fn read(store: &mut dyn StateStore) -> State {
    let reading = store.read().unwrap_or_else(|problems| panic!("{problems:?}"));
    reading.state.unwrap_or_else(State::empty)
}

pub(crate) fn write(store: &mut dyn StateStore, state: &mut State) -> Saved {
    store.write(state).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Adds an object under the lock.
pub(crate) fn add(machine: &Machine, workspace: &str, n: usize) -> State {
    let mut store = locked(machine, workspace);
    let mut state = read(store.as_mut());
    state.apply(edit(n));
    write(store.as_mut(), &mut state);
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    state
}

/// Opens a state and takes its lock. Waits for other holders for up to a minute.
pub(crate) fn locked(machine: &Machine, workspace: &str) -> Box<dyn StateStore> {
    let mut store = machine.open(workspace);
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match store.try_lock(machine.holder()) {
            Ok(_) => return store,
            Err(refusal) if refusal.may_pass() && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(refusal) => panic!("{refusal:?}"),
        }
    }
}

fn a_state_is_written_and_read(subject: &dyn Subject) {
    let name = unique("written");
    let machine = Machine::new(subject, &name);
    assert!(
        machine
            .open("default")
            .read()
            .expect("an absent state is not an error")
            .state
            .is_none_or(|state| state.is_empty())
    );
    let first = add(&machine, "default", 1);
    assert!(!first.lineage.is_empty());
    let other = machine.other(subject, &name);
    let seen = read(other.open("default").as_mut());
    assert_eq!((numbers(Some(&seen)), &seen.lineage, seen.serial), (vec![1], &first.lineage, first.serial));
    let second = add(&other, "default", 2);
    assert_eq!((second.serial, &second.lineage), (first.serial + 1, &first.lineage));
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1, 2]);
    let mut store = locked(&machine, "default");
    let mut unchanged = read(store.as_mut());
    assert_eq!(write(store.as_mut(), &mut unchanged), Saved::Unchanged);
    assert_eq!(unchanged.serial, second.serial);
}

fn an_old_state_is_not_written_over_a_newer_one(subject: &dyn Subject) {
    if !subject.abilities().conditional_writes {
        return;
    }
    let name = unique("stale");
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    let other = machine.other(subject, &name);
    let mut late = other.open("default");
    let mut old = read(late.as_mut());
    add(&machine, "default", 2);
    old.apply(edit(3));
    let problems = late.write(&mut old).expect_err("the state has changed since it was read");
    assert!(problems.iter().any(|problem| problem.code.id == "state-replaced"), "{problems:?}");
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1, 2]);
}

fn a_lock_excludes_others_and_names_its_holder(subject: &dyn Subject) {
    let abilities = subject.abilities();
    if !abilities.locks {
        return;
    }
    let name = unique("locks");
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    let mut ours = locked(&machine, "default");
    let other = machine.other(subject, &name);
    let mut theirs = other.open("default");
    match theirs.try_lock(other.holder()) {
        Err(LockRefusal::Held { holder, .. }) => {
            if abilities.names_holder {
                let holder = holder.expect("the store says who holds the lock");
                assert_eq!(holder.operation, "OperationTypeApply");
                assert_eq!(holder.who, machine.holder().who);
            }
        }
        outcome => panic!("{outcome:?}"),
    }
    // Reading needs no lock.
    assert_eq!(numbers(Some(&read(other.open("default").as_mut()))), [1]);
    ours.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    theirs.try_lock(other.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    theirs.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
}

fn a_lock_is_released_by_force(subject: &dyn Subject) {
    let abilities = subject.abilities();
    if !(abilities.locks && abilities.force_unlock) {
        return;
    }
    let name = unique("force");
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    let mut ours = machine.open("default");
    let id = ours.try_lock(machine.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    let other = machine.other(subject, &name);
    let mut theirs = other.open("default");
    assert!(theirs.force_unlock("00000000-0000-0000-0000-000000000000").is_err());
    theirs.force_unlock(&id).unwrap_or_else(|problems| panic!("{problems:?}"));
    // Consul delays the next lock for some seconds.
    let next = locked(&other, "default");
    if abilities.release_is_checked {
        drop(next);
        assert!(ours.unlock().is_err(), "the lock was taken away");
        return;
    }
    // A lock of another process is never released instead.
    assert!(ours.unlock().is_err(), "the lock was taken away");
    let mut third = machine.open("default");
    assert!(matches!(third.try_lock(machine.holder()), Err(LockRefusal::Held { .. })));
    drop(next);
}

fn workspaces_have_states_of_their_own(subject: &dyn Subject) {
    let (name, workspace) = (unique("workspaces"), subject.workspace());
    let machine = Machine::new(subject, &name);
    if !subject.abilities().workspaces {
        // A backend without `default` has workspaces, if only one.
        assert_eq!(machine.backend().has_workspaces(), subject.main_workspace() != "default");
        return;
    }
    assert_eq!(machine.backend().workspaces().unwrap_or_else(|problems| panic!("{problems:?}")), ["default"]);
    add(&machine, "default", 1);
    add(&machine, workspace, 2);
    let other = machine.other(subject, &name);
    let listed = other.backend().workspaces().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(listed, ["default", workspace]);
    drop(other.open("empty"));
    assert_eq!(machine.backend().workspaces().expect("it was listed before"), ["default", "empty", workspace]);
    assert_eq!(numbers(Some(&read(other.open("default").as_mut()))), [1]);
    assert_eq!(numbers(Some(&read(other.open(workspace).as_mut()))), [2]);
    for deleted in [workspace, "empty"] {
        other
            .backend()
            .delete_workspace(deleted, WorkspaceRemoval::Forced)
            .unwrap_or_else(|problems| panic!("{problems:?}"));
    }
    assert_eq!(machine.backend().workspaces().expect("it was listed before"), ["default"]);
    assert!(machine.backend().delete_workspace("default", WorkspaceRemoval::Forced).is_err());
    // A workspace that is made again begins without objects.
    assert_eq!(numbers(Some(&read(machine.open(workspace).as_mut()))), Vec::<usize>::new());
}

fn a_large_state_is_written_and_read(subject: &dyn Subject) {
    let name = unique("large");
    let machine = Machine::new(subject, &name);
    let mut store = locked(&machine, "default");
    let mut state = read(store.as_mut());
    let count = 36_000;
    (0..count).for_each(|n| state.apply(edit(n)));
    let mut bytes = Vec::new();
    yuba_state::write_compact(&state, &mut bytes);
    assert!(bytes.len() > 10_000_000, "{}", bytes.len());
    write(store.as_mut(), &mut state);
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    let other = machine.other(subject, &name);
    assert_eq!(numbers(Some(&read(other.open("default").as_mut()))).len(), count);
    // Smaller than before: nothing of the large one is left.
    let mut store = locked(&other, "default");
    read(store.as_mut());
    let mut state = State::empty();
    state.apply(edit(7));
    write(store.as_mut(), &mut state);
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [7]);
}

fn concurrent_writers_lose_no_update(subject: &dyn Subject) {
    if !subject.abilities().locks {
        return;
    }
    let name = unique("concurrent");
    let first = Machine::new(subject, &name);
    add(&first, "default", 0);
    const WRITERS: usize = 3;
    const ROUNDS: usize = 4;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (first, name) = (&first, &name);
            scope.spawn(move || {
                let machine = first.other(subject, name);
                for round in 0..ROUNDS {
                    add(&machine, "default", 1 + writer * ROUNDS + round);
                }
            });
        }
    });
    let state = read(first.open("default").as_mut());
    assert_eq!(numbers(Some(&state)), (0..=WRITERS * ROUNDS).collect::<Vec<_>>());
}

/// A run that finishes object 10, begins object 77, and is killed.
pub(crate) fn interrupted_run(machine: &Machine) {
    let mut store = locked(machine, "default");
    let mut state = read(store.as_mut());
    let mut journal = store.journal(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    let operation =
        |n: usize| JournalOperation { address: format!("terraform_data.r[{n}]").into(), action: "create".into() };
    let id = journal.begin(operation(10));
    journal.finish(id, &[edit(10)]);
    journal.begin(operation(77));
    journal.flush().unwrap_or_else(|problems| panic!("{problems:?}"));
}

fn check_recovered(machine: &Machine) {
    let mut store = locked(machine, "default");
    let reading = store.read().unwrap_or_else(|problems| panic!("{problems:?}"));
    let recovered = reading.recovered.expect("the run has left a journal");
    assert_eq!(recovered.addresses, ["terraform_data.r[10]"]);
    assert_eq!(
        recovered.under_way.iter().map(|operation| operation.address.as_str()).collect::<Vec<_>>(),
        ["terraform_data.r[77]"]
    );
    assert_eq!(numbers(reading.state.as_ref()), [1, 10]);
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    let reading = locked(machine, "default").read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert!(reading.recovered.is_none(), "it is completed once");
}

fn an_interrupted_run_is_completed(subject: &dyn Subject) {
    if subject.abilities().is_memory {
        return;
    }
    let name = unique("interrupted");
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    interrupted_run(&machine);
    check_recovered(&machine.restarted(subject, &name));
    let other = machine.other(subject, &name);
    assert_eq!(numbers(Some(&read(other.open("default").as_mut()))), [1, 10]);
}

fn another_machine_completes_an_interrupted_run(subject: &dyn Subject) {
    if !subject.abilities().server_journal {
        return;
    }
    let name = unique("elsewhere");
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    interrupted_run(&machine);
    let other = machine.other(subject, &name);
    // Looking without the lock sees what was finished, and changes nothing.
    let looked = other.open("default").read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(numbers(looked.state.as_ref()), [1, 10]);
    check_recovered(&other);
    // The first machine comes back with a journal that has been used.
    let late = machine.restarted(subject, &name);
    let reading = locked(&late, "default").read().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(numbers(reading.state.as_ref()), [1, 10]);
}

fn a_lost_lock_stops_the_run(subject: &dyn Subject) {
    let abilities = subject.abilities();
    if !(abilities.locks && abilities.force_unlock) {
        return;
    }
    let name = unique("lost");
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    let mut store = machine.open("default");
    let id = store.try_lock(machine.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    let mut state = read(store.as_mut());
    let mut journal = store.journal(&mut state).unwrap_or_else(|problems| panic!("{problems:?}"));
    let operation = JournalOperation { address: "terraform_data.r[10]".into(), action: "create".into() };
    let begun = journal.begin(operation.clone());
    journal.hand_over().unwrap_or_else(|problems| panic!("{problems:?}"));
    let other = machine.other(subject, &name);
    other.open("default").force_unlock(&id).unwrap_or_else(|problems| panic!("{problems:?}"));
    add(&other, "default", 2);
    let until = Instant::now() + Duration::from_secs(30);
    // Otherwise only the next write finds out.
    if abilities.notices_lost_locks {
        let problems = loop {
            match journal.hand_over() {
                Err(problems) => break problems,
                Ok(()) if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
                Ok(()) => panic!("the run does not notice that its lock is gone"),
            }
        };
        assert!(problems.iter().any(|problem| problem.code.id == "state-lock-lost"), "{problems:?}");
    }
    // The operation in progress ends, and its result is recorded on this machine.
    journal.finish(begun, &[edit(10)]);
    state.apply(edit(10));
    journal.flush().unwrap_or_else(|problems| panic!("{problems:?}"));
    journal.close(&mut state).expect_err("the state of the other machine is not overwritten");
    assert_eq!(numbers(Some(&read(other.open("default").as_mut()))), [1, 2]);
}

fn a_damaged_state_is_an_error(subject: &dyn Subject) {
    let name = unique("damaged");
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    for content in [&b"{\"version\":4,\"serial\":"[..], b"<html>Sign in</html>", b"\x00\xff\xfe"] {
        if !subject.overwrite(&name, content) {
            // A column of text cannot have every content, and rows have tests of their own.
            assert!(subject.abilities().is_memory || subject.kind() == "pg", "the test cannot damage the state");
            return;
        }
        let other = machine.other(subject, &name);
        let problems = other.open("default").read().expect_err("it is not a state");
        assert!(problems.has_errors());
        let mut store = locked(&other, "default");
        assert!(store.read().is_err());
        store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    }
}

pub(crate) fn an_outage_loses_nothing(subject: &dyn Subject) {
    if !subject.abilities().has_server {
        return;
    }
    let name = unique(OUTAGE);
    let machine = Machine::new(subject, &name);
    add(&machine, "default", 1);
    let mut store = machine.open("default");
    let mut state = read(store.as_mut());
    assert!(subject.interrupt(), "the test does not know how to make an outage");
    state.apply(edit(2));
    let started = Instant::now();
    let problems = store.write(&mut state).expect_err("the server does not respond");
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
    let code = problems.iter().next().map(|problem| problem.code.id);
    assert!(matches!(code, Some("state-not-written" | "state-lock-lost")), "{problems:?}");
    subject.resume();
    let other = machine.other(subject, &name);
    assert_eq!(numbers(Some(&read(other.open("default").as_mut()))), [1]);
    add(&other, "default", 3);
    assert_eq!(numbers(Some(&read(other.open("default").as_mut()))), [1, 3]);
}
