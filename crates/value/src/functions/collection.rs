//! Functions that test a whole collection, or select one element.

use unicode_segmentation::UnicodeSegmentation;

use super::arguments::{elements, list_of};
use super::identity::ValueTable;
use crate::function::{Function, FunctionError, Param, Result};
use crate::{Bound, Number, Refinement, Type, TypeKind, Value, View, convert, eco_format, ops};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let bools = || [Param::new("list", Type::list(Type::bool()), "The bools to test.")];
    let any_list = |description| Param::new("list", Type::dynamic(), description);
    let open = |name, description| Param::new(name, Type::dynamic(), description).unknown().dynamic().null();
    vec![
        Function::new(
            "alltrue",
            "Returns whether every element of a list is true. For an empty list the result is true.",
            bools(),
            Type::bool(),
            alltrue,
        ),
        Function::new(
            "anytrue",
            "Returns whether at least one element of a list is true. For an empty list the result is false.",
            bools(),
            Type::bool(),
            anytrue,
        ),
        Function::new(
            "coalesce",
            "Returns the first argument that is neither null nor an empty string.",
            [],
            Type::dynamic(),
            coalesce,
        )
        .variadic(open("vals", "The values to choose from, all of one type."))
        .typed(coalesce_type),
        Function::new("coalescelist", "Returns the first list that is not empty.", [], Type::dynamic(), coalescelist)
            .variadic(open("vals", "The lists to choose from."))
            .typed(coalescelist_type),
        Function::new(
            "contains",
            "Returns whether a list, tuple or set contains a value.",
            [
                any_list("The list, tuple or set to search."),
                Param::new("value", Type::dynamic(), "The value to search for."),
            ],
            // Open, as the result is where the list is of unknown type.
            Type::dynamic(),
            contains,
        )
        .typed(|_| Ok(Type::bool())),
        Function::new(
            "index",
            "Returns the index of the first element of a list that equals a value.",
            [any_list("The list to search."), Param::new("value", Type::dynamic(), "The value to search for.")],
            Type::dynamic(),
            index,
        )
        .typed(|_| Ok(Type::number())),
        Function::new(
            "length",
            "Returns the number of elements of a collection, attributes of an object, or characters of a string.",
            [Param::new("value", Type::dynamic(), "The collection, object or string.").dynamic().unknown().marked()],
            Type::number(),
            length,
        )
        .typed(length_type),
        Function::new(
            "matchkeys",
            "Returns the elements of a list whose counterpart in a second list occurs in a third list.",
            [
                Param::new("values", Type::list(Type::dynamic()), "The list to select from."),
                Param::new("keys", Type::list(Type::dynamic()), "The counterparts, one for each value."),
                Param::new("searchset", Type::list(Type::dynamic()), "The counterparts of the values to select."),
            ],
            Type::list(Type::dynamic()),
            matchkeys,
        )
        .typed(matchkeys_type),
        Function::new(
            "one",
            "Returns the only element of a list, set or tuple, or null if it is empty.",
            [any_list("A list, set or tuple of at most one element.")],
            Type::dynamic(),
            one,
        )
        .typed(one_type)
        .nullable(),
        Function::new(
            "sum",
            "Returns the sum of numbers.",
            [any_list("The numbers to add, at least one.")],
            Type::dynamic(),
            sum,
        )
        .typed(|_| Ok(Type::number())),
        Function::new("list", "No longer available; write `tolist([...])`.", [], Type::dynamic(), |_, ty| {
            Ok(Value::unknown(ty.clone()))
        })
        .variadic(open("vals", "The elements."))
        .typed(|_| Err(FunctionError::new("\"list\" no longer exists; write tolist([...]) to make a list")))
        .nullable(),
        Function::new("map", "No longer available; write `tomap({...})`.", [], Type::dynamic(), |_, ty| {
            Ok(Value::unknown(ty.clone()))
        })
        .variadic(open("vals", "Keys and elements, alternating."))
        .typed(|_| Err(FunctionError::new("\"map\" no longer exists; write tomap({...}) to make a map")))
        .nullable(),
    ]
}

