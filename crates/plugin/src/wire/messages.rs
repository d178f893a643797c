//! The calls of a provider, and the messages that are the same in both protocols, as tables. A row of a message has the number, kind
//! and name of every field.
//!
//! Schemas of single types are stored as bytes, so that only the needed ones are decoded. Fields that only one of the
//! protocols has are simply missing in the other.

#![allow(missing_docs, reason = "the names are those of the protocol and say what is meant")]

use std::collections::BTreeMap;

use prost::bytes::Bytes;

use super::{Call, Protocol};

/// Each field becomes an attributed field of a struct: `text`, `bytes`, `flag`, `int`, `one` message or none, `many`
/// messages, `named` messages by name, `choice` of an enumeration; with `maybe` its absence is significant.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($fields:tt)* })*) => {
        $(messages!(@ [$(#[$doc])*] $name [] $($fields)*);)*
    };
    (@ [$($head:tt)*] $name:ident [$($done:tt)*]) => {
        $($head)*
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct $name { $($done)* }
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal text $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(string, tag = $tag)] pub $field: String,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal bytes $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(bytes = "bytes", tag = $tag)] pub $field: Bytes,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal maybe bytes $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name
            [$($done)* #[prost(bytes = "bytes", optional, tag = $tag)] pub $field: Option<Bytes>,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal flag $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(bool, tag = $tag)] pub $field: bool,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal int $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(int64, tag = $tag)] pub $field: i64,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal maybe int $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(int64, optional, tag = $tag)] pub $field: Option<i64>,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal one $field:ident: $ty:ident, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(message, optional, tag = $tag)] pub $field: Option<$ty>,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal many $field:ident: $ty:ident, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(message, repeated, tag = $tag)] pub $field: Vec<$ty>,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal named text $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name
            [$($done)* #[prost(btree_map = "string, string", tag = $tag)] pub $field: BTreeMap<String, String>,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal named bytes $field:ident, $($rest:tt)*) => {
        messages!(@ $head $name
            [$($done)* #[prost(btree_map = "string, bytes", tag = $tag)] pub $field: BTreeMap<String, Bytes>,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal named $field:ident: $ty:ident, $($rest:tt)*) => {
        messages!(@ $head $name
            [$($done)* #[prost(btree_map = "string, message", tag = $tag)] pub $field: BTreeMap<String, $ty>,] $($rest)*);
    };
    (@ $head:tt $name:ident [$($done:tt)*] $tag:literal choice $field:ident: $ty:tt, $($rest:tt)*) => {
        messages!(@ $head $name [$($done)* #[prost(enumeration = $ty, tag = $tag)] pub $field: i32,] $($rest)*);
    };
}

messages! {
    /// Nothing.
    Empty {}

    /// A value, as MessagePack or as JSON. Its type follows from the schema.
    DynamicValue { 1 bytes msgpack, 2 bytes json, }
    /// An error or a warning.
    Diagnostic { 1 choice severity: "Severity", 2 text summary, 3 text detail, 4 one attribute: AttributePath, }
    /// Error of a function call.
    FunctionError { 1 text text, 2 maybe int function_argument, }
    /// Path in a value.
    AttributePath { 1 many steps: Step, }
    /// An object as it is stored: JSON, or in an old format strings by path.
    RawState { 1 bytes json, 2 named text flatmap, }
    /// A moment.
    Timestamp { 1 int seconds, 2 int nanos, }
    /// Identity of an object.
    IdentityData { 1 one identity_data: DynamicValue, }
    /// Identity schema of a type.
    IdentitySchema { 1 int version, 2 many identity_attributes: IdentityAttribute, }
    /// One attribute of what identifies objects.
    IdentityAttribute {
        1 text name, 2 bytes r#type, 3 flag required_for_import, 4 flag optional_for_import, 5 text description,
    }
    /// A function.
    Function {
        1 many parameters: Parameter, 2 one variadic_parameter: Parameter, 3 one r#return: Return, 4 text summary,
        5 text description, 6 choice description_kind: "StringKind", 7 text deprecation_message,
    }
    /// A parameter of a function.
    Parameter {
        1 text name, 2 bytes r#type, 3 flag allow_null_value, 4 flag allow_unknown_values, 5 text description,
        6 choice description_kind: "StringKind",
    }
    /// Result of a function.
    Return { 1 bytes r#type, }
    /// Optional capabilities of the provider.
    ServerCapabilities {
        1 flag plan_destroy, 2 flag get_provider_schema_optional, 3 flag move_resource_state, 4 flag generate_resource_config,
    }
    /// Optional capabilities of the client.
    ClientCapabilities { 1 flag deferral_allowed, 2 flag write_only_attributes_allowed, }
    /// The provider wants to be asked again later.
    Deferred { 1 choice reason: "DeferredReason", }

    /// The name of a type.
    TypeMetadata { 1 text type_name, }
    /// The name of a function.
    FunctionMetadata { 1 text name, }
    MetadataResponse {
        1 one server_capabilities: ServerCapabilities, 2 many diagnostics: Diagnostic, 3 many data_sources: TypeMetadata,
        4 many resources: TypeMetadata, 5 many functions: FunctionMetadata, 6 many ephemeral_resources: TypeMetadata,
    }
    /// Schemas are bytes of [`Schema`](super::Schema) with the attributes of the protocol.
    SchemaResponse {
        1 maybe bytes provider, 2 named bytes resource_schemas, 3 named bytes data_source_schemas,
        4 many diagnostics: Diagnostic, 5 maybe bytes provider_meta, 6 one server_capabilities: ServerCapabilities,
        7 named functions: Function, 8 named bytes ephemeral_resource_schemas,
    }
    IdentitySchemasResponse { 1 named identity_schemas: IdentitySchema, 2 many diagnostics: Diagnostic, }
    FunctionsResponse { 1 named functions: Function, 2 many diagnostics: Diagnostic, }

    ValidateProviderRequest { 1 one config: DynamicValue, }
    /// Only protocol 5 has a prepared configuration.
    ValidateProviderResponse { 1 one prepared_config: DynamicValue, 2 many diagnostics: Diagnostic, }
    /// Client capabilities are only for managed resources.
    ValidateRequest { 1 text type_name, 2 one config: DynamicValue, 3 one client_capabilities: ClientCapabilities, }
    /// Diagnostics only.
    ProblemsResponse { 1 many diagnostics: Diagnostic, }
    ConfigureRequest {
        1 text terraform_version, 2 one config: DynamicValue, 3 one client_capabilities: ClientCapabilities,
    }
    StopResponse { 1 text error, }

    UpgradeStateRequest { 1 text type_name, 2 int version, 3 one raw_state: RawState, }
    UpgradeStateResponse { 1 one upgraded_state: DynamicValue, 2 many diagnostics: Diagnostic, }
    UpgradeIdentityRequest { 1 text type_name, 2 int version, 3 one raw_identity: RawState, }
    UpgradeIdentityResponse { 1 one upgraded_identity: IdentityData, 2 many diagnostics: Diagnostic, }

    ReadRequest {
        1 text type_name, 2 one current_state: DynamicValue, 3 bytes private, 4 one provider_meta: DynamicValue,
        5 one client_capabilities: ClientCapabilities, 6 one current_identity: IdentityData,
    }
    ReadResponse {
        1 one new_state: DynamicValue, 2 many diagnostics: Diagnostic, 3 bytes private, 4 one deferred: Deferred,
        5 one new_identity: IdentityData,
    }
    PlanRequest {
        1 text type_name, 2 one prior_state: DynamicValue, 3 one proposed_new_state: DynamicValue,
        4 one config: DynamicValue, 5 bytes prior_private, 6 one provider_meta: DynamicValue,
        7 one client_capabilities: ClientCapabilities, 8 one prior_identity: IdentityData,
    }
    PlanResponse {
        1 one planned_state: DynamicValue, 2 many requires_replace: AttributePath, 3 bytes planned_private,
        4 many diagnostics: Diagnostic, 5 flag legacy_type_system, 6 one deferred: Deferred,
        7 one planned_identity: IdentityData,
    }
    ApplyRequest {
        1 text type_name, 2 one prior_state: DynamicValue, 3 one planned_state: DynamicValue,
        4 one config: DynamicValue, 5 bytes planned_private, 6 one provider_meta: DynamicValue,
        7 one planned_identity: IdentityData,
    }
    ApplyResponse {
        1 one new_state: DynamicValue, 2 bytes private, 3 many diagnostics: Diagnostic, 4 flag legacy_type_system,
        5 one new_identity: IdentityData,
    }
    ImportRequest {
        1 text type_name, 2 text id, 3 one client_capabilities: ClientCapabilities, 4 one identity: IdentityData,
    }
    ImportedResource { 1 text type_name, 2 one state: DynamicValue, 3 bytes private, 4 one identity: IdentityData, }
    ImportResponse {
        1 many imported_resources: ImportedResource, 2 many diagnostics: Diagnostic, 3 one deferred: Deferred,
    }
    MoveStateRequest {
        1 text source_provider_address, 2 text source_type_name, 3 int source_schema_version, 4 one source_state: RawState,
        5 text target_type_name, 6 bytes source_private, 7 one source_identity: RawState,
        8 int source_identity_schema_version,
    }
    MoveStateResponse {
        1 one target_state: DynamicValue, 2 many diagnostics: Diagnostic, 3 bytes target_private,
        4 one target_identity: IdentityData,
    }

    ReadDataRequest {
        1 text type_name, 2 one config: DynamicValue, 3 one provider_meta: DynamicValue,
        4 one client_capabilities: ClientCapabilities,
    }
    ReadDataResponse { 1 one state: DynamicValue, 2 many diagnostics: Diagnostic, 3 one deferred: Deferred, }

    OpenEphemeralRequest { 1 text type_name, 2 one config: DynamicValue, 3 one client_capabilities: ClientCapabilities, }
    OpenEphemeralResponse {
        1 many diagnostics: Diagnostic, 2 one renew_at: Timestamp, 3 one result: DynamicValue, 4 maybe bytes private,
        5 one deferred: Deferred,
    }
    RenewEphemeralRequest { 1 text type_name, 2 maybe bytes private, }
    RenewEphemeralResponse { 1 many diagnostics: Diagnostic, 2 one renew_at: Timestamp, 3 maybe bytes private, }
    CloseEphemeralRequest { 1 text type_name, 2 maybe bytes private, }

    CallFunctionRequest { 1 text name, 2 many arguments: DynamicValue, }
    CallFunctionResponse { 1 one result: DynamicValue, 2 one error: FunctionError, }

    /// A piece of what the process wrote to a standard stream.
    StdioData { 1 choice channel: "StdioChannel", 2 bytes data, }
}

/// One step of a path.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Step {
    #[prost(oneof = "Selector", tags = "1, 2, 3")]
    pub selector: Option<Selector>,
}

/// Kind of a step of a path.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Selector {
    #[prost(string, tag = 1)]
    AttributeName(String),
    #[prost(string, tag = 2)]
    ElementKeyString(String),
    #[prost(int64, tag = 3)]
    ElementKeyInt(i64),
}

/// Severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Severity {
    Invalid = 0,
    Error = 1,
    Warning = 2,
}

/// Format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum StringKind {
    Plain = 0,
    Markdown = 1,
}

/// Reason of a deferral.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum DeferredReason {
    Unknown = 0,
    ResourceConfigUnknown = 1,
    ProviderConfigUnknown = 2,
    AbsentPrereq = 3,
}

/// Standard stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum StdioChannel {
    Invalid = 0,
    Stdout = 1,
    Stderr = 2,
}

/// A row: what it does, its name here, its name in protocol 5 and 6 (or its path in both), request and response.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident $v5:literal $v6:literal $request:ident -> $response:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Call for $name {
            type Request = $request;
            type Response = $response;
            fn path(protocol: Protocol) -> &'static str {
                match protocol {
                    Protocol::V5 => concat!("/tfplugin5.Provider/", $v5),
                    Protocol::V6 => concat!("/tfplugin6.Provider/", $v6),
                }
            }
        }
    )*};
}

