//! What can be wrong with symbol libraries and their use, in words. Both ends are named: where a thing is used and where
//! it is, or should be.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_addrs::{ModuleSource, ParseRefContext, Reference, Symbol, SymbolFunction, Version, without_secrets};
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{Diagnostic, Span};

use super::{Libraries, Library};
use crate::tree::Purpose;

fn error(summary: impl Into<EcoString>, detail: impl Into<EcoString>, span: Option<Span>) -> Diagnostic {
    let problem = Diagnostic::error(summary, detail);
    match span {
        Some(span) => problem.at(span),
        None => problem,
    }
}

fn names<T>(map: &BTreeMap<EcoString, T>) -> impl Iterator<Item = &str> {
    map.keys().map(EcoString::as_str)
}

/// How a thing of another kind with the same name is used.
fn of_other_kind(library: &Library, prefix: &str, name: &str, wanted: &str) -> EcoString {
    if wanted != "value" && library.values.contains_key(name) {
        let dotted = prefix.replace("::", ".");
        return eco_format!(" There is a value of this name: write {dotted}{name}.");
    }
    if wanted != "function" && library.functions.contains_key(name) {
        return eco_format!(" There is a function of this name: write {prefix}{name}(...).");
    }
    if wanted != "type" && library.types.contains_key(name) {
        return eco_format!(
            " There is a type of this name; types are used in type constraints only: type = {prefix}{name}()."
        );
    }
    EcoString::new()
}

/// A module asks for a value that its library does not have.
pub(super) fn no_value(
    reference: &Reference,
    symbol: &Symbol,
    name: &str,
    library: &Library,
    place: &str,
    context: &dyn ParseRefContext,
) -> Diagnostic {
    let (root, label) = (symbol.feature.root_word(), &symbol.library);
    let hint = match of_other_kind(library, &eco_format!("{root}::{label}::"), name, "value") {
        hint if hint.is_empty() => did_you_mean(name, names(&library.values)).into(),
        hint => hint,
    };
    let mut detail = eco_format!(
        "This is a reference to the block {root} {label:?} at {place}, whose library {} has no value named {name:?}.{hint}",
        library.path
    );
    detail.push_str(&reference.resource_hint(context));
    error("Reference to undefined symbol", detail, reference.span)
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
    let hint = owner.map(|(label, _)| eco_format!(" Did you mean {root}::{label}::{name}(...)?")).unwrap_or_default();
    let detail = eco_format!(
        "Only inside of a symbol library can its own functions and types be called as {root}::{name}(...). In a module, \
         the name of the library comes before: {root}::<library>::{name}(...).{hint}"
    );
    error("Reference to undefined symbol", detail, span)
}

/// There is no such function in a library. `place` is where a module or another library includes it; none for the
/// library itself.
pub(super) fn no_function(
    function: &SymbolFunction,
    library: &Library,
    place: Option<&str>,
    span: Option<Span>,
) -> Diagnostic {
    let called = eco_format!("{function}");
    let prefix = called.strip_suffix(function.name.as_str()).unwrap_or_default();
    let hint = match of_other_kind(library, prefix, &function.name, "function") {
        hint if hint.is_empty() => did_you_mean(&function.name, names(&library.functions)).into(),
        hint => hint,
    };
    let included = place.map(|place| eco_format!(", included at {place},")).unwrap_or_default();
    let detail =
        eco_format!("The symbol library {}{included} has no function named {:?}.{hint}", library.path, function.name);
    error("Call to unknown function", detail, span)
}

/// A function that is not there, called where references are not checked before.
pub(crate) fn unknown_function(name: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("There is no function {name:?}: no symbol library that can be used here has it.");
    Diagnostic::error("Call to unknown function", detail).at(at).within(call)
}

