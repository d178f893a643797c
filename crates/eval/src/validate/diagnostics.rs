//! What can be wrong with a configuration that has been linked, in words.

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, ModulePath, ProviderSource, ResourceMode};
use yuba_config::Module;
use yuba_config::output::Output;
use yuba_config::resource::ResourceKey;
use yuba_config::variable::Variable;
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{Diagnostic, Severity, Span};

use crate::inputs::{ENVIRONMENT_PREFIX, GivenBy};
use crate::tree::ModuleNode;

/// An error, at a place if there is one.
pub(crate) fn error(summary: impl Into<EcoString>, detail: impl Into<EcoString>, span: Option<Span>) -> Diagnostic {
    let diagnostic = Diagnostic::error(summary, detail);
    match span {
        Some(span) => diagnostic.at(span),
        None => diagnostic,
    }
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
    let mut hint = did_you_mean(name, module.variables.keys().map(EcoString::as_str));
    if hint.is_empty() {
        hint = format!(" It would be declared with a variable {name:?} {{}} block.");
    }
    let detail = eco_format!("This module has no input variable named {name:?}.{hint}");
    error("Reference to undeclared input variable", detail, span)
}

pub(crate) fn undeclared_output(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.outputs.keys().map(EcoString::as_str));
    let detail = eco_format!("The tested module has no output named {name:?}.{hint}");
    error("Reference to undeclared output value", detail, span)
}

pub(crate) fn undeclared_run(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!(
        "No run named {name:?} was applied before this one. Outputs can be taken from runs that come earlier in the same \
         file and do not only plan."
    );
    error("Reference to unavailable run", detail, span)
}

pub(crate) fn undeclared_local(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.locals.keys().map(EcoString::as_str));
    let detail = eco_format!("No locals block of this module defines a value named {name:?}.{hint}");
    error("Reference to undeclared local value", detail, span)
}

pub(crate) fn undeclared_module(name: &str, node: &ModuleNode, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, node.module.calls.keys().map(EcoString::as_str));
    let detail = eco_format!("There is no module call named {name:?} in {}.{hint}", in_words(&node.path));
    error("Reference to undeclared module", detail, span)
}

pub(crate) fn undeclared_resource(key: &ResourceKey, node: &ModuleNode, span: Option<Span>) -> Diagnostic {
    let mode = key.mode.as_str();
    let mut detail =
        eco_format!("There is no {mode} resource {:?} {:?} in {}.", key.kind, key.name, in_words(&node.path));
    let other_modes = [ResourceMode::Managed, ResourceMode::Data, ResourceMode::Ephemeral];
    let other = other_modes.into_iter().filter(|mode| *mode != key.mode).find_map(|mode| {
        let other = ResourceKey { mode, ..key.clone() };
        node.module.resources.contains_key(&other).then_some(other)
    });
    match other {
        Some(other) => detail.push_str(&eco_format!(
            "\n\nDid you mean the {} resource {}?",
            block_type(other.mode),
            address(&other)
        )),
        None => {
            // Names of the same type; one type rarely has many.
            let first = ResourceKey { name: EcoString::new(), ..key.clone() };
            let same_type = node.module.resources.range(first..);
            let names = same_type
                .take_while(|(other, _)| other.mode == key.mode && other.kind == key.kind)
                .take(1_000)
                .map(|(other, _)| other.name.as_str());
            detail.push_str(&did_you_mean(&key.name, names));
        }
    }
    error("Reference to undeclared resource", detail, span)
}

pub(crate) fn scoped_resource(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("{} belongs to a check block and can be referred to only inside of it.", address(key));
    error("Reference to scoped resource", detail, span)
}

pub(crate) fn unsupported_resource(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The provider has no {} resource type {:?}.", key.mode.as_str(), key.kind);
    error("Invalid resource type", detail, span)
}

