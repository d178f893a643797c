//! `source[*].each`

use yuba_syntax::Expr;
use yuba_syntax::expr::SplatExpr;
use yuba_value::{Type, Value, View};

use super::Evaluator;
use crate::diagnostics;

impl Evaluator<'_> {
    pub(super) fn splat(&mut self, e: &SplatExpr, expr: &Expr) -> Value {
        let (source, failed) = self.eval_checked(&e.source);
        if failed {
            return Value::unknown_dynamic();
        }
        let is_sequence = source.ty().is_tuple() || source.ty().is_list() || source.ty().is_set();
        if source.is_null() {
            if !is_sequence {
                return Value::tuple(Vec::new()).with_marks(source.marks());
            }
            let context = e.source.span.to(e.marker_span);
            self.report(diagnostics::splat_of_null(e.source.span, context), &e.source);
            return Value::unknown_dynamic();
        }
        if source.ty().is_dynamic() {
            return Value::unknown_dynamic().with_marks(source.marks());
        }
        let marks = source.marks().clone();
        // A single value is a sequence of one; one that may still turn out to be null is of unknown length.
        let undecided = !is_sequence && !source.is_known() && source.range().could_be_null();
        let source = if is_sequence { source.unmark().0 } else { Value::tuple(vec![source]) };
        let (View::List(items) | View::Set(items) | View::Tuple(items)) = source.view_ignoring_marks() else {
            return self.splat_of_unknown(e, &source).with_marks(&marks);
        };
        let mut results = Vec::with_capacity(items.len());
        let mut failed = false;
        for item in items {
            self.splat_items.push(item.clone());
            let (result, item_failed) = self.eval_checked(&e.each);
            self.splat_items.pop();
            failed |= item_failed;
            results.push(result);
        }
        if undecided {
            return Value::unknown_dynamic().with_marks(&marks);
        }
        if failed {
            let (ty, _) = self.apart(|evaluator| evaluator.splat_type(e, source.ty()));
            return Value::unknown(ty).with_marks(&marks);
        }
        if source.ty().is_tuple() {
            return Value::tuple(results).with_marks(&marks);
        }
        let Some(first) = results.first() else {
            let ty = self.splat_type(e, source.ty());
            let element = ty.element().cloned().unwrap_or_else(Type::dynamic);
            return Value::list(element, results).with_marks(&marks);
        };
        match common_type(first.ty(), &results) {
            Some(ty) => {
                let results = results.into_iter().map(|value| typed(value, &ty)).collect();
                Value::list(ty, results).with_marks(&marks)
            }
            None => {
                self.push(diagnostics::nested_splat(e.each.span, expr.span));
                Value::unknown_dynamic()
            }
        }
    }

    fn splat_of_unknown(&mut self, e: &SplatExpr, source: &Value) -> Value {
        let ty = self.splat_type(e, source.ty());
        let is_list = ty.is_list();
        let mut refine = Value::unknown(ty).refine().not_null();
        if is_list && let View::Unknown(unknown) = source.view_ignoring_marks() {
            refine = refine.len_min(unknown.refinement.min_len);
            if let Some(most) = unknown.refinement.max_len {
                refine = refine.len_max(most);
            }
        }
        refine.done()
    }

    /// The type of the result, found by going over unknown items.
    fn splat_type(&mut self, e: &SplatExpr, source: &Type) -> Type {
        let mut each = |ty: &Type| {
            self.splat_items.push(Value::unknown(ty.clone()));
            let result = self.eval(&e.each);
            self.splat_items.pop();
            result.ty().clone()
        };
        match (source.element(), source.tuple_elements()) {
            (Some(element), _) => Type::list(each(element)),
            (None, Some(elements)) => Type::tuple(elements.iter().map(each).collect::<Vec<_>>()),
            (None, None) => Type::dynamic(),
        }
    }
}

/// The element type of a list of these values, if they can be in one: equal types, where an unknown type fits all.
fn common_type(first: &Type, values: &[Value]) -> Option<Type> {
    let mut ty = first.clone();
    for value in values {
        if ty.is_dynamic() {
            ty = value.ty().clone();
        } else if !value.ty().is_dynamic() && *value.ty() != ty {
            return None;
        }
    }
    Some(ty)
}

/// A value of unknown type becomes one of the type of the elements around it.
fn typed(value: Value, ty: &Type) -> Value {
    if !value.ty().is_dynamic() || ty.is_dynamic() {
        return value;
    }
    let typed = if value.is_null() { Value::null(ty.clone()) } else { Value::unknown(ty.clone()) };
    typed.with_marks(value.marks())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn sequences_and_single_values() {
        check(
            &[
                "[{a = 1}, {a = 2}][*].a",
                "[{a = 1}].*.a",
                "tolist([{a = 1}])[*].a",
                "toset([{a = 1}])[*].a",
                "five[*]",
                "null[*]",
                "{a = 1}[*].a",
                "[[1, 2], [3]][*][0]",
                "[[1], [2]][*][*]",
                "tolist([])[*].a",
                "tolist(null)[*]",
                "[1][*].a",
                "tolist([[1, 2]])[*][*]",
            ],
            &expect![[r#"
                [{a = 1}, {a = 2}][*].a => tuple[1, 2]
                [{a = 1}].*.a => tuple[1]
                tolist([{a = 1}])[*].a => [1]
                toset([{a = 1}])[*].a => [1]
                five[*] => tuple[5]
                null[*] => tuple[]
                {a = 1}[*].a => tuple[1]
                [[1, 2], [3]][*][0] => tuple[1, 3]
                [[1], [2]][*][*] => tuple[tuple[1], tuple[2]]
                tolist([])[*].a => []
                tolist(null)[*] => ! Splat of null value at `tolist(null)`
                [1][*].a => ! Unsupported attribute at `.a`
                tolist([[1, 2]])[*][*] => [tuple[1, 2]]
            "#]],
        );
    }

    #[test]
    fn unknown_and_marked() {
        check(
            &[
                "u_any[*].a",
                "u_string[*]",
                "u_object[*].a",
                "u_object[*].c",
                "u_objects[*].a",
                "u_list[*].a",
                "[u_any, 1][*]",
                "secret[*]",
                "s_list[*]",
                "[secret][*]",
            ],
            &expect![[r#"
                u_any[*].a => unknown(any)
                u_string[*] => unknown(any)
                u_object[*].a => unknown(any)
                u_object[*].c => ! Unsupported attribute at `.c`
                u_objects[*].a => unknown(list(string))!
                u_list[*].a => ! Unsupported attribute at `.a`
                [u_any, 1][*] => tuple[unknown(any), 1]
                secret[*] => (sensitive)
                s_list[*] => (sensitive)
                [secret][*] => tuple[(sensitive)]
            "#]],
        );
    }
}
