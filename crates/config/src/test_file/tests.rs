//! Tests of test files.
