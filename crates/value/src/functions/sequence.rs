//! The functions that make a list out of lists: cutting, joining, ordering, weeding out.

use super::arguments::{elements, list_of, number, whole_number};
use super::collection::kind_word;
use super::identity::ValueTable;
use crate::function::{Function, FunctionError, Param, Reason, Result};
use crate::{Marks, Number, Refinement, Type, TypeKind, Value, View, convert, eco_format, ops};

/// `range` makes at most this many numbers.
const MAX_RANGE: usize = 1024;

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let strings = || Type::list(Type::string());
    let any_list = |description| Param::new("list", Type::dynamic(), description).marked();
    vec![
        Function::new(
            "chunklist",
            "Splits a list into lists of a given length; the last one may be shorter.",
            [
                Param::new("list", Type::list(Type::dynamic()), "The list to split.").marked(),
                Param::new("size", Type::number(), "The length of the chunks; zero makes a single chunk.").marked(),
            ],
            Type::list(Type::list(Type::dynamic())),
            chunklist,
        )
        .typed(|args| Ok(Type::list(args[0].ty().clone())))
        .elementwise(),
        Function::new(
            "compact",
            "Removes null and empty strings from a list.",
            [Param::new("list", strings(), "The list.")],
            strings(),
            compact,
        ),
        Function::new("concat", "Concatenates lists.", [], Type::dynamic(), concat)
            .variadic(Param::new("seqs", Type::dynamic(), "The lists or tuples, in order.").marked())
            .typed(concat_type)
            .elementwise(),
        Function::new(
            "distinct",
            "Removes duplicate elements of a list.",
            [Param::new("list", Type::list(Type::dynamic()), "The list.")],
            Type::list(Type::dynamic()),
            distinct,
        )
        .typed(|args| Ok(args[0].ty().clone())),
        Function::new(
            "element",
            "Returns one element of a list. An index past either end wraps around.",
            [any_list("The list or tuple."), Param::new("index", Type::number(), "The index, from zero.")],
            Type::dynamic(),
            element,
        )
        .typed(element_type)
        .nullable(),
        Function::new(
            "flatten",
            "Flattens nested lists into one list.",
            [any_list("The list, set or tuple to flatten.")],
            Type::dynamic(),
            flatten,
        )
        .typed(flatten_type),
        Function::new(
            "range",
            "Returns a list of numbers from a start up to a limit, which is excluded.",
            [],
            Type::list(Type::number()),
            range,
        )
        .variadic(Param::new(
            "params",
            Type::number(),
            "A limit; or a start and a limit; or a start, a limit and a step.",
        )),
        Function::new(
            "reverse",
            "Reverses a list.",
            [any_list("The list, tuple or set to reverse.")],
            Type::dynamic(),
            reverse,
        )
        .typed(reverse_type),
        Function::new(
            "slice",
            "Returns consecutive elements of a list.",
            [
                any_list("The list or tuple."),
                Param::new("start_index", Type::number(), "The index of the first element."),
                Param::new("end_index", Type::number(), "The index after the last element."),
            ],
            Type::dynamic(),
            slice,
        )
        .typed(slice_type)
        .elementwise(),
        Function::new(
            "sort",
            "Sorts strings by the code points of their characters.",
            [Param::new("list", strings(), "The strings to sort.").unknown()],
            strings(),
            sort,
        ),
    ]
}

fn chunklist(args: &[Value], ty: &Type) -> Result {
    let marks = args[0].marks().union(args[1].marks());
    let size = whole_number(&args[1])
        .map_err(|e| FunctionError::new(Reason::open(eco_format!("the size is not usable: {e}"))))?;
    let size = usize::try_from(size).map_err(|_| FunctionError::new("the size must not be negative"))?;
    let items = elements(args, 0)?;
    let piece_type = ty.element().cloned().unwrap_or_else(Type::dynamic);
    let chunks = match size {
        _ if items.is_empty() => Vec::new(),
        0 => vec![args[0].unmark().0],
        _ => items
            .chunks(size)
            .map(|chunk| list_of(piece_type.element().unwrap_or(&piece_type), chunk.to_vec()))
            .collect::<Result<Vec<Value>>>()?,
    };
    Ok(list_of(&piece_type, chunks)?.with_marks(&marks))
}

