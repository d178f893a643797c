//! Planning a conversion from the types alone.

use std::sync::Arc;

use ecow::EcoString;
use hashbrown::HashMap;

use crate::{ObjectAttr, Type, TypeKind};

use super::Allow;
use super::unify::unify_with;

/// A planned conversion to `to`.
pub(super) struct Plan {
    pub(super) to: Type,
    pub(super) step: Step,
}

/// The plan for something inside; `None` where the types are the same already.
pub(super) type Inner = Option<Arc<Plan>>;

/// Conversion of a known value that is not null.
pub(super) enum Step {
    /// Nothing.
    Keep,
    /// Only the value itself determines its type.
    ByValue,
    NumberToString,
    BoolToString,
    StringToNumber,
    StringToBool,
    /// For each attribute of the target where its value comes from; `None` for a missing optional one.
    Object(Vec<Option<(usize, Inner)>>),
    Tuple(Vec<Inner>),
    List(Inner),
    Set(Inner),
    Map(Inner),
    TupleToList(Vec<Inner>, Allow),
    TupleToSet(Vec<Inner>),
    ObjectToMap {
        element: Type,
        attrs: Vec<Inner>,
        allow: Allow,
    },
    MapToObject(Vec<MapAttr>),
    /// Unknown, because the types of other values are not known yet.
    Forget,
    /// One after the other.
    Both(Arc<Plan>, Arc<Plan>),
}

pub(super) struct MapAttr {
    pub(super) name: EcoString,
    pub(super) optional: bool,
    pub(super) from_element: FromElement,
}

pub(super) enum FromElement {
    Same,
    Convert(Arc<Plan>),
    /// The attribute is optional and elements never fit: fine as long as the map has no such key.
    Never,
}

pub(super) fn plan(from: &Type, to: &Type, allow: Allow) -> Option<Arc<Plan>> {
    let step = step(from, to, allow)?;
    Some(Arc::new(Plan { to: to.clone(), step }))
}

/// The plan; inner `None` if no conversion is necessary, outer `None` if it is impossible.
fn inner(from: &Type, to: &Type, allow: Allow) -> Option<Inner> {
    if from == to { Some(None) } else { plan(from, to, allow).map(Some) }
}

fn step(from: &Type, to: &Type, allow: Allow) -> Option<Step> {
    let is_unsafe = allow == Allow::Unsafe;
    match (from.kind(), to.kind()) {
        (_, TypeKind::Dynamic) => Some(Step::Keep),
        (TypeKind::Dynamic, _) => is_unsafe.then_some(Step::ByValue),
        (TypeKind::Number, TypeKind::String) => Some(Step::NumberToString),
        (TypeKind::Bool, TypeKind::String) => Some(Step::BoolToString),
        (TypeKind::String, TypeKind::Number) => is_unsafe.then_some(Step::StringToNumber),
        (TypeKind::String, TypeKind::Bool) => is_unsafe.then_some(Step::StringToBool),
        (TypeKind::Object(from), TypeKind::Object(to)) => object_to_object(from, to, allow),
        (TypeKind::Tuple(from), TypeKind::Tuple(to)) => tuple_to_tuple(from, to, allow),
        (TypeKind::List(from) | TypeKind::Set(from), TypeKind::List(to)) => inner(from, to, allow).map(Step::List),
        (TypeKind::List(_), TypeKind::Set(_)) if !is_unsafe => None,
        (TypeKind::List(from) | TypeKind::Set(from), TypeKind::Set(to)) => inner(from, to, allow).map(Step::Set),
        (TypeKind::Map(from), TypeKind::Map(to)) => inner(from, to, allow).map(Step::Map),
        (TypeKind::Tuple(from), TypeKind::List(to)) => {
            let to = tuple_element(from, to, allow)?;
            Some(Step::TupleToList(each(from.iter(), &to, allow)?, allow))
        }
        (TypeKind::Tuple(from), TypeKind::Set(to)) => {
            let to = tuple_element(from, to, allow)?;
            Some(Step::TupleToSet(each(from.iter(), &to, allow)?))
        }
        (TypeKind::Object(from), TypeKind::Map(to)) => object_to_map(from, to, allow),
        (TypeKind::Map(from), TypeKind::Object(to)) if is_unsafe => map_to_object(from, to, allow),
        _ => None,
    }
}

// Plain loops: these functions call each other once per level of nesting, and iterator adaptors would take several
// times the stack.

fn tuple_to_tuple(from: &[Type], to: &[Type], allow: Allow) -> Option<Step> {
    if from.len() != to.len() {
        return None;
    }
    let mut inners = Vec::with_capacity(to.len());
    for (from, to) in from.iter().zip(to) {
        inners.push(inner(from, to, allow)?);
    }
    Some(Step::Tuple(inners))
}

fn object_to_map(from: &[ObjectAttr], to: &Type, allow: Allow) -> Option<Step> {
    let mut element = to.clone();
    if to.is_dynamic() && !from.is_empty() {
        element = unify_with(from.iter().map(|a| &a.ty), allow)?.ty;
    }
    let attrs = each(from.iter().map(|a| &a.ty), &element, allow)?;
    Some(Step::ObjectToMap { element, attrs, allow })
}

fn map_to_object(from: &Type, to: &[ObjectAttr], allow: Allow) -> Option<Step> {
    let mut attrs = Vec::with_capacity(to.len());
    for attr in to {
        attrs.push(map_attr(from, attr, allow)?);
    }
    Some(Step::MapToObject(attrs))
}

fn object_to_object(from: &[ObjectAttr], to: &[ObjectAttr], allow: Allow) -> Option<Step> {
    let mut given = from.iter().enumerate().peekable();
    let mut attrs = Vec::with_capacity(to.len());
    for wanted in to {
        while given.next_if(|(_, attr)| attr.name < wanted.name).is_some() {}
        attrs.push(match given.next_if(|(_, attr)| attr.name == wanted.name) {
            Some((index, attr)) => Some((index, inner(&attr.ty, &wanted.ty, allow)?)),
            None if wanted.optional => None,
            None => return None,
        });
    }
    Some(Step::Object(attrs))
}

/// The element type of a list or set made of a tuple: found by unification where `any` is wanted.
fn tuple_element(from: &[Type], to: &Type, allow: Allow) -> Option<Type> {
    if !to.is_dynamic() || from.is_empty() {
        return Some(to.clone());
    }
    let element = unify_with(from, allow)?.ty;
    let mixed = element.is_dynamic() && from.iter().any(|ty| !ty.is_dynamic());
    (!mixed).then_some(element)
}

/// Plans from many types to one; equal types share a plan.
fn each<'a>(from: impl Iterator<Item = &'a Type>, to: &Type, allow: Allow) -> Option<Vec<Inner>> {
    let mut plans: HashMap<&Type, Inner, foldhash::fast::FixedState> = HashMap::default();
    let mut all = Vec::new();
    for ty in from {
        if ty == to {
            all.push(None);
        } else if let Some(plan) = plans.get(ty) {
            all.push(plan.clone());
        } else {
            let plan = inner(ty, to, allow)?;
            plans.insert(ty, plan.clone());
            all.push(plan);
        }
    }
    Some(all)
}

fn map_attr(element: &Type, attr: &ObjectAttr, allow: Allow) -> Option<MapAttr> {
    let from_element = match inner(element, &attr.ty, allow) {
        Some(None) => FromElement::Same,
        Some(Some(plan)) => FromElement::Convert(plan),
        None if attr.optional => FromElement::Never,
        None => return None,
    };
    Some(MapAttr { name: attr.name.clone(), optional: attr.optional, from_element })
}
