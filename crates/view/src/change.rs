//! The difference of two objects, as people read it.
//!
//! Two values become plain trees ([`node`]), the trees become a difference ([`compare`], [`schema`]), the difference
//! becomes text ([`render`]).

pub(crate) mod compare;
pub(crate) mod json_text;
pub(crate) mod node;
mod paths;
pub(crate) mod render;
pub(crate) mod schema;
pub(crate) mod sequence;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use compare::Change;
pub(crate) use node::Node;
pub(crate) use paths::Paths;
pub(crate) use render::Options;

/// The action for a part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Keep,
    Create,
    Update,
    Delete,
}

impl Step {
    /// The action for a whole, given its action so far and the action of a further part.
    pub(crate) fn and(self, part: Step) -> Step {
        match part {
            Step::Keep => self,
            _ if part == self => self,
            _ => Step::Update,
        }
    }
}
