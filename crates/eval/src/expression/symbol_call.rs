//! Calls of functions that a symbol library defines, and diagnostics about values of libraries.

use ecow::{EcoString, eco_format};
use yuba_addrs::{Feature, SymbolFunction};
use yuba_syntax::expr::CallExpr;
use yuba_syntax::{Diagnostic, Expr, Traversal, TraversalStep};
use yuba_value::Value;

use super::Evaluator;
use super::call::{Argument, Interface};
use crate::diagnostics;
use crate::functions::{CallContext, FunctionTable};
use crate::symbols::{Library, LibraryFunction, LibraryNames, SymbolScope};

impl Interface for LibraryFunction {
    fn required(&self) -> usize {
        self.params.len()
    }
    fn required_name(&self, at: usize) -> Option<&str> {
        self.params.get(at).map(|param| param.name.as_str())
    }
    fn is_variadic(&self) -> bool {
        self.variadic.is_some()
    }
    fn text(&self) -> EcoString {
        let mut params: Vec<&str> = self.params.iter().map(|param| param.name.as_str()).collect();
        let variadic = self.variadic.as_ref().map(|param| format!("{}...", param.name));
        params.extend(variadic.as_deref());
        eco_format!("{}({})", self.name, params.join(", "))
    }
}

impl<'a> Evaluator<'a> {
    /// The function of a library that a call is of.
    pub(super) fn symbol_function(&self, e: &CallExpr) -> Option<(&'a Library, &'a LibraryFunction)> {
        // Nearly all calls are of other functions.
        if !e.name.contains("::") {
            return None;
        }
        self.context.symbols?.function(&SymbolFunction::parse(&e.name)?)
    }

    pub(super) fn call_symbol(
        &mut self,
        e: &CallExpr,
        expr: &Expr,
        library: &'a Library,
        function: &'a LibraryFunction,
    ) -> Value {
        let mut args: Vec<Argument<'_>> = e.args.iter().map(Argument::Expr).collect();
        if e.expand_last
            && let Some(Argument::Expr(last)) = args.pop()
        {
            match self.expand(last, e, expr, function) {
                Ok(items) => args.extend(items.into_iter().map(|item| Argument::Element(item, last))),
                Err(unknown) => return unknown,
            }
        }
        if let Some(diagnostic) = self.wrong_count(e, expr.span, function, &args) {
            let diagnostic = self.in_call(diagnostic, &e.name, function);
            self.report(diagnostic, expr);
            return Value::unknown_dynamic();
        }
        let mut values = Vec::with_capacity(args.len());
        let mut is_wrong = false;
        for (at, arg) in args.iter().enumerate() {
            let (value, source) = self.argument(arg, &mut is_wrong);
            let Some(param) = function.params.get(at).or(function.variadic.as_ref()) else { continue };
            values.push(param.accept(value).unwrap_or_else(|reason| {
                let reason = eco_format!("{reason} (the function is defined at {})", function.location);
                let diagnostic =
                    diagnostics::invalid_argument(&e.name, &param.name, &reason, self.arg_span(arg), expr.span);
                let diagnostic = self.in_call(diagnostic, &e.name, function);
                self.report(diagnostic, source);
                is_wrong = true;
                Value::unknown_dynamic()
            }));
        }
        // Functions of libraries call each other: however little each of them does, together it may never end.
        if is_wrong || !self.another_round(expr.span) {
            return Value::unknown_dynamic();
        }
        let rest = function.variadic.is_some().then(|| values.split_off(function.params.len().min(values.len())));
        self.run(e, expr, library, function, function.arguments(values, rest))
    }

    /// Adds to errors in a name that it is one of a symbol library: a resource type may have the same name as the root word.
    pub(super) fn explain_symbol(&self, traversal: &Traversal, found: &mut [Diagnostic]) {
        if found.is_empty() {
            return;
        }
        let root = Feature::SymbolLibraries.root_word();
        let is_local = || self.locals.iter().any(|(name, _)| *name == traversal.root);
        let Some(TraversalStep::Attr { name: label, .. }) = traversal.steps.first() else { return };
        if traversal.root != root || is_local() {
            return;
        }
        let Some(included) = self.context.symbols.and_then(|symbols| symbols.libraries.get(label)) else { return };
        let path = included.library.as_deref().map(|library| library.path.as_str()).unwrap_or_default();
        let location = &included.location;
        for problem in found {
            problem.detail.push_str(&eco_format!(
                "\n\nThe expression was understood as a reference to the block {root} {label:?} at {location}, whose library is \
                 {path}."
            ));
        }
    }

    fn run(
        &mut self,
        e: &CallExpr,
        expr: &Expr,
        library: &'a Library,
        function: &'a LibraryFunction,
        params: Value,
    ) -> Value {
        let known = self.context.symbols.and_then(|symbols| symbols.known);
        if let Some(result) = known.and_then(|known| known.get(function, &params)) {
            return result;
        }
        let names = LibraryNames { library, params: Some(params) };
        let mut inner = Evaluator {
            variables: &names,
            context: CallContext {
                functions: FunctionTable::library(),
                symbols: Some(SymbolScope { libraries: &library.libraries, own: Some(library), known }),
                ..self.context
            },
            locals: Vec::new(),
            splat_items: Vec::new(),
            diagnostics: Vec::new(),
            quiet: self.quiet,
            spent: self.spent,
            rounds: self.rounds,
            exhausted: None,
        };
        let value = inner.eval(&function.result);
        let Evaluator { diagnostics: found, rounds, exhausted, .. } = inner;
        self.rounds = rounds;
        if let Some(reason) = exhausted {
            self.give_up(*reason);
            return Value::unknown_dynamic();
        }
        let Some(problem) = found.iter().find(|problem| problem.is_error()) else {
            if let (Some(known), Some(params), true) = (known, names.params, found.is_empty()) {
                known.insert(function, params, value.clone());
            }
            return value;
        };
        let location = problem.subject.and_then(|span| crate::template::location(self.context.sources, span));
        let location = location.unwrap_or_else(|| function.location.to_string());
        let reason = format!("{location}: {}; {}", problem.summary, problem.explanation().trim_end_matches('.'));
        let start = e.name_span.to(e.open_span);
        let diagnostic = diagnostics::call_failed(&e.name, &reason, start, expr.span);
        let diagnostic = self.in_call(diagnostic, &e.name, function);
        self.report(diagnostic, expr);
        Value::unknown_dynamic()
    }
}
