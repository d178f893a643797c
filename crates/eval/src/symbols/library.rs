//! One library: from what its files declare to values, types and functions.

use std::sync::Arc;

use ecow::EcoString;
use foldhash::{HashSet, HashSetExt};
use yuba_config::Decoding;
use yuba_config::symbols::{FunctionDef, Library as Declared, Parameter};
use yuba_config::type_expr::TypeConstraint;
use yuba_syntax::{Diagnostics, Expr};
use yuba_value::{Type, Value};

use super::names::{self, LibraryNames};
use super::order::{Item, order, used_items};
use super::types::LibraryTypes;
use super::{KnownResults, Libraries, Library, LibraryFunction, LibraryParam, SymbolScope};
use crate::expression::evaluate;
use crate::functions::{CallContext, FunctionTable};
use crate::world::MemoryWorld;

/// Links a library whose includes are linked. Where there are errors it is not complete.
pub(super) fn link(
    path: EcoString,
    declared: &Declared,
    libraries: Libraries,
    decoding: &Decoding<'_>,
) -> (Library, Diagnostics) {
    let mut library = Library { path, libraries, ..Library::default() };
    let types = LibraryTypes::new(declared, &library, decoding);
    let mut problems = Diagnostics::new();
    let functions = declared
        .functions
        .values()
        .filter_map(|function| Some((function.name.clone(), prepare(function, &types, decoding, &mut problems)?)))
        .collect();
    let (types, found) = types.all();
    let mut all = found;
    all.extend(problems);
    library.types = types;
    library.functions = functions;
    let (order, found) = order(declared, decoding.sources);
    all.extend(found);
    all.extend(check_names(declared, &library));
    let broken = library.libraries.values().any(|included| included.library.is_none());
    if broken || all.has_errors() {
        return (library, all);
    }
    // Nothing in a library can ask for the outside.
    let world = MemoryWorld::new();
    let known = KnownResults::default();
    let mut failed: HashSet<Item> = HashSet::new();
    for item in order {
        let expr = match &item {
            Item::Value(name) => declared.values.get(name).map(|value| &value.expr),
            Item::Function(name) => library.functions.get(name).map(|function| &function.result),
        };
        let Some(expr) = expr.cloned() else { continue };
        // An object that uses one with errors would only repeat them.
        if !failed.is_empty() && used_items(&expr, declared).iter().any(|(used, _)| failed.contains(used)) {
            failed.insert(item);
            continue;
        }
        let found = match &item {
            Item::Value(name) => {
                let (value, found) = eval(&expr, &library, None, (&world, &known), decoding);
                library.values.insert(name.clone(), value);
                found
            }
            Item::Function(name) => {
                let Some(function) = library.functions.get(name) else { continue };
                // With any arguments: errors that do not depend on them are found here.
                let params = function.arguments(function.params.iter().map(any_value).collect(), None);
                let (result, found) = eval(&expr, &library, Some(params.clone()), (&world, &known), decoding);
                if found.is_empty() {
                    known.insert(function, params, result);
                }
                found
            }
        };
        if found.has_errors() {
            failed.insert(item);
        }
        all.extend(found);
    }
    (library, all)
}

fn any_value(param: &LibraryParam) -> Value {
    Value::unknown(param.constraint.ty.without_optional())
}

fn eval(
    expr: &Expr,
    library: &Library,
    params: Option<Value>,
    (world, known): (&MemoryWorld, &KnownResults),
    decoding: &Decoding<'_>,
) -> (Value, Diagnostics) {
    let context = CallContext {
        world,
        base_dir: ".",
        plan_time: None,
        pure_only: true,
        functions: FunctionTable::library(),
        others: None,
        template_depth: 0,
        sources: Some(decoding.sources),
        symbols: Some(SymbolScope { libraries: &library.libraries, own: Some(library), known: Some(known) }),
    };
    evaluate(expr, &LibraryNames { library, params }, context)
}

/// Reads the types of a function's parameters.
fn prepare(
    function: &FunctionDef,
    types: &LibraryTypes<'_>,
    decoding: &Decoding<'_>,
    problems: &mut Diagnostics,
) -> Option<LibraryFunction> {
    let mut param = |parameter: &Parameter| {
        let constraint = match &parameter.constraint {
            Some(expr) => {
                let (constraint, found) = types.read(expr);
                problems.extend(found);
                constraint
            }
            None => TypeConstraint::any(),
        };
        LibraryParam { name: parameter.name.clone(), constraint }
    };
    let variadic = function.parameters.iter().find(|parameter| parameter.variadic).map(&mut param);
    let params = function.parameters.iter().filter(|parameter| !parameter.variadic).map(&mut param).collect();
    Some(LibraryFunction {
        name: function.name.clone(),
        description: function.description.clone(),
        params,
        variadic,
        result: Arc::clone(function.result.as_ref()?),
        location: super::link::location(decoding.sources, function.span),
    })
}

/// Errors in names, found whether or not evaluation gets there.
fn check_names(declared: &Declared, library: &Library) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for value in declared.values.values() {
        problems.extend(names::check(&value.expr, library, None, declared));
    }
    for function in library.functions.values() {
        problems.extend(names::check(&function.result, library, Some(function), declared));
    }
    problems
}

impl LibraryFunction {
    /// The value of `param` in a call; `rest` are the arguments of the variadic parameter, unknown without.
    pub(crate) fn arguments(&self, given: Vec<Value>, rest: Option<Vec<Value>>) -> Value {
        let mut all: Vec<(EcoString, Value)> = self.params.iter().map(|param| param.name.clone()).zip(given).collect();
        all.extend(self.variadic.as_ref().map(|param| {
            let ty = param.constraint.ty.without_optional();
            let value = match rest {
                None if ty.is_dynamic() => Value::unknown_dynamic(),
                None => Value::unknown(Type::list(ty)),
                Some(rest) if ty.has_dynamic() => Value::tuple(rest),
                Some(rest) => Value::list(ty, rest),
            };
            (param.name.clone(), value)
        }));
        Value::object(all)
    }
}
