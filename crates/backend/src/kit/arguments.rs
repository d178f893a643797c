//! Arguments of a backend: their schema with environment variables and defaults, and their values.
//!
//! Values come from a `backend` block, `-backend-config`, the record of `init` or a data source. Environment variables and
//! defaults are added when the backend is opened, so the record has only what the user wrote.

use std::collections::BTreeMap;
use std::fmt;

use ecow::EcoString;
use serde_json::Value as Json;
use yuba_net::{Environment, Secret};
use yuba_provider::{Attribute, BlockSchema, NestedBlock, Nesting};
use yuba_syntax::Diagnostics;
use yuba_value::convert::convert;
use yuba_value::{ObjectAttr, Type, Value, View, ops};

use crate::diagnostics;

/// One argument of a backend.
#[derive(Clone, Debug)]
pub struct Argument {
    name: &'static str,
    attribute: Attribute,
    is_required: bool,
    environment: &'static [&'static str],
    default: Option<Value>,
    empty: EmptyString,
    is_own: bool,
}

/// Meaning of an empty string as the value of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EmptyString {
    /// Quirk: nothing is set, as it is for most arguments of OpenTofu's backends.
    Unset,
    /// It is the value.
    Value,
}

impl Argument {
    /// An argument that may be left out.
    pub fn optional(name: &'static str, ty: Type) -> Argument {
        Argument::of(name, Attribute::optional(ty))
    }

    /// An argument that must be set, in the block, by `-backend-config` or by the environment.
    pub fn required(name: &'static str, ty: Type) -> Argument {
        Argument { is_required: true, ..Argument::optional(name, ty) }
    }

    /// An argument with an attribute schema of its own, such as nested objects.
    pub fn of(name: &'static str, attribute: Attribute) -> Argument {
        let attribute = Attribute { required: false, optional: true, ..attribute };
        Argument {
            name,
            attribute,
            is_required: false,
            environment: &[],
            default: None,
            empty: EmptyString::Unset,
            is_own: false,
        }
    }

    /// The first of these environment variables that is set gives the value, unless the configuration does.
    #[must_use]
    pub fn from_environment(self, variables: &'static [&'static str]) -> Argument {
        Argument { environment: variables, ..self }
    }

    /// The value where neither the configuration nor the environment gives one.
    #[must_use]
    pub fn default_to(self, value: Value) -> Argument {
        Argument { default: Some(value), ..self }
    }

    /// An empty string is a value of its own, and not the same as no value.
    #[must_use]
    pub fn or_empty(self) -> Argument {
        Argument { empty: EmptyString::Value, ..self }
    }

    /// OpenTofu does not have the argument: the record of `init` has it only where it is set, so that OpenTofu can read it.
    #[must_use]
    pub fn own(self) -> Argument {
        Argument { is_own: true, ..self }
    }

    /// Whether a value counts as not set.
    fn is_unset(&self, value: &Value) -> bool {
        value.is_null() || (self.empty == EmptyString::Unset && is_unset(value))
    }

    /// The value is a credential. No message shows it.
    #[must_use]
    pub fn secret(mut self) -> Argument {
        self.attribute.sensitive = true;
        self
    }

    /// With a description for people.
    #[must_use]
    pub fn described(self, description: &'static str) -> Argument {
        Argument { attribute: self.attribute.described(description), ..self }
    }
}

/// The arguments and nested blocks of a backend block.
#[derive(Clone, Debug, Default)]
pub struct ArgumentSchema {
    arguments: BTreeMap<&'static str, Argument>,
    block: BlockSchema,
}

impl ArgumentSchema {
    /// With these arguments.
    pub fn new(arguments: impl IntoIterator<Item = Argument>) -> ArgumentSchema {
        let arguments: BTreeMap<_, _> = arguments.into_iter().map(|argument| (argument.name, argument)).collect();
        let attributes = arguments.values().map(|argument| (argument.name, argument.attribute.clone()));
        let block = BlockSchema::new(attributes);
        ArgumentSchema { arguments, block }
    }

