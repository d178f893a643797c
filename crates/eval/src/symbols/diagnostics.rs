//! The catalogue of what can be wrong with symbol libraries and their use. Messages name both ends: the location of the use and
//! the location of the declaration.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_addrs::{ModuleSource, ParseRefContext, Reference, Symbol, SymbolFunction, Version, without_secrets};
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{Diagnostic, Span};

use super::{Libraries, Library, LibraryFunction};
use crate::diagnostics::UNKNOWN_FUNCTION;
use crate::tree::Purpose;

yuba_syntax::catalogue! {
    /// A reference names a value that its symbol library does not define, or a function of no library.
    UNDEFINED_SYMBOL = error "undefined-symbol", "Reference to undefined symbol";
    /// A type constraint names a type that its symbol library does not define.
    UNDEFINED_TYPE = error "undefined-type", "Reference to undefined type";
    /// A type of a symbol library is used with arguments, or exceeds a limit.
    INVALID_LIBRARY_TYPE = error "invalid-library-type", "Invalid type specification";
    /// A value, type or function of a symbol library depends on itself.
    CIRCULAR_SYMBOL = error "circular-symbol", "Circular reference";
    /// A symbol library includes itself, directly or through other libraries.
    LIBRARY_INCLUDES_ITSELF = error "library-includes-itself", "Symbol library includes itself";
    /// Symbol libraries exceed the limit of nesting.
    LIBRARIES_NESTED_TOO_DEEPLY = error "libraries-nested-too-deeply", "Symbol libraries nested too deeply";
    /// The configuration exceeds the limit of symbols blocks.
    TOO_MANY_LIBRARIES = error "too-many-libraries", "Too many symbol libraries";
    /// A symbol library is not installed, or its directory does not exist.
    LIBRARY_NOT_INSTALLED = error "library-not-installed", "Symbol library not installed";
    /// A command that installs symbol libraries did not download a library.
    LIBRARY_NOT_FETCHED = error "library-not-fetched", "Failed to download symbol library";
    /// The source of a symbols block differs from the source of the installed library.
    LIBRARY_SOURCE_CHANGED = error "library-source-changed", "Symbol library source has changed";
    /// The installed version of a symbol library does not meet the version constraint.
    LIBRARY_VERSION_CHANGED = error "library-version-changed", "Symbol library version requirements have changed";
    /// A local source of a symbols block leads out of the package of the block.
    LIBRARY_LEAVES_PACKAGE = error "library-leaves-package", "Local symbol library path escapes package";
    /// The file of a symbol library cannot be read.
    LIBRARY_UNREADABLE = error "library-unreadable", "Unreadable symbol library";
    /// An expression of a symbol library refers to an object of a module.
    INVALID_LIBRARY_REFERENCE = error "invalid-library-reference", "Invalid reference in symbol library";
    /// A reference of a symbol library ends after its first word.
    INCOMPLETE_LIBRARY_REFERENCE = error "incomplete-library-reference", "Invalid reference";
    /// An expression of a symbol library refers to a value or parameter that does not exist.
    UNDECLARED_IN_LIBRARY = error "undeclared-in-library", "Reference to undeclared {kind}";
    /// A symbol library refers to a library that it does not include.
    UNDEFINED_NESTED_LIBRARY = error "undefined-nested-library", "Reference to undefined symbol library";
    /// A symbol library calls a function that reads files, the clock or random numbers.
    IMPURE_FUNCTION_IN_LIBRARY = error "impure-function-in-library", "Impure function in symbol library";
    /// A symbol library calls a provider function.
    PROVIDER_FUNCTION_IN_LIBRARY = error "provider-function-in-library", "Provider function in symbol library";
}

fn names<T>(map: &BTreeMap<EcoString, T>) -> impl Iterator<Item = &str> {
    map.keys().map(EcoString::as_str)
}