fn compact(args: &[Value], ty: &Type) -> Result {
    if !args[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()));
    }
    let kept = elements(args, 0)?.iter().filter(|v| v.as_str().is_some_and(|s| !s.is_empty())).cloned().collect();
    Ok(Value::list(Type::string(), kept))
}

fn concat_type(args: &[Value]) -> Result<Type> {
    if args.is_empty() {
        return Err(FunctionError::new("there must be at least one argument"));
    }
    if args.iter().all(|arg| arg.ty().is_list()) {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
        if let Some(common) = convert::unify_unsafe(&types) {
            return Ok(common);
        }
    }
    let mut types = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        match arg.ty().kind() {
            TypeKind::Tuple(elements) => types.extend_from_slice(elements),
            TypeKind::List(element) => match arg.as_seq() {
                Some(items) => types.resize(types.len() + items.len(), element.clone()),
                None => return Ok(Type::dynamic()),
            },
            _ => {
                let message = eco_format!("only lists and tuples can be put together, not {}", kind_word(arg.ty()));
                return Err(FunctionError::arg(index, message));
            }
        }
    }
    Ok(Type::tuple(types))
}

fn concat(args: &[Value], ty: &Type) -> Result {
    let mut items = Vec::new();
    let mut marks = Marks::NONE;
    for (index, arg) in args.iter().enumerate() {
        marks = marks.union(arg.marks());
        if ty.is_list() && arg.ty() != ty {
            let converted = convert::convert(arg, ty).map_err(|e| FunctionError::arg_path(index, e.path, e.message))?;
            items.extend_from_slice(converted.as_seq().unwrap_or_default());
        } else {
            items.extend_from_slice(elements(args, index)?);
        }
    }
    let result = match ty.element() {
        Some(element) => list_of(element, items)?,
        None => Value::tuple(items),
    };
    Ok(result.with_marks(&marks))
}

fn distinct(args: &[Value], ty: &Type) -> Result {
    if !args[0].is_wholly_known() {
        return Ok(Value::unknown(ty.clone()));
    }
    let mut seen = ValueTable::new();
    let kept: Vec<Value> = elements(args, 0)?.iter().filter(|item| seen.insert(item)).cloned().collect();
    list_of(ty.element().unwrap_or(&Type::dynamic()), kept)
}

fn element_type(args: &[Value]) -> Result<Type> {
    match args[0].ty().kind() {
        TypeKind::List(element) => Ok(element.clone()),
        TypeKind::Tuple(_) if !args[1].is_known() => Ok(Type::dynamic()),
        TypeKind::Tuple(elements) => Ok(elements[wrapped(&args[1], elements.len())?].clone()),
        _ => Err(FunctionError::new(Reason::open(eco_format!(
            "elements of {} have no position",
            kind_word(args[0].ty())
        )))),
    }
}

fn element(args: &[Value], _: &Type) -> Result {
    let items = elements(args, 0)?;
    Ok(items[wrapped(&args[1], items.len())?].with_marks(args[0].marks()))
}

/// A position that starts again at the other end when it leaves the list.
fn wrapped(position: &Value, length: usize) -> Result<usize> {
    let position = whole_number(position)
        .map_err(|e| FunctionError::new(Reason::open(eco_format!("the index is not usable: {e}"))))?;
    i64::try_from(length)
        .ok()
        .and_then(|length| position.checked_rem_euclid(length))
        .and_then(|position| usize::try_from(position).ok())
        .ok_or_else(|| FunctionError::new("an empty list has no element to take"))
}

fn flatten_type(args: &[Value]) -> Result<Type> {
    if !args[0].is_wholly_known() {
        return Ok(Type::dynamic());
    }
    if !is_flattened(args[0].ty()) {
        return Err(not_flattened());
    }
    let mut flat = Flat::default();
    flat.add(&args[0]);
    Ok(Type::tuple(flat.items.iter().map(|v| v.ty().clone()).collect::<Vec<_>>()))
}

fn flatten(args: &[Value], ty: &Type) -> Result {
    if !is_flattened(args[0].ty()) {
        return Err(not_flattened());
    }
    let mut flat = Flat::default();
    flat.add(&args[0]);
    let result = if flat.open { Value::unknown(ty.clone()) } else { Value::tuple(flat.items) };
    Ok(result.with_marks(&flat.marks))
}

/// Result of flattening so far.
#[derive(Default)]
struct Flat {
    items: Vec<Value>,
    marks: Marks,
    /// The number of elements is unknown.
    open: bool,
}

