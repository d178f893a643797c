//! About the `terraform` and `language` blocks: versions, editions, experiments, required providers, backends.

use ecow::{EcoString, eco_format};
use yuba_addrs::{FEATURES, Feature, FeatureRow, FeatureState, Version, VersionError};
use yuba_syntax::suggestion::closest;
use yuba_syntax::{Diagnostic, Span};

use crate::language::{EDITION, LANGUAGE_VERSION};

pub(crate) fn version_not_text(argument: &str, at: Span) -> Diagnostic {
    Diagnostic::error("Invalid version constraint", eco_format!("The argument {argument} needs a text.")).at(at)
}

pub(crate) fn version_syntax(error: &VersionError, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "This is not a version constraint: {}. Constraints look like \">= 1.2, < 2.0\" or \"~> 1.2\".",
        error.0
    );
    Diagnostic::error("Invalid version constraint", detail).at(at)
}

pub(crate) fn prerelease_constraint(version: &Version, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The constraint names the pre-release {version}, which is not possible here: name the release. Pre-releases are \
         compared as if they were the release."
    );
    Diagnostic::error("Invalid required_version constraint", detail).at(at)
}

pub(crate) fn incompatible_module(version: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "This module is not made for language version {version} (OpenTofu {version}).\n\nUse a version that fits the \
         constraint, or change the constraint. Its author will have had a reason for it, so after a change other \
         mistakes may show up."
    );
    Diagnostic::error("Incompatible module", detail).at(at)
}

pub(crate) fn language_in_override(at: Span) -> Diagnostic {
    let detail = "What a \"language\" block says is for the whole module, so it cannot be in an override file. Move it to \
        an ordinary file.";
    Diagnostic::error("Language selections in override file", detail).at(at)
}

pub(crate) fn invalid_edition(at: Span) -> Diagnostic {
    let detail = eco_format!("An edition is a bare word. The only edition so far is {EDITION}, which is the default.");
    Diagnostic::error("Invalid language edition", detail).at(at)
}

pub(crate) fn unsupported_edition(edition: &str, at: Span) -> Diagnostic {
    let reason = if edition.starts_with("TF") {
        "The module may be made for another program."
    } else if edition > EDITION {
        "The module needs a later version."
    } else {
        "The module needs another version."
    };
    let detail = eco_format!(
        "There is no language edition {edition} in language version {LANGUAGE_VERSION}, only {EDITION}. {reason}"
    );
    Diagnostic::error("Unsupported language edition", detail).at(at)
}

pub(crate) fn duplicate_compatible_with(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The versions this module is compatible with were already given at {first}.");
    Diagnostic::error("Duplicate compatible_with block", detail).at(at)
}

pub(crate) fn ineffective_constraint(at: Span) -> Diagnostic {
    let detail = "Versions before 1.12.0 do not know this block, so the constraint should exclude them, for example with \
        \">= 1.12.0\".\n\nTo say something about earlier versions, use required_version in the \"terraform\" block of a \
        .tofu file.";
    Diagnostic::warning("Ineffective version constraint", detail).at(at)
}

pub(crate) fn experiment_not_keyword(at: Span) -> Diagnostic {
    let detail = "The items of \"experiments\" are bare words, each the keyword of an experiment.";
    Diagnostic::error("Invalid experiment keyword", detail).at(at)
}

pub(crate) fn unknown_experiment(keyword: &str, at: Span) -> Diagnostic {
    let experiments = FEATURES.iter().map(|row| row.keyword);
    let hint = match closest(keyword, experiments) {
        Some(similar) => eco_format!(" Did you mean \"{similar}\"?"),
        None => EcoString::new(),
    };
    let detail = eco_format!("There is no experiment with the keyword \"{keyword}\".{hint}");
    Diagnostic::error("Unknown experiment keyword", detail).at(at)
}

