//! Type constraints: expressions read as types.
