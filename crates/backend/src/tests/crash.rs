//! Journals that end anywhere, and what the next command makes of them.

use proptest::prelude::*;

use super::*;
use crate::journal::line::{self, Base, Line};

const JOURNAL: &str = ".terraform.tfstate.journal";

/// A run that finishes operations 10, 11, ..., begins one further operation, and is killed.
pub(super) fn interrupted(sandbox: &Sandbox, count: usize) {
    let mut store = sandbox.store();
    store.try_lock(ourselves("OperationTypeApply")).expect("the lock is free");
    let mut state = store.read().expect("the state is readable").state.unwrap_or_else(State::empty);
    let mut journal = store.journal(&mut state).expect("the sandbox can be written");
    for n in 10..10 + count {
        let id = begin(journal.as_mut(), n);
        journal.finish(id, &[edit(n)]);
        journal.flush().expect("the sandbox can be written");
    }
    begin(journal.as_mut(), 77);
    journal.hand_over().expect("the sandbox can be written");
}

#[test]
fn the_next_command_completes_the_state_and_says_so() {
    for before in [vec![], vec![1]] {
        let sandbox = Sandbox::new();
        if !before.is_empty() {
            sandbox.save(&mut state_of(before.clone()));
        }
        interrupted(&sandbox, 2);
        let reading = sandbox.recover();
        let state = reading.state.expect("it was recovered");
        assert_eq!(numbers(Some(&state)), [before.clone(), vec![10, 11]].concat());
        assert_eq!((state.serial, state.lineage.len()), (before.len() as u64 + 1, 36));
        let recovered = reading.recovered.expect("it was recovered");
        assert_eq!((recovered.edits, recovered.saved), (2, true));
        assert_eq!(recovered.addresses, ["terraform_data.r[10]", "terraform_data.r[11]"]);
        expect_test::expect![[r"
            An earlier run that changed STATE was interrupted. These changes were finished and have been added to the state from its journal:
              - terraform_data.r[10]
              - terraform_data.r[11]

            These operations were in progress, and their results are unknown:
              - terraform_data.r[77] (create)
            Check these objects: one may exist that is not in the state.
        "]]
        .assert_eq(&format!("{}\n", crate::recovered_diagnostic(&recovered, "STATE").detail));
        assert!(sandbox.recover().recovered.is_none());
        assert!(!sandbox.names().contains(&JOURNAL.to_owned()));
    }
}

#[test]
fn an_object_is_either_finished_or_unknown() {
    let sandbox = Sandbox::new();
    sandbox.save(&mut state_of([1]));
    let mut store = sandbox.store();
    take_lock(&mut store);
    let mut state = store.read().expect("the state is readable").state.expect("it was saved");
    let mut journal = store.journal(&mut state).expect("the sandbox can be written");
    // One is complete. The object of the other one exists, and its provisioners run.
    let id = begin(journal.as_mut(), 10);
    journal.finish(id, &[edit(10)]);
    begin(journal.as_mut(), 11);
    journal.append(&[edit(11)]);
    // A replaced object is destroyed under its own key.
    let deposed = |n: usize, key: &str| {
        let name = format!("\"addr\":\"terraform_data.r[{n}]\"");
        let line = edit(n).to_json_line().replace(&name, &format!("{name},\"deposed\":\"{key}\""));
        Edit::from_json_line(&line).expect("it is well-formed")
    };
    journal.append(&[deposed(11, "0000beef")]);
    journal.begin(JournalOperation {
        address: "terraform_data.r[10] (deposed object 0000cafe)".into(),
        action: "delete".into(),
    });
    journal.flush().expect("the sandbox can be written");
    drop(journal);
    drop(store);
    let recovered = sandbox.recover().recovered.expect("it was recovered");
    assert_eq!(recovered.addresses, ["terraform_data.r[10]", "terraform_data.r[11] (deposed object 0000beef)"]);
    let under_way: Vec<&str> = recovered.under_way.iter().map(|operation| operation.address.as_str()).collect();
    assert_eq!(under_way, ["terraform_data.r[11]", "terraform_data.r[10] (deposed object 0000cafe)"]);
}

#[test]
fn without_the_lock_the_state_is_completed_in_memory_only() {
    let sandbox = Sandbox::new();
    sandbox.save(&mut state_of([1]));
    interrupted(&sandbox, 1);
    let before = (sandbox.names(), sandbox.text("terraform.tfstate"), sandbox.text(JOURNAL));
    let mut store = sandbox.store();
    let reading = store.read().expect("the state is readable");
    let mut state = reading.state.expect("it exists");
    assert_eq!(numbers(Some(&state)), [1, 10]);
    assert!(reading.recovered.is_some_and(|recovered| !recovered.saved));
    assert_eq!((sandbox.names(), sandbox.text("terraform.tfstate"), sandbox.text(JOURNAL)), before);
    // Later lines contain everything, so the journal is removed.
    store.write(&mut state).expect("the sandbox can be written");
    let reading = sandbox.recover();
    assert_eq!((numbers(reading.state.as_ref()), reading.recovered), (vec![1, 10], None));
}

#[test]
fn a_journal_in_the_making_is_shown_but_not_reported() {
    let sandbox = Sandbox::new();
    let mut running = sandbox.store();
    running.try_lock(ourselves("OperationTypeApply")).expect("the lock is free");
    let mut state = State::empty();
    let mut journal = running.journal(&mut state).expect("the sandbox can be written");
    let id = begin(journal.as_mut(), 10);
    journal.finish(id, &[edit(10)]);
    state.apply(edit(10));
    journal.flush().expect("the sandbox can be written");
    let reading = sandbox.store().read().expect("the state is readable");
    assert_eq!((numbers(reading.state.as_ref()), reading.recovered), (vec![10], None));
    journal.close(&mut state).expect("the sandbox can be written");
}

#[test]
fn a_journal_cut_anywhere_gives_a_prefix() {
    let sandbox = Sandbox::new();
    sandbox.save(&mut state_of([1]));
    interrupted(&sandbox, 4);
    let whole = sandbox.text(JOURNAL);
    let mut last = 0;
    for cut in 0..=whole.len() {
        sandbox.put(JOURNAL, &whole[..cut]);
        let reading = sandbox.store().read().expect("the state is readable");
        let found = numbers(reading.state.as_ref());
        let done = found.len() - 1;
        assert_eq!(found[1..], (10..10 + done).collect::<Vec<_>>(), "cut at {cut}");
        assert!(done == last || done == last + 1, "cut at {cut}");
        assert!(reading.diagnostics.is_empty(), "cut at {cut}: {:?}", summaries(&reading.diagnostics));
        last = done;
    }
    assert_eq!(last, 4);
}

#[test]
fn a_damaged_journal_is_saved_and_its_intact_lines_are_used() {
    let sandbox = Sandbox::new();
    sandbox.save(&mut state_of([1]));
    interrupted(&sandbox, 3);
    let whole = sandbox.text(JOURNAL).into_bytes();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x04;
        sandbox.put(JOURNAL, &damaged);
        let reading = sandbox.store().read().expect("the state is readable");
        let found = numbers(reading.state.as_ref());
        assert!(found.iter().all(|n| [1, 10, 11, 12].contains(n)), "byte {at}: {found:?}");
        let said = reading.diagnostics.len();
        let lines = reading.recovered.map_or(0, |recovered| recovered.damaged_lines);
        assert!(said + lines > 0 || found.len() == 4, "byte {at}: silent");
    }
    // The line of the second operation.
    let second =
        String::from_utf8_lossy(&whole).replacen("terraform_data.r[11]\",\"p", "terraform_data.x[11]\",\"p", 1);
    sandbox.put(JOURNAL, second);
    // Read-only commands report it too and change nothing.
    let looked = sandbox.store().read().expect("the state is readable");
    assert_eq!(numbers(looked.state.as_ref()), [1, 10, 12]);
    assert_eq!(summaries(&looked.diagnostics), ["Damaged journal of an interrupted run"]);
    let reading = sandbox.recover();
    assert_eq!(numbers(reading.state.as_ref()), [1, 10, 12]);
    assert_eq!(summaries(&reading.diagnostics), ["Damaged journal of an interrupted run"]);
    let kept = sandbox.names().into_iter().filter(|name| name.contains(".journal.damaged-")).count();
    assert_eq!(kept, 1);
}

#[test]
fn a_journal_of_another_snapshot_is_saved_aside() {
    let sandbox = Sandbox::new();
    let mut state = state_of([1]);
    sandbox.save(&mut state);
    interrupted(&sandbox, 1);
    // A tool without support for journals changes the state.
    state.apply(edit(2));
    state.serial += 1;
    let mut bytes = Vec::new();
    yuba_state::write(&state, &mut bytes);
    sandbox.put("terraform.tfstate", &bytes);
    let reading = sandbox.recover();
    assert_eq!((numbers(reading.state.as_ref()), reading.recovered), (vec![1, 2], None));
    let kept = sandbox
        .names()
        .into_iter()
        .find(|name| name.contains(".journal.orphan-"))
        .expect("the journal is still stored");
    let said = reading.diagnostics.iter().next().expect("the journal is reported");
    assert_eq!(said.summary, "Journal of an interrupted run does not fit the state");
    for part in [kept.as_str(), "serial 1", "serial 2", "- terraform_data.r[10]", "- terraform_data.r[77] (create)"] {
        assert!(said.detail.contains(part), "{part} is missing in {}", said.detail);
    }
    assert!(sandbox.recover().diagnostics.is_empty());
}

#[test]
fn a_state_that_was_half_overwritten_is_completed() {
    let sandbox = Sandbox::new();
    let mut state = state_of(0..60);
    sandbox.save(&mut state);
    let old = sandbox.text("terraform.tfstate");
    state.apply(edit(60));
    sandbox.save(&mut state);
    let new = sandbox.text("terraform.tfstate");
    for cut in [0, 1, 4096, 9000, old.len()] {
        // The head is written last.
        let torn = [&old[..4096.min(cut)], &new[4096.min(cut)..cut], &old[cut..]].concat();
        for current in [torn.as_str(), "", "{\n  \"version\": 4,"] {
            sandbox.put("terraform.tfstate", current);
            sandbox.put(".terraform.tfstate.new", &new);
            let reading = sandbox.recover();
            assert_eq!(numbers(reading.state.as_ref()).len(), 61, "{cut}");
            assert!(reading.recovered.is_some_and(|recovered| recovered.snapshot && recovered.saved));
            assert_eq!(sandbox.text("terraform.tfstate"), new);
            assert!(!sandbox.names().contains(&".terraform.tfstate.new".to_owned()));
        }
    }
    // Another user has changed the state in the meantime.
    sandbox.put(".terraform.tfstate.new", &old);
    let reading = sandbox.recover();
    assert_eq!(summaries(&reading.diagnostics), ["Unsaved state of an interrupted run"]);
    assert_eq!(sandbox.text("terraform.tfstate"), new);
}

#[test]
fn edits_start_from_the_state_on_disk() {
    let sandbox = Sandbox::new();
    sandbox.save(&mut state_of([1]));
    let mut store = sandbox.store();
    store.try_lock(ourselves("test")).expect("the lock is free");
    let mut state = store.read().expect("it was written").state.expect("it was written");
    // Results of planning are not on disk yet.
    state.apply(edit(2));
    let mut journal = store.journal(&mut state).expect("the sandbox can be written");
    let id = begin(journal.as_mut(), 3);
    journal.finish(id, &[edit(3)]);
    journal.flush().expect("the sandbox can be written");
    drop(journal);
    drop(store);
    assert_eq!(numbers(sandbox.recover().state.as_ref()), [1, 2, 3]);
}

proptest! {
    #[test]
    fn any_bytes_are_a_journal_of_something(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = line::parse(&bytes, None);
    }

    #[test]
    fn lines_come_back(address in ".{0,20}", action in "[a-z\\n\\t ]{0,9}", id in any::<u32>(), serial in any::<u64>(), count in 0_usize..4) {
        let operation = JournalOperation { address: address.into(), action: action.into() };
        let base = Base { lineage: operation.address.clone(), serial, sha256: "x".to_owned() };
        let edits: Vec<Edit> = (0..count).map(edit).collect();
        let id = crate::OperationId(id);
        let mut bytes = Vec::new();
        line::push_header(&mut bytes, &base);
        line::push_begin(&mut bytes, id, &operation);
        line::push_edits(&mut bytes, Some(id), &edits);
        line::push_edits(&mut bytes, None, &edits);
        line::push_snapshot(&mut bytes, serial, "y");
        let found = line::parse(&bytes, None);
        prop_assert_eq!(found.damaged, 0);
        let expected = vec![
            Line::Header(base),
            Line::Begin(id, operation),
            Line::Edits(Some(id), edits.clone()),
            Line::Edits(None, edits),
            Line::Snapshot { serial, sha256: "y".to_owned() },
        ];
        prop_assert_eq!(found.lines, expected);
    }
}
