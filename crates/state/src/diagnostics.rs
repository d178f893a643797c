//! What there is to say about a state file. Titles are OpenTofu's, because people search for them.

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, AbsResource, AbsResourceInstance, ModuleInstance, TargetSubject};
use yuba_syntax::Diagnostic;

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
        "The state is in the binary format that Terraform had before version 0.7. Terraform 0.6.16 can bring it into \
         a format that can still be read.",
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
            eco_format!("The version in the state file is {found}, where a positive whole number is required.")
        }
        Fault::Type { found, .. } => eco_format!("The state file holds {found}, where a JSON object is required."),
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
    Diagnostic::error(
        UNSUPPORTED,
        "The state file is encrypted and cannot be read without the encryption configuration it was written with.",
    )
}

pub(crate) fn version_missing() -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        "The state file has no \"version\" attribute, so there is no telling what its format is.",
    )
}

pub(crate) fn version_zero() -> Diagnostic {
    Diagnostic::error(
        UNSUPPORTED,
        "The state file says that its format version is zero. There never was such a format in JSON, so the file cannot \
         be a valid one.",
    )
}

pub(crate) fn version_too_new(version: u64, writer: Option<&str>) -> Diagnostic {
    let origin = match writer {
        Some(writer) => eco_format!("It was written by version {writer}"),
        None => "It may have been written by a newer version".into(),
    };
    Diagnostic::error(
        UNSUPPORTED,
        eco_format!(
            "The state file has format version {version}; the newest one that can be read here is 4. {origin}. Use a \
             version that knows this format."
        ),
    )
}

/// A file of a known format that does not follow it.
pub(crate) fn not_the_format(fault: &Fault) -> Diagnostic {
    let detail = match fault {
        Fault::Syntax(offset) => {
            eco_format!("The state file is not JSON: there is a syntax error at byte {offset}.")
        }
        Fault::Type { field, found } => {
            eco_format!("The field {field:?} of the state file must not be {found}.")
        }
        Fault::Content { field, problem } => eco_format!("The field {field:?} of the state file {problem}."),
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
        eco_format!("The state file says that version {version:?} wrote it, which is not a version number."),
    )
}

pub(crate) fn resource_mode(mode: &str, kind: &str, name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid resource mode in state",
        eco_format!(
            "The resource {kind:?} {name:?} has the mode {mode:?}. Only \"managed\" and \"data\" are possible."
        ),
    )
}

pub(crate) fn instance_key(resource: &AbsResource, found: &str) -> Diagnostic {
    Diagnostic::error(
        METADATA,
        eco_format!("An instance of {resource} has {found} as its key, where a number or a string is required."),
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
        eco_format!("Neither the resource {resource} nor one of its instances has a provider address."),
    )
}

pub(crate) fn provider_differs(resource: &AbsResource, one: &AbsProviderConfig, two: &AbsProviderConfig) -> Diagnostic {
    Diagnostic::error(
        "Provider instance field conflict in state",
        eco_format!(
            "The instances of {resource} belong to different provider configurations, {one} and {two}. All instances of \
             a resource belong to one provider configuration; only the instance key at its end may differ."
        ),
    )
}

pub(crate) fn object_status(status: &str) -> Diagnostic {
    Diagnostic::error(
        METADATA,
        eco_format!("A resource instance has the status {status:?}. Only \"tainted\" or none is possible."),
    )
}

pub(crate) fn deposed_key(instance: &AbsResourceInstance, key: &str) -> Diagnostic {
    Diagnostic::error(
        METADATA,
        eco_format!(
            "The instance {instance} has a deposed object with the key {key:?}, which is not of eight characters."
        ),
    )
}

pub(crate) fn duplicate(instance: &AbsResourceInstance, deposed: Option<&DeposedKey>) -> Diagnostic {
    let which = match deposed {
        Some(key) => eco_format!("The deposed object {key} of {instance}"),
        None => eco_format!("The instance {instance}"),
    };
    Diagnostic::error(DUPLICATE, eco_format!("{which} is more than once in the state file."))
}

pub(crate) fn output_type(name: &str, problem: impl std::fmt::Display) -> Diagnostic {
    let detail =
        eco_format!("The state file has something as the type of the output {name:?} that is no type: {problem}.");
    Diagnostic::error(OUTPUT_TYPE, detail)
}

