//! What a user can ask for, as library functions: for now the console.
//!
//! Invariant: nothing here prints, and nothing here knows argv or terminals.

pub mod console;
pub mod world;

pub use console::{Answer, ConsoleSession, Input};
pub use world::SystemWorld;
