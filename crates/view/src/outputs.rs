//! Output values of the root module.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use yuba_state::Output;
use yuba_value::EcoString;

use crate::paint::{GREEN, Paint, Style};
use crate::value::format_value;

/// All output values, a line or more each. Empty if there are none.
pub fn render(outputs: &BTreeMap<EcoString, Output>, show_sensitive: bool) -> String {
    let mut out = String::new();
    for (name, output) in outputs {
        if output.sensitive && !show_sensitive {
            let _ = writeln!(out, "{name} = <sensitive>");
        } else {
            let _ = writeln!(out, "{name} = {}", format_value(&output.value));
        }
    }
    out
}

/// One output value, sensitive or not: who asks for it by name wants to see it.
pub fn render_one(output: &Output) -> String {
    format!("{}\n", format_value(&output.value))
}

/// What follows the summary after applying; nothing if there are no outputs.
pub fn section(outputs: &BTreeMap<EcoString, Output>, show_sensitive: bool, style: Style) -> String {
    if outputs.is_empty() {
        return String::new();
    }
    format!("\n{}\n\n{}", Paint::new(style).bold_in(GREEN, "Outputs:"), render(outputs, show_sensitive))
}
