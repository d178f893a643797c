//! The lossless tree.
