//! Values and types as people write them.
