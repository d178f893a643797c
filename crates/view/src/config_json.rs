//! Configurations as JSON documents: `show -json -config`, and part of the document of a plan.
//!
//! Extensions of OpenTofu's documents only add members: `enabled_expression` of resources and module calls. Provider
//! instances are deliberately absent: neither `for_each` of providers nor instance keys are part of the documents.

mod expression;
mod providers;

use ecow::EcoString;
use yuba_addrs::{ModulePath, Reference, ResourceMode};
use yuba_config::Module;
use yuba_config::module_call::ModuleCall;
use yuba_config::output::Output;
use yuba_config::provisioner::Provisioner;
use yuba_config::resource::{Repetition, Resource};
use yuba_config::variable::Variable;
use yuba_eval::{ConfigTree, ModuleId};
use yuba_provider::{Attribute, BlockSchema, Providers};
use yuba_syntax::Traversal;
use yuba_value::Type;

use crate::json_writer::{Members, text};
use crate::state_json::{KnownSchemas, no_schema, schema_of};
use crate::values_json::known;
use expression::{Expressions, constant_text, expression};
use providers::{ProviderConfigs, opaque_key};

/// A configuration, or why it cannot be shown: a sentence part.
pub fn config(tree: &ConfigTree, schemas: &dyn Providers) -> Result<String, EcoString> {
    let mut out = String::new();
    write(&mut out, tree, &mut KnownSchemas::new(schemas))?;
    Ok(out)
}

/// A single module without the modules it calls and without information from providers.
pub fn module(module: &Module) -> String {
    let configs = ProviderConfigs::of_module(module);
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    configs.write(&mut members, None, &mut None);
    let mut writer = Writer { tree: None, schemas: None, configs: &configs };
    // Nothing is asked of schemas, so nothing can be missing.
    let _ = writer.module(members.key("root_module"), module, &ModulePath::ROOT, None);
    members.close();
    out
}

pub(crate) fn write(out: &mut String, tree: &ConfigTree, schemas: &mut KnownSchemas<'_>) -> Result<(), EcoString> {
    let configs = ProviderConfigs::of_tree(tree);
    let mut members = Members::open(out);
    let mut schemas = Some(schemas);
    configs.write(&mut members, Some(tree), &mut schemas);
    let mut writer = Writer { tree: Some(tree), schemas, configs: &configs };
    let root = tree.root();
    writer.module(members.key("root_module"), &root.module, &root.path, Some(ModuleId::ROOT))?;
    members.close();
    Ok(())
}

struct Writer<'w, 'a> {
    /// None for a single module.
    tree: Option<&'w ConfigTree>,
    /// None for a single module.
    schemas: Option<&'w mut KnownSchemas<'a>>,
    configs: &'w ProviderConfigs,
}

impl Writer<'_, '_> {
    fn module(
        &mut self,
        out: &mut String,
        module: &Module,
        path: &ModulePath,
        id: Option<ModuleId>,
    ) -> Result<(), EcoString> {
        let mut members = Members::open(out);
        if !module.outputs.is_empty() {
            let mut outputs = Members::open(members.key("outputs"));
            for (name, output) in &module.outputs {
                self.output(outputs.key(name), output, module);
            }
            outputs.close();
        }
        let mut resources: Vec<(ResourceMode, String, &Resource)> = Vec::with_capacity(module.resources.len());
        for (key, resource) in &module.resources {
            resources.push((key.mode, yuba_addrs::Resource::from(key).to_string(), resource));
        }
        // Managed ones come first.
        resources.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut result = Ok(());
        members.list_if_any("resources", &resources, |out, (_, addr, resource)| {
            if result.is_ok() {
                result = self.resource(out, addr, resource, module, path);
            }
        });
        result?;
        if !module.calls.is_empty() {
            let mut calls = Members::open(members.key("module_calls"));
            for (name, call) in &module.calls {
                let child = id.and_then(|id| self.tree?.node(id).children.get(name).copied());
                self.call(calls.key(name), call, module, child)?;
            }
            calls.close();
        }
        if !module.variables.is_empty() {
            let mut variables = Members::open(members.key("variables"));
            for (name, declared) in &module.variables {
                variable(variables.key(name), declared);
            }
            variables.close();
        }
        members.close();
        Ok(())
    }

    fn output(&self, out: &mut String, output: &Output, module: &Module) {
        let mut members = Members::open(out);
        members.bool_if_true("sensitive", output.sensitive == Some(true));
        members.bool_if_true("ephemeral", output.ephemeral == Some(true));
        members.text_if_any("deprecated", output.deprecated.as_deref().unwrap_or_default());
        if let (Some(_), Some(value)) = (self.tree, &output.value) {
            expression(members.key("expression"), value, module);
        }
        depends_on(&mut members, &output.depends_on, module);
        members.text_if_any("description", output.description.as_deref().unwrap_or_default());
        members.close();
    }

