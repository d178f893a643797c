//! Output values of the root module.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use yuba_state::Output;
use yuba_value::EcoString;

use crate::paint::{GREEN, Paint};
use crate::plan::Look;
use crate::value::format_value;

/// Renders all output values without sensitive ones, a line or more each. Empty without outputs.
pub fn render(outputs: &BTreeMap<EcoString, Output>) -> String {
    lines(outputs, |output| match output.sensitive {
        true => "<sensitive>".to_owned(),
        false => format_value(&output.value),
    })
}

/// Renders all output values, sensitive ones too.
pub fn render_sensitive(outputs: &BTreeMap<EcoString, Output>) -> String {
    lines(outputs, |output| format_value(&output.value))
}

fn lines(outputs: &BTreeMap<EcoString, Output>, value: impl Fn(&Output) -> String) -> String {
    let mut out = String::new();
    for (name, output) in outputs {
        let _ = writeln!(out, "{name} = {}", value(output));
    }
    out
}

/// One output value, sensitive or not: a request by name shows it.
pub fn render_one(output: &Output) -> String {
    format!("{}\n", format_value(&output.value))
}

/// The text after the summary of an apply; empty without outputs.
pub fn section(outputs: &BTreeMap<EcoString, Output>, look: Look) -> String {
    if outputs.is_empty() {
        return String::new();
    }
    let lines = if look.show_sensitive { render_sensitive(outputs) } else { render(outputs) };
    // Control sequences stand on the lines around it: tools find the line by its beginning and end, as OpenTofu's.
    format!("{}\n{lines}", Paint::new(look.style).bold_in(GREEN, "\nOutputs:\n"))
}
