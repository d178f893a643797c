//! Counts of changes: in total, by module instance and by resource type.

use std::collections::BTreeMap;

use ecow::EcoString;
use foldhash::HashMap;
use yuba_addrs::ResourceMode;

use super::{ChangeAction, ChangeCounts, ModuleCounts, PlanTotals, ReplaceOrder, Report, ReportChange, TypeCounts};

impl ChangeCounts {
    /// Counts a change.
    pub(super) fn add(&mut self, change: &ReportChange) {
        match change.action {
            ChangeAction::Create => self.create += 1,
            ChangeAction::Update => self.update += 1,
            ChangeAction::Replace => self.replace += 1,
            ChangeAction::Destroy => self.destroy += 1,
            ChangeAction::Forget => self.forget += 1,
            ChangeAction::Read => self.read += 1,
            ChangeAction::NoOp => {}
        }
        self.import += usize::from(change.import.is_some());
        self.moved += usize::from(change.moved_from.is_some());
    }

    /// Number of changes with an action. Imports and moves without another action are counted as no-op.
    pub fn of(&self, action: ChangeAction) -> usize {
        match action {
            ChangeAction::Create => self.create,
            ChangeAction::Update => self.update,
            ChangeAction::Replace => self.replace,
            ChangeAction::Destroy => self.destroy,
            ChangeAction::Forget => self.forget,
            ChangeAction::Read => self.read,
            ChangeAction::NoOp => self.unchanged,
        }
    }

    /// Whether nothing changes.
    pub fn is_unchanged(&self) -> bool {
        ChangeCounts { unchanged: 0, ..*self } == ChangeCounts::default()
    }

    /// The sums of two.
    #[must_use]
    pub fn plus(&self, other: &ChangeCounts) -> ChangeCounts {
        ChangeCounts {
            create: self.create + other.create,
            update: self.update + other.update,
            replace: self.replace + other.replace,
            destroy: self.destroy + other.destroy,
            forget: self.forget + other.forget,
            read: self.read + other.read,
            import: self.import + other.import,
            moved: self.moved + other.moved,
            unchanged: self.unchanged + other.unchanged,
        }
    }
}

impl PlanTotals {
    pub(super) fn of(changes: &[ReportChange]) -> PlanTotals {
        let mut totals = PlanTotals::default();
        for change in changes {
            let forgets = change.action == ChangeAction::Forget || change.order == Some(ReplaceOrder::ForgetFirst);
            let replaces = change.action == ChangeAction::Replace;
            totals.add += usize::from(replaces || change.action == ChangeAction::Create);
            totals.change += usize::from(change.action == ChangeAction::Update);
            totals.destroy += usize::from((replaces && !forgets) || change.action == ChangeAction::Destroy);
            totals.import += usize::from(change.import.is_some());
            totals.forget += usize::from(forgets);
        }
        totals
    }
}

/// Counts that are being made. Modules stay in the order in which they are counted.
#[derive(Default)]
pub(super) struct Counting {
    modules: Vec<ModuleCounts>,
    places: HashMap<EcoString, usize>,
    types: BTreeMap<(EcoString, ResourceMode), ChangeCounts>,
    all: ChangeCounts,
}

impl Counting {
    /// Counts a shown change.
    pub(super) fn change(&mut self, change: &ReportChange) {
        let address = &change.address;
        self.count(&address.module, address.mode, &address.kind, |counts| counts.add(change));
    }

    /// Counts an object that does not change.
    pub(super) fn unchanged(&mut self, module: &EcoString, mode: ResourceMode, kind: &EcoString) {
        self.count(module, mode, kind, |counts| counts.unchanged += 1);
    }

    fn count(&mut self, module: &EcoString, mode: ResourceMode, kind: &EcoString, add: impl Fn(&mut ChangeCounts)) {
        let next = self.modules.len();
        let at = *self.places.entry(module.clone()).or_insert(next);
        if at == next {
            self.modules.push(ModuleCounts { path: module.clone(), counts: ChangeCounts::default() });
        }
        if let Some(module) = self.modules.get_mut(at) {
            add(&mut module.counts);
        }
        add(self.types.entry((kind.clone(), mode)).or_default());
        add(&mut self.all);
    }

    /// Puts the counts into a report.
    pub(super) fn finish(self, report: &mut Report) {
        report.counts = self.all;
        report.modules = self.modules;
        report.types = self.types.into_iter().map(|((kind, mode), counts)| TypeCounts { kind, mode, counts }).collect();
    }
}
