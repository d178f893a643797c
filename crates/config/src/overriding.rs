//! Override files: each kind of block replaces parts of what ordinary files declare, by its own rule.

use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Diagnostics, Expr, Traversal};
use yuba_value::Value;

use crate::diagnostics::{self, Overridden};
use crate::encryption::Encryption;
use crate::file::File;
use crate::merge::Merging;
use crate::module_call::ModuleCall;
use crate::output::Output;
use crate::provider::ProviderConfig;
use crate::resource::{Repetition, Resource};
use crate::terraform::Settings;
use crate::variable::Variable;

/// Merges an override file into a module.
pub(crate) fn apply(merging: &mut Merging<'_>, file: File) {
    storage(merging, &file.settings);
    providers(merging, file.providers);
    encryption(merging, &file.settings.encryptions);
    let Merging { module, diagnostics, .. } = merging;
    for variable in file.variables {
        match module.variables.get_mut(&variable.name) {
            Some(base) => override_variable(base, variable, diagnostics),
            None => diagnostics.push(diagnostics::missing_variable(&variable.name, variable.span)),
        }
    }
    for local in file.locals {
        match module.locals.get_mut(&local.name) {
            Some(base) => *base = local,
            None => diagnostics.push(diagnostics::missing_local_value(&local.name, local.span)),
        }
    }
    for output in file.outputs {
        match module.outputs.get_mut(&output.name) {
            Some(base) => override_output(base, output, diagnostics),
            None => diagnostics.push(diagnostics::missing_output(&output.name, output.span)),
        }
    }
    for call in file.calls {
        match module.calls.get_mut(&call.name) {
            Some(base) => override_call(base, call, diagnostics),
            None => diagnostics.push(diagnostics::missing_module_call(&call.name, call.span)),
        }
    }
    for library in file.symbols {
        match module.symbols.get_mut(&library.name) {
            Some(base) => {
                base.source = library.source.or(base.source.take());
                base.version = library.version.or(base.version.take());
            }
            None => diagnostics.push(diagnostics::missing_symbols_block(&library.name, library.span)),
        }
    }
    for resource in file.resources {
        match module.resources.get_mut(&resource.key) {
            Some(base) => override_resource(base, *resource, diagnostics),
            None => diagnostics.push(diagnostics::missing_resource(&resource.key, resource.span)),
        }
    }
    for span in file.moved.iter().map(|moved| moved.span) {
        diagnostics.push(diagnostics::cannot_override("moved", span));
    }
    for span in file.imports.iter().map(|import| import.span) {
        diagnostics.push(diagnostics::cannot_override("import", span));
    }
    for span in file.removed.iter().map(|removed| removed.span) {
        // Quirk: the capital letter.
        diagnostics.push(diagnostics::cannot_override("Removed", span));
    }
}

/// Merges `backend` and `cloud` blocks. They exclude each other: the overriding block replaces both.
fn storage(merging: &mut Merging<'_>, settings: &Settings) {
    let Merging { module, decoding, diagnostics, .. } = merging;
    match &settings.backends[..] {
        [] => {}
        [backend] => (module.backend, module.cloud) = (Some(backend.clone()), None),
        [first, second, ..] => {
            diagnostics.push(diagnostics::duplicate_backend(&decoding.location(first.span), second.span));
        }
    }
    match &settings.clouds[..] {
        [] => {}
        [cloud] => (module.backend, module.cloud) = (None, Some(cloud.clone())),
        [first, second, ..] => {
            diagnostics.push(diagnostics::duplicate_cloud(&decoding.location(first.span), second.span));
        }
    }
}

/// Merges `provider` blocks. Only a block without alias may be new.
fn providers(merging: &mut Merging<'_>, configs: Vec<ProviderConfig>) {
    let Merging { module, diagnostics, .. } = merging;
    for config in configs {
        match module.providers.get_mut(&config.key) {
            Some(base) => override_provider(base, config),
            None if config.key.alias.is_none() => {
                module.providers.insert(config.key.clone(), config);
            }
            None => diagnostics.push(diagnostics::missing_provider(&config.key, config.span)),
        }
    }
}

