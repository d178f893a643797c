//! Constants: expressions that may neither refer to anything nor call functions, except for symbol libraries and for `each`
//! where it has a meaning.

use ecow::EcoString;
use yuba_addrs::{Baseline, Feature, ParseRefContext, Reference, Subject, SymbolFunction};
use yuba_syntax::expr::{Literal, ObjectItem};
use yuba_syntax::{Diagnostics, Expr, ExprKind, Sources, Span, Traversal, TraversalStep};
use yuba_value::Value;

use crate::diagnostics::{call_in_constant, reference_in_constant};
use crate::expression::{NoVariables, Variables, evaluate, with_stack};
use crate::functions::{CallContext, FunctionTable};
use crate::references::{each_call, each_traversal};
use crate::symbols::{self, Libraries, SymbolScope};
use crate::validate::diagnostics;
use crate::world::MemoryWorld;

/// The value of an expression that may neither refer to anything nor call functions. Strings of JSON syntax are not
/// templates.
pub fn constant(expr: &Expr) -> (Value, Diagnostics) {
    constant_with(expr, &ConstantNames::default())
}

/// Names that constants can refer to.
#[derive(Clone, Copy, Default)]
pub struct ConstantNames<'a> {
    /// The module they are in, with its symbol libraries, if it has opted in to these.
    pub symbols: Option<(&'a dyn ParseRefContext, &'a Libraries)>,
    /// Meaning of `each`.
    pub each: Each<'a>,
    /// For locations that messages mention.
    pub sources: Option<&'a Sources>,
}

/// Value of `each` in a constant.
#[derive(Clone, Copy, Default)]
pub enum Each<'a> {
    /// `each` has no special meaning.
    #[default]
    Nothing,
    /// The instance of a block that could have `for_each` and does not.
    WithoutForEach,
    /// An instance of a block with `for_each`.
    Instance {
        /// `each.key`
        key: &'a Value,
        /// `each.value`
        value: &'a Value,
    },
}

/// The value of an expression that may refer to these names only. Strings of JSON syntax are not templates.
pub fn constant_with(expr: &Expr, names: &ConstantNames<'_>) -> (Value, Diagnostics) {
    let plain;
    let expr = match &expr.kind {
        ExprKind::JsonString(_) | ExprKind::JsonObject(_) | ExprKind::Tuple(_) => {
            plain = without_templates(expr);
            &plain
        }
        _ => expr,
    };
    let mut problems = Diagnostics::new();
    let mut calls: Vec<Span> = Vec::new();
    each_call(expr, &mut |call| {
        let span = call.name_span.to(call.close_span);
        let inside = calls.last().is_some_and(|outer| outer.start <= span.start && span.end <= outer.end);
        if inside {
            return;
        }
        if let Some((context, libraries)) = names.symbols
            && SymbolFunction::parse(&call.name).is_some()
            && let Some((reference, found)) = Reference::parse_function(&call.name, call.name_span)
        {
            problems.extend(found);
            problems.extend(reference.into_iter().flat_map(|reference| symbols::check(&reference, libraries, context)));
            return;
        }
        calls.push(span);
        problems.push(call_in_constant(span));
    });
    each_traversal(expr, &mut |traversal| {
        // Both come in source order.
        let before = calls.partition_point(|call| call.start <= traversal.span.start);
        let around = before.checked_sub(1).and_then(|at| calls.get(at));
        if around.is_none_or(|call| call.end < traversal.span.end) {
            problems.extend(names.check(traversal));
        }
    });
    if problems.has_errors() {
        return (Value::unknown_dynamic(), problems);
    }
    let world = MemoryWorld::new();
    let libraries = names.symbols.map(|(_, libraries)| SymbolScope::of_module(libraries));
    let context = CallContext { sources: names.sources, symbols: libraries, ..alone(&world, FunctionTable::module()) };
    if !names.all_usable(expr) {
        return (Value::unknown_dynamic(), problems);
    }
    evaluate(expr, names, context)
}

