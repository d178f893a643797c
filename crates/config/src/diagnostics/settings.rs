//! The diagnostics about the `terraform` and `language` blocks: versions, editions, experiments, required providers,
//! encryption.

use ecow::{EcoString, eco_format};
use yuba_addrs::{FEATURES, Feature, FeatureRow, FeatureState, Version, VersionError};
use yuba_syntax::suggestion::suggest;
use yuba_syntax::{Diagnostic, Span};

use super::blocks::DUPLICATE_BLOCK;
use crate::language::{EDITION, LANGUAGE_VERSION};

yuba_syntax::catalogue! {
    /// A version constraint is not a constant string.
    VERSION_CONSTRAINT_NOT_STRING = error "version-constraint-not-string", "Invalid version constraint";
    /// A version constraint is malformed.
    VERSION_CONSTRAINT_MALFORMED = error "version-constraint-malformed", "Invalid version constraint";
    /// The argument `required_version` names a pre-release.
    PRERELEASE_IN_REQUIRED_VERSION = error "prerelease-in-required-version", "Invalid required_version constraint";
    /// A module requires another version of the language.
    MODULE_INCOMPATIBLE = error "module-incompatible", "Incompatible module";
    /// An override file contains a language block.
    LANGUAGE_BLOCK_OVERRIDDEN = error "language-block-overridden", "Language selections in override file";
    /// The language edition is not a keyword.
    EDITION_NOT_KEYWORD = error "edition-not-keyword", "Invalid language edition";
    /// A module requires an unknown language edition.
    EDITION_UNSUPPORTED = error "edition-unsupported", "Unsupported language edition";
    /// A compatible_with block allows versions that do not know this block.
    COMPATIBLE_WITH_INEFFECTIVE = warning "compatible-with-ineffective", "Ineffective version constraint";
    /// An item of `experiments` is not a keyword.
    EXPERIMENT_NOT_KEYWORD = error "experiment-not-keyword", "Invalid experiment keyword";
    /// An item of `experiments` is unknown.
    EXPERIMENT_UNKNOWN = error "experiment-unknown", "Unknown experiment keyword";
    /// An item of `experiments` names an experiment that has ended.
    EXPERIMENT_CONCLUDED = error "experiment-concluded", "Experiment has concluded";
    /// A module enables experiments.
    EXPERIMENT_ACTIVE = warning "experiment-active", "Experimental feature is active";
    /// A required_providers block stands outside of a terraform block.
    REQUIRED_PROVIDERS_MISPLACED = error "required-providers-misplaced", "Invalid required_providers block";
    /// The name of a required provider is invalid.
    REQUIRED_PROVIDER_NAME_INVALID = error "required-provider-name-invalid", "Invalid provider name";
    /// The requirements of a provider are neither a version constraint nor an object of known arguments.
    REQUIRED_PROVIDER_MALFORMED = error "required-provider-malformed", "Invalid required_providers object";
    /// An argument name in the requirements of a provider is not constant.
    REQUIRED_PROVIDER_ARGUMENT_NAME = error "required-provider-argument-name", "Invalid Attribute";
    /// The source of a required provider is not a constant string.
    REQUIRED_PROVIDER_SOURCE_NOT_STRING = error "required-provider-source-not-string", "Invalid source";
    /// An item of `configuration_aliases` is not the name of this provider with an alias.
    CONFIGURATION_ALIAS_INVALID = error "configuration-alias-invalid", "Invalid configuration_aliases value";
    /// An encryption block declares two key providers, methods or remote data sources of the same name.
    DUPLICATE_ENCRYPTION_PART = error "duplicate-encryption-part", "Duplicate {block}";
    /// The type or name of a key provider or an encryption method contains invalid characters.
    ENCRYPTION_NAME_INVALID = error "encryption-name-invalid", "The provided {object} {part} is invalid";
}

pub(crate) fn version_not_string(argument: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The argument \"{argument}\" must be a constant string.");
    Diagnostic::new(&VERSION_CONSTRAINT_NOT_STRING, detail).at(at)
}