impl Flat {
    /// Adds the elements of a known list, set or tuple.
    fn add(&mut self, list: &Value) {
        self.marks = self.marks.union(list.marks());
        let length_known = || ops::length(&list.unmark().0).is_ok_and(|length| length.is_known());
        if list.ty().is_set() && !list.is_wholly_known() && !length_known() {
            self.open = true;
            return;
        }
        for item in list.as_seq().unwrap_or_default() {
            if is_flattened(item.ty()) && !item.is_null() {
                if item.is_known() {
                    self.add(item);
                } else {
                    self.open = true;
                    self.marks = self.marks.union(item.marks());
                }
                continue;
            }
            // A value of unknown type may turn out to be a list.
            self.open |= item.ty().is_dynamic() && !item.is_known() && item.marks().is_empty();
            self.items.push(item.clone());
        }
    }
}

fn is_flattened(ty: &Type) -> bool {
    ty.is_list() || ty.is_set() || ty.is_tuple()
}

fn not_flattened() -> FunctionError {
    FunctionError::new("only a list, set or tuple can be flattened")
}

fn range(args: &[Value], _: &Type) -> Result {
    let zero = Number::from_i64(0);
    let (start, end) = match args.len() {
        1 => (&zero, number(args, 0)?),
        2 | 3 => (number(args, 0)?, number(args, 1)?),
        _ => return Err(FunctionError::new("there must be one, two or three arguments")),
    };
    let step = match args.len() {
        3 => number(args, 2)?.clone(),
        _ => Number::from_i64(if end < start { -1 } else { 1 }),
    };
    let down = step < zero;
    if down && end > start {
        return Err(FunctionError::arg(1, "with a negative step the limit must not be above the start"));
    }
    if !down && end < start {
        return Err(FunctionError::arg(1, "with a positive step the limit must not be below the start"));
    }
    let end = Value::number(end.clone());
    let step = Value::number(step);
    let mut next = Value::number(start.clone());
    let mut items = Vec::new();
    loop {
        let done = if down { next.as_number() <= end.as_number() } else { next.as_number() >= end.as_number() };
        if done {
            return Ok(Value::list(Type::number(), items));
        }
        // Quirk: a step of zero ends here, too.
        if items.len() >= MAX_RANGE {
            return Err(FunctionError::new(Reason::open(eco_format!(
                "the range has more than {MAX_RANGE} numbers; reduce the distance between start and limit, or use a \
                 larger step"
            ))));
        }
        items.push(next.clone());
        next = ops::add(&next, &step).map_err(|e| FunctionError::new(eco_format!("{e}")))?;
    }
}

fn reverse_type(args: &[Value]) -> Result<Type> {
    match args[0].ty().kind() {
        TypeKind::Tuple(elements) => Ok(Type::tuple(elements.iter().rev().cloned().collect::<Vec<_>>())),
        TypeKind::List(element) | TypeKind::Set(element) => Ok(Type::list(element.clone())),
        _ => {
            Err(FunctionError::arg(0, Reason::open(eco_format!("{} has no order to reverse", kind_word(args[0].ty())))))
        }
    }
}

fn reverse(args: &[Value], ty: &Type) -> Result {
    let items: Vec<Value> = elements(args, 0)?.iter().rev().cloned().collect();
    let result = match ty.element() {
        Some(element) => list_of(element, items)?,
        None => Value::tuple(items),
    };
    Ok(result.with_marks(args[0].marks()))
}

fn slice_type(args: &[Value]) -> Result<Type> {
    let ty = args[0].ty();
    if ty.is_set() {
        let message = "the elements of a set have no positions; make it a list with tolist(...) if any order will do";
        return Err(FunctionError::arg(0, message));
    }
    if !ty.is_list() && !ty.is_tuple() {
        return Err(FunctionError::arg(
            0,
            Reason::open(eco_format!("a list or tuple is required, not {}", kind_word(ty))),
        ));
    }
    let bounds = slice_bounds(args)?;
    match (ty.tuple_elements(), bounds) {
        (None, _) => Ok(ty.clone()),
        (Some(_), None) => Ok(Type::dynamic()),
        (Some(elements), Some((start, end))) => Ok(Type::tuple(elements.get(start..end).unwrap_or_default().to_vec())),
    }
}

