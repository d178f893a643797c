//! Schemas: what blocks of a provider may contain, and of which type the values are that they become.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_syntax::BodySchema;
use yuba_syntax::body::{AttributeSchema, BlockSchema as BlockHeader};
use yuba_value::function::Signature;
use yuba_value::{ObjectAttr, Type, Value};

use crate::schemas::Schemas;

/// All of a provider.
#[derive(Clone, Debug, Default)]
pub struct ProviderSchema {
    /// The `provider` block.
    pub provider: Schema,
    /// Managed resource types.
    pub resources: Schemas,
    /// Data resource types.
    pub data: Schemas,
    /// Ephemeral resource types.
    pub ephemeral: Schemas,
    /// Functions, by name without namespace.
    pub functions: BTreeMap<EcoString, Signature>,
    /// `provider_meta` blocks, if there can be any.
    pub meta: Option<Schema>,
    /// Identity schemas of managed resource types that have one.
    pub identities: BTreeMap<EcoString, IdentitySchema>,
    /// Wants to be asked when the plan is to destroy an object.
    pub plan_destroy: bool,
}

/// Attributes of an identity, and the version of its stored form.
#[derive(Clone, Debug)]
pub struct IdentitySchema {
    /// Increases when stored identities of older versions must be upgraded.
    pub version: u64,
    /// The attributes, as a single object.
    pub object: NestedAttribute,
}

/// One kind of block, and the version of what is stored of it.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Increases when stored objects of older versions must be upgraded.
    pub version: u64,
    /// The content.
    pub block: BlockSchema,
}

/// Content of a block. Everything that follows from the attributes and blocks is computed once, when it is made.
#[derive(Clone, Debug)]
pub struct BlockSchema {
    attributes: BTreeMap<EcoString, Attribute>,
    blocks: BTreeMap<EcoString, NestedBlock>,
    /// For people.
    pub description: EcoString,
    /// The description is Markdown.
    pub markdown: bool,
    /// Set if it is deprecated: the replacement, or an empty string.
    pub deprecated: Option<EcoString>,
    /// Ephemeral values may be anywhere in it.
    pub ephemeral: bool,
    derived: Derived,
}

#[derive(Clone, Debug)]
struct Derived {
    /// The type configuration is converted to; with optional attributes.
    spec_type: Type,
    implied_type: Type,
    body_schema: BodySchema,
    /// The same, and `dynamic` blocks.
    dynamic_body_schema: BodySchema,
    /// Lists and sets of objects: attributes that may be written as blocks. In order of names.
    ambiguous: Vec<EcoString>,
    /// Something in it could not have been written for a version that knew no difference between attributes and blocks.
    is_modern: bool,
    /// An attribute or a block in it is sensitive, deprecated or ephemeral.
    has_marks: bool,
    /// An attribute in it, however deep, is write-only.
    has_write_only: bool,
}

/// One attribute.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its value.
    pub ty: AttributeType,
    /// Must be set.
    pub required: bool,
    /// May be set.
    pub optional: bool,
    /// The provider sets it (if the configuration does not, where it is optional too).
    pub computed: bool,
    /// Must not be shown.
    pub sensitive: bool,
    /// May be set to ephemeral values; is never stored.
    pub write_only: bool,
    /// Set if it is deprecated: the replacement, or an empty string.
    pub deprecated: Option<EcoString>,
    /// For people.
    pub description: EcoString,
    /// The description is Markdown.
    pub markdown: bool,
}

/// Value of an attribute.
#[derive(Clone, Debug)]
pub enum AttributeType {
    /// A value of a type.
    Plain(Type),
    /// Objects whose attributes have a schema of their own.
    Nested(NestedAttribute),
}

/// Objects whose attributes have a schema of their own.
#[derive(Clone, Debug)]
pub struct NestedAttribute {
    /// Nesting mode.
    pub nesting: Nesting,
    /// Attributes of each object.
    pub attributes: BTreeMap<EcoString, Attribute>,
}

/// A block type inside of a block.
#[derive(Clone, Debug)]
pub struct NestedBlock {
    /// Nesting mode.
    pub nesting: Nesting,
    /// Minimum number. For a single block, 1 makes it required.
    pub min: u32,
    /// Maximum number; 0 is unlimited.
    pub max: u32,
    /// Content of each block.
    pub block: BlockSchema,
}

/// Nesting mode of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nesting {
    /// One or none: an object or null.
    Single,
    /// One, and if it is not written, as if it were written without content.
    Group,
    /// A list.
    List,
    /// A set.
    Set,
    /// A map; blocks have a label, which is the key.
    Map,
}

impl Default for BlockSchema {
    fn default() -> BlockSchema {
        BlockSchema::of(BTreeMap::new(), BTreeMap::new())
    }
}

impl BlockSchema {
    /// A block of attributes.
    pub fn new<N: Into<EcoString>>(attributes: impl IntoIterator<Item = (N, Attribute)>) -> BlockSchema {
        let attributes = attributes.into_iter().map(|(name, schema)| (name.into(), schema)).collect();
        BlockSchema::of(attributes, BTreeMap::new())
    }

