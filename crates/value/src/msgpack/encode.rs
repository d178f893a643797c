//! Writes values.

use super::{MAX_PREFIX, REFINED, known};
use crate::json::{EncodeError, encode_type};
use crate::unknown::safe_prefix;
use crate::{Bound, Number, PathStep, Type, TypeKind, Unknown, Value, View, convert};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// The value as MessagePack for a reader who knows the type. A value of another type is converted to it.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    if convert::conformance_error(value.ty(), ty).is_some() {
        let converted = convert::convert(value, ty).map_err(|error| EncodeError {
            path: error.path,
            message: "the value is not of the type it is to be written as",
        })?;
        write(&mut out, &converted, ty)?;
    } else {
        write(&mut out, value, ty)?;
    }
    Ok(out)
}

fn write(out: &mut Vec<u8>, value: &Value, ty: &Type) -> Result {
    if !value.marks().is_empty() {
        return Err(EncodeError::new("a marked value cannot be written as MessagePack"));
    }
    if ty.is_dynamic() && !value.ty().is_dynamic() {
        array_header(out, 2);
        bytes(out, encode_type(value.ty()).as_bytes());
        return write(out, value, value.ty());
    }
    match (value.ignoring_marks().view(), ty.kind()) {
        (View::Unknown(unknown), _) => write_unknown(out, unknown),
        (View::Null, _) => out.push(0xc0),
        (View::Bool(b), TypeKind::Bool) => bool(out, b),
        (View::Number(n), TypeKind::Number) => number(out, n),
        (View::String(s), TypeKind::String) => text(out, s),
        (View::List(items), TypeKind::List(element)) | (View::Set(items), TypeKind::Set(element)) => {
            write_items(out, items, std::iter::repeat(element))?;
        }
        (View::Tuple(items), TypeKind::Tuple(elements)) if items.len() == elements.len() => {
            write_items(out, items, elements.iter())?;
        }
        (View::Map(items), TypeKind::Map(element)) => {
            map_header(out, items.len());
            for (key, value) in items {
                text(out, key);
                write(out, value, element).map_err(|e| e.under(PathStep::Index(Value::string(key.clone()))))?;
            }
        }
        (View::Object(items), TypeKind::Object(attrs)) if items.len() == attrs.len() => {
            map_header(out, items.len());
            for (value, attr) in items.iter().zip(attrs) {
                text(out, &attr.name);
                write(out, value, &attr.ty).map_err(|e| e.under(PathStep::Attr(attr.name.clone())))?;
            }
        }
        _ => return Err(EncodeError::new("the value is not of the type it is to be written as")),
    }
    Ok(())
}

fn write_items<'a>(out: &mut Vec<u8>, items: &[Value], types: impl Iterator<Item = &'a Type>) -> Result {
    array_header(out, items.len());
    for (i, (item, ty)) in items.iter().zip(types).enumerate() {
        write(out, item, ty).map_err(|e| e.under(PathStep::Index(Value::int(i as i64))))?;
    }
    Ok(())
}

fn write_unknown(out: &mut Vec<u8>, unknown: &Unknown) {
    let refinement = &unknown.refinement;
    let mut entries = 0;
    let mut body = Vec::new();
    let mut entry = |key: i64, write: &dyn Fn(&mut Vec<u8>)| {
        entries += 1;
        integer(&mut body, key);
        write(&mut body);
    };
    if !unknown.ty.is_dynamic() {
        if refinement.not_null {
            entry(known::IS_NULL, &|out| bool(out, false));
        }
        match unknown.ty.kind() {
            TypeKind::Number => {
                let bounds = [(known::NUMBER_MIN, &refinement.min), (known::NUMBER_MAX, &refinement.max)];
                for (key, bound) in bounds {
                    // An infinite bound says nothing.
                    if let Some(bound) = bound.as_ref().filter(|b| !b.value.is_infinite()) {
                        entry(key, &|out| write_bound(out, bound));
                    }
                }
            }
            TypeKind::String if !refinement.prefix.is_empty() => {
                let prefix = shortened(&refinement.prefix);
                entry(known::PREFIX, &|out| text(out, &prefix));
            }
            TypeKind::List(_) | TypeKind::Set(_) | TypeKind::Map(_) => {
                if refinement.min_len > 0 {
                    entry(known::LENGTH_MIN, &|out| unsigned(out, refinement.min_len));
                }
                if let Some(max) = refinement.max_len {
                    entry(known::LENGTH_MAX, &|out| unsigned(out, max));
                }
            }
            _ => {}
        }
    }
    if entries == 0 {
        out.extend_from_slice(&[0xd4, 0, 0]);
        return;
    }
    // At most three entries, so the header of the map is one byte.
    extension_header(out, REFINED, body.len() + 1);
    map_header(out, entries);
    out.append(&mut body);
}

