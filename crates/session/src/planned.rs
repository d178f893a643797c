//! The third phase: a plan, created now or read from a file, with its diagnostics and report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use ecow::EcoString;
use yuba_backend::Reservation;
use yuba_engine::{PlanOptions, Provisioners, generate};
use yuba_eval::graph::RefGraph;
use yuba_plan::{Mode, Plan, PlannedWarning, file};
use yuba_syntax::{Diagnostic, Diagnostics, FileId, Sources, Span};

use crate::applied::{Applied, ForgottenInstances};
use crate::backend::LockWait;
use crate::locked::Locked;
use crate::operation::repeated::{ReportedUses, drop_checks, target_warnings};
use crate::operation::{Progress, diagnostics};
use crate::part;
use crate::prepared::PlanOutcome;
use crate::saved_plan::{SavedPlan, contents};

/// Source of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It was made from the configuration and the state.
    Made,
    /// It was read from a file.
    Saved,
}

/// A plan for a configuration whose state is locked.
pub struct Planned<'l> {
    locked: Locked<'l>,
    plan: Option<Plan>,
    origin: Origin,
    diagnostics: Diagnostics,
    /// Uses of deprecated objects that the diagnostics of the plan are about.
    reported: ReportedUses,
    /// The snapshot that a saved plan was made from.
    since: Option<u64>,
    /// The objects that the plan reads and writes are locked, and unchanged since the plan read them.
    is_reserved: bool,
}

impl<'l> Locked<'l> {
    /// Makes a plan. Where planning fails there may be a plan of the part that succeeded, or none.
    pub fn plan(self, options: &PlanOptions, progress: Progress<'_>) -> Planned<'l> {
        let PlanOutcome { mut plan, problems: mut found, .. } = self.prepared.plan(self.state(), options, progress);
        found.extend(self.loaded.project.providers().failures());
        if options.mode == Mode::Destroy {
            let is_new = |one: &&Diagnostic| found.iter().all(|other| other.subject != one.subject);
            let new: Vec<Diagnostic> = self.deprecated_arguments.iter().filter(is_new).cloned().collect();
            found.extend(new);
        }
        if let Some(plan) = &mut plan {
            plan.warnings = planned_warnings(&found, &self.loaded.sources);
        }
        // They stay for a plan that is made again.
        let mut diagnostics = self.warnings.clone();
        diagnostics.extend(found);
        let reported = ReportedUses::of(&diagnostics);
        let (since, is_reserved) = (None, false);
        Planned { locked: self, plan, origin: Origin::Made, diagnostics, reported, since, is_reserved }
    }

    /// Goes on with a saved plan. Fails where the plan is incomplete, or was made with other providers or from another state;
    /// the lock is released then.
    pub fn resume(self, saved: SavedPlan) -> Result<Planned<'l>, Diagnostics> {
        let failure = match self.check_fresh(&saved) {
            Ok(()) if !saved.plan.errored => {
                let diagnostics = repeated_warnings(&saved.plan, &self.loaded.sources);
                let reported = ReportedUses::of(&diagnostics);
                let (since, mut plan) = (saved.snapshot_number, saved.plan);
                if let (Some(_), Some(_), Some(state)) = (since, self.held.snapshot(), &self.held.state) {
                    plan.prior_state = Arc::new(part::rebased(&plan, state));
                }
                let (plan, origin, is_reserved) = (Some(plan), Origin::Saved, false);
                return Ok(Planned { locked: self, plan, origin, diagnostics, reported, since, is_reserved });
            }
            Ok(()) => diagnostics::incomplete_plan().into(),
            Err(problems) => problems,
        };
        let mut problems: Diagnostics = failure;
        problems.extend(self.end());
        Err(problems)
    }

    /// Whether the providers and the state are those that a saved plan was made with.
    fn check_fresh(&self, saved: &SavedPlan) -> Result<(), Diagnostics> {
        if let (Some(sealing), false) = (&self.encryption.plan, saved.was_encrypted) {
            // Fails unless plans in clear text are allowed.
            sealing.unseal(b"", |_| true)?;
        }
        let mut problems = Diagnostics::new();
        problems.extend(saved.check_locks(self.loaded.project.providers().locks()).err());
        problems.extend(saved.check_state(self.held.state.as_ref(), self.held.snapshot()).err());
        if problems.has_errors() { Err(problems) } else { Ok(()) }
    }
}

impl<'l> Planned<'l> {
    /// The plan or its valid part, or none where planning failed as a whole.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Takes the plan out, for a caller that only ends the operation then.
    pub fn take_plan(&mut self) -> Option<Plan> {
        self.plan.take()
    }

