//! Changes of one object of a state, from its stored versions.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use yuba_backend::{ObjectVersion, StateCommit};

/// A change of an object in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// The key of a deposed object.
    pub deposed: Option<String>,
    /// Names of the attributes that differ from the version before.
    pub attributes: Vec<String>,
    /// The commit that made the change.
    pub commit: StateCommit,
}

/// Kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The state has the object from here on.
    Created,
    /// Attributes have changed.
    Changed,
    /// Something else has changed, such as its dependencies.
    Updated,
    /// It is tainted.
    Tainted,
    /// It is no longer tainted.
    Untainted,
    /// The state no longer has the object.
    Removed,
}

impl ChangeKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Created => "created",
            ChangeKind::Changed => "changed",
            ChangeKind::Updated => "updated",
            ChangeKind::Tainted => "tainted",
            ChangeKind::Untainted => "untainted",
            ChangeKind::Removed => "removed",
        }
    }
}

/// Changes between versions, in their order.
pub(crate) fn changes(versions: &[ObjectVersion]) -> Vec<ObjectChange> {
    let mut found: Vec<ObjectChange> = Vec::new();
    let mut before: BTreeMap<Option<&str>, &ObjectVersion> = BTreeMap::new();
    for (at, version) in versions.iter().enumerate() {
        let deposed = version.deposed.as_deref();
        let previous = before.insert(deposed, version);
        // A version that ends where the next one begins was replaced, not removed.
        let previous = previous.filter(|previous| ends_at(previous) == Some(version.begin.revision));
        let attributes = previous.map(|previous| differing(previous, version)).unwrap_or_default();
        let kind = match previous {
            None => ChangeKind::Created,
            Some(previous) if version.is_tainted && !previous.is_tainted => ChangeKind::Tainted,
            Some(previous) if !version.is_tainted && previous.is_tainted => ChangeKind::Untainted,
            Some(_) if attributes.is_empty() => ChangeKind::Updated,
            Some(_) => ChangeKind::Changed,
        };
        let deposed = version.deposed.clone();
        found.push(ObjectChange { kind, deposed: deposed.clone(), attributes, commit: version.begin.clone() });
        let is_replaced = versions[at + 1..]
            .iter()
            .any(|next| next.deposed == version.deposed && ends_at(version) == Some(next.begin.revision));
        if let Some(commit) = version.end.clone().filter(|_| !is_replaced) {
            found.push(ObjectChange { kind: ChangeKind::Removed, deposed, attributes: Vec::new(), commit });
        }
    }
    found.sort_by_key(|change| change.commit.revision);
    found
}

fn ends_at(version: &ObjectVersion) -> Option<i64> {
    version.end.as_ref().map(|end| end.revision)
}

/// Names of the attributes that differ.
fn differing(one: &ObjectVersion, other: &ObjectVersion) -> Vec<String> {
    let (one, other) = (attributes(one), attributes(other));
    let mut names: Vec<&String> =
        one.keys().chain(other.keys()).filter(|name| one.get(*name) != other.get(*name)).collect();
    names.sort();
    names.dedup();
    names.into_iter().cloned().collect()
}

fn attributes(version: &ObjectVersion) -> Map<String, Json> {
    let object: Map<String, Json> = serde_json::from_str(&version.object).unwrap_or_default();
    let found = object.get("attributes").or_else(|| object.get("attributes_flat"));
    found.and_then(Json::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(deposed: Option<&str>, object: &str, begin: i64, end: Option<i64>) -> ObjectVersion {
        let commit = |revision| StateCommit { revision, ..StateCommit::default() };
        ObjectVersion {
            deposed: deposed.map(str::to_owned),
            is_tainted: object.contains("tainted"),
            object: object.to_owned(),
            begin: commit(begin),
            end: end.map(commit),
        }
    }

    #[test]
    fn versions_become_changes() {
        let versions = [
            version(None, r#"{"attributes":{"a":1,"b":1}}"#, 1, Some(2)),
            version(None, r#"{"attributes":{"a":2,"c":1}}"#, 2, Some(3)),
            version(None, r#"{"attributes":{"a":2,"c":1},"x":"tainted"}"#, 3, Some(4)),
            version(Some("0badcafe"), r#"{"attributes":{"a":2,"c":1}}"#, 4, Some(6)),
            version(None, r#"{"attributes":{"a":3}}"#, 5, None),
        ];
        let found = changes(&versions);
        let seen: Vec<_> = found
            .iter()
            .map(|change| {
                let deposed = if change.deposed.is_some() { " deposed" } else { "" };
                format!("{} {}{deposed} {}", change.commit.revision, change.kind.name(), change.attributes.join(","))
            })
            .collect();
        let expected = [
            "1 created ",
            "2 changed a,b,c",
            "3 tainted ",
            "4 removed ",
            "4 created deposed ",
            "5 created ",
            "6 removed deposed ",
        ];
        assert_eq!(seen, expected);
    }
}
