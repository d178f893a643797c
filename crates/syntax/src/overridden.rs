//! A body of which parts are overridden by another one.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use crate::body::{Attribute, BlockSchema, Body, BodySchema, Content};
use crate::{Diagnostics, Span};

/// A body and what overrides parts of it: arguments one by one, blocks by their type.
///
/// Merging is shallow: a block in the overriding body hides all blocks of its type in the base.
#[derive(Clone, Debug)]
pub struct OverriddenBody {
    base: Body,
    overriding: Body,
}

impl Body {
    /// This body with parts of it replaced.
    #[must_use]
    pub fn overridden_by(self, overriding: Body) -> Body {
        Body::Overridden(Arc::new(OverriddenBody { base: self, overriding }))
    }
}

impl OverriddenBody {
    /// Quirk: items unknown to the schema are not reported.
    pub(crate) fn partial_content(&self, schema: &BodySchema) -> (Content, Body, Diagnostics) {
        let mut schema = schema.clone();
        if !schema.blocks.iter().any(|block| block.kind == "dynamic") {
            schema.blocks.push(BlockSchema { kind: "dynamic".into(), labels: vec!["type".into()] });
        }
        let (base, base_rest, mut diagnostics) = self.base.partial_content(&schema);
        for attribute in &mut schema.attributes {
            attribute.required = false;
        }
        let (overriding, overriding_rest, problems) = self.overriding.partial_content(&schema);
        diagnostics.extend(problems);
        (merge(base, overriding), base_rest.overridden_by(overriding_rest), diagnostics)
    }

    pub(crate) fn just_attributes(&self) -> (Vec<Attribute>, Diagnostics) {
        let (base, mut diagnostics) = self.base.just_attributes();
        let (overriding, problems) = self.overriding.just_attributes();
        diagnostics.extend(problems);
        (merge_attributes(base, overriding), diagnostics)
    }

    pub(crate) fn missing_item_span(&self) -> Span {
        self.base.missing_item_span()
    }
}

fn merge(base: Content, overriding: Content) -> Content {
    let kind_of = |block: &crate::Block| match block.labels.first() {
        Some((label, _)) if block.kind == "dynamic" => label.clone(),
        _ => block.kind.clone(),
    };
    let hidden: HashSet<_> = overriding.blocks.iter().map(kind_of).collect();
    let kept = base.blocks.into_iter().filter(|block| !hidden.contains(&kind_of(block)));
    Content {
        blocks: kept.chain(overriding.blocks).collect(),
        attributes: merge_attributes(base.attributes, overriding.attributes),
        missing_span: base.missing_span,
    }
}

fn merge_attributes(base: Vec<Attribute>, overriding: Vec<Attribute>) -> Vec<Attribute> {
    let mut merged = base;
    let places: HashMap<_, _> = merged.iter().enumerate().map(|(at, attribute)| (attribute.name.clone(), at)).collect();
    for attribute in overriding {
        match places.get(&attribute.name).and_then(|at| merged.get_mut(*at)) {
            Some(replaced) => *replaced = attribute,
            None => merged.push(attribute),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::FileId;
    use crate::body::AttributeSchema;
    use crate::parser::parse_config;

    #[test]
    fn arguments_are_replaced_one_by_one_and_blocks_by_type() {
        let parse = |text: &str| parse_config(FileId(0), text.as_bytes()).1.body;
        let base = parse("a = 1\nb = 2\nx {}\nx {}\ny {}\ndynamic \"z\" {}\n");
        let merged = base.overridden_by(parse("b = 3\nc = 4\nx {}\nz {}\nunknown = 1\n"));
        let attribute = |name: &str| AttributeSchema { name: name.into(), required: name == "a" };
        let block = |kind: &str| BlockSchema { kind: kind.into(), labels: vec![] };
        let schema =
            BodySchema { attributes: ["a", "b", "c"].map(attribute).into(), blocks: ["x", "y", "z"].map(block).into() };
        let (content, diagnostics) = merged.content(&schema);
        assert!(diagnostics.is_empty());
        let attributes = content.attributes.iter().map(|a| format!("{}@{} ", a.name, a.span.start));
        let blocks = content.blocks.iter().map(|b| format!("{} ", b.kind));
        expect!["a@0 b@0 c@6 y x z "].assert_eq(&attributes.chain(blocks).collect::<String>());
    }
}
