//! The functions on maps and objects.

use std::collections::BTreeMap;

use ecow::EcoString;

use super::arguments::{elements, list_of, map_of, text};
use super::collection::kind_word;
use crate::function::{Function, FunctionError, Param, Reason, Result};
use crate::{Marks, Path, Type, TypeKind, Value, View, convert, eco_format};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let any = |name, description| Param::new(name, Type::dynamic(), description).marked();
    let string_lists = || Type::map(Type::list(Type::string()));
    vec![
        Function::new(
            "keys",
            "Returns the keys of a map or the attribute names of an object, in order.",
            [any("inputMap", "The map or object to read.").unknown()],
            Type::dynamic(),
            keys,
        )
        .typed(keys_type),
        Function::new(
            "lookup",
            "Returns the element of a map with a given key, or a default value if the key does not exist.",
            [
                any("inputMap", "The map or object to search."),
                Param::new("key", Type::string(), "The key to search for.").marked(),
            ],
            Type::dynamic(),
            lookup,
        )
        .variadic(any("default", "The result if the key does not exist.").unknown().dynamic().null())
        .typed(lookup_type)
        .nullable(),
        Function::new("merge", "Merges maps or objects; for equal keys the last one wins.", [], Type::dynamic(), merge)
            .variadic(any("maps", "The maps or objects, in order; null is skipped.").dynamic().null())
            .typed(merge_type)
            .elementwise(),
        Function::new(
            "transpose",
            "Inverts a map of lists: each element becomes a key, and its list contains the keys of its former lists.",
            [Param::new("values", string_lists(), "The map to invert.")],
            string_lists(),
            transpose,
        ),
        Function::new(
            "values",
            "Returns the elements of a map or the attribute values of an object, in the order of their keys.",
            [any("mapping", "The map or object to read.")],
            Type::dynamic(),
            values,
        )
        .typed(values_type),
        Function::new(
            "zipmap",
            "Returns a map from a list of keys and a list of elements.",
            [
                Param::new("keys", Type::list(Type::string()), "The keys, in order.").marked(),
                any("values", "The elements, in the same order."),
            ],
            Type::dynamic(),
            zipmap,
        )
        .typed(zipmap_type),
    ]
}

fn keys_type(args: &[Value]) -> Result<Type> {
    match args[0].ty().kind() {
        TypeKind::Map(_) => Ok(Type::list(Type::string())),
        TypeKind::Object(attrs) => Ok(Type::tuple(vec![Type::string(); attrs.len()])),
        _ => Err(FunctionError::arg(
            0,
            Reason::open(eco_format!("a map or object is required, not {}", kind_word(args[0].ty()))),
        )),
    }
}

fn keys(args: &[Value], ty: &Type) -> Result {
    let result = match (args[0].ty().attrs(), args[0].view_ignoring_marks()) {
        (Some(attrs), _) => Value::tuple(attrs.iter().map(|a| Value::string(a.name.clone())).collect()),
        (_, View::Map(items)) => {
            Value::list(Type::string(), items.iter().map(|(key, _)| Value::string(key.clone())).collect())
        }
        _ => Value::unknown(ty.clone()),
    };
    Ok(result.with_marks(args[0].marks()))
}

fn lookup_type(args: &[Value]) -> Result<Type> {
    if args.len() > 3 {
        return Err(FunctionError::new(Reason::open(eco_format!(
            "there must be two or three arguments, not {}",
            args.len()
        ))));
    }
    match args[0].ty().kind() {
        TypeKind::Object(_) if !args[1].is_known() => Ok(Type::dynamic()),
        TypeKind::Object(_) => {
            let key = text(args, 1)?;
            match (args[0].ty().attr(key), args.get(2)) {
                (Some(attr), _) => Ok(attr.ty.clone()),
                (None, Some(default)) => Ok(default.ty().clone()),
                (None, None) => {
                    let message = eco_format!("the object has no attribute {}", shown(key, args[1].marks()));
                    Err(FunctionError::arg(0, Reason::Open(message)))
                }
            }
        }
        TypeKind::Map(element) => match args.get(2).map(|default| convert::convert(default, element)) {
            Some(Err(_)) => Err(FunctionError::arg(2, "the default must be of the type of the map's elements")),
            _ => Ok(element.clone()),
        },
        _ => Err(FunctionError::arg(
            0,
            Reason::open(eco_format!("a map or object is required, not {}", kind_word(args[0].ty()))),
        )),
    }
}

