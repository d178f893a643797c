//! Operators: conversion of operands, short circuits, and the operation itself.

use yuba_syntax::expr::{BinaryExpr, BinaryOp, UnaryExpr, UnaryOp};
use yuba_syntax::{Diagnostic, Expr};
use yuba_value::ops::{self, OpError};
use yuba_value::{Marks, Type, Value, convert};

use super::{Evaluator, has_errors};
use crate::diagnostics;

impl Evaluator<'_> {
    pub(super) fn binary(&mut self, e: &BinaryExpr, expr: &Expr) -> Value {
        let operand_type = operand_type(e.op);
        let result_type = result_type(e.op);
        let (left, left_diags) = self.eval_apart(&e.left);
        let left = convert_operand(left, operand_type.as_ref());
        if let Err(reason) = &left {
            self.report(diagnostics::invalid_operand("left", reason, e.left.span, expr.span), &e.left);
        }
        let (right, right_diags) = self.eval_apart(&e.right);
        let right = convert_operand(right, operand_type.as_ref());
        if let Err(reason) = &right {
            self.report(diagnostics::invalid_operand("right", reason, e.right.span, expr.span), &e.right);
        }
        let (Ok(left), Ok(right)) = (left, right) else {
            self.diagnostics.extend(left_diags);
            self.diagnostics.extend(right_diags);
            return Value::unknown(result_type);
        };
        let marks = left.marks().union(right.marks());
        let (left, right) = (left.unmark().0, right.unmark().0);
        match self.short_circuit(e.op, (&left, &left_diags), (&right, &right_diags)) {
            Some((value, Side::Left)) => {
                self.diagnostics.extend(left_diags);
                return value.with_marks(&marks);
            }
            Some((value, Side::Right)) => {
                self.diagnostics.extend(right_diags);
                return value.with_marks(&marks);
            }
            None => {}
        }
        let failed = has_errors(&left_diags) || has_errors(&right_diags);
        self.diagnostics.extend(left_diags);
        self.diagnostics.extend(right_diags);
        if failed {
            return Value::unknown(result_type).with_marks(&marks);
        }
        match operate(e.op, &left, &right) {
            Ok(value) => value.with_marks(&marks),
            Err(reason) => {
                self.report(diagnostics::operation_failed(&reason.to_string(), expr.span), expr);
                Value::unknown(result_type)
            }
        }
    }

    /// If one side of a logical operator decides: its value and the side whose diagnostics stay.
    fn short_circuit(
        &self,
        op: BinaryOp,
        (left, left_diags): (&Value, &[Diagnostic]),
        (right, _): (&Value, &[Diagnostic]),
    ) -> Option<(Value, Side)> {
        let decisive = match op {
            BinaryOp::Or => true,
            BinaryOp::And => false,
            _ => return None,
        };
        let unknown = || Value::unknown(Type::bool()).refine_not_null();
        // Quirk: null counts as false here, so `null && true` is false, while `null || false` is an error.
        let decides = |value: &Value| value.is_known() && (value.as_bool() == Some(true)) == decisive;
        match (left.is_known(), right.is_known()) {
            (false, false) if has_errors(left_diags) => None,
            (false, false) => Some((unknown(), Side::Left)),
            _ if decides(left) => Some((Value::bool(decisive), Side::Left)),
            _ if decides(right) => Some((Value::bool(decisive), Side::Right)),
            (false, true) => Some((unknown(), Side::Left)),
            (true, false) => Some((unknown(), Side::Right)),
            (true, true) => None,
        }
    }

    pub(super) fn unary(&mut self, e: &UnaryExpr, expr: &Expr) -> Value {
        let ty = match e.op {
            UnaryOp::Negate => Type::number(),
            UnaryOp::Not => Type::bool(),
        };
        let (operand, failed) = self.eval_checked(&e.operand);
        let operand = match convert_operand(operand, Some(&ty)) {
            Ok(operand) if !failed => operand,
            Ok(_) => return Value::unknown(ty),
            Err(reason) => {
                self.report(diagnostics::invalid_operand("only", &reason, e.operand.span, expr.span), &e.operand);
                return Value::unknown(ty);
            }
        };
        let result = match e.op {
            _ if operand.is_null() => Err(OpError::Null { operand: 0 }),
            _ if !operand.is_known() => Ok(Value::unknown(ty.clone()).refine_not_null().with_marks(operand.marks())),
            UnaryOp::Negate => ops::neg(&operand),
            UnaryOp::Not => ops::not(&operand),
        };
        result.unwrap_or_else(|reason| {
            self.report(diagnostics::operation_failed(&reason.to_string(), expr.span), expr);
            Value::unknown(ty)
        })
    }
}

/// Whose diagnostics count.
enum Side {
    Left,
    Right,
}

fn convert_operand(value: Value, ty: Option<&Type>) -> Result<Value, String> {
    match ty {
        Some(ty) if value.ty() != ty => convert::convert(&value, ty).map_err(|e| e.to_string()),
        _ => Ok(value),
    }
}

