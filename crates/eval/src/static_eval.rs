//! Static evaluation: the one evaluator with fewer symbols, for what must be known before anything is planned.
//!
//! Static contexts are the source and version of module calls, backends, encryption, `for_each` of providers and
//! `const` variables. They may use `var`, `local`, `path` and `terraform.workspace`; variables of a child module are
//! static where the arguments of its call are. The value of each variable and local is found once per module.
//!
//! An error is followed by another one for every step between it and the context that needs the value.

mod backend;
mod diagnostics;
pub mod for_each;
mod scope;
mod variable;

use std::cell::RefCell;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_addrs::ModulePath;
use yuba_syntax::{Attribute, Diagnostics, Expr, Sources, Span};
use yuba_value::{Type, Value, convert};

use crate::functions::{CallContext, FunctionTable};
use crate::inputs::Inputs;
use crate::scope::eval_expr;
use crate::symbols::SymbolScope;
use crate::tree::{ConfigTree, ModuleId};
use crate::world::World;

pub use diagnostics::is_unavailable;
pub(crate) use diagnostics::{const_not_available, is_unpredictable_call, unpredictable_call};
use scope::StaticScope;

/// Context of static evaluation besides the configuration.
#[derive(Clone, Copy)]
pub struct StaticEnv<'a> {
    /// The outside.
    pub world: &'a dyn World,
    /// The name of the workspace.
    pub workspace: &'a str,
    /// The directory the process was started in, if it is not the working directory.
    pub original_dir: Option<&'a str>,
    /// Values for the variables of the root module.
    pub inputs: &'a Inputs,
    /// The files expressions come from.
    pub sources: Option<&'a Sources>,
}

/// A use of an expression whose value must be static: what messages call it, and where they point when the value is not available.
#[derive(Clone, Debug)]
pub struct StaticUse {
    /// Such as `module.network.source`.
    pub name: EcoString,
    /// Its location.
    pub span: Option<Span>,
    /// The module it belongs to, where that is not the one the expression is evaluated in.
    pub module: Option<ModulePath>,
}

impl StaticUse {
    /// A use in the module that the expression is evaluated in.
    pub fn new(name: impl Into<EcoString>, span: Span) -> StaticUse {
        StaticUse { name: name.into(), span: Some(span), module: None }
    }
    /// As messages name it: with the module it is in.
    pub(crate) fn in_module(&self, path: &ModulePath) -> EcoString {
        let path = self.module.as_ref().unwrap_or(path);
        if path.is_root() { self.name.clone() } else { eco_format!("{path}:{}", self.name) }
    }
}

/// The values found so far.
#[derive(Default)]
pub struct StaticCache {
    values: RefCell<HashMap<(ModuleId, Name), State>>,
    arguments: RefCell<HashMap<ModuleId, HashMap<EcoString, Attribute>>>,
    depth: std::cell::Cell<u32>,
}

/// An object with a value in a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Variable(EcoString),
    Local(EcoString),
}

/// Progress of the search for a value.
#[derive(Clone)]
enum State {
    /// Being evaluated: a request now is a cycle.
    Evaluating,
    /// A variable whose rules are being checked.
    Checking(Value),
    /// Found, with its errors.
    Done(Value, Diagnostics),
}

/// Maximum number of steps between a context and a value it depends on.
const MAX_DEPTH: u32 = 5_000;
/// Maximum number of messages stored with a failed value: every context that needs it repeats them.
const MAX_KEPT: usize = 50;

/// Evaluates static contexts of a tree, or of the part of it that is linked already.
#[derive(Clone, Copy)]
pub struct Statics<'a> {
    tree: &'a ConfigTree,
    env: StaticEnv<'a>,
    cache: &'a StaticCache,
}

