//! JSON text written straight to a string, for documents that are too big to be built first. Texts are escaped as Go's
//! `encoding/json` does.

use std::fmt::Write as _;

use yuba_addrs::InstanceKey;
use yuba_value::{Value, View};

use crate::json::{Escape, write_string};

/// An object that is being written: a member at a time.
pub(crate) struct Members<'o> {
    out: &'o mut String,
    empty: bool,
}

impl<'o> Members<'o> {
    /// Begins an object.
    pub(crate) fn open(out: &'o mut String) -> Members<'o> {
        out.push('{');
        Members { out, empty: true }
    }
    /// Begins a member: its value is to be written to what comes back.
    pub(crate) fn key(&mut self, name: &str) -> &mut String {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        text(self.out, name);
        self.out.push(':');
        self.out
    }
    /// A text.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        text(self.key(name), value);
    }
    /// A text, left out if it is empty.
    pub(crate) fn text_if_any(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
    }
    /// Anything as text.
    pub(crate) fn shown(&mut self, name: &str, value: &dyn std::fmt::Display) {
        self.text(name, &value.to_string());
    }
    /// A truth value.
    pub(crate) fn bool(&mut self, name: &str, value: bool) {
        self.key(name).push_str(if value { "true" } else { "false" });
    }
    /// Left out if it is false.
    pub(crate) fn bool_if_true(&mut self, name: &str, value: bool) {
        if value {
            self.bool(name, true);
        }
    }
    /// A whole number.
    pub(crate) fn int(&mut self, name: &str, value: u64) {
        let _ = write!(self.key(name), "{value}");
    }
    /// JSON text.
    pub(crate) fn raw(&mut self, name: &str, value: &str) {
        self.key(name).push_str(value);
    }
    /// A member that is removed again if `write` returns false.
    pub(crate) fn if_written(&mut self, name: &str, write: impl FnOnce(&mut String) -> bool) {
        let (length, empty) = (self.out.len(), self.empty);
        if !write(self.key(name)) {
            self.out.truncate(length);
            self.empty = empty;
        }
    }
    /// An array, left out if it is empty.
    pub(crate) fn list_if_any<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut String, T),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            list(self.key(name), items, |out, item| {
                write(out, item);
                true
            });
        }
    }
    /// Ends the object.
    pub(crate) fn close(self) {
        self.out.push('}');
    }
}

/// A text in quotes.
pub(crate) fn text(out: &mut String, value: &str) {
    write_string(out, value, Escape::Html);
}

/// An array, without the items for which `write` returns false.
pub(crate) fn list<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> bool,
) {
    out.push('[');
    let start = out.len();
    for item in items {
        let before = out.len();
        if before > start {
            out.push(',');
        }
        if !write(out, item) {
            out.truncate(before);
        }
    }
    out.push(']');
}

/// An instance key.
pub(crate) fn key(out: &mut String, key: &InstanceKey) {
    match key {
        InstanceKey::Int(number) => {
            let _ = write!(out, "{number}");
        }
        InstanceKey::String(name) => text(out, name),
    }
}

/// A known number, text or truth value; everything else is null.
pub(crate) fn primitive(out: &mut String, value: &Value) {
    match value.view_ignoring_marks() {
        View::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        View::Number(number) if !number.is_infinite() => {
            let _ = write!(out, "{number}");
        }
        View::String(value) => text(out, value),
        _ => out.push_str("null"),
    }
}
