//! Objects: the provider's data about one real object, attributes stored as raw JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ecow::{EcoString, EcoVec};
use yuba_addrs::ConfigResource;
use yuba_value::{Path, PathStep, Type, Value, View, json as values};

use crate::json::Reader;
use crate::{flatmap, paths, sensitive};

/// One real object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Whether it is fit for use.
    pub status: Status,
    /// The version of the schema that the attributes follow.
    pub schema_version: u64,
    /// Its attributes.
    pub attributes: Attributes,
    /// Paths of sensitive attributes.
    pub sensitive: Vec<Path>,
    /// Private data of the provider.
    pub private: EcoVec<u8>,
    /// References of its configuration, sorted by text.
    pub dependencies: EcoVec<ConfigResource>,
    /// Whether its replacement is to be created before it is destroyed.
    pub create_before_destroy: bool,
    /// Whether it is to be forgotten instead of destroyed.
    pub skip_destroy: bool,
    /// Its identity among objects of its type.
    pub identity: Option<Identity>,
}

/// The fields of an object that the engine records beside the data of the provider. They stay with the object when it is read again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRecord {
    /// Whether it is fit for use.
    pub status: Status,
    /// References of its configuration, sorted by text.
    pub dependencies: EcoVec<ConfigResource>,
    /// Whether its replacement is to be created before it is destroyed.
    pub create_before_destroy: bool,
    /// Whether it is to be forgotten instead of destroyed.
    pub skip_destroy: bool,
}

/// Whether an object is fit for use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// It is.
    #[default]
    Ready,
    /// It is to be replaced: its creation did not finish, or the user marked it.
    Tainted,
}

/// Attributes as the file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// An object as JSON, for a reader who knows its type.
    Json(RawJson),
    /// Texts with dotted names, as formats before version 4 had them.
    Flat(Arc<BTreeMap<EcoString, EcoString>>),
}

/// Well-formed JSON without white space, escaped as Go's `encoding/json` does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawJson(Arc<str>);

/// The identity of an object among objects of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The version of the identity schema.
    pub schema_version: Option<u64>,
    /// The identity, an object.
    pub json: RawJson,
}

/// Reason why attributes cannot be read as a value, or a value cannot be stored.
#[derive(Clone, Debug)]
pub struct AttributeError {
    /// Path of the attribute.
    pub path: Path,
    /// The error, a sentence part without capital and full stop.
    pub message: EcoString,
}