pub(crate) fn experiment_concluded(row: &FeatureRow, at: Span) -> Diagnostic {
    let what = match row.state {
        FeatureState::Removed => "was given up",
        FeatureState::Selectable { .. } | FeatureState::ActiveExperiment => "is over",
    };
    let detail = eco_format!("The experiment \"{}\" {what}. {}", row.keyword, row.conclusion);
    Diagnostic::error("Experiment has concluded", detail).at(at)
}

pub(crate) fn experiments_active(features: &[Feature], at: Span) -> Diagnostic {
    let mut detail = EcoString::from(
        "This module uses features that may change or disappear in any later version, so it should not be published or \
         used in production yet:\n",
    );
    for feature in features {
        detail.push_str(&eco_format!("  - {}: {}\n", feature.keyword(), feature.row().conclusion));
    }
    Diagnostic::warning("Experimental feature is active", detail.trim_end()).at(at)
}

pub(crate) fn misplaced_required_providers(at: Span) -> Diagnostic {
    let detail = "A \"required_providers\" block belongs inside of a \"terraform\" block.";
    Diagnostic::error("Invalid required_providers block", detail).at(at)
}

pub(crate) fn invalid_provider_name(name: &str, reason: &str, at: Span) -> Diagnostic {
    Diagnostic::error("Invalid provider name", eco_format!("A provider cannot be called \"{name}\": {reason}.")).at(at)
}

pub(crate) fn requirement_not_object(at: Span) -> Diagnostic {
    let detail = "What is required of a provider is either a version constraint or an object like { source = \
        \"namespace/name\", version = \"~> 1.0\" }.";
    Diagnostic::error("Invalid required_providers object", detail).at(at)
}

pub(crate) fn requirement_unknown_argument(at: Span) -> Diagnostic {
    let detail = "The only arguments here are \"source\", \"version\" and \"configuration_aliases\". A provider is \
        configured in a \"provider\" block.";
    Diagnostic::error("Invalid required_providers object", detail).at(at)
}

pub(crate) fn requirement_key_not_text(at: Span) -> Diagnostic {
    Diagnostic::error("Invalid Attribute", "The name of an argument has to be a text.").at(at)
}

pub(crate) fn requirement_version_not_text(at: Span) -> Diagnostic {
    Diagnostic::error("Invalid version constraint", "The version constraint has to be a constant text.").at(at)
}

pub(crate) fn requirement_source_not_text(at: Span) -> Diagnostic {
    Diagnostic::error("Invalid source", "The source of a provider has to be a constant text.").at(at)
}

pub(crate) fn alias_not_reference(at: Span) -> Diagnostic {
    let detail = "Each item has to be the local name of the provider, a dot, and the alias: aws.west.";
    Diagnostic::error("Invalid configuration_aliases value", detail).at(at)
}

pub(crate) fn alias_of_other_provider(expected: &str, found: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Each item has to start with the provider's local name, {expected}, but one has {found}.");
    Diagnostic::error("Invalid configuration_aliases value", detail).at(at)
}

pub(crate) fn duplicate_block(kind: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There can be one \"{kind}\" block here, and it is already at {first}.");
    Diagnostic::error(eco_format!("Duplicate {kind} block"), detail).at(at)
}

pub(crate) fn duplicate_encryption(kind: &str, first: &str, second: &str, at: Span) -> Diagnostic {
    let dot = if second.is_empty() { "" } else { "." };
    let detail = eco_format!("There is more than one {kind}.{first}{dot}{second}.");
    Diagnostic::error(eco_format!("Duplicate {kind}"), detail).at(at)
}

/// `what`: "key provider", "encryption method"; `part`: "type", "name".
pub(crate) fn invalid_encryption_name(what: &str, part: &str, text: &str) -> Diagnostic {
    let summary = eco_format!("The provided {what} {part} is invalid");
    let detail =
        eco_format!("The {part} {text:?} of a {what} may have ASCII letters, digits, underscores and dashes only.");
    Diagnostic::error(summary, detail)
}