/// The hint to a symbol of another kind with the same name.
fn of_other_kind(library: &Library, prefix: &str, name: &str, wanted: &str) -> Option<EcoString> {
    if wanted != "value" && library.values.contains_key(name) {
        let dotted = prefix.replace("::", ".");
        return Some(eco_format!("To use the value of this name, write {dotted}{name}."));
    }
    if wanted != "function" && library.functions.contains_key(name) {
        return Some(eco_format!("To call the function of this name, write {prefix}{name}(...)."));
    }
    if wanted != "type" && library.types.contains_key(name) {
        return Some(eco_format!("To use the type of this name in a type constraint, write type = {prefix}{name}()."));
    }
    None
}

/// The hint to a symbol of another kind with the same name, or to one of this kind with a similar name.
fn hint_for<'a>(
    library: &Library,
    prefix: &str,
    name: &str,
    wanted: &str,
    known: impl Iterator<Item = &'a str>,
) -> EcoString {
    of_other_kind(library, prefix, name, wanted).unwrap_or_else(|| did_you_mean(name, known).trim_start().into())
}

/// A module uses a value that its library does not define.
pub(super) fn no_value(
    reference: &Reference,
    symbol: &Symbol,
    name: &str,
    library: &Library,
    location: &str,
    context: &dyn ParseRefContext,
) -> Diagnostic {
    let (root, label) = (symbol.feature.root_word(), &symbol.library);
    let hint = hint_for(library, &eco_format!("{root}::{label}::"), name, "value", names(&library.values));
    let mut detail = eco_format!(
        "This is a reference to the block {root} {label:?} at {location}, whose library {} has no value named {name:?}.",
        library.path
    );
    detail.push_str(&reference.resource_hint(context));
    Diagnostic::new(&UNDEFINED_SYMBOL, detail).hint(hint).at(reference.span)
}

/// A module calls `symbols::f()`, which only a library can.
pub(super) fn function_without_library(
    function: &SymbolFunction,
    libraries: &Libraries,
    span: Option<Span>,
) -> Diagnostic {
    let (root, name) = (function.feature.root_word(), &function.name);
    let owner = libraries.iter().find(|(_, included)| {
        let library = included.library.as_deref();
        library.is_some_and(|library| library.functions.contains_key(name) || library.types.contains_key(name))
    });
    let hint = match owner {
        Some((label, _)) => eco_format!("Did you mean {root}::{label}::{name}(...)?"),
        None => eco_format!("Write the name of the library before the function: {root}::<library>::{name}(...)."),
    };
    let detail = eco_format!("Only the symbol library itself can call its functions and types as {root}::{name}(...).");
    Diagnostic::new(&UNDEFINED_SYMBOL, detail).hint(hint).at(span)
}

/// A library does not define a function. `place` is the location of the block that includes the library; none for the library
/// itself.
pub(super) fn no_function(
    function: &SymbolFunction,
    library: &Library,
    location: Option<&str>,
    span: Option<Span>,
) -> Diagnostic {
    let called = eco_format!("{function}");
    let prefix = called.strip_suffix(function.name.as_str()).unwrap_or_default();
    let hint = hint_for(library, prefix, &function.name, "function", names(&library.functions));
    let included = location.map(|location| eco_format!(", included at {location},")).unwrap_or_default();
    let detail =
        eco_format!("The symbol library {}{included} has no function named {:?}.", library.path, function.name);
    Diagnostic::new(&UNKNOWN_FUNCTION, detail).hint(hint).at(span)
}

/// A function that does not exist, called where references are not checked before.
pub(crate) fn unknown_function(name: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("There is no function {name:?} in the symbol libraries of this scope.");
    Diagnostic::new(&UNKNOWN_FUNCTION, detail).at(at).within(call)
}

/// A library does not define a type.
pub(super) fn no_type(function: &SymbolFunction, library: &Library, location: Option<&str>, span: Span) -> Diagnostic {
    let called = eco_format!("{function}");
    let prefix = called.strip_suffix(function.name.as_str()).unwrap_or_default();
    let hint = hint_for(library, prefix, &function.name, "type", names(&library.types));
    let included = location.map(|location| eco_format!(", included at {location},")).unwrap_or_default();
    let detail = eco_format!("The symbol library {}{included} has no typedef named {:?}.", library.path, function.name);
    Diagnostic::new(&UNDEFINED_TYPE, detail).hint(hint).at(span)
}