    /// With nested blocks.
    #[must_use]
    pub fn with_blocks(self, blocks: impl IntoIterator<Item = (&'static str, NestedBlock)>) -> ArgumentSchema {
        ArgumentSchema { block: self.block.with_blocks(blocks), ..self }
    }

    /// The schema to decode a block by. Nothing is required: `-backend-config` and the environment may add what is missing.
    pub fn block(&self) -> &BlockSchema {
        &self.block
    }

    /// The type of an argument; none if there is no such argument.
    pub fn type_of(&self, name: &str) -> Option<Type> {
        self.arguments.get(name).map(|argument| argument.attribute.spec_type())
    }

    /// The type that the value of an argument or of a nested block is converted to. Attributes that need not be set are optional.
    fn accepted(&self, name: &str) -> Option<Type> {
        self.type_of(name).or_else(|| self.block.blocks().get(name).map(accepted_by_block))
    }

    /// Whether OpenTofu does not have an argument.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.arguments.get(name).is_some_and(|argument| argument.is_own)
    }

    /// Whether all arguments are those of OpenTofu.
    pub(crate) fn is_shared(&self) -> bool {
        self.arguments.values().all(|argument| !argument.is_own)
    }

    /// The description of an argument for people.
    pub fn description_of(&self, name: &str) -> &str {
        self.arguments.get(name).map_or("", |argument| argument.attribute.description.as_str())
    }

    /// Whether the value of an argument is a credential.
    pub fn is_secret(&self, name: &str) -> bool {
        self.arguments.get(name).is_some_and(|argument| argument.attribute.sensitive)
    }
}

/// The type that the value of a nested block is converted to. All attributes are optional.
fn accepted_by_block(nested: &NestedBlock) -> Type {
    let attributes = nested.block.attributes().iter().map(|(name, attribute)| (name, attribute.spec_type()));
    let blocks = nested.block.blocks().iter().map(|(name, block)| (name, accepted_by_block(block)));
    let all = attributes.chain(blocks).map(|(name, ty)| ObjectAttr { name: name.clone(), ty, optional: true });
    let object = Type::object_with_optional(all);
    match nested.nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List => Type::list(object),
        Nesting::Set => Type::set(object),
        Nesting::Map => Type::map(object),
    }
}

/// Values of arguments, as an object with all arguments and nested blocks; null where nothing is set.
#[derive(Clone)]
pub struct Arguments(Value);

/// Names only: values may be credentials.
impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.0.entries().unwrap_or_default().into_iter().filter(|(_, value)| !is_unset(value));
        f.debug_set().entries(set.map(|(name, _)| name)).finish()
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Arguments) -> bool {
        self.0.raw_equals(&other.0)
    }
}

impl Arguments {
    /// An object that was decoded by the schema.
    pub fn new(value: Value) -> Arguments {
        Arguments(value)
    }

    /// Nothing is set.
    pub fn empty(schema: &ArgumentSchema) -> Arguments {
        Arguments(schema.block.empty_value())
    }

    /// An object that a user wrote, with or without all arguments. The error says what does not fit.
    pub fn of_object(schema: &ArgumentSchema, object: &Value) -> Result<Arguments, String> {
        let mut arguments = Arguments::empty(schema);
        for (name, value) in object.entries().unwrap_or_default() {
            let Some(expected) = arguments.0.entries().into_iter().flatten().find(|(known, _)| *known == name) else {
                return Err(format!("it has no argument {name:?}"));
            };
            let ty = schema.accepted(&name).unwrap_or_else(|| expected.1.ty().clone());
            let value = convert(&value, &ty).map_err(|error| format!("{name}: {}", error.message))?;
            arguments = arguments.with(&name, &value);
        }
        Ok(arguments)
    }

    /// As [`Arguments::to_json`] or OpenTofu has stored them. Arguments of other types and unknown ones are left out.
    pub fn of_json(schema: &ArgumentSchema, stored: &Json) -> Arguments {
        let entries = schema.block.empty_value().entries().unwrap_or_default();
        let known = entries.into_iter().map(|(name, empty)| {
            let found = stored.get(name.as_str()).filter(|json| !json.is_null()).and_then(|json| {
                let text = json.to_string();
                let exact = yuba_value::json::decode(text.as_bytes(), empty.ty()).ok();
                let ty = schema.accepted(&name).unwrap_or_else(|| empty.ty().clone());
                exact.or_else(|| convert(&yuba_value::json::decode_implied(&text).ok()?, &ty).ok())
            });
            (name, found.unwrap_or(empty))
        });
        Arguments(Value::object(known.collect()))
    }

