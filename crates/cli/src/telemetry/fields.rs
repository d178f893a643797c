//! Fields of spans and events as JSON values.

use std::fmt;

use serde_json::Value as Json;
use tracing::field::{Field, Visit};

/// Fields by name, in the order of the code, and the message of an event.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) rest: Vec<(&'static str, Json)>,
}

impl Fields {
    /// Sets a field; the last value counts.
    pub(super) fn set(&mut self, name: &'static str, value: Json) {
        match self.rest.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.rest.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => self.set(name, text.into()),
        }
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.set(name, value.into()),
        }
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value.into());
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), value.into());
    }
}
