//! How the files are encrypted that tests write: as the configuration says for the state.
//!
//! Where a method is configured nothing is written in clear text. Tests that write nothing need no key, so a key that is not
//! there is an error only when something is to be written.

use std::sync::Arc;

use yuba_backend::encryption::{Sealing, is_encrypted};
use yuba_syntax::Diagnostics;

/// What is done to the content of files.
#[derive(Clone, Debug)]
pub(super) struct TestSealing(Arc<Result<Option<Sealing>, Diagnostics>>);

impl TestSealing {
    pub(super) fn new(sealing: Result<Option<Sealing>, Diagnostics>) -> TestSealing {
        TestSealing(Arc::new(sealing))
    }

    /// What is to be written for a content; `state` has the serial and the lineage of a state.
    pub(super) fn seal(&self, content: Vec<u8>, state: Option<(u64, &str)>) -> Result<Vec<u8>, Diagnostics> {
        match &*self.0 {
            Ok(None) => Ok(content),
            Ok(Some(sealing)) => Ok(sealing.seal(&content, state)?),
            Err(problems) => Err(problems.clone()),
        }
    }

    /// The content of what was written, in clear text; none where it cannot be read.
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
