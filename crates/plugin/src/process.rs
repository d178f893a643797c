//! One provider process: started, listened to, and ended.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ecow::{EcoString, eco_format};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use yuba_net::Environment;

use crate::handshake::{self, Handshake, HandshakeError};
use crate::last_words::LastWords;
use crate::log::{LogLevel, LogSink, Record};
use crate::socket_dir::SocketDir;
use crate::wire;

/// Time for a provider to end after a request.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum wait for output that a process wrote before it ended.
const DRAIN: Duration = Duration::from_millis(500);
/// Longer lines are read in pieces.
const LINE: usize = 64 << 10;
/// Number of attempts to start an executable that is still being written, and the delay between them.
const BUSY: (u32, Duration) = (20, Duration::from_millis(50));

/// A provider process.
pub(crate) struct Process {
    /// Whose logs these are.
    pub(crate) logger: EcoString,
    /// It and what it starts.
    group: Option<Pid>,
    /// The connection to it, once it is open, and its task.
    connection: OnceLock<(wire::GrpcClient, AbortHandle)>,
    orders: mpsc::UnboundedSender<Order>,
    exit: watch::Receiver<Option<EcoString>>,
    words: Arc<Mutex<LastWords>>,
    /// Whether its last output was reported.
    is_death_reported: AtomicBool,
}

/// Signals to its supervisor.
enum Order {
    /// Ask it over the connection to end; kill it if it does not.
    Stop(wire::GrpcClient),
    Kill,
}

/// Reason why a provider did not start.
pub(crate) enum StartFailure {
    /// The executable cannot be started.
    Spawn(io::Error),
    /// The process exited at once: its status, and the last lines of its log.
    Exited(EcoString, Option<String>),
    /// The handshake failed; with the last lines of its log.
    NoHandshake(HandshakeError, Option<String>),
    /// The process printed no handshake line in time; with the last lines of its log.
    Silent(Duration, Option<String>),
}

/// Settings for starting a provider.
pub(crate) struct Launch<'a> {
    pub(crate) executable: &'a Path,
    /// The type of the provider.
    pub(crate) kind: &'a str,
    /// The certificate that we will show.
    pub(crate) certificate: Option<&'a str>,
    pub(crate) log: &'a LogSink,
    pub(crate) patience: Duration,
    pub(crate) environment: &'a Environment,
}

impl Launch<'_> {
    /// Starts it and waits until it reports its address. No failure leaves a process behind. `started` gets the process as soon
    /// as it exists.
    pub(crate) async fn run(
        self,
        started: impl FnOnce(&Arc<Process>),
    ) -> Result<(Arc<Process>, Handshake, SocketDir), StartFailure> {
        let sockets = SocketDir::new(&self.environment.temporary()).map_err(StartFailure::Spawn)?;
        let mut command = Command::new(self.executable);
        command
            .envs(handshake::environment())
            .env("PLUGIN_UNIX_SOCKET_DIR", sockets.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let unset = |(name, _): &(String, &str)| self.environment.get(name).is_none();
        command.envs(self.log.environment(self.kind).into_iter().filter(unset));
        match self.certificate {
            Some(pem) => command.env("PLUGIN_CLIENT_CERT", pem),
            None => command.env_remove("PLUGIN_CLIENT_CERT"),
        };
        crate::parent_death::end_with_us(command.as_std_mut());
        let mut child = spawn(&mut command).await.map_err(StartFailure::Spawn)?;

        let file_name = self.executable.file_name().unwrap_or(self.executable.as_os_str());
        let logger = eco_format!("provider.{}", file_name.to_string_lossy());
        let pid = child.id().unwrap_or_default();
        let group = i32::try_from(pid).ok().filter(|pid| *pid > 1).map(Pid::from_raw);
        let log = self.log;
        log.say(LogLevel::Debug, &logger, || eco_format!("started {} as process {pid}", self.executable.display()));
        let words = Arc::new(Mutex::new(LastWords::default()));
        let (greeting, line) = oneshot::channel();
        let drained = match child.stderr.take() {
            Some(stderr) => tokio::spawn(listen(stderr, words.clone(), log.clone(), logger.clone())),
            None => tokio::spawn(std::future::ready(())),
        };
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(greet(stdout, greeting, log.clone(), logger.clone()));
        }
        let (orders, for_keeper) = mpsc::unbounded_channel();
        let (ended, exit) = watch::channel(None);
        tokio::spawn(keep(child, for_keeper, ended, drained, log.clone(), logger.clone()));
        let process = Arc::new(Process {
            logger,
            group,
            connection: OnceLock::new(),
            orders,
            exit,
            words,
            is_death_reported: AtomicBool::new(false),
        });
        started(&process);

        match timeout(self.patience, process.greeting(line)).await {
            Err(_) => {
                process.end().await;
                Err(StartFailure::Silent(self.patience, process.last_words()))
            }
            Ok(None) => {
                let exited = timeout(GRACE, process.exited()).await;
                process.end().await;
                let words = process.last_words();
                let reason = "it closed its standard output without printing a handshake line".into();
                Err(match exited {
                    Ok(how) => StartFailure::Exited(how, words),
                    Err(_) => StartFailure::NoHandshake(HandshakeError { reason, hint: "" }, words),
                })
            }
            Ok(Some(line)) => match handshake::read(&line) {
                Ok(handshake) => Ok((process, handshake, sockets)),
                Err(error) => {
                    process.end().await;
                    Err(StartFailure::NoHandshake(error, process.last_words()))
                }
            },
        }
    }
}

/// An executable that was just written may be open for writing in a process that is being started at this moment.
async fn spawn(command: &mut Command) -> io::Result<Child> {
    let (tries, pause) = BUSY;
    for _ in 0..tries {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => tokio::time::sleep(pause).await,
            other => return other,
        }
    }
    command.spawn()
}

