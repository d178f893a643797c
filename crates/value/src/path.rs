//! Paths into values: `.name` and `[key]` steps.

use ecow::EcoString;

use crate::Value;

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
    /// This path and one more `.name` step.
    #[must_use]
    pub fn attr(&self, name: &str) -> Path {
        self.with(PathStep::Attr(name.into()))
    }
    /// This path and one more `[key]` step.
    #[must_use]
    pub fn index(&self, key: Value) -> Path {
        self.with(PathStep::Index(key))
    }
    fn with(&self, step: PathStep) -> Path {
        let mut steps = self.0.clone();
        steps.push(step);
        Path(steps)
    }
    /// Whether this is the path to the value itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