/// Merges the `encryption` block.
fn encryption(merging: &mut Merging<'_>, blocks: &[Encryption]) {
    let Merging { module, decoding, diagnostics, .. } = merging;
    match blocks {
        [] => {}
        [encryption] => match &mut module.encryption {
            Some(base) => base.overridden_by(encryption.clone()),
            None => module.encryption = Some(encryption.clone()),
        },
        [first, second, ..] => {
            let location = decoding.location(first.span);
            diagnostics.push(diagnostics::duplicate_encryption_block(&location, second.span));
        }
    }
}

fn override_provider(base: &mut ProviderConfig, config: ProviderConfig) {
    base.version = config.version.or(base.version.take());
    base.for_each = config.for_each.or(base.for_each.take());
    base.body = base.body.clone().overridden_by(config.body);
}

fn override_variable(base: &mut Variable, variable: Variable, diagnostics: &mut Diagnostics) {
    base.description = variable.description.or(base.description.take());
    base.sensitive = variable.sensitive.or(base.sensitive);
    let deprecated = (variable.deprecated, variable.deprecated_pending);
    override_deprecated((&mut base.deprecated, &mut base.deprecated_pending), deprecated);
    base.ephemeral = variable.ephemeral.or(base.ephemeral);
    base.nullable = variable.nullable.or(base.nullable);
    base.constant = variable.constant.or(base.constant);
    let (new_type, new_default) = (variable.type_expr.is_some(), variable.default.is_some());
    if new_default {
        base.default = variable.default;
        base.default_expr = variable.default_expr;
        base.default_pending = variable.default_pending;
    }
    if new_type {
        base.constraint = variable.constraint;
        base.type_defaults = variable.type_defaults;
        base.type_expr = variable.type_expr;
        base.type_pending = variable.type_pending;
        base.parsing = variable.parsing;
    }
    let is_pending = base.type_pending || base.default_pending;
    let Some(default) = base.default.clone().filter(|_| !is_pending) else { return };
    let default = base.convert_default(&default).unwrap_or_else(|error| {
        let overridden = match (new_type, new_default) {
            (true, false) => Overridden::Type,
            (false, true) => Overridden::Default,
            _ => Overridden::Both,
        };
        diagnostics.push(diagnostics::invalid_overridden_default(overridden, &error, variable.span));
        Value::unknown_dynamic()
    });
    base.check_null(&default, variable.span, diagnostics);
    base.default = Some(default);
}

/// A message, or the expression it is read from when symbol libraries are known.
fn override_deprecated(
    (message, pending): (&mut Option<EcoString>, &mut Option<Arc<Expr>>),
    (new_message, new_pending): (Option<EcoString>, Option<Arc<Expr>>),
) {
    let new_message = new_message.filter(|text| !text.is_empty());
    if new_message.is_some() || new_pending.is_some() {
        (*message, *pending) = (new_message, new_pending);
    }
}

fn override_output(base: &mut Output, output: Output, diagnostics: &mut Diagnostics) {
    base.description = output.description.filter(|text| !text.is_empty()).or(base.description.take());
    base.value = output.value.or(base.value.take());
    base.sensitive = output.sensitive.or(base.sensitive);
    let deprecated = (output.deprecated, output.deprecated_pending);
    override_deprecated((&mut base.deprecated, &mut base.deprecated_pending), deprecated);
    base.ephemeral = output.ephemeral.or(base.ephemeral);
    forbid_depends_on(&output.depends_on, diagnostics);
}

fn override_call(base: &mut ModuleCall, call: ModuleCall, diagnostics: &mut Diagnostics) {
    base.source = call.source.or(base.source.take());
    base.version_span = call.version_span.or(base.version_span);
    base.version = call.version.or(base.version.take());
    override_repetition(&mut base.repetition, call.repetition);
    base.body = base.body.clone().overridden_by(call.body);
    if !call.providers.is_empty() {
        base.providers = call.providers;
    }
    forbid_depends_on(&call.depends_on, diagnostics);
}