pub(crate) fn missing_instance_key(key: &ResourceKey, argument: &str, example: &str, span: Option<Span>) -> Diagnostic {
    let name = address(key);
    let detail = eco_format!(
        "{name} has {argument:?} set, so it has several instances, and attributes are those of one of them. The instance \
         that belongs to the one this stands in, for example, is:\n    {name}[{example}]"
    );
    error("Missing resource instance key", detail, span)
}

pub(crate) fn unexpected_instance_key(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!(
        "{} has neither \"count\" nor \"for_each\" set, so it has no instance keys. Remove the index in brackets.",
        address(key)
    );
    error("Unexpected resource instance key", detail, span)
}

pub(crate) fn old_count_attribute(key: &ResourceKey, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("Resources have no \"count\" attribute any more; write length({}).", address(key));
    error("Invalid resource count attribute", detail, span)
}

pub(crate) fn no_self(span: Option<Span>) -> Diagnostic {
    let detail = "There is no \"self\" here: it stands for the resource in provisioner, connection and postcondition \
                  blocks only.";
    error("Invalid \"self\" reference", detail, span)
}

pub(crate) fn no_count(span: Option<Span>) -> Diagnostic {
    let detail = "There is no \"count\" here: count.index is the number of an instance, in blocks that have the \
                  \"count\" argument.";
    error("Reference to \"count\" in non-counted context", detail, span)
}

pub(crate) fn invalid_count_attribute(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The \"count\" object has no attribute {name:?}; the only one is count.index.");
    error("Invalid \"count\" attribute", detail, span)
}

pub(crate) fn no_each(span: Option<Span>) -> Diagnostic {
    let detail = "There is no \"each\" here: each.key is the key of an instance, in blocks that have the \"for_each\" \
                  argument.";
    error("Reference to \"each\" in context without for_each", detail, span)
}

pub(crate) fn no_each_value(span: Option<Span>) -> Diagnostic {
    let detail =
        "There is no each.value here: it belongs to an instance of a block that has the \"for_each\" argument.";
    error("each.value cannot be used in this context", detail, span)
}

pub(crate) fn invalid_each_attribute(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The \"each\" object has no attribute {name:?}; there are each.key and each.value.");
    error("Invalid \"each\" attribute", detail, span)
}

// Providers and provisioners that are not there.

/// A provider that is needed and not there.
pub fn missing_provider(provider: &ProviderSource) -> Diagnostic {
    let hint = match provider.is_builtin() {
        true => "There is no built-in provider of this name.",
        false => "Run \"yuba init\" to install what this configuration needs.",
    };
    let detail = eco_format!("This configuration needs the provider {provider}, which is not available. {hint}");
    Diagnostic::error("Missing required provider", detail)
}

/// Quirk: the summary names the configuration, and there is no place.
pub(crate) fn missing_passed_provider(config: &AbsProviderConfig) -> Diagnostic {
    let detail = eco_format!(
        "A call of the root module passes on the provider configuration {config}, which the root module does not have. Add a \
         provider block, or an entry in required_providers."
    );
    Diagnostic::error(eco_format!("missing provider {config}"), detail)
}

pub(crate) fn missing_provisioner(kind: &str) -> Diagnostic {
    let detail = eco_format!(
        "This configuration needs the provisioner {kind:?}, which is not available. There are file, local-exec and \
         remote-exec."
    );
    Diagnostic::error("Missing required provisioner plugin", detail)
}

pub(crate) fn missing_type(key: &ResourceKey, provider: &ProviderSource, hint: &str, span: Span) -> Diagnostic {
    let (summary, noun) = match key.mode {
        ResourceMode::Managed => ("Invalid resource type", "resource type"),
        ResourceMode::Data => ("Invalid data source", "data source"),
        ResourceMode::Ephemeral => ("Invalid ephemeral resource", "ephemeral resource"),
    };
    let detail = eco_format!("The provider {} has no {noun} {:?}.{hint}", provider.for_display(), key.kind);
    Diagnostic::error(summary, detail).at(span)
}

pub(crate) fn wrong_mode(kind: &str, given: ResourceMode, right: ResourceMode) -> EcoString {
    eco_format!(
        "\n\nDid you mean the block {} {kind:?}? Then write {:?} instead of {:?}.",
        block_type(right),
        block_type(right),
        block_type(given)
    )
}

