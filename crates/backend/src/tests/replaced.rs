//! Other programs that remove, replace or change the state file under the lock, at any moment of an apply.

use super::*;
use crate::files::faulty::{Fault, Faulty};
use crate::{WayBack, save_errored};

/// Changes of the state file by another program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Remove,
    /// By a file with the content that the state had before.
    Older,
    /// By one with the content that it has.
    Same,
    Truncate,
    /// In place, with something else.
    Overwrite,
    /// In place, with a state of another lineage.
    OtherState,
    /// The directory is another one.
    Directory,
}

const DEEDS: [Deed; 7] =
    [Deed::Remove, Deed::Older, Deed::Same, Deed::Truncate, Deed::Overwrite, Deed::OtherState, Deed::Directory];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut state = state_of([1]);
    sandbox.save(&mut state);
    sandbox.put("older", sandbox.text("terraform.tfstate"));
    state.apply(edit(2));
    sandbox.save(&mut state);
    sandbox
}

fn act(sandbox: &Sandbox, deed: Deed) {
    let replace = |content: String| {
        sandbox.put("other", content);
        std::fs::rename(sandbox.path("other"), sandbox.state()).expect("the sandbox can be written");
    };
    match deed {
        Deed::Remove => std::fs::remove_file(sandbox.state()).expect("it exists"),
        Deed::Older => replace(sandbox.text("older")),
        Deed::Same => replace(sandbox.text("terraform.tfstate")),
        Deed::Truncate => sandbox.put("terraform.tfstate", ""),
        Deed::Overwrite => sandbox.put("terraform.tfstate", "hello"),
        Deed::OtherState => {
            let mut other = state_of([5]);
            (other.lineage, other.serial) = ("other".into(), 1);
            let mut bytes = Vec::new();
            yuba_state::write(&other, &mut bytes);
            sandbox.put("terraform.tfstate", bytes);
        }
        Deed::Directory => {
            std::fs::rename(&sandbox.0, sandbox.0.with_extension("moved")).expect("it exists");
            std::fs::create_dir(&sandbox.0).expect("its name is free");
        }
    }
}

/// Moment of the change.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    BeforeSnapshot,
    BeforeEnd,
}

/// An apply of three objects with a snapshot in the middle. The state at the end, and what failed.
fn apply(sandbox: &Sandbox, store: &mut StateFile, moment: Moment, deed: Deed) -> (State, Diagnostics) {
    let mut state = store.read().expect("it is readable").state.expect("it exists");
    let mut journal = store.journal(&mut state).expect("nothing happened yet");
    let mut told = Diagnostics::new();
    for n in [10, 11, 12] {
        let id = begin(journal.as_mut(), n);
        told.extend(journal.hand_over().err().unwrap_or_default());
        state.apply(edit(n));
        journal.finish(id, &[edit(n)]);
        told.extend(journal.flush().err().unwrap_or_default());
        match (n, moment) {
            (10, Moment::BeforeSnapshot) | (12, Moment::BeforeEnd) => act(sandbox, deed),
            _ => {}
        }
        if n == 10 {
            told.extend(journal.checkpoint(&mut state).err().unwrap_or_default());
        }
    }
    told.extend(journal.close(&mut state).expect_err("it is not ours"));
    (state, told)
}

