//! States: the current state version of a workspace, and new ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};
use yuba_net::http::Method;

use super::TfeStore;
use super::api::Reply;
use crate::kit::store::{LockCheck, Precondition, StoreError, StoreErrorKind, StoreVersion, Stored, Write};

/// Attempts to read a state that is replaced meanwhile.
const READ_ATTEMPTS: usize = 3;

/// Identity of a state that was read or written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The ID of the state version.
    version: String,
    serial: u64,
    lineage: String,
}

/// Serials that the server accepts for a state version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AcceptedSerials {
    /// Serials higher than that of the current version.
    Higher,
    /// All serials.
    All,
}

impl Head {
    /// Serial and lineage of a content, encrypted or not: both forms have them at the top.
    fn of(version: &str, content: &[u8]) -> Head {
        let document: Json = serde_json::from_slice(content).unwrap_or_default();
        Head {
            version: version.to_owned(),
            serial: document["serial"].as_u64().unwrap_or_default(),
            lineage: document["lineage"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Whether the server accepts a state as the successor of this one.
    fn precedes(&self, next: &Head) -> bool {
        self.lineage == next.lineage && self.serial < next.serial
    }
}

/// The current state version of a workspace.
struct Current {
    id: String,
    download: Option<String>,
}

impl TfeStore {
    /// The current state version; none if there is no state yet.
    fn current(&self, id: &str) -> Result<Option<Current>, StoreError> {
        let reply = self.api.get(&["workspaces", id, "current-state-version"], &[])?;
        if reply.is_success() {
            self.memory().interval = reply.interval;
        }
        let Some(data) = reply.found()? else { return Ok(None) };
        let id =
            data["id"].as_str().ok_or_else(|| StoreError::lasting("the server responded with a state without ID"))?;
        let download = data["attributes"]["hosted-state-download-url"].as_str();
        Ok(Some(Current { id: id.to_owned(), download: download.map(str::to_owned) }))
    }

    pub(super) fn read_state(&self, name: &str) -> Result<Option<Stored>, StoreError> {
        let Some(workspace) = self.known(name)? else { return Ok(None) };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let Some(current) = self.current(&workspace.id)? else {
                self.memory().heads.remove(name);
                return Ok(None);
            };
            let Some(url) = current.download else {
                return Err(StoreError::lasting("the server responded with a state without download URL"));
            };
            let content = match self.api.download(&url) {
                // URLs expire, and states that were replaced can be removed.
                Err(error) if error.kind == StoreErrorKind::Lasting && attempt < READ_ATTEMPTS => {
                    tracing::debug!(reason = %error, "reading the state again");
                    continue;
                }
                downloaded => downloaded?,
            };
            self.memory().heads.insert(name.to_owned(), Head::of(&current.id, &content));
            let version = StoreVersion(current.id);
            return Ok((!content.is_empty()).then_some(Stored { content, version }));
        }
    }

    pub(super) fn write_state(&self, name: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let id = self.id_of(name)?;
        let present = self.current(&id)?.map(|current| StoreVersion(current.id));
        // An empty state version counts as no state.
        let known = self.memory().heads.get(name).cloned();
        let is_read =
            known.as_ref().is_some_and(|known| present.as_ref().is_some_and(|there| there.0 == known.version));
        let holds = write.precondition.holds(present.as_ref())
            || write.precondition == Precondition::Absent
                && is_read
                && known.as_ref().is_some_and(|k| k.lineage.is_empty());
        if !holds {
            return Err(self.conflict(name, write, "the server has another state than the one that was read"));
        }
        let head = Head::of("", write.content);
        // The state follows the one that was read, as the caller has decided: the server must accept a lower serial as well.
        let serials = match present.is_some() && !known.is_some_and(|known| known.precedes(&head)) {
            true => AcceptedSerials::All,
            false => AcceptedSerials::Higher,
        };
        let document = self.new_version(write.content, &head, serials);
        let path = ["workspaces", id.as_str(), "state-versions"];
        let mut reply = self.api.send(Method::POST, &path, Some(&document))?;
        let mut uploads = true;
        if !reply.is_success() && reply.said().contains("param is missing or the value is empty: state") {
            // Quirk: old servers take the state in the document.
            let mut document = document;
            document["data"]["attributes"]["state"] = BASE64.encode(write.content).into();
            reply = self.api.send(Method::POST, &path, Some(&document))?;
            uploads = false;
        }
        let created = self.created(name, write, reply)?;
        let version = created["id"].as_str().unwrap_or_default().to_owned();
        if uploads {
            let url = created["attributes"]["hosted-state-upload-url"].as_str().filter(|url| !url.is_empty());
            let url =
                url.ok_or_else(|| StoreError::lasting("the server responded without upload URL for the state"))?;
            self.api.upload(url, write.content)?;
        }
        self.memory().heads.insert(name.to_owned(), Head { version: version.clone(), ..head });
        Ok(StoreVersion(version))
    }

    /// The document that creates a state version.
    fn new_version(&self, content: &[u8], head: &Head, serials: AcceptedSerials) -> Json {
        let force = serials == AcceptedSerials::All;
        let sum: String = Md5::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut attributes = json!({ "serial": head.serial, "md5": sum, "lineage": head.lineage, "force": force });
        if let Some(outputs) = outputs(content) {
            attributes["json-state-outputs"] = BASE64.encode(outputs).into();
        }
        let mut data = json!({ "type": "state-versions", "attributes": attributes });
        if let Some(run) = &self.run {
            data["relationships"]["run"] = json!({ "data": { "type": "runs", "id": run } });
        }
        json!({ "data": data })
    }

    fn created(&self, name: &str, write: &Write<'_>, reply: Reply) -> Result<Json, StoreError> {
        if reply.status == 409 || reply.status == 412 {
            return Err(self.conflict(name, write, &format!("the server refused the state: {}", reply.said())));
        }
        let data = reply.data()?;
        match data["id"].as_str() {
            Some(id) if !id.is_empty() => Ok(data),
            _ => Err(StoreError::lasting("the server responded with a state without ID")),
        }
    }

    /// A write that does not suit what the server has: because the lock of the run is gone, or because another process has
    /// written without one.
    fn conflict(&self, name: &str, write: &Write<'_>, reason: &str) -> StoreError {
        let lost = write.lock.and_then(|_| match self.check_workspace_lock(name) {
            Ok(LockCheck::Lost(lost)) => Some(lost),
            _ => None,
        });
        match lost {
            Some(lost) => StoreError::new(StoreErrorKind::LockLost, format!("{lost}, and {reason}")),
            None => StoreError::new(StoreErrorKind::Conflict, reason),
        }
    }
}

/// The outputs of a state with their types, in the form of the server. None if the state is encrypted: its outputs are secret then.
fn outputs(content: &[u8]) -> Option<String> {
    let (state, _) = yuba_state::read(content).ok()?;
    let mut all = String::from("{");
    for (name, output) in &state.outputs {
        let ty = output.value.ty();
        // The value is written as it is, with all digits of its numbers.
        let value = yuba_value::json::encode(&output.value, ty).ok()?;
        let deprecated = match output.deprecated.is_empty() {
            true => String::new(),
            false => format!(r#""deprecated":{},"#, Json::from(output.deprecated.as_str())),
        };
        let comma = if all.len() > 1 { "," } else { "" };
        let (name, sensitive) = (Json::from(name.as_str()), output.sensitive);
        let ty = yuba_value::json::encode_type(ty);
        all.push_str(&format!(r#"{comma}{name}:{{"sensitive":{sensitive},{deprecated}"value":{value},"type":{ty}}}"#));
    }
    all.push('}');
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_values_and_types() {
        let state = br#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"l","outputs":{
            "big":{"value":123456789012345678901,"type":"number"},
            "list":{"value":["a"],"type":["list","string"],"sensitive":true}},"resources":[],"check_results":null}"#;
        let expected = concat!(
            r#"{"big":{"sensitive":false,"value":123456789012345678901,"type":"number"},"#,
            r#""list":{"sensitive":true,"value":["a"],"type":["list","string"]}}"#
        );
        assert_eq!(outputs(state).as_deref(), Some(expected));
        assert_eq!(
            outputs(br#"{"serial":1,"lineage":"l","meta":{},"encrypted_data":"x","encryption_version":"v0"}"#),
            None
        );
    }
}
