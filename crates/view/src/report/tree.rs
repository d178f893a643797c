//! The difference of two objects as a tree of plain texts, without sensitive values.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_provider::schema::AttributeType;
use yuba_provider::{Attribute, BlockSchema};
use yuba_value::quote;

use super::{SENSITIVE, UNKNOWN};
use crate::change::compare::{Blocks, Diff, Shape};
use crate::change::node::{Data, Node};
use crate::change::render::is_important;
use crate::change::sequence::align;
use crate::change::{Change, Step, json_text};

/// Unchanged lines of a string that are shown around a change.
const CONTEXT: usize = 3;

/// A part of a difference: a value with its parts, or a line of a string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DiffNode {
    /// Name of an attribute, key of a map, type of a block, or position in a list. Elements of sets and lines do not have a name.
    pub name: Option<NodeName>,
    /// Label of a block.
    pub label: Option<EcoString>,
    /// Action for the part.
    pub mark: DiffMark,
    /// Form of the part.
    pub kind: DiffKind,
    /// The value before: a literal of the language.
    pub before: Option<EcoString>,
    /// The value after: a literal of the language, or a line of a string. A value that stays is here.
    pub after: Option<EcoString>,
    /// Its change forces a replacement.
    pub forces: bool,
    /// Its value is not part of the report.
    pub sensitive: bool,
    /// It is unknown after the change. If it had parts before, they are the children.
    pub unknown: bool,
    /// The value is a string that contains JSON, and the children are its content.
    pub json: bool,
    /// Only the provider sets it: the values before differ between objects with otherwise equal changes.
    pub computed: bool,
    /// A remark: `only whitespace changes`.
    pub note: Option<EcoString>,
    /// Its parts. A value that changes its type has two parts without names: the old and the new one.
    pub children: Vec<DiffNode>,
    /// Number of unchanged parts that are left out; for a line the number of unchanged lines instead of it.
    pub hidden: u32,
}

/// Name of a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeName {
    /// A name or key.
    Text(EcoString),
    /// A position in a list. Removed elements have their old position, other elements the new one.
    Index(u32),
}

/// Action for a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DiffMark {
    /// It stays.
    #[default]
    Same,
    /// It is added.
    Added,
    /// It is removed.
    Removed,
    /// It changes.
    Changed,
}

/// Form of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DiffKind {
    /// A value without parts.
    #[default]
    Value,
    /// Attributes.
    Object,
    /// Elements with keys.
    Map,
    /// Elements in order.
    List,
    /// Elements in any order.
    Set,
    /// A string of several lines: the children are lines.
    Text,
    /// A block.
    Block,
}

impl DiffMark {
    /// The sign at the left.
    pub fn sign(self) -> &'static str {
        match self {
            DiffMark::Same => " ",
            DiffMark::Added => "+",
            DiffMark::Removed => "-",
            DiffMark::Changed => "~",
        }
    }
}

impl From<Step> for DiffMark {
    fn from(step: Step) -> DiffMark {
        match step {
            Step::Keep => DiffMark::Same,
            Step::Create => DiffMark::Added,
            Step::Update => DiffMark::Changed,
            Step::Delete => DiffMark::Removed,
        }
    }
}

impl DiffKind {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            DiffKind::Value => "value",
            DiffKind::Object => "object",
            DiffKind::Map => "map",
            DiffKind::List => "list",
            DiffKind::Set => "set",
            DiffKind::Text => "text",
            DiffKind::Block => "block",
        }
    }
}

/// Treatment of unchanged parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// They are counted, except for those that identify an object.
    Counted,
    /// They are shown.
    Shown,
}

/// The schema of the attributes of an object, as far as it is known.
#[derive(Clone, Copy)]
enum Fields<'s> {
    Unknown,
    Block(&'s BlockSchema),
    Attributes(&'s BTreeMap<EcoString, Attribute>),
}

impl<'s> Fields<'s> {
    fn attribute(self, name: &str) -> Option<&'s Attribute> {
        match self {
            Fields::Unknown => None,
            Fields::Block(schema) => schema.attributes().get(name),
            Fields::Attributes(attributes) => attributes.get(name),
        }
    }
}