    /// With nested blocks. If one has the name of an attribute, the attribute counts.
    #[must_use]
    pub fn with_blocks<N: Into<EcoString>>(self, blocks: impl IntoIterator<Item = (N, NestedBlock)>) -> BlockSchema {
        let mut blocks: BTreeMap<_, _> = blocks.into_iter().map(|(name, schema)| (name.into(), schema)).collect();
        blocks.retain(|name, _| !self.attributes.contains_key(name));
        let derived = Derived::new(&self.attributes, &blocks);
        BlockSchema { blocks, derived, ..self }
    }

    /// A block of attributes and nested blocks. If a block has the name of an attribute, the attribute counts.
    pub fn of(attributes: BTreeMap<EcoString, Attribute>, mut blocks: BTreeMap<EcoString, NestedBlock>) -> BlockSchema {
        blocks.retain(|name, _| !attributes.contains_key(name));
        let derived = Derived::new(&attributes, &blocks);
        let description = EcoString::new();
        BlockSchema { attributes, blocks, description, markdown: false, deprecated: None, ephemeral: false, derived }
    }

    /// The same with nothing but one argument or block type.
    #[must_use]
    pub fn only(&self, name: &str) -> BlockSchema {
        let attributes = self.attributes.get_key_value(name).map(|(name, schema)| (name.clone(), schema.clone()));
        let blocks = self.blocks.get_key_value(name).map(|(name, schema)| (name.clone(), schema.clone()));
        BlockSchema::new(attributes).with_blocks(blocks)
    }

    /// The schema of blocks that stand for objects of a type: everything may be left out.
    pub fn of_object(ty: &Type) -> BlockSchema {
        let attributes = ty.attrs().unwrap_or_default().iter();
        BlockSchema::new(attributes.map(|attr| (attr.name.clone(), Attribute::optional(attr.ty.clone()))))
    }

    /// By name.
    pub fn attributes(&self) -> &BTreeMap<EcoString, Attribute> {
        &self.attributes
    }
    /// By type.
    pub fn blocks(&self) -> &BTreeMap<EcoString, NestedBlock> {
        &self.blocks
    }
    /// The type of the objects that such blocks become. Contains `any` where only the value determines it.
    pub fn implied_type(&self) -> &Type {
        &self.derived.implied_type
    }
    /// The type that objects are converted to: as the implied type, with optional attributes.
    pub fn spec_type(&self) -> &Type {
        &self.derived.spec_type
    }
    /// Body schema.
    pub fn body_schema(&self) -> &BodySchema {
        &self.derived.body_schema
    }
    /// Body schema for a body whose `dynamic` blocks are not expanded yet.
    pub(crate) fn dynamic_body_schema(&self) -> &BodySchema {
        &self.derived.dynamic_body_schema
    }
    /// Attributes that may be written as blocks, if the schema as a whole is of the kind where that is possible.
    pub(crate) fn ambiguous(&self) -> &[EcoString] {
        &self.derived.ambiguous
    }
    /// Something in it, however deep, shows that attributes are never written as blocks.
    pub(crate) fn is_modern(&self) -> bool {
        self.derived.is_modern
    }

    /// An attribute or a block in it is sensitive, deprecated or ephemeral.
    pub(crate) fn has_marks_inside(&self) -> bool {
        self.derived.has_marks
    }

    /// An attribute in it, however deep, is write-only.
    pub(crate) fn has_write_only(&self) -> bool {
        self.derived.has_write_only
    }

    /// Value of an empty block, without required attributes.
    pub fn empty_value(&self) -> Value {
        let attributes =
            self.attributes.iter().map(|(name, schema)| (name.clone(), Value::null(schema.implied_type())));
        let blocks = self.blocks.iter().map(|(name, schema)| (name.clone(), schema.empty_value()));
        Value::object(attributes.chain(blocks).collect())
    }
}

impl Derived {
    fn new(attributes: &BTreeMap<EcoString, Attribute>, blocks: &BTreeMap<EcoString, NestedBlock>) -> Derived {
        let attribute_types = attributes.iter().map(|(name, schema)| (name.clone(), schema.spec_type()));
        let block_types = blocks.iter().map(|(name, schema)| (name.clone(), schema.spec_type()));
        let spec_type = Type::object(attribute_types.chain(block_types));
        let body_schema = BodySchema {
            attributes: attributes
                .iter()
                .map(|(name, schema)| AttributeSchema { name: name.clone(), required: schema.required })
                .collect(),
            blocks: blocks
                .iter()
                .map(|(name, schema)| BlockHeader {
                    kind: name.clone(),
                    labels: if schema.nesting == Nesting::Map { vec!["key".into()] } else { Vec::new() },
                })
                .collect(),
        };
        let mut dynamic_body_schema = body_schema.clone();
        dynamic_body_schema.blocks.push(BlockHeader { kind: "dynamic".into(), labels: vec!["type".into()] });
        Derived {
            implied_type: spec_type.without_optional(),
            spec_type,
            body_schema,
            dynamic_body_schema,
            ambiguous: attributes
                .iter()
                .filter(|(_, schema)| schema.block_object().is_some())
                .map(|(name, _)| name.clone())
                .collect(),
            is_modern: attributes.values().any(Attribute::is_modern)
                || blocks.values().any(|nested| nested.block.is_modern()),
            has_marks: attributes.values().any(Attribute::has_marks)
                || blocks.values().any(|nested| nested.block.asks_for_marks()),
            has_write_only: attributes.values().any(Attribute::has_write_only)
                || blocks.values().any(|nested| nested.block.has_write_only()),
        }
    }
}

