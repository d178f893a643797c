//! Processes that want the same state at the same time.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;
use crate::{Alive, LockHolder, LockRefusal};

/// Set for a process that is to hold the lock: the state file, and how to lock it.
const CHILD: &str = "YUBA_TEST_HOLDS_LOCK";

/// Another process that has the lock until its standard input ends or it is killed.
fn holder(sandbox: &Sandbox, how: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("tests run from a file"))
        .args(["--exact", "tests::locking::what_the_other_process_does", "--nocapture"])
        .env(CHILD, format!("{how}:{}", sandbox.state().display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be run again");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("has the lock"))), "the other process has no lock");
    child
}

#[test]
fn what_the_other_process_does() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let (how, path) = task.split_once(':').expect("it is written above");
    let path = Path::new(path);
    let mut store = None;
    let mut file = None;
    if how == "yuba" {
        let settings = LocalSettings { path: Some(path.to_owned()), ..LocalSettings::default() };
        let mut ours = LocalBackend::new(Arc::new(Disk), settings).store("default").expect("it needs no directory");
        ours.try_lock(ourselves("OperationTypeApply")).expect("the lock is free");
        store = Some(ours);
    } else {
        file = Some(lock_as_opentofu(path));
    }
    println!("\nhas the lock");
    let _ = std::io::stdin().lines().next();
    drop((store, file));
    std::process::exit(0);
}

/// A record lock of the process, on the state file, with its holder written beside it.
#[cfg(unix)]
fn lock_as_opentofu(path: &Path) -> std::fs::File {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;
    let file = std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.expect("the sandbox can be written");
    let lock =
        libc::flock { l_type: libc::F_WRLCK as _, l_whence: libc::SEEK_SET as _, l_start: 0, l_len: 0, l_pid: 0 };
    fcntl(&file, FcntlArg::F_SETLK(&lock)).expect("the lock is free");
    let info = r#"{"ID":"5f1c0b0a","Operation":"OperationTypeApply","Info":"","Who":"ann@box","Version":"1.12.6","Created":"2025-11-16T00:40:05Z","Path":"terraform.tfstate"}"#;
    std::fs::write(path.with_file_name(".terraform.tfstate.lock.info"), info).expect("the sandbox can be written");
    file
}

#[test]
fn one_process_at_a_time_and_the_refusal_says_who() {
    let sandbox = Sandbox::new();
    let mut child = holder(&sandbox, "yuba");
    let pid = child.id();
    let mut store = sandbox.store();
    let mut waits = Vec::new();
    let refused = crate::lock(&mut store, &ourselves("test"), Duration::from_secs(4), &mut |delay| {
        waits.push(delay.as_secs());
        true
    });
    assert_eq!(waits, [1, 2, 1]);
    let said = refused.expect_err("the other process has the lock");
    let detail = &said.iter().next().expect("there is a reason").detail;
    assert_eq!(summaries(&said), ["Error acquiring the state lock"]);
    for part in
        [&format!("Process {pid} on this host ("), "That process is still running.", "Lock Info:", "  ID:        "]
    {
        assert!(detail.contains(part), "{part} is missing in {detail}");
    }
    assert!(store.force_unlock("some").is_err(), "a lock that is held cannot be broken");

    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    let locked = store.try_lock(ourselves("test")).expect("the holder is dead");
    let left = locked.left_behind.expect("it had no time to clean up");
    assert_eq!((left.pid(), left.alive(), left.operation.as_str()), (Some(pid), Alive::No, "OperationTypeApply"));
    assert!(crate::lock_left_behind(&left).detail.contains("no longer running"));
    store.unlock().expect("it is ours");
}

