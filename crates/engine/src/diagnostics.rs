//! The catalogue of errors and warnings of planning and applying. Moves and imports have catalogues of their own.

use std::fmt::Display;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ProviderSource};
use yuba_config::resource::ResourceKey;
use yuba_eval::codes::{
    INVALID_PREVENT_DESTROY, INVALID_RESOURCE_TYPE, PROVIDER_CONFIGURATION_NOT_PRESENT, PROVIDER_INSTANCE_NOT_DECLARED,
};
use yuba_syntax::{Code, Diagnostic, Span};

yuba_syntax::catalogue! {
    /// The configuration of an object contains unknown values while its change is applied.
    UNKNOWN_DURING_APPLY = error "unknown-during-apply", "Configuration contains unknown value";
    /// The operations in a plan file differ from those that its configuration, state and changes require.
    PLAN_DOES_NOT_FIT = error "plan-does-not-fit", "Saved plan does not fit the configuration";
    /// An apply is canceled while operations are running.
    OPERATION_CANCELED = error "operation-canceled", "Operation canceled";
    /// A plan or an apply is stopped before it is complete.
    EXECUTION_HALTED = error "execution-halted", "Execution halted";
    /// A plan changes an imported object whose configuration was generated and is not part of the configuration yet.
    GENERATED_CONFIGURATION_UNUSED = error "generated-configuration-unused", "Resource has no configuration";
    /// A provisioner fails.
    PROVISIONER_FAILED = error "provisioner-failed", "{provisioner} provisioner error";
    /// A plan generates configuration for imported objects.
    CONFIG_GENERATION_EXPERIMENTAL = warning "config-generation-experimental", "Config generation is experimental";
    /// The state contains an object of a resource type that the provider does not support.
    UNSUPPORTED_TYPE_IN_STATE = error "unsupported-type-in-state", "Unsupported resource type";
    /// A newer version of the provider wrote an object of the state.
    OBJECT_OF_NEWER_PROVIDER = error "object-of-newer-provider", "Resource instance managed by newer provider version";
    /// A newer version of the provider wrote the identity of an object of the state.
    IDENTITY_OF_NEWER_PROVIDER = error "identity-of-newer-provider", "Resource identity managed by newer provider version";
    /// The state cannot store an object.
    OBJECT_NOT_STORABLE = error "object-not-storable", "Failed to encode object";
    /// A provider upgrades an object of the state to an invalid object.
    INVALID_STATE_UPGRADE = error "invalid-state-upgrade", "Invalid resource state upgrade";
    /// A provider converts a moved object to an invalid object.
    INVALID_STATE_MOVE = error "invalid-state-move", "Invalid resource state move";
    /// A provider returns an object that does not conform to its schema.
    PROVIDER_INVALID_OBJECT = error "provider-invalid-object", "Provider produced invalid object";
    /// A provider returns null for an object that must exist.
    PROVIDER_NULL_OBJECT = error "provider-null-object", "Provider produced null object";
    /// A provider returns a plan that breaks the rules of the protocol.
    PROVIDER_INVALID_PLAN = error "provider-invalid-plan", "Provider produced invalid plan";
    /// A provider returns an invalid object after apply.
    PROVIDER_INVALID_RESULT = error "provider-invalid-result", "Provider returned invalid result object after apply";
    /// A provider returns an object after apply that differs from its plan.
    PROVIDER_INCONSISTENT_RESULT = error "provider-inconsistent-result", "Provider produced inconsistent result after apply";
    /// A provider returns another plan during apply than during planning.
    PROVIDER_INCONSISTENT_PLAN = error "provider-inconsistent-plan", "Provider produced inconsistent final plan";
    /// Another provider instance than before manages an existing object.
    PROVIDER_INSTANCE_CHANGES = warning "provider-instance-changes", "Provider instance of an existing object changes";
    /// The value of prevent_destroy refers to `each` or `count`.
    INSTANCE_IN_PREVENT_DESTROY = error "instance-in-prevent-destroy", "Invalid reference in prevent_destroy";
    /// A plan destroys an object whose resource has prevent_destroy set.
    DESTROY_PREVENTED = error "destroy-prevented", "Resource instance cannot be destroyed";
    /// A -replace option names a resource with instance keys without a key.
    INCOMPLETE_REPLACE_ADDRESS = warning "incomplete-replace-address", "Incompletely-matched force-replace resource instance";
    /// The operations of a plan depend on each other in a cycle.
    OPERATION_CYCLE = error "operation-cycle", "Cycle in the order of changes";
    /// A provider returns several objects for one import.
    SEVERAL_OBJECTS_IMPORTED = error "several-objects-imported", "Multiple import states not supported";
    /// A provider returns no object for an import.
    NO_OBJECT_IMPORTED = error "no-object-imported", "Import returned no resources";
    /// A provider returns null for an import.
    NULL_OBJECT_IMPORTED = error "null-object-imported", "Import returned null resource";
    /// The object to import does not exist.
    IMPORTED_OBJECT_MISSING = error "imported-object-missing", "Cannot import non-existent remote object";
    /// -replace is combined with -destroy or -refresh-only.
    REPLACE_IN_OTHER_MODE = error "replace-in-other-mode", "Unsupported plan mode";
    /// An element of replace_triggered_by refers to an instance that does not exist.
    TRIGGER_INSTANCE_MISSING = error "trigger-instance-missing", "no change found for {instance} in {module}";
    /// A removed block names an object that the configuration still declares.
    REMOVED_OBJECT_STILL_DECLARED = error "removed-object-still-declared", "Removed {kind} block still exists";
    /// Applying the plan removes an object from the state without destroying it.
    OBJECT_FORGOTTEN = warning "object-forgotten", "Resource will be removed from the state";
    /// -target or -exclude limits a plan.
    TARGETING_IN_EFFECT = warning "targeting-in-effect", "Resource targeting is in effect";
    /// -target or -exclude limited a plan that was applied.
    APPLY_MAY_BE_INCOMPLETE = warning "apply-may-be-incomplete", "Applied changes may be incomplete";
    /// The value of -target or -exclude is not an address.
    INVALID_TARGET = error "invalid-target", "Invalid {option} {value}";
    /// A module has a provider_meta block for a provider that does not support such blocks.
    PROVIDER_META_UNSUPPORTED = error "provider-meta-unsupported", "Provider {provider} doesn't support provider_meta";
    /// An argument of a resource is or contains an infinite number.
    INFINITE_NUMBER_IN_ARGUMENT = error "infinite-number-in-argument", "Invalid number";
    /// The value of lifecycle.destroy is not a constant bool.
    INVALID_LIFECYCLE_DESTROY = error "invalid-lifecycle-destroy", "Invalid lifecycle destroy expression";
    /// A provider without a provider block requires an argument.
    PROVIDER_ARGUMENT_MISSING = error "provider-argument-missing", "Missing required attribute";
    /// A provider without a provider block requires a nested block.
    PROVIDER_BLOCK_MISSING = error "provider-block-missing", "Insufficient {name} blocks";
    /// The state contains objects of a provider instance that is no longer declared.
    PROVIDER_INSTANCE_NOT_PRESENT = error "provider-instance-not-present", "Provider instance not present";
}

