//! Replacement of `any` in the target of a conversion of a value without content.

use crate::{Type, TypeKind};

use super::Allow;
use super::unify::unify_with;

/// The type `to` with each `any` replaced by the type at its position in `from`.
pub(super) fn replace_dynamic(from: &Type, to: &Type) -> Type {
    if from.is_dynamic() || !to.has_dynamic() {
        return to.clone();
    }
    let unified = |types: &mut dyn Iterator<Item = &Type>, to: &Type| {
        unify_with(types, Allow::Unsafe).map_or_else(|| to.clone(), |common| replace_dynamic(&common.ty, to))
    };
    match (from.kind(), to.kind()) {
        (_, TypeKind::Dynamic) => from.clone(),
        (TypeKind::Map(from), TypeKind::Map(to)) => Type::map(replace_dynamic(from, to)),
        (TypeKind::Object(attrs), TypeKind::Map(to)) => Type::map(unified(&mut attrs.iter().map(|a| &a.ty), to)),
        (TypeKind::List(from) | TypeKind::Set(from), TypeKind::List(to)) => Type::list(replace_dynamic(from, to)),
        (TypeKind::List(from) | TypeKind::Set(from), TypeKind::Set(to)) => Type::set(replace_dynamic(from, to)),
        (TypeKind::Tuple(from), TypeKind::List(to)) => Type::list(unified(&mut from.iter(), to)),
        (TypeKind::Tuple(from), TypeKind::Set(to)) => Type::set(unified(&mut from.iter(), to)),
        (TypeKind::Tuple(from), TypeKind::Tuple(to)) => {
            let types = from.iter().zip(to.iter()).map(|(from, to)| replace_dynamic(from, to));
            Type::tuple(types.collect::<Vec<_>>())
        }
        (TypeKind::Map(element), TypeKind::Object(attrs)) => {
            Type::object(attrs.iter().map(|a| (a.name.clone(), replace_dynamic(element, &a.ty))))
        }
        (TypeKind::Object(_), TypeKind::Object(attrs)) => Type::object(attrs.iter().map(|a| {
            let ty = from.attr(&a.name).map_or_else(|| a.ty.clone(), |given| replace_dynamic(&given.ty, &a.ty));
            (a.name.clone(), ty)
        })),
        _ => to.clone(),
    }
}
