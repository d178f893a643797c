//! The metadata server of Compute Engine, GKE and Cloud Run: tokens of the service account of the machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{GoogleError, Requests, Token, exchange};
use crate::Environment;
use crate::http::{Request, Url, shown};
use crate::machine::MachineService;

/// The server is on the same machine. Elsewhere the address leads nowhere, which should not take long.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The metadata server.
pub(super) struct MetadataServer {
    /// Its host, or the reason why it is not available.
    host: Result<String, String>,
    scopes: Vec<String>,
    presence: Presence,
    /// Whether the server has responded with a token.
    has_responded: AtomicBool,
}

/// Whether there is such a server at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// The environment names its host.
    Configured,
    /// Nothing else was found.
    Assumed,
}

impl MetadataServer {
    /// The server that the environment names, or the usual one.
    pub(super) fn of(environment: &Environment, scopes: Vec<String>) -> MetadataServer {
        match environment.get("GCE_METADATA_HOST") {
            Some(host) => MetadataServer::new(Ok(host.to_owned()), scopes, Presence::Configured),
            None => {
                let host = environment.machine_service(MachineService::Google).map(str::to_owned);
                MetadataServer::new(host, scopes, Presence::Assumed)
            }
        }
    }

    fn new(host: Result<String, String>, scopes: Vec<String>, presence: Presence) -> MetadataServer {
        MetadataServer { host, scopes, presence, has_responded: AtomicBool::new(false) }
    }

    pub(super) fn token(&self, requests: &Requests) -> Result<Token, GoogleError> {
        let path = "computeMetadata/v1/instance/service-accounts/default/token";
        let refused = |reason: &String| self.explained(GoogleError { reason: reason.clone(), may_pass: true });
        let host = self.host.as_ref().map_err(refused)?;
        let mut url = Url::parse(&format!("http://{host}/{path}"))
            .map_err(|_| GoogleError::lasting(format!("GCE_METADATA_HOST is not a host: {host:?}")))?;
        if !self.scopes.is_empty() {
            url.query_pairs_mut().append_pair("scopes", &self.scopes.join(","));
        }
        // A browser cannot send this header to a foreign host, so the server knows that no page asks.
        let request = Request { timeout: Some(TIMEOUT), ..Request::new(url) }.with_header("Metadata-Flavor", "Google");
        let shown = shown(&request.url);
        let response = exchange::send(&requests.direct, request).map_err(|error| self.explained(error))?;
        // Other servers at this address do not send it back.
        if response.header("metadata-flavor") != Some("Google") {
            let reason = format!("{shown} responds without the header \"Metadata-Flavor: Google\"");
            return Err(self.explained(GoogleError { reason, may_pass: true }));
        }
        let token = exchange::token_of(&shown, &response)?;
        self.has_responded.store(true, Ordering::Relaxed);
        Ok(token)
    }

    /// Without a metadata server there are no credentials, and a retry is useless. A server that has responded before exists.
    fn explained(&self, error: GoogleError) -> GoogleError {
        match self.presence {
            Presence::Assumed if error.may_pass && !self.has_responded.load(Ordering::Relaxed) => {
                GoogleError::lasting(format!(
                    "no Google credentials found. Set the argument \"credentials\", GOOGLE_CREDENTIALS or \
                 GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`. This machine has no \
                 metadata server of Google Cloud: {}",
                    error.reason
                ))
            }
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use yuba_testkit::{Host, Reply};

    use super::*;
    use crate::http::{HttpClient, HttpSettings};

    #[test]
    fn a_server_that_has_responded_exists() {
        let host = Host::start(|asked| match asked.target.contains("scopes=good") {
            true => Reply::json(r#"{"access_token":"t","expires_in":60}"#).with("Metadata-Flavor", "Google"),
            false => Reply::status(503),
        });
        let http = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() });
        let requests =
            Requests { direct: http.clone(), http, read: Arc::new(|_| Err(std::io::ErrorKind::NotFound.into())) };
        let with_scope = |scope: &str| MetadataServer::new(Ok(host.name()), vec![scope.to_owned()], Presence::Assumed);
        let failure = |server: &MetadataServer| server.token(&requests).map(drop).expect_err("it is not available");
        let absent = failure(&with_scope("bad"));
        assert!(!absent.may_pass && absent.reason.contains("no Google credentials found"), "{absent}");
        let mut server = with_scope("good");
        assert!(server.token(&requests).is_ok());
        server.scopes = vec!["bad".to_owned()];
        let busy = failure(&server);
        assert!(busy.may_pass && !busy.reason.contains("no Google credentials found"), "{busy}");
    }
}
