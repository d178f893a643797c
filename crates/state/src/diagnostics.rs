//! The diagnostics about a state file. Titles are OpenTofu's, because people search for them.
//!
//! Commands that only read a state make one title of the title and the detail of the error. So the first line of such
//! details is OpenTofu's too, and further explanations follow after an empty line.

use std::fmt::Display;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, AbsResource, AbsResourceInstance};
use yuba_syntax::Diagnostic;
use yuba_value::quote::quote;

use crate::json::Fault;
use crate::model::DeposedKey;

yuba_syntax::catalogue! {
    /// A state file is empty.
    STATE_FILE_EMPTY = error "state-file-empty", "Unsupported state file format";
    /// A state file is in the binary format of versions before 0.7.
    STATE_FORMAT_BINARY = error "state-format-binary", "Unsupported state file format";
    /// A state file is not a JSON object with a format version.
    STATE_FORMAT_UNRECOGNIZED = error "state-format-unrecognized", "Unsupported state file format";
    /// A state file that is not JSON may be encrypted.
    STATE_MAYBE_ENCRYPTED = error "state-maybe-encrypted", "Unsupported state file format";
    /// A state file is encrypted, and the configuration does not set up encryption.
    STATE_ENCRYPTED = error "state-encrypted", "Unsupported state file format";
    /// A state file has no format version, or one that never existed.
    STATE_VERSION_INVALID = error "state-version-invalid", "Unsupported state file format";
    /// A state file has a newer format version.
    STATE_VERSION_TOO_NEW = error "state-version-too-new", "Unsupported state file format";
    /// A state file does not follow its format.
    STATE_FILE_MALFORMED = error "state-file-malformed", "Invalid state file format";
    /// A state file of an old format cannot be upgraded.
    STATE_UPGRADE_FAILED = error "state-upgrade-failed", "State format upgrade failed";
    /// A state file names a malformed version of the tool that wrote it.
    STATE_WRITER_VERSION_INVALID = error "state-writer-version-invalid", "Invalid OpenTofu version string";
    /// A resource in a state file has an unknown mode.
    STATE_RESOURCE_MODE_INVALID = error "state-resource-mode-invalid", "Invalid resource mode in state";
    /// An instance in a state file has an invalid key, status or deposed key.
    STATE_INSTANCE_INVALID = error "state-instance-invalid", "Invalid resource instance metadata in state";
    /// A resource and its instance in a state file both have a provider address.
    STATE_PROVIDER_CONFLICT = warning "state-provider-conflict", "Provider field conflict in state";
    /// A resource in a state file has no provider address.
    STATE_PROVIDER_MISSING = error "state-provider-missing", "Provider field missing state";
    /// Instances of one resource in a state file have different provider addresses.
    STATE_PROVIDERS_DIFFER = error "state-providers-differ", "Provider instance field conflict in state";
    /// A state file contains an object twice.
    STATE_INSTANCE_DUPLICATE = error "state-instance-duplicate", "Duplicate resource instance in state";
    /// An output in a state file has an invalid type.
    STATE_OUTPUT_TYPE_INVALID = error "state-output-type-invalid", "Invalid output value type in state";
    /// An output in a state file has an invalid value.
    STATE_OUTPUT_VALUE_INVALID = error "state-output-value-invalid", "Invalid output value saved in state";
    /// The list of sensitive attributes of an object in a state file is malformed.
    STATE_SENSITIVE_PATHS_MALFORMED = error "state-sensitive-paths-malformed", "Error unmarshaling path steps";
    /// A path of a sensitive attribute in a state file has a malformed step.
    STATE_PATH_STEP_MALFORMED = error "state-path-step-malformed", "Error unmarshaling path step";
    /// A path of a sensitive attribute in a state file has a step of unknown type.
    STATE_PATH_STEP_UNKNOWN = error "state-path-step-unknown", "Unsupported path step";
    /// A check result in a state file has an address of the wrong kind.
    STATE_CHECK_ADDRESS_INVALID = error "state-check-address-invalid", "Invalid checkable address";
    /// A check result in a state file has a block address with instance keys.
    STATE_CHECK_CONFIG_ADDRESS_INVALID = error "state-check-config-address-invalid", "invalid checkable config address {address}";
}

pub(crate) fn empty_file() -> Diagnostic {
    Diagnostic::new(&STATE_FILE_EMPTY, "The state file is empty.")
}

pub(crate) fn binary_format() -> Diagnostic {
    let detail = "The state is stored in a legacy binary format that is not supported since Terraform v0.7. To continue, \
        first upgrade the state using Terraform 0.6.16 or earlier.";
    Diagnostic::new(&STATE_FORMAT_BINARY, detail)
}

