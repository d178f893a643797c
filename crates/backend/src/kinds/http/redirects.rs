//! Redirects of the http backend: followed as far as they change neither the request nor the host that gets credentials.
//!
//! Other clients turn a `POST` into a `GET` where a server responds 301, 302 or 303. The state would not be stored, and the
//! response would look like success. Such a redirect is an error here.

use yuba_net::http::{HttpClient, Method, Request, Response, Url, shown};

use super::Exchange;
use crate::kit::requests;
use crate::kit::store::StoreError;

const MOST_REDIRECTS: usize = 10;

/// Sends a request and follows redirects. The client itself must not follow them.
pub(super) fn exchange(client: &HttpClient, request: Request) -> Result<Exchange, StoreError> {
    let first = request.url.clone();
    let mut request = request;
    for _ in 0..=MOST_REDIRECTS {
        let response = requests::exchange(client, request.clone())?;
        match next(&request, &response)? {
            Some(url) => request = redirected(request, url),
            None => return Ok(Exchange { request, response }),
        }
    }
    let (method, url) = (&request.method, shown(&first));
    Err(StoreError::lasting(format!("{method} {url}: the server redirects more than {MOST_REDIRECTS} times")))
}

/// The URL that a response redirects to; none if it is not a redirect.
fn next(request: &Request, response: &Response) -> Result<Option<Url>, StoreError> {
    if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.header("location").filter(|location| !location.is_empty()) else { return Ok(None) };
    let refused = |reason: String| {
        let (method, url, status) = (&request.method, shown(&request.url), response.status_text());
        StoreError::lasting(format!("{method} {url}: the server responded \"{status}\" {reason}"))
    };
    let Ok(mut url) = request.url.join(location) else {
        return Err(refused("with a Location that is not a valid URL".to_owned()));
    };
    // Credentials in a Location are the server's idea, not the user's.
    let _ = (url.set_username(""), url.set_password(None));
    let to = shown(&url);
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused(format!("and redirects to {to}, which is neither http nor https")));
    }
    if request.url.scheme() == "https" && url.scheme() == "http" {
        return Err(refused(format!(
            "and redirects from https to {to}, where the state would be readable on the network"
        )));
    }
    if request.method != Method::GET && !matches!(response.status, 307 | 308) {
        let reason = "Following it would drop the body of the request. Configure the URL that the server redirects to";
        return Err(refused(format!("and redirects to {to}. {reason}")));
    }
    Ok(Some(url))
}

/// The request to another URL. Only the host that the user has configured gets credentials.
fn redirected(request: Request, url: Url) -> Request {
    match same_host(&request.url, &url) {
        true => Request { url, ..request },
        false => {
            let about_body = |name: &str| matches!(name, "content-type" | "content-md5");
            let headers = request.headers.into_iter().filter(|(name, _)| about_body(name)).collect();
            Request { url, basic: None, token: None, headers, ..request }
        }
    }
}

/// Whether two URLs have the same host and port. The step from http to https on the usual ports is the same host.
fn same_host(from: &Url, to: &Url) -> bool {
    let is_upgrade = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    let same_port = from.port_or_known_default() == to.port_or_known_default();
    from.host() == to.host() && (is_upgrade || (same_port && from.scheme() == to.scheme()))
}
