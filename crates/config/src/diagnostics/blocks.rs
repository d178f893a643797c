//! The diagnostics about resource, provider, module and check blocks, and about statements on addresses.

use ecow::eco_format;
use yuba_syntax::{Diagnostic, Span};

use super::NAME_RULE;

yuba_syntax::catalogue! {
    /// An argument that must be an object literal is another expression.
    OBJECT_LITERAL_REQUIRED = error "object-literal-required", "Invalid expression";
    /// A keyword is written in quotes, as version 0.11 of the language required.
    QUOTED_KEYWORD = warning "quoted-keyword", "Quoted keywords are deprecated";
    /// An argument in JSON syntax is not a string that contains an expression.
    JSON_EXPRESSION_NOT_STRING = error "json-expression-not-string", "Expected string expression";
    /// An argument that must be one of several keywords has another value.
    KEYWORD_INVALID = error "keyword-invalid", "Invalid \"{argument}\" keyword";

    /// A block contains a second block of a type that is allowed once.
    DUPLICATE_BLOCK = error "duplicate-block", "Duplicate {type} block";
    /// A block contains a second escaping block `_`.
    DUPLICATE_ESCAPING_BLOCK = error "duplicate-escaping-block", "Duplicate escaping block";
    /// A block contains a block of a type that is reserved for later versions of the language.
    BLOCK_TYPE_RESERVED = error "block-type-reserved", "Reserved block type name in {type} block";
    /// A block sets more than one of `count`, `for_each` and `enabled`.
    REPETITION_ARGUMENTS_COMBINED = error "repetition-arguments-combined", "Invalid combination of {arguments}";

    /// A data block inside of a check block sets a meta-argument that it does not support.
    NESTED_DATA_ARGUMENT = error "nested-data-argument", "Invalid \"{argument}\" attribute";
    /// A data block inside of a check block contains a lifecycle block.
    NESTED_DATA_LIFECYCLE = error "nested-data-lifecycle", "Invalid lifecycle block";
    /// The lifecycle block of a data block sets an argument of managed resources.
    DATA_LIFECYCLE_ARGUMENT = error "data-lifecycle-argument", "Invalid data resource lifecycle argument";
    /// The lifecycle block of an ephemeral block sets an argument of managed resources.
    EPHEMERAL_LIFECYCLE_ARGUMENT = error "ephemeral-lifecycle-argument", "Invalid lifecycle configuration for ephemeral resource";
    /// An ephemeral block contains a block that only managed resources support.
    EPHEMERAL_BLOCK_UNSUPPORTED = error "ephemeral-block-unsupported", "Invalid configuration block for ephemeral resource";
    /// The argument `ignore_changes` is `["*"]` instead of `all`.
    IGNORE_CHANGES_WILDCARD = error "ignore-changes-wildcard", "Invalid ignore_changes wildcard";
    /// The argument `ignore_changes` contains `*` beside other items.
    IGNORE_CHANGES_MIXED = error "ignore-changes-mixed", "Invalid ignore_changes ruleset";
    /// An item of `replace_triggered_by` refers to `each.value`.
    REPLACE_TRIGGER_EACH = error "replace-trigger-each", "Invalid each reference in replace_triggered_by expression";
    /// An item of `replace_triggered_by` refers to an attribute of `count` other than `index`.
    REPLACE_TRIGGER_COUNT = error "replace-trigger-count", "Invalid count reference in replace_triggered_by expression";
    /// An item of `replace_triggered_by` refers to an object other than a managed resource.
    REPLACE_TRIGGER_REFERENCE = error "replace-trigger-reference", "Invalid reference in replace_triggered_by expression";
    /// An item of `replace_triggered_by` refers to no resource or to several ones.
    REPLACE_TRIGGER_INVALID = error "replace-trigger-invalid", "Invalid replace_triggered_by expression";

    /// An override file contains a condition or a check block.
    CONDITION_OVERRIDDEN = error "condition-overridden", "Can't override {type} blocks";
    /// A condition refers to no object of the configuration.
    CONDITION_CONSTANT = error "condition-constant", "Invalid {type} expression";
    /// A condition of a resource refers to the resource by its address.
    CONDITION_REFERS_TO_OWN_RESOURCE = error "condition-refers-to-own-resource", "Invalid reference in {type}";
    /// A check block contains more than one data block.
    CHECK_WITH_SEVERAL_DATA_BLOCKS = error "check-with-several-data-blocks", "Multiple data resource blocks";
    /// A check block contains no assert block.
    CHECK_WITHOUT_ASSERT = error "check-without-assert", "Zero assert blocks";

    /// A resource uses a provisioner that no longer exists.
    PROVISIONER_TYPE_REMOVED = error "provisioner-type-removed", "The \"{type}\" provisioner has been removed";
    /// A destroy provisioner refers to an object other than its own resource.
    DESTROY_PROVISIONER_REFERENCE = error "destroy-provisioner-reference", "Invalid reference from destroy provisioner";

    /// The local name of a provider is invalid, or not in lower case.
    PROVIDER_LOCAL_NAME_INVALID = error "provider-local-name-invalid", "Invalid provider local name";
    /// The alias of a provider configuration is not a valid name.
    PROVIDER_ALIAS_INVALID = error "provider-alias-invalid", "Invalid {block} configuration alias";
    /// A provider block sets `version`.
    VERSION_IN_PROVIDER_BLOCK = warning "version-in-provider-block", "Version constraints inside provider configuration blocks are deprecated";
    /// A provider block sets `for_each` without `alias`.
    PROVIDER_FOR_EACH_WITHOUT_ALIAS = error "provider-for-each-without-alias", "Alias required when using \"for_each\"";
    /// A provider block sets an argument that is reserved for later versions of the language.
    PROVIDER_ARGUMENT_RESERVED = error "provider-argument-reserved", "Reserved argument name in provider block";
    /// A reference to a provider configuration does not have the form `name.alias[key]`.
    PROVIDER_REFERENCE_MALFORMED = error "provider-reference-malformed", "Invalid provider configuration reference";
    /// A module block passes all instances of a provider configuration on one side only.
    PROVIDER_COLLECTION_MISMATCH = error "provider-collection-mismatch", "Invalid provider configuration reference";
    /// A module block passes the same provider configuration twice.
    PROVIDER_PASSED_TWICE = error "provider-passed-twice", "Duplicate provider address";

    /// An address in a moved block names an object that cannot be moved.
    MOVED_ADDRESS_INVALID = error "moved-address-invalid", "Invalid \"moved\" address";
    /// A moved block names a resource and a module.
    MOVED_ADDRESSES_DIFFER = error "moved-addresses-differ", "Invalid \"moved\" addresses";
    /// An import block for a resource of a module sets `provider`.
    IMPORT_PROVIDER_IN_MODULE = error "import-provider-in-module", "Invalid import provider argument";
    /// An import block sets neither `id` nor `identity`.
    IMPORT_ID_MISSING = error "import-id-missing", "Missing required import argument";
    /// An import block sets both `id` and `identity`.
    IMPORT_ID_AND_IDENTITY = error "import-id-and-identity", "Conflicting import arguments";
    /// A provisioner of a removed block does not run on destroy.
    REMOVED_PROVISIONER_NOT_ON_DESTROY = error "removed-provisioner-not-on-destroy", "Invalid \"removed.provisioner\" block";
    /// A removed block for a module contains provisioners.
    REMOVED_MODULE_WITH_PROVISIONER = error "removed-module-with-provisioner", "Invalid \"removed\" block";
    /// A removed block does not set whether objects are destroyed.
    REMOVED_WITHOUT_LIFECYCLE = warning "removed-without-lifecycle", "Missing lifecycle from the removed block";
    /// A removed block contains provisioners, but does not destroy objects.
    REMOVED_PROVISIONERS_UNUSED = warning "removed-provisioners-unused", "Removed block provisioners will not be executed";
}

