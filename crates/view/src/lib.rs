//! Data to look at: diagnostics, values, plans, states and configurations as text for people and as JSON for tools.
//!
//! Called by `cli` with data that other crates made. Everything is a function from data to text; widths and colours
//! are arguments.
//!
//! Invariant: nothing here knows how data came to be, and nothing here reads the environment or asks a terminal.

pub mod annotations;
mod change;
mod checks_json;
pub mod codes;
pub mod config_json;
pub mod diagnostic;
pub mod diagnostic_json;
mod diagnostics;
pub mod diff;
pub mod drift;
pub mod events;
pub mod explain;
pub mod facts;
pub mod functions;
pub mod graph;
pub mod html;
pub mod json;
mod json_writer;
pub mod live;
pub mod machine;
pub mod messages_json;
mod module_tree;
pub mod outputs;
mod paint;
pub mod plan;
pub mod plan_json;
pub mod progress;
pub mod provider_json;
pub mod report;
pub mod requirements;
pub mod snippet;
pub mod state;
pub mod state_json;
pub mod table;
pub mod test;
#[cfg(test)]
mod testing;
pub mod validate_json;
pub mod value;
mod values_json;
pub mod wrap;

pub use paint::Style;
