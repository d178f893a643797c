//! Counts of the actions of a plan.

use yuba_plan::{Action, ResourceChange};

/// In the order of the legend.
const LEGEND: [Action; 8] = [
    Action::Create,
    Action::Update,
    Action::Delete,
    Action::DeleteThenCreate,
    Action::CreateThenDelete,
    Action::Read,
    Action::ForgetThenCreate,
    Action::Forget,
];

#[derive(Default)]
pub(super) struct PlanCounts {
    by_action: [usize; LEGEND.len()],
    imports: usize,
}

impl PlanCounts {
    pub(super) fn of(changes: &[&ResourceChange]) -> PlanCounts {
        let mut counts = PlanCounts::default();
        for change in changes {
            if let Some(at) = LEGEND.iter().position(|action| *action == change.action) {
                counts.by_action[at] += 1;
            }
            counts.imports += usize::from(change.importing.is_some());
        }
        counts
    }
    /// Something is done with some object.
    pub(super) fn any(&self) -> bool {
        self.legend().next().is_some()
    }
    /// Actions, and their number.
    pub(super) fn legend(&self) -> impl Iterator<Item = (Action, usize)> {
        LEGEND.into_iter().zip(self.by_action).filter(|(_, count)| *count > 0)
    }
    fn sum(&self, actions: &[Action]) -> usize {
        self.legend().filter(|(action, _)| actions.contains(action)).map(|(_, count)| count).sum()
    }
    /// The text after `Plan:`.
    pub(super) fn sentence(&self) -> String {
        use Action::{Create, CreateThenDelete, Delete, DeleteThenCreate, Forget, ForgetThenCreate, Update};
        let add = self.sum(&[Create, DeleteThenCreate, CreateThenDelete, ForgetThenCreate]);
        let change = self.sum(&[Update]);
        let destroy = self.sum(&[Delete, DeleteThenCreate, CreateThenDelete]);
        let import = if self.imports > 0 { format!(" {} to import,", self.imports) } else { String::new() };
        let forget = match self.sum(&[Forget, ForgetThenCreate]) {
            0 => String::new(),
            count => format!(", {count} to forget"),
        };
        format!("{import} {add} to add, {change} to change, {destroy} to destroy{forget}.")
    }
}