    /// As OpenTofu stores them in the record of `init`: every argument, null where nothing is set.
    pub fn to_json(&self) -> Json {
        let text = yuba_value::json::encode(&self.0, self.0.ty()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// The object with all arguments and nested blocks.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The value of an argument or nested block; null if it is not set.
    pub fn get(&self, name: &str) -> Value {
        ops::get_attr(&self.0, name).unwrap_or_else(|_| Value::null_dynamic())
    }

    /// The value of a string argument.
    pub fn text(&self, name: &str) -> Option<EcoString> {
        self.get(name).as_str().cloned()
    }

    /// The value of a string argument that is a credential.
    pub fn secret(&self, name: &str) -> Option<Secret> {
        self.text(name).map(Secret::new)
    }

    /// Whether a boolean argument is true.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).as_bool() == Some(true)
    }

    /// The value of a number argument that is a whole number.
    pub fn whole(&self, name: &str) -> Option<u64> {
        self.get(name).as_number()?.to_u64()
    }

    /// The strings of a list or set argument.
    pub fn texts(&self, name: &str) -> Vec<EcoString> {
        match self.get(name).view_ignoring_marks() {
            View::List(items) => items.iter().filter_map(|item| item.as_str().cloned()).collect(),
            View::Set(items) => items.iter().filter_map(|item| item.as_str().cloned()).collect(),
            _ => Vec::new(),
        }
    }

    /// The strings of a map argument.
    pub fn text_map(&self, name: &str) -> BTreeMap<String, String> {
        let entries = self.get(name).entries().unwrap_or_default().into_iter();
        entries.filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_string()))).collect()
    }

    /// The arguments of a nested object or single nested block; none if it is not set.
    pub fn object(&self, name: &str) -> Option<Arguments> {
        let value = self.get(name);
        (!value.is_null()).then_some(Arguments(value))
    }

    /// The same with another value of an argument.
    #[must_use]
    pub fn with(&self, name: &str, value: &Value) -> Arguments {
        let entries = self.0.entries().unwrap_or_default().into_iter();
        let value = |known: &EcoString, before| if known == name { value.clone() } else { before };
        Arguments(Value::object(entries.map(|(known, before)| (known.clone(), value(&known, before))).collect()))
    }

    /// With the arguments that another object sets.
    #[must_use]
    pub fn overridden_by(&self, other: &Arguments) -> Arguments {
        let entries = self.0.entries().unwrap_or_default().into_iter();
        let merged = entries.map(|(name, value)| {
            let theirs = other.get(&name);
            let value = if theirs.is_null() || is_empty_collection(&theirs) { value } else { theirs };
            (name, value)
        });
        Arguments(Value::object(merged.collect()))
    }

    /// Required arguments that neither they nor the environment set.
    pub fn missing(&self, schema: &ArgumentSchema, environment: &Environment) -> Vec<&'static str> {
        let by_environment =
            |argument: &Argument| argument.environment.iter().any(|name| environment.get(name).is_some());
        let required = schema.arguments.values().filter(|argument| argument.is_required);
        let missing = required.filter(|argument| self.get(argument.name).is_null() && !by_environment(argument));
        missing.map(|argument| argument.name).collect()
    }

    /// With the values of environment variables and defaults where nothing else is set.
    pub fn resolved(&self, schema: &ArgumentSchema, environment: &Environment) -> Result<Arguments, Diagnostics> {
        let mut resolved = self.clone();
        let mut problems = Diagnostics::new();
        for argument in schema.arguments.values().filter(|argument| argument.is_unset(&self.get(argument.name))) {
            let mut set = argument.environment.iter().filter_map(|name| Some((name, environment.get(name)?)));
            let Some((variable, text)) = set.next() else { continue };
            match convert(&Value::string(text), &argument.attribute.spec_type()) {
                Ok(value) => resolved = resolved.with(argument.name, &value),
                Err(error) => {
                    problems.push(diagnostics::invalid_environment_default(variable, argument.name, &error.message));
                }
            }
        }
        match problems.has_errors() {
            true => Err(problems),
            false => Ok(resolved.with_defaults(schema)),
        }
    }

    /// With defaults where nothing else is set, whatever the environment says.
    #[must_use]
    pub fn with_defaults(&self, schema: &ArgumentSchema) -> Arguments {
        let unset = schema.arguments.values().filter(|argument| argument.is_unset(&self.get(argument.name)));
        unset.fold(self.clone(), |filled, argument| match &argument.default {
            Some(default) => filled.with(argument.name, default),
            None => filled.with(argument.name, &Value::null(argument.attribute.implied_type())),
        })
    }
}

/// Quirk: an empty string counts as not set, as it does for OpenTofu's backends.
fn is_unset(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.is_empty())
}

fn is_empty_collection(value: &Value) -> bool {
    match value.view_ignoring_marks() {
        View::List(items) => items.is_empty(),
        View::Set(items) => items.is_empty(),
        _ => false,
    }
}
