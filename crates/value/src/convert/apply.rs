//! Carrying out a planned conversion.

use ecow::{EcoString, eco_format};

use crate::{Number, PathStep, Type, Value, View, ops};

use super::dynamic::replace_dynamic;
use super::plan::{FromElement, Inner, MapAttr, Plan, Step, plan};
use super::unify::unify_with;
use super::{Allow, ConvertError, convert_inside, mismatch_message};

type Result<T = Value> = std::result::Result<T, ConvertError>;

/// Carries out a plan. The path of an error is in reverse.
pub(super) fn apply(plan: &Plan, value: &Value) -> Result {
    match &plan.step {
        Step::Forget => return Ok(forget(value)),
        Step::Both(first, second) => return both(first, second, value),
        Step::Keep => return Ok(value.clone()),
        _ => {}
    }
    let result = if !value.is_known() {
        Ok(unknown(value, &plan.to))
    } else if value.is_null() {
        Ok(Value::null(replace_dynamic(value.ty(), &plan.to.without_optional())))
    } else {
        known(plan, value)
    };
    if value.marks().is_empty() { result } else { result.map(|result| result.with_marks(value.marks())) }
}

fn forget(value: &Value) -> Value {
    Value::unknown_dynamic().with_marks(&value.marks_deep())
}

/// Quirk: the second conversion is not given what the first one made of a tuple or object, but the tuple or object itself. Where
/// the first one made elements equal in type and the second one leaves their type open, they still differ.
fn both(first: &Plan, second: &Plan, value: &Value) -> Result {
    let through = apply(first, value)?;
    let result = match (&second.step, value.view_ignoring_marks()) {
        (Step::List(inner), View::Tuple(items)) if !items.is_empty() => {
            let items = items.iter().enumerate().map(|(index, item)| element(index, item, inner));
            Value::list_of(items.collect::<Result<_>>()?).ok_or_else(different_list_elements)?
        }
        (Step::Map(inner), View::Object(items)) if !items.is_empty() => {
            let names = value.ty().attrs().unwrap_or_default().iter().map(|attr| attr.name.clone());
            let items = names.clone().zip(items).map(|(name, item)| entry(&name, item, inner));
            let mut items: Vec<Value> = items.collect::<Result<_>>()?;
            let wanted = element_of(&second.to);
            if wanted.is_collection() || wanted.is_object() {
                items = unify_elements(items, Allow::Safe)?;
            }
            Value::map_of(names.zip(items).collect()).ok_or_else(different_map_elements)?
        }
        _ => return apply(second, &through),
    };
    Ok(result.with_marks(value.marks()))
}

fn different_list_elements() -> ConvertError {
    ConvertError::new("all list elements must have the same type")
}

fn different_map_elements() -> ConvertError {
    ConvertError::new("all map elements must have the same type")
}

/// An unknown value of the new type, with what stays true of the old one.
fn unknown(value: &Value, to: &Type) -> Value {
    let range = value.range();
    let to = replace_dynamic(value.ty(), &to.without_optional());
    let from = value.ty();
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let mut result = Value::unknown(to.clone()).refine();
    if range.definitely_not_null() {
        result = result.not_null();
    }
    if let (Some(attrs), true) = (from.attrs(), to.is_map()) {
        result = result.len(count(attrs.len()));
    } else if let (Some(elements), true) = (from.tuple_elements(), to.is_list()) {
        result = result.len(count(elements.len()));
    } else if let (Some(elements), true) = (from.tuple_elements(), to.is_set()) {
        result = result.len_min(count(elements.len()).min(1)).len_max(count(elements.len()));
    } else if from.is_collection() && to.is_collection() {
        let least = range.known.min_len;
        result = result.len_min(if to.is_set() { least.min(1) } else { least });
        if let Some(most) = range.known.max_len {
            result = result.len_max(most);
        }
    }
    result.done()
}

// From here on functions are called once per level of nesting: plain loops and a function per case, because adaptors
// and one large function would take several times the stack.

fn known(plan: &Plan, value: &Value) -> Result {
    let view = value.view_ignoring_marks();
    match (&plan.step, view) {
        (Step::ByValue, _) => by_value(plan, value),
        (Step::Object(attrs), View::Object(items)) => object(attrs, items, value.ty(), &plan.to),
        (Step::Tuple(inners), View::Tuple(items)) => to_tuple(inners, items),
        (Step::List(inner), View::List(items) | View::Set(items)) => to_list(inner, value, items, &plan.to),
        (Step::Set(inner), View::List(items) | View::Set(items)) => to_set(inner, value, items, &plan.to),
        (Step::Map(inner), View::Map(items)) => to_map(inner, value, items, &plan.to),
        (Step::TupleToList(inners, allow), View::Tuple(items)) => tuple_to_list(inners, items, &plan.to, *allow),
        (Step::TupleToSet(inners), View::Tuple(items)) => tuple_to_set(inners, items, &plan.to),
        (Step::ObjectToMap { .. }, View::Object(items)) => object_to_map(plan, value, items),
        (Step::MapToObject(attrs), View::Map(items)) => map_to_object(attrs, items, &plan.to),
        _ => primitive(plan, value),
    }
}

