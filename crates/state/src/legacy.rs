//! Reading the file formats of versions 1 to 3: what is in them becomes what the current format would have.
//!
//! Version 1 has plain texts as output values. Version 2 counts the elements of maps and lists alike. Versions 2 and 3
//! have one entry for each instance, called `type.name.0`, and attributes as texts with dotted names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ecow::{EcoString, EcoVec, eco_format};
use yuba_addrs::{InstanceKey, ModuleInstance, ModuleStep};
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Diagnostic, Diagnostics, FileId, TraversalStep, parser};
use yuba_value::{Number, Type, TypeKind, Value, View, json as values};

use crate::address::legacy_provider;
use crate::diagnostics;
use crate::json::{Reader, Result, folded};
use crate::model::State;
use crate::v4::{Loader, RawKey, RawOutput, RawResource, read_flat};
use crate::v4_object::RawObject;

/// Reads a text that is known to be JSON.
pub(crate) fn read(text: &str, version: u64) -> std::result::Result<(State, Diagnostics), Diagnostic> {
    let file = File::read(&mut Reader::new(text), version).map_err(|fault| diagnostics::not_the_format(&fault))?;
    let mut loader = Loader::default();
    file.load(version, &mut loader).map_err(|problem| diagnostics::upgrade(version, &problem))?;
    Ok(loader.finish())
}

#[derive(Default)]
struct File<'t> {
    writer: EcoString,
    serial: i64,
    lineage: EcoString,
    modules: Vec<Module<'t>>,
}

#[derive(Default)]
struct Module<'t> {
    path: Vec<EcoString>,
    outputs: BTreeMap<EcoString, OldOutput<'t>>,
    resources: BTreeMap<EcoString, OldInstance<'t>>,
}

struct OldOutput<'t> {
    value: Cow<'t, str>,
    sensitive: bool,
}

#[derive(Default)]
struct OldInstance<'t> {
    primary: Option<OldObject<'t>>,
    deposed: Vec<OldObject<'t>>,
    provider: EcoString,
}

#[derive(Default)]
struct OldObject<'t> {
    id: EcoString,
    attributes: Option<BTreeMap<EcoString, EcoString>>,
    meta: BTreeMap<EcoString, &'t str>,
    tainted: bool,
}

