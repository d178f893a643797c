//! Provider processes: launched, greeted over mutual TLS and spoken to in protocol 5 and 6, each behind the trait
//! `Provider`.
//!
//! Invariant: no process that was started here outlives this program.

pub mod wire;
