//! Steps into values: `value[key]` and `value.name`.

use ecow::{EcoString, eco_format};
use yuba_syntax::expr::IndexExpr;
use yuba_syntax::{Diagnostic, Expr, Span};
use yuba_value::{Type, TypeKind, Value, View, convert, ops};

use super::Evaluator;
use crate::diagnostics::{
    attribute_of_null, index_of_null, index_of_set, invalid_index, missing_map_element, unsupported_attribute,
};
use yuba_syntax::suggestion::did_you_mean;

type Answer = Result<Value, Box<Diagnostic>>;

impl Evaluator<'_> {
    pub(super) fn index(&mut self, e: &IndexExpr, expr: &Expr) -> Value {
        let collection = self.eval(&e.collection);
        let key = self.eval(&e.key);
        index(&collection, &key, e.bracket_span).unwrap_or_else(|diagnostic| {
            self.report(*diagnostic, expr);
            Value::unknown_dynamic()
        })
    }
}

/// `collection[key]`; `at` is where the step stands.
pub(crate) fn index(collection: &Value, key: &Value, at: Span) -> Answer {
    select(collection, key, at).map(read)
}

/// A part that was chosen: if it is deprecated, this is where it is used.
fn read(part: Value) -> Value {
    if part.marks().is_empty() {
        return part;
    }
    let (plain, marks) = part.unmark();
    plain.with_marks(&marks.read())
}

fn select(collection: &Value, key: &Value, at: Span) -> Answer {
    if collection.is_null() {
        return Err(index_of_null(at).into());
    }
    if key.is_null() {
        return Err(invalid_index("The index is null, so it does not select an element.", at).into());
    }
    if key.ty().is_dynamic() || collection.ty().is_dynamic() {
        return Ok(Value::unknown_dynamic().with_marks(collection.marks()));
    }
    match collection.ty().kind() {
        TypeKind::List(_) | TypeKind::Tuple(_) => element(collection, key, &Type::number(), at),
        TypeKind::Map(_) => element(collection, key, &Type::string(), at),
        TypeKind::Object(_) => attribute_by_key(collection, key, at),
        TypeKind::Set(_) => Err(index_of_set(at).into()),
        _ => {
            Err(invalid_index(eco_format!("This is a {}, which has no elements.", collection.ty().friendly_name()), at)
                .into())
        }
    }
}

fn element(collection: &Value, key: &Value, key_type: &Type, at: Span) -> Answer {
    let key = converted_key(key, key_type, at)?;
    let (has, _) = ops::has_index(collection, &key).unmark();
    match has.as_bool() {
        None => {
            let ty = collection.ty().element().cloned().unwrap_or_else(Type::dynamic);
            Ok(Value::unknown(ty).with_marks(collection.marks()))
        }
        Some(false) => Err(no_element(collection, &key, at).into()),
        Some(true) => ops::index(collection, &key).map_err(|e| invalid_index(eco_format!("{e}."), at).into()),
    }
}

fn converted_key(key: &Value, ty: &Type, at: Span) -> Answer {
    if key.ty() == ty {
        return Ok(key.clone());
    }
    convert::convert(key, ty)
        .map_err(|e| invalid_index(eco_format!("This index does not select an element: {e}."), at).into())
}

/// The error about an index that does not select an element. Shows neither keys nor lengths that are marked.
fn no_element(collection: &Value, key: &Value, at: Span) -> Diagnostic {
    const START: &str = "The index does not select an element";
    if let View::Map(items) = collection.view_ignoring_marks() {
        if collection.marks().is_empty()
            && key.marks().is_empty()
            && let Some(name) = key.as_str()
        {
            let suggestion = did_you_mean(name, items.iter().map(|(key, _)| key.as_str()));
            let detail = eco_format!("This map has no element with the key {name:?}.");
            return invalid_index(detail, at).hint(suggestion.trim_start());
        }
        return invalid_index(eco_format!("{START} of this map."), at);
    }
    let Some(number) = key.as_number() else { return invalid_index(eco_format!("{START}."), at) };
    if !number.is_integer() {
        let detail =
            eco_format!("{START}: an index of a sequence must be a whole number, but this one has a fraction.");
        return invalid_index(detail, at);
    }
    if number.is_negative() {
        return invalid_index(eco_format!("{START}: indexes of a sequence start at 0 and cannot be negative."), at);
    }
    let length = ops::length(collection).ok().filter(|n| n.marks().is_empty());
    let reason = match length.as_ref().and_then(Value::as_number).and_then(|n| n.to_i64()) {
        Some(0) => "the collection is empty".into(),
        Some(1) => "the collection has 1 element, at index 0".into(),
        Some(n) => eco_format!("the collection has {n} elements, at indexes 0 to {}", n - 1),
        None => EcoString::from("the index is beyond the end"),
    };
    invalid_index(eco_format!("{START}: {reason}."), at)
}