fn lookup(args: &[Value], ty: &Type) -> Result {
    let marks = args[0].marks().union(args[1].marks());
    let key = text(args, 1)?;
    let found = match args[0].view_ignoring_marks() {
        View::Object(items) => args[0].ty().attr_index(key).map(|index| &items[index]),
        View::Map(items) => items.binary_search_by(|(k, _)| k.cmp(key)).ok().map(|index| &items[index].1),
        _ => None,
    };
    if let Some(found) = found {
        return Ok(found.with_marks(&marks));
    }
    let Some(default) = args.get(2) else {
        let message = eco_format!("there is no key {} in the map", shown(key, args[1].marks()));
        return Err(FunctionError::new(Reason::Open(message)));
    };
    let default = convert::convert(default, ty).map_err(|e| FunctionError::new(e.message))?;
    Ok(default.with_marks(&marks))
}

/// A key for a message, unless it must not be shown.
fn shown(key: &str, marks: &Marks) -> EcoString {
    match (marks.has_ephemeral(), marks.has_sensitive()) {
        (true, true) => "(ephemeral sensitive value)".into(),
        (true, false) => "(ephemeral value)".into(),
        (false, true) => "(sensitive value)".into(),
        (false, false) => eco_format!("{key:?}"),
    }
}

fn merge_type(args: &[Value]) -> Result<Type> {
    let Some(first) = args.first() else { return Ok(Type::empty_object()) };
    if laid_over_each_other(args).is_some() {
        // Found on the first access.
        return Ok(Type::dynamic());
    }
    if (first.ty().is_map() || first.ty().is_object()) && args.iter().all(|arg| arg.ty() == first.ty()) {
        return Ok(first.ty().clone());
    }
    if let [under, over] = args
        && let (View::Object(_), View::Object(_)) = (under.view_ignoring_marks(), over.view_ignoring_marks())
    {
        let (under, over) = (under.ty().attrs().unwrap_or_default(), over.ty().attrs().unwrap_or_default());
        return Ok(Type::object_of_both(under, over));
    }
    let mut attrs: Vec<(EcoString, Type)> = Vec::new();
    let mut open = false;
    for arg in args {
        match (arg.ty().kind(), arg.view_ignoring_marks()) {
            (TypeKind::Dynamic, _) => return Ok(Type::dynamic()),
            (TypeKind::Map(_) | TypeKind::Object(_), View::Null) => {}
            (TypeKind::Object(own), _) => attrs.extend(own.iter().map(|a| (a.name.clone(), a.ty.clone()))),
            (TypeKind::Map(element), View::Map(items)) => {
                attrs.extend(items.iter().map(|(key, _)| (key.clone(), element.clone())));
            }
            (TypeKind::Map(_), _) => open = true,
            _ => return Err(not_mergeable(arg.ty())),
        }
    }
    Ok(if open { Type::dynamic() } else { Type::object(attrs) })
}

fn merge(args: &[Value], ty: &Type) -> Result {
    if ty.is_dynamic()
        && let Some(result) = laid_over_each_other(args)
    {
        return Ok(result);
    }
    if let [under, over] = args
        && let Some(both) = merge_two_objects(under, over, ty)
    {
        return Ok(both);
    }
    let mut marks = Marks::NONE;
    let mut entries = Vec::new();
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        marks = marks.union(arg.marks());
        entries.extend(mergeable(arg).ok_or_else(|| not_mergeable(arg.ty()))?);
    }
    let result = match ty.element() {
        Some(element) => map_of(element, entries)?,
        None if entries.is_empty() && ty.attrs().is_some_and(|attrs| !attrs.is_empty()) => {
            return Err(FunctionError::new("every object is null, so there is nothing to merge"));
        }
        None => Value::object_of(ty, entries),
    };
    Ok(result.with_marks(&marks))
}

