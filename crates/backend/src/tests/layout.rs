//! Names and contents of files, and serials of states.

use std::path::PathBuf;

use super::*;
use crate::workspace::{is_valid_name, select, selected};
use crate::{Backend, Saved, WayBack, WorkspaceRemoval, save_errored};

#[test]
fn a_state_is_born_changes_and_stays() {
    let sandbox = Sandbox::new();
    let mut state = state_of([1]);
    sandbox.save(&mut state);
    assert_eq!((state.serial, state.lineage.len()), (1, 36));
    assert_eq!(sandbox.names(), ["terraform.tfstate"]);
    let first = sandbox.text("terraform.tfstate");
    assert!(first.contains("\n  \"serial\": 1,\n"), "{first}");

    let mut store = sandbox.store();
    let mut state = store.read().expect("it was written").state.expect("it was written");
    assert_eq!(store.write(&mut state).expect("it can be written"), Saved::Unchanged);
    assert_eq!((state.serial, sandbox.names().len()), (1, 1));
    state.apply(edit(2));
    assert_eq!(store.write(&mut state).expect("it can be written"), Saved::Changed);
    state.apply(edit(3));
    store.write(&mut state).expect("it can be written");
    assert_eq!(state.serial, 3);
    // The backup is the content before the first change of the run.
    assert_eq!(sandbox.names(), ["terraform.tfstate", "terraform.tfstate.backup"]);
    assert_eq!(sandbox.text("terraform.tfstate.backup"), first);
    assert_eq!(numbers(sandbox.recover().state.as_ref()), [1, 2, 3]);
}

#[test]
fn the_lock_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    store.try_lock(ourselves("OperationTypePlan")).expect("the lock is free");
    assert_eq!(sandbox.names(), [".terraform.tfstate.lock.info", "terraform.tfstate"]);
    assert!(store.read().expect("nothing can fail").state.is_none());
    store.unlock().expect("it is ours");
    assert_eq!(sandbox.names(), Vec::<String>::new());
}

#[test]
fn paths_follow_the_flags() {
    let local = |settings| LocalBackend::new(Arc::new(Disk), settings);
    let check = |settings: LocalSettings, workspace: &str, expected: [&str; 3]| {
        let paths = local(settings).paths(workspace);
        let backup = paths.backup.path().unwrap_or(Path::new("none")).to_owned();
        assert_eq!([paths.read, paths.write, backup], expected.map(PathBuf::from));
    };
    let path = |text: &str| Some(PathBuf::from(text));
    let plain = LocalSettings::default();
    check(plain.clone(), "default", ["terraform.tfstate", "terraform.tfstate", "terraform.tfstate.backup"]);
    let in_workspace = "terraform.tfstate.d/w/terraform.tfstate";
    check(plain.clone(), "w", [in_workspace, in_workspace, "terraform.tfstate.d/w/terraform.tfstate.backup"]);
    let configured = LocalSettings { path: path("a/s"), workspace_directory: path("d"), ..plain.clone() };
    check(configured.clone(), "default", ["a/s", "a/s", "a/s.backup"]);
    check(configured, "w", ["d/w/terraform.tfstate", "d/w/terraform.tfstate", "d/w/terraform.tfstate.backup"]);
    let flags = LocalSettings { state: path("in"), state_out: path("out"), backup: path("-"), ..plain.clone() };
    check(flags, "w", ["in", "out", "none"]);
    check(LocalSettings { backup: path("b"), ..plain }, "default", ["terraform.tfstate", "terraform.tfstate", "b"]);
}

#[test]
fn empty_settings_are_refused() {
    let empty = Some(PathBuf::new());
    let settings = LocalSettings { path: empty.clone(), workspace_directory: empty, ..LocalSettings::default() };
    let expected = ["Invalid local state file path", "Invalid local workspace directory path"];
    assert_eq!(summaries(&settings.check()), expected);
}

#[test]
fn another_file_is_written_than_read() {
    let sandbox = Sandbox::new();
    sandbox.save(&mut state_of([1]));
    let settings = LocalSettings {
        state: Some(sandbox.state()),
        state_out: Some(sandbox.path("out")),
        ..LocalSettings::default()
    };
    let mut store = LocalBackend::new(Arc::new(Disk), settings).store("default").expect("it needs no directory");
    store.try_lock(ourselves("test")).expect("the lock is free");
    let mut state = store.read().expect("it was written").state.expect("it was written");
    let mut journal = store.journal(&mut state).expect("the sandbox can be written");
    let id = begin(journal.as_mut(), 2);
    journal.finish(id, &[edit(2)]);
    state.apply(edit(2));
    journal.close(&mut state).expect("the sandbox can be written");
    store.unlock().expect("it is ours");
    assert_eq!(sandbox.names(), ["out", "terraform.tfstate"]);
    assert!(sandbox.text("out").contains("000002") && !sandbox.text("terraform.tfstate").contains("000002"));
}

