//! A generated schema with as many types as a provider of a large cloud has, the same in every process.
//!
//! A type is an area and a kind: `testing_network_subnet`. All types share the arguments that configurations set; the
//! rest differs from type to type: attributes of all types with descriptions, and nested blocks, in some types very deep.

use ecow::{EcoString, eco_format};
use yuba_provider::schema::{Attribute, BlockSchema, NestedBlock, Nesting, Schema};
use yuba_value::Type;

use crate::schema::Schemas;

/// First word of types. Those that configurations of benchmarks use are first.
const AREAS: [&str; 42] = [
    "network",
    "cluster",
    "identity",
    "encryption",
    "logging",
    "compute",
    "storage",
    "database",
    "cache",
    "queue",
    "stream",
    "search",
    "mail",
    "domain",
    "certificate",
    "firewall",
    "gateway",
    "mesh",
    "registry",
    "build",
    "deploy",
    "backup",
    "archive",
    "transfer",
    "directory",
    "billing",
    "budget",
    "audit",
    "threat",
    "vault",
    "device",
    "media",
    "speech",
    "vision",
    "model",
    "notebook",
    "warehouse",
    "catalog",
    "workflow",
    "event",
    "mobile",
    "desktop",
];

/// Second word of types.
const KINDS: [&str; 32] = [
    "vpc",
    "subnet",
    "route_table",
    "route",
    "gateway",
    "address",
    "association",
    "group",
    "rule",
    "endpoint",
    "cluster",
    "node_group",
    "addon",
    "profile",
    "role",
    "policy",
    "attachment",
    "key",
    "alias",
    "template",
    "instance",
    "volume",
    "snapshot",
    "image",
    "bucket",
    "object",
    "topic",
    "function",
    "log",
    "alarm",
    "domain",
    "record",
];

/// Words of generated names.
const WORDS: [&str; 30] = [
    "access",
    "account",
    "backup",
    "capacity",
    "connection",
    "control",
    "default",
    "delivery",
    "encryption",
    "endpoint",
    "execution",
    "failover",
    "health",
    "identity",
    "instance",
    "interval",
    "limit",
    "maintenance",
    "monitoring",
    "network",
    "origin",
    "performance",
    "priority",
    "public",
    "replica",
    "retention",
    "schedule",
    "security",
    "source",
    "target",
];

/// Words of generated descriptions.
const PROSE: [&str; 16] = [
    "the",
    "resource",
    "identifier",
    "of",
    "this",
    "service",
    "region",
    "account",
    "value",
    "defaults",
    "to",
    "number",
    "configuration",
    "which",
    "applies",
    "name",
];

/// Every type with this number has very deep blocks, like the rules of a web firewall.
const DEEP: u32 = 50;
/// Depth of their blocks.
const DEEPEST: u32 = 7;

/// The resource types with the first numbers.
pub(crate) fn resources(count: u32) -> Schemas {
    (0..count)
        .map(|number| (name(number), Schema { version: number.is_multiple_of(7).into(), block: resource(number) }))
        .collect()
}

/// The data resource types with the first numbers.
pub(crate) fn data(count: u32) -> Schemas {
    let schema = |number: u32| {
        let mut random = Numbers::of(number.wrapping_add(1 << 20));
        let mut attributes = vec![
            ("input".into(), Attribute::required(Type::string())),
            ("behave".into(), Attribute::optional(Type::string())),
            ("id".into(), Attribute::computed(Type::string())),
            ("output".into(), Attribute::computed(Type::string())),
        ];
        let generated = 4 + random.below(16);
        attributes.extend((0..generated).map(|at| random.attribute(at, Origin::Provider)));
        Schema { version: 0, block: BlockSchema::new(attributes) }
    };
    (0..count).map(|number| (name(number), schema(number))).collect()
}

