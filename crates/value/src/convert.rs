//! Conversion of values between types, and unification of types.
//!
//! A conversion is planned from two types ([`Conversion::new`]) and then carried out on values. A plan is *safe* when
//! it succeeds for every value. Marks stay on their nodes (those inside a set move to the set), unknown values keep
//! their refinements, and null becomes null of the new type.

mod apply;
mod defaults;
mod dynamic;
mod mismatch;
mod plan;
#[cfg(test)]
mod tests;
mod unify;

use std::fmt;
use std::sync::Arc;

use ecow::{EcoString, eco_format};

use crate::{Path, PathStep, Type, Value};

pub use defaults::Defaults;
pub use mismatch::{conformance_error, mismatch_message};
pub use unify::{Unified, unify, unify_unsafe, unify_with};

/// Reason why a value cannot be converted.
#[derive(Clone, Debug)]
pub struct ConvertError {
    /// Path in the value.
    pub path: Path,
    /// The error, a sentence part without capital and full stop.
    pub message: EcoString,
}

impl ConvertError {
    fn new(message: impl Into<EcoString>) -> ConvertError {
        ConvertError { path: Path::new(), message: message.into() }
    }
    /// The same error seen from one level further out. Steps are collected in reverse; see [`Conversion::apply`].
    fn inside(mut self, step: PathStep) -> ConvertError {
        self.path.0.push(step);
        self
    }
    /// The error after its path: `["a"].size: a number is required`.
    pub fn located(&self) -> EcoString {
        self.after_path(|key| eco_format!("{key:?}"))
    }
    /// The same without the keys of maps, for values that must not be shown.
    pub fn located_without_keys(&self) -> EcoString {
        self.after_path(|_| "...".into())
    }
    /// The same about a value: without keys if any part of it must not be shown.
    pub fn located_in(&self, value: &Value) -> EcoString {
        let marks = value.marks_deep();
        if marks.has_sensitive() || marks.has_ephemeral() { self.located_without_keys() } else { self.located() }
    }
    fn after_path(&self, key: impl Fn(&str) -> EcoString) -> EcoString {
        let mut path = EcoString::new();
        for step in &self.path.0 {
            path.push_str(&match step {
                PathStep::Attr(name) => eco_format!(".{name}"),
                PathStep::Index(at) => match (at.as_str(), at.as_number()) {
                    (Some(text), _) => eco_format!("[{}]", key(text)),
                    (None, Some(number)) => eco_format!("[{number}]"),
                    (None, None) => "[...]".into(),
                },
            });
        }
        if path.is_empty() { self.message.clone() } else { eco_format!("{path}: {}", self.message) }
    }
    fn outermost(mut self) -> ConvertError {
        self.path.0.reverse();
        self
    }
}
impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for ConvertError {}

/// Whether values of one type can be converted to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// No value can.
    None,
    /// Every value can.
    Safe,
    /// It depends on the value.
    Unsafe,
}

/// Conversions that a plan may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allow {
    /// Only those that cannot fail.
    Safe,
    /// Also those that depend on the value.
    Unsafe,
}

/// A planned conversion.
#[derive(Clone)]
pub struct Conversion(Arc<plan::Plan>);

impl Conversion {
    /// Plans a conversion; `None` if the types cannot be converted.
    pub fn new(from: &Type, to: &Type, allow: Allow) -> Option<Conversion> {
        plan::plan(from, to, allow).map(Conversion)
    }
    /// Carries it out on a value of the type it was planned for.
    pub fn apply(&self, value: &Value) -> Result<Value, ConvertError> {
        apply::apply(&self.0, value).map_err(ConvertError::outermost)
    }
}

/// Converts a value to a type, which may contain `any` and optional attributes.
pub fn convert(value: &Value, to: &Type) -> Result<Value, ConvertError> {
    convert_inside(value, to).map_err(ConvertError::outermost)
}

/// As [`convert`], with the error's path still in reverse.
fn convert_inside(value: &Value, to: &Type) -> Result<Value, ConvertError> {
    if value.ty() == to || (to.has_optional() && value.ty() == &to.without_optional()) {
        return Ok(value.clone());
    }
    match plan::plan(value.ty(), to, Allow::Unsafe) {
        Some(plan) => apply::apply(&plan, value),
        None => Err(ConvertError::new(mismatch_message(value.ty(), to))),
    }
}

/// Whether values of one type can be converted to another.
pub fn conversion_exists(from: &Type, to: &Type) -> Safety {
    if from == &to.without_optional() || plan::plan(from, to, Allow::Safe).is_some() {
        Safety::Safe
    } else if plan::plan(from, to, Allow::Unsafe).is_some() {
        Safety::Unsafe
    } else {
        Safety::None
    }
}
