//! `condition ? if_true : if_false`

use ecow::{EcoString, eco_format};
use yuba_syntax::Expr;
use yuba_syntax::expr::ConditionalExpr;
use yuba_value::convert::{self, Allow, Unified};
use yuba_value::{Bound, Mark, Type, TypeKind, Value};

use super::Evaluator;
use crate::diagnostics;

impl Evaluator<'_> {
    pub(super) fn conditional(&mut self, e: &ConditionalExpr, expr: &Expr) -> Value {
        let (if_true, true_diags) = self.eval_apart(&e.if_true);
        let (if_false, false_diags) = self.eval_apart(&e.if_false);
        // A null without type fits any type, and a value of unknown type may turn out to fit.
        let literal_null = |v: &Value| v.is_null() && v.ty().is_dynamic() && v.marks().is_empty();
        let mut unified: Option<Unified> = None;
        let ty = if literal_null(&if_true) {
            Some(if_false.ty().clone())
        } else if literal_null(&if_false) {
            Some(if_true.ty().clone())
        } else if if_true.ty().is_dynamic() || if_false.ty().is_dynamic() {
            Some(Type::dynamic())
        } else if if_true.ty() == if_false.ty() {
            Some(if_true.ty().clone())
        } else {
            unified = convert::unify_with([if_true.ty(), if_false.ty()], Allow::Unsafe);
            unified.as_ref().map(|unified| unified.ty.clone())
        };
        let Some(ty) = ty else {
            let difference = difference(if_true.ty(), if_false.ty());
            let results = e.if_true.span.to(e.if_false.span);
            self.report(diagnostics::inconsistent_conditional(&difference, results, expr.span), expr);
            return Value::unknown_dynamic();
        };
        let condition = self.eval(&e.condition);
        if condition.is_null() {
            self.report(diagnostics::null_condition(e.condition.span, expr.span), &e.condition);
            return Value::unknown(ty);
        }
        let (if_true, true_marks) = if_true.unmark();
        let (if_false, false_marks) = if_false.unmark();
        let marks = condition.marks().clone();
        if !condition.is_known() {
            return undecided(&if_true, &if_false, &ty).with_marks(&marks.union(&true_marks).union(&false_marks));
        }
        let Some(condition) = convert::convert(&condition, &Type::bool()).ok().and_then(|c| c.as_bool()) else {
            self.report(diagnostics::condition_type(e.condition.span, expr.span), &e.condition);
            return Value::unknown(ty);
        };
        let (position, result, diags, source, which) = match condition {
            true => (0, if_true, true_diags, &e.if_true, "true"),
            false => (1, if_false, false_diags, &e.if_false, "false"),
        };
        // Quirk: the other result stays sensitive. But a deprecated value that is not used is not reported.
        let (own, other) = if condition { (true_marks, false_marks) } else { (false_marks, true_marks) };
        let marks = marks.union(&own).union(&other.filter(|mark| !matches!(mark, Mark::Deprecated(_))));
        self.diagnostics.extend(diags);
        let converted = match unified {
            Some(unified) => unified.convert(position, &result),
            None if ty.is_dynamic() || *result.ty() == ty => Ok(result.clone()),
            None => convert::convert(&result, &ty),
        };
        let converted = converted.unwrap_or_else(|reason| {
            let diagnostic =
                diagnostics::conditional_result(which, &reason.located_in(&result), source.span, expr.span);
            self.report(diagnostic, source);
            Value::unknown(ty)
        });
        converted.with_marks(&marks)
    }
}

/// Known properties of the result while the condition is unknown.
fn undecided(if_true: &Value, if_false: &Value, ty: &Type) -> Value {
    if if_true.is_null() && if_false.is_null() {
        return Value::null(ty.clone());
    }
    let (a, b) = (if_true.range(), if_false.range());
    let not_null = a.definitely_not_null() && b.definitely_not_null();
    let number = Type::number();
    if *if_true.ty() == number && *if_false.ty() == number {
        let mut refine = Value::unknown(number).refine();
        if not_null {
            refine = refine.not_null();
        }
        if let (Some(x), Some(y)) = (a.known.min, b.known.min) {
            refine = refine.number_min(outer(x, y, |x, y| x < y));
        }
        if let (Some(x), Some(y)) = (a.known.max, b.known.max) {
            refine = refine.number_max(outer(x, y, |x, y| x > y));
        }
        return refine.done();
    }
    let unknown = Value::unknown(ty.clone());
    if if_true.ty().is_collection() && if_true.ty() == if_false.ty() {
        let mut refine = unknown.refine();
        if not_null {
            refine = refine.not_null();
        }
        refine = refine.len_min(a.known.min_len.min(b.known.min_len));
        if let (Some(x), Some(y)) = (a.known.max_len, b.known.max_len) {
            refine = refine.len_max(x.max(y));
        }
        return refine.done();
    }
    if not_null { unknown.refine_not_null() } else { unknown }
}

/// The wider of two bounds; of equal ones the one that includes its limit.
fn outer(x: Bound, y: Bound, wider: fn(&yuba_value::Number, &yuba_value::Number) -> bool) -> Bound {
    if wider(&x.value, &y.value) {
        x
    } else if wider(&y.value, &x.value) {
        y
    } else {
        Bound { inclusive: x.inclusive || y.inclusive, value: x.value }
    }
}

