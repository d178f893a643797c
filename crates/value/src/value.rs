//! Values: immutable, cheap to clone, with marks on any node.

mod layered;
mod numbers;

use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use self::layered::Layered;
use crate::{Mark, Marks, Number, ObjectAttr, Refinement, Type, TypeKind, Unknown, set};

/// A value of the language: a node and the marks on it. The children of the node are values with marks of their own.
#[derive(Clone)]
pub struct Value {
    plain: Plain,
    marks: Marks,
}

/// Maximum nesting of values that are read from input (JSON, YAML, MessagePack, expressions). Readers of input refuse
/// deeper nesting, so that walking a value never exhausts the stack.
pub const MAX_DEPTH: u32 = 512;

/// A node without its own marks. Children may carry marks unless [`Plain::is_deeply_unmarked`].
#[derive(Clone)]
pub struct Plain(Repr);

#[derive(Clone)]
enum Repr {
    Null(Type),
    Unknown(Arc<Unknown>),
    Bool(bool),
    Number(Number),
    String(EcoString),
    Compound(Arc<Compound>),
    /// An object that is built on the first access.
    Layered(Arc<Layered>),
}

struct Compound {
    ty: Type,
    items: Items,
    has_unknown: bool,
    has_marks: bool,
}

/// Values nested deeper than this are dropped with a work list instead of recursion.
const RECURSIVE_DROP_DEPTH: u32 = 64;

impl Drop for Compound {
    fn drop(&mut self) {
        if self.ty.depth() <= RECURSIVE_DROP_DEPTH {
            return;
        }
        let mut pending = Vec::new();
        self.items.take_all(&mut pending);
        while let Some(value) = pending.pop() {
            if let Repr::Compound(compound) = value.plain.0
                && let Some(mut compound) = Arc::into_inner(compound)
            {
                compound.items.take_all(&mut pending);
            }
        }
    }
}

impl Compound {
    fn seq(ty: Type, items: Vec<Value>) -> Compound {
        let has_unknown = items.iter().any(|v| !v.is_wholly_known());
        let has_marks = items.iter().any(|v| !v.is_deeply_unmarked());
        Compound { ty, items: Items::Seq(items.into()), has_unknown, has_marks }
    }
    fn len(&self) -> usize {
        match &self.items {
            Items::Seq(items) => items.len(),
            Items::Map(items) => items.len(),
        }
    }
    fn view(&self) -> View<'_> {
        match (&self.items, self.ty.kind()) {
            (Items::Map(items), _) => View::Map(items),
            (Items::Seq(items), TypeKind::Set(_)) => View::Set(items),
            (Items::Seq(items), TypeKind::Tuple(_)) => View::Tuple(items),
            (Items::Seq(items), TypeKind::Object(_)) => View::Object(items),
            (Items::Seq(items), _) => View::List(items),
        }
    }
}

impl Items {
    fn take_all(&mut self, into: &mut Vec<Value>) {
        match self {
            Items::Seq(items) => into.extend(std::mem::take(items)),
            Items::Map(items) => into.extend(std::mem::take(items).into_iter().map(|(_, v)| v)),
        }
    }
}

enum Items {
    /// Elements of a list or tuple; of a set in its order, unique; of an object in the order of its type's attributes.
    Seq(Box<[Value]>),
    /// Elements of a map, sorted by key, keys unique.
    Map(Box<[(EcoString, Value)]>),
}

static FREQUENT_UNKNOWNS: LazyLock<[Arc<Unknown>; 3]> = LazyLock::new(|| {
    let unknown = |ty, not_null| Arc::new(Unknown { ty, refinement: Refinement { not_null, ..Refinement::default() } });
    [unknown(Type::string(), true), unknown(Type::string(), false), unknown(Type::dynamic(), false)]
});

