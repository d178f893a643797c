//! The diagnostics about addresses, references, and the sources of providers and modules.

use ecow::{EcoString, eco_format};
use yuba_syntax::{Code, Diagnostic, Diagnostics, Span};
use yuba_value::quote;

use crate::provider::{DEFAULT_REGISTRY, ProviderSourceError};
use crate::resource::ResourceMode;

yuba_syntax::catalogue! {
    /// The address of a module instance has a malformed step.
    MODULE_ADDRESS_MALFORMED = error "module-address-malformed", "Invalid address operator";
    /// The key of a module instance in an address is neither a string nor a whole number.
    MODULE_KEY_INVALID = error "module-key-invalid", "Invalid address operator";
    /// An address selects one instance of a module where the whole module is required.
    MODULE_KEY_NOT_ALLOWED = error "module-key-not-allowed", "Module instance address with keys is not allowed";
    /// An address is not that of a module.
    MODULE_ADDRESS_EXPECTED = error "module-address-expected", "Module address expected";
    /// An address is not that of a module instance.
    MODULE_INSTANCE_ADDRESS_INVALID = error "module-instance-address-invalid", "Invalid module instance address";
    /// The address of a resource lacks its type or its name.
    RESOURCE_ADDRESS_INCOMPLETE = error "resource-address-incomplete", "Invalid address";
    /// The key of a resource instance in an address is not a valid key in brackets.
    RESOURCE_KEY_INVALID = error "resource-key-invalid", "Invalid address";
    /// An address continues after its end.
    ADDRESS_TOO_LONG = error "address-too-long", "Invalid address";
    /// An address selects one instance of a resource where the whole resource is required.
    RESOURCE_KEY_NOT_ALLOWED = error "resource-key-not-allowed", "Resource instance address with keys is not allowed";
    /// An address is not that of a resource.
    RESOURCE_ADDRESS_EXPECTED = error "resource-address-expected", "Invalid address";
    /// A `removed` block names a module where a resource is required.
    MODULE_ADDRESS_NOT_ALLOWED = error "module-address-not-allowed", "Module address is not allowed";
    /// A `removed` block names a data source.
    REMOVED_DATA_SOURCE = error "removed-data-source", "Data source address is not allowed";
    /// A `removed` block names an ephemeral resource.
    REMOVED_EPHEMERAL_RESOURCE = error "removed-ephemeral-resource", "Ephemeral resource address is not allowed";
    /// The `to` argument of an `import` block is not the address of a resource instance.
    IMPORT_ADDRESS_INVALID = error "import-address-invalid", "Invalid import address expression";
    /// The `to` argument of an `import` block in JSON syntax is not a string.
    IMPORT_ADDRESS_NOT_STRING = error "import-address-not-string", "Expected string expression";
    /// The address of a provider configuration is malformed.
    PROVIDER_CONFIG_ADDRESS_INVALID = error "provider-config-address-invalid", "Invalid provider configuration address";

    /// A reference does not name an attribute, a resource or an instance in a valid form.
    REFERENCE_INVALID = error "reference-invalid", "Invalid reference";
    /// A reference starts with a name that is reserved for later versions of the language.
    REFERENCE_RESERVED = error "reference-reserved", "Reserved symbol name";
    /// The key of an instance in a reference is neither a string nor a whole number.
    REFERENCE_KEY_INVALID = error "reference-key-invalid", "Invalid index key";
    /// A reference names a library that no block declares.
    LIBRARY_NOT_DECLARED = error "library-not-declared", "Reference to undefined {library}";
    /// The name of a provider function does not consist of a provider, an optional alias and a function.
    PROVIDER_FUNCTION_NAME_INVALID = error "provider-function-name-invalid", "Unable to parse provider function";

    /// A provider source does not have the form `[hostname/][namespace/]type`.
    PROVIDER_SOURCE_MALFORMED = error "provider-source-malformed", "Invalid provider source string";
    /// The type of a provider contains invalid characters or a prefix of repository names.
    PROVIDER_TYPE_INVALID = error "provider-type-invalid", "Invalid provider type";
    /// The namespace of a provider contains invalid characters, or does not exist on its registry.
    PROVIDER_NAMESPACE_INVALID = error "provider-namespace-invalid", "Invalid provider namespace";
    /// The hostname of a provider source is invalid.
    PROVIDER_HOSTNAME_INVALID = error "provider-hostname-invalid", "Invalid provider source hostname";

    /// A module source is neither a path, nor a registry address, nor a known kind of package address.
    MODULE_SOURCE_UNKNOWN = error "module-source-unknown", "Invalid module source address";
    /// A module source is malformed.
    MODULE_SOURCE_MALFORMED = error "module-source-malformed", "Invalid module source address";
    /// A module call has a version, but its source is not a registry address.
    MODULE_SOURCE_NOT_REGISTRY = error "module-source-not-registry", "Invalid registry module source address";
}

