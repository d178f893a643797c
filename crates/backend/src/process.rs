//! Identity of this process, and whether another process still lives, for the holders of locks.

use yuba_net::Environment;

/// Whether a process of this host lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alive {
    /// It runs.
    Yes,
    /// It is gone.
    No,
    /// The system does not say.
    Unknown,
}

/// `user@host` of this process, with what is known of it.
#[cfg(unix)]
pub(crate) fn who(environment: &Environment) -> String {
    let entry = nix::unistd::User::from_uid(nix::unistd::Uid::effective());
    let user = match entry {
        Ok(Some(user)) => user.name,
        _ => environment.get("USER").unwrap_or_default().to_owned(),
    };
    format!("{user}@{}", host())
}

/// `user@host` of this process, with what the environment says.
#[cfg(not(unix))]
pub(crate) fn who(environment: &Environment) -> String {
    let variable = |name: &str| environment.get(name).unwrap_or_default().to_owned();
    format!("{}@{}", variable("USERNAME"), variable("COMPUTERNAME"))
}

/// The name of this host, where the system reports it.
#[cfg(unix)]
pub(crate) fn host() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name of this host, where the system reports it.
#[cfg(not(unix))]
pub(crate) fn host() -> String {
    String::new()
}

/// Whether the process with this number lives on this host.
#[cfg(unix)]
pub fn alive(pid: u32) -> Alive {
    use nix::errno::Errno;
    let Ok(raw) = i32::try_from(pid) else { return Alive::No };
    if raw <= 0 {
        return Alive::Unknown;
    }
    match nix::sys::signal::kill(nix::unistd::Pid::from_raw(raw), None) {
        // The process of another user lives too.
        Ok(()) | Err(Errno::EPERM) => Alive::Yes,
        Err(Errno::ESRCH) => Alive::No,
        Err(_) => Alive::Unknown,
    }
}

/// Whether the process with this number lives on this host.
#[cfg(not(unix))]
pub fn alive(_pid: u32) -> Alive {
    Alive::Unknown
}

/// A new random identifier in the form of a UUID.
pub fn new_uuid() -> String {
    let mut bytes = [0_u8; 16];
    // Without the system's source of randomness nothing secret is at stake: an identifier must be unique, not hidden.
    if getrandom::fill(&mut bytes).is_err() {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        bytes = (since.as_nanos() ^ (u128::from(std::process::id()) << 96)).to_le_bytes();
    }
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_live_and_a_finished_child_does_not() {
        assert_eq!(alive(std::process::id()), Alive::Yes);
        let mut child = std::process::Command::new("true").spawn().expect("`true` is everywhere");
        let pid = child.id();
        child.wait().expect("it is our child");
        assert_eq!(alive(pid), Alive::No);
    }

    #[test]
    fn uuids_have_their_form_and_differ() {
        let (one, two) = (new_uuid(), new_uuid());
        assert_ne!(one, two);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
    }
}
