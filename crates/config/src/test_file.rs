//! Test files.

/// A test file.
#[derive(Clone, Debug)]
pub struct TestFile {}
