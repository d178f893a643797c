//! Types, hash-consed so that equality and hashing look at one pointer.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use ecow::EcoString;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A type. Cloning is a reference count; comparing is a pointer compare.
#[derive(Clone)]
pub struct Type(Arc<Node>);

struct Node {
    kind: TypeKind,
    hash: u64,
    depth: u32,
    has_dynamic: bool,
    has_optional: bool,
}

/// Types nested deeper than this are dropped with a work list instead of recursion.
const RECURSIVE_DROP_DEPTH: u32 = 64;

impl Drop for Node {
    fn drop(&mut self) {
        if self.depth <= RECURSIVE_DROP_DEPTH {
            return;
        }
        let mut pending = Vec::new();
        take_children(&mut self.kind, &mut pending);
        while let Some(ty) = pending.pop() {
            if let Some(mut node) = Arc::into_inner(ty.0) {
                take_children(&mut node.kind, &mut pending);
            }
        }
    }
}

fn take_children(kind: &mut TypeKind, into: &mut Vec<Type>) {
    match std::mem::replace(kind, TypeKind::Dynamic) {
        TypeKind::List(t) | TypeKind::Set(t) | TypeKind::Map(t) => into.push(t),
        TypeKind::Tuple(ts) => into.extend(ts),
        TypeKind::Object(attrs) => into.extend(attrs.into_iter().map(|a| a.ty)),
        TypeKind::Bool | TypeKind::Number | TypeKind::String | TypeKind::Dynamic => {}
    }
}

/// Structure of a [`Type`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// `bool`
    Bool,
    /// `number`
    Number,
    /// `string`
    String,
    /// `any` in a constraint; as the type of a value: not known yet.
    Dynamic,
    /// `list(T)`
    List(Type),
    /// `set(T)`
    Set(Type),
    /// `map(T)`
    Map(Type),
    /// `tuple([T, ...])`
    Tuple(Box<[Type]>),
    /// `object({...})`, attributes sorted by name, names unique.
    Object(Box<[ObjectAttr]>),
}

/// One attribute of an object type. `optional` occurs in constraints only, never in the type of a value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ObjectAttr {
    /// The attribute's name.
    pub name: EcoString,
    /// Its type.
    pub ty: Type,
    /// Whether a conversion to this type may leave it out.
    pub optional: bool,
}

/// All live compound types. Entries are weak; dead ones are swept when the table has doubled.
struct Interner {
    table: HashTable<(u64, Weak<Node>)>,
    sweep_at: usize,
}

static INTERNER: LazyLock<Mutex<Interner>> =
    LazyLock::new(|| Mutex::new(Interner { table: HashTable::new(), sweep_at: 1024 }));

struct Primitives {
    bool: Type,
    number: Type,
    string: Type,
    dynamic: Type,
    empty_object: Type,
    empty_tuple: Type,
}

static PRIMITIVES: LazyLock<Primitives> = LazyLock::new(|| Primitives {
    bool: Type::intern(TypeKind::Bool),
    number: Type::intern(TypeKind::Number),
    string: Type::intern(TypeKind::String),
    dynamic: Type::intern(TypeKind::Dynamic),
    empty_object: Type::intern(TypeKind::Object(Box::default())),
    empty_tuple: Type::intern(TypeKind::Tuple(Box::default())),
});

impl Type {
    /// `bool`
    pub fn bool() -> Type {
        PRIMITIVES.bool.clone()
    }
    /// `number`
    pub fn number() -> Type {
        PRIMITIVES.number.clone()
    }
    /// `string`
    pub fn string() -> Type {
        PRIMITIVES.string.clone()
    }
    /// `any`
    pub fn dynamic() -> Type {
        PRIMITIVES.dynamic.clone()
    }
    /// `object({})`
    pub fn empty_object() -> Type {
        PRIMITIVES.empty_object.clone()
    }
    /// `tuple([])`
    pub fn empty_tuple() -> Type {
        PRIMITIVES.empty_tuple.clone()
    }
    /// `list(element)`
    pub fn list(element: Type) -> Type {
        Type::intern(TypeKind::List(element))
    }
    /// `set(element)`
    pub fn set(element: Type) -> Type {
        Type::intern(TypeKind::Set(element))
    }
    /// `map(element)`
    pub fn map(element: Type) -> Type {
        Type::intern(TypeKind::Map(element))
    }
    /// `tuple([...])`
    pub fn tuple(elements: impl Into<Box<[Type]>>) -> Type {
        Type::intern(TypeKind::Tuple(elements.into()))
    }
    /// `object({...})` of required attributes, given in any order; of a name given twice the last one counts.
    pub fn object(attrs: impl IntoIterator<Item = (EcoString, Type)>) -> Type {
        Type::object_with_optional(attrs.into_iter().map(|(name, ty)| ObjectAttr { name, ty, optional: false }))
    }
    /// `object({...})` with optional attributes, given in any order; of a name given twice the last one counts.
    pub fn object_with_optional(attrs: impl IntoIterator<Item = ObjectAttr>) -> Type {
        let mut attrs: Vec<ObjectAttr> =
            attrs.into_iter().map(|attr| ObjectAttr { name: crate::value::normalize(attr.name), ..attr }).collect();
        if !attrs.is_sorted_by(|a, b| a.name < b.name) {
            attrs.sort_by(|a, b| a.name.cmp(&b.name));
            attrs.dedup_by(|later, kept| {
                let same = later.name == kept.name;
                if same {
                    std::mem::swap(later, kept);
                }
                same
            });
        }
        Type::intern(TypeKind::Object(attrs.into()))
    }

