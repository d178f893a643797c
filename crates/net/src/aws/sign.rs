//! Signature Version 4, in the `Authorization` header.

use std::fmt::Write as _;

use aws_lc_rs::{digest, hmac};

use super::AwsCredentials;
use super::moment::Moment;
use crate::http::{Request, Url};

/// The service whose paths are encoded once and whose requests name the hash of their body.
const S3: &str = "s3";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Scope of a signature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    /// Its name in signatures.
    pub(super) service: &'a str,
    pub(super) region: &'a str,
    pub(super) moment: Moment,
}

/// Headers that proxies and clients add or change.
const UNSIGNED: [&str; 4] = ["authorization", "user-agent", "expect", "connection"];

/// Adds the headers of a signature: the date, the session token and the signature of all headers, the URL and the body.
pub(super) fn sign(mut request: Request, credentials: &AwsCredentials, scope: Scope<'_>) -> Request {
    let body = request.body.as_deref().unwrap_or_default();
    let hash = hex(digest::digest(&digest::SHA256, body).as_ref());
    let date = scope.moment.compact();
    request.headers.push(("x-amz-date".into(), date.clone()));
    if scope.service == S3 {
        request.headers.push(("x-amz-content-sha256".into(), hash.clone()));
    }
    if let Some(token) = &credentials.token {
        request.headers.push(("x-amz-security-token".into(), token.reveal().to_owned()));
    }
    let (headers, names) = canonical_headers(&request);
    let path = canonical_path(request.url.path(), scope.service);
    let query = canonical_query(&request.url);
    let canonical = format!("{}\n{path}\n{query}\n{headers}\n{names}\n{hash}", request.method);
    let day = date.get(..8).unwrap_or_default();
    let range = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let canonical = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    let text = format!("{ALGORITHM}\n{date}\n{range}\n{canonical}");
    let key = format!("AWS4{}", credentials.secret_key.reveal());
    let parts = [day, scope.region, scope.service, "aws4_request"];
    let key = parts.iter().fold(key.into_bytes(), |key, part| mac(&key, part));
    let signature = hex(&mac(&key, &text));
    let value = format!(
        "{ALGORITHM} Credential={}/{range}, SignedHeaders={names}, Signature={signature}",
        credentials.access_key
    );
    request.headers.push(("authorization".into(), value));
    request
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The signed headers, one to a line and sorted, and their names separated by semicolons.
fn canonical_headers(request: &Request) -> (String, String) {
    let mut headers: Vec<(String, String)> = Vec::new();
    let host = request.url.host_str().unwrap_or_default();
    let host = request.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let given = request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()));
    for (name, value) in given.chain([("host".to_owned(), host.as_str())]) {
        if UNSIGNED.contains(&name.as_str()) {
            continue;
        }
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        match headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => {
                values.push(',');
                values.push_str(&value);
            }
            None => headers.push((name, value)),
        }
    }
    headers.sort();
    let lines = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    (lines, names.join(";"))
}

/// The path, encoded once for S3 and twice for all other services.
fn canonical_path(path: &str, service: &str) -> String {
    let path = if path.is_empty() { "/" } else { path };
    match service {
        S3 => encode(&decode(path), Slashes::Kept),
        _ => encode(path.as_bytes(), Slashes::Kept),
    }
}

fn canonical_query(url: &Url) -> String {
    let pair = |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        (encode(name.as_bytes(), Slashes::Encoded), encode(value.as_bytes(), Slashes::Encoded))
    };
    let mut pairs: Vec<(String, String)> = url.query_pairs().map(pair).collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// Whether slashes are part of a path or of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slashes {
    Kept,
    Encoded,
}

/// Percent-encodes everything but unreserved characters.
pub(super) fn encode(text: &[u8], slashes: Slashes) -> String {
    text.iter().fold(String::with_capacity(text.len()), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(*byte)),
            b'/' if slashes == Slashes::Kept => out.push('/'),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    })
}

/// Bytes of a percent-encoded text.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}
