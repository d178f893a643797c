//! Values from JSON, by a type or by their looks.

use ecow::EcoString;

use super::JsonError;
use super::reader::{Kind, Reader};
use super::types::read_type;
use crate::{Number, PathStep, Type, TypeKind, Value, convert, eco_format};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn implied(text: &str) -> Result<Value> {
    let mut reader = Reader::new(text);
    let value = read_implied(&mut reader)?;
    reader.end()?;
    Ok(value)
}

pub(super) fn typed(text: &str, ty: &Type) -> Result<Value> {
    let mut reader = Reader::new(text);
    let value = read_typed(&mut reader, ty)?;
    reader.end()?;
    Ok(value)
}

fn read_implied(reader: &mut Reader<'_>) -> Result<Value> {
    match reader.kind()? {
        Kind::Null => reader.null().map(|()| Value::null_dynamic()),
        Kind::Bool => reader.bool().map(Value::bool),
        Kind::Text => reader.text().map(Value::string),
        Kind::Number => {
            let text = reader.number()?;
            read_number(reader, text)
        }
        Kind::Array => {
            let mut items = Vec::new();
            reader.array(|reader, _| {
                items.push(read_implied(reader)?);
                Ok(())
            })?;
            Ok(Value::tuple(items))
        }
        Kind::Object => {
            let mut entries = Vec::new();
            reader.object(|reader, key| {
                entries.push((key, read_implied(reader)?));
                Ok(())
            })?;
            // Quirk: a property may be given twice if the types agree; the last one counts.
            entries.sort_by(|a: &(EcoString, Value), b| a.0.cmp(&b.0));
            if let Some(pair) = entries.windows(2).find(|w| w[0].0 == w[1].0 && w[0].1.ty() != w[1].1.ty()) {
                return reader.error(eco_format!("the property {:?} is given twice in one object", pair[0].0));
            }
            Ok(Value::object(entries))
        }
    }
}

fn read_number(reader: &Reader<'_>, text: &str) -> Result<Value> {
    match Number::parse(text) {
        Some(number) => Ok(Value::number(number)),
        None => reader.error(eco_format!("{} is not a number of a supported magnitude", shortened(text))),
    }
}

fn shortened(text: &str) -> &str {
    text.get(..40).unwrap_or(text)
}

fn read_typed(reader: &mut Reader<'_>, ty: &Type) -> Result<Value> {
    let kind = reader.kind()?;
    if kind == Kind::Null {
        reader.null()?;
        return Ok(Value::null(ty.clone()));
    }
    match ty.kind() {
        TypeKind::Dynamic => read_wrapped(reader),
        TypeKind::Bool | TypeKind::Number | TypeKind::String => read_primitive(reader, kind, ty),
        TypeKind::List(element) => {
            let (element, items) = read_elements(reader, element)?;
            Ok(Value::list(element, items))
        }
        TypeKind::Set(element) => {
            let (element, items) = read_elements(reader, element)?;
            Ok(Value::set(element, items))
        }
        TypeKind::Map(element) => {
            let mut keys = Vec::new();
            let mut items = Vec::new();
            reader.object(|reader, key| {
                let step = PathStep::Index(Value::string(key.clone()));
                items.push(read_typed(reader, element).map_err(|e| e.under(step))?);
                keys.push(key);
                Ok(())
            })?;
            let (element, items) = settle(reader, element, items)?;
            Ok(Value::map(element, keys.into_iter().zip(items).collect()))
        }
        TypeKind::Tuple(elements) => {
            let mut items = Vec::with_capacity(elements.len());
            reader.array(|reader, index| {
                let Some(element) = elements.get(index) else {
                    return reader.error(eco_format!("too many elements: the tuple has {}", elements.len()));
                };
                items.push(read_typed(reader, element).map_err(|e| e.under(index_step(index)))?);
                Ok(())
            })?;
            if items.len() < elements.len() {
                return reader.error(eco_format!("too few elements: the tuple has {}", elements.len()));
            }
            Ok(Value::tuple(items))
        }
        TypeKind::Object(attrs) => {
            let mut values: Vec<Option<Value>> = vec![None; attrs.len()];
            reader.object(|reader, key| {
                let Some(index) = ty.attr_index(&key) else {
                    return reader.error(eco_format!("the object has no attribute {key:?}"));
                };
                let value = read_typed(reader, &attrs[index].ty).map_err(|e| e.under(PathStep::Attr(key)))?;
                values[index] = Some(value);
                Ok(())
            })?;
            let entries = attrs
                .iter()
                .zip(values)
                .map(|(attr, value)| (attr.name.clone(), value.unwrap_or_else(|| Value::null(attr.ty.clone()))));
            Ok(Value::object(entries.collect()))
        }
    }
}

