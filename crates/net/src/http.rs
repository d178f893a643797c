//! The HTTP client: limits on time and size, retries with backoff and jitter, redirects, credentials per host.
//!
//! [`HttpClient::get`] and [`HttpClient::download`] block. [`HttpClient::send`] and [`HttpClient::save`] are their asynchronous forms, for
//! several requests at a time within [`HttpClient::block_on`].
//!
//! Invariant: no credential is part of an error or follows a redirect to another host or another port.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use proxies::Proxies;
pub use reqwest::header::HeaderMap;
pub use reqwest::{Method, Url};
use tokio::runtime::Runtime;
use tracing::Instrument as _;

use crate::Secret;
use crate::trust::TlsSettings;

/// Settings of a client for one kind of host that differ from the CLI configuration.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// Authorities, client certificate and verification.
    pub tls: TlsSettings,
    /// Proxies, instead of those of the environment.
    pub proxies: Option<Proxies>,
    /// Whether redirects are followed.
    pub redirects: Redirects,
    /// The setting that names a file with an authority, for advice about certificates. SSL_CERT_FILE if none.
    pub authority_setting: Option<&'static str>,
}

/// Whether a client follows redirects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redirects {
    /// `GET` and `HEAD` requests, up to ten times, never from https to http. Other requests are not sent to another address, and
    /// never become `GET` requests: the response with the redirect is their result.
    #[default]
    Follow,
    /// The response with the redirect is the result.
    Return,
}

/// Limits and retries.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Number of retries after a transient failure.
    pub retries: u32,
    /// Limit for a whole request other than a download.
    pub timeout: Duration,
    /// Limit for a pause in which the host sends nothing.
    pub stall: Duration,
    /// Limit for a whole download.
    pub download_timeout: Duration,
    /// Least bytes per second of a download, as the average of `rate_period`, and of an upload.
    pub slowest_rate: u64,
    /// Period over which the rate of a download is measured.
    pub rate_period: Duration,
    /// Pause before the first retry. It doubles with each retry and varies by up to half.
    pub backoff: Duration,
    /// Value of the `User-Agent` header.
    pub user_agent: String,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            retries: 1,
            timeout: Duration::from_secs(10),
            stall: Duration::from_secs(60),
            download_timeout: Duration::from_secs(6 * 60 * 60),
            slowest_rate: 1 << 10,
            rate_period: Duration::from_secs(60),
            backoff: Duration::from_secs(1),
            user_agent: format!("Yuba/{}", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// The name that packages have for the operating system of this machine.
pub const OS: &str = match std::env::consts::OS.as_bytes() {
    b"macos" => "darwin",
    _ => std::env::consts::OS,
};
/// The name that packages have for the processor of this machine.
pub const ARCH: &str = match std::env::consts::ARCH.as_bytes() {
    b"x86_64" => "amd64",
    b"aarch64" => "arm64",
    b"x86" => "386",
    _ => std::env::consts::ARCH,
};

/// Size limit of a response in memory, unless the request sets another.
pub const DOCUMENT_LIMIT: u64 = 64 << 20;
/// Size limit of a download, unless the request sets another.
pub const DOWNLOAD_LIMIT: u64 = 8 << 30;
const MOST_REDIRECTS: usize = 10;
/// The longest pause before a retry, whatever `Retry-After` asks for.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// Size limit of a response that is not a success, in bytes. The rest of it is not read.
const ERROR_LIMIT: u64 = 1 << 20;

/// The part of an address that messages and the log contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visible {
    /// All but user, password and query.
    #[default]
    Path,
    /// Scheme, host and port: the path is a credential.
    Origin,
}

impl Visible {
    /// An address as messages contain it.
    pub fn shown(self, url: &Url) -> String {
        match self {
            Visible::Path => shown(url),
            Visible::Origin => format!("{}/...", url.origin().ascii_serialization()),
        }
    }
}