#[cfg(unix)]
#[test]
fn the_lock_of_a_process_that_has_ended_is_refused_with_the_command_that_releases_it() {
    let mut child = Command::new("true").spawn().expect("`true` is everywhere");
    let pid = child.id();
    child.wait().expect("it is our child");
    let refused = |info: String, pid: Option<u32>| {
        let holder = LockHolder { info, ..ourselves("OperationTypeApply") };
        let refusal = LockRefusal::Held { holder: Some(Box::new(holder.clone())), pid };
        (holder.id, crate::diagnostics::lock_refused("s3://b/k", &refusal))
    };
    let (id, problem) = refused(format!("pid {pid}"), None);
    assert!(problem.detail.contains(&format!("Process {pid} on this host (")), "{problem:?}");
    assert!(problem.detail.contains(" ago for OperationTypeApply. That process is no longer running."), "{problem:?}");
    let command = format!("run `yuba force-unlock {id}`");
    let hint = |problem: &yuba_syntax::Diagnostic| problem.hint.clone().unwrap_or_default();
    assert!(hint(&problem).contains(&command), "{problem:?}");
    // Not for a process that runs, nor for a file, whose lock belongs to another process than the record says.
    for (info, holds) in [(format!("pid {}", std::process::id()), None), (format!("pid {pid}"), Some(1))] {
        assert!(hint(&refused(info, holds).1).starts_with("Wait until the other run has ended"));
    }
}

#[cfg(unix)]
#[test]
fn a_lock_of_opentofu_counts() {
    let sandbox = Sandbox::new();
    let mut child = holder(&sandbox, "opentofu");
    let mut store = sandbox.store();
    match store.try_lock(ourselves("test")) {
        Err(LockRefusal::Held { holder: Some(holder), pid }) => {
            assert_eq!((holder.id.as_str(), pid), ("5f1c0b0a", Some(child.id())));
        }
        other => panic!("{other:?}"),
    }
    drop(child.stdin.take());
    child.wait().expect("it is our child");
    // OpenTofu keeps the file open that it has opened: a save during the wait has to reach that very file.
    store.try_lock(ourselves("test")).expect("the holder has ended");
    store.unlock().expect("it is ours");
}

#[cfg(unix)]
#[test]
fn opentofu_waits_for_us() {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;
    let sandbox = Sandbox::new();
    sandbox.save(&mut state_of([1]));
    let waiting = std::fs::File::options().read(true).write(true).open(sandbox.state()).expect("it was written");
    let lock =
        libc::flock { l_type: libc::F_WRLCK as _, l_whence: libc::SEEK_SET as _, l_start: 0, l_len: 0, l_pid: 0 };
    let mut store = sandbox.store();
    store.try_lock(ourselves("test")).expect("the lock is free");
    let refused = || fcntl(&waiting, FcntlArg::F_SETLK(&lock)).is_err();
    #[cfg(target_os = "linux")]
    assert!(refused());
    store.write(&mut state_of(0..60)).expect("the sandbox can be written");
    #[cfg(target_os = "linux")]
    assert!(refused(), "the lock is held after saving");
    // Something else in this process looks at the state file.
    drop(std::fs::read(sandbox.state()));
    #[cfg(target_os = "linux")]
    assert!(refused(), "the lock is held after reading");
    store.unlock().expect("it is ours");
    assert!(!refused());
    let text = std::io::read_to_string(&waiting).expect("it is open");
    assert_eq!(text, sandbox.text("terraform.tfstate"), "the file that was waited for is the state");
}

#[test]
fn locks_that_were_left_can_be_removed_by_their_id() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let said = |result: Result<(), Diagnostics>| result.map_err(|said| said.into_iter().next().map(|d| d.detail));
    assert!(said(store.force_unlock("x")).is_err_and(|d| d.is_some_and(|d| d.contains("not locked"))));
    let mut left = ourselves("OperationTypeApply");
    left.id = "abc".to_owned();
    sandbox.put(".terraform.tfstate.lock.info", left.to_json());
    assert!(said(store.force_unlock("x")).is_err_and(|d| d.is_some_and(|d| d.contains("ID:        abc"))));
    assert_eq!(said(store.force_unlock("abc")), Ok(()));
    assert_eq!(sandbox.names(), Vec::<String>::new());
}
