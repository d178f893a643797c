//! A connection to a provider: over a socket, encrypted, with the process behind it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ecow::eco_format;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tracing::Instrument as _;
use yuba_addrs::ProviderSource;
use yuba_provider::Problem;

use crate::diagnostics;
use crate::log::{LogLevel, LogSink};
use crate::process::Process;
use crate::settings::Address;
use crate::socket::Socket;
use crate::tls::Identity;
use crate::wire::{self, Call, CallError, GrpcCode, Protocol};

/// Timeout of connecting once the provider listens.
const CONNECT: Duration = Duration::from_secs(20);
/// Time for a process to end after its connection broke, before it is regarded as alive.
const DYING: Duration = Duration::from_secs(2);

/// A connection to a provider. When it is dropped the process is asked to end.
pub(crate) struct Connection {
    pub(crate) who: ProviderSource,
    client: wire::GrpcClient,
    /// The process, if we have started it.
    process: Option<Arc<Process>>,
    /// Follows the standard streams, and lives as long as the connection.
    stdio: AbortHandle,
    /// An attached process ends when it is asked to.
    asked_to_end: bool,
    runtime: Handle,
}

/// Settings of a connection.
pub(crate) struct Target<'a> {
    pub(crate) who: &'a ProviderSource,
    pub(crate) protocol: Protocol,
    pub(crate) address: &'a Address,
    /// Our identity, and the certificate that the other side must present.
    pub(crate) tls: Option<(&'a Identity, Vec<u8>)>,
    pub(crate) process: Option<Arc<Process>>,
    pub(crate) asked_to_end: bool,
    pub(crate) log: &'a LogSink,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Target<'_> {
    pub(crate) async fn connect(self) -> Result<Connection, Box<Problem>> {
        // A started process chooses its own address.
        let address = self.process.is_none().then_some(self.address);
        let failed = |reason: &str| diagnostics::no_connection(self.who, address, reason);
        let encrypted = self.tls.is_some();
        let stream = match timeout(CONNECT, open(self.address, self.tls)).await {
            Err(_) => return Err(failed("it accepts connections, but does not respond")),
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) if encrypted && error.kind() == io::ErrorKind::InvalidData => {
                return Err(diagnostics::encryption_failed(self.who, address, &error));
            }
            Ok(Err(error)) => return Err(failed(&error.to_string())),
        };
        let client = wire::GrpcClient::new(stream, self.protocol).await.map_err(|error| failed(&error.to_string()))?;
        let logger = match &self.process {
            Some(process) => process.logger.clone(),
            None => eco_format!("unmanaged.provider.{}", self.who.kind),
        };
        let stdio = tokio::spawn(follow_stdio(client.clone(), self.log.clone(), logger)).abort_handle();
        if let Some(process) = &self.process {
            process.connected(client.clone(), stdio.clone());
        }
        let Target { who, process, asked_to_end, .. } = self;
        Ok(Connection { who: who.clone(), client, process, stdio, asked_to_end, runtime: Handle::current() })
    }
}

/// Connects, and shows and checks certificates if there are any.
async fn open(address: &Address, tls: Option<(&Identity, Vec<u8>)>) -> io::Result<Box<dyn Stream>> {
    let plain: Box<dyn Stream> = match address {
        Address::Unix(path) => Box::new(Socket::new(UnixStream::connect(path).await?.into_std()?)?),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Box::new(Socket::new(stream.into_std()?)?)
        }
    };
    let Some((identity, expected)) = tls else { return Ok(plain) };
    let (config, name) = identity.client(expected).map_err(io::Error::other)?;
    Ok(Box::new(TlsConnector::from(Arc::new(config)).connect(name, plain).await?))
}

/// Logs output of the process on its standard streams. Providers should not write there, but would block if it were not
/// read.
async fn follow_stdio(client: wire::GrpcClient, log: LogSink, logger: ecow::EcoString) {
    let Ok(mut stream) = client.stdio().await else { return };
    while let Ok(Some(piece)) = stream.next().await {
        let text = String::from_utf8_lossy(piece.data.get(..1024).unwrap_or(&piece.data)).into_owned();
        let name = if piece.channel == i32::from(wire::StdioChannel::Stderr) { "error" } else { "output" };
        log.say(LogLevel::Warn, &logger, || eco_format!("unexpected output on standard {name}: {}", text.trim()));
    }
}

impl Connection {
    pub(crate) fn protocol(&self) -> Protocol {
        self.client.protocol()
    }

    /// Calls a method; a failure of the call itself is a problem. Errors of the provider are in the response.
    pub(crate) async fn call<C: Call>(&self, request: C::Request) -> Result<C::Response, Box<Problem>> {
        match self.client.call::<C>(request).instrument(self.span::<C>()).await {
            Ok(response) => Ok(response),
            Err(error) => Err(self.explain(name_of::<C>(), &error).await),
        }
    }

    /// Calls an optional method; returns none if the provider does not have it.
    pub(crate) async fn call_if_there<C: Call>(
        &self,
        request: C::Request,
    ) -> Result<Option<C::Response>, Box<Problem>> {
        match self.client.call::<C>(request).instrument(self.span::<C>()).await {
            Ok(response) => Ok(Some(response)),
            Err(CallError::Status(GrpcCode::UNIMPLEMENTED, _)) => Ok(None),
            Err(error) => Err(self.explain(name_of::<C>(), &error).await),
        }
    }

    fn span<C: Call>(&self) -> tracing::Span {
        tracing::debug_span!("call provider", provider = %self.who, method = name_of::<C>())
    }

    /// Reason why a call failed: if the process is gone that is the reason, whatever the error says.
    async fn explain(&self, call: &str, error: &CallError) -> Box<Problem> {
        let is_broken = matches!(error, CallError::Broken(_) | CallError::Status(GrpcCode::UNAVAILABLE, _));
        if let (Some(process), true) = (&self.process, is_broken)
            && let Ok(how) = timeout(DYING, process.exited()).await
        {
            return match process.first_to_tell() {
                true => diagnostics::crashed(&self.who, call, &how, process.last_words()),
                false => diagnostics::crashed_too(&self.who, call, &how),
            };
        }
        diagnostics::call_failed(&self.who, call, error)
    }
}

/// The name of a call in protocol 6, which is the clearer one.
pub(crate) fn name_of<C: Call>() -> &'static str {
    C::path(Protocol::V6).rsplit('/').next().unwrap_or_default()
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stdio.abort();
        if let Some(process) = &self.process {
            process.stop();
        } else if self.asked_to_end {
            let client = self.client.clone();
            self.runtime.spawn(async move { client.call::<wire::Shutdown>(wire::Empty {}).await });
        }
    }
}
