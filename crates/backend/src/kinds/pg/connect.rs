//! Connecting to a server: network or socket, TLS, and the required state of the server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::errors::{Broken, PgError};
use super::settings::{Server, ServerOrder, Settings, Tls, TlsStart, WantedSession};

/// A dead network is noticed after the idle time and the retries: about a minute.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
#[cfg(unix)]
const KEEPALIVE_RETRIES: u32 = 3;
/// Bytes that the server does not acknowledge for this time end the connection.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);
/// The request for TLS: its length and its code.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A connection, with or without TLS.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Connects to the first server that accepts and is in the wanted state. The connection runs in a task of its own until the
/// client is dropped. With the client, the address of this end.
pub(super) async fn connect(settings: &Settings) -> Result<(Client, Option<SocketAddr>), PgError> {
    let mut servers: Vec<&Server> = settings.servers.iter().collect();
    if settings.order == ServerOrder::Random {
        shuffle(&mut servers);
    }
    let wanted: &[WantedSession] = match settings.session {
        WantedSession::PreferStandby => &[WantedSession::Standby, WantedSession::Any],
        ref other => std::slice::from_ref(other),
    };
    let mut failures: Vec<(&Server, PgError)> = Vec::new();
    for wanted in wanted {
        failures.clear();
        for server in &servers {
            let limited = tokio::time::timeout(settings.connect_timeout, attempt(settings, server, *wanted));
            let tried = limited.await.unwrap_or_else(|_| {
                let seconds = settings.connect_timeout.as_secs();
                Err(PgError::Broken(Broken::new(format!("the server did not respond within {seconds} seconds"))))
            });
            match tried {
                Ok(client) => return Ok(client),
                Err(error) => failures.push((server, error)),
            }
        }
    }
    Err(joined(failures))
}

/// The only failure, or all of them with the names of the servers. One that may pass makes all of them pass.
fn joined(mut failures: Vec<(&Server, PgError)>) -> PgError {
    if failures.len() == 1
        && let Some((_, error)) = failures.pop()
    {
        return error;
    }
    let reasons: Vec<String> =
        failures.iter().map(|(server, error)| format!("{}: {}", server.shown(), error.reason())).collect();
    match failures.iter().any(|(_, error)| error.may_pass()) {
        true => PgError::Broken(Broken::new(reasons.join("; "))),
        false => PgError::Refused(reasons.join("; ")),
    }
}

fn shuffle(servers: &mut [&Server]) {
    for index in (1..servers.len()).rev() {
        let mut random = [0; 8];
        // Without random bytes the order stays.
        if getrandom::fill(&mut random).is_ok() {
            let other = u64::from_le_bytes(random) % (index as u64 + 1);
            servers.swap(index, usize::try_from(other).unwrap_or(index));
        }
    }
}

async fn attempt(
    settings: &Settings,
    server: &Server,
    wanted: WantedSession,
) -> Result<(Client, Option<SocketAddr>), PgError> {
    let (stream, local) = open(settings, server).await?;
    let mut config = Config::new();
    // TLS is below this connection already.
    config.ssl_mode(SslMode::Disable).user(&settings.user).application_name(settings.application.during(""));
    if let Some(password) = &server.password {
        config.password(password.reveal());
    }
    if let Some(database) = &settings.database {
        config.dbname(database);
    }
    if let Some(options) = &settings.options {
        config.options(options);
    }
    let started = config.connect_raw(stream, NoTls).await;
    let (client, connection) = started.map_err(|error| PgError::of_start(error, settings, server))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to PostgreSQL ended");
        }
    });
    check_session(&client, wanted).await?;
    Ok((client, local))
}

async fn open(settings: &Settings, server: &Server) -> Result<(Box<dyn Duplex>, Option<SocketAddr>), PgError> {
    if let Some(socket) = server.socket() {
        return open_socket(&socket).await.map(|stream| (stream, None));
    }
    let unreachable = |error: io::Error| PgError::Broken(Broken::new(error.to_string()));
    let connected = match server.address {
        Some(address) => TcpStream::connect((address, server.port)).await,
        None => TcpStream::connect((server.name.as_str(), server.port)).await,
    };
    let stream = connected.map_err(unreachable)?;
    keep_alive(&stream);
    let local = stream.local_addr().ok();
    match &settings.tls {
        None => Ok((Box::new(stream), local)),
        Some(tls) => encrypt(stream, tls, server).await.map(|stream| (stream, local)),
    }
}

#[cfg(unix)]
async fn open_socket(socket: &std::path::Path) -> Result<Box<dyn Duplex>, PgError> {
    match tokio::net::UnixStream::connect(socket).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(PgError::Broken(Broken::new(error.to_string()))),
    }
}

#[cfg(not(unix))]
async fn open_socket(_: &std::path::Path) -> Result<Box<dyn Duplex>, PgError> {
    Err(PgError::Refused("sockets in the file system are not supported on this system".to_owned()))
}

/// Systems without these options notice a dead network later.
fn keep_alive(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL);
    #[cfg(unix)]
    let keepalive = keepalive.with_retries(KEEPALIVE_RETRIES);
    let _ = socket.set_tcp_keepalive(&keepalive);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
}

async fn encrypt(mut stream: TcpStream, tls: &Tls, server: &Server) -> Result<Box<dyn Duplex>, PgError> {
    let broken = |error: io::Error| PgError::Broken(Broken::new(error.to_string()));
    if tls.start == TlsStart::Requested {
        stream.write_all(&TLS_REQUEST).await.map_err(broken)?;
        let mut answer = [0];
        stream.read_exact(&mut answer).await.map_err(broken)?;
        if answer != *b"S" {
            let hint = "Set sslmode=disable to connect without encryption";
            return Err(PgError::Refused(format!("the server does not support TLS. {hint}")));
        }
    }
    // A name that no certificate can have fails where names are compared, and does not matter elsewhere.
    let name = ServerName::try_from(server.name.clone())
        .or_else(|_| ServerName::try_from("invalid"))
        .map_err(|error| PgError::Refused(error.to_string()))?;
    match TlsConnector::from(tls.config.clone()).connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(PgError::of_tls(&error, server)),
    }
}

async fn check_session(client: &Client, wanted: WantedSession) -> Result<(), PgError> {
    if wanted == WantedSession::Any {
        return Ok(());
    }
    let asked = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
    let row = client.query_typed_one(asked, &[]).await.map_err(PgError::from)?;
    let (is_standby, is_read_only): (bool, bool) = (super::session::field(&row, 0)?, super::session::field(&row, 1)?);
    let refusal = match wanted {
        WantedSession::ReadWrite if is_standby || is_read_only => "sessions of the server are read-only",
        WantedSession::ReadOnly if !is_read_only => "sessions of the server are not read-only",
        WantedSession::Primary if is_standby => "the server is a standby",
        WantedSession::Standby if !is_standby => "the server is not a standby",
        _ => return Ok(()),
    };
    Err(PgError::Refused(format!("{refusal}, which target_session_attrs excludes")))
}