fn override_resource(base: &mut Resource, resource: Resource, diagnostics: &mut Diagnostics) {
    override_repetition(&mut base.repetition, resource.repetition);
    base.provider = resource.provider.or(base.provider.take());
    base.connection = resource.connection.or(base.connection.take());
    Arc::make_mut(&mut base.lifecycle).override_with(Arc::unwrap_or_clone(resource.lifecycle));
    if !resource.provisioners.is_empty() {
        base.provisioners = resource.provisioners;
    }
    base.body = base.body.clone().overridden_by(resource.body);
    forbid_depends_on(&resource.depends_on, diagnostics);
}

/// `count`, `for_each` and `enabled` exclude each other, so any of them replaces any of them.
fn override_repetition(base: &mut Repetition, repetition: Repetition) {
    if !matches!(repetition, Repetition::Single) {
        *base = repetition;
    }
}

fn forbid_depends_on(references: &[Traversal], diagnostics: &mut Diagnostics) {
    if let Some(first) = references.first() {
        diagnostics.push(diagnostics::depends_on_in_override(first.span));
    }
}

#[cfg(test)]
mod tests {
    use crate::resource::{Repetition, ResourceKey};
    use crate::testing::module;

    #[test]
    fn the_number_of_instances_is_overridden_as_a_whole() {
        let base = r#"
            resource "terraform_data" "a" { count = 2 }
            module "m" {
              source   = "./m"
              for_each = {}
            }
            provider "terraform" {
              alias    = "p"
              for_each = {}
            }
        "#;
        let overriding = r#"
            resource "terraform_data" "a" {
              lifecycle { enabled = false }
            }
            module "m" { count = 1 }
            provider "terraform" {
              alias    = "p"
              for_each = var.x
            }
        "#;
        let (module, problems) = module(&[("main.tf", base), ("override.tf", overriding)]);
        assert!(problems.is_empty(), "{problems:?}");
        let key =
            ResourceKey { mode: yuba_addrs::ResourceMode::Managed, kind: "terraform_data".into(), name: "a".into() };
        assert!(matches!(module.resources[&key].repetition, Repetition::Enabled(_)));
        assert!(matches!(module.calls["m"].repetition, Repetition::Count(_)));
        let provider = module.providers.values().next().and_then(|config| config.for_each.clone());
        assert_eq!(provider.map(|expr| expr.variables().len()), Some(1));
    }

