//! Reading the current file format, version 4.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ecow::{EcoString, EcoVec};
use yuba_addrs::{
    AbsProviderConfig, AbsResource, AbsResourceInstance, ConfigResource, InstanceKey, KeyMap, ModuleInstance,
    Resource as ResourceName, ResourceMode, Version,
};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::{Type, json as values};

use crate::address::Addresses;
use crate::check::{CheckKind, CheckObject, CheckResult, CheckStatus};
use crate::diagnostics;
use crate::json::{Fault, Reader, Result, folded};
use crate::model::{DeposedKey, Instance, Output, Resource, State};
use crate::v4_object::RawObject;

/// Base64 as Go reads it: unused bits may have any value.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Reads a text in one go, if all in it is where writers put it. None says nothing about the text.
pub(crate) fn read_at_once(text: &str) -> Option<(State, Diagnostics)> {
    let mut loader = Loader { at_once: true, ..Loader::default() };
    let mut reader = Reader::new(text);
    loader.file(&mut reader).ok()?;
    reader.end().ok()?;
    loader.version_seen.then(|| loader.finish())
}

/// Reads a text that is known to be JSON.
pub(crate) fn read(text: &str) -> std::result::Result<(State, Diagnostics), Diagnostic> {
    let mut loader = Loader::default();
    loader.file(&mut Reader::new(text)).map_err(|fault| diagnostics::not_the_format(&fault))?;
    Ok(loader.finish())
}

/// An unexpected value in valid JSON.
const OUT_OF_ORDER: Fault = Fault::Syntax(0);

/// A resource as the file has it, without its instances.
#[derive(Default)]
pub(crate) struct RawResource<'t> {
    pub(crate) module: Cow<'t, str>,
    pub(crate) mode: Cow<'t, str>,
    pub(crate) kind: Cow<'t, str>,
    pub(crate) name: Cow<'t, str>,
    pub(crate) provider: Cow<'t, str>,
}

/// An output as the file has it, without its type.
#[derive(Default)]
pub(crate) struct RawOutput<'t> {
    pub(crate) value: &'t str,
    pub(crate) sensitive: bool,
    pub(crate) deprecated: EcoString,
}

/// A key as the file has it.
#[derive(Default)]
pub(crate) enum RawKey {
    #[default]
    None,
    Key(InstanceKey),
    /// A value that is not a key.
    Other(EcoString),
}

/// A state that is being read.
#[derive(Default)]
pub(crate) struct Loader {
    pub(crate) state: State,
    pub(crate) problems: Diagnostics,
    addresses: Addresses,
    /// Nothing is known of the text yet, so what is not as expected is a fault of any kind.
    at_once: bool,
    version_seen: bool,
}

/// The instances of a resource that is being read.
pub(crate) struct Instances {
    addr: AbsResource,
    provider: Option<AbsProviderConfig>,
    /// The provider of instances that came before.
    known_provider: Option<AbsProviderConfig>,
    /// The provider of the first instance that has one of its own.
    own_provider: Option<AbsProviderConfig>,
    /// Instances whose two provider addresses were reported.
    conflicts: BTreeSet<Option<InstanceKey>>,
    missing_told: bool,
    differs_told: bool,
    instances: KeyMap<Instance>,
}

impl Instances {
    /// The address of the resource.
    pub(crate) fn addr(&self) -> &AbsResource {
        &self.addr
    }

    /// The provider configuration of instances that were read before, where it is another one.
    pub(crate) fn other_provider(&self, shown: &str) -> Option<String> {
        let before = self.known_provider.as_ref()?.to_string();
        (before != shown).then_some(before)
    }
}

