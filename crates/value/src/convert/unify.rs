//! Unification: the most general of several types, to which all the other types can be converted.

use std::cmp::Ordering;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::{Type, TypeKind, Value};

use super::plan::{Inner, Plan, Step, plan};
use super::{Allow, Conversion, ConvertError};

/// A common type, and how to get there from each of the types.
#[derive(Clone)]
pub struct Unified {
    /// The common type.
    pub ty: Type,
    /// For each type the index of its conversion.
    of: Vec<u32>,
    conversions: Vec<Option<Conversion>>,
}

impl Unified {
    /// The conversion for the type at a position; `None` where nothing is to be done.
    pub fn conversion(&self, position: usize) -> Option<&Conversion> {
        // All types were equal: there is no table.
        let index = usize::try_from(*self.of.get(position)?).ok()?;
        self.conversions.get(index)?.as_ref()
    }
    /// Converts the value whose type was at a position.
    pub fn convert(&self, position: usize, value: &Value) -> Result<Value, ConvertError> {
        match self.conversion(position) {
            Some(conversion) => conversion.apply(value),
            None => Ok(value.clone()),
        }
    }
}

/// The type to which values of all the types can be converted without fail.
pub fn unify(types: &[Type]) -> Option<Type> {
    unify_with(types, Allow::Safe).map(|unified| unified.ty)
}

/// The type to which values of all the types can be converted, if perhaps not every value.
pub fn unify_unsafe(types: &[Type]) -> Option<Type> {
    unify_with(types, Allow::Unsafe).map(|unified| unified.ty)
}

/// The common type together with the conversions to it.
pub fn unify_with<'a>(types: impl IntoIterator<Item = &'a Type>, allow: Allow) -> Option<Unified> {
    let mut types = types.into_iter();
    let first = types.next()?;
    let mut distinct = vec![first.clone()];
    let mut of = vec![0u32];
    let mut seen: HashMap<&Type, u32, FixedState> = HashMap::default();
    let mut last = first;
    for ty in types {
        if ty != last && seen.is_empty() {
            seen.insert(first, 0);
        }
        last = ty;
        let index = if seen.is_empty() {
            0
        } else {
            let next = u32::try_from(distinct.len()).ok()?;
            *seen.entry(ty).or_insert_with(|| {
                distinct.push(ty.clone());
                next
            })
        };
        of.push(index);
    }
    if distinct.len() == 1 {
        return Some(Unified { ty: distinct.remove(0), of: Vec::new(), conversions: Vec::new() });
    }
    let (ty, plans) = unify_distinct(&distinct, allow)?;
    let conversions = plans.into_iter().map(|plan| plan.map(Conversion)).collect();
    Some(Unified { ty, of, conversions })
}

type Plans = (Type, Vec<Inner>);

fn unify_types(types: &[Type], allow: Allow) -> Option<Plans> {
    let unified = unify_with(types, allow)?;
    let plans = (0..types.len()).map(|i| unified.conversion(i).map(|c| c.0.clone())).collect();
    Some((unified.ty, plans))
}

fn unify_distinct(types: &[Type], allow: Allow) -> Option<Plans> {
    let count = |is: fn(&Type) -> bool| types.iter().filter(|ty| is(ty)).count();
    let all = types.len();
    let (maps, lists, sets) = (count(Type::is_map), count(Type::is_list), count(Type::is_set));
    let (objects, tuples, dynamics) = (count(Type::is_object), count(Type::is_tuple), count(Type::is_dynamic));
    if dynamics > 0 && dynamics < all && [maps, lists, sets, objects, tuples].contains(&(all - dynamics)) {
        return Some(all_unknown(types));
    }
    if maps == all {
        return unify_elements(types, Type::map, allow);
    }
    if lists == all {
        return unify_elements(types, Type::list, allow);
    }
    if sets == all {
        return unify_elements(types, Type::set, allow);
    }
    if objects == all {
        return unify_objects(types, allow);
    }
    if tuples == all {
        return unify_tuples(types, allow);
    }
    if maps > 0 && maps + objects + dynamics == all {
        if let Some(found) = unify_mixed(types, Type::is_object, objects_to_map, Type::is_map, allow) {
            return Some(found);
        }
    } else if lists > 0 && lists + tuples + dynamics == all {
        if let Some(found) = unify_mixed(types, Type::is_tuple, tuples_to_list, Type::is_list, allow) {
            return Some(found);
        }
    } else if objects > 0 && tuples > 0 {
        return None;
    }
    by_preference(types, allow)
}