// Addresses.

pub(crate) fn index_without_name(span: Span) -> Diagnostics {
    Diagnostic::new(&MODULE_ADDRESS_MALFORMED, "A dot and a name are required after the module.").at(span).into()
}

pub(crate) fn module_without_name(span: Span) -> Diagnostics {
    let detail = "A dot and the name of a module call are required after \"module\".";
    Diagnostic::new(&MODULE_ADDRESS_MALFORMED, detail).at(span).into()
}

pub(crate) fn module_key(reason: &str, span: Span) -> Diagnostics {
    let detail = eco_format!("This key cannot select an instance of a module: {reason}.");
    Diagnostic::new(&MODULE_KEY_INVALID, detail).at(span).into()
}

pub(crate) fn module_with_key(span: Span) -> Diagnostics {
    let detail = "This address must select a module with all its instances, such as module.a, not one instance such as \
        module.a[0].";
    Diagnostic::new(&MODULE_KEY_NOT_ALLOWED, detail).hint("Remove the instance key.").at(span).into()
}

pub(crate) fn module_expected(span: Span) -> Diagnostics {
    Diagnostic::new(&MODULE_ADDRESS_EXPECTED, "Only the address of a module is allowed here.").at(span).into()
}

pub(crate) fn module_instance_expected(span: Span) -> Diagnostics {
    let detail = "The address of a module instance must start with \"module.\".";
    Diagnostic::new(&MODULE_INSTANCE_ADDRESS_INVALID, detail).at(span).into()
}

pub(crate) fn extra_after_module_instance(span: Span) -> Diagnostics {
    let detail = "The address must end after the module instance.";
    Diagnostic::new(&MODULE_INSTANCE_ADDRESS_INVALID, detail).at(span).into()
}

pub(crate) fn resource_incomplete(span: Span) -> Diagnostics {
    let detail = "The address of a resource must have a type and a name, separated by a dot.";
    Diagnostic::new(&RESOURCE_ADDRESS_INCOMPLETE, detail).at(span).into()
}

pub(crate) fn resource_type_missing(mode: ResourceMode, span: Span) -> Diagnostics {
    let what = match mode {
        ResourceMode::Managed => "a resource type",
        ResourceMode::Data => "a data source",
        ResourceMode::Ephemeral => "an ephemeral resource type",
    };
    Diagnostic::new(&RESOURCE_ADDRESS_INCOMPLETE, eco_format!("A dot and the name of {what} are required here."))
        .at(span)
        .into()
}

pub(crate) fn resource_name_missing(span: Span) -> Diagnostics {
    let detail = "A dot and the name of the resource are required after its type.";
    Diagnostic::new(&RESOURCE_ADDRESS_INCOMPLETE, detail).at(span).into()
}

pub(crate) fn resource_key(reason: &str, span: Span) -> Diagnostics {
    let detail = eco_format!("This key cannot select an instance of a resource: {reason}.");
    Diagnostic::new(&RESOURCE_KEY_INVALID, detail).at(span).into()
}

pub(crate) fn resource_key_not_in_brackets(span: Span) -> Diagnostics {
    let detail = "Only an instance key in square brackets can follow the name of a resource.";
    Diagnostic::new(&RESOURCE_KEY_INVALID, detail).at(span).into()
}