    /// The references of the configuration that the plan was made for.
    pub fn references(&self) -> &RefGraph<'l> {
        &self.locked.prepared.references.graph
    }

    /// The phase before, with the configuration of the plan.
    pub(crate) fn locked(&self) -> &Locked<'l> {
        &self.locked
    }

    /// Whether planning failed, so that the plan cannot be applied.
    pub fn has_failed(&self) -> bool {
        self.diagnostics.has_errors() || self.plan.as_ref().is_none_or(|plan| plan.errored)
    }

    /// Whether the plan changes anything.
    pub fn has_changes(&self) -> bool {
        self.plan.as_ref().is_some_and(Plan::can_apply)
    }

    /// Takes the diagnostics so far, to report them before the plan is applied.
    pub fn take_diagnostics(&mut self) -> Diagnostics {
        std::mem::take(&mut self.diagnostics)
    }

    /// Saves the plan in a file.
    pub fn save(&mut self, path: &Path) -> Result<(), Diagnostic> {
        let Some(plan) = self.plan.take() else { return Ok(()) };
        if let Some(output) = infinite_output(&plan) {
            let problem = diagnostics::infinite_output_in_plan(output);
            self.plan = Some(plan);
            return Err(problem);
        }
        let Locked { loaded, backend, held, .. } = &self.locked;
        let contents = contents(plan, loaded, backend, held);
        let written = self.write(&contents, path);
        self.plan = Some(contents.plan);
        written
    }

    fn write(&self, contents: &file::PlanFile, path: &Path) -> Result<(), Diagnostic> {
        let unwritable = |reason: &dyn std::fmt::Display| diagnostics::unwritable_plan(path, reason);
        let mut bytes = file::encode(contents).map_err(|reason| unwritable(&reason))?;
        if let Some(sealing) = &self.locked.encryption.plan {
            bytes = sealing.seal(&bytes, None)?;
        }
        let target = self.locked.loaded.project.path(path);
        crate::replace::write_private(&target, &bytes).map_err(|error| unwritable(&error))
    }

    /// Writes configuration for imported objects without a block to a new file. Returns whether there are any.
    pub fn write_generated(&self, path: &Path) -> Result<bool, Diagnostic> {
        let changes = || self.plan.iter().flat_map(|plan| &plan.changes);
        if changes().all(|change| change.generated_config.is_none()) {
            return Ok(false);
        }
        let mut text = generate::FILE_HEADER.to_owned();
        for change in changes() {
            if let Some(block) = &change.generated_config {
                let id = change.importing.as_ref().and_then(|importing| importing.id.as_deref());
                text += &generate::in_file(block, id);
            }
        }
        let target = self.locked.loaded.project.path(path);
        let written = File::options()
            .write(true)
            .create_new(true)
            .open(target)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => Ok(true),
            Err(error) => Err(diagnostics::unwritable_generated_configuration(path, &error)),
        }
    }

    /// Locks what the plan reads and writes, where the store of the state does not lock it as a whole. The plan is stale if other
    /// runs have changed these objects after it has read them: nothing is locked then. [`Planned::apply`] does it if the caller has not.
    pub fn reserve(&mut self, waiting: &mut dyn LockWait) -> Result<Reservation, Diagnostics> {
        let Some(plan) = self.plan.as_ref().filter(|_| self.locked.held.snapshot().is_some()) else {
            self.is_reserved = true;
            return Ok(Reservation::Held);
        };
        let Locked { prepared, held, .. } = &self.locked;
        let part = part::of_plan(plan, &prepared.references, &prepared.type_evaluation(), held.state.as_ref());
        let reservation = self.locked.held.reserve(self.since, &part, waiting)?;
        self.is_reserved = reservation == Reservation::Held;
        Ok(reservation)
    }

    /// Drops a plan that is stale, and reads the state again.
    pub fn renew(mut self) -> Result<Locked<'l>, Diagnostics> {
        match self.locked.reread() {
            Ok(()) => Ok(self.locked),
            Err(mut problems) => {
                problems.extend(self.locked.end());
                Err(problems)
            }
        }
    }

    /// The error of a stale plan.
    pub fn stale(self, addresses: &[String]) -> Diagnostics {
        let mut problems = Diagnostics::from(diagnostics::stale_objects(addresses));
        problems.extend(self.locked.end());
        problems
    }

    /// Applies the plan and saves the new state. The lock is released afterwards.
    pub fn apply(
        mut self,
        forgotten: ForgottenInstances,
        provisioners: &dyn Provisioners,
        progress: Progress<'_>,
    ) -> Applied {
        let loaded = self.locked.loaded;
        let plan = self.plan.take().filter(|plan| !plan.errored);
        let Some(plan) = plan.filter(|_| !self.diagnostics.has_errors()) else {
            return Applied::not_begun(self.locked, self.diagnostics);
        };
        if self.origin == Origin::Saved {
            let contradictions = loaded.inputs.contradictions(&loaded.tree.root().module.variables);
            if contradictions.has_errors() {
                return Applied::not_begun(self.locked, contradictions);
            }
        }
        let reserved = match self.is_reserved {
            true => Ok(plan),
            false => self.reserve_now(plan),
        };
        match reserved {
            Ok(plan) => self.carry_out(&plan, forgotten, provisioners, progress),
            Err(problems) => Applied::not_begun(self.locked, problems),
        }
    }

    /// Locks a plan that the caller has not reserved, without waiting.
    fn reserve_now(&mut self, plan: Plan) -> Result<Plan, Diagnostics> {
        self.plan = Some(plan);
        match self.reserve(&mut || ())? {
            Reservation::Held => Ok(self.plan.take().expect("because it was put there")),
            Reservation::Stale(addresses) => Err(diagnostics::stale_objects(&addresses).into()),
        }
    }

    fn carry_out(
        mut self,
        plan: &Plan,
        forgotten: ForgottenInstances,
        provisioners: &dyn Provisioners,
        progress: Progress<'_>,
    ) -> Applied {
        // Applying makes the checks again, and those results count.
        drop_checks(&mut self.diagnostics, plan.mode);
        let mut applied = self.locked.carry_out(plan, provisioners, progress);
        let mut diagnostics = self.diagnostics;
        diagnostics.extend(self.reported.new_among(std::mem::take(&mut applied.diagnostics)));
        let succeeded = !diagnostics.has_errors();
        diagnostics.extend(target_warnings(plan));
        let is_error = forgotten == ForgottenInstances::Error;
        if plan.mode == Mode::Destroy && applied.counts.forgotten > 0 && succeeded && is_error {
            diagnostics.push(diagnostics::forgotten_instances());
        }
        applied.finish(diagnostics, self.locked)
    }

    /// Saves the objects that planning has read again and the outputs that are known.
    pub(crate) fn save_refreshed(self) -> Applied {
        self.save_state(|plan, is_sensitive| plan.known_state(is_sensitive))
    }

    /// Saves the state with the imported object.
    pub(crate) fn save_imported(self) -> Applied {
        self.save_state(|plan, is_sensitive| plan.imported_state(is_sensitive))
    }

    fn save_state(mut self, state: impl FnOnce(&Plan, &dyn Fn(&str) -> bool) -> yuba_state::State) -> Applied {
        if self.has_failed() {
            return Applied::not_begun(self.locked, self.diagnostics);
        }
        let Some(plan) = self.plan.take() else { return Applied::not_begun(self.locked, self.diagnostics) };
        let outputs = &self.locked.loaded.tree.root().module.outputs;
        let is_sensitive = |name: &str| outputs.get(name).is_some_and(|output| output.sensitive == Some(true));
        let mut applied = self.locked.save(state(&plan, &is_sensitive));
        let mut diagnostics = self.diagnostics;
        diagnostics.extend(std::mem::take(&mut applied.diagnostics));
        applied.finish(diagnostics, self.locked)
    }

    /// Drops the plan and releases the lock. Returns the remaining diagnostics and those of releasing the lock.
    pub fn end(self) -> Diagnostics {
        let mut diagnostics = self.diagnostics;
        diagnostics.extend(self.locked.end());
        diagnostics
    }
}

