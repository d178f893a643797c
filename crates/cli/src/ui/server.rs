//! An HTTP/1.1 server for one page on the loopback interface.
//!
//! It handles GET requests whose path begins with the token of the run and whose `Host` is the address of the server: a page of another
//! origin knows neither, and cannot read responses. Browsers do not store responses.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use yuba_view::html::Document;
use yuba_view::live::LiveStatus;

/// The longest request line with headers.
const MAX_REQUEST: usize = 16 * 1024;
/// Number of requests at the same time. Further connections are closed.
const MAX_REQUESTS: usize = 32;
/// Time that a request for further messages waits for them.
const WAIT: Duration = Duration::from_secs(15);
/// Time to send a request. A connection that sends none takes the place of another one.
const HEAD: Duration = Duration::from_secs(2);
/// Time to receive a response.
const TRANSFER: Duration = Duration::from_secs(10);
/// Pause after a connection that could not be accepted, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Size of the messages in memory. The oldest ones are dropped.
const KEPT: usize = 64 << 20;
/// Number of messages in one response.
const MESSAGES: usize = 2000;

/// Messages and report of the run, and the secret that readers need.
pub(super) struct Shared {
    port: u16,
    token: String,
    page: Document,
    feed: Mutex<Feed>,
    changed: Condvar,
    requests: AtomicUsize,
}

#[derive(Default)]
struct Feed {
    messages: VecDeque<String>,
    /// Number of messages that were dropped.
    dropped: usize,
    /// Size of the messages.
    bytes: usize,
    report: Option<Arc<String>>,
    /// Number of reports so far: a plan that is made again has another one.
    reports: usize,
    status: Option<LiveStatus>,
    has_ended: bool,
    /// A browser has asked for messages.
    is_followed: bool,
    /// A browser knows that the run has ended.
    has_told_end: bool,
    has_sent_report: bool,
}

impl Feed {
    /// Adds a message, and drops old ones if all together are too large.
    fn add(&mut self, message: &str, limit: usize) {
        self.bytes += message.len();
        self.messages.push_back(message.to_owned());
        while self.bytes > limit
            && let Some(oldest) = self.messages.pop_front()
        {
            self.bytes -= oldest.len();
            self.dropped += 1;
        }
    }

    /// The number of the next message.
    fn next(&self) -> usize {
        self.dropped + self.messages.len()
    }
}

/// A response.
#[derive(Debug, PartialEq)]
struct Reply {
    status: &'static str,
    content_type: &'static str,
    body: Arc<String>,
    is_report: bool,
    is_end: bool,
}

impl Reply {
    fn new(status: &'static str, content_type: &'static str, body: impl Into<String>) -> Reply {
        Reply { status, content_type, body: Arc::new(body.into()), is_report: false, is_end: false }
    }

    fn refused(status: &'static str) -> Reply {
        Reply::new(status, "text/plain; charset=utf-8", format!("{status}\n"))
    }
}

impl Shared {
    pub(super) fn new(port: u16, token: String, page: Document) -> Shared {
        let (feed, changed, requests) = (Mutex::default(), Condvar::new(), AtomicUsize::new(0));
        Shared { port, token, page, feed, changed, requests }
    }

