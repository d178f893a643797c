//! Expressions in documents about configuration: their value where it is constant, else what they refer to.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::{Reference, Subject};
use yuba_config::Module;
use yuba_provider::{BlockSchema, NestedBlock, Nesting};
use yuba_syntax::expr::Literal;
use yuba_syntax::{Block, Body, Expr, TraversalStep};
use yuba_value::{Number, quote};

use crate::json_writer::{Members, list, text};
use crate::values_json::known;

/// Writes an expression. Returns whether it has any members.
pub(super) fn expression(out: &mut String, expr: &Expr, module: &Module) -> bool {
    let mut members = Members::open(out);
    let (value, problems) = yuba_eval::constant(expr);
    let mut any = false;
    if !problems.has_errors() && value.is_wholly_known() {
        known(members.key("constant_value"), &value);
        any = true;
    }
    let names = references(expr, module);
    any |= !names.is_empty();
    members.list_if_any("references", &names, |out, name| text(out, name));
    members.close();
    any
}

/// The text that an expression always has.
pub(super) fn constant_text(expr: &Expr) -> Option<String> {
    let (value, problems) = yuba_eval::constant(expr);
    value.as_str().filter(|_| !problems.has_errors()).map(|text| text.to_string())
}

/// Everything an expression refers to: each name in full, then shorter and shorter down to what is referred to.
fn references(expr: &Expr, module: &Module) -> Vec<String> {
    let calls = expr.functions().into_iter().filter(|call| call.name.starts_with("provider::"));
    let calls = calls.filter_map(|call| Reference::parse_function(&call.name, call.name_span)).map(|(found, _)| found);
    let names = expr.variables().into_iter().map(|name| Reference::parse(name, module).0);
    let mut found = Vec::new();
    for reference in names.chain(calls).flatten() {
        let subject = reference.subject.to_string();
        let mut ends = vec![subject.len()];
        let mut full = subject;
        for step in reference.remaining() {
            push_step(&mut full, step);
            ends.push(full.len());
        }
        found.extend(ends.iter().rev().filter_map(|end| full.get(..*end)).map(str::to_owned));
        match &reference.subject {
            Subject::ModuleInstance(name, _) | Subject::ModuleOutput(name, None, _) => {
                found.push(format!("module.{name}"));
            }
            Subject::ModuleOutput(name, Some(key), _) => found.push(format!("module.{name}{key}")),
            Subject::ResourceInstance(resource, Some(_)) => found.push(resource.to_string()),
            _ => {}
        }
    }
    found
}

fn push_step(out: &mut String, step: &TraversalStep) {
    match step {
        TraversalStep::Attr { name, .. } => {
            out.push('.');
            out.push_str(name);
        }
        TraversalStep::Index { key, .. } => {
            let shown = match key {
                Literal::String(key) => quote(key).to_string(),
                Literal::Int(key) => Number::from_i64(*key).format(b'g', Some(10)),
                Literal::Number(key) => {
                    Number::parse(key).map_or_else(|| key.to_string(), |key| key.format(b'g', Some(10)))
                }
                Literal::Null | Literal::Bool(_) => "...".to_owned(),
            };
            out.push('[');
            out.push_str(&shown);
            out.push(']');
        }
    }
}

/// The expressions of a body by its schema. `dynamic` blocks are not among them.
#[derive(Clone, Copy)]
pub(super) struct Expressions<'e> {
    pub(super) body: &'e Body,
    pub(super) schema: &'e BlockSchema,
    pub(super) module: &'e Module,
}

/// The member of a name.
enum Entry {
    Attribute(std::sync::Arc<Expr>),
    Blocks(Vec<Block>),
}

impl Expressions<'_> {
    /// As a member that is left out if it is empty.
    pub(super) fn write(self, members: &mut Members<'_>, name: &str) {
        members.if_written(name, |out| self.object(out));
    }

    /// Returns whether there are any.
    fn object(self, out: &mut String) -> bool {
        let (content, _) = self.body.known_content(self.schema.body_schema());
        let mut entries: BTreeMap<EcoString, Entry> = BTreeMap::new();
        for attribute in content.attributes {
            entries.insert(attribute.name.clone(), Entry::Attribute(attribute.expr));
        }
        for block in content.blocks {
            match entries.entry(block.kind.clone()).or_insert_with(|| Entry::Blocks(Vec::new())) {
                Entry::Blocks(blocks) => blocks.push(block),
                Entry::Attribute(_) => {}
            }
        }
        let mut members = Members::open(out);
        for (name, entry) in &entries {
            match (entry, self.schema.blocks().get(name)) {
                (Entry::Attribute(expr), _) => {
                    expression(members.key(name), expr, self.module);
                }
                (Entry::Blocks(blocks), Some(nested)) => self.blocks(members.key(name), blocks, nested),
                (Entry::Blocks(_), None) => {}
            }
        }
        members.close();
        !entries.is_empty()
    }

    fn blocks(self, out: &mut String, blocks: &[Block], nested: &NestedBlock) {
        let inner = |block: &'_ Block, out: &mut String| {
            Expressions { body: &block.body, schema: &nested.block, module: self.module }.object(out);
        };
        match nested.nesting {
            Nesting::Single | Nesting::Group => {
                if let Some(block) = blocks.last() {
                    inner(block, out);
                }
            }
            Nesting::List | Nesting::Set => list(out, blocks, |out, block| {
                inner(block, out);
                true
            }),
            Nesting::Map => {
                let labelled = blocks.iter().filter_map(|block| Some((&block.labels.first()?.0, block)));
                let by_key: BTreeMap<&EcoString, &Block> = labelled.collect();
                let mut members = Members::open(out);
                for (key, block) in by_key {
                    inner(block, members.key(key));
                }
                members.close();
            }
        }
    }
}
