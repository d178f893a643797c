//! The comment above an object of a plan: what is done with it, and why.

use std::fmt::Write as _;

use yuba_addrs::{InstanceKey, ModuleInstance};
use yuba_plan::{Action, ActionReason, Importing, ResourceChange};

use super::Cause;
use crate::paint::{Paint, RED, YELLOW};

pub(super) fn write(out: &mut String, change: &ResourceChange, cause: Cause, paint: Paint) {
    let addr = match &change.deposed {
        Some(key) => format!("{} (deposed object {key})", change.addr),
        None => change.addr.to_string(),
    };
    let bold = |text: &str| paint.bold(text).into_owned();
    let bold_red = |text: &str| paint.bold_in(RED, text).into_owned();
    let head = |addr: &str| bold(&format!("  # {addr}"));
    let mut moved_is_said = false;
    let sentence = match (change.action, cause) {
        (Action::Create, _) => format!("{} will be created", head(&addr)),
        (Action::Read, _) => format!("{} will be read during apply", head(&addr)),
        (Action::Update, Cause::Planned) => format!("{} will be updated in-place", head(&addr)),
        (Action::Update, Cause::Drift) => format!("{} has changed", head(&addr)),
        (Action::Delete, Cause::Planned) => format!("{} will be {}", head(&addr), bold_red("destroyed")),
        (Action::Delete, Cause::Drift) => format!("{} has been deleted", head(&addr)),
        (Action::DeleteThenCreate | Action::CreateThenDelete, _) => replacement(change, &head(&addr), paint),
        (Action::ForgetThenCreate, _) => format!(
            "{} - {}{}{} ({})",
            replacement(change, &head(&addr), paint),
            paint.with(YELLOW, "older instance will "),
            paint.bold_in(YELLOW, "not"),
            paint.with(YELLOW, " be destroyed"),
            bold("lifecycle.destroy = false"),
        ),
        (Action::Forget, _) => {
            format!("{} will be removed from the Yuba state {}", head(&addr), bold_red("but will not be destroyed"))
        }
        (Action::NoOp, _) => match &change.moved_from {
            Some(from) => {
                moved_is_said = true;
                format!("{} has moved to {}", head(&from.to_string()), bold(&addr))
            }
            None => format!("{} will be imported", head(&addr)),
        },
    };
    out.push_str(&sentence);
    write_reason(out, change, &bold("lifecycle.destroy = false"));
    if change.deposed.is_some() && matches!(change.action, Action::Delete | Action::Forget | Action::ForgetThenCreate) {
        out.push_str("\n  # (left over from a partially-failed replacement of this instance)");
    }
    if change.action == Action::NoOp && !moved_is_said && change.generated_config.is_some() {
        out.push_str("\n  # (config will be generated)");
    }
    out.push('\n');
    if let Some(from) = change.moved_from.as_ref().filter(|_| !moved_is_said) {
        let _ = writeln!(out, "  # (moved from {from})");
    }
    if let Some(importing) = &change.importing {
        write_import(out, importing);
        if matches!(change.action, Action::CreateThenDelete | Action::DeleteThenCreate) {
            let warning = paint.with(YELLOW, "Warning: this will destroy the imported resource");
            let _ = writeln!(out, "  # {warning}");
        }
    }
}

fn replacement(change: &ResourceChange, head: &str, paint: Paint) -> String {
    let replaced = paint.bold_in(RED, "replaced");
    match change.reason {
        ActionReason::ReplaceBecauseTainted => format!("{head} is tainted, so it must be {replaced}"),
        ActionReason::ReplaceByRequest => format!("{head} will be {replaced}, as requested"),
        ActionReason::ReplaceByTriggers => format!("{head} will be {replaced} due to changes in replace_triggered_by"),
        _ => format!("{head} must be {replaced}"),
    }
}

fn write_reason(out: &mut String, change: &ResourceChange, destroy_false: &str) {
    // Quirk: these lines begin in another way.
    let forgotten = match (change.action, change.reason) {
        (Action::Forget, ActionReason::ForgotBecauseDestroyFalseInState) => {
            Some("was configured before this resource was removed from the configuration")
        }
        (Action::Forget, ActionReason::ForgotBecauseDestroyFalseInConfig) => Some("is set in the configuration"),
        _ => None,
    };
    if let Some(why) = forgotten {
        let _ = write!(out, " \n (because {destroy_false} {why})");
    } else if let Some(reason) = reason(change) {
        let _ = write!(out, "\n  # ({reason})");
    }
}