    /// The attributes of two object types together; of a name in both the second one's counts. They need no sorting.
    pub(crate) fn object_of_both(under: &[ObjectAttr], over: &[ObjectAttr]) -> Type {
        let mut attrs = Vec::with_capacity(under.len() + over.len());
        let mut over = over.iter().peekable();
        for attr in under {
            while let Some(earlier) = over.next_if(|other| other.name < attr.name) {
                attrs.push(earlier.clone());
            }
            attrs.push(over.next_if(|other| other.name == attr.name).unwrap_or(attr).clone());
        }
        attrs.extend(over.cloned());
        Type::intern(TypeKind::Object(attrs.into()))
    }

    fn intern(kind: TypeKind) -> Type {
        let hash = FixedState::default().hash_one(&kind);
        let mut guard = INTERNER.lock().unwrap_or_else(PoisonError::into_inner);
        let Interner { table, sweep_at } = &mut *guard;
        // An upgraded node lives until the lock is released: dropping the last reference to it in here could drop
        // nested types, which never take the lock, so order does not matter; it only makes the result stable.
        let mut found = None;
        table.find(hash, |(h, weak)| {
            *h == hash
                && weak.upgrade().is_some_and(|node| {
                    let same = node.kind == kind;
                    if same {
                        found = Some(node);
                    }
                    same
                })
        });
        if let Some(node) = found {
            return Type(node);
        }
        let (depth, has_dynamic, has_optional) = contents(&kind);
        let node = Arc::new(Node { kind, hash, depth, has_dynamic, has_optional });
        // A type that is dropped and created again takes its old slot, or finding it would take longer each time.
        if let Some((_, dead)) = table.find_mut(hash, |(h, weak)| *h == hash && weak.strong_count() == 0) {
            *dead = Arc::downgrade(&node);
            return Type(node);
        }
        if table.len() >= *sweep_at {
            table.retain(|(_, weak)| weak.strong_count() > 0);
            *sweep_at = (table.len() * 2).max(1024);
        }
        table.insert_unique(hash, (hash, Arc::downgrade(&node)), |(h, _)| *h);
        Type(node)
    }

    /// Structure of this type.
    pub fn kind(&self) -> &TypeKind {
        &self.0.kind
    }
    /// `bool`, `number` or `string`.
    pub fn is_primitive(&self) -> bool {
        matches!(self.kind(), TypeKind::Bool | TypeKind::Number | TypeKind::String)
    }
    /// `any` itself.
    pub fn is_dynamic(&self) -> bool {
        matches!(self.kind(), TypeKind::Dynamic)
    }
    /// A list, set or map.
    pub fn is_collection(&self) -> bool {
        matches!(self.kind(), TypeKind::List(_) | TypeKind::Set(_) | TypeKind::Map(_))
    }
    /// `list(_)`
    pub fn is_list(&self) -> bool {
        matches!(self.kind(), TypeKind::List(_))
    }
    /// `set(_)`
    pub fn is_set(&self) -> bool {
        matches!(self.kind(), TypeKind::Set(_))
    }
    /// `map(_)`
    pub fn is_map(&self) -> bool {
        matches!(self.kind(), TypeKind::Map(_))
    }
    /// `tuple(_)`
    pub fn is_tuple(&self) -> bool {
        matches!(self.kind(), TypeKind::Tuple(_))
    }
    /// `object(_)`
    pub fn is_object(&self) -> bool {
        matches!(self.kind(), TypeKind::Object(_))
    }
    /// The element type of a list, set or map.
    pub fn element(&self) -> Option<&Type> {
        match self.kind() {
            TypeKind::List(t) | TypeKind::Set(t) | TypeKind::Map(t) => Some(t),
            _ => None,
        }
    }
    /// The element types of a tuple.
    pub fn tuple_elements(&self) -> Option<&[Type]> {
        match self.kind() {
            TypeKind::Tuple(elements) => Some(elements),
            _ => None,
        }
    }
    /// The attributes of an object type, sorted by name.
    pub fn attrs(&self) -> Option<&[ObjectAttr]> {
        match self.kind() {
            TypeKind::Object(attrs) => Some(attrs),
            _ => None,
        }
    }
    /// The position of an attribute in [`Type::attrs`].
    pub fn attr_index(&self, name: &str) -> Option<usize> {
        self.attrs()?.binary_search_by(|a| a.name.as_str().cmp(name)).ok()
    }
    /// One attribute of an object type.
    pub fn attr(&self, name: &str) -> Option<&ObjectAttr> {
        let index = self.attr_index(name)?;
        self.attrs()?.get(index)
    }
    /// Nesting of types in it: 0 for `string`, 1 for `list(string)`. No value of the type is nested deeper.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }
    /// The English name of the type for messages about a given value: `list of string`.
    pub fn friendly_name(&self) -> String {
        self.english("dynamic", "dynamic")
    }
    /// The English name of the type for messages about what is wanted: `list of any single type`.
    pub fn friendly_constraint_name(&self) -> String {
        self.english("any type", "any single type")
    }
    fn english(&self, dynamic: &str, dynamic_element: &str) -> String {
        let element =
            |t: &Type| if t.is_dynamic() { dynamic_element.to_string() } else { t.english(dynamic, dynamic_element) };
        match self.kind() {
            TypeKind::Bool => "bool".to_string(),
            TypeKind::Number => "number".to_string(),
            TypeKind::String => "string".to_string(),
            TypeKind::Dynamic => dynamic.to_string(),
            TypeKind::List(t) => format!("list of {}", element(t)),
            TypeKind::Set(t) => format!("set of {}", element(t)),
            TypeKind::Map(t) => format!("map of {}", element(t)),
            TypeKind::Tuple(_) => "tuple".to_string(),
            TypeKind::Object(_) => "object".to_string(),
        }
    }
    /// Whether `any` occurs anywhere inside.
    pub fn has_dynamic(&self) -> bool {
        self.0.has_dynamic
    }
    /// Whether an optional attribute occurs anywhere inside.
    pub fn has_optional(&self) -> bool {
        self.0.has_optional
    }
    /// The same type with every optional attribute made an ordinary one: the type of values of a constraint.
    pub fn without_optional(&self) -> Type {
        if !self.has_optional() {
            return self.clone();
        }
        match self.kind() {
            TypeKind::List(t) => Type::list(t.without_optional()),
            TypeKind::Set(t) => Type::set(t.without_optional()),
            TypeKind::Map(t) => Type::map(t.without_optional()),
            TypeKind::Tuple(ts) => Type::tuple(ts.iter().map(Type::without_optional).collect::<Vec<_>>()),
            TypeKind::Object(attrs) => Type::object(attrs.iter().map(|a| (a.name.clone(), a.ty.without_optional()))),
            TypeKind::Bool | TypeKind::Number | TypeKind::String | TypeKind::Dynamic => self.clone(),
        }
    }
}