/// Unique for each number.
fn name(number: u32) -> EcoString {
    let (areas, kinds) = (AREAS.len() as u32, KINDS.len() as u32);
    let word = |words: &[&'static str], at: u32| words.get(at as usize).copied().unwrap_or_default();
    let (area, kind) = (word(&AREAS, number / kinds % areas), word(&KINDS, number % kinds));
    match number / (kinds * areas) {
        0 => eco_format!("testing_{area}_{kind}"),
        generation => eco_format!("testing_{area}_{kind}_v{}", generation + 1),
    }
}

fn resource(number: u32) -> BlockSchema {
    let mut random = Numbers::of(number);
    let generated = 6 + random.below(26);
    let mut attributes: Vec<(EcoString, Attribute)> = shared();
    attributes.extend((0..generated).map(|at| random.attribute(at, Origin::Either)));
    let mut blocks = vec![
        ("rule".into(), NestedBlock::new(Nesting::List, rule())),
        ("settings".into(), NestedBlock { max: 1, ..NestedBlock::new(Nesting::List, settings()) }),
        ("timeouts".into(), NestedBlock::new(Nesting::Single, timeouts())),
    ];
    let (count, depth) = match number % DEEP {
        1 => (2, DEEPEST),
        _ => (random.below(5), 1 + random.below(3)),
    };
    blocks.extend((0..count).map(|at| random.block(at, depth)));
    BlockSchema::new(attributes).with_blocks(blocks)
}

/// Attributes of every resource type.
fn shared() -> Vec<(EcoString, Attribute)> {
    let text = || Attribute::optional(Type::string());
    let map = || Type::map(Type::string());
    let attributes = [
        ("id", Attribute::computed(Type::string())),
        ("arn", Attribute::computed(Type::string())),
        ("name", Attribute::required(Type::string())),
        ("description", text()),
        ("parent", text().described("The id of the object that contains this one.")),
        ("members", Attribute::optional(Type::list(Type::string()))),
        ("range", text().described("A range of addresses.")),
        ("active", Attribute::optional(Type::bool())),
        ("size", Attribute { computed: true, ..Attribute::optional(Type::number()) }),
        ("document", text().described("A policy as JSON.")),
        ("tags", Attribute::optional(map())),
        ("tags_all", Attribute { computed: true, ..Attribute::optional(map()) }),
        ("revision", Attribute::computed(Type::number())),
        ("behave", text()),
    ];
    attributes.into_iter().map(|(name, attribute)| (name.into(), attribute)).collect()
}

fn rule() -> BlockSchema {
    let port = || Attribute::required(Type::number());
    let condition = BlockSchema::new([
        ("test", Attribute::required(Type::string())),
        ("values", Attribute::optional(Type::list(Type::string()))),
    ]);
    BlockSchema::new([
        ("from_port", port()),
        ("to_port", port()),
        ("protocol", Attribute::required(Type::string())),
        ("ranges", Attribute::optional(Type::list(Type::string()))),
        ("description", Attribute::optional(Type::string())),
    ])
    .with_blocks([("condition", NestedBlock::new(Nesting::List, condition))])
}

fn settings() -> BlockSchema {
    let target = BlockSchema::new([
        ("name", Attribute::required(Type::string())),
        ("events", Attribute::optional(Type::list(Type::string()))),
    ]);
    BlockSchema::new([
        ("mode", Attribute::optional(Type::string())),
        ("minimum", Attribute::optional(Type::number())),
        ("maximum", Attribute::optional(Type::number())),
        ("labels", Attribute::optional(Type::map(Type::string()))),
    ])
    .with_blocks([("target", NestedBlock::new(Nesting::List, target))])
}

fn timeouts() -> BlockSchema {
    BlockSchema::new(["create", "update", "delete"].map(|verb| (verb, Attribute::optional(Type::string()))))
}

/// Which side sets generated attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Provider,
    Either,
}

/// A sequence of numbers that depends on the number of a type alone.
struct Numbers(u64);

