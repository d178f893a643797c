//! States in a byte store: what the wrapper adds to a store that fails, lies about responses and is used by others.

use std::time::Duration;

use super::*;
use crate::encryption::{EncryptionMethod, KeyProvider, KeySource, Keys, Passphrase, Pbkdf2Hash, Sealing};
use crate::fake::{Call, FakeStore, Fault};
use crate::kit::store::StoreErrorKind::{Conflict, Lasting, LockLost, Transient};
use crate::kit::store::{LockId, Store as _};
use crate::kit::{BackendEnvironment, Retries};
use crate::stored::StoredBackend;
use crate::{Backend, LastResort, Saved, SuccessorCheck, WayBack, WorkspaceRemoval, diagnostics, save_errored};

/// A store with a name of its own, and a data directory that is removed with the test.
struct Remote {
    sandbox: Sandbox,
    store: Arc<FakeStore>,
    sealing: Option<Sealing>,
}

impl Remote {
    fn new(name: &str) -> Remote {
        Remote { sandbox: Sandbox::new(), store: FakeStore::of_bucket(&format!("stored-{name}")), sealing: None }
    }
    fn backend(&self) -> StoredBackend {
        self.backend_over(Arc::new(Disk))
    }
    fn backend_over(&self, files: Arc<dyn StateFiles>) -> StoredBackend {
        let environment = BackendEnvironment {
            retries: Retries { attempts: 3, pause: Duration::ZERO, longest: Duration::ZERO },
            ..BackendEnvironment::new(Default::default(), self.sandbox.path("data"))
        };
        StoredBackend::new(self.store.clone(), files, &environment).encrypted(self.sealing.clone())
    }
    fn open(&self) -> Box<dyn StateStore> {
        self.backend().open("default").expect("the default workspace needs no request")
    }
    fn locked(&self) -> Box<dyn StateStore> {
        let mut store = self.open();
        store.try_lock(ourselves("OperationTypeApply")).expect("the lock is free");
        store
    }
    fn save(&self, numbers: impl IntoIterator<Item = usize>) -> State {
        let mut state = state_of(numbers);
        self.locked().write(&mut state).expect("nothing is scripted to fail");
        state
    }
    fn journals(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.sandbox.path("data/journals/default")).into_iter().flatten().flatten();
        names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.contains("journal"))
            .collect()
    }
    /// A run that finishes operation 10, begins another one, and is killed.
    fn interrupted(&self) {
        let mut store = self.locked();
        let mut state = store.read().expect("the state is readable").state.unwrap_or_else(State::empty);
        let mut journal = store.journal(&mut state).expect("the sandbox can be written");
        let id = begin(journal.as_mut(), 10);
        journal.finish(id, &[edit(10)]);
        journal.flush().expect("the sandbox can be written");
        begin(journal.as_mut(), 77);
        journal.hand_over().expect("the sandbox can be written");
    }
    /// A run that finishes operation 10 and saves, which fails as scripted.
    fn failing(
        &self,
        faults: impl IntoIterator<Item = (Call, Fault)>,
    ) -> (Diagnostics, State, WayBack, Box<dyn StateStore>) {
        let mut store = self.locked();
        let mut state = store.read().expect("the state is readable").state.unwrap_or_else(State::empty);
        let mut journal = store.journal(&mut state).expect("the sandbox can be written");
        let id = begin(journal.as_mut(), 10);
        journal.finish(id, &[edit(10)]);
        state.apply(edit(10));
        journal.flush().expect("the sandbox can be written");
        self.store.script(faults);
        let problems = journal.close(&mut state).expect_err("it is scripted to fail");
        let way = store.way_back();
        (problems, state, way, store)
    }
}

fn sealing() -> Sealing {
    let source = KeySource::Pbkdf2 {
        passphrase: Passphrase::Text("correct horse battery staple".to_owned()),
        key_length: 32,
        iterations: 200_000,
        hash: Pbkdf2Hash::Sha512,
        salt_length: 32,
    };
    let provider = KeyProvider { meta_key: "key_provider.pbkdf2.k".to_owned(), source };
    let method = EncryptionMethod::AesGcm { keys: Keys::Of(0), aad: Vec::new() };
    Sealing::new("state", vec![provider], vec![method]).expect("the passphrase is long enough")
}