/// Difference of two incompatible types, as a sentence without full stop.
fn difference(a: &Type, b: &Type) -> EcoString {
    match (a.kind(), b.kind()) {
        (TypeKind::Object(a_attrs), TypeKind::Object(b_attrs)) => {
            for attr in a_attrs {
                match b.attr(&attr.name) {
                    None => return eco_format!("Only the 'true' result has an attribute {:?}", attr.name),
                    Some(other) if other.ty != attr.ty => {
                        return eco_format!(
                            "They differ in attribute {:?}: {}",
                            attr.name,
                            difference(&attr.ty, &other.ty)
                        );
                    }
                    Some(_) => {}
                }
            }
            for attr in b_attrs {
                if a.attr(&attr.name).is_none() {
                    return eco_format!("Only the 'false' result has an attribute {:?}", attr.name);
                }
            }
        }
        (TypeKind::Tuple(a_items), TypeKind::Tuple(b_items)) => {
            if a_items.len() != b_items.len() {
                let (a, b) = (a_items.len(), b_items.len());
                return eco_format!("The 'true' result is a tuple of length {a}, the 'false' result one of length {b}");
            }
            if let Some(at) = a_items.iter().zip(b_items.iter()).position(|(a, b)| a != b) {
                return eco_format!("They differ in tuple element {at}: {}", difference(&a_items[at], &b_items[at]));
            }
        }
        (TypeKind::List(x), TypeKind::List(y))
        | (TypeKind::Set(x), TypeKind::Set(y))
        | (TypeKind::Map(x), TypeKind::Map(y))
            if (x.is_object() && y.is_object()) || (x.is_tuple() && y.is_tuple()) =>
        {
            return eco_format!("Their elements differ: {}", difference(x, y));
        }
        _ => {}
    }
    let (a, b) = (a.friendly_name(), b.friendly_name());
    if a == b {
        return "Somewhere inside, the two results differ in type".into();
    }
    eco_format!("The 'true' result is {a}, the 'false' result is {b}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn both_results_become_one_type() {
        check(
            &[
                "true ? 1 : \"a\"",
                "true ? null : 1",
                "false ? null : [1]",
                "true ? {a = 1} : {b = \"x\"}",
                "true ? [1] : [\"a\", 2]",
                "true ? 1 : [1]",
                "true ? {a = 1} : {a = []}",
                "true ? [1, {}] : [1, [2]]",
                "true ? u_any : 1",
                "false ? \"a\" : u_number",
            ],
            &expect![[r#"
                true ? 1 : "a" => "1"
                true ? null : 1 => null(number)
                false ? null : [1] => tuple[1]
                true ? {a = 1} : {b = "x"} => {"a": "1"}
                true ? [1] : ["a", 2] => ["1"]
                true ? 1 : [1] => ! Inconsistent conditional result types at `1 : [1]`
                true ? {a = 1} : {a = []} => ! Inconsistent conditional result types at `{a = 1} : {a = []}`
                true ? [1, {}] : [1, [2]] => ! Inconsistent conditional result types at `[1, {}] : [1, [2]]`
                true ? u_any : 1 => unknown(any)
                false ? "a" : u_number => unknown(string)
            "#]],
        );
    }

    #[test]
    fn conditions() {
        check(
            &["null ? 1 : 2", "\"a\" ? 1 : 2", "\"true\" ? 1 : 2", "s_true ? 1 : 2", "five ? 1 : 2", "true ? 1 : {}.x"],
            &expect![[r#"
                null ? 1 : 2 => ! Null condition at `null`
                "a" ? 1 : 2 => ! Incorrect condition type at `"a"`
                "true" ? 1 : 2 => 1
                s_true ? 1 : 2 => (sensitive)
                five ? 1 : 2 => ! Incorrect condition type at `five`; five is 5
                true ? 1 : {}.x => 1
            "#]],
        );
    }

    #[test]
    fn unknown_conditions_keep_shared_refinements() {
        check(
            &[
                "u_bool ? 1 : 2",
                "u_bool ? 3 : 3",
                "u_bool ? \"a\" : \"b\"",
                "u_bool ? \"a\" : null",
                "u_bool ? null : null",
                "u_bool ? secret : \"b\"",
                "u_bool ? tolist([1]) : tolist([2])",
                "u_bool ? tolist([]) : u_list",
                "u_bool ? [] : [1]",
            ],
            &expect![[r#"
                u_bool ? 1 : 2 => unknown(number)! >= 1 <= 2
                u_bool ? 3 : 3 => 3
                u_bool ? "a" : "b" => unknown(string)!
                u_bool ? "a" : null => unknown(string)
                u_bool ? null : null => null(any)
                u_bool ? secret : "b" => (sensitive)
                u_bool ? tolist([1]) : tolist([2]) => [unknown(number)]
                u_bool ? tolist([]) : u_list => unknown(list(string))
                u_bool ? [] : [1] => unknown(list(number))!
            "#]],
        );
    }
}
