//! Connections over SSH, made by the tools of OpenSSH.
//!
//! One `ssh` connects and stays in the background (ControlMaster); commands and files go through it, each as an `ssh` that
//! only passes bytes. Keys and passwords are in files only while it connects. Should we be killed, it ends itself soon.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ecow::{EcoString, eco_format};

use super::connection::{Connection, Machine, Platform};
use super::host::Host;
use super::process::{self, BEAT, Ending};
use super::relay::Voice;
use super::room::Room;
use super::scp::{Failure, Scp};
use super::settings::{self, Keys};

/// Attempts are at most so far apart.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// An attempt may take so long even if the time is up then.
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(10);
/// Maximum length of stored errors.
const COMPLAINTS: u64 = 4096;

/// A connection that stands.
pub(super) struct Session<'c> {
    connection: &'c Connection,
    voice: &'c Voice,
    room: Room,
}

/// Whether the progress of a connection is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Reported,
    Silent,
}

/// The part of a directory that is uploaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Upload {
    Directory,
    /// The entries of the directory, without the directory itself.
    Entries,
}

/// Reason why the connection failed.
enum Problem {
    /// Another attempt may succeed: machines take their time to start.
    Perhaps(EcoString),
    Never(EcoString),
}

impl<'c> Session<'c> {
    /// Connects, again and again until the time is up.
    pub(super) fn open(
        connection: &'c Connection,
        host: &Host,
        voice: &'c Voice,
        progress: Progress,
    ) -> Result<Session<'c>, EcoString> {
        if cfg!(not(unix)) {
            return Err("SSH connections are supported on Unix systems only.".into());
        }
        let room = Room::new(host.temporary())
            .map_err(|problem| eco_format!("Failed to create a directory for files of SSH: {problem}."))?;
        let session = Session { connection, voice, room };
        if let Some(note) = &connection.note {
            voice.say(note.clone());
        }
        for machine in std::iter::once(&connection.target).chain(&connection.bastion) {
            session.check_key(machine)?;
            if machine.password.is_some() {
                session.check_version()?;
            }
        }
        session.connect(progress)?;
        Ok(session)
    }

    fn connect(&self, progress: Progress) -> Result<(), EcoString> {
        let deadline = Instant::now() + self.connection.timeout;
        let mut pause = Duration::from_secs(1);
        loop {
            if progress == Progress::Reported {
                self.connection.announcement().into_iter().for_each(|text| self.voice.say(text));
            }
            let problem = match self.attempts(deadline) {
                Ok(()) => {
                    settings::forget(&self.room);
                    if progress == Progress::Reported {
                        self.voice.say("Connected!");
                    }
                    return Ok(());
                }
                Err(Problem::Never(problem)) => return Err(problem),
                Err(Problem::Perhaps(problem)) => problem,
            };
            let next = Instant::now() + pause;
            while Instant::now() < next && next < deadline && !self.voice.stopped() {
                std::thread::sleep(BEAT);
            }
            if self.voice.stopped() {
                return Err(eco_format!("The connection attempt was interrupted. The last attempt: {problem}"));
            }
            if next >= deadline {
                let time = self.connection.timeout.as_secs_f64();
                return Err(eco_format!("Failed to connect within {time} seconds. The last attempt: {problem}"));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Tries what is written, and then what the agent has.
    fn attempts(&self, deadline: Instant) -> Result<(), Problem> {
        let Connection { target, bastion, agent, agent_identity, .. } = self.connection;
        let written = |machine: &Machine| machine.password.is_some() || machine.private_key.is_some();
        let mut ways = Vec::new();
        if !agent || written(target) || bastion.as_ref().is_some_and(written) {
            ways.push(Keys::Configured);
        }
        if *agent {
            ways.push(Keys::OfAgent);
        }
        let mut result = Err(Problem::Perhaps("none was made.".into()));
        for keys in ways {
            let identity = agent_identity.as_ref().filter(|_| keys == Keys::OfAgent).and_then(|id| self.agent_key(id));
            settings::write(&self.room, self.connection, keys, identity.as_deref())
                .map_err(|problem| Problem::Never(eco_format!("Failed to write the files of SSH: {problem}.")))?;
            result = self.attempt(deadline);
            let refused =
                |problem: &str| ["Permission denied", "authentication"].iter().any(|word| problem.contains(word));
            if !matches!(&result, Err(Problem::Perhaps(problem)) if refused(problem)) {
                break;
            }
        }
        result
    }

    fn attempt(&self, deadline: Instant) -> Result<(), Problem> {
        let never = |problem: io::Error| Problem::Never(eco_format!("Failed to run \"ssh\": {problem}."));
        let log = self.room.file("log").map_err(never)?;
        self.room.remove("bastion-log");
        let mut command = self.ssh(&["-M", "-N", "-o", "ControlPersist=60", "--", "target"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        process::apart(&mut command);
        let mut child = command.spawn().map_err(never)?;
        let deadline = deadline.max(Instant::now() + SHORTEST_ATTEMPT);
        let enough = || self.voice.stopped() || Instant::now() >= deadline;
        match process::wait(&mut child, enough).map_err(never)? {
            Ending::Exit(status) if status.success() => Ok(()),
            Ending::Exit(status) => Err(Problem::Perhaps(self.explain(&process::describe(status)))),
            Ending::Stopped => Err(Problem::Perhaps(eco_format!("{}: no response.", self.connection.target.address()))),
        }
    }

    /// Reason why an attempt failed: an error of the bastion explains the rest.
    fn explain(&self, ending: &str) -> EcoString {
        let Connection { target, bastion, .. } = self.connection;
        let by_bastion = bastion.as_ref().and_then(|bastion| Some((bastion, self.complaint("bastion-log")?)));
        let (machine, complaint) = match by_bastion.or_else(|| Some((target, self.complaint("log")?))) {
            Some((machine, complaint)) if complaint.contains("Host key verification failed") => {
                (machine, "the key of the machine is not the host key of the connection".into())
            }
            Some((machine, complaint)) => (machine, complaint),
            None => (target, eco_format!("ssh ended with {ending}")),
        };
        let role = if std::ptr::eq(machine, target) { "" } else { "bastion " };
        eco_format!("{role}{}: {complaint}.", machine.address())
    }

    /// The errors of SSH, on one line.
    fn complaint(&self, log: &str) -> Option<EcoString> {
        let mut text = Vec::new();
        File::open(self.room.path().join(log)).ok()?.take(COMPLAINTS).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        (!lines.is_empty()).then(|| lines.join("; ").trim_end_matches('.').into())
    }

    /// A command of SSH for our settings.
    fn ssh(&self, args: &[&str]) -> Command {
        let mut command = Command::new("ssh");
        command.args(["-F", "config"]).args(args).current_dir(self.room.path());
        command.env("SSH_ASKPASS", "./target-askpass").env("SSH_ASKPASS_REQUIRE", "force").env("SHELL", "/bin/sh");
        command
    }

    /// Whether a private key can be used as it is: only its absence of a passphrase can make sure that nothing is asked.
    fn check_key(&self, machine: &Machine) -> Result<(), EcoString> {
        let Some(key) = &machine.private_key else { return Ok(()) };
        let unusable = |problem: io::Error| eco_format!("Failed to check the private key: {problem}.");
        self.room.write("target-key", &format!("{}\n", key.trim_end())).map_err(unusable)?;
        let mut command = Command::new("ssh-keygen");
        command.args(["-y", "-P", "", "-f", "target-key"]).current_dir(self.room.path()).stdin(Stdio::null());
        let output = command.output().map_err(unusable)?;
        self.room.remove("target-key");
        match output.status.success() {
            true => Ok(()),
            false if String::from_utf8_lossy(&output.stderr).contains("passphrase") => Err(
                "The private key of the connection is protected by a passphrase. Use a key without one, or add the key to \
                 an SSH agent and omit it here."
                    .into(),
            ),
            false => Err("The private key of the connection is damaged or has an unknown type.".into()),
        }
    }

    /// Passwords can be handed over since OpenSSH 8.4; older ones would ask at the terminal.
    fn check_version(&self) -> Result<(), EcoString> {
        let output = Command::new("ssh").arg("-V").stdin(Stdio::null()).output();
        let output = output.map_err(|problem| eco_format!("Failed to run \"ssh\": {problem}."))?;
        let text = String::from_utf8_lossy(&output.stderr);
        match version(&text) {
            Some(version) if version < (8, 4) => Err(eco_format!(
                "Passwords require OpenSSH 8.4 or newer, and this is {}. Use a private key instead.",
                text.trim()
            )),
            _ => Ok(()),
        }
    }

    /// The key of the agent that is meant: by the name of its file, or by what the agent says about it.
    fn agent_key(&self, id: &str) -> Option<String> {
        let output = Command::new("ssh-add").arg("-L").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-y", "-P", "", "-f", id]).stdin(Stdio::null());
        let written = || {
            let texts =
                [format!("{id}.pub"), id.to_owned()].into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
            texts.filter_map(|text| public_key(&text)).next()
        };
        let mut derived = || public_key(&String::from_utf8_lossy(&keygen.output().ok()?.stdout));
        let named = written().or_else(&mut derived);
        choose(&text, id, named.as_deref()).map(str::to_owned)
    }

    /// Makes sure that the connection still stands: scripts may have restarted the machine.
    fn stand(&self) -> Result<(), EcoString> {
        let mut command = self.ssh(&["-O", "check", "--", "target"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            _ => self.connect(Progress::Silent),
        }
    }

    /// Runs a command that says what it says to the user.
    pub(super) fn aloud(&mut self, command: &str) -> Result<(), EcoString> {
        self.stand()?;
        // With a terminal, the command gets to know when we are gone.
        let command = match self.connection.platform {
            Platform::Unix => self.ssh(&["-tt", "--", "target", &quoted(command)]),
            Platform::Windows => self.ssh(&["--", "target", command]),
        };
        let process = process::start(command).map_err(|problem| eco_format!("failed to run \"ssh\": {problem}"))?;
        match process.watch(self.voice, |_| {}) {
            Ok(Ending::Exit(status)) if status.success() => Ok(()),
            Ok(Ending::Exit(status)) => Err(process::describe(status)),
            Ok(Ending::Stopped) => Err("it was interrupted".into()),
            Err(problem) => Err(eco_format!("failed to wait for it: {problem}")),
        }
    }

    /// Runs a short command, whose words are shown only if it fails.
    pub(super) fn quietly(&mut self, command: &str) -> Result<(), EcoString> {
        self.talk(command, |_| Ok(()))
    }

    /// Writes a file.
    pub(super) fn upload(&mut self, path: &str, size: u64, content: &mut dyn Read) -> Result<(), EcoString> {
        let (dir, name) = split(path);
        let command = format!("scp -t -d {}", self.word(dir));
        self.talk(&command, |scp| {
            scp.greet()?;
            scp.file(name, size, content)
        })
    }

    /// Uploads a directory, which has an absolute path.
    pub(super) fn upload_dir(&mut self, path: &str, source: &Path, scope: Upload) -> Result<(), EcoString> {
        // A missing directory becomes the copy; its content requires an existing one.
        let command = format!("scp -r -t {}{}", if scope == Upload::Entries { "-d " } else { "" }, self.word(path));
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.talk(&command, |scp| {
            scp.greet()?;
            if scope == Upload::Entries || name.is_empty() { scp.entries(source) } else { scp.directory(&name, source) }
        })
    }

    /// Runs a command and talks to it.
    fn talk(
        &self,
        command: &str,
        say: impl FnOnce(&mut Scp<BufReader<std::process::ChildStdout>, std::process::ChildStdin>) -> Result<(), Failure>,
    ) -> Result<(), EcoString> {
        self.stand()?;
        let unrunnable = |problem: io::Error| eco_format!("failed to run \"ssh\": {problem}");
        let log = self.room.file("log").map_err(unrunnable)?;
        let mut ssh = self.ssh(&["--", "target", command]);
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        process::apart(&mut ssh);
        let mut child = ssh.spawn().map_err(unrunnable)?;
        let (Some(wire), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            process::end(&mut child);
            return Err("failed to communicate with \"ssh\"".into());
        };
        let mut scp = Scp { answers: BufReader::new(answers), wire };
        let (result, ending) = std::thread::scope(|scope| {
            // Talking may take forever; ending the other side ends it.
            let waiting = scope.spawn(|| process::wait(&mut child, || self.voice.stopped()));
            let result = say(&mut scp);
            drop(scp);
            (result, waiting.join())
        });
        let ending = match ending {
            Ok(ending) => ending.map_err(|problem| eco_format!("failed to wait for \"ssh\": {problem}"))?,
            Err(_) => return Err("failed to wait for \"ssh\"".into()),
        };
        match (result, ending) {
            (_, Ending::Stopped) => Err("it was interrupted".into()),
            (Err(Failure::Message(problem)), _) => Err(problem),
            (Ok(()), Ending::Exit(status)) if status.success() => Ok(()),
            (_, Ending::Exit(status)) if status.code() == Some(127) => {
                Err("the machine has no executable \"scp\", which is required to receive files".into())
            }
            (_, Ending::Exit(status)) => Err(self.complaint("log").unwrap_or_else(|| process::describe(status))),
        }
    }

    fn word(&self, text: &str) -> String {
        match self.connection.platform {
            Platform::Unix => quoted(text),
            Platform::Windows => format!("\"{}\"", text.replace('"', "")),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let mut command = self.ssh(&["-O", "exit", "--", "target"]);
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// A text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The directory and the name of a path.
fn split(path: &str) -> (&str, &str) {
    let path = match path.trim_end_matches('/') {
        "" => return ("/", ""),
        path => path,
    };
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((dir, name)) => (dir, name),
        None => (".", path),
    }
}

fn version(text: &str) -> Option<(u32, u32)> {
    let text = text.split_once("OpenSSH_")?.1.trim_start_matches("for_Windows_");
    let (major, rest) = text.split_once('.')?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

/// The key in a line such as `ssh-ed25519 AAAA...`.
fn public_key(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let kind = words.next()?;
    let known = ["ssh-", "ecdsa-", "sk-"].iter().any(|start| kind.starts_with(start));
    words.next().filter(|_| known).map(str::to_owned)
}

/// The key in the list of an agent that is of a file or has a comment, or else one whose comment ends in it.
fn choose<'t>(list: &'t str, id: &str, key: Option<&str>) -> Option<&'t str> {
    let comment = |line: &&str| line.splitn(3, ' ').nth(2).map(str::to_owned);
    let exact = |line: &&str| {
        line.split(' ').nth(1).is_some_and(|found| Some(found) == key) || comment(line).as_deref() == Some(id)
    };
    let near = |line: &&str| comment(line).is_some_and(|comment| comment.ends_with(id));
    list.lines().find(exact).or_else(|| list.lines().find(near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell() {
        for (text, expect) in [("/tmp/a.sh", "/tmp/a.sh"), ("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'")] {
            assert_eq!(quoted(text), expect);
        }
    }

    #[test]
    fn paths_are_split() {
        for (path, expect) in [
            ("/tmp/a", ("/tmp", "a")),
            ("/a", ("/", "a")),
            ("a", (".", "a")),
            ("b/a", ("b", "a")),
            ("/tmp/dir/", ("/tmp", "dir")),
            ("/", ("/", "")),
        ] {
            assert_eq!(split(path), expect, "{path}");
        }
    }

    #[test]
    fn versions_are_read() {
        for (text, expect) in [
            ("OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19", Some((9, 2))),
            ("OpenSSH_for_Windows_8.1p1, LibreSSL 3.0.2", Some((8, 1))),
            ("OpenSSH_10.0", Some((10, 0))),
            ("dropbear", None),
        ] {
            assert_eq!(version(text), expect, "{text}");
        }
    }

    #[test]
    fn keys_of_agents_are_chosen() {
        assert_eq!(public_key("ssh-ed25519 AAAA me").as_deref(), Some("AAAA"));
        assert_eq!(public_key("-----BEGIN OPENSSH PRIVATE KEY-----"), None);
        let list = "ssh-rsa AAAA /home/me/.ssh/work\nssh-ed25519 BBBB work\nssh-ed25519 CCCC my own key\n";
        for (id, key, expect) in [
            ("work", None, Some("ssh-ed25519 BBBB work")),
            ("ssh/work", None, Some("ssh-rsa AAAA /home/me/.ssh/work")),
            ("my own key", None, Some("ssh-ed25519 CCCC my own key")),
            ("file", Some("AAAA"), Some("ssh-rsa AAAA /home/me/.ssh/work")),
            ("file", None, None),
        ] {
            assert_eq!(choose(list, id, key), expect, "{id}");
        }
    }
}