#[test]
fn a_state_is_compact_json_with_lineage_and_serial() {
    let remote = Remote::new("compact");
    assert!(remote.open().read().expect("nothing is scripted to fail").state.is_none());
    let mut state = remote.save([1]);
    let (content, version) = remote.store.content("default").expect("it was saved");
    let text = String::from_utf8(content).expect("a state is text");
    assert!(text.starts_with("{\"version\":4,") && text.ends_with("}\n") && version == 1, "{text}");
    assert_eq!((state.serial, state.lineage.len()), (1, 36));
    assert_eq!(remote.locked().write(&mut state).ok(), Some(Saved::Unchanged));
    state.apply(edit(2));
    assert_eq!(remote.locked().write(&mut state).ok(), Some(Saved::Changed));
    assert_eq!((state.serial, remote.store.content("default").map(|(_, version)| version)), (2, Some(2)));
    assert!(!remote.store.is_locked("default"), "a store that goes out of use releases its lock");
    assert!(remote.open().push(&state_of([3]), SuccessorCheck::Required).is_ok(), "without lineage it may follow");
    let mut other = state_of([4]);
    other.lineage = "other".into();
    assert!(remote.open().push(&other, SuccessorCheck::Required).is_err());
    assert!(remote.open().push(&other, SuccessorCheck::Skipped).is_ok());
}

#[test]
fn a_pushed_state_gets_the_serial_after_its_own_where_it_replaces_another() {
    let remote = Remote::new("replaced");
    let serial = || remote.open().read().expect("it can be read").state.map(|state| state.serial);
    let replaced = |number: u64, object: usize, check| {
        let mut state = state_of([object]);
        (state.serial, state.lineage) = (number, "l".into());
        remote.open().replace(&state, check).ok()
    };
    let steps = [
        ((3, 1, SuccessorCheck::Required), Some(Saved::Changed), 3),
        ((3, 1, SuccessorCheck::Required), Some(Saved::Unchanged), 3),
        ((7, 1, SuccessorCheck::Required), Some(Saved::Unchanged), 8),
        ((9, 2, SuccessorCheck::Required), Some(Saved::Changed), 10),
        ((2, 4, SuccessorCheck::Required), None, 10),
        ((2, 4, SuccessorCheck::Skipped), Some(Saved::Changed), 3),
    ];
    for ((number, object, check), saved, after) in steps {
        assert_eq!((replaced(number, object, check), serial()), (saved, Some(after)), "{number} {object}");
    }
}

#[test]
fn workspaces_begin_with_an_empty_state() {
    let remote = Remote::new("workspaces");
    let backend = remote.backend();
    assert_eq!(backend.workspaces().expect("it can be listed"), ["default"]);
    assert!(backend.existing("b").expect("nothing is made").read().expect("it can be read").state.is_none());
    assert_eq!(backend.workspaces().expect("it can be listed"), ["default"]);
    let state = backend.open("b").expect("it is made").read().expect("it can be read").state.expect("it was made");
    assert_eq!((state.serial, state.is_empty(), remote.store.is_locked("b")), (1, true, false));
    assert_eq!(backend.workspaces().expect("it can be listed"), ["default", "b"]);
    assert!(
        backend.delete_workspace("default", WorkspaceRemoval::Forced).is_err()
            && backend.delete_workspace("b", WorkspaceRemoval::Forced).is_ok()
    );
    assert_eq!(backend.workspaces().expect("it can be listed"), ["default"]);
}

#[test]
fn what_leaves_this_process_is_encrypted() {
    let remote = Remote { sealing: Some(sealing()), ..Remote::new("sealed") };
    remote.save([1]);
    remote.interrupted();
    let (content, _) = remote.store.content("default").expect("it was saved");
    let text = String::from_utf8(content).expect("it is JSON");
    assert!(text.contains("\"encrypted_data\"") && !text.contains("terraform_data"), "{text}");
    let journal = remote.journals().pop().expect("it was left");
    let journal = remote.sandbox.text(&format!("data/journals/default/{journal}"));
    assert!(journal.contains(" X {") && !journal.contains("terraform_data"), "{journal}");
    let reading = remote.locked().read().expect("the keys are the same");
    assert_eq!(numbers(reading.state.as_ref()), [1, 10]);
    let clear = Remote { sealing: None, ..Remote::new("sealed") };
    assert!(clear.open().read().is_err(), "without the keys it is not a state");
}