// References and keywords

pub(crate) fn object_literal_required(at: Span) -> Diagnostic {
    Diagnostic::new(&OBJECT_LITERAL_REQUIRED, "An object literal in braces ({ ... }) is required here.").at(at)
}
pub(crate) fn quoted_keyword(at: Span) -> Diagnostic {
    let detail = "Quoted keywords are a feature of version 0.11 and will stop working.";
    Diagnostic::new(&QUOTED_KEYWORD, detail).hint("Remove the quotes.").at(at)
}
pub(crate) fn expected_string(at: Span) -> Diagnostic {
    let detail = "In JSON syntax this argument must be a string that contains the expression.";
    Diagnostic::new(&JSON_EXPRESSION_NOT_STRING, detail).at(at)
}
pub(crate) fn invalid_keyword(argument: &str, words: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The argument {argument:?} must be one of these keywords, without quotes: {words}.");
    Diagnostic::new(&KEYWORD_INVALID, detail)
        .titled(eco_format!("Invalid \"{argument}\" keyword"))
        .naming(argument)
        .at(at)
}

// Shared by many blocks

/// `container` is the block that can have only one of them.
pub(crate) fn duplicate_block(kind: &str, container: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The {container} already has a {kind} block, at {first}.");
    Diagnostic::new(&DUPLICATE_BLOCK, detail)
        .titled(eco_format!("Duplicate {kind} block"))
        .naming(kind)
        .hint("Merge the two blocks.")
        .at(at)
}
/// `arguments` names the owner of the escaped arguments.
pub(crate) fn duplicate_escape(block: &str, arguments: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "A {block} block can contain only one \"_\" block, and the first is at {first}. The \"_\" block sets arguments \
         that are {arguments} although they have the name of a meta-argument."
    );
    Diagnostic::new(&DUPLICATE_ESCAPING_BLOCK, detail).hint("Merge the two blocks.").at(at)
}
pub(crate) fn reserved_block(kind: &str, container: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The block type {kind:?} is reserved for a later version of the language.");
    Diagnostic::new(&BLOCK_TYPE_RESERVED, detail)
        .titled(eco_format!("Reserved block type name in {container} block"))
        .naming(container)
        .at(at)
}
/// `names` are in quotes, as a list; `objects` are what the arguments multiply.
pub(crate) fn repetition_combined(names: &str, objects: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Each of the meta-arguments {names} sets the number of {objects}.");
    Diagnostic::new(&REPETITION_ARGUMENTS_COMBINED, detail)
        .titled(eco_format!("Invalid combination of {names}"))
        .naming(names)
        .hint("Set only one of them.")
        .at(at)
}

