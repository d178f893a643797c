//! The `yuba` binary.
fn main() {}
