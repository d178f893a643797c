//! The functions that convert a value to a type on purpose.

use super::collection::kind_word;
use crate::convert::{self, Safety};
use crate::function::{Function, FunctionError, Param, Reason, Result};
use crate::{Type, TypeKind, Value, eco_format};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        conversion("tobool", "Converts a value to a bool.", Type::bool, to_bool_type),
        conversion("tolist", "Converts a value to a list.", any_list, to_list_type),
        conversion("tomap", "Converts a value to a map.", any_map, to_map_type),
        conversion("tonumber", "Converts a value to a number.", Type::number, to_number_type),
        conversion("toset", "Converts a value to a set, which drops duplicates and the order.", any_set, to_set_type),
        conversion("tostring", "Converts a value to a string.", Type::string, to_string_type),
    ]
}

fn conversion(
    name: &'static str,
    description: &'static str,
    wanted: fn() -> Type,
    result_type: crate::function::ResultType,
) -> Function {
    let param = Param::new("v", Type::dynamic(), "The value to convert.").null().marked().dynamic();
    Function::new(name, description, [param], wanted(), run).typed(result_type).nullable()
}

fn any_list() -> Type {
    Type::list(Type::dynamic())
}
fn any_map() -> Type {
    Type::map(Type::dynamic())
}
fn any_set() -> Type {
    Type::set(Type::dynamic())
}
fn to_bool_type(args: &[Value]) -> Result<Type> {
    possible(args, Type::bool())
}
fn to_list_type(args: &[Value]) -> Result<Type> {
    possible(args, any_list())
}
fn to_map_type(args: &[Value]) -> Result<Type> {
    possible(args, any_map())
}
fn to_number_type(args: &[Value]) -> Result<Type> {
    possible(args, Type::number())
}
fn to_set_type(args: &[Value]) -> Result<Type> {
    possible(args, any_set())
}
fn to_string_type(args: &[Value]) -> Result<Type> {
    possible(args, Type::string())
}

fn possible(args: &[Value], wanted: Type) -> Result<Type> {
    let given = args[0].ty();
    if given == &wanted || convert::conversion_exists(given, &wanted) != Safety::None {
        return Ok(wanted);
    }
    Err(FunctionError::arg(0, Reason::open(eco_format!("{} cannot become {}", kind_word(given), kind_word(&wanted)))))
}

fn run(args: &[Value], ty: &Type) -> Result {
    convert::convert(&args[0], ty).map_err(|_| FunctionError::arg(0, Reason::Open(failure(&args[0], ty))))
}

/// Reason why a value could not be converted; without the content of hidden values.
fn failure(value: &Value, wanted: &Type) -> ecow::EcoString {
    let marks = value.marks_deep();
    let what = kind_word(value.ty());
    if marks.has_ephemeral() {
        return eco_format!("this ephemeral value, {what}, cannot become {}", kind_word(wanted));
    }
    if marks.has_sensitive() {
        return eco_format!("this sensitive value, {what}, cannot become {}", kind_word(wanted));
    }
    match (value.as_str(), wanted.kind()) {
        (Some(text), TypeKind::Bool) => {
            eco_format!("{text:?} cannot become a bool; only the strings \"true\" and \"false\" can")
        }
        (Some(text), TypeKind::Number) => {
            eco_format!("{text:?} cannot become a number; it must be a number in decimal notation")
        }
        _ => eco_format!("{what} cannot become {}", kind_word(wanted)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, list, map, n, obj, s, set, tuple, unknown};
    use super::*;
    use crate::Mark;
    use expect_test::expect;

    #[test]
    fn conversions() {
        check(
            &[
                ("tobool", vec![s("true")]),
                ("tobool", vec![s("yes")]),
                ("tobool", vec![n(1)]),
                ("tobool", vec![Value::null_dynamic()]),
                ("tonumber", vec![s("12")]),
                ("tonumber", vec![s("a")]),
                ("tonumber", vec![s("a").mark(Mark::Sensitive)]),
                ("tonumber", vec![s("a").mark(Mark::Ephemeral)]),
                ("tostring", vec![n(1)]),
                ("tostring", vec![tuple([])]),
                ("tostring", vec![unknown(Type::number())]),
                ("tostring", vec![unknown(Type::dynamic())]),
                ("tostring", vec![n(1).mark(Mark::Ephemeral)]),
                ("tolist", vec![tuple([s("a"), n(1)])]),
                ("tolist", vec![set([s("b"), s("a")])]),
                ("tolist", vec![tuple([s("a"), tuple([])])]),
                ("tolist", vec![s("a")]),
                ("tolist", vec![unknown(Type::list(Type::string()))]),
                ("toset", vec![tuple([s("b"), s("a"), s("b")])]),
                ("tomap", vec![obj([("a", n(1)), ("b", s("x"))])]),
                ("tomap", vec![obj([("a", n(1)), ("b", tuple([]))])]),
                ("tomap", vec![list([])]),
                ("tomap", vec![map([])]),
            ],
            &expect![[r#"
                tobool("true") = true
                tobool("yes") = error in argument 0: "yes" cannot become a bool; only the strings "true" and "false" can
                tobool(1) = error in argument 0: a number cannot become a bool
                tobool(null(any)) = null(bool)
                tonumber("12") = 12
                tonumber("a") = error in argument 0: "a" cannot become a number; it must be a number in decimal notation
                tonumber((sensitive)) = error in argument 0: this sensitive value, a string, cannot become a number
                tonumber(ephemeral:"a") = error in argument 0: this ephemeral value, a string, cannot become a number
                tostring(1) = "1"
                tostring(tuple[]) = error in argument 0: a tuple cannot become a string
                tostring(unknown(number)) = unknown(string)
                tostring(unknown(any)) = unknown(string)
                tostring(ephemeral:1) = ephemeral:"1"
                tolist(tuple["a", 1]) = ["a", "1"]
                tolist({"a", "b"}) = ["a", "b"]
                tolist(tuple["a", tuple[]]) = error in argument 0: a tuple cannot become a list
                tolist("a") = error in argument 0: a string cannot become a list
                tolist(unknown(list(string))) = unknown(list(any))
                toset(tuple["b", "a", "b"]) = {"a", "b"}
                tomap({a=1, b="x"}) = {"a": "1", "b": "x"}
                tomap({a=1, b=tuple[]}) = error in argument 0: an object cannot become a map
                tomap([]) = error in argument 0: a list cannot become a map
                tomap({}) = {}
            "#]],
        );
    }
}