/// A request.
#[derive(Clone)]
pub struct Request {
    /// Its address.
    pub url: Url,
    /// The part of the address that messages and the log contain.
    pub visible: Visible,
    /// Its method.
    pub method: Method,
    /// Its content.
    pub body: Option<Vec<u8>>,
    /// Bearer token. Redirects to another host drop it.
    pub token: Option<Secret>,
    /// User and password, instead of a token.
    pub basic: Option<(String, Secret)>,
    /// Additional headers.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// Size limit of the response, in bytes.
    pub limit: Option<u64>,
    /// Number of retries, instead of the client's.
    pub retries: Option<u32>,
    /// Limit for the whole request, instead of the client's.
    pub timeout: Option<Duration>,
}

/// Without values of headers, content and credentials.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_ref()).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.shown())
            .field("headers", &headers)
            .field("body", &self.body.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

impl Request {
    /// A `GET` request.
    pub fn new(url: Url) -> Request {
        let (method, headers) = (Method::GET, Vec::new());
        Request {
            url,
            visible: Visible::default(),
            method,
            body: None,
            token: None,
            basic: None,
            headers,
            limit: None,
            retries: None,
            timeout: None,
        }
    }

    /// A `POST` request with a form.
    pub fn form(url: Url, pairs: &[(&str, &str)]) -> Request {
        let mut form = url.clone();
        form.set_query(None);
        form.query_pairs_mut().extend_pairs(pairs);
        let body = form.query().unwrap_or_default().as_bytes().to_vec();
        Request { method: Method::POST, body: Some(body), ..Request::new(url) }
            .with_header("content-type", "application/x-www-form-urlencoded")
    }

    fn span(&self) -> tracing::Span {
        tracing::debug_span!("http request", method = %self.method, url = self.shown())
    }

    /// Its address as messages contain it.
    pub fn shown(&self) -> String {
        self.visible.shown(&self.url)
    }

    /// With a token, if there is one.
    #[must_use]
    pub fn with_token(mut self, token: Option<Secret>) -> Request {
        self.token = token;
        self
    }

    /// With a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Request {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a size limit for the response.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Request {
        self.limit = Some(bytes);
        self
    }
}

/// A response, whatever its status.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// The address after all redirects.
    pub url: Url,
    /// Headers.
    pub headers: HeaderMap,
    /// Content; empty after [`HttpClient::download`], which writes it to the file.
    pub body: Vec<u8>,
    /// Number of requests until this response came.
    pub attempts: u32,
}

impl Response {
    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        self.status == 429 || (self.status >= 500 && self.status != 501)
    }

    /// Reason why a download from an address failed, as the second half of a sentence.
    pub fn failed_download(&self, from: &Url) -> String {
        let (url, status) = (shown(from), self.status_text());
        match self.may_pass() {
            true => format!("GET {url} giving up after {} attempt(s): the host responded \"{status}\"", self.attempts),
            false => format!("{url} responded with \"{status}\""),
        }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The media type in lower case, without parameters: `application/json`.
    pub fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        Some(value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase())
    }

    /// The status with its name: `404 Not Found`.
    pub fn status_text(&self) -> String {
        reqwest::StatusCode::from_u16(self.status).map_or_else(|_| self.status.to_string(), |status| status.to_string())
    }
}

/// A request without a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    /// The address, without anything secret.
    pub url: String,
    /// The reason, as the second half of a sentence.
    pub reason: String,
    /// Number of requests that failed.
    pub attempts: u32,
    /// Whether the same request may succeed later.
    pub may_pass: bool,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts {
            0 | 1 => write!(f, "{}: {}", self.url, self.reason),
            attempts => write!(f, "{} giving up after {attempts} attempt(s): {}", self.url, self.reason),
        }
    }
}

impl std::error::Error for HttpError {}

/// A URL without user, password and query, which may be secret.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let had_query = url.query().is_some();
    url.set_query(None);
    url.set_fragment(None);
    if had_query { format!("{url}?...") } else { url.to_string() }
}

/// Called with the bytes received so far, and the total where the host sends it.
pub type DownloadProgress<'a> = &'a mut (dyn FnMut(u64, Option<u64>) + Send);

/// The client. Cheap to clone; threads start with the first request.
#[derive(Clone)]
pub struct HttpClient(Arc<Inner>);