pub(crate) fn too_long(span: Span) -> Diagnostics {
    Diagnostic::new(&ADDRESS_TOO_LONG, "The address must end before this.").at(span).into()
}

pub(crate) fn resource_with_key(span: Span) -> Diagnostics {
    let detail = "This address must select a resource with all its instances, such as terraform_data.a, not one \
        instance such as terraform_data.a[0].";
    Diagnostic::new(&RESOURCE_KEY_NOT_ALLOWED, detail).hint("Remove the instance key.").at(span).into()
}

pub(crate) fn resource_expected_not_instance(span: Span) -> Diagnostics {
    Diagnostic::new(&RESOURCE_ADDRESS_EXPECTED, "The address of a whole resource is required, not of one instance.")
        .hint("Remove the instance key.")
        .at(span)
        .into()
}

pub(crate) fn resource_expected_not_module(span: Span) -> Diagnostics {
    let detail = "The address of a resource is required: its type and name must follow the module.";
    Diagnostic::new(&RESOURCE_ADDRESS_EXPECTED, detail).at(span).into()
}

pub(crate) fn resource_in_module_expected(span: Span) -> Diagnostics {
    let detail = "This is the address of a module. The address of a resource or data block is required.";
    Diagnostic::new(&MODULE_ADDRESS_NOT_ALLOWED, detail).at(span).into()
}

pub(crate) fn removed_data_source(span: Span) -> Diagnostics {
    let detail = "A data source has no object that Yuba could destroy, so a \"removed\" block cannot name one.";
    Diagnostic::new(&REMOVED_DATA_SOURCE, detail)
        .hint("Delete the data block from the configuration. The next apply removes it from the state.")
        .at(span)
        .into()
}

pub(crate) fn removed_ephemeral_resource(span: Span) -> Diagnostics {
    let detail = "The state does not store ephemeral resources, so a \"removed\" block cannot name one.";
    Diagnostic::new(&REMOVED_EPHEMERAL_RESOURCE, detail)
        .hint("Delete the ephemeral block from the configuration.")
        .at(span)
        .into()
}

pub(crate) fn import_target_not_address(span: Span) -> Diagnostics {
    let detail = "The address of a resource instance is required. Only the keys in its square brackets can be \
        expressions, as in module.network[each.key].aws_subnet.private[var.zone].";
    Diagnostic::new(&IMPORT_ADDRESS_INVALID, detail).at(span).into()
}

pub(crate) fn import_target_not_string(span: Span) -> Diagnostics {
    Diagnostic::new(&IMPORT_ADDRESS_NOT_STRING, "In JSON syntax the address must be a string.").at(span).into()
}

/// A violation of the form `module.path.provider["source"].alias[key]`.
#[derive(Clone, Copy)]
pub(crate) enum ProviderConfigProblem {
    InstanceKey,
    ModuleKey,
    Start,
    TooLong,
    SourceInBrackets,
    Source,
    Alias,
    KeyInBrackets,
    Key(&'static str),
}

pub(crate) fn provider_config(problem: ProviderConfigProblem, span: Span) -> Diagnostics {
    let detail = match problem {
        ProviderConfigProblem::InstanceKey => "An instance key is not allowed here.".into(),
        ProviderConfigProblem::ModuleKey => {
            "A provider configuration belongs to all instances of its module, so its module path cannot have instance \
             keys."
                .into()
        }
        // In the title of messages about state files, so OpenTofu's words.
        ProviderConfigProblem::Start => {
            "Provider address must begin with \"provider.\", followed by a provider type name.".into()
        }
        ProviderConfigProblem::TooLong => "The address must end before this.".into(),
        ProviderConfigProblem::SourceInBrackets => {
            "The source of a provider is required after \"provider\", in brackets and quotes.".into()
        }
        ProviderConfigProblem::Source => {
            "The brackets after \"provider\" must contain the source of a provider, in quotes.".into()
        }
        ProviderConfigProblem::Alias => "Only a dot and an alias can follow the provider.".into(),
        ProviderConfigProblem::KeyInBrackets => "Only an instance key in brackets can follow the alias.".into(),
        ProviderConfigProblem::Key(reason) => {
            eco_format!("This key cannot select an instance of a provider: {reason}.")
        }
    };
    Diagnostic::new(&PROVIDER_CONFIG_ADDRESS_INVALID, detail).at(span).into()
}

// References.

pub(crate) fn reserved_name(root: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The name {root:?} is reserved for a later version of the language.");
    let hint = eco_format!("To refer to a resource type of this name, write \"resource.{root}\".");
    Diagnostic::new(&REFERENCE_RESERVED, detail).hint(hint).at(at)
}

pub(crate) fn library_label_missing(root: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A dot and the label of a {root} block are required after {root:?}.");
    Diagnostic::new(&REFERENCE_INVALID, detail).at(at)
}

pub(crate) fn index_of_named_object(root: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&REFERENCE_INVALID, eco_format!("The {root:?} object does not support index keys."))
        .hint(eco_format!("Refer to one of its attributes: {root}.<name>."))
        .at(at)
}

