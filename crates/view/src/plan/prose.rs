//! The sentences around a plan.

use yuba_plan::{Mode, Plan};
use yuba_value::quote;

use super::Look;
use crate::paint::{CYAN, GREEN, GREY, RED};
use crate::wrap::wrap;

pub(super) const ACTIONS: &str = "\nYuba will perform the following actions:\n";
pub(super) const ACTIONS_THEN_PROBLEM: &str = "\nYuba planned the following actions, but then encountered a problem:\n";

/// A line across the screen.
pub(super) fn rule(look: Look) -> String {
    if look.width <= 1 {
        return "\n".to_owned();
    }
    format!("\n{}", look.paint().with(GREY, &"─".repeat(look.width - 1)))
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
    let text = "Yuba detected the following changes made outside of Yuba since the last \"yuba apply\", which may have \
                affected this plan:";
    title + &wrapped(text, look)
}

pub(super) fn drift_tail(refresh_only: bool, look: Look) -> String {
    let text = if refresh_only {
        "\n\nThis is a refresh-only plan, so Yuba will not undo these changes. If you expected them, apply this plan to record \
         the new values in the state without changing remote objects."
    } else {
        "\n\nUnless your configuration contains equivalent changes, or ignores these attributes with ignore_changes, the \
         following plan may include actions to undo or respond to these changes."
    };
    wrapped(text, look)
}

pub(super) fn no_changes(plan: &Plan, has_drift: bool, look: Look) -> String {
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
        Mode::RefreshOnly => "Yuba found no differences between the state and remote objects.",
        Mode::Destroy => "The state contains no objects, or all of them were deleted outside of Yuba.",
        Mode::Normal if has_drift && plan.can_apply() => {
            "Your configuration already contains the changes detected above. Applying this plan updates the state to include \
             them and does not change remote objects."
        }
        Mode::Normal if has_drift && look.in_automation => {
            "Your configuration already contains the changes detected above. To update the state too, create and apply a \
             refresh-only plan."
        }
        Mode::Normal if has_drift => {
            "Your configuration already contains the changes detected above. To update the state too, create and apply a \
             refresh-only plan:\n  yuba apply -refresh-only"
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
            "\nYuba has generated configuration and written it to {path}. Please review the configuration and edit it as \
             necessary before adding it to version control."
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