struct Inner {
    settings: HttpSettings,
    options: ClientOptions,
    /// Whether all requests are cancelled.
    interrupted: Interrupted,
    runtime: SharedRuntime,
    http: OnceLock<Result<reqwest::Client, String>>,
    /// For requests that follow no redirects.
    direct: OnceLock<Result<reqwest::Client, String>>,
}

/// Cancels the requests of all clients that share it.
type Interrupted = Arc<tokio::sync::watch::Sender<bool>>;
/// The threads of all clients that share them.
type SharedRuntime = Arc<OnceLock<Result<Background, String>>>;

impl Inner {
    fn new(settings: HttpSettings, options: ClientOptions, interrupted: Interrupted, runtime: SharedRuntime) -> Inner {
        Inner { settings, options, interrupted, runtime, http: OnceLock::new(), direct: OnceLock::new() }
    }
}

impl HttpClient {
    /// A client that has started nothing yet.
    pub fn new(settings: HttpSettings) -> HttpClient {
        let (options, interrupted, runtime) = (ClientOptions::default(), Arc::default(), Arc::default());
        HttpClient(Arc::new(Inner::new(settings, options, interrupted, runtime)))
    }

    /// A client with other options and the same limits. It shares threads with this one and is interrupted with it.
    #[must_use]
    pub fn with_options(&self, options: ClientOptions) -> HttpClient {
        let (settings, runtime) = (self.0.settings.clone(), Arc::clone(&self.0.runtime));
        let interrupted = Arc::clone(&self.0.interrupted);
        HttpClient(Arc::new(Inner::new(settings, options, interrupted, runtime)))
    }

    /// A client that [`HttpClient::interrupt`] of this one does not stop: a state must be saved and a lock released also
    /// after an interrupt. It shares threads with this one.
    #[must_use]
    pub fn uninterrupted(&self) -> HttpClient {
        let (settings, options) = (self.0.settings.clone(), self.0.options.clone());
        let (interrupted, runtime) = (Arc::default(), Arc::clone(&self.0.runtime));
        HttpClient(Arc::new(Inner::new(settings, options, interrupted, runtime)))
    }

    /// Its options, to change some of them for another client.
    pub fn options(&self) -> &ClientOptions {
        &self.0.options
    }

    /// Its limits.
    pub fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    fn runtime(&self) -> Result<&Background, String> {
        self.0.runtime.get_or_init(Background::start).as_ref().map_err(Clone::clone)
    }

    fn http(&self, method: &Method) -> Result<&reqwest::Client, String> {
        let Inner { settings, options, http, direct, .. } = &*self.0;
        let follows = options.redirects == Redirects::Follow && matches!(*method, Method::GET | Method::HEAD);
        let (client, redirects) = if follows { (http, Redirects::Follow) } else { (direct, Redirects::Return) };
        client.get_or_init(|| connector(settings, options, redirects)).as_ref().map_err(Clone::clone)
    }