    #[test]
    fn what_override_files_may_change() {
        for (base, overriding, expect) in [
            (
                r#"variable "a" {
 type=string
 default="x"
}"#,
                r#"variable "a" {
 type=number
}"#,
                "o:1:1 Invalid default value for variable",
            ),
            (
                r#"variable "a" {
 type=number
}"#,
                r#"variable "a" {
 default="x"
}"#,
                "o:1:1 Invalid default value for variable",
            ),
            (
                r#"variable "a" {}"#,
                r#"variable "a" {
 type=number
 default="x"
}"#,
                "o:3:10 Invalid default value for variable",
            ),
            (
                r#"variable "a" {
 default=null
}"#,
                r#"variable "a" {
 nullable=false
}"#,
                "o:1:1 Invalid default value for variable",
            ),
            (
                r#"variable "a" {
 nullable=false
}"#,
                r#"variable "a" {
 default=null
}"#,
                "o:1:1 Invalid default value for variable",
            ),
            ("", r#"variable "a" {}"#, "o:1:1 Missing base variable declaration to override"),
            ("", r#"output "a" {}"#, "o:1:1 Missing base output definition to override"),
            (
                "",
                r#"locals {
 a=1
}"#,
                "o:2:2 Missing base local value definition to override",
            ),
            ("", r#"module "a" {}"#, "o:1:1 Missing module call to override"),
            ("", r#"resource "a" "b" {}"#, "o:1:1 Missing resource to override"),
            ("", r#"data "a" "b" {}"#, "o:1:1 Missing data resource to override"),
            ("", r#"ephemeral "a" "b" {}"#, "o:1:1 Missing ephemeral resource to override"),
            (
                "",
                r#"provider "terraform" {
 alias="x"
}"#,
                "o:1:1 Missing base provider configuration for override",
            ),
            (
                "",
                r#"moved {
 from=terraform_data.a
 to=terraform_data.b
}"#,
                "o:1:1 Cannot override 'moved' blocks",
            ),
            (
                "",
                r#"import {
 to=terraform_data.a
 id="x"
}"#,
                "o:1:1 Cannot override 'import' blocks",
            ),
            (
                "",
                r#"removed {
 from=terraform_data.a
}"#,
                "(o:1:1 Missing lifecycle from the removed block); o:1:1 Cannot override 'Removed' blocks",
            ),
            ("", r#"check "a" {}"#, "o:1:1 Can't override check blocks"),
            ("", "language {}", "o:1:1 Language selections in override file"),
            (
                "",
                r#"terraform {
 backend "a" {}
 backend "b" {}
}"#,
                "o:3:2 Duplicate backend configuration",
            ),
            (
                "",
                r#"terraform {
 cloud {}
 cloud {}
}"#,
                "o:3:2 Duplicate cloud configurations",
            ),
            (
                "",
                r#"terraform {
 encryption {}
 encryption {}
}"#,
                "o:3:2 Duplicate encryption configuration",
            ),
            (
                r#"variable "a" {}"#,
                r#"variable "a" {
 validation {
 condition=var.a
 error_message="x"
}
}"#,
                "o:2:2 Can't override validation blocks",
            ),
            (
                r#"output "a" {
 value=1
}"#,
                r#"output "a" {
 depends_on=[terraform_data.x]
 precondition {
 condition=var.x
 error_message="x"
}
}"#,
                "o:3:2 Can't override precondition blocks; o:2:14 Unsupported override",
            ),
            (
                r#"resource "terraform_data" "a" {}"#,
                r#"resource "terraform_data" "a" {
 depends_on=[terraform_data.b]
}"#,
                "o:2:14 Unsupported override",
            ),
            (
                r#"terraform {
 required_providers {
 terraform={source="terraform.io/builtin/terraform"}
}
}"#,
                r#"terraform {
 required_providers {
 terraform={source="x y"}
}
}"#,
                "o:3:20 Invalid provider type",
            ),
            (
                r#"variable "a" {
 type=string
}"#,
                r#"variable "a" {
 type=foo
}"#,
                "o:2:7 Invalid type specification",
            ),
            (
                r#"variable "a" {
 type=object({x=string})
}"#,
                r#"variable "a" {
 default={x=1,y=2}
}"#,
                "",
            ),
            (
                r#"variable "a" {
 default=1
}"#,
                r#"variable "a" {
 deprecated=""
}"#,
                "o:2:13 Invalid `deprecated` value",
            ),
            ("", "required_providers {}", "o:1:1 Invalid required_providers block"),
            ("", "foo {}", "o:1:1 Unsupported block type"),
            (
                "",
                r#"terraform {
 required_providers {}
 required_providers {}
}"#,
                "",
            ),
            (
                r#"variable "a" {}"#,
                r#"variable "a" {
 default=foo
}"#,
                "o:2:10 Variables not allowed",
            ),
        ] {
            let (_, problems) = module(&[("main.tf", base), ("x_override.tf", overriding)]);
            let short =
                problems.iter().map(|problem| match problem.replace("x_override.tf", "o").split_once(" Warning:") {
                    Some((location, summary)) => format!("({location}{summary})"),
                    None => problem.replace("x_override.tf", "o").replace(" Error:", ""),
                });
            assert_eq!(short.collect::<Vec<_>>().join("; "), expect, "{base}\n{overriding}");
        }
    }
}
