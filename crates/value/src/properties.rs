//! Properties that hold for all values: marks are never lost, equality is reflexive, order does not depend on chance.

use proptest::prelude::*;

use crate::convert::{Allow, Safety, conversion_exists, convert, unify_with};
use crate::{Deprecation, MAX_DEPTH, Mark, Marks, Type, TypeKind, Value, function, ops};

fn deprecated() -> Mark {
    Mark::Deprecated(std::sync::Arc::new(Deprecation {
        source: "output.x".into(),
        module: "".into(),
        message: "old".into(),
        remote: false,
        unread: false,
    }))
}

fn any_mark() -> impl Strategy<Value = Mark> {
    prop_oneof![Just(Mark::Sensitive), Just(Mark::Ephemeral), Just(deprecated())]
}

pub(crate) fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::string()), Just(Type::number()), Just(Type::bool())];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let pair = ("[ab]", inner.clone()).prop_map(|(name, ty)| (name.into(), ty));
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            prop::collection::vec(inner, 0..3).prop_map(Type::tuple),
            prop::collection::vec(pair, 0..3).prop_map(Type::object),
        ]
    })
}

#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    pub(crate) unknown: bool,
    pub(crate) marked: bool,
}

pub(crate) fn value_of(ty: &Type, kinds: Kinds) -> BoxedStrategy<Value> {
    let known = match ty.kind() {
        TypeKind::Bool => any::<bool>().prop_map(Value::bool).boxed(),
        TypeKind::Number => (-20i64..20).prop_map(Value::int).boxed(),
        TypeKind::String | TypeKind::Dynamic => "[a-c1é]{0,3}".prop_map(|s: String| Value::string(s)).boxed(),
        TypeKind::List(element) => {
            let element = element.clone();
            let items = prop::collection::vec(value_of(&element, kinds), 0..4);
            items.prop_map(move |items| Value::list(element.clone(), items)).boxed()
        }
        TypeKind::Set(element) => {
            let element = element.clone();
            let items = prop::collection::vec(value_of(&element, kinds), 0..4);
            items.prop_map(move |items| Value::set(element.clone(), items)).boxed()
        }
        TypeKind::Map(element) => {
            let element = element.clone();
            let items = prop::collection::vec(("[a-c]", value_of(&element, kinds)), 0..4);
            items
                .prop_map(move |items| {
                    Value::map(element.clone(), items.into_iter().map(|(k, v)| (k.into(), v)).collect())
                })
                .boxed()
        }
        TypeKind::Tuple(types) => {
            let items: Vec<_> = types.iter().map(|ty| value_of(ty, kinds)).collect();
            items.prop_map(Value::tuple).boxed()
        }
        TypeKind::Object(attrs) => {
            let names: Vec<_> = attrs.iter().map(|a| a.name.clone()).collect();
            let items: Vec<_> = attrs.iter().map(|a| value_of(&a.ty, kinds)).collect();
            items.prop_map(move |items| Value::object(names.iter().cloned().zip(items).collect())).boxed()
        }
    };
    let null = Just(Value::null(ty.clone()));
    let unknown = Just(Value::unknown(ty.clone()));
    let plain = prop_oneof![6 => known, 1 => null, u32::from(kinds.unknown) => unknown];
    if !kinds.marked {
        return plain.boxed();
    }
    prop_oneof![4 => plain.clone(), 1 => (plain, any_mark()).prop_map(|(v, mark)| v.mark(mark))].boxed()
}

fn any_value(kinds: Kinds) -> impl Strategy<Value = Value> {
    any_type().prop_flat_map(move |ty| value_of(&ty, kinds))
}

const EVERYTHING: Kinds = Kinds { unknown: true, marked: true };
const KNOWN: Kinds = Kinds { unknown: false, marked: false };

fn has_all(value: &Value, marks: &Marks) -> bool {
    let found = value.marks_deep();
    marks.iter().all(|mark| found.contains(mark))
}

type Binary = fn(&Value, &Value) -> ops::OpResult;