/// A look at a node, to match on.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// Null of the node's type.
    Null,
    /// Not known yet.
    Unknown(&'a Unknown),
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(&'a Number),
    /// A text, in Unicode normal form C.
    String(&'a EcoString),
    /// Elements of a list.
    List(&'a [Value]),
    /// Elements of a set, in the set's own order.
    Set(&'a [Value]),
    /// Elements of a map, sorted by key.
    Map(&'a [(EcoString, Value)]),
    /// Elements of a tuple.
    Tuple(&'a [Value]),
    /// Attribute values of an object, in the order of `ty().attrs()`.
    Object(&'a [Value]),
}

impl Value {
    // ---- construction -------------------------------------------------------------------------------------------

    /// Null of a type.
    pub fn null(ty: Type) -> Value {
        Repr::Null(of_values(ty)).into()
    }
    /// Null of no particular type: the literal `null`.
    pub fn null_dynamic() -> Value {
        Value::null(Type::dynamic())
    }
    /// Unknown of a type, with nothing known about it.
    pub fn unknown(ty: Type) -> Value {
        Value::unknown_refined(ty, Refinement::default())
    }
    /// Unknown, with something known about it. `refinement` must fit the type; use the builder of
    /// [`Value::refine`] to collapse what is fully known.
    pub fn unknown_refined(ty: Type, refinement: Refinement) -> Value {
        let unknown = Unknown { ty: of_values(ty), refinement };
        // Most of what is not known yet is text or anything at all: one node is enough for all of these.
        let shared = FREQUENT_UNKNOWNS.iter().find(|frequent| ***frequent == unknown);
        Repr::Unknown(shared.cloned().unwrap_or_else(|| Arc::new(unknown))).into()
    }
    /// Unknown of unknown type.
    pub fn unknown_dynamic() -> Value {
        Value::unknown(Type::dynamic())
    }
    /// A truth value.
    pub fn bool(value: bool) -> Value {
        Repr::Bool(value).into()
    }
    /// A number.
    pub fn number(value: Number) -> Value {
        Repr::Number(value).into()
    }
    /// A whole number, with the precision of a 64 bit integer.
    pub fn int(value: i64) -> Value {
        Value::number(Number::from_i64(value))
    }
    /// A string; converted to normal form C.
    pub fn string(text: impl Into<EcoString>) -> Value {
        Repr::String(normalize(text.into())).into()
    }
    /// A list. Every element must be of the element type (or the element type has `any` inside and they agree).
    pub fn list(element: Type, items: Vec<Value>) -> Value {
        let element = of_values(element);
        debug_assert!(
            items.iter().all(|v| v.ty() == &element || element.has_dynamic()),
            "list of {element}: {items:?}"
        );
        Value::seq(Type::list(element), items)
    }
    /// A set; duplicates vanish, marks of elements move to the set.
    pub fn set(element: Type, items: Vec<Value>) -> Value {
        let element = of_values(element);
        debug_assert!(items.iter().all(|v| v.ty() == &element || element.has_dynamic()), "set of {element}: {items:?}");
        let mut marks = Marks::NONE;
        let items: Vec<Value> = items
            .into_iter()
            .map(|v| {
                let (v, m) = v.unmark_deep();
                marks = marks.union(&m);
                v
            })
            .collect();
        let items = set::normalize(&element, items);
        Value::seq(Type::set(element), items).with_marks(&marks)
    }
    /// A map; of a key given twice the last one counts.
    pub fn map(element: Type, items: Vec<(EcoString, Value)>) -> Value {
        let element = of_values(element);
        debug_assert!(
            items.iter().all(|(_, v)| v.ty() == &element || element.has_dynamic()),
            "map of {element}: {items:?}"
        );
        let mut items = items;
        sort_entries(&mut items);
        let has_unknown = items.iter().any(|(_, v)| !v.is_wholly_known());
        let has_marks = items.iter().any(|(_, v)| !v.is_deeply_unmarked());
        let ty = Type::map(element);
        Repr::Compound(Arc::new(Compound { ty, items: Items::Map(items.into()), has_unknown, has_marks })).into()
    }
    /// A list whose element type is found from its elements: all have the same type, except that a null or an unknown
    /// of no particular type takes the type of the other elements. `None` if the types differ, or if there are no elements.
    pub fn list_of(items: Vec<Value>) -> Option<Value> {
        let element = common_type(items.iter())?;
        let items = items.into_iter().map(|v| v.retyped(&element)).collect();
        Some(Value::list(element, items))
    }
    /// A set whose element type is found from its elements, as in [`Value::list_of`].
    pub fn set_of(items: Vec<Value>) -> Option<Value> {
        let element = common_type(items.iter())?;
        let items = items.into_iter().map(|v| v.retyped(&element)).collect();
        Some(Value::set(element, items))
    }
    /// A map whose element type is found from its elements, as in [`Value::list_of`].
    pub fn map_of(items: Vec<(EcoString, Value)>) -> Option<Value> {
        let element = common_type(items.iter().map(|(_, v)| v))?;
        let items = items.into_iter().map(|(k, v)| (k, v.retyped(&element))).collect();
        Some(Value::map(element, items))
    }
    /// A null or unknown of no particular type becomes one of `ty`.
    fn retyped(self, ty: &Type) -> Value {
        if !self.ty().is_dynamic() || ty.is_dynamic() {
            return self;
        }
        let plain = match self.plain.0 {
            Repr::Null(_) => Repr::Null(ty.clone()),
            _ => Repr::Unknown(Arc::new(Unknown { ty: ty.clone(), refinement: Refinement::default() })),
        };
        Value { plain: Plain(plain), marks: self.marks }
    }
    /// A tuple.
    pub fn tuple(items: Vec<Value>) -> Value {
        let ty = Type::tuple(items.iter().map(|v| v.ty().clone()).collect::<Vec<_>>());
        Value::seq(ty, items)
    }
    /// An object, attributes in any order; of a name given twice the last one counts.
    pub fn object(attrs: Vec<(EcoString, Value)>) -> Value {
        let mut attrs = attrs;
        sort_entries(&mut attrs);
        let ty = Type::object(attrs.iter().map(|(name, v)| (name.clone(), v.ty().clone())));
        Value::seq(ty, attrs.into_iter().map(|(_, v)| v).collect())
    }
    /// The same, where the type is probably known already: then it need not be put together and looked up again.
    pub(crate) fn object_of(ty: &Type, attrs: Vec<(EcoString, Value)>) -> Value {
        let mut attrs = attrs;
        sort_entries(&mut attrs);
        let is_it = |known: &[ObjectAttr]| {
            let same = |(a, (name, value)): (&ObjectAttr, &(EcoString, Value))| {
                !a.optional && a.ty == *value.ty() && a.name == *name
            };
            known.len() == attrs.len() && known.iter().zip(&attrs).all(same)
        };
        match ty.attrs().is_some_and(is_it) {
            true => Value::seq(ty.clone(), attrs.into_iter().map(|(_, v)| v).collect()),
            false => Value::object(attrs),
        }
    }
    /// The object with no attributes.
    pub fn empty_object() -> Value {
        Value::object(Vec::new())
    }
    /// An object or tuple of a known type, its values in the order of the type's attributes or elements.
    pub fn structure(ty: Type, items: Vec<Value>) -> Value {
        debug_assert!(ty.is_object() || ty.is_tuple());
        Value::seq(ty, items)
    }

    fn seq(ty: Type, items: Vec<Value>) -> Value {
        Repr::Compound(Arc::new(Compound::seq(ty, items))).into()
    }
    /// The attributes of one object laid over those of another, where that can wait until the first access: both are
    /// known, nothing in them is marked, and one of them is large and the other small.
    pub(crate) fn laid_over(under: &Value, over: &Value) -> Option<Value> {
        let layered = Layered::new(&under.plain, &over.plain)?;
        Some(Value { plain: Plain(Repr::Layered(Arc::new(layered))), marks: under.marks.union(&over.marks) })
    }

    // ---- questions that do not care for marks ---------------------------------------------------------------------

    /// The type.
    pub fn ty(&self) -> &Type {
        self.plain.ty()
    }
    /// Maximum nesting of values in it; compare with [`MAX_DEPTH`].
    pub fn depth(&self) -> u32 {
        self.ty().depth()
    }
    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.plain.0, Repr::Null(_))
    }
    /// Whether it is known, looking only at the node itself.
    pub fn is_known(&self) -> bool {
        !matches!(self.plain.0, Repr::Unknown(_))
    }
    /// Whether it is known with everything inside it.
    pub fn is_wholly_known(&self) -> bool {
        match &self.plain.0 {
            Repr::Unknown(_) => false,
            Repr::Compound(c) => !c.has_unknown,
            _ => true,
        }
    }
    /// Whether it is a null or an unknown value of no particular type.
    pub fn is_untyped(&self) -> bool {
        match &self.plain.0 {
            Repr::Null(ty) => ty.is_dynamic(),
            Repr::Unknown(unknown) => unknown.ty.is_dynamic(),
            _ => false,
        }
    }
    /// Maximum number of its elements or attributes.
    pub fn member_limit(&self) -> usize {
        match &self.plain.0 {
            Repr::Compound(c) => c.len(),
            Repr::Layered(layered) => layered.laid(),
            _ => 0,
        }
    }
    /// Whether neither the node nor anything inside carries marks.
    pub fn is_deeply_unmarked(&self) -> bool {
        self.marks.is_empty() && self.plain.is_deeply_unmarked()
    }

    // ---- marks ----------------------------------------------------------------------------------------------------

    /// The marks on the node itself.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }
    /// The marks on the node and on everything inside.
    pub fn marks_deep(&self) -> Marks {
        let mut marks = self.marks.clone();
        if !self.plain.is_deeply_unmarked() {
            self.plain.for_each_child(|child| marks = marks.union(&child.marks_deep()));
        }
        marks
    }
    /// The same value with these marks too.
    #[must_use]
    pub fn with_marks(&self, marks: &Marks) -> Value {
        Value { plain: self.plain.clone(), marks: self.marks.union(marks) }
    }
    /// The same value with this mark too.
    #[must_use]
    pub fn mark(&self, mark: Mark) -> Value {
        self.with_marks(&Marks::one(mark))
    }
    /// Exit: the node and its own marks, apart.
    pub fn unmark(&self) -> (Value, Marks) {
        (Value { plain: self.plain.clone(), marks: Marks::NONE }, self.marks.clone())
    }
    /// Exit: the value without any marks, and all the marks that were on it or inside.
    pub fn unmark_deep(&self) -> (Value, Marks) {
        if self.plain.is_deeply_unmarked() {
            return self.unmark();
        }
        let mut marks = self.marks.clone();
        let plain = self.plain.map_children(&mut |child| {
            let (child, m) = child.unmark_deep();
            marks = marks.union(&m);
            child
        });
        (Value { plain, marks: Marks::NONE }, marks)
    }
    /// Exit: look at the node and forget its own marks. The caller has dealt with them, or shows nothing of the content.
    pub fn ignoring_marks(&self) -> &Plain {
        &self.plain
    }
    /// The value with every node's own marks replaced by the result of `edit` for them.
    #[must_use]
    pub fn map_marks_deep(&self, edit: &mut dyn FnMut(&Marks) -> Marks) -> Value {
        if self.is_deeply_unmarked() {
            return self.clone();
        }
        let marks = if self.marks.is_empty() { Marks::NONE } else { edit(&self.marks) };
        let plain = if self.plain.is_deeply_unmarked() {
            self.plain.clone()
        } else {
            self.plain.map_children(&mut |child| child.map_marks_deep(edit))
        };
        Value { plain, marks }
    }

    // ---- shortcuts for arguments the dispatcher has already cleared (known, not null, of this type) ---------------

    /// The text of a known string; marks are the caller's business.
    pub fn as_str(&self) -> Option<&EcoString> {
        match self.plain.view() {
            View::String(s) => Some(s),
            _ => None,
        }
    }
    /// The content of a known number; marks are the caller's business.
    pub fn as_number(&self) -> Option<&Number> {
        match self.plain.view() {
            View::Number(n) => Some(n),
            _ => None,
        }
    }
    /// The content of a known bool; marks are the caller's business.
    pub fn as_bool(&self) -> Option<bool> {
        match self.plain.view() {
            View::Bool(b) => Some(b),
            _ => None,
        }
    }
    /// The elements of a known list, set or tuple; marks are the caller's business.
    pub fn as_seq(&self) -> Option<&[Value]> {
        match self.plain.view() {
            View::List(items) | View::Set(items) | View::Tuple(items) => Some(items),
            _ => None,
        }
    }
    /// The look at the node, its own marks forgotten: `ignoring_marks().view()`.
    pub fn view_ignoring_marks(&self) -> View<'_> {
        self.plain.view()
    }
    /// Keys and values of a known map or object, in key order; marks are the caller's business.
    pub fn entries(&self) -> Option<Vec<(EcoString, Value)>> {
        match self.plain.view() {
            View::Map(items) => Some(items.to_vec()),
            View::Object(items) => {
                let attrs = self.ty().attrs()?;
                Some(attrs.iter().zip(items).map(|(a, v)| (a.name.clone(), v.clone())).collect())
            }
            _ => None,
        }
    }
}

impl Plain {
    /// The type.
    pub fn ty(&self) -> &Type {
        static PRIMITIVES: std::sync::LazyLock<(Type, Type, Type)> =
            std::sync::LazyLock::new(|| (Type::bool(), Type::number(), Type::string()));
        match &self.0 {
            Repr::Null(ty) => ty,
            Repr::Unknown(unknown) => &unknown.ty,
            Repr::Bool(_) => &PRIMITIVES.0,
            Repr::Number(_) => &PRIMITIVES.1,
            Repr::String(_) => &PRIMITIVES.2,
            Repr::Compound(c) => &c.ty,
            Repr::Layered(layered) => &layered.whole().ty,
        }
    }
    /// A look at the node, to match on.
    pub fn view(&self) -> View<'_> {
        match &self.0 {
            Repr::Null(_) => View::Null,
            Repr::Unknown(unknown) => View::Unknown(unknown),
            Repr::Bool(b) => View::Bool(*b),
            Repr::Number(n) => View::Number(n),
            Repr::String(s) => View::String(s),
            Repr::Compound(c) => c.view(),
            Repr::Layered(layered) => layered.whole().view(),
        }
    }
    /// Whether nothing inside carries marks.
    pub fn is_deeply_unmarked(&self) -> bool {
        match &self.0 {
            Repr::Compound(c) => !c.has_marks,
            _ => true,
        }
    }
    fn compound(&self) -> Option<&Compound> {
        match &self.0 {
            Repr::Compound(c) => Some(c),
            Repr::Layered(layered) => Some(layered.whole()),
            _ => None,
        }
    }
    /// Calls `visit` for each direct child.
    pub fn for_each_child(&self, mut visit: impl FnMut(&Value)) {
        if let Some(c) = self.compound() {
            match &c.items {
                Items::Seq(items) => items.iter().for_each(visit),
                Items::Map(items) => items.iter().for_each(|(_, v)| visit(v)),
            }
        }
    }
    /// The same node with each direct child replaced. The new children must have the types of those that they replace.
    pub fn map_children(&self, edit: &mut dyn FnMut(&Value) -> Value) -> Plain {
        let Some(c) = self.compound() else { return self.clone() };
        let value = match &c.items {
            Items::Map(items) => {
                let items: Vec<_> = items.iter().map(|(k, v)| (k.clone(), edit(v))).collect();
                let has_unknown = items.iter().any(|(_, v)| !v.is_wholly_known());
                let has_marks = items.iter().any(|(_, v)| !v.is_deeply_unmarked());
                let items = Items::Map(items.into());
                return Plain(Repr::Compound(Arc::new(Compound { ty: c.ty.clone(), items, has_unknown, has_marks })));
            }
            Items::Seq(items) => Value::seq(c.ty.clone(), items.iter().map(edit).collect()),
        };
        value.plain
    }
}

/// The type of values of a constraint: optional attributes never occur in the type of a value.
fn of_values(ty: Type) -> Type {
    if ty.has_optional() { ty.without_optional() } else { ty }
}

/// Strings are stored in Unicode normal form C, keys and attribute names included.
pub(crate) fn normalize(text: EcoString) -> EcoString {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes { text } else { text.nfc().collect() }
}

/// The one type all values have, not counting those of type `any`.
fn common_type<'a>(values: impl Iterator<Item = &'a Value>) -> Option<Type> {
    let mut common: Option<&Type> = None;
    for value in values {
        match common {
            Some(ty) if ty == value.ty() || value.ty().is_dynamic() => {}
            Some(ty) if !ty.is_dynamic() => return None,
            _ => common = Some(value.ty()),
        }
    }
    common.cloned()
}

/// Normalizes keys, sorts by key and keeps the last of equal keys.
fn sort_entries(entries: &mut Vec<(EcoString, Value)>) {
    for (key, _) in entries.iter_mut() {
        if !key.is_ascii() {
            *key = normalize(std::mem::take(key));
        }
    }
    if entries.is_sorted_by(|a, b| a.0 < b.0) {
        return;
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            std::mem::swap(later, kept);
        }
        same
    });
}

