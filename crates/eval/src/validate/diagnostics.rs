//! The catalogue of what can be wrong with a configuration that has been linked: references, repetition, conditions, resources,
//! module calls and outputs.

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, ModulePath, ProviderSource, Resource, ResourceMode};
use yuba_config::Module;
use yuba_config::output::Output;
use yuba_config::resource::ResourceKey;
use yuba_config::variable::Variable;
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{Code, Diagnostic, Severity, Span};

use crate::driven::RuleKind;
use crate::inputs::{ENVIRONMENT_PREFIX, GivenBy};
use crate::tree::ModuleNode;

yuba_syntax::catalogue! {
    /// A reference names an input variable that the module does not declare.
    UNDECLARED_VARIABLE = error "undeclared-variable", "Reference to undeclared input variable";
    /// An assertion of a test names an output that the tested module does not declare.
    UNDECLARED_OUTPUT = error "undeclared-output", "Reference to undeclared output value";
    /// A test refers to a run that has not been applied before.
    UNAVAILABLE_RUN = error "unavailable-run", "Reference to unavailable run";
    /// A reference names a local value that the module does not define.
    UNDECLARED_LOCAL = error "undeclared-local", "Reference to undeclared local value";
    /// A reference names a module call that the module does not contain.
    UNDECLARED_MODULE = error "undeclared-module", "Reference to undeclared module";
    /// A reference names a resource that the module does not declare.
    UNDECLARED_RESOURCE = error "undeclared-resource", "Reference to undeclared resource";
    /// A data resource of a check block is referred to outside of this block.
    SCOPED_RESOURCE = error "scoped-resource", "Reference to scoped resource";
    /// The provider has no managed resource type of this name.
    pub INVALID_RESOURCE_TYPE = error "invalid-resource-type", "Invalid resource type";
    /// The provider has no data source of this name.
    INVALID_DATA_SOURCE = error "invalid-data-source", "Invalid data source";
    /// The provider has no ephemeral resource type of this name.
    INVALID_EPHEMERAL_RESOURCE = error "invalid-ephemeral-resource", "Invalid ephemeral resource";
    /// An attribute of a resource with count or for_each is read without an instance key.
    MISSING_INSTANCE_KEY = error "missing-instance-key", "Missing resource instance key";
    /// A reference has an instance key, but the resource has neither count nor for_each.
    UNEXPECTED_INSTANCE_KEY = error "unexpected-instance-key", "Unexpected resource instance key";
    /// A reference reads the attribute `count` of a resource, which old versions of the language had.
    RESOURCE_COUNT_ATTRIBUTE = error "resource-count-attribute", "Invalid resource count attribute";
    /// An expression uses `self` in a block where it is not available.
    SELF_NOT_AVAILABLE = error "self-not-available", "Invalid \"self\" reference";
    /// An expression uses `count.index` in a block without count.
    COUNT_NOT_AVAILABLE = error "count-not-available", "Reference to \"count\" in non-counted context";
    /// An expression reads an attribute of `count` other than `index`.
    INVALID_COUNT_ATTRIBUTE = error "invalid-count-attribute", "Invalid \"count\" attribute";
    /// An expression uses `each.key` in a block without for_each.
    EACH_NOT_AVAILABLE = error "each-not-available", "Reference to \"each\" in context without for_each";
    /// An expression uses `each.value` in a block without for_each.
    EACH_VALUE_NOT_AVAILABLE = error "each-value-not-available", "each.value cannot be used in this context";
    /// An expression reads an attribute of `each` other than `key` and `value`.
    INVALID_EACH_ATTRIBUTE = error "invalid-each-attribute", "Invalid \"each\" attribute";
    /// An expression reads an attribute of `path` that does not exist.
    INVALID_PATH_ATTRIBUTE = error "invalid-path-attribute", "Invalid \"path\" attribute";
    /// The operating system does not report the current working directory.
    WORKING_DIRECTORY_UNKNOWN = error "working-directory-unknown", "Failed to get working directory";
    /// An expression reads an attribute of `terraform` or `tofu` that does not exist.
    INVALID_TERRAFORM_ATTRIBUTE = error "invalid-terraform-attribute", "Invalid \"{object}\" attribute";
    /// A provider function is called in a directory without configuration.
    FUNCTION_PROVIDER_NOT_LOADED = error "function-provider-not-loaded", "BUG: Uninitialized function provider";
    /// A function call names a provider that required_providers does not list.
    UNKNOWN_FUNCTION_PROVIDER = error "unknown-function-provider", "Unknown function provider";
    /// The provider has no function of this name.
    MISSING_PROVIDER_FUNCTION = error "missing-provider-function", "Function not found in provider";
    /// A provider that the configuration requires is not available.
    MISSING_PROVIDER = error "missing-provider", "Missing required provider";
    /// The root module passes a provider configuration that it does not declare.
    MISSING_PASSED_PROVIDER = error "missing-passed-provider", "missing provider {configuration}";
    /// A resource uses a provisioner that does not exist.
    MISSING_PROVISIONER = error "missing-provisioner", "Missing required provisioner plugin";
    /// Objects of the configuration depend on each other in a cycle.
    DEPENDENCY_CYCLE = error "dependency-cycle", "Cycle: {objects}";
    /// A local value refers to itself.
    SELF_REFERENCING_LOCAL = error "self-referencing-local", "Self-referencing local value";
    /// The configuration of an object refers to the object itself.
    SELF_REFERENTIAL_BLOCK = error "self-referential-block", "Self-referential block";
    /// The value of a count argument is not a known, non-negative whole number.
    INVALID_COUNT = error "invalid-count", "Invalid count argument";
    /// The value of an enabled argument is not a known bool, or is sensitive or ephemeral.
    INVALID_ENABLED = error "invalid-enabled", "Invalid enabled argument";
    /// A value cannot be converted to the type that the argument requires.
    pub INCORRECT_VALUE_TYPE = error "incorrect-value-type", "Incorrect value type";
    /// An element of depends_on refers to an attribute instead of an object.
    INVALID_DEPENDS_ON_REFERENCE = error "invalid-depends-on-reference", "Invalid depends_on reference";
    /// The value of prevent_destroy is not a bool.
    pub INVALID_PREVENT_DESTROY = error "invalid-prevent-destroy", "Invalid value for prevent_destroy";
    /// ignore_changes names an attribute that only the provider sets.
    REDUNDANT_IGNORE_CHANGES = warning "redundant-ignore-changes", "Redundant ignore_changes element";
    /// An element of replace_triggered_by refers to a resource that the module does not declare.
    UNDECLARED_TRIGGER = error "undeclared-trigger", "Undeclared resource in replace_triggered_by";
    /// The index of an element of replace_triggered_by is not a known string or whole number.
    INVALID_TRIGGER_INDEX = error "invalid-trigger-index", "Invalid replace_triggered_by expression";
    /// The key that selects an instance of a provider configuration is not a known, public string.
    INVALID_PROVIDER_INSTANCE_KEY = error "invalid-provider-instance-key", "Invalid provider instance key";
    /// A connection block uses the deprecated type winrm.
    WINRM_DEPRECATED = warning "winrm-deprecated", "WinRM connection type is deprecated";
    /// A local-exec provisioner has no command.
    LOCAL_EXEC_WITHOUT_COMMAND = error "local-exec-without-command", "Invalid local-exec provisioner command";
    /// A remote-exec provisioner sets none or several of inline, script and scripts.
    INVALID_REMOTE_EXEC = error "invalid-remote-exec", "Invalid remote-exec provisioner configuration";
    /// A file provisioner has no destination.
    FILE_PROVISIONER_WITHOUT_DESTINATION = error "file-provisioner-without-destination", "Invalid file provisioner configuration";
    /// A file provisioner sets both source and content.
    FILE_PROVISIONER_WITH_SOURCE_AND_CONTENT = error "file-provisioner-with-source-and-content", "Cannot set both 'source' and 'content'";
    /// A file provisioner sets neither source nor content.
    FILE_PROVISIONER_WITHOUT_SOURCE = error "file-provisioner-without-source", "Must provide one of 'source' or 'content'";
    /// An argument of an import block is null, unknown, sensitive or ephemeral.
    pub INVALID_IMPORT_ARGUMENT = error "invalid-import-argument", "Invalid import {argument} argument";
    /// An import block has an identity, but the resource type has no identity.
    pub NO_IMPORT_IDENTITY = error "no-import-identity", "Unable to determine identity schema for import identity";
    /// The condition of a precondition, postcondition or assertion is not a bool.
    INVALID_CONDITION_RESULT = error "invalid-condition-result", "Invalid condition result";
    /// The condition of a test assertion is not a bool.
    INVALID_TEST_CONDITION = error "invalid-test-condition", "Invalid condition run";
    /// The condition of a validation block of a variable is not a bool.
    INVALID_VALIDATION_RESULT = error "invalid-validation-result", "Invalid variable validation result";
    /// The error message of a condition is null or cannot be converted to a string.
    INVALID_ERROR_MESSAGE = error "invalid-error-message", "Invalid error message";
    /// The error message of a condition contains sensitive or ephemeral values.
    SECRET_IN_ERROR_MESSAGE = error "secret-in-error-message", "Error message refers to {kind} values";
    /// A precondition of a resource is false.
    RESOURCE_PRECONDITION_FAILED = error "resource-precondition-failed", "Resource precondition failed";
    /// A postcondition of a resource is false.
    RESOURCE_POSTCONDITION_FAILED = error "resource-postcondition-failed", "Resource postcondition failed";
    /// A precondition of an output is false.
    OUTPUT_PRECONDITION_FAILED = error "output-precondition-failed", "Module output value precondition failed";
    /// An assertion of a check block is false.
    CHECK_ASSERTION_FAILED = error "check-assertion-failed", "Check block assertion failed";
    /// An assertion of a check block depends on values that are known only after apply.
    CHECK_ASSERTION_UNKNOWN = warning "check-assertion-unknown", "Check block assertion known after apply";
    /// An assertion of a test is false.
    TEST_ASSERTION_FAILED = error "test-assertion-failed", "Test assertion failed";
    /// An assertion of a test depends on values that are not known.
    TEST_ASSERTION_UNKNOWN = error "test-assertion-unknown", "Unknown condition run";
    /// The value of a variable does not meet a condition of a validation block.
    VARIABLE_VALIDATION_FAILED = error "variable-validation-failed", "Invalid value for variable";
    /// An ephemeral value is assigned to a variable that is not ephemeral.
    EPHEMERAL_ARGUMENT = error "ephemeral-argument", "Variable does not allow ephemeral value";
    /// A module call sets a variable that its author marks as deprecated.
    DEPRECATED_VARIABLE = warning "deprecated-variable", "The variable {name} is marked as deprecated by module author.";
    /// An expression uses a value that comes from a deprecated output or attribute.
    DEPRECATED_VALUE = warning "deprecated-value", "Value derived from a deprecated source";
    /// A deprecated variable of the root module is set.
    DEPRECATED_ROOT_VARIABLE = warning "deprecated-root-variable", "Deprecated variable used from the root module";
    /// An output of the root module is declared as ephemeral.
    EPHEMERAL_ROOT_OUTPUT = error "ephemeral-root-output", "Invalid output configuration";
    /// The value of an output that is not ephemeral is ephemeral.
    EPHEMERAL_OUTPUT = error "ephemeral-output", "Output does not allow ephemeral value";
    /// The value of an output of the root module is sensitive, but the output is not.
    SENSITIVE_OUTPUT = error "sensitive-output", "Output refers to sensitive values";
}