// Objects and what providers return for them.

/// A provider breaks a rule of the protocol. `what` says how, after the name of the provider.
pub(crate) fn provider_bug(code: &'static Code, provider: &str, what: &str) -> Diagnostic {
    Diagnostic::new(code, eco_format!("The provider {provider} {what}."))
        .hint("Report this bug to the maintainers of the provider.")
}

pub(crate) fn unsupported_type_in_state(provider: &str, kind: &str, addr: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!("The state contains {addr}, but the provider {provider} has no resource type {kind:?}.");
    Diagnostic::new(&UNSUPPORTED_TYPE_IN_STATE, detail)
}

/// `stored` and `supported` are schema versions.
pub(crate) fn object_of_newer_provider(
    addr: &AbsResourceInstance,
    provider: &str,
    stored: u64,
    supported: u64,
) -> Diagnostic {
    let detail = eco_format!(
        "The state stores {addr} with schema version {stored}, but the installed provider {provider} supports versions up to \
         {supported}."
    );
    Diagnostic::new(&OBJECT_OF_NEWER_PROVIDER, detail).hint("Use a newer version of the provider.")
}

/// `stored` and `supported` are schema versions.
pub(crate) fn identity_of_newer_provider(
    addr: &AbsResourceInstance,
    provider: &str,
    stored: u64,
    supported: u64,
) -> Diagnostic {
    let detail = eco_format!(
        "The state stores the identity of {addr} with schema version {stored}, but the installed provider {provider} supports \
         versions up to {supported}."
    );
    Diagnostic::new(&IDENTITY_OF_NEWER_PROVIDER, detail).hint("Use a newer version of the provider.")
}