fn slice(args: &[Value], ty: &Type) -> Result {
    let (start, end) = slice_bounds(args)?.ok_or_else(|| FunctionError::new("the positions are not known yet"))?;
    let items = elements(args, 0)?.get(start..end).unwrap_or_default().to_vec();
    let result = match ty.element() {
        Some(element) => list_of(element, items)?,
        None => Value::tuple(items),
    };
    Ok(result.with_marks(args[0].marks()))
}

/// The checked positions, where both are known.
fn slice_bounds(args: &[Value]) -> Result<Option<(usize, usize)>> {
    let length = match args[0].ty().tuple_elements() {
        Some(elements) => Some(elements.len()),
        None => args[0].as_seq().map(<[Value]>::len),
    };
    let bound = |index: usize, what: &str| {
        if !args[index].is_known() {
            return Ok(None);
        }
        let position = whole_number(&args[index])
            .map_err(|e| FunctionError::arg(index, Reason::open(eco_format!("the {what} index is not usable: {e}"))))?;
        let position = usize::try_from(position).map_err(|_| {
            FunctionError::arg(index, Reason::open(eco_format!("the {what} index must not be negative")))
        })?;
        match length {
            Some(length) if position > length => {
                let message =
                    eco_format!("the {what} index {position} is past the end of the list, which has {length} elements");
                Err(FunctionError::arg(index, message))
            }
            _ => Ok(Some(position)),
        }
    };
    let start = bound(1, "start")?;
    let end = bound(2, "end")?;
    let Some((start, end)) = start.zip(end) else { return Ok(None) };
    if start > end {
        return Err(FunctionError::arg(1, "the start index must not be greater than the end index"));
    }
    Ok(Some((start, end)))
}

