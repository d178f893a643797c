//! What there is to say about a state file. Titles are OpenTofu's, because people search for them.
//!
//! Commands that only look at a state make one title of the title and the detail of what keeps it from being read. So
//! the first line of such details is OpenTofu's too, and what there is to say besides follows after an empty line.

use std::fmt::Display;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, AbsResource, AbsResourceInstance};
use yuba_syntax::Diagnostic;
use yuba_value::quote::quote;

use crate::json::Fault;
use crate::model::DeposedKey;

const UNSUPPORTED: &str = "Unsupported state file format";
const INVALID: &str = "Invalid state file format";
const METADATA: &str = "Invalid resource instance metadata in state";
const DUPLICATE: &str = "Duplicate resource instance in state";
const OUTPUT_TYPE: &str = "Invalid output value type in state";
const OUTPUT_VALUE: &str = "Invalid output value saved in state";

pub(crate) fn empty_file() -> Diagnostic {
    Diagnostic::error(UNSUPPORTED, "The state file is empty.")
}

pub(crate) fn binary_format() -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        "The state is stored in a legacy binary format that is not supported since Terraform v0.7. To continue, first \
         upgrade the state using Terraform 0.6.16 or earlier.",
    )
}

/// What keeps the format version from being known.
pub(crate) fn not_recognised(fault: &Fault) -> Diagnostic {
    let detail = match fault {
        Fault::Syntax(offset) => {
            eco_format!(
                "The state file is not JSON: there is a syntax error at byte {offset}. If the file was cut off or damaged, \
                 restore it from its backup."
            )
        }
        Fault::Type { field: "version", found } => {
            eco_format!("The version in the state file is {found}. A positive whole number is required.")
        }
        Fault::Type { found, .. } => eco_format!("The state file holds a JSON {found}, where an object is required."),
        Fault::Content { problem, .. } => problem.clone(),
    };
    Diagnostic::error(UNSUPPORTED, detail)
}

/// Follows [`not_recognised`], as long as something can have been done to the file that makes it unreadable.
pub(crate) fn maybe_encrypted() -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        "Because the state file cannot be read as a JSON object, it is not possible to say whether it is encrypted.",
    )
}

pub(crate) fn encrypted() -> Diagnostic {
    let detail = "This state file is encrypted and can not be read without an encryption configuration";
    let mut problem = Diagnostic::error(UNSUPPORTED, detail);
    problem.extra.get_or_insert_default().lacks_encryption = true;
    problem
}

pub(crate) fn version_missing() -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        "The state file does not have a \"version\" attribute, which is required to identify the format version.",
    )
}

pub(crate) fn version_zero() -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        "The state file uses JSON syntax but has a version number of zero. There was never a JSON-based state format \
         zero, so this state file is invalid and cannot be processed.",
    )
}

pub(crate) fn version_too_new(version: u64, writer: Option<&str>) -> Diagnostic {
    let origin = match writer {
        Some(writer) => eco_format!("was created by OpenTofu {writer}"),
        None => "may have been created by a newer version of OpenTofu".into(),
    };
    Diagnostic::error(
        UNSUPPORTED,
        eco_format!(
            "The state file uses format version {version}, which is not supported by OpenTofu {}. This state file \
             {origin}.\n\nThe newest format that can be read here is 4.",
            crate::WRITER_VERSION
        ),
    )
}

/// A file of a known format that does not follow it.
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
    Diagnostic::error(INVALID, detail)
}

pub(crate) fn upgrade(from: u64, problem: &str) -> Diagnostic {
    Diagnostic::error(
        "State format upgrade failed",
        eco_format!(
            "The state file has format version {from} and cannot be read as one of the current format: {problem}."
        ),
    )
}

pub(crate) fn writer_version(version: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid OpenTofu version string",
        eco_format!(
            "State file claims to have been written by OpenTofu version {}, which is not a valid version string.",
            quote(version)
        ),
    )
}

pub(crate) fn resource_mode(mode: &str, kind: &str, name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid resource mode in state",
        eco_format!(
            "State contains a resource with mode {} ({} {}) which is not supported.",
            quote(mode),
            quote(kind),
            quote(name)
        ),
    )
}

pub(crate) fn instance_key(resource: &AbsResource, found: &str) -> Diagnostic {
    Diagnostic::error(
        METADATA,
        eco_format!("Resource {resource} has an instance with the invalid instance key {found}."),
    )
}

