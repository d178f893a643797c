//! Marks: metadata of a value beside its content, which every operation preserves.

use std::sync::Arc;

use ecow::EcoString;

/// Source of a deprecated value and the message of its author.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deprecation {
    /// Address of the deprecated object in its module, as text.
    pub source: EcoString,
    /// The address of that module; empty for the root module.
    pub module: EcoString,
    /// The author's message.
    pub message: EcoString,
    /// Whether the deprecated object belongs to an external module (not of this working directory).
    pub remote: bool,
    /// It is part of a whole object, and was not selected yet.
    pub unread: bool,
}

impl Deprecation {
    /// The address of the deprecated object, as a module sees it: in another module than its own, the module is a part
    /// of it.
    pub fn seen_from(&self, module: &str) -> EcoString {
        match self.module.as_str() {
            own if own.is_empty() || own == module => self.source.clone(),
            own => ecow::eco_format!("{own}.{}", self.source),
        }
    }
}

impl Mark {
    /// Whether this is about a deprecated part of a whole object.
    pub fn is_unread_deprecation(&self) -> bool {
        matches!(self, Mark::Deprecated(deprecation) if deprecation.unread)
    }
    /// The mark of a part that was chosen, by name or by key, out of what it came in.
    fn read(&self) -> Mark {
        match self {
            Mark::Deprecated(deprecation) if deprecation.unread => {
                Mark::Deprecated(Arc::new(Deprecation { unread: false, ..(**deprecation).clone() }))
            }
            mark => mark.clone(),
        }
    }
}

/// One mark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// Must not be shown.
    Sensitive,
    /// Must not be stored.
    Ephemeral,
    /// It is deprecated.
    Deprecated(Arc<Deprecation>),
    /// The text of a type, made by the console's `type` function; fit for display only.
    TypeText,
}

/// A set of marks. Most values carry none, which costs one null pointer.
#[derive(Clone, Default, Debug, PartialEq, Eq, Hash)]
pub struct Marks(Option<Arc<Vec<Mark>>>);

impl Marks {
    /// No marks.
    pub const NONE: Marks = Marks(None);

    /// Just this mark.
    pub fn one(mark: Mark) -> Marks {
        Marks(Some(Arc::new(vec![mark])))
    }
    /// Just `Sensitive`.
    pub fn sensitive() -> Marks {
        Marks::one(Mark::Sensitive)
    }
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
    /// The marks in order.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.0.iter().flat_map(|marks| marks.iter())
    }
    /// Whether this mark is among them.
    pub fn contains(&self, mark: &Mark) -> bool {
        self.iter().any(|m| m == mark)
    }
    /// Whether the value must not be shown.
    pub fn has_sensitive(&self) -> bool {
        self.contains(&Mark::Sensitive)
    }
    /// Whether the value must not be stored.
    pub fn has_ephemeral(&self) -> bool {
        self.contains(&Mark::Ephemeral)
    }
    /// A text of the value with these marks for use in a message: quoted, or a stand-in if it must not be shown.
    pub fn redact(&self, text: &str) -> EcoString {
        match (self.has_ephemeral(), self.has_sensitive()) {
            (true, true) => "(ephemeral sensitive value)".into(),
            (true, false) => "(ephemeral value)".into(),
            (false, true) => "(sensitive value)".into(),
            (false, false) => ecow::eco_format!("{text:?}"),
        }
    }
    /// Both sets together.
    #[must_use]
    pub fn union(&self, other: &Marks) -> Marks {
        match (&self.0, &other.0) {
            (_, None) => self.clone(),
            (None, _) => other.clone(),
            (Some(a), Some(b)) => {
                if Arc::ptr_eq(a, b) || b.iter().all(|m| a.contains(m)) {
                    return self.clone();
                }
                let mut all: Vec<Mark> = a.iter().chain(b.iter()).cloned().collect();
                all.sort();
                all.dedup();
                Marks(Some(Arc::new(all)))
            }
        }
    }
    /// All marks for which `keep` says yes.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(&Mark) -> bool) -> Marks {
        self.iter().filter(|m| keep(m)).cloned().collect()
    }
    /// The marks of a part that was chosen, by name or by key, out of what it came in.
    #[must_use]
    pub fn read(&self) -> Marks {
        if self.iter().any(Mark::is_unread_deprecation) { self.iter().map(Mark::read).collect() } else { self.clone() }
    }
    /// The set without one mark.
    #[must_use]
    pub fn without(&self, mark: &Mark) -> Marks {
        if self.contains(mark) { self.filter(|m| m != mark) } else { self.clone() }
    }
}

impl FromIterator<Mark> for Marks {
    fn from_iter<I: IntoIterator<Item = Mark>>(iter: I) -> Marks {
        let mut marks: Vec<Mark> = iter.into_iter().collect();
        marks.sort();
        marks.dedup();
        if marks.is_empty() { Marks::NONE } else { Marks(Some(Arc::new(marks))) }
    }
}