/// Whether a warning of validation depends neither on values nor on instances, so that planning does not report it again.
pub fn outlives_planning(problem: &Diagnostic) -> bool {
    problem.is(&REDUNDANT_IGNORE_CHANGES) || problem.is(&WINRM_DEPRECATED)
}

/// Whether it reports that a condition of an object is false or not known yet.
pub fn is_about_condition(problem: &Diagnostic) -> bool {
    let failed = [
        RuleKind::ResourcePrecondition,
        RuleKind::ResourcePostcondition,
        RuleKind::OutputPrecondition,
        RuleKind::CheckAssertion,
    ];
    problem.is(&CHECK_ASSERTION_UNKNOWN)
        || problem.is(&VARIABLE_VALIDATION_FAILED)
        || failed.into_iter().any(|kind| problem.is(code_of_failed(kind)))
}

/// Whether it reports that an assertion of a `check` block is false or not known yet.
pub fn is_about_assertion(problem: &Diagnostic) -> bool {
    problem.is(&CHECK_ASSERTION_FAILED) || problem.is(&CHECK_ASSERTION_UNKNOWN)
}

fn in_words(path: &ModulePath) -> EcoString {
    if path.is_root() { "the root module".into() } else { eco_format!("{path}") }
}

pub(crate) fn address(key: &ResourceKey) -> EcoString {
    eco_format!("{}", yuba_addrs::Resource::from(key))
}