// Cycles.

pub(crate) fn cycle(names: &[EcoString], chain: &str) -> Diagnostic {
    let detail = eco_format!(
        "These objects depend on each other, so there is none to begin with:\n{chain}\n\nTo end the cycle, remove one of \
         these references."
    );
    Diagnostic::error(eco_format!("Cycle: {}", names.join(", ")), detail)
}

pub(crate) fn self_referencing_local(name: &str, span: Option<Span>, expr: Span) -> Diagnostic {
    let detail = eco_format!("The value of local.{name} cannot be made from itself.");
    error("Self-referencing local value", detail, span).within(expr)
}

pub(crate) fn self_referential(address: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The configuration of {address} cannot use {address} itself, which does not exist yet.");
    error("Self-referential block", detail, span)
}

// Repetition.

pub(crate) fn invalid_count(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Invalid count argument", eco_format!("This value cannot be used for \"count\": {reason}."))
        .at(span)
}

pub(crate) fn invalid_enabled(reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for \"enabled\": {reason}.");
    let mut problem = Diagnostic::error("Invalid enabled argument", detail).at(span);
    problem.extra.get_or_insert_default().depends_on_enabled = true;
    problem
}

pub(crate) fn depends_on_attribute(span: Span) -> Diagnostic {
    let detail = "A reference in depends_on is to a whole object, such as a resource or module call, not to an attribute of \
                  one.";
    Diagnostic::error("Invalid depends_on reference", detail).at(span)
}

// Resources.

pub(crate) fn invalid_prevent_destroy(address: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for the prevent_destroy of {address}: {reason}.");
    Diagnostic::error("Invalid value for prevent_destroy", detail).at(span)
}

const REDUNDANT_IGNORE_CHANGES: &str = "Redundant ignore_changes element";
const WINRM: &str = "WinRM connection type is deprecated";

/// Titles of warnings that do not depend on values and instances: planning has nothing to add to them.
pub const LASTING_SUMMARIES: [&str; 2] = [REDUNDANT_IGNORE_CHANGES, WINRM];

pub(crate) fn redundant_ignore_changes(name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "ignore_changes keeps the value of an argument that changes in the configuration, but {name} is an attribute that \
         only the provider sets: it cannot be in the configuration. Remove it from ignore_changes."
    );
    Diagnostic::warning(REDUNDANT_IGNORE_CHANGES, detail).at(span)
}

pub(crate) fn undeclared_trigger(address: &str, trigger: &str, span: Span) -> Diagnostic {
    let detail =
        eco_format!("The replace_triggered_by of {address} refers to {trigger}, which this module does not have.");
    Diagnostic::error("Undeclared resource in replace_triggered_by", detail).at(span)
}

pub(crate) fn winrm(span: Span) -> Diagnostic {
    let detail = "Connections of the type winrm will not be possible in a later version. Windows has a server for ssh: use \
                  that instead.";
    Diagnostic::warning(WINRM, detail).at(span)
}

pub(crate) fn invalid_import(argument: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for the {argument:?} of an import: {reason}.");
    Diagnostic::error(eco_format!("Invalid import {argument} argument"), detail).at(span)
}

pub(crate) fn incorrect_type(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Incorrect value type", eco_format!("This value is of the wrong type: {reason}.")).at(span)
}

pub(crate) fn no_identity(kind: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("Objects of type {kind:?} have no identity to import them by. Use \"id\" instead.");
    Diagnostic::error("Unable to determine identity schema for import identity", detail).at(span)
}

// Rules.

pub(crate) fn invalid_rule_result(summary: &str, reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error(summary, eco_format!("A condition must be true or false: {reason}.")).at(span)
}

pub(crate) fn rule_failed(summary: &str, message: &str, span: Span) -> Diagnostic {
    Diagnostic::error(summary, message).at(span)
}

pub(crate) fn invalid_message(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Invalid error message", eco_format!("This cannot be an error message: {reason}.")).at(span)
}

