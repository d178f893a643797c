//! Shared parts of planning and applying: the values of variables, locals, outputs, calls and checks, the providers, the
//! arguments of provisioners and the order of operations.

pub(crate) mod block;
pub(crate) mod checks;
pub(crate) mod data;
pub(crate) mod dependencies;
pub(crate) mod ephemeral;
pub(crate) mod exec;
mod idle;
pub(crate) mod ignore;
pub(crate) mod prepare;
pub(crate) mod providers;
pub(crate) mod provision;
pub(crate) mod stored;
pub(crate) mod stranded;

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashSet};
use yuba_addrs::{ModuleInstance, ProviderSource};
use yuba_config::check::CheckRule;
use yuba_config::output::Output;
use yuba_config::variable::{Local, Variable};
use yuba_eval::graph::{CallArguments, RefGraph, Vertex};
use yuba_eval::module_scope::marked;
use yuba_eval::{Evaluation, Live, ModuleId, ModuleInstanceId, ModuleScope, RuleKind, Verdict, is_about_condition};
use yuba_state::CheckKind;
use yuba_syntax::{Diagnostic, DiagnosticKey, Diagnostics, Severity};
use yuba_value::Value;

use crate::drive::Jobs;
use crate::request::Context;
use checks::{Checks, in_instance, in_module};
use ephemeral::{OpenAnswer, RenewAnswer};
use providers::{ProviderAnswer, ProviderTable, Undeclared};
use stranded::{ProviderBlocks, Stranded};

/// Conditions of one kind.
pub(crate) struct Rules<'r> {
    pub(crate) rules: &'r [CheckRule],
    pub(crate) kind: RuleKind,
    /// The position of the first of them among all conditions of the object.
    pub(crate) first: usize,
}

/// The walk through the objects of a configuration.
pub(crate) struct Walk<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) evaluation: &'a Evaluation<'a>,
    pub(crate) live: &'a Live,
    pub(crate) graph: &'a RefGraph<'a>,
    pub(crate) arguments: &'a CallArguments,
    pub(crate) providers: ProviderTable,
    pub(crate) checks: Checks,
    /// Severity of failed conditions.
    pub(crate) rule_severity: Severity,
    /// Whether to say that variables are deprecated: that is done once, when the plan is made.
    pub(crate) reports_deprecated_variables: bool,
    /// Ephemeral resources that are open.
    opened: Vec<ephemeral::Open<'a>>,
    /// Whether any module has a `provider_meta` block, and what these say.
    has_provider_meta: bool,
    metas: HashMap<(ModuleInstance, ProviderSource), Value>,
    problems: Diagnostics,
    /// An error is among them.
    failed: bool,
    /// Objects whose provider is gone, reported together at the end.
    stranded: Vec<Stranded>,
    /// Instances whose provider instance does not exist, reported together at the end.
    undeclared: Vec<Undeclared>,
    reported: HashSet<DiagnosticKey>,
}

