//! Values that are not known yet, and what is known about them.

use ecow::EcoString;
use unicode_segmentation::UnicodeSegmentation;

use crate::{Marks, Number, Type, Value, View};

/// A value that is not known yet. Its type may be `any`: then not even that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The type the value will have.
    pub ty: Type,
    /// Its refinements.
    pub refinement: Refinement,
}

/// Refinements of an unknown value. A value known to be null is a null, never an unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// It will not be null.
    pub not_null: bool,
    /// Strings: it will start with this.
    pub prefix: EcoString,
    /// Numbers: lower bound.
    pub min: Option<Bound>,
    /// Numbers: upper bound.
    pub max: Option<Bound>,
    /// Collections: at least this many elements.
    pub min_len: u64,
    /// Collections: at most this many elements.
    pub max_len: Option<u64>,
}

/// One end of a number range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The limit.
    pub value: Number,
    /// Whether the limit itself is possible.
    pub inclusive: bool,
}

impl Bound {
    /// A limit that is itself possible.
    pub fn inclusive(value: Number) -> Bound {
        Bound { value, inclusive: true }
    }
}

/// A refinement never turns an unknown list into a known one of more unknown elements than this.
const MAX_KNOWN_LENGTH: u64 = 100_000;

/// Adds knowledge to an unknown value, step by step; see [`Value::refine`].
///
/// Nothing happens to known values. A statement that contradicts what is known already is left out: an earlier statement
/// first counts.
#[derive(Clone, Debug)]
#[must_use]
pub struct Refine {
    original: Value,
    marks: Marks,
    refinement: Refinement,
}

impl Value {
    /// The same with null for whatever is unknown.
    #[must_use]
    pub fn unknown_as_null(&self) -> Value {
        if self.is_wholly_known() {
            return self.clone();
        }
        if !self.is_known() {
            return Value::null(self.ty().clone()).with_marks(self.marks());
        }
        let plain = self.ignoring_marks().map_children(&mut Value::unknown_as_null);
        Value::from(plain).with_marks(self.marks())
    }

    /// Starts to add knowledge to an unknown value. Of a value of unknown type nothing else can be known.
    pub fn refine(&self) -> Refine {
        let (original, marks) = self.unmark();
        let refinement = match original.view_ignoring_marks() {
            View::Unknown(unknown) => unknown.refinement.clone(),
            _ => Refinement::default(),
        };
        Refine { original, marks, refinement }
    }
    /// The same value; an unknown one says now that it will not be null.
    #[must_use]
    pub fn refine_not_null(&self) -> Value {
        match self.view_ignoring_marks() {
            View::Unknown(unknown) if !unknown.refinement.not_null => self.refine().not_null().done(),
            _ => self.clone(),
        }
    }
    /// Facts about the value, known or unknown; the caller handles its marks.
    pub fn range(&self) -> Range {
        let mut known = Refinement { not_null: true, ..Refinement::default() };
        let length = |known: &mut Refinement, count: usize| {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            known.min_len = count;
            known.max_len = Some(count);
        };
        match self.view_ignoring_marks() {
            View::Unknown(unknown) => known = unknown.refinement.clone(),
            View::Null => return Range { ty: self.ty().clone(), null: true, known: Refinement::default() },
            View::String(text) => known.prefix = text.clone(),
            View::Number(number) => {
                known.min = Some(Bound::inclusive(number.clone()));
                known.max = known.min.clone();
            }
            View::List(items) => length(&mut known, items.len()),
            View::Map(items) => length(&mut known, items.len()),
            View::Set(items) if items.len() <= 1 || self.is_wholly_known() => length(&mut known, items.len()),
            View::Set(_) | View::Bool(_) | View::Tuple(_) | View::Object(_) => {}
        }
        Range { ty: self.ty().clone(), null: false, known }
    }
}

