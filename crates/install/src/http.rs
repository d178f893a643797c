//! Talking to hosts: one client for everything, with limits on time and size, retries, and credentials that go to the
//! host they are for and to no other.
//!
//! Whoever calls does not have to be asynchronous: [`Client::get`] and [`Client::download`] wait. Whoever wants several
//! answers at once uses [`Client::send`] and [`Client::save`] within [`Client::block_on`].
//!
//! Invariant: no credential is in an error or follows a redirect to another host or another port.

use std::fmt;
use std::future::Future;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use reqwest::Url;
pub use reqwest::header::HeaderMap;
use tokio::runtime::Runtime;

use crate::Secret;

/// How patient to be.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// How often to try again what failed for a passing reason.
    pub retries: u32,
    /// How long a request may take as a whole that is not a download.
    pub timeout: Duration,
    /// How long the other side may send nothing at all.
    pub stall: Duration,
    /// How long a download may take as a whole.
    pub download_timeout: Duration,
    /// How many bytes of a download have to come in each second, on the average of `rate_period`.
    pub slowest_rate: u64,
    /// Over which time the rate is measured.
    pub rate_period: Duration,
    /// How long to wait before the first retry; twice that before the second, and so on.
    pub backoff: Duration,
    /// How to introduce ourselves.
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

/// The longest answer that is kept in memory, unless somebody wants less.
pub const DOCUMENT_LIMIT: u64 = 64 << 20;
/// The largest package that is downloaded, unless somebody wants less.
pub const DOWNLOAD_LIMIT: u64 = 8 << 30;
const MOST_REDIRECTS: usize = 10;
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// What to ask for.
#[derive(Clone, Debug)]
pub struct Request {
    /// From where.
    pub url: Url,
    /// Sent as a bearer token, unless a redirect leads elsewhere.
    pub token: Option<Secret>,
    /// A user and a password, instead of a token.
    pub basic: Option<(String, Secret)>,
    /// More headers.
    pub headers: Vec<(&'static str, String)>,
    /// A form to send with `POST`, instead of asking with `GET`.
    pub form: Option<Vec<(&'static str, String)>>,
    /// The most bytes to accept.
    pub limit: Option<u64>,
    /// Another number of retries than usual.
    pub retries: Option<u32>,
}

impl Request {
    /// A plain question.
    pub fn new(url: Url) -> Request {
        let headers = Vec::new();
        Request { url, token: None, basic: None, headers, form: None, limit: None, retries: None }
    }

    /// With a token, if there is one.
    #[must_use]
    pub fn with_token(mut self, token: Option<Secret>) -> Request {
        self.token = token;
        self
    }

    /// With a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Request {
        self.headers.push((name, value.into()));
        self
    }

    /// With a limit on the size of the answer.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Request {
        self.limit = Some(bytes);
        self
    }
}

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub struct Response {
    /// Its status: 200 if all is well.
    pub status: u16,
    /// Where it came from after all redirects.
    pub url: Url,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its content; empty after [`Client::download`] where it is in the file.
    pub body: Vec<u8>,
}

impl Response {
    /// Whether it is what was asked for.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The kind of content, in lower case and without its parameters: `application/json`.
    pub fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        Some(value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase())
    }

    /// The status with its name: `404 Not Found`.
    pub fn status_text(&self) -> String {
        reqwest::StatusCode::from_u16(self.status).map_or_else(|_| self.status.to_string(), |status| status.to_string())
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    /// Where it was asked for, without anything secret.
    pub url: String,
    /// What went wrong, as the second half of a sentence.
    pub reason: String,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.url, self.reason)
    }
}

impl std::error::Error for HttpError {}

/// A URL without what could be secret in it: neither user nor password nor query.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let had_query = url.query().is_some();
    url.set_query(None);
    url.set_fragment(None);
    if had_query { format!("{url}?...") } else { url.to_string() }
}

/// What is told about a download: bytes so far, and all of them where that is known.
pub type Progress<'a> = &'a mut (dyn FnMut(u64, Option<u64>) + Send);

/// The client. Cheap to clone; nothing is started before the first request.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    settings: HttpSettings,
    /// Whether all requests are given up.
    interrupted: tokio::sync::watch::Sender<bool>,
    started: OnceLock<Result<Started, String>>,
}

struct Started {
    runtime: Background,
    http: reqwest::Client,
}

impl Client {
    /// A client that has not done anything yet.
    pub fn new(settings: HttpSettings) -> Client {
        Client(Arc::new(Inner { settings, interrupted: Default::default(), started: OnceLock::new() }))
    }

    /// How patient it is.
    pub fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    fn started(&self) -> Result<&Started, String> {
        self.0.started.get_or_init(|| start(&self.0.settings)).as_ref().map_err(Clone::clone)
    }