/// The difference of an object with a schema.
pub(super) fn of_block(diff: &Diff<'_>, schema: &BlockSchema, kept: Kept) -> DiffNode {
    part(diff, Fields::Block(schema), kept)
}

/// The difference of two values without a schema.
pub(super) fn of_values(before: Option<&Node>, after: Option<&Node>) -> DiffNode {
    part(&Change::new(before, after).by_look(), Fields::Unknown, Kept::Counted)
}

/// A value that stays.
pub(super) fn of_value(value: &Node, ty: &yuba_value::Type) -> DiffNode {
    part(&Change::still(value).by_type(ty), Fields::Unknown, Kept::Shown)
}

fn part(diff: &Diff<'_>, fields: Fields<'_>, kept: Kept) -> DiffNode {
    let base = DiffNode { mark: diff.step.into(), forces: diff.replace, ..DiffNode::default() };
    match &diff.shape {
        Shape::Atom { before, after, is_text: false } => atom(base, diff.step, *before, *after),
        Shape::Atom { before, after, is_text: true } => text(base, diff.step, *before, *after, kept),
        Shape::List { items, .. } => sequence(DiffNode { kind: DiffKind::List, ..base }, items, fields, kept),
        Shape::Set { items, .. } => sequence(DiffNode { kind: DiffKind::Set, ..base }, items, fields, kept),
        Shape::Map { items, .. } => {
            let mut node = DiffNode { kind: DiffKind::Map, ..base };
            for (key, item) in items {
                if item.step == Step::Keep && kept == Kept::Counted {
                    node.hidden += 1;
                    continue;
                }
                node.children.push(named(part(item, fields, kept), key));
            }
            node
        }
        Shape::Object { items, .. } => {
            let mut node = DiffNode { kind: DiffKind::Object, ..base };
            attributes(&mut node, items, fields, kept);
            node
        }
        Shape::Block { attributes: items, blocks } => {
            let mut node = DiffNode { kind: DiffKind::Block, ..base };
            attributes(&mut node, items, fields, kept);
            blocks.iter().for_each(|group| add_blocks(&mut node, group, fields, kept));
            node
        }
        Shape::Sensitive { inner, before, after, is_block } => {
            let kind = if *is_block { DiffKind::Block } else { DiffKind::Value };
            secret(base, inner.step, (*before, *after), kind)
        }
        Shape::Unknown { before: None } => DiffNode { unknown: true, after: Some(UNKNOWN.into()), ..base },
        Shape::Unknown { before: Some(before) } => {
            let old = part(before, fields, kept);
            DiffNode { mark: base.mark, forces: base.forces, unknown: true, after: Some(UNKNOWN.into()), ..old }
        }
        Shape::Other { before, after } => {
            let (old, new) = (part(before, fields, kept), part(after, fields, kept));
            let is_simple = |node: &DiffNode| node.kind == DiffKind::Value && node.children.is_empty() && !node.json;
            if is_simple(&old) && is_simple(&new) {
                return DiffNode { before: old.before, after: new.after, ..base };
            }
            DiffNode { children: vec![old, new], ..base }
        }
        Shape::WriteOnly => DiffNode { after: Some("(write-only attribute)".into()), ..base },
    }
}

fn named(node: DiffNode, name: &str) -> DiffNode {
    DiffNode { name: Some(NodeName::Text(name.into())), ..node }
}