/// The address of a resource with its module.
pub(crate) fn address_in(path: &ModulePath, key: &ResourceKey) -> EcoString {
    if path.is_root() { address(key) } else { eco_format!("{path}.{}", address(key)) }
}

fn block_type(mode: ResourceMode) -> &'static str {
    match mode {
        ResourceMode::Managed => "resource",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    }
}

// Names.

pub(crate) fn undeclared_variable(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = match did_you_mean(name, module.variables.keys().map(EcoString::as_str)) {
        hint if hint.is_empty() => format!("Declare it with a variable {name:?} {{}} block."),
        hint => hint,
    };
    let detail = eco_format!("This module does not declare an input variable named {name:?}.");
    Diagnostic::new(&UNDECLARED_VARIABLE, detail).hint(hint.trim_start()).at(span)
}

pub(crate) fn undeclared_output(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.outputs.keys().map(EcoString::as_str));
    let detail = eco_format!("The tested module does not declare an output named {name:?}.");
    Diagnostic::new(&UNDECLARED_OUTPUT, detail).hint(hint.trim_start()).at(span)
}

pub(crate) fn undeclared_run(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!(
        "No run named {name:?} was applied before this one. A reference can read the outputs of earlier runs of the same file \
         that apply."
    );
    Diagnostic::new(&UNAVAILABLE_RUN, detail).at(span)
}

