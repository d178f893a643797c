//! Why an object of a configuration, a plan or a state is as it is.
//!
//! [`explain`] makes an [`Explanation`] from a configuration with its references, a state and possibly a plan: plain data, with
//! locations, and without secrets. [`text`] renders it for people, [`json`] for tools.
//!
//! Secrets are left out when the data is made. A value is hidden where it is marked as sensitive or ephemeral, where the schema of its
//! resource type says so, and along the whole chain of references from such an attribute. Expressions on such a chain are shown
//! only if they contain no literals.

mod causes;
mod changes;
mod dependents;
mod instances;
mod json;
mod providing;
mod reasons;
mod recorded;
mod shown;
mod subject;
#[cfg(test)]
mod tests;
mod text;

use yuba_eval::graph::{CallArguments, RefGraph};
use yuba_eval::{ConfigTree, Evaluation, Inputs};
use yuba_plan::{Action, Plan};
use yuba_provider::Providers;
use yuba_state::State;
use yuba_syntax::Sources;

pub use json::json;
pub use subject::{NotExplained, addresses, explain};
pub use text::text;

/// Everything that an explanation is made from.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The configuration.
    pub tree: &'a ConfigTree,
    /// Its files.
    pub sources: &'a Sources,
    /// The references in it.
    pub graph: &'a RefGraph<'a>,
    /// The arguments of its module calls.
    pub arguments: &'a CallArguments,
    /// The values given for variables of the root module.
    pub inputs: &'a Inputs,
    /// Evaluates expressions whose values are known without any resource.
    pub evaluation: &'a Evaluation<'a>,
    /// The schemas of providers.
    pub schemas: &'a dyn Providers,
    /// The state before the plan.
    pub state: &'a State,
    /// The plan, if there is one.
    pub plan: Option<&'a Plan>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine {
    /// Name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// Why an object is as it is.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Its address.
    pub address: String,
    /// Its kind: `resource instance`, `local value`.
    pub kind: &'static str,
    /// The block that declares it.
    pub declared: Option<FileLine>,
    /// The configuration disables it: the location of the `enabled` argument.
    pub disabled: Option<Disabled>,
    /// Its value, for variables, local values and outputs.
    pub value: Option<String>,
    /// The expression it has its value from.
    pub definition: Vec<Expression>,
    /// The source of the value of a variable of the root module.
    pub given: Option<Given>,
    /// The planned changes of its objects: one, or several for an object and its deposed objects.
    pub changes: Vec<PlannedChange>,
    /// The instances, where the address means several.
    pub instances: Vec<InstanceSummary>,
    /// `count`, `for_each` and `enabled` of it and of the modules around it, the outermost first.
    pub repetition: Vec<RepetitionUse>,
    /// The provider configuration that serves it.
    pub provider: Option<ProviderUse>,
    /// Its objects in the state.
    pub recorded: Vec<Recorded>,
    /// The objects that depend on it.
    pub dependents: Option<Dependents>,
}

/// The `enabled` argument that disables an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disabled {
    /// The object with the argument: the address of a resource or module.
    pub object: String,
    /// The argument.
    pub at: Option<FileLine>,
}

/// A planned change of one object.
#[derive(Clone, Debug)]
pub struct PlannedChange {
    /// The deposed object, if it is not the current one.
    pub deposed: Option<String>,
    /// The action.
    pub action: Action,
    /// Why this action was chosen.
    pub reason: Option<PlannedReason>,
    /// The address before a move.
    pub moved_from: Option<String>,
    /// The id of the object that is imported; empty if it is not known yet.
    pub imported: Option<String>,
    /// The attributes that change.
    pub attributes: Vec<AttributeChange>,
    /// Number of further attributes that change.
    pub omitted: usize,
    /// Attributes that the provider decides while applying.
    pub decided_later: Vec<String>,
    /// Expressions of the configuration that decide the action, such as `replace_triggered_by`.
    pub triggers: Vec<Expression>,
}

/// Why an action was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedReason {
    /// The name of the reason in JSON plans; empty where the values show it.
    pub code: &'static str,
    /// One or two sentences.
    pub text: String,
    /// The argument or block that decides it.
    pub at: Option<FileLine>,
}

/// An attribute that changes.
#[derive(Clone, Debug)]
pub struct AttributeChange {
    /// Its path in the object.
    pub path: String,
    /// The value before.
    pub before: String,
    /// The value after.
    pub after: String,
    /// The provider cannot change it in place.
    pub forces_replacement: bool,
    /// The expressions that decide it; empty where the provider does.
    pub expressions: Vec<Expression>,
}