/// The replacement of a sensitive value: `before` and `after` are the sides on which it is sensitive. If only one side is, the
/// other one is hidden too, since it can be the same value.
fn secret(base: DiffNode, inner: Step, (before, after): (bool, bool), kind: DiffKind) -> DiffNode {
    let hidden = || Some(EcoString::from(SENSITIVE));
    let (was, is) = match base.mark {
        DiffMark::Added | DiffMark::Same => (None, hidden()),
        DiffMark::Removed => (hidden(), None),
        DiffMark::Changed => (hidden(), hidden()),
    };
    let note = match (before, after, inner) {
        (_, _, Step::Create | Step::Delete) => None,
        (true, false, _) => Some("will no longer be marked as sensitive".into()),
        (false, true, _) => Some("will be marked as sensitive".into()),
        _ => None,
    };
    DiffNode { sensitive: true, kind, before: was, after: is, note, ..base }
}

fn literal(node: Option<&Node>) -> EcoString {
    match node.map(|node| &node.data) {
        None | Some(Data::Null) => "null".into(),
        Some(Data::Unknown) => UNKNOWN.into(),
        Some(Data::Bool(true)) => "true".into(),
        Some(Data::Bool(false)) => "false".into(),
        Some(Data::Number(number)) => number.clone(),
        Some(Data::Text(text)) => quote(text),
        Some(Data::Sequence(_)) => "[...]".into(),
        Some(Data::Members(_)) => "{...}".into(),
    }
}

fn atom(base: DiffNode, step: Step, before: Option<&Node>, after: Option<&Node>) -> DiffNode {
    let (was, is) = match step {
        Step::Create => (None, Some(literal(after))),
        Step::Delete => (Some(literal(before)), None),
        Step::Keep => (None, Some(literal(before.or(after)))),
        Step::Update => (Some(literal(before)), Some(literal(after))),
    };
    DiffNode { before: was, after: is, ..base }
}

/// A string. Strings of several lines become lines, strings with JSON become its content.
fn text(base: DiffNode, step: Step, before: Option<&Node>, after: Option<&Node>, kept: Kept) -> DiffNode {
    let (before, after) = match step {
        Step::Create => (None, after),
        Step::Delete => (before, None),
        Step::Keep => (before.or(after), before.or(after)),
        Step::Update => (before, after),
    };
    let content = |node: Option<&Node>| node.and_then(Node::as_text).and_then(|text| json_text::parse(text));
    let (old, new) = (content(before), content(after));
    let is_missing = |node: Option<&Node>| node.is_none_or(Node::is_nothing);
    if (old.is_some() || is_missing(before)) && (new.is_some() || is_missing(after)) && (old.is_some() || new.is_some())
    {
        let change = Change { implicit: false, ..Change::new(old.as_ref(), new.as_ref()) };
        let diff = change.by_look();
        let spacing_only = diff.step == Step::Keep && step == Step::Update;
        let inner = part(&diff, Fields::Unknown, if spacing_only { Kept::Counted } else { kept });
        let note = spacing_only.then(|| "only whitespace changes".into());
        return DiffNode { mark: base.mark, forces: base.forces, json: true, note, ..inner };
    }
    let lines = |node: Option<&Node>| node.and_then(Node::as_text).is_some_and(|text| text.contains('\n'));
    if lines(before) || lines(after) {
        return of_lines(base, before, after);
    }
    atom(base, step, before, after)
}

fn of_lines(base: DiffNode, before: Option<&Node>, after: Option<&Node>) -> DiffNode {
    let text = |node: Option<&'_ Node>| node.and_then(Node::as_text).cloned();
    let (old, new) = (text(before), text(after));
    let lines = |text: &Option<EcoString>| -> Vec<EcoString> {
        let Some(text) = text else { return Vec::new() };
        text.strip_suffix('\n').unwrap_or(text).split('\n').map(EcoString::from).collect()
    };
    let (was, is) = (lines(&old), lines(&new));
    let mut found: Vec<DiffNode> = Vec::with_capacity(was.len().max(is.len()));
    let line = |mark: DiffMark, text: &EcoString| {
        let (before, after) =
            if mark == DiffMark::Removed { (Some(text.clone()), None) } else { (None, Some(text.clone())) };
        DiffNode { mark, before, after, ..DiffNode::default() }
    };
    align(
        &was,
        &is,
        |line| line.to_string(),
        |_, _| false,
        |b, a| match (b.and_then(|b| was.get(b)), a.and_then(|a| is.get(a))) {
            (Some(text), Some(_)) => found.push(line(DiffMark::Same, text)),
            (Some(text), None) => found.push(line(DiffMark::Removed, text)),
            (None, Some(text)) => found.push(line(DiffMark::Added, text)),
            (None, None) => {}
        },
    );
    let is_changed = found.iter().any(|line| line.mark != DiffMark::Same);
    let note = (base.mark == DiffMark::Changed && !is_changed).then(|| "only the end of the last line changes".into());
    let children = if base.mark == DiffMark::Changed { shortened(found) } else { found };
    DiffNode { kind: DiffKind::Text, note, children, ..base }
}

