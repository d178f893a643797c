//! Copies of two states in a temporary directory, so that the user can compare them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yuba_state::State;

use crate::replace::write_private;

/// Two files, which are removed with the value.
pub(super) struct Inspection {
    directory: PathBuf,
    /// The state of the previous backend.
    pub(super) source: PathBuf,
    /// The state of the new backend.
    pub(super) destination: PathBuf,
}

impl Inspection {
    /// Writes both states, with the types of their backends. Only the user can read them: they are not encrypted.
    pub(super) fn write(
        below: &Path,
        (old, source): (&str, &State),
        (new, destination): (&str, &State),
    ) -> io::Result<Inspection> {
        let directory = below.join(format!("yuba-migration-{}", yuba_backend::new_uuid()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&directory)?;
        let inspection = Inspection {
            source: directory.join(format!("1-{old}.tfstate")),
            destination: directory.join(format!("2-{new}.tfstate")),
            directory,
        };
        for (path, state) in [(&inspection.source, source), (&inspection.destination, destination)] {
            let mut content = Vec::new();
            yuba_state::write(state, &mut content);
            write_private(path, &content)?;
        }
        Ok(inspection)
    }
}

impl Drop for Inspection {
    fn drop(&mut self) {
        // The directory for temporary files is cleared sooner or later.
        let _ = fs::remove_dir_all(&self.directory);
    }
}