impl Attribute {
    /// An attribute with nothing said about it but its type.
    pub fn new(ty: Type) -> Attribute {
        Attribute {
            ty: AttributeType::Plain(ty),
            required: false,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: None,
            description: EcoString::new(),
            markdown: false,
        }
    }
    /// An attribute that must be set.
    pub fn required(ty: Type) -> Attribute {
        Attribute { required: true, ..Attribute::new(ty) }
    }
    /// An attribute that may be set.
    pub fn optional(ty: Type) -> Attribute {
        Attribute { optional: true, ..Attribute::new(ty) }
    }
    /// An attribute that the provider sets.
    pub fn computed(ty: Type) -> Attribute {
        Attribute { computed: true, ..Attribute::new(ty) }
    }
    /// With a text for people.
    #[must_use]
    pub fn described(mut self, description: impl Into<EcoString>) -> Attribute {
        self.description = description.into();
        self
    }

    /// The type configuration is converted to; with optional attributes where it has nested ones.
    pub fn spec_type(&self) -> Type {
        match &self.ty {
            AttributeType::Plain(ty) => ty.clone(),
            AttributeType::Nested(nested) => nested.spec_type(),
        }
    }
    /// The type of its values.
    pub fn implied_type(&self) -> Type {
        self.spec_type().without_optional()
    }

    /// The type of the objects if it may be written as blocks: a list or set of objects.
    pub(crate) fn block_object(&self) -> Option<&Type> {
        match &self.ty {
            AttributeType::Plain(ty) if ty.is_list() || ty.is_set() => {
                ty.element().filter(|element| element.is_object())
            }
            _ => None,
        }
    }

    fn has_write_only(&self) -> bool {
        match &self.ty {
            AttributeType::Plain(_) => self.write_only,
            AttributeType::Nested(nested) => {
                self.write_only || nested.attributes.values().any(Attribute::has_write_only)
            }
        }
    }

    /// Schemas from the time when attributes and blocks were one had lists, sets and maps of primitives, and lists and
    /// sets of objects; anything else is newer.
    fn is_modern(&self) -> bool {
        let AttributeType::Plain(ty) = &self.ty else { return true };
        match ty.element() {
            None => ty.is_tuple() || ty.is_object(),
            Some(element) if ty.is_map() && element.is_object() => true,
            Some(element) => element.element().is_some_and(|inner| !inner.is_primitive()),
        }
    }
}

impl NestedAttribute {
    /// The type configuration is converted to; what need not be set is optional.
    pub fn spec_type(&self) -> Type {
        let object = Type::object_with_optional(self.attributes.iter().map(|(name, schema)| ObjectAttr {
            name: name.clone(),
            ty: schema.spec_type(),
            optional: schema.optional || schema.computed,
        }));
        match self.nesting {
            Nesting::Single | Nesting::Group => object,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }
}

impl NestedBlock {
    /// Any number of blocks, collected like this.
    pub fn new(nesting: Nesting, block: BlockSchema) -> NestedBlock {
        NestedBlock { nesting, min: 0, max: 0, block }
    }
    /// Blocks are collected into a tuple or an object, because elements of a list or map must be of one type.
    pub(crate) fn is_heterogeneous(&self) -> bool {
        self.block.spec_type().has_dynamic()
    }
    fn spec_type(&self) -> Type {
        let object = self.block.spec_type().clone();
        match self.nesting {
            Nesting::Single | Nesting::Group => object,
            Nesting::List | Nesting::Map if self.is_heterogeneous() => Type::dynamic(),
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }
    /// The type of the value of all blocks of this type together. Is `any` where only the value determines it.
    pub fn implied_type(&self) -> Type {
        self.spec_type().without_optional()
    }
    /// The value without such a block.
    pub fn empty_value(&self) -> Value {
        let element = self.block.implied_type().clone();
        match self.nesting {
            Nesting::Single => Value::null(element),
            Nesting::Group => self.block.empty_value(),
            Nesting::List if self.is_heterogeneous() => Value::tuple(Vec::new()),
            Nesting::List => Value::list(element, Vec::new()),
            Nesting::Set => Value::set(element, Vec::new()),
            Nesting::Map if self.is_heterogeneous() => Value::empty_object(),
            Nesting::Map => Value::map(element, Vec::new()),
        }
    }
}