pub(crate) fn object_not_storable(addr: &AbsResourceInstance, reason: &str) -> Diagnostic {
    Diagnostic::new(&OBJECT_NOT_STORABLE, eco_format!("The state cannot store the object of {addr}: {reason}."))
}

pub(crate) fn unsupported_type(provider: &ProviderSource, key: &ResourceKey, at: Span) -> Diagnostic {
    let (provider, mode) = (provider.for_display(), key.mode.as_str());
    let detail = eco_format!("The provider {provider} has no {mode} resource type {:?}.", key.kind);
    Diagnostic::new(&INVALID_RESOURCE_TYPE, detail).at(at)
}

pub(crate) fn infinite_argument(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument {name:?} is an infinite number or contains one. The state cannot store infinite numbers."
    );
    Diagnostic::new(&INFINITE_NUMBER_IN_ARGUMENT, detail).hint("Check for divisions by zero and logarithms of zero.")
}

// Providers.

pub(crate) fn provider_argument_missing(source: &ProviderSource, name: &str) -> Diagnostic {
    let detail = eco_format!("The provider {source} requires the argument {name:?}, but it has no provider block.");
    Diagnostic::new(&PROVIDER_ARGUMENT_MISSING, detail)
        .hint(eco_format!("Add a provider {:?} block that sets it.", source.kind))
}

pub(crate) fn provider_block_missing(source: &ProviderSource, name: &str) -> Diagnostic {
    let detail = eco_format!("The provider {source} requires a block {name:?}, but it has no provider block.");
    Diagnostic::new(&PROVIDER_BLOCK_MISSING, detail)
        .titled(eco_format!("Insufficient {name} blocks"))
        .naming(name)
        .hint(eco_format!("Add a provider {:?} block that contains it.", source.kind))
}

pub(crate) fn provider_meta_unsupported(provider: &str, addr: &AbsResourceInstance, at: Span) -> Diagnostic {
    let detail = eco_format!("{addr} belongs to the provider {provider}, which does not support provider_meta blocks.");
    Diagnostic::new(&PROVIDER_META_UNSUPPORTED, detail)
        .titled(eco_format!("Provider {provider} doesn't support provider_meta"))
        .naming(provider)
        .hint("Remove the block.")
        .at(at)
}

/// An instance selects a provider instance that does not exist.
pub(crate) fn provider_instance_not_declared(
    address: &str,
    key: &str,
    config: &AbsProviderConfig,
    keys: &[EcoString],
    at: Span,
) -> Diagnostic {
    let detail = eco_format!(
        "{address} selects the instance {key:?} of {config}, but its for_each does not contain this key. {}",
        declared_keys(keys)
    );
    Diagnostic::new(&PROVIDER_INSTANCE_NOT_DECLARED, detail).at(at)
}

/// Several instances of one expression select provider instances that do not exist. `selected` has address and key of each.
pub(crate) fn provider_instances_not_declared<'a>(
    selected: impl ExactSizeIterator<Item = (&'a EcoString, &'a EcoString)>,
    config: &AbsProviderConfig,
    keys: &[EcoString],
    at: Span,
) -> Diagnostic {
    const LISTED: usize = 100;
    let count = selected.len();
    let mut detail = eco_format!(
        "{count} instances select provider instances of {config}, but its for_each does not contain these keys:"
    );
    for (address, key) in selected.take(LISTED) {
        detail.push_str(&eco_format!("\n  - {address}: {key:?}"));
    }
    if count > LISTED {
        detail.push_str(&eco_format!("\n  - and {} other instances", count - LISTED));
    }
    detail.push_str(&eco_format!("\n\n{}", declared_keys(keys)));
    Diagnostic::new(&PROVIDER_INSTANCE_NOT_DECLARED, detail).at(at)
}

/// A reference to a provider configuration with for_each has no key.
pub(crate) fn provider_key_missing(
    address: &str,
    config: &AbsProviderConfig,
    keys: &[EcoString],
    at: Span,
) -> Diagnostic {
    let detail = eco_format!(
        "{config} has for_each, but {address} does not select one of its instances. {}",
        declared_keys(keys)
    );
    Diagnostic::new(&PROVIDER_INSTANCE_NOT_DECLARED, detail).at(at)
}

pub(crate) fn provider_configuration_missing(address: &str, config: &AbsProviderConfig, at: Span) -> Diagnostic {
    let detail = eco_format!("{address} requires the provider configuration {config}, which does not exist.");
    Diagnostic::new(&PROVIDER_CONFIGURATION_NOT_PRESENT, detail).at(at)
}

