//! Objects that tests created and that still exist: their addresses, and the file of their state for manual removal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ecow::{EcoString, eco_format};
use yuba_addrs::ResourceMode;
use yuba_state::State;
use yuba_syntax::Diagnostics;

use super::sealing::TestSealing;
use super::{InterruptReport, Leftover};

/// File of the state of objects that could not be destroyed.
const ERRORED_STATE: &str = "errored_test.tfstate";

/// The objects of managed resources in a state.
pub(super) fn objects(state: &State) -> Vec<Leftover> {
    let mut found = Vec::new();
    for (addr, _, instance) in state.instances() {
        if addr.resource.mode == ResourceMode::Managed {
            found.extend(instance.objects().map(|(deposed, _)| (addr.clone(), deposed.cloned())));
        }
    }
    found
}

/// Existing objects of all running files.
pub(super) struct Register {
    /// The directory in which states are saved.
    root: PathBuf,
    files: Mutex<BTreeMap<EcoString, InterruptReport>>,
    saved: Mutex<usize>,
}

impl Register {
    pub(super) fn new(root: &Path) -> Register {
        Register { root: root.to_owned(), files: Mutex::default(), saved: Mutex::default() }
    }
    pub(super) fn set(&self, file: &EcoString, report: InterruptReport) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.clone(), report);
    }
    pub(super) fn forget(&self, file: &EcoString) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(file);
    }
    pub(super) fn all(&self) -> Vec<(EcoString, InterruptReport)> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().map(|(name, report)| (name.clone(), report.clone())).collect()
    }

    /// Saves a state whose objects still exist: each in a file of its own, the first one under the usual name.
    pub(super) fn save(&self, mut state: State, sealing: &TestSealing) -> Result<EcoString, Unsaved> {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match *saved {
            0 => EcoString::from(ERRORED_STATE),
            count => eco_format!("errored_test.{count}.tfstate"),
        };
        *saved += 1;
        state.lineage = crate::providers::new_id();
        state.serial = 1;
        let mut bytes = Vec::new();
        yuba_state::write(&state, &mut bytes);
        let bytes = sealing.seal(bytes, Some((state.serial, &state.lineage))).map_err(Unsaved::Unsealed)?;
        // Leftovers of earlier test runs are still needed for cleaning up.
        let path = self.root.join(name.as_str());
        if path.exists() {
            let backups = (0..).map(|at| match at {
                0 => eco_format!("{name}.backup"),
                at => eco_format!("{name}.{at}.backup"),
            });
            let unused = backups.into_iter().find(|backup| !self.root.join(backup.as_str()).exists());
            let _ = unused.map(|backup| std::fs::rename(&path, self.root.join(backup.as_str())));
        }
        match crate::replace::write_private(&path, &bytes) {
            Ok(()) => Ok(name),
            Err(_) => Err(Unsaved::Content(bytes)),
        }
    }
}

/// A state that could not be written.
pub(super) enum Unsaved {
    /// Content of the file.
    Content(Vec<u8>),
    /// It could not be encrypted.
    Unsealed(Diagnostics),
}