fn by_value(plan: &Plan, value: &Value) -> Result {
    convert_inside(&value.unmark().0, &plan.to)
}

fn primitive(plan: &Plan, value: &Value) -> Result {
    match (&plan.step, value.view_ignoring_marks()) {
        (Step::NumberToString, View::Number(number)) => Ok(Value::string(eco_format!("{number}"))),
        (Step::BoolToString, View::Bool(b)) => Ok(Value::string(if b { "true" } else { "false" })),
        (Step::StringToNumber, View::String(text)) => {
            Number::parse(text).map(Value::number).ok_or_else(|| ConvertError::new("a number is required"))
        }
        (Step::StringToBool, View::String(text)) => parse_bool(text),
        _ => Err(ConvertError::new(mismatch_message(value.ty(), &plan.to))),
    }
}

fn to_tuple(inners: &[Inner], items: &[Value]) -> Result {
    let mut converted = Vec::with_capacity(items.len());
    for (index, (item, inner)) in items.iter().zip(inners).enumerate() {
        converted.push(element(index, item, inner)?);
    }
    Ok(Value::tuple(converted))
}

fn to_list(inner: &Inner, value: &Value, items: &[Value], to: &Type) -> Result {
    let from = element_of(value.ty());
    if !ops::length(value).is_ok_and(|n| n.is_known()) {
        // Unknown elements of a set may turn out to be equal, so positions are unknown.
        let list = Type::list(from.clone());
        return Ok(Value::unknown(replace_dynamic(&list, &to.without_optional())));
    }
    let mut converted = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        converted.push(element(index, item, inner)?);
    }
    list(element_of(to), from, converted)
}

fn to_set(inner: &Inner, value: &Value, items: &[Value], to: &Type) -> Result {
    let mut converted = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        converted.push(element(index, item, inner)?);
    }
    set(element_of(to), element_of(value.ty()), converted)
}

fn to_map(inner: &Inner, value: &Value, items: &[(EcoString, Value)], to: &Type) -> Result {
    let mut converted = Vec::with_capacity(items.len());
    for (key, item) in items {
        converted.push((key.clone(), entry(key, item, inner)?));
    }
    map(element_of(to), element_of(value.ty()), converted, Allow::Safe)
}

fn tuple_to_list(inners: &[Inner], items: &[Value], to: &Type, allow: Allow) -> Result {
    let mut converted = Vec::with_capacity(items.len());
    for (index, (item, inner)) in items.iter().zip(inners).enumerate() {
        converted.push(element(index, item, inner)?);
    }
    list(element_of(to), element_of(to), unify_elements(converted, allow)?)
}

fn tuple_to_set(inners: &[Inner], items: &[Value], to: &Type) -> Result {
    let mut converted = Vec::with_capacity(items.len());
    for (index, (item, inner)) in items.iter().zip(inners).enumerate() {
        converted.push(element(index, item, inner)?);
    }
    set(element_of(to), element_of(to), converted)
}

fn object_to_map(plan: &Plan, value: &Value, items: &[Value]) -> Result {
    let Step::ObjectToMap { element, attrs, allow } = &plan.step else { return primitive(plan, value) };
    let names = value.ty().attrs().unwrap_or_default();
    let mut converted = Vec::with_capacity(items.len());
    for ((attr, item), inner) in names.iter().zip(items).zip(attrs) {
        converted.push((attr.name.clone(), entry(&attr.name, item, inner)?));
    }
    map(element, element_of(&plan.to), converted, *allow)
}

fn element(index: usize, value: &Value, inner: &Inner) -> Result {
    match inner {
        Some(plan) => apply(plan, value).map_err(|e| e.inside(index_step(index))),
        None => Ok(value.clone()),
    }
}

fn entry(key: &EcoString, value: &Value, inner: &Inner) -> Result {
    match inner {
        Some(plan) => apply(plan, value).map_err(|e| e.inside(key_step(key))),
        None => Ok(value.clone()),
    }
}

fn parse_bool(text: &EcoString) -> Result {
    match text.as_str() {
        "true" | "1" => Ok(Value::bool(true)),
        "false" | "0" => Ok(Value::bool(false)),
        _ => Err(ConvertError::new(match text.to_lowercase().as_str() {
            lower @ ("true" | "false") => eco_format!("a bool is required; write {lower:?} in lower case"),
            _ => "a bool is required".into(),
        })),
    }
}

fn element_of(ty: &Type) -> &Type {
    ty.element().unwrap_or(ty)
}

fn key_step(key: &EcoString) -> PathStep {
    PathStep::Index(Value::string(key.clone()))
}