/// A large object with small ones over or under it is built on the first access.
fn laid_over_each_other(args: &[Value]) -> Option<Value> {
    let (first, others) = args.split_first().filter(|(_, others)| !others.is_empty())?;
    others.iter().try_fold(first.clone(), |under, over| Value::laid_over(&under, over))
}

/// The most frequent case: attributes are sorted in both, so one walk along them is enough.
fn merge_two_objects(under: &Value, over: &Value, ty: &Type) -> Option<Value> {
    let (View::Object(low), View::Object(high)) = (under.view_ignoring_marks(), over.view_ignoring_marks()) else {
        return None;
    };
    let mut low = under.ty().attrs()?.iter().zip(low).peekable();
    let mut high = over.ty().attrs()?.iter().zip(high).peekable();
    let items = ty.attrs()?.iter().map(|attr| {
        let low = low.next_if(|(own, _)| own.name == attr.name);
        let high = high.next_if(|(own, _)| own.name == attr.name);
        high.or(low).map(|(_, value)| value.clone())
    });
    let items = items.collect::<Option<Vec<Value>>>()?;
    Some(Value::structure(ty.clone(), items).with_marks(&under.marks().union(over.marks())))
}

/// The entries to merge.
///
/// Quirk: an untyped null turns off type checks of the other arguments. Then lists pass if they are empty, and sets of
/// strings become maps of each element to itself.
fn mergeable(arg: &Value) -> Option<Vec<(EcoString, Value)>> {
    match arg.view_ignoring_marks() {
        View::Set(items) => items.iter().map(|item| Some((item.as_str()?.clone(), item.clone()))).collect(),
        View::List([]) | View::Tuple([]) => Some(Vec::new()),
        _ => arg.entries(),
    }
}

fn not_mergeable(ty: &Type) -> FunctionError {
    FunctionError::new(Reason::open(eco_format!("only maps and objects can be merged, not {}", kind_word(ty))))
}

fn transpose(args: &[Value], ty: &Type) -> Result {
    if !args[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()));
    }
    let mut turned: BTreeMap<EcoString, Vec<Value>> = BTreeMap::new();
    for (key, list) in args[0].entries().unwrap_or_default() {
        let path = Path::new().index(Value::string(key.clone()));
        let Some(items) = list.as_seq() else {
            return Err(FunctionError::arg_path(0, path, eco_format!("the list of key {key:?} must not be null")));
        };
        for (position, item) in items.iter().enumerate() {
            let Some(item) = item.as_str() else {
                let message = eco_format!("element {position} of the list of key {key:?} must not be null");
                return Err(FunctionError::arg_path(0, path, message));
            };
            // Keys come in order, so each list of keys is sorted as it grows.
            turned.entry(item.clone()).or_default().push(Value::string(key.clone()));
        }
    }
    let entries = turned.into_iter().map(|(key, keys)| (key, Value::list(Type::string(), keys))).collect();
    Ok(Value::map(Type::list(Type::string()), entries))
}

fn values_type(args: &[Value]) -> Result<Type> {
    match args[0].ty().kind() {
        TypeKind::Map(element) => Ok(Type::list(element.clone())),
        TypeKind::Object(attrs) => Ok(Type::tuple(attrs.iter().map(|a| a.ty.clone()).collect::<Vec<_>>())),
        _ => Err(FunctionError::new(Reason::open(eco_format!(
            "a map or object is required, not {}",
            kind_word(args[0].ty())
        )))),
    }
}