    /// Blocks on a future, on the client's runtime.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, HttpError> {
        let failed = |reason| HttpError { url: "(no request)".to_owned(), reason, attempts: 0, may_pass: false };
        let runtime = self.runtime().map_err(failed)?;
        let mut interrupted = self.0.interrupted.subscribe();
        runtime.handle.block_on(async {
            tokio::select! {
                biased;
                _ = interrupted.wait_for(|interrupted| *interrupted) => Err(failed("it was interrupted".to_owned())),
                done = future => Ok(done),
            }
        })
    }

    /// Cancels running and future requests. Callers remove their own temporary files.
    pub fn interrupt(&self) {
        self.0.interrupted.send_replace(true);
    }

    /// Sends a request and waits for the whole response.
    pub fn get(&self, request: &Request) -> Result<Response, HttpError> {
        self.block_on(self.send(request))?
    }

    /// Downloads to a file that must not exist yet. The file is removed unless the status is 2xx and the content complete.
    pub fn download(
        &self,
        request: &Request,
        file: &Path,
        progress: DownloadProgress<'_>,
    ) -> Result<Response, HttpError> {
        self.block_on(self.save(request, file, progress))?
    }

    /// Sends a request. Retries transient failures.
    pub async fn send(&self, request: &Request) -> Result<Response, HttpError> {
        self.send_with_retries(request).instrument(request.span()).await
    }

    async fn send_with_retries(&self, request: &Request) -> Result<Response, HttpError> {
        let limit = request.limit.unwrap_or(DOCUMENT_LIMIT);
        let retries = request.retries.unwrap_or(self.0.settings.retries);
        let mut attempt = 0;
        loop {
            let once = async {
                let reply = self.reply(request).await?;
                let mut body = Vec::new();
                let body = &mut body;
                let (head, body) = receive(reply, request, &self.0.settings, limit, |chunk| {
                    body.extend_from_slice(chunk);
                    Ok(())
                })
                .await
                .map(|head| (head, std::mem::take(body)))?;
                Ok(Response { body, ..head })
            };
            let longest = request.timeout.unwrap_or(self.0.settings.timeout);
            let answer = match tokio::time::timeout(longest, once).await {
                Ok(answer) => answer,
                Err(_) => {
                    let seconds = longest.as_secs_f64();
                    Err(Failure::passing(request, format!("no complete response within {seconds} seconds")))
                }
            };
            match self.judge(answer, attempt, retries).await {
                Some(answer) => return answer,
                None => attempt += 1,
            }
        }
    }

    /// Downloads to a file that must not exist yet, within the limits on total time, pauses and rate.
    pub async fn save(
        &self,
        request: &Request,
        file: &Path,
        progress: DownloadProgress<'_>,
    ) -> Result<Response, HttpError> {
        self.save_with_retries(request, file, progress).instrument(request.span()).await
    }

    async fn save_with_retries(
        &self,
        request: &Request,
        file: &Path,
        progress: DownloadProgress<'_>,
    ) -> Result<Response, HttpError> {
        let limit = request.limit.unwrap_or(DOWNLOAD_LIMIT);
        let retries = request.retries.unwrap_or(self.0.settings.retries);
        let mut attempt = 0;
        loop {
            let longest = self.0.settings.download_timeout;
            let once = self.save_once(request, file, limit, &mut *progress);
            let answer = tokio::time::timeout(longest, once).await.unwrap_or_else(|_| {
                let seconds = longest.as_secs_f64();
                Err(Failure::lasting(request, format!("the download did not complete within {seconds} seconds")))
            });
            if !matches!(&answer, Ok(response) if response.is_success()) {
                let _ = std::fs::remove_file(file);
            }
            match self.judge(answer, attempt, retries).await {
                Some(answer) => return answer,
                None => attempt += 1,
            }
        }
    }

    async fn save_once(
        &self,
        request: &Request,
        file: &Path,
        limit: u64,
        progress: DownloadProgress<'_>,
    ) -> Result<Response, Failure> {
        let reply = self.reply(request).await?;
        if !reply.status().is_success() {
            return receive(reply, request, &self.0.settings, DOCUMENT_LIMIT, |_| Ok(())).await;
        }
        let total = reply.content_length();
        let unwritable =
            |error: io::Error| Failure::lasting(request, format!("failed to write {}: {error}", file.display()));
        let mut output = std::fs::File::create_new(file).map_err(unwritable)?;
        let mut received = 0;
        progress(0, total);
        let mut pace = Pace::new(&self.0.settings);
        let response = receive(reply, request, &self.0.settings, limit, |chunk| {
            received += chunk.len() as u64;
            progress(received, total);
            pace.keep(chunk.len() as u64)?;
            output.write_all(chunk)
        });
        let response = response.await?;
        match total {
            Some(total) if total != received => {
                let reason = format!("the response ended after {received} of {total} bytes");
                Err(Failure::passing(request, reason))
            }
            _ => Ok(response),
        }
    }

    /// The final outcome, or none after a pause if the request should be retried.
    async fn judge(
        &self,
        answer: Result<Response, Failure>,
        attempt: u32,
        retries: u32,
    ) -> Option<Result<Response, HttpError>> {
        let passing = match &answer {
            Ok(response) => response.may_pass(),
            Err(failure) => failure.may_pass,
        };
        if !passing || attempt >= retries {
            let attempts = attempt + 1;
            return Some(match answer {
                Ok(response) => Ok(Response { attempts, ..response }),
                Err(failure) => Err(HttpError { attempts, may_pass: failure.may_pass, ..failure.error }),
            });
        }
        let asked_for = answer.ok().and_then(|response| retry_after(&response));
        tokio::time::sleep(pause(self.0.settings.backoff, attempt, asked_for)).await;
        None
    }

    /// The response up to its headers.
    async fn reply(&self, request: &Request) -> Result<reqwest::Response, Failure> {
        let http = self.http(&request.method).map_err(|reason| Failure::lasting(request, reason))?;
        let mut asked = http.request(request.method.clone(), request.url.clone());
        if let Some(body) = &request.body {
            asked = asked.body(body.clone());
            // Servers require the length of an empty content, too, and the library leaves it out.
            if body.is_empty() {
                asked = asked.header(reqwest::header::CONTENT_LENGTH, "0");
            }
        }
        if let Some(token) = &request.token {
            asked = asked.bearer_auth(token.reveal());
        } else if let Some((user, password)) = &request.basic {
            asked = asked.basic_auth(user, Some(password.reveal()));
        }
        for (name, value) in &request.headers {
            asked = asked.header(name.as_ref(), value);
        }
        log::request(request);
        let since = Instant::now();
        // The host is silent until it has received the whole request, which takes longer the larger the request is.
        let HttpSettings { stall, slowest_rate, .. } = &self.0.settings;
        let length = request.body.as_ref().map_or(0, Vec::len) as u64;
        let patience = stall.saturating_add(Duration::from_secs(length / (*slowest_rate).max(1)));
        let reply = match tokio::time::timeout(patience, asked.send()).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(Failure::of(request, error, self.0.options.authority_setting)),
            Err(_) => Err(Failure::passing(request, "the host does not respond")),
        };
        match &reply {
            Ok(reply) => log::response(request, reply, since.elapsed()),
            Err(failure) => log::failure(request, &failure.error.reason, since.elapsed()),
        }
        reply
    }
}

