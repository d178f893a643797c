//! The sentences around a plan.

use yuba_plan::{Mode, Plan};
use yuba_value::quote;

use super::{Drift, Look};
use crate::paint::{CYAN, GREEN, GREY, RED};
use crate::wrap::wrap;

pub(super) const ACTIONS: &str = "\nYuba will perform the following actions:\n";
pub(super) const ACTIONS_THEN_PROBLEM: &str = "\nYuba planned the following actions, but then encountered a problem:\n";

/// A line across the screen.
pub(super) fn rule(look: Look) -> String {
    if look.width <= 1 {
        return "\n".to_owned();
    }
    look.paint().with(GREY, &format!("\n{}", "─".repeat(look.width - 1))).into_owned()
}

/// Lines that begin with a space stay as they are. Ends with a line end.
fn wrapped(text: &str, look: Look) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for line in text.split('\n') {
        if look.width <= 1 || line.starts_with(' ') {
            out.push_str(line);
        } else {
            out.push_str(&wrap(line, look.width - 1));
        }
        out.push('\n');
    }
    out
}

pub(super) fn legend_head(look: Look) -> String {
    // Scripts look for these lines: they break where those of OpenTofu do.
    wrapped(
        "\nYuba used the selected providers to generate the following execution\n\
         plan. Resource actions are indicated with the following symbols:",
        look,
    )
}

pub(super) fn outputs_only(look: Look) -> String {
    wrapped(
        "\nYou can apply this plan to save these new output values to the Yuba state. No real infrastructure changes.",
        look,
    )
}

pub(super) fn drift_head(look: Look) -> String {
    let paint = look.paint();
    let title =
        format!("\n{}{}\n\n", paint.bold_in(CYAN, "Note:"), paint.bold(" Objects have changed outside of Yuba"));
    let text =
        "Remote objects differ from the state of the last \"yuba apply\". These differences can affect the plan:";
    title + &wrapped(text, look)
}

pub(super) fn drift_tail(mode: Mode, look: Look) -> String {
    let text = if mode == Mode::RefreshOnly {
        "\n\nA refresh-only plan does not revert these differences. Apply it to store the new values in the state. No remote object \
         changes."
    } else {
        "\n\nThe plan below can revert these differences or react to them. To keep them, change the configuration accordingly or \
         list the attributes in ignore_changes."
    };
    wrapped(text, look)
}

pub(super) fn no_changes(plan: &Plan, drift: Drift, look: Look) -> String {
    let paint = look.paint();
    if plan.errored {
        let (title, text) = (
            paint.bold_in(RED, "Planning failed."),
            paint.bold(" Yuba encountered an error while generating this plan."),
        );
        return format!("\n{title}{text}\n\n");
    }
    let title = match plan.mode {
        Mode::RefreshOnly => " Your infrastructure still matches the configuration.",
        Mode::Destroy => " No objects need to be destroyed.",
        Mode::Normal => " Your infrastructure matches the configuration.",
    };
    let text = match plan.mode {
        Mode::RefreshOnly => "The state matches remote objects.",
        Mode::Destroy => "The state contains no objects, or all of them were deleted outside of Yuba.",
        Mode::Normal if drift == Drift::Shown && plan.can_apply() => {
            "The configuration matches these differences. Apply this plan to store them in the state. No remote object changes."
        }
        Mode::Normal if drift == Drift::Shown && look.in_automation => {
            "The configuration matches these differences. To store them in the state, create and apply a refresh-only plan."
        }
        Mode::Normal if drift == Drift::Shown => {
            "The configuration matches these differences. To store them in the state, create and apply a refresh-only plan:\n  \
             yuba apply -refresh-only"
        }
        Mode::Normal => {
            "Yuba found no differences between the configuration and remote objects. The plan contains no actions."
        }
    };
    format!("\n{}{}\n\n{}", paint.bold_in(GREEN, "No changes."), paint.bold(title), wrapped(text, look))
}

pub(super) fn next_steps(saved: Option<&str>, generated: Option<&str>, look: Look) -> String {
    let mut out = rule(look);
    out.push('\n');
    if let Some(path) = generated {
        let text = format!(
            "\nYuba wrote generated configuration to {path}. Review and edit the file before you commit it to version control."
        );
        out.push_str(&wrapped(&text, look));
    }
    let text = match saved {
        None => {
            "\nNote: You didn't use the -out option to save this plan, so \"yuba apply\" creates a new plan, which can \
                 contain other actions."
                .to_owned()
        }
        Some(path) => format!(
            "\nSaved the plan to: {path}\n\nTo perform exactly these actions, run the following command to apply:\n    yuba \
             apply {}",
            quote(path)
        ),
    };
    out.push_str(&wrapped(&text, look));
    out
}
