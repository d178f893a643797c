//! The functions that look at or change the marks of a value.

use crate::function::{Function, Param, Result};
use crate::{Mark, Type, Value, View};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let any = |description| [Param::new("value", Type::dynamic(), description).unknown().null().marked().dynamic()];
    let same_type = |args: &[Value]| Ok(args[0].ty().clone());
    vec![
        Function::new(
            "sensitive",
            "Marks a value as sensitive, so that it is not shown.",
            any("The value to hide."),
            Type::dynamic(),
            |args, _| Ok(args[0].mark(Mark::Sensitive)),
        )
        .typed(same_type)
        .nullable(),
        Function::new(
            "nonsensitive",
            "Removes the sensitive mark of a value, so that it may be shown. Elements keep their own marks.",
            any("The value to show."),
            Type::dynamic(),
            |args, _| {
                let (value, marks) = args[0].unmark();
                Ok(value.with_marks(&marks.without(&Mark::Sensitive)))
            },
        )
        .typed(same_type)
        .nullable(),
        Function::new(
            "issensitive",
            "Returns whether a value is marked as sensitive.",
            any("The value to test."),
            Type::bool(),
            issensitive,
        ),
        Function::new(
            "ephemeralasnull",
            "Replaces ephemeral values, also nested ones, by null.",
            any("The value with ephemeral parts."),
            Type::dynamic(),
            |args, _| Ok(ephemeral_as_null(&args[0])),
        )
        .typed(same_type)
        .nullable(),
    ]
}

fn issensitive(args: &[Value], _: &Type) -> Result {
    // An unknown value may still turn out to be another one, of other sensitivity.
    if !args[0].is_known() {
        return Ok(Value::unknown(Type::bool()));
    }
    Ok(Value::bool(args[0].marks().has_sensitive()))
}

fn ephemeral_as_null(value: &Value) -> Value {
    let marks = value.marks().without(&Mark::Ephemeral);
    let ty = value.ty().clone();
    let plain = match value.view_ignoring_marks() {
        View::Null => Value::null(ty),
        // Whether it will be ephemeral is as unknown as the value itself.
        View::Unknown(_) => Value::unknown(ty),
        _ if value.marks().has_ephemeral() => Value::null(ty),
        // The elements of a set carry no marks of their own, but may be unknown.
        View::Set(items) if !value.is_wholly_known() => {
            Value::set(ty.element().cloned().unwrap_or(ty), items.iter().map(ephemeral_as_null).collect())
        }
        View::List(_) | View::Tuple(_) | View::Map(_) | View::Object(_) => {
            value.ignoring_marks().map_children(&mut ephemeral_as_null).into()
        }
        _ => value.unmark().0,
    };
    plain.with_marks(&marks)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, list, n, obj, s, unknown};
    use super::*;
    use expect_test::expect;

    #[test]
    fn only_the_node_itself_is_looked_at() {
        let hidden = || s("x").mark(Mark::Sensitive);
        check(
            &[
                ("sensitive", vec![s("x")]),
                ("sensitive", vec![Value::null_dynamic()]),
                ("nonsensitive", vec![hidden()]),
                ("nonsensitive", vec![n(1)]),
                ("nonsensitive", vec![list([hidden()])]),
                ("nonsensitive", vec![hidden().mark(Mark::Ephemeral)]),
                ("issensitive", vec![hidden()]),
                ("issensitive", vec![list([hidden()])]),
                ("issensitive", vec![unknown(Type::string()).mark(Mark::Sensitive)]),
            ],
            &expect![[r#"
                sensitive("x") = (sensitive)
                sensitive(null(any)) = (sensitive)
                nonsensitive((sensitive)) = "x"
                nonsensitive(1) = 1
                nonsensitive([(sensitive)]) = [(sensitive)]
                nonsensitive((sensitive)) = ephemeral:"x"
                issensitive((sensitive)) = true
                issensitive([(sensitive)]) = false
                issensitive((sensitive)) = unknown(bool)!
            "#]],
        );
    }

    #[test]
    fn ephemeral_values_become_null() {
        let brief = || s("x").mark(Mark::Ephemeral);
        check(
            &[
                ("ephemeralasnull", vec![brief()]),
                ("ephemeralasnull", vec![unknown(Type::string()).mark(Mark::Ephemeral)]),
                ("ephemeralasnull", vec![Value::null(Type::string()).mark(Mark::Ephemeral)]),
                ("ephemeralasnull", vec![obj([("a", list([brief(), s("y")])), ("b", n(1))])]),
                ("ephemeralasnull", vec![list([s("y")]).mark(Mark::Ephemeral)]),
            ],
            &expect![[r#"
                ephemeralasnull(ephemeral:"x") = null(string)
                ephemeralasnull(ephemeral:unknown(string)) = unknown(string)
                ephemeralasnull(ephemeral:null(string)) = null(string)
                ephemeralasnull({a=[ephemeral:"x", "y"], b=1}) = {a=[null(string), "y"], b=1}
                ephemeralasnull(ephemeral:["y"]) = null(list(string))
            "#]],
        );
    }
}
