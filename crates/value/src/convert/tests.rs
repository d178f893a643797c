//! Results of conversion, unification and defaults.

use expect_test::{Expect, expect};

use super::*;
use crate::{Mark, ObjectAttr};

fn object(attrs: &[(&str, Type)]) -> Type {
    Type::object(attrs.iter().map(|(name, ty)| ((*name).into(), ty.clone())))
}

fn optional(name: &str, ty: Type) -> ObjectAttr {
    ObjectAttr { name: name.into(), ty, optional: true }
}

fn path_text(path: &Path) -> String {
    let step = |step: &PathStep| match step {
        PathStep::Attr(name) => format!(".{name}"),
        PathStep::Index(key) => format!("[{key:?}]"),
    };
    path.0.iter().map(step).collect()
}

fn check(cases: &[(Value, Type)], expected: &Expect) {
    let mut text = String::new();
    for (value, to) in cases {
        let result = match convert(value, to) {
            Ok(result) => format!("{result:?}"),
            Err(error) => format!("error{}: {}", path_text(&error.path), error.message),
        };
        text += &format!("{value:?} to {to}: {result}\n");
    }
    expected.assert_eq(&text);
}

#[test]
fn converting() {
    let (s, n, b, any) = (Type::string(), Type::number(), Type::bool(), Type::dynamic());
    let text = |t: &str| Value::string(t);
    let with_optional = Type::object_with_optional([
        ObjectAttr { name: "a".into(), ty: s.clone(), optional: false },
        optional("b", Type::object_with_optional([optional("c", n.clone())])),
    ]);
    let pair = |a: Value, b: Value| Value::object(vec![("a".into(), a), ("b".into(), b)]);
    check(
        &[
            (Value::int(12), s.clone()),
            (Value::bool(true), s.clone()),
            (text("1.50"), n.clone()),
            (text("x"), n.clone()),
            (text("1"), b.clone()),
            (text("TRUE"), b.clone()),
            (Value::int(1), b.clone()),
            (Value::tuple(vec![Value::int(1), text("a"), Value::null_dynamic()]), Type::list(any.clone())),
            (Value::tuple(vec![Value::int(2), text("1"), Value::int(1)]), Type::set(n.clone())),
            (Value::tuple(vec![text("a"), Value::tuple(vec![])]), Type::list(any.clone())),
            (Value::tuple(vec![text("a"), Value::tuple(vec![])]), Type::list(s.clone())),
            (Value::tuple(vec![text("1"), text("x")]), Type::list(n.clone())),
            (pair(Value::int(1), text("x")), Type::map(any.clone())),
            (pair(Value::int(1), Value::empty_object()), with_optional.clone()),
            (pair(Value::int(1), Value::null_dynamic()), with_optional.clone()),
            (Value::object(vec![("b".into(), Value::empty_object())]), with_optional.clone()),
            (Value::map(n.clone(), vec![("a".into(), Value::int(1))]), with_optional.clone()),
            (Value::map(n.clone(), vec![("b".into(), Value::int(1))]), with_optional.clone()),
            (Value::null(s.clone()), n.clone()),
            (Value::null(Type::tuple([n.clone(), s.clone()])), Type::list(any.clone())),
            (Value::unknown(Type::tuple([n.clone(), s.clone()])).refine_not_null(), Type::list(any.clone())),
            (Value::unknown(Type::tuple([n.clone(), s.clone()])), Type::set(any.clone())),
            (Value::unknown_dynamic(), Type::list(s.clone())),
            (Value::list(n.clone(), vec![Value::int(2).mark(Mark::Ephemeral), Value::int(1)]), Type::set(s.clone())),
            (text("x").mark(Mark::Ephemeral), n),
        ],
        &expect![[r#"
            12 to string: "12"
            true to string: "true"
            "1.50" to number: 1.5
            "x" to number: error: a number is required
            "1" to bool: true
            "TRUE" to bool: error: a bool is required; write "true" in lower case
            1 to bool: error: bool required, but this is number
            tuple[1, "a", null(any)] to list(any): ["1", "a", null(string)]
            tuple[2, "1", 1] to set(number): {1, 2}
            tuple["a", tuple[]] to list(any): error: all list elements must have the same type
            tuple["a", tuple[]] to list(string): error: element 1: string required, but this is tuple
            tuple["1", "x"] to list(number): error[1]: a number is required
            {a=1, b="x"} to map(any): {"a": "1", "b": "x"}
            {a=1, b={}} to object({a=string,b=optional(object({c=optional(number)}))}): {a="1", b={c=null(number)}}
            {a=1, b=null(any)} to object({a=string,b=optional(object({c=optional(number)}))}): {a="1", b=null(object({c=number}))}
            {b={}} to object({a=string,b=optional(object({c=optional(number)}))}): error: attribute "a" is required
            {"a": 1} to object({a=string,b=optional(object({c=optional(number)}))}): {a="1", b=null(object({c=number}))}
            {"b": 1} to object({a=string,b=optional(object({c=optional(number)}))}): error: the map has no element for required attribute "a"
            null(string) to number: null(number)
            null(tuple([number,string])) to list(any): null(list(string))
            unknown(tuple([number,string]))! to list(any): [unknown(string), unknown(string)]
            unknown(tuple([number,string])) to set(any): unknown(set(string)) len 1..=2
            unknown(any) to list(string): unknown(list(string))
            [ephemeral:2, 1] to set(string): ephemeral:{"1", "2"}
            ephemeral:"x" to number: error: a number is required
        "#]],
    );
}

#[test]
fn unifying() {
    let (s, n, b, any) = (Type::string(), Type::number(), Type::bool(), Type::dynamic());
    let cases = [
        vec![n.clone(), s.clone(), b.clone()],
        vec![n.clone(), b.clone()],
        vec![n.clone(), any.clone()],
        vec![Type::list(n.clone()), Type::tuple([b.clone()])],
        vec![Type::list(n.clone()), Type::tuple([n.clone(), b.clone()])],
        vec![Type::tuple([n.clone()]), Type::tuple([n.clone(), s.clone()])],
        vec![Type::tuple([n.clone(), b.clone()]), Type::tuple([s.clone(), b.clone()])],
        vec![object(&[("a", n.clone())]), object(&[("a", s.clone())])],
        vec![object(&[("a", n.clone())]), object(&[("b", s.clone())])],
        vec![object(&[("a", n.clone())]), Type::map(s.clone())],
        vec![object(&[("a", n.clone())]), Type::tuple([])],
        vec![object(&[("a", n.clone())]), any.clone()],
        vec![Type::set(n.clone()), Type::list(n.clone())],
        vec![Type::set(n.clone()), Type::set(b)],
        vec![],
    ];
    let mut text = String::new();
    for types in cases {
        text += &format!("{types:?}: {:?}, unsafe {:?}\n", unify(&types), unify_unsafe(&types));
    }
    expect![[r#"
        [number, string, bool]: Some(string), unsafe Some(string)
        [number, bool]: None, unsafe None
        [number, any]: Some(any), unsafe Some(number)
        [list(number), tuple([bool])]: None, unsafe None
        [list(number), tuple([number,bool])]: None, unsafe None
        [tuple([number]), tuple([number,string])]: Some(list(string)), unsafe Some(list(string))
        [tuple([number,bool]), tuple([string,bool])]: Some(tuple([string,bool])), unsafe Some(tuple([string,bool]))
        [object({a=number}), object({a=string})]: Some(object({a=string})), unsafe Some(object({a=string}))
        [object({a=number}), object({b=string})]: Some(map(string)), unsafe Some(map(string))
        [object({a=number}), map(string)]: Some(map(string)), unsafe Some(map(string))
        [object({a=number}), tuple([])]: None, unsafe None
        [object({a=number}), any]: Some(any), unsafe Some(any)
        [set(number), list(number)]: Some(list(number)), unsafe Some(list(number))
        [set(number), set(bool)]: None, unsafe None
        []: None, unsafe None
    "#]]
    .assert_eq(&text);
}

#[test]
fn defaults_replace_missing_and_null_values() {
    let inner = Type::object_with_optional([optional("n", Type::number())]);
    let ty = Type::object_with_optional([optional("a", Type::string()), optional("in", Type::list(inner.clone()))]);
    let for_inner = Defaults::new(inner.clone(), vec![("n".into(), Value::int(7))], vec![]);
    let for_list = Defaults::new(Type::list(inner), vec![], vec![("".into(), for_inner)]);
    let defaults = Defaults::new(ty.clone(), vec![("a".into(), Value::string("d"))], vec![("in".into(), for_list)]);
    let inner = |n: Value| Value::object(vec![("n".into(), n)]);
    let given = Value::object(vec![
        ("a".into(), Value::null_dynamic()),
        ("in".into(), Value::tuple(vec![inner(Value::null_dynamic()), Value::empty_object(), inner(Value::int(1))])),
    ]);
    let mut text = String::new();
    for value in [given, Value::empty_object(), Value::unknown(Type::empty_object()), Value::null(ty.clone())] {
        let filled = defaults.apply(&value);
        text += &format!("{filled:?}\n  {:?}\n", convert(&filled, &ty).map_err(|e| e.message));
    }
    expect![[r#"
        {a="d", in=tuple[{n=7}, {n=7}, {n=1}]}
          Ok({a="d", in=[{n=7}, {n=7}, {n=1}]})
        {a="d"}
          Ok({a="d", in=null(list(object({n=number})))})
        unknown(object({}))
          Ok(unknown(object({a=string,in=list(object({n=number}))})))
        null(object({a=string,in=list(object({n=number}))}))
          Ok(null(object({a=string,in=list(object({n=number}))})))
    "#]]
    .assert_eq(&text);
}

#[test]
fn converting_many_equal_elements_takes_linear_time() {
    let element = |i: i64| Value::object(vec![("id".into(), Value::int(i)), ("tags".into(), Value::tuple(vec![]))]);
    let tuple = Value::tuple((0..20_000).map(element).collect());
    let list = convert(&tuple, &Type::list(Type::dynamic())).expect("elements have one type");
    let wanted = Type::list(object(&[("id", Type::string()), ("tags", Type::list(Type::string()))]));
    assert_eq!(convert(&list, &wanted).expect("numbers become strings").ty(), &wanted);
    let set = convert(&list, &Type::set(Type::dynamic())).expect("a list becomes a set");
    assert_eq!(set.as_seq().map(<[Value]>::len), Some(20_000));
}
