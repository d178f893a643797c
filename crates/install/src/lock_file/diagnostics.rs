//! Everything that can be wrong with a lock file, said in one place.

use std::io::Error;
use std::path::Path;

use yuba_addrs::ProviderSource;
use yuba_syntax::{Diagnostic, Span};

/// A lock file whose content cannot be had.
pub(super) fn unreadable(path: &Path, error: &Error) -> Diagnostic {
    let detail = format!("The lock file {} cannot be read: {error}.", path.display());
    Diagnostic::error("Failed to read file", detail)
}

/// A lock file that could not be replaced.
pub(super) fn unwritable(path: &Path, error: &Error) -> Diagnostic {
    let detail = format!(
        "The new selections could not be written to {}: {error}. The file is as it was before.",
        path.display()
    );
    Diagnostic::error("Failed to update dependency lock file", detail)
}

/// Two versions of the file that nobody has put together.
pub(super) fn merge_conflict(span: Span) -> Diagnostic {
    let detail = "This line is a mark that a version control system leaves where two versions of a file disagree. Decide for \
                  one of the versions and remove the marks; or restore the file of one side and run \"yuba init\", \
                  which adds what the configuration needs besides.";
    Diagnostic::error("Merge conflict in dependency lock file", detail).at(span)
}

/// A provider that cannot be in a lock file.
pub(super) fn not_lockable(reason: &str, span: Span) -> Diagnostic {
    let detail = format!("A version of this provider cannot be locked: {reason}.");
    Diagnostic::error("Invalid provider source address", detail).at(span)
}

/// Something in a lock file that is not in the form in which it is written there.
pub(super) fn not_normal(summary: &str, given: &str, normal: &str, span: Span) -> Diagnostic {
    let detail =
        format!("In a lock file {given:?} has to be written as {normal:?}, so that files do not differ without need.");
    Diagnostic::error(summary, detail).at(span)
}

/// A version or a constraint in a lock file that is none.
pub(super) fn no_locked_version(
    summary: &str,
    provider: &ProviderSource,
    what: &str,
    given: &str,
    span: Span,
) -> Diagnostic {
    let detail = format!("What is locked for the provider {provider} cannot be read: {given:?} is not {what}.");
    Diagnostic::error(summary, detail).at(span)
}

/// A version that is null.
pub(super) fn no_version(span: Span) -> Diagnostic {
    let detail = "A provider is locked to a version: \"version\" cannot be null.";
    Diagnostic::error("Missing required argument", detail).at(span)
}

/// A provider that a lock file has twice.
pub(super) fn locked_twice(provider: &ProviderSource, span: Span) -> Diagnostic {
    let detail = format!("The lock file has another block for the provider {provider} above. Only one can count.");
    Diagnostic::error("Duplicate provider lock", detail).at(span)
}

/// A module in a lock file.
pub(super) fn locked_module(span: Span) -> Diagnostic {
    let detail = "Versions of modules cannot be locked, so this block is ignored. A later version of the program may have written \
                  it.";
    Diagnostic::warning("Dependency locks for modules are not yet supported", detail).at(span)
}

/// `hashes` that is not written as a list.
pub(super) fn no_list(span: Span) -> Diagnostic {
    Diagnostic::error("Invalid expression", "The hashes have to be written as a list, in brackets.").at(span)
}

/// `hashes` without any.
pub(super) fn no_hashes(span: Span) -> Diagnostic {
    let detail = "\"hashes\" is a list with at least one hash. Leave it out if there is none.";
    Diagnostic::error("Invalid provider hash set", detail).at(span)
}

/// A hash without scheme.
pub(super) fn no_hash(given: &str, span: Span) -> Diagnostic {
    let detail = format!("{given:?} is no hash of a package: it has to start with a scheme and a colon, like \"h1:\".");
    Diagnostic::error("Invalid provider hash string", detail).at(span)
}

/// Something in a lock file that has to be a text.
pub(super) fn no_text(span: Span) -> Diagnostic {
    Diagnostic::error("Unsuitable value type", "A text is needed here.").at(span)
}

pub(super) fn adopted(pairs: &[(ProviderSource, ProviderSource)]) -> Diagnostic {
    let mut detail = String::from("Yuba replaces entries of another registry in the dependency lock file:\n");
    for (old, new) in pairs {
        detail.push_str(&format!("  - {old} => {new}\n"));
    }
    detail.push_str(
        "\nThe selected versions stay the same. The checksums are recorded anew, because the packages of the two registries differ.",
    );
    Diagnostic::warning("Dependency lock file entries automatically updated", detail)
}
