//! Any bytes parse as a JSON file; asking its body never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_syntax::body::{AttributeSchema, BlockSchema, BodySchema};
use yuba_syntax::{FileId, json};

fuzz_target!(|bytes: &[u8]| {
    let file = json::parse_config(FileId(0), bytes);
    let schema = BodySchema {
        attributes: vec![AttributeSchema { name: "a".into(), required: true }],
        blocks: vec![BlockSchema { kind: "b".into(), labels: vec!["type".into(), "name".into()] }],
    };
    let (content, rest, _) = file.body.partial_content(&schema);
    for attribute in &content.attributes {
        let _ = attribute.expr.variables();
    }
    for block in &content.blocks {
        let _ = block.body.just_attributes();
    }
    let _ = rest.just_attributes();
});
