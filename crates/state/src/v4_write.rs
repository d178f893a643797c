//! Writing the current file format, version 4, byte for byte as OpenTofu does.

use std::io;

use yuba_addrs::{AbsProviderConfig, InstanceKey, ResourceMode};
use yuba_value::json as values;

use crate::WRITER_VERSION;
use crate::check::CheckResult;
use crate::model::{DeposedKey, Instance, Output, Resource, State};
use crate::object::{Attributes, Object, RawJson, Status};
use crate::v4_object::write_object;
use crate::writer::{Pieces, Writer};

/// Writes a state as a file of the current format: indented, as a file on disk is. `terraform_version` is always
/// [`WRITER_VERSION`].
pub fn write(state: &State, out: &mut Vec<u8>) {
    // Growing step by step would copy the output again and again. Unused memory costs nothing; if it cannot be
    // reserved, the buffer grows step by step after all.
    let _ = out.try_reserve(estimated_size(state));
    let mut writer = Writer::indented(out);
    write_state(state, &mut writer);
    writer.end_of_file();
}

/// The same in pieces of about `size` bytes: as a whole the text takes more room than the state itself.
pub fn write_in_pieces(state: &State, size: usize, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut out = Vec::new();
    let mut writer = Writer::in_pieces(&mut out, Pieces { size, take, result: Ok(()) });
    write_state(state, &mut writer);
    writer.end_of_file();
    writer.finish()
}

/// Writes a state without white space, as it is sent to a remote store.
pub fn write_compact(state: &State, out: &mut Vec<u8>) {
    write_state(state, &mut Writer::compact(out));
    out.push(b'\n');
}

/// About how many bytes a state takes, rather too many than too few.
fn estimated_size(state: &State) -> usize {
    let objects = state.iter().flat_map(|resource| resource.instances.values()).flat_map(Instance::objects);
    let sizes = objects.map(|(_, object)| {
        let attributes = match &object.attributes {
            // Each value gets a line of its own.
            Attributes::Json(json) => 4 * json.as_str().len(),
            Attributes::Flat(flat) => flat.iter().map(|(name, value)| 32 + name.len() + value.len()).sum(),
        };
        let dependencies = object.dependencies.iter().map(|dependency| {
            let modules: usize = dependency.module.steps().iter().map(|step| 8 + step.len()).sum();
            24 + modules + dependency.resource.kind.len() + dependency.resource.name.len()
        });
        768 + attributes + 2 * object.private.len() + dependencies.sum::<usize>()
    });
    4096 + sizes.sum::<usize>()
}

fn write_state(state: &State, writer: &mut Writer<'_>) {
    writer.object(|writer| {
        writer.key("version");
        writer.bare(4);
        writer.key("terraform_version");
        writer.text(WRITER_VERSION);
        writer.key("serial");
        writer.bare(state.serial);
        writer.key("lineage");
        writer.text(&state.lineage);
        writer.key("outputs");
        writer.object(|writer| {
            for (name, output) in &state.outputs {
                writer.key(name);
                writer.object(|writer| write_output(writer, output));
            }
        });
        writer.key("resources");
        writer.array(|writer| {
            for (module, resources) in by_module(state) {
                for resource in resources {
                    writer.item();
                    writer.object(|writer| write_resource(writer, &module, resource));
                }
            }
        });
        writer.key("check_results");
        match state.check_results.as_deref() {
            None | Some([]) => writer.bare("null"),
            Some(results) => write_check_results(writer, results),
        }
    });
}

/// The resources of each module instance. The file has the modules in the order of their addresses as text.
fn by_module(state: &State) -> Vec<(String, Vec<&Resource>)> {
    let mut modules: Vec<(String, Vec<&Resource>)> = Vec::new();
    let mut last = None;
    for resource in state.iter().filter(|resource| resource.addr.resource.mode != ResourceMode::Ephemeral) {
        match modules.last_mut() {
            Some((_, resources)) if last == Some(&resource.addr.module) => resources.push(resource),
            _ => {
                modules.push((resource.addr.module.to_string(), vec![resource]));
                last = Some(&resource.addr.module);
            }
        }
    }
    modules.sort_by(|(a, _), (b, _)| a.cmp(b));
    modules
}