fn values(args: &[Value], ty: &Type) -> Result {
    let items: Vec<Value> = args[0].entries().unwrap_or_default().into_iter().map(|(_, v)| v).collect();
    let result = match ty.element() {
        Some(element) => list_of(element, items)?,
        None => Value::tuple(items),
    };
    Ok(result.with_marks(args[0].marks()))
}

fn zipmap_type(args: &[Value]) -> Result<Type> {
    match args[1].ty().kind() {
        TypeKind::List(element) => Ok(Type::map(element.clone())),
        TypeKind::Tuple(_) if !args[0].is_wholly_known() => Ok(Type::dynamic()),
        TypeKind::Tuple(types) => {
            let keys = zipmap_keys(args, types.len())?;
            Ok(Type::object(keys.into_iter().zip(types.iter().cloned())))
        }
        _ => Err(FunctionError::new(Reason::open(eco_format!(
            "the values must be a list or tuple, not {}",
            kind_word(args[1].ty())
        )))),
    }
}

fn zipmap(args: &[Value], ty: &Type) -> Result {
    let mut marks = args[0].marks().union(args[1].marks());
    if !args[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()).with_marks(&marks));
    }
    let values = elements(args, 1)?;
    let keys = zipmap_keys(args, values.len())?;
    // A key cannot carry marks, so the map does.
    for key in elements(args, 0)? {
        marks = marks.union(key.marks());
    }
    let entries = keys.into_iter().zip(values.iter().cloned()).collect();
    let result = match ty.element() {
        Some(element) => map_of(element, entries)?,
        None => Value::object(entries),
    };
    Ok(result.with_marks(&marks))
}

