//! Requests to hosts of this machine.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use yuba_testkit::{Host, Reply};

use super::*;

/// A client that does not wait.
fn client() -> HttpClient {
    let fast = Duration::from_millis(1);
    let short = Duration::from_secs(5);
    HttpClient::new(HttpSettings { retries: 2, backoff: fast, timeout: short, stall: short, ..HttpSettings::default() })
}

fn url(text: &str) -> Url {
    Url::parse(text).expect("it is a URL")
}

#[test]
fn a_token_does_not_follow_to_another_host() {
    let other = Host::start(|_| Reply::ok("other"));
    let target = other.url("/elsewhere");
    let host = Host::start(move |asked| match asked.path() {
        "/away" => Reply::status(302).with("Location", &target),
        "/here" => Reply::status(302).with("Location", "/there"),
        _ => Reply::ok("same"),
    });
    let ask = |path: &str, basic: bool| {
        let mut request = Request::new(url(&host.url(path)));
        match basic {
            true => request.basic = Some(("user".to_owned(), Secret::new("password"))),
            false => request.token = Some(Secret::new("token")),
        }
        let response = client().get(&request).expect("the host answers");
        String::from_utf8_lossy(&response.body).into_owned()
    };
    assert_eq!(ask("/here", false), "same");
    assert!(host.asked().iter().all(|asked| asked.header("authorization") == Some("Bearer token")));
    assert_eq!((ask("/away", false), ask("/away", true)), ("other".to_owned(), "other".to_owned()));
    assert_eq!(other.asked().len(), 2);
    for asked in other.asked() {
        assert_eq!((asked.header("authorization"), asked.header("referer")), (None, None), "{asked:?}");
        assert!(asked.header("user-agent").is_some_and(|agent| agent.starts_with("Yuba/")));
    }
}

#[test]
fn what_may_pass_is_tried_again() {
    let count = AtomicU32::new(0);
    let host = Host::start(move |asked| match (asked.path(), count.fetch_add(1, Ordering::Relaxed)) {
        ("/sometimes", 0 | 1) => Reply::status(503),
        ("/never", _) => Reply::status(500),
        ("/missing", _) => Reply::status(404),
        _ => Reply::ok("at last"),
    });
    let status = |path: &str| client().get(&Request::new(url(&host.url(path)))).map(|response| response.status);
    assert_eq!(status("/sometimes"), Ok(200));
    assert_eq!((status("/never"), host.count("/never")), (Ok(500), 3));
    assert_eq!((status("/missing"), host.count("/missing")), (Ok(404), 1));
}

#[test]
fn limits_hold_and_leave_nothing_behind() {
    let host = Host::start(|asked| match asked.path() {
        "/stall" => Reply::stall(),
        "/loop" => Reply::status(302).with("Location", "/loop"),
        _ => Reply::ok(vec![b'x'; 1000]),
    });
    let reason = |path: &str, limit: u64| {
        let timeout = if path == "/stall" { Duration::from_millis(50) } else { Duration::from_secs(60) };
        let client = HttpClient::new(HttpSettings { retries: 0, timeout, ..HttpSettings::default() });
        let request = Request::new(url(&host.url(path))).at_most(limit);
        client.get(&request).map(|response| response.body.len()).map_err(|error| error.reason)
    };
    assert_eq!(reason("/large", 1000), Ok(1000));
    assert_eq!(reason("/large", 999), Err("the response is larger than 999 bytes".to_owned()));
    assert_eq!(reason("/stall", 1), Err("no complete response within 0.05 seconds".to_owned()));
    assert!(reason("/loop", 1).is_err());
    let file = std::env::temp_dir().join(format!("yuba-download-{}", std::process::id()));
    let download = |limit: u64| {
        let request = Request::new(url(&host.url("/large"))).at_most(limit);
        client().download(&request, &file, &mut |_, _| {}).is_ok()
    };
    assert!(!download(10) && !file.exists());
    assert!(download(1000) && file.metadata().is_ok_and(|found| found.len() == 1000));
    let _ = std::fs::remove_file(file);
}

