//! Paths into values: `.name` and `[key]` steps.

use ecow::EcoString;

use crate::{Value, View};

/// One step into a value.
#[derive(Clone, Debug)]
pub enum PathStep {
    /// An object attribute.
    Attr(EcoString),
    /// An element by key: a number, a string, or for sets the element itself.
    Index(Value),
}

/// A path from a value to something inside it.
#[derive(Clone, Debug, Default)]
pub struct Path(pub Vec<PathStep>);

impl Path {
    /// The path to the value itself.
    pub fn new() -> Path {
        Path::default()
    }
    /// This path with a further `.name` step.
    #[must_use]
    pub fn attr(&self, name: &str) -> Path {
        self.with(PathStep::Attr(name.into()))
    }
    /// This path with a further `[key]` step.
    #[must_use]
    pub fn index(&self, key: Value) -> Path {
        self.with(PathStep::Index(key))
    }
    fn with(&self, step: PathStep) -> Path {
        let mut steps = self.0.clone();
        steps.push(step);
        Path(steps)
    }
    /// The value at the path, with its marks; none if it does not exist or is unknown.
    pub fn follow(&self, value: &Value) -> Option<Value> {
        let mut at = value.clone();
        for step in &self.0 {
            let inside = match (at.view_ignoring_marks(), step) {
                (View::Object(items), PathStep::Attr(name)) => items.get(at.ty().attr_index(name)?)?.clone(),
                (View::Map(items), PathStep::Index(key)) => {
                    let key = key.as_str()?;
                    items.get(items.binary_search_by(|(name, _)| name.cmp(key)).ok()?)?.1.clone()
                }
                (View::List(items) | View::Tuple(items), PathStep::Index(key)) => {
                    items.get(usize::try_from(key.as_number()?.to_i64()?).ok()?)?.clone()
                }
                (View::Set(items), PathStep::Index(key)) => items.iter().find(|item| item.raw_equals(key))?.clone(),
                _ => return None,
            };
            at = inside;
        }
        Some(at)
    }
    /// Whether this is the path to the value itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
