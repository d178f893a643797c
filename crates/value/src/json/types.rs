//! Types as JSON: `"string"`, `["list","string"]`, `["object",{"a":"number"},["a"]]`.

use ecow::EcoString;

use super::reader::{Kind, Reader};
use super::{JsonError, write_text};
use crate::{ObjectAttr, Type, TypeKind, eco_format};

/// The type as JSON.
pub fn encode_type(ty: &Type) -> String {
    let mut out = String::new();
    write_type(&mut out, ty);
    out
}

/// Reads a type.
pub fn decode_type(text: &[u8]) -> Result<Type, JsonError> {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::new(&text);
    let ty = read_type(&mut reader)?;
    reader.end()?;
    Ok(ty)
}

pub(super) fn write_type(out: &mut String, ty: &Type) {
    let mut collection = |name: &str, element: &Type| {
        out.push_str("[\"");
        out.push_str(name);
        out.push_str("\",");
        write_type(out, element);
        out.push(']');
    };
    match ty.kind() {
        TypeKind::Bool => out.push_str("\"bool\""),
        TypeKind::Number => out.push_str("\"number\""),
        TypeKind::String => out.push_str("\"string\""),
        TypeKind::Dynamic => out.push_str("\"dynamic\""),
        TypeKind::List(element) => collection("list", element),
        TypeKind::Set(element) => collection("set", element),
        TypeKind::Map(element) => collection("map", element),
        TypeKind::Tuple(elements) => {
            out.push_str("[\"tuple\",");
            separated(out, '[', ']', elements.iter(), write_type);
            out.push(']');
        }
        TypeKind::Object(attrs) => {
            out.push_str("[\"object\",");
            separated(out, '{', '}', attrs.iter(), |out, attr| {
                write_text(out, &attr.name);
                out.push(':');
                write_type(out, &attr.ty);
            });
            if attrs.iter().any(|a| a.optional) {
                out.push(',');
                let optional = attrs.iter().filter(|a| a.optional);
                separated(out, '[', ']', optional, |out, attr| write_text(out, &attr.name));
            }
            out.push(']');
        }
    }
}

fn separated<T>(
    out: &mut String,
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

pub(super) fn read_type(reader: &mut Reader<'_>) -> Result<Type, JsonError> {
    match reader.kind()? {
        Kind::Text => {
            let name = reader.text()?;
            match name.as_str() {
                "bool" => Ok(Type::bool()),
                "number" => Ok(Type::number()),
                "string" => Ok(Type::string()),
                "dynamic" => Ok(Type::dynamic()),
                _ => reader.error(eco_format!("there is no type {name:?}")),
            }
        }
        Kind::Array => read_compound(reader),
        _ => reader.error("a type is a name or an array that starts with a name"),
    }
}

fn read_compound(reader: &mut Reader<'_>) -> Result<Type, JsonError> {
    let mut name = EcoString::new();
    let mut ty = None;
    reader.array(|reader, index| {
        match (index, name.as_str()) {
            (0, _) => name = reader.text()?,
            (1, "list") => ty = Some(Type::list(read_type(reader)?)),
            (1, "set") => ty = Some(Type::set(read_type(reader)?)),
            (1, "map") => ty = Some(Type::map(read_type(reader)?)),
            (1, "tuple") => {
                let mut elements = Vec::new();
                reader.array(|reader, _| {
                    elements.push(read_type(reader)?);
                    Ok(())
                })?;
                ty = Some(Type::tuple(elements));
            }
            (1, "object") => {
                let mut attrs = Vec::new();
                reader.object(|reader, name| {
                    attrs.push((name, read_type(reader)?));
                    Ok(())
                })?;
                ty = Some(Type::object(attrs));
            }
            (2, "object") => ty = Some(with_optional(reader, ty.as_ref())?),
            (1, _) => return reader.error(eco_format!("there is no type {name:?} that takes arguments")),
            _ => return reader.error("there is more in the type than it takes"),
        }
        Ok(())
    })?;
    ty.map_or_else(|| reader.error("the type is incomplete"), Ok)
}

/// The object type with the attributes optional whose names follow.
fn with_optional(reader: &mut Reader<'_>, object: Option<&Type>) -> Result<Type, JsonError> {
    let mut attrs: Vec<ObjectAttr> = object.and_then(Type::attrs).unwrap_or_default().to_vec();
    reader.array(|reader, _| {
        let name = reader.text()?;
        match attrs.iter_mut().find(|a| a.name == name) {
            Some(attr) => attr.optional = true,
            None => return reader.error(eco_format!("the optional attribute {name:?} is not in the object")),
        }
        Ok(())
    })?;
    Ok(Type::object_with_optional(attrs))
}
