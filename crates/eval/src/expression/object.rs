//! `{ key = value }`

use ecow::EcoString;
use yuba_syntax::expr::ObjectItem;
use yuba_value::{Marks, Type, Value, convert};

use super::Evaluator;
use crate::diagnostics;

impl Evaluator<'_> {
    pub(super) fn object(&mut self, items: &[ObjectItem]) -> Value {
        let mut attrs: Vec<(EcoString, Value)> = Vec::with_capacity(items.len());
        let mut marks = Marks::NONE;
        let mut known = true;
        for item in items {
            let (key, key_failed) = if item.key_is_bare_traversal {
                self.push(diagnostics::ambiguous_key(item.key.span));
                (Value::unknown_dynamic(), true)
            } else {
                self.eval_checked(&item.key)
            };
            let value = self.eval(&item.value);
            if key_failed {
                known = false;
                continue;
            }
            if key.is_null() {
                // Quirk: the message points at the value.
                self.report(diagnostics::null_key(item.value.span), &item.key);
                known = false;
                continue;
            }
            marks = marks.union(key.marks());
            let (key, _) = key.unmark();
            match convert::convert(&key, &Type::string()) {
                Ok(key) => match key.as_str() {
                    Some(name) => attrs.push((name.clone(), value)),
                    None => known = false,
                },
                Err(reason) => {
                    self.report(diagnostics::key_type(&reason.to_string(), item.key.span), &item.key);
                    known = false;
                }
            }
        }
        let result = if known { Value::object(attrs) } else { Value::unknown_dynamic() };
        result.with_marks(&marks)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::expression::tests::check;

    #[test]
    fn keys() {
        check(
            &[
                "{a = 1, \"b\" = 2, (\"c\") = 3, 4 = 5, true = 6}",
                "{a = 1, a = 2}",
                "{(u_string) = 1}",
                "{(secret) = 1}",
                "{a = secret}",
                "{(null) = 1}",
                "{([]) = 1}",
                "{a.b = 1}",
                "{({}.x) = {}.y}",
                "{\"${five}\" = 1}",
            ],
            &expect![[r#"
                {a = 1, "b" = 2, ("c") = 3, 4 = 5, true = 6} => {4=5, a=1, b=2, c=3, true=6}
                {a = 1, a = 2} => {a=2}
                {(u_string) = 1} => unknown(any)
                {(secret) = 1} => (sensitive)
                {a = secret} => {a=(sensitive)}
                {(null) = 1} => ! Null value as key at `1`
                {([]) = 1} => ! Incorrect key type at `([])`
                {a.b = 1} => ! Ambiguous attribute key at `a.b`
                {({}.x) = {}.y} => ! Unsupported attribute at `.x` ! Unsupported attribute at `.y`
                {"${five}" = 1} => {5=1}
            "#]],
        );
    }
}
