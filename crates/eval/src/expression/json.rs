//! Strings and objects of JSON syntax.

use ecow::EcoString;
use yuba_syntax::Expr;
use yuba_syntax::expr::{JsonString, ObjectItem};
use yuba_value::{Marks, Type, Value, convert};

use super::Evaluator;
use crate::diagnostics;

impl Evaluator<'_> {
    /// A string is a template.
    pub(super) fn json_string(&mut self, e: &JsonString) -> Value {
        let Some((template, problems)) = &e.template else { return Value::string(e.text.clone()) };
        if problems.has_errors() {
            self.diagnostics.extend(problems.iter().cloned());
            return Value::unknown_dynamic();
        }
        self.eval(template)
    }

    /// An object; its keys are templates.
    pub(super) fn json_object(&mut self, items: &[ObjectItem], expr: &Expr) -> Value {
        let mut attrs: Vec<(EcoString, Value)> = Vec::with_capacity(items.len());
        let mut known = true;
        let mut marks = Marks::NONE;
        for item in items {
            let (key, key_diags) = self.eval_apart(&item.key);
            let (value, value_diags) = self.eval_apart(&item.value);
            self.diagnostics.extend(key_diags);
            self.diagnostics.extend(value_diags);
            let key = match convert::convert(&key, &Type::string()) {
                Ok(key) if key.is_null() => {
                    self.report(diagnostics::json_key("it is null", item.key.span), &item.value);
                    continue;
                }
                Ok(key) => key,
                Err(reason) => {
                    self.report(diagnostics::json_key(&reason.to_string(), item.key.span), &item.value);
                    continue;
                }
            };
            marks = marks.union(key.marks());
            let Some(name) = key.as_str() else {
                known = false;
                continue;
            };
            if attrs.iter().any(|(have, _)| have == name) {
                self.report(diagnostics::json_duplicate(name, item.key.span), expr);
                continue;
            }
            attrs.push((name.clone(), value));
        }
        let result = if known { Value::object(attrs) } else { Value::unknown_dynamic() };
        result.with_marks(&marks)
    }
}
