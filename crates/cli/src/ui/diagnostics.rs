//! Diagnostics of pages that follow a run.

use std::io::Error;

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The page of `-ui` or `yuba ui` cannot be served.
    UI_NOT_SERVED = error "ui-not-served", "Failed to serve page";
    /// The file of `yuba ui` is not a plan, or cannot be used.
    UI_PLAN_NOT_LOADED = error "ui-plan-not-loaded", "Failed to load plan";
}

pub(super) fn page_not_served(error: &Error) -> Diagnostic {
    Diagnostic::new(&UI_NOT_SERVED, format!("Failed to listen on 127.0.0.1: {error}."))
}

pub(super) fn plan_not_loaded(path: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&UI_PLAN_NOT_LOADED, format!("Failed to load {path} as a plan: {reason}."))
        .hint("Write a plan with `yuba plan -out=FILE`.")
}