pub(crate) fn named_object_alone(root: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&REFERENCE_INVALID, eco_format!("The {root:?} object cannot be used as a value."))
        .hint(eco_format!("Refer to one of its attributes: {root}.<name>."))
        .at(at)
}

pub(crate) fn resource_names_missing(root: &str, names: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Two names, separated by dots, are required after {root:?}: {names}.");
    Diagnostic::new(&REFERENCE_INVALID, detail).at(at)
}

pub(crate) fn name_missing(root: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&REFERENCE_INVALID, eco_format!("A dot and a name are required after {root:?}.")).at(at)
}

pub(crate) fn referred_resource_name_missing(mode: ResourceMode, kind: &str, at: Span) -> Diagnostic {
    let what = match mode {
        ResourceMode::Managed => "resource type",
        ResourceMode::Data => "data source type",
        ResourceMode::Ephemeral => "ephemeral resource type",
    };
    let detail = eco_format!("A dot and the name of the resource are required after the {what} {kind:?}.");
    Diagnostic::new(&REFERENCE_INVALID, detail).at(at)
}

pub(crate) fn index_of_module_instance(at: Span) -> Diagnostic {
    Diagnostic::new(&REFERENCE_INVALID, "A module instance does not support a second index key.")
        .hint("Refer to one of its output values with a dot and the name of the output.")
        .at(at)
}

pub(crate) fn instance_key(what: &str, reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This key cannot select an instance of a {what}: {reason}.");
    Diagnostic::new(&REFERENCE_KEY_INVALID, detail).at(at)
}

/// The detail and `resource_hint` are printed literally in a design of OpenTofu.
pub(crate) fn library_not_declared(
    (noun, block_type): (&str, &str),
    library: &str,
    resource_hint: &str,
    span: Option<Span>,
) -> Diagnostic {
    let quoted = quote(library);
    let detail = eco_format!("There is no {block_type} block named {quoted} defined in this module.{resource_hint}");
    let problem = Diagnostic::new(&LIBRARY_NOT_DECLARED, detail)
        .titled(eco_format!("Reference to undefined {noun}"))
        .naming(noun);
    match span {
        Some(span) => problem.at(span),
        None => problem,
    }
}

pub(crate) fn provider_function_name(name: &str) -> Diagnostic {
    Diagnostic::new(&PROVIDER_FUNCTION_NAME_INVALID, eco_format!("{name:?} is not the name of a provider function."))
        .hint("Write provider::<name>::<function> or provider::<name>::<alias>::<function>.")
}

// Provider sources.

impl ProviderSourceError {
    fn new(code: &'static Code, detail: EcoString) -> ProviderSourceError {
        ProviderSourceError { code, detail, hint: EcoString::new() }
    }
    fn hint(self, hint: impl Into<EcoString>) -> ProviderSourceError {
        ProviderSourceError { hint: hint.into(), ..self }
    }
    /// As a diagnostic without a location.
    pub fn diagnostic(self) -> Diagnostic {
        Diagnostic::new(self.code, self.detail).hint(self.hint)
    }
    /// As a diagnostic at this location.
    pub fn at(self, span: Span) -> Diagnostic {
        self.diagnostic().at(span)
    }
}

