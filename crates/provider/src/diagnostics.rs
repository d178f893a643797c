//! What can be wrong with a block of a provider.

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsResourceInstance, ProviderSource};
use yuba_syntax::Diagnostic;
use yuba_syntax::suggestion::did_you_mean;
use yuba_value::convert::ConvertError;
use yuba_value::{Deprecation, Path, PathStep, Type, View};

pub(crate) fn incorrect_attribute_value_type(name: &str, error: &ConvertError) -> Diagnostic {
    let place = match error.path.is_empty() {
        true => EcoString::new(),
        false => eco_format!(" (at {})", path_text(&error.path).trim_start_matches('.')),
    };
    // Tests of providers look for these words.
    let detail = eco_format!("Inappropriate value for attribute {name:?}{place}: {}.", error.message);
    Diagnostic::error("Incorrect attribute value type", detail)
}

pub(crate) fn unsupported_block_type(kind: &str) -> Diagnostic {
    Diagnostic::error("Unsupported block type", eco_format!("Blocks of type {kind:?} are not expected here."))
}

pub(crate) fn duplicate_block(kind: &str) -> Diagnostic {
    let detail = eco_format!("Only one block of type {kind:?} is allowed, and there is one already.");
    Diagnostic::error(eco_format!("Duplicate {kind} block"), detail)
}

pub(crate) fn duplicate_labelled_block(kind: &str, label: &str) -> Diagnostic {
    let detail = eco_format!("There is a block {kind} {label:?} already. Labels of {kind} blocks have to be unique.");
    Diagnostic::error(eco_format!("Duplicate {kind} block"), detail)
}

pub(crate) fn missing_block(kind: &str) -> Diagnostic {
    Diagnostic::error(eco_format!("Missing {kind} block"), eco_format!("A block of type {kind:?} is required here."))
}

pub(crate) fn insufficient_blocks(kind: &str, min: u32) -> Diagnostic {
    // Tests of providers look for these words, and for those about too many.
    let detail = eco_format!("At least {min} {kind:?} blocks are required.");
    Diagnostic::error(eco_format!("Insufficient {kind} blocks"), detail)
}

pub(crate) fn too_many_blocks(kind: &str, max: u32) -> Diagnostic {
    let detail = eco_format!("No more than {max} {kind:?} blocks are allowed.");
    Diagnostic::error(eco_format!("Too many {kind} blocks"), detail)
}

pub(crate) fn inconsistent_blocks(kind: &str) -> Diagnostic {
    let detail = "Each attribute has to be of the same type in all blocks of this type.";
    Diagnostic::error(eco_format!("Unconsistent argument types in {kind} blocks"), detail)
}

pub(crate) fn invalid_iterator_name() -> Diagnostic {
    let detail = "The iterator of a dynamic block is a single name, without attributes or indexes.";
    Diagnostic::error("Invalid dynamic iterator name", detail)
}

pub(crate) fn for_each_not_iterable(ty: &Type) -> Diagnostic {
    let detail = eco_format!(
        "The for_each of a dynamic block takes a list, set, map, tuple or object; this is {}.",
        ty.friendly_name()
    );
    Diagnostic::error("Invalid dynamic for_each value", detail)
}

pub(crate) fn null_for_each() -> Diagnostic {
    let detail = "The for_each of a dynamic block must not be null. For no blocks at all, give an empty list.";
    Diagnostic::error("Invalid dynamic for_each value", detail)
}

pub(crate) fn labels_not_a_list() -> Diagnostic {
    Diagnostic::error("Invalid expression", "The labels have to be written as a list: one expression for each label.")
}

pub(crate) fn extraneous_dynamic_label(kind: &str, count: usize) -> Diagnostic {
    Diagnostic::error("Extraneous dynamic block label", eco_format!("Blocks of type {kind:?} have {count} label(s)."))
}

pub(crate) fn insufficient_dynamic_labels(kind: &str, count: usize) -> Diagnostic {
    let detail = eco_format!("Blocks of type {kind:?} have {count} label(s).");
    Diagnostic::error("Insufficient dynamic block labels", detail)
}

pub(crate) fn invalid_dynamic_label(why: &str) -> Diagnostic {
    Diagnostic::error("Invalid dynamic block label", eco_format!("This cannot be a label: {why}."))
}

pub(crate) fn missing_dynamic_content() -> Diagnostic {
    let detail =
        "A dynamic block needs a \"content\" block inside: it says what is in each of the blocks that are made.";
    Diagnostic::error("Missing dynamic content block", detail)
}

pub(crate) fn extraneous_dynamic_content() -> Diagnostic {
    Diagnostic::error("Extraneous dynamic content block", "A dynamic block has one \"content\" block, not more.")
}

