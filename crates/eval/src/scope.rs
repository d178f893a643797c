//! Names: the checks and lookups before an expression is evaluated.
//!
//! All references of an expression are resolved first. Their errors are reported even where evaluation would not get
//! there: `try(aws_x.undeclared, 1)` is an error.

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashMapExt};
use yuba_addrs::{Baseline, ParseRefContext, Reference, Subject};
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Traversal};
use yuba_value::{Mark, Value};

use crate::expression::{Variables, evaluate, evaluate_with_locals, explained};
use crate::functions::CallContext;
use crate::references::{each_call, each_traversal};
use crate::validate::diagnostics;
use crate::world::World;

/// The objects that an expression can refer to at its location.
pub trait Scope {
    /// Properties of the module that the reader of references requires.
    fn context(&self) -> &dyn ParseRefContext {
        &Baseline
    }
    /// Reads a name. A scope of tests reads more of them.
    fn parse(&self, traversal: &Traversal) -> (Option<Reference>, Diagnostics) {
        Reference::parse(traversal, self.context())
    }
    /// Checks that can be made without any value. When they fail, no value is asked for.
    fn check(&self, reference: &Reference) -> Diagnostics;
    /// The value of the whole referenced object: of a resource or module with instances all of them.
    fn value(&self, reference: &Reference) -> (Value, Diagnostics);
    /// The value that evaluation starts from, and the number of steps of the name that lead to it. A scope that knows
    /// more about a part than about the whole object starts from the part.
    fn start(&self, reference: &Reference) -> (Value, usize, Diagnostics) {
        let (value, problems) = self.value(reference);
        (value, reference.value_steps, problems)
    }
}

/// Checks and resolves the references of an expression, then evaluates it.
pub fn eval_expr(expr: &Expr, scope: &dyn Scope, context: CallContext<'_>) -> (Value, Diagnostics) {
    let (names, mut diagnostics) = Names::of(expr, scope, &|_| false);
    let (resolved, found) = names.resolve(scope);
    diagnostics.extend(found);
    if diagnostics.has_errors() {
        return (Value::unknown_dynamic(), diagnostics);
    }
    let (value, problems) = evaluate(expr, &resolved, context);
    diagnostics.extend(problems);
    (value, diagnostics)
}

/// Whether all references of an expression can be resolved, so that it was evaluated though there are errors.
pub(crate) fn was_evaluated(expr: &Expr, scope: &dyn Scope) -> bool {
    let (names, found) = Names::of(expr, scope, &|_| false);
    !found.has_errors() && !names.resolve(scope).1.has_errors()
}

/// A diagnostic about an unknown value, with what is unknown in the expression.
pub(crate) fn explain_unknown(
    mut diagnostic: Diagnostic,
    expr: &Expr,
    scope: &dyn Scope,
    context: CallContext<'_>,
) -> Diagnostic {
    diagnostic.extra.get_or_insert_default().caused_by_unknown = true;
    let (names, _) = Names::of(expr, scope, &|_| false);
    let (resolved, _) = names.resolve_checked(scope);
    explained(diagnostic, expr, &resolved, context)
}

/// Evaluates an expression whose references have been checked, with names beside those of the scope, inner ones last.
pub(crate) fn eval_checked(
    expr: &Expr,
    scope: &dyn Scope,
    context: CallContext<'_>,
    locals: Vec<(EcoString, Value)>,
) -> (Value, Diagnostics) {
    let (names, _) = Names::of(expr, scope, &|root| locals.iter().any(|(name, _)| name == root));
    let (resolved, _) = names.resolve_checked(scope);
    evaluate_with_locals(expr, &resolved, locals, context)
}

/// The references of an expression.
pub(crate) struct Names<'e> {
    found: Vec<(Option<&'e Traversal>, Reference)>,
}

impl<'e> Names<'e> {
    /// Reads the references, except names that something around the expression defines.
    pub(crate) fn of(expr: &'e Expr, scope: &dyn Scope, hidden: &dyn Fn(&str) -> bool) -> (Names<'e>, Diagnostics) {
        let mut diagnostics = Diagnostics::new();
        let mut found = Vec::new();
        each_traversal(expr, &mut |traversal| {
            if hidden(&traversal.root) {
                return;
            }
            let (reference, problems) = scope.parse(traversal);
            diagnostics.extend(problems);
            found.extend(reference.map(|r| (Some(traversal), r)));
        });
        each_call(expr, &mut |call| {
            if let Some((reference, problems)) = Reference::parse_function(&call.name, call.name_span) {
                diagnostics.extend(problems);
                found.extend(reference.map(|r| (None, r)));
            }
        });
        (Names { found }, diagnostics)
    }
    /// Without the expression.
    pub(crate) fn into_references(self) -> impl Iterator<Item = Reference> {
        self.found.into_iter().map(|(_, reference)| reference)
    }
    /// Errors in the references, as far as they do not depend on values.
    pub(crate) fn check(&self, scope: &dyn Scope) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for (_, reference) in &self.found {
            problems.extend(scope.check(reference));
        }
        problems
    }
    /// Whether a reference to an opt-in feature is wrong.
    pub(crate) fn has_wrong_symbol(&self, scope: &dyn Scope) -> bool {
        self.found.iter().any(|(_, reference)| {
            matches!(reference.subject, Subject::Symbol(_) | Subject::SymbolFunction(_))
                && scope.check(reference).has_errors()
        })
    }
    /// Checks the references, and finds their values if nothing is wrong.
    pub(crate) fn resolve(&self, scope: &dyn Scope) -> (Resolved, Diagnostics) {
        let mut problems = self.check(scope);
        if problems.has_errors() {
            return (Resolved::default(), problems);
        }
        let (resolved, found) = self.resolve_checked(scope);
        problems.extend(found);
        (resolved, problems)
    }
    /// The values of references that have been checked.
    pub(crate) fn resolve_checked(&self, scope: &dyn Scope) -> (Resolved, Diagnostics) {
        let mut problems = Diagnostics::new();
        let mut resolved = Resolved { values: HashMap::with_capacity(self.found.len()) };
        for (traversal, reference) in &self.found {
            let (value, steps, found) = scope.start(reference);
            problems.extend(found);
            if let Some(traversal) = traversal {
                resolved.values.insert(identity(traversal), (value, steps));
            }
        }
        (resolved, problems)
    }
}

