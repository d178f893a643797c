//! What `init` keeps about the backend in the data directory, as OpenTofu keeps it there: with it a command notices that the
//! state was somewhere else before, instead of starting with an empty one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use yuba_backend::LocalSettings;
use yuba_syntax::Diagnostic;

use crate::replace::write_private;

/// The backend that was used last.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Initialized {
    /// Its type.
    pub(crate) kind: String,
    /// `path` of the backend `local`.
    path: Option<PathBuf>,
    /// `workspace_dir` of the backend `local`.
    workspace_dir: Option<PathBuf>,
}

/// The file that tells.
pub(crate) fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("terraform.tfstate")
}

/// Reads it; none if no backend was used.
pub(crate) fn read(data_dir: &Path) -> Option<Initialized> {
    let content: Json = serde_json::from_slice(&fs::read(file(data_dir)).ok()?).unwrap_or_default();
    let text = |at: &str| content.pointer(at).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Initialized {
        kind: text("/backend/type")?,
        path: text("/backend/config/path").map(PathBuf::from),
        workspace_dir: text("/backend/config/workspace_dir").map(PathBuf::from),
    })
}

impl Initialized {
    /// Where the state is as long as nobody says otherwise.
    pub(crate) fn by_default() -> Initialized {
        Initialized { kind: "local".to_owned(), path: None, workspace_dir: None }
    }

    /// The backend as it was.
    pub(crate) fn settings(&self) -> LocalSettings {
        LocalSettings {
            path: self.path.clone(),
            workspace_directory: self.workspace_dir.clone(),
            ..LocalSettings::default()
        }
    }

    /// Whether the state was where it is now.
    pub(crate) fn is(&self, settings: &LocalSettings) -> bool {
        let same = |was: &Option<PathBuf>, is: &Option<PathBuf>, by_default: &str| {
            let by_default = Path::new(by_default);
            was.as_deref().unwrap_or(by_default) == is.as_deref().unwrap_or(by_default)
        };
        self.kind == "local"
            && same(&self.path, &settings.path, "terraform.tfstate")
            && same(&self.workspace_dir, &settings.workspace_directory, "terraform.tfstate.d")
    }

    /// Where the state was, for people.
    pub(crate) fn place(&self) -> String {
        let path = self.path.as_deref().unwrap_or(Path::new("terraform.tfstate"));
        format!("the file {}", path.display())
    }
}

/// Keeps what is used now: none where the configuration has no backend.
pub(crate) fn write(data_dir: &Path, settings: Option<&LocalSettings>) -> Result<(), Diagnostic> {
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
    let text = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let config = json!({ "path": text(&settings.path), "workspace_dir": text(&settings.workspace_directory) });
    // OpenTofu compares the arguments where this number is not the one it would write.
    let content = json!({ "version": 3, "backend": { "type": "local", "config": config, "hash": 0 } });
    let write = || {
        fs::create_dir_all(data_dir)?;
        write_private(&path, format!("{content:#}\n").as_bytes())
    };
    write().map_err(failed)
}
