//! States from files that were named on the command line, whatever backend there is.

use std::io;
use std::path::Path;

use yuba_backend::StateFiles;
use yuba_backend::encryption::Sealing;
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics};

use crate::diagnostics;

/// The state in a file that the caller has read, or in standard input, whose name is `-`.
pub fn read_given(name: &str, content: io::Result<Vec<u8>>) -> Result<State, Diagnostic> {
    let content = content.map_err(|error| diagnostics::unopenable_state(name, &error))?;
    match yuba_state::read(&content) {
        Ok((state, _)) => Ok(state),
        Err(problems) => Err(diagnostics::unreadable_given_state(name, &problems)),
    }
}

/// Reads a state file, which may be encrypted; the error says why not, as several problems where the content is to blame.
pub fn read_file(files: &dyn StateFiles, path: &Path, sealing: Option<&Sealing>) -> Result<State, Diagnostics> {
    let content =
        files.read(path).map_err(|error| diagnostics::unopenable_state(&path.display().to_string(), &error))?;
    match (yuba_state::read(&content), sealing) {
        (Ok((state, _)), _) => Ok(state),
        (Err(problems), None) => Err(problems),
        (Err(_), Some(sealing)) => {
            let clear = sealing.unseal(&content, |_| true)?.content;
            yuba_state::read(&clear).map(|(state, _)| state)
        }
    }
}