/// The name of an output that is, or contains, an infinite number.
pub(crate) fn infinite_output(plan: &Plan) -> Option<&str> {
    plan.outputs.iter().find(|change| change.is_infinite()).map(|change| change.name.as_str())
}

/// Warnings about deprecated objects, with the names of their files.
fn planned_warnings(found: &Diagnostics, sources: &Sources) -> Vec<PlannedWarning> {
    let warning = |problem: &Diagnostic| {
        let deprecated = problem.deprecation()?.clone();
        let place = problem.subject.and_then(|span| Some((sources.get(span.file)?, span)));
        let (file, start, end) = match place {
            Some((file, span)) => (EcoString::from(&*file.name), span.start, span.end),
            None => (EcoString::new(), 0, 0),
        };
        let (summary, detail) = (problem.summary.clone(), problem.explanation());
        let address = problem.address.clone().unwrap_or_default();
        Some(PlannedWarning { summary, detail, address, file, start, end, deprecated })
    };
    found.iter().filter_map(warning).collect()
}

/// The warnings about deprecated objects that were reported when a saved plan was made.
fn repeated_warnings(plan: &Plan, sources: &Sources) -> Diagnostics {
    let files: BTreeMap<&str, FileId> = sources.iter().map(|(id, source)| (&*source.name, id)).collect();
    let mut warnings = Diagnostics::new();
    for saved in &plan.warnings {
        let file = files.get(saved.file.as_str());
        let span = file.map(|id| Span::new(*id, saved.start as usize, saved.end as usize));
        warnings.push(diagnostics::planned_warning(saved, span));
    }
    warnings
}
