//! The functions on sets.

use super::arguments::{list_of, set_of};
use super::identity::ValueTable;
use crate::function::{Function, FunctionError, Param, Reason, Result};
use crate::{Marks, Type, TypeKind, Value, View, convert, eco_format, ops};

/// `setproduct` makes at most this many combinations.
const MAX_PRODUCT: usize = 1 << 22;

/// Beyond these an unknown `setproduct` says nothing of its length.
const MAX_ARG_BOUND: u64 = 1024;
const MAX_PRODUCT_BOUND: u64 = 2048;

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let sets = || Type::set(Type::dynamic());
    let set = |name, description| Param::new(name, sets(), description).dynamic();
    vec![
        Function::new(
            "setintersection",
            "Returns the set of the elements that occur in all of the given sets.",
            [set("first_set", "The first set.")],
            sets(),
            |args, ty| combine(args, ty, intersection),
        )
        .variadic(set("other_sets", "Further sets."))
        .typed(set_type),
        Function::new(
            "setproduct",
            "Returns all combinations of one element of each set. For lists the result is a list, in order.",
            [],
            Type::dynamic(),
            setproduct,
        )
        .variadic(Param::new("sets", Type::dynamic(), "The sets or lists to combine, at least two.").marked().unknown())
        .typed(setproduct_type),
        Function::new(
            "setsubtract",
            "Returns the set of the elements of one set that do not occur in another one.",
            [set("a", "The set."), set("b", "The elements to remove.")],
            sets(),
            |args, ty| combine(args, ty, difference),
        )
        .typed(set_type),
        Function::new(
            "setunion",
            "Returns the set of the elements that occur in any of the given sets.",
            [set("first_set", "The first set.")],
            sets(),
            setunion,
        )
        .variadic(set("other_sets", "Further sets."))
        .typed(set_type),
    ]
}

fn set_type(args: &[Value]) -> Result<Type> {
    let mut types = Vec::with_capacity(args.len());
    for arg in args {
        let Some(element) = arg.ty().element() else { return Ok(Type::dynamic()) };
        // An empty set of no particular type is compatible with all other sets.
        if element.is_dynamic() && arg.as_seq().is_some_and(<[Value]>::is_empty) {
            continue;
        }
        types.push(element.clone());
    }
    if types.is_empty() {
        return Ok(Type::set(Type::dynamic()));
    }
    match convert::unify_unsafe(&types) {
        Some(element) => Ok(Type::set(element)),
        None => Err(different_elements()),
    }
}

fn different_elements() -> FunctionError {
    FunctionError::new("the elements of all sets must be of compatible types")
}

/// Sets that were converted to sets of any type can still differ in the type of their elements.
fn of_one_type(sets: &[Value]) -> Result<()> {
    match sets.windows(2).all(|pair| pair[0].ty() == pair[1].ty()) {
        true => Ok(()),
        false => Err(different_elements()),
    }
}

/// The arguments as sets of the common type.
fn converted(args: &[Value], ty: &Type) -> Result<Vec<Value>> {
    let one = |(index, arg): (usize, &Value)| {
        convert::convert(arg, ty).map_err(|e| FunctionError::arg_path(index, e.path, e.message))
    };
    args.iter().enumerate().map(one).collect()
}

fn setunion(args: &[Value], ty: &Type) -> Result {
    let sets = converted(args, ty)?;
    of_one_type(&sets)?;
    let items = sets.iter().flat_map(|set| set.as_seq().unwrap_or_default()).cloned().collect();
    set_of(ty.element().unwrap_or(&Type::dynamic()), items)
}

fn combine(args: &[Value], ty: &Type, step: fn(Vec<Value>, &[Value]) -> Vec<Value>) -> Result {
    let sets = converted(args, ty)?;
    let known = sets.iter().take_while(|set| set.is_wholly_known()).count();
    of_one_type(sets.get(..known).unwrap_or_default())?;
    // An unknown element may be equal to any other, so no element is certain to stay or to go.
    if known < sets.len() {
        return Ok(Value::unknown(ty.clone()));
    }
    let mut sets = sets.iter().map(|set| set.as_seq().unwrap_or_default());
    let first = sets.next().unwrap_or_default().to_vec();
    set_of(ty.element().unwrap_or(&Type::dynamic()), sets.fold(first, step))
}

fn intersection(mut kept: Vec<Value>, other: &[Value]) -> Vec<Value> {
    let other: ValueTable<'_> = other.iter().collect();
    kept.retain(|item| other.contains(item));
    kept
}

