//! States as JSON documents: `show -json`, and `output -json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::{InstanceKey, ProviderSource, Resource as ResourceAddr, ResourceMode};
use yuba_provider::{ProviderSchema, Providers, Schema};
use yuba_state::{DeposedKey, Object, Output, Resource, State, Status};

use crate::checks_json;
use crate::json::indent;
use crate::json_writer::{Members, key, text};
use crate::module_tree::ModuleTree;
use crate::values_json::{Shape, known, sensitive};

/// The version of the format of states.
pub const FORMAT_VERSION: &str = "1.0";

/// A state as JSON. The error is the end of a sentence. Without a state the document has no values.
pub fn state(state: Option<&State>, schemas: &dyn Providers) -> Result<String, EcoString> {
    let mut out = String::new();
    write(&mut out, state, &mut KnownSchemas::new(schemas))?;
    Ok(out)
}

/// All outputs as one document of many lines, with its line end.
pub fn all_outputs(outputs: &BTreeMap<EcoString, Output>) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    for (name, output) in outputs {
        let mut member = Members::open(members.key(name));
        member.bool("sensitive", output.sensitive);
        member.text_if_any("deprecated", &output.deprecated);
        member.raw("type", &yuba_value::json::encode_type(output.value.ty()));
        known(member.key("value"), &output.value);
        member.close();
    }
    members.close();
    indent(&out) + "\n"
}

/// The value of one output, with its line end.
pub fn one_output(output: &Output) -> String {
    let mut out = String::new();
    known(&mut out, &output.value);
    out + "\n"
}

pub(crate) fn write(out: &mut String, state: Option<&State>, schemas: &mut KnownSchemas<'_>) -> Result<(), EcoString> {
    let mut members = Members::open(out);
    members.text("format_version", FORMAT_VERSION);
    if let Some(state) = state.filter(|state| !state.is_empty()) {
        members.text_if_any("terraform_version", &state.terraform_version);
        let mut values = Members::open(members.key("values"));
        if !state.outputs.is_empty() {
            outputs(values.key("outputs"), &state.outputs);
        }
        let mut tree = ModuleTree::new();
        for resource in state.iter() {
            let provider = schemas.provider(&resource.provider.provider);
            for (instance_key, instance) in &resource.instances {
                for (deposed, object) in instance.objects() {
                    let (key, provider) = (instance_key.as_ref(), provider.clone());
                    tree.add(&resource.addr.module, Shown { resource, key, deposed, object, provider });
                }
            }
        }
        tree.write(values.key("root_module"), |_| {}, Shown::write)?;
        values.close();
        if let Some(checks) = state.check_results.as_deref().filter(|checks| !checks.is_empty()) {
            checks_json::write(members.key("checks"), checks);
        }
    }
    members.close();
    Ok(())
}

fn outputs(out: &mut String, outputs: &BTreeMap<EcoString, Output>) {
    let mut members = Members::open(out);
    for (name, output) in outputs {
        let mut member = Members::open(members.key(name));
        member.bool("sensitive", output.sensitive);
        member.text_if_any("deprecated", &output.deprecated);
        known(member.key("value"), &output.value);
        member.raw("type", &yuba_value::json::encode_type(output.value.ty()));
        member.close();
    }
    members.close();
}

/// Schemas that were asked for before.
pub(crate) struct KnownSchemas<'a> {
    ask: &'a dyn Providers,
    known: BTreeMap<ProviderSource, Option<Arc<ProviderSchema>>>,
}

impl<'a> KnownSchemas<'a> {
    pub(crate) fn new(ask: &'a dyn Providers) -> KnownSchemas<'a> {
        KnownSchemas { ask, known: BTreeMap::new() }
    }
    pub(crate) fn provider(&mut self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        if let Some(known) = self.known.get(provider) {
            return known.clone();
        }
        let schema = self.ask.schema(provider);
        self.known.insert(provider.clone(), schema.clone());
        schema
    }
}

/// The schema of a resource.
pub(crate) fn schema_of<'s>(provider: Option<&'s ProviderSchema>, resource: &ResourceAddr) -> Option<&'s Schema> {
    let provider = provider?;
    let of_mode = match resource.mode {
        ResourceMode::Managed => &provider.resources,
        ResourceMode::Data => &provider.data,
        ResourceMode::Ephemeral => &provider.ephemeral,
    };
    of_mode.get(&resource.kind)
}

/// Reason why an object cannot be written, as the end of a sentence.
pub(crate) fn no_schema(addr: &dyn std::fmt::Display, provider: &ProviderSource) -> EcoString {
    eco_format!("no schema found for {addr} (in provider {provider})")
}

/// One object.
struct Shown<'s> {
    resource: &'s Resource,
    key: Option<&'s InstanceKey>,
    deposed: Option<&'s DeposedKey>,
    object: &'s Object,
    provider: Option<Arc<ProviderSchema>>,
}