impl Refine {
    fn is_unknown(&self) -> bool {
        !self.original.is_known() && !self.original.ty().is_dynamic()
    }
    /// It will not be null.
    pub fn not_null(mut self) -> Refine {
        self.refinement.not_null = self.is_unknown();
        self
    }
    /// A string will start with this. The end of the text, which could still combine with what follows, is cut off.
    pub fn prefix(self, prefix: &str) -> Refine {
        self.prefix_full(safe_prefix(prefix).as_str())
    }
    /// A string will start with exactly this, which is known not to combine with what follows.
    pub fn prefix_full(mut self, prefix: &str) -> Refine {
        let prefix = crate::value::normalize(prefix.into());
        if self.original.ty() == &Type::string() && prefix.starts_with(self.refinement.prefix.as_str()) {
            self.refinement.prefix = prefix;
        }
        self
    }
    /// A number will be greater than the bound, or the bound itself.
    pub fn number_min(mut self, bound: Bound) -> Refine {
        let tighter = self.refinement.min.as_ref().is_none_or(|have| {
            bound.value > have.value || (bound.value == have.value && (have.inclusive || !bound.inclusive))
        });
        if self.original.ty() == &Type::number()
            && tighter
            && bound.value != Number::minus_infinity()
            && consistent(Some(&bound), self.refinement.max.as_ref())
        {
            self.refinement.min = Some(bound);
        }
        self
    }
    /// A number will be less than the bound, or the bound itself.
    pub fn number_max(mut self, bound: Bound) -> Refine {
        let tighter = self.refinement.max.as_ref().is_none_or(|have| {
            bound.value < have.value || (bound.value == have.value && (have.inclusive || !bound.inclusive))
        });
        if self.original.ty() == &Type::number()
            && tighter
            && bound.value != Number::infinity()
            && consistent(self.refinement.min.as_ref(), Some(&bound))
        {
            self.refinement.max = Some(bound);
        }
        self
    }
    /// A list, set or map will have at least so many elements.
    pub fn len_min(mut self, count: u64) -> Refine {
        let possible = self.refinement.max_len.is_none_or(|max| count <= max);
        if self.original.ty().is_collection() && possible {
            self.refinement.min_len = self.refinement.min_len.max(count);
        }
        self
    }
    /// A list, set or map will have at most so many elements.
    pub fn len_max(mut self, count: u64) -> Refine {
        if self.original.ty().is_collection() && count >= self.refinement.min_len {
            self.refinement.max_len = Some(self.refinement.max_len.map_or(count, |have| have.min(count)));
        }
        self
    }
    /// A list, set or map will have exactly so many elements.
    pub fn len(self, count: u64) -> Refine {
        self.len_min(count).len_max(count)
    }
    /// The value with all that is known now; a known value where only one is left.
    pub fn done(self) -> Value {
        if !self.is_unknown() {
            return self.original.with_marks(&self.marks);
        }
        let ty = self.original.ty();
        let known = if self.refinement.not_null { only_value(ty, &self.refinement) } else { None };
        known.unwrap_or_else(|| Value::unknown_refined(ty.clone(), self.refinement)).with_marks(&self.marks)
    }
}

fn consistent(min: Option<&Bound>, max: Option<&Bound>) -> bool {
    match (min, max) {
        (Some(min), Some(max)) => min.value < max.value || (min.value == max.value && min.inclusive == max.inclusive),
        _ => true,
    }
}

/// The value, where a type and what is known about a value that is not null leave just one.
fn only_value(ty: &Type, known: &Refinement) -> Option<Value> {
    if let (Some(min), Some(max)) = (&known.min, &known.max) {
        let same = min.inclusive && max.inclusive && min.value == max.value;
        return same.then(|| Value::number(min.value.clone()));
    }
    let count = known.max_len.filter(|max| *max == known.min_len)?;
    let element = ty.element()?.clone();
    if ty.is_map() {
        (count == 0).then(|| Value::map(element, Vec::new()))
    } else if ty.is_set() {
        let items = vec![Value::unknown(element.clone()); usize::from(count == 1)];
        (count <= 1).then(|| Value::set(element, items))
    } else {
        let count = usize::try_from(count).ok().filter(|_| count <= MAX_KNOWN_LENGTH)?;
        let items = vec![Value::unknown(element.clone()); count];
        Some(Value::list(element, items))
    }
}

/// Facts about a value: everything about a known one.
#[derive(Clone, Debug)]
pub struct Range {
    /// The type, as far as it is known.
    pub ty: Type,
    /// It is null.
    pub null: bool,
    /// Further facts.
    pub known: Refinement,
}

