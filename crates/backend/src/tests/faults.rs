//! Every file operation fails once, and nothing is lost.

use super::*;
use crate::files::faulty::{Fault, Faulty};

const FAULTS: [Fault; 3] = [Fault::Once, Fault::FromThen, Fault::Full];

/// Runs a function with a fault at the first, second, third operation, until it ends before the fault.
fn each_fault(faults: &[Fault], mut run: impl FnMut(&Faulty, &str)) {
    for &fault in faults {
        for at in 1.. {
            assert!(at < 1000, "the fault is never passed");
            let faulty = Faulty::new(fault, at);
            run(&faulty, &format!("{fault:?} at operation {at}"));
            if !faulty.was_hit() {
                assert!(at > 10, "too few operations: {at}");
                break;
            }
        }
    }
}

/// After anything: the next command works, and leaves the files that belong there.
fn check_tidy(sandbox: &Sandbox, label: &str) {
    let mut state = sandbox.recover().state.unwrap_or_else(State::empty);
    state.apply(edit(99));
    sandbox.save(&mut state);
    let extra: Vec<String> = sandbox.names().into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(extra, Vec::<String>::new(), "{label}");
}

fn write_with(sandbox: &Sandbox, faulty: &Faulty, next: &mut State) -> Result<(), String> {
    let mut store = sandbox.store_over(Arc::new(faulty.clone()));
    let said = |said: Diagnostics| said.iter().map(|d| d.detail.to_string()).collect::<String>();
    store.try_lock(ourselves("test")).map_err(|refusal| format!("{refusal:?}"))?;
    let read = store.read().map_err(said);
    let written = read.and_then(|_| store.write(next).map_err(said));
    let unlocked = store.unlock().map_err(said);
    written.and(unlocked)
}

#[test]
fn writing() {
    // Longer, shorter, much longer than what can be written in one piece.
    for (before, after) in [(0..1, 0..60), (0..60, 0..1), (0..40, 20..60)] {
        each_fault(&FAULTS, |faulty, label| {
            let sandbox = Sandbox::new();
            sandbox.save(&mut state_of(before.clone()));
            let result = write_with(&sandbox, faulty, &mut state_of(after.clone()));
            let reading = sandbox.recover();
            let found = numbers(reading.state.as_ref());
            let (old, new): (Vec<usize>, Vec<usize>) = (before.clone().collect(), after.clone().collect());
            match result {
                Ok(()) => assert_eq!(found, new, "{label}"),
                Err(reason) => {
                    assert!(found == old || found == new, "{label}: neither old nor new: {found:?}");
                    assert!(!reason.is_empty(), "{label}: no reason");
                }
            }
            assert!(reading.diagnostics.is_empty(), "{label}: {:?}", summaries(&reading.diagnostics));
            check_tidy(&sandbox, label);
        });
    }
}

#[test]
fn a_full_disk_while_overwriting_does_not_prevent_saving() {
    let mut saved_by_renaming = 0;
    each_fault(&[Fault::Full], |faulty, _| {
        let sandbox = Sandbox::new();
        sandbox.save(&mut state_of(0..30));
        #[cfg(unix)]
        let number = |sandbox: &Sandbox| {
            use std::os::unix::fs::MetadataExt as _;
            std::fs::metadata(sandbox.state()).map(|metadata| metadata.ino()).unwrap_or_default()
        };
        let before = number(&sandbox);
        let result = write_with(&sandbox, faulty, &mut state_of(0..60));
        if result.is_ok() && number(&sandbox) != before {
            saved_by_renaming += 1;
        }
    });
    assert!(saved_by_renaming > 0);
}

/// An apply of nine operations, two at a time, with a snapshot in the middle. Returns reported operations, and
/// what had begun.
fn apply_with(store: &mut StateFile, reported: &mut Vec<usize>, begun: &mut Vec<usize>) -> Result<(), Diagnostics> {
    let mut state = store.read()?.state.unwrap_or_else(State::empty);
    let mut journal = store.journal(&mut state)?;
    // One that takes long: the snapshot comes in between.
    let late = begin(journal.as_mut(), 18);
    journal.hand_over()?;
    begun.push(18);
    for pair in [[10, 11], [12, 13], [14, 15], [16, 17]] {
        let ids = pair.map(|n| begin(journal.as_mut(), n));
        journal.hand_over()?;
        begun.extend(pair);
        for (n, id) in pair.into_iter().zip(ids) {
            state.apply(edit(n));
            journal.finish(id, &[edit(n)]);
        }
        journal.flush()?;
        reported.extend(pair);
        if pair[0] == 12 {
            journal.checkpoint(&mut state)?;
        }
    }
    state.apply(edit(18));
    journal.finish(late, &[edit(18)]);
    journal.close(&mut state)?;
    reported.push(18);
    Ok(())
}

#[test]
fn applying() {
    each_fault(&FAULTS, |faulty, label| {
        let sandbox = Sandbox::new();
        sandbox.save(&mut state_of([1]));
        let (mut reported, mut begun) = (vec![1], Vec::new());
        let mut store = sandbox.store_over(Arc::new(faulty.clone()));
        let mut result = None;
        if store.try_lock(ourselves("test")).is_ok() {
            result = Some(apply_with(&mut store, &mut reported, &mut begun));
        }
        drop(store);
        let reading = sandbox.recover();
        let found = numbers(reading.state.as_ref());
        for n in &reported {
            assert!(found.contains(n), "{label}: {n} was reported and is lost: {found:?}");
        }
        let under_way = reading.recovered.map(|recovered| recovered.under_way).unwrap_or_default();
        for n in begun {
            let named = under_way.iter().any(|operation| operation.address == format!("terraform_data.r[{n}]"));
            assert!(found.contains(&n) || named, "{label}: {n} had begun, and nothing is known of it");
        }
        assert!(reading.diagnostics.is_empty(), "{label}: {:?}", summaries(&reading.diagnostics));
        if let Some(Ok(())) = result {
            assert_eq!(found, [1, 10, 11, 12, 13, 14, 15, 16, 17, 18], "{label}");
        }
        let again = sandbox.recover();
        assert_eq!((numbers(again.state.as_ref()), again.recovered), (found, None), "{label}: recovered twice");
        check_tidy(&sandbox, label);
    });
}

#[test]
fn recovering() {
    each_fault(&FAULTS, |faulty, label| {
        let sandbox = Sandbox::new();
        sandbox.save(&mut state_of([1]));
        super::crash::interrupted(&sandbox, 5);
        let mut store = sandbox.store_over(Arc::new(faulty.clone()));
        if store.try_lock(ourselves("test")).is_ok()
            && let Ok(reading) = store.read()
        {
            assert_eq!(numbers(reading.state.as_ref()), [1, 10, 11, 12, 13, 14], "{label}");
        }
        drop(store);
        let reading = sandbox.recover();
        assert_eq!(numbers(reading.state.as_ref()), [1, 10, 11, 12, 13, 14], "{label}");
        assert!(reading.diagnostics.is_empty(), "{label}: {:?}", summaries(&reading.diagnostics));
        check_tidy(&sandbox, label);
    });
}
