//! Diagnostics of `validate` about its arguments.

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// `validate` has more than one directory as arguments.
    VALIDATE_SEVERAL_DIRECTORIES = error "validate-several-directories", "Too many command line arguments";
    /// Both `-json` and `-sarif` write to standard output.
    SARIF_WITH_JSON = error "sarif-with-json", "Invalid output format";
}

pub(super) fn sarif_with_json() -> Diagnostic {
    let detail = "-json and -sarif both write to standard output. Write one of the documents to a file with -sarif=FILE or -json-into=FILE.";
    Diagnostic::new(&SARIF_WITH_JSON, detail)
}

pub(super) fn several_directories() -> Diagnostic {
    Diagnostic::new(&VALIDATE_SEVERAL_DIRECTORIES, "The command takes at most one directory.")
}