#[test]
fn nothing_is_saved_to_a_file_that_is_not_ours() {
    for (moment, deed) in DEEDS.into_iter().flat_map(|deed| [(Moment::BeforeSnapshot, deed), (Moment::BeforeEnd, deed)])
    {
        for locked in [true, false] {
            let label = format!("{deed:?} {moment:?}, locked: {locked}");
            // Without a lock the same content is equivalent to the same file.
            if deed == Deed::Same && !locked {
                continue;
            }
            let sandbox = sandbox();
            let mut store = sandbox.store();
            if locked {
                take_lock(&mut store);
            }
            let (state, told) = apply(&sandbox, &mut store, moment, deed);
            assert!(told.iter().all(|problem| problem.summary == "Failed to save state"), "{label}");
            let count = told.iter().filter(|problem| problem.detail.contains("Another process re")).count()
                + told.iter().filter(|problem| problem.detail.contains("Another process emptied")).count();
            assert_eq!(count, 1, "{label}: reported once: {told:?}");
            // The file of the other process is unchanged.
            match deed {
                Deed::Remove | Deed::Directory => assert!(!sandbox.state().exists(), "{label}"),
                Deed::Older => assert_eq!(sandbox.text("terraform.tfstate"), sandbox.text("older"), "{label}"),
                Deed::Overwrite => assert_eq!(sandbox.text("terraform.tfstate"), "hello", "{label}"),
                Deed::Truncate => assert_eq!(sandbox.text("terraform.tfstate"), "", "{label}"),
                Deed::Same | Deed::OtherState => {}
            }
            // Following the message leads to the state of the run.
            let way = store.way_back();
            let errored = save_errored(&Disk, &sandbox.0, &state, None, &way);
            assert!(errored.print.is_none(), "{label}");
            drop(store);
            if deed != Deed::Directory {
                assert!(sandbox.names().contains(&".terraform.tfstate.journal".to_owned()), "{label}: no journal");
            }
            match way {
                WayBack::Push { in_the_way: None } => {}
                WayBack::Push { in_the_way: Some(path) } => {
                    assert!(matches!(deed, Deed::Overwrite | Deed::OtherState), "{label}");
                    std::fs::rename(&path, format!("{path}.replaced")).expect("it exists");
                }
                other => panic!("{label}: {other:?}"),
            }
            let (pushed, _) = yuba_state::read(sandbox.text("errored.tfstate").as_bytes()).expect("it is a state");
            let mut store = sandbox.store();
            take_lock(&mut store);
            store.read().expect("it is readable");
            assert!(store.push(&pushed, SuccessorCheck::Required).is_ok(), "{label}: refused");
            drop(store);
            let reading = sandbox.recover();
            assert_eq!(numbers(reading.state.as_ref()), [1, 2, 10, 11, 12], "{label}");
            assert!(reading.recovered.is_none() && reading.diagnostics.is_empty(), "{label}");
            assert!(sandbox.names().iter().all(|name| !name.contains("journal")), "{label}: {:?}", sandbox.names());
            let _ = std::fs::remove_dir_all(sandbox.0.with_extension("moved"));
        }
    }
}

#[test]
fn another_run_without_the_lock_is_not_overwritten() {
    let sandbox = sandbox();
    let mut store = sandbox.store();
    let mut state = store.read().expect("it is readable").state.expect("it exists");
    let mut journal = store.journal(&mut state).expect("nothing happened yet");
    let mut other = state_of([1, 2, 30]);
    (other.lineage, other.serial) = (state.lineage.clone(), 3);
    let mut bytes = Vec::new();
    yuba_state::write(&other, &mut bytes);
    sandbox.put("terraform.tfstate", bytes);
    let id = begin(journal.as_mut(), 10);
    state.apply(edit(10));
    journal.finish(id, &[edit(10)]);
    let told = journal.close(&mut state).expect_err("it is not ours");
    assert!(told.iter().any(|problem| problem.detail.contains("Another run saved serial 3")), "{told:?}");
    let path = sandbox.state().display().to_string();
    assert_eq!(store.way_back(), WayBack::Merge { path, serial: 3 });
    assert!(sandbox.store().push(&state, SuccessorCheck::Required).is_err(), "it would drop what the other run did");
}

#[test]
fn nothing_begins_when_the_state_was_replaced_before() {
    for deed in DEEDS {
        let sandbox = sandbox();
        let mut store = sandbox.store();
        take_lock(&mut store);
        let mut state = store.read().expect("it is readable").state.expect("it exists");
        act(&sandbox, deed);
        let told = store.journal(&mut state).err().expect("it is not ours");
        assert!(told.iter().all(|problem| problem.detail.contains("No changes were made.")), "{deed:?} {told:?}");
        let _ = std::fs::remove_dir_all(sandbox.0.with_extension("moved"));
    }
}

#[test]
fn unlocking_removes_no_file_of_others() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    take_lock(&mut store);
    sandbox.put("other", "");
    std::fs::rename(sandbox.path("other"), sandbox.state()).expect("the sandbox can be written");
    store.unlock().expect("it is ours");
    assert!(sandbox.state().exists());
}

