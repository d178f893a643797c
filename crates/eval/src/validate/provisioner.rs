//! `provisioner` and `connection` blocks: the provisioners there are, and what they accept.

use std::sync::LazyLock;

use yuba_config::provisioner::{Connection, Provisioner};
use yuba_provider::{Attribute, BlockSchema};
use yuba_syntax::{Diagnostics, Span};
use yuba_value::{Type, Value};

use super::{body, diagnostics};
use crate::module_scope::ModuleScope;

fn block<const N: usize>(attributes: [(&str, Attribute); N]) -> BlockSchema {
    let mut schema = BlockSchema::new(attributes);
    schema.ephemeral = true;
    schema
}

static FILE: LazyLock<BlockSchema> = LazyLock::new(|| {
    block([
        ("source", Attribute::optional(Type::string())),
        ("content", Attribute::optional(Type::string())),
        ("destination", Attribute::required(Type::string())),
    ])
});
static LOCAL_EXEC: LazyLock<BlockSchema> = LazyLock::new(|| {
    block([
        ("command", Attribute::required(Type::string())),
        ("interpreter", Attribute::optional(Type::list(Type::string()))),
        ("working_dir", Attribute::optional(Type::string())),
        ("environment", Attribute::optional(Type::map(Type::string()))),
        ("quiet", Attribute::optional(Type::bool())),
    ])
});
static REMOTE_EXEC: LazyLock<BlockSchema> = LazyLock::new(|| {
    block([
        ("inline", Attribute::optional(Type::list(Type::string()))),
        ("script", Attribute::optional(Type::string())),
        ("scripts", Attribute::optional(Type::list(Type::string()))),
    ])
});
/// Of all types of connections together: which type it is may not be known yet.
static CONNECTION: LazyLock<BlockSchema> = LazyLock::new(|| {
    let text = || Attribute::optional(Type::string());
    let number = || Attribute::optional(Type::number());
    let bool = || Attribute::optional(Type::bool());
    block([
        ("host", Attribute::required(Type::string())),
        ("type", text()),
        ("user", text()),
        ("password", text()),
        ("port", number()),
        ("timeout", text()),
        ("script_path", text()),
        ("target_platform", text()),
        ("private_key", text()),
        ("certificate", text()),
        ("host_key", text()),
        ("agent", bool()),
        ("agent_identity", text()),
        ("proxy_scheme", text()),
        ("proxy_host", text()),
        ("proxy_port", number()),
        ("proxy_user_name", text()),
        ("proxy_user_password", text()),
        ("bastion_host", text()),
        ("bastion_host_key", text()),
        ("bastion_port", number()),
        ("bastion_user", text()),
        ("bastion_password", text()),
        ("bastion_private_key", text()),
        ("bastion_certificate", text()),
        ("https", bool()),
        ("insecure", bool()),
        ("cacert", text()),
        ("use_ntlm", bool()),
    ])
});

/// The schema of a provisioner; none if there is no such provisioner.
pub fn schema(kind: &str) -> Option<&'static BlockSchema> {
    match kind {
        "file" => Some(&FILE),
        "local-exec" => Some(&LOCAL_EXEC),
        "remote-exec" => Some(&REMOTE_EXEC),
        _ => None,
    }
}

/// The schema of `connection` blocks.
pub fn connection() -> &'static BlockSchema {
    &CONNECTION
}

/// A provisioner of a resource, which may have a connection of its own.
pub(super) fn check(scope: &ModuleScope<'_>, provisioner: &Provisioner, outer: Option<&Connection>) -> Diagnostics {
    let Some(schema) = schema(&provisioner.kind) else { return Diagnostics::new() };
    let (value, mut problems) = body::eval(scope, &provisioner.body, schema);
    problems.extend(check_values(&provisioner.kind, &value));
    let (merged, span) = match (outer, &provisioner.connection) {
        (None, None) => return problems,
        (Some(only), None) | (None, Some(only)) => (only.body.clone(), only.span),
        (Some(outer), Some(own)) => (outer.body.clone().overridden_by(own.body.clone()), own.span),
    };
    let (value, found) = body::eval(scope, &merged, &CONNECTION);
    problems.extend(found);
    if problems.has_errors() {
        return problems;
    }
    let fields = value.unmark_deep().0.entries().unwrap_or_default();
    let kind = fields.iter().find(|(name, _)| name == "type").and_then(|(_, value)| value.as_str());
    if kind.is_some_and(|kind| kind == "winrm") {
        let written = merged.just_attributes().0.into_iter().find(|attribute| attribute.name == "type");
        let at: Span = written.map_or(span, |attribute| attribute.expr.span);
        problems.push(diagnostics::winrm(at));
    }
    problems
}

/// Rules of a provisioner beyond types.
fn check_values(kind: &str, value: &Value) -> Diagnostics {
    let fields = value.unmark_deep().0.entries().unwrap_or_default();
    if fields.is_empty() {
        return Diagnostics::new();
    }
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let is_set = |name: &str| field(name).is_some_and(|value| !value.is_null());
    let is_empty = |name: &str| field(name).is_some_and(|v| v.is_null() || v.as_str().is_some_and(|s| s.is_empty()));
    match kind {
        "local-exec" if is_empty("command") => diagnostics::local_exec_without_command().into(),
        "remote-exec" if ["inline", "script", "scripts"].into_iter().filter(|name| is_set(name)).count() != 1 => {
            diagnostics::invalid_remote_exec().into()
        }
        "file" => {
            let mut problems = Diagnostics::new();
            if is_empty("destination") {
                problems.push(diagnostics::file_without_destination());
            }
            match (is_set("source"), is_set("content")) {
                (true, true) => problems.push(diagnostics::file_with_source_and_content()),
                (false, false) => problems.push(diagnostics::file_without_source()),
                _ => {}
            }
            problems
        }
        _ => Diagnostics::new(),
    }
}
