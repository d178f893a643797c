//! The diagnostics about blocks that a provider's schema describes.

use ecow::{EcoString, eco_format};
use yuba_addrs::ProviderSource;
use yuba_syntax::suggestion::suggest;
use yuba_syntax::{Diagnostic, Severity, UNSUPPORTED_BLOCK_TYPE};
use yuba_value::convert::ConvertError;
use yuba_value::{Path, PathStep, Type, View};

yuba_syntax::catalogue! {
    /// A provider reports a warning or an error of its own.
    pub PROVIDER_REPORTED = error "provider-reported", "{summary}";
    /// The value of an argument does not match the type of the provider's schema.
    ATTRIBUTE_TYPE_MISMATCH = error "attribute-type-mismatch", "Incorrect attribute value type";
    /// A block contains a second nested block of a type, or with a label, that the schema allows once.
    DUPLICATE_NESTED_BLOCK = error "duplicate-nested-block", "Duplicate {type} block";
    /// A block lacks a nested block that the schema requires.
    NESTED_BLOCK_MISSING = error "nested-block-missing", "Missing {type} block";
    /// A block contains fewer nested blocks than the schema requires.
    TOO_FEW_NESTED_BLOCKS = error "too-few-nested-blocks", "Insufficient {type} blocks";
    /// A block contains more nested blocks than the schema allows.
    TOO_MANY_NESTED_BLOCKS = error "too-many-nested-blocks", "Too many {type} blocks";
    /// Nested blocks of one type set an attribute of any type to values of different types.
    NESTED_BLOCK_TYPES_DIFFER = error "nested-block-types-differ", "Unconsistent argument types in {type} blocks";

    /// The iterator of a dynamic block is not a single name.
    DYNAMIC_ITERATOR_INVALID = error "dynamic-iterator-invalid", "Invalid dynamic iterator name";
    /// The `for_each` of a dynamic block is null, or not a collection.
    DYNAMIC_FOR_EACH_INVALID = error "dynamic-for-each-invalid", "Invalid dynamic for_each value";
    /// The labels of a dynamic block are not a list literal.
    DYNAMIC_LABELS_NOT_LIST = error "dynamic-labels-not-list", "Invalid expression";
    /// A dynamic block has more labels than its block type takes.
    DYNAMIC_LABEL_EXTRANEOUS = error "dynamic-label-extraneous", "Extraneous dynamic block label";
    /// A dynamic block has fewer labels than its block type requires.
    DYNAMIC_LABELS_MISSING = error "dynamic-labels-missing", "Insufficient dynamic block labels";
    /// A label of a dynamic block is not a known string.
    DYNAMIC_LABEL_INVALID = error "dynamic-label-invalid", "Invalid dynamic block label";
    /// A dynamic block contains no content block.
    DYNAMIC_CONTENT_MISSING = error "dynamic-content-missing", "Missing dynamic content block";
    /// A dynamic block contains more than one content block.
    DYNAMIC_CONTENT_EXTRANEOUS = error "dynamic-content-extraneous", "Extraneous dynamic content block";

    /// A reference uses an index key on an object that has attributes.
    INDEX_OF_OBJECT = error "index-of-object", "Invalid index operation";
    /// A reference names an attribute that the schema does not have.
    SCHEMA_ATTRIBUTE_UNKNOWN = error "schema-attribute-unknown", "Unsupported attribute";
    /// A reference uses a key to select a block of a set.
    INDEX_OF_BLOCK_SET = error "index-of-block-set", "Cannot index a set value";
    /// A reference names an attribute of a list of blocks without selecting one.
    BLOCK_LIST_WITHOUT_INDEX = error "block-list-without-index", "Invalid operation";

    /// An ephemeral value is assigned to an attribute that is stored.
    pub EPHEMERAL_VALUE_STORED = error "ephemeral-value-stored", "Ephemeral value used in non-ephemeral context";

    /// The configuration of a terraform_data resource sets a read-only attribute.
    READ_ONLY_ATTRIBUTE = error "read-only-attribute", "\"{attribute}\" attribute is read-only";
    /// A resource or data source type does not exist in the built-in provider.
    BUILTIN_TYPE_UNKNOWN = error "builtin-type-unknown", "Unsupported resource type";
    /// A terraform_data resource is imported by identity.
    IMPORT_BY_IDENTITY_UNSUPPORTED = error "import-by-identity-unsupported", "Import by identity not supported";
    /// The stored object of a terraform_data resource is malformed.
    STORED_OBJECT_INVALID = error "stored-object-invalid", "Invalid stored object";
    /// A resource of another type than null_resource is moved to terraform_data.
    MOVE_BETWEEN_TYPES_UNSUPPORTED = error "move-between-types-unsupported", "Unsupported move";
    /// The backend or its configuration in terraform_remote_state is invalid.
    REMOTE_STATE_BACKEND_INVALID = error "remote-state-backend-invalid", "Invalid backend configuration";
    /// The defaults of terraform_remote_state are not an object.
    REMOTE_STATE_DEFAULTS_INVALID = error "remote-state-defaults-invalid", "Invalid default values";
    /// The state that terraform_remote_state reads does not exist.
    REMOTE_STATE_NOT_FOUND = error "remote-state-not-found", "Unable to find remote state";
    /// The state that terraform_remote_state reads cannot be read.
    REMOTE_STATE_UNREADABLE = error "remote-state-unreadable", "{address}: Unable to read remote state";

    /// A test overrides a field that the schema of the resource does not have, or a block that is not configured.
    MOCK_BLOCK_FIELD_INVALID = error "mock-block-field-invalid", "Invalid override for block field `{name}`";
    /// A test overrides an attribute with a value that the provider could not return.
    MOCK_FIELD_INVALID = error "mock-field-invalid", "Invalid mock/override field `{name}`";
    /// A test overrides an attribute that providers do not compute.
    MOCK_FIELD_NOT_COMPUTED = error "mock-field-not-computed", "Non-computed field `{name}` is not allowed to be overridden";
    /// A test overrides a write-only attribute.
    MOCK_FIELD_WRITE_ONLY = warning "mock-field-write-only", "Encountered override for write-only attribute `{name}`";
    /// A type is missing in the schema of the provider that a test replaces.
    MOCK_TYPE_UNKNOWN = error "mock-type-unknown", "Unsupported resource type";
    /// A resource with a mock provider is moved to another type.
    MOCK_MOVE_UNSUPPORTED = error "mock-move-unsupported", "Move between resource types not possible with a mock provider";
}