impl Shown<'_> {
    fn write(out: &mut String, shown: &Shown<'_>) -> Result<(), EcoString> {
        let Shown { resource, object, .. } = shown;
        let local = &resource.addr.resource;
        let source = &resource.provider.provider;
        let schema = schema_of(shown.provider.as_deref(), local).ok_or_else(|| no_schema(local, source))?;
        if shown.deposed.is_none() && schema.version != object.schema_version {
            return Err(eco_format!(
                "schema version {} for {local} in state does not match version {} from the provider",
                object.schema_version,
                schema.version
            ));
        }
        let addr = resource.addr.clone().instance(shown.key.cloned());
        let value = object
            .decode(schema.block.implied_type())
            .map_err(|error| eco_format!("{addr} cannot be read by its schema: {}", error.message))?;
        let mut members = Members::open(out);
        members.shown("address", &addr);
        resource_members(&mut members, local, shown.key, source);
        // Quirk: deposed objects have no schema version.
        members.int("schema_version", if shown.deposed.is_some() { 0 } else { object.schema_version });
        if !value.is_null() {
            known(members.key("values"), &value);
        }
        sensitive(members.key("sensitive_values"), &value, Shape::of(&schema.block));
        members.list_if_any("depends_on", object.dependencies.iter(), |out, addr| text(out, &addr.to_string()));
        members.bool_if_true("tainted", object.status == Status::Tainted);
        if let Some(deposed) = shown.deposed {
            members.text("deposed_key", deposed.as_str());
        }
        if let Some(identity) = &object.identity {
            members.raw("identity", identity.json.as_str());
            if let Some(version) = identity.schema_version {
                members.int("identity_schema_version", version);
            }
        }
        members.close();
        Ok(())
    }
}

/// The members of a resource after its address that all documents share.
pub(crate) fn resource_members(
    members: &mut Members<'_>,
    resource: &ResourceAddr,
    instance_key: Option<&InstanceKey>,
    provider: &ProviderSource,
) {
    members.text("mode", resource.mode.as_str());
    members.text("type", &resource.kind);
    members.text("name", &resource.name);
    if let Some(instance_key) = instance_key {
        key(members.key("index"), instance_key);
    }
    members.shown("provider_name", provider);
}

#[cfg(test)]
mod tests {
    use yuba_provider::RecordedSchemas;
    use yuba_value::{Type, Value};

    use super::*;
    use crate::testing::{builtin, state_of};

    #[test]
    fn a_state() {
        let secret = |text: &str| Value::string(text).mark(yuba_value::Mark::Sensitive);
        let state = state_of(&[
            ("terraform_data.a[\"<\"]", Value::tuple(vec![secret("s"), Value::int(1)])),
            ("module.m[0].module.n.terraform_data.b", Value::null(Type::string())),
        ]);
        let state = super::state(Some(&state), &builtin()).expect("because there are schemas");
        let expect = [
            r#"{"format_version":"1.0","terraform_version":"1.12.6","values":{"outputs":{"o":{"sensitive":true,"#,
            r#""deprecated":"no","value":{"a":"\u003c"},"type":["object",{"a":"string"}]}},"#,
            r#""root_module":{"resources":[{"address":"terraform_data.a[\"\u003c\"]","mode":"managed","#,
            r#""type":"terraform_data","name":"a","index":"\u003c","provider_name":"terraform.io/builtin/terraform","#,
            r#""schema_version":0,"values":{"id":"i","input":["s",1],"output":null,"triggers_replace":null},"#,
            r#""sensitive_values":{"input":[true,false]}}],"child_modules":[{"address":"module.m[0]","#,
            r#""child_modules":[{"resources":[{"address":"module.m[0].module.n.terraform_data.b","mode":"managed","#,
            r#""type":"terraform_data","name":"b","provider_name":"terraform.io/builtin/terraform","#,
            r#""schema_version":0,"values":{"id":"i","input":null,"output":null,"triggers_replace":null},"#,
            r#""sensitive_values":{}}],"address":"module.m[0].module.n"}]}]}}}"#,
        ];
        assert_eq!(state, expect.concat());
        assert_eq!(super::state(None, &builtin()).as_deref(), Ok(r#"{"format_version":"1.0"}"#));
        let state = state_of(&[("terraform_data.a", Value::int(1))]);
        let why = super::state(Some(&state), &RecordedSchemas::default()).expect_err("because there is no schema");
        assert_eq!(why, "no schema found for terraform_data.a (in provider terraform.io/builtin/terraform)");
    }

    #[test]
    fn outputs() {
        let state = state_of(&[]);
        assert_eq!(
            all_outputs(&state.outputs),
            "{\n  \"o\": {\n    \"sensitive\": true,\n    \"deprecated\": \"no\",\n    \"type\": [\n      \"object\",\n      \
             {\n        \"a\": \"string\"\n      }\n    ],\n    \"value\": {\n      \"a\": \"\\u003c\"\n    }\n  }\n}\n"
        );
        assert_eq!(all_outputs(&BTreeMap::new()), "{}\n");
        assert_eq!(state.outputs.values().map(one_output).collect::<String>(), "{\"a\":\"\\u003c\"}\n");
    }
}
