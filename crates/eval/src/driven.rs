//! Evaluation of instances, bodies, arguments and conditions for the planner and for apply.

use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, InstanceKey, Subject};
use yuba_config::check::CheckRule;
use yuba_config::output::Output;
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_config::variable::Variable;
use yuba_provider::BlockSchema;
use yuba_syntax::{Body, Diagnostics, Expr, ExprKind, Severity, Span, Traversal, TraversalStep};
use yuba_value::{Type, Value, convert};

use crate::graph::CallArguments;
use crate::live::Expansion;
use crate::module_scope::ModuleScope;
use crate::scope::{Scope, explain_unknown, was_evaluated};
use crate::static_eval::for_each as for_each_value;
use crate::tree::ModuleId;
use crate::validate::diagnostics::{INVALID_CONDITION_RESULT, INVALID_TEST_CONDITION};
use crate::validate::{body, call, deprecation, diagnostics, named, repetition, rules};

/// Result of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Pass,
    /// The condition fails. The value is the error message of the rule, empty if it cannot be shown.
    Fail(EcoString),
    /// It is not known yet.
    Unknown,
    /// It cannot be evaluated.
    Error,
}

/// Owner of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleKind {
    /// `precondition` of a resource.
    ResourcePrecondition,
    /// `postcondition` of a resource.
    ResourcePostcondition,
    /// `precondition` of an output.
    OutputPrecondition,
    /// `assert` of a check.
    CheckAssertion,
}

/// Messages about the configuration of a provider, with the address of the instance that they are about.
pub fn of_provider_instance(found: Diagnostics, config: &AbsProviderConfig, key: &InstanceKey) -> Diagnostics {
    let mut addressed = Diagnostics::new();
    addressed.extend(found.into_iter().map(|mut problem| {
        problem.address.get_or_insert_with(|| eco_format!("{config}{key}"));
        problem
    }));
    addressed
}

/// The target of an expression of `replace_triggered_by`.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// The resource, in the same module.
    pub resource: ResourceKey,
    /// The key of one instance; none for all of them.
    pub key: Option<Option<InstanceKey>>,
    /// Path in the object; empty for all of it.
    pub steps: Vec<TraversalStep>,
}

/// The name of a trigger, an index that is an expression, and the steps after it.
pub(crate) fn trigger_parts(expr: &Expr) -> Option<(Traversal, Option<&Expr>, Vec<TraversalStep>)> {
    match &expr.kind {
        ExprKind::Traversal(name) => Some((name.clone(), None, Vec::new())),
        ExprKind::Parens(inner) | ExprKind::TemplateWrap(inner) => trigger_parts(inner),
        ExprKind::RelativeTraversal(inner, steps) => {
            let (name, index, mut after) = trigger_parts(inner)?;
            after.extend(steps.iter().cloned());
            Some((name, index, after))
        }
        ExprKind::Index(index) => {
            let (name, _, _) = trigger_parts(&index.collection)?;
            Some((name, Some(&index.key), Vec::new()))
        }
        ExprKind::JsonString(string) => string.template.as_ref().and_then(|(template, _)| trigger_parts(template)),
        _ => None,
    }
}