/// An expression of the configuration.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The expression on one line; none if it could contain a secret.
    pub text: Option<String>,
    /// Its location.
    pub at: Option<FileLine>,
    /// The objects it refers to.
    pub causes: Vec<Cause>,
}

/// An object that an expression refers to.
#[derive(Clone, Debug)]
pub struct Cause {
    /// Its address, with the attribute that is read.
    pub name: String,
    /// Its kind.
    pub kind: CauseKind,
    /// Its value, if it is known without any resource.
    pub value: Option<String>,
    /// Source of the value of a variable.
    pub given: Option<Given>,
    /// The plan for a resource.
    pub effect: Option<Effect>,
    /// The expression it has its value from.
    pub expressions: Vec<Expression>,
    /// It is explained before.
    pub is_repeated: bool,
}

/// Kinds of objects that expressions refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// A variable.
    Variable,
    /// A local value.
    Local,
    /// An output of a module, or all outputs of it.
    Module,
    /// A resource, data source or ephemeral resource.
    Resource,
    /// `each.key`, `each.value` or `count.index`.
    Repetition,
    /// A function of a provider.
    Function,
    /// Something else: `path.module`, `terraform.workspace`, `self`, a symbol.
    Other,
}

impl CauseKind {
    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CauseKind::Variable => "variable",
            CauseKind::Local => "local",
            CauseKind::Module => "module",
            CauseKind::Resource => "resource",
            CauseKind::Repetition => "repetition",
            CauseKind::Function => "function",
            CauseKind::Other => "other",
        }
    }
}

/// Source of the value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Its `default`.
    Default(Option<FileLine>),
    /// A file with values.
    File(FileLine),
    /// `-var`
    Flag,
    /// An environment variable.
    Environment(String),
    /// A prompt, or a value stored with the workspace.
    Prompt,
    /// A saved plan.
    Plan,
    /// The call of its module.
    Call,
    /// None: it has neither a value nor a default.
    Missing,
}

/// The plan for an object that an expression refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The action for the resource; for several instances the first that is not `no-op`.
    pub action: Option<Action>,
    /// The part that the expression reads.
    pub part: Part,
}

/// The plan for the part of an object that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The expression reads the object, all instances of it, or an attribute that is not in the plan.
    Whole,
    /// Its value is known after apply.
    KnownLater,
    /// Its value changes: before and after.
    Changes(String, String),
    /// Its value stays the same.
    Same(String),
}

/// One of several instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceSummary {
    /// Its address.
    pub address: String,
    /// The planned action; none without a plan.
    pub action: Option<Action>,
}

/// The argument that decides the instances of an object.
#[derive(Clone, Debug)]
pub struct RepetitionUse {
    /// The object: the address of a resource or module.
    pub object: String,
    /// `count`, `for_each` or `enabled`; none where the object has one instance.
    pub argument: Option<&'static str>,
    /// The key of the instance.
    pub key: Option<String>,
    /// The block that declares the object.
    pub declared: Option<FileLine>,
    /// The value of the argument, if it is known without any resource.
    pub value: Option<String>,
    /// The expression of the argument.
    pub expressions: Vec<Expression>,
}

/// The provider configuration that serves a resource.
#[derive(Clone, Debug)]
pub struct ProviderUse {
    /// The address of the configuration.
    pub address: String,
    /// The key of its instance.
    pub key: Option<String>,
    /// The `provider` block; none where the provider has no configuration.
    pub declared: Option<FileLine>,
    /// Where it is decided, from the resource to the block: sentences with locations.
    pub route: Vec<(String, Option<FileLine>)>,
    /// The expression that selects the instance.
    pub key_expression: Option<Expression>,
    /// The `for_each` of the configuration.
    pub for_each: Option<Expression>,
}

/// An object in the state.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its address.
    pub address: String,
    /// Its key, for a deposed object.
    pub deposed: Option<String>,
    /// It is to be replaced: its creation failed or a user marked it.
    pub is_tainted: bool,
    /// The replacement is created before the object is destroyed.
    pub creates_before_destroy: bool,
    /// The object is forgotten instead of destroyed.
    pub is_kept: bool,
    /// The resources it depended on when it was last applied.
    pub dependencies: Vec<String>,
}

/// The objects that depend on an object.
#[derive(Clone, Debug, Default)]
pub struct Dependents {
    /// Those that refer to it, with their locations.
    pub direct: Vec<(String, Option<FileLine>)>,
    /// Number of all of them.
    pub total: usize,
    /// Resources in the state that depend on it, where the configuration no longer declares it.
    pub recorded: Vec<String>,
}
