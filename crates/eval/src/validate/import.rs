//! `import` blocks: the expressions that say what to import.

use ecow::eco_format;
use yuba_config::import::Import;
use yuba_config::resource::Resource;
use yuba_syntax::{Diagnostics, Expr};
use yuba_value::{Type, Value, View, convert};

use super::{deprecation, diagnostics, repetition};
use crate::module_scope::{Evaluation, InstanceValues, ModuleScope};
use crate::static_eval::for_each as for_each_value;
use crate::tree::ModuleId;

/// Checks an import block, which stands in the root module and is about a resource of `module`.
pub(super) fn check(
    evaluation: &Evaluation<'_>,
    module: ModuleId,
    resource: &Resource,
    import: &Import,
) -> Diagnostics {
    let scope = evaluation.scope(ModuleId::ROOT);
    let mut problems = Diagnostics::new();
    let schemas = evaluation.schemas_of(module, resource);
    let identity = match (&import.identity, &schemas) {
        (Some(expr), Some(schemas)) => match schemas.identities.get(&resource.key.kind) {
            Some(schema) => schema.object.spec_type(),
            None => return diagnostics::no_identity(&resource.key.kind, expr.span).into(),
        },
        // The expected identity is unknown.
        _ => Type::dynamic(),
    };
    let Some(for_each) = &import.for_each else {
        return check_values(&scope, import, &identity);
    };
    let (value, found) = deprecation::eval(&scope, for_each);
    problems.extend(found);
    // Unlike elsewhere, a tuple will do.
    if !problems.has_errors() && !value.ty().is_tuple() {
        problems.extend(for_each_value::check_known_part(&value, for_each.span));
    }
    if problems.has_errors() {
        return problems;
    }
    for instance in instances(&value) {
        problems.extend(check_values(&scope.clone().of_instance(instance), import, &identity));
    }
    problems
}

/// Value of `each` for each element of a known value.
fn instances(value: &Value) -> Vec<InstanceValues> {
    let instance =
        |key: Value, value: Value| InstanceValues { count_index: None, each_key: Some(key), each_value: Some(value) };
    match value.view_ignoring_marks() {
        View::Set(items) => items.iter().map(|item| instance(item.clone(), item.clone())).collect(),
        View::Tuple(items) => (0_i64..).zip(items).map(|(at, item)| instance(Value::int(at), item.clone())).collect(),
        View::Map(_) | View::Object(_) => {
            let entries = value.unmark().0.entries().unwrap_or_default();
            entries.into_iter().map(|(key, item)| instance(Value::string(key), item)).collect()
        }
        _ => Vec::new(),
    }
}

fn check_values(scope: &ModuleScope<'_>, import: &Import, identity_type: &Type) -> Diagnostics {
    match (&import.id, &import.identity) {
        (Some(id), _) => check_value(scope, id, "id", &Type::string()),
        (None, Some(identity)) => check_value(scope, identity, "identity", identity_type),
        (None, None) => Diagnostics::new(),
    }
}

fn check_value(scope: &ModuleScope<'_>, expr: &Expr, argument: &str, ty: &Type) -> Diagnostics {
    let (value, mut problems) = deprecation::eval(scope, expr);
    if problems.has_errors() {
        problems.extend(repetition::of_type(&value, ty, expr.span));
        return problems;
    }
    let error = |reason: &str| Diagnostics::from(diagnostics::invalid_import(argument, reason, expr.span));
    let marks = value.marks_deep();
    match convert::convert(&value, ty) {
        Err(reason) => problems.push(diagnostics::incorrect_type(&eco_format!("{reason}"), expr.span)),
        Ok(value) if value.is_null() => problems.extend(error("it is null")),
        Ok(value) if !value.is_wholly_known() => {}
        Ok(_) if marks.has_sensitive() => problems.extend(error("it is sensitive, but plans display it")),
        Ok(_) if marks.has_ephemeral() => problems.extend(error("it is ephemeral, but plans store it")),
        Ok(_) => {}
    }
    problems
}
