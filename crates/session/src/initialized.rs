//! What `init` keeps about the backend in the data directory, as OpenTofu keeps it there: with it a command notices that the
//! state was somewhere else before, instead of starting with an empty one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use yuba_syntax::Diagnostic;

use crate::backend::BackendSettings;
use crate::diagnostics;
use crate::replace::write_private;

/// The backend that was used last.
#[derive(Debug)]
pub(crate) struct Initialized {
    /// Its type.
    pub(crate) kind: String,
    /// The backend, if it is one that we have.
    pub(crate) settings: Option<BackendSettings>,
    /// What its block said, where `-backend-config` said otherwise.
    pub(crate) block: Option<BackendSettings>,
}

impl Initialized {
    /// Whether it is what a block stands for.
    pub(crate) fn is_for(&self, block: &BackendSettings) -> bool {
        [&self.block, &self.settings].into_iter().flatten().any(|known| known.is_same_place(block))
    }
}

/// The file that tells.
pub(crate) fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("terraform.tfstate")
}

/// Reads it; none if no backend was used.
pub(crate) fn read(data_dir: &Path) -> Option<Initialized> {
    let content: Json = serde_json::from_slice(&fs::read(file(data_dir)).ok()?).unwrap_or_default();
    let text = |at: &str| content.pointer(at).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let kind = text("/backend/type")?;
    let settings = BackendSettings::new(&kind, |name| text(&format!("/backend/config/{name}")));
    let block = content
        .pointer("/backend/block")
        .and_then(|_| BackendSettings::new(&kind, |name| text(&format!("/backend/block/{name}"))));
    Some(Initialized { kind, settings, block })
}

/// Keeps what is used now, and what its block says: none where the configuration has no backend.
pub(crate) fn write(data_dir: &Path, used: Option<(&BackendSettings, &BackendSettings)>) -> Result<(), Diagnostic> {
    let path = file(data_dir);
    let failed = |error: std::io::Error| diagnostics::backend_record_not_written(&path, &error);
    let Some((settings, block)) = used else {
        return match read(data_dir) {
            Some(_) => fs::remove_file(&path).map_err(failed),
            None => Ok(()),
        };
    };
    // OpenTofu compares the arguments where this number is not the one it would write.
    let mut backend = json!({ "type": settings.kind(), "config": settings.arguments(), "hash": 0 });
    if !settings.is_same_place(block) {
        backend["block"] = block.arguments();
    }
    let content = json!({ "version": 3, "backend": backend });
    let write = || {
        fs::create_dir_all(data_dir)?;
        write_private(&path, format!("{content:#}\n").as_bytes())
    };
    write().map_err(failed)
}