    /// Waits for something asynchronous on the runtime of the client.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, HttpError> {
        let failed = |reason| HttpError { url: "(no request)".to_owned(), reason };
        let runtime = &self.started().map_err(failed)?.runtime;
        let mut interrupted = self.0.interrupted.subscribe();
        runtime.handle.block_on(async {
            tokio::select! {
                biased;
                _ = interrupted.wait_for(|interrupted| *interrupted) => Err(failed("it was interrupted".to_owned())),
                done = future => Ok(done),
            }
        })
    }

    /// Gives up all requests, those that are under way and those that are still to come. What they were for is cleared away
    /// by those who asked.
    pub fn interrupt(&self) {
        self.0.interrupted.send_replace(true);
    }

    /// Asks, and waits for the whole answer.
    pub fn get(&self, request: &Request) -> Result<Response, HttpError> {
        self.block_on(self.send(request))?
    }

    /// Asks, and waits until the answer is in a file that must not exist. Only an answer that is a success is saved, and
    /// where something goes wrong there is no file.
    pub fn download(&self, request: &Request, file: &Path, progress: Progress<'_>) -> Result<Response, HttpError> {
        self.block_on(self.save(request, file, progress))?
    }

    /// Asks. Failures that may pass are tried again.
    pub async fn send(&self, request: &Request) -> Result<Response, HttpError> {
        let limit = request.limit.unwrap_or(DOCUMENT_LIMIT);
        let retries = request.retries.unwrap_or(self.0.settings.retries);
        let mut attempt = 0;
        loop {
            let once = async {
                let reply = self.reply(request).await?;
                let mut body = Vec::new();
                let body = &mut body;
                let (head, body) = receive(reply, request, limit, |chunk| {
                    body.extend_from_slice(chunk);
                    Ok(())
                })
                .await
                .map(|head| (head, std::mem::take(body)))?;
                Ok(Response { body, ..head })
            };
            let answer = match tokio::time::timeout(self.0.settings.timeout, once).await {
                Ok(answer) => answer,
                Err(_) => {
                    let seconds = self.0.settings.timeout.as_secs_f64();
                    Err(Failure::passing(request, format!("there was no complete answer within {seconds} seconds")))
                }
            };
            match self.judge(answer, attempt, retries).await {
                Some(answer) => return answer,
                None => attempt += 1,
            }
        }
    }

    /// Asks, and writes the answer to a file that must not exist. There are limits on the time as a whole, on the time in which
    /// nothing comes, and on how slowly it comes.
    pub async fn save(&self, request: &Request, file: &Path, progress: Progress<'_>) -> Result<Response, HttpError> {
        let limit = request.limit.unwrap_or(DOWNLOAD_LIMIT);
        let retries = request.retries.unwrap_or(self.0.settings.retries);
        let mut attempt = 0;
        loop {
            let longest = self.0.settings.download_timeout;
            let once = self.save_once(request, file, limit, &mut *progress);
            let answer = tokio::time::timeout(longest, once).await.unwrap_or_else(|_| {
                let seconds = longest.as_secs_f64();
                Err(Failure::lasting(request, format!("the download was not complete within {seconds} seconds")))
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
        progress: Progress<'_>,
    ) -> Result<Response, Failure> {
        let reply = self.reply(request).await?;
        if !reply.status().is_success() {
            return receive(reply, request, DOCUMENT_LIMIT, |_| Ok(())).await;
        }
        let total = reply.content_length();
        let unwritable = |error: io::Error| {
            Failure::lasting(request, format!("the answer could not be written to {}: {error}", file.display()))
        };
        let mut output = std::fs::File::create_new(file).map_err(unwritable)?;
        let mut received = 0;
        progress(0, total);
        let mut pace = Pace::new(&self.0.settings);
        let response = receive(reply, request, limit, |chunk| {
            received += chunk.len() as u64;
            progress(received, total);
            pace.keep(chunk.len() as u64)?;
            output.write_all(chunk)
        });
        let response = response.await?;
        match total {
            Some(total) if total != received => {
                let reason = format!("the answer broke off after {received} of {total} bytes");
                Err(Failure::passing(request, reason))
            }
            _ => Ok(response),
        }
    }

    /// The final outcome, or none after a pause if it is worth another try.
    async fn judge(
        &self,
        answer: Result<Response, Failure>,
        attempt: u32,
        retries: u32,
    ) -> Option<Result<Response, HttpError>> {
        let passing = match &answer {
            Ok(response) => response.status == 429 || (response.status >= 500 && response.status != 501),
            Err(failure) => failure.may_pass,
        };
        if !passing || attempt >= retries {
            return Some(answer.map_err(|failure| {
                let mut error = failure.error;
                if attempt > 0 {
                    error.reason = format!("{} (tried {} times)", error.reason, attempt + 1);
                }
                error
            }));
        }
        let pause = self.0.settings.backoff.saturating_mul(1 << attempt.min(16)).min(LONGEST_BACKOFF);
        tokio::time::sleep(pause).await;
        None
    }

    /// The answer as far as its headers.
    async fn reply(&self, request: &Request) -> Result<reqwest::Response, Failure> {
        let started = self.started().map_err(|reason| Failure::lasting(request, reason))?;
        let mut asked = match &request.form {
            None => started.http.get(request.url.clone()),
            Some(form) => {
                let mut body = Url::parse("form:").map_err(|e| Failure::lasting(request, e.to_string()))?;
                body.query_pairs_mut().extend_pairs(form);
                let body = body.query().unwrap_or_default().to_owned();
                let kind = "application/x-www-form-urlencoded";
                started.http.post(request.url.clone()).header("content-type", kind).body(body)
            }
        };
        if let Some(token) = &request.token {
            asked = asked.bearer_auth(token.reveal());
        } else if let Some((user, password)) = &request.basic {
            asked = asked.basic_auth(user, Some(password.reveal()));
        }
        for (name, value) in &request.headers {
            asked = asked.header(*name, value);
        }
        // The limit on the time without an answer holds for the headers as well.
        match tokio::time::timeout(self.0.settings.stall, asked.send()).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(Failure::of(request, error)),
            Err(_) => Err(Failure::passing(request, "the host does not answer")),
        }
    }
}

/// How fast a download comes.
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

    /// Counts bytes; fails where they come too slowly for a whole period.
    fn keep(&mut self, bytes: u64) -> io::Result<()> {
        self.received += bytes;
        let elapsed = self.since.elapsed();
        if elapsed < self.period {
            return Ok(());
        }
        if (self.received as f64) < self.slowest as f64 * elapsed.as_secs_f64() {
            let reason = format!("it comes more slowly than {} bytes per second", self.slowest);
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        (self.since, self.received) = (Instant::now(), 0);
        Ok(())
    }
}

/// Takes in the content of an answer, chunk by chunk.
async fn receive(
    mut reply: reqwest::Response,
    request: &Request,
    limit: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Response, Failure> {
    let too_large = || Failure::lasting(request, format!("the answer is larger than {limit} bytes"));
    if reply.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut received: u64 = 0;
    while let Some(chunk) = reply.chunk().await.map_err(|error| Failure::of(request, error))? {
        received += chunk.len() as u64;
        if received > limit {
            return Err(too_large());
        }
        take(&chunk).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Failure::passing(request, error.to_string()),
            _ => Failure::lasting(request, format!("the answer could not be written: {error}")),
        })?;
    }
    let headers = std::mem::take(reply.headers_mut());
    Ok(Response { status: reply.status().as_u16(), url: reply.url().clone(), headers, body: Vec::new() })
}

