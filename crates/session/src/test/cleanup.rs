//! After a file: everything its runs made is destroyed, the states that were used last first.

use yuba_engine::PlanOptions;
use yuba_plan::Mode;
use yuba_state::State;
use yuba_syntax::Diagnostics;

use super::file::{FileRunner, ModuleState};
use super::leftovers::{Unsaved, objects};
use super::prepare::{PreparedRun, Subject};
use super::record::RecordPaths;
use super::run::Work;
use super::{CleanupReport, Message, TestEvent, diagnostics};
use crate::prepared::PlanOutcome;

impl FileRunner<'_> {
    /// Destroys the remaining objects. After a second interrupt it only lists them.
    pub(super) fn clean_up(&mut self, tell: &mut dyn FnMut(Message)) {
        let mut keys: Vec<(usize, _)> =
            self.states.iter().filter_map(|(key, known)| Some((known.history.last()?.0, key.clone()))).collect();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        for (at, key) in keys {
            if self.is_stopped_now() {
                break;
            }
            let Some(mut known) = self.states.remove(&key) else { continue };
            let paths = self.record_paths(&key);
            let (state, problems) = self.destroy(&mut known, paths.clone());
            let left = objects(&state);
            if left.is_empty()
                && let Some(paths) = &paths
            {
                paths.forget();
            }
            if problems.is_empty() && left.is_empty() {
                self.register.set(self.name, self.existing());
                continue;
            }
            if self.is_stopped_now() && !left.is_empty() {
                known.state = state;
                self.states.insert(key, known);
                break;
            }
            let mut report =
                CleanupReport { run: self.file.runs[at].name.clone(), problems, saved: None, unsaved: None, left };
            if !report.left.is_empty() {
                match self.register.save(state, &self.suite.sealing) {
                    Ok(path) => {
                        report.saved = Some(path);
                        paths.iter().for_each(RecordPaths::forget);
                    }
                    Err(Unsaved::Content(bytes)) => report.unsaved = Some(bytes),
                    Err(Unsaved::Unsealed(found)) => report.problems.extend(found),
                }
            }
            let message = self.message(TestEvent::Cleanup(report));
            tell(message);
            self.register.set(self.name, self.existing());
        }
        if self.is_stopped_now() {
            self.tell_what_exists(tell);
        }
    }

    /// Everything was stopped: existing objects are listed and saved.
    fn tell_what_exists(&mut self, tell: &mut dyn FnMut(Message)) {
        let mut report = self.existing();
        for (key, known) in std::mem::take(&mut self.states) {
            if !objects(&known.state).is_empty()
                && let Ok(path) = self.register.save(known.state, &self.suite.sealing)
            {
                report.saved.push(path);
                self.record_paths(&key).iter().for_each(RecordPaths::forget);
            }
        }
        let message = self.message(TestEvent::Interrupted(report));
        tell(message);
    }

    fn destroy(&self, known: &mut ModuleState, paths: Option<RecordPaths>) -> (State, Diagnostics) {
        let state = known.state.clone();
        if state.is_empty() && state.outputs.is_empty() {
            return (state, Diagnostics::new());
        }
        // A mock provider must not destroy real objects, and a real provider must not destroy mocked ones: a run in
        // which all real objects have a real provider, and the other objects are ignored.
        let fits = |(_, prepared): &&mut (usize, PreparedRun)| {
            known.real.iter().all(|addr| {
                let provider = known.state.get(&addr.containing()).map(|resource| &resource.provider);
                provider.is_none_or(|provider| !prepared.stands_in(provider, &addr.config()))
            })
        };
        let Some((at, prepared)) = known.history.iter_mut().rev().find(fits) else {
            return (state, diagnostics::cannot_destroy_real().into());
        };
        prepared.never_ask(&known.made_up);
        let subject = Subject {
            suite: self.suite,
            request: self.request,
            file_name: self.name,
            file: self.file,
            run: &self.file.runs[*at],
            outputs: &self.outputs,
        };
        let providers = prepared.providers(self.request.project);
        let references = subject.linked(prepared).references();
        let work = Work::new(&subject, prepared, references, &providers);
        let options = PlanOptions { mode: Mode::Destroy, ..PlanOptions::default() };
        let PlanOutcome { plan, mut problems, .. } = work.plan(state.clone(), &options);
        // Deprecation warnings were reported when the object was created.
        problems.retain(|problem| !problem.is_about_deprecation());
        let plan = match plan {
            Some(plan) if !problems.has_errors() && !plan.errored => plan,
            _ => return (state, problems),
        };
        let (state, found, _) = work.apply(&plan, paths);
        problems.extend(found.into_iter().filter(|problem| !problem.is_about_deprecation()));
        (state, problems)
    }
}