pub(crate) fn undeclared_local(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.locals.keys().map(EcoString::as_str));
    let detail = eco_format!("No locals block of this module defines a value named {name:?}.");
    Diagnostic::new(&UNDECLARED_LOCAL, detail).hint(hint.trim_start()).at(span)
}

pub(crate) fn undeclared_module(name: &str, node: &ModuleNode, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, node.module.calls.keys().map(EcoString::as_str));
    let detail = eco_format!("There is no module call named {name:?} in {}.", in_words(&node.path));
    Diagnostic::new(&UNDECLARED_MODULE, detail).hint(hint.trim_start()).at(span)
}

pub(crate) fn undeclared_resource(key: &ResourceKey, node: &ModuleNode, span: Option<Span>) -> Diagnostic {
    let mode = key.mode.as_str();
    let detail = eco_format!("There is no {mode} resource {:?} {:?} in {}.", key.kind, key.name, in_words(&node.path));
    let other_modes = [ResourceMode::Managed, ResourceMode::Data, ResourceMode::Ephemeral];
    let other = other_modes.into_iter().filter(|mode| *mode != key.mode).find_map(|mode| {
        let other = ResourceKey { mode, ..key.clone() };
        node.module.resources.contains_key(&other).then_some(other)
    });
    let hint = match other {
        Some(other) => format!("Did you mean the {} resource {}?", block_type(other.mode), address(&other)),
        None => {
            // Names of the same type; one type rarely has many.
            let first = ResourceKey { name: EcoString::new(), ..key.clone() };
            let same_type = node.module.resources.starting_at(&first).map(|resource| &resource.key);
            let names = same_type
                .take_while(|other| other.mode == key.mode && other.kind == key.kind)
                .take(1_000)
                .map(|other| other.name.as_str());
            did_you_mean(&key.name, names)
        }
    };
    Diagnostic::new(&UNDECLARED_RESOURCE, detail).hint(hint.trim_start()).at(span)
}

/// References in a directory without configuration.
pub(crate) mod empty {
    use super::*;

    pub(crate) fn variable(name: &str, span: Option<Span>) -> Diagnostic {
        let detail = eco_format!("There is no input variable named {name:?}.");
        let hint = eco_format!("Declare it with a variable {name:?} {{}} block.");
        Diagnostic::new(&UNDECLARED_VARIABLE, detail).hint(hint).at(span)
    }

    pub(crate) fn local(name: &str, span: Option<Span>) -> Diagnostic {
        let detail = eco_format!("There is no local value named {name:?}.");
        Diagnostic::new(&UNDECLARED_LOCAL, detail).hint("Define it in a locals block.").at(span)
    }

    pub(crate) fn resource(resource: &Resource, span: Option<Span>) -> Diagnostic {
        let detail = eco_format!("The root module has no {} resource {resource}.", resource.mode.as_str());
        let (block, Resource { kind, name, .. }) = (block_type(resource.mode), resource);
        let hint = eco_format!("Declare it with a {block} {kind:?} {name:?} {{}} block.");
        Diagnostic::new(&UNDECLARED_RESOURCE, detail).hint(hint).at(span)
    }

    pub(crate) fn module(name: &str, span: Option<Span>) -> Diagnostic {
        Diagnostic::new(&UNDECLARED_MODULE, eco_format!("The root module has no module call named {name:?}.")).at(span)
    }

    pub(crate) fn provider_function(name: &str, span: Option<Span>) -> Diagnostic {
        let detail = eco_format!(
            "The provider of the function {name} is not loaded, because this directory has no configuration."
        );
        Diagnostic::new(&FUNCTION_PROVIDER_NOT_LOADED, detail).at(span)
    }
}

pub(crate) fn scoped_resource(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    let detail =
        eco_format!("{} belongs to a check block. Only expressions of this block can refer to it.", address(key));
    Diagnostic::new(&SCOPED_RESOURCE, detail).at(span)
}

