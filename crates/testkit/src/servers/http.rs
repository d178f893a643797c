//! Plain HTTP requests to servers on loopback.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Time to connect, and time between two pieces of a response.
const LIMIT: Duration = Duration::from_secs(30);

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as text.
    pub body: String,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Sends one request to 127.0.0.1 and returns the response, or `None` if the server does not give a complete one.
pub fn request(port: u16, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Option<Answer> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, LIMIT).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    stream.set_write_timeout(Some(LIMIT)).ok()?;
    stream.write_all(compose(port, method, target, headers, body).as_bytes()).ok()?;
    let (mut bytes, mut part) = (Vec::new(), [0; 16 * 1024]);
    // chromedriver leaves the connection open: the length of the body says where it ends.
    while !has_whole_body(&bytes) {
        match stream.read(&mut part).ok()? {
            0 => break,
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
    parse(&bytes)
}

/// Whether a response states its length and has arrived.
fn has_whole_body(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    length.is_some_and(|length| bytes.len() >= end + 4 + length)
}

/// The same over TLS, without verifying the certificate, through the `openssl` command. For servers that answer nothing else.
pub(crate) fn tls_request(
    port: u16,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-quiet", "-ign_eof", "-connect", &format!("127.0.0.1:{port}")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let (mut input, mut output) = (child.stdin.take()?, child.stdout.take()?);
    // A failed write shows as a missing response.
    let _ = input.write_all(compose(port, method, target, headers, body).as_bytes());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = output.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    let bytes = receiver.recv_timeout(LIMIT);
    let _ = child.kill();
    let _ = child.wait();
    parse(&bytes.ok()?)
}

/// Asks the server to close the connection, so that the end of the stream is the end of the response.
fn compose(port: u16, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    text
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let header =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let mut answer = Answer { status, headers: lines.filter_map(header).collect(), body: String::new() };
    let body = &bytes[end + 4..];
    let body = if answer.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        joined_chunks(body)?
    } else {
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        body.get(..length.unwrap_or(body.len()))?.to_vec()
    };
    answer.body = String::from_utf8_lossy(&body).into_owned();
    Some(answer)
}

/// The body without the length lines of its chunks.
fn joined_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        let length = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        let chunk = rest.get(end + 2..)?.get(..length)?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk);
        rest = rest.get(end + 2 + length + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_incomplete_responses_are_refused() {
        let answer =
            parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
        assert_eq!(answer.map(|answer| (answer.status, answer.body)), Some((200, "abcde".to_owned())));
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), None);
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"), None);
    }
}
