//! Attributes of a default that its type does not have: allowed, but hardly meant.

use yuba_syntax::expr::{ExprKind, Literal, ObjectItem};
use yuba_syntax::{Diagnostics, Expr};
use yuba_value::{EcoString, Type, TypeKind, eco_format};

use crate::diagnostics;

/// Warns about attributes of object constructors that the conversion to the type will drop.
pub fn ignored_attributes(expr: &Expr, ty: &Type) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    visit(expr, ty, &"".into(), &mut diagnostics);
    diagnostics
}

/// Recursion is bounded by the type, which the text of the file bounds.
fn visit(expr: &Expr, ty: &Type, path: &EcoString, diagnostics: &mut Diagnostics) {
    match (ty.kind(), &expr.kind) {
        (TypeKind::Object(attrs), ExprKind::Object(items)) => {
            for item in items.iter() {
                let Some(name) = constant_key(item) else { continue };
                match ty.attr(&name) {
                    Some(attr) => visit(&item.value, &attr.ty, &eco_format!("{path}.{name}"), diagnostics),
                    None => {
                        let names = attrs.iter().map(|attr| attr.name.as_str());
                        let warning = diagnostics::ignored_attribute(&name, path, names, item.key.span);
                        diagnostics.push(warning.within(expr.span));
                    }
                }
            }
        }
        (TypeKind::Map(element), ExprKind::Object(items)) => {
            for item in items.iter() {
                let Some(name) = constant_key(item) else { continue };
                visit(&item.value, element, &eco_format!("{path}[{name:?}]"), diagnostics);
            }
        }
        (TypeKind::Map(element), ExprKind::For(parts)) if parts.key.is_some() => {
            visit(&parts.value, element, &eco_format!("{path}[...]"), diagnostics);
        }
        (TypeKind::List(element) | TypeKind::Set(element), ExprKind::Tuple(items)) => {
            for (at, item) in items.iter().enumerate() {
                visit(item, element, &eco_format!("{path}[{at}]"), diagnostics);
            }
        }
        (TypeKind::List(element) | TypeKind::Set(element), ExprKind::For(parts)) if parts.key.is_none() => {
            visit(&parts.value, element, &eco_format!("{path}[...]"), diagnostics);
        }
        (TypeKind::Tuple(elements), ExprKind::Tuple(items)) if elements.len() == items.len() => {
            for (at, (item, element)) in items.iter().zip(elements.iter()).enumerate() {
                visit(item, element, &eco_format!("{path}[{at}]"), diagnostics);
            }
        }
        _ => {}
    }
}

/// The key of an object constructor's item, if it is written as a constant.
fn constant_key(item: &ObjectItem) -> Option<EcoString> {
    let mut key = &item.key;
    while let ExprKind::Parens(inner) = &key.kind {
        key = inner;
    }
    match &key.kind {
        ExprKind::Literal(Literal::String(text) | Literal::Number(text)) => Some(text.clone()),
        ExprKind::Literal(Literal::Int(number)) => Some(eco_format!("{number}")),
        ExprKind::Literal(Literal::Bool(value)) => Some(eco_format!("{value}")),
        _ => None,
    }
}