fn write_bound(out: &mut Vec<u8>, bound: &Bound) {
    array_header(out, 2);
    number(out, &bound.value);
    bool(out, bound.inclusive);
}

fn shortened(prefix: &str) -> String {
    if prefix.len() <= MAX_PREFIX {
        return prefix.to_owned();
    }
    safe_prefix(&prefix[..prefix.floor_char_boundary(MAX_PREFIX - 1)]).to_string()
}

// ---- the format itself --------------------------------------------------------------------------------------------

fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xc3 } else { 0xc2 });
}

fn number(out: &mut Vec<u8>, number: &Number) {
    if let Some(whole) = number.to_i64() {
        return integer(out, whole);
    }
    let float = number.to_f64();
    let exact = number.is_infinite()
        || !number.is_integer() && Number::from_f64(float).is_some_and(|again| again.cmp(number).is_eq());
    if exact {
        out.push(0xcb);
        out.extend_from_slice(&float.to_be_bytes());
    } else {
        text(out, &number.to_string());
    }
}

fn integer(out: &mut Vec<u8>, value: i64) {
    if let Ok(value) = u64::try_from(value) {
        return unsigned(out, value);
    }
    if value >= -32 {
        out.push(value as u8);
    } else if let Ok(value) = i8::try_from(value) {
        out.push(0xd0);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Ok(value) = i16::try_from(value) {
        out.push(0xd1);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        out.push(0xd2);
        out.extend_from_slice(&value.to_be_bytes());
    } else {
        out.push(0xd3);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

fn unsigned(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0x7f => out.push(value as u8),
        _ => sized(out, value, [Some(0xcc), Some(0xcd), Some(0xce), Some(0xcf)]),
    }
}

/// A number in as few bytes as hold it, after the code for that many: 1, 2, 4 or 8, of which some may not exist.
fn sized(out: &mut Vec<u8>, value: u64, codes: [Option<u8>; 4]) {
    let bytes = value.to_be_bytes();
    for (code, width) in codes.into_iter().zip([1usize, 2, 4, 8]) {
        let Some(code) = code else { continue };
        let (high, low) = bytes.split_at(bytes.len() - width);
        // The longest is taken in any case: no length here comes near to what it holds.
        if high.iter().all(|b| *b == 0) {
            out.push(code);
            out.extend_from_slice(low);
            return;
        }
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    match text.len() {
        length @ 0..=31 => out.push(0xa0 | length as u8),
        length => sized(out, length as u64, [Some(0xd9), Some(0xda), Some(0xdb), None]),
    }
    out.extend_from_slice(text.as_bytes());
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    sized(out, bytes.len() as u64, [Some(0xc4), Some(0xc5), Some(0xc6), None]);
    out.extend_from_slice(bytes);
}

fn array_header(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=15 => out.push(0x90 | length as u8),
        _ => sized(out, length as u64, [None, Some(0xdc), Some(0xdd), None]),
    }
}

fn map_header(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=15 => out.push(0x80 | length as u8),
        _ => sized(out, length as u64, [None, Some(0xde), Some(0xdf), None]),
    }
}

fn extension_header(out: &mut Vec<u8>, ty: i8, length: usize) {
    match length {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        _ => sized(out, length as u64, [Some(0xc7), Some(0xc8), Some(0xc9), None]),
    }
    out.push(ty as u8);
}