pub(crate) fn version_syntax(error: &VersionError, at: Span) -> Diagnostic {
    Diagnostic::new(&VERSION_CONSTRAINT_MALFORMED, eco_format!("Failed to parse the constraint: {}.", error.0))
        .hint("Write constraints such as \">= 1.2, < 2.0\" or \"~> 1.2\".")
        .at(at)
}

pub(crate) fn prerelease_constraint(version: &Version, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The constraint names the pre-release {version}, which is not supported here. Pre-releases are compared as if \
         they were the release."
    );
    Diagnostic::new(&PRERELEASE_IN_REQUIRED_VERSION, detail).hint("Name the release.").at(at)
}

pub(crate) fn incompatible_module(version: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This module does not support language version {version} (OpenTofu {version}).");
    let hint =
        "Use a version that meets the constraint, or change the constraint and check that the module still works.";
    Diagnostic::new(&MODULE_INCOMPATIBLE, detail).hint(hint).at(at)
}

pub(crate) fn language_in_override(at: Span) -> Diagnostic {
    let detail = "A \"language\" block applies to the whole module and cannot be in an override file.";
    Diagnostic::new(&LANGUAGE_BLOCK_OVERRIDDEN, detail).hint("Move it to an ordinary file.").at(at)
}

pub(crate) fn invalid_edition(at: Span) -> Diagnostic {
    let detail = eco_format!(
        "An edition must be a keyword without quotes. The only edition is {EDITION}, which is the default."
    );
    Diagnostic::new(&EDITION_NOT_KEYWORD, detail).at(at)
}

pub(crate) fn unsupported_edition(edition: &str, at: Span) -> Diagnostic {
    let reason = if edition.starts_with("TF") {
        "The module may be written for another tool."
    } else if edition > EDITION {
        "The module requires a later version."
    } else {
        "The module requires another version."
    };
    let detail =
        eco_format!("Language version {LANGUAGE_VERSION} supports only the edition {EDITION}, not {edition}. {reason}");
    Diagnostic::new(&EDITION_UNSUPPORTED, detail).at(at)
}

pub(crate) fn duplicate_compatible_with(first: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&DUPLICATE_BLOCK, eco_format!("The module already has a compatible_with block, at {first}."))
        .titled("Duplicate compatible_with block")
        .naming("compatible_with")
        .hint("Merge the two blocks.")
        .at(at)
}

pub(crate) fn ineffective_constraint(at: Span) -> Diagnostic {
    let detail = "Versions before 1.12.0 ignore this block, so the constraint should exclude them, for example with \
        \">= 1.12.0\".";
    Diagnostic::new(&COMPATIBLE_WITH_INEFFECTIVE, detail)
        .hint("To constrain earlier versions, set required_version in the \"terraform\" block of a .tofu file.")
        .at(at)
}

pub(crate) fn experiment_not_keyword(at: Span) -> Diagnostic {
    let detail = "Each item of \"experiments\" must be the keyword of an experiment, without quotes.";
    Diagnostic::new(&EXPERIMENT_NOT_KEYWORD, detail).at(at)
}

pub(crate) fn unknown_experiment(keyword: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&EXPERIMENT_UNKNOWN, eco_format!("\"{keyword}\" is not the keyword of an experiment."))
        .hint(suggest(keyword, FEATURES.iter().map(|row| row.keyword)))
        .at(at)
}

pub(crate) fn experiment_concluded(row: &FeatureRow, at: Span) -> Diagnostic {
    let outcome = match row.state {
        FeatureState::Removed => "was abandoned",
        FeatureState::Selectable { .. } | FeatureState::ActiveExperiment => "has ended",
    };
    let detail = eco_format!("The experiment \"{}\" {outcome}. {}", row.keyword, row.conclusion);
    Diagnostic::new(&EXPERIMENT_CONCLUDED, detail).at(at)
}

