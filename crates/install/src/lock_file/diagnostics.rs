//! Diagnostics about lock files.

use std::io::Error;
use std::path::Path;

use yuba_addrs::ProviderSource;
use yuba_syntax::{Code, Diagnostic, Span};

yuba_syntax::catalogue! {
    /// The dependency lock file cannot be read.
    LOCK_FILE_UNREADABLE = error "lock-file-unreadable", "Failed to read file";
    /// The dependency lock file cannot be written.
    LOCK_FILE_NOT_WRITTEN = error "lock-file-not-written", "Failed to update dependency lock file";
    /// The dependency lock file contains the markers of a merge conflict.
    LOCK_FILE_MERGE_CONFLICT = error "lock-file-merge-conflict", "Merge conflict in dependency lock file";
    /// The dependency lock file has a block for a provider that cannot be locked.
    LOCKED_PROVIDER_INVALID = error "locked-provider-invalid", "Invalid provider source address";
    /// The dependency lock file has a provider source that is not in its normal form.
    LOCKED_PROVIDER_NOT_NORMALIZED = error "locked-provider-not-normalized", "Non-normalized provider source address";
    /// The dependency lock file has an invalid version of a provider.
    LOCKED_VERSION_INVALID = error "locked-version-invalid", "Invalid provider version number";
    /// The dependency lock file has invalid version constraints of a provider.
    LOCKED_CONSTRAINTS_INVALID = error "locked-constraints-invalid", "Invalid provider version constraints";
    /// A provider in the dependency lock file has no version.
    LOCKED_VERSION_MISSING = error "locked-version-missing", "Missing required argument";
    /// The dependency lock file has two blocks for one provider.
    PROVIDER_LOCKED_TWICE = error "provider-locked-twice", "Duplicate provider lock";
    /// The dependency lock file has a block for a module.
    MODULE_LOCK_IGNORED = warning "module-lock-ignored", "Dependency locks for modules are not yet supported";
    /// The hashes of a provider in the dependency lock file are not a list.
    LOCKED_HASHES_NOT_A_LIST = error "locked-hashes-not-a-list", "Invalid expression";
    /// The list of hashes of a provider in the dependency lock file is empty.
    LOCKED_HASHES_EMPTY = error "locked-hashes-empty", "Invalid provider hash set";
    /// The dependency lock file has a hash without a scheme.
    LOCKED_HASH_INVALID = error "locked-hash-invalid", "Invalid provider hash string";
    /// An argument in the dependency lock file is not a string.
    LOCKED_VALUE_NOT_A_STRING = error "locked-value-not-a-string", "Unsuitable value type";
    /// Entries of another registry in the dependency lock file are replaced.
    LOCK_FILE_ENTRIES_REPLACED = warning "lock-file-entries-replaced", "Dependency lock file entries automatically updated";
}

/// A lock file that cannot be read.
pub(super) fn unreadable(path: &Path, error: &Error) -> Diagnostic {
    let detail = format!("Failed to read the lock file {}: {error}.", path.display());
    Diagnostic::new(&LOCK_FILE_UNREADABLE, detail)
}

/// A lock file that could not be replaced.
pub(super) fn unwritable(path: &Path, error: &Error) -> Diagnostic {
    let detail = format!("Failed to write the new selections to {}: {error}. The file is unchanged.", path.display());
    Diagnostic::new(&LOCK_FILE_NOT_WRITTEN, detail)
}

/// A marker of a merge conflict.
pub(super) fn merge_conflict(span: Span) -> Diagnostic {
    let detail = "This line is a conflict marker of a version control system.";
    let hint = "Keep one of the versions and remove the markers, or restore the file of one side and run \"yuba init\", which \
                adds the missing entries.";
    Diagnostic::new(&LOCK_FILE_MERGE_CONFLICT, detail).hint(hint).at(span)
}

/// A provider that cannot be in a lock file.
pub(super) fn not_lockable(reason: &str, span: Span) -> Diagnostic {
    let detail = format!("A version of this provider cannot be locked: {reason}.");
    Diagnostic::new(&LOCKED_PROVIDER_INVALID, detail).at(span)
}

/// An entry of a lock file that is not in its normal form.
pub(super) fn not_normal(code: &'static Code, given: &str, normal: &str, span: Span) -> Diagnostic {
    let detail = format!("The normal form of {given:?} in a lock file is {normal:?}.");
    Diagnostic::new(code, detail).at(span)
}

/// A version or a constraint in a lock file that is invalid.
pub(super) fn no_locked_version(
    code: &'static Code,
    provider: &ProviderSource,
    what: &str,
    given: &str,
    span: Span,
) -> Diagnostic {
    let detail = format!("The lock of provider {provider} is invalid: {given:?} is not {what}.");
    Diagnostic::new(code, detail).at(span)
}

/// A version that is null.
pub(super) fn no_version(span: Span) -> Diagnostic {
    Diagnostic::new(&LOCKED_VERSION_MISSING, "The argument \"version\" of a locked provider must not be null.").at(span)
}

/// A provider that a lock file has twice.
pub(super) fn locked_twice(provider: &ProviderSource, span: Span) -> Diagnostic {
    let detail = format!("The lock file already has a block for provider {provider}.");
    Diagnostic::new(&PROVIDER_LOCKED_TWICE, detail).hint("Remove one of the blocks.").at(span)
}

/// A module in a lock file.
pub(super) fn locked_module(span: Span) -> Diagnostic {
    let detail =
        "Ignoring this block: versions of modules cannot be locked. A later version of Yuba may have written it.";
    Diagnostic::new(&MODULE_LOCK_IGNORED, detail).at(span)
}

/// `hashes` that is not written as a list.
pub(super) fn no_list(span: Span) -> Diagnostic {
    Diagnostic::new(&LOCKED_HASHES_NOT_A_LIST, "The argument \"hashes\" must be a list in brackets.").at(span)
}

/// `hashes` without any.
pub(super) fn no_hashes(span: Span) -> Diagnostic {
    let detail = "The argument \"hashes\" must contain at least one hash.";
    Diagnostic::new(&LOCKED_HASHES_EMPTY, detail).hint("Remove the argument if there are no hashes.").at(span)
}

/// A hash without scheme.
pub(super) fn no_hash(given: &str, span: Span) -> Diagnostic {
    let detail = format!("{given:?} is not a package hash. A hash starts with a scheme and a colon, such as \"h1:\".");
    Diagnostic::new(&LOCKED_HASH_INVALID, detail).at(span)
}

/// A value in a lock file that must be a string.
pub(super) fn no_text(span: Span) -> Diagnostic {
    Diagnostic::new(&LOCKED_VALUE_NOT_A_STRING, "A string is required here.").at(span)
}

pub(super) fn adopted(pairs: &[(ProviderSource, ProviderSource)]) -> Diagnostic {
    let mut detail = String::from("Yuba replaces entries of another registry in the dependency lock file:\n");
    for (old, new) in pairs {
        detail.push_str(&format!("  - {old} => {new}\n"));
    }
    detail.push_str(
        "\nThe selected versions stay the same. The checksums are recorded again, because the packages of the two \
         registries differ.",
    );
    Diagnostic::new(&LOCK_FILE_ENTRIES_REPLACED, detail)
}