impl Loader {
    fn file(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        reader.object("", |reader, key| {
            match &*folded(key) {
                "version" if self.at_once => {
                    self.version_seen = true;
                    if reader.integer("version")? != Some(4u64) {
                        return Err(OUT_OF_ORDER);
                    }
                }
                "terraform_version" => self.state.terraform_version = reader.string("terraform_version")?.into(),
                "serial" => self.state.serial = reader.integer("serial")?.unwrap_or_default(),
                "lineage" => self.state.lineage = reader.string("lineage")?.into(),
                "outputs" => reader.object("outputs", |reader, name| self.output(reader, name))?,
                "resources" => {
                    self.state.resources_mut().clear();
                    reader.array("resources", |reader| self.resource(reader))?;
                }
                "check_results" => self.check_results(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })
    }

    /// The state and the warnings about it.
    pub(crate) fn finish(mut self) -> (State, Diagnostics) {
        let version = &self.state.terraform_version;
        if !version.is_empty() && Version::parse(version).is_err() {
            self.problems.push(diagnostics::writer_version(version));
        }
        (self.state, self.problems)
    }

    fn output(&mut self, reader: &mut Reader<'_>, name: &str) -> Result<()> {
        let (mut ty, mut raw) = ("", RawOutput::default());
        reader.object("outputs", |reader, key| {
            match &*folded(key) {
                "value" => raw.value = reader.raw()?,
                "type" => ty = reader.raw()?,
                "sensitive" => raw.sensitive = reader.bool("outputs.sensitive")?,
                "deprecated" => raw.deprecated = reader.string("outputs.deprecated")?.into(),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let ty = match values::decode_type(ty.as_bytes()) {
            Ok(ty) => ty,
            Err(problem) => {
                // Quirk: for a missing type Go reports only the end of the text.
                let problem = if ty.is_empty() { "EOF".into() } else { problem.message };
                self.problems.push(diagnostics::output_type(name, problem));
                return Ok(());
            }
        };
        self.set_output(name, raw, &ty);
        Ok(())
    }

    pub(crate) fn set_output(&mut self, name: &str, raw: RawOutput<'_>, ty: &Type) {
        let RawOutput { value, sensitive, deprecated } = raw;
        match values::decode(value.as_bytes(), ty) {
            Ok(value) => {
                self.state.outputs.insert(name.into(), Output { value, sensitive, deprecated });
            }
            Err(problem) => self.problems.push(diagnostics::output_value(name, problem.message)),
        }
    }

    fn resource(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let mut raw = RawResource::default();
        // The instances can come before what they are instances of.
        let mut instances = None;
        let mut done = false;
        reader.object("resources", |reader, key| {
            if done {
                return Err(OUT_OF_ORDER);
            }
            match &*folded(key) {
                "module" => raw.module = reader.string("resources.module")?,
                "mode" => raw.mode = reader.string("resources.mode")?,
                "type" => raw.kind = reader.string("resources.type")?,
                "name" => raw.name = reader.string("resources.name")?,
                "provider" => raw.provider = reader.string("resources.provider")?,
                "each" => drop(reader.string("resources.each")?),
                "instances" if self.at_once => {
                    self.instances(&raw, Some(reader))?;
                    done = true;
                }
                "instances" => {
                    instances = Some(reader.clone());
                    reader.skip()?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if done { Ok(()) } else { self.instances(&raw, instances.as_mut()) }
    }

    fn instances(&mut self, raw: &RawResource<'_>, reader: Option<&mut Reader<'_>>) -> Result<()> {
        let mut loaded = self.begin(raw);
        if let Some(reader) = reader {
            reader.array("resources.instances", |reader| {
                let object = RawObject::read(reader)?;
                if let Some(loaded) = &mut loaded {
                    self.object(raw, loaded, object)?;
                }
                Ok(())
            })?;
        }
        if let Some(loaded) = loaded {
            self.end(loaded);
        }
        Ok(())
    }

    /// A resource whose instances follow, unless it is not possible to say which one it is.
    pub(crate) fn begin(&mut self, raw: &RawResource<'_>) -> Option<Instances> {
        let mode = match &*raw.mode {
            "managed" => ResourceMode::Managed,
            "data" => ResourceMode::Data,
            mode => {
                self.problems.push(diagnostics::resource_mode(mode, &raw.kind, &raw.name));
                return None;
            }
        };
        let module = match &*raw.module {
            "" => ModuleInstance::ROOT,
            text => self.or_report(|addresses| addresses.module(text))?,
        };
        let provider = match &*raw.provider {
            "" => None,
            text => Some(self.or_report(|addresses| addresses.provider(text))?),
        };
        let addr = ResourceName { mode, kind: (&*raw.kind).into(), name: (&*raw.name).into() }.absolute(module);
        let before = self.state.resources_mut().remove(&addr);
        let (before_provider, instances) =
            before.map(Arc::unwrap_or_clone).map_or_else(Default::default, |r| (Some(r.provider), r.instances));
        Some(Instances {
            addr,
            provider: provider.or_else(|| before_provider.clone()),
            known_provider: before_provider,
            own_provider: None,
            conflicts: BTreeSet::new(),
            missing_told: false,
            differs_told: false,
            instances,
        })
    }

    pub(crate) fn end(&mut self, loaded: Instances) {
        let Instances { addr, provider, instances, .. } = loaded;
        // Without a provider there is no instance either, or an error was reported.
        if let Some(provider) = provider {
            self.state.resources_mut().insert(addr.clone(), Arc::new(Resource { addr, provider, instances }));
        }
    }

    fn or_report<T>(&mut self, read: impl FnOnce(&mut Addresses) -> std::result::Result<T, Diagnostics>) -> Option<T> {
        match read(&mut self.addresses) {
            Ok(addr) => Some(addr),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    /// Adds an object to the resource.
    pub(crate) fn object(
        &mut self,
        resource: &RawResource<'_>,
        loaded: &mut Instances,
        raw: RawObject<'_>,
    ) -> Result<()> {
        let key = match raw.index_key {
            RawKey::None => None,
            RawKey::Key(ref key) => Some(key.clone()),
            RawKey::Other(ref found) => {
                self.problems.push(diagnostics::instance_key(&loaded.addr, found));
                return Ok(());
            }
        };
        let instance_addr = |loaded: &Instances| -> AbsResourceInstance { loaded.addr.clone().instance(key.clone()) };
        let provider_key = self.object_provider(resource, loaded, &raw, &instance_addr);
        let dependencies = self.dependencies(raw.dependencies)?;
        let deposed = match &*raw.deposed {
            "" => None,
            text => match DeposedKey::parse(text) {
                Some(key) => Some(key),
                None => {
                    self.problems.push(diagnostics::deposed_key(&instance_addr(loaded), text));
                    return Ok(());
                }
            },
        };
        if let Some(instance) = loaded.instances.get(&key)
            && instance.object(deposed.as_ref()).is_some()
        {
            self.problems.push(diagnostics::duplicate(&instance_addr(loaded), deposed.as_ref()));
            return Ok(());
        }
        let mut problems = Diagnostics::new();
        let shown = std::fmt::from_fn(|f| instance_addr(loaded).fmt(f));
        let object = raw.into_object(dependencies, shown, &mut problems);
        self.problems.extend(problems);
        let Some(object) = object.map(Arc::new) else { return Ok(()) };
        let instance = loaded.instances.or_default(key);
        instance.provider_key = provider_key;
        match deposed {
            None => instance.current = Some(object),
            Some(key) => {
                instance.deposed.insert(key, object);
            }
        }
        Ok(())
    }

    /// Ensures that the resource has a provider, and returns the key of the provider instance that the object belongs to.
    fn object_provider(
        &mut self,
        resource: &RawResource<'_>,
        loaded: &mut Instances,
        raw: &RawObject<'_>,
        addr: &dyn Fn(&Instances) -> AbsResourceInstance,
    ) -> Option<InstanceKey> {
        if raw.provider.is_empty() {
            if resource.provider.is_empty() && !loaded.missing_told {
                loaded.missing_told = true;
                self.problems.push(diagnostics::provider_missing(&loaded.addr));
            }
            return None;
        }
        if !resource.provider.is_empty() {
            let instance = addr(loaded);
            if loaded.conflicts.insert(instance.key.clone()) {
                self.problems.push(diagnostics::provider_conflict(&instance, &resource.provider, &raw.provider));
            }
        }
        let (provider, key) = self.or_report(|addresses| addresses.provider_instance(&raw.provider))?;
        match &loaded.own_provider {
            Some(first) if *first != provider => {
                if !loaded.differs_told {
                    loaded.differs_told = true;
                    self.problems.push(diagnostics::provider_differs(&loaded.addr, first, &provider));
                }
            }
            Some(_) => {}
            None => loaded.own_provider = Some(provider.clone()),
        }
        loaded.provider = Some(provider);
        key
    }

    fn dependencies(&mut self, raw: Option<&str>) -> Result<EcoVec<ConfigResource>> {
        let Some(raw) = raw else { return Ok(EcoVec::new()) };
        if let Some(known) = self.addresses.dependency_list(raw) {
            return Ok(known);
        }
        let mut list = Vec::new();
        Reader::new(raw).array("resources.instances.dependencies", |reader| {
            let text = reader.string("resources.instances.dependencies")?;
            list.extend(self.or_report(|addresses| addresses.dependency(&text)));
            Ok(())
        })?;
        // As long as what it holds: most lists have one item, and large states have many lists.
        let list: EcoVec<ConfigResource> = list.into_iter().collect();
        self.addresses.keep_dependency_list(raw, list.clone());
        Ok(list)
    }

    fn check_results(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        if reader.null()? {
            return Ok(());
        }
        let (results, problems) = read_check_results(reader)?;
        self.state.check_results = Some(results);
        self.problems.extend(problems);
        Ok(())
    }
}

impl RawKey {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<RawKey> {
        Ok(match reader.peek() {
            Some(b'n') => {
                reader.skip()?;
                RawKey::None
            }
            Some(b'"') => RawKey::Key(InstanceKey::String(reader.string("index_key")?.into())),
            Some(b'-' | b'0'..=b'9') => {
                let raw = reader.raw()?;
                match (raw.parse::<i64>(), raw.parse::<f64>()) {
                    (Ok(key), _) => RawKey::Key(InstanceKey::Int(key)),
                    // Quirk: digits after the point are ignored.
                    #[expect(clippy::cast_possible_truncation, reason = "because it is in the range")]
                    (_, Ok(key)) if key.abs() < 9e18 => RawKey::Key(InstanceKey::Int(key as i64)),
                    _ => RawKey::Other(raw.into()),
                }
            }
            Some(b't' | b'f') => RawKey::Other(reader.raw()?.into()),
            _ => {
                let kind = reader.kind();
                reader.skip()?;
                RawKey::Other(kind.into())
            }
        })
    }
}

/// Names with strings; empty for `null`.
pub(crate) fn read_flat(
    reader: &mut Reader<'_>,
    field: &'static str,
) -> Result<Option<BTreeMap<EcoString, EcoString>>> {
    if reader.null()? {
        return Ok(None);
    }
    let mut flat = BTreeMap::new();
    reader.object(field, |reader, key| {
        flat.insert(key.into(), reader.string(field)?.into());
        Ok(())
    })?;
    Ok(Some(flat))
}

pub(crate) fn read_base64(reader: &mut Reader<'_>, field: &'static str) -> Result<EcoVec<u8>> {
    let text = reader.string(field)?;
    let text = if text.contains(['\r', '\n']) { Cow::Owned(text.replace(['\r', '\n'], "")) } else { text };
    match BASE64.decode(text.as_bytes()) {
        Ok(bytes) => Ok(bytes.into()),
        Err(_) => Err(Fault::Content { field, problem: "it must be base64".into() }),
    }
}

/// Reads check results. Those of kinds that only a later version has are left out.
pub(crate) fn read_check_results(reader: &mut Reader<'_>) -> Result<(Vec<CheckResult>, Diagnostics)> {
    let mut results: Vec<CheckResult> = Vec::new();
    let mut problems = Diagnostics::new();
    let mut seen: BTreeMap<EcoString, usize> = BTreeMap::new();
    reader.array("check_results", |reader| {
        let (mut kind, mut addr, mut status, mut objects) = (None, Cow::Borrowed(""), CheckStatus::Unknown, None);
        reader.object("check_results", |reader, key| {
            match &*folded(key) {
                "object_kind" => kind = CheckKind::parse(&reader.string("check_results.object_kind")?),
                "config_addr" => addr = reader.string("check_results.config_addr")?,
                "status" => status = CheckStatus::parse(&reader.string("check_results.status")?),
                "objects" => {
                    objects = Some(reader.clone());
                    reader.skip()?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let Some(kind) = kind else { return Ok(()) };
        let config_addr = match checked_address(kind, &addr) {
            Ok((shown, false)) => shown,
            Ok((_, true)) => {
                problems.push(diagnostics::check_config_address(&addr));
                return Ok(());
            }
            Err(found) => {
                problems.extend(found);
                return Ok(());
            }
        };
        let mut result = CheckResult { kind, config_addr, status, objects: Vec::new() };
        if let Some(mut reader) = objects {
            reader.array("check_results.objects", |reader| read_check_object(reader, &mut result, &mut problems))?;
        }
        match seen.get(&result.config_addr) {
            Some(&at) => results[at] = result,
            None => {
                seen.insert(result.config_addr.clone(), results.len());
                results.push(result);
            }
        }
        Ok(())
    })?;
    Ok((results, problems))
}

fn read_check_object(reader: &mut Reader<'_>, result: &mut CheckResult, problems: &mut Diagnostics) -> Result<()> {
    let (mut addr, mut status, mut failure_messages) = (Cow::Borrowed(""), CheckStatus::Unknown, Vec::new());
    reader.object("check_results.objects", |reader, key| {
        match &*folded(key) {
            "object_addr" => addr = reader.string("check_results.objects.object_addr")?,
            "status" => status = CheckStatus::parse(&reader.string("check_results.objects.status")?),
            "failure_messages" => {
                failure_messages.clear();
                reader.array("check_results.objects.failure_messages", |reader| {
                    failure_messages.push(reader.string("check_results.objects.failure_messages")?.into());
                    Ok(())
                })?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    match checked_address(result.kind, &addr) {
        Ok((addr, _)) => result.objects.push(CheckObject { addr, status, failure_messages }),
        Err(found) => problems.extend(found),
    }
    Ok(())
}

/// The address as it is shown, and whether there are keys in it.
fn checked_address(kind: CheckKind, text: &str) -> std::result::Result<(EcoString, bool), Diagnostics> {
    let addr = Addresses::instance(text)?;
    let word = match kind {
        CheckKind::Resource => None,
        CheckKind::Output | CheckKind::Check | CheckKind::Variable => Some(kind.as_str()),
    };
    if let Some(word) = word
        && (addr.resource.kind != word || addr.resource.mode != ResourceMode::Managed || addr.key.is_some())
    {
        return Err(diagnostics::check_address(text).into());
    }
    let keyed = addr.key.is_some() || addr.module.steps().iter().any(|step| step.key.is_some());
    Ok((ecow::eco_format!("{addr}"), keyed))
}
