//! Reads values.
//!
//! Invariant: what a header says about a length is never believed when memory is taken; an element is at least one
//! byte of the input.

use ecow::EcoString;

use super::{MAX_REFINEMENT, REFINED, known};
use crate::json::{JsonError, agree, decode_type};
use crate::{Bound, MAX_DEPTH, Number, PathStep, Type, TypeKind, Value, eco_format};

type Result<T> = std::result::Result<T, JsonError>;

/// Reads a value of a type. Ignores the bytes after it.
pub fn decode(input: &[u8], ty: &Type) -> Result<Value> {
    Reader { input, offset: 0, depth: 0 }.value(ty)
}

struct Reader<'i> {
    input: &'i [u8],
    offset: usize,
    depth: u32,
}

/// Start of a value, its header read.
#[derive(Clone, Copy)]
enum Head {
    Nil,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    /// A text or bytes of this length.
    Bytes(usize),
    Array(usize),
    Map(usize),
    Extension(i8, usize),
}

impl<'i> Reader<'i> {
    fn error<T>(&self, message: impl Into<EcoString>) -> Result<T> {
        Err(JsonError::new(self.offset, message))
    }
    fn take(&mut self, count: usize) -> Result<&'i [u8]> {
        let taken = self.input.get(self.offset..).and_then(|rest| rest.get(..count));
        let Some(taken) = taken else { return self.error("the data ends too early") };
        self.offset += count;
        Ok(taken)
    }
    /// An unsigned number of so many bytes.
    fn unsigned(&mut self, width: usize) -> Result<u64> {
        Ok(self.take(width)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
    fn length(&mut self, width: usize) -> Result<usize> {
        let length = self.unsigned(width)?;
        usize::try_from(length).or_else(|_| self.error("a length is out of range"))
    }
    fn extension(&mut self, length: usize) -> Result<Head> {
        Ok(Head::Extension(self.take(1)?[0] as i8, length))
    }

    fn head(&mut self) -> Result<Head> {
        let code = self.take(1)?[0];
        Ok(match code {
            0x00..=0x7f => Head::Integer(code.into()),
            0x80..=0x8f => Head::Map((code & 0x0f).into()),
            0x90..=0x9f => Head::Array((code & 0x0f).into()),
            0xa0..=0xbf => Head::Bytes((code & 0x1f).into()),
            0xc0 => Head::Nil,
            0xc2 | 0xc3 => Head::Bool(code == 0xc3),
            0xc4 | 0xd9 => Head::Bytes(self.length(1)?),
            0xc5 | 0xda => Head::Bytes(self.length(2)?),
            0xc6 | 0xdb => Head::Bytes(self.length(4)?),
            0xc7 => {
                let length = self.length(1)?;
                self.extension(length)?
            }
            0xc8 => {
                let length = self.length(2)?;
                self.extension(length)?
            }
            0xc9 => {
                let length = self.length(4)?;
                self.extension(length)?
            }
            0xca => Head::Float(f32::from_bits(self.unsigned(4)? as u32).into()),
            0xcb => Head::Float(f64::from_bits(self.unsigned(8)?)),
            0xcc => Head::Unsigned(self.unsigned(1)?),
            0xcd => Head::Unsigned(self.unsigned(2)?),
            0xce => Head::Unsigned(self.unsigned(4)?),
            0xcf => Head::Unsigned(self.unsigned(8)?),
            0xd0 => Head::Integer((self.unsigned(1)? as i8).into()),
            0xd1 => Head::Integer((self.unsigned(2)? as i16).into()),
            0xd2 => Head::Integer((self.unsigned(4)? as i32).into()),
            0xd3 => Head::Integer(self.unsigned(8)? as i64),
            0xd4..=0xd8 => self.extension(1 << (code - 0xd4))?,
            0xdc => Head::Array(self.length(2)?),
            0xdd => Head::Array(self.length(4)?),
            0xde => Head::Map(self.length(2)?),
            0xdf => Head::Map(self.length(4)?),
            0xe0..=0xff => Head::Integer((code as i8).into()),
            0xc1 => return self.error("invalid MessagePack"),
        })
    }
    fn text(&mut self, length: usize) -> Result<EcoString> {
        Ok(String::from_utf8_lossy(self.take(length)?).into())
    }
    fn key(&mut self) -> Result<EcoString> {
        match self.head()? {
            Head::Bytes(length) => {
                let key = self.text(length)?;
                Ok(Value::string(key).as_str().cloned().unwrap_or_default())
            }
            _ => self.error("a key must be a string"),
        }
    }

    fn value(&mut self, ty: &Type) -> Result<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(eco_format!("values are nested more than {MAX_DEPTH} levels deep"));
        }
        let head = self.head()?;
        let value = match (head, ty.kind()) {
            (Head::Extension(code, length), _) => self.unknown(code, length, ty)?,
            (Head::Nil, _) => Value::null(ty.clone()),
            (Head::Array(2), TypeKind::Dynamic) => self.dynamic()?,
            (Head::Bool(b), TypeKind::Bool) => Value::bool(b),
            (Head::Bytes(length), TypeKind::String) => Value::string(self.text(length)?),
            (head, TypeKind::Number) => Value::number(self.number(head)?),
            (Head::Array(length), TypeKind::List(element)) => {
                let (element, items) = self.elements(length, element)?;
                Value::list(element, items)
            }
            (Head::Array(length), TypeKind::Set(element)) => {
                let (element, items) = self.elements(length, element)?;
                Value::set(element, items)
            }
            (Head::Array(length), TypeKind::Tuple(elements)) if length == elements.len() => {
                let mut items = Vec::new();
                for (i, element) in elements.iter().enumerate() {
                    items.push(self.value(element).map_err(|e| e.under(index_step(i)))?);
                }
                Value::tuple(items)
            }
            (Head::Map(length), TypeKind::Map(element)) => self.map(length, element)?,
            (Head::Map(length), TypeKind::Object(attrs)) if length == attrs.len() => self.object(ty)?,
            _ => return self.error(eco_format!("a value of type {ty} is required")),
        };
        self.depth -= 1;
        Ok(value)
    }

    /// A type as JSON and the value.
    fn dynamic(&mut self) -> Result<Value> {
        let Head::Bytes(length) = self.head()? else { return self.error("a type is required") };
        let start = self.offset;
        let ty = decode_type(self.take(length)?).map_err(|e| JsonError::new(start + e.offset, e.message))?;
        self.value(&ty)
    }

    fn number(&mut self, head: Head) -> Result<Number> {
        let number = match head {
            Head::Integer(value) => Some(Number::from_i64(value)),
            Head::Unsigned(value) => Some(Number::from_u64(value)),
            Head::Float(value) => Number::from_f64(value),
            Head::Bytes(length) => Number::parse(&self.text(length)?),
            _ => None,
        };
        number.map_or_else(|| self.error("a number is required"), Ok)
    }

    fn elements(&mut self, length: usize, element: &Type) -> Result<(Type, Vec<Value>)> {
        let mut items = Vec::with_capacity(length.min(self.input.len() - self.offset));
        for i in 0..length {
            items.push(self.value(element).map_err(|e| e.under(index_step(i)))?);
        }
        self.settle(element, items)
    }
    fn settle(&self, element: &Type, items: Vec<Value>) -> Result<(Type, Vec<Value>)> {
        agree(element, items).map_or_else(|| self.error("the elements are of different types"), Ok)
    }

    fn map(&mut self, length: usize, element: &Type) -> Result<Value> {
        let mut keys = Vec::new();
        let mut items = Vec::new();
        for _ in 0..length {
            let key = self.key()?;
            let step = PathStep::Index(Value::string(key.clone()));
            items.push(self.value(element).map_err(|e| e.under(step))?);
            keys.push(key);
        }
        let (element, items) = self.settle(element, items)?;
        Ok(Value::map(element, keys.into_iter().zip(items).collect()))
    }

    fn object(&mut self, ty: &Type) -> Result<Value> {
        let attrs = ty.attrs().unwrap_or_default();
        let mut values: Vec<Option<Value>> = vec![None; attrs.len()];
        for _ in 0..attrs.len() {
            let key = self.key()?;
            let Some(index) = ty.attr_index(&key) else {
                return self.error(eco_format!("the object has no attribute {key:?}"));
            };
            values[index] = Some(self.value(&attrs[index].ty).map_err(|e| e.under(PathStep::Attr(key)))?);
        }
        // As many values as attributes: one is missing if another one came twice.
        let mut entries = Vec::with_capacity(attrs.len());
        for (attr, value) in attrs.iter().zip(values) {
            let Some(value) = value else {
                return self.error(eco_format!("the attribute {:?} is missing", attr.name));
            };
            entries.push((attr.name.clone(), value));
        }
        Ok(Value::object(entries))
    }

    /// An unknown value, its header read. Every extension is one.
    fn unknown(&mut self, code: i8, length: usize, ty: &Type) -> Result<Value> {
        if length > 1 && code != REFINED {
            return self.error(eco_format!("there is no extension {code} with {length} bytes"));
        }
        if length > MAX_REFINEMENT {
            return self.error("an unknown value has too many refinements");
        }
        let start = self.offset;
        let body = self.take(length)?;
        if length <= 1 || ty.is_dynamic() {
            return Ok(Value::unknown(ty.clone()));
        }
        let mut inner = Reader { input: body, offset: 0, depth: self.depth };
        inner.refined(ty).map_err(|e| JsonError::new(start + e.offset, e.message))
    }

    /// The map of what is known about an unknown value.
    fn refined(&mut self, ty: &Type) -> Result<Value> {
        let Head::Map(entries) = self.head()? else { return self.error("a map is required") };
        let mut refine = Value::unknown(ty.clone()).refine();
        for _ in 0..entries {
            let Some(key) = self.whole()? else { return self.error("a whole number is required as key") };
            match key {
                known::IS_NULL => match self.head()? {
                    Head::Bool(true) => return Ok(Value::null(ty.clone())),
                    Head::Bool(false) => refine = refine.not_null(),
                    _ => return self.error("a bool is required"),
                },
                known::PREFIX if ty == &Type::string() => {
                    let Head::Bytes(length) = self.head()? else { return self.error("a prefix must be a string") };
                    refine = refine.prefix_full(&self.text(length)?);
                }
                known::NUMBER_MIN if ty == &Type::number() => refine = refine.number_min(self.bound()?),
                known::NUMBER_MAX if ty == &Type::number() => refine = refine.number_max(self.bound()?),
                known::LENGTH_MIN if ty.is_collection() => refine = refine.len_min(self.count()?),
                known::LENGTH_MAX if ty.is_collection() => refine = refine.len_max(self.count()?),
                known::PREFIX..=known::LENGTH_MAX => {
                    return self.error(eco_format!("this cannot be known about a value of type {ty}"));
                }
                // Extensions of newer versions.
                _ => self.skip(0)?,
            }
        }
        Ok(refine.done())
    }
    fn whole(&mut self) -> Result<Option<i64>> {
        Ok(match self.head()? {
            Head::Integer(value) => Some(value),
            Head::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        })
    }
    fn count(&mut self) -> Result<u64> {
        let count = self.whole()?.and_then(|count| u64::try_from(count).ok());
        count.map_or_else(|| self.error("a length must be a whole number that is not negative"), Ok)
    }
    fn bound(&mut self) -> Result<Bound> {
        let Head::Array(2) = self.head()? else { return self.error("a bound is a number and a bool") };
        let head = self.head()?;
        let value = self.number(head)?;
        match self.head()? {
            Head::Bool(inclusive) => Ok(Bound { value, inclusive }),
            _ => self.error("a bound is a number and a bool"),
        }
    }
    fn skip(&mut self, depth: u32) -> Result<()> {
        if depth > MAX_DEPTH {
            return self.error("values are nested too deeply");
        }
        let children = match self.head()? {
            Head::Bytes(length) | Head::Extension(_, length) => return self.take(length).map(drop),
            Head::Array(length) => length,
            Head::Map(length) => length.saturating_mul(2),
            Head::Nil | Head::Bool(_) | Head::Integer(_) | Head::Unsigned(_) | Head::Float(_) => 0,
        };
        (0..children).try_for_each(|_| self.skip(depth + 1))
    }
}

fn index_step(index: usize) -> PathStep {
    PathStep::Index(Value::int(index as i64))
}
