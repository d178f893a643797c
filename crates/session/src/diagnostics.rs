//! Everything that can go wrong here, said in one place.

use std::io::{Error, ErrorKind};

use yuba_syntax::Diagnostic;

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