fn alltrue(args: &[Value], _: &Type) -> Result {
    for item in elements(args, 0)? {
        if !item.is_known() {
            return Ok(Value::unknown(Type::bool()));
        }
        if item.as_bool() != Some(true) {
            return Ok(Value::bool(false));
        }
    }
    Ok(Value::bool(true))
}

fn anytrue(args: &[Value], _: &Type) -> Result {
    let items = elements(args, 0)?;
    if items.iter().any(|item| item.as_bool() == Some(true)) {
        return Ok(Value::bool(true));
    }
    Ok(if items.iter().all(Value::is_known) { Value::bool(false) } else { Value::unknown(Type::bool()) })
}

fn coalesce_type(args: &[Value]) -> Result<Type> {
    let types: Vec<Type> = args.iter().map(|v| v.ty().clone()).collect();
    convert::unify_unsafe(&types).ok_or_else(|| FunctionError::new("all arguments must be of one type"))
}

fn coalesce(args: &[Value], ty: &Type) -> Result {
    for arg in args {
        // Quirk: what cannot be converted to the common type after all is passed over like null.
        let Ok(value) = convert::convert(arg, ty) else { continue };
        match value.view_ignoring_marks() {
            View::Unknown(_) => return Ok(Value::unknown(ty.clone())),
            View::Null => {}
            // Quirk: an empty text counts only where all arguments are texts; of open type it is taken.
            View::String(text) if text.is_empty() && matches!(ty.kind(), TypeKind::String) => {}
            _ => return Ok(value),
        }
    }
    Err(FunctionError::new("every argument is null or an empty string, and one must not be"))
}

fn coalescelist_type(args: &[Value]) -> Result<Type> {
    let Some(first) = args.first() else {
        return Err(FunctionError::new("there must be at least one argument"));
    };
    for arg in args {
        if !arg.is_known() {
            return Ok(Type::dynamic());
        }
        if !arg.ty().is_list() && !arg.ty().is_tuple() {
            return Err(FunctionError::new("every argument must be a list or tuple"));
        }
    }
    let same = args.iter().all(|arg| arg.ty() == first.ty());
    Ok(if same { first.ty().clone() } else { Type::dynamic() })
}

fn coalescelist(args: &[Value], ty: &Type) -> Result {
    for arg in args {
        if !arg.is_known() {
            return Ok(Value::unknown(ty.clone()));
        }
        if arg.as_seq().is_some_and(|items| !items.is_empty()) {
            return Ok(arg.clone());
        }
    }
    Err(FunctionError::new("every argument is null or empty, and one must not be"))
}

fn contains(args: &[Value], _: &Type) -> Result {
    if !is_sequence(args[0].ty()) {
        return Err(FunctionError::new("only a list, tuple or set can be searched"));
    }
    let mut undecided = false;
    for item in elements(args, 0)? {
        match ops::equals(&args[1], item).as_bool() {
            Some(true) => return Ok(Value::bool(true)),
            Some(false) => {}
            None => undecided = true,
        }
    }
    Ok(if undecided { Value::unknown(Type::bool()) } else { Value::bool(false) })
}

fn index(args: &[Value], _: &Type) -> Result {
    if !args[0].ty().is_list() && !args[0].ty().is_tuple() {
        return Err(FunctionError::new("only a list or tuple has positions"));
    }
    let items = elements(args, 0)?;
    if items.is_empty() {
        return Err(FunctionError::new("there is nothing to find in an empty list"));
    }
    for (position, item) in (0..).zip(items) {
        match ops::equals(item, &args[1]).as_bool() {
            Some(true) => return Ok(Value::int(position)),
            Some(false) => {}
            None => return Ok(Value::unknown(Type::number())),
        }
    }
    Err(FunctionError::new("no element of the list equals the value"))
}

fn length_type(args: &[Value]) -> Result<Type> {
    match args[0].ty().kind() {
        TypeKind::Bool | TypeKind::Number => {
            Err(FunctionError::new("only a string, a collection, a tuple or an object has a length"))
        }
        _ => Ok(Type::number()),
    }
}