/// The format version cannot be read.
pub(crate) fn not_recognised(fault: &Fault) -> Diagnostic {
    let detail = match fault {
        Fault::Syntax(offset) => {
            let detail = eco_format!("The state file is not valid JSON: syntax error at byte {offset}.");
            return Diagnostic::new(&STATE_FORMAT_UNRECOGNIZED, detail)
                .hint("If the file is truncated or damaged, restore it from its backup.");
        }
        Fault::Type { field: "version", found } => {
            eco_format!("The version in the state file is {found}. A positive whole number is required.")
        }
        Fault::Type { found, .. } => {
            eco_format!("The state file contains a JSON {found}, where an object is required.")
        }
        Fault::Content { problem, .. } => problem.clone(),
    };
    Diagnostic::new(&STATE_FORMAT_UNRECOGNIZED, detail)
}

/// Follows [`not_recognised`] where encryption can be the reason why a file is unreadable.
pub(crate) fn maybe_encrypted() -> Diagnostic {
    let detail = "The state file is not a JSON object, so Yuba cannot detect whether it is encrypted.";
    Diagnostic::new(&STATE_MAYBE_ENCRYPTED, detail)
}

pub(crate) fn encrypted() -> Diagnostic {
    let detail = "This state file is encrypted and can not be read without an encryption configuration";
    let mut problem = Diagnostic::new(&STATE_ENCRYPTED, detail);
    problem.extra.get_or_insert_default().lacks_encryption = true;
    problem
}

pub(crate) fn version_missing() -> Diagnostic {
    let detail =
        "The state file does not have a \"version\" attribute, which is required to identify the format version.";
    Diagnostic::new(&STATE_VERSION_INVALID, detail)
}

pub(crate) fn version_zero() -> Diagnostic {
    let detail = "The state file uses JSON syntax but has a version number of zero. There was never a JSON-based state \
        format zero, so this state file is invalid and cannot be processed.";
    Diagnostic::new(&STATE_VERSION_INVALID, detail)
}

pub(crate) fn version_too_new(version: u64, writer: Option<&str>) -> Diagnostic {
    let origin = match writer {
        Some(writer) => eco_format!("was created by OpenTofu {writer}"),
        None => "may have been created by a newer version of OpenTofu".into(),
    };
    let detail = eco_format!(
        "The state file uses format version {version}, which is not supported by OpenTofu {}. This state file \
         {origin}.\n\nThe newest supported format version is 4.",
        crate::WRITER_VERSION
    );
    Diagnostic::new(&STATE_VERSION_TOO_NEW, detail)
}

/// A file of a known format version does not follow the format.
pub(crate) fn not_the_format(fault: &Fault) -> Diagnostic {
    let detail = match fault {
        Fault::Syntax(offset) => {
            eco_format!("The state file could not be parsed as JSON: syntax error at byte offset {offset}.")
        }
        Fault::Type { field: "", .. } => "The state file does not conform to the expected JSON data structure.".into(),
        Fault::Type { field, found } => eco_format!("The state file field {field:?} has invalid value {found}"),
        Fault::Content { field, problem } => eco_format!(
            "The state file does not conform to the expected JSON data structure: field {field:?}: {problem}."
        ),
    };
    Diagnostic::new(&STATE_FILE_MALFORMED, detail)
}

pub(crate) fn upgrade(from: u64, problem: &str) -> Diagnostic {
    let detail =
        eco_format!("Failed to upgrade the state file from format version {from} to the current format: {problem}.");
    Diagnostic::new(&STATE_UPGRADE_FAILED, detail)
}

pub(crate) fn writer_version(version: &str) -> Diagnostic {
    let detail = eco_format!(
        "State file claims to have been written by OpenTofu version {}, which is not a valid version string.",
        quote(version)
    );
    Diagnostic::new(&STATE_WRITER_VERSION_INVALID, detail)
}

pub(crate) fn resource_mode(mode: &str, kind: &str, name: &str) -> Diagnostic {
    let detail = eco_format!(
        "State contains a resource with mode {} ({} {}) which is not supported.",
        quote(mode),
        quote(kind),
        quote(name)
    );
    Diagnostic::new(&STATE_RESOURCE_MODE_INVALID, detail)
}

pub(crate) fn instance_key(resource: &AbsResource, found: &str) -> Diagnostic {
    let detail = eco_format!("Resource {resource} has an instance with the invalid instance key {found}.");
    Diagnostic::new(&STATE_INSTANCE_INVALID, detail)
}

pub(crate) fn provider_conflict(instance: &AbsResourceInstance, of_resource: &str, of_instance: &str) -> Diagnostic {
    let detail = eco_format!(
        "The resource {} has the provider address {of_resource}, and its instance {instance} has the provider address \
         {of_instance}. Yuba uses the address of the instance, and writes only this one when the state changes.",
        instance.containing()
    );
    Diagnostic::new(&STATE_PROVIDER_CONFLICT, detail)
}

pub(crate) fn provider_missing(resource: &AbsResource) -> Diagnostic {
    let detail = eco_format!(
        "Resource {resource} is missing a provider address, both on the resource and the resource instances."
    );
    Diagnostic::new(&STATE_PROVIDER_MISSING, detail)
}

