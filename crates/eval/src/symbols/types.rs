//! Types with a name: `symbols::library::t()` in a module, `symbols::t()` inside of a library.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_addrs::{ParseRefContext, Reference, SymbolFunction};
use yuba_config::symbols::TypeDef;
use yuba_config::type_expr::{NamedTypes, TypeConstraint, type_constraint};
use yuba_config::{Decoding, symbols::Library as Declared};
use yuba_syntax::expr::CallExpr;
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::Type;
use yuba_value::types::TypeKind;

use super::{Included, Libraries, Library, NamedType, diagnostics};

/// Maximum expanded size of a type: names make it easy to write types that exceed the memory.
const MAX_SIZE: usize = 20_000;
/// Maximum expanded nesting of a type.
const MAX_DEPTH: u32 = 1_000;

/// The named types a module can use.
pub(super) struct ModuleTypes<'a> {
    pub(super) libraries: &'a Libraries,
    pub(super) context: &'a dyn ParseRefContext,
    /// Sizes of the types used so far.
    used: Cell<usize>,
}

impl<'a> ModuleTypes<'a> {
    pub(super) fn new(libraries: &'a Libraries, context: &'a dyn ParseRefContext) -> ModuleTypes<'a> {
        ModuleTypes { libraries, context, used: Cell::new(0) }
    }
    /// Another type constraint begins.
    pub(super) fn begin(&self) {
        self.used.set(0);
    }
}

impl NamedTypes for ModuleTypes<'_> {
    fn resolve(&self, call: &CallExpr) -> Option<(TypeConstraint, Diagnostics)> {
        let name = SymbolFunction::parse(&call.name)?;
        let span = call.name_span.to(call.close_span);
        let problem = match name.library.as_ref().map(|label| self.libraries.get(label)) {
            None => diagnostics::function_without_library(&name, self.libraries, Some(span)),
            Some(None) => {
                let reference = Reference::parse_function(&call.name, call.name_span).and_then(|(found, _)| found);
                reference.and_then(|reference| reference.undefined_symbol(self.context))?
            }
            Some(Some(Included { library: None, .. })) => return Some((TypeConstraint::any(), Diagnostics::new())),
            Some(Some(Included { library: Some(library), location })) => match library.types.get(&name.name) {
                Some(found) => return Some(take(found, call, &self.used)),
                None => diagnostics::no_type(&name, library, Some(location), span),
            },
        };
        Some((TypeConstraint::any(), problem.into()))
    }
}

/// The types of a library, found while it is linked: those it has, in any order, and those of libraries it includes.
pub(super) struct LibraryTypes<'a> {
    declared: &'a Declared,
    library: &'a Library,
    decoding: &'a Decoding<'a>,
    found: RefCell<BTreeMap<EcoString, Option<NamedType>>>,
    /// Types that are being read, outermost first.
    reading: RefCell<Vec<EcoString>>,
    used: Cell<usize>,
    problems: RefCell<Diagnostics>,
}