pub(crate) fn unsupported_resource(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The provider has no {} resource type {:?}.", key.mode.as_str(), key.kind);
    Diagnostic::new(&INVALID_RESOURCE_TYPE, detail).at(span)
}

pub(crate) fn missing_instance_key(key: &ResourceKey, argument: &str, example: &str, span: Option<Span>) -> Diagnostic {
    let name = address(key);
    let detail = eco_format!(
        "{name} has {argument:?} set, so it has several instances. A reference to an attribute must select one of them."
    );
    Diagnostic::new(&MISSING_INSTANCE_KEY, detail)
        .hint(eco_format!("Add an instance key, for example {name}[{example}]."))
        .at(span)
}

pub(crate) fn unexpected_instance_key(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    let detail =
        eco_format!("{} has neither \"count\" nor \"for_each\" set, so it has no instance keys.", address(key));
    Diagnostic::new(&UNEXPECTED_INSTANCE_KEY, detail).hint("Remove the index in brackets.").at(span)
}

pub(crate) fn old_count_attribute(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    Diagnostic::new(&RESOURCE_COUNT_ATTRIBUTE, "Resources no longer have an attribute \"count\".")
        .hint(eco_format!("Write length({}).", address(key)))
        .at(span)
}

pub(crate) fn no_self(span: Option<Span>) -> Diagnostic {
    let detail = "\"self\" is available only in provisioner, connection and postcondition blocks of a resource.";
    Diagnostic::new(&SELF_NOT_AVAILABLE, detail).at(span)
}

pub(crate) fn no_count(span: Option<Span>) -> Diagnostic {
    let detail = "\"count.index\" is available only in blocks that have the \"count\" argument.";
    Diagnostic::new(&COUNT_NOT_AVAILABLE, detail).at(span)
}

pub(crate) fn invalid_count_attribute(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The \"count\" object has no attribute {name:?}. Its only attribute is count.index.");
    Diagnostic::new(&INVALID_COUNT_ATTRIBUTE, detail).at(span)
}

pub(crate) fn no_each(span: Option<Span>) -> Diagnostic {
    let detail = "\"each.key\" is available only in blocks that have the \"for_each\" argument.";
    Diagnostic::new(&EACH_NOT_AVAILABLE, detail).at(span)
}

pub(crate) fn no_each_value(span: Option<Span>) -> Diagnostic {
    let detail = "\"each.value\" is available only in blocks that have the \"for_each\" argument.";
    Diagnostic::new(&EACH_VALUE_NOT_AVAILABLE, detail).at(span)
}

pub(crate) fn invalid_each_attribute(name: &str, span: Option<Span>) -> Diagnostic {
    let detail =
        eco_format!("The \"each\" object has no attribute {name:?}. Its attributes are each.key and each.value.");
    Diagnostic::new(&INVALID_EACH_ATTRIBUTE, detail).at(span)
}

pub(crate) fn invalid_path_attribute(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The \"path\" object has no attribute {name:?}. Its attributes are path.cwd, path.module and path.root."
    );
    let suggestion = did_you_mean(name, ["cwd", "module", "root"]);
    Diagnostic::new(&INVALID_PATH_ATTRIBUTE, detail).hint(suggestion.trim_start())
}

pub(crate) fn working_directory_unknown(reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to read the current working directory: {reason}.");
    Diagnostic::new(&WORKING_DIRECTORY_UNKNOWN, detail)
}

/// `object` is `terraform` or `tofu`.
pub(crate) fn invalid_terraform_attribute(object: &str, name: &str) -> Diagnostic {
    let (detail, hint) = match name {
        "env" => (
            eco_format!("{object}.env is no longer supported. Environments are called workspaces now."),
            eco_format!("Write {object}.workspace."),
        ),
        _ => (
            eco_format!(
                "The {object:?} object has no attribute {name:?}. {object}.workspace is the name of the workspace."
            ),
            EcoString::new(),
        ),
    };
    let title = eco_format!("Invalid \"{object}\" attribute");
    Diagnostic::new(&INVALID_TERRAFORM_ATTRIBUTE, detail).titled(title).naming(object).hint(hint)
}

pub(crate) fn unknown_function_provider(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The required_providers of this module contain no provider with the local name {name:?}.");
    Diagnostic::new(&UNKNOWN_FUNCTION_PROVIDER, detail).at(span)
}

pub(crate) fn missing_provider_function(name: &str, hint: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The provider has no function {name:?}.");
    Diagnostic::new(&MISSING_PROVIDER_FUNCTION, detail).hint(hint.trim_start()).at(span)
}

