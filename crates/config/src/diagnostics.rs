//! What can be wrong with a configuration, in words.
