//! Names of actions and reasons in messages for tools.

use yuba_plan::{Action, ActionReason};

pub(super) fn action(action: Action) -> &'static str {
    match action {
        // Quirk: forgetting and creating again has no name of its own.
        Action::NoOp | Action::ForgetThenCreate => "noop",
        Action::Create => "create",
        Action::Read => "read",
        Action::Update => "update",
        Action::DeleteThenCreate | Action::CreateThenDelete => "replace",
        Action::Delete => "delete",
        Action::Forget => "remove",
    }
}

pub(super) fn reason(reason: ActionReason) -> &'static str {
    match reason {
        ActionReason::ReplaceBecauseTainted => "tainted",
        ActionReason::ReplaceByRequest => "requested",
        ActionReason::ReplaceByTriggers => "replace_triggered_by",
        ActionReason::ReplaceBecauseCannotUpdate => "cannot_update",
        other => other.name(),
    }
}

pub(super) fn verb(action: Action) -> &'static str {
    match action {
        Action::Create => "Creating",
        Action::Update => "Modifying",
        Action::Delete => "Destroying",
        Action::Read => "Refreshing",
        Action::CreateThenDelete | Action::DeleteThenCreate => "Replacing",
        Action::NoOp | Action::Forget | Action::ForgetThenCreate => "Applying",
    }
}

pub(super) fn noun(action: Action) -> &'static str {
    match action {
        Action::Create => "Creation",
        Action::Update => "Modifications",
        Action::Delete => "Destruction",
        Action::Read => "Refresh",
        Action::CreateThenDelete | Action::DeleteThenCreate => "Replacement",
        Action::NoOp | Action::Forget | Action::ForgetThenCreate => "Apply",
    }
}