pub(super) fn type_arguments(name: &str, location: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The type {name}(), defined at {location}, does not accept arguments.");
    Diagnostic::new(&INVALID_LIBRARY_TYPE, detail).at(span)
}

pub(super) fn type_too_large(name: &str, location: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The type {name}(), defined at {location}, makes this type too large.");
    Diagnostic::new(&INVALID_LIBRARY_TYPE, detail).at(span)
}

pub(super) fn type_too_deep(limit: u32, span: Span) -> Diagnostic {
    let detail = eco_format!("With the types it refers to, this type exceeds the limit of {limit} nested levels.");
    Diagnostic::new(&INVALID_LIBRARY_TYPE, detail).at(span)
}

/// Something depends on itself; `chain` has each step with its location.
pub(super) fn cycle(what: &str, chain: &[(EcoString, EcoString)], span: Span) -> Diagnostic {
    let start = chain.first().map(|(name, _)| name.clone()).unwrap_or_default();
    let mut detail = eco_format!("{start} depends on itself:");
    for (at, (name, location)) in chain.iter().enumerate() {
        let next = chain.get(at + 1).map_or(&start, |(name, _)| name);
        detail.push_str(&eco_format!("\n  - {name} ({location}) uses {next}"));
    }
    detail.push_str(&eco_format!("\n\nSymbol libraries do not support recursion, so this {what} has no result."));
    Diagnostic::new(&CIRCULAR_SYMBOL, detail).at(span)
}

/// A library includes itself; `chain` has the path of each library and the location of the block that includes the next one.
pub(super) fn includes_itself(chain: &[(EcoString, EcoString)], span: Span) -> Diagnostic {
    let start = chain.first().map(|(path, _)| path.clone()).unwrap_or_default();
    let mut detail = eco_format!("The symbol library {start} includes itself:");
    for (at, (path, location)) in chain.iter().enumerate() {
        let next = chain.get(at + 1).map_or(&start, |(path, _)| path);
        detail.push_str(&eco_format!("\n  - {path} includes {next} ({location})"));
    }
    let problem = Diagnostic::new(&LIBRARY_INCLUDES_ITSELF, detail)
        .hint("Move the shared symbols to a library of their own.")
        .at(span);
    chain.iter().fold(problem, |problem, (path, location)| problem.about(path).about(location))
}

pub(super) fn too_deep(most: usize, span: Span) -> Diagnostic {
    let detail =
        eco_format!("This block exceeds the limit of {most} levels of symbol libraries that include each other.");
    Diagnostic::new(&LIBRARIES_NESTED_TOO_DEEPLY, detail).at(span)
}

pub(super) fn too_many(most: usize, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "This configuration exceeds the limit of {most} symbols blocks. Blocks of a library count each time it is included."
    );
    Diagnostic::new(&TOO_MANY_LIBRARIES, detail).at(span)
}

/// Advice for installing libraries.
const INSTALL: &str = "Run \"yuba init\" to install all symbol libraries of this configuration.";

pub(super) fn not_installed(name: &str, source: &ModuleSource, purpose: Purpose, span: Span) -> Diagnostic {
    let code = match purpose {
        Purpose::Install => &LIBRARY_NOT_FETCHED,
        Purpose::Use | Purpose::Look => &LIBRARY_NOT_INSTALLED,
    };
    let source = without_secrets(&source.for_display());
    Diagnostic::new(code, eco_format!("The {name} from {source} is not installed."))
        .hint(INSTALL)
        .about(name)
        .about(source)
        .at(span)
}

pub(super) fn cache_unreadable(name: &str, dir: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The directory {dir}, where the {name} was installed, does not exist.");
    Diagnostic::new(&LIBRARY_NOT_INSTALLED, detail).hint(INSTALL).about(name).about(dir).at(span)
}

pub(super) fn source_changed(installed: &str, wanted: &str, span: Span) -> Diagnostic {
    let (installed, wanted) = (without_secrets(installed), without_secrets(wanted));
    let detail = eco_format!("The symbol library was installed from {installed:?}, but its source is now {wanted:?}.");
    Diagnostic::new(&LIBRARY_SOURCE_CHANGED, detail).hint(INSTALL).about(installed).about(wanted).at(span)
}

