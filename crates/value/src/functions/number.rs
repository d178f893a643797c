//! The functions on numbers.

use crate::function::{Function, FunctionError, Param, Result};
use crate::number::machine;
use crate::{Number, Type, TypeKind, Value, eco_format};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let num = |description| Param::new("num", Type::number(), description);
    let numbers = || Param::new("numbers", Type::number(), "The numbers to compare.").dynamic();
    let number = Type::number;
    vec![
        Function::new(
            "abs",
            "Returns the magnitude of a number, that is the number without its sign.",
            [num("Any number.").dynamic().marked()],
            number(),
            |args, ty| unary(args, ty, Number::abs),
        ),
        Function::new(
            "ceil",
            "Rounds a number up to the next whole number.",
            [num("The number to round.")],
            number(),
            |args, ty| unary(args, ty, Number::ceil),
        ),
        Function::new(
            "floor",
            "Rounds a number down to the next whole number.",
            [num("The number to round.")],
            number(),
            |args, ty| unary(args, ty, Number::floor),
        ),
        Function::new(
            "log",
            "Returns the logarithm of a number in a base.",
            [num("The number to take the logarithm of."), Param::new("base", number(), "The base of the logarithm.")],
            number(),
            |args, ty| machine_floats(args, ty, |num, base| machine::ln(num) / machine::ln(base)),
        ),
        Function::new("max", "Returns the greatest of the given numbers.", [], number(), |args, ty| {
            choose(args, ty, |a, b| a > b)
        })
        .variadic(numbers()),
        Function::new("min", "Returns the smallest of the given numbers.", [], number(), |args, ty| {
            choose(args, ty, |a, b| a < b)
        })
        .variadic(numbers()),
        Function::new(
            "parseint",
            "Parses a string as a whole number in a base from 2 to 62.",
            [
                Param::new("number", Type::dynamic(), "The string to parse."),
                Param::new("base", number(), "The base, from 2 to 62."),
            ],
            Type::dynamic(),
            parseint,
        )
        .typed(parseint_type),
        Function::new(
            "pow",
            "Raises a number to a power.",
            [num("The base."), Param::new("power", number(), "The exponent.")],
            number(),
            |args, ty| machine_floats(args, ty, machine::pow),
        ),
        Function::new(
            "signum",
            "Returns -1, 0 or 1 for a negative number, zero or a positive number.",
            [num("A whole number.")],
            number(),
            signum,
        ),
    ]
}

fn unary(args: &[Value], ty: &Type, run: fn(&Number) -> Number) -> Result {
    let (value, marks) = args[0].unmark();
    let result = value.as_number().map_or_else(|| Value::unknown(ty.clone()), |n| Value::number(run(n)));
    Ok(result.with_marks(&marks))
}

/// The argument that is better than all before it.
fn choose(args: &[Value], ty: &Type, better: fn(&Number, &Number) -> bool) -> Result {
    let mut numbers = args.iter().map(Value::as_number);
    let Some(first) = numbers.next() else { return Err(FunctionError::new("at least one number is needed")) };
    let chosen = numbers.try_fold(first, |best, next| {
        let (best, next) = (best?, next?);
        Some(Some(if better(next, best) { next } else { best }))
    });
    Ok(chosen.flatten().map_or_else(|| Value::unknown(ty.clone()), |n| Value::number(n.clone())))
}

/// Computes with machine floats.
fn machine_floats(args: &[Value], ty: &Type, run: fn(f64, f64) -> f64) -> Result {
    let (Some(a), Some(b)) = (args[0].as_number(), args[1].as_number()) else { return Ok(Value::unknown(ty.clone())) };
    let result = run(machine_float(a)?, machine_float(b)?);
    Number::from_f64(result)
        .map(Value::number)
        .ok_or_else(|| FunctionError::new(eco_format!("the result is not a number for {a} and {b}")))
}

fn machine_float(number: &Number) -> Result<f64> {
    let float = number.to_f64();
    if float.is_infinite() && !number.is_infinite() {
        return Err(FunctionError::new("a number is too large: its magnitude must be less than 1.8e308"));
    }
    Ok(float)
}

fn signum(args: &[Value], ty: &Type) -> Result {
    let Some(number) = args[0].as_number() else { return Ok(Value::unknown(ty.clone())) };
    // Quirk: not every number has a sign here, only whole ones of 64 bits.
    match number.to_i64() {
        Some(number) => Ok(Value::int(number.signum())),
        None => Err(FunctionError::new(not_whole())),
    }
}