/// The most general of the given types that all other types can be converted to.
fn by_preference(types: &[Type], allow: Allow) -> Option<Plans> {
    sorted(types).into_iter().find_map(|wanted| {
        let wanted = types.get(wanted)?;
        plans_to(types, wanted, allow).map(|plans| (wanted.clone(), plans))
    })
}

fn plans_to(types: &[Type], wanted: &Type, allow: Allow) -> Option<Vec<Inner>> {
    types.iter().map(|ty| if ty == wanted { Some(None) } else { plan(ty, wanted, allow).map(Some) }).collect()
}

/// Some types are not known yet, so nothing is known about any of the results.
fn all_unknown(types: &[Type]) -> Plans {
    let forget = Arc::new(Plan { to: Type::dynamic(), step: Step::Forget });
    (Type::dynamic(), vec![Some(forget); types.len()])
}

fn unify_elements(types: &[Type], collection: fn(Type) -> Type, allow: Allow) -> Option<Plans> {
    let element = unify_with(types.iter().filter_map(Type::element), allow)?.ty;
    let wanted = collection(element);
    let plans = plans_to(types, &wanted, allow)?;
    Some((wanted, plans))
}

fn unify_objects(types: &[Type], allow: Allow) -> Option<Plans> {
    let attrs = types.first()?.attrs()?;
    let same_names = |ty: &Type| {
        let other = ty.attrs().unwrap_or_default();
        other.len() == attrs.len() && other.iter().zip(attrs).all(|(a, b)| a.name == b.name)
    };
    if !types.iter().all(same_names) {
        return objects_to_map(types, allow);
    }
    let across = |index: usize| types.iter().filter_map(move |ty| ty.attrs()?.get(index).map(|a| &a.ty));
    let mut unified = Vec::with_capacity(attrs.len());
    for (index, attr) in attrs.iter().enumerate() {
        unified.push((attr.name.clone(), unify_with(across(index), allow)?.ty));
    }
    let wanted = Type::object(unified);
    match plans_to(types, &wanted, allow) {
        Some(plans) => Some((wanted, plans)),
        None => objects_to_map(types, allow),
    }
}

fn unify_tuples(types: &[Type], allow: Allow) -> Option<Plans> {
    let length = types.first()?.tuple_elements()?.len();
    if types.iter().any(|ty| ty.tuple_elements().is_none_or(|elements| elements.len() != length)) {
        return tuples_to_list(types, allow);
    }
    let across = |index: usize| types.iter().filter_map(move |ty| ty.tuple_elements()?.get(index));
    let mut unified = Vec::with_capacity(length);
    for index in 0..length {
        unified.push(unify_with(across(index), allow)?.ty);
    }
    let wanted = Type::tuple(unified);
    match plans_to(types, &wanted, allow) {
        Some(plans) => Some((wanted, plans)),
        None => tuples_to_list(types, allow),
    }
}

fn objects_to_map(types: &[Type], allow: Allow) -> Option<Plans> {
    let element = unify_with(types.iter().filter_map(Type::attrs).flatten().map(|a| &a.ty), allow)?.ty;
    let wanted = Type::map(element);
    let plans = plans_to(types, &wanted, allow)?;
    Some((wanted, plans))
}

fn tuples_to_list(types: &[Type], allow: Allow) -> Option<Plans> {
    let element = unify_with(types.iter().filter_map(Type::tuple_elements).flatten(), allow)?.ty;
    let wanted = Type::list(element);
    let plans = plans_to(types, &wanted, allow)?;
    Some((wanted, plans))
}