// Resources

pub(crate) fn nested_data_argument(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A data block inside of another block is read once and does not support {name:?}.");
    Diagnostic::new(&NESTED_DATA_ARGUMENT, detail)
        .titled(eco_format!("Invalid \"{name}\" attribute"))
        .naming(name)
        .at(at)
}
pub(crate) fn nested_data_lifecycle(at: Span) -> Diagnostic {
    let detail = "A data block inside of another block does not support \"lifecycle\".";
    Diagnostic::new(&NESTED_DATA_LIFECYCLE, detail).at(at)
}
pub(crate) fn data_lifecycle(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Only managed resources (\"resource\" blocks) support the lifecycle argument {name:?}.");
    Diagnostic::new(&DATA_LIFECYCLE_ARGUMENT, detail).at(at)
}
pub(crate) fn ephemeral_lifecycle(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Only managed resources (\"resource\" blocks) support the lifecycle argument {name:?}.");
    Diagnostic::new(&EPHEMERAL_LIFECYCLE_ARGUMENT, detail).at(at)
}
pub(crate) fn ephemeral_block(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Only managed resources (\"resource\" blocks) support {kind:?} blocks.");
    Diagnostic::new(&EPHEMERAL_BLOCK_UNSUPPORTED, detail).at(at)
}
pub(crate) fn ignore_changes_star(at: Span) -> Diagnostic {
    let detail = "The value [\"*\"] is the syntax of old versions to ignore all changes.";
    Diagnostic::new(&IGNORE_CHANGES_WILDCARD, detail).hint("Write ignore_changes = all.").at(at)
}
pub(crate) fn ignore_changes_mixed(at: Span, all: Span) -> Diagnostic {
    let detail = "The item \"*\" covers all attributes and cannot be combined with other items.";
    Diagnostic::new(&IGNORE_CHANGES_MIXED, detail).at(at).within(all)
}
pub(crate) fn trigger_each(at: Span) -> Diagnostic {
    Diagnostic::new(&REPLACE_TRIGGER_EACH, "replace_triggered_by supports only each.key of \"each\".").at(at)
}
pub(crate) fn trigger_count(at: Span) -> Diagnostic {
    Diagnostic::new(&REPLACE_TRIGGER_COUNT, "replace_triggered_by supports only count.index of \"count\".").at(at)
}
pub(crate) fn trigger_reference(at: Span) -> Diagnostic {
    let detail = "An item of replace_triggered_by must refer to a managed resource. Only its index can refer to \
        count.index or each.key.";
    Diagnostic::new(&REPLACE_TRIGGER_REFERENCE, detail)
        .hint("To react to another value, store it in a terraform_data resource.")
        .at(at)
}
pub(crate) fn trigger_without_resource(at: Span) -> Diagnostic {
    let detail = "Each item of replace_triggered_by must refer to a resource, and this one does not.";
    Diagnostic::new(&REPLACE_TRIGGER_INVALID, detail).at(at)
}
pub(crate) fn trigger_with_many_resources(at: Span) -> Diagnostic {
    let detail = "Each item of replace_triggered_by must refer to one resource, and this one refers to several.";
    Diagnostic::new(&REPLACE_TRIGGER_INVALID, detail).hint("Add one item for each resource.").at(at)
}

