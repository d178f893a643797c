//! Everything that can go wrong here, said in one place.

use std::io::{Error, ErrorKind};
use std::path::Path;

use ecow::EcoString;
use yuba_addrs::ProviderSource;
use yuba_syntax::{Diagnostic, Span};

/// A target that does not exist.
pub(crate) fn no_such_target(name: &str, error: &Error) -> Diagnostic {
    let detail = match error.kind() {
        ErrorKind::NotFound => format!("There is no file or directory at {name}."),
        _ => format!("The file or directory {name} cannot be reached: {}.", reason(error)),
    };
    Diagnostic::error("Invalid file or directory path", detail)
}

/// A file of a kind that has no canonical form.
pub(crate) fn not_formattable(name: &str, endings: &[&str]) -> Diagnostic {
    let hint = match name.ends_with(".json") {
        true => " Configuration in JSON syntax has no canonical form.",
        false => "",
    };
    let detail = format!("{name} cannot be formatted: only files that end in {} can.{hint}", list(endings));
    Diagnostic::error("Invalid file extension", detail)
}

/// A directory whose entries cannot be listed.
pub(crate) fn unreadable_directory(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::error("Invalid path", format!("The directory {name} cannot be read: {}.", reason(error)))
}

/// A file that cannot be opened.
pub(crate) fn unopenable_file(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::error("Failed to open file", format!("The file {name} cannot be opened: {}.", reason(error)))
}

/// A file whose content cannot be had.
pub(crate) fn unreadable_file(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::error("Failed to read file", format!("The file {name} cannot be read: {}.", reason(error)))
}

/// A formatted file that could not take the place of the old one.
pub(crate) fn unwritable_file(name: &str, error: &Error) -> Diagnostic {
    let detail = format!("The formatted text of {name} cannot be written: {}.", reason(error));
    Diagnostic::error("Writing formatted file failed", detail)
}

/// A directory without configuration.
pub(crate) fn no_configuration(dir: &str) -> Diagnostic {
    Diagnostic::error("No configuration files", format!("The directory {dir} has no configuration files."))
}

/// The `cloud` block.
pub(crate) fn cloud_not_available(span: Span) -> Diagnostic {
    let detail = "A \"cloud\" block keeps the state in a service that Yuba does not speak to. Use a \"backend\" block, or \
                  run \"yuba init -backend=false\" to work without the state.";
    Diagnostic::error("Cloud backend not available", detail).at(span)
}

/// A backend that OpenTofu has and this version has not.
pub(crate) fn backend_not_available(kind: &str, span: Span) -> Diagnostic {
    let detail = format!(
        "This version of Yuba cannot keep the state in a backend of the type {kind:?} yet. Use the backend \"local\", or run \
         \"yuba init -backend=false\" to work without the state."
    );
    Diagnostic::error("Backend not available yet", detail).at(span)
}

/// A backend that nobody has.
pub(crate) fn unknown_backend(kind: &str, known: &[&str], span: Span) -> Diagnostic {
    let hint = yuba_syntax::suggestion::did_you_mean(kind, known.iter().copied());
    Diagnostic::error("Unsupported backend type", format!("There is no backend of the type {kind:?}.{hint}")).at(span)
}

/// A state that was kept in a backend of another kind before.
pub(crate) fn backend_changed(before: &str, now: Option<&str>, pointer: &Path) -> Diagnostic {
    let now = now.map_or_else(|| "has no backend".to_owned(), |now| format!("has the backend {now:?}"));
    let detail = format!(
        "The state of this working directory was kept in the backend {before:?}, and the configuration {now} now. Yuba \
         has the backend \"local\" only and cannot move the state. Move it with \"tofu init -migrate-state\". If the \
         state is not needed any more, remove the file {}.",
        pointer.display()
    );
    Diagnostic::error("Backend initialization required, please run \"yuba init\"", detail)
}

/// A provider without namespace, as before OpenTofu.
pub(crate) fn legacy_provider(provider: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "This configuration refers to the provider {:?} without saying who publishes it, as was usual before Terraform 0.13. \
         Name the provider's source in required_providers.",
        provider.kind
    );
    Diagnostic::error("Invalid legacy provider address", detail)
}