/// The rate of a download.
struct Pace {
    slowest: u64,
    period: Duration,
    since: Instant,
    received: u64,
}

impl Pace {
    fn new(settings: &HttpSettings) -> Pace {
        Pace { slowest: settings.slowest_rate, period: settings.rate_period, since: Instant::now(), received: 0 }
    }

    /// Counts bytes; fails where the rate of a whole period is too low.
    fn keep(&mut self, bytes: u64) -> io::Result<()> {
        self.received += bytes;
        let elapsed = self.since.elapsed();
        if elapsed < self.period {
            return Ok(());
        }
        if (self.received as f64) < self.slowest as f64 * elapsed.as_secs_f64() {
            let reason = format!("the host sends less than {} bytes per second", self.slowest);
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        (self.since, self.received) = (Instant::now(), 0);
        Ok(())
    }
}

/// Receives the content of a response, chunk by chunk. No pause between chunks may be longer than the limit. A response that is not
/// a success ends after its first part.
async fn receive(
    mut reply: reqwest::Response,
    request: &Request,
    settings: &HttpSettings,
    limit: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Response, Failure> {
    let is_success = reply.status().is_success();
    let too_large = || Failure::lasting(request, format!("the response is larger than {limit} bytes"));
    if is_success && reply.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut received: u64 = 0;
    while is_success || received < limit.min(ERROR_LIMIT) {
        let Ok(chunk) = tokio::time::timeout(settings.stall, reply.chunk()).await else {
            return Err(Failure::passing(request, "the host does not respond"));
        };
        let Some(chunk) = chunk.map_err(|error| Failure::of(request, error, None))? else { break };
        received += chunk.len() as u64;
        if is_success && received > limit {
            return Err(too_large());
        }
        take(&chunk).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Failure::passing(request, error.to_string()),
            _ => Failure::lasting(request, format!("failed to write the response: {error}")),
        })?;
    }
    let headers = std::mem::take(reply.headers_mut());
    Ok(Response { status: reply.status().as_u16(), url: reply.url().clone(), headers, body: Vec::new(), attempts: 1 })
}

/// A failure, and whether it is transient.
struct Failure {
    error: HttpError,
    may_pass: bool,
}

impl Failure {
    fn passing(request: &Request, reason: impl Into<String>) -> Failure {
        let error = HttpError { url: request.shown(), reason: reason.into(), attempts: 1, may_pass: true };
        Failure { error, may_pass: true }
    }

