//! The contract with providers, without the wire.