calls! {
    /// Names of everything it has, without schemas.
    GetMetadata "GetMetadata" "GetMetadata" Empty -> MetadataResponse;
    /// Schemas of everything it has.
    GetSchema "GetSchema" "GetProviderSchema" Empty -> SchemaResponse;
    /// Schemas of identities.
    GetIdentitySchemas "GetResourceIdentitySchemas" "GetResourceIdentitySchemas" Empty -> IdentitySchemasResponse;
    /// Functions it has.
    GetFunctions "GetFunctions" "GetFunctions" Empty -> FunctionsResponse;
    /// Whether the provider configuration is valid.
    ValidateProvider "PrepareProviderConfig" "ValidateProviderConfig" ValidateProviderRequest -> ValidateProviderResponse;
    /// Whether the configuration of a managed resource is valid.
    ValidateResource "ValidateResourceTypeConfig" "ValidateResourceConfig" ValidateRequest -> ProblemsResponse;
    /// Whether the configuration of a data resource is valid.
    ValidateData "ValidateDataSourceConfig" "ValidateDataResourceConfig" ValidateRequest -> ProblemsResponse;
    /// Whether the configuration of an ephemeral resource is valid.
    ValidateEphemeral "ValidateEphemeralResourceConfig" "ValidateEphemeralResourceConfig" ValidateRequest -> ProblemsResponse;
    /// Makes it ready.
    Configure "Configure" "ConfigureProvider" ConfigureRequest -> ProblemsResponse;
    /// A stored object by the current schema.
    UpgradeState "UpgradeResourceState" "UpgradeResourceState" UpgradeStateRequest -> UpgradeStateResponse;
    /// A stored identity by the current schema.
    UpgradeIdentity "UpgradeResourceIdentity" "UpgradeResourceIdentity" UpgradeIdentityRequest -> UpgradeIdentityResponse;
    /// The refreshed object.
    Read "ReadResource" "ReadResource" ReadRequest -> ReadResponse;
    /// The planned change.
    Plan "PlanResourceChange" "PlanResourceChange" PlanRequest -> PlanResponse;
    /// Makes a change.
    Apply "ApplyResourceChange" "ApplyResourceChange" ApplyRequest -> ApplyResponse;
    /// Finds objects that exist.
    Import "ImportResourceState" "ImportResourceState" ImportRequest -> ImportResponse;
    /// An object of another type as one of a type of this provider.
    MoveState "MoveResourceState" "MoveResourceState" MoveStateRequest -> MoveStateResponse;
    /// Reads a data resource.
    ReadData "ReadDataSource" "ReadDataSource" ReadDataRequest -> ReadDataResponse;
    /// Opens an ephemeral resource.
    OpenEphemeral "OpenEphemeralResource" "OpenEphemeralResource" OpenEphemeralRequest -> OpenEphemeralResponse;
    /// Renews an ephemeral resource.
    RenewEphemeral "RenewEphemeralResource" "RenewEphemeralResource" RenewEphemeralRequest -> RenewEphemeralResponse;
    /// Closes an ephemeral resource.
    CloseEphemeral "CloseEphemeralResource" "CloseEphemeralResource" CloseEphemeralRequest -> ProblemsResponse;
    /// Calls a function.
    CallFunction "CallFunction" "CallFunction" CallFunctionRequest -> CallFunctionResponse;
    /// Asks it to finish its operations.
    Stop "Stop" "StopProvider" Empty -> StopResponse;
}