pub(crate) fn secret_message(kind: &str, severity: Severity, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "This error message refers to {kind} values, so it is not displayed. Refer to other values{}.",
        if kind == "sensitive" { ", or use nonsensitive() if the message reveals no secret" } else { "" }
    );
    let summary = eco_format!("Error message refers to {kind} values");
    Diagnostic { severity, ..Diagnostic::error(summary, detail).at(span) }
}

pub(crate) fn variable_rule_broken(message: &str, place: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("{message}\n\nThis was checked by the validation rule{place}.");
    Diagnostic::error("Invalid value for variable", detail).at(span)
}

// Module calls.

pub(crate) fn unsuitable_argument(variable: &Variable, path: &ModulePath, reason: &str) -> Diagnostic {
    let detail = eco_format!(
        "The value that the call of {path} gives to its variable {:?} is not suitable: {reason}.",
        variable.name
    );
    Diagnostic::error("Invalid value for input variable", detail).at(variable.span)
}

pub(crate) fn null_argument(variable: &Variable, path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The variable {:?} of {path} must have a value, but null is given: it is declared with \"nullable = false\" and has \
         no default.",
        variable.name
    );
    Diagnostic::error("Required variable not set", detail).at(span)
}

pub(crate) fn ephemeral_argument(variable: &Variable, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "An ephemeral value is given for the variable {:?}, which does not say \"ephemeral = true\".",
        variable.name
    );
    Diagnostic::error("Variable does not allow ephemeral value", detail).at(span)
}

/// The title is the text of the deprecation RFC, the detail is the author's message.
pub(crate) fn deprecated_variable(variable: &Variable, message: &str, span: Span) -> Diagnostic {
    let summary = eco_format!("The variable {:?} is marked as deprecated by module author.", variable.name);
    Diagnostic::warning(summary, message).at(span)
}

pub(crate) fn deprecated_value(attribute: &str, source: &str, message: &str, span: Span) -> Diagnostic {
    let mut detail = match attribute {
        "" => eco_format!("This value is derived from {source}, which is deprecated"),
        attribute => eco_format!("This value's attribute {attribute} is derived from {source}, which is deprecated"),
    };
    match message {
        "" => detail.push('.'),
        message => detail.push_str(&eco_format!(" with the following message:\n\n{message}")),
    }
    Diagnostic::warning("Value derived from a deprecated source", detail).at(span)
}

// Outputs.

pub(crate) fn ephemeral_root_output(output: &Output) -> Diagnostic {
    let detail = "Outputs of the root module are stored, so they cannot be ephemeral.";
    Diagnostic::error("Invalid output configuration", detail).at(output.span)
}

pub(crate) fn ephemeral_output(span: Span) -> Diagnostic {
    let detail = "The value of this output is ephemeral, but the output does not say \"ephemeral = true\".";
    Diagnostic::error("Output does not allow ephemeral value", detail).at(span)
}

pub(crate) fn sensitive_output(output: &Output) -> Diagnostic {
    let detail = "An output of the root module is shown and stored, so one that is made from sensitive values has to say \
                  that this is meant:\n    sensitive = true";
    Diagnostic::error("Output refers to sensitive values", detail).at(output.span)
}

pub(crate) fn deprecated_root_variable(variable: &Variable, message: &str, given: GivenBy) -> Diagnostic {
    let name = &variable.name;
    let mut detail = eco_format!("The root variable {name:?} is deprecated with the following message: {message}");
    let at = match given {
        GivenBy::Place(span) => span,
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
    Diagnostic::warning("Deprecated variable used from the root module", detail).at(at)
}

pub(crate) fn unknown_function_provider(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The required_providers of this module have no provider with the local name {name:?}.");
    error("Unknown function provider", detail, span)
}

pub(crate) fn missing_provider_function(name: &str, hint: &str, span: Option<Span>) -> Diagnostic {
    error("Function not found in provider", eco_format!("The provider has no function {name:?}.{hint}"), span)
}
