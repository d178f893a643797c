//! The parser: tokens to a lossless tree, lowered bodies and expressions.
