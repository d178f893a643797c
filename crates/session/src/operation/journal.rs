//! The journal of the state, in which the engine records what it does.

use yuba_backend::{Journal, OperationId, Saved};
use yuba_engine::Recorder;
use yuba_plan::Action;
use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

/// Records operations in the journal of a state.
pub(crate) struct JournalRecorder<'j> {
    journal: Box<dyn Journal + 'j>,
    operations: Vec<Option<OperationId>>,
    has_failed: bool,
}

impl<'j> JournalRecorder<'j> {
    pub(crate) fn new(journal: Box<dyn Journal + 'j>) -> JournalRecorder<'j> {
        JournalRecorder { journal, operations: Vec::new(), has_failed: false }
    }

    fn taken(&mut self, operation: u64) -> Option<OperationId> {
        usize::try_from(operation).ok().and_then(|at| self.operations.get_mut(at)).and_then(Option::take)
    }

    /// Whether anything could not be recorded.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Saves the final state.
    pub(crate) fn close(self, state: &mut State) -> Result<Saved, Diagnostics> {
        self.journal.close(state)
    }
}

impl Recorder for JournalRecorder<'_> {
    fn begin(&mut self, addr: &str, action: Action) -> u64 {
        let operation =
            yuba_backend::JournalOperation { address: addr.into(), action: action.names().join(" ").into() };
        let id = self.journal.begin(operation);
        self.operations.push(Some(id));
        self.operations.len() as u64 - 1
    }
    fn finish(&mut self, operation: u64, edits: &[Edit]) {
        match self.taken(operation) {
            Some(id) => self.journal.finish(id, edits),
            None => self.journal.append(edits),
        }
    }
    fn fail(&mut self, operation: u64, edits: &[Edit]) {
        match self.taken(operation) {
            Some(id) => self.journal.fail(id, edits),
            None => self.journal.append(edits),
        }
    }
    fn append(&mut self, edits: &[Edit]) {
        self.journal.append(edits);
    }
    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        self.journal.hand_over().inspect_err(|_| self.has_failed = true)
    }
    fn flush(&mut self) -> Result<(), Diagnostics> {
        self.journal.flush().inspect_err(|_| self.has_failed = true)
    }
    fn due(&self) -> bool {
        self.journal.due()
    }
    fn checkpoint(&mut self, state: &mut State) -> Result<(), Diagnostics> {
        if !self.journal.wants_checkpoint() {
            return Ok(());
        }
        self.journal.checkpoint(state).inspect_err(|_| self.has_failed = true)
    }
}
