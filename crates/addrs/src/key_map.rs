//! Maps by instance key.

use std::collections::{BTreeMap, btree_map};
use std::{fmt, option};

use crate::InstanceKey;

/// A map by instance key, in order of keys. Most objects have one instance: a map with one entry needs no tree.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyMap<V>(Entries<V>);

#[derive(Clone, PartialEq, Eq)]
enum Entries<V> {
    /// Exactly one.
    One(Option<InstanceKey>, V),
    /// Any number but one.
    Many(BTreeMap<Option<InstanceKey>, V>),
}

impl<V> KeyMap<V> {
    /// Nothing.
    pub const fn new() -> KeyMap<V> {
        KeyMap(Entries::Many(BTreeMap::new()))
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        match &self.0 {
            Entries::One(..) => 1,
            Entries::Many(many) => many.len(),
        }
    }
    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The one with a key.
    pub fn get(&self, key: &Option<InstanceKey>) -> Option<&V> {
        match &self.0 {
            Entries::One(known, value) => (known == key).then_some(value),
            Entries::Many(many) => many.get(key),
        }
    }
    /// The one with a key, to be changed.
    pub fn get_mut(&mut self, key: &Option<InstanceKey>) -> Option<&mut V> {
        match &mut self.0 {
            Entries::One(known, value) => (known == key).then_some(value),
            Entries::Many(many) => many.get_mut(key),
        }
    }
    /// Whether there is one with a key.
    pub fn contains_key(&self, key: &Option<InstanceKey>) -> bool {
        self.get(key).is_some()
    }
    /// Puts one in, in place of what had the key before, which is given back.
    pub fn insert(&mut self, key: Option<InstanceKey>, value: V) -> Option<V> {
        match &mut self.0 {
            Entries::One(known, old) if *known == key => Some(std::mem::replace(old, value)),
            Entries::Many(many) if many.is_empty() => {
                self.0 = Entries::One(key, value);
                None
            }
            Entries::One(..) | Entries::Many(_) => self.many().insert(key, value),
        }
    }
    /// Takes one out.
    pub fn remove(&mut self, key: &Option<InstanceKey>) -> Option<V> {
        if !self.contains_key(key) {
            return None;
        }
        let removed = self.many().remove(key);
        if let Entries::Many(many) = &mut self.0
            && many.len() == 1
            && let Some((key, value)) = many.pop_first()
        {
            self.0 = Entries::One(key, value);
        }
        removed
    }
    /// The entry of a key, created if it does not exist.
    pub fn or_default(&mut self, key: Option<InstanceKey>) -> &mut V
    where
        V: Default,
    {
        if self.is_empty() {
            self.0 = Entries::One(key.clone(), V::default());
        }
        if let Entries::One(known, _) = &self.0
            && *known != key
        {
            self.many();
        }
        match &mut self.0 {
            Entries::One(_, value) => value,
            Entries::Many(many) => many.entry(key).or_default(),
        }
    }
    /// Keys and values, in order of keys.
    pub fn iter(&self) -> Iter<'_, V> {
        match &self.0 {
            Entries::One(key, value) => Iter { one: Some((key, value)).into_iter(), many: None },
            Entries::Many(many) => Iter { one: None.into_iter(), many: Some(many.iter()) },
        }
    }
    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Option<InstanceKey>> + Clone {
        self.iter().map(|(key, _)| key)
    }
    /// The values, in order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// As a tree. The caller must leave it with a length other than one.
    fn many(&mut self) -> &mut BTreeMap<Option<InstanceKey>, V> {
        if let Entries::One(..) = self.0
            && let Entries::One(key, value) = std::mem::replace(&mut self.0, Entries::Many(BTreeMap::new()))
        {
            self.0 = Entries::Many(BTreeMap::from([(key, value)]));
        }
        match &mut self.0 {
            Entries::Many(many) => many,
            Entries::One(..) => unreachable!("because it was made a tree above"),
        }
    }
}

impl<V> Default for KeyMap<V> {
    fn default() -> KeyMap<V> {
        KeyMap::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for KeyMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Keys and values, in order of keys.
pub struct Iter<'a, V> {
    one: option::IntoIter<(&'a Option<InstanceKey>, &'a V)>,
    many: Option<btree_map::Iter<'a, Option<InstanceKey>, V>>,
}

impl<V> Clone for Iter<'_, V> {
    fn clone(&self) -> Self {
        Iter { one: self.one.clone(), many: self.many.clone() }
    }
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a Option<InstanceKey>, &'a V);
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.many {
            Some(many) => many.next(),
            None => self.one.next(),
        }
    }
}

impl<'a, V> IntoIterator for &'a KeyMap<V> {
    type Item = (&'a Option<InstanceKey>, &'a V);
    type IntoIter = Iter<'a, V>;
    fn into_iter(self) -> Iter<'a, V> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_map() {
        let key = |n: i64| (n > 0).then_some(InstanceKey::Int(n));
        let (mut map, mut model) = (KeyMap::new(), BTreeMap::new());
        // Every step from none to three and back, in several orders.
        let steps = [3, 1, 0, 1, -1, -3, 0, 3, 2, -2, -3, -9, 1, -1, -9, 2, -2].into_iter().enumerate();
        for (step, n) in steps {
            match n {
                0.. => assert_eq!(map.insert(key(n), step), model.insert(key(n), step)),
                -9 => assert_eq!(map.remove(&None), model.remove(&None)),
                _ => assert_eq!(map.remove(&key(-n)), model.remove(&key(-n))),
            }
            *map.or_default(key(3)) += 1;
            *model.entry(key(3)).or_default() += 1;
            assert!(map.iter().eq(model.iter()) && map.len() == model.len(), "{map:?} {model:?}");
            assert!((0..4).all(|n| map.get(&key(n)) == model.get(&key(n))));
            assert!((0..4).all(|n| map.get_mut(&key(n)) == model.get_mut(&key(n))));
            assert_eq!(matches!(map.0, Entries::One(..)), model.len() == 1);
            if step % 2 == 0 {
                assert_eq!(map.remove(&key(3)), model.remove(&key(3)));
            }
        }
    }
}
