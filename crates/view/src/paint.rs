//! Colours, or none.

use std::borrow::Cow;

/// Style of a text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// With colours, and for diagnostics a rule at the left.
    Coloured,
    /// Without any control sequence.
    Plain,
}

pub(crate) const RED: &str = "31";
pub(crate) const GREEN: &str = "32";
pub(crate) const YELLOW: &str = "33";
pub(crate) const CYAN: &str = "36";
pub(crate) const GREY: &str = "90";

/// Control sequences, or none.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    pub(crate) fn new(style: Style) -> Paint {
        Paint { on: style == Style::Coloured }
    }
    pub(crate) fn with<'a>(self, codes: &str, text: &'a str) -> Cow<'a, str> {
        if self.on { format!("\x1b[{codes}m{text}\x1b[0m").into() } else { text.into() }
    }
    pub(crate) fn bold(self, text: &str) -> Cow<'_, str> {
        self.with("1", text)
    }
    pub(crate) fn bold_in<'a>(self, colour: &str, text: &'a str) -> Cow<'a, str> {
        self.with(&format!("1;{colour}"), text)
    }
}