// Providers, resource types and provisioners that are not available.

/// A provider that the configuration requires is not installed.
pub fn missing_provider(provider: &ProviderSource) -> Diagnostic {
    let detail = eco_format!("This configuration requires the provider {provider}, which is not available.");
    let hint = match provider.is_builtin() {
        true => "Remove it from the configuration: Yuba has no built-in provider of this name.",
        false => "Run \"yuba init\" to install the providers of this configuration.",
    };
    Diagnostic::new(&MISSING_PROVIDER, detail).hint(hint)
}

/// Quirk: the summary names the configuration, and there is no location.
pub(crate) fn missing_passed_provider(config: &AbsProviderConfig) -> Diagnostic {
    let detail = eco_format!(
        "A module call of the root module passes the provider configuration {config}, which the root module does not declare."
    );
    Diagnostic::new(&MISSING_PASSED_PROVIDER, detail)
        .titled(eco_format!("missing provider {config}"))
        .naming(config)
        .hint("Add a provider block, or an entry in required_providers.")
}

pub(crate) fn missing_provisioner(kind: &str) -> Diagnostic {
    let detail = eco_format!(
        "This configuration uses the provisioner {kind:?}, which is not available. The available provisioners are file, \
         local-exec and remote-exec."
    );
    Diagnostic::new(&MISSING_PROVISIONER, detail)
}

pub(crate) fn missing_type(key: &ResourceKey, provider: &ProviderSource, hint: &str, span: Span) -> Diagnostic {
    let (code, noun) = match key.mode {
        ResourceMode::Managed => (&INVALID_RESOURCE_TYPE, "resource type"),
        ResourceMode::Data => (&INVALID_DATA_SOURCE, "data source"),
        ResourceMode::Ephemeral => (&INVALID_EPHEMERAL_RESOURCE, "ephemeral resource"),
    };
    let detail = eco_format!("The provider {} has no {noun} {:?}.", provider.for_display(), key.kind);
    Diagnostic::new(code, detail).hint(hint.trim_start()).at(span)
}

/// The hint to another kind of block that supports the type.
pub(crate) fn wrong_mode(kind: &str, right: ResourceMode) -> EcoString {
    eco_format!("Did you mean a {} {kind:?} block?", block_type(right))
}

// Cycles.

pub(crate) fn cycle(names: &[EcoString], chain: &str) -> Diagnostic {
    let detail = eco_format!("These objects depend on each other:\n{chain}");
    Diagnostic::new(&DEPENDENCY_CYCLE, detail)
        .titled(eco_format!("Cycle: {}", names.join(", ")))
        .naming(names.join(", "))
        .hint("To break the cycle, remove one of these references.")
}

pub(crate) fn self_referencing_local(name: &str, span: Option<Span>, expr: Span) -> Diagnostic {
    let detail = eco_format!("The value of local.{name} refers to local.{name} itself.");
    Diagnostic::new(&SELF_REFERENCING_LOCAL, detail).at(span).within(expr)
}

pub(crate) fn self_referential(address: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The configuration of {address} refers to {address} itself, which does not exist yet.");
    Diagnostic::new(&SELF_REFERENTIAL_BLOCK, detail).at(span)
}

// Repetition.

pub(crate) fn invalid_count(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_COUNT, eco_format!("This value cannot be used for \"count\": {reason}.")).at(span)
}

/// The number of instances is known only after apply.
pub(crate) fn unknown_count(span: Span) -> Diagnostic {
    invalid_count("it depends on values that are known only after apply, so the number of instances is unknown", span)
        .hint("Exclude this block from the plan with -exclude, apply the plan, then plan again without -exclude.")
}

pub(crate) fn invalid_enabled(reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for \"enabled\": {reason}.");
    let mut problem = Diagnostic::new(&INVALID_ENABLED, detail).at(span);
    problem.extra.get_or_insert_default().depends_on_enabled = true;
    problem
}

pub(crate) fn incorrect_type(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&INCORRECT_VALUE_TYPE, eco_format!("This value has the wrong type: {reason}.")).at(span)
}

pub(crate) fn depends_on_attribute(span: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_DEPENDS_ON_REFERENCE, "An element of depends_on cannot refer to an attribute.")
        .hint("Refer to the whole object, such as a resource or module call.")
        .at(span)
}

// Resources.

pub(crate) fn invalid_prevent_destroy(address: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for prevent_destroy of {address}: {reason}.");
    Diagnostic::new(&INVALID_PREVENT_DESTROY, detail).at(span)
}

