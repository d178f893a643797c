//! The environment variables of the process, read once, so that tests can bring their own.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Environment variables by name. A variable that is empty counts as not set.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Those of this process. What is not Unicode cannot be of interest.
    pub fn of_process() -> Environment {
        let unicode = std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
        Environment(unicode.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of a variable that is a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }

    /// Where things of the user are kept that can be made again at any time.
    pub fn caches(&self) -> Option<PathBuf> {
        let absolute = |name: &str| self.path(name).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        caches.map(|caches| caches.join("yuba"))
    }

    /// Whether a variable says that something is not wanted.
    pub fn is_off(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_off)
    }

    /// The value of a variable that is a number greater than zero; anything else counts as not set.
    pub fn positive(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok().filter(|number| *number > 0)
    }

    /// The variables whose names begin like this, without that beginning.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let begin = self.0.range(prefix.to_owned()..).take_while(move |(name, _)| name.starts_with(prefix));
        begin.map(move |(name, value)| (&name[prefix.len()..], value.as_str()))
    }
}

/// Whether the value of a variable says that something is not wanted.
pub fn is_off(value: &str) -> bool {
    matches!(value, "0" | "false" | "no" | "off")
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Environment {
        Environment(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