    /// The address of the page.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    fn feed(&self) -> MutexGuard<'_, Feed> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, lines: &str) {
        let mut feed = self.feed();
        lines.lines().filter(|line| !line.is_empty()).for_each(|line| feed.add(line, KEPT));
        drop(feed);
        self.changed.notify_all();
    }

    pub(super) fn publish(&self, report: String) {
        let mut feed = self.feed();
        feed.report = Some(Arc::new(report));
        feed.reports += 1;
        feed.has_sent_report = false;
        drop(feed);
        self.changed.notify_all();
    }

    /// Sets the progress, which the next response contains.
    pub(super) fn set_status(&self, status: Option<LiveStatus>) {
        self.feed().status = status;
    }

    pub(super) fn end(&self) {
        self.feed().has_ended = true;
        self.changed.notify_all();
    }

    /// Waits until browsers that follow the run have its end and the report.
    pub(super) fn wait_for_browsers(&self, limit: Duration) {
        let is_waiting = |feed: &mut Feed| {
            feed.is_followed && !(feed.has_told_end && (feed.report.is_none() || feed.has_sent_report))
        };
        let _ = self.changed.wait_timeout_while(self.feed(), limit, is_waiting);
    }

    /// The response to a request.
    fn reply(&self, head: &str) -> Reply {
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !words.next().is_some_and(|version| version.starts_with("HTTP/1.")) {
            return Reply::refused("400 Bad Request");
        }
        let headers: Vec<(&str, &str)> =
            lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim())).collect();
        let named = |wanted: &str| -> Vec<&str> {
            headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value).collect()
        };
        let own = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        // A name of another origin that resolves to this machine arrives with its own name.
        if !matches!(named("Host").as_slice(), [host] if own.iter().any(|own| own == host)) {
            return Reply::refused("403 Forbidden");
        }
        if named("Sec-Fetch-Site").iter().any(|site| !matches!(*site, "same-origin" | "none")) {
            return Reply::refused("403 Forbidden");
        }
        if method != "GET" {
            return Reply::refused("405 Method Not Allowed");
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some((token, name)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
            return Reply::refused("404 Not Found");
        };
        if !is_same(token.as_bytes(), self.token.as_bytes()) {
            return Reply::refused("404 Not Found");
        }
        match name {
            "" => Reply::new("200 OK", "text/html; charset=utf-8", self.page.html.as_str()),
            "events" => match query.strip_prefix("from=").map(str::parse) {
                Some(Ok(from)) => self.events(from),
                _ => Reply::refused("400 Bad Request"),
            },
            "report" => match &self.feed().report {
                Some(report) => {
                    Reply { body: Arc::clone(report), is_report: true, ..Reply::new("200 OK", JSON, String::new()) }
                }
                None => Reply::refused("404 Not Found"),
            },
            _ => Reply::refused("404 Not Found"),
        }
    }

    /// Messages from a number on. Waits for the next one, the report or the end.
    fn events(&self, from: usize) -> Reply {
        let mut feed = self.feed();
        feed.is_followed = true;
        let reports = feed.reports;
        let is_waiting = |feed: &mut Feed| feed.next() <= from && !feed.has_ended && feed.reports == reports;
        let waited = self.changed.wait_timeout_while(feed, WAIT, is_waiting);
        let feed = waited.unwrap_or_else(PoisonError::into_inner).0;
        let from = from.clamp(feed.dropped, feed.next());
        let next = feed.next().min(from + MESSAGES);
        let is_end = feed.has_ended && next == feed.next();
        let mut body = format!(
            "{{\"next\":{next},\"ended\":{is_end},\"report\":{},\"progress\":{},\"events\":[",
            feed.reports,
            feed.status.map_or("null".to_owned(), progress),
        );
        for (at, message) in feed.messages.range(from - feed.dropped..next - feed.dropped).enumerate() {
            let _ = write!(body, "{}{message}", if at > 0 { "," } else { "" });
        }
        body.push_str("]}");
        Reply { is_end, ..Reply::new("200 OK", JSON, body) }
    }

    fn sent(&self, reply: &Reply) {
        let mut feed = self.feed();
        feed.has_told_end |= reply.is_end;
        feed.has_sent_report |= reply.is_report;
        drop(feed);
        self.changed.notify_all();
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_write_timeout(Some(TRANSFER))?;
        let reply = match head(&mut stream)? {
            Some(head) => self.reply(&head),
            None => Reply::refused("400 Bad Request"),
        };
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: {}; frame-ancestors 'none'\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\n\r\n",
            reply.status,
            reply.content_type,
            reply.body.len(),
            self.page.policy
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(reply.body.as_bytes())?;
        stream.flush()?;
        self.sent(&reply);
        Ok(())
    }
}

/// Progress as JSON.
fn progress(status: LiveStatus) -> String {
    let LiveStatus { is_refresh, done, total, rest } = status;
    let total = total.map_or("null".to_owned(), |total| total.to_string());
    let rest = rest.map_or("null".to_owned(), |rest| rest.to_string());
    format!("{{\"refresh\":{is_refresh},\"done\":{done},\"total\":{total},\"rest\":{rest}}}")
}

const JSON: &str = "application/json; charset=utf-8";

/// Handles requests until the process ends.
pub(super) fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            std::thread::sleep(PAUSE);
            continue;
        };
        if shared.requests.fetch_add(1, Ordering::SeqCst) >= MAX_REQUESTS {
            shared.requests.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let answering = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("page".to_owned());
        let started = thread.spawn(move || {
            // A browser that has closed the connection gets no response.
            let _ = answering.answer(stream);
            answering.requests.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            shared.requests.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(PAUSE);
        }
    }
}

/// The request line and the headers; none if they are too long, incomplete or not text. Fails if they take longer than [`HEAD`].
fn head(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let start = Instant::now();
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    loop {
        let left = HEAD.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut part)?;
        bytes.extend_from_slice(&part[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            bytes.truncate(end);
            return Ok(String::from_utf8(bytes).ok());
        }
        if count == 0 || bytes.len() > MAX_REQUEST {
            return Ok(None);
        }
    }
}

