//! Symbol libraries: values, types and functions that modules share.
//!
//! A `symbols` block names a library; linking reads it, with the libraries it builds on, and finds its
//! values and types. All of a library is pure: it knows its own text and nothing else, so it is evaluated once, before
//! anything that uses it.
//!
//! Invariant: there are no cycles. Libraries do not include themselves, and neither values nor functions nor types of a
//! library depend on themselves; so every call ends.

mod diagnostics;
#[cfg(test)]
mod installed_tests;
mod library;
mod link;
mod names;
mod order;
#[cfg(test)]
mod pending_tests;
#[cfg(test)]
mod tests;
mod types;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use foldhash::HashMap;
use yuba_addrs::{ParseRefContext, Reference, Subject, SymbolFunction};
use yuba_config::type_expr::TypeConstraint;
use yuba_syntax::{Diagnostics, Expr};
use yuba_value::{Value, convert};

pub(crate) use diagnostics::unknown_function;
pub(crate) use link::{Base, LinkContext, Linker, location};
pub use link::{Downloads, LibraryFiles, UnreadableLibrary};
pub(crate) use names::LibraryNames;

/// The `symbols` blocks of a module or library, by label.
pub type Libraries = BTreeMap<EcoString, Included>;

/// The library of a `symbols` block.
#[derive(Clone, Debug)]
pub struct Included {
    /// Location of the block: `main.tf:3`.
    pub location: EcoString,
    /// The library, or none if it has errors, which were reported.
    pub library: Option<Arc<Library>>,
}

/// A library, ready for use.
#[derive(Debug, Default)]
pub struct Library {
    /// Its file or directory, as shown to people.
    pub path: EcoString,
    /// The values of `values` blocks.
    pub values: BTreeMap<EcoString, Value>,
    /// `typedef` blocks.
    pub types: BTreeMap<EcoString, NamedType>,
    /// `function` blocks.
    pub functions: BTreeMap<EcoString, LibraryFunction>,
    /// Libraries this one builds on.
    pub libraries: Libraries,
}

/// A type with a name.
#[derive(Clone, Debug)]
pub struct NamedType {
    /// The type.
    pub constraint: TypeConstraint,
    /// Its expanded size.
    pub(crate) size: usize,
    /// Location of its definition: `lib.tfsym.hcl:3`.
    pub location: EcoString,
}

/// A function of a library.
#[derive(Clone, Debug)]
pub struct LibraryFunction {
    /// The name, without library.
    pub name: EcoString,
    /// For people.
    pub description: Option<EcoString>,
    /// The parameters that must be given.
    pub params: Vec<LibraryParam>,
    /// The parameter that takes all further arguments.
    pub variadic: Option<LibraryParam>,
    /// `return`
    pub(crate) result: Arc<Expr>,
    /// Location of its definition: `lib.tfsym.hcl:3`.
    pub location: EcoString,
}

/// A parameter of a library's function.
#[derive(Clone, Debug)]
pub struct LibraryParam {
    /// The name.
    pub name: EcoString,
    /// Types that arguments are converted to.
    pub constraint: TypeConstraint,
}

impl LibraryParam {
    /// An argument with defaults of optional attributes, converted to the parameter's type.
    pub(crate) fn accept(&self, value: Value) -> Result<Value, convert::ConvertError> {
        let value = match &self.constraint.defaults {
            Some(defaults) if !value.is_null() => defaults.apply(&value),
            _ => value,
        };
        if self.constraint.ty.is_dynamic() || *value.ty() == self.constraint.ty {
            return Ok(value);
        }
        convert::convert(&value, &self.constraint.ty)
    }
}

/// The libraries whose functions an expression can call.
#[derive(Clone, Copy, Debug)]
pub struct SymbolScope<'a> {
    /// By label.
    pub libraries: &'a Libraries,
    /// The library the expression is in; none in a module.
    pub own: Option<&'a Library>,
    /// Previous results of functions, while a library is linked.
    pub(crate) known: Option<&'a KnownResults>,
}

