//! Processes that write output and may need to be stopped.

use std::io::{self, PipeReader, Read as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use ecow::{EcoString, eco_format};

use super::lines::Lines;
use super::relay::Voice;

/// Interval for checking whether to stop.
pub(super) const BEAT: Duration = Duration::from_millis(20);
/// Time for a process to end by itself after a request to stop.
const GRACE: Duration = Duration::from_millis(500);

/// End of a process.
pub(super) enum Ending {
    Exit(ExitStatus),
    Stopped,
}

/// A process at work, and what it says.
pub(super) struct Process {
    child: Child,
    parts: Receiver<Vec<u8>>,
}

/// Starts a process with nothing to read, and one pipe for all it says, so that this stays in order.
pub(super) fn start(mut command: Command) -> io::Result<Process> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    apart(&mut command);
    let mut child = command.spawn()?;
    // Its ends of the pipe must not stay open here.
    drop(command);
    match read(reader) {
        Ok(parts) => Ok(Process { child, parts }),
        Err(problem) => {
            end(&mut child);
            Err(problem)
        }
    }
}

/// Gives a process a group of its own: an interrupt from the keyboard must not end it half done, and a stop must reach
/// everything it starts.
pub(super) fn apart(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

impl Process {
    /// Passes on the output of the process until it has ended and its pipes are closed. `hear` gets it raw.
    pub(super) fn watch(mut self, voice: &Voice, mut hear: impl FnMut(&[u8])) -> io::Result<Ending> {
        let mut lines = Lines::default();
        loop {
            match self.parts.recv_timeout(BEAT) {
                Ok(part) => {
                    hear(&part);
                    lines.feed(&part, |line| voice.say(line));
                }
                Err(RecvTimeoutError::Timeout) => lines.tick(|line| voice.say(line)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if voice.stopped() {
                end(&mut self.child);
                lines.finish(|line| voice.say(line));
                return Ok(Ending::Stopped);
            }
        }
        lines.finish(|line| voice.say(line));
        wait(&mut self.child, || voice.stopped())
    }
}

/// Waits for a process, and ends it when waiting is no longer useful.
pub(super) fn wait(child: &mut Child, mut enough: impl FnMut() -> bool) -> io::Result<Ending> {
    let mut pause = Duration::from_micros(100);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Exit(status));
        }
        if enough() {
            end(child);
            return Ok(Ending::Stopped);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(BEAT);
    }
}

/// Reads in a thread, which ends with the pipe: processes that outlive a stop may hold that open.
fn read(mut pipe: PipeReader) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, parts) = sync_channel(16);
    std::thread::Builder::new().name("output".to_owned()).spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) if sender.send(buffer[..count].to_vec()).is_err() => break,
                Ok(_) => {}
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    })?;
    Ok(parts)
}

/// Ends a process and everything it started, and waits for it.
pub(super) fn end(child: &mut Child) {
    #[cfg(unix)]
    {
        use nix::sys::signal::{Signal, killpg};
        // Not waited for yet, so the number is still its own.
        let group = i32::try_from(child.id()).map(nix::unistd::Pid::from_raw);
        let tell = |signal: Option<Signal>| group.is_ok_and(|group| killpg(group, signal).is_ok());
        let signalled = Instant::now();
        tell(Some(Signal::SIGTERM));
        while signalled.elapsed() < GRACE && tell(None) {
            let _ = child.try_wait();
            std::thread::sleep(BEAT / 4);
        }
        tell(Some(Signal::SIGKILL));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Description of the end of a process.
pub(super) fn describe(status: ExitStatus) -> EcoString {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(number) = status.signal() {
            return match nix::sys::signal::Signal::try_from(number) {
                Ok(signal) => eco_format!("signal {signal}"),
                Err(_) => eco_format!("signal {number}"),
            };
        }
    }
    status.code().map_or("no exit status".into(), |code| eco_format!("exit status {code}"))
}