pub(crate) fn redundant_ignore_changes(name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "ignore_changes applies to arguments of the configuration, but only the provider sets the attribute {name}."
    );
    Diagnostic::new(&REDUNDANT_IGNORE_CHANGES, detail).hint("Remove it from ignore_changes.").about(name).at(span)
}

pub(crate) fn undeclared_trigger(address: &str, trigger: &str, span: Span) -> Diagnostic {
    let detail =
        eco_format!("The replace_triggered_by of {address} refers to {trigger}, which this module does not declare.");
    Diagnostic::new(&UNDECLARED_TRIGGER, detail).at(span)
}

pub(crate) fn invalid_trigger_index(span: Span) -> Diagnostic {
    let detail = "The index of an element of replace_triggered_by must be a string or a whole number that is known during \
                  planning.";
    Diagnostic::new(&INVALID_TRIGGER_INDEX, detail).at(span)
}

pub(crate) fn invalid_provider_instance_key(reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot select an instance of a provider configuration: {reason}.");
    Diagnostic::new(&INVALID_PROVIDER_INSTANCE_KEY, detail).at(span)
}

pub(crate) fn invalid_import(argument: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for the argument {argument:?} of an import block: {reason}.");
    let title = eco_format!("Invalid import {argument} argument");
    Diagnostic::new(&INVALID_IMPORT_ARGUMENT, detail).titled(title).naming(argument).at(span)
}

pub(crate) fn no_identity(kind: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The resource type {kind:?} has no identity.");
    Diagnostic::new(&NO_IMPORT_IDENTITY, detail).hint("Import the object by \"id\".").at(span)
}

// Provisioners.

pub(crate) fn winrm(span: Span) -> Diagnostic {
    Diagnostic::new(&WINRM_DEPRECATED, "A later version will remove connections of the type \"winrm\".")
        .hint("Use the type \"ssh\": Windows includes an SSH server.")
        .at(span)
}

pub(crate) fn local_exec_without_command() -> Diagnostic {
    Diagnostic::new(&LOCAL_EXEC_WITHOUT_COMMAND, "The argument \"command\" must be a string that is not empty.")
}

pub(crate) fn invalid_remote_exec() -> Diagnostic {
    Diagnostic::new(&INVALID_REMOTE_EXEC, "Exactly one of \"inline\", \"script\" and \"scripts\" must be set.")
}

pub(crate) fn file_without_destination() -> Diagnostic {
    Diagnostic::new(
        &FILE_PROVISIONER_WITHOUT_DESTINATION,
        "The argument \"destination\" must be a string that is not empty.",
    )
}

pub(crate) fn file_with_source_and_content() -> Diagnostic {
    Diagnostic::new(&FILE_PROVISIONER_WITH_SOURCE_AND_CONTENT, "")
}

pub(crate) fn file_without_source() -> Diagnostic {
    Diagnostic::new(&FILE_PROVISIONER_WITHOUT_SOURCE, "")
}

// Conditions.

/// Stands for an error message that is not known or must not be shown.
const HIDDEN_MESSAGE: &str = "The condition is false. Its error message cannot be displayed.";

fn code_of_failed(kind: RuleKind) -> &'static Code {
    match kind {
        RuleKind::ResourcePrecondition => &RESOURCE_PRECONDITION_FAILED,
        RuleKind::ResourcePostcondition => &RESOURCE_POSTCONDITION_FAILED,
        RuleKind::OutputPrecondition => &OUTPUT_PRECONDITION_FAILED,
        RuleKind::CheckAssertion => &CHECK_ASSERTION_FAILED,
    }
}

/// A condition is false. `message` is that of its author, if it can be displayed.
pub fn condition_failed(kind: RuleKind, message: Option<&str>, severity: Severity, span: Span) -> Diagnostic {
    let detail = message.unwrap_or(HIDDEN_MESSAGE);
    let mut problem = Diagnostic::new(code_of_failed(kind), detail).with_severity(severity).at(span);
    if kind == RuleKind::CheckAssertion {
        problem.extra.get_or_insert_default().failed_assertion = true;
    }
    problem
}

pub(crate) fn assertion_unknown(span: Span) -> Diagnostic {
    let detail = "This condition depends on values that are known only after apply. Applying the plan checks it.";
    Diagnostic::new(&CHECK_ASSERTION_UNKNOWN, detail).at(span)
}

pub(crate) fn test_assertion_failed(message: Option<&str>, span: Span) -> Diagnostic {
    Diagnostic::new(&TEST_ASSERTION_FAILED, message.unwrap_or(HIDDEN_MESSAGE)).at(span)
}