/// `object[key]`
fn attribute_by_key(object: &Value, key: &Value, at: Span) -> Answer {
    let name = converted_key(key, &Type::string(), at)?;
    if !object.is_known() || !name.is_known() {
        return Ok(Value::unknown_dynamic().with_marks(object.marks()));
    }
    let attrs = object.ty().attrs().unwrap_or_default();
    let text = name.as_str().map_or("", |s| s.as_str());
    if object.ty().attr(text).is_some() {
        // Quirk: marks of the key do not reach the result.
        return ops::get_attr(object, text).map_err(|e| invalid_index(eco_format!("{e}."), at).into());
    }
    let problem = if *key.ty() == Type::number() {
        invalid_index("An index selects an attribute of an object by its name, not by a number.", at)
    } else if key.marks().is_empty() && object.marks().is_empty() {
        let suggestion = did_you_mean(text, attrs.iter().map(|a| a.name.as_str()));
        invalid_index(eco_format!("This object has no attribute named {text:?}."), at).hint(suggestion.trim_start())
    } else {
        invalid_index("This object has no attribute of this name.", at)
    };
    Err(problem.into())
}

/// `object.name`; `at` is where the step stands.
pub(crate) fn get_attr(object: &Value, name: &str, at: Span) -> Answer {
    attribute(object, name, at).map(read)
}

