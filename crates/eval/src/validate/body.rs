//! Bodies by schema, evaluated in a module.

use ecow::EcoString;
use std::sync::{Arc, LazyLock};
use yuba_addrs::Reference;
use yuba_provider::{BlockSchema, EvalExpr, LocalNames, decode, each_expression, ephemeral_problems};
use yuba_syntax::{Body, BodySchema, Diagnostics, Expr};
use yuba_value::Value;

use super::deprecation;
use crate::module_scope::ModuleScope;
use crate::scope::{Names, Scope, eval_checked};

/// The value of a body. Where references are wrong nothing else is reported.
pub(crate) fn eval(scope: &ModuleScope<'_>, body: &Body, schema: &BlockSchema) -> (Value, Diagnostics) {
    eval_of(scope, body, schema, None)
}

/// The value of the body of what has an address.
pub(crate) fn eval_of(
    scope: &ModuleScope<'_>,
    body: &Body,
    schema: &BlockSchema,
    address: Option<&EcoString>,
) -> (Value, Diagnostics) {
    let mut problems = check_references(scope, body, schema);
    if problems.has_errors() {
        problems.extend(unsupported_dynamic_blocks(body, schema));
        return (Value::unknown(schema.implied_type().clone()), problems);
    }
    let (value, mut found) = decode(body, schema, &mut InScope(scope));
    for probe in scope.probes() {
        let mut probed = Diagnostics::new();
        let (_, seen) = decode(body, schema, &mut InScope(&probe));
        probed.extend(seen.into_iter().filter(|problem| problem.is_about_deprecation()));
        deprecation::add_new(&mut found, probed);
    }
    problems.extend(found);
    problems.extend(ephemeral_problems(schema, &value).into_iter().map(|problem| problem.in_body(body, address)));
    (value, problems)
}

/// Quirk: `dynamic` blocks are reported as an unknown block type even where references are wrong.
fn unsupported_dynamic_blocks(body: &Body, schema: &BlockSchema) -> Diagnostics {
    let (_, problems) = decode(body, schema, &mut Unknown);
    let mut found = Diagnostics::new();
    let (content, _, _) = body.partial_content(&DYNAMIC);
    for block in content.blocks.iter().filter_map(|block| block.labels.first()) {
        found.extend(problems.iter().filter(|problem| problem.is_error() && problem.subject == Some(block.1)).cloned());
    }
    found
}

static DYNAMIC: LazyLock<BodySchema> = LazyLock::new(|| BodySchema {
    attributes: Vec::new(),
    blocks: vec![yuba_syntax::body::BlockSchema { kind: "dynamic".into(), labels: vec!["type".into()] }],
});

/// Evaluates every expression to an unknown value.
struct Unknown;

impl EvalExpr for Unknown {
    fn eval(&mut self, _: &Expr, _: &LocalNames) -> (Value, Diagnostics) {
        (Value::unknown_dynamic(), Diagnostics::new())
    }
}

/// Everything a body refers to.
pub(crate) fn references(scope: &ModuleScope<'_>, body: &Body, schema: &BlockSchema) -> (Vec<Reference>, Diagnostics) {
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

/// Evaluates expressions of a body whose references have been checked.
struct InScope<'s, 'a>(&'s ModuleScope<'a>);

impl EvalExpr for InScope<'_, '_> {
    fn eval(&mut self, expr: &Expr, locals: &LocalNames) -> (Value, Diagnostics) {
        let mut names: Vec<(EcoString, Value)> = locals.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
        names.reverse();
        let (value, mut problems) = eval_checked(expr, self.0, self.0.call_context(), names);
        let (value, mut found) = deprecation::extract(self.0, &value, expr.span);
        deprecation::add_hidden(self.0, expr, &mut found);
        problems.extend(found);
        (value, problems)
    }
}