/// A diagnostic in the words of a provider.
pub fn provider_reported(
    severity: Severity,
    summary: impl Into<EcoString>,
    detail: impl Into<EcoString>,
) -> Diagnostic {
    let (summary, detail) = (summary.into(), detail.into());
    // The messages of a provider have no codes, so the message itself is the identity.
    Diagnostic::new(&PROVIDER_REPORTED, detail.clone())
        .titled(summary.clone())
        .naming(summary)
        .about(detail)
        .with_severity(severity)
}

// Attributes and blocks

pub(crate) fn incorrect_attribute_value_type(name: &str, error: &ConvertError) -> Diagnostic {
    let location = match error.path.is_empty() {
        true => EcoString::new(),
        false => eco_format!(" (at {})", path_text(&error.path).trim_start_matches('.')),
    };
    // Tests of providers look for these words.
    let detail = eco_format!("Inappropriate value for attribute {name:?}{location}: {}.", error.message);
    Diagnostic::new(&ATTRIBUTE_TYPE_MISMATCH, detail)
}

pub(crate) fn unsupported_block_type(kind: &str) -> Diagnostic {
    Diagnostic::new(&UNSUPPORTED_BLOCK_TYPE, eco_format!("Blocks of type {kind:?} are not expected here."))
}

pub(crate) fn duplicate_block(kind: &str) -> Diagnostic {
    let detail = eco_format!("Only one block of type {kind:?} is allowed, and this is the second.");
    Diagnostic::new(&DUPLICATE_NESTED_BLOCK, detail).titled(eco_format!("Duplicate {kind} block")).naming(kind)
}