// Check rules and check blocks

pub(crate) fn override_rule(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("An override file cannot change or add {kind:?} blocks.");
    Diagnostic::new(&CONDITION_OVERRIDDEN, detail)
        .titled(eco_format!("Can't override {kind} blocks"))
        .naming(kind)
        .at(at)
}
pub(crate) fn constant_condition(kind: &str, at: Span) -> Diagnostic {
    let detail = "This condition refers to no object of the configuration, so its result never changes.";
    Diagnostic::new(&CONDITION_CONSTANT, detail)
        .titled(eco_format!("Invalid {kind} expression"))
        .naming(kind)
        .hint("Refer to at least one object of the configuration.")
        .at(at)
}
pub(crate) fn rule_refers_to_own_resource(kind: &str, resource: &str, at: Span) -> Diagnostic {
    let hint = match kind {
        "postcondition" => "Use \"self\" for the object that is checked.",
        _ => "",
    };
    Diagnostic::new(
        &CONDITION_REFERS_TO_OWN_RESOURCE,
        eco_format!("A condition of {resource} cannot refer to {resource}."),
    )
    .titled(eco_format!("Invalid reference in {kind}"))
    .naming(kind)
    .hint(hint)
    .at(at)
}
pub(crate) fn second_data_in_check(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A check block can contain only one data block, and the first is at {first}.");
    Diagnostic::new(&CHECK_WITH_SEVERAL_DATA_BLOCKS, detail).at(at)
}
pub(crate) fn check_without_assert(at: Span) -> Diagnostic {
    Diagnostic::new(&CHECK_WITHOUT_ASSERT, "A check block must contain at least one assert block.").at(at)
}

// Provisioners

pub(crate) fn removed_provisioner(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The provisioner {kind:?} is no longer supported.");
    Diagnostic::new(&PROVISIONER_TYPE_REMOVED, detail)
        .titled(eco_format!("The \"{kind}\" provisioner has been removed"))
        .naming(kind)
        .at(at)
}
pub(crate) fn destroy_provisioner_reference(at: Span) -> Diagnostic {
    let detail = "A destroy provisioner and its connection can refer only to \"self\", \"count.index\" and \
        \"each.key\".\n\nOther objects may already be destroyed at that time, and references to them can cause \
        dependency cycles.";
    Diagnostic::new(&DESTROY_PROVISIONER_REFERENCE, detail).at(at)
}

// Providers

pub(crate) fn invalid_local_name(name: &str, reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("{name:?} is not a valid local name of a provider: {reason}.");
    Diagnostic::new(&PROVIDER_LOCAL_NAME_INVALID, detail).at(at)
}
pub(crate) fn local_name_not_normal(name: &str, normal: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The local name of a provider must be in its normal form, and {name:?} is not.");
    Diagnostic::new(&PROVIDER_LOCAL_NAME_INVALID, detail).hint(eco_format!("Write {normal:?}.")).at(at)
}
/// Quirk: for a `provider` block it has no location, for a `mock_provider` block it has.
pub(crate) fn invalid_alias(block: &str, at: Option<Span>) -> Diagnostic {
    let problem = Diagnostic::new(&PROVIDER_ALIAS_INVALID, eco_format!("An alias must be a valid name. {NAME_RULE}"))
        .titled(eco_format!("Invalid {block} configuration alias"))
        .naming(block);
    match at {
        Some(at) => problem.at(at),
        None => problem,
    }
}
pub(crate) fn version_in_provider(at: Span) -> Diagnostic {
    let detail = "The required_providers block sets the versions of a provider. The argument \"version\" of provider \
        blocks is deprecated.";
    Diagnostic::new(&VERSION_IN_PROVIDER_BLOCK, detail)
        .hint("Move the constraint to the required_providers block.")
        .at(at)
}
pub(crate) fn for_each_needs_alias(at: Span) -> Diagnostic {
    let detail = "Only a provider configuration with an alias supports for_each.";
    Diagnostic::new(&PROVIDER_FOR_EACH_WITHOUT_ALIAS, detail).hint("Set \"alias\".").at(at)
}
pub(crate) fn reserved_provider_argument(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The argument {name:?} is reserved for a later version of the language.");
    Diagnostic::new(&PROVIDER_ARGUMENT_RESERVED, detail)
        .hint("If the provider has an argument of this name, set it in a \"_\" block.")
        .at(at)
}
pub(crate) fn provider_reference_in_quotes(at: Span) -> Diagnostic {
    let detail = "A reference to a provider configuration is written without quotes.";
    Diagnostic::new(&PROVIDER_REFERENCE_MALFORMED, detail).hint("Remove the quotes.").at(at)
}
pub(crate) fn not_a_provider_reference(argument: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The argument {argument:?} must be the local name of a provider. A dot and the alias of a configuration can \
         follow, then an instance key in brackets."
    );
    Diagnostic::new(&PROVIDER_REFERENCE_MALFORMED, detail).at(at)
}
pub(crate) fn provider_alias_expected(at: Span) -> Diagnostic {
    let detail = "Only a dot and the alias of a configuration can follow the name of a provider.";
    Diagnostic::new(&PROVIDER_REFERENCE_MALFORMED, detail).at(at)
}
pub(crate) fn provider_key_as_attribute(reference: &str, key: &str, at: Span) -> Diagnostic {
    let detail = "Only an instance key in brackets can follow the alias of a provider configuration.";
    Diagnostic::new(&PROVIDER_REFERENCE_MALFORMED, detail)
        .hint(eco_format!("To select the instance {key:?}, write {reference}[{key:?}]."))
        .at(at)
}
pub(crate) fn provider_key_without_alias(at: Span) -> Diagnostic {
    let detail = "Only provider configurations with an alias have several instances.";
    Diagnostic::new(&PROVIDER_REFERENCE_MALFORMED, detail).hint("Write name.alias[key].").at(at)
}
pub(crate) fn collection_on_one_side(at: Span) -> Diagnostic {
    let detail = "All instances of a provider configuration can be passed only as a whole.";
    Diagnostic::new(&PROVIDER_COLLECTION_MISMATCH, detail).hint("Write [*] on both sides.").at(at)
}
pub(crate) fn provider_passed_twice(name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The provider configuration {name} is already passed to the module, at {first}.");
    Diagnostic::new(&PROVIDER_PASSED_TWICE, detail).hint("Pass each provider configuration once.").at(at)
}