pub(crate) fn write_output(writer: &mut Writer<'_>, output: &Output) {
    // Output values have no marks and are known: whatever comes out of an evaluation is checked for that before.
    let value = values::encode_plain(&output.value).unwrap_or_else(|_| "null".into());
    writer.key("value");
    writer.raw(&RawJson::trusted(value));
    writer.key("type");
    writer.raw(&RawJson::trusted(values::encode_type(output.value.ty())));
    writer.optional_flag("sensitive", output.sensitive);
    writer.optional_text("deprecated", &output.deprecated);
}

fn write_resource(writer: &mut Writer<'_>, module: &str, resource: &Resource) {
    let name = &resource.addr.resource;
    writer.optional_text("module", module);
    writer.key("mode");
    writer.text(name.mode.as_str());
    writer.key("type");
    writer.text(&name.kind);
    writer.key("name");
    writer.text(&name.name);
    // As soon as one instance belongs to an instance of the provider configuration, all say which one is theirs.
    // A configuration without alias has no instances: a key that an instance still has from its previous configuration
    // cannot be written, because it could not be read again.
    let keyed = resource.provider.alias.is_some()
        && resource.instances.values().any(|instance| instance.provider_key.is_some());
    if !keyed {
        writer.key("provider");
        writer.shown(&resource.provider);
    }
    writer.key("instances");
    writer.array(|writer| {
        for (key, instance) in &resource.instances {
            for (deposed, object) in instance.objects() {
                writer.item();
                let provider = keyed.then_some(&resource.provider);
                writer.object(|writer| write_instance(writer, key.as_ref(), deposed, provider, instance, object));
            }
        }
    });
}

fn write_instance(
    writer: &mut Writer<'_>,
    key: Option<&InstanceKey>,
    deposed: Option<&DeposedKey>,
    provider: Option<&AbsProviderConfig>,
    instance: &Instance,
    object: &Object,
) {
    if let Some(key) = key {
        writer.key("index_key");
        write_key(writer, key);
    }
    if object.status == Status::Tainted {
        writer.key("status");
        writer.text("tainted");
    }
    writer.optional_text("deposed", deposed.map_or("", DeposedKey::as_str));
    if let Some(provider) = provider {
        writer.key("provider");
        match &instance.provider_key {
            Some(key) => writer.shown(format_args!("{provider}{key}")),
            None => writer.shown(provider),
        }
    }
    write_object(writer, object);
}

pub(crate) fn write_key(writer: &mut Writer<'_>, key: &InstanceKey) {
    match key {
        InstanceKey::Int(key) => writer.bare(key),
        InstanceKey::String(key) => writer.text(key),
    }
}

pub(crate) fn write_check_results(writer: &mut Writer<'_>, results: &[CheckResult]) {
    writer.array(|writer| {
        for result in results {
            writer.item();
            writer.object(|writer| write_check_result(writer, result));
        }
    });
}

pub(crate) fn write_check_result(writer: &mut Writer<'_>, result: &CheckResult) {
    writer.key("object_kind");
    writer.text(result.kind.as_str());
    writer.key("config_addr");
    writer.text(&result.config_addr);
    writer.key("status");
    writer.text(result.status.as_str());
    writer.key("objects");
    if result.objects.is_empty() {
        writer.bare("null");
    } else {
        write_check_objects(writer, result);
    }
}

fn write_check_objects(writer: &mut Writer<'_>, result: &CheckResult) {
    writer.array(|writer| {
        for object in &result.objects {
            writer.item();
            writer.object(|writer| {
                writer.key("object_addr");
                writer.text(&object.addr);
                writer.key("status");
                writer.text(object.status.as_str());
                if !object.failure_messages.is_empty() {
                    writer.key("failure_messages");
                    writer.array(|writer| {
                        for message in &object.failure_messages {
                            writer.item();
                            writer.text(message);
                        }
                    });
                }
            });
        }
    });
}
