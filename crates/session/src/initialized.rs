//! What `init` keeps about the backend in the data directory, as OpenTofu keeps it there: with it a command notices that the
//! state was somewhere else before, instead of starting with an empty one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use yuba_backend::{BackendConfiguration, BackendKind};
use yuba_syntax::Diagnostic;

use crate::backend::diagnostics;
use crate::project::Project;
use crate::replace::write_private;

/// The backend that was used last.
#[derive(Debug)]
pub(crate) struct Initialized {
    /// Its type.
    pub(crate) kind: String,
    /// The backend, if it is one that we have.
    pub(crate) configuration: Option<BackendConfiguration>,
    /// What its block said, where `-backend-config` said otherwise.
    pub(crate) block: Option<BackendConfiguration>,
}

impl Initialized {
    /// Whether it is what a block stands for.
    pub(crate) fn is_for(&self, block: &BackendConfiguration) -> bool {
        [&self.block, &self.configuration].into_iter().flatten().any(|known| known.is_same_location(block))
    }
}

/// The file that tells.
pub(crate) fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("terraform.tfstate")
}

/// Reads it; none if no backend was used.
pub(crate) fn read(project: &Project) -> Option<Initialized> {
    let path = project.path(file(project.data_dir()));
    let content: Json = serde_json::from_slice(&fs::read(path).ok()?).unwrap_or_default();
    let kind = content.pointer("/backend/type").and_then(Json::as_str).filter(|kind| !kind.is_empty())?;
    let row = project.backends().find(kind).filter(BackendKind::is_available);
    let stored = |at: &str| Some(BackendConfiguration::of_json(row?, content.pointer(at)?));
    // A record without arguments means that none are set.
    let configuration = stored("/backend/config").or_else(|| Some(BackendConfiguration::of_json(row?, &Json::Null)));
    Some(Initialized { kind: kind.to_owned(), configuration, block: stored("/backend/block") })
}

/// Keeps what is used now, and what its block says: none where the configuration has no backend.
pub(crate) fn write(
    project: &Project,
    used: Option<(&BackendConfiguration, &BackendConfiguration)>,
) -> Result<(), Diagnostic> {
    let shown = file(project.data_dir());
    let path = project.path(&shown);
    let failed = |error: std::io::Error| diagnostics::backend_record_not_written(&shown, &error);
    let Some((used, block)) = used else {
        return match read(project) {
            Some(_) => fs::remove_file(&path).map_err(failed),
            None => Ok(()),
        };
    };
    // OpenTofu compares the arguments where this number is not the one it would write.
    let mut backend = json!({ "type": used.kind(), "config": used.arguments().to_json(), "hash": 0 });
    if !used.is_same_location(block) {
        backend["block"] = block.arguments().to_json();
    }
    let content = json!({ "version": 3, "backend": backend });
    let write = || {
        fs::create_dir_all(project.path(project.data_dir()))?;
        write_private(&path, format!("{content:#}\n").as_bytes())
    };
    write().map_err(failed)
}