impl<'t> File<'t> {
    fn read(reader: &mut Reader<'t>, version: u64) -> Result<File<'t>> {
        let mut file = File::default();
        reader.object("", |reader, key| {
            match &*folded(key) {
                "terraform_version" if version > 1 => file.writer = reader.string("terraform_version")?.into(),
                "serial" => file.serial = reader.integer("serial")?.unwrap_or_default(),
                "lineage" if version > 1 => file.lineage = reader.string("lineage")?.into(),
                "modules" => {
                    file.modules.clear();
                    reader.array("modules", |reader| {
                        file.modules.push(Module::read(reader, version)?);
                        Ok(())
                    })?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(file)
    }

    fn load(self, version: u64, loader: &mut Loader) -> std::result::Result<(), EcoString> {
        loader.state.serial = u64::try_from(self.serial).map_err(|_| "its serial is less than zero")?;
        loader.state.lineage = self.lineage;
        loader.state.terraform_version = if self.writer.is_empty() { "0.0.0".into() } else { self.writer };
        for module in self.modules {
            module.load(version, loader)?;
        }
        Ok(())
    }
}

impl<'t> Module<'t> {
    fn read(reader: &mut Reader<'t>, version: u64) -> Result<Module<'t>> {
        let mut module = Module::default();
        reader.object("modules", |reader, key| {
            match &*folded(key) {
                "path" => {
                    module.path.clear();
                    reader.array("modules.path", |reader| {
                        module.path.push(reader.string("modules.path")?.into());
                        Ok(())
                    })?;
                }
                "outputs" => reader.object("modules.outputs", |reader, name| {
                    module.outputs.insert(name.into(), OldOutput::read(reader, version)?);
                    Ok(())
                })?,
                "resources" => reader.object("modules.resources", |reader, name| {
                    module.resources.insert(name.into(), OldInstance::read(reader, version)?);
                    Ok(())
                })?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if version == 1 && module.path.is_empty() {
            module.path.push("root".into());
        }
        Ok(module)
    }

    fn load(self, version: u64, loader: &mut Loader) -> std::result::Result<(), EcoString> {
        let Some(("root", calls)) = self.path.split_first().map(|(root, calls)| (root.as_str(), calls)) else {
            return Err(eco_format!("the module path {:?} does not start at the root module", self.path));
        };
        if let Some(bad) = calls.iter().find(|name| !is_identifier(name)) {
            return Err(eco_format!(
                "{bad:?} in the module path {:?} is not a valid name; Terraform 0.11 can still rename the module",
                self.path
            ));
        }
        let module: ModuleInstance = calls.iter().map(|name| ModuleStep { name: name.clone(), key: None }).collect();
        // All instances of a resource together. They are in the order of their keys as text.
        let mut resources: BTreeMap<EcoString, (RawResource<'_>, Vec<RawObject<'_>>)> = BTreeMap::new();
        for (name, instance) in self.resources {
            let (resource, key) = OldName::parse(&name)?;
            let (_, objects) = match resources.entry(resource.shown()) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let provider = old_provider(&instance.provider, &module, &resource, &name)?;
                    let raw = RawResource {
                        module: module.to_string().into(),
                        mode: if resource.data { "data" } else { "managed" }.into(),
                        kind: resource.kind.to_string().into(),
                        name: resource.name.to_string().into(),
                        provider: provider.into(),
                    };
                    entry.insert((raw, Vec::new()))
                }
            };
            let index_key = || key.map_or(RawKey::None, |key| RawKey::Key(InstanceKey::Int(key)));
            if let Some(object) = instance.primary {
                objects.push(object.upgraded(version, index_key(), String::new()));
            }
            for (at, object) in instance.deposed.into_iter().enumerate() {
                objects.push(object.upgraded(version, index_key(), format!("{:08x}", at + 1)));
            }
        }
        for (resource, objects) in resources.into_values() {
            let Some(mut loaded) = loader.begin(&resource) else { continue };
            for object in objects {
                // There is nothing in these objects that is still to be read.
                let _ = loader.object(&resource, &mut loaded, object);
            }
            loader.end(loaded);
        }
        if calls.is_empty() {
            for (name, output) in self.outputs {
                let ty = values::implied_type(output.value.as_bytes())
                    .map_err(|e| eco_format!("the value of the output {name:?} cannot be read: {}", e.message))?;
                let raw = RawOutput { value: &output.value, sensitive: output.sensitive, ..RawOutput::default() };
                loader.set_output(&name, raw, &simplified(&ty));
            }
        }
        Ok(())
    }
}

impl<'t> OldOutput<'t> {
    fn read(reader: &mut Reader<'t>, version: u64) -> Result<OldOutput<'t>> {
        if version == 1 {
            let text = reader.string("modules.outputs")?;
            return Ok(OldOutput { value: values::quote(&text).into(), sensitive: false });
        }
        let mut output = OldOutput { value: "null".into(), sensitive: false };
        reader.object("modules.outputs", |reader, key| {
            match &*folded(key) {
                "value" => output.value = reader.raw()?.into(),
                "sensitive" => output.sensitive = reader.bool("modules.outputs.sensitive")?,
                "type" => drop(reader.string("modules.outputs.type")?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(output)
    }
}

impl<'t> OldInstance<'t> {
    fn read(reader: &mut Reader<'t>, version: u64) -> Result<OldInstance<'t>> {
        let mut instance = OldInstance::default();
        reader.object("modules.resources", |reader, key| {
            match &*folded(key) {
                "primary" if reader.null()? => instance.primary = None,
                "primary" => instance.primary = Some(OldObject::read(reader, version)?),
                "deposed" => {
                    instance.deposed.clear();
                    reader.array("modules.resources.deposed", |reader| {
                        instance.deposed.push(OldObject::read(reader, version)?);
                        Ok(())
                    })?;
                }
                "provider" => instance.provider = reader.string("modules.resources.provider")?.into(),
                "type" => drop(reader.string("modules.resources.type")?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(instance)
    }
}

impl<'t> OldObject<'t> {
    fn read(reader: &mut Reader<'t>, version: u64) -> Result<OldObject<'t>> {
        let mut object = OldObject::default();
        reader.object("modules.resources.primary", |reader, key| {
            match &*folded(key) {
                "id" => object.id = reader.string("modules.resources.primary.id")?.into(),
                "attributes" => object.attributes = read_flat(reader, "modules.resources.primary.attributes")?,
                "meta" => reader.object("modules.resources.primary.meta", |reader, name| {
                    if version == 1 {
                        reader.clone().string("modules.resources.primary.meta")?;
                    }
                    object.meta.insert(name.into(), reader.raw()?);
                    Ok(())
                })?,
                "tainted" if version > 1 => object.tainted = reader.bool("modules.resources.primary.tainted")?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(object)
    }

    fn upgraded(mut self, version: u64, index_key: RawKey, deposed: String) -> RawObject<'static> {
        if version < 3
            && let Some(attributes) = &mut self.attributes
        {
            count_maps_as_maps(attributes);
        }
        let schema_version = self.meta.get("schema_version").and_then(|raw| schema_version(raw));
        if schema_version.is_some() {
            self.meta.remove("schema_version");
        }
        let mut attributes = self.attributes;
        if !self.id.is_empty() {
            let id = attributes.get_or_insert_default().entry("id".into()).or_default();
            if id.is_empty() {
                *id = self.id;
            }
        }
        RawObject {
            index_key,
            status: if self.tainted { "tainted" } else { "" }.into(),
            deposed: deposed.into(),
            schema_version: schema_version.unwrap_or_default(),
            attributes_flat: attributes,
            private: private(&self.meta),
            ..RawObject::default()
        }
    }
}

/// Private data that old providers stored beside the attributes, as the JSON object that newer ones expect.
fn private(meta: &BTreeMap<EcoString, &str>) -> EcoVec<u8> {
    if meta.is_empty() {
        return EcoVec::new();
    }
    let entry = |(name, raw): (&EcoString, &&str)| {
        let value = values::decode_implied(raw).unwrap_or_else(|_| Value::null_dynamic());
        (name.clone(), value)
    };
    let object = Value::object(meta.iter().map(entry).collect());
    values::encode_plain(&object).map(|json| json.into_bytes().into()).unwrap_or_default()
}

/// A schema version that the SDK of old wrote among the private data, as text or as number.
fn schema_version(raw: &str) -> Option<u64> {
    let value = values::decode_implied(raw).ok()?;
    match value.view_ignoring_marks() {
        View::String(text) => text.parse().ok(),
        View::Number(number) => Number::trunc(number).to_u64(),
        _ => None,
    }
}

/// Version 2 has the number of elements as `name.#` for maps and for lists; later it is `name.%` for maps. Empty
/// collections lose it, because their kind is unknown.
fn count_maps_as_maps(attributes: &mut BTreeMap<EcoString, EcoString>) {
    let counts: Vec<EcoString> = attributes.keys().filter(|name| name.ends_with(".#")).cloned().collect();
    for count in counts {
        let prefix = &count[..count.len() - 1];
        let elements = attributes
            .range(EcoString::from(prefix)..)
            .map_while(|(name, _)| name.strip_prefix(prefix))
            .filter_map(|rest| match rest.find('.') {
                Some(dot) if dot > 0 => Some(&rest[..dot]),
                _ => (rest != "#").then_some(rest),
            });
        let (mut any, mut map) = (false, false);
        for element in elements {
            any = true;
            map |= element.parse::<i64>().is_err();
        }
        if any && !map {
            continue;
        }
        let number = attributes.remove(&count);
        if let Some(number) = number
            && map
        {
            attributes.insert(eco_format!("{prefix}%"), number);
        }
    }
}

/// Key of an instance in the old formats.
struct OldName<'n> {
    data: bool,
    kind: &'n str,
    name: &'n str,
}

impl<'n> OldName<'n> {
    fn parse(text: &'n str) -> std::result::Result<(OldName<'n>, Option<i64>), EcoString> {
        let parts: Vec<&str> = text.split('.').collect();
        let (data, parts) = match parts.as_slice() {
            ["data", rest @ ..] if rest.len() >= 2 => (true, rest),
            parts => (false, parts),
        };
        let (kind, name, key) = match *parts {
            [kind, name] => (kind, name, None),
            [kind, name, key] => match parse_int(key) {
                Some(key) => (kind, name, Some(key)),
                None => return Err(eco_format!("the key of the resource {text:?} is not a whole number")),
            },
            _ => return Err(eco_format!("{text:?} is not the name of a resource")),
        };
        Ok((OldName { data, kind, name }, key))
    }

    fn shown(&self) -> EcoString {
        eco_format!("{}{}.{}", if self.data { "data." } else { "" }, self.kind, self.name)
    }
}

/// A whole number in any notation of Go, but without underscores.
fn parse_int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'o', ..] => (&lower[2..], 8),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

/// The address of the provider configuration as versions just before 0.13 wrote it, whatever the file has.
fn old_provider(
    given: &str,
    module: &ModuleInstance,
    resource: &OldName<'_>,
    instance: &str,
) -> std::result::Result<String, EcoString> {
    let problem = || {
        let hint = if given.contains("${") {
            "; a template cannot be part of it. Terraform 0.11 can still rename the provider alias"
        } else {
            ""
        };
        eco_format!("{given:?} is not the name of a provider configuration, but {instance} has it{hint}")
    };
    if given.contains("provider.") {
        return legacy_provider(given).map(|_| given.to_owned()).ok_or_else(problem);
    }
    let local = match given {
        "" => resource.kind.split_once('_').map_or(resource.kind, |(provider, _)| provider).to_owned(),
        given => local_provider(given).ok_or_else(problem)?,
    };
    let dot = if module.is_root() { "" } else { "." };
    Ok(format!("{module}{dot}provider.{local}"))
}

/// `aws` or `aws.west`
fn local_provider(given: &str) -> Option<String> {
    let (Some(traversal), problems) = parser::parse_traversal(FileId(0), given.as_bytes()) else { return None };
    if problems.has_errors() {
        return None;
    }
    match traversal.steps.first() {
        None => Some(traversal.root.to_string()),
        // Quirk: what follows the alias is ignored.
        Some(TraversalStep::Attr { name, .. }) => Some(format!("{}.{name}", traversal.root)),
        Some(TraversalStep::Index { .. }) => None,
    }
}

/// Values of old were texts, lists and maps, so what looks like one of these probably is one.
fn simplified(ty: &Type) -> Type {
    fn same<'t>(mut types: impl Iterator<Item = &'t Type>) -> Option<Type> {
        let first = types.next()?;
        types.all(|other| other == first).then(|| simplified(first))
    }
    match ty.kind() {
        TypeKind::Tuple(elements) => same(elements.iter()).map_or_else(|| ty.clone(), Type::list),
        TypeKind::Object(attrs) => same(attrs.iter().map(|attr| &attr.ty)).map_or_else(|| ty.clone(), Type::map),
        _ => ty.clone(),
    }
}
