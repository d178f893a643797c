//! Ties a child process to our life: the kernel kills it when we are gone, however that came about.

use std::process::Command;

/// Has the process that is going to be started killed when the thread that starts it has ended. That must be a thread
/// that lives as long as Yuba uses providers.
#[cfg(target_os = "linux")]
#[allow(
    unsafe_code,
    reason = "only a call between fork and exec can set this; without it a provider outlives us when we are killed, and \
              goes on changing objects without a record. The closure makes two system calls and allocates nothing."
)]
pub(crate) fn end_with_us(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;

    use nix::sys::{prctl, signal::Signal};
    use nix::unistd::{Pid, getppid};

    let us = Pid::this();
    // SAFETY: between fork and exec only async-signal-safe functions are called: prctl and getppid are plain system
    // calls, and the errors are made of numbers.
    unsafe {
        command.pre_exec(move || {
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            // We may have been gone before.
            if getppid() == us { Ok(()) } else { Err(std::io::Error::from_raw_os_error(nix::libc::ESRCH)) }
        });
    }
}

/// Other systems do not support this: there a provider ends when it is asked to, or is killed by us.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with_us(_: &mut Command) {}