pub(crate) fn experiments_active(features: &[Feature], at: Span) -> Diagnostic {
    let mut detail = EcoString::from("This module uses features that any later version may change or remove:\n");
    for feature in features {
        detail.push_str(&eco_format!("  - {}: {}\n", feature.keyword(), feature.row().conclusion));
    }
    let warning = Diagnostic::new(&EXPERIMENT_ACTIVE, detail.trim_end())
        .hint("Do not publish this module or use it in production.")
        .at(at);
    features.iter().fold(warning, |warning, feature| warning.about(feature.keyword()))
}

pub(crate) fn misplaced_required_providers(at: Span) -> Diagnostic {
    let detail = "A \"required_providers\" block must be inside of a \"terraform\" block.";
    Diagnostic::new(&REQUIRED_PROVIDERS_MISPLACED, detail).at(at)
}

pub(crate) fn invalid_provider_name(name: &str, reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("\"{name}\" is not a valid name of a provider: {reason}.");
    Diagnostic::new(&REQUIRED_PROVIDER_NAME_INVALID, detail).at(at)
}

pub(crate) fn requirement_not_object(at: Span) -> Diagnostic {
    let detail = "The requirements of a provider must be a version constraint, or an object such as { source = \
        \"namespace/name\", version = \"~> 1.0\" }.";
    Diagnostic::new(&REQUIRED_PROVIDER_MALFORMED, detail).at(at)
}

pub(crate) fn requirement_unknown_argument(at: Span) -> Diagnostic {
    let detail = "Only the arguments \"source\", \"version\" and \"configuration_aliases\" are supported here.";
    Diagnostic::new(&REQUIRED_PROVIDER_MALFORMED, detail)
        .hint("Use a \"provider\" block to configure the provider.")
        .at(at)
}

pub(crate) fn requirement_key_not_string(at: Span) -> Diagnostic {
    Diagnostic::new(&REQUIRED_PROVIDER_ARGUMENT_NAME, "The name of an argument must be a constant string.").at(at)
}

pub(crate) fn requirement_version_not_string(at: Span) -> Diagnostic {
    Diagnostic::new(&VERSION_CONSTRAINT_NOT_STRING, "The version constraint must be a constant string.").at(at)
}

pub(crate) fn requirement_source_not_string(at: Span) -> Diagnostic {
    let detail = "The source of a provider must be a constant string.";
    Diagnostic::new(&REQUIRED_PROVIDER_SOURCE_NOT_STRING, detail).at(at)
}

pub(crate) fn alias_not_reference(at: Span) -> Diagnostic {
    let detail = "Each item must be the local name of the provider, a dot, and an alias, such as aws.west.";
    Diagnostic::new(&CONFIGURATION_ALIAS_INVALID, detail).at(at)
}

pub(crate) fn alias_of_other_provider(expected: &str, found: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "Each item must start with the local name of the provider, {expected}, and one starts with {found}."
    );
    Diagnostic::new(&CONFIGURATION_ALIAS_INVALID, detail).at(at)
}

pub(crate) fn duplicate_block(kind: &str, first: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&DUPLICATE_BLOCK, eco_format!("Only one \"{kind}\" block is allowed, and the first is at {first}."))
        .titled(eco_format!("Duplicate {kind} block"))
        .naming(kind)
        .at(at)
}

pub(crate) fn duplicate_encryption(kind: &str, first: &str, second: &str, at: Span) -> Diagnostic {
    let dot = if second.is_empty() { "" } else { "." };
    let detail = eco_format!("{kind}.{first}{dot}{second} is declared more than once.");
    Diagnostic::new(&DUPLICATE_ENCRYPTION_PART, detail).titled(eco_format!("Duplicate {kind}")).naming(kind).at(at)
}

/// `object`: "key provider", "encryption method"; `part`: "type", "name".
pub(crate) fn invalid_encryption_name(object: &str, part: &str, text: &str) -> Diagnostic {
    let detail = eco_format!(
        "The {part} {text:?} of a {object} must contain only ASCII letters, digits, underscores and dashes."
    );
    Diagnostic::new(&ENCRYPTION_NAME_INVALID, detail)
        .titled(eco_format!("The provided {object} {part} is invalid"))
        .naming(object)
        .naming(part)
}