/// Two providers that may have been meant to be one.
pub(crate) fn similar_providers(name: &str, providers: &[EcoString]) -> Diagnostic {
    let detail = format!(
        "There are several providers called {name:?} in this configuration: {}. If that is intended, nothing is wrong; \
         otherwise make the sources in required_providers agree.",
        providers.join(", ")
    );
    Diagnostic::warning("Potential provider misconfiguration", detail)
}

/// A built-in provider that does not exist.
pub(crate) fn no_such_built_in(provider: &ProviderSource) -> Diagnostic {
    let detail = format!("{} cannot be used: only the provider \"terraform\" is built in.", provider.for_display());
    Diagnostic::error("Invalid dependency on built-in provider", detail)
}

/// A built-in provider with a version.
pub(crate) fn version_of_built_in(provider: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "{} cannot be used in a certain version: it is part of the program. Remove the version constraint.",
        provider.for_display()
    );
    Diagnostic::error("Invalid dependency on built-in provider", detail)
}

/// A version constraint of a provider that cannot be read.
pub(crate) fn invalid_constraint(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Invalid version constraint", format!("This is no version constraint: {reason}.")).at(span)
}

/// A provider that is not built in.
pub(crate) fn provider_not_available(provider: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "No package of the provider {} was found. This version of Yuba has the built-in provider \"terraform\" only; it \
         cannot install others yet.",
        provider.for_display()
    );
    Diagnostic::error("Failed to query available provider packages", detail)
}

/// A provider that cannot be in a lock file.
pub(crate) fn not_lockable(reason: &str, span: Span) -> Diagnostic {
    let detail = format!("A version of this provider cannot be locked: {reason}.");
    Diagnostic::error("Invalid provider source address", detail).at(span)
}

/// Something in a lock file that is not in the form in which it is written there.
pub(crate) fn not_normal(summary: &str, given: &str, normal: &str, span: Span) -> Diagnostic {
    let detail =
        format!("In a lock file {given:?} has to be written as {normal:?}, so that files do not differ without need.");
    Diagnostic::error(summary, detail).at(span)
}

/// A version or a constraint in a lock file that is none.
pub(crate) fn no_locked_version(
    summary: &str,
    provider: &ProviderSource,
    what: &str,
    given: &str,
    span: Span,
) -> Diagnostic {
    let detail = format!("What is locked for the provider {provider} cannot be read: {given:?} is not {what}.");
    Diagnostic::error(summary, detail).at(span)
}

/// A provider that a lock file has twice.
pub(crate) fn locked_twice(provider: &ProviderSource, span: Span) -> Diagnostic {
    let detail = format!("The lock file has another block for the provider {provider} above. Only one can count.");
    Diagnostic::error("Duplicate provider lock", detail).at(span)
}

/// A module in a lock file.
pub(crate) fn locked_module(span: Span) -> Diagnostic {
    let detail = "Versions of modules cannot be locked, so this block is ignored. A later version of the program may have written \
                  it.";
    Diagnostic::warning("Dependency locks for modules are not yet supported", detail).at(span)
}

/// `hashes` without any.
pub(crate) fn no_hashes(span: Span) -> Diagnostic {
    let detail = "\"hashes\" is a list with at least one hash. Leave it out if there is none.";
    Diagnostic::error("Invalid provider hash set", detail).at(span)
}

/// A hash without scheme.
pub(crate) fn no_hash(given: &str, span: Span) -> Diagnostic {
    let detail = format!("{given:?} is no hash of a package: it has to start with a scheme and a colon, like \"h1:\".");
    Diagnostic::error("Invalid provider hash string", detail).at(span)
}

/// Something in a lock file that has to be a text.
pub(crate) fn no_text(span: Span) -> Diagnostic {
    Diagnostic::error("Unsuitable value type", "A text is needed here.").at(span)
}

/// The operating system's reason in words that end no sentence.
fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::StorageFull => "no space is left on the device".to_owned(),
        _ => error.to_string(),
    }
}

/// `a, b and c`
fn list(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
