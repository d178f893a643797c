//! Impersonation: credentials with the role Service Account Token Creator request access tokens of a service account.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};

use super::{Cached, GoogleError, Impersonate, Kind, Requests, Token, exchange};
use crate::Secret;
use crate::http::{Method, Request, Url, shown};

/// The IAM Service Account Credentials API.
const ENDPOINT: &str = "https://iamcredentials.googleapis.com";
/// The lifetime of a token in seconds, unless the credential says otherwise.
pub(super) const LIFETIME: u64 = 3600;

/// A service account and the credentials that may act as it.
pub(super) struct Impersonation {
    pub(super) source: Cached,
    /// The method `generateAccessToken` of the service account.
    pub(super) url: Url,
    /// Resource names of service accounts in between.
    pub(super) delegates: Vec<String>,
    pub(super) scopes: Vec<String>,
    /// In seconds.
    pub(super) lifetime: u64,
}

impl Impersonation {
    /// The account that a configuration names.
    pub(super) fn of(target: &Impersonate, source: Kind) -> Result<Impersonation, GoogleError> {
        let endpoint = target.endpoint.as_deref().unwrap_or(ENDPOINT);
        let mut url = exchange::endpoint(endpoint, "the address of the IAM Credentials API")?;
        let segments = url.path_segments_mut();
        let mut segments = segments.expect("because the URL has a host");
        segments.pop_if_empty().extend(["v1", "projects", "-", "serviceAccounts"]);
        segments.push(&format!("{}:generateAccessToken", target.account));
        drop(segments);
        Ok(Impersonation {
            source: Cached::new(source),
            url,
            delegates: target.delegates.iter().map(|delegate| resource_name(delegate)).collect(),
            scopes: target.scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            lifetime: LIFETIME,
        })
    }

    pub(super) fn token(&self, requests: &Requests) -> Result<Token, GoogleError> {
        let mut body = json!({ "lifetime": format!("{}s", self.lifetime), "scope": self.scopes });
        if !self.delegates.is_empty() {
            body["delegates"] = json!(self.delegates);
        }
        let request = Request {
            method: Method::POST,
            body: Some(body.to_string().into_bytes()),
            token: Some(self.source.token(requests)?),
            ..Request::new(self.url.clone())
        };
        let request = request.with_header("content-type", "application/json");
        let url = shown(&self.url);
        let response = exchange::json(&url, &exchange::send(&requests.http, request)?)?;
        let text = |name: &str| response.get(name).and_then(Json::as_str);
        match (text("accessToken").filter(|token| !token.is_empty()), text("expireTime").and_then(unix_time)) {
            (Some(token), Some(expires)) => Ok(Token { value: Secret::new(token), expires: Some(expires) }),
            _ => Err(GoogleError::lasting(format!(
                "the response of {url} has no \"accessToken\" with a valid \"expireTime\""
            ))),
        }
    }
}

/// The name of a service account as the API wants it.
pub(super) fn resource_name(account: &str) -> String {
    match account.contains('/') {
        true => account.to_owned(),
        false => format!("projects/-/serviceAccounts/{account}"),
    }
}

/// A time in UTC, as Google writes it: `2026-11-18T09:05:00Z`, with or without a fraction of a second.
fn unix_time(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let time = time.split('.').next().unwrap_or(time);
    let three = |text: &str, separator: char| -> Option<[u64; 3]> {
        let mut parts = text.split(separator).map(|part| part.parse::<u64>().ok());
        let found = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(found)
    };
    let ([year, month, day], [hour, minute, second]) = (three(date, '-')?, three(time, ':')?);
    let is_valid = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !(is_valid && hour < 24 && minute < 60 && second <= 60) {
        return None;
    }
    // Years begin in March, so that a leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(days * 86_400 + hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_google_are_read() {
        let seconds = |text: &str| {
            unix_time(text).map(|time| time.duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs())
        };
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2024-02-29T23:59:59.123456789Z"), Some(1_709_251_199));
        assert_eq!(seconds("2026-11-18T09:05:00Z"), Some(1_794_992_700));
        for wrong in ["", "2026-11-18", "2026-11-18T09:05:00", "2026-13-18T09:05:00Z", "2026-11-18T09:05Z", "T", "-T:Z"]
        {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
