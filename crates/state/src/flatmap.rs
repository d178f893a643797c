//! Attributes as versions before 0.12 stored them: strings with dotted names, and counts as `name.#` and `name.%`.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_value::{Path, PathStep, Type, TypeKind, Value, convert};

use crate::object::AttributeError;

type Flat = BTreeMap<EcoString, EcoString>;
type Result<T> = std::result::Result<T, AttributeError>;

/// Replacement of an unknown value.
const UNKNOWN: &str = "74D93920-ED26-11E3-AC10-0800200C9A66";

/// Reads the attributes as a value of an object type.
pub(crate) fn decode(flat: &Flat, ty: &Type) -> Result<Value> {
    match ty.kind() {
        TypeKind::Object(_) => value(flat, "", ty),
        _ => Err(error(eco_format!("attributes are an object, not {ty}"))),
    }
}

fn error(message: impl Into<EcoString>) -> AttributeError {
    AttributeError { path: Path::new(), message: message.into() }
}

fn under(step: PathStep) -> impl FnOnce(AttributeError) -> AttributeError {
    move |mut e| {
        e.path.0.insert(0, step);
        e
    }
}

/// The value whose texts start with a name, and a dot unless it is one text.
fn value(flat: &Flat, name: &str, ty: &Type) -> Result<Value> {
    let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
    match ty.kind() {
        TypeKind::Object(attrs) => {
            let mut items = Vec::with_capacity(attrs.len());
            for attr in attrs {
                let found = value(flat, &format!("{prefix}{}", attr.name), &attr.ty);
                items.push((attr.name.clone(), found.map_err(under(PathStep::Attr(attr.name.clone())))?));
            }
            Ok(Value::object(items))
        }
        TypeKind::Bool | TypeKind::Number | TypeKind::String => match flat.get(name).map(EcoString::as_str) {
            None => Ok(Value::null(ty.clone())),
            Some(UNKNOWN) => Ok(Value::unknown(ty.clone())),
            Some(text) => convert::convert(&Value::string(text), ty).map_err(|e| error(e.message)),
        },
        TypeKind::Dynamic => Err(error("a value of any type cannot be read from attributes in the old format")),
        TypeKind::Map(_) => collection(flat, name, ty, &format!("{prefix}%"), |_| map(flat, &prefix, ty)),
        TypeKind::Set(_) => collection(flat, name, ty, &format!("{prefix}#"), |count| set(flat, &prefix, ty, count)),
        TypeKind::List(_) | TypeKind::Tuple(_) => {
            collection(flat, name, ty, &format!("{prefix}#"), |count| sequence(flat, &prefix, ty, count))
        }
    }
}

/// Null where there is no count; unknown where that is not known.
fn collection(
    flat: &Flat,
    name: &str,
    ty: &Type,
    count: &str,
    read: impl FnOnce(&str) -> Result<Value>,
) -> Result<Value> {
    if flat.get(name).is_some_and(|text| text == UNKNOWN) {
        return Ok(Value::unknown(ty.clone()));
    }
    match flat.get(count).map(EcoString::as_str) {
        None => Ok(Value::null(ty.clone())),
        Some(UNKNOWN) => Ok(Value::unknown(ty.clone())),
        Some(count) => read(count),
    }
}

/// The names that start with a prefix, without it.
fn names<'f>(flat: &'f Flat, prefix: &str) -> impl Iterator<Item = &'f str> {
    let names = flat.range(EcoString::from(prefix)..).map(|(name, _)| name.as_str());
    names.map_while(move |name| name.strip_prefix(prefix))
}

fn map(flat: &Flat, prefix: &str, ty: &Type) -> Result<Value> {
    let element = ty.element().cloned().unwrap_or_else(Type::dynamic);
    let mut items = Vec::new();
    for key in names(flat, prefix).filter(|key| *key != "%") {
        let found = value(flat, &format!("{prefix}{key}"), &element);
        items.push((key.into(), found.map_err(under(PathStep::Index(Value::string(key))))?));
    }
    Ok(Value::map(element, items))
}

