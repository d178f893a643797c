//! Schema of the test provider.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_plugin::wire::Protocol;
use yuba_provider::schema::{Attribute, AttributeType, BlockSchema, NestedAttribute, NestedBlock, Nesting, Schema};
use yuba_value::Type;

use crate::cloud;

/// Schemas by name.
pub(crate) type Schemas = BTreeMap<EcoString, Schema>;

/// Schemas of everything.
pub(crate) struct Everything {
    pub(crate) provider: Schema,
    pub(crate) resources: Schemas,
    pub(crate) data: Schemas,
    pub(crate) ephemeral: Schemas,
    pub(crate) meta: Schema,
}

/// The version of stored objects; in version 0 the name was `title`.
pub(crate) const THING_VERSION: u64 = 2;
/// The version of stored identities; in version 0 the id was `thing`.
pub(crate) const IDENTITY_VERSION: u64 = 1;

impl Everything {
    /// The types of tests, and as many generated ones.
    pub(crate) fn new(protocol: Protocol, generated: u32) -> Everything {
        let schema = |version, block| Schema { version, block };
        let mut resources = Schemas::from([
            ("testing_thing".into(), schema(THING_VERSION, thing())),
            ("testing_item".into(), schema(0, item())),
            ("testing_nested".into(), schema(0, nested(protocol))),
            // Named like the first word of references to an opt-in feature.
            ("symbols".into(), schema(0, item())),
        ]);
        resources.extend(cloud::resources(generated));
        let mut data = Schemas::from([("testing_data".into(), schema(0, data()))]);
        data.extend(cloud::data(generated / 2));
        Everything {
            provider: schema(0, provider()),
            resources,
            data,
            ephemeral: Schemas::from([("testing_token".into(), schema(0, token()))]),
            meta: schema(0, BlockSchema::new([("module", text())])),
        }
    }
}

/// Identity of an object.
pub(crate) fn identity_type() -> Type {
    Type::object([("id".into(), Type::string()), ("instance".into(), Type::string())])
}

fn text() -> Attribute {
    Attribute::optional(Type::string())
}

fn required() -> Attribute {
    Attribute::required(Type::string())
}

fn computed() -> Attribute {
    Attribute::computed(Type::string())
}

fn provider() -> BlockSchema {
    let option = BlockSchema::new([("name", required()), ("value", text())]);
    BlockSchema::new([
        ("instance", text().described("What this configuration is called in the record.")),
        ("directory", text().described("Where objects and the record are; otherwise as TESTING_DIR says.")),
        ("secret", Attribute { sensitive: true, ..text() }),
        ("old", Attribute { deprecated: Some("Use `instance` instead.".into()), ..text() }),
        ("behave", text().described("The injected fault: fail_configure, fail_validate, slow_configure, ...")),
        ("functions", Attribute::optional(Type::list(Type::string())).described("Functions to have when configured.")),
    ])
    .with_blocks([("option", NestedBlock::new(Nesting::List, option))])
}

fn thing() -> BlockSchema {
    BlockSchema::new([
        ("id", computed()),
        ("name", required().described("The id begins with it.")),
        ("value", text()),
        ("size", Attribute { computed: true, ..Attribute::optional(Type::number()) }),
        ("kind", text().described("Cannot change while it exists.")),
        ("tags", Attribute::optional(Type::map(Type::string()))),
        ("list", Attribute::optional(Type::list(Type::string()))),
        ("any", Attribute::optional(Type::dynamic())),
        ("secret", Attribute { sensitive: true, ..text() }),
        ("old", Attribute { deprecated: Some("Use `value` instead.".into()), ..text() }),
        ("password_wo", Attribute { write_only: true, sensitive: true, ..text() }),
        ("password_version", Attribute::optional(Type::number())),
        ("password_length", Attribute::computed(Type::number())),
        ("revision", Attribute::computed(Type::number()).described("Counts changes.")),
        ("instance", computed().described("Which configuration of the provider made it.")),
        ("behave", text().described("The injected fault: fail_create, slow_read, lie_plan, crash_apply, ...")),
    ])
}

fn item() -> BlockSchema {
    BlockSchema::new([
        ("id", computed()),
        ("name", required()),
        ("value", text()),
        ("revision", Attribute::computed(Type::number())),
        ("behave", text()),
    ])
}

/// Every way to nest blocks and, where the protocol can, attributes.
fn nested(protocol: Protocol) -> BlockSchema {
    let part = || {
        let inner = BlockSchema::new([("text", text())]);
        BlockSchema::new([("text", text()), ("made", computed())])
            .with_blocks([("inner", NestedBlock::new(Nesting::List, inner))])
    };
    let attributes = |nesting| {
        let inner = BTreeMap::from([
            (EcoString::from("text"), text()),
            ("made".into(), computed()),
            ("secret".into(), Attribute { sensitive: true, ..text() }),
        ]);
        let ty = AttributeType::Nested(NestedAttribute { nesting, attributes: inner });
        Attribute { ty, ..text() }
    };
    let mut all = vec![("id", computed()), ("name", text()), ("revision", Attribute::computed(Type::number()))];
    all.push(("behave", text()));
    if protocol == Protocol::V6 {
        all.push(("one", attributes(Nesting::Single)));
        all.push(("many", attributes(Nesting::List)));
        all.push(("some", attributes(Nesting::Set)));
        all.push(("named", attributes(Nesting::Map)));
    }
    let limited = NestedBlock { max: 3, ..NestedBlock::new(Nesting::List, part()) };
    BlockSchema::new(all).with_blocks([
        ("single", NestedBlock::new(Nesting::Single, part())),
        ("group", NestedBlock::new(Nesting::Group, BlockSchema::new([("text", text())]))),
        ("list", limited),
        ("set", NestedBlock::new(Nesting::Set, part())),
        ("map", NestedBlock::new(Nesting::Map, part())),
    ])
}

fn data() -> BlockSchema {
    BlockSchema::new([
        ("input", required()),
        ("behave", text()),
        ("id", computed()),
        ("output", computed().described("The input in capital letters.")),
        ("secret", Attribute { sensitive: true, ..computed() }),
        ("old", Attribute { deprecated: Some("Use `output` instead.".into()), ..computed() }),
        ("instance", computed()),
    ])
}

fn token() -> BlockSchema {
    BlockSchema::new([
        ("name", required()),
        ("renew_ms", Attribute::optional(Type::number()).described("Time until it must be renewed.")),
        ("behave", text()),
        ("token", computed()),
        ("instance", computed()),
    ])
}