fn attribute(object: &Value, name: &str, at: Span) -> Answer {
    if object.is_null() {
        return Err(attribute_of_null(at).into());
    }
    let unsupported =
        |detail: EcoString, hint: &str| Err(unsupported_attribute(detail, at).hint(hint.trim_start()).into());
    match object.ty().kind() {
        TypeKind::Object(attrs) => ops::get_attr(object, name).or_else(|_| {
            let suggestion = did_you_mean(name, attrs.iter().map(|a| a.name.as_str()));
            unsupported(eco_format!("This object does not have an attribute named {name:?}."), &suggestion)
        }),
        TypeKind::Map(element) => {
            let View::Map(items) = object.view_ignoring_marks() else {
                return Ok(Value::unknown(element.clone()).with_marks(object.marks()));
            };
            ops::index(object, &Value::string(name)).map_err(|_| {
                let suggestion = match object.marks().is_empty() {
                    true => did_you_mean(name, items.iter().map(|(key, _)| key.as_str())),
                    false => String::new(),
                };
                missing_map_element(name, &suggestion, at).into()
            })
        }
        TypeKind::Dynamic => Ok(Value::unknown_dynamic().with_marks(object.marks())),
        TypeKind::List(element) if element.attr(name).is_some() => unsupported(
            eco_format!("This is a list of objects. Only its elements have an attribute named {name:?}."),
            &format!("Select one element with an index such as [0], or read the attribute of all with [*].{name}."),
        ),
        TypeKind::List(element) if element.is_object() => unsupported(
            "This is a list of objects, which has no attributes of its own.".into(),
            "Select one element with an index such as [0], or all with [*].",
        ),
        TypeKind::Set(element) if element.is_object() => unsupported(
            "This is a set of objects, which has no attributes of its own.".into(),
            "Read the attribute of all elements with [*].",
        ),
        _ => unsupported(eco_format!("This is a {}, which has no attributes.", object.ty().friendly_name()), ""),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn elements_and_attributes() {
        check(
            &[
                "[1, 2][1]",
                "[1][\"0\"]",
                "{a = 1}[\"a\"]",
                "{a = 1}.a",
                "{\"0\" = 1}[0]",
                "tomap({a = 1}).a",
                "tomap({a = 1})[\"a\"]",
                "object.name",
                "[[1]][0][0]",
                "{a = {b = 2}}.a.b",
                "[1, 2].1",
            ],
            &expect![[r#"
                [1, 2][1] => 2
                [1]["0"] => 1
                {a = 1}["a"] => 1
                {a = 1}.a => 1
                {"0" = 1}[0] => 1
                tomap({a = 1}).a => 1
                tomap({a = 1})["a"] => 1
                object.name => "n"
                [[1]][0][0] => 1
                {a = {b = 2}}.a.b => 2
                [1, 2].1 => 2
            "#]],
        );
    }

    #[test]
    fn unknown_and_marked() {
        check(
            &[
                "u_any.x",
                "u_any[0]",
                "u_list[0]",
                "u_list[u_number]",
                "[1, \"a\"][u_number]",
                "u_map.x",
                "u_map[\"x\"]",
                "u_object.a",
                "u_object.c",
                "u_object[\"a\"]",
                "{a = 1}[u_string]",
                "s_list[0]",
                "s_list[5]",
                "[1][u_any]",
                "{s3cret = 1}[secret]",
                "[1][sensitive(0)]",
            ],
            &expect![[r#"
                u_any.x => unknown(any)
                u_any[0] => unknown(any)
                u_list[0] => unknown(string)
                u_list[u_number] => unknown(string)
                [1, "a"][u_number] => unknown(any)
                u_map.x => unknown(string)
                u_map["x"] => unknown(string)
                u_object.a => unknown(string)
                u_object.c => ! Unsupported attribute at `.c`; u_object is a object
                u_object["a"] => unknown(any)
                {a = 1}[u_string] => unknown(any)
                s_list[0] => (sensitive)
                s_list[5] => ! Invalid index at `[5]`
                [1][u_any] => unknown(any)
                {s3cret = 1}[secret] => 1
                [1][sensitive(0)] => (sensitive)
            "#]],
        );
    }

    #[test]
    fn error_cases() {
        check(
            &[
                "[1][1]",
                "[][0]",
                "[1][-1]",
                "[1][0.5]",
                "[1][\"a\"]",
                "[1][null]",
                "null[0]",
                "null.a",
                "{a = 1}.b",
                "{a = 1}[0]",
                "{name = 1}[\"nane\"]",
                "tomap({a = 1}).b",
                "tomap({a = 1})[\"b\"]",
                "toset([1])[0]",
                "five.x",
                "five[0]",
                "tolist([{a = 1}]).a",
                "tolist([{a = 1}]).b",
                "toset([{a = 1}]).a",
                "[1].a",
                "object.nam",
                "fiv",
            ],
            &expect![[r#"
                [1][1] => ! Invalid index at `[1]`
                [][0] => ! Invalid index at `[0]`
                [1][-1] => ! Invalid index at `[-1]`
                [1][0.5] => ! Invalid index at `[0.5]`
                [1]["a"] => ! Invalid index at `["a"]`
                [1][null] => ! Invalid index at `[null]`
                null[0] => ! Attempt to index null value at `[0]`
                null.a => ! Attempt to get attribute from null value at `.a`
                {a = 1}.b => ! Unsupported attribute at `.b`
                {a = 1}[0] => ! Invalid index at `[0]`
                {name = 1}["nane"] => ! Invalid index at `["nane"]`
                tomap({a = 1}).b => ! Missing map element at `.b`
                tomap({a = 1})["b"] => ! Invalid index at `["b"]`
                toset([1])[0] => ! Invalid index at `[0]`
                five.x => ! Unsupported attribute at `.x`; five is 5
                five[0] => ! Invalid index at `[0]`; five is 5
                tolist([{a = 1}]).a => ! Unsupported attribute at `.a`
                tolist([{a = 1}]).b => ! Unsupported attribute at `.b`
                toset([{a = 1}]).a => ! Unsupported attribute at `.a`
                [1].a => ! Unsupported attribute at `.a`
                object.nam => ! Unsupported attribute at `.nam`; object is object with 2 attributes
                fiv => ! Unknown variable at `fiv`
            "#]],
        );
    }
}
