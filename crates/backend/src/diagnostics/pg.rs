//! Diagnostics of the backend `pg`.

use ecow::eco_format;
use yuba_syntax::Diagnostic;

use crate::kit::store::StoreError;

yuba_syntax::catalogue! {
    /// The connection string or an environment variable of PostgreSQL is not valid or not supported.
    PG_NOT_CONFIGURED = error "pg-not-configured", "Failed to configure backend \"pg\"";
    /// The backend `pg` cannot connect to its server, or cannot create its table.
    PG_NOT_CONNECTED = error "pg-not-connected", "Failed to configure backend \"pg\"";
    /// The argument `table_name` of the backend `pg` is the name of the table of journals.
    PG_TABLE_RESERVED = error "pg-table-reserved", "Invalid backend configuration argument";
}

/// The reason is a sentence without the period.
pub(crate) fn pg_not_configured(reason: &str) -> Diagnostic {
    Diagnostic::new(&PG_NOT_CONFIGURED, eco_format!("{reason}."))
}

pub(crate) fn pg_not_connected(error: &StoreError) -> Diagnostic {
    Diagnostic::new(&PG_NOT_CONNECTED, eco_format!("The backend {error}."))
}

pub(crate) fn pg_table_reserved(name: &str) -> Diagnostic {
    let detail = eco_format!("Yuba stores journals in the table \"{name}\". Set table_name to another name.");
    Diagnostic::new(&PG_TABLE_RESERVED, detail)
}