/// Unchanged lines far from a change become their number.
fn shortened(lines: Vec<DiffNode>) -> Vec<DiffNode> {
    let mut near = vec![false; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        if line.mark != DiffMark::Same {
            let end = (at + CONTEXT + 1).min(lines.len());
            near[at.saturating_sub(CONTEXT)..end].fill(true);
        }
    }
    let mut out: Vec<DiffNode> = Vec::new();
    for (line, near) in lines.into_iter().zip(near) {
        match out.last_mut().filter(|last| last.hidden > 0) {
            _ if near => out.push(line),
            Some(gap) => gap.hidden += 1,
            None => out.push(DiffNode { hidden: 1, ..DiffNode::default() }),
        }
    }
    out
}

fn sequence(mut node: DiffNode, items: &[Diff<'_>], fields: Fields<'_>, kept: Kept) -> DiffNode {
    let (mut before, mut after) = (0_u32, 0_u32);
    for item in items {
        let at = if item.step == Step::Delete { before } else { after };
        before += u32::from(item.step != Step::Create);
        after += u32::from(item.step != Step::Delete);
        if item.step == Step::Keep && kept == Kept::Counted {
            node.hidden += 1;
            continue;
        }
        let name = (node.kind == DiffKind::List).then_some(NodeName::Index(at));
        node.children.push(DiffNode { name, ..part(item, fields, kept) });
    }
    node
}

fn attributes(node: &mut DiffNode, items: &[(EcoString, Diff<'_>)], fields: Fields<'_>, kept: Kept) {
    for (name, item) in items {
        let important = is_important(name);
        if item.step == Step::Keep && kept == Kept::Counted && !important {
            node.hidden += 1;
            continue;
        }
        let attribute = fields.attribute(name);
        let inner = match attribute.map(|attribute| &attribute.ty) {
            Some(AttributeType::Nested(nested)) => Fields::Attributes(&nested.attributes),
            _ => Fields::Unknown,
        };
        let kept = if item.step == Step::Keep { Kept::Shown } else { kept };
        let computed = attribute.is_some_and(|attribute| attribute.computed && !attribute.optional);
        node.children.push(DiffNode { computed, ..named(part(item, inner, kept), name) });
    }
}

fn add_blocks(node: &mut DiffNode, group: &Blocks<'_>, fields: Fields<'_>, kept: Kept) {
    let inner = match fields {
        Fields::Block(schema) => {
            schema.blocks().get(&group.name).map_or(Fields::Unknown, |nested| Fields::Block(&nested.block))
        }
        _ => Fields::Unknown,
    };
    for (label, block) in &group.items {
        let step = group.step(block);
        if step == Step::Keep && kept == Kept::Counted {
            node.hidden += 1;
            continue;
        }
        let child = if group.is_secret(block) {
            let base = DiffNode { mark: step.into(), forces: block.replace, ..DiffNode::default() };
            secret(base, block.step, (group.sensitive_before, group.sensitive_after), DiffKind::Block)
        } else {
            part(block, inner, kept)
        };
        let (forces, label) = (child.forces || group.replace, label.clone());
        node.children.push(DiffNode { forces, label, ..named(child, &group.name) });
    }
}
