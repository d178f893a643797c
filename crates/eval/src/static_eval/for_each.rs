//! What a `for_each` may be.

use ecow::{EcoString, eco_format};
use yuba_syntax::{Diagnostic, Diagnostics, Span};
use yuba_value::{Type, Value, View};

/// The instances a `for_each` makes: key and value of each, sorted by key.
pub type Instances = Vec<(EcoString, Value)>;

/// The instances of a `for_each` value, which must be known; or what is wrong with it, all of it.
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

/// What is wrong with a `for_each` value.
pub fn check(value: &Value, span: Span) -> Diagnostics {
    let mut problems = Diagnostics::new();
    if !is_known(value) {
        let detail = "The keys of the instances must be known when the plan is made, but this value will be known only after \
                      something was applied. Write a map with keys that are known; its values may be unknown.";
        problems.push(Diagnostic::error("Invalid for_each argument", detail).at(span));
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

/// What is wrong with a `for_each` value that need not be known.
pub fn check_known_part(value: &Value, span: Span) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let ty = value.ty();
    let mut error = |detail: EcoString| problems.push(Diagnostic::error("Invalid for_each argument", detail).at(span));
    let has_null = match value.view_ignoring_marks() {
        View::Set(items) => is_known(value) && items.iter().any(Value::is_null),
        _ => false,
    };
    if value.is_null() {
        error("The value of \"for_each\" is null. Write an empty map or set for no instances.".into());
    }
    for (kind, present) in [("Sensitive", value.marks().has_sensitive()), ("Ephemeral", value.marks().has_ephemeral())]
    {
        if present {
            error(eco_format!(
                "{kind} values, or values derived from them, cannot be used for \"for_each\": the keys of instances are \
                 shown in addresses."
            ));
        }
    }
    if has_null {
        error("A set for \"for_each\" must not contain null.".into());
    }
    if ty.is_set() {
        let element = ty.element().cloned().unwrap_or_else(Type::dynamic);
        if element != Type::string() && !element.is_dynamic() {
            error(eco_format!(
                "A set for \"for_each\" must be a set of strings, but this is a set of {}.",
                element.friendly_name()
            ));
        }
    } else if !(ty.is_dynamic() || ty.is_map() || ty.is_object()) {
        let hint = match ty.is_tuple() || ty.is_list() {
            true => " Use toset(...) to make a set of it.",
            false => "",
        };
        error(eco_format!(
            "The value of \"for_each\" must be a map or a set of strings, but this is {}.{hint}",
            ty.friendly_name()
        ));
    }
    problems
}
