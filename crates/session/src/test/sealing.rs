//! Encryption of the files that tests write: with the settings for the state.
//!
//! Where a method is configured, nothing is written in clear text. Tests that write nothing need no key, so a missing
//! key is an error only when a file is to be written.

use std::sync::Arc;

use yuba_backend::encryption::{Sealing, is_encrypted};
use yuba_syntax::Diagnostics;

/// Transformation of the content of files.
#[derive(Clone, Debug)]
pub(super) struct TestSealing(Arc<Result<Option<Sealing>, Diagnostics>>);

impl TestSealing {
    pub(super) fn new(sealing: Result<Option<Sealing>, Diagnostics>) -> TestSealing {
        TestSealing(Arc::new(sealing))
    }

    /// The bytes to write for a content; `state` has the serial and the lineage of a state.
    pub(super) fn seal(&self, content: Vec<u8>, state: Option<(u64, &str)>) -> Result<Vec<u8>, Diagnostics> {
        match &*self.0 {
            Ok(None) => Ok(content),
            Ok(Some(sealing)) => Ok(sealing.seal(&content, state)?),
            Err(problems) => Err(problems.clone()),
        }
    }

    /// The decrypted content of a file. Returns none where it cannot be read.
    pub(super) fn unseal(&self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        if !is_encrypted(&bytes) {
            // An earlier configuration may have had no method.
            return Some(bytes);
        }
        match &*self.0 {
            Ok(Some(sealing)) => sealing.unseal(&bytes, |_| false).ok().map(|unsealed| unsealed.content),
            Ok(None) | Err(_) => None,
        }
    }
}
