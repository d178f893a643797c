//! The table of backends. A new backend is one row here and one file beside.

mod consul;
mod http;
mod in_memory;
mod kubernetes;
mod local;
mod pg;

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
    not_available("azurerm"),
    BackendKind { name: "consul", schema: consul::schema, check: consul::check, open: Constructor::Store(consul::open) },
    not_available("cos"),
    not_available("gcs"),
    BackendKind { name: "http", schema: http::schema, check: http::check, open: Constructor::Store(http::open) },
    BackendKind {
        name: "inmem",
        schema: in_memory::schema,
        check: nothing_to_check,
        open: Constructor::Store(in_memory::open),
    },
    BackendKind {
        name: "kubernetes",
        schema: kubernetes::schema,
        check: kubernetes::check,
        open: Constructor::Store(kubernetes::open),
    },
    LOCAL,
    not_available("oss"),
    BackendKind { name: "pg", schema: pg::schema, check: pg::check, open: Constructor::Store(pg::open) },
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
