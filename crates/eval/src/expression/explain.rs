//! Values of the names in a failing expression: `local.x is 5`, and the called function.

use ecow::{EcoString, eco_format};
use yuba_syntax::diagnostic::{Extra, FunctionCall};
use yuba_syntax::expr::Literal;
use yuba_syntax::{Diagnostic, Expr, Traversal, TraversalStep};
use yuba_value::function::Signature;
use yuba_value::{Mark, Type, Value, View};

use super::call::Interface;
use super::{Evaluator, literal_value, take_step};
use crate::references::each_traversal;

impl Evaluator<'_> {
    /// The diagnostic with the values of the names in `expr`.
    pub(super) fn explain(&self, mut diagnostic: Diagnostic, expr: &Expr) -> Diagnostic {
        if self.quiet > 0 {
            return diagnostic;
        }
        let mut values: Vec<(EcoString, EcoString)> = Vec::new();
        each_traversal(expr, &mut |traversal| {
            let Some((value, steps)) = self.reach(traversal) else { return };
            let name = traversal_text(traversal, steps);
            if values.iter().any(|(seen, _)| *seen == name) {
                return;
            }
            if let Some(statement) = describe(&value, &diagnostic) {
                values.push((name, statement));
            }
        });
        values.sort();
        if !values.is_empty() {
            diagnostic.extra.get_or_insert_default().values = values;
        }
        diagnostic
    }

    /// The value after as many steps of a name as can be taken, and how many that were.
    fn reach(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        let (mut value, mut taken) = self.lookup(traversal)?;
        while let Some(step) = traversal.steps.get(taken) {
            match take_step(&value, step) {
                Ok(next) => value = next,
                Err(_) => break,
            }
            taken += 1;
        }
        Some((value, taken))
    }

    /// The diagnostic, saying in which function call it happened.
    pub(super) fn in_call(
        &self,
        mut diagnostic: Diagnostic,
        name: &EcoString,
        signature: &dyn Interface,
    ) -> Diagnostic {
        if self.quiet == 0 {
            let call = FunctionCall { called_as: name.clone(), signature: Some(signature.text()) };
            diagnostic.extra.get_or_insert_with(Box::<Extra>::default).function_call = Some(call);
        }
        diagnostic
    }
}

/// `join(separator, lists...)`
pub fn signature_text(signature: &Signature) -> EcoString {
    let mut params: Vec<String> = signature.params.iter().map(|p| p.name.to_string()).collect();
    params.extend(signature.variadic.iter().map(|p| format!("{}...", p.name)));
    eco_format!("{}({})", signature.name, params.join(", "))
}

/// The name up to a number of steps.
fn traversal_text(traversal: &Traversal, steps: usize) -> EcoString {
    let mut text = traversal.root.clone();
    for step in traversal.steps.iter().take(steps) {
        match step {
            TraversalStep::Attr { name, .. } => text.push_str(&eco_format!(".{name}")),
            TraversalStep::Index { key, .. } => text.push_str(&eco_format!("[{}]", literal_text(key))),
        }
    }
    text
}

fn literal_text(literal: &Literal) -> EcoString {
    compact(&literal_value(literal))
}

/// A statement about a value that follows its name; `None` where there is no helpful statement.
fn describe(value: &Value, diagnostic: &Diagnostic) -> Option<EcoString> {
    let extra = diagnostic.extra.as_deref();
    let caused_by_unknown = extra.is_some_and(|extra| extra.caused_by_unknown);
    let caused_by_secret = extra.is_some_and(|extra| extra.caused_by_sensitive);
    if value.marks().has_sensitive() {
        return caused_by_secret.then(|| "has a sensitive value".into());
    }
    if value.marks().has_ephemeral() {
        return caused_by_secret.then(|| "has an ephemeral value".into());
    }
    let View::Unknown(unknown) = value.view_ignoring_marks() else {
        return Some(eco_format!("is {}", compact(value)));
    };
    let name = unknown.ty.friendly_name();
    if unknown.ty.is_dynamic() {
        return caused_by_unknown.then(|| "will be known only after apply".into());
    }
    if !caused_by_unknown {
        return Some(eco_format!("is a {name}"));
    }
    const MOST_SHOWN: u64 = 1024;
    let least = unknown.refinement.min_len;
    let most = unknown.refinement.max_len.unwrap_or(u64::MAX);
    Some(match unknown.ty.is_collection() {
        true if least == most => eco_format!("is a {name} of length {least}, known only after apply"),
        true if least != 0 && most <= MOST_SHOWN => {
            eco_format!("is a {name} with between {least} and {most} elements, known only after apply")
        }
        true if least != 0 => eco_format!("is a {name} with at least {least} elements, known only after apply"),
        true if most <= MOST_SHOWN => eco_format!("is a {name} with up to {most} elements, known only after apply"),
        _ => eco_format!("is a {name}, known only after apply"),
    })
}

/// A value in a few words; never shows what is inside a collection.
fn compact(value: &Value) -> EcoString {
    if value.marks().contains(&Mark::Sensitive) {
        return "(sensitive value)".into();
    }
    if value.marks().contains(&Mark::Ephemeral) {
        return "(ephemeral value)".into();
    }
    let count = |ty: &Type, n: usize| match n {
        0 => eco_format!("empty {}", ty.friendly_name()),
        1 => eco_format!("{} with 1 element", ty.friendly_name()),
        n => eco_format!("{} with {n} elements", ty.friendly_name()),
    };
    match value.view_ignoring_marks() {
        View::Null => "null".into(),
        View::Unknown(_) => "(not yet known)".into(),
        View::Bool(b) => eco_format!("{b}"),
        View::Number(n) => n.format(b'g', Some(10)).into(),
        View::String(s) => yuba_value::quote(s),
        View::List(items) | View::Set(items) | View::Tuple(items) => count(value.ty(), items.len()),
        View::Map(items) => count(value.ty(), items.len()),
        View::Object(_) => match value.ty().attrs().unwrap_or_default() {
            [] => "object with no attributes".into(),
            [attr] => eco_format!("object with 1 attribute {}", yuba_value::quote(&attr.name)),
            attrs => eco_format!("object with {} attributes", attrs.len()),
        },
    }
}