fn index_step(index: usize) -> PathStep {
    PathStep::Index(Value::int(index as i64))
}

fn read_elements(reader: &mut Reader<'_>, element: &Type) -> Result<(Type, Vec<Value>)> {
    let mut items = Vec::new();
    reader.array(|reader, index| {
        items.push(read_typed(reader, element).map_err(|e| e.under(index_step(index)))?);
        Ok(())
    })?;
    settle(reader, element, items)
}

fn settle(reader: &Reader<'_>, element: &Type, items: Vec<Value>) -> Result<(Type, Vec<Value>)> {
    agree(element, items).map_or_else(|| reader.error("the elements are of different types"), Ok)
}

/// Types of elements of `any` must agree; a null or an unknown value without a type takes the type of the other
/// elements.
pub(crate) fn agree(element: &Type, items: Vec<Value>) -> Option<(Type, Vec<Value>)> {
    if !element.has_dynamic() {
        return Some((element.clone(), items));
    }
    let ty = items.iter().map(Value::ty).find(|ty| !ty.is_dynamic()).unwrap_or(element).clone();
    let typed = |value: Value| match (value.ty().is_dynamic(), value.is_null()) {
        (false, _) => value,
        (true, true) => Value::null(ty.clone()),
        (true, false) => Value::unknown(ty.clone()),
    };
    let items: Vec<Value> = items.into_iter().map(typed).collect();
    items.iter().all(|v| v.ty() == &ty).then_some((ty, items))
}

fn read_primitive(reader: &mut Reader<'_>, kind: Kind, ty: &Type) -> Result<Value> {
    let offset = reader.offset;
    match (ty.kind(), kind) {
        (TypeKind::Bool, Kind::Bool) => reader.bool().map(Value::bool),
        (TypeKind::String, Kind::Text) => reader.text().map(Value::string),
        (TypeKind::String, Kind::Number) => reader.number().map(Value::string),
        (TypeKind::String, Kind::Bool) => reader.bool().map(|b| Value::string(if b { "true" } else { "false" })),
        (TypeKind::Number, Kind::Number) => {
            let text = reader.number()?;
            read_number(reader, text)
        }
        (TypeKind::Number, Kind::Text) => {
            let text = reader.text()?;
            let number = Number::parse(&text).map(Value::number);
            number.ok_or_else(|| JsonError::new(offset, "a number is required"))
        }
        (TypeKind::Bool, Kind::Text) => {
            let text = Value::string(reader.text()?);
            convert::convert(&text, ty).map_err(|_| JsonError::new(offset, "a bool is required"))
        }
        _ => reader.error(eco_format!("a {ty} is required")),
    }
}

/// `{"value":..., "type":...}`
fn read_wrapped(reader: &mut Reader<'_>) -> Result<Value> {
    let mut ty = None;
    let mut value_at = None;
    reader.object(|reader, key| match key.as_str() {
        "type" => {
            ty = Some(read_type(reader)?);
            Ok(())
        }
        "value" => {
            // The type mostly comes after the value.
            value_at = Some(reader.offset);
            reader.skip()
        }
        _ => reader.error(eco_format!("unexpected {key:?} beside the \"value\" and \"type\" of a value of any type")),
    })?;
    match (ty, value_at) {
        (Some(ty), Some(at)) => {
            let after = std::mem::replace(&mut reader.offset, at);
            let value = read_typed(reader, &ty)?;
            reader.offset = after;
            Ok(value)
        }
        _ => reader.error("a value of any type needs its \"value\" and its \"type\""),
    }
}
