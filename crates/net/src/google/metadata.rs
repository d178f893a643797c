//! The metadata server of Compute Engine, GKE and Cloud Run: tokens of the service account of the machine.

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
            Some(host) => MetadataServer { host: Ok(host.to_owned()), scopes, presence: Presence::Configured },
            None => {
                let host = environment.machine_service(MachineService::Google).map(str::to_owned);
                MetadataServer { host, scopes, presence: Presence::Assumed }
            }
        }
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
        exchange::token_of(&shown, &response)
    }

    /// Without a metadata server there are no credentials, and a retry is useless.
    fn explained(&self, error: GoogleError) -> GoogleError {
        match self.presence {
            Presence::Assumed if error.may_pass => GoogleError::lasting(format!(
                "no Google credentials found. Set the argument \"credentials\", GOOGLE_CREDENTIALS or \
                 GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`. This machine has no \
                 metadata server of Google Cloud: {}",
                error.reason
            )),
            _ => error,
        }
    }
}