/// Whether two texts are equal. The time does not depend on the position of a difference.
fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let difference = given.iter().zip(expected).fold(0, |found, (a, b)| found | std::hint::black_box(a ^ b));
    given.len() == expected.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        let page = Document { html: "<page>".into(), policy: "default-src 'none'".into() };
        Shared::new(8080, "secret".into(), page)
    }

    fn status(head: &str) -> &'static str {
        shared().reply(head).status
    }

    #[test]
    fn only_the_page_itself_gets_answers() {
        let own = "Host: 127.0.0.1:8080\r\n";
        for (request, expected) in [
            (format!("GET /secret/ HTTP/1.1\r\n{own}"), "200 OK"),
            ("GET /secret/ HTTP/1.1\r\nhost: localhost:8080".to_owned(), "200 OK"),
            (format!("GET /secret/ HTTP/1.1\r\n{own}Sec-Fetch-Site: none"), "200 OK"),
            (format!("GET /secret/ HTTP/1.1\r\n{own}Sec-Fetch-Site: cross-site"), "403 Forbidden"),
            (format!("GET /secret/ HTTP/1.1\r\n{own}Sec-Fetch-Site: same-site"), "403 Forbidden"),
            ("GET /secret/ HTTP/1.1\r\nHost: evil.example:8080".to_owned(), "403 Forbidden"),
            ("GET /secret/ HTTP/1.1\r\nHost: 127.0.0.1".to_owned(), "403 Forbidden"),
            ("GET /secret/ HTTP/1.1".to_owned(), "403 Forbidden"),
            (format!("GET /secret/ HTTP/1.1\r\n{own}Host: evil.example"), "403 Forbidden"),
            (format!("POST /secret/ HTTP/1.1\r\n{own}"), "405 Method Not Allowed"),
            (format!("GET /secre/ HTTP/1.1\r\n{own}"), "404 Not Found"),
            (format!("GET /secretx/ HTTP/1.1\r\n{own}"), "404 Not Found"),
            (format!("GET // HTTP/1.1\r\n{own}"), "404 Not Found"),
            (format!("GET /secret HTTP/1.1\r\n{own}"), "404 Not Found"),
            (format!("GET /secret/report HTTP/1.1\r\n{own}"), "404 Not Found"),
            (format!("GET /secret/../x HTTP/1.1\r\n{own}"), "404 Not Found"),
            (format!("GET /secret/events?from=x HTTP/1.1\r\n{own}"), "400 Bad Request"),
            ("nonsense".to_owned(), "400 Bad Request"),
        ] {
            assert_eq!(status(&request), expected, "{request}");
        }
    }

    #[test]
    fn messages_come_once_and_the_end_after_the_last_one() {
        let shared = shared();
        shared.add("{\"a\":1}\n{\"a\":2}\n");
        let body = |from| shared.events(from).body.to_string();
        assert_eq!(body(0), r#"{"next":2,"ended":false,"report":0,"progress":null,"events":[{"a":1},{"a":2}]}"#);
        shared.publish("{}".into());
        shared.add("{\"a\":3}\n");
        shared.set_status(Some(LiveStatus { is_refresh: true, done: 1, total: Some(3), rest: None }));
        let progress = r#""progress":{"refresh":true,"done":1,"total":3,"rest":null}"#;
        assert_eq!(body(2), format!(r#"{{"next":3,"ended":false,"report":1,{progress},"events":[{{"a":3}}]}}"#));
        // A plan that is made again is another report.
        shared.publish("{}".into());
        shared.end();
        assert_eq!(body(3), format!(r#"{{"next":3,"ended":true,"report":2,{progress},"events":[]}}"#));
        assert_eq!(body(99), format!(r#"{{"next":3,"ended":true,"report":2,{progress},"events":[]}}"#));
    }

    #[test]
    fn old_messages_are_dropped_and_numbers_stay() {
        let shared = shared();
        for number in 1..=5 {
            shared.feed().add(&format!("{{\"a\":{number}}}"), 16);
        }
        let body = |from| shared.events(from).body.to_string();
        let rest = r#"{"next":5,"ended":false,"report":0,"progress":null,"events":[{"a":4},{"a":5}]}"#;
        assert_eq!((body(0), body(3)), (rest.to_owned(), rest.to_owned()));
        assert_eq!(body(4), r#"{"next":5,"ended":false,"report":0,"progress":null,"events":[{"a":5}]}"#);
        let feed = shared.feed();
        assert_eq!((feed.dropped, feed.messages.len(), feed.bytes), (3, 2, 14));
    }

    /// Connections that send nothing do not keep a browser waiting for longer than a request takes.
    #[test]
    fn idle_connections_end_soon() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface exists");
        let address = listener.local_addr().expect("it is bound");
        let page = Document { html: "<page>".into(), policy: "default-src 'none'".into() };
        let shared = Arc::new(Shared::new(address.port(), "secret".into(), page));
        std::thread::spawn(move || serve(&listener, &shared));
        let connect = || TcpStream::connect(address).expect("the server listens");
        let idle: Vec<TcpStream> = (0..MAX_REQUESTS).map(|_| connect()).collect();
        let start = Instant::now();
        let answered = || {
            let mut stream = connect();
            let request = format!("GET /secret/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", address.port());
            let mut answer = String::new();
            let sent = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
            sent.is_ok() && answer.starts_with("HTTP/1.1 200 OK")
        };
        while !answered() {
            assert!(start.elapsed() < Duration::from_secs(6), "idle connections stay");
            std::thread::park_timeout(Duration::from_millis(50));
        }
        drop(idle);
    }

    #[test]
    fn a_run_waits_only_for_browsers_that_follow_it() {
        let shared = shared();
        shared.end();
        let start = Instant::now();
        shared.wait_for_browsers(Duration::from_secs(60));
        assert!(start.elapsed() < Duration::from_secs(30));
        let reply = shared.events(0);
        shared.sent(&reply);
        shared.wait_for_browsers(Duration::from_secs(60));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