impl Range {
    /// It is not, or will not be, null.
    pub fn definitely_not_null(&self) -> bool {
        self.known.not_null
    }
    /// It is or may be null.
    pub fn could_be_null(&self) -> bool {
        !self.known.not_null
    }
    /// Whether a known value without marks can be the one: `false` is certain.
    pub fn may_include(&self, value: &Value) -> bool {
        if self.null || value.is_null() {
            return value.is_null() && self.could_be_null();
        }
        if crate::convert::conformance_error(value.ty(), &self.ty).is_some() {
            return false;
        }
        match value.view_ignoring_marks() {
            View::String(text) => text.starts_with(self.known.prefix.as_str()),
            View::Number(number) => {
                let above = self.known.min.as_ref().is_none_or(|min| match min.inclusive {
                    true => *number >= min.value,
                    false => *number > min.value,
                });
                let below = self.known.max.as_ref().is_none_or(|max| match max.inclusive {
                    true => *number <= max.value,
                    false => *number < max.value,
                });
                above && below
            }
            View::List(_) | View::Set(_) | View::Map(_) => {
                let (min, max) = possible_lengths(value);
                max >= self.known.min_len && self.known.max_len.is_none_or(|most| min <= most)
            }
            _ => true,
        }
    }
}

/// The lengths a known collection can turn out to have: unknown elements of a set may be the same.
fn possible_lengths(value: &Value) -> (u64, u64) {
    let count = match value.view_ignoring_marks() {
        View::List(items) | View::Set(items) => items.len(),
        View::Map(items) => items.len(),
        _ => 0,
    };
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let least = if value.ty().is_set() && !value.is_wholly_known() { count.min(1) } else { count };
    (least, count)
}

/// The part of a prefix that cannot change with the characters after it: without the last grapheme, unless that is a
/// delimiter which combines with nothing.
pub fn safe_prefix(prefix: &str) -> EcoString {
    let prefix = crate::value::normalize(prefix.into());
    let Some((start, last)) = prefix.grapheme_indices(true).next_back() else { return prefix };
    const DELIMITERS: &str = "-_:;/\\,.(){}[]|?!~ \t@#$%^&*+\"'";
    let mut chars = last.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if DELIMITERS.contains(c) => prefix,
        _ => prefix[..start].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_nothing_can_combine() {
        let cases = [
            ("", ""),
            ("a", ""),
            ("boo", "bo"),
            ("boop\r", "boop"),
            ("hello 가", "hello "),
            ("hello 🤷🏽\u{200d}♂\u{fe0f}", "hello "),
            ("hello 🤷 ", "hello 🤷 "),
            ("hello \u{1f1e6}\u{1f1e6}", "hello "),
            ("ami-", "ami-"),
            ("{\"foo\":", "{\"foo\":"),
        ];
        for (prefix, safe) in cases {
            assert_eq!(safe_prefix(prefix), safe, "{prefix:?}");
        }
    }

    #[test]
    fn fully_known_values_are_known() {
        let bound = |n: i64| Bound::inclusive(Number::from_i64(n));
        let number = || Value::unknown(Type::number()).refine();
        let list = || Value::unknown(Type::list(Type::string())).refine();
        let set = || Value::unknown(Type::set(Type::string())).refine();
        let results = [
            number().not_null().number_min(bound(1)).number_max(bound(1)).done(),
            number().number_min(bound(1)).number_max(bound(1)).done(),
            number().number_min(bound(1)).number_min(bound(0)).number_max(bound(0)).done(),
            list().not_null().len(2).done(),
            list().not_null().len(0).done(),
            list().len(2).done(),
            set().not_null().len(1).done(),
            set().not_null().len(2).done(),
            Value::unknown(Type::string()).refine().prefix("ab-").prefix("ab-c").prefix("x-").done(),
            Value::unknown_dynamic().refine().not_null().done(),
            Value::null_dynamic().refine().not_null().done(),
        ];
        let text: String = results.iter().map(|v| format!("{v:?}\n")).collect();
        expect_test::expect![[r#"
            1
            unknown(number) >= 1 <= 1
            unknown(number) >= 1
            [unknown(string), unknown(string)]
            []
            unknown(list(string)) len 2..=2
            {unknown(string)}
            unknown(set(string))! len 2..=2
            unknown(string) prefix "ab-"
            unknown(any)
            null(any)
        "#]]
        .assert_eq(&text);
    }
}