pub(crate) fn provider_conflict(instance: &AbsResourceInstance, of_resource: &str, of_instance: &str) -> Diagnostic {
    Diagnostic::warning(
        "Provider field conflict in state",
        eco_format!(
            "The resource {} has the provider address {of_resource}, and its instance {instance} has the provider \
             address {of_instance}. Only one of the two places may have one. The address of the instance is used, and \
             the next change of the state will save it alone.",
            instance.containing()
        ),
    )
}

pub(crate) fn provider_missing(resource: &AbsResource) -> Diagnostic {
    Diagnostic::error(
        "Provider field missing state",
        eco_format!(
            "Resource {resource} is missing a provider address, both on the resource and the resource instances."
        ),
    )
}

pub(crate) fn provider_differs(resource: &AbsResource, one: &AbsProviderConfig, two: &AbsProviderConfig) -> Diagnostic {
    Diagnostic::error(
        "Provider instance field conflict in state",
        eco_format!(
            "Resource {resource} has instances with different provider addresses: {} != {}.\n\nAll instances of a \
             resource belong to one provider configuration; only the instance key at its end may differ.",
            quote(&one.to_string()),
            quote(&two.to_string())
        ),
    )
}

pub(crate) fn object_status(instance: impl Display, status: &str) -> Diagnostic {
    Diagnostic::error(METADATA, eco_format!("Instance {instance} has invalid status {}.", quote(status)))
}

/// What is wrong with something of an instance.
pub(crate) fn in_instance(instance: impl Display, problem: Diagnostic) -> Diagnostic {
    let detail = eco_format!("{}\n\nThe state file has this in the instance {instance}.", problem.detail);
    Diagnostic { detail, ..problem }
}

/// Nothing in a state file has a place in the configuration, so what is wrong with an address is told with its text.
pub(crate) fn in_address(text: &str, problem: Diagnostic) -> Diagnostic {
    let detail = eco_format!("{}\n\nThe state file has the address {}.", problem.detail, quote(text));
    Diagnostic { detail, subject: None, context: None, ..problem }
}

pub(crate) fn deposed_key(instance: &AbsResourceInstance, key: &str) -> Diagnostic {
    Diagnostic::error(
        METADATA,
        eco_format!(
            "Instance {instance} has an object with deposed key {}, which is not correctly formatted.",
            quote(key)
        ),
    )
}

pub(crate) fn duplicate(instance: &AbsResourceInstance, deposed: Option<&DeposedKey>) -> Diagnostic {
    let which = match deposed {
        Some(key) => eco_format!("Instance {instance} deposed object \"{key}\""),
        None => eco_format!("Instance {instance}"),
    };
    Diagnostic::error(DUPLICATE, eco_format!("{which} appears multiple times in the state file."))
}

pub(crate) fn output_type(name: &str, problem: impl Display) -> Diagnostic {
    let detail = eco_format!("The state file has an invalid type specification for output {}: {problem}.", quote(name));
    Diagnostic::error(OUTPUT_TYPE, detail)
}

pub(crate) fn output_value(name: &str, problem: impl Display) -> Diagnostic {
    let detail = eco_format!("The state file has an invalid value for output {}: {problem}.", quote(name));
    Diagnostic::error(OUTPUT_VALUE, detail)
}

pub(crate) fn path_steps(fault: &Fault) -> Diagnostic {
    let detail = match fault {
        Fault::Syntax(_) => "A list of sensitive attributes in the state file is not JSON.".into(),
        Fault::Type { found, .. } => {
            eco_format!(
                "A list of sensitive attributes in the state file has a JSON {found} where that is not possible."
            )
        }
        Fault::Content { problem, .. } => problem.clone(),
    };
    Diagnostic::error("Error unmarshaling path steps", detail)
}

pub(crate) fn path_step(problem: impl Into<EcoString>) -> Diagnostic {
    Diagnostic::error("Error unmarshaling path step", problem)
}

pub(crate) fn path_step_kind(kind: &str) -> Diagnostic {
    Diagnostic::error("Unsupported path step", eco_format!("Unsupported path step type {}", quote(kind)))
}

pub(crate) fn check_address(addr: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid checkable address",
        eco_format!(
            "The check results of the state file have the address {addr:?}, which is not of the kind it has to be."
        ),
    )
}

pub(crate) fn check_config_address(addr: &str) -> Diagnostic {
    Diagnostic::error(
        eco_format!("invalid checkable config address {addr}"),
        "In the check results of the state file, the address of a block has no instance keys.",
    )
}
