//! Diagnostics of `graph`.

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// `graph` has arguments.
    GRAPH_ARGUMENTS = error "graph-arguments", "Unexpected argument";
    /// `graph -type` names a type that earlier versions of OpenTofu had.
    GRAPH_TYPE_REMOVED = error "graph-type-removed", "Graph type no longer available";
    /// `graph -type` names a type that does not exist.
    UNSUPPORTED_GRAPH_TYPE = error "unsupported-graph-type", "Unsupported graph type";
}

pub(super) fn takes_no_arguments() -> Diagnostic {
    Diagnostic::new(&GRAPH_ARGUMENTS, "The command takes no arguments.")
        .hint("Use -chdir to change the working directory.")
}

pub(super) fn type_no_longer_available(kind: &str) -> Diagnostic {
    let detail = format!("The graph type {kind:?} was removed. The type \"plan\" is similar.");
    Diagnostic::new(&GRAPH_TYPE_REMOVED, detail).hint("Use -type=plan.")
}

pub(super) fn unsupported_type(kind: &str) -> Diagnostic {
    let detail = format!(
        "{kind:?} is not a graph type. The types are \"plan\", \"plan-refresh-only\", \"plan-destroy\" and \"apply\"."
    );
    Diagnostic::new(&UNSUPPORTED_GRAPH_TYPE, detail)
}