impl ConstantNames<'_> {
    /// Errors in a name.
    fn check(&self, traversal: &Traversal) -> Diagnostics {
        let reference = |context: &dyn ParseRefContext| Reference::parse(traversal, context);
        if let Some((context, libraries)) = self.symbols
            && Feature::from_root_word(&traversal.root).is_some()
        {
            let (reference, mut found) = reference(context);
            found.extend(reference.into_iter().flat_map(|reference| symbols::check(&reference, libraries, context)));
            return found;
        }
        if traversal.root == "each" && !matches!(self.each, Each::Nothing) {
            let (reference, mut found) = reference(&Baseline);
            if let Some(Reference { subject: Subject::Each(name), span, .. }) = reference {
                let is_instance = matches!(self.each, Each::Instance { .. });
                match name.as_str() {
                    "key" | "value" if is_instance => {}
                    "key" => found.push(diagnostics::no_each(span)),
                    "value" => found.push(diagnostics::no_each_value(span)),
                    _ => found.push(diagnostics::invalid_each_attribute(&name, span)),
                }
            }
            return found;
        }
        reference_in_constant(traversal.root_span).into()
    }

    /// Whether nothing is wrong with the libraries that an expression refers to.
    fn all_usable(&self, expr: &Expr) -> bool {
        let Some((context, libraries)) = self.symbols else { return true };
        let mut usable = true;
        let mut check = |reference: Option<Reference>| {
            let is_symbol = |subject: &Subject| matches!(subject, Subject::Symbol(_) | Subject::SymbolFunction(_));
            let symbol = reference.filter(|reference| is_symbol(&reference.subject));
            usable &= symbol.is_none_or(|reference| symbols::is_usable(&reference, libraries));
        };
        each_traversal(expr, &mut |traversal| check(Reference::parse(traversal, context).0));
        each_call(expr, &mut |call| {
            check(Reference::parse_function(&call.name, call.name_span).and_then(|(reference, _)| reference));
        });
        usable
    }
}

impl Variables for ConstantNames<'_> {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        match (traversal.root.as_str(), self.each, traversal.steps.first()) {
            ("each", Each::Instance { key, value }, Some(TraversalStep::Attr { name, .. })) => match name.as_str() {
                "key" => Some((key.clone(), 1)),
                "value" => Some((value.clone(), 1)),
                _ => None,
            },
            _ => {
                let (context, libraries) = self.symbols?;
                let reference = Reference::parse(traversal, context).0?;
                Some((symbols::value(&reference, libraries)?, reference.value_steps))
            }
        }
    }
    fn names(&self) -> Vec<EcoString> {
        Vec::new()
    }
}

/// The value of an expression without references, whose functions do not ask for the outside.
pub(crate) fn evaluate_alone(expr: &Expr, functions: &'static FunctionTable) -> (Value, Diagnostics) {
    let world = MemoryWorld::new();
    evaluate(expr, &NoVariables, alone(&world, functions))
}

fn alone<'w>(world: &'w MemoryWorld, functions: &'static FunctionTable) -> CallContext<'w> {
    CallContext {
        world,
        base_dir: ".",
        plan_time: None,
        pure_only: true,
        functions,
        others: None,
        template_depth: 0,
        sources: None,
        symbols: None,
    }
}

/// An expression of JSON syntax whose texts are just that.
fn without_templates(expr: &Expr) -> Expr {
    with_stack(|| {
        let kind = match &expr.kind {
            ExprKind::JsonString(string) => ExprKind::Literal(Literal::String(string.text.clone())),
            ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(without_templates).collect()),
            ExprKind::JsonObject(items) => {
                let plain = |item: &ObjectItem| ObjectItem {
                    key: without_templates(&item.key),
                    value: without_templates(&item.value),
                    ..item.clone()
                };
                ExprKind::JsonObject(items.iter().map(plain).collect())
            }
            kind => kind.clone(),
        };
        Expr { kind, span: expr.span }
    })
}