/// Reason why an object is read during apply or destroyed, as a sentence part.
pub(crate) fn reason(change: &ResourceChange) -> Option<String> {
    let resource = &change.addr.resource;
    let key = match &change.addr.key {
        Some(InstanceKey::Int(key)) => key.to_string(),
        Some(InstanceKey::String(key)) => yuba_value::json::quote(key),
        None => String::new(),
    };
    Some(match (change.action, change.reason) {
        (Action::Read, ActionReason::ReadBecauseConfigUnknown) => "config refers to values not yet known".to_owned(),
        (Action::Read, ActionReason::ReadBecauseDependencyPending) => {
            "depends on a resource or a module with changes pending".to_owned()
        }
        (Action::Read, ActionReason::ReadBecauseCheckNested) => {
            "config will be reloaded to verify a check block".to_owned()
        }
        (Action::Delete, ActionReason::DeleteBecauseNoResourceConfig) => {
            format!("because {}.{} is not in configuration", resource.kind, resource.name)
        }
        (Action::Delete, ActionReason::DeleteBecauseNoMoveTarget) => {
            let from = change.moved_from.as_deref().unwrap_or(&change.addr);
            format!("because {from} was moved to {}, which is not in configuration", change.addr)
        }
        (Action::Delete, ActionReason::DeleteBecauseNoModule) => {
            format!("because {} is not in configuration", change.addr.module)
        }
        (Action::Delete, ActionReason::DeleteBecauseModuleEnabledFalse(depth)) => {
            let steps = change.addr.module.steps().iter();
            let disabled: ModuleInstance = steps.take(usize::from(depth)).cloned().collect();
            format!("because {disabled} is not enabled")
        }
        (Action::Delete, ActionReason::DeleteBecauseWrongRepetition) => match &change.addr.key {
            None => "because resource uses count or for_each".to_owned(),
            Some(InstanceKey::Int(_)) => "because resource does not use count".to_owned(),
            Some(InstanceKey::String(_)) => "because resource does not use for_each".to_owned(),
        },
        (Action::Delete, ActionReason::DeleteBecauseCountIndex) => {
            format!("because index [{key}] is out of range for count")
        }
        (Action::Delete, ActionReason::DeleteBecauseEachKey) => format!("because key [{key}] is not in for_each map"),
        (Action::Delete, ActionReason::DeleteBecauseEnabledFalse) => "because enabled is false".to_owned(),
        _ => return None,
    })
}

fn write_import(out: &mut String, importing: &Importing) {
    let id = importing.id.as_ref().filter(|id| !id.is_empty());
    let identity = || yuba_value::json::encode_plain(&importing.identity.as_ref()?.unmark_deep().0).ok();
    if let Some(id) = id {
        let _ = writeln!(out, "  # (imported from \"{id}\")");
    } else if let Some(identity) = identity() {
        let _ = writeln!(out, "  # imported using resource identity: {}", indented(&identity));
    } else {
        out.push_str("  # (will be imported first)\n");
    }
}

/// JSON on lines that are part of the comment.
fn indented(json: &str) -> String {
    let mut out = String::new();
    let mut level = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    let mut chars = json.chars().peekable();
    let new_line = |out: &mut String, level: usize| {
        out.push_str("\n  # ");
        out.extend(std::iter::repeat_n("  ", level));
    };
    while let Some(c) = chars.next() {
        match c {
            _ if in_text => {
                out.push(c);
                in_text = escaped || c != '"';
                escaped = c == '\\' && !escaped;
            }
            '"' => {
                in_text = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    level += 1;
                    new_line(&mut out, level);
                }
            }
            '}' | ']' => {
                level = level.saturating_sub(1);
                new_line(&mut out, level);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, level);
            }
            ':' => out.push_str(": "),
            _ => out.push(c),
        }
    }
    out
}
