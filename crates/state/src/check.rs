//! Results of checks: what the conditions of the configuration said when last asked.

use ecow::EcoString;

/// Owner of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckKind {
    /// A resource with preconditions or postconditions.
    Resource,
    /// An output value with preconditions.
    Output,
    /// A `check` block.
    Check,
    /// An input variable with validation rules.
    Variable,
}

/// Result of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckStatus {
    /// It was not decided.
    Unknown,
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It could not be evaluated.
    Error,
}

/// The results of all objects of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// Kind of the block.
    pub kind: CheckKind,
    /// The address of the block, without instance keys.
    pub config_addr: EcoString,
    /// The worst of all its objects.
    pub status: CheckStatus,
    /// Results of its objects.
    pub objects: Vec<CheckObject>,
}

/// The result of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckObject {
    /// Its address.
    pub addr: EcoString,
    /// Results of its conditions.
    pub status: CheckStatus,
    /// The messages of the failed conditions.
    pub failure_messages: Vec<EcoString>,
}

impl CheckKind {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckKind::Resource => "resource",
            CheckKind::Output => "output",
            CheckKind::Check => "check",
            CheckKind::Variable => "var",
        }
    }
    /// By the word in the file; none for what a later version may have.
    pub fn parse(word: &str) -> Option<CheckKind> {
        [CheckKind::Resource, CheckKind::Output, CheckKind::Check, CheckKind::Variable]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

impl CheckStatus {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckStatus::Unknown => "unknown",
            CheckStatus::Pass => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Error => "error",
        }
    }
    /// By the word in the file; what a later version may have is unknown.
    pub fn parse(word: &str) -> CheckStatus {
        match word {
            "pass" => CheckStatus::Pass,
            "fail" => CheckStatus::Fail,
            "error" => CheckStatus::Error,
            _ => CheckStatus::Unknown,
        }
    }
}
