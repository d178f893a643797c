//! Shared Key signatures: requests to storage services, signed with the key of the account.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::http::Request;

/// The key of a storage account.
#[derive(Clone)]
pub struct SharedKey {
    account: String,
    key: hmac::Key,
}

/// The key stays hidden.
impl std::fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedKey").field("account", &self.account).finish_non_exhaustive()
    }
}

/// Headers that are signed by their position, after the method.
const POSITIONAL: [&str; 11] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];

impl SharedKey {
    /// The key in base64; none if it is not base64.
    pub fn new(account: &str, key: &str) -> Option<SharedKey> {
        let key = BASE64.decode(key.trim()).ok().filter(|key| !key.is_empty())?;
        Some(SharedKey { account: account.to_owned(), key: hmac::Key::new(hmac::HMAC_SHA256, &key) })
    }

    /// The value of the `Authorization` header of a request with all its other headers.
    pub fn authorization(&self, request: &Request) -> String {
        let signature = hmac::sign(&self.key, string_to_sign(&self.account, request).as_bytes());
        format!("SharedKey {}:{}", self.account, BASE64.encode(signature.as_ref()))
    }
}

/// The string that is signed, for versions of the service since 2015-02-21.
fn string_to_sign(account: &str, request: &Request) -> String {
    let header = |name: &str| {
        let found = request.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_owned())
    };
    let mut lines = vec![request.method.to_string()];
    for name in POSITIONAL {
        lines.push(match name {
            // The client sends it. A length of zero is an empty string.
            "content-length" => match request.body.as_ref().map_or(0, Vec::len) {
                0 => String::new(),
                length => length.to_string(),
            },
            // The header `x-ms-date` is signed instead.
            "date" => String::new(),
            name => header(name).unwrap_or_default(),
        });
    }
    let mut canonical: Vec<(String, &str)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .filter(|(name, _)| name.starts_with("x-ms-"))
        .collect();
    canonical.sort();
    lines.extend(canonical.into_iter().map(|(name, value)| format!("{name}:{value}")));
    lines.push(format!("/{account}{}", request.url.path()));
    let mut parameters: Vec<(String, String)> =
        request.url.query_pairs().map(|(name, value)| (name.to_lowercase(), value.into_owned())).collect();
    parameters.sort();
    for group in parameters.chunk_by(|a, b| a.0 == b.0) {
        let values: Vec<&str> = group.iter().map(|(_, value)| value.as_str()).collect();
        lines.push(format!("{}:{}", group[0].0, values.join(",")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Method, Url};

    /// The example "Get Container Metadata" of the article "Authorize with Shared Key".
    #[test]
    fn the_signed_string_is_that_of_the_documentation() {
        let url = "https://myaccount.blob.core.windows.net/mycontainer?restype=container&comp=metadata&timeout=20";
        let request = Request::new(Url::parse(url).unwrap())
            .with_header("x-ms-version", "2015-02-21")
            .with_header("x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT");
        let expected = "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n\
                        /myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20";
        assert_eq!(string_to_sign("myaccount", &request), expected);
    }

    /// The rules of the same article: length and type of the content, conditions, and parameters with several values.
    #[test]
    fn content_conditions_and_repeated_parameters_are_signed() {
        let url =
            Url::parse("https://a.blob.core.windows.net/c/d%2Fk?include=snapshots&INCLUDE=metadata&b=%26").unwrap();
        let mut request = Request::new(url)
            .with_header("X-Ms-Meta-B", " two ")
            .with_header("x-ms-meta-a", "one")
            .with_header("Content-Type", "application/json")
            .with_header("If-Match", "\"0x1\"");
        request.method = Method::PUT;
        request.body = Some(b"12345".to_vec());
        let expected = "PUT\n\n\n5\n\napplication/json\n\n\n\"0x1\"\n\n\n\nx-ms-meta-a:one\nx-ms-meta-b:two\n/a/c/d%2Fk\n\
                        b:&\ninclude:metadata,snapshots";
        assert_eq!(string_to_sign("a", &request), expected);
        request.body = Some(Vec::new());
        assert!(string_to_sign("a", &request).starts_with("PUT\n\n\n\n\napplication/json\n"));
    }

    /// Computed with openssl: `printf 'GET...' | openssl dgst -sha256 -mac HMAC -macopt hexkey:6b6579 -binary | base64`.
    #[test]
    fn the_signature_is_hmac_sha256_of_the_decoded_key() {
        let key = SharedKey::new("a", "a2V5").expect("because it is base64");
        let request = Request::new(Url::parse("https://a.blob.core.windows.net/").unwrap());
        assert_eq!(key.authorization(&request), "SharedKey a:h5W3mABigJRCLyL7uwww4u3cr/8Po+jyzEJoFKIhjCQ=");
        assert!(SharedKey::new("a", "***").is_none());
        assert_eq!(format!("{key:?}"), "SharedKey { account: \"a\", .. }");
    }
}