pub(crate) fn duplicate_labelled_block(kind: &str, label: &str) -> Diagnostic {
    let detail = eco_format!("The label {label:?} is already used. Labels of {kind} blocks must be unique.");
    Diagnostic::new(&DUPLICATE_NESTED_BLOCK, detail).titled(eco_format!("Duplicate {kind} block")).naming(kind)
}

pub(crate) fn missing_block(kind: &str) -> Diagnostic {
    Diagnostic::new(&NESTED_BLOCK_MISSING, eco_format!("A block of type {kind:?} is required here."))
        .titled(eco_format!("Missing {kind} block"))
        .naming(kind)
}

pub(crate) fn insufficient_blocks(kind: &str, min: u32) -> Diagnostic {
    // Tests of providers look for these words, and for those about too many.
    Diagnostic::new(&TOO_FEW_NESTED_BLOCKS, eco_format!("At least {min} {kind:?} blocks are required."))
        .titled(eco_format!("Insufficient {kind} blocks"))
        .naming(kind)
}

pub(crate) fn too_many_blocks(kind: &str, max: u32) -> Diagnostic {
    Diagnostic::new(&TOO_MANY_NESTED_BLOCKS, eco_format!("No more than {max} {kind:?} blocks are allowed."))
        .titled(eco_format!("Too many {kind} blocks"))
        .naming(kind)
}

pub(crate) fn inconsistent_blocks(kind: &str) -> Diagnostic {
    let detail = "Each attribute must have the same type in all blocks of this type.";
    Diagnostic::new(&NESTED_BLOCK_TYPES_DIFFER, detail)
        .titled(eco_format!("Unconsistent argument types in {kind} blocks"))
        .naming(kind)
}

// Dynamic blocks

pub(crate) fn invalid_iterator_name() -> Diagnostic {
    let detail = "The iterator of a dynamic block must be a single name, without attributes or indexes.";
    Diagnostic::new(&DYNAMIC_ITERATOR_INVALID, detail)
}

pub(crate) fn for_each_not_iterable(ty: &Type) -> Diagnostic {
    let detail = eco_format!(
        "The for_each of a dynamic block must be a list, set, map, tuple or object, and this is {}.",
        ty.friendly_name()
    );
    Diagnostic::new(&DYNAMIC_FOR_EACH_INVALID, detail)
}

pub(crate) fn null_for_each() -> Diagnostic {
    Diagnostic::new(&DYNAMIC_FOR_EACH_INVALID, "The for_each of a dynamic block must not be null.")
        .hint("To generate no blocks, use an empty list.")
}

pub(crate) fn labels_not_a_list() -> Diagnostic {
    let detail = "The labels must be a list literal with one expression for each label.";
    Diagnostic::new(&DYNAMIC_LABELS_NOT_LIST, detail)
}

fn labels(count: usize) -> EcoString {
    if count == 1 { "1 label".into() } else { eco_format!("{count} labels") }
}

pub(crate) fn extraneous_dynamic_label(kind: &str, count: usize) -> Diagnostic {
    let detail = eco_format!("Blocks of type {kind:?} have only {}.", labels(count));
    Diagnostic::new(&DYNAMIC_LABEL_EXTRANEOUS, detail)
}

pub(crate) fn insufficient_dynamic_labels(kind: &str, count: usize) -> Diagnostic {
    let detail = eco_format!("Blocks of type {kind:?} require {}.", labels(count));
    Diagnostic::new(&DYNAMIC_LABELS_MISSING, detail)
}

/// Reason why a value cannot be a label of a dynamic block.
pub(crate) enum LabelProblem {
    NotString(EcoString),
    Null,
    Unknown,
    Marked,
}

pub(crate) fn invalid_dynamic_label(problem: LabelProblem) -> Diagnostic {
    let reason = match problem {
        LabelProblem::NotString(message) => message,
        LabelProblem::Null => "it is null".into(),
        LabelProblem::Unknown => "it is not known yet".into(),
        LabelProblem::Marked => "it is sensitive, ephemeral or deprecated".into(),
    };
    Diagnostic::new(&DYNAMIC_LABEL_INVALID, eco_format!("This value cannot be a label: {reason}."))
}