/// Reports of jobs that planning and applying share.
pub(crate) enum WalkAnswer<'a> {
    Provider(ProviderAnswer),
    Opened(Box<OpenAnswer<'a>>),
    Renewed(Box<RenewAnswer>),
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        context: Context<'a>,
        evaluation: &'a Evaluation<'a>,
        live: &'a Live,
        graph: &'a RefGraph<'a>,
        arguments: &'a CallArguments,
    ) -> Walk<'a> {
        Walk {
            context,
            evaluation,
            live,
            graph,
            arguments,
            providers: ProviderTable::default(),
            checks: Checks::new(graph, context.tree),
            rule_severity: Severity::Error,
            reports_deprecated_variables: true,
            opened: Vec::new(),
            has_provider_meta: context.tree.iter().any(|(_, node)| !node.module.provider_metas.is_empty()),
            metas: HashMap::default(),
            problems: Diagnostics::new(),
            failed: false,
            stranded: Vec::new(),
            undeclared: Vec::new(),
            reported: HashSet::default(),
        }
    }

    /// Collects diagnostics. Instances of one module use deprecated objects at the same locations, which is reported
    /// once.
    pub(crate) fn report(&mut self, found: impl IntoIterator<Item = Diagnostic>) -> bool {
        let mut ok = true;
        for problem in found {
            ok &= !problem.is_error();
            if problem.deprecation().is_some() && !self.reported.insert(problem.key()) {
                continue;
            }
            self.problems.push(problem);
        }
        self.failed |= !ok;
        ok
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.failed
    }

    /// Collects an object whose provider is gone: all of them are one error.
    pub(crate) fn strand(&mut self, object: Stranded) {
        self.failed = true;
        self.stranded.push(object);
    }

    /// Collects an instance whose provider instance does not exist: those of one expression are one error.
    pub(crate) fn not_declared(&mut self, instance: Undeclared) {
        self.failed = true;
        self.undeclared.push(instance);
    }

    pub(crate) fn take_problems(&mut self) -> Diagnostics {
        let mut problems = std::mem::take(&mut self.problems);
        problems.extend(providers::report_undeclared(std::mem::take(&mut self.undeclared)));
        let (tree, sources) = (self.context.tree, self.context.env.sources);
        problems.extend(stranded::report(std::mem::take(&mut self.stranded), ProviderBlocks { tree, sources }));
        problems
    }

    pub(crate) fn scope(&self, at: ModuleInstanceId) -> ModuleScope<'a> {
        self.evaluation.scope_at(self.live, at)
    }

    /// Takes what a job of the walk reports.
    pub(crate) async fn answer<T: From<WalkAnswer<'a>> + 'a>(
        &mut self,
        answer: WalkAnswer<'a>,
        jobs: &mut Jobs<'a, T>,
    ) -> bool {
        match answer {
            WalkAnswer::Provider(answer) => self.provider_answer(answer),
            WalkAnswer::Opened(answer) => self.keep_opened(*answer, jobs).await,
            WalkAnswer::Renewed(_) => true,
        }
    }

    /// Evaluates an object that is neither resource nor provider, in all instances of its module.
    pub(crate) async fn evaluate(&mut self, vertex: u32) -> bool {
        let graph = self.graph;
        let node = &graph.nodes[vertex as usize];
        if let Vertex::Output(output) = node.vertex
            && let Some(outputs) = self.replaced_outputs(node.module)
        {
            let given = outputs.entries().and_then(|all| all.into_iter().find(|(name, _)| *name == output.name));
            let value = given.map_or_else(Value::null_dynamic, |(_, value)| value);
            for at in self.live.instances(node.module) {
                self.live.set_output(at, &output.name, value.clone());
            }
            return true;
        }
        match node.vertex {
            Vertex::Variable(variable) => self.variable(node.module, variable).await,
            Vertex::Input(variable) => self.input(node.module, variable).await,
            Vertex::Local(local) => self.local(node.module, local).await,
            Vertex::Output(output) => self.output(node.module, output).await,
            Vertex::Check(check) => {
                let name = eco_format!("check.{}", check.name);
                let config = in_module(&self.context.tree.node(node.module).path, &name);
                self.expect(CheckKind::Check, node.module, &name);
                for at in self.live.instances(node.module) {
                    let scope = self.scope(at).in_check(&check.name);
                    let object = in_instance(&self.live.address(at), &name);
                    if self.checks.has_failed(CheckKind::Check, &config, &object) {
                        // Its data could not be read: further errors about it would be consequences.
                        continue;
                    }
                    let rules = Rules { rules: &check.asserts, kind: RuleKind::CheckAssertion, first: 0 };
                    self.rules(&scope, &rules, &config, &object).await;
                }
                true
            }
            Vertex::Call => self.call(node.module).await,
            Vertex::Close | Vertex::Resource(_) | Vertex::Provider(_) => true,
        }
    }

    /// Registers the instances of `check` blocks whose assertions were not evaluated, because of errors in what they refer to.
    pub(crate) fn expect_unreached_checks(&mut self, included: &[bool]) {
        let graph = self.graph;
        for (node, _) in graph.nodes.iter().zip(included).filter(|(_, included)| **included) {
            if let Vertex::Check(check) = node.vertex
                && self.is_expanded(node.module)
            {
                self.expect(CheckKind::Check, node.module, &eco_format!("check.{}", check.name));
            }
        }
    }

    /// Returns whether the walk has expanded all calls of a module. Errors can stop it before a call.
    fn is_expanded(&self, module: ModuleId) -> bool {
        let node = self.context.tree.node(module);
        let (Some(parent), Some(call)) = (node.parent, node.path.steps().last()) else { return true };
        let is_known = |at: ModuleInstanceId| self.live.call_expansion(at, call).is_some();
        self.is_expanded(parent) && self.live.instances(parent).into_iter().all(is_known)
    }

    /// Registers the outputs of the root module, of which a plan to destroy evaluates none.
    pub(crate) fn expect_root_outputs(&mut self) {
        let outputs = &self.context.tree.root().module.outputs;
        for name in outputs.iter().filter(|(_, output)| !output.preconditions.is_empty()).map(|(name, _)| name) {
            self.expect(CheckKind::Output, ModuleId::ROOT, &eco_format!("output.{name}"));
        }
    }

    /// Registers the instances of an object that has one in each instance of its module.
    fn expect(&mut self, kind: CheckKind, module: ModuleId, name: &EcoString) {
        let config = in_module(&self.context.tree.node(module).path, name);
        let live = self.live;
        let instances = live.instances(module).into_iter().map(|at| in_instance(&live.address(at), name));
        self.checks.expect(kind, &config, instances);
    }

    /// Whether nothing happens in a vertex, because the outputs of its module are given.
    pub(crate) fn is_replaced(&self, vertex: u32) -> bool {
        let node = &self.graph.nodes[vertex as usize];
        let here = self.replaced_outputs(node.module).is_some();
        if here && matches!(node.vertex, Vertex::Call | Vertex::Output(_) | Vertex::Variable(_) | Vertex::Input(_)) {
            return false;
        }
        self.is_in_replaced(node.module)
    }

    /// Whether the outputs of a module, or of one around it, are given.
    pub(crate) fn is_in_replaced(&self, module: ModuleId) -> bool {
        let tree = self.context.tree;
        let mut at = Some(module).filter(|_| !self.context.substitutions.modules.is_empty());
        while let Some(id) = at {
            if self.replaced_outputs(id).is_some() {
                return true;
            }
            at = tree.node(id).parent;
        }
        false
    }

    /// The outputs that a test gives for a module: an object. Nothing in the module happens then.
    fn replaced_outputs(&self, module: ModuleId) -> Option<&'a Value> {
        let modules = &self.context.substitutions.modules;
        if modules.is_empty() { None } else { modules.get(&self.context.tree.node(module).path) }
    }

    /// Evaluates, again after each round of calls that it needs.
    pub(crate) async fn settle<T>(&self, evaluate: impl FnMut() -> T) -> T {
        self.evaluation.settle(evaluate).await
    }

    /// Evaluates conditions, and says whether none of them forbids to go on.
    pub(crate) async fn rules(
        &mut self,
        scope: &ModuleScope<'_>,
        rules: &Rules<'_>,
        config: &EcoString,
        object: &EcoString,
    ) -> bool {
        let rule_kind = rules.kind;
        let kind = match rule_kind {
            RuleKind::CheckAssertion => CheckKind::Check,
            RuleKind::OutputPrecondition => CheckKind::Output,
            RuleKind::ResourcePrecondition | RuleKind::ResourcePostcondition => CheckKind::Resource,
        };
        let severity = match rule_kind {
            RuleKind::CheckAssertion => Severity::Warning,
            _ => self.rule_severity,
        };
        let mut ok = true;
        for (at, rule) in rules.rules.iter().enumerate() {
            let (verdict, found) = self.settle(|| scope.check_rule(rule, rule_kind, severity)).await;
            self.checks.report(kind, config, object, rules.first + at, &verdict);
            let found = match verdict {
                Verdict::Fail(_) | Verdict::Unknown => from_condition(found, object),
                Verdict::Pass | Verdict::Error => found,
            };
            ok &= match rule_kind {
                RuleKind::CheckAssertion => self.report(found.into_iter().map(of_check)),
                _ => self.report(found),
            };
        }
        ok
    }

    async fn variable(&mut self, module: ModuleId, variable: &Variable) -> bool {
        let mut ok = true;
        let node = self.context.tree.node(module);
        if node.parent.is_none() {
            let Some(root) = self.context.variables.get(&variable.name) else { return true };
            if !self.report(root.problems.iter().cloned()) {
                return false;
            }
            self.live.set_variable(ModuleInstanceId::ROOT, &variable.name, root.value.clone());
            if let Some(given) = root.given_by.filter(|_| self.reports_deprecated_variables) {
                let found = yuba_eval::deprecated_root_variable(self.context.tree, variable, given);
                self.report(found);
            }
        }
        if variable.validations.is_empty() {
            return true;
        }
        let name = eco_format!("var.{}", variable.name);
        let config = in_module(&node.path, &name);
        self.expect(CheckKind::Variable, module, &name);
        // Values from outside of the configuration are not shown: not all who see messages are meant to know them.
        let given = self.arguments.get(module, &variable.name).map(|argument| argument.expr.span);
        for at in self.live.instances(module) {
            let Some(value) = self.live.variable(at, &variable.name) else { continue };
            let scope = self.scope(at).with_variable(&variable.name, &value);
            let (verdict, found) = self.settle(|| scope.check_variable(variable, given)).await;
            let object = in_instance(&self.live.address(at), &name);
            self.checks.report(CheckKind::Variable, &config, &object, 0, &verdict);
            let found = from_condition(found, &object);
            ok &= self.report(found);
        }
        ok
    }

    async fn input(&mut self, module: ModuleId, variable: &Variable) -> bool {
        let mut ok = true;
        for at in self.live.instances(module) {
            let Some(parent) = self.live.parent(at) else { continue };
            let scope = self.scope(parent).of_instance(self.live.call_values(at));
            let (value, found) = self.settle(|| scope.argument(module, variable, self.arguments)).await;
            let tell = self.reports_deprecated_variables;
            ok &= self.report(found.into_iter().filter(|problem| tell || !problem.is_about_deprecated_variable()));
            if let Some(value) = value {
                self.live.set_variable(at, &variable.name, marked(value, variable));
            }
        }
        ok
    }

    async fn local(&mut self, module: ModuleId, local: &Local) -> bool {
        let mut ok = true;
        for at in self.live.instances(module) {
            let (value, found) = self.settle(|| self.scope(at).eval_named(&local.expr)).await;
            let good = self.report(found);
            ok &= good;
            if good {
                self.live.set_local(at, &local.name, value);
            }
        }
        ok
    }

    async fn output(&mut self, module: ModuleId, output: &Output) -> bool {
        let mut ok = true;
        let name = eco_format!("output.{}", output.name);
        let config = in_module(&self.context.tree.node(module).path, &name);
        if !output.preconditions.is_empty() {
            self.expect(CheckKind::Output, module, &name);
        }
        for at in self.live.instances(module) {
            let scope = self.scope(at);
            let object = in_instance(&self.live.address(at), &name);
            let rules = Rules { rules: &output.preconditions, kind: RuleKind::OutputPrecondition, first: 0 };
            if !self.rules(&scope, &rules, &config, &object).await {
                ok = false;
                continue;
            }
            let (value, found) = self.settle(|| scope.output(output)).await;
            ok &= self.report(found);
            if let Some(value) = value {
                // Outputs of the root module are recorded in the plan and in the state, which have rules of their own for zeros.
                let value = if at == ModuleInstanceId::ROOT { value } else { value.without_negative_zero() };
                self.live.set_output(at, &output.name, value);
            }
        }
        ok
    }

    async fn call(&mut self, module: ModuleId) -> bool {
        let tree = self.context.tree;
        let (Some(parent), Some(call)) = (tree.node(module).parent, tree.call(module)) else { return true };
        let mut ok = true;
        for at in self.live.instances(parent) {
            let scope = self.scope(at);
            let (expansion, found) = self.settle(|| scope.expand(&call.repetition)).await;
            ok &= self.report(found);
            ok &= self.report(scope.check_depends_on(&call.depends_on));
            if let Some(expansion) = expansion {
                self.live.expand_call(at, &call.name, module, expansion);
            }
        }
        if let Some(found) = tree.wrong_keys.get(&module).filter(|_| !self.live.instances(module).is_empty()) {
            ok &= self.report(found.clone());
        }
        ok
    }
}

