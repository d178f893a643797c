//! Bodies by schema, evaluated in a module.

use ecow::EcoString;
use std::sync::Arc;
use yuba_addrs::Reference;
use yuba_provider::{BlockSchema, EvalExpr, LocalNames, decode, each_expression, ephemeral_problems};
use yuba_syntax::{Body, Diagnostics, Expr};
use yuba_value::Value;

use super::deprecation;
use crate::module_scope::ModuleScope;
use crate::scope::{Names, Scope, eval_checked};

/// The value of a body. Where references are wrong nothing else is said.
pub(super) fn eval(scope: &ModuleScope<'_>, body: &Body, schema: &BlockSchema) -> (Value, Diagnostics) {
    let mut problems = check_references(scope, body, schema);
    if problems.has_errors() {
        return (Value::unknown(schema.implied_type().clone()), problems);
    }
    let (value, found) = decode(body, schema, &mut InScope(scope));
    problems.extend(found);
    problems.extend(ephemeral_problems(schema, &value).into_iter().map(|problem| problem.in_body(body, None)));
    (value, problems)
}

/// Everything a body refers to.
pub(super) fn references(scope: &ModuleScope<'_>, body: &Body, schema: &BlockSchema) -> (Vec<Reference>, Diagnostics) {
    let mut exprs: Vec<(Arc<Expr>, Vec<EcoString>)> = Vec::new();
    each_expression(body, schema, &mut |expr, iterators| exprs.push((expr.clone(), iterators.to_vec())));
    let mut problems = Diagnostics::new();
    let mut references = Vec::new();
    for (expr, iterators) in &exprs {
        let (names, found) = Names::of(expr, scope, &|root| iterators.iter().any(|name| name == root));
        problems.extend(found);
        references.extend(names.into_references());
    }
    (references, problems)
}

fn check_references(scope: &ModuleScope<'_>, body: &Body, schema: &BlockSchema) -> Diagnostics {
    let (references, mut problems) = references(scope, body, schema);
    let mut found = Diagnostics::new();
    for reference in &references {
        found.extend(scope.check(reference));
    }
    if !found.has_errors() {
        for reference in &references {
            found.extend(scope.start(reference).2);
        }
    }
    problems.extend(found);
    problems
}

/// Answers for a body whose references have been checked.
struct InScope<'s, 'a>(&'s ModuleScope<'a>);

impl EvalExpr for InScope<'_, '_> {
    fn eval(&mut self, expr: &Expr, locals: &LocalNames) -> (Value, Diagnostics) {
        let mut names: Vec<(EcoString, Value)> = locals.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
        names.reverse();
        let (value, mut problems) =
            eval_checked(expr, self.0, self.0.evaluation().call_context(self.0.module()), names);
        let (value, found) = deprecation::extract(self.0, &value, expr.span);
        problems.extend(found);
        (value, problems)
    }
}
