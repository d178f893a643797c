//! Default values of optional attributes, from `optional(type, default)` in a type constraint.

use ecow::EcoString;

use crate::{Type, Value, View};

use super::Allow;
use super::unify::unify_with;

/// Defaults for the optional attributes of a type and of what is inside it.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The type the defaults are for.
    pub ty: Type,
    /// Default values of the attributes of an object type, sorted by name.
    pub values: Vec<(EcoString, Value)>,
    /// Defaults for what is inside: by attribute name for objects, by position in decimal for tuples, under the empty
    /// name for the elements of collections. Sorted by name.
    pub children: Vec<(EcoString, Defaults)>,
}

impl Defaults {
    /// Defaults for a type; values and children in any order.
    pub fn new(ty: Type, mut values: Vec<(EcoString, Value)>, mut children: Vec<(EcoString, Defaults)>) -> Defaults {
        values.sort_by(|a, b| a.0.cmp(&b.0));
        children.sort_by(|a, b| a.0.cmp(&b.0));
        Defaults { ty, values, children }
    }
    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.children.is_empty()
    }

    /// The value with defaults where optional attributes are missing or null. The type of the result may differ; the
    /// conversion to [`Defaults::ty`] is still to be done and reports what does not fit.
    pub fn apply(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        let result = match value.view_ignoring_marks() {
            View::List(items) => {
                let items = self.apply_sequence(items);
                if items.is_empty() {
                    return value.clone();
                }
                let common = unify_values(&items).and_then(Value::list_of);
                common.unwrap_or_else(|| Value::tuple(items))
            }
            View::Set(items) => {
                let items = self.apply_sequence(items);
                if items.is_empty() {
                    return value.clone();
                }
                let common = unify_values(&items).and_then(Value::set_of);
                common.unwrap_or_else(|| Value::tuple(items))
            }
            View::Tuple(items) => Value::tuple(self.apply_sequence(items)),
            View::Map(items) => {
                let entries = self.apply_entries(items.iter().map(|(k, v)| (k, v)));
                if entries.is_empty() {
                    return value.clone();
                }
                let values: Vec<Value> = entries.iter().map(|(_, v)| v.clone()).collect();
                let common = unify_values(&values)
                    .and_then(|values| Value::map_of(entries.iter().map(|(k, _)| k.clone()).zip(values).collect()));
                common.unwrap_or_else(|| Value::object(entries))
            }
            View::Object(items) => {
                let names = value.ty().attrs().unwrap_or_default().iter().map(|a| &a.name);
                Value::object(self.apply_entries(names.zip(items)))
            }
            _ => return value.clone(),
        };
        result.with_marks(value.marks())
    }

    fn child(&self, name: &str) -> Option<&Defaults> {
        let at = self.children.binary_search_by(|(k, _)| k.as_str().cmp(name)).ok()?;
        self.children.get(at).map(|(_, child)| child)
    }

    fn apply_sequence(&self, items: &[Value]) -> Vec<Value> {
        let apply = |(index, item): (usize, &Value)| {
            let child = if self.ty.is_tuple() { self.child(&index.to_string()) } else { self.child("") };
            child.map_or_else(|| item.clone(), |child| child.apply(item))
        };
        items.iter().enumerate().map(apply).collect()
    }

    fn apply_entries<'a>(&self, items: impl Iterator<Item = (&'a EcoString, &'a Value)>) -> Vec<(EcoString, Value)> {
        let apply = |(key, item): (&EcoString, &Value)| {
            let child = if self.ty.is_object() { self.child(key) } else { self.child("") };
            (key.clone(), child.map_or_else(|| item.clone(), |child| child.apply(item)))
        };
        let mut entries: Vec<(EcoString, Value)> = items.map(apply).collect();
        let given = entries.len();
        for (name, default) in &self.values {
            let found = entries.get(..given).and_then(|given| given.binary_search_by(|(k, _)| k.cmp(name)).ok());
            let current = found.and_then(|at| entries.get(at)).map(|(_, v)| v.clone()).filter(|v| !v.is_null());
            let mut value = current.unwrap_or_else(|| match self.child(name) {
                Some(child) => child.apply(default),
                None => default.clone(),
            });
            if default.range().definitely_not_null() {
                value = value.refine_not_null();
            }
            match found.and_then(|at| entries.get_mut(at)) {
                Some(entry) => entry.1 = value,
                None => entries.push((name.clone(), value)),
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries
    }
}

/// All values converted to their common type; `None` if it does not exist or a value does not fit.
fn unify_values(values: &[Value]) -> Option<Vec<Value>> {
    let common = unify_with(values.iter().map(Value::ty), Allow::Unsafe)?;
    values.iter().enumerate().map(|(i, v)| common.convert(i, v).ok()).collect()
}
