//! Diagnostics about flags that select a view of a plan.

use yuba_syntax::Diagnostic;
use yuba_value::quote::quote;
use yuba_view::report::views::ShownAction;

yuba_syntax::catalogue! {
    /// More than one of `-summary`, `-tree` and `-group` is used.
    SEVERAL_PLAN_VIEWS = error "several-plan-views", "Incompatible plan views";
    /// `-only` names an action that does not exist.
    UNKNOWN_SHOWN_ACTION = error "unknown-shown-action", "Invalid action for -only";
    /// A flag that selects a view for people is used with `-json`.
    PLAN_VIEW_WITH_JSON = error "plan-view-with-json", "Plan view with JSON output";
}

pub(super) fn several_forms(first: &str, second: &str) -> Diagnostic {
    Diagnostic::new(
        &SEVERAL_PLAN_VIEWS,
        format!("-{first} and -{second} select different views of a plan. Use one of them."),
    )
}

pub(super) fn unknown_action(word: &str) -> Diagnostic {
    let words = ShownAction::WORDS.join(", ");
    Diagnostic::new(&UNKNOWN_SHOWN_ACTION, format!("{} is not an action. The actions are {words}.", quote(word)))
}

pub(super) fn view_with_json() -> Diagnostic {
    let detail = "-summary, -tree, -group, -only and -only-changed select a text for people. The messages of -json always contain \
                  all changes. Use -json-into to get both.";
    Diagnostic::new(&PLAN_VIEW_WITH_JSON, detail)
}