fn index_step(index: usize) -> PathStep {
    PathStep::Index(Value::int(i64::try_from(index).unwrap_or(i64::MAX)))
}

/// A list of converted elements. `from` is the element type an empty list takes when `any` was wanted.
fn list(element: &Type, from: &Type, items: Vec<Value>) -> Result {
    if let Some(element) = fixed_element(element, from, items.len()) {
        return Ok(Value::list(element, items));
    }
    Value::list_of(items).ok_or_else(different_list_elements)
}

fn set(element: &Type, from: &Type, items: Vec<Value>) -> Result {
    if let Some(element) = fixed_element(element, from, items.len()) {
        return Ok(Value::set(element, items));
    }
    Value::set_of(items).ok_or_else(|| ConvertError::new("all set elements must have the same type"))
}

fn map(element: &Type, from: &Type, items: Vec<(EcoString, Value)>, allow: Allow) -> Result {
    if let Some(element) = fixed_element(element, from, items.len()) {
        return Ok(Value::map(element, items));
    }
    let (keys, mut items): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    if element.is_collection() || element.is_object() {
        items = unify_elements(items, allow)?;
    }
    Value::map_of(keys.into_iter().zip(items).collect()).ok_or_else(different_map_elements)
}

/// The element type where it does not depend on the elements.
fn fixed_element(element: &Type, from: &Type, count: usize) -> Option<Type> {
    match (element.has_dynamic(), count) {
        (false, _) => Some(element.without_optional()),
        (true, 0) if element.is_dynamic() => Some(from.clone()),
        (true, 0) => Some(element.without_optional()),
        (true, _) => None,
    }
}

/// Elements that still differ in the types that replace `any` are converted to a common type.
fn unify_elements(items: Vec<Value>, allow: Allow) -> Result<Vec<Value>> {
    let Some(first) = items.first() else { return Ok(items) };
    if items.iter().all(|v| v.ty() == first.ty()) {
        return Ok(items);
    }
    let common = unify_with(items.iter().map(Value::ty), allow)
        .ok_or_else(|| ConvertError::new("there is no type that all elements can be converted to"))?;
    let convert = |(index, item): (usize, Value)| {
        if item.ty() == &common.ty {
            return Ok(item);
        }
        plan(item.ty(), &common.ty, allow)
            .ok_or_else(|| ConvertError::new(mismatch_message(item.ty(), &common.ty)))
            .and_then(|plan| apply(&plan, &item))
            .map_err(|e| e.inside(index_step(index)))
    };
    items.into_iter().enumerate().map(convert).collect()
}

fn object(attrs: &[Option<(usize, Inner)>], items: &[Value], from: &Type, to: &Type) -> Result {
    let wanted = to.attrs().unwrap_or_default();
    let mut values = Vec::with_capacity(wanted.len());
    for (source, attr) in attrs.iter().zip(wanted) {
        values.push(match source {
            None => Value::null(attr.ty.without_optional()),
            Some((index, inner)) => match (items.get(*index), inner) {
                (None, _) => return Err(ConvertError::new(mismatch_message(from, to))),
                (Some(item), None) => item.clone(),
                (Some(item), Some(plan)) => attribute(&attr.name, item, plan)?,
            },
        });
    }
    Ok(structure(to, values))
}

fn attribute(name: &EcoString, value: &Value, plan: &Plan) -> Result {
    apply(plan, value).map_err(|e| e.inside(PathStep::Attr(name.clone())))
}

/// An object of the type `to`, or of the values' own types where `any` is inside.
fn structure(to: &Type, values: Vec<Value>) -> Value {
    if !to.has_dynamic() {
        return Value::structure(to.without_optional(), values);
    }
    let names = to.attrs().unwrap_or_default().iter().map(|a| a.name.clone());
    Value::object(names.zip(values).collect())
}

fn map_to_object(attrs: &[MapAttr], items: &[(EcoString, Value)], to: &Type) -> Result {
    let wanted = to.attrs().unwrap_or_default();
    let mut values = Vec::with_capacity(attrs.len());
    for (attr, target) in attrs.iter().zip(wanted) {
        let found = items.binary_search_by(|(key, _)| key.cmp(&attr.name)).ok().and_then(|at| items.get(at));
        values.push(match (found, &attr.from_element) {
            (Some((_, item)), FromElement::Same) => item.clone(),
            (Some((key, item)), FromElement::Convert(plan)) => {
                apply(plan, item).map_err(|e| e.inside(key_step(key)))?
            }
            (Some((key, item)), FromElement::Never) => {
                return Err(ConvertError::new(eco_format!(
                    "map elements do not fit attribute {key:?}: {}",
                    mismatch_message(item.ty(), &target.ty)
                )));
            }
            (None, _) if attr.optional => Value::null(target.ty.without_optional()),
            (None, _) => {
                return Err(ConvertError::new(eco_format!(
                    "the map has no element for required attribute {:?}",
                    attr.name
                )));
            }
        });
    }
    Ok(structure(to, values))
}
