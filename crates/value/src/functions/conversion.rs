//! The functions that convert a value to a type on purpose.

use super::collection::kind_word;
use crate::convert::{self, Safety};
use crate::function::{Function, FunctionError, Param, Result};
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
    Err(FunctionError::arg(0, eco_format!("{} cannot become {}", kind_word(given), kind_word(&wanted))))
}

fn run(args: &[Value], ty: &Type) -> Result {
    convert::convert(&args[0], ty).map_err(|_| FunctionError::arg(0, failure(&args[0], ty)))
}

/// Why a value that might have been convertible is not; says nothing of the content of hidden values.
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
