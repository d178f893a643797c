//! Messages about types that do not fit.

use ecow::{EcoString, eco_format};

use crate::{Type, TypeKind};

use super::{Allow, plan};

/// Reason why a value of type `given` is not acceptable where `wanted` (which may contain `any`) is; `None` if it is.
/// Unlike a conversion, only `any` accepts a different type.
pub fn conformance_error(given: &Type, wanted: &Type) -> Option<EcoString> {
    if wanted.is_dynamic() || given == wanted {
        return None;
    }
    match (given.kind(), wanted.kind()) {
        (TypeKind::Object(given), TypeKind::Object(wanted)) => {
            let has = |attrs: &[crate::ObjectAttr], name: &EcoString| {
                attrs.binary_search_by(|a| a.name.cmp(name)).ok().and_then(|at| attrs.get(at)).map(|a| a.ty.clone())
            };
            if let Some(attr) = given.iter().find(|a| has(wanted, &a.name).is_none()) {
                return Some(eco_format!("unsupported attribute {:?}", attr.name));
            }
            if let Some(attr) = wanted.iter().find(|a| has(given, &a.name).is_none()) {
                return Some(eco_format!("missing required attribute {:?}", attr.name));
            }
            given.iter().zip(wanted.iter()).find_map(|(g, w)| {
                conformance_error(&g.ty, &w.ty).map(|message| eco_format!("attribute {:?}: {message}", g.name))
            })
        }
        (TypeKind::Tuple(given), TypeKind::Tuple(wanted)) if given.len() != wanted.len() => {
            Some(eco_format!("{} elements are required, but there are {}", wanted.len(), given.len()))
        }
        (TypeKind::Tuple(given), TypeKind::Tuple(wanted)) => given
            .iter()
            .zip(wanted.iter())
            .enumerate()
            .find_map(|(i, (g, w))| conformance_error(g, w).map(|message| eco_format!("element {i}: {message}"))),
        (TypeKind::List(given), TypeKind::List(wanted))
        | (TypeKind::Set(given), TypeKind::Set(wanted))
        | (TypeKind::Map(given), TypeKind::Map(wanted)) => {
            conformance_error(given, wanted).map(|message| eco_format!("element type: {message}"))
        }
        _ => Some(eco_format!("{} required, but this is {}", wanted.friendly_name(), given.friendly_name())),
    }
}

/// Reason why `given` cannot be converted to `wanted`: a sentence part that names the innermost difference.
pub fn mismatch_message(given: &Type, wanted: &Type) -> String {
    match (given.kind(), wanted.kind()) {
        (TypeKind::Object(_), TypeKind::Object(_)) => objects(given, wanted),
        (TypeKind::Tuple(_), TypeKind::List(t)) if t.is_dynamic() => "all list elements must have the same type".into(),
        (TypeKind::Tuple(_), TypeKind::Set(t)) if t.is_dynamic() => "all set elements must have the same type".into(),
        (TypeKind::Object(_), TypeKind::Map(t)) if t.is_dynamic() => "all map elements must have the same type".into(),
        (TypeKind::Tuple(elements), TypeKind::List(element) | TypeKind::Set(element)) => {
            let parts = elements.iter().enumerate().map(|(i, ty)| (i.to_string(), ty));
            from_structure(parts, element)
        }
        (TypeKind::Object(attrs), TypeKind::Map(element)) => {
            from_structure(attrs.iter().map(|a| (format!("{:?}", a.name), &a.ty)), element)
        }
        (TypeKind::List(given) | TypeKind::Set(given), TypeKind::List(element)) => of_elements("list", given, element),
        (TypeKind::List(given) | TypeKind::Set(given), TypeKind::Set(element)) => of_elements("set", given, element),
        (TypeKind::Map(given), TypeKind::Map(element)) => of_elements("map", given, element),
        (TypeKind::Tuple(_) | TypeKind::Object(_), _) if wanted.is_collection() => required(wanted),
        _ if given.is_collection() && wanted.is_collection() => required(wanted),
        _ if telling(given, wanted) => {
            format!("{} required, but this is {}", wanted.friendly_name(), given.friendly_name())
        }
        _ => required(wanted),
    }
}

fn required(wanted: &Type) -> String {
    format!("{} required", wanted.friendly_constraint_name())
}

/// Whether naming the given type too helps: `tuple` and `list` side by side would only confuse.
fn telling(given: &Type, wanted: &Type) -> bool {
    given.is_primitive() != wanted.is_primitive()
        || wanted == &Type::string()
        || (given.is_primitive() && given != &Type::string())
        || (given.is_tuple() && wanted.is_object())
}

fn of_elements(noun: &str, given: &Type, wanted: &Type) -> String {
    format!("incorrect {noun} element type: {}", mismatch_message(given, wanted))
}

fn from_structure<'a>(parts: impl Iterator<Item = (String, &'a Type)>, wanted: &Type) -> String {
    for (name, ty) in parts {
        if ty != wanted && plan::plan(ty, wanted, Allow::Unsafe).is_none() {
            return format!("element {name}: {}", mismatch_message(ty, wanted));
        }
    }
    format!("all elements must be {}", wanted.friendly_constraint_name())
}

fn objects(given: &Type, wanted: &Type) -> String {
    let attrs = wanted.attrs().unwrap_or_default();
    let missing: Vec<String> = attrs
        .iter()
        .filter(|a| !a.optional && given.attr(&a.name).is_none())
        .map(|a| format!("{:?}", a.name))
        .collect();
    match missing.as_slice() {
        [] => {}
        [one] => return format!("attribute {one} is required"),
        [one, two] => return format!("attributes {one} and {two} are required"),
        [init @ .., last] => return format!("attributes {}, and {last} are required", init.join(", ")),
    }
    for allow in [Allow::Unsafe, Allow::Safe] {
        for attr in attrs {
            if let Some(have) = given.attr(&attr.name)
                && have.ty != attr.ty
                && plan::plan(&have.ty, &attr.ty, allow).is_none()
            {
                return format!("attribute {:?}: {}", attr.name, mismatch_message(&have.ty, &attr.ty));
            }
        }
    }
    "incorrect object attributes".to_string()
}
