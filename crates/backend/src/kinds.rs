//! The table of backends. A new backend is one row here and one file beside.

pub(crate) mod azurerm;
mod consul;
mod gcs;
mod http;
mod in_memory;
mod kubernetes;
mod local;
mod pg;
mod s3;
mod tfe;

use crate::kit::arguments::{ArgumentSchema, Arguments};
use crate::kit::{BackendKind, CLOUD, Constructor};
use yuba_syntax::Diagnostics;

pub(crate) use s3::{check_roles as check_s3_roles, new_roles as s3_roles};

/// The backend that is used where no configuration says otherwise.
pub(crate) const LOCAL: BackendKind = BackendKind {
    name: "local",
    schema: local::schema,
    check: local::check,
    open: Constructor::Files(local::settings),
};

/// All backends that OpenTofu has.
pub(crate) static BACKENDS: &[BackendKind] = &[
    BackendKind {
        name: "azurerm",
        schema: azurerm::schema,
        check: azurerm::check,
        open: Constructor::Store(azurerm::open),
    },
    // A block of its own: no `backend` block has this label.
    BackendKind {
        name: CLOUD,
        schema: tfe::cloud_schema,
        check: tfe::check_cloud,
        open: Constructor::Store(tfe::open_cloud),
    },
    BackendKind {
        name: "consul",
        schema: consul::schema,
        check: consul::check,
        open: Constructor::Store(consul::open),
    },
    not_available("cos"),
    BackendKind { name: "gcs", schema: gcs::schema, check: gcs::check, open: Constructor::Store(gcs::open) },
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
    BackendKind { name: "pg", schema: pg::schema, check: pg::check, open: Constructor::Storage(pg::open) },
    BackendKind {
        name: "remote",
        schema: tfe::remote_schema,
        check: tfe::check_remote,
        open: Constructor::Store(tfe::open_remote),
    },
    BackendKind { name: "s3", schema: s3::schema, check: s3::check, open: Constructor::Store(s3::open) },
];

/// A backend that OpenTofu has and this version of Yuba does not.
const fn not_available(name: &'static str) -> BackendKind {
    BackendKind { name, schema: ArgumentSchema::default, check: nothing_to_check, open: Constructor::NotAvailable }
}

/// For backends whose schema says everything.
fn nothing_to_check(_: &Arguments) -> Diagnostics {
    Diagnostics::new()
}