/// The keys of a provider configuration, as a sentence.
pub(crate) fn declared_keys(keys: &[EcoString]) -> EcoString {
    const SHOWN: usize = 20;
    if keys.is_empty() {
        return "It has no instances: its for_each is empty.".into();
    }
    let mut shown: Vec<String> = keys.iter().take(SHOWN).map(|key| format!("{key:?}")).collect();
    if keys.len() > SHOWN {
        shown.push(format!("and {} more instances", keys.len() - SHOWN));
    }
    let noun = if shown.len() == 1 { "instance" } else { "instances" };
    eco_format!("It has the {noun} {}.", shown.join(", "))
}

/// `detail` lists the objects of the state and how to proceed.
pub(crate) fn provider_instance_not_present(detail: EcoString) -> Diagnostic {
    Diagnostic::new(&PROVIDER_INSTANCE_NOT_PRESENT, detail)
}

/// `detail` lists the objects of the state and how to proceed.
pub(crate) fn provider_configuration_not_present(detail: EcoString) -> Diagnostic {
    Diagnostic::new(&PROVIDER_CONFIGURATION_NOT_PRESENT, detail)
}

/// `before` and `after` are instances of provider configurations.
pub(crate) fn provider_instance_changes(addr: &AbsResourceInstance, before: &str, after: &str) -> Diagnostic {
    let detail = eco_format!(
        "The provider instance {before} created {addr}, but {after} manages it from now on. The object is not moved. If both \
         instances manage different locations, {after} may not find the object and plan to create another one."
    );
    let mut warning = Diagnostic::new(&PROVIDER_INSTANCE_CHANGES, detail).about(addr).about(before).about(after);
    warning.address = Some(eco_format!("{addr}"));
    warning
}

// Imports.

/// `what` describes the id or identity of the import.
pub(crate) fn several_objects_imported(what: &str) -> Diagnostic {
    let detail = eco_format!("The provider returned several objects for {what}, but an import requires exactly one.");
    Diagnostic::new(&SEVERAL_OBJECTS_IMPORTED, detail)
}

pub(crate) fn no_object_imported(what: &str) -> Diagnostic {
    Diagnostic::new(&NO_OBJECT_IMPORTED, eco_format!("The provider returned no object for {what}."))
}

pub(crate) fn null_object_imported(what: &str) -> Diagnostic {
    Diagnostic::new(&NULL_OBJECT_IMPORTED, eco_format!("The provider returned null for {what}."))
}

pub(crate) fn imported_object_missing(addr: &AbsResourceInstance, what: &str) -> Diagnostic {
    let detail = eco_format!(
        "Failed to import {addr}: no object with {what} exists.\n\nCheck the id, and that the configuration of the provider \
         selects the account and region of the object."
    );
    Diagnostic::new(&IMPORTED_OBJECT_MISSING, detail).hint("To create the object instead, remove the import.")
}

pub(crate) fn config_generation_experimental() -> Diagnostic {
    let detail = "Yuba generates configuration for imported objects. Later versions may generate it differently.";
    Diagnostic::new(&CONFIG_GENERATION_EXPERIMENTAL, detail)
}

pub(crate) fn generated_configuration_unused(addr: &AbsResourceInstance) -> Diagnostic {
    let detail =
        eco_format!("This plan changes {addr}, but its generated configuration is not part of the configuration yet.");
    Diagnostic::new(&GENERATED_CONFIGURATION_UNUSED, detail)
        .hint("Review the generated file, add it to the configuration, and create a new plan.")
}

// Lifecycle.

pub(crate) fn instance_in_prevent_destroy(root: &str, resource: &impl Display, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "prevent_destroy also applies to instances that are no longer in the configuration, where \"{root}\" has no value."
    );
    Diagnostic::new(&INSTANCE_IN_PREVENT_DESTROY, detail)
        .hint(eco_format!("Use a value that is the same for all instances of {resource}."))
        .at(at)
}

pub(crate) fn invalid_prevent_destroy(addr: &AbsResourceInstance, reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The value of prevent_destroy of {addr} is not valid: {reason}.");
    Diagnostic::new(&INVALID_PREVENT_DESTROY, detail).at(at)
}

/// The module instance of the object is not in the configuration.
pub(crate) fn prevent_destroy_without_module(addr: &AbsResourceInstance, at: Span) -> Diagnostic {
    let reason = eco_format!("{} is not in the configuration, so the value is unknown", addr.module);
    let exclude = eco_format!("{addr}");
    invalid_prevent_destroy(addr, &reason, at)
        .hint(eco_format!("Set prevent_destroy to a constant, or exclude the object with -exclude={exclude:?}."))
}

