//! Warnings about the use of deprecated objects: at the first use of their values.

use ecow::{EcoString, eco_format};
use yuba_config::variable::Variable;
use yuba_syntax::diagnostic::{DeprecatedKind, DeprecatedUse};
use yuba_syntax::{Diagnostic, Diagnostics, Expr, ExprKind, Span, TraversalStep};
use yuba_value::{Deprecation, Mark, Value, View};

use super::diagnostics;
use crate::module_scope::{ModuleScope, keep_unread, remove_deprecations};
use crate::references::{each_call, each_relative, each_traversal};
use crate::tree::{ConfigTree, ModuleId};

/// Evaluates an expression; what it uses that is deprecated is reported here and forgotten.
pub(crate) fn eval(scope: &ModuleScope<'_>, expr: &Expr) -> (Value, Diagnostics) {
    let (value, mut problems) = scope.eval(expr);
    let (value, mut found) = extract(scope, &value, expr.span);
    add_hidden(scope, expr, &mut found);
    problems.extend(found);
    (value, problems)
}

/// Evaluates an expression that only gives a value another name. Deprecated parts of a whole object are used where they are
/// read from it.
pub(crate) fn eval_named(scope: &ModuleScope<'_>, expr: &Expr) -> (Value, Diagnostics) {
    let (value, mut problems) = scope.eval(expr);
    let mut found = Diagnostics::new();
    let mut value = value;
    if is_marked(&value) {
        found.extend(deprecated_uses(scope, &value, expr.span, Parts::Read));
        value = keep_unread(&value);
    }
    add_unseen(scope, expr, &mut found, Parts::Read);
    problems.extend(found);
    (value, problems)
}

/// Unknown values lose some marks: of unknown instances, of an element whose key is unknown, and of
/// the choice of `try`. A probe of the expression and the names in it finds them.
pub(crate) fn add_hidden(scope: &ModuleScope<'_>, expr: &Expr, found: &mut Diagnostics) {
    add_unseen(scope, expr, found, Parts::All);
}

fn add_unseen(scope: &ModuleScope<'_>, expr: &Expr, found: &mut Diagnostics, parts: Parts) {
    if !scope.evaluation().knows_only_types() {
        return;
    }
    for probe in scope.probes() {
        let (value, _) = probe.eval(expr);
        if is_marked(&value) {
            add_new(found, deprecated_uses(scope, &value, expr.span, parts));
        }
    }
    if !found.is_empty() {
        return;
    }
    let mut hidden: Vec<Deprecation> = Vec::new();
    let output = |call: &EcoString, output: &EcoString| {
        let tree = scope.evaluation().tree();
        let child = tree.node(scope.module()).children.get(call)?;
        scope.evaluation().deprecated_output(*child, output)
    };
    each_relative(expr, &mut |source, steps| {
        if let ExprKind::Index(index) = &source.kind
            && let ExprKind::Traversal(traversal) = &index.collection.kind
            && traversal.root == "module"
            && let [TraversalStep::Attr { name: call, .. }] = &*traversal.steps
            && let Some(TraversalStep::Attr { name, .. }) = steps.first()
        {
            hidden.extend(output(call, name));
        }
    });
    each_call(expr, &mut |call| {
        if matches!(call.name.as_str(), "try" | "core::try") {
            for arg in call.args.iter() {
                each_traversal(arg, &mut |traversal| {
                    if traversal.root == "module"
                        && let [TraversalStep::Attr { name: call, .. }, TraversalStep::Attr { name, .. }, ..] =
                            &*traversal.steps
                    {
                        hidden.extend(output(call, name));
                    }
                });
            }
        }
    });
    let mut seen: Vec<EcoString> = Vec::new();
    for deprecation in hidden {
        if !seen.contains(&deprecation.source) {
            seen.push(deprecation.source.clone());
            let seen = seen_in(scope.evaluation().tree(), scope.module(), &deprecation);
            let problem = diagnostics::deprecated_value("", &seen, &deprecation.message, expr.span);
            found.push(used_in(scope.evaluation().tree(), scope.module(), &deprecation, problem));
        }
    }
}

