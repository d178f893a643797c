//! The last resort for a state that its backend could not save.

use std::path::Path;

use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::diagnostics;
use crate::encryption::Sealing;
use crate::files::{Access, StateFiles, replace};
use crate::store::WayBack;

/// The name of the file in the working directory.
pub const ERRORED_STATE: &str = "errored.tfstate";

/// Outcome for a state that could not be saved.
#[derive(Debug)]
pub struct LastResort {
    /// Its file and the advice.
    pub diagnostics: Diagnostics,
    /// The state as text, to be printed because it could not be written anywhere.
    pub print: Option<Vec<u8>>,
}

/// Writes a state to `errored.tfstate` in a directory. A file of an earlier failure is not overwritten.
pub fn save_errored(
    files: &dyn StateFiles,
    directory: &Path,
    state: &State,
    sealing: Option<&Sealing>,
    way: &WayBack,
) -> LastResort {
    let path = directory.join(ERRORED_STATE);
    let mut content = Vec::new();
    yuba_state::write(state, &mut content);
    if let Some(sealing) = sealing {
        content = match sealing.seal(&content, Some((state.serial, &state.lineage))) {
            Ok(content) => content,
            // Not even here in clear text.
            Err(problem) => return LastResort { diagnostics: problem.into(), print: None },
        };
    }
    let _span = tracing::debug_span!("write file", path = %path.display(), bytes = content.len()).entered();
    let write = || {
        if files.exists(&path)? {
            crate::local::snapshot::put_aside(files, &path, "older")?;
        }
        replace(files, &path, &content, Access::Private)
    };
    match write() {
        Ok(()) => LastResort { diagnostics: diagnostics::errored_written(&path, way).into(), print: None },
        Err(error) => {
            let mut said = Diagnostics::from(diagnostics::errored_not_written(&path, &error));
            said.push(diagnostics::errored_printed(way));
            LastResort { diagnostics: said, print: Some(content) }
        }
    }
}
