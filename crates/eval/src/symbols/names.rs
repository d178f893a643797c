//! Names inside of a library.

use ecow::EcoString;
use yuba_addrs::{ProviderFunction, SymbolFunction};
use yuba_config::symbols::Library as Declared;
use yuba_syntax::expr::CallExpr;
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Traversal, TraversalStep};
use yuba_value::Value;

use super::{Included, Library, LibraryFunction, diagnostics};
use crate::expression::Variables;
use crate::functions::FunctionTable;
use crate::references::{each_call, each_traversal};

/// The names of an expression in a library.
pub(crate) struct LibraryNames<'a> {
    pub(crate) library: &'a Library,
    /// The object of a function's arguments.
    pub(crate) params: Option<Value>,
}

impl Variables for LibraryNames<'_> {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        let mut names = traversal.steps.iter().map_while(|step| match step {
            TraversalStep::Attr { name, .. } => Some(name),
            TraversalStep::Index { .. } => None,
        });
        match traversal.root.as_str() {
            "param" => Some((self.params.clone()?, 0)),
            "value" => Some((self.library.values.get(names.next()?)?.clone(), 1)),
            "symbols" => {
                let library = self.library.libraries.get(names.next()?)?.library.as_deref()?;
                match names.next() {
                    Some(name) => Some((library.values.get(name)?.clone(), 2)),
                    None => Some((library.all_values(), 1)),
                }
            }
            _ => None,
        }
    }
    fn names(&self) -> Vec<EcoString> {
        Vec::new()
    }
}

/// Errors in the names in an expression of a library, of one of its functions or of a value.
pub(super) fn check(
    expr: &Expr,
    library: &Library,
    function: Option<&LibraryFunction>,
    declared: &Declared,
) -> Diagnostics {
    let mut problems = Diagnostics::new();
    each_traversal(expr, &mut |traversal| {
        problems.extend(check_name(traversal, library, function, declared));
    });
    each_call(expr, &mut |call| problems.extend(check_call(call, library)));
    problems
}

fn check_name(
    traversal: &Traversal,
    library: &Library,
    function: Option<&LibraryFunction>,
    declared: &Declared,
) -> Option<Diagnostic> {
    let root = traversal.root.as_str();
    let wanted = match (root, function) {
        ("param", Some(_)) => "a parameter",
        ("value", _) => "a value",
        ("symbols", _) => "a library",
        _ => return Some(diagnostics::not_in_library(root, function, traversal.root_span)),
    };
    let Some(TraversalStep::Attr { name, span }) = traversal.steps.first() else {
        return Some(diagnostics::incomplete(root, wanted, traversal.root_span));
    };
    let at = traversal.root_span.to(*span);
    match (root, function) {
        ("param", Some(function)) => {
            let known = || function.params.iter().chain(&function.variadic).map(|param| param.name.as_str());
            let owner = ecow::eco_format!("the function {:?}", function.name);
            let missing = !known().any(|known| known == name);
            missing.then(|| diagnostics::undeclared("parameter", name, &owner, known(), at))
        }
        ("value", _) => {
            let missing = !declared.values.contains_key(name);
            let known = declared.values.keys().map(EcoString::as_str);
            missing.then(|| diagnostics::undeclared("value", name, "this library", known, at))
        }
        _ => match (library.libraries.get(name), traversal.steps.get(1)) {
            (None, _) => Some(diagnostics::undefined_library(name, &library.libraries, at)),
            (Some(Included { library: Some(nested), location }), Some(TraversalStep::Attr { name: value, span }))
                if !nested.values.contains_key(value) =>
            {
                Some(diagnostics::no_nested_value(name, value, nested, location, at.to(*span)))
            }
            _ => None,
        },
    }
}

fn check_call(call: &CallExpr, library: &Library) -> Option<Diagnostic> {
    if let Some(name) = SymbolFunction::parse(&call.name) {
        let (owner, location) = match &name.library {
            None => (library, None),
            Some(label) => match library.libraries.get(label) {
                None => return Some(diagnostics::undefined_library(label, &library.libraries, call.name_span)),
                Some(Included { library: None, .. }) => return None,
                Some(Included { library: Some(nested), location }) => (&**nested, Some(location.as_str())),
            },
        };
        let missing = !owner.functions.contains_key(&name.name);
        return missing.then(|| diagnostics::no_function(&name, owner, location, Some(call.name_span)));
    }
    if ProviderFunction::parse(&call.name).is_some() {
        return Some(diagnostics::provider_function(&call.name, call.name_span));
    }
    let impure =
        FunctionTable::library().get(&call.name).is_none() && FunctionTable::module().get(&call.name).is_some();
    impure.then(|| diagnostics::impure_call(&call.name, call.name_span))
}