fn length(args: &[Value], _: &Type) -> Result {
    let value = &args[0];
    let count = |n: usize| Value::int(i64::try_from(n).unwrap_or(i64::MAX));
    let answer = match value.ty().kind() {
        TypeKind::Tuple(elements) => count(elements.len()),
        TypeKind::Object(attrs) => count(attrs.len()),
        TypeKind::String => match value.view_ignoring_marks() {
            View::Unknown(unknown) => {
                let prefix = unknown.refinement.prefix.graphemes(true).count();
                let min = Number::from_i64(i64::try_from(prefix).unwrap_or(i64::MAX));
                let min = Some(Bound { value: min, inclusive: true });
                Value::unknown_refined(Type::number(), Refinement { not_null: true, min, ..Refinement::default() })
            }
            _ => count(value.as_str().map_or(0, |text| text.graphemes(true).count())),
        },
        TypeKind::List(_) | TypeKind::Set(_) | TypeKind::Map(_) => {
            return ops::length(value).map_err(|e| FunctionError::arg(0, eco_format!("{e}")));
        }
        TypeKind::Dynamic | TypeKind::Bool | TypeKind::Number => Value::unknown(Type::number()),
    };
    Ok(answer.with_marks(value.marks()))
}

fn matchkeys_type(args: &[Value]) -> Result<Type> {
    match convert::unify_unsafe(&[args[1].ty().clone(), args[2].ty().clone()]) {
        Some(_) => Ok(args[0].ty().clone()),
        None => Err(FunctionError::new("\"keys\" and \"searchset\" must be lists of the same type")),
    }
}

fn matchkeys(args: &[Value], ty: &Type) -> Result {
    let values = elements(args, 0)?;
    if values.len() != elements(args, 1)?.len() {
        return Err(FunctionError::new("\"values\" and \"keys\" must have the same number of elements"));
    }
    let dynamic = Type::dynamic();
    let element = ty.element().unwrap_or(&dynamic);
    let common = convert::unify_unsafe(&[args[1].ty().clone(), args[2].ty().clone()]).unwrap_or_else(|| ty.clone());
    let converted = |index: usize| convert::convert(&args[index], &common).map_err(|e| FunctionError::new(e.message));
    let (keys, searched) = (converted(1)?, converted(2)?);
    let searched = searched.as_seq().unwrap_or_default();
    if searched.is_empty() {
        return list_of(element, Vec::new());
    }
    if !args[0].is_wholly_known() || !keys.is_wholly_known() {
        return Ok(Value::unknown(ty.clone()));
    }
    let known = searched.iter().position(|v| !v.is_wholly_known()).unwrap_or(searched.len());
    let (known, open) = searched.split_at(known);
    let known: ValueTable<'_> = known.iter().collect();
    let mut picked = Vec::new();
    for (key, value) in keys.as_seq().unwrap_or_default().iter().zip(values) {
        let mut found = known.contains(key);
        for candidate in open {
            if found {
                break;
            }
            match ops::equals(key, candidate).as_bool() {
                Some(equal) => found = equal,
                // Quirk: not knowing whether one key matches gives an empty list, not an unknown one.
                None => return list_of(element, Vec::new()),
            }
        }
        if found {
            picked.push(value.clone());
        }
    }
    list_of(element, picked)
}

fn one_type(args: &[Value]) -> Result<Type> {
    match args[0].ty().kind() {
        TypeKind::List(element) | TypeKind::Set(element) => Ok(element.clone()),
        TypeKind::Tuple(elements) if elements.is_empty() => Ok(Type::dynamic()),
        TypeKind::Tuple(elements) if elements.len() == 1 => Ok(elements[0].clone()),
        _ => Err(not_at_most_one()),
    }
}

fn one(args: &[Value], ty: &Type) -> Result {
    if args[0].ty().is_set() && !ops::length(&args[0]).is_ok_and(|length| length.is_known()) {
        return Ok(Value::unknown(ty.clone()));
    }
    match elements(args, 0)? {
        [] => Ok(Value::null(ty.clone())),
        [only] => Ok(only.clone()),
        _ => Err(not_at_most_one()),
    }
}

