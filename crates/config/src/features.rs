//! Features a module can opt in to: one table, one row per feature.

/// The features a module has opted in to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet {}
