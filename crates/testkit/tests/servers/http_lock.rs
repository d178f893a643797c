//! The HTTP server with locks and faults.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use yuba_testkit::servers::{Answer, Fault, HttpLockServer, On, http_lock_server, request};

fn ask(server: &HttpLockServer, method: &str, target: &str, body: &str) -> Option<Answer> {
    let (_, port) = server.address().rsplit_once(':').map(|(host, port)| (host.to_owned(), port.to_owned()))?;
    request(port.parse().ok()?, method, target, &[], body)
}

fn status(server: &HttpLockServer, method: &str, target: &str, body: &str) -> Option<u16> {
    ask(server, method, target, body).map(|answer| answer.status)
}

pub(crate) fn stores_and_locks() {
    let server = http_lock_server();
    let lock = |id: &str| format!(r#"{{"ID":"{id}","Operation":"OperationTypeApply"}}"#);
    assert_eq!(status(&server, "GET", "/state/one", ""), Some(404));
    assert_eq!(status(&server, "LOCK", "/state/one", &lock("a")), Some(200));
    let refused = ask(&server, "LOCK", "/state/one", &lock("b")).expect("because the server answers");
    assert_eq!((refused.status, refused.body), (423, lock("a")));
    assert_eq!(status(&server, "POST", "/state/one", "x"), Some(423));
    assert_eq!(status(&server, "POST", "/state/one?ID=b", "x"), Some(423));
    assert_eq!(status(&server, "POST", "/state/one?ID=a", "x"), Some(200));
    assert_eq!(status(&server, "UNLOCK", "/state/one", &lock("b")), Some(409));
    assert_eq!(status(&server, "UNLOCK", "/state/one", r#"{"ID":"a"}"#), Some(200));
    assert_eq!(status(&server, "UNLOCK", "/state/one", &lock("a")), Some(200), "unlocking twice succeeds");
    assert_eq!(status(&server, "PUT", "/state/one", "y"), Some(200));
    let state = ask(&server, "GET", "/state/one", "").expect("because the server answers");
    assert_eq!((state.header("content-md5"), state.body.as_str()), (Some("QVKQdpWURg4uSFkikE80XQ=="), "y"));

    // GitLab's paths.
    assert_eq!(status(&server, "POST", "/p/two/lock", &lock("c")), Some(200));
    assert_eq!(server.lock("/p/two"), Some(lock("c")));
    assert_eq!(status(&server, "POST", "/p/two/lock", &lock("d")), Some(423));
    assert_eq!(status(&server, "DELETE", "/p/two/lock?ID=d", ""), Some(409));
    assert_eq!(status(&server, "DELETE", "/p/two/lock?ID=c", ""), Some(200));
    assert_eq!(status(&server, "DELETE", "/state/one", ""), Some(200));
    assert_eq!(server.state("/state/one"), None);
    assert_eq!(status(&server, "PATCH", "/state/one", ""), Some(405));
    assert_eq!(server.log_lines()[..2], ["GET /state/one -> 404", "LOCK /state/one -> 200"]);
}

pub(crate) fn checks_passwords_and_digests() {
    let server = http_lock_server().with_password("user", "password");
    let port =
        server.address().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("because it has a port");
    let with = |headers: &[(&str, &str)]| request(port, "POST", "/s", headers, "x").map(|answer| answer.status);
    let password = ("Authorization", "Basic dXNlcjpwYXNzd29yZA==");
    assert_eq!(with(&[]), Some(401));
    assert_eq!(with(&[("Authorization", "Basic dXNlcjpvdGhlcg==")]), Some(401));
    assert_eq!(with(&[password, ("Content-MD5", "QVKQdpWURg4uSFkikE80XQ==")]), Some(400), "the digest of another body");
    assert_eq!(server.state("/s"), None);
    assert_eq!(with(&[password, ("Content-MD5", "ndTkYSaMgDT1yFZOFVxnpg==")]), Some(200));
    assert_eq!(with(&[password]), Some(200), "the header is optional");
    assert_eq!(server.state("/s"), Some(b"x".to_vec()));
}

pub(crate) fn shows_faults() {
    let server = http_lock_server();
    server.set_state("/s", "0123456789");
    server.fail(On::Request(1), Fault::CloseBefore, 1);
    server.fail(On::Method("POST"), Fault::CloseAfter, 1);
    server.fail(On::Method("PUT"), Fault::Status(503, Some("1")), 2);
    server.fail(On::Path("DELETE", "/lock"), Fault::Html, 1);
    assert_eq!(status(&server, "PUT", "/s", "never"), None, "closed before the response");
    assert_eq!(server.state("/s"), Some(b"0123456789".to_vec()), "without effect");
    assert_eq!(status(&server, "POST", "/s", "abcdefghij"), None, "closed after the work");
    assert_eq!(server.state("/s"), Some(b"abcdefghij".to_vec()), "with effect");
    let busy = ask(&server, "PUT", "/s", "z").expect("because the server answers");
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    assert_eq!(status(&server, "PUT", "/s", "z"), Some(503));
    assert_eq!(status(&server, "PUT", "/s", "klmnopqrst"), Some(200), "two faults are over");
    let page = ask(&server, "DELETE", "/s/lock", "").expect("because the server answers");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));

    server.fail(On::Any, Fault::Truncate(4), 1);
    assert_eq!(raw(&server).map(|text| text.ends_with("\r\n\r\nklmn")), Some(true), "the body stops early");
    server.fail(On::Any, Fault::Body(100_000), 1);
    assert_eq!(ask(&server, "GET", "/s", "").map(|answer| answer.body.len()), Some(100_000));
    server.fail(On::Any, Fault::Corrupt, 1);
    assert_eq!(ask(&server, "GET", "/s", "").map(|answer| answer.body), Some("klmnopqrsu".to_owned()));
    server.fail(On::Any, Fault::Delay(Duration::from_millis(200)), 1);
    let start = Instant::now();
    assert_eq!(status(&server, "GET", "/s", ""), Some(200));
    assert!(start.elapsed() >= Duration::from_millis(200));
    server.fail(On::Any, Fault::Status(500, None), usize::MAX);
    server.clear_faults();
    assert_eq!(status(&server, "GET", "/s", ""), Some(200));
    assert_eq!(server.log_lines()[..3], ["PUT /s -> none", "POST /s -> none", "PUT /s -> 503"]);
}

/// The bytes of a response as they come. Two requests go over one connection: the server keeps it open.
fn raw(server: &HttpLockServer) -> Option<String> {
    let mut stream = std::net::TcpStream::connect(server.address()).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    stream.write_all(b"GET /s HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}