/// Objects among maps become maps first, tuples among lists lists.
fn unify_mixed(
    types: &[Type],
    is_structure: fn(&Type) -> bool,
    structures_to_collection: fn(&[Type], Allow) -> Option<Plans>,
    is_collection: fn(&Type) -> bool,
    allow: Allow,
) -> Option<Plans> {
    let structures: Vec<Type> = types.iter().filter(|ty| is_structure(ty)).cloned().collect();
    let (collection, to_collection) = structures_to_collection(&structures, allow)?;
    let replaced: Vec<Type> =
        types.iter().map(|ty| if is_structure(ty) { collection.clone() } else { ty.clone() }).collect();
    let (wanted, mut plans) = unify_types(&replaced, allow)?;
    if !is_collection(&wanted) {
        return None;
    }
    let mut first_steps = to_collection.into_iter();
    for (ty, plan) in types.iter().zip(&mut plans) {
        if is_structure(ty) {
            let first = first_steps.next().flatten();
            *plan = match (first, plan.take()) {
                (Some(first), Some(second)) => {
                    Some(Arc::new(Plan { to: wanted.clone(), step: Step::Both(first, second) }))
                }
                (first, second) => first.or(second),
            };
        }
    }
    Some((wanted, plans))
}

/// Positions of the types, the more general ones first; types that cannot be compared stay in their order.
fn sorted(types: &[Type]) -> Vec<usize> {
    let mut less_general: Vec<Vec<usize>> = vec![Vec::new(); types.len()];
    let mut more_general_count = vec![0usize; types.len()];
    for i in 0..types.len() {
        for j in i + 1..types.len() {
            let (general, special) = match generality(&types[i], &types[j]) {
                Ordering::Less => (i, j),
                Ordering::Greater => (j, i),
                Ordering::Equal => continue,
            };
            less_general[general].push(special);
            more_general_count[special] += 1;
        }
    }
    let mut order: Vec<usize> = (0..types.len()).filter(|i| more_general_count[*i] == 0).collect();
    let mut next = 0;
    while let Some(&general) = order.get(next) {
        next += 1;
        for &special in &less_general[general] {
            more_general_count[special] -= 1;
            if more_general_count[special] == 0 {
                order.push(special);
            }
        }
    }
    order
}

/// `Less` if `a` is more general than `b`, `Equal` if neither is.
fn generality(a: &Type, b: &Type) -> Ordering {
    match (a.kind(), b.kind()) {
        // A type that is not known yet is the last resort.
        (TypeKind::Dynamic, TypeKind::Dynamic) => Ordering::Equal,
        (TypeKind::Dynamic, _) => Ordering::Greater,
        (_, TypeKind::Dynamic) => Ordering::Less,
        (TypeKind::String, TypeKind::Bool | TypeKind::Number) => Ordering::Less,
        (TypeKind::Bool | TypeKind::Number, TypeKind::String) => Ordering::Greater,
        (TypeKind::List(a), TypeKind::List(b))
        | (TypeKind::Set(a), TypeKind::Set(b))
        | (TypeKind::Map(a), TypeKind::Map(b)) => generality(a, b),
        (TypeKind::List(_) | TypeKind::Tuple(_), TypeKind::Set(_))
        | (TypeKind::List(_), TypeKind::Tuple(_))
        | (TypeKind::Map(_), TypeKind::Object(_)) => Ordering::Less,
        (TypeKind::Set(_), TypeKind::List(_) | TypeKind::Tuple(_))
        | (TypeKind::Tuple(_), TypeKind::List(_))
        | (TypeKind::Object(_), TypeKind::Map(_)) => Ordering::Greater,
        (TypeKind::Object(a), TypeKind::Object(b)) => {
            if a.len() != b.len() || a.iter().zip(b.iter()).any(|(a, b)| a.name != b.name) {
                return Ordering::Equal;
            }
            unanimous(a.iter().zip(b.iter()).map(|(a, b)| generality(&a.ty, &b.ty)))
        }
        (TypeKind::Tuple(a), TypeKind::Tuple(b)) if a.len() == b.len() => {
            unanimous(a.iter().zip(b.iter()).map(|(a, b)| generality(a, b)))
        }
        _ => Ordering::Equal,
    }
}

/// The common ordering of all items that are not `Equal`; `Equal` if they disagree.
fn unanimous(answers: impl Iterator<Item = Ordering>) -> Ordering {
    let mut found = Ordering::Equal;
    for answer in answers.filter(|o| o.is_ne()) {
        if found.is_ne() && found != answer {
            return Ordering::Equal;
        }
        found = answer;
    }
    found
}
