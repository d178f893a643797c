//! What can be wrong with resource, provider, module and check blocks and with statements about addresses.

use ecow::{EcoString, eco_format};
use yuba_syntax::{Diagnostic, Span};

const NAME_RULE: &str = "A name starts with a letter or an underscore and goes on with letters, digits, underscores and \
    dashes.";

/// A label that is no name; the summary says of what.
pub(crate) fn invalid_name(summary: &str, label: &str, at: Span) -> Diagnostic {
    Diagnostic::error(summary, eco_format!("{label:?} cannot be a name here. {NAME_RULE}")).at(at)
}

// References and keywords

pub(crate) fn not_a_reference(at: Span) -> Diagnostic {
    let detail = "Only a reference is possible here: a name, attributes, and indexes with constant keys. Calculations, \
        function calls and templates are not.";
    Diagnostic::error("Invalid expression", detail).at(at)
}
pub(crate) fn not_a_map(at: Span) -> Diagnostic {
    Diagnostic::error("Invalid expression", "The pairs have to be written out here, between { and }.").at(at)
}
pub(crate) fn quoted_keyword(at: Span) -> Diagnostic {
    let detail = "A keyword stands here without quotes. Quotes are the way of version 0.11 and will stop working: \
        remove them.";
    Diagnostic::warning("Quoted keywords are deprecated", detail).at(at)
}
pub(crate) fn expected_string(at: Span) -> Diagnostic {
    let detail = "In JSON syntax this is a string that contains the expression.";
    Diagnostic::error("Expected string expression", detail).at(at)
}
pub(crate) fn invalid_keyword(argument: &str, words: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The argument {argument:?} is one of these words, without quotes: {words}.");
    Diagnostic::error(eco_format!("Invalid \"{argument}\" keyword"), detail).at(at)
}

// What many blocks share

/// `what` is the block that can have only one of them.
pub(crate) fn duplicate_block(kind: &str, what: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The {what} already has a {kind} block, at {first}. Merge the two.");
    Diagnostic::error(eco_format!("Duplicate {kind} block"), detail).at(at)
}
/// `specific` says whose arguments the block holds.
pub(crate) fn duplicate_escape(what: &str, specific: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The block \"_\" holds arguments that are {specific} although they have the name of a meta-argument. A {what} \
         block can have one of it; the first is at {first}."
    );
    Diagnostic::error("Duplicate escaping block", detail).at(at)
}
pub(crate) fn reserved_block(kind: &str, what: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Blocks of type {kind:?} mean nothing here yet, but may in a later version.");
    Diagnostic::error(eco_format!("Reserved block type name in {what} block"), detail).at(at)
}
/// `names` are in quotes, as a list; `things` are what there would be a number of.
pub(crate) fn repetition_combined(names: &str, things: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The meta-arguments {names} exclude each other: each of them says how many {things} there are. Keep one of them."
    );
    Diagnostic::error(eco_format!("Invalid combination of {names}"), detail).at(at)
}

// Resources

pub(crate) fn nested_data_argument(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A data block inside of another block is read once, so it cannot have {name:?}.");
    Diagnostic::error(eco_format!("Invalid \"{name}\" attribute"), detail).at(at)
}
pub(crate) fn nested_data_lifecycle(at: Span) -> Diagnostic {
    let detail = "A data block inside of another block has no \"lifecycle\" of its own: the block around it decides.";
    Diagnostic::error("Invalid lifecycle block", detail).at(at)
}
pub(crate) fn data_lifecycle(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Only managed resources (\"resource\" blocks) have the lifecycle argument {name:?}.");
    Diagnostic::error("Invalid data resource lifecycle argument", detail).at(at)
}
pub(crate) fn ephemeral_lifecycle(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Only managed resources (\"resource\" blocks) have the lifecycle argument {name:?}.");
    Diagnostic::error("Invalid lifecycle configuration for ephemeral resource", detail).at(at)
}
pub(crate) fn ephemeral_block(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Only managed resources (\"resource\" blocks) have {kind:?} blocks.");
    Diagnostic::error("Invalid configuration block for ephemeral resource", detail).at(at)
}
pub(crate) fn ignore_changes_star(at: Span) -> Diagnostic {
    let detail = "[\"*\"] is the old way to ignore all changes. Write ignore_changes = all.";
    Diagnostic::error("Invalid ignore_changes wildcard", detail).at(at)
}
pub(crate) fn ignore_changes_mixed(at: Span, all: Span) -> Diagnostic {
    let detail = "\"*\" covers everything, so nothing can stand beside it.";
    Diagnostic::error("Invalid ignore_changes ruleset", detail).at(at).within(all)
}
pub(crate) fn trigger_each(at: Span) -> Diagnostic {
    let detail = "Of \"each\" only each.key can be used in replace_triggered_by.";
    Diagnostic::error("Invalid each reference in replace_triggered_by expression", detail).at(at)
}
pub(crate) fn trigger_count(at: Span) -> Diagnostic {
    let detail = "Of \"count\" only count.index can be used in replace_triggered_by.";
    Diagnostic::error("Invalid count reference in replace_triggered_by expression", detail).at(at)
}
pub(crate) fn trigger_reference(at: Span) -> Diagnostic {
    let detail = "An item of replace_triggered_by refers to a managed resource, and in its index to count.index or \
        each.key, and to nothing else. To react to another value, keep it in a terraform_data resource.";
    Diagnostic::error("Invalid reference in replace_triggered_by expression", detail).at(at)
}
pub(crate) fn trigger_without_resource(at: Span) -> Diagnostic {
    let detail = "This refers to no resource. Each item of replace_triggered_by refers to one.";
    Diagnostic::error("Invalid replace_triggered_by expression", detail).at(at)
}
pub(crate) fn trigger_with_many_resources(at: Span) -> Diagnostic {
    let detail = "This refers to several resources. Give each of them an item of its own.";
    Diagnostic::error("Invalid replace_triggered_by expression", detail).at(at)
}

