//! The resources of a module: found by key in constant time, listed in the order of keys.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::resource::{Resource, ResourceKey};

/// Resources by key. A module can have a hundred thousand, and each reference looks one up.
///
/// Invariant: after [`ResourceMap::sort`] the resources are in the order of their keys.
#[derive(Clone, Debug, Default)]
pub struct ResourceMap {
    #[allow(clippy::vec_box, reason = "they are large: sorting and growing the list does not move them")]
    resources: Vec<Box<Resource>>,
    /// Positions of the resources, by the hash of their keys.
    positions: HashTable<u32>,
    hasher: RandomState,
}

impl ResourceMap {
    /// Adds a resource. Fails with the existing resource if there is one of the same key.
    pub(crate) fn insert(&mut self, resource: Box<Resource>) -> Result<(), &Resource> {
        if let Some(at) = self.position(&resource.key) {
            return Err(&self.resources[at]);
        }
        let at = self.resources.len() as u32;
        self.resources.push(resource);
        self.add_position(at);
        Ok(())
    }
    fn add_position(&mut self, at: u32) {
        let ResourceMap { resources, positions, hasher } = self;
        let hash = |at: &u32| hasher.hash_one(&resources[*at as usize].key);
        positions.insert_unique(hash(&at), at, hash);
    }
    fn position(&self, key: &ResourceKey) -> Option<usize> {
        let is_same = |at: &u32| self.resources[*at as usize].key == *key;
        self.positions.find(self.hasher.hash_one(key), is_same).map(|at| *at as usize)
    }
    /// Puts the resources in the order of their keys, after the last one was added.
    pub(crate) fn sort(&mut self) {
        if self.resources.is_sorted_by(|a, b| a.key < b.key) {
            return;
        }
        self.resources.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        self.positions.clear();
        (0..self.resources.len() as u32).for_each(|at| self.add_position(at));
    }
    pub(crate) fn get_mut(&mut self, key: &ResourceKey) -> Option<&mut Resource> {
        let at = self.position(key)?;
        Some(&mut self.resources[at])
    }
    /// The resource of a key.
    pub fn get(&self, key: &ResourceKey) -> Option<&Resource> {
        self.position(key).map(|at| &*self.resources[at])
    }
    /// Whether there is a resource of a key.
    pub fn contains_key(&self, key: &ResourceKey) -> bool {
        self.position(key).is_some()
    }
    /// Number of resources.
    pub fn len(&self) -> usize {
        self.resources.len()
    }
    /// Whether there are no resources.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }
    /// The resources, in the order of keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Resource> + ExactSizeIterator + Clone {
        self.resources.iter().map(|resource| &**resource)
    }
    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &ResourceKey> {
        self.values().map(|resource| &resource.key)
    }
    /// The resources whose keys are not before this one, in the order of keys.
    pub fn starting_at(&self, first: &ResourceKey) -> impl Iterator<Item = &Resource> {
        let from = self.resources.partition_point(|resource| resource.key < *first);
        self.resources[from..].iter().map(|resource| &**resource)
    }
}

impl<'m> IntoIterator for &'m ResourceMap {
    type Item = (&'m ResourceKey, &'m Resource);
    type IntoIter =
        std::iter::Map<std::slice::Iter<'m, Box<Resource>>, fn(&'m Box<Resource>) -> (&'m ResourceKey, &'m Resource)>;

    fn into_iter(self) -> Self::IntoIter {
        self.resources.iter().map(|resource| (&resource.key, &**resource))
    }
}

impl std::ops::Index<&ResourceKey> for ResourceMap {
    type Output = Resource;

    fn index(&self, key: &ResourceKey) -> &Resource {
        self.get(key).expect("because the caller knows that there is a resource of this key")
    }
}

#[cfg(test)]
mod tests {
    use yuba_addrs::ResourceMode;

    use crate::resource::{Resource, ResourceKey};
    use crate::testing::module;

    #[test]
    fn resources_are_found_by_key_and_listed_in_order() {
        let names = ["z", "a", "m", "b2", "b10"];
        let text: String = names.iter().map(|name| format!("resource \"t\" \"{name}\" {{}}\n")).collect();
        let (module, problems) =
            module(&[("main.tf", &text), ("x.tf", "data \"t\" \"a\" {}\nresource \"t\" \"a\" {}\n")]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        let listed: Vec<String> = module.resources.keys().map(|key| format!("{:?} {}", key.mode, key.name)).collect();
        let mut sorted: Vec<ResourceKey> = module.resources.keys().cloned().collect();
        sorted.sort();
        assert!(module.resources.keys().eq(&sorted), "{listed:?}");
        assert_eq!((module.resources.len(), module.resources.is_empty()), (6, false));
        for key in &sorted {
            assert_eq!(module.resources.get(key).map(|resource| &resource.key), Some(key));
        }
        let missing = ResourceKey { mode: ResourceMode::Managed, kind: "t".into(), name: "c".into() };
        assert!(!module.resources.contains_key(&missing));
        let next = module.resources.starting_at(&missing).next().map(|resource| resource.key.name.clone());
        assert_eq!(next.as_deref(), Some("m"));
    }

    /// All resources of a large configuration are in memory during the whole run.
    #[test]
    fn a_resource_stays_small() {
        assert!(size_of::<Resource>() <= 320, "{} bytes", size_of::<Resource>());
    }
}
