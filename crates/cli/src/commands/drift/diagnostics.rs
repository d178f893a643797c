//! Diagnostics of `drift` about its rules.

use std::fmt::Display;

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// A rule of `drift -ignore` or of the file of rules is invalid.
    DRIFT_RULE_INVALID = error "drift-rule-invalid", "Invalid ignore rule";
    /// The file with the rules of `drift` cannot be read.
    DRIFT_RULES_UNREADABLE = error "drift-rules-unreadable", "Failed to read ignore rules";
}

const FORM: &str = "Write a resource type, an attribute or an address. A type or an address can have a colon and an attribute: \
                    aws_instance:tags.";

pub(super) fn invalid_rule(rule: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&DRIFT_RULE_INVALID, format!("The rule {rule:?} is invalid: {reason}.")).hint(FORM)
}

pub(super) fn invalid_rule_in_file(path: &str, line: usize, reason: &str) -> Diagnostic {
    Diagnostic::new(&DRIFT_RULE_INVALID, format!("The rule in line {line} of {path} is invalid: {reason}.")).hint(FORM)
}

pub(super) fn ignore_file_unreadable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::new(&DRIFT_RULES_UNREADABLE, format!("Failed to read {path}: {error}."))
}
