//! Why a call fails: with a status of gRPC, or because the connection is closed.

use std::{fmt, io};

use http::{HeaderMap, StatusCode};

/// Reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The other side says so, in its words.
    Status(GrpcCode, String),
    /// The connection is gone, or the stream of this call: for this reason.
    Broken(String),
    /// The request is larger than what may be sent.
    RequestTooLarge,
    /// The response is larger than the limit.
    AnswerTooLarge,
}

impl CallError {
    /// The response is malformed.
    pub(super) fn nonsense(reason: &dyn fmt::Display) -> CallError {
        CallError::Status(GrpcCode::INTERNAL, format!("the response is malformed: {reason}"))
    }
}

impl From<h2::Error> for CallError {
    fn from(error: h2::Error) -> CallError {
        match error.reason() {
            Some(h2::Reason::CANCEL) if error.is_reset() => CallError::Status(GrpcCode::CANCELLED, String::new()),
            _ => match error.get_io().map(io::Error::kind) {
                // Errors of the libraries are not meant for people.
                Some(
                    io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted,
                ) => CallError::Broken("it closed the connection".to_owned()),
                _ => CallError::Broken(error.to_string()),
            },
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Status(code, message) => match message.trim_end_matches('.') {
                "" => f.write_str(code.name()),
                message => f.write_str(message),
            },
            CallError::Broken(reason) => f.write_str(reason),
            CallError::RequestTooLarge => f.write_str("the request is too large"),
            CallError::AnswerTooLarge => f.write_str("the response is too large"),
        }
    }
}

impl std::error::Error for CallError {}

/// Status codes of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrpcCode(u8);

#[allow(missing_docs, reason = "the names are those of gRPC")]
impl GrpcCode {
    pub const OK: GrpcCode = GrpcCode(0);
    pub const CANCELLED: GrpcCode = GrpcCode(1);
    pub const UNKNOWN: GrpcCode = GrpcCode(2);
    pub const UNIMPLEMENTED: GrpcCode = GrpcCode(12);
    pub const INTERNAL: GrpcCode = GrpcCode(13);
    pub const UNAVAILABLE: GrpcCode = GrpcCode(14);
}

impl GrpcCode {
    /// In words.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 17] = [
            "ok",
            "cancelled",
            "unknown error",
            "invalid argument",
            "deadline exceeded",
            "not found",
            "already exists",
            "permission denied",
            "resource exhausted",
            "failed precondition",
            "aborted",
            "out of range",
            "unimplemented",
            "internal error",
            "unavailable",
            "data loss",
            "unauthenticated",
        ];
        NAMES.get(usize::from(self.0)).copied().unwrap_or("unknown error")
    }

    /// The code and the message that headers have.
    pub(super) fn in_headers(headers: &HeaderMap) -> Option<(GrpcCode, String)> {
        let code = headers.get("grpc-status")?.to_str().ok().and_then(|code| code.parse().ok());
        let message = headers.get("grpc-message").map_or(&[][..], |message| message.as_bytes());
        Some((code.map_or(GrpcCode::UNKNOWN, GrpcCode), percent_decoded(message)))
    }

    /// Meaning of a response without a code.
    pub(super) fn of_http(status: StatusCode) -> GrpcCode {
        match status {
            StatusCode::NOT_FOUND => GrpcCode::UNIMPLEMENTED,
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => GrpcCode::UNAVAILABLE,
            _ => GrpcCode::UNKNOWN,
        }
    }
}

/// A string in which `%41` stands for `A`. Invalid escapes stand for themselves.
fn percent_decoded(mut text: &[u8]) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    while let Some((first, rest)) = text.split_first() {
        let byte = match rest {
            [high, low, ..] if *first == b'%' => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                digit(*high).zip(digit(*low)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            }
            _ => None,
        };
        decoded.push(byte.unwrap_or(*first));
        text = if byte.is_some() { rest.get(2..).unwrap_or_default() } else { rest };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_from_headers() {
        let read = |code: &'static str, message: &'static str| {
            let headers = [("grpc-status", code), ("grpc-message", message)];
            let headers =
                headers.map(|(name, value)| (name.try_into().expect("a name"), value.parse().expect("a value")));
            GrpcCode::in_headers(&HeaderMap::from_iter(headers))
        };
        assert_eq!(read("0", ""), Some((GrpcCode::OK, String::new())));
        assert_eq!(read("14", "100%25 %C3%A9 %zz%4"), Some((GrpcCode::UNAVAILABLE, "100% é %zz%4".to_owned())));
        assert_eq!(read("x", "no"), Some((GrpcCode::UNKNOWN, "no".to_owned())));
        assert_eq!(read("5", "").map(|(code, _)| code.name()), Some("not found"));
        assert_eq!(read("200", "").map(|(code, _)| code.name()), Some("unknown error"));
        assert_eq!(GrpcCode::in_headers(&HeaderMap::new()), None);
    }
}