    fn lasting(request: &Request, reason: impl Into<String>) -> Failure {
        Failure { may_pass: false, ..Failure::passing(request, reason) }
    }

    fn of(request: &Request, error: reqwest::Error, authority_setting: Option<&str>) -> Failure {
        let mut lasting = error.is_redirect() || error.is_builder();
        let timed_out = error.is_timeout();
        // The error itself names the URL with its query, which may be secret.
        let error = error.without_url();
        let mut reason = if timed_out { "the host does not respond".to_owned() } else { error.to_string() };
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            let text = cause.to_string();
            if crate::trust::is_unknown(cause) {
                let setting = authority_setting.unwrap_or("SSL_CERT_FILE");
                reason = format!(
                    "the certificate of the host is signed by an unknown authority. To trust it, set {setting} to a file with the \
                     certificate of that authority"
                );
                lasting = true;
                break;
            }
            if !timed_out && !reason.contains(&text) {
                reason = format!("{reason}: {text}");
            }
            source = cause.source();
        }
        Failure { may_pass: !lasting, ..Failure::passing(request, reason) }
    }
}

/// The pause that a response asks for, in whole seconds.
fn retry_after(response: &Response) -> Option<Duration> {
    response.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
}

/// The pause before a retry: twice as long each time, with up to half of it random, so that many clients spread out.
fn pause(backoff: Duration, attempt: u32, asked_for: Option<Duration>) -> Duration {
    let mut random = [0; 2];
    // Without random bytes the pause is the longest one.
    let share = getrandom::fill(&mut random).map_or(1.0, |()| f64::from(u16::from_le_bytes(random)) / 65_535.0);
    let full = backoff.saturating_mul(1 << attempt.min(16)).min(LONGEST_BACKOFF);
    full.mul_f64(0.5 + share / 2.0).max(asked_for.unwrap_or_default().min(LONGEST_BACKOFF))
}

fn connector(
    settings: &HttpSettings,
    options: &ClientOptions,
    redirects: Redirects,
) -> Result<reqwest::Client, String> {
    let redirects = match redirects {
        Redirects::Return => reqwest::redirect::Policy::none(),
        // reqwest drops credentials where host or port differ.
        Redirects::Follow => {
            reqwest::redirect::Policy::custom(|attempt| match refused_redirect(attempt.previous(), attempt.url()) {
                Some(reason) => attempt.error(reason),
                None => attempt.follow(),
            })
        }
    };
    let mut builder = reqwest::Client::builder()
        .use_preconfigured_tls(crate::trust::config(&options.tls)?)
        .user_agent(&settings.user_agent)
        .redirect(redirects)
        // A Referer header would show the query to the next host.
        .referer(false)
        .connect_timeout(settings.stall);
    if let Some(proxies) = &options.proxies {
        builder = builder.no_proxy();
        for proxy in proxies.of_reqwest()? {
            builder = builder.proxy(proxy);
        }
    }
    builder.build().map_err(|error| format!("failed to set up the HTTP client: {error}"))
}

/// Reason why a redirect is not followed.
fn refused_redirect(previous: &[Url], next: &Url) -> Option<&'static str> {
    let unencrypted = next.scheme() == "http" && previous.iter().any(|url| url.scheme() == "https");
    if previous.len() > MOST_REDIRECTS {
        Some("too many redirects")
    } else if !matches!(next.scheme(), "http" | "https") {
        Some("the redirect leads to a URL that is neither http nor https")
    } else if unencrypted {
        // Without TLS the network can change the response and read credentials.
        Some("the redirect leads from https to http")
    } else {
        None
    }
}

/// A runtime whose drop does not wait for running tasks, such as a name lookup without a response.
struct Background {
    handle: tokio::runtime::Handle,
    runtime: Option<Runtime>,
}

impl Background {
    fn start() -> Result<Background, String> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("http").enable_all().build();
        let runtime = runtime.map_err(|error| format!("failed to start threads for network requests: {error}"))?;
        Ok(Background { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

mod log;
mod proxies;
#[cfg(test)]
mod tests;
