//! Getting a token for a host: the login methods of a host, and OAuth with an authorization code from the browser.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};
use yuba_net::Secret;
use yuba_net::discovery::{Host, ServiceError};
use yuba_net::http::{HttpClient, Request, Response, Url};

/// The service that describes how to log in.
const LOGIN: &str = "login.v1";
/// The service of hosts that make tokens on a page.
const TOKENS: &str = "tfe.v2";
/// The longest request from a browser that is read.
const LONGEST_REQUEST: usize = 64 << 10;
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// A way to get a token.
#[derive(Clone, Debug)]
pub enum Way {
    /// The browser delivers a code, and the host exchanges it for a token.
    Code(OAuth),
    /// A page of the host makes a token, and the user copies it.
    Page {
        /// The page.
        page: Url,
        /// The service, to see whether the token is right.
        service: Url,
    },
}

/// OAuth settings of a host.
#[derive(Clone, Debug)]
pub struct OAuth {
    client: String,
    authorization: Url,
    token: Url,
    ports: (u16, u16),
    scopes: Vec<String>,
}

/// Reason why login is not possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoWay {
    /// The host offers none.
    NotOffered,
    /// The host offers one that is newer than we are.
    TooNew,
    /// The host only offers ways of OAuth that we do not know.
    OtherGrants,
    /// The login service of the host is malformed.
    Wrong(String),
}

/// The way that a host offers.
pub fn way(host: &Host) -> Result<Way, NoWay> {
    match host.object(LOGIN) {
        Ok(object) => return oauth(host, object).map(Way::Code),
        Err(ServiceError::NotProvided(_)) => {}
        Err(ServiceError::OtherVersion(_)) => return page(host).map_err(|_| NoWay::TooNew),
        Err(error) => return page(host).map_err(|_| NoWay::Wrong(error.to_string())),
    }
    page(host)
}

fn page(host: &Host) -> Result<Way, NoWay> {
    let service = host.url(TOKENS).map_err(|error| match error {
        ServiceError::NotProvided(_) => NoWay::NotOffered,
        ServiceError::OtherVersion(_) => NoWay::TooNew,
        other => NoWay::Wrong(other.to_string()),
    })?;
    let mut page = service.clone();
    page.set_path("/app/settings/tokens");
    page.set_query(Some("source=terraform-login"));
    Ok(Way::Page { page, service })
}

fn oauth(host: &Host, object: &Map<String, Json>) -> Result<OAuth, NoWay> {
    let wrong = |reason: &str| NoWay::Wrong(format!("the login service of the host is malformed: {reason}"));
    if let Some(grants) = object.get("grant_types") {
        let grants = grants.as_array().ok_or_else(|| wrong("\"grant_types\" must be an array"))?;
        if !grants.iter().any(|grant| grant == "authz_code") {
            return Err(NoWay::OtherGrants);
        }
    }
    let text =
        |name: &str| object.get(name).and_then(Json::as_str).ok_or_else(|| wrong(&format!("{name:?} is missing")));
    let url = |name: &str| host.resolve(LOGIN, text(name)?).map_err(|error| NoWay::Wrong(error.to_string()));
    let ports = match object.get("ports") {
        None => (1024, 65535),
        Some(ports) => {
            let port = |at: usize| ports.get(at).and_then(Json::as_u64).and_then(|port| u16::try_from(port).ok());
            match (port(0), port(1), ports.as_array().map(Vec::len)) {
                (Some(low @ 1024..), Some(high), Some(2)) if low <= high => (low, high),
                _ => return Err(wrong("\"ports\" must be the lowest and the highest port, from 1024 to 65535")),
            }
        }
    };
    let scopes = match object.get("scopes") {
        None => Vec::new(),
        Some(scopes) => {
            let list = scopes.as_array().ok_or_else(|| wrong("\"scopes\" must be an array"))?;
            let text = |scope: &Json| scope.as_str().map(str::to_owned).ok_or_else(|| wrong("scopes must be strings"));
            list.iter().map(text).collect::<Result<_, _>>()?
        }
    };
    Ok(OAuth { client: text("client")?.to_owned(), authorization: url("authz")?, token: url("token")?, ports, scopes })
}

/// A login that waits for a browser.
pub struct CodeFlow {
    listener: TcpListener,
    oauth: OAuth,
    callback: String,
    state: String,
    key: String,
}

