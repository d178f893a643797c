//! Diagnostics of the backend `pg`.

use std::path::Path;

use ecow::eco_format;
use yuba_syntax::Diagnostic;

use crate::kit::store::StoreError;

yuba_syntax::catalogue! {
    /// The connection string or an environment variable of PostgreSQL is not valid or not supported.
    PG_NOT_CONFIGURED = error "pg-not-configured", "Failed to configure backend \"pg\"";
    /// The backend `pg` cannot connect to its server, or cannot create its table.
    PG_NOT_CONNECTED = error "pg-not-connected", "Failed to configure backend \"pg\"";
    /// The argument `layout` of the backend `pg` has an unknown value.
    PG_LAYOUT_UNKNOWN = error "pg-layout-unknown", "Invalid backend configuration argument";
    /// An encrypted content is in another row than the one that it was written for.
    PG_ROW_SWAPPED = error "pg-row-swapped", "Failed to load state";
    /// The argument `history_days` of the backend `pg` is not a number of days.
    PG_HISTORY_DAYS_INVALID = error "pg-history-days-invalid", "Invalid backend configuration argument";
    /// A state of the backend `pg` is in the table of another layout than the configured one.
    PG_OTHER_LAYOUT = error "pg-other-layout", "Failed to save state";
    /// A workspace without rows has a state in the table of `layout = "state"`.
    PG_STATE_ELSEWHERE = warning "pg-state-elsewhere", "State with another layout";
    /// Results of a run that could not reach the database are in a file of this machine.
    PG_UNSAVED_CHANGES = warning "pg-unsaved-changes", "Unsaved changes of an earlier run";
    /// The database does not have results of a run. They are in a file of this machine, and no other machine sees them.
    PG_SAVED_ON_THIS_MACHINE_ONLY = error "pg-saved-on-this-machine-only", "Results saved on this machine only";
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
    let detail = eco_format!(
        "Names that start with yuba_ are reserved for tables of Yuba, like \"{name}\". Set another table_name."
    );
    Diagnostic::new(&PG_TABLE_RESERVED, detail)
}

/// `row` are the columns that say what the row is.
pub(crate) fn pg_row_swapped(row: &str, workspace: &str) -> Diagnostic {
    let detail = eco_format!(
        "The encrypted content of the row \"{row}\" in workspace \"{workspace}\" was written for another row. The row was edited \
         outside of Yuba. Restore the row from a backup of the database."
    );
    Diagnostic::new(&PG_ROW_SWAPPED, detail)
}

pub(crate) fn pg_history_days_invalid() -> Diagnostic {
    Diagnostic::new(&PG_HISTORY_DAYS_INVALID, "The argument history_days must be a whole number from 1 to 36500.")
}

pub(crate) fn pg_layout_unknown(layout: &str) -> Diagnostic {
    let detail = eco_format!("The argument layout is \"{layout}\". Set it to \"state\" or \"resources\".");
    Diagnostic::new(&PG_LAYOUT_UNKNOWN, detail)
}

pub(crate) fn pg_other_layout(location: &str) -> Diagnostic {
    let detail = eco_format!(
        "The workspace {location} has no rows yet, and the same table has a state of this workspace with layout = \"state\". \
         Nothing was written."
    );
    Diagnostic::new(&PG_OTHER_LAYOUT, detail)
        .hint("To move that state, restore the previous backend block, run `yuba init -reconfigure`, then set layout = \"resources\" \
               and run `yuba init -migrate-state`.")
}

pub(crate) fn pg_state_elsewhere(location: &str) -> Diagnostic {
    let detail = eco_format!(
        "The workspace {location} has no rows yet, and the same table has a state of this workspace with layout = \"state\". \
         Copy it with `yuba init -migrate-state` before you apply."
    );
    Diagnostic::new(&PG_STATE_ELSEWHERE, detail)
}

/// Results that the database does not have.
pub(crate) fn pg_saved_here(location: &str, file: &Path, error: &StoreError) -> Diagnostic {
    let detail = eco_format!(
        "The last results of this run are not in {location}: {error}. They are in the file {} on this machine. No further operation \
         starts.",
        file.display()
    );
    Diagnostic::new(&PG_SAVED_ON_THIS_MACHINE_ONLY, detail)
        .hint("When the database is available again, run a command that locks the state in this directory, such as `yuba apply`. It saves them.")
}

/// Changes of a run that lost its database, which do not fit the present state.
pub(crate) fn pg_unsaved_changes(location: &str, file: &Path, reason: &str, addresses: &[String]) -> Diagnostic {
    let detail = eco_format!(
        "An earlier run could not save its last changes to {location}: {}. They are in the file {} and were not saved now: \
         {reason}.",
        addresses.join(", "),
        file.display()
    );
    Diagnostic::new(&PG_UNSAVED_CHANGES, detail)
        .hint("Run `yuba plan` to compare the objects with the state, import missing objects, then remove the file.")
}
