//! Types, values and paths, with everything on and in them: marks, unknowns and what is known of those.

use ecow::EcoString;
use yuba_value::{
    Bound, MAX_DEPTH, Number, ObjectAttr, Path, PathStep, Refinement, Type, TypeKind, Unknown, Value, View,
};

use super::reader::{Reader, known};
use super::writer::Writer;
use super::{Malformed, Read};

const NULL: u8 = 0;
const UNKNOWN: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const INT: u8 = 4;
const NUMBER: u8 = 5;
const STRING: u8 = 6;
const LIST: u8 = 7;
const SET: u8 = 8;
const MAP: u8 = 9;
const TUPLE: u8 = 10;
const OBJECT: u8 = 11;
/// Added where marks follow.
const MARKED: u8 = 0x80;

const WHOLE: u8 = 0;
const FRACTION: u8 = 1;
const INFINITE: u8 = 2;
const MINUS_INFINITE: u8 = 3;

impl Writer {
    pub(super) fn ty(&mut self, ty: &Type) {
        if let Some(number) = self.types.get(ty) {
            return self.number(number);
        }
        self.number(0);
        match ty.kind() {
            TypeKind::Bool => self.byte(0),
            TypeKind::Number => self.byte(1),
            TypeKind::String => self.byte(2),
            TypeKind::Dynamic => self.byte(3),
            TypeKind::List(element) => self.element_ty(4, element),
            TypeKind::Set(element) => self.element_ty(5, element),
            TypeKind::Map(element) => self.element_ty(6, element),
            TypeKind::Tuple(elements) => {
                self.byte(7);
                self.list(elements, Writer::ty);
            }
            TypeKind::Object(attrs) => {
                self.byte(8);
                self.list(attrs, |writer, attr| {
                    writer.name(&attr.name);
                    writer.flag(attr.optional);
                    writer.ty(&attr.ty);
                });
            }
        }
        self.types.add(ty);
    }
    fn element_ty(&mut self, code: u8, element: &Type) {
        self.byte(code);
        self.ty(element);
    }

    pub(super) fn value(&mut self, value: &Value) {
        let ty = value.ty();
        let marked = if value.marks().is_empty() { 0 } else { MARKED };
        let mut begin = |code: u8| {
            self.byte(code | marked);
            if marked != 0 {
                self.marks(value.marks());
            }
        };
        match value.view_ignoring_marks() {
            View::Null => {
                begin(NULL);
                self.ty(ty);
            }
            View::Unknown(unknown) => {
                begin(UNKNOWN);
                self.unknown(unknown);
            }
            View::Bool(value) => begin(if value { TRUE } else { FALSE }),
            View::Number(number) => match plain_int(number) {
                Some(int) => {
                    begin(INT);
                    self.signed(int);
                }
                None => {
                    begin(NUMBER);
                    self.any_number(number);
                }
            },
            View::String(text) => {
                begin(STRING);
                self.text(text);
            }
            View::List(items) => {
                begin(LIST);
                self.ty(ty);
                self.list(items, Writer::value);
            }
            View::Set(items) => {
                begin(SET);
                self.ty(ty);
                self.list(items, Writer::value);
            }
            View::Map(items) => {
                begin(MAP);
                self.ty(ty);
                self.list(items, |writer, (key, item)| {
                    writer.text(key);
                    writer.value(item);
                });
            }
            View::Tuple(items) => {
                begin(TUPLE);
                self.ty(ty);
                items.iter().for_each(|item| self.value(item));
            }
            View::Object(items) => {
                begin(OBJECT);
                self.ty(ty);
                items.iter().for_each(|item| self.value(item));
            }
        }
    }

    fn any_number(&mut self, number: &Number) {
        if number.is_infinite() {
            return self.byte(if number.is_negative() { MINUS_INFINITE } else { INFINITE });
        }
        match number.to_i64() {
            Some(int) if int != 0 || !number.is_negative() => {
                self.byte(WHOLE);
                self.number(u64::from(number.precision()));
                self.signed(int);
            }
            _ => {
                self.byte(FRACTION);
                self.number(u64::from(number.precision()));
                self.text(&number.format(b'e', None));
            }
        }
    }

    fn unknown(&mut self, unknown: &Unknown) {
        let Unknown { ty, refinement: Refinement { not_null, prefix, min, max, min_len, max_len } } = unknown;
        self.ty(ty);
        self.flag(*not_null);
        self.text(prefix);
        for bound in [min, max] {
            self.option(bound.as_ref(), |writer, bound| {
                writer.any_number(&bound.value);
                writer.flag(bound.inclusive);
            });
        }
        self.number(*min_len);
        self.option(*max_len, Writer::number);
    }

    pub(super) fn path(&mut self, path: &Path) {
        self.list(&path.0, |writer, step| match step {
            PathStep::Attr(name) => {
                writer.byte(0);
                writer.name(name);
            }
            PathStep::Index(key) => {
                writer.byte(1);
                writer.value(key);
            }
        });
    }
}

/// A whole number of the usual precision.
fn plain_int(number: &Number) -> Option<i64> {
    let usual = number.precision() == 64 && !(number.is_zero() && number.is_negative());
    number.to_i64().filter(|_| usual)
}

