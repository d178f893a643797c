//! What can be wrong with a name: every message of this crate about addresses.

use ecow::{EcoString, eco_format};
use yuba_syntax::{Diagnostic, Diagnostics, Span};

use crate::resource::ResourceMode;

fn error(summary: &'static str, detail: impl Into<EcoString>, span: Span) -> Diagnostics {
    Diagnostic::error(summary, detail).at(span).into()
}

pub(crate) fn index_without_name(span: Span) -> Diagnostics {
    error("Invalid address operator", "After the module there must be a dot and a name.", span)
}

pub(crate) fn module_without_name(span: Span) -> Diagnostics {
    error("Invalid address operator", "After \"module\" there must be a dot and the name of a module call.", span)
}

pub(crate) fn module_key(reason: &str, span: Span) -> Diagnostics {
    error("Invalid address operator", eco_format!("This key cannot select an instance of a module: {reason}."), span)
}

pub(crate) fn module_with_key(span: Span) -> Diagnostics {
    error(
        "Module instance address with keys is not allowed",
        "This must be the address of a module with all its instances, like module.a, not of one instance, like \
         module.a[0].",
        span,
    )
}

pub(crate) fn module_expected(span: Span) -> Diagnostics {
    error("Module address expected", "Only the address of a module is possible here.", span)
}

pub(crate) fn module_instance_expected(span: Span, after_module: bool) -> Diagnostics {
    let detail = if after_module {
        "This follows the address of a module instance, where nothing else is possible."
    } else {
        "The address of a module instance starts with \"module.\"."
    };
    error("Invalid module instance address", detail, span)
}

pub(crate) fn resource_incomplete(span: Span) -> Diagnostics {
    error("Invalid address", "The address of a resource consists of its type and its name, with a dot between.", span)
}

pub(crate) fn resource_type_missing(mode: ResourceMode, span: Span) -> Diagnostics {
    let what = match mode {
        ResourceMode::Managed => "a resource type",
        ResourceMode::Data => "a data source",
        ResourceMode::Ephemeral => "an ephemeral resource type",
    };
    error("Invalid address", eco_format!("Here must be the name of {what}, after a dot."), span)
}

pub(crate) fn resource_name_missing(span: Span) -> Diagnostics {
    error("Invalid address", "After the resource type there must be a dot and the name of the resource.", span)
}

pub(crate) fn resource_key(reason: &str, span: Span) -> Diagnostics {
    error("Invalid address", eco_format!("This key cannot select an instance of a resource: {reason}."), span)
}

pub(crate) fn resource_key_not_in_brackets(span: Span) -> Diagnostics {
    error(
        "Invalid address",
        "After the name of a resource only the key of an instance is possible, in square brackets.",
        span,
    )
}

pub(crate) fn too_much(span: Span) -> Diagnostics {
    error("Invalid address", "The address is complete before this: nothing may follow it.", span)
}

pub(crate) fn resource_with_key(span: Span) -> Diagnostics {
    error(
        "Resource instance address with keys is not allowed",
        "This must be the address of a resource with all its instances, like terraform_data.a, not of one instance, \
         like terraform_data.a[0].",
        span,
    )
}

pub(crate) fn resource_expected_not_instance(span: Span) -> Diagnostics {
    error(
        "Invalid address",
        "The address of a resource is needed here. This key makes it the address of one of its instances.",
        span,
    )
}

pub(crate) fn resource_expected_not_module(span: Span) -> Diagnostics {
    error(
        "Invalid address",
        "The address of a resource is needed here: after the module there must be the resource's type and name.",
        span,
    )
}

pub(crate) fn resource_in_module_expected(span: Span) -> Diagnostics {
    error(
        "Module address is not allowed",
        "The address of a resource or data block is needed here, and this is the address of a module.",
        span,
    )
}

pub(crate) fn data_cannot_be_removed(span: Span) -> Diagnostics {
    error(
        "Data source address is not allowed",
        "A data source has nothing that could be destroyed, so there is no \"removed\" block for it. Deleting the data \
         block from the configuration also removes it from the state.",
        span,
    )
}

pub(crate) fn ephemeral_cannot_be_removed(span: Span) -> Diagnostics {
    error(
        "Ephemeral resource address is not allowed",
        "An ephemeral resource is not kept, so there is nothing to destroy and no \"removed\" block for it. Deleting \
         the ephemeral block from the configuration is enough.",
        span,
    )
}

pub(crate) fn import_target_not_address(span: Span) -> Diagnostics {
    error(
        "Invalid import address expression",
        "An import needs the address of a resource instance. Only the keys in its square brackets can be calculated, as \
         in module.network[each.key].aws_subnet.private[var.zone].",
        span,
    )
}

pub(crate) fn import_target_not_text(span: Span) -> Diagnostics {
    error("Expected string expression", "In JSON syntax the address must be a string.", span)
}

pub(crate) fn provider_config(detail: impl Into<EcoString>, span: Span) -> Diagnostics {
    error("Invalid provider configuration address", detail, span)
}