pub(crate) fn test_assertion_unknown(span: Span) -> Diagnostic {
    let detail = "This condition depends on values that are known only after apply, or that this run excludes.";
    Diagnostic::new(&TEST_ASSERTION_UNKNOWN, detail)
        .hint("Set \"command = apply\", or change the condition to use other values.")
        .at(span)
}

/// `code` is a row about a condition that is not a bool.
pub(crate) fn invalid_rule_result(code: &'static Code, reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(code, eco_format!("A condition must be true or false: {reason}.")).at(span)
}

pub(crate) fn invalid_message(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_ERROR_MESSAGE, eco_format!("This value cannot be an error message: {reason}.")).at(span)
}

pub(crate) fn secret_message(kind: &str, severity: Severity, span: Span) -> Diagnostic {
    let detail = eco_format!("This error message refers to {kind} values, so it is not displayed.");
    let hint = match kind {
        "sensitive" => "Refer to other values, or use nonsensitive() if the message reveals no secret.",
        _ => "Refer to other values.",
    };
    Diagnostic::new(&SECRET_IN_ERROR_MESSAGE, detail)
        .titled(eco_format!("Error message refers to {kind} values"))
        .naming(kind)
        .with_severity(severity)
        .hint(hint)
        .at(span)
}

/// `place` is empty or the location of the validation block: ` at main.tf:3,3-13`.
pub(crate) fn variable_rule_broken(message: &str, location: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("{message}\n\nThis was checked by the validation rule{location}.");
    Diagnostic::new(&VARIABLE_VALIDATION_FAILED, detail).at(span)
}

// Module calls.

pub(crate) fn ephemeral_argument(variable: &Variable, span: Span) -> Diagnostic {
    let detail = eco_format!("The value of the variable {:?} is ephemeral, but the variable is not.", variable.name);
    Diagnostic::new(&EPHEMERAL_ARGUMENT, detail).hint("Set \"ephemeral = true\" in the variable block.").at(span)
}

/// The title is the text of the deprecation RFC, the detail is the author's message.
pub(crate) fn deprecated_variable(variable: &Variable, message: &str, span: Span) -> Diagnostic {
    let title = eco_format!("The variable {:?} is marked as deprecated by module author.", variable.name);
    Diagnostic::new(&DEPRECATED_VARIABLE, message).titled(title).naming(&variable.name).at(span)
}

/// The text of the deprecation RFC.
pub(crate) fn deprecated_value(attribute: &str, source: &str, message: &str, span: Span) -> Diagnostic {
    let mut detail = match attribute {
        "" => eco_format!("This value is derived from {source}, which is deprecated"),
        attribute => eco_format!("This value's attribute {attribute} is derived from {source}, which is deprecated"),
    };
    match message {
        "" => detail.push('.'),
        message => detail.push_str(&eco_format!(" with the following message:\n\n{message}")),
    }
    Diagnostic::new(&DEPRECATED_VALUE, detail).about(attribute).at(span)
}

pub(crate) fn deprecated_root_variable(variable: &Variable, message: &str, given: GivenBy) -> Diagnostic {
    let name = &variable.name;
    let mut detail = eco_format!("The root variable {name:?} is deprecated with the following message: {message}");
    let at = match given {
        GivenBy::Expression(span) => span,
        GivenBy::Flag => {
            detail.push_str("\n\nThe flag -var sets it.");
            variable.span
        }
        GivenBy::Environment => {
            detail.push_str(&eco_format!("\n\nThe environment variable {ENVIRONMENT_PREFIX}{name} sets it."));
            variable.span
        }
        GivenBy::Answer => variable.span,
    };
    Diagnostic::new(&DEPRECATED_ROOT_VARIABLE, detail).about(name).at(at)
}

// Outputs.

pub(crate) fn ephemeral_root_output(output: &Output) -> Diagnostic {
    let detail = "The state stores the outputs of the root module, so they cannot be ephemeral.";
    Diagnostic::new(&EPHEMERAL_ROOT_OUTPUT, detail).at(output.span)
}

pub(crate) fn ephemeral_output(span: Span) -> Diagnostic {
    Diagnostic::new(&EPHEMERAL_OUTPUT, "The value of this output is ephemeral, but the output is not.")
        .hint("Set \"ephemeral = true\" in the output block.")
        .at(span)
}

pub(crate) fn sensitive_output(output: &Output) -> Diagnostic {
    let detail = "The value of this output is sensitive, but the output is not. Outputs of the root module are displayed and \
                  stored.";
    Diagnostic::new(&SENSITIVE_OUTPUT, detail)
        .hint("To allow this, set \"sensitive = true\" in the output block.")
        .at(output.span)
}