impl Reader<'_> {
    pub(super) fn ty(&mut self) -> Read<Type> {
        self.ty_at(MAX_DEPTH)
    }
    fn ty_at(&mut self, depth: u32) -> Read<Type> {
        match self.number()? {
            0 => {
                let depth = depth.checked_sub(1).ok_or(Malformed)?;
                let ty = match self.byte()? {
                    0 => Type::bool(),
                    1 => Type::number(),
                    2 => Type::string(),
                    3 => Type::dynamic(),
                    4 => Type::list(self.ty_at(depth)?),
                    5 => Type::set(self.ty_at(depth)?),
                    6 => Type::map(self.ty_at(depth)?),
                    7 => Type::tuple(self.list(|reader| reader.ty_at(depth))?),
                    8 => Type::object_with_optional(self.list(|reader| {
                        let (name, optional) = (reader.name()?, reader.flag()?);
                        Ok(ObjectAttr { name, optional, ty: reader.ty_at(depth)? })
                    })?),
                    _ => return Err(Malformed),
                };
                if ty.depth() > MAX_DEPTH {
                    return Err(Malformed);
                }
                self.types.push(ty.clone());
                Ok(ty)
            }
            number => known(&self.types, number),
        }
    }

    pub(super) fn value(&mut self) -> Read<Value> {
        self.value_at(MAX_DEPTH + 1)
    }
    fn value_at(&mut self, depth: u32) -> Read<Value> {
        let depth = depth.checked_sub(1).ok_or(Malformed)?;
        let code = self.byte()?;
        let marks = if code & MARKED == 0 { None } else { Some(self.marks()?) };
        let value = match code & !MARKED {
            NULL => Value::null(self.ty()?),
            UNKNOWN => {
                let (ty, refinement) = self.unknown()?;
                Value::unknown_refined(ty, refinement)
            }
            FALSE => Value::bool(false),
            TRUE => Value::bool(true),
            INT => Value::int(self.signed()?),
            NUMBER => Value::number(self.any_number()?),
            STRING => Value::string(self.text()?),
            code @ (LIST | SET) => {
                let ty = self.ty()?;
                let element = ty.element().filter(|_| if code == LIST { ty.is_list() } else { ty.is_set() });
                let element = element.ok_or(Malformed)?;
                let items = self.list(|reader| reader.item(element, depth))?;
                if code == LIST { Value::list(element.clone(), items) } else { Value::set(element.clone(), items) }
            }
            MAP => {
                let ty = self.ty()?;
                let element = ty.element().filter(|_| ty.is_map()).ok_or(Malformed)?;
                let items = self.list(|reader| Ok((reader.text()?, reader.item(element, depth)?)))?;
                Value::map(element.clone(), items)
            }
            TUPLE => {
                let ty = self.ty()?;
                let types = ty.tuple_elements().ok_or(Malformed)?;
                let items = types.iter().map(|ty| self.item(ty, depth)).collect::<Read<_>>()?;
                Value::structure(ty.clone(), items)
            }
            OBJECT => {
                let ty = self.ty()?;
                let attrs = ty.attrs().ok_or(Malformed)?;
                let items = attrs.iter().map(|attr| self.item(&attr.ty, depth)).collect::<Read<_>>()?;
                Value::structure(ty.clone(), items)
            }
            _ => return Err(Malformed),
        };
        Ok(match marks {
            Some(marks) => value.with_marks(&marks),
            None => value,
        })
    }
    /// An item of a value, with the type that it must have.
    fn item(&mut self, ty: &Type, depth: u32) -> Read<Value> {
        let value = self.value_at(depth)?;
        if value.ty() == ty || ty.has_dynamic() { Ok(value) } else { Err(Malformed) }
    }

    fn any_number(&mut self) -> Read<Number> {
        let parsed = match self.byte()? {
            WHOLE => {
                let precision = self.small()?;
                return Ok(Number::from_i64(self.signed()?).with_precision(checked(precision)?));
            }
            FRACTION => {
                let precision = checked(self.small()?)?;
                Number::parse(&self.text()?).map(|number| number.with_precision(precision))
            }
            INFINITE => Some(Number::infinity()),
            MINUS_INFINITE => Some(Number::minus_infinity()),
            _ => None,
        };
        parsed.ok_or(Malformed)
    }

    fn unknown(&mut self) -> Read<(Type, Refinement)> {
        let ty = self.ty()?;
        let (not_null, prefix): (bool, EcoString) = (self.flag()?, self.text()?);
        let bound = |reader: &mut Self| Ok(Bound { value: reader.any_number()?, inclusive: reader.flag()? });
        let (min, max) = (self.option(bound)?, self.option(bound)?);
        let (min_len, max_len) = (self.number()?, self.option(Reader::number)?);
        Ok((ty, Refinement { not_null, prefix, min, max, min_len, max_len }))
    }

    pub(super) fn path(&mut self) -> Read<Path> {
        let steps = self.list(|reader| match reader.byte()? {
            0 => Ok(PathStep::Attr(reader.name()?)),
            1 => Ok(PathStep::Index(reader.value()?)),
            _ => Err(Malformed),
        })?;
        Ok(Path(steps))
    }
}

/// More bits than any number in the language has are an error.
fn checked(precision: u32) -> Read<u32> {
    if precision <= 4096 { Ok(precision) } else { Err(Malformed) }
}