/// A failure, and whether it may pass.
struct Failure {
    error: HttpError,
    may_pass: bool,
}

impl Failure {
    fn passing(request: &Request, reason: impl Into<String>) -> Failure {
        Failure { error: HttpError { url: shown(&request.url), reason: reason.into() }, may_pass: true }
    }

    fn lasting(request: &Request, reason: impl Into<String>) -> Failure {
        Failure { may_pass: false, ..Failure::passing(request, reason) }
    }

    fn of(request: &Request, error: reqwest::Error) -> Failure {
        let mut lasting = error.is_redirect() || error.is_builder();
        let timed_out = error.is_timeout();
        // The error itself names the URL with its query, which may be secret.
        let error = error.without_url();
        let mut reason = if timed_out { "the host does not answer".to_owned() } else { error.to_string() };
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            let text = cause.to_string();
            if crate::trust::is_unknown(cause) {
                reason = "this machine knows no authority that vouches for the certificate of the host. If you do, name the \
                          file with the authority's certificate in SSL_CERT_FILE"
                    .to_owned();
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

fn start(settings: &HttpSettings) -> Result<Started, String> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_name("http").enable_all().build();
    let runtime = runtime.map_err(|error| format!("threads for network requests could not be started: {error}"))?;
    let http = reqwest::Client::builder()
        .use_preconfigured_tls(crate::trust::of_machine()?)
        .user_agent(&settings.user_agent)
        // Takes credentials away wherever host or port differ.
        .redirect(reqwest::redirect::Policy::custom(|attempt| {
            match refused_redirect(attempt.previous(), attempt.url()) {
                Some(reason) => attempt.error(reason),
                None => attempt.follow(),
            }
        }))
        // It would tell the next host the query of the last.
        .referer(false)
        .connect_timeout(settings.stall)
        .read_timeout(settings.stall)
        .build();
    let http = http.map_err(|error| format!("network requests could not be set up: {error}"))?;
    let runtime = Background { handle: runtime.handle().clone(), runtime: Some(runtime) };
    Ok(Started { runtime, http })
}

/// Why a redirect is not followed.
fn refused_redirect(previous: &[Url], next: &Url) -> Option<&'static str> {
    let unencrypted = next.scheme() == "http" && previous.iter().any(|url| url.scheme() == "https");
    if previous.len() > MOST_REDIRECTS {
        Some("too many redirects")
    } else if !matches!(next.scheme(), "http" | "https") {
        Some("the redirect leads to something that is neither http nor https")
    } else if unencrypted {
        // Without TLS the network can change the response and read credentials.
        Some("the redirect leads from https to http")
    } else {
        None
    }
}

/// A runtime that is left alone when it is not needed any more: the end of a command does not wait for a name that nobody
/// resolves.
struct Background {
    handle: tokio::runtime::Handle,
    runtime: Option<Runtime>,
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
