//! Diagnostics of `validate` about its arguments.

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// `validate` has more than one directory as arguments.
    VALIDATE_SEVERAL_DIRECTORIES = error "validate-several-directories", "Too many command line arguments";
}

pub(super) fn several_directories() -> Diagnostic {
    Diagnostic::new(&VALIDATE_SEVERAL_DIRECTORIES, "The command takes at most one directory.")
}