#[test]
fn downloads_have_to_come_fast_enough_and_to_end() {
    let host = Host::start(|_| Reply::ok(vec![b'x'; 200]).slowly(Duration::from_millis(2)));
    let file = std::env::temp_dir().join(format!("yuba-slow-download-{}", std::process::id()));
    let reason = |settings: HttpSettings| {
        let request = Request::new(url(&host.url("/slow")));
        let answer = HttpClient::new(settings).download(&request, &file, &mut |_, _| {});
        assert!(answer.is_ok() || !file.exists());
        let _ = std::fs::remove_file(&file);
        answer.map(|response| response.status).map_err(|error| error.reason)
    };
    let settings = HttpSettings { retries: 0, rate_period: Duration::from_millis(20), ..HttpSettings::default() };
    assert_eq!(reason(HttpSettings { slowest_rate: 1, ..settings.clone() }), Ok(200));
    let slow = "the host sends less than 1000000 bytes per second".to_owned();
    assert_eq!(reason(HttpSettings { slowest_rate: 1_000_000, ..settings.clone() }), Err(slow));
    let long = "the download did not complete within 0.05 seconds".to_owned();
    let timeout = Duration::from_millis(50);
    assert_eq!(reason(HttpSettings { slowest_rate: 1, download_timeout: timeout, ..settings }), Err(long));
}

#[test]
fn errors_have_no_secrets() {
    let secret = url("http://user:hidden@127.0.0.1:1/path?token=hidden");
    let error = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() }).get(&Request::new(secret));
    let text = error.expect_err("the port is closed").to_string();
    assert!(text.starts_with("http://127.0.0.1:1/path?...: ") && !text.contains("hidden"), "{text}");
}

#[test]
fn a_host_of_an_unknown_authority_gets_one_request() {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("there is chance");
    let secret = rustls::pki_types::PrivateKeyDer::try_from(key.signing_key.serialize_der()).expect("it is a key");
    let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(vec![key.cert.der().clone()], secret));
    let config = Arc::new(config.expect("it can be used"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = format!("https://localhost:{}/x", listener.local_addr().expect("it listens").port());
    let visits = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&visits);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).expect("it is configured");
            let _ = connection.complete_io(&mut stream);
        }
    });
    let error = client().get(&Request::new(url(&address))).expect_err("it is not believed").to_string();
    assert!(error.contains("set SSL_CERT_FILE to a file"), "{error}");
    assert_eq!(visits.load(Ordering::SeqCst), 1);
}

#[test]
fn redirects_that_lead_astray_are_refused() {
    let check = |from: &str, to: &str| refused_redirect(&[url(from)], &url(to)).unwrap_or("followed");
    assert_eq!(check("https://a.example/x", "https://b.example/x"), "followed");
    assert_eq!(check("http://a.example/x", "https://a.example/x"), "followed");
    assert_eq!(check("http://a.example/x", "http://b.example/x"), "followed");
    let unencrypted = "the redirect leads from https to http";
    assert_eq!(check("https://a.example/x", "http://a.example/x"), unencrypted);
    assert_eq!(check("https://a.example/x", "http://b.example/x"), unencrypted);
    assert_eq!(check("https://a.example:8443/x", "http://a.example:8443/x"), unencrypted);
    assert_eq!(check("https://a.example/x", "http://a.example:443/x"), unencrypted);
    let neither = "the redirect leads to a URL that is neither http nor https";
    assert_eq!(check("https://a.example/x", "ftp://a.example/x"), neither);
    let host = Host::start(|_| Reply::status(302).with("Location", "/again"));
    let error = client().get(&Request::new(url(&host.url("/x")))).expect_err("because it never ends");
    assert!(error.reason.contains("too many redirects"), "{error}");
    assert_eq!(host.asked().len(), 11);
}

#[test]
fn pauses_double_vary_and_follow_the_host() {
    let second = Duration::from_secs(1);
    for attempt in 0..4 {
        let full = second * (1 << attempt);
        let pauses: Vec<Duration> = (0..20).map(|_| pause(second, attempt, None)).collect();
        assert!(pauses.iter().all(|pause| *pause >= full / 2 && *pause <= full), "{attempt}: {pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{attempt}: all pauses are equal");
    }
    assert_eq!(pause(second, 0, Some(Duration::from_secs(7))), Duration::from_secs(7));
    assert_eq!(pause(second, 0, Some(Duration::from_secs(7_000))), LONGEST_BACKOFF);
    assert!(pause(second, 60, None) <= LONGEST_BACKOFF);
}

#[test]
fn an_interrupt_stops_clients_that_are_made_from_the_interrupted_one() {
    let client = HttpClient::new(HttpSettings::default());
    let (derived, lasting) = (client.with_options(ClientOptions::default()), client.uninterrupted());
    client.interrupt();
    assert!(client.block_on(async {}).is_err() && derived.block_on(async {}).is_err());
    assert!(
        lasting.block_on(async {}).is_ok() && lasting.with_options(ClientOptions::default()).block_on(async {}).is_ok()
    );
}

