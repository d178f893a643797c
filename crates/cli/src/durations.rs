//! Durations of operations by resource type, in the data directory of the working directory. They have neither addresses nor values.
//!
//! Invariant: a failure to read or write them has no effect but missing estimates.

use std::collections::BTreeMap;
use std::path::PathBuf;

use yuba_addrs::ResourceMode;
use yuba_plan::{Action, Plan};
use yuba_session::{Locked, Project};
use yuba_view::live::{Durations, Learned, Work, WorkStep};

/// Name of the file.
const FILE: &str = "yuba-durations";

fn path(project: &Project) -> PathBuf {
    project.path(project.data_dir()).join(FILE)
}

/// The durations of earlier runs.
pub(crate) fn load(project: &Project) -> Durations {
    std::fs::read_to_string(path(project)).map(|text| Durations::parse(&text)).unwrap_or_default()
}

/// Adds the durations of a run. Working directories that are not initialized stay as they are.
pub(crate) fn save(project: &Project, learned: &Durations) {
    let path = path(project);
    if !path.parent().is_some_and(std::path::Path::is_dir) {
        return;
    }
    let mut all = load(project);
    if all.learn(learned) == Learned::Nothing {
        return;
    }
    // Another run can write at the same time: each replaces the whole file.
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = std::fs::write(&beside, all.text()).and_then(|()| std::fs::rename(&beside, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
}

/// The managed objects of the state, which planning refreshes.
pub(crate) fn refreshed(locked: &Locked<'_>) -> BTreeMap<Work, usize> {
    let mut expected = BTreeMap::new();
    for resource in locked.state().iter().filter(|resource| resource.addr.resource.mode == ResourceMode::Managed) {
        let count: usize = resource.instances.values().map(|instance| instance.objects().count()).sum();
        *expected.entry(Work { kind: resource.addr.resource.kind.clone(), step: WorkStep::Refresh }).or_insert(0) +=
            count;
    }
    expected
}

/// The number of operations of a plan, and those on objects by type.
pub(crate) fn planned(plan: &Plan) -> (usize, BTreeMap<Work, usize>) {
    let (mut total, mut expected) = (0, BTreeMap::new());
    for change in &plan.changes {
        let steps: &[Option<WorkStep>] = match change.action {
            Action::NoOp => &[],
            Action::Create | Action::ForgetThenCreate => &[Some(WorkStep::Create)],
            Action::Read => &[Some(WorkStep::Read)],
            Action::Update => &[Some(WorkStep::Update)],
            Action::Delete => &[Some(WorkStep::Delete)],
            Action::DeleteThenCreate | Action::CreateThenDelete => &[Some(WorkStep::Delete), Some(WorkStep::Create)],
            Action::Forget => &[None],
        };
        total += steps.len();
        for step in steps.iter().flatten() {
            *expected.entry(Work { kind: change.addr.resource.kind.clone(), step: *step }).or_insert(0) += 1;
        }
    }
    (total, expected)
}
