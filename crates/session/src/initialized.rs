//! What `init` keeps about the backend in the data directory, as OpenTofu keeps it there: with it a command notices that the
//! state was somewhere else before, instead of starting with an empty one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use yuba_syntax::Diagnostic;

use crate::backend::BackendSettings;
use crate::replace::write_private;

/// The backend that was used last.
#[derive(Debug)]
pub(crate) struct Initialized {
    /// Its type.
    pub(crate) kind: String,
    /// The backend, if it is one that we have.
    pub(crate) settings: Option<BackendSettings>,
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
    Some(Initialized { kind, settings })
}

/// Keeps what is used now: none where the configuration has no backend.
pub(crate) fn write(data_dir: &Path, settings: Option<&BackendSettings>) -> Result<(), Diagnostic> {
    let path = file(data_dir);
    let failed = |error: std::io::Error| {
        let detail = format!("The record of the backend {} could not be written: {error}.", path.display());
        Diagnostic::error("Failed to save backend configuration", detail)
    };
    let Some(settings) = settings else {
        return match read(data_dir) {
            Some(_) => fs::remove_file(&path).map_err(failed),
            None => Ok(()),
        };
    };
    // OpenTofu compares the arguments where this number is not the one it would write.
    let backend = json!({ "type": settings.kind(), "config": settings.arguments(), "hash": 0 });
    let content = json!({ "version": 3, "backend": backend });
    let write = || {
        fs::create_dir_all(data_dir)?;
        write_private(&path, format!("{content:#}\n").as_bytes())
    };
    write().map_err(failed)
}
