//! Values of variables in static contexts: from the inputs for the root module, from the call for other modules.

use yuba_config::variable::Variable;
use yuba_syntax::{Diagnostics, Span};
use yuba_value::Value;

use super::{Name, State, StaticUse, Statics, diagnostics};
use crate::inputs::{self, GivenAt};
use crate::tree::ModuleId;

impl Statics<'_> {
    /// The value of a variable, converted, checked by its rules and marked, as expressions of its module see it.
    pub fn variable(&self, module: ModuleId, variable: &Variable) -> (Value, Diagnostics) {
        let key = (module, Name::Variable(variable.name.clone()));
        match self.remembered(key.clone()) {
            Some(State::Done(value, problems)) => return (value, problems),
            Some(State::Checking(value)) => return (value, Diagnostics::new()),
            Some(State::Evaluating) => {
                let usage = StaticUse::new(ecow::eco_format!("var.{}", variable.name), variable.span);
                let name = usage.in_module(&self.tree.node(module).path);
                return (Value::unknown_dynamic(), diagnostics::circular(&name, &name, variable.span).into());
            }
            None => {}
        }
        let (given, span, mut problems) = self.given(module, variable);
        let mut value = Value::unknown_dynamic();
        if !problems.has_errors() {
            let (prepared, found) = inputs::prepare(variable, given, self.given_at(module, variable, span));
            problems.extend(found);
            value = prepared;
        }
        if !problems.has_errors() {
            self.remember(key.clone(), State::Checking(value.clone()));
            problems.extend(self.check_rules(module, variable, &value, span));
        }
        self.found(key, value, problems)
    }

    fn given_at(&self, module: ModuleId, variable: &Variable, span: Option<Span>) -> GivenAt<'_> {
        let is_root = self.tree.node(module).parent.is_none();
        match (span, self.env.sources) {
            (_, Some(sources)) if is_root => self.env.inputs.given_at(variable, span, sources),
            (Some(span), _) => GivenAt::Argument(span),
            (None, _) => GivenAt::Nowhere,
        }
    }

    /// The value given for a variable, if any, and its location.
    fn given(&self, module: ModuleId, variable: &Variable) -> (Option<Value>, Option<Span>, Diagnostics) {
        let node = self.tree.node(module);
        let Some(parent) = node.parent else {
            return match self.env.inputs.value(variable) {
                Some((value, span, problems)) => (Some(value), span, problems),
                None if variable.default.is_none() => (None, None, diagnostics::no_input(variable).into()),
                None => (None, None, Diagnostics::new()),
            };
        };
        match self.argument(module, &variable.name) {
            Some(argument) => {
                // Messages are about the variable of the child, though the expression is evaluated in its parent.
                let usage = StaticUse {
                    module: Some(node.path.clone()),
                    ..StaticUse::new(ecow::eco_format!("var.{}", variable.name), argument.span)
                };
                let (value, problems) = self.evaluate(parent, &argument.expr, &usage);
                (Some(value), Some(argument.expr.span), problems)
            }
            None if variable.default.is_none() => {
                let span = self.tree.call(module).map(|call| call.body.missing_item_span());
                (None, None, diagnostics::missing_argument(&variable.name, &node.path, span).into())
            }
            None => (None, None, Diagnostics::new()),
        }
    }

    /// Checks the static rules of a variable. The remaining rules are checked when everything is evaluated.
    fn check_rules(&self, module: ModuleId, variable: &Variable, value: &Value, span: Option<Span>) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let own = Some((variable.name.as_str(), value));
        for rule in &variable.validations {
            let Some(condition) = &rule.condition else { continue };
            let usage = StaticUse::new(ecow::eco_format!("var.{}", variable.name), rule.span);
            let (holds, found) = self.evaluate_with(module, condition, &usage, own);
            if found.has_errors() || holds.unmark_deep().0.as_bool() != Some(false) {
                continue;
            }
            let message = rule.message.as_ref().and_then(|message| {
                let (text, found) = self.evaluate_with(module, message, &usage, own);
                let visible = !found.has_errors() && text.marks_deep().is_empty();
                text.as_str().filter(|_| visible).cloned()
            });
            problems.push(diagnostics::rule_broken(variable, message, rule.span, span, self.env.sources));
        }
        problems
    }
}