fn zipmap_keys(args: &[Value], values: usize) -> Result<Vec<EcoString>> {
    let keys = elements(args, 0)?;
    if keys.len() != values {
        return Err(FunctionError::new(eco_format!("there are {} keys for {values} values", keys.len())));
    }
    let key = |(position, key): (usize, &Value)| {
        key.as_str().cloned().ok_or_else(|| FunctionError::new(eco_format!("the key at position {position} is null")))
    };
    keys.iter().enumerate().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, list, map, n, nulls, obj, s, set, tuple, unknown};
    use super::*;
    use crate::Mark;
    use expect_test::expect;

    #[test]
    fn keys_and_values() {
        let hidden = || s("x").mark(Mark::Sensitive);
        check(
            &[
                ("keys", vec![map([("b", n(1)), ("a", n(2))])]),
                ("keys", vec![obj([("b", n(1)), ("a", s("x"))])]),
                ("keys", vec![unknown(Type::object([("a".into(), Type::string())]))]),
                ("keys", vec![unknown(Type::map(Type::string()))]),
                ("keys", vec![map([("a", hidden())])]),
                ("keys", vec![list([])]),
                ("keys", vec![Value::null_dynamic()]),
                ("values", vec![map([("b", n(1)), ("a", n(2))])]),
                ("values", vec![obj([("b", n(1)), ("a", hidden())])]),
                ("values", vec![obj([])]),
                ("values", vec![list([])]),
            ],
            &expect![[r#"
                keys({"a": 2, "b": 1}) = ["a", "b"]
                keys({a="x", b=1}) = tuple["a", "b"]
                keys(unknown(object({a=string}))) = tuple["a"]
                keys(unknown(map(string))) = unknown(list(string))!
                keys({"a": (sensitive)}) = ["a"]
                keys([]) = error in argument 0: a map or object is required, not a list
                keys(null(any)) = error in argument 0: argument must not be null
                values({"a": 2, "b": 1}) = [2, 1]
                values({a=(sensitive), b=1}) = tuple[(sensitive), 1]
                values({}) = tuple[]
                values([]) = error: a map or object is required, not a list
            "#]],
        );
    }

    #[test]
    fn looking_up() {
        let m = || map([("a", s("x"))]);
        let o = || obj([("a", s("x"))]);
        let secret = || s("zz").mark(Mark::Sensitive);
        check(
            &[
                ("lookup", vec![m(), s("a")]),
                ("lookup", vec![m(), s("b")]),
                ("lookup", vec![m(), s("b"), n(1)]),
                ("lookup", vec![m(), s("b"), tuple([])]),
                ("lookup", vec![m(), s("b"), Value::null_dynamic()]),
                ("lookup", vec![o(), s("a"), n(1)]),
                ("lookup", vec![o(), s("b"), n(1)]),
                ("lookup", vec![o(), s("b")]),
                ("lookup", vec![o(), secret()]),
                ("lookup", vec![m(), secret()]),
                ("lookup", vec![m(), s("a").mark(Mark::Ephemeral)]),
                ("lookup", vec![o(), s("a"), n(1), n(2)]),
                ("lookup", vec![o(), unknown(Type::string())]),
                ("lookup", vec![list([]), s("a")]),
            ],
            &expect![[r#"
                lookup({"a": "x"}, "a") = "x"
                lookup({"a": "x"}, "b") = error: there is no key "b" in the map
                lookup({"a": "x"}, "b", 1) = "1"
                lookup({"a": "x"}, "b", tuple[]) = error in argument 2: the default must be of the type of the map's elements
                lookup({"a": "x"}, "b", null(any)) = null(string)
                lookup({a="x"}, "a", 1) = "x"
                lookup({a="x"}, "b", 1) = 1
                lookup({a="x"}, "b") = error in argument 0: the object has no attribute "b"
                lookup({a="x"}, (sensitive)) = error in argument 0: the object has no attribute (sensitive value)
                lookup({"a": "x"}, (sensitive)) = error: there is no key (sensitive value) in the map
                lookup({"a": "x"}, ephemeral:"a") = ephemeral:"x"
                lookup({a="x"}, "a", 1, 2) = error: there must be two or three arguments, not 4
                lookup({a="x"}, unknown(string)) = unknown(any)
                lookup([], "a") = error in argument 0: a map or object is required, not a list
            "#]],
        );
    }

    #[test]
    fn merging() {
        let object_type = || Type::object([("a".into(), Type::number())]);
        let number_map = || Type::map(Type::number());
        check(
            &[
                ("merge", vec![map([("a", n(1)), ("b", n(2))]), map([("b", n(3))])]),
                ("merge", vec![map([("a", n(1))]), obj([("b", s("x"))])]),
                ("merge", vec![obj([("a", n(1))]), obj([("a", s("x"))]), Value::null_dynamic()]),
                (
                    "merge",
                    vec![
                        obj([("b", n(1)), ("d", n(2)), ("f", n(3))]).mark(Mark::Ephemeral),
                        obj([("a", n(4)), ("d", s("x")), ("e", unknown(Type::string())), ("g", n(5))]),
                    ],
                ),
                ("merge", vec![Value::null_dynamic()]),
                ("merge", vec![Value::null(number_map())]),
                ("merge", vec![Value::null(object_type())]),
                ("merge", vec![Value::null(object_type()), obj([("a", n(1))])]),
                ("merge", vec![]),
                ("merge", vec![unknown(number_map()), map([("a", n(1))])]),
                ("merge", vec![unknown(number_map()), obj([("a", n(1))])]),
                ("merge", vec![list([])]),
                ("merge", vec![Value::null_dynamic(), list([])]),
                ("merge", vec![Value::null_dynamic(), list([n(1)])]),
                ("merge", vec![Value::null_dynamic(), set([s("x")])]),
                ("merge", vec![Value::null_dynamic(), set([n(1)])]),
                ("merge", vec![map([("a", n(1))]).mark(Mark::Ephemeral), map([("b", n(2))])]),
            ],
            &expect![[r#"
                merge({"a": 1, "b": 2}, {"b": 3}) = {"a": 1, "b": 3}
                merge({"a": 1}, {b="x"}) = {a=1, b="x"}
                merge({a=1}, {a="x"}, null(any)) = {a="x"}
                merge(ephemeral:{b=1, d=2, f=3}, {a=4, d="x", e=unknown(string), g=5}) = ephemeral:{a=4, b=1, d="x", e=unknown(string), f=3, g=5}
                merge(null(any)) = {}
                merge(null(map(number))) = {}
                merge(null(object({a=number}))) = error: every object is null, so there is nothing to merge
                merge(null(object({a=number})), {a=1}) = {a=1}
                merge() = {}
                merge(unknown(map(number)), {"a": 1}) = unknown(map(number))!
                merge(unknown(map(number)), {a=1}) = unknown(any)
                merge([]) = error: only maps and objects can be merged, not a list
                merge(null(any), []) = {}
                merge(null(any), [1]) = error: only maps and objects can be merged, not a list
                merge(null(any), {"x"}) = {x="x"}
                merge(null(any), {1}) = error: only maps and objects can be merged, not a set
                merge(ephemeral:{"a": 1}, {"b": 2}) = ephemeral:{"a": 1, "b": 2}
            "#]],
        );
    }

    #[test]
    fn turning_around() {
        let ab = || list([s("a"), s("b")]);
        let open = || list([s("a"), unknown(Type::string())]);
        check(
            &[
                ("transpose", vec![map([("x", ab()), ("w", list([s("b")]))])]),
                ("transpose", vec![map([("x", nulls())])]),
                ("transpose", vec![map([("x", Value::null(Type::list(Type::string())))])]),
                ("transpose", vec![map([("x", open())])]),
                ("zipmap", vec![ab(), list([n(1), n(2)])]),
                ("zipmap", vec![ab(), tuple([n(1), s("x")])]),
                ("zipmap", vec![list([s("a"), s("a")]), tuple([n(1), s("x")])]),
                ("zipmap", vec![ab(), list([n(1)])]),
                ("zipmap", vec![ab(), tuple([n(1)])]),
                ("zipmap", vec![nulls(), list([n(1), n(2)])]),
                ("zipmap", vec![nulls(), tuple([n(1), n(2)])]),
                ("zipmap", vec![open(), list([n(1), n(2)])]),
                ("zipmap", vec![open(), tuple([n(1), n(2)])]),
                ("zipmap", vec![ab(), set([n(1), n(2)])]),
                ("zipmap", vec![list([s("a").mark(Mark::Ephemeral)]), list([n(1)])]),
            ],
            &expect![[r#"
                transpose({"w": ["b"], "x": ["a", "b"]}) = {"a": ["x"], "b": ["w", "x"]}
                transpose({"x": ["a", null(string)]}) = error in argument 0: element 1 of the list of key "x" must not be null
                transpose({"x": null(list(string))}) = error in argument 0: the list of key "x" must not be null
                transpose({"x": ["a", unknown(string)]}) = unknown(map(list(string)))!
                zipmap(["a", "b"], [1, 2]) = {"a": 1, "b": 2}
                zipmap(["a", "b"], tuple[1, "x"]) = {a=1, b="x"}
                zipmap(["a", "a"], tuple[1, "x"]) = {a="x"}
                zipmap(["a", "b"], [1]) = error: there are 2 keys for 1 values
                zipmap(["a", "b"], tuple[1]) = error: there are 2 keys for 1 values
                zipmap(["a", null(string)], [1, 2]) = error: the key at position 1 is null
                zipmap(["a", null(string)], tuple[1, 2]) = error: the key at position 1 is null
                zipmap(["a", unknown(string)], [1, 2]) = unknown(map(number))!
                zipmap(["a", unknown(string)], tuple[1, 2]) = unknown(any)
                zipmap(["a", "b"], {1, 2}) = error: the values must be a list or tuple, not a set
                zipmap([ephemeral:"a"], [1]) = ephemeral:{"a": 1}
            "#]],
        );
    }
}