pub(crate) fn missing_dynamic_content() -> Diagnostic {
    let detail = "A dynamic block must contain a \"content\" block, which is the body of each generated block.";
    Diagnostic::new(&DYNAMIC_CONTENT_MISSING, detail)
}

pub(crate) fn extraneous_dynamic_content() -> Diagnostic {
    Diagnostic::new(&DYNAMIC_CONTENT_EXTRANEOUS, "A dynamic block can contain only one \"content\" block.")
}

// References by schema

pub(crate) fn invalid_index_operation(name: Option<&str>) -> Diagnostic {
    let hint = match name {
        Some(name) => eco_format!("Write .{name} instead."),
        None => "Refer to its attributes with a dot and a name.".into(),
    };
    Diagnostic::new(&INDEX_OF_OBJECT, "This object has attributes, not elements.").hint(hint)
}

pub(crate) fn unsupported_attribute<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let detail = eco_format!("This object does not have an argument, block or computed attribute {name:?}.");
    Diagnostic::new(&SCHEMA_ATTRIBUTE_UNKNOWN, detail).hint(suggest(name, known))
}

pub(crate) fn cannot_index_set(kind: &str) -> Diagnostic {
    let detail = eco_format!("The blocks of type {kind:?} are a set, whose elements do not have keys.");
    Diagnostic::new(&INDEX_OF_BLOCK_SET, detail)
        .hint("Select elements by their attributes with a \"for\" expression and \"if\".")
}

pub(crate) fn list_not_indexed(kind: &str) -> Diagnostic {
    Diagnostic::new(&BLOCK_LIST_WITHOUT_INDEX, eco_format!("The blocks of type {kind:?} are a list."))
        .hint(eco_format!("Select one of them, as in .{kind}[0]."))
}

// Marked values

pub(crate) fn ephemeral_in_attribute(path: &Path) -> Diagnostic {
    let detail = eco_format!(
        "The attribute {:?} is stored, but its value is ephemeral. Only write-only attributes and ephemeral objects \
         accept ephemeral values.",
        path_text(path)
    );
    Diagnostic::new(&EPHEMERAL_VALUE_STORED, detail)
}

// The built-in provider

pub(crate) fn read_only(name: &str) -> Diagnostic {
    Diagnostic::new(&READ_ONLY_ATTRIBUTE, "").titled(eco_format!("{name:?} attribute is read-only")).naming(name)
}

/// `what`: "resource type", "data source".
pub(crate) fn builtin_type_unknown(what: &str, kind: &str) -> Diagnostic {
    let detail = eco_format!("The built-in provider does not have a {what} {kind:?}.");
    Diagnostic::new(&BUILTIN_TYPE_UNKNOWN, detail)
}

pub(crate) fn import_by_identity_unsupported() -> Diagnostic {
    Diagnostic::new(&IMPORT_BY_IDENTITY_UNSUPPORTED, "Objects of this type do not have an identity.")
        .hint("Import the object by its id.")
}

pub(crate) fn stored_object_invalid(reason: &str) -> Diagnostic {
    Diagnostic::new(&STORED_OBJECT_INVALID, eco_format!("Failed to read the stored object: {reason}."))
}

pub(crate) fn stored_object_in_flatmap() -> Diagnostic {
    stored_object_invalid("terraform_data objects were never stored in the format of version 0.11")
}

pub(crate) fn move_between_types(source: &str, target: &str) -> Diagnostic {
    let detail =
        eco_format!("{source} cannot be moved to {target}. Only null_resource can be moved to terraform_data.");
    Diagnostic::new(&MOVE_BETWEEN_TYPES_UNSUPPORTED, detail)
}

/// Errors in the backend of `terraform_remote_state`.
pub(crate) enum RemoteStateProblem<'a> {
    /// The configuration is not an object, whatever the backend.
    NotObject,
    NullBackend,
    /// The configuration of a backend is not an object.
    ConfigNotObject(&'a str),
}