    fn resource(
        &mut self,
        out: &mut String,
        addr: &str,
        resource: &Resource,
        module: &Module,
        path: &ModulePath,
    ) -> Result<(), EcoString> {
        let mut members = Members::open(out);
        members.text("address", addr);
        members.text("mode", resource.key.mode.as_str());
        members.text("type", &resource.key.kind);
        members.text("name", &resource.key.name);
        let local = match &resource.provider {
            Some(reference) => reference.key.to_string(),
            None => Module::provider_local_name(resource).to_owned(),
        };
        members.text("provider_config_key", self.configs.source_of(&opaque_key(&local, path)));
        members.list_if_any("provisioners", &resource.provisioners, |out, provisioner| {
            self.provisioner(out, provisioner, module);
        });
        if let Some(schemas) = &mut self.schemas {
            let source = module.provider_of(resource);
            let provider = source.as_ref().and_then(|source| schemas.provider(source));
            let local = yuba_addrs::Resource::from(&resource.key);
            let schema = schema_of(provider.as_deref(), &local).ok_or_else(|| match &source {
                Some(source) => no_schema(&local, source),
                None => ecow::eco_format!("no provider found for {local}"),
            })?;
            Expressions { body: &resource.body, schema: &schema.block, module }.write(&mut members, "expressions");
            members.int("schema_version", schema.version);
            repetition(&mut members, &resource.repetition, module);
        }
        depends_on(&mut members, &resource.depends_on, module);
        members.close();
        Ok(())
    }

    fn provisioner(&self, out: &mut String, provisioner: &Provisioner, module: &Module) {
        let mut members = Members::open(out);
        members.text("type", &provisioner.kind);
        let schema = yuba_eval::validate::provisioner_schema(&provisioner.kind);
        if let Some(schema) = schema.filter(|_| self.tree.is_some()) {
            Expressions { body: &provisioner.body, schema, module }.write(&mut members, "expressions");
        }
        members.close();
    }

    fn call(
        &mut self,
        out: &mut String,
        call: &ModuleCall,
        module: &Module,
        child: Option<ModuleId>,
    ) -> Result<(), EcoString> {
        let mut members = Members::open(out);
        let node = child.and_then(|child| Some(self.tree?.node(child)));
        // As it was written, not as it is understood.
        let written = call.source.as_deref().and_then(constant_text);
        let understood = || node.and_then(|node| node.source.as_ref()).map(|source| source.to_string());
        members.text_if_any("source", &written.or_else(understood).unwrap_or_default());
        if let (Some(node), Some(child)) = (node, child) {
            let variables =
                node.module.variables.keys().map(|name| (name.clone(), Attribute::optional(Type::dynamic())));
            let schema = BlockSchema::new(variables);
            Expressions { body: &call.body, schema: &schema, module }.write(&mut members, "expressions");
            repetition(&mut members, &call.repetition, module);
            self.module(members.key("module"), &node.module, &node.path, Some(child))?;
        }
        members.text_if_any("version_constraint", &call.version.as_deref().and_then(constant_text).unwrap_or_default());
        depends_on(&mut members, &call.depends_on, module);
        members.close();
        Ok(())
    }
}

fn repetition(members: &mut Members<'_>, repetition: &Repetition, module: &Module) {
    let (name, expr) = match repetition {
        Repetition::Single => return,
        Repetition::Count(expr) => ("count_expression", expr),
        Repetition::ForEach(expr) => ("for_each_expression", expr),
        Repetition::Enabled(expr) => ("enabled_expression", expr),
    };
    members.if_written(name, |out| expression(out, expr, module));
}

fn depends_on(members: &mut Members<'_>, names: &[Traversal], module: &Module) {
    members.list_if_any("depends_on", names, |out, name| match Reference::parse(name, module) {
        (Some(reference), problems) if !problems.has_errors() => text(out, &reference.subject.to_string()),
        _ => text(out, ""),
    });
}

fn variable(out: &mut String, variable: &Variable) {
    let mut members = Members::open(out);
    if !variable.constraint.is_dynamic() {
        members.raw("type", &yuba_value::json::encode_type(&variable.constraint));
    }
    if let Some(default) = &variable.default {
        members.if_written("default", |out| known(out, default));
    }
    members.text_if_any("description", variable.description.as_deref().unwrap_or_default());
    members.bool_if_true("required", variable.default.is_none());
    members.bool_if_true("sensitive", variable.sensitive == Some(true));
    members.bool_if_true("ephemeral", variable.ephemeral == Some(true));
    members.text_if_any("deprecated", variable.deprecated.as_deref().unwrap_or_default());
    members.close();
}

#[cfg(test)]
mod tests;
