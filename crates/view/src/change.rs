//! The difference of two objects, as people read it.
//!
//! Two values become plain trees ([`node`]), the trees become a difference ([`compare`], [`schema`]), the difference
//! becomes text ([`render`]).

pub(crate) mod compare;
mod json_text;
pub(crate) mod node;
mod paths;
pub(crate) mod render;
pub(crate) mod schema;
mod sequence;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use compare::Change;
pub(crate) use node::Node;
pub(crate) use paths::Paths;
pub(crate) use render::Options;

/// What happens with a part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Keep,
    Create,
    Update,
    Delete,
}

impl Step {
    /// What happens with a whole, given what happened with it so far and what happens with one more part.
    pub(crate) fn and(self, part: Step) -> Step {
        match part {
            Step::Keep => self,
            _ if part == self => self,
            _ => Step::Update,
        }
    }
}
