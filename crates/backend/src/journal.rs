//! The journal of a running apply: what was finished since the last snapshot, on disk before it is reported.
//!
//! An apply of many objects cannot write the whole state after each of them. It appends what changed to a file beside the
//! state instead, `.terraform.tfstate.journal`, and saves a snapshot now and then and at the end. The next command that
//! finds a journal completes the state from it.
//!
//! The engine uses a [`Journal`] in each turn of its loop:
//!
//! 1. [`Journal::finish`] for each operation that ended, with the edits it made; [`Journal::begin`] for each that is about
//!    to start. Both only gather lines in memory.
//! 2. [`Journal::hand_over`] before operations start: from then on the death of the process cannot lose those lines.
//! 3. [`Journal::flush`] before operations are reported as finished: from then on a power cut cannot lose them either. To
//!    gather many operations in one flush, do it when [`Journal::due`] says so or when there is nothing else to do.
//! 4. [`Journal::checkpoint`] when [`Journal::wants_checkpoint`] says so.
//!
//! [`Journal::close`] saves the final snapshot and removes the journal. A journal that is dropped without it stays, and is
//! recovered by the next command. A flush costs a fraction of a millisecond of processor time and some milliseconds of waiting
//! for the disk, which is why [`Journal::due`] gathers.

pub(crate) mod leftover;
pub(crate) mod line;
pub(crate) mod recovery;
pub(crate) mod writer;

pub use line::{JournalOperation, OperationId};
pub use recovery::Recovered;

use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

/// Difference of serials between a state that could not be saved and one that could: recovery may complete one snapshot
/// and save another.
pub(crate) const ABOVE_RECOVERY: u64 = 2;

/// Records the operations of an apply.
pub trait Journal: Send {
    /// Notes that an operation is about to start.
    fn begin(&mut self, operation: JournalOperation) -> OperationId;
    /// Records the end of an operation with all its edits; either all of them are recovered or none.
    fn finish(&mut self, operation: OperationId, edits: &[Edit]);
    /// The same for an operation that has failed, or that did not begin. Journals that complete a state do not distinguish them.
    fn fail(&mut self, operation: OperationId, edits: &[Edit]) {
        self.finish(operation, edits);
    }
    /// Notes edits that belong to no operation.
    fn append(&mut self, edits: &[Edit]);
    /// Gives all lines to the system: they survive the death of this process.
    fn hand_over(&mut self) -> Result<(), Diagnostics>;
    /// Puts all lines on disk: they survive a power cut. Only then may operations be reported as finished.
    fn flush(&mut self) -> Result<(), Diagnostics>;
    /// Whether enough lines or time have gathered to be worth a flush.
    fn due(&self) -> bool;
    /// Whether the journal has become long or old enough to be worth a snapshot.
    fn wants_checkpoint(&self) -> bool;
    /// Saves a snapshot and restarts the journal; the serial of the state goes up. `state` must contain every edit
    /// that was noted. After a failure the journal goes on as before.
    fn checkpoint(&mut self, state: &mut State) -> Result<(), Diagnostics>;
    /// Saves the final snapshot and removes the journal. After a failure the journal stays.
    fn close(self: Box<Self>, state: &mut State) -> Result<crate::Saved, Diagnostics>;
}