pub(crate) fn provider_source_malformed(source: &str) -> ProviderSourceError {
    let quoted = quote(source);
    let detail = eco_format!("The provider source {quoted} must have the form \"[hostname/][namespace/]name\".");
    ProviderSourceError::new(&PROVIDER_SOURCE_MALFORMED, detail)
}

pub(crate) fn provider_type_invalid(kind: &str, reason: &str) -> ProviderSourceError {
    ProviderSourceError::new(&PROVIDER_TYPE_INVALID, eco_format!("The provider type {kind:?} is invalid: {reason}."))
}

pub(crate) fn provider_type_of_source_invalid(kind: &str, source: &str, reason: &str) -> ProviderSourceError {
    let detail = eco_format!("The provider type {kind:?} in {source:?} is invalid: {reason}.");
    ProviderSourceError::new(&PROVIDER_TYPE_INVALID, detail)
}

pub(crate) fn provider_type_has_repository_prefix(source: &str, prefix: &str, suggested: &str) -> ProviderSourceError {
    let quoted = quote(source);
    let detail = eco_format!(
        "The type in the provider source {quoted} starts with {prefix:?}. This prefix belongs to names of repositories, \
         not to names of providers."
    );
    ProviderSourceError::new(&PROVIDER_TYPE_INVALID, detail).hint(eco_format!("Did you mean {}?", quote(suggested)))
}

pub(crate) fn provider_type_has_reserved_prefix(source: &str, prefix: &str) -> ProviderSourceError {
    let quoted = quote(source);
    let detail = eco_format!("The type in the provider source {quoted} starts with {prefix:?}, which is not allowed.");
    ProviderSourceError::new(&PROVIDER_TYPE_INVALID, detail).hint("Ask the author of the provider to rename it.")
}

pub(crate) fn provider_namespace_invalid(namespace: &str, source: &str, reason: &str) -> ProviderSourceError {
    let detail = eco_format!("The provider namespace {namespace:?} in {source:?} is invalid: {reason}.");
    ProviderSourceError::new(&PROVIDER_NAMESPACE_INVALID, detail)
}

pub(crate) fn legacy_namespace_elsewhere(host: &str) -> ProviderSourceError {
    let detail = eco_format!(
        "The namespace \"-\" marks providers of old states. It exists on {DEFAULT_REGISTRY} only, not on {host}."
    );
    ProviderSourceError::new(&PROVIDER_NAMESPACE_INVALID, detail)
}

pub(crate) fn provider_hostname_invalid(host: &str, source: &str, reason: &str) -> ProviderSourceError {
    let detail = eco_format!("The hostname {host:?} in {source:?} is invalid: {reason}.");
    ProviderSourceError::new(&PROVIDER_HOSTNAME_INVALID, detail)
}

// Module sources.

pub(crate) fn module_source_unknown(address: &str) -> Diagnostic {
    let path: EcoString = eco_format!("./{address}");
    Diagnostic::new(&MODULE_SOURCE_UNKNOWN, eco_format!("{} is not a supported module source.", quote(address)))
        .hint(eco_format!("If this is a path relative to the calling module, write {}.", quote(&path)))
}

pub(crate) fn module_source_malformed(reason: &str) -> Diagnostic {
    Diagnostic::new(&MODULE_SOURCE_MALFORMED, eco_format!("The module source address is malformed: {reason}."))
}

pub(crate) fn module_source_not_registry(reason: &str) -> Diagnostic {
    let detail = eco_format!(
        "The \"version\" argument requires the address of a module in a registry, and this is not one: {reason}."
    );
    Diagnostic::new(&MODULE_SOURCE_NOT_REGISTRY, detail)
        .hint("Remove the \"version\" argument, or set \"source\" to a registry address.")
}
