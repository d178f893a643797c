//! State versions of the TFE server, and the host with their contents.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{Call, Shared, TfeWorkspace, document, refused};
use crate::servers::digest::md5;
use crate::{Asked, Reply};

/// A state version.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) id: String,
    serial: u64,
    lineage: String,
    md5: String,
    /// What the URL of the content contains, and no ID does.
    secret: String,
    /// None until it is uploaded.
    pub(super) content: Option<Vec<u8>>,
}

impl Version {
    pub(super) fn to_json(&self, archive: &str) -> Json {
        let url = |kind: &str| format!("{archive}/{kind}/{}", self.secret);
        let is_stored = self.content.is_some();
        let attributes = json!({
            "serial": self.serial, "status": if is_stored { "finalized" } else { "pending" }, "resources-processed": is_stored,
            "hosted-state-download-url": url("object"), "hosted-state-upload-url": url("object"),
            "hosted-json-state-upload-url": url("json"), "hosted-json-state-download-url": url("json"),
        });
        json!({ "id": self.id, "type": "state-versions", "attributes": attributes })
    }

    fn state(&self) -> Json {
        serde_json::from_slice(self.content.as_deref().unwrap_or_default()).unwrap_or_default()
    }

    /// The outputs of the state. Values that are sensitive come one by one.
    pub(super) fn outputs(&self) -> Vec<Json> {
        let state = self.state();
        let outputs = state["outputs"].as_object().cloned().unwrap_or_default();
        let output = |(name, output): (&String, &Json)| self.output(name, output, output["sensitive"] != true);
        outputs.iter().map(output).collect()
    }

    fn output(&self, name: &str, output: &Json, is_shown: bool) -> Json {
        let attributes = json!({
            "name": name, "sensitive": output["sensitive"] == true, "type": "string", "detailed-type": output["type"],
            "value": if is_shown { output["value"].clone() } else { Json::Null },
        });
        json!({ "id": format!("wsout-{}-{name}", self.id), "type": "state-version-outputs", "attributes": attributes })
    }
}

impl TfeWorkspace {
    pub(super) fn manages_objects(&self) -> bool {
        let state = self.current().map(Version::state).unwrap_or_default();
        state["resources"].as_array().is_some_and(|all| all.iter().any(|resource| resource["mode"] == "managed"))
    }
}

impl Shared {
    /// One output with its value, by its ID.
    pub(super) fn output(&self, id: &str) -> Option<Reply> {
        let mut versions = self.workspaces.iter().filter_map(TfeWorkspace::current);
        let (version, name) =
            versions.find_map(|version| Some((version, id.strip_prefix(&format!("wsout-{}-", version.id))?)))?;
        let state = version.state();
        let output = state["outputs"].get(name)?;
        Some(document(200, &json!({ "data": version.output(name, output, true) })))
    }

    pub(super) fn new_version(&mut self, call: &Call<'_>, at: usize) -> Result<Reply, Reply> {
        let attributes = call.attributes("state-versions")?.clone();
        let text = |name: &str| attributes[name].as_str().unwrap_or_default().to_owned();
        let Some(serial) = attributes["serial"].as_u64() else {
            return Err(refused(422, "invalid attribute", "serial"));
        };
        if text("md5").len() != 32 {
            return Err(refused(422, "invalid attribute", "Md5 can't be blank"));
        }
        if let Some(outputs) = attributes["json-state-outputs"].as_str() {
            let outputs: Option<Json> = from_base64(outputs).and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if !outputs.is_some_and(|outputs| outputs.is_object()) {
                return Err(refused(
                    422,
                    "invalid attribute",
                    "json-state-outputs is not the base64 form of a JSON object",
                ));
            }
        }
        if self.inline_states && attributes["state"].is_null() {
            return Err(refused(400, "bad request", "param is missing or the value is empty: state"));
        }
        let workspace = &self.workspaces[at];
        match &workspace.lock {
            Some((kind, id, _)) if kind == "users" && *id == call.user => {}
            Some(_) => return Err(refused(409, "conflict", "The workspace is locked by another user")),
            None => {
                return Err(refused(
                    409,
                    "conflict",
                    "The workspace must be locked by the user that creates a state version",
                ));
            }
        }
        let is_forced = attributes["force"] == true;
        if let Some(current) = workspace.current().filter(|_| !is_forced) {
            if current.lineage != text("lineage") {
                return Err(refused(409, "conflict", "The lineage differs from that of the current state version"));
            }
            let is_same = current.serial == serial && current.md5 == text("md5");
            if serial <= current.serial && !is_same {
                return Err(refused(
                    409,
                    "conflict",
                    "The serial is not higher than that of the current state version",
                ));
            }
        }
        let content = attributes["state"].as_str().and_then(from_base64);
        if content.as_deref().is_some_and(|content| hex(&md5(content)) != text("md5")) {
            return Err(refused(422, "invalid attribute", "Md5 does not match the state"));
        }
        let (id, secret) = (self.id("sv"), self.id("secret"));
        let version = Version { id, serial, lineage: text("lineage"), md5: text("md5"), secret, content };
        let reply = document(201, &json!({ "data": version.to_json(&self.archive) }));
        self.workspaces[at].versions.push(version);
        Ok(self.with_interval(reply))
    }

    /// A request to the host with the contents.
    pub(super) fn archived(&mut self, asked: &Asked) -> Reply {
        let Some((kind, secret)) = asked.path().trim_start_matches('/').split_once('/') else {
            return Reply::status(404);
        };
        let mut versions = self.workspaces.iter_mut().flat_map(|workspace| &mut workspace.versions);
        let Some(version) = versions.find(|version| version.secret == secret) else {
            return Reply::status(404);
        };
        match (asked.method.as_str(), kind) {
            ("PUT", _) if asked.header("authorization").is_some() => Reply::status(403),
            ("PUT", _) if asked.header("content-type") != Some("application/octet-stream") => Reply::status(415),
            ("PUT", "object") if hex(&md5(&asked.bytes)) != version.md5 => Reply::status(400),
            ("PUT", "object") => {
                version.content = Some(asked.bytes.clone());
                Reply::status(200)
            }
            ("PUT", "json") => Reply::status(200),
            ("GET", "object") => match &version.content {
                Some(content) => Reply::ok(content.clone()).with("Content-Type", "application/octet-stream"),
                None => Reply::status(404),
            },
            _ => Reply::status(404),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of base64 with padding.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let padding = group.iter().filter(|byte| **byte == b'=').count();
        let mut bits = 0_u32;
        for byte in group {
            let digit = if *byte == b'=' { 0 } else { DIGITS.iter().position(|digit| digit == byte)? };
            bits = (bits << 6) | u32::try_from(digit).ok()?;
        }
        let three = bits.to_be_bytes();
        bytes.extend_from_slice(three.get(1..4 - padding.min(2))?);
    }
    text.len().is_multiple_of(4).then_some(bytes)
}
