//! The record of `init` about the backend in the data directory, in OpenTofu's format. With it a command notices that the state
//! was stored somewhere else before, instead of starting with an empty one.

mod hash;

use std::fs;
use std::io;
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
    /// The backend with the arguments of its block and of `-backend-config`, if this version supports it.
    pub(crate) configuration: Option<BackendConfiguration>,
    /// The hash of its block, without `-backend-config`.
    hash: u64,
}

impl Initialized {
    /// Whether the block is the one that `init` was run with, whatever `-backend-config` added.
    pub(crate) fn has_hash_of(&self, block: &BackendConfiguration) -> bool {
        self.kind == block.kind() && self.hash == hash::of_block(block)
    }

    /// Whether a backend has the same type and the same arguments, none left out.
    pub(crate) fn equals(&self, other: &BackendConfiguration) -> bool {
        let known = self.configuration.as_ref();
        known.is_some_and(|known| known.kind() == other.kind() && known.arguments() == other.arguments())
    }
}

/// The path of the record.
pub(crate) fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("terraform.tfstate")
}

/// Reads the record. Returns none if no backend was used.
pub(crate) fn read(project: &Project) -> Result<Option<Initialized>, Diagnostic> {
    let shown = file(project.data_dir());
    let content = match fs::read(project.path(&shown)) {
        Ok(content) if content.is_empty() => return Ok(None),
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(diagnostics::backend_record_not_read(&shown, &error.to_string())),
    };
    let content: Json = serde_json::from_slice(&content)
        .map_err(|error| diagnostics::backend_record_not_read(&shown, &error.to_string()))?;
    let kind = content.pointer("/backend/type").and_then(Json::as_str).filter(|kind| !kind.is_empty());
    let Some(kind) = kind else { return Ok(None) };
    let row = project.backends().find(kind).filter(BackendKind::is_available);
    // A record without arguments means that none are set.
    let arguments = content.pointer("/backend/config").unwrap_or(&Json::Null);
    let hash = content.pointer("/backend/hash").and_then(Json::as_u64).unwrap_or_default();
    let configuration = row.map(|row| BackendConfiguration::of_json(row, arguments));
    Ok(Some(Initialized { kind: kind.to_owned(), configuration, hash }))
}

/// Writes the record of a backend and of its block, or of the absence of a backend. The record has the arguments that
/// the user wrote: no values of environment variables and no defaults.
pub(crate) fn write(
    project: &Project,
    used: Option<(&BackendConfiguration, &BackendConfiguration)>,
) -> Result<(), Diagnostic> {
    let shown = file(project.data_dir());
    let content = match used {
        None => json!({ "version": 3 }),
        Some((used, block)) => json!({
            "version": 3,
            "backend": { "type": used.kind(), "config": used.recorded().to_json(), "hash": hash::of_block(block) },
        }),
    };
    let path = project.path(&shown);
    let write = || {
        fs::create_dir_all(project.path(project.data_dir()))?;
        write_private(&path, format!("{content:#}\n").as_bytes())
    };
    write().map_err(|error| diagnostics::backend_record_not_written(&shown, &error))
}