/// The values of an expression's names, by where the name is in memory: the expression is not moved meanwhile.
#[derive(Default)]
pub(crate) struct Resolved {
    values: HashMap<usize, (Value, usize)>,
}

fn identity(traversal: &Traversal) -> usize {
    std::ptr::from_ref(traversal).addr()
}

impl Variables for Resolved {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        self.values.get(&identity(traversal)).cloned()
    }
    fn names(&self) -> Vec<EcoString> {
        Vec::new()
    }
}

/// The root module of a directory without configuration: nothing is declared, but `path` and `terraform` exist.
pub struct EmptyModule<'a> {
    /// For the working directory.
    pub world: &'a dyn World,
    /// The directory the process was started in, if it is not the working directory.
    pub original_dir: Option<EcoString>,
    /// The name of the workspace.
    pub workspace: EcoString,
}

impl Scope for EmptyModule<'_> {
    fn check(&self, reference: &Reference) -> Diagnostics {
        let span = reference.span;
        match &reference.subject {
            Subject::SelfObject => diagnostics::no_self(span).into(),
            Subject::Resource(resource) | Subject::ResourceInstance(resource, _) => {
                diagnostics::empty::resource(resource, span).into()
            }
            Subject::Module(name) | Subject::ModuleInstance(name, _) | Subject::ModuleOutput(name, ..) => {
                diagnostics::empty::module(name, span).into()
            }
            Subject::Symbol(_) | Subject::SymbolFunction(_) => {
                reference.undefined_symbol(self.context()).map(Diagnostics::from).unwrap_or_default()
            }
            _ => Diagnostics::new(),
        }
    }

    fn value(&self, reference: &Reference) -> (Value, Diagnostics) {
        let span = reference.span;
        let problem = match &reference.subject {
            Subject::Variable(name) => diagnostics::empty::variable(name, span),
            Subject::Local(name) => diagnostics::empty::local(name, span),
            Subject::Path(name) => match path_value(name, ".", ".", self.world, self.original_dir.as_deref()) {
                Ok(value) => return (value, Diagnostics::new()),
                Err(problem) => problem.at(span),
            },
            Subject::Terraform(alias, name) => {
                match terraform_value(alias.as_str(), name, &self.workspace, Activity::Planning) {
                    Ok(value) => return (value, Diagnostics::new()),
                    Err(problem) => problem.at(span),
                }
            }
            Subject::Count(name) if name == "index" => diagnostics::no_count(span),
            Subject::Count(name) => diagnostics::invalid_count_attribute(name, span),
            Subject::Each(name) if name == "key" => diagnostics::no_each(span),
            Subject::Each(name) if name == "value" => diagnostics::no_each_value(span),
            Subject::Each(name) => diagnostics::invalid_each_attribute(name, span),
            Subject::ProviderFunction(function) => {
                diagnostics::empty::provider_function(&eco_format!("{function}"), span)
            }
            Subject::SelfObject
            | Subject::Resource(_)
            | Subject::ResourceInstance(..)
            | Subject::Module(_)
            | Subject::ModuleInstance(..)
            | Subject::ModuleOutput(..)
            | Subject::Symbol(_)
            | Subject::SymbolFunction(_)
            | Subject::Output(_)
            | Subject::Check(_)
            | Subject::Run(_) => return (Value::unknown_dynamic(), Diagnostics::new()),
        };
        (Value::unknown_dynamic(), problem.into())
    }
}

/// `path.name` in the module of a directory.
pub(crate) fn path_value(
    name: &str,
    module_dir: &str,
    root_dir: &str,
    world: &dyn World,
    original_dir: Option<&str>,
) -> Result<Value, Box<Diagnostic>> {
    match name {
        "module" => Ok(Value::string(module_dir)),
        "root" => Ok(Value::string(root_dir)),
        "cwd" => match original_dir {
            Some(dir) => Ok(Value::string(dir)),
            None => {
                let dir = world.working_dir().map(Value::string);
                dir.map_err(|reason| diagnostics::working_directory_unknown(&reason.to_string()).into())
            }
        },
        _ => Err(diagnostics::invalid_path_attribute(name).into()),
    }
}

/// Purposes of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Validating, planning, or any other command that changes nothing.
    Planning,
    Applying,
}

/// `terraform.name` or `tofu.name`
pub(crate) fn terraform_value(
    alias: &str,
    name: &str,
    workspace: &str,
    activity: Activity,
) -> Result<Value, Box<Diagnostic>> {
    match name {
        "workspace" => Ok(Value::string(workspace)),
        "applying" => Ok(Value::bool(activity == Activity::Applying).mark(Mark::Ephemeral)),
        _ => Err(diagnostics::invalid_terraform_attribute(alias, name).into()),
    }
}
