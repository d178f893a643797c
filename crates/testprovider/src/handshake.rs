//! The beginning and the end of the process: the greeting on standard output, the socket, the order to shut down.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::{Connected, Server};
use yuba_plugin::wire::{Empty, Protocol, Shutdown, StdioChannel, StdioData};

use crate::knobs::{Bad, Knobs};
use crate::provider::Testing;
use crate::record::Record;
use crate::router::Router;
use crate::tls::Identity;

/// By what a plugin knows that it was started as one.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// The process, from its first to its last moment.
pub fn run() -> ExitCode {
    if std::env::var(COOKIE.0).as_deref() != Ok(COOKIE.1) {
        complain("This is a provider for tests: it is started by a tool that uses its protocol.");
        return ExitCode::from(1);
    }
    let knobs = Knobs::from_env();
    if let Err(error) = Record::new(knobs.directory.clone()).and_then(|record| record.started()) {
        complain(&format!("TESTING_DIR: {error}"));
        return ExitCode::from(1);
    }
    if knobs.log {
        chatter();
    }
    std::thread::sleep(Duration::from_millis(knobs.start_ms));
    match knobs.bad {
        Some(Bad::Exit) => {
            complain("the licence of this provider has expired");
            return ExitCode::from(3);
        }
        Some(Bad::Garbage) => {
            greet("Hello, I am a provider, I think?");
            wait_long();
        }
        Some(Bad::Protocol4) => {
            greet("1|4|unix|/nowhere/plugin.sock|grpc|");
            wait_long();
        }
        Some(Bad::Silent) => wait_long(),
        _ => {}
    }
    // The interrupt of a terminal goes to every process there; the parent process decides when this one ends.
    let heard = Arc::default();
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, heard);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime.map_err(|error| error.to_string()).and_then(|runtime| runtime.block_on(serve(knobs))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&why);
            ExitCode::from(1)
        }
    }
}

async fn serve(knobs: Knobs) -> Result<(), String> {
    let protocol = choose_protocol(&knobs, &std::env::var("PLUGIN_PROTOCOL_VERSIONS").unwrap_or_default())?;
    let socket = Socket(socket_path()?);
    let listener = UnixListener::bind(&socket.0).map_err(|error| format!("{}: {error}", socket.0.display()))?;
    let client = std::env::var("PLUGIN_CLIENT_CERT").ok().filter(|pem| !pem.is_empty());
    let (announced, tls) = match client {
        None => (String::new(), None),
        Some(client) => {
            let identity = Identity::new()?;
            let announced = match knobs.bad {
                Some(Bad::Certificate) => Identity::new()?.announced(),
                _ => identity.announced(),
            };
            (announced, Some(TlsAcceptor::from(identity.serve(&client)?)))
        }
    };
    let (end, mut ended) = watch::channel(false);
    let router = Testing::new(knobs, protocol)
        .router(Router::new(protocol))
        .on::<Shutdown, _>(move |_| {
            // The waiting task ends only with the process.
            let _ = end.send(true);
            std::future::ready(Ok(Empty {}))
        })
        .with_stdio(vec![StdioData { channel: StdioChannel::Stdout.into(), data: "printed by accident\n".into() }]);
    greet(&format!("1|{}|unix|{}|grpc|{announced}", protocol.number(), socket.0.display()));
    let ended = async move {
        let _ = ended.wait_for(|ended| *ended).await;
    };
    let serving = Server::builder().serve_with_incoming_shutdown(router, connections(listener, tls), ended);
    serving.await.map_err(|error| error.to_string())
}

/// Protocols are offered as `5,6`.
fn choose_protocol(knobs: &Knobs, offered: &str) -> Result<Protocol, String> {
    let offered: Vec<u32> = offered.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let wanted = match (knobs.protocol, offered.iter().filter(|number| (5..=6).contains(*number)).max()) {
        (Some(number), _) => number,
        (None, Some(number)) => *number,
        (None, None) => 5,
    };
    Protocol::from_number(wanted).ok_or_else(|| format!("protocol {wanted} is not spoken here"))
}

/// Removed at the end, unless the process crashes.
struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn socket_path() -> Result<PathBuf, String> {
    let directory = std::env::var_os("PLUGIN_UNIX_SOCKET_DIR").filter(|directory| !directory.is_empty());
    let directory = directory.map_or_else(std::env::temp_dir, PathBuf::from);
    let random = getrandom::u32().map_err(|error| error.to_string())?;
    Ok(Path::join(&directory, format!("plugin{random}")))
}

/// Connections that were greeted: each in a task of its own, so that one that stalls holds up no other.
fn connections(listener: UnixListener, tls: Option<TlsAcceptor>) -> ReceiverStream<std::io::Result<Connection>> {
    let (found, connections) = mpsc::channel(16);
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let (found, tls) = (found.clone(), tls.clone());
            tokio::spawn(async move {
                let stream: Box<dyn Stream> = match tls {
                    None => Box::new(stream),
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => Box::new(stream),
                        Err(_) => return,
                    },
                };
                let _ = found.send(Ok(Connection(stream))).await;
            });
        }
    });
    ReceiverStream::new(connections)
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl Stream for UnixStream {}
impl Stream for tokio_rustls::server::TlsStream<UnixStream> {}

struct Connection(Box<dyn Stream>);

/// Whether connections are closed when something is to be written.
static HUNG_UP: AtomicBool = AtomicBool::new(false);

/// Closes the connection over which a request came that is answered after this.
pub(crate) fn hang_up() {
    HUNG_UP.store(true, Ordering::Relaxed);
}

impl Connected for Connection {
    type ConnectInfo = ();
    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        if HUNG_UP.load(Ordering::Relaxed) {
            return Poll::Ready(Err(std::io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.0).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Log lines as libraries for providers write them, and as programs do that know nothing of it.
fn chatter() {
    for level in ["trace", "debug", "info", "warn", "error"] {
        let time = "2026-01-02T03:04:05.000000Z";
        complain(&format!(
            r#"{{"@level":"{level}","@message":"chatter at {level}","@module":"testing","@timestamp":"{time}","n":1}}"#
        ));
    }
    complain("[WARN] chatter with a level in brackets");
    complain("chatter without a level");
}

fn greet(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Long for a test, but limited: no process may be left behind by accident.
fn wait_long() -> ! {
    std::thread::sleep(Duration::from_secs(300));
    std::process::exit(4)
}