const NUMERIC: &[Binary] = &[
    ops::add,
    ops::sub,
    ops::mul,
    ops::div,
    ops::rem,
    ops::less_than,
    ops::less_than_or_equal,
    ops::greater_than,
    ops::greater_than_or_equal,
];

proptest! {
    #[test]
    fn arithmetic_and_comparison_keep_the_marks_of_both_operands(
        a in value_of(&Type::number(), Kinds { unknown: true, marked: false }),
        b in value_of(&Type::number(), Kinds { unknown: true, marked: false }),
        (m, n) in (any_mark(), any_mark()),
    ) {
        let (a, b) = (a.mark(m.clone()), b.mark(n.clone()));
        for operation in NUMERIC {
            if let Ok(result) = operation(&a, &b) {
                prop_assert!(result.marks().contains(&m) && result.marks().contains(&n), "{result:?}");
            }
        }
        if let Ok(result) = ops::neg(&a) {
            prop_assert!(result.marks().contains(&m));
        }
    }

    #[test]
    fn logic_keeps_the_marks_of_both_operands(
        a in value_of(&Type::bool(), Kinds { unknown: true, marked: false }),
        b in value_of(&Type::bool(), Kinds { unknown: true, marked: false }),
        (m, n) in (any_mark(), any_mark()),
    ) {
        let (a, b) = (a.mark(m.clone()), b.mark(n.clone()));
        for operation in [ops::and, ops::or] {
            if let Ok(result) = operation(&a, &b) {
                prop_assert!(result.marks().contains(&m) && result.marks().contains(&n), "{result:?}");
            }
        }
        if let Ok(result) = ops::not(&a) {
            prop_assert!(result.marks().contains(&m));
        }
    }

    #[test]
    fn equality_keeps_marks_from_anywhere_inside(a in any_value(EVERYTHING), b in any_value(EVERYTHING)) {
        for b in [&a, &b] {
            let result = ops::equals(&a, b);
            prop_assert!(has_all(&result, &a.marks().union(b.marks())));
            if a.is_null() == b.is_null() {
                prop_assert!(has_all(&result, &a.marks_deep().union(&b.marks_deep())));
            }
        }
    }

    #[test]
    fn taking_apart_keeps_the_marks_of_the_whole(value in any_value(EVERYTHING), mark in any_mark()) {
        let value = value.mark(mark.clone());
        let marked = |result: ops::OpResult| result.is_err() || result.is_ok_and(|v| v.marks().contains(&mark));
        prop_assert!(marked(ops::length(&value)));
        prop_assert!(marked(ops::index(&value, &Value::int(0))));
        prop_assert!(marked(ops::index(&value, &Value::string("a"))));
        prop_assert!(marked(ops::get_attr(&value, "a")));
        prop_assert!(ops::has_index(&value, &Value::int(0)).marks().contains(&mark));
        prop_assert!(value.refine_not_null().marks().contains(&mark));
        prop_assert!(value.refine().not_null().done().marks().contains(&mark));
    }

    #[test]
    fn conversion_keeps_the_marks_of_preserved_values(value in any_value(EVERYTHING)) {
        let marks = value.marks_deep();
        let any = Type::dynamic();
        for to in [any.clone(), Type::list(any.clone()), Type::set(any.clone()), Type::map(any), Type::string()] {
            if let Ok(result) = convert(&value, &to) {
                // A set with unknown elements has no known positions: as a list it is unknown as a whole.
                prop_assert!(has_all(&result, &marks), "to {to}: {result:?}");
            }
        }
    }

    #[test]
    fn conversion_to_its_own_type_changes_nothing(value in any_value(EVERYTHING)) {
        let converted = convert(&value, value.ty()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!(converted.raw_equals(&value));
    }

    #[test]
    fn a_safe_conversion_does_not_fail(value in any_value(EVERYTHING), to in any_type()) {
        match (conversion_exists(value.ty(), &to), convert(&value, &to)) {
            (Safety::Safe, Err(error)) => return Err(TestCaseError::fail(error.to_string())),
            (Safety::None, Ok(result)) => return Err(TestCaseError::fail(format!("{result:?}"))),
            (_, Ok(result)) => prop_assert_eq!(result.ty(), &to),
            _ => {}
        }
    }

    #[test]
    fn unification_does_not_depend_on_repetition(a in any_type(), b in any_type()) {
        let once = unify_with([&a, &b], Allow::Safe).map(|u| u.ty);
        let often = unify_with([&a, &b, &b, &a, &a], Allow::Safe).map(|u| u.ty);
        prop_assert_eq!(&once, &often);
        prop_assert_eq!(unify_with([&a, &a], Allow::Safe).map(|u| u.ty), Some(a));
    }

    #[test]
    fn a_value_is_itself(value in any_value(EVERYTHING)) {
        prop_assert!(value.raw_equals(&value.clone()));
        let (plain, _) = value.unmark_deep();
        if plain.is_wholly_known() {
            prop_assert_eq!(ops::equals(&plain, &plain).as_bool(), Some(true));
        }
    }

    #[test]
    fn the_order_of_a_set_does_not_depend_on_the_order_it_was_made_in(
        (ty, items, shuffled) in any_type().prop_flat_map(|ty| {
            let items = prop::collection::vec(value_of(&ty, KNOWN), 0..8);
            items.prop_flat_map(move |items| (Just(ty.clone()), Just(items.clone()), Just(items).prop_shuffle()))
        }),
    ) {
        let a = Value::set(ty.clone(), items.clone());
        let b = Value::set(ty, shuffled);
        prop_assert!(a.raw_equals(&b), "{a:?} {b:?}");
        for item in &items {
            prop_assert_eq!(ops::has_element(&a, item).ok().and_then(|v| v.as_bool()), Some(true));
        }
    }

    #[test]
    fn functions_hand_the_marks_of_their_arguments_on(a in any_value(EVERYTHING), b in any_value(EVERYTHING)) {
        let param = || function::Param::new("value", Type::dynamic(), "").null();
        let constant = function::Function::new("constant", "", [param(), param()], Type::bool(), |args, _| {
            assert!(args.iter().all(Value::is_deeply_unmarked) && args.iter().all(Value::is_known));
            Ok(Value::bool(true))
        });
        let result = constant.call(&[a.clone(), b.clone()]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!(has_all(&result, &a.marks_deep().union(&b.marks_deep())));
    }
}

#[test]
fn a_value_is_small() {
    assert!(size_of::<Value>() <= 40, "{}", size_of::<Value>());
    assert_eq!(size_of::<Option<Value>>(), size_of::<Value>());
}

/// A test thread has two megabytes of stack; nothing that walks a value of the allowed depth needs more, and dropping
/// needs none however deep it is.
#[test]
fn deep_values_do_not_exhaust_the_stack() {
    let nested = |depth: u32, leaf: Value| (0..depth).fold(leaf, |value, _| Value::tuple(vec![value]));
    let a = nested(MAX_DEPTH, Value::string("x").mark(Mark::Sensitive));
    let b = nested(MAX_DEPTH, Value::int(1));
    assert_eq!(a.depth(), MAX_DEPTH);
    assert!(a.raw_equals(&nested(MAX_DEPTH, Value::string("x").mark(Mark::Sensitive))));
    assert_eq!(ops::equals(&a, &b).as_bool(), Some(false));
    assert!(a.unmark_deep().0.is_deeply_unmarked());
    assert!(convert(&b, a.ty()).is_ok_and(|v| v.ty() == a.ty()));
    assert!(unify_with([a.ty(), b.ty()], Allow::Safe).is_some_and(|u| &u.ty == a.ty()));
    assert!(convert(&a, &Type::list(Type::dynamic())).is_ok());
    assert!(convert(&a, &nested(MAX_DEPTH, Value::bool(true)).ty().clone()).is_err());
    assert_eq!(Value::set(a.ty().clone(), vec![a.clone(), a.clone()]).as_seq().map(<[Value]>::len), Some(1));
    assert!(!format!("{a:?}").is_empty());
    drop(nested(20_000, Value::null_dynamic()));
    let lists = (0..MAX_DEPTH).fold(Type::dynamic(), |ty, _| Type::list(ty));
    assert!(convert(&b, &lists).is_ok_and(|v| v.ty().is_list()));
}