fn difference(mut kept: Vec<Value>, other: &[Value]) -> Vec<Value> {
    let other: ValueTable<'_> = other.iter().collect();
    kept.retain(|item| !other.contains(item));
    kept
}

fn setproduct_type(args: &[Value]) -> Result<Type> {
    if args.len() < 2 {
        return Err(FunctionError::new("there must be at least two sets to combine"));
    }
    let mut types = Vec::with_capacity(args.len());
    let mut ordered = true;
    for (index, arg) in args.iter().enumerate() {
        types.push(match arg.ty().kind() {
            TypeKind::Set(element) => {
                ordered = false;
                element.clone()
            }
            TypeKind::List(element) => element.clone(),
            TypeKind::Tuple(elements) if elements.is_empty() => Type::dynamic(),
            TypeKind::Tuple(elements) => convert::unify_unsafe(elements)
                .ok_or_else(|| FunctionError::arg(index, "all elements must be of one type, or of compatible types"))?,
            _ => return Err(FunctionError::arg(index, "a set or list is required")),
        });
    }
    let combination = Type::tuple(types);
    Ok(if ordered { Type::list(combination) } else { Type::set(combination) })
}

fn setproduct(args: &[Value], ty: &Type) -> Result {
    let marks = args.iter().fold(Marks::NONE, |marks, arg| marks.union(arg.marks()));
    let dynamic = Type::dynamic();
    let combination = ty.element().unwrap_or(&dynamic);
    let collection = |items| if ty.is_list() { list_of(combination, items) } else { set_of(combination, items) };
    if args.iter().any(|arg| !has_known_length(arg)) {
        let result = match product_bound(args) {
            Some(0) => collection(Vec::new())?,
            Some(max) => Value::unknown(ty.clone()).refine().not_null().len_min(1).len_max(max).done(),
            None => Value::unknown(ty.clone()),
        };
        return Ok(result.with_marks(&marks));
    }
    let mut lengths = args.iter().map(|arg| arg.as_seq().map_or(0, <[Value]>::len));
    if lengths.clone().any(|length| length == 0) {
        return Ok(collection(Vec::new())?.with_marks(&marks));
    }
    let total = lengths.try_fold(1usize, usize::checked_mul);
    let total = total.filter(|&total| total <= MAX_PRODUCT).ok_or_else(|| {
        FunctionError::new(Reason::open(eco_format!(
            "there would be more than {MAX_PRODUCT} combinations, which is too many"
        )))
    })?;
    let sides = product_sides(args, combination)?;
    let open = combination.has_dynamic();
    let mut items = Vec::with_capacity(total);
    for number in 0..total {
        let mut rest = number;
        let mut parts: Vec<Value> = Vec::with_capacity(sides.len());
        for side in sides.iter().rev() {
            parts.push(side[rest % side.len()].clone());
            rest /= side.len();
        }
        parts.reverse();
        items.push(if open { Value::tuple(parts) } else { Value::structure(combination.clone(), parts) });
    }
    Ok(collection(items)?.with_marks(&marks))
}

/// The elements of each argument, of the type they have in a combination.
fn product_sides(args: &[Value], combination: &Type) -> Result<Vec<Vec<Value>>> {
    let types = combination.tuple_elements().unwrap_or_default();
    let mut sides = Vec::with_capacity(args.len());
    for (arg, ty) in args.iter().zip(types) {
        let one = |item: &Value| {
            if item.ty() == ty {
                return Ok(item.clone());
            }
            convert::convert(item, ty).map_err(|e| FunctionError::new(e.message))
        };
        sides.push(arg.as_seq().unwrap_or_default().iter().map(one).collect::<Result<Vec<Value>>>()?);
    }
    Ok(sides)
}

fn has_known_length(value: &Value) -> bool {
    value.is_known() && (value.is_wholly_known() || !value.ty().is_set() || known_length(value))
}

fn known_length(value: &Value) -> bool {
    ops::length(&value.unmark().0).is_ok_and(|length| length.is_known())
}