#[test]
fn uploads_have_time_in_proportion_to_their_size() {
    let silent = Duration::from_millis(400);
    let host = Host::start(move |asked| {
        // A host that receives slowly is silent until it has everything.
        std::thread::sleep(silent);
        Reply::ok(asked.bytes.len().to_string())
    });
    let send = |size: usize, timeout: Duration| {
        let settings = HttpSettings { retries: 0, stall: silent / 4, slowest_rate: 1 << 10, ..HttpSettings::default() };
        let request = Request {
            method: Method::PUT,
            body: Some(vec![b'x'; size]),
            timeout: Some(timeout),
            ..Request::new(url(&host.url("/state")))
        };
        let sent = HttpClient::new(settings).get(&request);
        sent.map(|response| String::from_utf8_lossy(&response.body).into_owned()).map_err(|error| error.reason)
    };
    let long = Duration::from_secs(60);
    assert_eq!(send(64 << 10, long), Ok("65536".to_owned()));
    assert_eq!(send(10, long), Err("the host does not respond".to_owned()), "a small request has no such time");
    let short = Duration::from_millis(200);
    assert_eq!(send(64 << 10, short), Err("no complete response within 0.2 seconds".to_owned()));
}

#[test]
fn a_pause_within_a_response_is_limited() {
    let host = Host::start(|asked| match asked.path() {
        "/steady" => Reply::ok(vec![b'x'; 40]).slowly(Duration::from_millis(10)),
        _ => Reply::ok(vec![b'x'; 4]).slowly(Duration::from_secs(2)),
    });
    let settings = HttpSettings { retries: 0, stall: Duration::from_millis(250), ..HttpSettings::default() };
    let get = |path: &str| {
        let response = HttpClient::new(settings.clone()).get(&Request::new(url(&host.url(path))));
        response.map(|response| response.body.len()).map_err(|error| error.reason)
    };
    assert_eq!(get("/steady"), Ok(40));
    assert_eq!(get("/pause"), Err("the host does not respond".to_owned()));
}

#[test]
fn only_reads_follow_redirects() {
    for status in [301, 302, 303, 307, 308] {
        let host = Host::start(move |asked| match asked.path() {
            "/old" => Reply::status(status).with("Location", "/new"),
            _ => Reply::ok("stored"),
        });
        let send = |method: Method| {
            let body = (method != Method::GET).then(|| b"content".to_vec());
            let request = Request { method, body, ..Request::new(url(&host.url("/old"))) };
            client().get(&request).map(|response| response.status)
        };
        assert_eq!((send(Method::GET), host.count("/new")), (Ok(200), 1), "{status}");
        assert_eq!(
            (send(Method::PUT), send(Method::POST), host.count("/new")),
            (Ok(status), Ok(status), 1),
            "{status}"
        );
    }
}

#[test]
fn a_large_error_is_cut_off() {
    let host = Host::start(|_| Reply { status: 404, ..Reply::ok(vec![b'x'; 3 << 20]) });
    let response = client().get(&Request::new(url(&host.url("/x")))).expect("the host answers");
    assert!(response.status == 404 && response.body.len() < 2 << 20, "{}", response.body.len());
}

#[test]
fn an_empty_proxy_is_no_proxy() {
    let host = Host::start(|_| Reply::ok("direct"));
    let proxies = Proxies { http: Some(String::new()), https: Some(String::new()), ..Proxies::default() };
    let direct = client().with_options(ClientOptions { proxies: Some(proxies), ..ClientOptions::default() });
    assert_eq!(direct.get(&Request::new(url(&host.url("/x")))).map(|response| response.status), Ok(200));
    let secret = Proxies { http: Some("http://ann:hush@proxy.example:1".to_owned()), ..Proxies::default() };
    let printed = format!("{secret:?}");
    assert!(printed.contains("proxy.example:1") && !printed.contains("hush"), "{printed}");
}

#[test]
fn a_path_that_is_a_credential_is_not_shown() {
    let request =
        Request { visible: Visible::Origin, ..Request::new(url("http://127.0.0.1:1/object/hidden?x=hidden")) };
    let error = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() }).get(&request);
    let text = error.expect_err("the port is closed").to_string();
    assert!(text.starts_with("http://127.0.0.1:1/...: ") && !text.contains("hidden"), "{text}");
    assert!(!format!("{request:?}").contains("hidden"));
}