// Check rules and check blocks

pub(crate) fn override_rule(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("An override file cannot change {kind:?} blocks, nor add any.");
    Diagnostic::error(eco_format!("Can't override {kind} blocks"), detail).at(at)
}
pub(crate) fn constant_condition(kind: &str, at: Span) -> Diagnostic {
    let detail = "This condition refers to nothing, so it would always have the same result and check nothing. Refer to \
        at least one object of the configuration.";
    Diagnostic::error(eco_format!("Invalid {kind} expression"), detail).at(at)
}
pub(crate) fn rule_refers_to_own_resource(kind: &str, resource: &str, at: Span) -> Diagnostic {
    let hint = match kind {
        "postcondition" => " Use \"self\" for the object that is checked.",
        _ => "",
    };
    let detail = eco_format!("A condition of {resource} cannot refer to {resource}.{hint}");
    Diagnostic::error(eco_format!("Invalid reference in {kind}"), detail).at(at)
}
pub(crate) fn second_data_in_check(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A check block can have one data block, and this one has it at {first}.");
    Diagnostic::error("Multiple data resource blocks", detail).at(at)
}
pub(crate) fn check_without_assert(at: Span) -> Diagnostic {
    Diagnostic::error("Zero assert blocks", "A check block needs at least one assert block.").at(at)
}

// Provisioners

pub(crate) fn removed_provisioner(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There is no provisioner {kind:?} any more.");
    Diagnostic::error(eco_format!("The \"{kind}\" provisioner has been removed"), detail).at(at)
}
pub(crate) fn destroy_provisioner_reference(at: Span) -> Diagnostic {
    let detail = "What runs when an object is destroyed, and its connection, can refer to the object as \"self\", to \
        \"count.index\" and to \"each.key\", and to nothing else.\n\nOther objects may be gone by then, and references \
        to them can make the order of operations circular.";
    Diagnostic::error("Invalid reference from destroy provisioner", detail).at(at)
}

// Providers