pub(crate) fn destroy_prevented(addr: &AbsResourceInstance, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The plan destroys {addr}, but its lifecycle block sets prevent_destroy.\n\nTo preserve the object, change the \
         configuration so that it is not destroyed, or exclude it with -exclude."
    );
    Diagnostic::new(&DESTROY_PREVENTED, detail).hint("To destroy it, remove prevent_destroy first.").at(at)
}

pub(crate) fn invalid_lifecycle_destroy(at: Span) -> Diagnostic {
    let detail =
        "The state stores this value for objects that are no longer in the configuration, so it must be a constant.";
    Diagnostic::new(&INVALID_LIFECYCLE_DESTROY, detail).hint("Write true or false.").at(at)
}

/// `named` is the reference and `existing` the address of an instance that exists; both without the module.
pub(crate) fn trigger_instance_missing(resource: &str, named: &str, existing: &str, module: &str) -> Diagnostic {
    let detail = eco_format!("replace_triggered_by refers to {named}, but {resource} has no such instance.");
    Diagnostic::new(&TRIGGER_INSTANCE_MISSING, detail)
        .titled(eco_format!("no change found for {named} in {module}"))
        .naming(named)
        .naming(module)
        .hint(eco_format!("Refer to an existing instance, such as {existing}, or to the whole resource."))
}

/// `kind` is `resource` or `module`.
pub(crate) fn removed_object_still_declared(kind: &str, address: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This block removes the {kind} {address}, but the configuration still declares it.");
    Diagnostic::new(&REMOVED_OBJECT_STILL_DECLARED, detail)
        .titled(eco_format!("Removed {kind} block still exists"))
        .naming(kind)
        .hint(eco_format!("Remove the {kind} block, or remove this block to preserve the {kind}."))
        .at(at)
}

/// An object that applying the plan removes from the state.
pub(crate) fn object_forgotten(address: &impl Display) -> Diagnostic {
    let detail = eco_format!("Yuba stops managing {address} when this plan is applied. The object is not destroyed.");
    Diagnostic::new(&OBJECT_FORGOTTEN, detail).hint("To manage it again, import it.")
}

// Options of a run.

pub(crate) fn replace_in_other_mode() -> Diagnostic {
    Diagnostic::new(&REPLACE_IN_OTHER_MODE, "-replace requires a plan that can create objects.")
        .hint("Remove -replace, or -destroy or -refresh-only.")
}

/// `instances` are addresses to use instead, and `more` is the number of further instances.
pub(crate) fn incomplete_replace_address(
    addr: &AbsResourceInstance,
    instances: &[EcoString],
    more: usize,
) -> Diagnostic {
    let Some((first, rest)) = instances.split_first() else {
        let detail = eco_format!("-replace={addr} has no effect: the resource has no instances.");
        return Diagnostic::new(&INCOMPLETE_REPLACE_ADDRESS, detail);
    };
    let mut detail = eco_format!(
        "-replace={addr} has no effect: the instances of the resource have keys. Add the key of each instance to replace:"
    );
    for instance in std::iter::once(first).chain(rest) {
        detail.push_str(&eco_format!("\n  -replace={instance:?}"));
    }
    match more {
        0 => {}
        1 => detail.push_str("\n  ... and 1 more instance"),
        more => detail.push_str(&eco_format!("\n  ... and {more} more instances")),
    }
    Diagnostic::new(&INCOMPLETE_REPLACE_ADDRESS, detail)
}

/// Advice about -target and -exclude.
const TARGETING_IS_EXCEPTIONAL: &str =
    "Use these options only to recover from errors, or when an error message suggests them.";

pub(crate) fn targeting_in_effect() -> Diagnostic {
    let detail = "The option -target or -exclude limits this plan, so it may not contain all changes that the configuration requires.";
    Diagnostic::new(&TARGETING_IN_EFFECT, detail).hint(TARGETING_IS_EXCEPTIONAL)
}

pub(crate) fn apply_may_be_incomplete() -> Diagnostic {
    let detail = "The option -target or -exclude limited this plan. Some changes that the configuration requires may be missing, and \
                  output values may be out of date. To show the remaining changes, run:\n    yuba plan";
    Diagnostic::new(&APPLY_MAY_BE_INCOMPLETE, detail).hint(TARGETING_IS_EXCEPTIONAL)
}