impl RawJson {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// A text that may have white space; none if it is not JSON.
    pub fn parse(text: &str) -> Option<RawJson> {
        let mut reader = Reader::new(text);
        let json = reader.compact().ok()?;
        reader.end().ok().map(|()| RawJson(json))
    }
    /// A value without its marks, for a reader who knows the type.
    pub fn encode(value: &Value, ty: &Type) -> Result<RawJson, AttributeError> {
        let value = value.unmark_deep().0;
        match values::encode(&value, ty) {
            Ok(json) => Ok(RawJson(json.into())),
            Err(e) => Err(AttributeError { path: e.path, message: e.message.into() }),
        }
    }
    /// A text that is known to be what it should.
    pub(crate) fn trusted(text: impl Into<Arc<str>>) -> RawJson {
        RawJson(text.into())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Object {
    /// The fields that the engine records.
    pub fn record(&self) -> ObjectRecord {
        ObjectRecord {
            status: self.status,
            dependencies: self.dependencies.clone(),
            create_before_destroy: self.create_before_destroy,
            skip_destroy: self.skip_destroy,
        }
    }
    /// The same object with other recorded fields.
    #[must_use]
    pub fn recorded_as(self, record: ObjectRecord) -> Object {
        let ObjectRecord { status, dependencies, create_before_destroy, skip_destroy } = record;
        Object { status, dependencies, create_before_destroy, skip_destroy, ..self }
    }
    /// An object with these attributes and nothing else.
    pub fn new(schema_version: u64, attributes: Attributes) -> Object {
        Object {
            status: Status::Ready,
            schema_version,
            attributes,
            sensitive: Vec::new(),
            private: EcoVec::new(),
            dependencies: EcoVec::new(),
            create_before_destroy: false,
            skip_destroy: false,
            identity: None,
        }
    }
    /// The value of the attributes, whose type is that of the schema of version `schema_version`; what must not be
    /// shown is marked.
    pub fn decode(&self, ty: &Type) -> Result<Value, AttributeError> {
        let value = match &self.attributes {
            Attributes::Json(json) => values::decode(json.as_str().as_bytes(), ty)
                .map_err(|e| AttributeError { path: e.path, message: e.message })?,
            Attributes::Flat(flat) => flatmap::decode(flat, ty)?,
        };
        Ok(sensitive::mark(&value, &self.sensitive))
    }
    /// The value of the attributes by what the JSON looks like, without a schema: maps are objects, lists and sets are tuples.
    /// Nothing is marked: without a schema it is unknown what is sensitive. A dynamic value is an object of `value` and `type`.
    pub fn decode_implied(&self) -> Result<Value, AttributeError> {
        match &self.attributes {
            Attributes::Json(json) => {
                values::decode_implied(json.as_str()).map_err(|e| AttributeError { path: e.path, message: e.message })
            }
            Attributes::Flat(flat) => {
                let attributes = flat.iter().map(|(name, text)| (name.clone(), Value::string(text.clone())));
                Ok(Value::object(attributes.collect()))
            }
        }
    }
    /// An object with a value as its attributes, for the type of the schema. Values marked as sensitive are listed in
    /// `sensitive`. Fails for a value with unknown or ephemeral parts.
    pub fn encode(value: &Value, ty: &Type, schema_version: u64) -> Result<Object, AttributeError> {
        let mut object = Object::new(schema_version, Attributes::Json(RawJson::encode(value, ty)?));
        object.sensitive = sensitive::paths(value)?;
        Ok(object)
    }
    /// The identity as a value; its type is what it looks like.
    pub fn decode_identity(&self) -> Option<Value> {
        let identity = self.identity.as_ref()?;
        values::decode_implied(identity.json.as_str()).ok().filter(|value| !value.is_null())
    }
    /// The object, fit for use or not.
    #[must_use]
    pub fn with_status(&self, status: Status) -> Object {
        Object { status, ..self.clone() }
    }
    /// With these dependencies: each once, sorted by text.
    #[must_use]
    pub fn with_dependencies(mut self, dependencies: impl IntoIterator<Item = ConfigResource>) -> Object {
        let mut shown: Vec<(String, ConfigResource)> =
            dependencies.into_iter().map(|dependency| (dependency.to_string(), dependency)).collect();
        shown.sort_by(|(a, _), (b, _)| a.cmp(b));
        shown.dedup_by(|(a, _), (b, _)| a == b);
        self.dependencies = shown.into_iter().map(|(_, dependency)| dependency).collect();
        self
    }
}

impl Identity {
    /// An identity that a provider gave.
    pub fn encode(value: &Value, schema_version: u64) -> Result<Identity, AttributeError> {
        Ok(Identity { schema_version: Some(schema_version), json: RawJson::encode(value, value.ty())? })
    }
}

impl fmt::Display for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.path.0 {
            match step {
                PathStep::Attr(name) => write!(f, ".{name}")?,
                PathStep::Index(key) => match key.view_ignoring_marks() {
                    View::String(key) => write!(f, "[{key:?}]")?,
                    View::Number(key) => write!(f, "[{key}]")?,
                    _ => f.write_str("[...]")?,
                },
            }
        }
        if !self.path.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for AttributeError {}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.status == other.status
            && self.schema_version == other.schema_version
            && self.attributes == other.attributes
            && paths::equal(&self.sensitive, &other.sensitive)
            && self.private == other.private
            && self.dependencies == other.dependencies
            && self.create_before_destroy == other.create_before_destroy
            && self.skip_destroy == other.skip_destroy
            && self.identity == other.identity
    }
}