impl<'a> LibraryTypes<'a> {
    /// Of a library whose includes are known and whose types are not.
    pub(super) fn new(declared: &'a Declared, library: &'a Library, decoding: &'a Decoding<'a>) -> LibraryTypes<'a> {
        LibraryTypes {
            declared,
            library,
            decoding,
            found: RefCell::default(),
            reading: RefCell::default(),
            used: Cell::new(0),
            problems: RefCell::default(),
        }
    }

    /// Reads a type constraint that stands in the library.
    pub(super) fn read(&self, expr: &yuba_syntax::Expr) -> (TypeConstraint, Diagnostics) {
        let before = self.used.replace(0);
        let (mut constraint, mut problems) = type_constraint(expr, self.decoding, self);
        self.used.set(before);
        if constraint.ty.depth() > MAX_DEPTH {
            problems.push(diagnostics::type_too_deep(MAX_DEPTH, expr.span));
            constraint = TypeConstraint::any();
        }
        (constraint, problems)
    }

    /// All types, with their errors.
    pub(super) fn all(self) -> (BTreeMap<EcoString, NamedType>, Diagnostics) {
        for typedef in self.declared.typedefs.values() {
            self.named(typedef);
        }
        let found = self.found.into_inner().into_iter().filter_map(|(name, found)| Some((name, found?))).collect();
        (found, self.problems.into_inner())
    }

    fn named(&self, typedef: &TypeDef) -> Option<NamedType> {
        if let Some(found) = self.found.borrow().get(&typedef.name) {
            return found.clone();
        }
        self.reading.borrow_mut().push(typedef.name.clone());
        let (constraint, problems) = match &typedef.constraint {
            Some(expr) => crate::expression::with_stack(|| self.read(expr)),
            None => (TypeConstraint::any(), Diagnostics::new()),
        };
        self.reading.borrow_mut().pop();
        let wrong = problems.has_errors();
        self.problems.borrow_mut().extend(problems);
        let size = size_of(&constraint.ty);
        let location = super::link::location(self.decoding.sources, typedef.span);
        let found = NamedType { constraint, size, location };
        self.found.borrow_mut().insert(typedef.name.clone(), (!wrong).then(|| found.clone()));
        Some(found)
    }

    /// Errors about types that contain themselves.
    fn cycle(&self, name: &EcoString, call: &CallExpr) -> Option<Diagnostic> {
        let reading = self.reading.borrow();
        let start = reading.iter().position(|at| at == name)?;
        let chain: Vec<(EcoString, EcoString)> = reading
            .iter()
            .skip(start)
            .filter_map(|name| {
                let location = super::link::location(self.decoding.sources, self.declared.typedefs.get(name)?.span);
                Some((eco_format!("symbols::{name}()"), location))
            })
            .collect();
        Some(diagnostics::cycle("type", &chain, call.name_span))
    }
}

impl NamedTypes for LibraryTypes<'_> {
    fn resolve(&self, call: &CallExpr) -> Option<(TypeConstraint, Diagnostics)> {
        let name = SymbolFunction::parse(&call.name)?;
        let span = call.name_span.to(call.close_span);
        let any = |problem: Option<Diagnostic>| {
            Some((TypeConstraint::any(), problem.map(Diagnostics::from).unwrap_or_default()))
        };
        let Some(label) = &name.library else {
            if let Some(cycle) = self.cycle(&name.name, call) {
                return any(Some(cycle));
            }
            return match self.declared.typedefs.get(&name.name) {
                // Its errors are reported at its definition.
                Some(typedef) => match self.named(typedef) {
                    Some(found) => Some(take(&found, call, &self.used)),
                    None => any(None),
                },
                None => {
                    let known = self.declared.typedefs.keys().map(EcoString::as_str);
                    any(Some(diagnostics::undeclared("type", &name.name, "this library", known, span)))
                }
            };
        };
        match self.library.libraries.get(label) {
            None => any(Some(diagnostics::undefined_library(label, &self.library.libraries, call.name_span))),
            Some(Included { library: None, .. }) => any(None),
            Some(Included { library: Some(library), location }) => match library.types.get(&name.name) {
                Some(found) => Some(take(found, call, &self.used)),
                None => any(Some(diagnostics::no_type(&name, library, Some(location), span))),
            },
        }
    }
}

/// The type a call stands for.
fn take(found: &NamedType, call: &CallExpr, used: &Cell<usize>) -> (TypeConstraint, Diagnostics) {
    let span = call.name_span.to(call.close_span);
    if !call.args.is_empty() {
        let problem = diagnostics::type_arguments(&call.name, &found.location, call.open_span.to(call.close_span));
        return (TypeConstraint::any(), problem.into());
    }
    used.set(used.get().saturating_add(found.size));
    if used.get() > MAX_SIZE {
        return (TypeConstraint::any(), diagnostics::type_too_large(&call.name, &found.location, span).into());
    }
    (found.constraint.clone(), Diagnostics::new())
}

/// Number of types in a type, expanded.
fn size_of(ty: &Type) -> usize {
    let inner = match ty.kind() {
        TypeKind::Bool | TypeKind::Number | TypeKind::String | TypeKind::Dynamic => 0,
        TypeKind::List(element) | TypeKind::Set(element) | TypeKind::Map(element) => size_of(element),
        TypeKind::Tuple(elements) => elements.iter().map(size_of).sum(),
        TypeKind::Object(attrs) => attrs.iter().map(|attr| size_of(&attr.ty)).sum(),
    };
    1 + inner
}
