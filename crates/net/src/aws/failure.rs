//! Error responses of AWS services, in XML and JSON.

use serde_json::Value as Json;

use super::{Element, Moment};
use crate::http::Response;

/// Error response of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsFailure {
    /// The code, such as `NoSuchBucket`. Empty if the response does not have one.
    pub code: String,
    /// The message; empty if the response does not have one.
    pub message: String,
    /// The region of the bucket, where a response names another one.
    pub region: Option<String>,
}

/// Codes that mean that clocks differ.
const CLOCK: [&str; 5] = [
    "RequestTimeTooSkewed",
    "RequestExpired",
    "RequestInTheFuture",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
];
/// Codes that ask to try again, whatever their status is.
const PASSING: [&str; 14] = [
    "RequestTimeout",
    "RequestTimeoutException",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "SlowDown",
    "PriorRequestNotComplete",
    "IDPCommunicationError",
];

impl AwsFailure {
    /// Reads an error response.
    pub fn of(response: &Response) -> AwsFailure {
        let text = String::from_utf8_lossy(&response.body);
        let region = response.header("x-amz-bucket-region").map(str::to_owned);
        if let Some(document) = Element::parse(&text) {
            let text = |name: &str| document.text_of(name).map(str::trim).unwrap_or_default().to_owned();
            let region = document.text_of("Region").map(str::to_owned).or(region);
            return AwsFailure { code: text("Code"), message: text("Message"), region };
        }
        let json: Json = serde_json::from_str(&text).unwrap_or_default();
        let field = |names: [&str; 3]| {
            let found = names.iter().find_map(|name| json.get(name).and_then(Json::as_str));
            found.unwrap_or_default().to_owned()
        };
        let header = response.header("x-amzn-errortype").map(str::to_owned);
        let code = header.unwrap_or_else(|| field(["__type", "code", "Code"]));
        let code = code.rsplit('#').next().unwrap_or_default().split(':').next().unwrap_or_default().to_owned();
        AwsFailure { code, message: field(["message", "Message", "error_description"]), region }
    }

    /// Whether clocks may differ.
    pub fn is_about_clocks(&self) -> bool {
        CLOCK.contains(&self.code.as_str())
    }

    /// Whether the same request may succeed later, whatever its status is.
    pub fn may_pass(&self) -> bool {
        PASSING.contains(&self.code.as_str())
    }

    /// Advice for a code that every service has; none for other codes.
    pub fn advice(&self, response: &Response) -> Option<String> {
        let server = response.header("date").and_then(Moment::parse_http);
        let skew = server.map(|server| (server.0 - Moment::now().0).abs()).filter(|skew| *skew > 240);
        let advice = match self.code.as_str() {
            "InvalidAccessKeyId" | "InvalidClientTokenId" | "UnrecognizedClientException" => {
                "the access key does not exist or is not active; check access_key, AWS_ACCESS_KEY_ID or the profile".to_owned()
            }
            "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => {
                "the session token has expired; obtain new temporary credentials".to_owned()
            }
            "InvalidToken" => "the session token is not valid for the access key; check token and AWS_SESSION_TOKEN".to_owned(),
            code if CLOCK.contains(&code) && skew.is_some() => {
                let minutes = skew.unwrap_or_default() / 60;
                format!("the clock of this machine differs from that of the server by {minutes} minutes; set the clock")
            }
            "RequestTimeTooSkewed" => "the clock of this machine is wrong; set the clock".to_owned(),
            "SignatureDoesNotMatch" | "InvalidSignatureException" => {
                "the secret key does not belong to the access key; check secret_key, AWS_SECRET_ACCESS_KEY or the profile".to_owned()
            }
            _ => return None,
        };
        Some(advice)
    }

    /// Code and message for people: `AccessDenied: Access Denied`. Falls back to the status.
    pub fn shown(&self, response: &Response) -> String {
        let message: String = self.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = message.trim_end_matches('.');
        match (self.code.as_str(), message) {
            ("", "") => format!("the server responded \"{}\"", response.status_text()),
            ("", message) => format!("the server responded \"{}\": {message}", response.status_text()),
            (code, "") => format!("{code} ({})", response.status),
            (code, message) => format!("{code} ({}): {message}", response.status),
        }
    }
}
