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
    let text = "Since the last \"yuba apply\" the following was changed by something else than Yuba, which may have had \
                an effect on this plan:";
    title + &wrapped(text, look)
}

pub(super) fn drift_tail(refresh_only: bool, look: Look) -> String {
    let text = if refresh_only {
        "\n\nThis is a refresh-only plan: Yuba will not undo any of this. If you expected these changes, apply this plan to \
         record the new values in the state; nothing but the state changes."
    } else {
        "\n\nUnless you changed your configuration in the same way, or told Yuba with ignore_changes to ignore these \
         attributes, the following plan may undo these changes or respond to them."
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
        Mode::RefreshOnly => {
            "Yuba looked at the real objects, and they still are as your most recent changes left them."
        }
        Mode::Destroy => {
            "Either there are no objects yet, or those there were have already been deleted by something else than Yuba."
        }
        Mode::Normal if has_drift && plan.can_apply() => {
            "Your configuration already says what was changed above. Applying this plan updates the state to include these \
             changes, and changes no real infrastructure."
        }
        Mode::Normal if has_drift && look.in_automation => {
            "Your configuration already says what was changed above. To update the state as well, create and apply a \
             refresh-only plan."
        }
        Mode::Normal if has_drift => {
            "Your configuration already says what was changed above. To update the state as well, create and apply a \
             refresh-only plan:\n  yuba apply -refresh-only"
        }
        Mode::Normal => {
            "Yuba compared your real infrastructure with your configuration and found no differences, so nothing has to be \
             done."
        }
    };
    format!("\n{}{}\n\n{}", paint.bold_in(GREEN, "No changes."), paint.bold(title), wrapped(text, look))
}

pub(super) fn next_steps(saved: Option<&str>, generated: Option<&str>, look: Look) -> String {
    let mut out = rule(look);
    out.push('\n');
    if let Some(path) = generated {
        let text = format!(
            "\nYuba has generated configuration and written it to {path}. Please look through it and edit it as needed \
             before you add it to version control."
        );
        out.push_str(&wrapped(&text, look));
    }
    let text = match saved {
        None => "\nNote: You didn't use the -out option to save this plan, so \"yuba apply\" may do something else if \
                 something changes until then."
            .to_owned(),
        Some(path) => format!(
            "\nSaved the plan to: {path}\n\nTo perform exactly these actions, run the following command to apply:\n    yuba \
             apply {}",
            quote(path)
        ),
    };
    out.push_str(&wrapped(&text, look));
    out
}