fn sort(args: &[Value], ty: &Type) -> Result {
    if let View::Unknown(unknown) = args[0].view_ignoring_marks() {
        let Refinement { min_len, max_len, .. } = unknown.refinement;
        let refinement = Refinement { not_null: true, min_len, max_len, ..Refinement::default() };
        return Ok(Value::unknown_refined(ty.clone(), refinement));
    }
    let items = elements(args, 0)?;
    if !args[0].is_wholly_known() {
        // The order is open, the number of elements is not.
        return Ok(Value::list(Type::string(), vec![Value::unknown(Type::string()); items.len()]));
    }
    if let Some(position) = items.iter().position(Value::is_null) {
        return Err(FunctionError::new(eco_format!("element {position} is null, and null values cannot be sorted")));
    }
    let mut items = items.to_vec();
    items.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    Ok(Value::list(Type::string(), items))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, list, n, nulls, obj, s, set, tuple, unknown};
    use super::*;
    use crate::Mark;
    use expect_test::expect;

    #[test]
    fn cutting() {
        let five = || list([1, 2, 3, 4, 5].map(n));
        let half = || Value::number(Number::from_f64(0.5).expect("it is a number"));
        check(
            &[
                ("chunklist", vec![five(), n(2)]),
                ("chunklist", vec![five(), n(0)]),
                ("chunklist", vec![five(), n(i64::MAX)]),
                ("chunklist", vec![list([]), n(2)]),
                ("chunklist", vec![five(), n(-1)]),
                ("chunklist", vec![five(), half()]),
                ("element", vec![five(), n(6)]),
                ("element", vec![five(), n(-1)]),
                ("element", vec![five(), n(i64::MIN)]),
                ("element", vec![tuple([]), n(0)]),
                ("element", vec![list([]), n(0)]),
                ("element", vec![tuple([n(1), s("a")]), n(3)]),
                ("element", vec![tuple([n(1), s("a")]), unknown(Type::number())]),
                ("element", vec![set([n(1)]), n(0)]),
                ("element", vec![five(), half()]),
                ("slice", vec![five(), n(1), n(3)]),
                ("slice", vec![tuple([n(1), s("a")]), n(1), n(2)]),
                ("slice", vec![five(), n(5), n(5)]),
                ("slice", vec![five(), n(3), n(1)]),
                ("slice", vec![five(), n(-1), n(1)]),
                ("slice", vec![five(), n(0), n(6)]),
                ("slice", vec![set([n(1)]), n(0), n(1)]),
                ("slice", vec![s("abc"), n(0), n(1)]),
                ("slice", vec![five(), half(), n(1)]),
                ("slice", vec![unknown(Type::list(Type::string())), n(1), n(0)]),
                ("slice", vec![tuple([n(1)]), unknown(Type::number()), n(1)]),
            ],
            &expect![[r#"
                chunklist([1, 2, 3, 4, 5], 2) = [[1, 2], [3, 4], [5]]
                chunklist([1, 2, 3, 4, 5], 0) = [[1, 2, 3, 4, 5]]
                chunklist([1, 2, 3, 4, 5], 9223372036854775807) = [[1, 2, 3, 4, 5]]
                chunklist([], 2) = []
                chunklist([1, 2, 3, 4, 5], -1) = error: the size must not be negative
                chunklist([1, 2, 3, 4, 5], 0.5) = error: the size is not usable: a whole number from -9223372036854775808 to 9223372036854775807 is required
                element([1, 2, 3, 4, 5], 6) = 2
                element([1, 2, 3, 4, 5], -1) = 5
                element([1, 2, 3, 4, 5], -9223372036854775808) = 3
                element(tuple[], 0) = error: an empty list has no element to take
                element([], 0) = error: an empty list has no element to take
                element(tuple[1, "a"], 3) = "a"
                element(tuple[1, "a"], unknown(number)) = unknown(any)
                element({1}, 0) = error: elements of a set have no position
                element([1, 2, 3, 4, 5], 0.5) = error: the index is not usable: a whole number from -9223372036854775808 to 9223372036854775807 is required
                slice([1, 2, 3, 4, 5], 1, 3) = [2, 3]
                slice(tuple[1, "a"], 1, 2) = tuple["a"]
                slice([1, 2, 3, 4, 5], 5, 5) = []
                slice([1, 2, 3, 4, 5], 3, 1) = error in argument 1: the start index must not be greater than the end index
                slice([1, 2, 3, 4, 5], -1, 1) = error in argument 1: the start index must not be negative
                slice([1, 2, 3, 4, 5], 0, 6) = error in argument 2: the end index 6 is past the end of the list, which has 5 elements
                slice({1}, 0, 1) = error in argument 0: the elements of a set have no positions; make it a list with tolist(...) if any order will do
                slice("abc", 0, 1) = error in argument 0: a list or tuple is required, not a string
                slice([1, 2, 3, 4, 5], 0.5, 1) = error in argument 1: the start index is not usable: a whole number from -9223372036854775808 to 9223372036854775807 is required
                slice(unknown(list(string)), 1, 0) = error in argument 1: the start index must not be greater than the end index
                slice(tuple[1], unknown(number), 1) = unknown(any)
            "#]],
        );
    }

    #[test]
    fn joining() {
        let open = || unknown(Type::list(Type::string()));
        check(
            &[
                ("concat", vec![list([s("a")]), list([n(1)])]),
                ("concat", vec![list([s("a")]), tuple([n(1)])]),
                ("concat", vec![list([]), list([s("a")])]),
                ("concat", vec![list([]), list([])]),
                ("concat", vec![list([n(1)]), list([]), list([obj([])])]),
                ("concat", vec![tuple([])]),
                ("concat", vec![]),
                ("concat", vec![tuple([]), s("a")]),
                ("concat", vec![open(), list([s("a")])]),
                ("concat", vec![open(), tuple([s("a")])]),
                ("concat", vec![list([s("a")]).mark(Mark::Ephemeral), list([s("b").mark(Mark::Sensitive)])]),
                ("flatten", vec![tuple([list([s("a")]), tuple([tuple([]), n(1), set([n(2)])]), obj([])])]),
                ("flatten", vec![tuple([Value::null(Type::list(Type::string()))])]),
                ("flatten", vec![tuple([open(), n(1)])]),
                ("flatten", vec![tuple([unknown(Type::string()), n(1)])]),
                ("flatten", vec![tuple([unknown(Type::dynamic()), n(1)])]),
                ("flatten", vec![tuple([tuple([n(1)]).mark(Mark::Ephemeral), n(2)])]),
                ("flatten", vec![obj([("a", n(1))])]),
                ("flatten", vec![tuple([])]),
            ],
            &expect![[r#"
                concat(["a"], [1]) = ["a", "1"]
                concat(["a"], tuple[1]) = tuple["a", 1]
                concat([], ["a"]) = ["a"]
                concat([], []) = []
                concat([1], [], [{}]) = error: elements of types number and object({}) are not compatible
                concat(tuple[]) = tuple[]
                concat() = error: there must be at least one argument
                concat(tuple[], "a") = error in argument 1: only lists and tuples can be put together, not a string
                concat(unknown(list(string)), ["a"]) = unknown(list(string))!
                concat(unknown(list(string)), tuple["a"]) = unknown(any)
                concat(ephemeral:["a"], [(sensitive)]) = ephemeral:["a", (sensitive)]
                flatten(tuple[["a"], tuple[tuple[], 1, {2}], {}]) = tuple["a", 1, 2, {}]
                flatten(tuple[null(list(string))]) = tuple[null(list(string))]
                flatten(tuple[unknown(list(string)), 1]) = unknown(any)
                flatten(tuple[unknown(string), 1]) = tuple[unknown(string), 1]
                flatten(tuple[unknown(any), 1]) = unknown(any)
                flatten(tuple[ephemeral:tuple[1], 2]) = ephemeral:tuple[1, 2]
                flatten({a=1}) = error: only a list, set or tuple can be flattened
                flatten(tuple[]) = tuple[]
            "#]],
        );
    }

    #[test]
    fn ordering() {
        let open = || unknown(Type::string());
        check(
            &[
                ("reverse", vec![tuple([n(1), s("a")])]),
                ("reverse", vec![set([s("b"), s("a")])]),
                ("reverse", vec![list([])]),
                ("reverse", vec![s("ab")]),
                ("sort", vec![list([s("b"), s("B"), s("é"), s("a10"), s("a9")])]),
                ("sort", vec![nulls()]),
                ("sort", vec![list([s("b"), open()])]),
                ("sort", vec![unknown(Type::list(Type::string()))]),
                ("compact", vec![list([s(""), s("a"), Value::null(Type::string())])]),
                ("compact", vec![list([s(""), open()])]),
                ("distinct", vec![list([s("b"), s("a"), s("b")])]),
                ("distinct", vec![list([tuple([n(1)]), tuple([n(2)]), tuple([n(1)])])]),
                ("distinct", vec![list([s("b"), open()])]),
                ("distinct", vec![list([])]),
            ],
            &expect![[r#"
                reverse(tuple[1, "a"]) = tuple["a", 1]
                reverse({"a", "b"}) = ["b", "a"]
                reverse([]) = []
                reverse("ab") = error in argument 0: a string has no order to reverse
                sort(["b", "B", "é", "a10", "a9"]) = ["B", "a10", "a9", "b", "é"]
                sort(["a", null(string)]) = error: element 1 is null, and null values cannot be sorted
                sort(["b", unknown(string)]) = [unknown(string), unknown(string)]
                sort(unknown(list(string))) = unknown(list(string))!
                compact(["", "a", null(string)]) = ["a"]
                compact(["", unknown(string)]) = unknown(list(string))!
                distinct(["b", "a", "b"]) = ["b", "a"]
                distinct([tuple[1], tuple[2], tuple[1]]) = [tuple[1], tuple[2]]
                distinct(["b", unknown(string)]) = unknown(list(string))!
                distinct([]) = []
            "#]],
        );
    }

    #[test]
    fn ranges() {
        check(
            &[
                ("range", vec![n(3)]),
                ("range", vec![n(-3)]),
                ("range", vec![n(5), n(3)]),
                ("range", vec![n(1), n(8), n(3)]),
                ("range", vec![n(8), n(1), n(-3)]),
                ("range", vec![n(5), n(5), n(0)]),
                ("range", vec![n(1), n(5), n(0)]),
                ("range", vec![n(5), n(1), n(1)]),
                ("range", vec![n(1), n(5), n(-1)]),
                ("range", vec![n(i64::MAX)]),
                ("range", vec![]),
                ("range", vec![unknown(Type::number())]),
            ],
            &expect![[r#"
                range(3) = [0, 1, 2]
                range(-3) = [0, -1, -2]
                range(5, 3) = [5, 4]
                range(1, 8, 3) = [1, 4, 7]
                range(8, 1, -3) = [8, 5, 2]
                range(5, 5, 0) = []
                range(1, 5, 0) = error: the range has more than 1024 numbers; reduce the distance between start and limit, or use a larger step
                range(5, 1, 1) = error in argument 1: with a positive step the limit must not be below the start
                range(1, 5, -1) = error in argument 1: with a negative step the limit must not be above the start
                range(9223372036854775807) = error: the range has more than 1024 numbers; reduce the distance between start and limit, or use a larger step
                range() = error: there must be one, two or three arguments
                range(unknown(number)) = unknown(list(number))!
            "#]],
        );
    }
}
