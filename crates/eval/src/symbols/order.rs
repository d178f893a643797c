//! In which order the values and functions of a library are looked at: what they use comes first.

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashMapExt};
use yuba_addrs::SymbolFunction;
use yuba_config::symbols::Library as Declared;
use yuba_syntax::{Diagnostics, Expr, Sources, Span, TraversalStep};

use super::{diagnostics, link::location};
use crate::expression::with_stack;
use crate::references::{each_call, each_traversal};

/// A value or a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    Value(EcoString),
    Function(EcoString),
}

/// Values and functions, what they use first; and those that use themselves.
pub(super) fn order(declared: &Declared, sources: &Sources) -> (Vec<Item>, Diagnostics) {
    let mut search = Search {
        declared,
        sources,
        done: HashMap::with_capacity(declared.values.len() + declared.functions.len()),
        path: Vec::new(),
        order: Vec::new(),
        problems: Diagnostics::new(),
    };
    for name in declared.functions.keys() {
        search.visit(Item::Function(name.clone()), None);
    }
    for name in declared.values.keys() {
        search.visit(Item::Value(name.clone()), None);
    }
    (search.order, search.problems)
}

struct Search<'a> {
    declared: &'a Declared,
    sources: &'a Sources,
    /// Whether all that an item uses has been visited.
    done: HashMap<Item, bool>,
    path: Vec<Item>,
    order: Vec<Item>,
    problems: Diagnostics,
}

impl<'a> Search<'a> {
    fn visit(&mut self, item: Item, used_at: Option<Span>) {
        match self.done.get(&item) {
            Some(true) => return,
            Some(false) => return self.cycle(&item, used_at),
            None => {}
        }
        self.done.insert(item.clone(), false);
        self.path.push(item.clone());
        if let Some((expr, _)) = self.declaration(&item) {
            for (used, span) in used_items(expr, self.declared) {
                with_stack(|| self.visit(used, Some(span)));
            }
        }
        self.path.pop();
        self.done.insert(item.clone(), true);
        self.order.push(item);
    }

    fn declaration(&self, item: &Item) -> Option<(&'a Expr, Span)> {
        match item {
            Item::Value(name) => self.declared.values.get(name).map(|value| (&*value.expr, value.span)),
            Item::Function(name) => {
                let function = self.declared.functions.get(name)?;
                Some((function.result.as_deref()?, function.span))
            }
        }
    }

    fn cycle(&mut self, item: &Item, used_at: Option<Span>) {
        let start = self.path.iter().position(|at| at == item).unwrap_or_default();
        let mut span = used_at;
        let chain: Vec<(EcoString, EcoString)> = self
            .path
            .iter()
            .skip(start)
            .map(|item| {
                let name = match item {
                    Item::Value(name) => eco_format!("value.{name}"),
                    Item::Function(name) => eco_format!("symbols::{name}()"),
                };
                let at = self.declaration(item).map(|(_, at)| at);
                span = span.or(at);
                (name, at.map(|at| location(self.sources, at)).unwrap_or_default())
            })
            .collect();
        let what = match item {
            Item::Value(_) => "value",
            Item::Function(_) => "function",
        };
        if let Some(span) = span {
            self.problems.push(diagnostics::cycle(what, &chain, span));
        }
    }
}

/// The values and functions of the library that an expression uses, with their locations.
pub(super) fn used_items(expr: &Expr, declared: &Declared) -> Vec<(Item, Span)> {
    let mut found = Vec::new();
    each_traversal(expr, &mut |traversal| {
        if traversal.root != "value" {
            return;
        }
        match traversal.steps.first() {
            Some(TraversalStep::Attr { name, .. }) if declared.values.contains_key(name) => {
                found.push((Item::Value(name.clone()), traversal.span));
            }
            _ => {}
        }
    });
    each_call(expr, &mut |call| match SymbolFunction::parse(&call.name) {
        Some(function) if function.library.is_none() && declared.functions.contains_key(&function.name) => {
            found.push((Item::Function(function.name), call.name_span));
        }
        _ => {}
    });
    found
}