/// Type that both operands are converted to; `None` for operators that accept any type.
fn operand_type(op: BinaryOp) -> Option<Type> {
    match op {
        BinaryOp::Or | BinaryOp::And => Some(Type::bool()),
        BinaryOp::Equal | BinaryOp::NotEqual => None,
        _ => Some(Type::number()),
    }
}

fn result_type(op: BinaryOp) -> Type {
    match op {
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => Type::number(),
        _ => Type::bool(),
    }
}

/// The operation on operands without own marks.
fn operate(op: BinaryOp, left: &Value, right: &Value) -> Result<Value, OpError> {
    let arithmetic = |f: fn(&Value, &Value) -> ops::OpResult| {
        if left.is_null() || right.is_null() {
            return Err(OpError::Null { operand: usize::from(!left.is_null()) });
        }
        // Of an arithmetic result with an unknown operand nothing is known but that it is not null.
        if !left.is_known() || !right.is_known() {
            return Ok(Value::unknown(Type::number()).refine_not_null());
        }
        f(left, right)
    };
    match op {
        BinaryOp::Or | BinaryOp::And if left.is_null() || right.is_null() => {
            Err(OpError::Null { operand: usize::from(!left.is_null()) })
        }
        BinaryOp::Or => ops::or(left, right),
        BinaryOp::And => ops::and(left, right),
        BinaryOp::Equal | BinaryOp::NotEqual => {
            // Marks inside go to the result as a whole, unless it depends on nothing inside.
            let one_is_nothing = left.is_known() && right.is_known() && left.is_null() != right.is_null();
            let (left, left_marks) = left.unmark_deep();
            let (right, right_marks) = right.unmark_deep();
            let result =
                if op == BinaryOp::Equal { ops::equals(&left, &right) } else { ops::not_equals(&left, &right) };
            let marks = if one_is_nothing { Marks::NONE } else { left_marks.union(&right_marks) };
            Ok(result.refine_not_null().with_marks(&marks))
        }
        BinaryOp::Greater => ops::greater_than(left, right),
        BinaryOp::GreaterEqual => ops::greater_than_or_equal(left, right),
        BinaryOp::Less => ops::less_than(left, right),
        BinaryOp::LessEqual => ops::less_than_or_equal(left, right),
        BinaryOp::Add => arithmetic(ops::add),
        BinaryOp::Subtract => arithmetic(ops::sub),
        BinaryOp::Multiply => arithmetic(ops::mul),
        BinaryOp::Divide => arithmetic(ops::div),
        BinaryOp::Modulo => arithmetic(ops::rem),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn operands_are_converted() {
        check(
            &["\"1\" + 2", "1 + \"x\"", "[] + {}", "!\"true\"", "-\"5\"", "!5", "1 == \"1\"", "true || \"x\""],
            &expect![[r#"
                "1" + 2 => 3
                1 + "x" => ! Invalid operand at `"x"`
                [] + {} => ! Invalid operand at `[]` ! Invalid operand at `{}`
                !"true" => false
                -"5" => -5
                !5 => ! Invalid operand at `5`
                1 == "1" => false
                true || "x" => ! Invalid operand at `"x"`
            "#]],
        );
    }

    #[test]
    fn null_operands() {
        check(
            &["null + 1", "null == null", "!null", "null || true", "null || false", "null && true", "false && null"],
            &expect![[r#"
                null + 1 => ! Operation failed at `null + 1`
                null == null => true
                !null => ! Operation failed at `!null`
                null || true => true
                null || false => ! Operation failed at `null || false`
                null && true => false
                false && null => false
            "#]],
        );
    }

    #[test]
    fn unknown_operands() {
        check(
            &[
                "u_number + 1",
                "u_any + 1",
                "u_number > 1",
                "u_bool || true",
                "u_bool && true",
                "u_bool || u_any",
                "u_string == null",
                "u_bool == true",
                "-u_number",
                "!u_any",
                "u_bool || {}.x",
                "false || {}.x",
                "true || {}.x",
                "{}.x || true",
                "u_list == []",
            ],
            &expect![[r#"
                u_number + 1 => unknown(number)!
                u_any + 1 => unknown(number)!
                u_number > 1 => unknown(bool)!
                u_bool || true => true
                u_bool && true => unknown(bool)!
                u_bool || u_any => unknown(bool)!
                u_string == null => unknown(bool)!
                u_bool == true => unknown(bool)!
                -u_number => unknown(number)!
                !u_any => unknown(bool)!
                u_bool || {}.x => unknown(bool)!
                false || {}.x => ! Unsupported attribute at `.x`
                true || {}.x => true
                {}.x || true => true
                u_list == [] => false
            "#]],
        );
    }

    #[test]
    fn marks_reach_the_result() {
        check(
            &["secret == \"x\"", "[secret] == [1]", "s_true && false", "!s_true", "1 / 0", "0 / 0", "5 % 0", "7 % 3"],
            &expect![[r#"
                secret == "x" => (sensitive)
                [secret] == [1] => (sensitive)
                s_true && false => (sensitive)
                !s_true => (sensitive)
                1 / 0 => +Inf
                0 / 0 => ! Operation failed at `0 / 0`
                5 % 0 => 5
                7 % 3 => 1
            "#]],
        );
    }
}