#[test]
fn the_next_command_completes_the_state_from_the_local_journal() {
    for before in [vec![], vec![1]] {
        let remote = Remote::new(&format!("recovery-{}", before.len()));
        if !before.is_empty() {
            remote.save(before.clone());
        }
        remote.interrupted();
        // Without the lock in memory only.
        let reading = remote.open().read().expect("the state is readable");
        assert_eq!(numbers(reading.state.as_ref()), [before.clone(), vec![10]].concat());
        assert!(reading.recovered.is_some_and(|recovered| !recovered.saved) && remote.journals().len() == 1);
        let recovered = remote.locked().read().expect("the state is readable").recovered.expect("it was recovered");
        assert_eq!((recovered.addresses.len(), recovered.under_way.len(), recovered.saved), (1, 1, true));
        let (content, _) = remote.store.content("default").expect("it was saved");
        let (state, _) = yuba_state::read(&content).expect("it is a state");
        assert_eq!(
            (numbers(Some(&state)), state.serial),
            ([before.clone(), vec![10]].concat(), before.len() as u64 + 1)
        );
        assert!(
            remote.journals().is_empty() && remote.locked().read().is_ok_and(|reading| reading.recovered.is_none())
        );
    }
}

#[test]
fn a_journal_of_another_location_is_left_alone() {
    let remote = Remote::new("here");
    remote.interrupted();
    let other = Remote { store: FakeStore::of_bucket("stored-there"), ..remote };
    let reading = other.locked().read().expect("the state is readable");
    assert!(reading.state.is_none() && reading.recovered.is_none() && other.journals().len() == 1);
}

#[test]
fn a_journal_in_the_making_is_not_reported() {
    let remote = Remote::new("live");
    let mut running = remote.locked();
    let mut state = State::empty();
    let mut journal = running.journal(&mut state).expect("the sandbox can be written");
    let id = begin(journal.as_mut(), 10);
    journal.finish(id, &[edit(10)]);
    state.apply(edit(10));
    journal.flush().expect("the sandbox can be written");
    let reading = remote.open().read().expect("the state is readable");
    assert_eq!((numbers(reading.state.as_ref()), reading.recovered), (vec![10], None));
    journal.checkpoint(&mut state).expect("nothing is scripted to fail");
    state.apply(edit(11));
    journal.close(&mut state).expect("nothing is scripted to fail");
    assert!(remote.journals().is_empty() && state.serial == 2);
}

#[test]
fn a_running_journal_survives_other_commands_without_a_lock() {
    // The running apply and the other command: both on a store without locks, without the lock, or one of them with it.
    for (has_locks, apply_locks, other_locks) in [(false, true, true), (true, false, true), (true, false, false)] {
        let label = format!("unlocked-{has_locks}-{apply_locks}-{other_locks}");
        let remote = match has_locks {
            true => Remote::new(&label),
            false => Remote { store: FakeStore::without_locks(&label), ..Remote::new(&label) },
        };
        remote.save([1]);
        let opened = |locks: bool| if locks { remote.locked() } else { remote.open() };
        let mut running = opened(apply_locks);
        let mut state = running.read().expect("the state is readable").state.expect("it was saved");
        let mut journal = running.journal(&mut state).expect("the sandbox can be written");
        let id = begin(journal.as_mut(), 10);
        journal.finish(id, &[edit(10)]);
        state.apply(edit(10));
        journal.flush().expect("the sandbox can be written");
        let (stored, name) = (remote.store.content("default"), remote.journals());
        let text = |name: &str| remote.sandbox.text(&format!("data/journals/default/{name}"));
        let lines = text(&name[0]);
        // A plan, and an apply.
        let mut other = opened(other_locks);
        let reading = other.read().expect("the state is readable");
        assert_eq!((numbers(reading.state.as_ref()), reading.recovered), (vec![1, 10], None), "{label}");
        let mut start = reading.state.expect("it was read");
        assert!(other.journal(&mut start).is_err(), "{label}: another process is writing it");
        drop(other);
        assert_eq!((remote.store.content("default"), remote.journals()), (stored, name.clone()), "{label}");
        assert_eq!(text(&name[0]), lines, "{label}");
        let saved = journal.close(&mut state);
        assert_eq!(saved.ok(), Some(Saved::Changed), "{label}");
        drop(running);
        assert_eq!(numbers(remote.open().read().expect("it is readable").state.as_ref()), [1, 10], "{label}");
        // The journal of a run that was killed is completed, with a lock or without.
        remote.interrupted();
        let recovered = remote.locked().read().expect("it is readable").recovered.expect("it was recovered");
        assert!(recovered.saved && remote.journals().is_empty(), "{label}");
    }
}