/// The disk is full from any moment of an apply on: what is reported is recovered, the final state can be pushed, and the
/// reason is reported once.
#[test]
fn a_full_disk_is_reported_once_and_the_final_state_can_be_pushed() {
    for at in 1.. {
        let faulty = Faulty::new(Fault::Full, at);
        let sandbox = sandbox();
        let mut store = sandbox.store_over(Arc::new(faulty.clone()));
        if store.try_lock(ourselves("test")).is_err() {
            continue;
        }
        let mut state = store.read().expect("it is readable").state.expect("it exists");
        let mut told = 0;
        let mut reported = vec![1, 2];
        let mut journal = store.journal(&mut state).expect("nothing is written yet");
        for n in [10, 11, 12] {
            let id = begin(journal.as_mut(), n);
            if journal.hand_over().map_err(|_| told += 1).is_err() {
                journal.finish(id, &[]);
                break;
            }
            state.apply(edit(n));
            journal.finish(id, &[edit(n)]);
            if journal.flush().map_err(|_| told += 1).is_err() {
                break;
            }
            reported.push(n);
        }
        let closed = journal.close(&mut state).map_err(|problems| told += problems.len());
        let label = format!("operation {at}");
        assert!(told <= 1, "{label}: reported {told} times");
        drop(store);
        if closed.is_err() {
            assert_eq!(told, 1, "{label}");
            let reading = sandbox.recover();
            let found = numbers(reading.state.as_ref());
            assert!(reported.iter().all(|n| found.contains(n)), "{label}: {reported:?} of {found:?}");
            let mut store = sandbox.store();
            take_lock(&mut store);
            store.read().expect("it is readable");
            assert!(store.push(&state, SuccessorCheck::Required).is_ok(), "{label}: refused");
        }
        let found = numbers(sandbox.recover().state.as_ref());
        assert_eq!(found, numbers(Some(&state)), "{label}");
        if !faulty.was_hit() {
            assert!(at > 20, "too few operations: {at}");
            break;
        }
    }
}

/// Begun operations can be recorded on a full disk, where the file system can reserve room.
#[test]
#[cfg(target_os = "linux")]
fn room_for_results_is_reserved_before_operations_begin() {
    use std::os::unix::fs::MetadataExt as _;
    let sandbox = sandbox();
    let mut store = sandbox.store();
    take_lock(&mut store);
    let mut state = store.read().expect("it is readable").state.expect("it exists");
    let mut journal = store.journal(&mut state).expect("nothing happened yet");
    let ids: Vec<_> = (10..20).map(|n| begin(journal.as_mut(), n)).collect();
    journal.hand_over().expect("there is room");
    let path = sandbox.path(".terraform.tfstate.journal");
    let size = || std::fs::metadata(&path).map(|found| (found.len(), found.blocks() * 512)).expect("it exists");
    let (length, room) = size();
    assert!(length < 4096 && room >= length + 10 * 4096, "{length} bytes, room for {room}");
    for (n, id) in (10..20).zip(ids) {
        state.apply(edit(n));
        journal.finish(id, &[edit(n)]);
    }
    journal.flush().expect("there is room");
    // A state that cannot be saved gives back what is not needed.
    std::fs::remove_file(sandbox.state()).expect("it exists");
    assert!(journal.close(&mut state).is_err());
    let (length, room) = size();
    assert!(room < length + 8192, "{length} bytes, room for {room}");
}

#[test]
fn backups_of_one_moment_are_files_of_their_own() {
    let sandbox = sandbox();
    let settings =
        LocalSettings { path: Some(sandbox.state()), backup_time: Some(1_700_000_000), ..LocalSettings::default() };
    for n in 20..23 {
        let mut store =
            LocalBackend::new(Arc::new(Disk), settings.clone()).store("default").expect("it needs no directory");
        take_lock(&mut store);
        let mut state = store.read().expect("it is readable").state.expect("it exists");
        state.apply(edit(n));
        store.write(&mut state).expect("the sandbox can be written");
    }
    for (name, expected) in [
        ("terraform.tfstate.1700000000.backup", vec![1, 2]),
        ("terraform.tfstate.1700000000-1.backup", vec![1, 2, 20]),
        ("terraform.tfstate.1700000000-2.backup", vec![1, 2, 20, 21]),
    ] {
        let (state, _) = yuba_state::read(sandbox.text(name).as_bytes()).expect("it is a state");
        assert_eq!(numbers(Some(&state)), expected, "{name}");
    }
}