/// The verdict of a data resource of a check that cannot be read.
pub(crate) fn data_verdict(found: &Diagnostics) -> Verdict {
    if found.has_errors() { Verdict::Fail(found.joined().into()) } else { Verdict::Pass }
}

/// Diagnostics, of which those that report the result of a condition get the address of its object.
fn from_condition(found: Diagnostics, object: &EcoString) -> Diagnostics {
    let mut reported = Diagnostics::new();
    reported.extend(found.into_iter().map(|mut problem| {
        if is_about_condition(&problem) {
            problem.extra.get_or_insert_default().condition_of = Some(object.clone());
        }
        problem
    }));
    reported
}

/// Errors in the data of a check, as a result of the check.
pub(crate) fn of_check_data(problem: Diagnostic, check: &EcoString) -> Diagnostic {
    let was_error = problem.is_error();
    let mut problem = of_check(Diagnostic { severity: Severity::Warning, ..problem });
    let extra = problem.extra.get_or_insert_default();
    (extra.was_error, extra.condition_of) = (was_error, Some(check.clone()));
    problem
}

/// A message that is the result of a check.
pub(crate) fn of_check(mut problem: Diagnostic) -> Diagnostic {
    if problem.deprecation().is_none() {
        problem.extra.get_or_insert_default().of_check = true;
    }
    problem
}
