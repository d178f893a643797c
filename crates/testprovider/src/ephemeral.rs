//! Ephemeral tokens: opened, renewed and closed, all of which is in the record.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::bytes::Bytes;
use yuba_plugin::wire::{
    CloseEphemeralRequest, Diagnostic, OpenEphemeralRequest, OpenEphemeralResponse, ProblemsResponse,
    RenewEphemeralRequest, RenewEphemeralResponse, Timestamp,
};
use yuba_value::{Number, Value};

use crate::behave::error;
use crate::objects::{get, set, text};
use crate::provider::{Testing, decode, in_words};

/// The private data: name, renewal interval, fault, number of renewals.
fn private(name: &str, renew_ms: u64, behave: &str, renewed: u64) -> Bytes {
    serde_json::json!([name, renew_ms, behave, renewed]).to_string().into()
}

fn from_private(private: Option<&Bytes>) -> Result<(String, u64, String, u64), Diagnostic> {
    let bytes = private.map(|bytes| &bytes[..]).unwrap_or_default();
    serde_json::from_slice(bytes).map_err(|why| error("Private data lost", format!("Of an ephemeral token: {why}.")))
}

fn after(milliseconds: u64) -> Option<Timestamp> {
    let at = SystemTime::now() + Duration::from_millis(milliseconds);
    let since = at.duration_since(UNIX_EPOCH).ok().filter(|_| milliseconds > 0)?;
    Some(Timestamp { seconds: i64::try_from(since.as_secs()).ok()?, nanos: since.subsec_nanos().into() })
}

impl Testing {
    pub(crate) async fn open(&self, request: OpenEphemeralRequest) -> Result<OpenEphemeralResponse, Diagnostic> {
        let schema = self.schema_of(&self.everything.ephemeral, &request.type_name)?;
        let ty = schema.block.implied_type();
        let config = decode(request.config.as_ref(), ty)?;
        let (name, behave) = (text(&config, "name"), text(&config, "behave"));
        let went = self.begin("open", &request.type_name, &name, &behave).await?;
        let renew_ms = get(&config, "renew_ms").as_number().and_then(Number::to_u64).unwrap_or(0);
        self.note("open", &request.type_name, &name)?;
        let value = set(&config, "token", Value::string(format!("token of {name}")));
        let value = set(&value, "instance", Value::string(self.instance()));
        Ok(OpenEphemeralResponse {
            diagnostics: went.problems,
            renew_at: after(renew_ms),
            result: Some(self.encode(&value, ty)?),
            private: Some(private(&name, renew_ms, &behave, 0)),
            deferred: None,
        })
    }

    pub(crate) async fn renew(&self, request: RenewEphemeralRequest) -> Result<RenewEphemeralResponse, Diagnostic> {
        let (name, renew_ms, behave, renewed) = from_private(request.private.as_ref())?;
        let went = self.begin("renew", &request.type_name, &name, &behave).await?;
        self.note("renew", &request.type_name, &name)?;
        Ok(RenewEphemeralResponse {
            diagnostics: went.problems,
            renew_at: after(renew_ms),
            private: Some(private(&name, renew_ms, &behave, renewed + 1)),
        })
    }

    pub(crate) async fn close(&self, request: CloseEphemeralRequest) -> Result<ProblemsResponse, Diagnostic> {
        let (name, _, behave, _) = from_private(request.private.as_ref())?;
        let went = self.begin("close", &request.type_name, &name, &behave).await?;
        self.note("close", &request.type_name, &name)?;
        Ok(ProblemsResponse { diagnostics: went.problems })
    }

    pub(crate) fn note(&self, verb: &str, kind: &str, id: &str) -> Result<(), Diagnostic> {
        self.record().note(verb, kind, id, &self.instance()).map_err(|error| in_words(&error))
    }
}