pub(crate) fn provider_differs(resource: &AbsResource, one: &AbsProviderConfig, two: &AbsProviderConfig) -> Diagnostic {
    let detail = eco_format!(
        "Resource {resource} has instances with different provider addresses: {} != {}.\n\nAll instances of a resource \
         must belong to one provider configuration. Only its instance key can differ.",
        quote(&one.to_string()),
        quote(&two.to_string())
    );
    Diagnostic::new(&STATE_PROVIDERS_DIFFER, detail)
}

/// Rows of one resource name two provider configurations.
pub(crate) fn rows_of_two_providers(resource: &AbsResource, one: &str, two: &str) -> Diagnostic {
    let detail = eco_format!(
        "Rows of resource {resource} have different provider addresses: {} != {}.\n\nAll instances of a resource must belong to \
         one provider configuration.",
        quote(one),
        quote(two)
    );
    Diagnostic::new(&STATE_PROVIDERS_DIFFER, detail)
}

pub(crate) fn object_status(instance: impl Display, status: &str) -> Diagnostic {
    let detail = eco_format!("Instance {instance} has invalid status {}.", quote(status));
    Diagnostic::new(&STATE_INSTANCE_INVALID, detail)
}

/// Adds the instance to a diagnostic about a part of it.
pub(crate) fn in_instance(instance: impl Display, problem: Diagnostic) -> Diagnostic {
    let detail = eco_format!("{}\n\nThe instance in the state file is {instance}.", problem.detail);
    Diagnostic { detail, ..problem }
}

/// Adds the address as written. State files do not have locations in the configuration.
pub(crate) fn in_address(text: &str, problem: Diagnostic) -> Diagnostic {
    let detail = eco_format!("{}\n\nThe address in the state file is {}.", problem.detail, quote(text));
    Diagnostic { detail, subject: None, context: None, ..problem }
}

pub(crate) fn deposed_key(instance: &AbsResourceInstance, key: &str) -> Diagnostic {
    let detail = eco_format!(
        "Instance {instance} has an object with deposed key {}, which is not correctly formatted.",
        quote(key)
    );
    Diagnostic::new(&STATE_INSTANCE_INVALID, detail)
}

pub(crate) fn duplicate(instance: &AbsResourceInstance, deposed: Option<&DeposedKey>) -> Diagnostic {
    let which = match deposed {
        Some(key) => eco_format!("Instance {instance} deposed object \"{key}\""),
        None => eco_format!("Instance {instance}"),
    };
    Diagnostic::new(&STATE_INSTANCE_DUPLICATE, eco_format!("{which} appears multiple times in the state file."))
}

pub(crate) fn output_type(name: &str, problem: impl Display) -> Diagnostic {
    let detail = eco_format!("The state file has an invalid type specification for output {}: {problem}.", quote(name));
    Diagnostic::new(&STATE_OUTPUT_TYPE_INVALID, detail)
}

pub(crate) fn output_value(name: &str, problem: impl Display) -> Diagnostic {
    let detail = eco_format!("The state file has an invalid value for output {}: {problem}.", quote(name));
    Diagnostic::new(&STATE_OUTPUT_VALUE_INVALID, detail)
}

pub(crate) fn path_steps(fault: &Fault) -> Diagnostic {
    let detail = match fault {
        Fault::Syntax(_) => "A list of sensitive attributes in the state file is not valid JSON.".into(),
        Fault::Type { found, .. } => {
            eco_format!("A list of sensitive attributes in the state file contains an unexpected JSON {found}.")
        }
        Fault::Content { problem, .. } => problem.clone(),
    };
    Diagnostic::new(&STATE_SENSITIVE_PATHS_MALFORMED, detail)
}

pub(crate) fn attribute_name_type(found: &str) -> Diagnostic {
    let detail = eco_format!("The name of an attribute must be a JSON string, and is a JSON {found}.");
    Diagnostic::new(&STATE_PATH_STEP_MALFORMED, detail)
}

pub(crate) fn attribute_name_malformed() -> Diagnostic {
    Diagnostic::new(&STATE_PATH_STEP_MALFORMED, "The name of an attribute must be a JSON string.")
}

pub(crate) fn index_key(reason: &str) -> Diagnostic {
    Diagnostic::new(&STATE_PATH_STEP_MALFORMED, eco_format!("Failed to read the key of an index step: {reason}."))
}

pub(crate) fn path_step_kind(kind: &str) -> Diagnostic {
    Diagnostic::new(&STATE_PATH_STEP_UNKNOWN, eco_format!("Unsupported path step type {}", quote(kind)))
}

pub(crate) fn check_address(addr: &str) -> Diagnostic {
    let detail: EcoString =
        eco_format!("The check results of the state file contain the address {addr:?}, which is of the wrong kind.");
    Diagnostic::new(&STATE_CHECK_ADDRESS_INVALID, detail)
}

pub(crate) fn check_config_address(addr: &str) -> Diagnostic {
    let detail = "The address of a block in the check results of the state file must not have instance keys.";
    Diagnostic::new(&STATE_CHECK_CONFIG_ADDRESS_INVALID, detail)
        .titled(eco_format!("invalid checkable config address {addr}"))
}