#[test]
fn requests_that_may_pass_are_repeated() {
    let remote = Remote::new("retries");
    remote.save([1]);
    let passing = |call| (call, Fault::Fails(Transient));
    let calls = [Call::Lock, Call::Read, Call::Write, Call::Unlock];
    remote.store.script(calls.into_iter().flat_map(|call| [passing(call), passing(call)]));
    remote.store.calls();
    let mut state = state_of([1, 2]);
    let mut store = remote.locked();
    assert_eq!(store.write(&mut state).ok(), Some(Saved::Changed));
    store.unlock().expect("the third attempt succeeds");
    assert_eq!(remote.store.calls(), calls.into_iter().flat_map(|call| [call; 3]).collect::<Vec<_>>());
    remote.store.script([passing(Call::Read), passing(Call::Read), passing(Call::Read)]);
    let problems = remote.open().read().expect_err("there are three attempts");
    assert!(problems.iter().all(|problem| problem.is(&diagnostics::STATE_NOT_READ)), "{problems:?}");
    remote.store.script([(Call::Read, Fault::Fails(Lasting))]);
    remote.store.calls();
    assert!(remote.open().read().is_err() && remote.store.calls().len() == 1, "this does not pass");
}

#[test]
fn a_lost_response_is_not_a_failure() {
    let remote = Remote::new("lost-responses");
    remote.store.script([
        (Call::Lock, Fault::ResponseLost),
        (Call::Write, Fault::ResponseLost),
        (Call::Unlock, Fault::ResponseLost),
    ]);
    let mut store = remote.locked();
    let mut state = state_of([1]);
    assert_eq!(store.write(&mut state).ok(), Some(Saved::Changed));
    assert_eq!(remote.store.content("default").map(|(_, version)| version), Some(1), "it is written once");
    store.unlock().expect("it is unlocked");
    state.apply(edit(2));
    remote.store.script([(); 3].map(|()| (Call::Write, Fault::ResponseLost)));
    assert_eq!(remote.locked().write(&mut state).ok(), Some(Saved::Changed), "the last attempt has arrived");
}

#[test]
fn a_lock_whose_responses_were_all_lost_blocks_no_run() {
    let remote = Remote::new("lost-lock");
    let passing = |call| (call, Fault::Fails(Transient));
    let lost = [(Call::Lock, Fault::ResponseLost), passing(Call::Lock), passing(Call::Lock)];
    // It is released after the last attempt.
    remote.store.script(lost);
    assert!(remote.open().try_lock(ourselves("test")).is_err() && !remote.store.is_locked("default"));
    // If that fails as well, the next call of the same run recognises it.
    remote.store.script(lost);
    remote.store.script([passing(Call::Unlock)]);
    let (mut store, holder) = (remote.open(), ourselves("test"));
    assert!(store.try_lock(holder.clone()).is_err() && remote.store.is_locked("default"));
    assert!(remote.open().try_lock(ourselves("test")).is_err(), "another run has another ID");
    assert_eq!(store.try_lock(holder.clone()).map(|outcome| outcome.id).ok(), Some(holder.id));
    // The lock of another process stays.
    remote.store.script([passing(Call::Lock), passing(Call::Lock), passing(Call::Lock)]);
    assert!(remote.open().try_lock(ourselves("test")).is_err() && remote.store.is_locked("default"));
}

#[test]
fn a_lock_that_another_process_took_after_the_release_is_released() {
    let remote = Remote::new("lost-release");
    let mut store = remote.locked();
    remote.store.script([(Call::Unlock, Fault::OtherLocks)]);
    store.unlock().expect("the first request has released it");
    assert!(remote.store.is_locked("default"), "the lock of the other process stays");
    remote.store.unlock("default", &LockId("wrong".to_owned())).expect_err("it is that of another process");
}