pub(crate) fn invalid_local_name(name: &str, reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("{name:?} cannot be the local name of a provider: {reason}.");
    Diagnostic::error("Invalid provider local name", detail).at(at)
}
pub(crate) fn local_name_not_normal(name: &str, normal: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Names of providers are written in their normal form: {normal:?} instead of {name:?}.");
    Diagnostic::error("Invalid provider local name", detail).at(at)
}
/// Quirk: for a `provider` block it has no place, for a `mock_provider` it has.
pub(crate) fn invalid_alias(what: &str, at: Option<Span>) -> Diagnostic {
    let problem = Diagnostic::error(
        eco_format!("Invalid {what} configuration alias"),
        eco_format!("An alias is a name. {NAME_RULE}"),
    );
    match at {
        Some(at) => problem.at(at),
        None => problem,
    }
}
pub(crate) fn version_in_provider(at: Span) -> Diagnostic {
    let summary = "Version constraints inside provider configuration blocks are deprecated";
    let detail = "Which versions of a provider can be used is said in the required_providers block. The argument here \
        still works but will be removed: move the constraint there.";
    Diagnostic::warning(summary, detail).at(at)
}
pub(crate) fn for_each_needs_alias(at: Span) -> Diagnostic {
    let detail = "Only a provider configuration with an alias can have for_each.";
    Diagnostic::error("Alias required when using \"for_each\"", detail).at(at)
}
pub(crate) fn reserved_provider_argument(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The argument {name:?} means nothing here yet, but may in a later version. If the provider has an argument of \
         this name, put it into a block \"_\"."
    );
    Diagnostic::error("Reserved argument name in provider block", detail).at(at)
}
fn invalid_provider_reference(detail: impl Into<EcoString>, at: Span) -> Diagnostic {
    Diagnostic::error("Invalid provider configuration reference", detail).at(at)
}
pub(crate) fn provider_reference_in_quotes(at: Span) -> Diagnostic {
    invalid_provider_reference("A reference to a provider configuration has no quotes.", at)
}
pub(crate) fn not_a_provider_reference(argument: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The argument {argument:?} is the local name of a provider; a dot and the alias of a configuration may follow, \
         and then an instance key in brackets."
    );
    invalid_provider_reference(detail, at)
}
pub(crate) fn provider_alias_expected(at: Span) -> Diagnostic {
    let detail = "After the name of a provider only a dot and the alias of a configuration can follow.";
    invalid_provider_reference(detail, at)
}
pub(crate) fn provider_key_as_attribute(reference: &str, key: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "After the alias of a provider configuration only an instance key in brackets can follow. To choose the instance \
         {key:?}, write {reference}[{key:?}]."
    );
    invalid_provider_reference(detail, at)
}
pub(crate) fn provider_key_without_alias(at: Span) -> Diagnostic {
    let detail = "Only configurations with an alias have several instances: write name.alias[key].";
    invalid_provider_reference(detail, at)
}
pub(crate) fn collection_on_one_side(at: Span) -> Diagnostic {
    let detail = "All instances can be passed only as a whole: write [*] on both sides.";
    invalid_provider_reference(detail, at)
}
pub(crate) fn provider_passed_twice(name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The module gets {name} already, at {first}. Each of its providers can be given once.");
    Diagnostic::error("Duplicate provider address", detail).at(at)
}
// Moved, import, removed

pub(crate) fn moved_address(end: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("What {end:?} refers to cannot move.");
    Diagnostic::error("Invalid \"moved\" address", detail).at(at)
}
pub(crate) fn moved_addresses_differ(at: Span) -> Diagnostic {
    let detail = "\"from\" and \"to\" have to be two resources or two modules, not one of each.";
    Diagnostic::error("Invalid \"moved\" addresses", detail).at(at)
}
pub(crate) fn import_provider_in_module(at: Span) -> Diagnostic {
    let detail = "An import block has a provider only where configuration is generated, and that is not possible inside \
        of modules.\n\nA resource of a module uses the configuration that the \"providers\" argument of the module block \
        gives, for imports too.";
    Diagnostic::error("Invalid import provider argument", detail).at(at)
}
pub(crate) fn import_without_id(at: Span) -> Diagnostic {
    let detail = "Say which object is imported: with \"id\" or with \"identity\".";
    Diagnostic::error("Missing required import argument", detail).at(at)
}
pub(crate) fn import_id_and_identity(at: Span) -> Diagnostic {
    let detail = "\"id\" and \"identity\" are two ways to say which object is imported. Keep one of them.";
    Diagnostic::error("Conflicting import arguments", detail).at(at)
}
pub(crate) fn removed_provisioner_when(at: Span) -> Diagnostic {
    let detail = "Of a removed resource only the destruction is left, so its provisioners need \"when = destroy\".";
    Diagnostic::error("Invalid \"removed.provisioner\" block", detail).at(at)
}
pub(crate) fn removed_module_with_provisioner(at: Span) -> Diagnostic {
    let detail = "A removed block with provisioners has to be about a resource; this one is about a module.";
    Diagnostic::error("Invalid \"removed\" block", detail).at(at)
}
pub(crate) fn removed_without_lifecycle(at: Span) -> Diagnostic {
    let detail = "This does not say what happens to the real objects. Add lifecycle { destroy = false } to let them live \
        and only forget them, which is what happens now, or destroy = true to destroy them.";
    Diagnostic::warning("Missing lifecycle from the removed block", detail).at(at)
}
pub(crate) fn removed_provisioners_idle(at: Span) -> Diagnostic {
    let detail = "The objects are forgotten and not destroyed, so the provisioners of this block never run.";
    Diagnostic::warning("Removed block provisioners will not be executed", detail).at(at)
}
