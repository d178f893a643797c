//! The table of backends. A new backend is one row here and one file beside.

pub(crate) mod azurerm;
mod in_memory;
mod local;

use crate::kit::arguments::{ArgumentSchema, Arguments};
use crate::kit::{BackendKind, Constructor};
use yuba_syntax::Diagnostics;

/// The backend that is used where no configuration says otherwise.
pub(crate) const LOCAL: BackendKind = BackendKind {
    name: "local",
    schema: local::schema,
    check: local::check,
    open: Constructor::Files(local::settings),
};

/// All backends that OpenTofu has. `cloud` is a block of its own.
pub(crate) static BACKENDS: &[BackendKind] = &[
    BackendKind {
        name: "azurerm",
        schema: azurerm::schema,
        check: azurerm::check,
        open: Constructor::Store(azurerm::open),
    },
    not_available("consul"),
    not_available("cos"),
    not_available("gcs"),
    not_available("http"),
    BackendKind {
        name: "inmem",
        schema: in_memory::schema,
        check: nothing_to_check,
        open: Constructor::Store(in_memory::open),
    },
    not_available("kubernetes"),
    LOCAL,
    not_available("oss"),
    not_available("pg"),
    not_available("remote"),
    not_available("s3"),
];

/// A backend that OpenTofu has and this version of Yuba does not.
const fn not_available(name: &'static str) -> BackendKind {
    BackendKind { name, schema: ArgumentSchema::default, check: nothing_to_check, open: Constructor::NotAvailable }
}

/// For backends whose schema says everything.
fn nothing_to_check(_: &Arguments) -> Diagnostics {
    Diagnostics::new()
}