impl From<Repr> for Value {
    fn from(repr: Repr) -> Value {
        Value { plain: Plain(repr), marks: Marks::NONE }
    }
}
impl From<Plain> for Value {
    fn from(plain: Plain) -> Value {
        Value { plain, marks: Marks::NONE }
    }
}
impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::bool(value)
    }
}
impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::string(text)
    }
}

/// A short text for tests and debugging; shows the content of sensitive values as `(sensitive)`.
impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.marks.has_sensitive() {
            return f.write_str("(sensitive)");
        }
        for mark in self.marks.iter() {
            match mark {
                Mark::Sensitive => {}
                Mark::Ephemeral => f.write_str("ephemeral:")?,
                Mark::Deprecated(d) => write!(f, "deprecated({}):", d.source)?,
                Mark::TypeText => f.write_str("type:")?,
            }
        }
        match self.plain.view() {
            View::Null => write!(f, "null({})", self.ty()),
            View::Unknown(u) => {
                write!(f, "unknown({})", u.ty)?;
                let Refinement { not_null, prefix, min, max, min_len, max_len } = &u.refinement;
                f.write_str(if *not_null { "!" } else { "" })?;
                if !prefix.is_empty() {
                    write!(f, " prefix {prefix:?}")?;
                }
                if let Some(min) = min {
                    write!(f, " >{} {}", if min.inclusive { "=" } else { "" }, min.value)?;
                }
                if let Some(max) = max {
                    write!(f, " <{} {}", if max.inclusive { "=" } else { "" }, max.value)?;
                }
                match max_len {
                    Some(max) => write!(f, " len {min_len}..={max}"),
                    None if *min_len > 0 => write!(f, " len {min_len}.."),
                    None => Ok(()),
                }
            }
            View::Bool(b) => write!(f, "{b}"),
            View::Number(n) => write!(f, "{n}"),
            View::String(s) => write!(f, "{s:?}"),
            View::List(items) => f.debug_list().entries(items).finish(),
            View::Set(items) => f.debug_set().entries(items).finish(),
            View::Tuple(items) => {
                f.write_str("tuple")?;
                f.debug_list().entries(items).finish()
            }
            View::Map(items) => f.debug_map().entries(items.iter().map(|(k, v)| (k, v))).finish(),
            View::Object(items) => {
                let attrs = self.ty().attrs().unwrap_or_default();
                f.write_str("{")?;
                for (i, (a, v)) in attrs.iter().zip(items).enumerate() {
                    write!(f, "{}{}={v:?}", if i > 0 { ", " } else { "" }, a.name)?;
                }
                f.write_str("}")
            }
        }
    }
}
