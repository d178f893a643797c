//! The features that a module has opted in to.

use std::collections::BTreeMap;

use yuba_addrs::Feature;
use yuba_syntax::{Diagnostics, Span};

use crate::diagnostics;

/// The features a module has opted in to, each with the first place that says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet {
    enabled: BTreeMap<Feature, Span>,
}

impl FeatureSet {
    /// Whether the module has opted in.
    pub fn contains(&self, feature: Feature) -> bool {
        self.enabled.contains_key(&feature)
    }
    /// The features, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (Feature, Span)> + '_ {
        self.enabled.iter().map(|(feature, span)| (*feature, *span))
    }
    pub(crate) fn enable(&mut self, feature: Feature, at: Span) {
        self.enabled.entry(feature).or_insert(at);
    }
    /// One warning for all experiments, at the first of them.
    pub(crate) fn experiments_warning(&self) -> Diagnostics {
        use yuba_addrs::FeatureState::ActiveExperiment;
        let active = self.iter().filter(|(feature, _)| feature.row().state == ActiveExperiment);
        let (features, places): (Vec<Feature>, Vec<Span>) = active.unzip();
        match places.into_iter().min_by_key(|span| (span.file, span.start)) {
            Some(first) => diagnostics::experiments_active(&features, first).into(),
            None => Diagnostics::new(),
        }
    }
}