#[test]
fn workspaces_come_and_go() {
    let sandbox = Sandbox::new();
    let backend = sandbox.backend(Arc::new(Disk));
    backend.open("b").expect("the sandbox can be written");
    backend.open("a").expect("the sandbox can be written");
    assert_eq!(backend.workspaces().expect("it can be read"), ["default", "a", "b"]);
    backend.delete_workspace("b", WorkspaceRemoval::Forced).expect("it exists");
    assert_eq!(backend.workspaces().expect("it can be read"), ["default", "a"]);
    assert!(backend.delete_workspace("default", WorkspaceRemoval::Forced).is_err());
    assert!(
        backend.delete_workspace("..", WorkspaceRemoval::Forced).is_err()
            && backend.delete_workspace("a/..", WorkspaceRemoval::Forced).is_err()
    );

    let data = sandbox.path(".terraform");
    assert_eq!(selected(&Disk, &data), "default");
    select(&Disk, &data, "a").expect("the sandbox can be written");
    assert_eq!((selected(&Disk, &data).as_str(), sandbox.text(".terraform/environment").as_str()), ("a", "a"));
    let valid = ["a", "a-b_c.d~1", "$&+:=@"].map(is_valid_name);
    let invalid = ["", "a b", "a/b", "a,b", "é", ".", ".."].map(is_valid_name);
    assert_eq!((valid, invalid), ([true; 3], [false; 7]));
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("real")).expect("the sandbox can be written");
    std::os::unix::fs::symlink("real/state", sandbox.state()).expect("the sandbox can be written");
    sandbox.save(&mut state_of([1]));
    let real = sandbox.path("real/state");
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).expect("it is ours");
    let before = std::fs::metadata(&real).expect("it was written");
    sandbox.save(&mut state_of([2]));
    assert!(sandbox.state().is_symlink());
    let after = std::fs::metadata(&real).expect("it was written");
    assert_eq!(
        (after.mode() & 0o777, after.ino()),
        (0o640, before.ino()),
        "others wait for the lock of this very file"
    );
    let backup = std::fs::metadata(sandbox.path("terraform.tfstate.backup")).expect("it was written");
    assert_eq!(backup.mode() & 0o777, 0o640);
    assert_eq!(numbers(sandbox.recover().state.as_ref()), [2]);
}

#[test]
fn a_pushed_state_has_to_be_a_successor() {
    let sandbox = Sandbox::new();
    let mut first = state_of([1]);
    sandbox.save(&mut first);
    let push = |state: &State, check| sandbox.store().push(state, check).map_err(|said| said.iter().count());
    let mut next = first.clone();
    next.apply(edit(2));
    assert!(push(&next, SuccessorCheck::Required).is_err(), "same serial, other content");
    next.serial = 0;
    assert!(push(&next, SuccessorCheck::Required).is_err(), "older");
    (next.serial, next.lineage) = (9, "other".into());
    assert!(push(&next, SuccessorCheck::Required).is_err(), "other lineage");
    next.lineage = first.lineage.clone();
    assert_eq!(push(&next, SuccessorCheck::Required), Ok(Saved::Changed));
    assert_eq!(push(&first, SuccessorCheck::Skipped), Ok(Saved::Changed));
    assert_eq!(sandbox.recover().state.map(|state| state.serial), Some(1));
}

#[test]
fn what_cannot_be_saved_is_in_errored_tfstate() {
    let sandbox = Sandbox::new();
    let way = WayBack::Push { in_the_way: None };
    let last = save_errored(&Disk, &sandbox.0, &state_of([1]), None, &way);
    assert_eq!((summaries(&last.diagnostics), last.print), (vec!["Failed to persist state to backend"], None));
    save_errored(&Disk, &sandbox.0, &state_of([1, 2]), None, &way);
    assert_eq!(sandbox.names().len(), 2, "the older file is not overwritten: {:?}", sandbox.names());
    let (state, _) = yuba_state::read(sandbox.text("errored.tfstate").as_bytes()).expect("it is a state");
    assert_eq!(numbers(Some(&state)), [1, 2]);

    let gone = sandbox.path("gone");
    let last = save_errored(&Disk, &gone, &state_of([1]), None, &way);
    assert_eq!(
        summaries(&last.diagnostics),
        ["Failed to create local state file", "Failed to persist state to backend"]
    );
    let (state, _) = yuba_state::read(&last.print.expect("it is to be printed")).expect("it is a state");
    assert_eq!(numbers(Some(&state)), [1]);
}

#[test]
fn the_largest_serial_does_not_begin_anew() {
    let sandbox = Sandbox::new();
    let mut state = state_of([1]);
    sandbox.save(&mut state);
    let text = sandbox.text("terraform.tfstate").replace("\"serial\": 1,", "\"serial\": 18446744073709551615,");
    sandbox.put("terraform.tfstate", text);
    state.apply(edit(2));
    sandbox.save(&mut state);
    assert_eq!((state.serial, numbers(sandbox.recover().state.as_ref())), (u64::MAX, vec![1, 2]));
}