/// There is no such type in a library.
pub(super) fn no_type(function: &SymbolFunction, library: &Library, place: Option<&str>, span: Span) -> Diagnostic {
    let called = eco_format!("{function}");
    let prefix = called.strip_suffix(function.name.as_str()).unwrap_or_default();
    let hint = match of_other_kind(library, prefix, &function.name, "type") {
        hint if hint.is_empty() => did_you_mean(&function.name, names(&library.types)).into(),
        hint => hint,
    };
    let included = place.map(|place| eco_format!(", included at {place},")).unwrap_or_default();
    let detail =
        eco_format!("The symbol library {}{included} has no typedef named {:?}.{hint}", library.path, function.name);
    error("Reference to undefined type", detail, Some(span))
}

pub(super) fn type_arguments(name: &str, place: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The type {name}(), defined at {place}, has no arguments.");
    Diagnostic::error("Invalid type specification", detail).at(span)
}

pub(super) fn type_too_large(name: &str, place: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("With the type {name}(), defined at {place}, written out this type becomes too large.");
    Diagnostic::error("Invalid type specification", detail).at(span)
}

/// Something depends on itself; `chain` has each step with its place.
pub(super) fn cycle(what: &str, chain: &[(EcoString, EcoString)], span: Span) -> Diagnostic {
    let start = chain.first().map(|(name, _)| name.clone()).unwrap_or_default();
    let mut detail = eco_format!("{start} depends on itself:");
    for (at, (name, place)) in chain.iter().enumerate() {
        let next = chain.get(at + 1).map_or(&start, |(name, _)| name);
        detail.push_str(&eco_format!("\n  - {name} ({place}) uses {next}"));
    }
    detail.push_str(&eco_format!("\n\nIn a symbol library there is no recursion, so no {what} can have a result."));
    Diagnostic::error("Circular reference", detail).at(span)
}

/// A library includes itself; `chain` has path of the library and place of the block that includes the next one.
pub(super) fn includes_itself(chain: &[(EcoString, EcoString)], span: Span) -> Diagnostic {
    let start = chain.first().map(|(path, _)| path.clone()).unwrap_or_default();
    let mut detail = eco_format!("The symbol library {start} includes itself:");
    for (at, (path, place)) in chain.iter().enumerate() {
        let next = chain.get(at + 1).map_or(&start, |(path, _)| path);
        detail.push_str(&eco_format!("\n  - {path} includes {next} ({place})"));
    }
    detail.push_str("\n\nMove what they share to a library of its own.");
    Diagnostic::error("Symbol library includes itself", detail).at(span)
}

pub(super) fn too_deep(most: usize, span: Span) -> Diagnostic {
    let detail = eco_format!("Symbol libraries include each other over more than {most} levels.");
    Diagnostic::error("Symbol libraries nested too deeply", detail).at(span)
}

pub(super) fn too_many(most: usize, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "There are more than {most} symbols blocks in this configuration, counting those in included libraries each time."
    );
    Diagnostic::error("Too many symbol libraries", detail).at(span)
}

/// What to do about a library that is not where it was installed.
const HOW_TO_INSTALL: &str = "Run \"yuba init\" to install all symbol libraries of this configuration.";

pub(super) fn not_installed(name: &str, source: &ModuleSource, purpose: Purpose, span: Span) -> Diagnostic {
    let summary = match purpose {
        Purpose::Install => "Failed to download symbol library",
        Purpose::Use | Purpose::Look => "Symbol library not installed",
    };
    let source = without_secrets(&source.for_display());
    let detail = eco_format!("The source of the {name} is {source}, and it is not installed. {HOW_TO_INSTALL}");
    Diagnostic::error(summary, detail).at(span)
}

pub(super) fn cache_unreadable(name: &str, dir: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The directory {dir}, where the {name} was installed, does not exist. {HOW_TO_INSTALL}");
    Diagnostic::error("Symbol library not installed", detail).at(span)
}

