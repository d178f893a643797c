//! Errors and warnings about files that cannot be read.

use std::io;

use ecow::eco_format;
use yuba_eval::symbols::UnreadableLibrary;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// A configuration file is listed in its directory and cannot be read.
    CONFIGURATION_FILE_UNREADABLE = error "configuration-file-unreadable", "Failed to read file";
    /// The directory of test files exists and cannot be listed.
    TEST_DIRECTORY_UNREADABLE = error "test-directory-unreadable", "Failed to read test directory";
    /// The directory that -test-directory names does not exist.
    TEST_DIRECTORY_MISSING = warning "test-directory-missing", "Test directory does not exist";
    /// The directory that the source argument of a mock_provider block names cannot be listed.
    MOCK_DIRECTORY_UNREADABLE = error "mock-directory-unreadable", "Failed to read mock directory";
}

pub(crate) fn unreadable_file(path: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::new(&CONFIGURATION_FILE_UNREADABLE, eco_format!("Failed to read the file {path:?}: {error}."))
}

pub(crate) fn unreadable_tests(path: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::new(&TEST_DIRECTORY_UNREADABLE, eco_format!("Failed to read the test directory {path}: {error}."))
}

pub(crate) fn missing_tests(path: &str) -> Diagnostic {
    Diagnostic::new(&TEST_DIRECTORY_MISSING, eco_format!("The test directory {path} does not exist."))
}

pub(crate) fn unreadable_mocks(path: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::new(&MOCK_DIRECTORY_UNREADABLE, eco_format!("Failed to read the mock directory {path}: {error}."))
}

pub(crate) fn unreadable_library(path: &str, error: &io::Error) -> UnreadableLibrary {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let reason = match is_missing {
        true => eco_format!("{path} does not exist"),
        false => eco_format!("{path} could not be read: {error}"),
    };
    UnreadableLibrary { is_missing, reason }
}

pub(crate) fn empty_library(suffix: &str) -> UnreadableLibrary {
    let reason = eco_format!("this directory has no files whose names end with {suffix:?}");
    UnreadableLibrary { is_missing: false, reason }
}