/// Adds warnings about uses without another warning at the same location.
pub(crate) fn add_new(found: &mut Diagnostics, more: Diagnostics) {
    for problem in more {
        let source = |problem: &Diagnostic| problem.deprecation().map(|used| used.source.clone());
        let is_same = |known: &Diagnostic| known.subject == problem.subject && source(known) == source(&problem);
        if !found.iter().any(is_same) {
            found.push(problem);
        }
    }
}

/// Takes marks of deprecation off a value and makes warnings of them.
pub(crate) fn extract(scope: &ModuleScope<'_>, value: &Value, span: Span) -> (Value, Diagnostics) {
    if !is_marked(value) {
        return (value.clone(), Diagnostics::new());
    }
    (remove_deprecations(value), deprecated_uses(scope, value, span, Parts::All))
}

fn is_marked(value: &Value) -> bool {
    !value.is_deeply_unmarked() && value.marks_deep().iter().any(|mark| matches!(mark, Mark::Deprecated(_)))
}

/// The parts of a value whose deprecations are reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    All,
    /// The value itself and the parts that an expression has selected.
    Read,
}

/// Reports the deprecated objects that a value comes from.
fn deprecated_uses(scope: &ModuleScope<'_>, value: &Value, span: Span, parts: Parts) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let tree = scope.evaluation().tree();
    let mut seen = Vec::new();
    collect(value, &EcoString::new(), &mut |path, deprecation| {
        let location = (EcoString::from(path), deprecation.source.clone());
        if (parts == Parts::Read && deprecation.unread && !path.is_empty()) || seen.contains(&location) {
            return;
        }
        seen.push(location);
        let path = path.strip_prefix('.').unwrap_or(path);
        let seen = seen_in(tree, scope.module(), deprecation);
        let problem = diagnostics::deprecated_value(path, &seen, &deprecation.message, span);
        problems.push(used_in(tree, scope.module(), deprecation, problem));
    });
    problems
}

/// The address of something deprecated, as a module sees it.
fn seen_in(tree: &ConfigTree, module: ModuleId, deprecated: &Deprecation) -> EcoString {
    deprecated.seen_from(&eco_format!("{}", tree.node(module).path))
}

/// Says with a message what is deprecated, and whether the module that uses it can be changed here.
pub(crate) fn used_in(
    tree: &ConfigTree,
    module: ModuleId,
    deprecated: &Deprecation,
    problem: Diagnostic,
) -> Diagnostic {
    let deprecation = DeprecatedUse {
        source: seen_in(tree, module, deprecated),
        origin: seen_in(tree, module, deprecated),
        kind: DeprecatedKind::Value,
        message: deprecated.message.clone(),
        remote: deprecated.remote,
        fixable_here: is_local(tree, module),
    };
    problem.of_use(deprecation)
}

/// Says with a message that a variable which `module` declares is set, and whether the module that sets it can be changed here.
pub(crate) fn variable_set(
    tree: &ConfigTree,
    module: ModuleId,
    variable: &Variable,
    message: &EcoString,
    problem: Diagnostic,
) -> Diagnostic {
    let node = tree.node(module);
    let source = match node.parent {
        None => eco_format!("var.{}", variable.name),
        Some(_) => eco_format!("module.{}.var.{}", node.call, variable.name),
    };
    let deprecation = DeprecatedUse {
        source,
        // Calls of the same module share the declaration.
        origin: eco_format!("{}:var.{}", node.dir, variable.name),
        kind: DeprecatedKind::Variable,
        message: message.clone(),
        remote: !is_local(tree, module),
        fixable_here: is_local(tree, node.parent.unwrap_or(module)),
    };
    problem.of_use(deprecation)
}

/// Whether all calls on the way to a module have local sources.
fn is_local(tree: &ConfigTree, module: ModuleId) -> bool {
    let mut at = Some(module);
    while let Some(id) = at {
        let node = tree.node(id);
        if node.source.as_ref().is_some_and(|source| !source.is_in_file_system()) {
            return false;
        }
        at = node.parent;
    }
    true
}

fn collect(value: &Value, path: &EcoString, visit: &mut dyn FnMut(&str, &Deprecation)) {
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
