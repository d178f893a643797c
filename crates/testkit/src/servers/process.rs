//! A server process: started, signalled, restarted, and killed when its handle is dropped.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::directory::Directory;

/// Time that a server has to answer after its start. The slowest takes some seconds on an idle machine.
const START_LIMIT: Duration = Duration::from_secs(90);

/// Starts that are tried when the process exits at once, as it does when another process takes its port first.
const ATTEMPTS: u32 = 3;

/// The command line of a server.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// For messages.
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(String, String)>,
}

impl Launch {
    pub(crate) fn new(name: &'static str, program: PathBuf, arguments: &[&str]) -> Launch {
        let arguments = arguments.iter().map(OsString::from).collect();
        Launch { name, program, arguments, environment: Vec::new() }
    }

    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: &str) -> Launch {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The command with an environment of its own: no variable of the test decides what the server does.
    pub(crate) fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(directory).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", directory).env("LANG", "C.UTF-8");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Whether the server answers.
type Ready = Box<dyn Fn() -> bool + Send + Sync>;

/// A running server on loopback. Dropping it kills the process and removes its directory.
pub struct Server {
    port: u16,
    launch: Launch,
    ready: Ready,
    running: Mutex<Option<Running>>,
    // Dropped after the process.
    directory: Directory,
}

/// The process, and the guard that kills it when the test process dies without dropping the handle.
struct Running {
    process: Child,
    guard: Child,
}

impl Server {
    /// Starts the command that `launch` returns for a port, and waits until `ready` is true.
    ///
    /// # Panics
    /// If the server does not answer in time, with the end of its log.
    pub(crate) fn start(
        directory: Directory,
        launch: impl Fn(u16) -> Launch,
        ready: impl Fn(u16) -> bool + Send + Sync + 'static,
    ) -> Server {
        let ready = Arc::new(ready);
        let mut attempt = 1;
        loop {
            let port = super::ports::free_port();
            let launch = launch(port);
            let check = Arc::clone(&ready);
            let ready: Ready = Box::new(move || check(port));
            match Running::start(&launch, &directory, &ready) {
                Ok(running) => return Server { port, launch, ready, running: Mutex::new(Some(running)), directory },
                Err(Failure::Exited) if attempt < ATTEMPTS => attempt += 1,
                Err(_) => panic!("{} does not answer on port {port}:\n{}", launch.name, log_end(&directory)),
            }
        }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The directory with the data and the log of the server.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The text that the server wrote to its standard output and error so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.directory.path().join(LOG)).unwrap_or_default()).into_owned()
    }

    /// Kills the server with SIGKILL. Connections end, the port refuses new ones, the data stays for [`Server::restart`].
    pub fn kill(&self) {
        if let Some(running) = self.running().take() {
            running.kill();
        }
    }

    /// Freezes the server with SIGSTOP: connections stay open and nothing answers.
    pub fn stop(&self) {
        self.signal("STOP");
    }

    /// Continues a frozen server with SIGCONT.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    /// Kills the server if it runs, and starts it again on the same port with the same data.
    ///
    /// # Panics
    /// If the server does not answer in time, with the end of its log.
    pub fn restart(&self) {
        let mut running = self.running();
        if let Some(running) = running.take() {
            running.kill();
        }
        match Running::start(&self.launch, &self.directory, &self.ready) {
            Ok(started) => *running = Some(started),
            Err(_) => {
                let name = self.launch.name;
                panic!("{name} does not answer on port {} after a restart:\n{}", self.port, log_end(&self.directory))
            }
        }
    }

    fn signal(&self, name: &str) {
        if let Some(running) = self.running().as_ref() {
            signal_tree(running.process.id(), name);
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.launch.name).field("port", &self.port).finish_non_exhaustive()
    }
}

/// Name of the log in the directory of the server.
const LOG: &str = "server.log";

/// The last lines of the log.
fn log_end(directory: &Directory) -> String {
    let log = std::fs::read(directory.path().join(LOG)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// Reason why a server does not run.
enum Failure {
    Exited,
    Silent,
}

impl Running {
    fn start(launch: &Launch, directory: &Directory, ready: &Ready) -> Result<Running, Failure> {
        let log = File::options().create(true).append(true).open(directory.path().join(LOG));
        let log = log.expect("because the directory of the server is writable");
        let errors = log.try_clone().expect("because the log is open");
        let mut command = launch.command(directory.path());
        command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        let process = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", launch.program.display()));
        let guard = guard(process.id(), directory.path());
        let mut running = Running { process, guard };
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if matches!(running.process.try_wait(), Ok(Some(_)) | Err(_)) {
                running.kill();
                return Err(Failure::Exited);
            }
            if ready() {
                return Ok(running);
            }
            if Instant::now() > deadline {
                running.kill();
                return Err(Failure::Silent);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    fn kill(mut self) {
        signal_tree(self.process.id(), "KILL");
        let _ = self.process.wait();
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

/// A shell that waits for the end of its input, which is the end of the test process, and then kills the server.
///
/// It has a process group of its own, so that Ctrl-C reaches the test process alone.
fn guard(process: u32, directory: &Path) -> Child {
    let script = r#"read -r line; kill -s KILL -- "-$1"; rm -rf -- "$2""#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", &process.to_string()]).arg(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().expect("because every Unix has a shell")
}

/// Sends a signal to the process group of a server and to its descendants outside the group: each process of PostgreSQL that serves
/// a connection leads a group of its own.
fn signal_tree(process: u32, signal: &str) {
    let group = format!("-{process}");
    if signal != "CONT" {
        // A frozen process starts no other: the list of descendants stays complete.
        send("STOP", std::slice::from_ref(&group));
    }
    let mut targets = vec![group];
    targets.extend(descendants(process).iter().map(u32::to_string));
    send(signal, &targets);
}

fn send(signal: &str, targets: &[String]) {
    let mut command = Command::new("sh");
    command.args(["-c", r#"signal=$1; shift; kill -s "$signal" -- "$@""#, "sh", signal]).args(targets);
    // A process that is gone already needs no signal.
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// The processes that a process started, and those that they started.
fn descendants(process: u32) -> Vec<u32> {
    let parents = parents();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, its_parent)| *its_parent == parent).map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}

/// Each process with its parent: from /proc on Linux, from `ps` elsewhere.
fn parents() -> Vec<(u32, u32)> {
    if let Ok(entries) = std::fs::read_dir("/proc") {
        let found: Vec<(u32, u32)> = entries.flatten().filter_map(|entry| parent_of(&entry.path())).collect();
        if !found.is_empty() {
            return found;
        }
    }
    let Ok(output) = Command::new("ps").args(["-A", "-o", "pid=", "-o", "ppid="]).output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// Reads `/proc/PID/stat`: `PID (NAME) STATE PARENT ...`. The name may contain spaces and parentheses.
fn parent_of(entry: &Path) -> Option<(u32, u32)> {
    let process = entry.file_name()?.to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(entry.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some((process, rest.split_whitespace().nth(1)?.parse().ok()?))
}
