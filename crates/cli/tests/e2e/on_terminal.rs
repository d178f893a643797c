//! Commands whose input and outputs are a terminal.

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Runs a command on a terminal of its own. Each step is a text that the terminal has to show, and what is typed then. Gives the exit
/// code and everything that the terminal shows.
pub(crate) fn on_terminal(mut command: Command, steps: &[(&str, &str)]) -> (i32, String) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("the system has terminals");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("the terminal is ours");
    let name = ptsname(&person, Vec::new()).expect("it has a name").into_string().expect("it is a path");
    let terminal = std::fs::File::options().read(true).write(true).open(name).expect("it was unlocked");
    let another = || terminal.try_clone().expect("it is open");
    command.env("TERM", "xterm").stdin(another()).stdout(another()).stderr(another());
    let mut child = command.spawn().expect("the program starts");
    // The program has the only other end of the terminal.
    drop((command, terminal));
    let has_ended = end_after_a_while(child.id());
    let mut person = std::fs::File::from(person);
    let (mut seen, mut from) = (Vec::new(), 0);
    let mut piece = [0; 4096];
    let mut steps = steps.iter();
    let mut step = steps.next();
    loop {
        while let Some((shown, typed)) = step {
            let Some(at) = String::from_utf8_lossy(&seen[from..]).find(shown) else { break };
            from += at + shown.len();
            person.write_all(typed.as_bytes()).expect("it can be written");
            step = steps.next();
        }
        // The end is an error where the other end is closed.
        match person.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => seen.extend_from_slice(&piece[..length]),
        }
    }
    let status = child.wait().expect("it ends");
    has_ended.store(true, Ordering::SeqCst);
    (status.code().unwrap_or(-1), String::from_utf8_lossy(&seen).into_owned())
}

/// Ends a process that waits for something that is never typed, so that the test fails with what the terminal shows.
fn end_after_a_while(pid: u32) -> Arc<AtomicBool> {
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    std::thread::spawn(move || {
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(100));
            if ended.load(Ordering::SeqCst) {
                return;
            }
        }
        let _ = Command::new("kill").arg(pid.to_string()).status();
    });
    has_ended
}