fn not_at_most_one() -> FunctionError {
    FunctionError::arg(0, "a list, set or tuple of no or one element is required")
}

fn sum(args: &[Value], _: &Type) -> Result {
    let not_numbers = || FunctionError::arg(0, "every element must be a number");
    let list = &args[0];
    if !is_sequence(list.ty()) {
        let message =
            eco_format!("only the elements of a list, set or tuple can be added up, not {}", kind_word(list.ty()));
        return Err(FunctionError::arg(0, message));
    }
    let items = elements(args, 0)?;
    if items.is_empty() {
        return Err(FunctionError::arg(0, "an empty list has no sum"));
    }
    if !list.is_wholly_known() {
        return Ok(Value::unknown(Type::number()));
    }
    let mut total: Option<Value> = None;
    for item in items {
        if item.is_null() {
            return Err(not_numbers());
        }
        let item = convert::convert(item, &Type::number()).map_err(|_| not_numbers())?;
        total = Some(match total {
            None => item,
            Some(total) => {
                ops::add(&total, &item).map_err(|_| FunctionError::new("infinities of opposite sign have no sum"))?
            }
        });
    }
    total.ok_or_else(not_numbers)
}

fn is_sequence(ty: &Type) -> bool {
    ty.is_list() || ty.is_set() || ty.is_tuple()
}

