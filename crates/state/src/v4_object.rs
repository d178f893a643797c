//! The fields of an object in the current file format: reading and writing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use base64::Engine as _;
use ecow::{EcoString, EcoVec};
use yuba_addrs::ConfigResource;
use yuba_syntax::Diagnostics;

use crate::diagnostics;
use crate::json::{Reader, Result, folded};
use crate::object::{Attributes, Identity, Object, RawJson, Status};
use crate::paths;
use crate::v4::{BASE64, RawKey, read_base64, read_flat};
use crate::writer::Writer;

/// An object of an instance as the file has it.
#[derive(Default)]
pub(crate) struct RawObject<'t> {
    pub(crate) index_key: RawKey,
    pub(crate) status: Cow<'t, str>,
    pub(crate) deposed: Cow<'t, str>,
    pub(crate) provider: Cow<'t, str>,
    pub(crate) schema_version: u64,
    pub(crate) attributes: Option<Arc<str>>,
    pub(crate) attributes_flat: Option<BTreeMap<EcoString, EcoString>>,
    pub(crate) sensitive_attributes: Option<&'t str>,
    pub(crate) private: EcoVec<u8>,
    pub(crate) dependencies: Option<&'t str>,
    pub(crate) create_before_destroy: bool,
    pub(crate) skip_destroy: bool,
    pub(crate) identity: Option<Arc<str>>,
    pub(crate) identity_schema_version: Option<u64>,
}

impl<'t> RawObject<'t> {
    /// Reads an object with everything but its addresses.
    pub(crate) fn read(reader: &mut Reader<'t>) -> Result<RawObject<'t>> {
        let mut raw = RawObject::default();
        reader.object("resources.instances", |reader, key| raw.field(reader, key).map(drop))?;
        Ok(raw)
    }

    /// Reads a field.
    pub(crate) fn field(&mut self, reader: &mut Reader<'t>, key: &str) -> Result<bool> {
        match &*folded(key) {
            "index_key" => self.index_key = RawKey::read(reader)?,
            "status" => self.status = reader.string("resources.instances.status")?,
            "deposed" => self.deposed = reader.string("resources.instances.deposed")?,
            "provider" => self.provider = reader.string("resources.instances.provider")?,
            "schema_version" => {
                self.schema_version = reader.integer("resources.instances.schema_version")?.unwrap_or_default();
            }
            "attributes" => self.attributes = Some(reader.compact()?),
            "attributes_flat" => {
                self.attributes_flat = read_flat(reader, "resources.instances.attributes_flat")?;
            }
            "sensitive_attributes" => self.sensitive_attributes = Some(reader.raw()?),
            "private" => self.private = read_base64(reader, "resources.instances.private")?,
            "dependencies" => self.dependencies = Some(reader.raw()?),
            "create_before_destroy" => {
                self.create_before_destroy = reader.bool("resources.instances.create_before_destroy")?;
            }
            "skip_destroy" => self.skip_destroy = reader.bool("resources.instances.skip_destroy")?,
            "identity" => self.identity = Some(reader.compact()?),
            "identity_schema_version" => {
                self.identity_schema_version = reader.integer("resources.instances.identity_schema_version")?;
            }
            _ => {
                reader.skip()?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The object itself, where nothing is wrong with it.
    pub(crate) fn into_object(
        self,
        dependencies: EcoVec<ConfigResource>,
        instance: impl Display,
        problems: &mut Diagnostics,
    ) -> Option<Object> {
        let status = match &*self.status {
            "" => Status::Ready,
            "tainted" => Status::Tainted,
            status => {
                problems.push(diagnostics::object_status(&instance, status));
                return None;
            }
        };
        let mut bad_paths = Diagnostics::new();
        let sensitive = self.sensitive_attributes.map(|json| paths::read(json, &mut bad_paths)).unwrap_or_default();
        if !bad_paths.is_empty() {
            problems.extend(bad_paths.into_iter().map(|problem| diagnostics::in_instance(&instance, problem)));
            return None;
        }
        let attributes = match (self.attributes, self.attributes_flat) {
            (Some(json), _) => Attributes::Json(RawJson::trusted(json)),
            (None, Some(flat)) => Attributes::Flat(Arc::new(flat)),
            (None, None) => Attributes::Json(RawJson::trusted("{}")),
        };
        let identity = self
            .identity
            .map(|json| Identity { schema_version: self.identity_schema_version, json: RawJson::trusted(json) });
        Some(Object {
            status,
            schema_version: self.schema_version,
            attributes,
            sensitive,
            private: self.private,
            dependencies,
            create_before_destroy: self.create_before_destroy,
            skip_destroy: self.skip_destroy,
            identity,
        })
    }
}

/// All of an object but its status.
pub(crate) fn write_object(writer: &mut Writer<'_>, object: &Object) {
    writer.key("schema_version");
    writer.bare(object.schema_version);
    match &object.attributes {
        Attributes::Json(json) => {
            writer.key("attributes");
            writer.raw(json);
        }
        Attributes::Flat(flat) if flat.is_empty() => {}
        Attributes::Flat(flat) => {
            writer.key("attributes_flat");
            writer.object(|writer| {
                for (name, text) in flat.iter() {
                    writer.key(name);
                    writer.text(text);
                }
            });
        }
    }
    writer.key("sensitive_attributes");
    paths::write(writer, &object.sensitive);
    if !object.private.is_empty() {
        writer.key("private");
        writer.text(&BASE64.encode(&object.private));
    }
    if !object.dependencies.is_empty() {
        writer.key("dependencies");
        writer.array(|writer| {
            for dependency in &object.dependencies {
                writer.item();
                writer.shown(dependency);
            }
        });
    }
    writer.optional_flag("create_before_destroy", object.create_before_destroy);
    writer.optional_flag("skip_destroy", object.skip_destroy);
    if let Some(identity) = &object.identity {
        writer.key("identity");
        writer.raw(&identity.json);
        if let Some(version) = identity.schema_version {
            writer.key("identity_schema_version");
            writer.bare(version);
        }
    }
}
