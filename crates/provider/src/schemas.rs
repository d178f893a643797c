//! The schemas of all types of one kind. Where they come from a remote provider, each is read on the first use: a
//! provider may have a thousand types of which a configuration uses three.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use std::sync::{Arc, OnceLock};

use ecow::EcoString;

use crate::schema::Schema;

/// Source of schemas that are read on demand.
pub trait SchemaSource: Send + Sync {
    /// Reads one. `None` if it cannot be read after all.
    fn read(&self, name: &str) -> Option<Schema>;
}

/// Schemas by the names of their types.
#[derive(Clone, Default)]
pub struct Schemas {
    types: BTreeMap<EcoString, OnceLock<Option<Box<Schema>>>>,
    source: Option<Arc<dyn SchemaSource>>,
}

impl Schemas {
    /// Schemas of these types, to be read when they are asked for.
    pub fn lazy(names: impl IntoIterator<Item = EcoString>, source: Arc<dyn SchemaSource>) -> Schemas {
        Schemas { types: names.into_iter().map(|name| (name, OnceLock::new())).collect(), source: Some(source) }
    }

    /// The schema of a type.
    pub fn get(&self, name: &str) -> Option<&Schema> {
        let (name, schema) = self.types.get_key_value(name)?;
        self.read(name, schema)
    }
    /// Whether there is such a type.
    pub fn contains_key(&self, name: &str) -> bool {
        self.types.contains_key(name)
    }
    /// The names of all types, in order.
    pub fn keys(&self) -> impl Iterator<Item = &EcoString> {
        self.types.keys()
    }
    /// All of them, in order of their names. Reads all that were not read yet.
    pub fn iter(&self) -> impl Iterator<Item = (&EcoString, &Schema)> {
        self.types.iter().filter_map(|(name, schema)| Some((name, self.read(name, schema)?)))
    }
    /// Number of types.
    pub fn len(&self) -> usize {
        self.types.len()
    }
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
    /// Adds a type.
    pub fn insert(&mut self, name: EcoString, schema: Schema) {
        self.types.insert(name, OnceLock::from(Some(Box::new(schema))));
    }

    fn read<'s>(&'s self, name: &str, schema: &'s OnceLock<Option<Box<Schema>>>) -> Option<&'s Schema> {
        schema.get_or_init(|| self.source.as_ref()?.read(name).map(Box::new)).as_deref()
    }
}

impl<N: Into<EcoString>> FromIterator<(N, Schema)> for Schemas {
    fn from_iter<I: IntoIterator<Item = (N, Schema)>>(types: I) -> Schemas {
        let mut schemas = Schemas::default();
        types.into_iter().for_each(|(name, schema)| schemas.insert(name.into(), schema));
        schemas
    }
}

impl<N: Into<EcoString>, const COUNT: usize> From<[(N, Schema); COUNT]> for Schemas {
    fn from(types: [(N, Schema); COUNT]) -> Schemas {
        types.into_iter().collect()
    }
}

impl<'s> IntoIterator for &'s Schemas {
    type Item = (&'s EcoString, &'s Schema);
    type IntoIter = Box<dyn Iterator<Item = (&'s EcoString, &'s Schema)> + 's>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl Index<&str> for Schemas {
    type Output = Schema;

    fn index(&self, name: &str) -> &Schema {
        self.get(name).expect("because who indexes knows that there is such a type")
    }
}

/// The names only: printing must not read everything.
impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.types.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Writes down what was read; has no schema for types whose name ends with `!`.
    struct Recorded(Mutex<Vec<String>>);

    impl SchemaSource for Recorded {
        fn read(&self, name: &str) -> Option<Schema> {
            self.0.lock().expect("because no thread panics").push(name.to_owned());
            (!name.ends_with('!')).then(|| Schema { version: name.len() as u64, ..Schema::default() })
        }
    }

    #[test]
    fn each_is_read_once_and_only_when_asked_for() {
        let source = Arc::new(Recorded(Mutex::default()));
        let mut schemas = Schemas::lazy(["a".into(), "bb".into(), "c!".into()], source.clone());
        schemas.insert("dddd".into(), Schema { version: 4, ..Schema::default() });
        let read = || source.0.lock().expect("because no thread panics").join(" ");
        assert!(schemas.contains_key("bb") && schemas.keys().count() == 4 && schemas.len() == 4);
        assert_eq!(read(), "");
        assert_eq!(schemas.get("bb").map(|schema| schema.version), Some(2));
        assert_eq!(schemas["bb"].version, 2);
        assert_eq!(read(), "bb");
        assert!(schemas.get("c!").is_none() && schemas.get("x").is_none());
        let all: Vec<u64> = schemas.iter().map(|(_, schema)| schema.version).collect();
        assert_eq!((all, read()), (vec![1, 2, 4], "bb c! a".to_owned()));
    }
}
