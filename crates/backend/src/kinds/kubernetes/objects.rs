//! Secrets and Leases: their names, labels and contents, as OpenTofu writes them.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use crate::kit::requests::STATE_LIMIT;
use crate::lock::LockHolder;

/// The label of everything that belongs to a state, and the key of the data.
pub(super) const STATE: &str = "tfstate";
/// The label with the argument `secret_suffix`.
pub(super) const SUFFIX: &str = "tfstateSecretSuffix";
/// The label with the workspace.
pub(super) const WORKSPACE: &str = "tfstateWorkspace";
/// The annotation of a Lease that describes its holder.
const LOCK_INFO: &str = "app.terraform.io/lock-info";
/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// The longest value of a label.
const LONGEST_LABEL: usize = 63;

/// The name of the Secret of a workspace.
pub(super) fn secret_name(workspace: &str, suffix: &str) -> String {
    format!("{STATE}-{workspace}-{suffix}")
}

/// The name of the Lease of a workspace.
pub(super) fn lease_name(workspace: &str, suffix: &str) -> String {
    format!("lock-{}", secret_name(workspace, suffix))
}

/// Why a name of an object or a value of a label is not valid; none if both are. Parts of sentences.
pub(super) fn problem_of_name(part: &str, whole: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    // Parts between dots start and end with a letter or digit.
    let is_valid = |label: &str| label.starts_with(is_plain) && label.ends_with(is_plain);
    if !(part.chars().all(|c| is_plain(c) || matches!(c, '-' | '.')) && whole.split('.').all(is_valid)) {
        return Some(format!(
            "the name \"{whole}\" is not valid for a Secret. It consists of lower case letters, digits, \"-\" and \".\", and each part \
             between dots starts and ends with a letter or digit"
        ));
    }
    if whole.len() > LONGEST_NAME {
        return Some(format!("the name \"{whole}\" is longer than {LONGEST_NAME} characters"));
    }
    let is_label = part.len() <= LONGEST_LABEL && is_valid(part);
    (!is_label).then(|| {
        format!(
            "\"{part}\" is not valid as the value of a label. It has 1 to {LONGEST_LABEL} characters, and starts and ends with a letter \
             or digit"
        )
    })
}

/// Labels of the objects of a workspace. Those of the configuration win, as they do with OpenTofu.
fn labels(workspace: &str, suffix: &str, more: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let own =
        [(STATE, "true"), (SUFFIX, suffix), (WORKSPACE, workspace), ("app.kubernetes.io/managed-by", "terraform")];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.chain(more.iter().map(|(name, value)| (name.clone(), value.clone()))).collect()
}

/// A workspace with its labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) workspace: &'a str,
    pub(super) suffix: &'a str,
    pub(super) labels: &'a BTreeMap<String, String>,
}

impl Owner<'_> {
    /// A Secret with a payload.
    pub(super) fn secret(&self, payload: &str) -> Json {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": secret_name(self.workspace, self.suffix),
                "labels": labels(self.workspace, self.suffix, self.labels),
                "annotations": { "encoding": "gzip" },
            },
            "data": { STATE: payload },
        })
    }

    /// A Lease with a holder.
    pub(super) fn lease(&self, holder: &LockHolder) -> Json {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": lease_name(self.workspace, self.suffix),
                "labels": labels(self.workspace, self.suffix, self.labels),
            },
        });
        with_holder(lease, holder)
    }
}

/// Whether an object belongs to a state.
pub(super) fn is_labelled(object: &Json) -> bool {
    object.pointer("/metadata/labels").and_then(|labels| labels.get(STATE)).and_then(Json::as_str) == Some("true")
}

/// The compressed state in a Secret, in Base64; none if it has no state.
pub(super) fn payload(secret: &Json) -> Option<&str> {
    secret.get("data")?.get(STATE)?.as_str()
}

/// The Secret with another payload. Everything else in it stays.
pub(super) fn with_payload(mut secret: Json, payload: &str) -> Json {
    if !secret.get("data").is_some_and(Json::is_object) {
        secret["data"] = json!({});
    }
    secret["data"][STATE] = json!(payload);
    secret
}

/// A state as a payload.
pub(super) fn compressed(content: &[u8]) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    let bytes = encoder.write_all(content).and_then(|()| encoder.finish());
    STANDARD.encode(bytes.expect("because memory takes every byte"))
}

/// The state in a payload. The error is part of a sentence.
pub(super) fn expanded(payload: &str) -> Result<Vec<u8>, String> {
    let bytes = STANDARD.decode(payload).map_err(|_| "its data is not valid Base64")?;
    let mut content = Vec::new();
    let read = GzDecoder::new(bytes.as_slice()).take(STATE_LIMIT + 1).read_to_end(&mut content);
    read.map_err(|error| format!("its data is not a complete gzip stream: {error}"))?;
    match content.len() as u64 > STATE_LIMIT {
        true => Err(format!("the state is larger than {STATE_LIMIT} bytes")),
        false => Ok(content),
    }
}

/// The id of the lock that holds a Lease.
pub(super) fn holder_id(lease: &Json) -> Option<&str> {
    lease.pointer("/spec/holderIdentity").and_then(Json::as_str)
}

/// The holder of a Lease. A description that cannot be read is quoted in the lock of an unknown process.
pub(super) fn holder(lease: &Json) -> Option<LockHolder> {
    let id = holder_id(lease)?.to_owned();
    let described = lease.pointer("/metadata/annotations").and_then(|all| all.get(LOCK_INFO)).and_then(Json::as_str);
    let info = match described {
        None => format!("the Lease has no annotation {LOCK_INFO}"),
        Some(text) => match LockHolder::from_json(text.as_bytes()) {
            Some(holder) => return Some(LockHolder { id, ..holder }),
            None => {
                let text: String = text.chars().take(200).collect();
                format!("the annotation {LOCK_INFO} of the Lease is {text:?}")
            }
        },
    };
    let nothing = String::new;
    Some(LockHolder {
        id,
        operation: nothing(),
        info,
        who: nothing(),
        version: nothing(),
        created: None,
        path: nothing(),
    })
}

/// The Lease with a holder.
pub(super) fn with_holder(mut lease: Json, holder: &LockHolder) -> Json {
    for (parent, child) in [("metadata", "annotations"), ("spec", "")] {
        if !lease.get(parent).is_some_and(Json::is_object) {
            lease[parent] = json!({});
        }
        if !child.is_empty() && !lease[parent].get(child).is_some_and(Json::is_object) {
            lease[parent][child] = json!({});
        }
    }
    lease["metadata"]["annotations"][LOCK_INFO] = json!(holder.to_json());
    lease["spec"]["holderIdentity"] = json!(holder.id);
    lease
}

/// The Lease without a holder.
pub(super) fn without_holder(mut lease: Json) -> Json {
    if let Some(annotations) = lease.pointer_mut("/metadata/annotations").and_then(Json::as_object_mut) {
        annotations.remove(LOCK_INFO);
    }
    if let Some(spec) = lease.pointer_mut("/spec").and_then(Json::as_object_mut) {
        spec.remove("holderIdentity");
    }
    lease
}
