//! `[for x in y : z]` and `{for k, v in y : k => v}`

use ecow::EcoString;
use foldhash::HashMap;
use yuba_syntax::Expr;
use yuba_syntax::expr::ForExpr;
use yuba_value::{Marks, Type, Value, convert};

use super::{ELEMENT_BYTES, Evaluator, each_element};
use crate::diagnostics;

/// Results of one evaluation of a `for`.
#[derive(Default)]
struct Collected {
    tuple: Vec<Value>,
    keys: HashMap<EcoString, usize>,
    object: Vec<(EcoString, Vec<Value>)>,
    marks: Marks,
    unknown: bool,
    stopped: bool,
}

impl Evaluator<'_> {
    pub(super) fn for_expr(&mut self, e: &ForExpr, expr: &Expr) -> Value {
        let collection = self.eval(&e.collection);
        if collection.is_null() {
            self.report(diagnostics::for_over_null(e.collection.span, expr.span), &e.collection);
            return Value::unknown_dynamic();
        }
        if collection.ty().is_dynamic() {
            return Value::unknown_dynamic().with_marks(collection.marks());
        }
        let (collection, collection_marks) = collection.unmark();
        if !collection.can_iterate() {
            let kind = collection.ty().friendly_name();
            self.report(diagnostics::for_over_primitive(&kind, e.collection.span, expr.span), &e.collection);
            return Value::unknown_dynamic();
        }
        let outer = self.locals.len();
        self.locals.extend(e.key_name.iter().map(|name| (name.clone(), Value::unknown_dynamic())));
        self.locals.push((e.value_name.clone(), Value::unknown_dynamic()));
        let result = self.for_elements(e, expr, &collection, &collection_marks);
        self.locals.truncate(outer);
        result
    }

    fn for_elements(&mut self, e: &ForExpr, expr: &Expr, collection: &Value, collection_marks: &Marks) -> Value {
        // The condition is tried once with unknown names, so that a wrong type is reported once only.
        let mut condition_marks = Marks::NONE;
        if let Some(condition) = &e.condition {
            match self.trial_condition(condition, expr) {
                Some(marks) => condition_marks = marks,
                None => return Value::unknown_dynamic(),
            }
        }
        if !collection.is_known() {
            return Value::unknown_dynamic().with_marks(collection_marks).with_marks(&condition_marks);
        }
        let mut collected = Collected { marks: collection_marks.clone(), ..Collected::default() };
        each_element(collection, |key, value| {
            collected.stopped = collected.stopped || !self.another_round(expr.span);
            if collected.stopped {
                return;
            }
            self.set_locals(e, key, value.clone());
            if let Some(condition) = &e.condition
                && !self.included(condition, e, expr, &mut collected)
            {
                return;
            }
            match &e.key {
                None => {
                    let value = self.eval(&e.value);
                    collected.tuple.push(value);
                }
                Some(key) => self.keyed(e, key, expr, &mut collected),
            }
            collected.stopped = !self.afford(ELEMENT_BYTES, expr.span);
        });
        if collected.unknown || collected.stopped {
            return Value::unknown_dynamic().with_marks(&collected.marks);
        }
        let result = match &e.key {
            None => Value::tuple(collected.tuple),
            Some(_) if e.group => {
                Value::object(collected.object.into_iter().map(|(key, values)| (key, Value::tuple(values))).collect())
            }
            Some(_) => Value::object(
                collected
                    .object
                    .into_iter()
                    .filter_map(|(key, values)| Some((key, values.into_iter().next()?)))
                    .collect(),
            ),
        };
        result.with_marks(&collected.marks)
    }

    fn set_locals(&mut self, e: &ForExpr, key: Value, value: Value) {
        let count = self.locals.len();
        if let Some((_, slot)) = self.locals.get_mut(count - 1) {
            *slot = value;
        }
        if e.key_name.is_some()
            && let Some((_, slot)) = self.locals.get_mut(count - 2)
        {
            *slot = key;
        }
    }

    /// The condition with names that are not known yet: its marks, or `None` where it cannot work.
    fn trial_condition(&mut self, condition: &Expr, expr: &Expr) -> Option<Marks> {
        let (value, failed) = self.eval_checked(condition);
        if value.is_null() {
            self.report(diagnostics::for_condition_always_null(condition.span, expr.span), condition);
            return None;
        }
        if let Err(reason) = convert::convert(&value, &Type::bool()) {
            self.report(diagnostics::for_condition(&reason.to_string(), condition.span, expr.span), condition);
            return None;
        }
        (!failed).then(|| value.marks().clone())
    }

    /// Whether the condition lets the element pass.
    fn included(&mut self, condition: &Expr, e: &ForExpr, expr: &Expr, collected: &mut Collected) -> bool {
        let value = self.eval(condition);
        if value.is_null() {
            if !collected.unknown {
                let diagnostic = diagnostics::for_condition_null(condition.span, expr.span);
                self.report(diagnostic, condition);
            }
            collected.unknown = true;
            return false;
        }
        collected.marks = collected.marks.union(value.marks());
        // For tuples an unknown condition is not looked at closer; for objects its type still counts.
        if !value.is_known() && e.key.is_none() {
            collected.unknown = true;
            return false;
        }
        match convert::convert(&value, &Type::bool()) {
            Ok(value) => match value.as_bool() {
                Some(included) => included,
                None => {
                    collected.unknown = true;
                    false
                }
            },
            Err(reason) => {
                if !collected.unknown {
                    let diagnostic = diagnostics::for_condition(&reason.to_string(), condition.span, expr.span);
                    self.report(diagnostic, condition);
                }
                collected.unknown = true;
                false
            }
        }
    }

    /// One item of an object.
    fn keyed(&mut self, e: &ForExpr, key_expr: &Expr, expr: &Expr, collected: &mut Collected) {
        let key = self.eval(key_expr);
        if key.is_null() {
            if !collected.unknown {
                self.report(diagnostics::for_key_null(key_expr.span, expr.span), key_expr);
            }
            collected.unknown = true;
            return;
        }
        collected.marks = collected.marks.union(key.marks());
        if !key.is_known() {
            collected.unknown = true;
            return;
        }
        let name = match convert::convert(&key, &Type::string()) {
            Ok(name) => name,
            Err(reason) => {
                if !collected.unknown {
                    self.report(diagnostics::for_key(&reason.to_string(), key_expr.span, expr.span), key_expr);
                }
                collected.unknown = true;
                return;
            }
        };
        let value = self.eval(&e.value);
        let Some(name) = name.as_str() else {
            collected.unknown = true;
            return;
        };
        match collected.keys.get(name).copied() {
            None => {
                collected.keys.insert(name.clone(), collected.object.len());
                collected.object.push((name.clone(), vec![value]));
            }
            Some(at) if e.group => {
                if let Some((_, values)) = collected.object.get_mut(at) {
                    values.push(value);
                }
            }
            Some(_) => {
                let secret = key.marks().has_sensitive() || key.marks().has_ephemeral();
                let diagnostic = match secret {
                    true => diagnostics::for_duplicate_secret_key(key_expr.span, expr.span),
                    false => diagnostics::for_duplicate_key(name, key_expr.span, expr.span),
                };
                self.report(diagnostic, key_expr);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn every_kind_of_collection() {
        check(
            &[
                "[for x in [1, 2] : x * 2]",
                "[for i, x in [\"a\"] : i]",
                "[for k, v in {b = 1, a = 2} : \"${k}${v}\"]",
                "[for k, v in toset([\"b\", \"a\"]) : k == v]",
                "{for k, v in {a = 1} : upper(k) => v}",
                "{for x in [\"a\", \"b\", \"a\"] : x => 1...}",
                "[for x in [1, 2, 3] : x if x > 1]",
                "[for x in [] : x]",
                "[for x in [1] : [for x in [2] : x]]",
            ],
            &expect![[r#"
                [for x in [1, 2] : x * 2] => tuple[2, 4]
                [for i, x in ["a"] : i] => tuple[0]
                [for k, v in {b = 1, a = 2} : "${k}${v}"] => tuple["a2", "b1"]
                [for k, v in toset(["b", "a"]) : k == v] => tuple[true, true]
                {for k, v in {a = 1} : upper(k) => v} => {A=1}
                {for x in ["a", "b", "a"] : x => 1...} => {a=tuple[1, 1], b=tuple[1]}
                [for x in [1, 2, 3] : x if x > 1] => tuple[2, 3]
                [for x in [] : x] => tuple[]
                [for x in [1] : [for x in [2] : x]] => tuple[tuple[2]]
            "#]],
        );
    }

    #[test]
    fn unknown_and_marked() {
        check(
            &[
                "[for x in u_any : x]",
                "[for x in u_list : x]",
                "[for x in [u_string] : x]",
                "[for x in [1] : x if u_bool]",
                "{for x in [u_string] : x => 1}",
                "[for x in s_list : x]",
                "{for x in s_list : x => 1}",
                "{for x in [secret] : x => 1}",
                "[for x in [1] : x if s_true]",
                "[for x in u_list : x if s_true]",
                "[for x in [secret] : x]",
            ],
            &expect![[r#"
                [for x in u_any : x] => unknown(any)
                [for x in u_list : x] => unknown(any)
                [for x in [u_string] : x] => tuple[unknown(string)]
                [for x in [1] : x if u_bool] => unknown(any)
                {for x in [u_string] : x => 1} => unknown(any)
                [for x in s_list : x] => (sensitive)
                {for x in s_list : x => 1} => (sensitive)
                {for x in [secret] : x => 1} => (sensitive)
                [for x in [1] : x if s_true] => (sensitive)
                [for x in u_list : x if s_true] => (sensitive)
                [for x in [secret] : x] => tuple[(sensitive)]
            "#]],
        );
    }

    #[test]
    fn a_result_beyond_the_budget_is_an_error() {
        let text = "[for a in range(40) : [for b in range(40) : [for c in range(40) : 1]]]";
        check(
            &[text, &format!("try({text}, 1)"), "[for a in range(500) : [for b in range(500) : 1 if false]]"],
            &expect![[r#"
                [for a in range(40) : [for b in range(40) : [for c in range(40) : 1]]] => ! Result too large at `range(40)`
                try([for a in range(40) : [for b in range(40) : [for c in range(40) : 1]]], 1) => ! Result too large at `range(40)`
                [for a in range(500) : [for b in range(500) : 1 if false]] => ! Too many iterations at `[for b in range(500) : 1 if false]`
            "#]],
        );
    }

    #[test]
    fn error_cases() {
        check(
            &[
                "[for x in null : x]",
                "[for x in 5 : x]",
                "[for x in [1] : x if null]",
                "[for x in [1] : x if []]",
                "[for x in [null] : 1 if x]",
                "[for x in [[], {}] : 1 if x]",
                "{for x in [1, 1] : x => x}",
                "{for x in [null] : x => x}",
                "{for x in [[]] : x => x}",
                "[for x in [1, 2] : x.y]",
                "[for x in [five] : y]",
            ],
            &expect![[r#"
                [for x in null : x] => ! Iteration over null value at `null`
                [for x in 5 : x] => ! Iteration over non-iterable value at `5`
                [for x in [1] : x if null] => ! Condition is null at `null`
                [for x in [1] : x if []] => ! Invalid 'for' condition at `[]`
                [for x in [null] : 1 if x] => ! Invalid 'for' condition at `x`; x is null
                [for x in [[], {}] : 1 if x] => ! Invalid 'for' condition at `x`; x is empty tuple
                {for x in [1, 1] : x => x} => ! Duplicate object key at `x`; x is 1
                {for x in [null] : x => x} => ! Invalid object key at `x`; x is null
                {for x in [[]] : x => x} => ! Invalid object key at `x`; x is empty tuple
                [for x in [1, 2] : x.y] => ! Unsupported attribute at `.y`; x is 1 ! Unsupported attribute at `.y`; x is 2
                [for x in [five] : y] => ! Unknown variable at `y`
            "#]],
        );
    }
}
