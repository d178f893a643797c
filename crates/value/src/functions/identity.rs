//! A table of values by what they are: finding equal ones without comparing each with each.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::{Value, View};

/// A set of known values without marks.
///
/// Invariant: only wholly known values are asked for or put in; for those being equal is the same as being identical.
pub(super) struct ValueTable<'a> {
    table: HashTable<(u64, &'a Value)>,
    state: FixedState,
}

impl<'a> ValueTable<'a> {
    pub(super) fn new() -> ValueTable<'a> {
        ValueTable { table: HashTable::new(), state: FixedState::default() }
    }
    /// Whether an equal value is in the table.
    pub(super) fn contains(&self, value: &Value) -> bool {
        let hash = self.hash(value);
        self.table.find(hash, |(h, other)| *h == hash && other.raw_equals(value)).is_some()
    }
    /// Inserts a value; returns whether it is new.
    pub(super) fn insert(&mut self, value: &'a Value) -> bool {
        let hash = self.hash(value);
        if self.table.find(hash, |(h, other)| *h == hash && other.raw_equals(value)).is_some() {
            return false;
        }
        self.table.insert_unique(hash, (hash, value), |(h, _)| *h);
        true
    }
    fn hash(&self, value: &Value) -> u64 {
        let mut hasher = self.state.build_hasher();
        hash_value(value, &mut hasher);
        hasher.finish()
    }
}

impl<'a> FromIterator<&'a Value> for ValueTable<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(values: I) -> ValueTable<'a> {
        let mut table = ValueTable::new();
        for value in values {
            table.insert(value);
        }
        table
    }
}

fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    match value.view_ignoring_marks() {
        View::Null | View::Unknown(_) => hasher.write_u8(0),
        View::Bool(b) => b.hash(hasher),
        View::Number(n) => n.hash(hasher),
        View::String(s) => s.hash(hasher),
        View::List(items) | View::Tuple(items) | View::Object(items) | View::Set(items) => {
            hasher.write_usize(items.len());
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        View::Map(items) => {
            hasher.write_usize(items.len());
            for (key, item) in items {
                key.hash(hasher);
                hash_value(item, hasher);
            }
        }
    }
}
