//! Marks of values that modules see: from blocks of variables, and deprecation until it is reported.

use yuba_config::variable::Variable;
use yuba_value::{Mark, Value, View};

/// A value with the marks that the block of its variable says it has.
pub fn marked(value: Value, variable: &Variable) -> Value {
    let mut value = value;
    if variable.sensitive == Some(true) {
        value = value.mark(Mark::Sensitive);
    }
    if variable.ephemeral == Some(true) {
        value = value.mark(Mark::Ephemeral);
    }
    value
}

/// The value without marks of deprecation: the use of the deprecated object was reported.
pub fn remove_deprecations(value: &Value) -> Value {
    if value.is_deeply_unmarked() {
        return value.clone();
    }
    value.map_marks_deep(&mut |marks| marks.filter(|mark| !matches!(mark, Mark::Deprecated(_))))
}

/// The value of a named object: marks of deprecation stay on parts that were not read yet.
pub(crate) fn keep_unread(value: &Value) -> Value {
    if value.is_deeply_unmarked() {
        return value.clone();
    }
    let (plain, marks) = value.unmark();
    let is_said = |mark: &Mark| matches!(mark, Mark::Deprecated(_)) && !mark.is_unread_deprecation();
    plain
        .map_marks_deep(&mut |marks| marks.filter(|mark| !is_said(mark)))
        .with_marks(&marks.filter(|mark| !matches!(mark, Mark::Deprecated(_))))
}

/// Whether a part is deprecated that was not read yet.
pub(crate) fn has_unread(value: &Value) -> bool {
    !value.is_deeply_unmarked() && value.marks_deep().iter().any(|mark| mark.is_unread_deprecation())
}

/// A value of which only the type and the marks are left. Deprecated parts stay apart until an expression reads them.
pub(crate) fn faded(value: &Value) -> Value {
    let whole = || {
        let marks = value.marks_deep().filter(|mark| !mark.is_unread_deprecation());
        Value::unknown(value.ty().clone()).with_marks(&marks)
    };
    if !has_unread(value) || value.marks().iter().any(|mark| mark.is_unread_deprecation()) {
        return whole();
    }
    match value.view_ignoring_marks() {
        // The parts of a map or list may come out with different types.
        View::Object(_) | View::Map(_) => {
            let parts = value.unmark().0.entries().unwrap_or_default();
            let parts = parts.into_iter().map(|(name, part)| (name, faded_part(&part))).collect();
            Value::object(parts).with_marks(value.marks())
        }
        View::Tuple(items) | View::List(items) => {
            Value::tuple(items.iter().map(faded_part).collect()).with_marks(value.marks())
        }
        _ => whole(),
    }
}

fn faded_part(part: &Value) -> Value {
    match part.marks().iter().any(|mark| mark.is_unread_deprecation()) {
        true => Value::unknown(part.ty().clone()).with_marks(&part.marks_deep()),
        false => faded(part),
    }
}
