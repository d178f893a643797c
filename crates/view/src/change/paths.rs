//! Paths that are followed while walking a value.

use yuba_value::{Path, PathStep};

/// The remainder of some paths at one position in a value.
#[derive(Clone, Debug)]
pub(crate) enum Paths<'a> {
    /// Everything is meant, wherever it is.
    All,
    /// The rests of paths that led here. If they are inherited, everything below the end of one is meant too.
    Rests { rests: Vec<&'a [PathStep]>, inherited: bool },
}

impl<'a> Paths<'a> {
    pub(crate) fn none() -> Paths<'a> {
        Paths::Rests { rests: Vec::new(), inherited: false }
    }
    pub(crate) fn new(paths: impl IntoIterator<Item = &'a Path>) -> Paths<'a> {
        Paths::Rests { rests: paths.into_iter().map(|path| path.0.as_slice()).collect(), inherited: false }
    }
    /// Paths that include everything below their ends.
    pub(crate) fn inherited(paths: impl IntoIterator<Item = &'a Path>) -> Paths<'a> {
        Paths::Rests { rests: paths.into_iter().map(|path| path.0.as_slice()).collect(), inherited: true }
    }
    /// A path ends here.
    pub(crate) fn end_here(&self) -> bool {
        match self {
            Paths::All => true,
            Paths::Rests { rests, .. } => rests.iter().any(|rest| rest.is_empty()),
        }
    }
    /// A path leads here or further down.
    pub(crate) fn lead_here(&self) -> bool {
        match self {
            Paths::All => true,
            Paths::Rests { rests, .. } => !rests.is_empty(),
        }
    }
    /// For a member.
    pub(crate) fn member(&self, name: &str) -> Paths<'a> {
        self.child(|step| match step {
            PathStep::Attr(attr) => attr == name,
            PathStep::Index(key) => key.as_str().is_some_and(|key| key == name),
        })
    }
    /// For an element of a sequence.
    pub(crate) fn element(&self, index: usize) -> Paths<'a> {
        self.child(|step| match step {
            PathStep::Attr(_) => false,
            PathStep::Index(key) => match key.as_str() {
                Some(text) => text.parse() == Ok(index),
                None => key.as_number().and_then(yuba_value::Number::to_u64) == u64::try_from(index).ok(),
            },
        })
    }
    fn child(&self, leads: impl Fn(&PathStep) -> bool) -> Paths<'a> {
        match self {
            Paths::All => Paths::All,
            Paths::Rests { rests, inherited } => {
                let next = |rest: &&'a [PathStep]| match rest.split_first() {
                    None => inherited.then_some(*rest),
                    Some((step, rest)) => leads(step).then_some(rest),
                };
                Paths::Rests { rests: rests.iter().filter_map(next).collect(), inherited: *inherited }
            }
        }
    }
}