pub(crate) fn invalid_index_operation(name: Option<&str>) -> Diagnostic {
    let hint = match name {
        Some(name) => eco_format!("write .{name}"),
        None => "an attribute is reached with a dot".into(),
    };
    Diagnostic::error("Invalid index operation", eco_format!("This object has attributes, not elements: {hint}."))
}

pub(crate) fn unsupported_attribute<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let hint = did_you_mean(name, known);
    let detail = eco_format!("This object has no argument, block or computed attribute {name:?}.{hint}");
    Diagnostic::error("Unsupported attribute", detail)
}

pub(crate) fn cannot_index_set(kind: &str) -> Diagnostic {
    let detail = eco_format!(
        "The blocks of type {kind:?} are a set, whose elements have no keys. A \"for\" expression with \"if\" finds \
         elements by what is in them."
    );
    Diagnostic::error("Cannot index a set value", detail)
}

pub(crate) fn list_not_indexed(kind: &str) -> Diagnostic {
    let detail = eco_format!("The blocks of type {kind:?} are a list: say which one is meant, as in .{kind}[0].");
    Diagnostic::error("Invalid operation", detail)
}

/// The title when something ephemeral would be stored.
pub const EPHEMERAL_VALUE_SUMMARY: &str = "Ephemeral value used in non-ephemeral context";

pub(crate) fn ephemeral_in_attribute(path: &Path) -> Diagnostic {
    let detail = eco_format!(
        "{:?} would be stored, but its value is ephemeral. Ephemeral values can be used in write-only attributes, and \
         in what is ephemeral itself.",
        path_text(path)
    );
    Diagnostic::error(EPHEMERAL_VALUE_SUMMARY, detail)
}

pub(crate) fn derived_from_deprecated(deprecation: &Deprecation) -> Diagnostic {
    let detail = match deprecation.message.as_str() {
        "" => eco_format!("This value comes from {}, which is deprecated.", deprecation.source),
        message => eco_format!("This value comes from {}, which is deprecated:\n\n{message}", deprecation.source),
    };
    Diagnostic::warning("Value derived from a deprecated source", detail)
}

pub(crate) fn read_only(name: &str) -> Diagnostic {
    Diagnostic::error(eco_format!("{name:?} attribute is read-only"), "")
}

pub(crate) fn invalid_backend_configuration(detail: EcoString) -> Diagnostic {
    Diagnostic::error("Invalid backend configuration", detail)
}

pub(crate) fn invalid_default_values() -> Diagnostic {
    Diagnostic::error("Invalid default values", "The defaults have to be an object: a value for each output's name.")
}

pub(crate) fn unable_to_find_remote_state() -> Diagnostic {
    let detail = "There is no state for this workspace in this backend. Apply the configuration that makes it first, or \
                  check the backend's configuration and the name of the workspace.";
    Diagnostic::error("Unable to find remote state", detail)
}

pub(crate) fn unable_to_read_remote_state(address: &AbsResourceInstance) -> Diagnostic {
    Diagnostic::error(eco_format!("{address}: Unable to read remote state"), "")
}

pub(crate) fn empty_local_path(name: &str) -> Diagnostic {
    let summary = match name {
        "path" => "Invalid local state file path",
        _ => "Invalid local workspace directory path",
    };
    Diagnostic::error(summary, eco_format!("The argument {name:?} must not be an empty text."))
}

/// A path as it would be written: `.a[0]["b"]`.
pub(crate) fn path_text(path: &Path) -> EcoString {
    path.0.iter().fold(EcoString::new(), |text, step| match step {
        PathStep::Attr(name) => text + "." + name.as_str(),
        PathStep::Index(key) => match key.view_ignoring_marks() {
            View::Number(number) if key.marks().is_empty() => text + eco_format!("[{number}]").as_str(),
            View::String(key_text) if key.marks().is_empty() => text + eco_format!("[{key_text:?}]").as_str(),
            _ => text + "[...]",
        },
    })
}

yuba_syntax::catalogue! {
    /// A provider is asked to do something, and only its recorded schema is available.
    ONLY_PROVIDER_SCHEMA_RECORDED = error "only-provider-schema-recorded", "Failed to start provider";
    /// A provider is sent a request that it does not implement.
    PROVIDER_REQUEST_UNSUPPORTED = error "provider-request-unsupported", "Unsupported provider request";
}

pub(crate) fn only_schema_recorded(provider: &ProviderSource) -> Diagnostic {
    let detail = eco_format!("Only the schema of provider {provider} is recorded, so it cannot be started.");
    Diagnostic::new(&ONLY_PROVIDER_SCHEMA_RECORDED, detail)
}

pub(crate) fn unsupported_request(request: &str) -> Diagnostic {
    let detail = eco_format!("The provider does not support the request {request:?}.");
    Diagnostic::new(&PROVIDER_REQUEST_UNSUPPORTED, detail).hint("Use a newer version of the provider.")
}