#[test]
fn a_lock_is_held_by_one_process_at_a_time() {
    let remote = Remote::new("locks");
    let (mut first, mut second) = (remote.locked(), remote.open());
    let mut waits = 0;
    let refused = crate::lock(second.as_mut(), &ourselves("test"), Duration::from_secs(3), &mut |_| {
        waits += 1;
        true
    });
    let problems = refused.expect_err("the first has it");
    assert!(waits == 2 && problems.iter().all(|problem| problem.is(&diagnostics::STATE_LOCK_REFUSED)));
    let text = problems.iter().map(|problem| problem.explanation().to_string()).collect::<String>();
    assert!(text.contains("Path:      fake://stored-locks/default") && text.contains("-lock-timeout"), "{text}");
    assert!(second.force_unlock("nope").is_err());
    first.unlock().expect("it is ours");
    assert!(second.try_lock(ourselves("test")).is_ok() && first.force_unlock("nope").is_err());
}

#[test]
fn a_state_that_others_have_changed_goes_to_errored_tfstate() {
    let remote = Remote::new("conflict");
    remote.save([1]);
    let (problems, state, way, store) = remote.failing([(Call::Write, Fault::OtherWrites)]);
    assert!(problems.iter().all(|problem| problem.is(&diagnostics::STATE_REPLACED)), "{problems:?}");
    assert_eq!(way, WayBack::Merge { path: "fake://stored-conflict/default".to_owned(), serial: 6 });
    let LastResort { diagnostics, print } = save_errored(&Disk, &remote.sandbox.0, &state, None, &way);
    assert!(
        print.is_none() && diagnostics.iter().all(|problem| problem.is(&diagnostics::STATE_WRITTEN_TO_ERRORED_FILE))
    );
    let (errored, _) = yuba_state::read(remote.sandbox.text("errored.tfstate").as_bytes()).expect("it is a state");
    assert_eq!((numbers(Some(&errored)), errored.serial), (vec![1, 10], 2));
    drop(store);
    let reading = remote.locked().read().expect("the state is readable");
    assert_eq!((numbers(reading.state.as_ref()), reading.diagnostics.len()), (vec![1], 1), "what the other run saved");
}

#[test]
fn a_state_that_cannot_be_saved_is_pushed_later() {
    for kind in [LockLost, Conflict, Lasting] {
        let remote = Remote::new(&format!("push-{kind:?}"));
        remote.save([1]);
        let (problems, state, way, store) = remote.failing([(Call::Write, Fault::Fails(kind))]);
        let expected = match kind {
            LockLost => &diagnostics::STATE_LOCK_LOST,
            Conflict => &diagnostics::STATE_REPLACED,
            _ => &diagnostics::STATE_NOT_WRITTEN,
        };
        assert!(problems.iter().all(|problem| problem.is(expected)), "{problems:?}");
        assert_eq!((way, remote.journals().len()), (WayBack::Push { in_the_way: None }, 1));
        drop(store);
        // The next command completes the state from the journal and says where the final state is.
        let recovered = remote.locked().read().expect("it is readable").recovered.expect("it was recovered");
        let command = (kind != Conflict).then_some("yuba state push errored.tfstate");
        assert_eq!(recovered.rescued.as_deref(), command);
        let mut store = remote.locked();
        let check = if kind == Conflict { SuccessorCheck::Skipped } else { SuccessorCheck::Required };
        assert!(store.push(&state, check).is_ok(), "{kind:?}");
        assert!(remote.journals().is_empty(), "{:?}", remote.journals());
        assert_eq!(numbers(remote.open().read().expect("it is readable").state.as_ref()), [1, 10]);
    }
}