fn not_whole() -> String {
    format!("a whole number between {} and {} is needed", i64::MIN, i64::MAX)
}

fn parseint_type(args: &[Value]) -> Result<Type> {
    let given = args[0].ty();
    match given.kind() {
        TypeKind::String => Ok(Type::number()),
        _ => Err(FunctionError::arg(0, eco_format!("the first argument must be a string, not {given}"))),
    }
}

fn parseint(args: &[Value], ty: &Type) -> Result {
    let (Some(text), Some(base)) = (args[0].as_str(), args[1].as_number()) else {
        return Ok(Value::unknown(ty.clone()));
    };
    let base = base.to_i64().ok_or_else(|| FunctionError::arg(1, not_whole()))?;
    let Some(radix) = u32::try_from(base).ok().filter(|base| (2..=62).contains(base)) else {
        return Err(FunctionError::arg(1, "the base must be a whole number from 2 to 62"));
    };
    match Number::from_int_text(text, radix) {
        Some(number) => Ok(Value::number(number)),
        None => Err(FunctionError::arg(0, eco_format!("{text:?} is not a whole number in base {radix}"))),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn num(text: &str) -> Value {
        Value::number(Number::parse(text).expect("a number"))
    }

    fn check(name: &str, args: &[Value], expect: &Expect) {
        let function = functions().into_iter().find(|f| f.signature.name == name).expect("a function of this family");
        let text = match function.call(args) {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("error {:?}: {error}", error.arg),
        };
        expect.assert_eq(&text);
    }

    #[test]
    fn rounds_and_compares() {
        check("abs", &[num("-1.5")], &expect!["1.5"]);
        check("ceil", &[num("-1.5")], &expect!["-1"]);
        check("floor", &[num("-1.5")], &expect!["-2"]);
        check("floor", &[num("inf")], &expect!["+Inf"]);
        check("max", &[num("1"), num("12"), num("9.5")], &expect!["12"]);
        check("min", &[num("1"), num("-inf")], &expect!["-Inf"]);
        check("min", &[], &expect!["error None: at least one number is needed"]);
        check("max", &[num("1"), Value::unknown(Type::number())], &expect!["unknown(number)!"]);
        check("signum", &[num("-13")], &expect!["-1"]);
        check(
            "signum",
            &[num("0.5")],
            &expect!["error None: a whole number between -9223372036854775808 and 9223372036854775807 is needed"],
        );
        check("abs", &[num("-1").mark(crate::Mark::Sensitive)], &expect!["(sensitive)"]);
    }

    #[test]
    fn computes_with_machine_floats() {
        check("log", &[num("50"), num("10")], &expect!["1.6989700043360185"]);
        check("log", &[num("16"), num("2")], &expect!["4"]);
        check("log", &[num("0"), num("10")], &expect!["-Inf"]);
        check("log", &[num("-1"), num("10")], &expect!["error None: the result is not a number for -1 and 10"]);
        check("pow", &[num("3"), num("2")], &expect!["9"]);
        check("pow", &[num("1.1"), num("10.3")], &expect!["2.668975929897942"]);
        check("pow", &[num("2"), num("-3")], &expect!["0.125"]);
        check("pow", &[num("2"), num("64")], &expect!["18446744073709550000"]);
        check("pow", &[num("10"), num("400")], &expect!["+Inf"]);
        check(
            "pow",
            &[num("1e400"), num("1")],
            &expect!["error None: a number is too large: its magnitude must be less than 1.8e308"],
        );
    }

    #[test]
    fn reads_whole_numbers() {
        check("parseint", &[Value::from("FF"), num("16")], &expect!["255"]);
        check(
            "parseint",
            &[Value::from("12"), num("2")],
            &expect![[r#"error Some(0): "12" is not a whole number in base 2"#]],
        );
        check(
            "parseint",
            &[Value::from("1"), num("63")],
            &expect!["error Some(1): the base must be a whole number from 2 to 62"],
        );
        check(
            "parseint",
            &[num("1"), num("10")],
            &expect!["error Some(0): the first argument must be a string, not number"],
        );
        check("parseint", &[Value::unknown_dynamic(), num("10")], &expect!["unknown(any)"]);
    }
}