impl Numbers {
    fn of(number: u32) -> Numbers {
        Numbers(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    /// A number below a limit, which is not 0.
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % limit
    }

    fn word(&mut self, words: &[&'static str]) -> &'static str {
        let at = self.below(words.len() as u32);
        words.get(at as usize).copied().unwrap_or_default()
    }

    /// Unique by its number.
    fn name(&mut self, at: u32) -> EcoString {
        eco_format!("{}_{}_{at}", self.word(&WORDS), self.word(&WORDS))
    }

    fn description(&mut self) -> EcoString {
        let words: Vec<&str> = (0..6 + self.below(14)).map(|_| self.word(&PROSE)).collect();
        words.join(" ").into()
    }

    fn attribute(&mut self, at: u32, origin: Origin) -> (EcoString, Attribute) {
        let ty = match self.below(10) {
            0 => Type::bool(),
            1 | 2 => Type::number(),
            3 => Type::list(Type::string()),
            4 => Type::set(Type::string()),
            5 => Type::map(Type::string()),
            6 => {
                let text = |name: &str| (name.into(), Type::string());
                Type::list(Type::object([text("key"), text("value"), ("weight".into(), Type::number())]))
            }
            _ => Type::string(),
        };
        let attribute = match (origin, self.below(10)) {
            (Origin::Provider, _) | (_, 0) => Attribute::computed(ty),
            (Origin::Either, 1) => Attribute { computed: true, ..Attribute::optional(ty) },
            (Origin::Either, 2) => Attribute { sensitive: true, ..Attribute::optional(ty) },
            (Origin::Either, _) => Attribute::optional(ty),
        };
        (self.name(at), attribute.described(self.description()))
    }

    /// A block with blocks in it.
    fn block(&mut self, at: u32, depth: u32) -> (EcoString, NestedBlock) {
        let attributes: Vec<_> = (0..2 + self.below(4)).map(|at| self.attribute(at, Origin::Either)).collect();
        let blocks: Vec<_> = (0..depth.min(2)).map(|at| self.block(at, depth - 1)).collect();
        let block = BlockSchema::new(attributes).with_blocks(blocks);
        let (nesting, max) = match self.below(3) {
            0 => (Nesting::Set, 0),
            1 => (Nesting::List, 1),
            _ => (Nesting::List, 0),
        };
        (eco_format!("{}_block", self.name(at)), NestedBlock { max, ..NestedBlock::new(nesting, block) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use yuba_plugin::wire::Protocol;

    use super::*;

    fn depth(block: &BlockSchema) -> usize {
        block.blocks().values().map(|nested| 1 + depth(&nested.block)).max().unwrap_or_default()
    }

    #[test]
    fn types_have_names_of_their_own_and_are_the_same_in_every_process() {
        let (first, second) = (resources(3000), resources(3000));
        assert_eq!(first.len(), 3000);
        let bytes = |schema: &Schema| crate::wire_schema::encode(Protocol::V5, schema, false);
        for ((name, one), other) in first.iter().zip(second.values()).take(200) {
            assert_eq!(bytes(one), bytes(other), "{name}");
        }
        let different: BTreeSet<_> = first.values().take(200).map(bytes).collect();
        assert_eq!(different.len(), 200);
    }

    #[test]
    fn the_schema_has_the_size_of_a_large_provider() {
        let types = resources(1300);
        let sizes = types.values().map(|schema| crate::wire_schema::encode(Protocol::V5, schema, false).len());
        let megabytes = sizes.sum::<usize>() >> 20;
        assert!((8..=40).contains(&megabytes), "{megabytes} MB");
        let deepest = types.values().map(|schema| depth(&schema.block)).max();
        assert_eq!(deepest, Some(DEEPEST as usize + 1));
        assert!(types.contains_key("testing_network_vpc") && types.contains_key("testing_cluster_node_group"));
    }
}
