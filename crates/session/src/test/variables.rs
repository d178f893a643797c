//! Values for the variables of the tested module: from the run, from the file, from who runs the tests.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::{Feature, Reference, Subject};
use yuba_config::Module;
use yuba_config::test_file::{TestFile, TestRun};
use yuba_eval::inputs::{GivenBy, Inputs, required};
use yuba_eval::references::{each_call, each_traversal};
use yuba_eval::symbols::{self, Libraries, SymbolScope};
use yuba_eval::{CallContext, FunctionTable, Variables, World, evaluate};
use yuba_syntax::{Diagnostics, Expr, Sources, Traversal};
use yuba_value::Value;

/// Scope of expressions in `variables` blocks.
pub(super) struct TestNames<'a> {
    /// `run`
    pub(super) runs: Value,
    /// `var`: what who runs the tests gave, and defaults.
    pub(super) variables: Value,
    /// The tested module.
    pub(super) module: &'a Module,
    /// The module that the test file belongs to, with its symbol libraries: in all of the file names mean the same.
    pub(super) home: &'a Module,
    pub(super) symbols: &'a Libraries,
    pub(super) world: &'a dyn World,
    pub(super) sources: &'a Sources,
}

impl Variables for TestNames<'_> {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        match traversal.root.as_str() {
            "run" => Some((self.runs.clone(), 0)),
            "var" => Some((self.variables.clone(), 0)),
            _ => {
                let reference = Reference::parse(traversal, self.home).0?;
                if !matches!(reference.subject, Subject::Symbol(_)) {
                    return None;
                }
                Some((symbols::value(&reference, self.symbols)?, reference.value_steps))
            }
        }
    }
    fn names(&self) -> Vec<EcoString> {
        vec!["run".into(), "var".into()]
    }
}

impl TestNames<'_> {
    /// Errors in the names of symbol libraries in an expression.
    fn check_symbols(&self, expr: &Expr) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let mut check = |reference: Option<Reference>| {
            problems.extend(reference.into_iter().flat_map(|found| symbols::check(&found, self.symbols, self.home)));
        };
        each_traversal(expr, &mut |traversal| {
            if Feature::from_root_word(&traversal.root).is_some() {
                check(Reference::parse(traversal, self.home).0);
            }
        });
        each_call(expr, &mut |call| {
            check(Reference::parse_function(&call.name, call.name_span).and_then(|(reference, _)| reference));
        });
        problems
    }

    fn eval(&self, expr: &Expr) -> (Value, Diagnostics) {
        let problems = self.check_symbols(expr);
        if problems.has_errors() {
            return (Value::unknown_dynamic(), problems);
        }
        let context = CallContext {
            world: self.world,
            base_dir: ".",
            plan_time: None,
            pure_only: false,
            functions: FunctionTable::module(),
            others: None,
            template_depth: 0,
            sources: Some(self.sources),
            symbols: Some(SymbolScope::of_module(self.symbols)),
        };
        evaluate(expr, self, context)
    }
}

/// Values from the outside, and defaults.
pub(super) fn outer_values(module: &Module, inputs: &Inputs) -> BTreeMap<EcoString, Value> {
    let mut values = inputs.literals();
    for (name, variable) in &module.variables {
        let given = inputs.has(name).then(|| inputs.value(variable)).flatten();
        match given {
            Some((value, _, problems)) if !problems.has_errors() => {
                let value = match &variable.type_defaults {
                    Some(defaults) if !value.is_null() => defaults.apply(&value),
                    _ => value,
                };
                values.insert(name.clone(), value);
            }
            _ => {
                if let Some(default) = &variable.default {
                    values.insert(name.clone(), default.clone());
                }
            }
        }
    }
    values
}

/// The values of a run.
#[derive(Default)]
pub(super) struct RunValues {
    /// Of variables that the tested module declares, with their sources; those without are as declared.
    pub(super) given: BTreeMap<EcoString, (Value, GivenBy)>,
    /// Of the other variables, for assertions and providers.
    pub(super) others: BTreeMap<EcoString, Value>,
}

/// Finds the values of a run.
pub(super) fn of_run(
    file: &TestFile,
    run: &TestRun,
    names: &mut TestNames<'_>,
    outer: &BTreeMap<EcoString, Value>,
    inputs: &Inputs,
) -> (RunValues, Diagnostics) {
    let mut values = RunValues::default();
    let mut problems = Diagnostics::new();
    let of_file = file.variables.as_ref().map(|block| &block.values);
    let of_run = run.variables.as_ref().map(|block| &block.values);
    // Variables that only the file declares can be used in runs; values from the outside are converted as declared.
    let mut known = outer.clone();
    for (name, expr) in of_file.into_iter().flatten() {
        if !known.contains_key(name) {
            let (value, found) = names.eval(expr);
            if !found.has_errors() {
                known.insert(name.clone(), value);
            }
        }
    }
    let of_outside = names.variables.clone();
    let everything = Value::object(known.into_iter().collect());
    let module = names.module;
    for (name, variable) in &module.variables {
        let in_run = of_run.and_then(|values| values.get(name));
        let expr = in_run.or_else(|| of_file.and_then(|values| values.get(name)));
        if let Some(expr) = expr {
            names.variables = if in_run.is_some() { everything.clone() } else { of_outside.clone() };
            let (value, found) = names.eval(expr);
            let failed = found.has_errors();
            problems.extend(found);
            if !failed {
                values.given.insert(name.clone(), (value, GivenBy::Expression(expr.span)));
            }
        } else if inputs.has(name) {
            let Some((value, _, found)) = inputs.value(variable) else { continue };
            let failed = found.has_errors();
            problems.extend(found);
            if !failed {
                let by = inputs.given_by(variable).unwrap_or(GivenBy::Answer);
                values.given.insert(name.clone(), (value, by));
            }
        } else if variable.default.is_none() {
            problems.push(required(variable));
        }
    }
    values.others = outer
        .iter()
        .filter(|(name, _)| !module.variables.contains_key(*name))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    names.variables = everything;
    for (name, expr) in of_file.into_iter().chain(of_run).flatten() {
        if !module.variables.contains_key(name) {
            let (value, found) = names.eval(expr);
            // The expression that needs it reports it as missing.
            if !found.has_errors() {
                values.others.insert(name.clone(), value);
            }
        }
    }
    names.variables = of_outside;
    (values, problems)
}
