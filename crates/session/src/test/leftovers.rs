//! Objects that tests made and that still exist: which ones, and where their state is kept for who has to remove them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ecow::{EcoString, eco_format};
use yuba_addrs::ResourceMode;
use yuba_state::State;

use super::{InterruptReport, Leftover};

/// Where the state of objects is kept that could not be destroyed.
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

/// What exists right now in all files that are under way.
#[derive(Default)]
pub(super) struct Register {
    files: Mutex<BTreeMap<EcoString, InterruptReport>>,
    saved: Mutex<usize>,
}

impl Register {
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

    /// Saves a state whose objects still exist: each in a file of its own, the first one where everybody looks for it. The
    /// error: what the file would have contained.
    pub(super) fn save(&self, mut state: State) -> Result<EcoString, Vec<u8>> {
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
        // What an earlier run of the tests left is still needed by who cleans up.
        if Path::new(name.as_str()).exists() {
            let _ = std::fs::rename(name.as_str(), eco_format!("{name}.backup").as_str());
        }
        match crate::replace::write_private(Path::new(name.as_str()), &bytes) {
            Ok(()) => Ok(name),
            Err(_) => Err(bytes),
        }
    }
}