impl ModuleScope<'_> {
    /// The value of an expression; what it uses that is deprecated is reported here and forgotten.
    pub fn eval_used(&self, expr: &Expr) -> (Value, Diagnostics) {
        deprecation::eval(self, expr)
    }

    /// The value of an expression that only gets another name: of a local, an output. Deprecated parts of a whole object are
    /// used where they are read from it.
    pub fn eval_named(&self, expr: &Expr) -> (Value, Diagnostics) {
        deprecation::eval_named(self, expr)
    }

    /// The value of a body by its schema.
    pub fn eval_body(&self, content: &Body, schema: &BlockSchema) -> (Value, Diagnostics) {
        body::eval(self, content, schema)
    }

    /// Errors in references of a `depends_on`.
    pub fn check_depends_on(&self, traversals: &[Traversal]) -> Diagnostics {
        repetition::depends_on(self, traversals)
    }

    /// The instances, which must be known.
    pub fn expand(&self, repetition: &Repetition) -> (Option<Expansion>, Diagnostics) {
        match repetition {
            Repetition::Single => (Some(Expansion::Single), Diagnostics::new()),
            Repetition::Count(expr) => self.expand_count(expr),
            Repetition::ForEach(expr) => {
                let (value, mut problems) = self.eval_named(expr);
                if problems.has_errors() && !was_evaluated(expr, self) {
                    return (None, problems);
                }
                let (instances, found) = for_each_value::instances(&value, expr.span);
                let failed = problems.has_errors() || found.has_errors();
                let unknown = !value.is_wholly_known();
                problems.extend(found.into_iter().map(|problem| match unknown && problem.is_error() {
                    true => explain_unknown(problem, expr, self, self.call_context()),
                    false => problem,
                }));
                ((!failed).then(|| Expansion::ForEach(Arc::new(instances))), problems)
            }
            Repetition::Enabled(expr) => self.expand_enabled(expr),
        }
    }

    fn expand_count(&self, expr: &Expr) -> (Option<Expansion>, Diagnostics) {
        let (value, mut problems) = self.eval_used(expr);
        if problems.has_errors() {
            problems.extend(repetition::of_type(&value, &Type::number(), expr.span));
            return (None, problems);
        }
        let (plain, marks) = value.unmark();
        let reason = if marks.has_ephemeral() {
            "it is ephemeral, but addresses contain the instance keys"
        } else if plain.is_null() {
            "it is null, but a whole number is required"
        } else {
            let number = match convert::convert(&plain, &Type::number()) {
                Ok(number) => number,
                Err(reason) => {
                    problems.push(diagnostics::incorrect_type(&eco_format!("{reason}"), expr.span));
                    return (None, problems);
                }
            };
            match number.as_number() {
                None => {
                    let problem = diagnostics::unknown_count(expr.span);
                    problems.push(explain_unknown(problem, expr, self, self.call_context()));
                    return (None, problems);
                }
                Some(number) if number.is_negative() => "it must not be negative",
                Some(number) => match number.to_u64() {
                    Some(count) => return (Some(Expansion::Count(count)), problems),
                    None => "it must be a whole number of a reasonable size",
                },
            }
        };
        problems.push(diagnostics::invalid_count(reason, expr.span));
        (None, problems)
    }

    fn expand_enabled(&self, expr: &Expr) -> (Option<Expansion>, Diagnostics) {
        let (value, mut problems) = self.eval_used(expr);
        if problems.has_errors() && !was_evaluated(expr, self) {
            return (None, problems);
        }
        match problems.has_errors() {
            true => problems.extend(repetition::enabled_presence(&value, expr.span)),
            false => problems.extend(repetition::enabled_value(&value, expr.span)),
        }
        let (plain, _) = value.unmark();
        if !plain.is_known() {
            let reason =
                "it depends on values that are known only after apply, so the existence of the object is unknown";
            let problem = diagnostics::invalid_enabled(reason, expr.span);
            problems.push(explain_unknown(problem, expr, self, self.call_context()));
        }
        if problems.has_errors() {
            return (None, problems);
        }
        let enabled = convert::convert(&plain, &Type::bool()).ok().and_then(|value| value.as_bool());
        (enabled.map(Expansion::Enabled), problems)
    }

    /// The value that a call gives to a variable, as the variable's block converts it, without the marks the block gives
    /// it. This scope is that of the call.
    pub fn argument(
        &self,
        child: ModuleId,
        variable: &Variable,
        arguments: &CallArguments,
    ) -> (Option<Value>, Diagnostics) {
        call::argument(self, child, variable, arguments)
    }

    /// Results of the rules of a variable for a value. This scope knows the value: [`ModuleScope::with_variable`].
    pub fn check_variable(&self, variable: &Variable, given: Option<Span>) -> (Verdict, Diagnostics) {
        rules::of_variable(self, variable, given)
    }

    /// The value of an output in its module, without what the block says about it.
    pub fn output(&self, output: &Output) -> (Option<Value>, Diagnostics) {
        named::output_value(self, output)
    }

    /// Whether a body refers to a resource anywhere, to all of it or to one of its instances.
    pub fn refers_to(&self, content: &Body, schema: &BlockSchema, key: &ResourceKey) -> bool {
        let (references, _) = body::references(self, content, schema);
        references.iter().any(|reference| {
            matches!(&reference.subject, Subject::Resource(to) | Subject::ResourceInstance(to, _)
                if ResourceKey::from(to) == *key)
        })
    }

    /// Whether a body calls functions of providers.
    pub fn calls_functions(&self, content: &Body, schema: &BlockSchema) -> bool {
        let mut found = false;
        let is_call = |name: &str| name.starts_with("provider::");
        yuba_provider::each_expression(content, schema, &mut |expr, _| {
            found |= expr.functions().into_iter().any(|call| is_call(&call.name));
        });
        found
    }

    /// References of a body to the instance it is of, which cannot be.
    pub fn self_references(
        &self,
        content: &Body,
        schema: &BlockSchema,
        key: &ResourceKey,
        instance: Option<&InstanceKey>,
    ) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let (references, _) = body::references(self, content, schema);
        for reference in references {
            let is_own = match &reference.subject {
                Subject::Resource(to) => ResourceKey::from(to) == *key,
                Subject::ResourceInstance(to, of) => {
                    ResourceKey::from(to) == *key && (of.is_none() || of.as_ref() == instance)
                }
                _ => false,
            };
            if is_own {
                problems.push(diagnostics::self_referential(&diagnostics::address(key), reference.span));
            }
        }
        problems
    }

    /// The target of an expression of `replace_triggered_by`.
    pub fn trigger(&self, expr: &Expr) -> (Option<Trigger>, Diagnostics) {
        let Some((name, index, after)) = trigger_parts(expr) else { return (None, Diagnostics::new()) };
        let (reference, mut problems) = self.parse(&name);
        let Some(reference) = reference.filter(|_| !problems.has_errors()) else { return (None, problems) };
        let (resource, mut key) = match &reference.subject {
            Subject::Resource(resource) => (ResourceKey::from(resource), None),
            Subject::ResourceInstance(resource, key) => (ResourceKey::from(resource), key.clone()),
            _ => return (None, problems),
        };
        if let Some(index) = index {
            let (value, found) = self.eval_used(index);
            problems.extend(found);
            let (plain, _) = value.unmark();
            key = match (plain.as_str(), plain.as_number().and_then(yuba_value::Number::to_i64)) {
                (Some(key), _) => Some(InstanceKey::String(key.clone())),
                (None, Some(key)) => Some(InstanceKey::Int(key)),
                (None, None) => {
                    if !problems.has_errors() {
                        problems.push(diagnostics::invalid_trigger_index(index.span));
                    }
                    return (None, problems);
                }
            };
        }
        let steps = reference.remaining().iter().chain(&after).cloned().collect();
        let single = !self.evaluation().is_repeated(self.module(), &resource);
        let key = if key.is_none() && single { Some(None) } else { key.map(Some) };
        (Some(Trigger { resource, key, steps }), problems)
    }

    /// The key that chooses an instance of a provider configuration.
    pub fn provider_instance_key(&self, expr: &Expr) -> (Option<EcoString>, Diagnostics) {
        let (value, mut problems) = self.eval_used(expr);
        if problems.has_errors() {
            return (None, problems);
        }
        let (plain, marks) = value.unmark();
        let reason: EcoString = if marks.has_sensitive() {
            "it is sensitive, but messages display it".into()
        } else if marks.has_ephemeral() {
            "it is ephemeral, but planning and applying require the same key".into()
        } else if plain.is_null() {
            "it is null".into()
        } else if !plain.is_known() {
            "it is known only after apply, but it must be known during planning".into()
        } else {
            match convert::convert(&plain, &Type::string()).map(|text| text.as_str().cloned()) {
                Ok(key) => return (key, problems),
                Err(reason) => eco_format!("{reason}"),
            }
        };
        problems.push(diagnostics::invalid_provider_instance_key(&reason, expr.span));
        (None, problems)
    }

    /// Evaluates an assertion of a test: everything must be known.
    pub fn check_assertion(&self, rule: &CheckRule) -> (Verdict, Diagnostics) {
        let Some((condition, message)) = rules::parts(rule) else { return (Verdict::Error, Diagnostics::new()) };
        let (holds, text, mut problems) = rules::eval_both(self, condition, message);
        if problems.has_errors() {
            return (Verdict::Error, problems);
        }
        let (verdict, problem) = match rules::holds_known(&holds, &INVALID_TEST_CONDITION, condition.span) {
            Ok(Some(true)) => return (Verdict::Pass, problems),
            Ok(Some(false)) => {
                let problem = diagnostics::test_assertion_failed(text.as_deref(), condition.span);
                (Verdict::Fail(text.unwrap_or_default()), problem)
            }
            Ok(None) => (Verdict::Unknown, diagnostics::test_assertion_unknown(condition.span)),
            Err(found) => {
                problems.extend(found);
                return (Verdict::Error, problems);
            }
        };
        problems.push(rules::explained(self, condition, problem));
        (verdict, problems)
    }

    /// Evaluates a condition. A condition that fails is reported with this severity.
    pub fn check_rule(&self, rule: &CheckRule, kind: RuleKind, severity: Severity) -> (Verdict, Diagnostics) {
        let Some((condition, message)) = rules::parts(rule) else { return (Verdict::Error, Diagnostics::new()) };
        let (holds, text, mut problems) = rules::eval_both(self, condition, message);
        if problems.has_errors() {
            return (Verdict::Error, problems);
        }
        let verdict = match rules::holds_known(&holds, &INVALID_CONDITION_RESULT, condition.span) {
            Ok(Some(true)) => Verdict::Pass,
            Ok(None) => {
                if kind == RuleKind::CheckAssertion {
                    let problem = diagnostics::assertion_unknown(condition.span);
                    problems.push(rules::explained(self, condition, problem));
                }
                Verdict::Unknown
            }
            Ok(Some(false)) => {
                let problem = diagnostics::condition_failed(kind, text.as_deref(), severity, condition.span);
                problems.push(rules::explained(self, condition, problem));
                Verdict::Fail(text.unwrap_or_default())
            }
            Err(found) => {
                problems.extend(found);
                Verdict::Error
            }
        };
        (verdict, problems)
    }
}
