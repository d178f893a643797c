//! Catalogue of the diagnostics of `state query`.

use ecow::eco_format;
use yuba_syntax::{Diagnostic, Span};
use yuba_value::Type;

yuba_syntax::catalogue! {
    /// An expression of `state query` refers to a name that does not exist.
    QUERY_NAME_UNKNOWN = error "query-name-unknown", "Invalid reference";
    /// The filter of `state query` is neither true nor false.
    QUERY_NOT_BOOLEAN = error "query-not-boolean", "Invalid query";
    /// `-columns` of `state query` is empty.
    QUERY_WITHOUT_COLUMNS = error "query-without-columns", "Invalid columns";
}

pub(super) fn name_unknown(name: &str, close: Option<&str>, at: Span) -> Diagnostic {
    let names = super::NAMES.join(", ");
    let detail = eco_format!("A query cannot refer to {name:?}. The names are: {names}.");
    let problem = Diagnostic::new(&QUERY_NAME_UNKNOWN, detail).at(at);
    match close {
        Some(close) => problem.hint(eco_format!("Did you mean {close:?}?")),
        None => problem,
    }
}

pub(super) fn not_boolean(ty: &Type, at: Span) -> Diagnostic {
    let detail = eco_format!("The query must be true or false for each instance, not {}.", ty.friendly_name());
    Diagnostic::new(&QUERY_NOT_BOOLEAN, detail).hint("Compare the value, for example with ==.").at(at)
}

pub(super) fn no_columns() -> Diagnostic {
    Diagnostic::new(&QUERY_WITHOUT_COLUMNS, "The list of -columns has no expressions.")
        .hint("Name at least one column.")
}