impl<'a> Statics<'a> {
    /// For a tree.
    pub fn new(tree: &'a ConfigTree, env: StaticEnv<'a>, cache: &'a StaticCache) -> Statics<'a> {
        Statics { tree, env, cache }
    }

    /// The value of an expression in a module.
    pub fn evaluate(&self, module: ModuleId, expr: &Expr, usage: &StaticUse) -> (Value, Diagnostics) {
        self.evaluate_with(module, expr, usage, None)
    }

    /// The value of an expression in a module, where a variable has a value already.
    fn evaluate_with(
        &self,
        module: ModuleId,
        expr: &Expr,
        usage: &StaticUse,
        own: Option<(&str, &Value)>,
    ) -> (Value, Diagnostics) {
        let problems = unpredictable_call(expr, &usage.in_module(&self.tree.node(module).path));
        if problems.has_errors() {
            return (Value::unknown_dynamic(), problems);
        }
        let scope = StaticScope { statics: *self, module, usage, own };
        let depth = self.cache.depth.get();
        if depth >= MAX_DEPTH {
            return (Value::unknown_dynamic(), diagnostics::too_deep(&usage.name, MAX_DEPTH, expr.span).into());
        }
        self.cache.depth.set(depth + 1);
        let answer = crate::expression::with_stack(|| eval_expr(expr, &scope, self.call_context(module)));
        self.cache.depth.set(depth);
        answer
    }

    fn call_context(&self, module: ModuleId) -> CallContext<'a> {
        CallContext {
            world: self.env.world,
            base_dir: ".",
            plan_time: None,
            pure_only: false,
            functions: FunctionTable::module(),
            others: None,
            template_depth: 0,
            sources: self.env.sources,
            symbols: Some(SymbolScope::of_module(&self.tree.node(module).symbols)),
        }
    }

    /// The value of an expression that must be a string without marks.
    pub fn text(&self, module: ModuleId, expr: &Expr, usage: &StaticUse) -> (Option<EcoString>, Diagnostics) {
        let (value, mut problems) = self.evaluate(module, expr, usage);
        if problems.has_errors() {
            return (None, problems);
        }
        let marks = value.marks_deep();
        let name = usage.in_module(&self.tree.node(module).path);
        let reason = if marks.has_sensitive() {
            problems.push(diagnostics::secret("Sensitive", &name, expr.span));
            return (None, problems);
        } else if marks.has_ephemeral() {
            problems.push(diagnostics::secret("Ephemeral", &name, expr.span));
            return (None, problems);
        } else {
            match convert::convert(&value.unmark_deep().0, &Type::string()) {
                Ok(text) if text.is_null() => "it must not be null".into(),
                Ok(text) => match text.as_str() {
                    Some(text) => return (Some(text.clone()), problems),
                    None => "it must be known".into(),
                },
                Err(reason) => eco_format!("{reason}"),
            }
        };
        problems.push(diagnostics::unsuitable(&name, &reason, expr.span));
        (None, problems)
    }

    /// Finds a value, or finds that it is wanted for itself.
    fn remembered(&self, key: (ModuleId, Name)) -> Option<State> {
        let mut values = self.cache.values.borrow_mut();
        match values.get(&key) {
            Some(state) => Some(state.clone()),
            None => {
                values.insert(key, State::Evaluating);
                None
            }
        }
    }

    fn remember(&self, key: (ModuleId, Name), state: State) {
        self.cache.values.borrow_mut().insert(key, state);
    }

    /// Stores a result, and returns it with at most the stored number of messages.
    fn found(&self, key: (ModuleId, Name), value: Value, problems: Diagnostics) -> (Value, Diagnostics) {
        let mut kept = Diagnostics::new();
        kept.extend(problems.into_iter().take(MAX_KEPT));
        self.remember(key, State::Done(value.clone(), kept.clone()));
        (value, kept)
    }

    /// The argument of a module's call for one of its variables.
    fn argument(&self, module: ModuleId, name: &str) -> Option<Attribute> {
        let mut arguments = self.cache.arguments.borrow_mut();
        let of_call = arguments.entry(module).or_insert_with(|| {
            let body = self.tree.call(module).map(|call| call.body.just_attributes().0);
            body.into_iter().flatten().map(|argument| (argument.name.clone(), argument)).collect()
        });
        of_call.get(name).cloned()
    }
}