// Moved, import, removed

pub(crate) fn moved_address(end: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The argument {end:?} refers to an object that cannot be moved.");
    Diagnostic::new(&MOVED_ADDRESS_INVALID, detail).at(at)
}
pub(crate) fn moved_addresses_differ(at: Span) -> Diagnostic {
    let detail = "The arguments \"from\" and \"to\" must name two resources or two modules, not one of each.";
    Diagnostic::new(&MOVED_ADDRESSES_DIFFER, detail).at(at)
}
pub(crate) fn import_provider_in_module(at: Span) -> Diagnostic {
    let detail = "The argument \"provider\" of an import block is for generated configuration, which is not supported \
        inside of modules.\n\nAn import into a module uses the provider configuration that the \"providers\" argument of \
        the module block passes.";
    Diagnostic::new(&IMPORT_PROVIDER_IN_MODULE, detail).at(at)
}
pub(crate) fn import_without_id(at: Span) -> Diagnostic {
    Diagnostic::new(&IMPORT_ID_MISSING, "An import block must identify the object to import.")
        .hint("Set \"id\" or \"identity\".")
        .at(at)
}
pub(crate) fn import_id_and_identity(at: Span) -> Diagnostic {
    Diagnostic::new(&IMPORT_ID_AND_IDENTITY, "Both \"id\" and \"identity\" identify the object to import.")
        .hint("Set only one of them.")
        .at(at)
}
pub(crate) fn removed_provisioner_when(at: Span) -> Diagnostic {
    let detail = "Provisioners of a removed resource can run only when its objects are destroyed.";
    Diagnostic::new(&REMOVED_PROVISIONER_NOT_ON_DESTROY, detail).hint("Set when = destroy.").at(at)
}
pub(crate) fn removed_module_with_provisioner(at: Span) -> Diagnostic {
    let detail = "A removed block with provisioners must name a resource, and this one names a module.";
    Diagnostic::new(&REMOVED_MODULE_WITH_PROVISIONER, detail).at(at)
}
pub(crate) fn removed_without_lifecycle(at: Span) -> Diagnostic {
    let detail = "This block does not set whether the objects are destroyed. By default they are removed from the state \
        and continue to exist.";
    Diagnostic::new(&REMOVED_WITHOUT_LIFECYCLE, detail)
        .hint("Add lifecycle { destroy = false } to confirm this, or lifecycle { destroy = true } to destroy them.")
        .at(at)
}
pub(crate) fn removed_provisioners_unused(at: Span) -> Diagnostic {
    let detail =
        "The objects are removed from the state and not destroyed, so the provisioners of this block never run.";
    Diagnostic::new(&REMOVED_PROVISIONERS_UNUSED, detail).at(at)
}
