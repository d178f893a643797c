//! Marks on values as paths to what is marked, and back.

use std::collections::BTreeMap;

use yuba_value::{Mark, Path, PathStep, Value, View};

use crate::object::AttributeError;

/// The paths to what is marked sensitive, in the order of the value.
pub(crate) fn paths(value: &Value) -> Result<Vec<Path>, AttributeError> {
    let mut found = Vec::new();
    collect(value, &mut Path::new(), &mut found)?;
    Ok(found)
}

fn collect(value: &Value, path: &mut Path, found: &mut Vec<Path>) -> Result<(), AttributeError> {
    if value.marks().has_ephemeral() {
        return Err(AttributeError { path: path.clone(), message: "an ephemeral value cannot be stored".into() });
    }
    if value.marks().has_sensitive() {
        found.push(path.clone());
    }
    let plain = value.ignoring_marks();
    if plain.is_deeply_unmarked() {
        return Ok(());
    }
    let mut step = |step: PathStep, child: &Value| {
        path.0.push(step);
        let result = collect(child, path, found);
        path.0.pop();
        result
    };
    match plain.view() {
        View::Object(items) => {
            let attrs = plain.ty().attrs().unwrap_or_default();
            attrs.iter().zip(items).try_for_each(|(attr, item)| step(PathStep::Attr(attr.name.clone()), item))
        }
        View::Map(items) => {
            items.iter().try_for_each(|(key, item)| step(PathStep::Index(Value::string(key.clone())), item))
        }
        View::List(items) | View::Tuple(items) => {
            items.iter().enumerate().try_for_each(|(index, item)| step(PathStep::Index(Value::int(index as i64)), item))
        }
        // Elements of a set have no marks of their own.
        _ => Ok(()),
    }
}

/// The value with what the paths lead to marked sensitive. A path that leads nowhere is ignored.
pub(crate) fn mark(value: &Value, paths: &[Path]) -> Value {
    if paths.is_empty() {
        return value.clone();
    }
    let steps: Vec<&[PathStep]> = paths.iter().map(|path| path.0.as_slice()).collect();
    mark_steps(value, &steps)
}

fn mark_steps(value: &Value, paths: &[&[PathStep]]) -> Value {
    let mut here = false;
    let mut children: BTreeMap<usize, Vec<&[PathStep]>> = BTreeMap::new();
    for path in paths {
        match path.split_first() {
            None => here = true,
            Some((step, rest)) => match child(value, step) {
                Some(Child::At(index)) => children.entry(index).or_default().push(rest),
                Some(Child::OfSet) => here = true,
                None => {}
            },
        }
    }
    let value = if children.is_empty() {
        value.clone()
    } else {
        let edited = |index: usize, item: &Value| match children.get(&index) {
            Some(paths) => mark_steps(item, paths),
            None => item.clone(),
        };
        let all = |items: &[Value]| items.iter().enumerate().map(|(i, item)| edited(i, item)).collect::<Vec<_>>();
        match value.view_ignoring_marks() {
            View::Object(items) | View::Tuple(items) => Value::structure(value.ty().clone(), all(items)),
            View::List(items) => match value.ty().element() {
                Some(element) => Value::list(element.clone(), all(items)),
                None => value.clone(),
            },
            View::Map(items) => {
                let marked = items.iter().enumerate().map(|(i, (key, item))| (key.clone(), edited(i, item)));
                match value.ty().element() {
                    Some(element) => Value::map(element.clone(), marked.collect()),
                    None => value.clone(),
                }
            }
            _ => value.clone(),
        }
    };
    if here { value.mark(Mark::Sensitive) } else { value }
}

enum Child {
    /// By its position among the children.
    At(usize),
    /// An element of a set: marks on it are marks on the set.
    OfSet,
}

fn child(value: &Value, step: &PathStep) -> Option<Child> {
    match (value.view_ignoring_marks(), step) {
        (View::Object(_), PathStep::Attr(name)) => value.ty().attr_index(name).map(Child::At),
        (View::Map(items), PathStep::Index(key)) => {
            let key = key.as_str()?;
            items.binary_search_by(|(name, _)| name.cmp(key)).ok().map(Child::At)
        }
        (View::List(items) | View::Tuple(items), PathStep::Index(key)) => {
            let index = usize::try_from(key.as_number()?.to_u64()?).ok()?;
            (index < items.len()).then_some(Child::At(index))
        }
        (View::Set(items), PathStep::Index(key)) => {
            items.iter().any(|item| item.raw_equals(key)).then_some(Child::OfSet)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use yuba_value::Type;

    use super::*;
    use crate::Object;

    #[test]
    fn marks_come_back() {
        let secret = |text: &str| Value::string(text).mark(Mark::Sensitive);
        let value = Value::object(vec![
            ("a".into(), secret("x")),
            ("l".into(), Value::list(Type::string(), vec![Value::string("p"), secret("q")])),
            ("m".into(), Value::map(Type::string(), vec![("k".into(), secret("v"))]).mark(Mark::Sensitive)),
            ("s".into(), Value::set(Type::string(), vec![secret("e")])),
            ("t".into(), Value::tuple(vec![Value::object(vec![("d".into(), secret("y"))])])),
        ]);
        let ty = value.ty().clone();
        let object = Object::encode(&value, &ty, 1).expect("because it can be stored");
        assert_eq!(object.sensitive.len(), 6);
        let back = object.decode(&ty).expect("because it was stored");
        assert!(back.raw_equals(&value), "{back:?}");
    }

    #[test]
    fn values_that_cannot_be_stored() {
        let check = |value: Value| {
            let value = Value::object(vec![("a".into(), Value::tuple(vec![value]))]);
            Object::encode(&value, value.ty(), 0).expect_err("because it cannot be stored").to_string()
        };
        assert_eq!(check(Value::string("x").mark(Mark::Ephemeral)), ".a[0]: an ephemeral value cannot be stored");
        assert_eq!(check(Value::unknown(Type::string())), ".a[0]: the value is not known yet");
    }

    #[test]
    fn paths_that_do_not_match_the_type() {
        let object = Object::encode(&Value::object(vec![("a".into(), Value::string("x"))]), &Type::dynamic(), 0);
        let ty = Type::object(vec![("value".into(), Type::object(vec![("a".into(), Type::number())]))]);
        let problem = object.expect("because it can be stored").decode(&ty).expect_err("because it is of another type");
        assert_eq!(problem.to_string(), ".value.a: a number is required");
    }
}