pub(crate) fn invalid_backend_configuration(problem: &RemoteStateProblem<'_>) -> Diagnostic {
    let detail = match problem {
        RemoteStateProblem::NotObject => "The configuration must be an object.".into(),
        RemoteStateProblem::NullBackend => "The backend must not be null.".into(),
        RemoteStateProblem::ConfigNotObject(backend) => {
            eco_format!("The configuration of the backend {backend:?} must be an object.")
        }
    };
    Diagnostic::new(&REMOTE_STATE_BACKEND_INVALID, detail)
}

pub(crate) fn invalid_default_values() -> Diagnostic {
    let detail = "The defaults must be an object with one attribute for each output.";
    Diagnostic::new(&REMOTE_STATE_DEFAULTS_INVALID, detail)
}

pub(crate) fn unable_to_find_remote_state() -> Diagnostic {
    Diagnostic::new(&REMOTE_STATE_NOT_FOUND, "The backend does not have a state for this workspace.")
        .hint("Apply the other configuration first, or check the backend configuration and the name of the workspace.")
}

pub(crate) fn unable_to_read_remote_state(address: &yuba_addrs::AbsResourceInstance) -> Diagnostic {
    Diagnostic::new(&REMOTE_STATE_UNREADABLE, "")
        .titled(eco_format!("{address}: Unable to read remote state"))
        .naming(address)
}

// Mock providers

fn mock_block_field(name: &str, detail: impl Into<EcoString>) -> Diagnostic {
    Diagnostic::new(&MOCK_BLOCK_FIELD_INVALID, detail)
        .titled(eco_format!("Invalid override for block field `{name}`"))
        .naming(name)
}

pub(crate) fn mock_field_unknown(name: &str) -> Diagnostic {
    mock_block_field(
        name,
        eco_format!("The test sets {name:?}, but the resource type does not have an attribute of this name."),
    )
}

pub(crate) fn mock_block_not_object(name: &str, ty: &Type) -> Diagnostic {
    mock_block_field(
        name,
        eco_format!("A block must be overridden with an object, and this is {}.", ty.friendly_name()),
    )
}

pub(crate) fn mock_block_not_configured(name: &str) -> Diagnostic {
    mock_block_field(name, "The configuration does not contain a block of this type that the test could override.")
}

fn mock_field(name: &str, detail: impl Into<EcoString>) -> Diagnostic {
    Diagnostic::new(&MOCK_FIELD_INVALID, detail)
        .titled(eco_format!("Invalid mock/override field `{name}`"))
        .naming(name)
}

pub(crate) fn mock_field_required(name: &str) -> Diagnostic {
    mock_field(name, eco_format!("The attribute {name:?} is required, and the configuration does not set it."))
}

pub(crate) fn mock_field_configured(name: &str) -> Diagnostic {
    mock_field(name, "The configuration sets this attribute. A test can override only attributes that providers set.")
}

pub(crate) fn mock_field_type(name: &str, error: &ConvertError) -> Diagnostic {
    mock_field(name, eco_format!("The value in the test does not match the type of the attribute: {error}."))
}

pub(crate) fn mock_field_not_computed(name: &str) -> Diagnostic {
    Diagnostic::new(&MOCK_FIELD_NOT_COMPUTED, "Providers do not set this attribute, so a test cannot override it.")
        .titled(eco_format!("Non-computed field `{name}` is not allowed to be overridden"))
        .naming(name)
        .hint("Set the attribute in the configuration.")
}

pub(crate) fn mock_field_write_only(name: &str) -> Diagnostic {
    let detail = "Providers never return write-only attributes, so this override has no effect.";
    Diagnostic::new(&MOCK_FIELD_WRITE_ONLY, detail)
        .titled(eco_format!("Encountered override for write-only attribute `{name}`"))
        .naming(name)
}

pub(crate) fn mock_type_unknown(kind: &str) -> Diagnostic {
    Diagnostic::new(&MOCK_TYPE_UNKNOWN, eco_format!("The provider does not have a type {kind:?}."))
}

pub(crate) fn mock_move_unsupported(source: &str, target: &str) -> Diagnostic {
    let detail = eco_format!(
        "Only the provider itself can move {source} to {target}, and the test replaces the provider with a mock."
    );
    Diagnostic::new(&MOCK_MOVE_UNSUPPORTED, detail)
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
