//! References into blocks, checked by schema before there is a value.

use yuba_syntax::expr::Literal;
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Diagnostic, TraversalStep};
use yuba_value::Type;

use crate::diagnostics;
use crate::schema::{BlockSchema, NestedBlock, Nesting};

/// Target of the steps of a reference.
#[derive(Clone, Debug)]
pub enum Followed<'t> {
    /// To a block, or to all blocks of a type.
    Block,
    /// To an attribute of this type; the steps after it are still to be looked at, with an unknown value of the type.
    Attribute(Type, &'t [TraversalStep]),
}

impl BlockSchema {
    /// Follows the steps of a reference to an object of this schema. Finds only errors that do not depend on the value.
    pub fn follow<'t>(&self, steps: &'t [TraversalStep]) -> Result<Followed<'t>, Diagnostic> {
        let Some((next, after)) = steps.split_first() else { return Ok(Followed::Block) };
        let name = match next {
            TraversalStep::Attr { name, .. } => name,
            TraversalStep::Index { key, span } => {
                let name = match key {
                    Literal::String(name) if is_identifier(name) => Some(name),
                    _ => None,
                };
                return Err(diagnostics::invalid_index_operation(name.map(|name| name.as_str())).at(*span));
            }
        };
        if let Some(attribute) = self.attributes().get(name) {
            return Ok(Followed::Attribute(attribute.implied_type(), after));
        }
        if let Some(nested) = self.blocks().get(name) {
            return nested.follow(name, after);
        }
        let known = self.attributes().keys().chain(self.blocks().keys()).map(|name| name.as_str());
        Err(diagnostics::unsupported_attribute(name, known).at(next.span()))
    }
}

impl NestedBlock {
    fn follow<'t>(&self, kind: &str, steps: &'t [TraversalStep]) -> Result<Followed<'t>, Diagnostic> {
        if matches!(self.nesting, Nesting::Single | Nesting::Group) {
            return self.block.follow(steps);
        }
        let Some((next, after)) = steps.split_first() else { return Ok(Followed::Block) };
        match (self.nesting, next) {
            (Nesting::Set, _) => Err(diagnostics::cannot_index_set(kind).at(next.span())),
            (Nesting::List, TraversalStep::Attr { .. }) => Err(diagnostics::list_not_indexed(kind).at(next.span())),
            _ => self.block.follow(after),
        }
    }
}

#[cfg(test)]
mod tests {
    use yuba_syntax::{FileId, parser};

    use super::*;
    use crate::testing::{Kind, schema};

    #[test]
    fn references_are_followed_by_schema() {
        let schema = schema(Kind::Modern);
        for (text, expected) in [
            ("x", "block"),
            ("x.name", "string, 0 left"),
            ("x.tags.a.b", "map of string, 2 left"),
            ("x.nested[0].x", "list of object, 2 left"),
            ("x.nam", "Unsupported attribute"),
            ("x[0]", "Invalid index operation"),
            ("x[\"name\"]", "Invalid index operation"),
            ("x.list", "block"),
            ("x.list[0].a", "string, 0 left"),
            ("x.list.a", "Invalid operation"),
            ("x.list[0].deep[0].nope", "Unsupported attribute"),
            ("x.set[0]", "Cannot index a set value"),
            ("x.map.k.a", "string, 0 left"),
            ("x.map[\"k\"].nope", "Unsupported attribute"),
            ("x.single.a", "string, 0 left"),
            ("x.single[0]", "Invalid index operation"),
        ] {
            let (traversal, _) = parser::parse_traversal(FileId::default(), text.as_bytes());
            let traversal = traversal.expect("it is a reference");
            let answer = match schema.follow(&traversal.steps) {
                Ok(Followed::Block) => "block".to_owned(),
                Ok(Followed::Attribute(ty, rest)) => format!("{}, {} left", ty.friendly_name(), rest.len()),
                Err(problem) => problem.summary.to_string(),
            };
            assert_eq!(answer, expected, "{text}");
        }
    }
}