impl Process {
    /// The first line, which it says how it can be reached with. None if it has ended or closed its standard output before:
    /// processes that it has started may hold that open.
    async fn greeting(&self, mut line: oneshot::Receiver<String>) -> Option<String> {
        tokio::select! {
            greeting = &mut line => greeting.ok(),
            _ = self.exited() => timeout(DRAIN, line).await.ok()?.ok(),
        }
    }
    /// Waits until it has ended; how it did, such as `exit status: 1`.
    pub(crate) async fn exited(&self) -> EcoString {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => "its supervisor has ended".into(),
        }
    }
    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.exit.borrow().is_some()
    }
    /// Its last output.
    pub(crate) fn last_words(&self) -> Option<String> {
        self.words.lock().unwrap_or_else(std::sync::PoisonError::into_inner).text()
    }
    /// It is connected; a task keeps the connection open.
    pub(crate) fn connected(&self, client: wire::GrpcClient, open: AbortHandle) {
        let _ = self.connection.set((client, open));
    }
    /// Whether its last words are still to be reported: one message about its end contains them.
    pub(crate) fn first_to_tell(&self) -> bool {
        !self.is_death_reported.swap(true, Ordering::Relaxed)
    }
    /// Asks it to end; it is killed if it does not.
    pub(crate) fn stop(&self) {
        let order = match self.connection.get() {
            None => Order::Kill,
            Some((client, open)) => {
                open.abort();
                Order::Stop(client.clone())
            }
        };
        let _ = self.orders.send(order);
    }
    /// Kills it, waits until it is gone, and kills what it has started in turn.
    async fn end(&self) {
        let _ = self.orders.send(Order::Kill);
        self.exited().await;
        // The id is not reused as long as the process group has a member.
        if let Some(group) = self.group {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// Owns the process until it has ended, so that it is always waited for.
async fn keep(
    mut child: Child,
    mut orders: mpsc::UnboundedReceiver<Order>,
    ended: watch::Sender<Option<EcoString>>,
    drained: tokio::task::JoinHandle<()>,
    log: LogSink,
    logger: EcoString,
) {
    let order = tokio::select! {
        status = child.wait() => Err(status),
        order = orders.recv() => Ok(order),
    };
    let status = match order {
        Err(status) => status,
        Ok(Some(Order::Stop(client))) => {
            let graceful = async {
                // The call can fail: the process may have ended before.
                let _ = client.call::<wire::Shutdown>(wire::Empty {}).await;
                child.wait().await
            };
            match timeout(GRACE, graceful).await {
                Ok(status) => status,
                Err(_) => {
                    log.say(LogLevel::Warn, &logger, || "did not end when asked to, so it is killed".into());
                    kill(&mut child).await
                }
            }
        }
        Ok(Some(Order::Kill) | None) => kill(&mut child).await,
    };
    let how = status.map_or_else(|error| eco_format!("{error}"), describe);
    log.say(LogLevel::Debug, &logger, || eco_format!("ended: {how}"));
    // Its children may hold standard error open.
    let _ = timeout(DRAIN, drained).await;
    let _ = ended.send(Some(how));
}

/// Kills it with everything in its process group, and waits for it.
async fn kill(child: &mut Child) -> io::Result<ExitStatus> {
    // As long as it was not waited for, its id is its own.
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = child.start_kill();
    child.wait().await
}

/// `exit status 1`, `killed by signal 9`
fn describe(status: ExitStatus) -> EcoString {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = Signal::try_from(signal).map_or("unknown", Signal::as_str);
        return eco_format!("killed by signal {signal}, {name}");
    }
    status.code().map_or_else(|| eco_format!("{status}"), |code| eco_format!("exit status {code}"))
}

/// Reads standard error to the end of the stream.
async fn listen(stderr: impl AsyncRead + Unpin, words: Arc<Mutex<LastWords>>, log: LogSink, logger: EcoString) {
    let mut reader = BufReader::with_capacity(LINE, stderr);
    while let Some(line) = next_line(&mut reader).await {
        words.lock().unwrap_or_else(std::sync::PoisonError::into_inner).hear(&line);
        if log.is_on() {
            log.write(&Record::of_line(&line, &logger));
        }
    }
}

/// Takes the first line of standard output, and reads the rest, which should be empty.
async fn greet(stdout: impl AsyncRead + Unpin, greeting: oneshot::Sender<String>, log: LogSink, logger: EcoString) {
    let mut reader = BufReader::new(stdout);
    let Some(first) = next_line(&mut reader).await else { return };
    let _ = greeting.send(first);
    while let Some(line) = next_line(&mut reader).await {
        log.say(LogLevel::Warn, &logger, || eco_format!("unexpected output on standard output: {}", line.trim()));
    }
}

/// The next line without its end, or as much of it as fits into the buffer.
async fn next_line(reader: &mut BufReader<impl AsyncRead + Unpin>) -> Option<String> {
    let mut line = Vec::new();
    loop {
        let available = reader.fill_buf().await.ok()?;
        if available.is_empty() {
            break;
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len()).min(LINE - line.len());
        line.extend_from_slice(available.get(..taken).unwrap_or_default());
        let at_end = end == Some(taken);
        reader.consume(taken + usize::from(at_end));
        if at_end || line.len() >= LINE {
            return Some(text(line));
        }
    }
    (!line.is_empty()).then(|| text(line))
}

fn text(line: Vec<u8>) -> String {
    let mut text = String::from_utf8(line).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into());
    if text.ends_with('\r') {
        text.pop();
    }
    text
}