/// An unguessable random string.
fn random_text() -> Result<String, String> {
    let mut bytes = [0; 48];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("the random number generator of the system failed: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl CodeFlow {
    /// Waits on a port that the host allows. None if none of them is free.
    pub fn start(oauth: &OAuth) -> Result<CodeFlow, String> {
        let (low, high) = oauth.ports;
        let count = u32::from(high - low) + 1;
        let mut random = [0; 4];
        getrandom::fill(&mut random)
            .map_err(|error| format!("the random number generator of the system failed: {error}"))?;
        let first = u32::from_ne_bytes(random) % count;
        // Another process that waits for such requests starts at another port.
        let ports = (0..count).map(|step| u32::from(low) + (first + step) % count);
        let listener = ports
            .filter_map(|port| u16::try_from(port).ok())
            .take(2_000)
            .find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok().map(|listener| (listener, port)));
        let Some((listener, port)) = listener else {
            return Err(format!("none of the ports from {low} to {high} is free on this machine"));
        };
        let callback = format!("http://localhost:{port}/login");
        Ok(CodeFlow { listener, oauth: oauth.clone(), callback, state: random_text()?, key: random_text()? })
    }

    /// The page that the browser must show.
    pub fn page(&self) -> Url {
        let mut page = self.oauth.authorization.clone();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.key.as_bytes()));
        let mut query = page.query_pairs_mut();
        query.append_pair("client_id", &self.oauth.client);
        query.append_pair("code_challenge", &challenge);
        query.append_pair("code_challenge_method", "S256");
        query.append_pair("redirect_uri", &self.callback);
        query.append_pair("response_type", "code");
        if !self.oauth.scopes.is_empty() {
            query.append_pair("scope", &self.oauth.scopes.join(" "));
        }
        query.append_pair("state", &self.state);
        drop(query);
        page
    }

    /// Waits until the browser delivers a code, and exchanges it for a token.
    pub fn finish(self, client: &HttpClient) -> Result<Secret, String> {
        let code = loop {
            let (stream, _) =
                self.listener.accept().map_err(|error| format!("the local login server failed: {error}"))?;
            if let Some(code) = self.answer(stream) {
                break code.map_err(|reason| format!("the host says {reason:?}"))?;
            }
        };
        let form = [
            ("client_id", self.oauth.client.as_str()),
            ("code", &code),
            ("code_verifier", &self.key),
            ("grant_type", "authorization_code"),
            ("redirect_uri", &self.callback),
        ];
        let mut request = Request::form(self.oauth.token.clone(), &form).with_header("accept", "application/json");
        // A code is good for one attempt.
        request.retries = Some(0);
        let response = client.get(&request).map_err(|error| error.to_string())?;
        if !response.is_success() {
            return Err(format!("the host responded with \"{}\"", response.status_text()));
        }
        let token = token_in(&response)?.filter(|token| !token.is_empty());
        token.map(Secret::new).ok_or_else(|| "the response of the host contains no token".to_owned())
    }

    /// Handles a request of a browser. Returns the code that we asked for, or the reason of the host for a refusal.
    fn answer(&self, mut stream: TcpStream) -> Option<Result<String, String>> {
        stream.set_read_timeout(Some(REQUEST_TIME)).ok()?;
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(length) => request.extend_from_slice(&buffer[..length]),
            }
        }
        let code = self.code_of(&String::from_utf8_lossy(&request));
        let (status, text) = match code {
            Some(Err(_)) => ("200 OK", "<p>The host refused the login. See the terminal for details.</p>"),
            Some(Ok(_)) => ("200 OK", "<p>Login successful. You can close this page and return to the terminal.</p>"),
            None => ("400 Bad Request", "<p>Unexpected request. Yuba waits for the response of the login.</p>"),
        };
        let page = format!("<!doctype html><html><head><title>Yuba login</title></head><body>{text}</body></html>");
        let length = page.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}"
        );
        let _ = stream.write_all(answer.as_bytes());
        code
    }

    fn code_of(&self, request: &str) -> Option<Result<String, String>> {
        let target = request.strip_prefix("GET ")?.split(' ').next()?;
        let url = Url::parse("http://localhost/").ok()?.join(target).ok()?;
        let argument = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        if argument("state")? != self.state {
            return None;
        }
        let code = argument("code").filter(|code| !code.is_empty());
        code.map(Ok).or_else(|| argument("error_description").or_else(|| argument("error")).map(Err))
    }
}

/// The token in the response of a host: in JSON, or encoded like the arguments of a URL, as older hosts write it.
fn token_in(response: &Response) -> Result<Option<String>, String> {
    if matches!(response.media_type().as_deref(), Some("application/x-www-form-urlencoded" | "text/plain")) {
        let url = Url::parse(&format!("form:?{}", String::from_utf8_lossy(&response.body)));
        let url = url.map_err(|error| format!("the response of the host is malformed: {error}"))?;
        return Ok(url.query_pairs().find(|(key, _)| key == "access_token").map(|(_, token)| token.into_owned()));
    }
    let answer: Json = serde_json::from_slice(&response.body)
        .map_err(|error| format!("the response of the host is not JSON: {error}"))?;
    Ok(answer.get("access_token").and_then(Json::as_str).map(str::to_owned))
}

/// The name of the user whose token it is, as the host says; `None` if the host does not accept the token.
pub fn user_of(client: &HttpClient, service: &Url, token: &Secret) -> Result<Option<String>, String> {
    let url = service.join("account/details").map_err(|error| error.to_string())?;
    let request = Request::new(url).with_token(Some(token.clone()));
    let response = client.get(&request).map_err(|error| error.to_string())?;
    match response.status {
        200 => {}
        401 => return Ok(None),
        _ => return Err(format!("the host responded with \"{}\"", response.status_text())),
    }
    let answer: Json = serde_json::from_slice(&response.body).unwrap_or_default();
    let name = answer.pointer("/data/attributes/username").and_then(Json::as_str).unwrap_or_default();
    Ok(Some(name.to_owned()))
}

#[cfg(test)]
mod tests;
