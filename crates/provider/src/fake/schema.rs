//! Schema of the fake provider.

use std::sync::{Arc, LazyLock};

use yuba_value::Type;

use crate::schema::{Attribute, BlockSchema, NestedBlock, Nesting, ProviderSchema, Schema};
use crate::schemas::Schemas;

pub(super) static SCHEMA: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| {
    let text = || Attribute::optional(Type::string());
    let provider = BlockSchema::new([("region", text()), ("behave", text())]);
    let lookup = BlockSchema::new([
        ("name", Attribute::required(Type::string())),
        ("behave", text()),
        ("id", Attribute::computed(Type::string())),
        ("size", Attribute::computed(Type::number())),
        ("found", Attribute::computed(Type::bool())),
    ]);
    let mut token = BlockSchema::new([
        ("name", Attribute::required(Type::string())),
        ("behave", text()),
        ("renew_at", Attribute::optional(Type::number())),
        ("value", Attribute { sensitive: true, ..Attribute::computed(Type::string()) }),
    ]);
    token.ephemeral = true;
    let schema = |version, block| Schema { version, block };
    Arc::new(ProviderSchema {
        provider: schema(0, provider),
        resources: Schemas::from([("fake_thing", schema(1, thing()))]),
        data: Schemas::from([("fake_lookup", schema(0, lookup))]),
        ephemeral: Schemas::from([("fake_token", schema(0, token))]),
        meta: Some(schema(0, BlockSchema::new([("tag", text())]))),
        ..ProviderSchema::default()
    })
});

fn thing() -> BlockSchema {
    let text = || Attribute::optional(Type::string());
    let part = || {
        BlockSchema::new([
            ("port", Attribute::required(Type::number())),
            ("handle", Attribute::computed(Type::string())),
        ])
    };
    BlockSchema::new([
        ("name", Attribute::required(Type::string()).described("By what the log knows it.")),
        ("size", Attribute::optional(Type::number())),
        ("kind", text().described("Cannot change while it exists.")),
        ("secret", Attribute { sensitive: true, ..text() }),
        ("password", Attribute { write_only: true, ..text() }),
        ("old_name", Attribute { deprecated: Some("Use name instead.".into()), ..text() }),
        ("tags", Attribute::optional(Type::map(Type::string()))),
        ("input", Attribute::optional(Type::dynamic())),
        (
            "behave",
            text().described("The injected fault: fail_create, partial_create, lie_plan, drift, vanish, slow, ..."),
        ),
        ("color", Attribute { computed: true, ..text() }),
        ("id", Attribute::computed(Type::string())),
        ("region", Attribute::computed(Type::string())),
    ])
    .with_blocks([("step", NestedBlock::new(Nesting::List, part())), ("rule", NestedBlock::new(Nesting::Set, part()))])
}
