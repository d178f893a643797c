//! Marks of values that modules see: what blocks of variables say, and deprecation until somebody was told.

use yuba_config::variable::Variable;
use yuba_value::{Mark, Value};

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

/// The value without marks of deprecation: whoever used the deprecated thing was told.
pub fn remove_deprecations(value: &Value) -> Value {
    if value.is_deeply_unmarked() {
        return value.clone();
    }
    value.map_marks_deep(&mut |marks| marks.filter(|mark| !matches!(mark, Mark::Deprecated(_))))
}

/// The value of something with a name: marks of deprecation stay on parts that nobody has read yet.
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