fn sequence(flat: &Flat, prefix: &str, ty: &Type, count: &str) -> Result<Value> {
    let Ok(count) = count.parse::<usize>() else {
        return Err(error(eco_format!("the number of elements is {count:?}, which is not a number")));
    };
    let item = |index: usize, element: &Type| {
        value(flat, &format!("{prefix}{index}"), element).map_err(under(PathStep::Index(Value::int(index as i64))))
    };
    if let TypeKind::Tuple(elements) = ty.kind() {
        if elements.len() != count {
            return Err(error(eco_format!("there are {count} elements where {} are required", elements.len())));
        }
        let items: Result<Vec<Value>> = elements.iter().enumerate().map(|(i, element)| item(i, element)).collect();
        return items.map(Value::tuple);
    }
    // Every element has at least one string, so a larger count was written by hand.
    if count > flat.len() {
        return Err(error(eco_format!("{count} elements are declared, but fewer exist")));
    }
    let element = ty.element().cloned().unwrap_or_else(Type::dynamic);
    let items: Result<Vec<Value>> = (0..count).map(|i| item(i, &element)).collect();
    Ok(Value::list(element, items?))
}

fn set(flat: &Flat, prefix: &str, ty: &Type, count: &str) -> Result<Value> {
    let element = ty.element().cloned().unwrap_or_else(Type::dynamic);
    let mut keys: Vec<&str> = names(flat, prefix)
        .filter(|rest| *rest != "#")
        .map(|rest| rest.split_once('.').map_or(rest, |(key, _)| key))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let mut items = Vec::new();
    for key in keys {
        items.push(value(flat, &format!("{prefix}{key}"), &element)?);
    }
    if items.is_empty() && count == "1" {
        // One element without any text: an object of nothing.
        items.push(match element.kind() {
            TypeKind::Map(inner) => Value::map(inner.clone(), Vec::new()),
            TypeKind::List(inner) => Value::list(inner.clone(), Vec::new()),
            TypeKind::Set(inner) => Value::set(inner.clone(), Vec::new()),
            TypeKind::Object(attrs) => {
                let null = attrs.iter().map(|attr| (attr.name.clone(), Value::null(attr.ty.clone())));
                Value::object(null.collect())
            }
            _ => Value::null(element.clone()),
        });
    }
    Ok(Value::set(element, items))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[(&str, &str)], ty: &Type, expect: &str) {
        let flat = texts.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        let got = match decode(&flat, ty) {
            Ok(value) => yuba_value::json::encode_plain(&value).unwrap_or_else(|e| e.to_string()),
            Err(e) => format!("! {e}"),
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn attributes_by_type() {
        let s = Type::string;
        let ty = Type::object(vec![
            ("b".into(), Type::bool()),
            ("l".into(), Type::list(Type::object(vec![("x".into(), Type::number())]))),
            ("m".into(), Type::map(s())),
            ("s".into(), Type::set(s())),
        ]);
        check(&[], &ty, r#"{"b":null,"l":null,"m":null,"s":null}"#);
        check(
            &[
                ("b", "true"),
                ("l.#", "2"),
                ("l.0.x", "1"),
                ("m.%", "2"),
                ("m.a.b", "dotted"),
                ("m.c", ""),
                ("s.#", "2"),
                ("s.22", "two"),
                ("s.111", "one"),
            ],
            &ty,
            r#"{"b":true,"l":[{"x":1},{"x":null}],"m":{"a.b":"dotted","c":""},"s":["one","two"]}"#,
        );
        check(&[("l.#", "x")], &ty, r#"! .l: the number of elements is "x", which is not a number"#);
        check(&[("l.#", "99999999")], &ty, "! .l: 99999999 elements are declared, but fewer exist");
        check(&[("l.#", "1"), ("l.0.x", "y")], &ty, "! .l[0].x: a number is required");
    }
}