/// Number of combinations, if all arguments are small.
fn product_bound(args: &[Value]) -> Option<u64> {
    let mut product = 1u64;
    for arg in args {
        let bound = match (arg.ty().tuple_elements(), arg.view_ignoring_marks()) {
            (Some(elements), _) => elements.len() as u64,
            (None, View::Unknown(unknown)) => unknown.refinement.max_len?,
            (None, _) if has_known_length(arg) => arg.as_seq()?.len() as u64,
            (None, _) => return None,
        };
        if bound > MAX_ARG_BOUND {
            return None;
        }
        product *= bound;
        if product > MAX_PRODUCT_BOUND {
            return None;
        }
    }
    Some(product)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, list, n, s, set, tuple, unknown};
    use super::*;
    use crate::Mark;
    use expect_test::expect;

    #[test]
    fn combining() {
        let letters = |text: &str| set(text.chars().map(|c| s(&c.to_string())));
        let open = || set([s("a"), unknown(Type::string())]);
        check(
            &[
                ("setunion", vec![letters("cab"), letters("bd")]),
                ("setunion", vec![letters("a"), set([n(1)])]),
                ("setunion", vec![set([]), letters("a")]),
                ("setunion", vec![set([]), set([])]),
                ("setunion", vec![letters("b"), open()]),
                ("setunion", vec![letters("b"), set([tuple([])])]),
                ("setintersection", vec![letters("abc"), letters("bcd"), letters("cb")]),
                ("setintersection", vec![letters("abc"), open()]),
                ("setsubtract", vec![letters("abc"), letters("bd")]),
                ("setsubtract", vec![letters("abc"), set([])]),
                ("setsubtract", vec![letters("12"), set([n(1)])]),
            ],
            &expect![[r#"
                setunion({"a", "b", "c"}, {"b", "d"}) = {"a", "b", "c", "d"}
                setunion({"a"}, {1}) = {"1", "a"}
                setunion({}, {"a"}) = {"a"}
                setunion({}, {}) = {}
                setunion({"b"}, {"a", unknown(string)}) = {"a", "b", unknown(string)}
                setunion({"b"}, {tuple[]}) = error: the elements of all sets must be of compatible types
                setintersection({"a", "b", "c"}, {"b", "c", "d"}, {"b", "c"}) = {"b", "c"}
                setintersection({"a", "b", "c"}, {"a", unknown(string)}) = unknown(set(string))!
                setsubtract({"a", "b", "c"}, {"b", "d"}) = {"a", "c"}
                setsubtract({"a", "b", "c"}, {}) = {"a", "b", "c"}
                setsubtract({"1", "2"}, {1}) = {"2"}
            "#]],
        );
    }

    #[test]
    fn products() {
        let wide = || list((0..3000).map(n));
        let open = || unknown(Type::list(Type::string()));
        check(
            &[
                ("setproduct", vec![list([s("a"), s("b")]), tuple([n(1), s("x")])]),
                ("setproduct", vec![set([s("b"), s("a")]), list([n(1)])]),
                ("setproduct", vec![list([s("a")]), tuple([])]),
                ("setproduct", vec![set([s("a")]), tuple([])]),
                ("setproduct", vec![list([s("a")])]),
                ("setproduct", vec![list([s("a")]), s("b")]),
                ("setproduct", vec![list([s("a")]), tuple([n(1), tuple([])])]),
                ("setproduct", vec![wide(), wide()]),
                ("setproduct", vec![open(), list([s("a")])]),
                ("setproduct", vec![open(), tuple([])]),
                ("setproduct", vec![list([unknown(Type::string())]), list([n(1)])]),
                ("setproduct", vec![list([s("a")]).mark(Mark::Ephemeral), list([s("b").mark(Mark::Sensitive)])]),
                ("setproduct", vec![list([s("a")]), set([n(1)]), list([s("b").mark(Mark::Ephemeral)])]),
            ],
            &expect![[r#"
                setproduct(["a", "b"], tuple[1, "x"]) = [tuple["a", "1"], tuple["a", "x"], tuple["b", "1"], tuple["b", "x"]]
                setproduct({"a", "b"}, [1]) = {tuple["a", 1], tuple["b", 1]}
                setproduct(["a"], tuple[]) = []
                setproduct({"a"}, tuple[]) = {}
                setproduct(["a"]) = error: there must be at least two sets to combine
                setproduct(["a"], "b") = error in argument 1: a set or list is required
                setproduct(["a"], tuple[1, tuple[]]) = error in argument 1: all elements must be of one type, or of compatible types
                setproduct([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1..., [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1...) = error: there would be more than 4194304 combinations, which is too many
                setproduct(unknown(list(string)), ["a"]) = unknown(list(tuple([string,string])))!
                setproduct(unknown(list(string)), tuple[]) = unknown(list(tuple([string,any])))!
                setproduct([unknown(string)], [1]) = [tuple[unknown(string), 1]]
                setproduct(ephemeral:["a"], [(sensitive)]) = ephemeral:[tuple["a", (sensitive)]]
                setproduct(["a"], {1}, [ephemeral:"b"]) = ephemeral:{tuple["a", 1, "b"]}
            "#]],
        );
    }
}