#[test]
fn every_fault_of_the_disk_leaves_what_was_reported() {
    use crate::files::faulty::{Fault as DiskFault, Faulty};
    for fault in [DiskFault::Once, DiskFault::FromThen, DiskFault::Full] {
        for at in 1.. {
            let remote = Remote::new(&format!("disk-{fault:?}-{at}"));
            remote.save([1]);
            let faulty = Faulty::new(fault, at);
            let backend = remote.backend_over(Arc::new(faulty.clone()));
            let mut reported = Vec::new();
            let mut run = || -> Result<(), Diagnostics> {
                let mut store = backend.open("default")?;
                store.try_lock(ourselves("test")).expect("the lock is free");
                let mut state = store.read()?.state.unwrap_or_else(State::empty);
                let mut journal = store.journal(&mut state)?;
                for n in 10..13 {
                    let id = begin(journal.as_mut(), n);
                    journal.hand_over()?;
                    journal.finish(id, &[edit(n)]);
                    state.apply(edit(n));
                    journal.flush()?;
                    reported.push(n);
                }
                Ok(())
            };
            let _ = run();
            let found = numbers(remote.locked().read().expect("it is readable").state.as_ref());
            assert!(reported.iter().all(|n| found.contains(n)), "{fault:?} at {at}: {reported:?} of {found:?}");
            if !faulty.was_hit() {
                assert!(at > 10, "too few operations: {at}");
                break;
            }
        }
    }
}

#[test]
fn a_copy_of_the_journal_that_cannot_be_written_stops_the_run() {
    let remote = Remote::new("copy");
    remote.save([1]);
    let mut store = remote.locked();
    let mut state = store.read().expect("the state is readable").state.expect("it was saved");
    let mut journal = store.journal(&mut state).expect("the sandbox can be written");
    let id = begin(journal.as_mut(), 10);
    journal.hand_over().expect("the sandbox can be written");
    journal.finish(id, &[edit(10)]);
    remote.store.script([(Call::Append, Fault::Fails(LockLost))]);
    journal.flush().expect("it is on this machine, so it counts as finished");
    let problems = journal.hand_over().expect_err("nothing new starts");
    assert!(problems.iter().all(|problem| problem.is(&diagnostics::STATE_LOCK_LOST)), "{problems:?}");
    state.apply(edit(10));
    let problems = journal.close(&mut state).expect_err("the state is not written without the lock");
    assert!(problems.is_empty(), "it was reported before: {problems:?}");
    drop(store);
    let recovered = remote.locked().read().expect("it is readable").recovered.expect("it was recovered");
    assert_eq!(recovered.addresses, ["terraform_data.r[10]"]);
}

#[test]
fn the_copy_of_the_journal_is_encrypted_and_goes_with_the_run() {
    let remote = Remote { sealing: Some(sealing()), ..Remote::new("sealed-copy") };
    remote.save([1]);
    remote.interrupted();
    let copy = remote.store.journal("default").expect("it was appended");
    let text = String::from_utf8_lossy(&copy).into_owned();
    assert!(!text.contains("terraform_data") && text.lines().count() > 1, "{text}");
    remote.locked().read().expect("the state is readable");
    assert_eq!(remote.store.journal("default"), None);
    let mut store = remote.locked();
    let mut state = store.read().expect("the state is readable").state.expect("it was saved");
    let mut journal = store.journal(&mut state).expect("the sandbox can be written");
    let id = begin(journal.as_mut(), 11);
    journal.finish(id, &[edit(11)]);
    state.apply(edit(11));
    journal.flush().expect("the sandbox can be written");
    assert!(remote.store.journal("default").is_some());
    journal.close(&mut state).expect("nothing is scripted to fail");
    assert_eq!(remote.store.journal("default"), None);
}

#[test]
fn a_server_that_refuses_the_copy_of_the_journal_does_not_stop_the_run() {
    let remote = Remote::new("copy-refused");
    remote.save([1]);
    let mut store = remote.locked();
    let mut state = store.read().expect("the state is readable").state.expect("it was saved");
    let mut journal = store.journal(&mut state).expect("the sandbox can be written");
    for (n, fault) in [(10, None), (11, Some((Call::Append, Fault::Fails(Lasting)))), (12, None)] {
        remote.store.script(fault);
        let id = begin(journal.as_mut(), n);
        journal.hand_over().expect("the lock is held");
        journal.finish(id, &[edit(n)]);
        state.apply(edit(n));
        journal.flush().expect("the sandbox can be written");
    }
    let copy =
        String::from_utf8(remote.store.journal("default").expect("the first lines arrived")).expect("it is text");
    assert!(
        copy.contains("r[10]") && !copy.contains("r[11]") && !copy.contains("r[12]"),
        "no line after a gap: {copy}"
    );
    assert_eq!(journal.close(&mut state).ok(), Some(Saved::Changed));
    drop(store);
    assert_eq!(numbers(remote.open().read().expect("it is readable").state.as_ref()), [1, 10, 11, 12]);
}
