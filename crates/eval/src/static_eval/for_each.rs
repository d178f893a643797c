//! Valid values of `for_each`.

use ecow::EcoString;
use yuba_syntax::{Diagnostics, Span};
use yuba_value::{Type, Value, View};

use super::diagnostics;

/// The instances a `for_each` makes: key and value of each, sorted by key.
pub type Instances = Vec<(EcoString, Value)>;

/// The instances of a `for_each` value, which must be known; or all errors in it.
pub fn instances(value: &Value, span: Span) -> (Instances, Diagnostics) {
    let problems = check(value, span);
    if problems.has_errors() {
        return (Instances::new(), problems);
    }
    let mut found: Instances = match value.view_ignoring_marks() {
        View::Set(items) => items.iter().filter_map(|item| Some((item.as_str()?.clone(), item.clone()))).collect(),
        View::Map(_) | View::Object(_) => value.unmark().0.entries().unwrap_or_default(),
        _ => Instances::new(),
    };
    found.sort_by(|a, b| a.0.cmp(&b.0));
    (found, problems)
}

/// Errors in a `for_each` value.
pub fn check(value: &Value, span: Span) -> Diagnostics {
    let mut problems = Diagnostics::new();
    if !is_known(value) {
        problems.push(diagnostics::for_each_unknown(span));
    }
    problems.extend(check_known_part(value, span));
    problems
}

/// Whether the keys are known.
fn is_known(value: &Value) -> bool {
    match value.view_ignoring_marks() {
        View::Set(_) => value.is_wholly_known(),
        _ => value.is_known(),
    }
}

/// Errors in a `for_each` value that may be unknown.
pub fn check_known_part(value: &Value, span: Span) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let ty = value.ty();
    let has_null = match value.view_ignoring_marks() {
        View::Set(items) => is_known(value) && items.iter().any(Value::is_null),
        _ => false,
    };
    if value.is_null() {
        problems.push(diagnostics::for_each_null(span));
    }
    for (kind, present) in [("Sensitive", value.marks().has_sensitive()), ("Ephemeral", value.marks().has_ephemeral())]
    {
        if present {
            problems.push(diagnostics::for_each_secret(kind, span));
        }
    }
    if has_null {
        problems.push(diagnostics::for_each_contains_null(span));
    }
    if ty.is_set() {
        let element = ty.element().cloned().unwrap_or_else(Type::dynamic);
        if element != Type::string() && !element.is_dynamic() {
            problems.push(diagnostics::for_each_set_type(&element.friendly_name(), span));
        }
    } else if !(ty.is_dynamic() || ty.is_map() || ty.is_object()) {
        let hint = match ty.is_tuple() || ty.is_list() {
            true => "Convert it to a set with toset(...).",
            false => "",
        };
        problems.push(diagnostics::for_each_type(&ty.friendly_name(), hint, span));
    }
    problems
}