/// Previous results of library functions for the same arguments: libraries are pure. While a library is linked every
/// function is tried with any arguments, and without this cache each one would try all the functions that it calls
/// again.
#[derive(Debug, Default)]
pub(crate) struct KnownResults {
    /// By the address of the function, which stays where it is: the arguments and the result.
    results: RefCell<HashMap<usize, Vec<(Value, Value)>>>,
}

impl KnownResults {
    /// Maximum number of stored results for each function.
    const KEPT: usize = 4;

    /// The result for these arguments.
    pub(crate) fn get(&self, function: &LibraryFunction, params: &Value) -> Option<Value> {
        let results = self.results.borrow();
        let known = results.get(&std::ptr::from_ref(function).addr())?;
        known.iter().find(|(given, _)| given.raw_equals(params)).map(|(_, result)| result.clone())
    }

    /// Stores a result without errors.
    pub(crate) fn insert(&self, function: &LibraryFunction, params: Value, result: Value) {
        let mut results = self.results.borrow_mut();
        let known = results.entry(std::ptr::from_ref(function).addr()).or_default();
        if known.len() < KnownResults::KEPT {
            known.push((params, result));
        }
    }
}

impl<'a> SymbolScope<'a> {
    /// In a module.
    pub fn of_module(libraries: &'a Libraries) -> SymbolScope<'a> {
        SymbolScope { libraries, own: None, known: None }
    }

    /// The function of a name, and the library it is in.
    pub(crate) fn function(self, name: &SymbolFunction) -> Option<(&'a Library, &'a LibraryFunction)> {
        let library = match &name.library {
            Some(label) => self.libraries.get(label)?.library.as_deref()?,
            None => self.own?,
        };
        Some((library, library.functions.get(&name.name)?))
    }
}

/// Errors in a module's reference to a library, as far as they can be found without values; nothing for other
/// references.
pub fn check(reference: &Reference, libraries: &Libraries, context: &dyn ParseRefContext) -> Diagnostics {
    let problem = match &reference.subject {
        Subject::Symbol(symbol) => match (libraries.get(&symbol.library), &symbol.name) {
            (None, _) => reference.undefined_symbol(context),
            (Some(Included { library: Some(library), location }), Some(name)) if !library.values.contains_key(name) => {
                Some(diagnostics::no_value(reference, symbol, name, library, location, context))
            }
            _ => None,
        },
        Subject::SymbolFunction(function) => match function.library.as_ref().map(|label| libraries.get(label)) {
            None => Some(diagnostics::function_without_library(function, libraries, reference.span)),
            Some(None) => reference.undefined_symbol(context),
            Some(Some(Included { library: Some(library), location })) => match library.functions.get(&function.name) {
                Some(_) => None,
                None => Some(diagnostics::no_function(function, library, Some(location), reference.span)),
            },
            Some(Some(_)) => None,
        },
        _ => None,
    };
    problem.map(Diagnostics::from).unwrap_or_default()
}

/// Whether nothing is wrong with the library that a reference, after [`check`], is to.
pub fn is_usable(reference: &Reference, libraries: &Libraries) -> bool {
    let label = match &reference.subject {
        Subject::Symbol(symbol) => Some(&symbol.library),
        Subject::SymbolFunction(function) => function.library.as_ref(),
        _ => None,
    };
    label.and_then(|label| libraries.get(label)).is_some_and(|included| included.library.is_some())
}

/// The value that a module's reference to a library stands for, after [`check`]; none where the library is wrong.
pub fn value(reference: &Reference, libraries: &Libraries) -> Option<Value> {
    let Subject::Symbol(symbol) = &reference.subject else { return None };
    let library = libraries.get(&symbol.library)?.library.as_deref()?;
    match &symbol.name {
        Some(name) => library.values.get(name).cloned(),
        None => Some(library.all_values()),
    }
}

impl Library {
    /// All values, by name.
    pub(crate) fn all_values(&self) -> Value {
        Value::object(self.values.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}