/// `reason` explains why the value is not an address.
pub(crate) fn invalid_target(option: &str, value: &str, reason: Option<&Diagnostic>) -> Diagnostic {
    let reason = reason.map(Diagnostic::explanation).unwrap_or_default();
    Diagnostic::new(&INVALID_TARGET, reason)
        .titled(eco_format!("Invalid {option} {value:?}"))
        .naming(option)
        .naming(value)
}

// Executing a plan.

pub(crate) fn operation_cycle(steps: &[EcoString]) -> Diagnostic {
    let detail = eco_format!("These operations depend on each other: {}.", steps.join(", "));
    Diagnostic::new(&OPERATION_CYCLE, detail).hint("Apply the changes in two runs with -target.")
}

pub(crate) fn unknown_during_apply(addr: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!(
        "The configuration of {addr} contains values that are unknown during apply. It may refer to objects that -target or \
         -exclude leaves out."
    );
    Diagnostic::new(&UNKNOWN_DURING_APPLY, detail).hint("Include these objects in the run.")
}

pub(crate) fn plan_does_not_fit() -> Diagnostic {
    let detail = "The operations in the plan file differ from those that its configuration, state and changes require. The \
                  file was modified after it was created.";
    Diagnostic::new(&PLAN_DOES_NOT_FIT, detail).hint("Create a new plan.")
}

/// `unknown` are operations whose results are unknown, `tainted` objects that are not fully created.
pub(crate) fn operation_canceled(unknown: &[EcoString], tainted: &[EcoString]) -> Diagnostic {
    let mut detail =
        EcoString::from("The run was stopped before its operations ended. Finished changes are in the state.");
    if !unknown.is_empty() {
        detail.push_str("\n\nThe results of these operations are unknown:");
        list(&mut detail, unknown);
        detail.push_str("\nCheck these objects. Add an object that exists to the state with \"yuba import\".");
    }
    describe_tainted(&mut detail, tainted);
    Diagnostic::new(&OPERATION_CANCELED, detail)
}

/// An apply was stopped. `tainted` are objects that are not fully created.
pub(crate) fn apply_halted(tainted: &[EcoString]) -> Diagnostic {
    let mut detail = EcoString::from("The run was stopped before it was complete. Finished changes are in the state.");
    describe_tainted(&mut detail, tainted);
    Diagnostic::new(&EXECUTION_HALTED, detail).hint("Apply again to make the remaining changes.")
}

pub(crate) fn planning_halted() -> Diagnostic {
    let detail = "Planning was interrupted, so no plan was created. Nothing was changed.";
    Diagnostic::new(&EXECUTION_HALTED, detail)
}

fn describe_tainted(detail: &mut EcoString, tainted: &[EcoString]) {
    if !tainted.is_empty() {
        detail.push_str(
            "\n\nThese objects were created, but not completed. They are tainted, so the next apply replaces them:",
        );
        list(detail, tainted);
    }
}

/// One item a line.
pub(crate) fn list(out: &mut EcoString, items: &[EcoString]) {
    const SHOWN: usize = 20;
    for item in items.iter().take(SHOWN) {
        out.push_str(&eco_format!("\n  - {item}"));
    }
    if items.len() > SHOWN {
        out.push_str(&eco_format!("\n  - and {} more objects", items.len() - SHOWN));
    }
}

/// Operations that ended, but whose results could not be saved, added to the diagnostic that says why.
pub(crate) fn with_unsaved_operations(mut problem: Diagnostic, lost: &[EcoString]) -> Diagnostic {
    problem.detail.push_str("\n\nThese operations ended, but the storage of the state does not have their results:");
    list(&mut problem.detail, lost);
    problem
}

/// `reason` is that of the provisioner.
pub(crate) fn provisioner_failed(
    provisioner: &str,
    addr: &AbsResourceInstance,
    reason: EcoString,
    at: Span,
) -> Diagnostic {
    let mut problem = Diagnostic::new(&PROVISIONER_FAILED, reason)
        .titled(eco_format!("{provisioner} provisioner error"))
        .naming(provisioner)
        .at(at);
    problem.address = Some(eco_format!("{addr}"));
    problem
}

/// `kind` is the kind of secret in the arguments of the provisioner.
pub(crate) fn hidden_provisioner_reason(kind: &str) -> EcoString {
    eco_format!("The provisioner failed. The reason is not displayed, because its arguments contain {kind} values.")
}
