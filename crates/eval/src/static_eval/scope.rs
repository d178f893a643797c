//! The meaning of names in static contexts.

use ecow::EcoString;
use yuba_addrs::{ParseRefContext, Reference, Subject};
use yuba_syntax::{Diagnostics, Traversal};
use yuba_value::Value;

use super::{Name, State, StaticUse, Statics, diagnostics};
use crate::scope::{Activity, Scope, path_value, terraform_value};
use crate::symbols;
use crate::tree::ModuleId;
use crate::validate::diagnostics::undeclared_run;

/// The names of a module that have a value before anything is planned.
pub(super) struct StaticScope<'a> {
    pub(super) statics: Statics<'a>,
    pub(super) module: ModuleId,
    /// The object that is being evaluated.
    pub(super) usage: &'a StaticUse,
    /// A variable that has its value already, because its own rules are being checked.
    pub(super) own: Option<(&'a str, &'a Value)>,
}

impl Scope for StaticScope<'_> {
    fn context(&self) -> &dyn ParseRefContext {
        &*self.statics.tree.node(self.module).module
    }

    fn parse(&self, traversal: &Traversal) -> (Option<Reference>, Diagnostics) {
        match (&self.statics.tree.tested, traversal.root.as_str()) {
            (Some(tested), "run") if tested.is_here(Some(traversal.span)) => {
                Reference::parse_in_test(traversal, self.context())
            }
            _ => Reference::parse(traversal, self.context()),
        }
    }

    fn check(&self, reference: &Reference) -> Diagnostics {
        match &reference.subject {
            Subject::Run(name) => {
                let known = self.statics.tree.tested.as_ref().is_some_and(|tested| tested.runs.contains_key(name));
                if known { Diagnostics::new() } else { undeclared_run(name, reference.span).into() }
            }
            Subject::Variable(_) | Subject::Local(_) | Subject::Path(_) | Subject::Terraform(..) => Diagnostics::new(),
            Subject::Symbol(_) | Subject::SymbolFunction(_) => {
                symbols::check(reference, &self.statics.tree.node(self.module).symbols, self.context())
            }
            subject => diagnostics::not_static(subject, &self.name(), reference.span).into(),
        }
    }

    fn value(&self, reference: &Reference) -> (Value, Diagnostics) {
        let problem = match &reference.subject {
            Subject::Variable(name) => return self.variable(name, reference),
            Subject::Run(name) => {
                let run = self.statics.tree.tested.as_ref().and_then(|tested| tested.runs.get(name).cloned());
                return (run.unwrap_or_else(Value::unknown_dynamic), Diagnostics::new());
            }
            Subject::Local(name) => return self.local(name, reference),
            Subject::Path(name) => {
                let node = self.statics.tree.node(self.module);
                let root = self.statics.tree.root();
                match path_value(name, &node.dir, &root.dir, self.statics.env.world, self.statics.env.original_dir) {
                    Ok(value) => return (value, Diagnostics::new()),
                    Err(problem) => problem.at(reference.span),
                }
            }
            Subject::Terraform(_, name) if name == "applying" => diagnostics::applying(reference.span),
            Subject::Terraform(alias, name) => {
                match terraform_value(alias.as_str(), name, self.statics.env.workspace, Activity::Planning) {
                    Ok(value) => return (value, Diagnostics::new()),
                    Err(problem) => problem.at(reference.span),
                }
            }
            Subject::Symbol(_) | Subject::SymbolFunction(_) => return self.symbol(reference),
            _ => return (Value::unknown_dynamic(), Diagnostics::new()),
        };
        (Value::unknown_dynamic(), problem.into())
    }
}

impl StaticScope<'_> {
    fn name(&self) -> EcoString {
        self.usage.in_module(&self.statics.tree.node(self.module).path)
    }

    /// The values of a symbol library. Libraries are linked before the module is evaluated.
    fn symbol(&self, reference: &Reference) -> (Value, Diagnostics) {
        let libraries = &self.statics.tree.node(self.module).symbols;
        if symbols::is_usable(reference, libraries) {
            let value = symbols::value(reference, libraries).unwrap_or_else(Value::unknown_dynamic);
            return (value, Diagnostics::new());
        }
        let needed = ecow::eco_format!("{}", reference.subject);
        (Value::unknown_dynamic(), diagnostics::not_available(&self.name(), &needed, self.usage.span).into())
    }

    fn local(&self, name: &EcoString, reference: &Reference) -> (Value, Diagnostics) {
        let node = self.statics.tree.node(self.module);
        let Some(local) = node.module.locals.get(name) else {
            let problem = diagnostics::undefined_local(name, &node.module, reference.span);
            return (Value::unknown_dynamic(), problem.into());
        };
        let usage = StaticUse::new(ecow::eco_format!("local.{name}"), local.span);
        let key = (self.module, Name::Local(name.clone()));
        let (value, problems) = match self.statics.remembered(key.clone()) {
            Some(State::Done(value, problems)) => (value, problems),
            Some(State::Evaluating | State::Checking(_)) => {
                let problem = diagnostics::circular(&usage.in_module(&node.path), &self.name(), local.span);
                return (Value::unknown_dynamic(), problem.into());
            }
            None => {
                let (value, problems) = self.statics.evaluate(self.module, &local.expr, &usage);
                self.statics.found(key, value, problems)
            }
        };
        (value, self.with_chain(problems, &usage))
    }

    fn variable(&self, name: &EcoString, reference: &Reference) -> (Value, Diagnostics) {
        if let Some((own, value)) = self.own
            && own == name
        {
            return (value.clone(), Diagnostics::new());
        }
        let node = self.statics.tree.node(self.module);
        let Some(variable) = node.module.variables.get(name) else {
            if let Some(tested) = self.statics.tree.tested.as_ref().filter(|tested| tested.is_here(reference.span))
                && let Some(value) = tested.variables.get(name)
            {
                return (value.clone(), Diagnostics::new());
            }
            let problem = diagnostics::undefined_variable(name, &node.module, reference.span);
            return (Value::unknown_dynamic(), problem.into());
        };
        if variable.constant == Some(false) {
            return (Value::unknown_dynamic(), diagnostics::not_constant(name, reference.span).into());
        }
        let (value, problems) = self.statics.variable(self.module, variable);
        (value, self.with_chain(problems, &StaticUse::new(ecow::eco_format!("var.{name}"), variable.span)))
    }

    /// Adds that what is evaluated here cannot be, because of what it depends on.
    fn with_chain(&self, mut problems: Diagnostics, needed: &StaticUse) -> Diagnostics {
        if problems.has_errors() {
            let path = &self.statics.tree.node(self.module).path;
            problems.push(diagnostics::not_available(&self.name(), &needed.in_module(path), self.usage.span));
        }
        problems
    }
}
