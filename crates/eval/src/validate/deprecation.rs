//! Warnings about the use of deprecated things: where a value that comes from one is used first.

use ecow::{EcoString, eco_format};
use yuba_addrs::ModuleSource;
use yuba_syntax::diagnostic::{DeprecatedUse, Extra};
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Span};
use yuba_value::{Mark, Value, View};

use super::diagnostics;
use crate::module_scope::{ModuleScope, remove_deprecations};
use crate::tree::{ConfigTree, ModuleId};

/// Evaluates an expression; what it uses that is deprecated is reported here and forgotten.
pub(crate) fn eval(scope: &ModuleScope<'_>, expr: &Expr) -> (Value, Diagnostics) {
    let (value, mut problems) = scope.eval(expr);
    let (value, found) = extract(scope, &value, expr.span);
    problems.extend(found);
    (value, problems)
}

/// Takes marks of deprecation off a value and makes warnings of them.
pub(super) fn extract(scope: &ModuleScope<'_>, value: &Value, span: Span) -> (Value, Diagnostics) {
    let mut problems = Diagnostics::new();
    if value.is_deeply_unmarked() || !value.marks_deep().iter().any(|mark| matches!(mark, Mark::Deprecated(_))) {
        return (value.clone(), problems);
    }
    let tree = scope.evaluation().tree();
    collect(value, &EcoString::new(), &mut |path, deprecation| {
        let path = path.strip_prefix('.').unwrap_or(path);
        let problem = diagnostics::deprecated_value(path, &deprecation.source, &deprecation.message, span);
        problems.push(used_in(tree, scope.module(), &deprecation.source, problem));
    });
    (remove_deprecations(value), problems)
}

/// Says with a message in which module the deprecated thing is used.
pub(crate) fn used_in(tree: &ConfigTree, module: ModuleId, source: &str, problem: Diagnostic) -> Diagnostic {
    let deprecation = DeprecatedUse { source: source.into(), fixable_here: is_local(tree, module) };
    Diagnostic { extra: Some(Box::new(Extra { deprecation: Some(deprecation), ..Extra::default() })), ..problem }
}

/// Whether all calls on the way to a module have local sources.
fn is_local(tree: &ConfigTree, module: ModuleId) -> bool {
    let mut at = Some(module);
    while let Some(id) = at {
        let node = tree.node(id);
        if node.source.as_ref().is_some_and(|source| !matches!(source, ModuleSource::Local(_))) {
            return false;
        }
        at = node.parent;
    }
    true
}

fn collect(value: &Value, path: &EcoString, visit: &mut dyn FnMut(&str, &yuba_value::Deprecation)) {
    for mark in value.marks().iter() {
        if let Mark::Deprecated(deprecation) = mark {
            visit(path, deprecation);
        }
    }
    if value.is_deeply_unmarked() {
        return;
    }
    match value.view_ignoring_marks() {
        View::List(items) | View::Tuple(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &eco_format!("{path}[{at}]"), visit);
            }
        }
        View::Set(items) => items.iter().for_each(|item| collect(item, &eco_format!("{path}[...]"), visit)),
        View::Map(_) => {
            for (key, item) in value.unmark().0.entries().unwrap_or_default() {
                collect(&item, &eco_format!("{path}[{key:?}]"), visit);
            }
        }
        View::Object(_) => {
            for (name, item) in value.unmark().0.entries().unwrap_or_default() {
                collect(&item, &eco_format!("{path}.{name}"), visit);
            }
        }
        View::Null | View::Unknown(_) | View::Bool(_) | View::Number(_) | View::String(_) => {}
    }
}