pub(super) fn source_changed(installed: &str, wanted: &str, span: Span) -> Diagnostic {
    let (installed, wanted) = (without_secrets(installed), without_secrets(wanted));
    let detail = eco_format!(
        "The symbol library was installed from {installed:?}, and its source is {wanted:?} now. {HOW_TO_INSTALL}"
    );
    Diagnostic::error("Symbol library source has changed", detail).at(span)
}

pub(super) fn version_changed(installed: Option<&Version>, span: Span) -> Diagnostic {
    let installed = installed.map(|version| eco_format!(" {version}")).unwrap_or_default();
    let detail = eco_format!("The installed version{installed} does not meet the version constraint. {HOW_TO_INSTALL}");
    Diagnostic::error("Symbol library version requirements have changed", detail).at(span)
}

pub(super) fn leaves_package(name: &str, path: &str, package: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The path {path} of the {name} is outside of the package in {package}. A source that starts with \"./\" or \
         \"../\" has to stay within the package of the block."
    );
    Diagnostic::error("Local symbol library path escapes package", detail).at(span)
}

pub(super) fn unreadable(label: &str, path: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The symbol library {label:?} should be at {path}, but {reason}.");
    Diagnostic::error("Unreadable symbol library", detail).at(span)
}

/// A name that has no meaning in a library.
pub(super) fn not_in_library(root: &str, in_function: bool, span: Span) -> Diagnostic {
    let detail = match (root, in_function) {
        ("param", _) => {
            "There are no parameters here: param.<name> is for the \"return\" argument of a function.".into()
        }
        _ => {
            let params = if in_function { "param.<name> for its parameters, " } else { "" };
            eco_format!(
                "A symbol library does not depend on the module that uses it, so it cannot refer to {root:?}. Here can be \
                 used: {params}value.<name> for values of this library, and symbols.<library>.<name> for those of libraries \
                 that it includes."
            )
        }
    };
    Diagnostic::error("Invalid reference in symbol library", detail).at(span)
}

pub(super) fn incomplete(root: &str, wanted: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("After {root:?} there must be a dot and the name of {wanted}.");
    Diagnostic::error("Invalid reference", detail).at(span)
}

pub(super) fn undeclared<'a>(
    what: &str,
    name: &str,
    owner: &str,
    known: impl Iterator<Item = &'a str>,
    span: Span,
) -> Diagnostic {
    let hint = did_you_mean(name, known);
    let detail = eco_format!("There is no {what} named {name:?} in {owner}.{hint}");
    Diagnostic::error(eco_format!("Reference to undeclared {what}"), detail).at(span)
}

/// A library refers to a library that it does not include.
pub(super) fn undefined_library(label: &str, known: &Libraries, span: Span) -> Diagnostic {
    let hint = did_you_mean(label, names(known));
    let detail = eco_format!("There is no symbols block named {label:?} defined in this library.{hint}");
    Diagnostic::error("Reference to undefined symbol library", detail).at(span)
}

/// A library asks a library that it includes for a value that is not there.
pub(super) fn no_nested_value(label: &str, name: &str, library: &Library, place: &str, span: Span) -> Diagnostic {
    let hint = match of_other_kind(library, &eco_format!("symbols::{label}::"), name, "value") {
        hint if hint.is_empty() => did_you_mean(name, names(&library.values)).into(),
        hint => hint,
    };
    let detail = eco_format!(
        "The symbol library {}, included at {place} as {label:?}, has no value named {name:?}.{hint}",
        library.path
    );
    Diagnostic::error("Reference to undefined symbol", detail).at(span)
}

pub(super) fn impure_call(name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "What a symbol library says depends on its own text only, and the function {name:?} looks at something else: files, \
         the clock or chance. Call it in the module, and give the result to a function of the library."
    );
    Diagnostic::error("Impure function in symbol library", detail).at(span)
}

pub(super) fn provider_function(name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("A symbol library has no providers, so it cannot call {name:?}.");
    Diagnostic::error("Provider function in symbol library", detail).at(span)
}
