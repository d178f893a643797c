//! The last phase: what became of a plan that was applied, of a refreshed state or of an import. The lock is released.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_backend::LastResort;
use yuba_engine::{AppliedCounts, ApplyDoors, Provisioners};
use yuba_plan::Plan;
use yuba_state::{Output, State};
use yuba_syntax::Diagnostics;

use crate::locked::Locked;
use crate::operation::journal::JournalRecorder;
use crate::operation::{Progress, diagnostics};
use crate::planned::infinite_output;

/// Whether objects that a destroy operation only forgets make it fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgottenInstances {
    /// They are an error.
    Error,
    /// They are accepted: `-suppress-forget-errors`.
    Accepted,
}

/// The result of an operation that changes the state.
pub struct Applied {
    /// Outputs in the new state.
    pub outputs: BTreeMap<EcoString, Output>,
    /// Number of objects by what happened to them.
    pub counts: AppliedCounts,
    /// The new state, where it could not be saved anywhere.
    pub unsaved: Option<Vec<u8>>,
    /// Everything that was not reported before.
    pub diagnostics: Diagnostics,
    /// Whether the operation did not begin because a plan could not be made or applied.
    not_begun: bool,
}

impl Applied {
    /// Nothing was done, for these reasons; the lock is released.
    pub(crate) fn not_begun(locked: Locked<'_>, mut diagnostics: Diagnostics) -> Applied {
        diagnostics.extend(locked.end());
        Applied { not_begun: true, ..Applied::with(BTreeMap::new(), diagnostics) }
    }

    fn with(outputs: BTreeMap<EcoString, Output>, diagnostics: Diagnostics) -> Applied {
        Applied { outputs, counts: AppliedCounts::default(), unsaved: None, diagnostics, not_begun: false }
    }

    /// The same with all diagnostics, after the lock is released.
    pub(crate) fn finish(self, mut diagnostics: Diagnostics, locked: Locked<'_>) -> Applied {
        diagnostics.extend(locked.end());
        Applied { diagnostics, ..self }
    }

    /// Whether the operation failed, in part or as a whole.
    pub fn has_failed(&self) -> bool {
        self.not_begun || self.diagnostics.has_errors()
    }
}

impl Locked<'_> {
    /// Saves a new state, or puts it where it is not lost.
    pub(crate) fn save(&mut self, mut state: State) -> Applied {
        let (diagnostics, unsaved) = match self.held.save_or_rescue(&mut state) {
            Ok(_) => (Diagnostics::new(), None),
            Err(LastResort { diagnostics, print }) => (diagnostics, print),
        };
        Applied { unsaved, ..Applied::with(state.outputs, diagnostics) }
    }

    /// Makes the changes of a plan, records them in the journal of the state, and saves the new state.
    pub(crate) fn carry_out(
        &mut self,
        plan: &Plan,
        provisioners: &dyn Provisioners,
        progress: Progress<'_>,
    ) -> Applied {
        if let Some(output) = infinite_output(plan) {
            let problem = diagnostics::infinite_output_in_state(output);
            return Applied::with(plan.prior_state.outputs.clone(), problem.into());
        }
        let mut start = (*plan.prior_state).clone();
        // Until there are new ones, results of checks stay as they are.
        start.check_results = self.held.state.as_ref().and_then(|state| state.check_results.clone());
        // The journal borrows the open state, evaluation everything else.
        let Locked { held, prepared, .. } = self;
        let journal = match held.store().journal(&mut start) {
            Ok(journal) => journal,
            Err(problems) => return Applied::with(start.outputs, problems),
        };
        let mut recorder = JournalRecorder::new(journal);
        let doors = ApplyDoors { recorder: &mut recorder, provisioners, random: &random };
        let (applied, _) = prepared.apply(plan, doors, progress);
        let mut state = applied.state;
        state.lineage = start.lineage;
        state.serial = start.serial.max(state.serial);
        let mut diagnostics = applied.problems;
        diagnostics.extend(prepared.linked.project.providers().failures());
        let mut unsaved = None;
        let has_failed = recorder.has_failed();
        match tracing::info_span!("save state").in_scope(|| recorder.close(&mut state)) {
            Ok(_) if has_failed => diagnostics.push(crate::diagnostics::saved_after_all()),
            Ok(_) => {}
            Err(found) => {
                diagnostics.extend(found);
                let resort = held.rescue(&state);
                diagnostics.extend(resort.diagnostics);
                unsaved = resort.print;
            }
        }
        Applied { counts: applied.counts, unsaved, ..Applied::with(state.outputs, diagnostics) }
    }
}

/// A random number, for the keys of deposed objects.
pub(crate) fn random() -> u32 {
    let mut bytes = [0_u8; 4];
    let _ = getrandom::fill(&mut bytes);
    u32::from_le_bytes(bytes)
}
