//! Diagnostics about logs and profiles.

use std::io;

use yuba_syntax::{Diagnostic, Sources};

use crate::exit::Failure;

yuba_syntax::catalogue! {
    /// The file that `-profile` names cannot be created, or does not support seeking.
    PROFILE_NOT_WRITABLE = error "profile-not-writable", "Failed to create profile";
}

/// The file that `-profile` names cannot be written.
pub(super) fn profile_not_writable(path: &str, error: &io::Error) -> Failure {
    let detail = format!("Failed to create the file {path:?} of -profile: {error}.");
    let hint = "Name a file in an existing directory that you can write to.";
    Failure::Failed(Diagnostic::new(&PROFILE_NOT_WRITABLE, detail).hint(hint).into(), Sources::new())
}