/// Name of a type, in a word or two for a sentence.
pub(super) fn kind_word(ty: &Type) -> &'static str {
    match ty.kind() {
        TypeKind::Bool => "a bool",
        TypeKind::Number => "a number",
        TypeKind::String => "a string",
        TypeKind::Dynamic => "a value of unknown type",
        TypeKind::List(_) => "a list",
        TypeKind::Set(_) => "a set",
        TypeKind::Map(_) => "a map",
        TypeKind::Tuple(_) => "a tuple",
        TypeKind::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, list, map, n, nulls, obj, s, set, tuple, unknown};
    use super::*;
    use crate::Mark;
    use expect_test::expect;

    fn t() -> Value {
        Value::bool(true)
    }
    fn f() -> Value {
        Value::bool(false)
    }

    #[test]
    fn truth() {
        let empty = || Value::list(Type::bool(), vec![]);
        let open = || unknown(Type::bool());
        let null = || Value::null(Type::bool());
        check(
            &[
                ("alltrue", vec![empty()]),
                ("alltrue", vec![list([t(), f()])]),
                ("alltrue", vec![list([t(), null()])]),
                ("alltrue", vec![list([open(), f()])]),
                ("alltrue", vec![list([f(), open()])]),
                ("anytrue", vec![empty()]),
                ("anytrue", vec![list([open(), t()])]),
                ("anytrue", vec![list([f(), null()])]),
                ("anytrue", vec![list([f(), open()])]),
                ("alltrue", vec![list([t(), t().mark(Mark::Sensitive)])]),
            ],
            &expect![[r#"
                alltrue([]) = true
                alltrue([true, false]) = false
                alltrue([true, null(bool)]) = false
                alltrue([unknown(bool), false]) = unknown(bool)!
                alltrue([false, unknown(bool)]) = false
                anytrue([]) = false
                anytrue([unknown(bool), true]) = true
                anytrue([false, null(bool)]) = false
                anytrue([false, unknown(bool)]) = unknown(bool)!
                alltrue([true, (sensitive)]) = (sensitive)
            "#]],
        );
    }

    #[test]
    fn the_first_that_counts() {
        let null = Value::null_dynamic;
        check(
            &[
                ("coalesce", vec![null(), s(""), s("a"), s("b")]),
                ("coalesce", vec![s(""), n(0)]),
                ("coalesce", vec![null()]),
                ("coalesce", vec![]),
                ("coalesce", vec![s("a"), unknown(Type::string())]),
                ("coalesce", vec![unknown(Type::string()), s("a")]),
                ("coalesce", vec![n(1), tuple([])]),
                ("coalesce", vec![s("a"), s("b").mark(Mark::Ephemeral)]),
                ("coalescelist", vec![tuple([]), list([n(1)])]),
                ("coalescelist", vec![tuple([])]),
                ("coalescelist", vec![null(), tuple([n(1)])]),
                ("coalescelist", vec![unknown(Type::dynamic()), tuple([n(1)])]),
                ("coalescelist", vec![]),
                ("list", vec![n(1)]),
            ],
            &expect![[r#"
                coalesce(null(any), "", "a", "b") = "a"
                coalesce("", 0) = "0"
                coalesce(null(any)) = error: every argument is null or an empty string, and one must not be
                coalesce() = error: all arguments must be of one type
                coalesce("a", unknown(string)) = "a"
                coalesce(unknown(string), "a") = unknown(string)!
                coalesce(1, tuple[]) = error: all arguments must be of one type
                coalesce("a", ephemeral:"b") = ephemeral:"a"
                coalescelist(tuple[], [1]) = [1]
                coalescelist(tuple[]) = error: every argument is null or empty, and one must not be
                coalescelist(null(any), tuple[1]) = error: every argument must be a list or tuple
                coalescelist(unknown(any), tuple[1]) = unknown(any)
                coalescelist() = error: there must be at least one argument
                list(1) = error: "list" no longer exists; write tolist([...]) to make a list
            "#]],
        );
    }

    #[test]
    fn searching() {
        check(
            &[
                ("contains", vec![tuple([s("a"), n(1)]), n(1)]),
                ("contains", vec![list([s("1")]), n(1)]),
                ("contains", vec![set([s("a")]), s("a")]),
                ("contains", vec![list([unknown(Type::string()), s("a")]), s("a")]),
                ("contains", vec![list([unknown(Type::string()), s("a")]), s("b")]),
                ("contains", vec![map([("a", n(1))]), n(1)]),
                ("contains", vec![tuple([]), Value::null_dynamic()]),
                ("index", vec![tuple([s("a"), n(1)]), n(1)]),
                ("index", vec![list([unknown(Type::string()), s("a")]), s("a")]),
                ("index", vec![tuple([]), n(1)]),
                ("index", vec![tuple([n(2)]), n(1)]),
                ("index", vec![set([n(2)]), n(1)]),
            ],
            &expect![[r#"
                contains(tuple["a", 1], 1) = true
                contains(["1"], 1) = false
                contains({"a"}, "a") = true
                contains([unknown(string), "a"], "a") = true
                contains([unknown(string), "a"], "b") = unknown(bool)!
                contains({"a": 1}, 1) = error: only a list, tuple or set can be searched
                contains(tuple[], null(any)) = error in argument 1: argument must not be null
                index(tuple["a", 1], 1) = 1
                index([unknown(string), "a"], "a") = unknown(number)!
                index(tuple[], 1) = error: there is nothing to find in an empty list
                index(tuple[2], 1) = error: no element of the list equals the value
                index({2}, 1) = error: only a list or tuple has positions
            "#]],
        );
    }

    #[test]
    fn matching_keys() {
        let values = || list([s("x"), s("y"), s("z")]);
        let keys = || list([n(1), n(2), n(1)]);
        let open = || unknown(Type::string());
        check(
            &[
                ("matchkeys", vec![values(), keys(), list([n(1)])]),
                ("matchkeys", vec![values(), keys(), list([s("2")])]),
                ("matchkeys", vec![values(), keys(), list([])]),
                ("matchkeys", vec![values(), list([n(1)]), list([n(1)])]),
                ("matchkeys", vec![values(), keys(), list([tuple([])])]),
                ("matchkeys", vec![values(), list([s("a"), s("b"), s("a")]), list([s("a"), open()])]),
                ("matchkeys", vec![values(), list([s("a"), s("a"), s("a")]), list([s("a"), open()])]),
                ("matchkeys", vec![values(), list([s("a"), open(), s("a")]), list([s("a")])]),
            ],
            &expect![[r#"
                matchkeys(["x", "y", "z"], [1, 2, 1], [1]) = ["x", "z"]
                matchkeys(["x", "y", "z"], [1, 2, 1], ["2"]) = ["y"]
                matchkeys(["x", "y", "z"], [1, 2, 1], []) = []
                matchkeys(["x", "y", "z"], [1], [1]) = error: "values" and "keys" must have the same number of elements
                matchkeys(["x", "y", "z"], [1, 2, 1], [tuple[]]) = error: "keys" and "searchset" must be lists of the same type
                matchkeys(["x", "y", "z"], ["a", "b", "a"], ["a", unknown(string)]) = []
                matchkeys(["x", "y", "z"], ["a", "a", "a"], ["a", unknown(string)]) = ["x", "y", "z"]
                matchkeys(["x", "y", "z"], ["a", unknown(string), "a"], ["a"]) = unknown(list(string))!
            "#]],
        );
    }

    #[test]
    fn counting_and_adding() {
        let null = || Value::null(Type::number());
        check(
            &[
                ("length", vec![s("e\u{301}👨‍👩‍👧क्ष")]),
                ("length", vec![unknown(Type::string())]),
                ("length", vec![unknown(Type::tuple(vec![Type::bool()]))]),
                ("length", vec![obj([("a", n(1)), ("b", n(2))])]),
                ("length", vec![map([("a", n(1))]).mark(Mark::Sensitive)]),
                ("length", vec![list([n(1).mark(Mark::Sensitive)])]),
                ("length", vec![set([unknown(Type::string()), s("a")])]),
                ("length", vec![unknown(Type::dynamic())]),
                ("length", vec![n(1)]),
                ("sum", vec![tuple([n(1), s("2"), n(3)])]),
                ("sum", vec![list([n(1), null()])]),
                ("sum", vec![tuple([])]),
                ("sum", vec![tuple([t()])]),
                ("sum", vec![list([n(1), unknown(Type::number())])]),
                ("sum", vec![obj([("a", n(1))])]),
                ("sum", vec![s("a")]),
            ],
            &expect![[r#"
                length("é👨\u{200d}👩\u{200d}👧क\u{94d}ष") = 4
                length(unknown(string)) = unknown(number)! >= 0
                length(unknown(tuple([bool]))) = 1
                length({a=1, b=2}) = 2
                length((sensitive)) = (sensitive)
                length([(sensitive)]) = 1
                length({"a", unknown(string)}) = unknown(number)! >= 1 <= 2
                length(unknown(any)) = unknown(number)!
                length(1) = error: only a string, a collection, a tuple or an object has a length
                sum(tuple[1, "2", 3]) = 6
                sum([1, null(number)]) = error in argument 0: every element must be a number
                sum(tuple[]) = error in argument 0: an empty list has no sum
                sum(tuple[true]) = error in argument 0: every element must be a number
                sum([1, unknown(number)]) = unknown(number)!
                sum({a=1}) = error in argument 0: only the elements of a list, set or tuple can be added up, not an object
                sum("a") = error in argument 0: only the elements of a list, set or tuple can be added up, not a string
            "#]],
        );
    }

    #[test]
    fn at_most_one() {
        check(
            &[
                ("one", vec![tuple([])]),
                ("one", vec![list([n(1)])]),
                ("one", vec![set([n(1)])]),
                ("one", vec![nulls()]),
                ("one", vec![tuple([n(1), n(2)])]),
                ("one", vec![set([unknown(Type::string()), s("a")])]),
                ("one", vec![unknown(Type::list(Type::string()))]),
                ("one", vec![s("a")]),
                ("one", vec![list([n(1).mark(Mark::Ephemeral)])]),
            ],
            &expect![[r#"
                one(tuple[]) = null(any)
                one([1]) = 1
                one({1}) = 1
                one(["a", null(string)]) = error in argument 0: a list, set or tuple of no or one element is required
                one(tuple[1, 2]) = error in argument 0: a list, set or tuple of no or one element is required
                one({"a", unknown(string)}) = unknown(string)
                one(unknown(list(string))) = unknown(string)
                one("a") = error in argument 0: a list, set or tuple of no or one element is required
                one([ephemeral:1]) = ephemeral:1
            "#]],
        );
    }
}