pub(super) fn version_changed(installed: Option<&Version>, span: Span) -> Diagnostic {
    let installed = installed.map(|version| eco_format!(" {version}")).unwrap_or_default();
    let detail = eco_format!("The installed version{installed} does not meet the version constraint.");
    Diagnostic::new(&LIBRARY_VERSION_CHANGED, detail).hint(INSTALL).about(installed).at(span)
}

pub(super) fn leaves_package(name: &str, path: &str, package: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The path {path} of the {name} is outside of the package in {package}. A source that starts with \"./\" or \
         \"../\" must stay within the package of the block."
    );
    Diagnostic::new(&LIBRARY_LEAVES_PACKAGE, detail).about(name).about(path).about(package).at(span)
}

pub(super) fn unreadable(label: &str, path: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("Failed to read the symbol library {label:?} at {path}: {reason}.");
    Diagnostic::new(&LIBRARY_UNREADABLE, detail).about(label).about(path).at(span)
}

/// A name that has no meaning in a library.
pub(super) fn not_in_library(root: &str, function: Option<&LibraryFunction>, span: Span) -> Diagnostic {
    let detail = match root {
        "param" => "param.<name> is available only in the \"return\" argument of a function.".into(),
        _ => {
            let params = if function.is_some() { "param.<name> for its parameters, " } else { "" };
            eco_format!(
                "A symbol library does not depend on the module that uses it, so it cannot refer to {root:?}. It can use \
                 {params}value.<name> for its own values, and symbols.<library>.<name> for values of libraries that it \
                 includes."
            )
        }
    };
    Diagnostic::new(&INVALID_LIBRARY_REFERENCE, detail).at(span)
}

pub(super) fn incomplete(root: &str, wanted: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("A dot and the name of {wanted} must follow {root:?}.");
    Diagnostic::new(&INCOMPLETE_LIBRARY_REFERENCE, detail).at(span)
}

pub(super) fn undeclared<'a>(
    what: &str,
    name: &str,
    owner: &str,
    known: impl Iterator<Item = &'a str>,
    span: Span,
) -> Diagnostic {
    let hint = did_you_mean(name, known);
    let detail = eco_format!("There is no {what} named {name:?} in {owner}.");
    let title = eco_format!("Reference to undeclared {what}");
    Diagnostic::new(&UNDECLARED_IN_LIBRARY, detail)
        .titled(title)
        .naming(what)
        .about(name)
        .hint(hint.trim_start())
        .at(span)
}

/// A library refers to a library that it does not include.
pub(super) fn undefined_library(label: &str, known: &Libraries, span: Span) -> Diagnostic {
    let hint = did_you_mean(label, names(known));
    let detail = eco_format!("There is no symbols block named {label:?} defined in this library.");
    Diagnostic::new(&UNDEFINED_NESTED_LIBRARY, detail).hint(hint.trim_start()).at(span)
}

/// A library uses a value that an included library does not define.
pub(super) fn no_nested_value(label: &str, name: &str, library: &Library, location: &str, span: Span) -> Diagnostic {
    let hint = hint_for(library, &eco_format!("symbols::{label}::"), name, "value", names(&library.values));
    let detail = eco_format!(
        "The symbol library {}, included at {location} as {label:?}, has no value named {name:?}.",
        library.path
    );
    Diagnostic::new(&UNDEFINED_SYMBOL, detail).hint(hint).at(span)
}

pub(super) fn impure_call(name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The function {name:?} reads files, the clock or random numbers. The symbols of a library depend only on the library."
    );
    Diagnostic::new(&IMPURE_FUNCTION_IN_LIBRARY, detail)
        .hint("Call it in the module, and pass the result to a function of the library.")
        .at(span)
}

pub(super) fn provider_function(name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("A symbol library has no providers, so it cannot call {name:?}.");
    Diagnostic::new(&PROVIDER_FUNCTION_IN_LIBRARY, detail).at(span)
}