/// Depth, whether `any` occurs, whether an optional attribute occurs.
fn contents(kind: &TypeKind) -> (u32, bool, bool) {
    match kind {
        TypeKind::Bool | TypeKind::Number | TypeKind::String => (0, false, false),
        TypeKind::Dynamic => (0, true, false),
        TypeKind::List(t) | TypeKind::Set(t) | TypeKind::Map(t) => {
            (t.depth().saturating_add(1), t.has_dynamic(), t.has_optional())
        }
        TypeKind::Tuple(ts) => {
            let depth = ts.iter().map(Type::depth).max().unwrap_or(0).saturating_add(1);
            (depth, ts.iter().any(Type::has_dynamic), ts.iter().any(Type::has_optional))
        }
        TypeKind::Object(attrs) => {
            let depth = attrs.iter().map(|a| a.ty.depth()).max().unwrap_or(0).saturating_add(1);
            let has_optional = attrs.iter().any(|a| a.optional || a.ty.has_optional());
            (depth, attrs.iter().any(|a| a.ty.has_dynamic()), has_optional)
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Type {}
impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

/// Type expression syntax, as in a variable's `type` argument.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            TypeKind::Bool => f.write_str("bool"),
            TypeKind::Number => f.write_str("number"),
            TypeKind::String => f.write_str("string"),
            TypeKind::Dynamic => f.write_str("any"),
            TypeKind::List(t) => write!(f, "list({t})"),
            TypeKind::Set(t) => write!(f, "set({t})"),
            TypeKind::Map(t) => write!(f, "map({t})"),
            TypeKind::Tuple(ts) => {
                f.write_str("tuple([")?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{t}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("])")
            }
            TypeKind::Object(attrs) => {
                f.write_str("object({")?;
                for (i, a) in attrs.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    if a.optional {
                        write!(f, "{}=optional({})", a.name, a.ty)?;
                    } else {
                        write!(f, "{}={}", a.name, a.ty)?;
                    }
                }
                f.write_str("})")
            }
        }
    }
}
impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_types_are_one_node() {
        let a = Type::object([("b".into(), Type::string()), ("a".into(), Type::list(Type::number()))]);
        let b = Type::object([("a".into(), Type::list(Type::number())), ("b".into(), Type::string())]);
        assert_eq!(a, b);
        assert!(Arc::ptr_eq(&a.0, &b.0));
        assert_ne!(a, Type::empty_object());
        assert_eq!(a.to_string(), "object({a=list(number),b=string})");
    }

    #[test]
    fn dead_types_leave_the_table() {
        for i in 0..100_000 {
            drop(Type::object([(ecow::eco_format!("only_{i}"), Type::string())]));
        }
        let guard = INTERNER.lock().unwrap_or_else(PoisonError::into_inner);
        // Other tests have live types of their own.
        assert!(guard.table.len() < 80_000, "{}", guard.table.len());
    }
}
