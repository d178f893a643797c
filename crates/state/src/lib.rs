//! The snapshot of what exists: model, file format, and changes as data.
//!
//! A [`State`] is the content of a state file. [`read`] takes a file of any format version and returns the state with
//! warnings; [`write`] writes the current format, byte for byte as OpenTofu would. Between the two a state changes by
//! [`Edit`]s only, each of which can also be stored as one line of JSON.
//!
//! Attributes of objects stay raw JSON until a caller that knows their type asks for the value ([`Object::decode`]), so
//! reading and writing a big state costs little more than copying it.
//!
//! Invariant: nothing here knows providers, their schemas, or where a state is stored.
//!
//! ```
//! let file = br#"{"version": 4, "terraform_version": "1.12.6", "serial": 3, "lineage": "x", "outputs": {}, "resources": []}"#;
//! let (state, _warnings) = yuba_state::read(file).expect("because it is well-formed");
//! assert_eq!(state.serial, 3);
//! ```

mod address;
mod check;
mod diagnostics;
mod edit;
mod edit_json;
mod file;
mod flatmap;
mod json;
mod legacy;
mod model;
mod object;
mod paths;
mod rows;
mod sensitive;
#[cfg(test)]
mod tests;
mod v4;
mod v4_object;
mod v4_write;
mod writer;

pub use check::{CheckKind, CheckObject, CheckResult, CheckStatus};
pub use edit::{Edit, EditError};
pub use file::read;
pub use model::{DeposedKey, Instance, Output, Resource, State};
pub use object::{AttributeError, Attributes, Identity, Object, ObjectRecord, RawJson, Status};
pub use rows::{ObjectRow, OutputRow, ResourceRow, RowKey, RowReader, check_row};
pub use v4_write::{write, write_compact, write_in_pieces};

/// The version that is written as `terraform_version`: the language level.
pub const WRITER_VERSION: &str = "1.12.6";
