//! Features that a module opts in to: one table, one row per feature.
//!
//! A feature starts as an experiment that a module asks for by keyword. If it succeeds it becomes selectable: the
//! module opts in by having a block of the feature's type, which also gives meaning to a new root word in references.
//! If not, it is removed, and the keyword is only good for an explanation.

/// Stage of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureState {
    /// Enabled in modules that list its keyword in `language { experiments = [...] }`.
    ActiveExperiment,
    /// Enabled in modules that have a block of its type; never by its keyword.
    Selectable {
        /// The block type that opts in.
        block_type: &'static str,
        /// The first name of references to such blocks.
        root_word: &'static str,
        /// Declarations of such a block, in messages.
        noun: &'static str,
    },
    /// No longer available.
    Removed,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct FeatureRow {
    /// The feature.
    pub feature: Feature,
    /// Its keyword in `experiments`.
    pub keyword: &'static str,
    /// Its stage.
    pub state: FeatureState,
    /// Advice for users who enable it by keyword after the end of the experiment; its description during the
    /// experiment.
    pub conclusion: &'static str,
}

/// Makes the enum and the table from the rows, so that a feature is one row.
macro_rules! features {
    ($($name:ident, $keyword:literal, $state:expr, $conclusion:literal;)*) => {
        /// A feature that a module can opt in to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Feature {
            $(#[doc = concat!("`", $keyword, "`: ", $conclusion)] $name,)*
        }
        /// All features.
        pub static FEATURES: &[FeatureRow] = &[
            $(FeatureRow { feature: Feature::$name, keyword: $keyword, state: $state, conclusion: $conclusion },)*
        ];
    };
}

features! {
    SymbolLibraries, "symbol_libraries",
        FeatureState::Selectable { block_type: "symbols", root_word: "symbols", noun: "symbol library" },
        "Symbol libraries are now part of the language: a module opts in to them by having at least one \
         \"symbols\" block, so this keyword is no longer needed.";
    DynamicProviderForEach, "dynamic_provider_for_each", FeatureState::ActiveExperiment,
        "The for_each argument of a provider block may refer to anything that is known when the plan is made.";
    ProviderCollections, "provider_collections", FeatureState::ActiveExperiment,
        "All instances of a provider configuration with for_each may be passed to a child module at once.";
    SmokeTests, "smoke_tests", FeatureState::Removed,
        "Smoke tests were not continued. Use check blocks for conditions that are watched on every run, and the \
         \"test\" command for tests of a module.";
}

impl Feature {
    /// Its row.
    pub fn row(self) -> &'static FeatureRow {
        FEATURES.get(self as usize).expect("because the table has one row per variant, in the same order")
    }
    /// Its keyword in `experiments`.
    pub fn keyword(self) -> &'static str {
        self.row().keyword
    }
    /// The feature with a keyword.
    pub fn from_keyword(keyword: &str) -> Option<&'static FeatureRow> {
        FEATURES.iter().find(|row| row.keyword == keyword)
    }
    /// The feature that blocks of a type opt in to.
    pub fn from_block_type(given: &str) -> Option<Feature> {
        let opts_in =
            |row: &&FeatureRow| matches!(row.state, FeatureState::Selectable { block_type, .. } if block_type == given);
        FEATURES.iter().find(opts_in).map(|row| row.feature)
    }
    /// The feature that a root word of references belongs to.
    pub fn from_root_word(given: &str) -> Option<Feature> {
        let owns =
            |row: &&FeatureRow| matches!(row.state, FeatureState::Selectable { root_word, .. } if root_word == given);
        FEATURES.iter().find(owns).map(|row| row.feature)
    }
    /// The first name of references to it, or its keyword where references do not use it.
    pub fn root_word(self) -> &'static str {
        match self.row().state {
            FeatureState::Selectable { root_word, .. } => root_word,
            FeatureState::ActiveExperiment | FeatureState::Removed => self.keyword(),
        }
    }
}

/// Properties of the module that the reader of references requires.
pub trait ParseRefContext {
    /// Whether the module has opted in to a feature.
    fn feature_enabled(&self, feature: Feature) -> bool;
    /// Whether the module has any `resource` block with this type.
    fn has_any_managed_resource_of_type(&self, kind: &str) -> bool;
    /// Whether the module has this `resource` block.
    fn has_managed_resource(&self, kind: &str, name: &str) -> bool;
}

/// No module, so no feature is enabled and there are no resources.
pub struct Baseline;

impl ParseRefContext for Baseline {
    fn feature_enabled(&self, _: Feature) -> bool {
        false
    }
    fn has_any_managed_resource_of_type(&self, _: &str) -> bool {
        false
    }
    fn has_managed_resource(&self, _: &str, _: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_names() {
        for row in FEATURES {
            assert_eq!(row.feature.row().keyword, row.keyword);
            assert_eq!(Feature::from_keyword(row.keyword).map(|found| found.feature), Some(row.feature));
            if let FeatureState::Selectable { block_type, root_word, .. } = row.state {
                assert_eq!(Feature::from_block_type(block_type), Some(row.feature));
                assert_eq!(Feature::from_root_word(root_word), Some(row.feature));
            }
        }
        assert_eq!(Feature::from_root_word("smoke_tests"), None);
        assert_eq!(Feature::from_block_type("resource"), None);
        assert!(Feature::from_keyword("nope").is_none());
    }
}
