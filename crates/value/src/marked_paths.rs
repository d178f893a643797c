//! Marks apart from their values: removed together with their paths, and applied again.

use ecow::EcoString;
use foldhash::{HashMap, HashMapExt};

use crate::marks::Marks;
use crate::path::{Path, PathStep};
use crate::value::{Value, View};

/// Paths in a value, and the marks at each.
pub type MarkedPaths = Vec<(Path, Marks)>;

impl Value {
    /// The value without marks, and their paths. Elements of a set cannot be addressed, so their marks become marks of
    /// the set.
    pub fn unmark_with_paths(&self) -> (Value, MarkedPaths) {
        if self.is_deeply_unmarked() {
            return (self.clone(), MarkedPaths::new());
        }
        let mut found = MarkedPaths::new();
        collect(self, &mut Path::new(), &mut found);
        (self.unmark_deep().0, found)
    }

    /// The value with further marks at paths in it. Paths that do not exist are skipped, also those inside of null.
    /// Marks of paths inside of an unknown value go to it.
    #[must_use]
    pub fn mark_at(&self, marks: &[(Path, Marks)]) -> Value {
        if marks.is_empty() {
            return self.clone();
        }
        let marks: Vec<(&[PathStep], &Marks)> = marks.iter().map(|(path, marks)| (path.0.as_slice(), marks)).collect();
        apply(self, &marks)
    }
}

fn collect(value: &Value, path: &mut Path, found: &mut MarkedPaths) {
    if !value.marks().is_empty() {
        found.push((path.clone(), value.marks().clone()));
    }
    if value.ignoring_marks().is_deeply_unmarked() {
        return;
    }
    let mut inside = |step: PathStep, item: &Value| {
        path.0.push(step);
        collect(item, path, found);
        path.0.pop();
    };
    match value.view_ignoring_marks() {
        View::List(items) | View::Tuple(items) => {
            for (at, item) in items.iter().enumerate() {
                inside(PathStep::Index(Value::int(i64::try_from(at).unwrap_or(i64::MAX))), item);
            }
        }
        View::Set(_) => found.push((path.clone(), value.marks_deep())),
        View::Map(_) => {
            for (key, item) in value.unmark().0.entries().unwrap_or_default() {
                inside(PathStep::Index(Value::string(key)), &item);
            }
        }
        View::Object(_) => {
            for (name, item) in value.unmark().0.entries().unwrap_or_default() {
                inside(PathStep::Attr(name), &item);
            }
        }
        View::Null | View::Unknown(_) | View::Bool(_) | View::Number(_) | View::String(_) => {}
    }
}

fn apply(value: &Value, marks: &[(&[PathStep], &Marks)]) -> Value {
    let mut here = value.marks().clone();
    let mut by_position: HashMap<i64, Vec<(&[PathStep], &Marks)>> = HashMap::new();
    let mut by_name: HashMap<EcoString, Vec<(&[PathStep], &Marks)>> = HashMap::new();
    let has_inside = match value.view_ignoring_marks() {
        View::List(_) | View::Tuple(_) | View::Map(_) | View::Object(_) => true,
        View::Set(_) | View::Null | View::Unknown(_) | View::Bool(_) | View::Number(_) | View::String(_) => false,
    };
    for (path, marks) in marks {
        match path.split_first() {
            Some((step, rest)) if has_inside => match step {
                PathStep::Attr(name) => by_name.entry(name.clone()).or_default().push((rest, marks)),
                PathStep::Index(key) => match (key.as_str(), key.as_number().and_then(crate::Number::to_i64)) {
                    (Some(name), _) => by_name.entry(name.clone()).or_default().push((rest, marks)),
                    (None, Some(at)) => by_position.entry(at).or_default().push((rest, marks)),
                    (None, None) => {}
                },
            },
            Some(_) if value.is_null() => {}
            _ => here = here.union(marks),
        }
    }
    let (plain, _) = value.unmark();
    let rebuilt = if by_position.is_empty() && by_name.is_empty() {
        plain
    } else {
        let items: Vec<Value> = match plain.view_ignoring_marks() {
            View::List(items) | View::Tuple(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| match by_position.get(&i64::try_from(at).unwrap_or(i64::MAX)) {
                    Some(marks) => apply(item, marks),
                    None => item.clone(),
                })
                .collect(),
            _ => {
                let entries = plain.entries().unwrap_or_default();
                let marked = |(name, item): (EcoString, Value)| match by_name.get(&name) {
                    Some(marks) => apply(&item, marks),
                    None => item,
                };
                entries.into_iter().map(marked).collect()
            }
        };
        let mut items = items.into_iter();
        let rebuilt = plain.ignoring_marks().map_children(&mut |child| items.next().unwrap_or_else(|| child.clone()));
        Value::from(rebuilt)
    };
    rebuilt.with_marks(&here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mark;

    #[test]
    fn marks_come_back_to_where_they_were() {
        let secret = |text: &str| Value::string(text).mark(Mark::Sensitive);
        let map = Value::map_of(vec![("k".into(), secret("b")), ("l".into(), Value::string("c"))]);
        let value = Value::object(vec![
            ("a".into(), Value::tuple(vec![Value::int(1), secret("x")])),
            ("m".into(), map.expect("because both are texts")),
            ("n".into(), Value::int(1).mark(Mark::Ephemeral)),
        ])
        .mark(Mark::Sensitive);
        let (plain, marks) = value.unmark_with_paths();
        assert!(plain.is_deeply_unmarked());
        assert_eq!(marks.len(), 4);
        assert!(plain.mark_at(&marks).raw_equals(&value));
    }

    #[test]
    fn null_has_no_paths_inside() {
        let marks = vec![(Path::new().attr("a").attr("b"), Marks::sensitive())];
        let value = Value::object(vec![("a".into(), Value::null_dynamic())]);
        assert!(value.mark_at(&marks).is_deeply_unmarked());
        assert!(!value.mark_at(&[(Path::new().attr("a"), Marks::sensitive())]).is_deeply_unmarked());
    }

    #[test]
    fn missing_paths_mark_the_existing_parent() {
        let marks = vec![(Path::new().attr("a").attr("b"), Marks::sensitive())];
        let value = Value::object(vec![("a".into(), Value::unknown_dynamic()), ("c".into(), Value::int(1))]);
        let marked = value.mark_at(&marks);
        let (_, found) = marked.unmark_with_paths();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0.0.len(), 1);
        assert!(Value::int(1).mark_at(&[(Path::new().attr("x"), Marks::sensitive())]).marks().has_sensitive());
    }
}