pub(crate) fn output_value(name: &str, problem: impl std::fmt::Display) -> Diagnostic {
    let detail = eco_format!("The value of the output {name:?} in the state file is not of its type: {problem}.");
    Diagnostic::error(OUTPUT_VALUE, detail)
}

pub(crate) fn path_steps(fault: &Fault) -> Diagnostic {
    let detail = match fault {
        Fault::Syntax(_) => "A list of sensitive attributes in the state file is not JSON.".into(),
        Fault::Type { found, .. } => {
            eco_format!("A list of sensitive attributes in the state file has {found} where that is not possible.")
        }
        Fault::Content { problem, .. } => problem.clone(),
    };
    Diagnostic::error("Error unmarshaling path steps", detail)
}

pub(crate) fn path_step(problem: impl Into<EcoString>) -> Diagnostic {
    Diagnostic::error("Error unmarshaling path step", problem)
}

pub(crate) fn path_step_kind(kind: &str) -> Diagnostic {
    Diagnostic::error(
        "Unsupported path step",
        eco_format!(
            "A path to a sensitive attribute in the state file has a step of the kind {kind:?}, which there is not."
        ),
    )
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

const MOVE_SOURCE: &str = "Invalid source address";
const MOVE_TARGET: &str = "Invalid target address";
const MOVE_REQUEST: &str = "Invalid state move request";

pub(crate) fn nothing_at(target: &TargetSubject) -> Diagnostic {
    let (summary, what) = match target {
        TargetSubject::Module(_) => ("Unknown module", "module"),
        TargetSubject::Resource(_) => ("Unknown resource", "resource"),
        TargetSubject::Instance(_) => ("Unknown resource instance", "resource instance"),
    };
    Diagnostic::error(
        summary,
        eco_format!(
            "There is no {what} {target} in the state. If it is new in the configuration, it gets into the state with the \
             next apply."
        ),
    )
}

pub(crate) fn move_of_nothing(source: &TargetSubject) -> Diagnostic {
    Diagnostic::error(MOVE_SOURCE, eco_format!("Cannot move {source}: nothing in the state is called so."))
}

pub(crate) fn move_of_missing(source: &AbsResourceInstance) -> Diagnostic {
    Diagnostic::error(MOVE_SOURCE, eco_format!("There is no {source} in the state."))
}

pub(crate) fn move_module_to(source: &ModuleInstance, target: &TargetSubject) -> Diagnostic {
    Diagnostic::error(MOVE_TARGET, eco_format!("Cannot move {source} to {target}: a module can only become a module."))
}

pub(crate) fn move_resource_to(source: &AbsResource, target: &TargetSubject) -> Diagnostic {
    Diagnostic::error(
        MOVE_TARGET,
        eco_format!(
            "Cannot move {source} to {target}: {source} is a resource with all its instances, which can only become a \
             resource as a whole."
        ),
    )
}

pub(crate) fn move_instance_to(source: &AbsResourceInstance, target: &TargetSubject) -> Diagnostic {
    Diagnostic::error(
        MOVE_TARGET,
        eco_format!("Cannot move {source} to {target}: a resource instance can only become a resource instance."),
    )
}

pub(crate) fn move_onto(target: &TargetSubject) -> Diagnostic {
    Diagnostic::error(MOVE_TARGET, eco_format!("Cannot move to {target}: the state has something there already."))
}

pub(crate) fn move_onto_module(target: &ModuleInstance) -> Diagnostic {
    Diagnostic::error(
        "Destination module already exists",
        eco_format!("Cannot move to {target}: the state has resources in that module already."),
    )
}

pub(crate) fn move_of_ephemeral() -> Diagnostic {
    Diagnostic::error(
        MOVE_REQUEST,
        "Ephemeral resources are never in a state, so they can be neither source nor target of a move. It is enough to \
         change the configuration.",
    )
}

pub(crate) fn move_between_modes(from: &AbsResource, to: &AbsResource) -> Diagnostic {
    let mode = from.resource.mode.as_str();
    Diagnostic::error(
        MOVE_REQUEST,
        eco_format!("Cannot move {from} to {to}: a {mode} resource can only become another {mode} resource."),
    )
}

pub(crate) fn move_between_types(from: &AbsResource, to: &AbsResource) -> Diagnostic {
    Diagnostic::error(MOVE_REQUEST, eco_format!("Cannot move {from} to {to}: they are of different resource types."))
}
