//! Two trees, by the schema that they follow.

use ecow::EcoString;
use yuba_provider::schema::AttributeType;
use yuba_provider::{Attribute, BlockSchema, NestedAttribute, NestedBlock, Nesting};

use super::compare::{Blocks, Change, Described, Diff, Shape};
use super::node::{Data, Node};
use super::{Paths, Step};

impl<'a> Change<'a> {
    /// An object or a block of one.
    pub(crate) fn by_block(&self, schema: &BlockSchema) -> Diff<'a> {
        if let Some(diff) = self.veiled(Described::Block, |change| change.by_block(schema)) {
            return diff;
        }
        let mut step = self.step_of_whole();
        let mut attributes: Vec<(EcoString, Diff<'a>)> = Vec::with_capacity(schema.attributes().len());
        // The action of a write-only attribute follows from the other attributes.
        for write_only in [false, true] {
            for (name, attribute) in schema.attributes().iter().filter(|(_, a)| a.write_only == write_only) {
                let child = self.block_attribute(name);
                let item = child.by_attribute(attribute, step);
                if item.step == Step::Keep && child.is_nothing() && !write_only {
                    continue;
                }
                step = step.and(item.step);
                attributes.push((name.clone(), item));
            }
        }
        attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut blocks = Vec::new();
        for (name, nested) in schema.blocks() {
            let child = self.member(name).if_relevant();
            let (of_blocks, items) = child.by_blocks(nested);
            if of_blocks == Step::Keep && child.is_nothing() {
                continue;
            }
            step = step.and(of_blocks);
            blocks.push(Blocks {
                name: name.clone(),
                replace: child.replace.end_here(),
                sensitive_before: child.sensitive_before(),
                sensitive_after: child.sensitive_after(),
                items,
            });
        }
        self.diff(step, Shape::Block { attributes, blocks })
    }

    /// An empty string equals null: older providers do not distinguish them.
    fn block_attribute(&self, name: &str) -> Change<'a> {
        let mut child = Change { implicit: true, ..self.attribute(name) };
        let is_empty = |node: &&'a Node| matches!(&node.data, Data::Text(text) if text.is_empty());
        if let Some(before) = child.before.filter(is_empty) {
            child.before = Some(nothing(before));
        }
        if let Some(after) = child.after.filter(is_empty) {
            child.after = Some(nothing(after));
        }
        child
    }

    fn by_attribute(&self, schema: &Attribute, of_whole: Step) -> Diff<'a> {
        if schema.write_only {
            let replace = self.replace.end_here();
            let step = if of_whole == Step::Keep && replace { Step::Update } else { of_whole };
            return self.diff(step, Shape::WriteOnly);
        }
        match &schema.ty {
            AttributeType::Plain(ty) => self.by_type(ty),
            AttributeType::Nested(nested) => self.by_nested(nested, nested.nesting),
        }
    }

    fn by_nested(&self, schema: &NestedAttribute, nesting: Nesting) -> Diff<'a> {
        if let Some(diff) = self.veiled(Described::NestedAttribute, |change| change.by_nested(schema, nesting)) {
            return diff;
        }
        let object = |child: &Change<'a>| child.by_nested(schema, Nesting::Single);
        match nesting {
            Nesting::Single | Nesting::Group => {
                let of = |write_only: bool| schema.attributes.iter().filter(move |(_, a)| a.write_only == write_only);
                let (step, mut items) = self.attributes(of(false).chain(of(true)), |child, attribute, step| {
                    child.by_attribute(attribute, step)
                });
                items.sort_by(|(a, _), (b, _)| a.cmp(b));
                self.diff(step, Shape::Object { items, described: Described::NestedAttribute })
            }
            Nesting::Map => {
                let (step, items) = self.mapping(|_, child| object(child));
                self.diff(step, Shape::Map { items, described: Described::NestedAttribute })
            }
            Nesting::List => {
                let items: Vec<Diff<'a>> = self.by_position().iter().map(object).collect();
                let step = items.iter().fold(self.step_of_whole(), |step, item| step.and(item.step));
                self.diff(step, Shape::List { items, described: Described::NestedAttribute })
            }
            Nesting::Set => {
                let (step, items) = self.set(object);
                self.diff(step, Shape::Set { items, described: Described::NestedAttribute })
            }
        }
    }

    /// Elements with the same position.
    fn by_position(&self) -> Vec<Change<'a>> {
        let (before, after) = self.sequences();
        let within = |at: usize, items: &[Node]| (at < items.len()).then_some(at);
        let places = 0..before.len().max(after.len());
        places.map(|at| self.element(within(at, before), within(at, after)).if_relevant()).collect()
    }

    /// All blocks of one type.
    fn by_blocks(&self, schema: &NestedBlock) -> (Step, Vec<(Option<EcoString>, Diff<'a>)>) {
        let block = |child: &Change<'a>| child.by_block(&schema.block);
        if self.is_unknown() {
            return self.by_unknown_blocks(schema);
        }
        let items: Vec<(Option<EcoString>, Diff<'a>)> = match schema.nesting {
            Nesting::Single | Nesting::Group => {
                let diff = block(self);
                return (diff.step, vec![(None, diff)]);
            }
            Nesting::List => self.by_position().iter().map(|child| (None, block(child))).collect(),
            Nesting::Set => self.set_elements().iter().map(|child| (None, block(child))).collect(),
            Nesting::Map => {
                let (step, items) = self.mapping(|_, child| block(child));
                return (step, items.into_iter().map(|(label, item)| (Some(label), item)).collect());
            }
        };
        let step = items.iter().fold(self.step_of_whole(), |step, (_, item)| step.and(item.step));
        (step, items)
    }

    /// Their number is unknown: the existing ones, or one unknown element if they are missing.
    fn by_unknown_blocks(&self, schema: &NestedBlock) -> (Step, Vec<(Option<EcoString>, Diff<'a>)>) {
        let items: Vec<(Option<EcoString>, Change<'a>)> = match schema.nesting {
            Nesting::Single | Nesting::Group if self.nothing_before() => Vec::new(),
            Nesting::Single | Nesting::Group => vec![(None, self.clone())],
            Nesting::List | Nesting::Set => self.by_position().into_iter().map(|child| (None, child)).collect(),
            Nesting::Map => self.names().into_iter().map(|name| (Some(name.clone()), self.member(&name))).collect(),
        };
        if items.is_empty() {
            let diff = Change { before: None, replace: Paths::none(), ..self.clone() }.by_block(&schema.block);
            return (Step::Create, vec![(None, diff)]);
        }
        let unknown = |child: Change<'a>| Change { unknown: super::compare::Unknown::All, ..child };
        let items = items.into_iter().map(|(label, child)| (label, unknown(child).by_block(&schema.block))).collect();
        (Step::Update, items)
    }
}

/// Null, with the same secrecy.
fn nothing(node: &Node) -> &'static Node {
    static OPEN: Node = Node { data: Data::Null, sensitive: false };
    static SECRET: Node = Node { data: Data::Null, sensitive: true };
    if node.sensitive { &SECRET } else { &OPEN }
}
