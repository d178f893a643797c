//! Two trees, by the type that they have or by what they look like.

use ecow::EcoString;
use yuba_value::{Type, TypeKind};

use super::node::{Kind, Node};
use super::sequence::{align, matches, share_a_line};
use super::{Paths, Step};

/// The action for one value: two trees, and what is known about their position.
#[derive(Clone, Debug)]
pub(crate) struct Change<'a> {
    /// The value before, if the position exists.
    pub(crate) before: Option<&'a Node>,
    /// The value after, if the position exists.
    pub(crate) after: Option<&'a Node>,
    /// A null is the same as not being there.
    pub(crate) implicit: bool,
    /// It is part of something that must not be shown before, after: that its parts must not be shown does not matter.
    pub(crate) veiled: (bool, bool),
    /// The paths that are unknown after the change, in addition to those in the tree.
    pub(crate) unknown: Unknown,
    /// Changes that make it necessary to replace the object.
    pub(crate) replace: Paths<'a>,
    /// Changes that matter.
    pub(crate) relevant: Paths<'a>,
}

/// Unknown parts of the value after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// As in the tree.
    AsIs,
    /// This.
    All,
    /// Every attribute of this.
    Attributes,
}

/// Role of a value in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Described {
    /// A value of a type.
    Value,
    /// The object of a block.
    Block,
    /// An attribute with attributes of its own.
    NestedAttribute,
}

/// The change of one value, ready to be shown.
#[derive(Clone, Debug)]
pub(crate) struct Diff<'a> {
    pub(crate) step: Step,
    /// Makes it necessary to replace the object.
    pub(crate) replace: bool,
    pub(crate) shape: Shape<'a>,
}

/// Form of a shown value.
#[derive(Clone, Debug)]
pub(crate) enum Shape<'a> {
    /// A text, number, truth value or null.
    Atom { before: Option<&'a Node>, after: Option<&'a Node>, is_text: bool },
    /// Elements in order. If it is nested, those around a change are not shown.
    List { items: Vec<Diff<'a>>, described: Described },
    /// Elements in any order.
    Set { items: Vec<Diff<'a>>, described: Described },
    /// Elements with keys.
    Map { items: Vec<(EcoString, Diff<'a>)>, described: Described },
    /// Attributes.
    Object { items: Vec<(EcoString, Diff<'a>)>, described: Described },
    /// Attributes and blocks.
    Block { attributes: Vec<(EcoString, Diff<'a>)>, blocks: Vec<Blocks<'a>> },
    /// It must not be shown.
    Sensitive { inner: Box<Diff<'a>>, before: bool, after: bool, is_block: bool },
    /// It is not known after; what it is before, if anything.
    Unknown { before: Option<Box<Diff<'a>>> },
    /// It becomes something else.
    Other { before: Box<Diff<'a>>, after: Box<Diff<'a>> },
    /// It is passed to the provider and not stored.
    WriteOnly,
}

/// All blocks of one type.
#[derive(Clone, Debug)]
pub(crate) struct Blocks<'a> {
    pub(crate) name: EcoString,
    /// All of them make it necessary to replace the object.
    pub(crate) replace: bool,
    /// All of them must not be shown.
    pub(crate) sensitive_before: bool,
    pub(crate) sensitive_after: bool,
    /// With their labels.
    pub(crate) items: Vec<(Option<EcoString>, Diff<'a>)>,
}

impl<'a> Change<'a> {
    /// A whole: null is the same as not being there.
    pub(crate) fn new(before: Option<&'a Node>, after: Option<&'a Node>) -> Change<'a> {
        Change {
            before,
            after,
            implicit: true,
            veiled: (false, false),
            unknown: Unknown::AsIs,
            replace: Paths::none(),
            relevant: Paths::All,
        }
    }
    /// Something that stays as it is.
    pub(crate) fn still(node: &'a Node) -> Change<'a> {
        Change::new(Some(node), Some(node))
    }

    pub(super) fn nothing_before(&self) -> bool {
        self.before.is_none_or(Node::is_nothing)
    }
    pub(super) fn nothing_after(&self) -> bool {
        self.after.is_none_or(Node::is_nothing)
    }
    /// Neither a value before nor after.
    pub(super) fn is_nothing(&self) -> bool {
        self.nothing_before() && self.nothing_after()
    }
    pub(super) fn is_unknown(&self) -> bool {
        self.unknown == Unknown::All || self.after.is_some_and(Node::is_unknown)
    }
    pub(super) fn sensitive_before(&self) -> bool {
        !self.veiled.0 && self.before.is_some_and(|node| node.sensitive)
    }
    pub(super) fn sensitive_after(&self) -> bool {
        !self.veiled.1 && self.after.is_some_and(|node| node.sensitive)
    }
    fn is_there_before(&self) -> bool {
        !self.nothing_before() || (!self.implicit && self.before.is_some())
    }
    fn is_there_after(&self) -> bool {
        !self.nothing_after()
            || (!self.implicit && self.after.is_some_and(|node| !node.is_unknown()))
            || self.is_unknown()
    }

    /// For something without parts.
    fn step(&self) -> Step {
        match (self.is_there_before(), self.is_there_after()) {
            (false, true) => Step::Create,
            (true, false) => Step::Delete,
            _ if self.values_are_same() && self.sensitive_before() == self.sensitive_after() => Step::Keep,
            _ => Step::Update,
        }
    }
    fn values_are_same(&self) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => before.same(after),
            _ => self.is_nothing(),
        }
    }
    /// For something with parts, before the parts are looked at.
    pub(super) fn step_of_whole(&self) -> Step {
        match (self.nothing_before(), self.nothing_after()) {
            (true, false) => Step::Create,
            (false, true) => Step::Delete,
            _ => Step::Keep,
        }
    }

    pub(super) fn as_kept(&self) -> Change<'a> {
        Change { after: self.before, unknown: Unknown::AsIs, ..self.clone() }
    }
    fn as_deleted(&self, unknown: Unknown) -> Change<'a> {
        Change { after: None, unknown, ..self.clone() }
    }
    fn as_created(&self) -> Change<'a> {
        Change { before: None, ..self.clone() }
    }
    /// Itself, or nothing changed if it does not matter.
    pub(super) fn if_relevant(self) -> Change<'a> {
        if self.relevant.lead_here() { self } else { self.as_kept() }
    }
    fn child(&self, before: Option<&'a Node>, after: Option<&'a Node>) -> Change<'a> {
        Change {
            before,
            after,
            implicit: false,
            veiled: (self.veiled.0 || self.sensitive_before(), self.veiled.1 || self.sensitive_after()),
            unknown: Unknown::AsIs,
            replace: Paths::none(),
            relevant: Paths::All,
        }
    }
    pub(super) fn member(&self, name: &str) -> Change<'a> {
        let of = |node: Option<&'a Node>| node.and_then(|node| node.member(name));
        Change {
            replace: self.replace.member(name),
            relevant: self.relevant.member(name),
            ..self.child(of(self.before), of(self.after))
        }
    }
    pub(super) fn element(&self, before: Option<usize>, after: Option<usize>) -> Change<'a> {
        let of = |node: Option<&'a Node>, at: Option<usize>| node?.as_sequence()?.get(at?);
        let at = before.or(after).unwrap_or_default();
        Change {
            replace: self.replace.element(at),
            relevant: self.relevant.element(at),
            ..self.child(of(self.before, before), of(self.after, after))
        }
    }
    pub(super) fn sequences(&self) -> (&'a [Node], &'a [Node]) {
        let of = |node: Option<&'a Node>| node.and_then(Node::as_sequence).unwrap_or_default();
        (of(self.before), of(self.after))
    }
    /// Names of members before and after, in order.
    pub(super) fn names(&self) -> Vec<EcoString> {
        let of = |node: Option<&'a Node>| node.and_then(Node::as_members).unwrap_or_default();
        let (mut before, mut after) = (of(self.before).iter().peekable(), of(self.after).iter().peekable());
        let mut names = Vec::with_capacity(before.len().max(after.len()));
        loop {
            let name = match (before.peek(), after.peek()) {
                (Some((b, _)), Some((a, _))) => b.min(a).clone(),
                (Some((name, _)), None) | (None, Some((name, _))) => name.clone(),
                (None, None) => return names,
            };
            before.next_if(|(b, _)| *b == name);
            after.next_if(|(a, _)| *a == name);
            names.push(name);
        }
    }

    pub(super) fn diff(&self, step: Step, shape: Shape<'a>) -> Diff<'a> {
        Diff { step, replace: self.replace.end_here(), shape }
    }

    /// The replacement of a value that is sensitive or unknown, if it is one; `inner` is shown otherwise.
    pub(super) fn veiled(&self, described: Described, inner: impl Fn(&Change<'a>) -> Diff<'a>) -> Option<Diff<'a>> {
        let (before, after) = (self.sensitive_before(), self.sensitive_after());
        if before || after {
            let inner = inner(&Change { veiled: (true, true), ..self.clone() });
            let is_block = described == Described::Block;
            let was_or_is = self.is_there_before() || self.is_there_after();
            let step = match inner.step {
                Step::Keep if before != after && was_or_is => Step::Update,
                step => step,
            };
            return Some(self.diff(step, Shape::Sensitive { inner: Box::new(inner), before, after, is_block }));
        }
        if !self.is_unknown() {
            return None;
        }
        if self.nothing_before() {
            return Some(self.diff(Step::Create, Shape::Unknown { before: None }));
        }
        let unknown = match described {
            Described::Value => Unknown::AsIs,
            Described::Block | Described::NestedAttribute => Unknown::Attributes,
        };
        let before = Box::new(inner(&self.as_deleted(unknown)));
        Some(self.diff(Step::Update, Shape::Unknown { before: Some(before) }))
    }

    /// By the type.
    pub(crate) fn by_type(&self, ty: &Type) -> Diff<'a> {
        if let Some(diff) = self.veiled(Described::Value, |change| change.by_type(ty)) {
            return diff;
        }
        match ty.kind() {
            // Quirk: a value of a dynamic type is never marked as the reason for a replacement.
            TypeKind::Dynamic => Change { replace: Paths::none(), ..self.clone() }.by_look(),
            TypeKind::String => self.text_atom(),
            TypeKind::Number | TypeKind::Bool => self.atom(),
            TypeKind::List(element) => {
                let alike = |before: &Node, after: &Node| element.is_object() || share_a_line(before, after);
                self.list(alike, |child| Change { relevant: Paths::All, ..child }.by_type(element))
            }
            TypeKind::Set(element) => {
                let (step, items) = self.set(|child| child.by_type(element));
                self.diff(step, Shape::Set { items, described: Described::Value })
            }
            TypeKind::Tuple(elements) => {
                let mut step = self.step_of_whole();
                let items = elements.iter().enumerate().map(|(at, ty)| {
                    let item = self.element(Some(at), Some(at)).if_relevant().by_type(ty);
                    step = step.and(item.step);
                    item
                });
                let items = items.collect();
                self.diff(step, Shape::List { items, described: Described::Value })
            }
            TypeKind::Map(element) => {
                let (step, items) = self.mapping(|_, child| child.by_type(element));
                self.diff(step, Shape::Map { items, described: Described::Value })
            }
            TypeKind::Object(attrs) => {
                let attrs = attrs.iter().map(|attr| (&attr.name, &attr.ty));
                let (step, items) = self.attributes(attrs, |child, ty, _| child.by_type(ty));
                self.diff(step, Shape::Object { items, described: Described::Value })
            }
        }
    }

    /// By what the values look like.
    pub(crate) fn by_look(&self) -> Diff<'a> {
        if let Some(diff) = self.veiled(Described::Value, Change::by_look) {
            return diff;
        }
        let of = |node: Option<&Node>| node.map_or(Kind::Null, Node::kind);
        let (before, after) = (of(self.before), of(self.after));
        if before == after || !self.is_there_before() || !self.is_there_after() {
            return self.as_kind(if before == Kind::Null { after } else { before });
        }
        let (before, after) = (self.as_deleted(Unknown::AsIs).as_kind(before), self.as_created().as_kind(after));
        self.diff(Step::Update, Shape::Other { before: Box::new(before), after: Box::new(after) })
    }

    fn as_kind(&self, kind: Kind) -> Diff<'a> {
        match kind {
            Kind::Text => self.text_atom(),
            Kind::Null | Kind::Bool | Kind::Number => self.atom(),
            Kind::Sequence => {
                let is_object = |node: &Node| node.kind() == Kind::Members;
                let alike = |before: &Node, after: &Node| {
                    (is_object(before) && is_object(after)) || share_a_line(before, after)
                };
                self.list(alike, |child| child.by_look())
            }
            Kind::Members => {
                let (step, items) = self.mapping(|_, child| child.by_look());
                self.diff(step, Shape::Object { items, described: Described::Value })
            }
        }
    }

    fn atom(&self) -> Diff<'a> {
        self.diff(self.step(), Shape::Atom { before: self.before, after: self.after, is_text: false })
    }

    fn text_atom(&self) -> Diff<'a> {
        self.diff(self.step(), Shape::Atom { before: self.before, after: self.after, is_text: true })
    }

    fn list(&self, alike: impl Fn(&Node, &Node) -> bool, inner: impl Fn(Change<'a>) -> Diff<'a>) -> Diff<'a> {
        let (before, after) = self.sequences();
        let mut step = self.step_of_whole();
        let mut items = Vec::with_capacity(before.len().max(after.len()));
        let key = |node: &Node| {
            let mut key = String::new();
            node.fingerprint(&mut key);
            key
        };
        align(before, after, key, alike, |before, after| {
            let item = inner(self.element(before, after));
            step = step.and(item.step);
            items.push(item);
        });
        self.diff(step, Shape::List { items, described: Described::Value })
    }

    /// Elements that are the same in both, or are on one side only.
    pub(super) fn set_elements(&self) -> Vec<Change<'a>> {
        let (before, after) = self.sequences();
        let pairs = matches(before, after);
        let mut paired = vec![false; after.len()];
        pairs.iter().flatten().for_each(|at| paired[*at] = true);
        let old = pairs.iter().enumerate().map(|(at, pair)| self.element(Some(at), *pair));
        let new = (0..after.len()).filter(|at| !paired[*at]).map(|at| self.element(None, Some(at)));
        old.chain(new).map(|child| Change { relevant: Paths::All, ..child }).collect()
    }

    pub(super) fn set(&self, inner: impl Fn(&Change<'a>) -> Diff<'a>) -> (Step, Vec<Diff<'a>>) {
        let items: Vec<Diff<'a>> = self.set_elements().iter().map(inner).collect();
        let step = items.iter().fold(self.step_of_whole(), |step, item| step.and(item.step));
        (step, items)
    }

    pub(super) fn mapping(&self, inner: impl Fn(&str, &Change<'a>) -> Diff<'a>) -> (Step, Vec<(EcoString, Diff<'a>)>) {
        let mut step = self.step_of_whole();
        let items = self.names().into_iter().map(|name| {
            let item = inner(&name, &self.member(&name).if_relevant());
            step = step.and(item.step);
            (name, item)
        });
        let items = items.collect();
        (step, items)
    }

    /// Attributes that a type or schema lists. Those that are null before and after are skipped.
    pub(super) fn attributes<'s, T>(
        &self,
        attributes: impl Iterator<Item = (&'s EcoString, T)>,
        inner: impl Fn(&Change<'a>, T, Step) -> Diff<'a>,
    ) -> (Step, Vec<(EcoString, Diff<'a>)>) {
        let mut step = self.step_of_whole();
        let mut items = Vec::new();
        for (name, schema) in attributes {
            let child = Change { implicit: true, ..self.attribute(name) };
            let item = inner(&child, schema, step);
            if item.step == Step::Keep && child.is_nothing() {
                continue;
            }
            step = step.and(item.step);
            items.push((name.clone(), item));
        }
        (step, items)
    }

    /// One attribute of an object with a schema.
    pub(super) fn attribute(&self, name: &str) -> Change<'a> {
        let unknown = if self.unknown == Unknown::Attributes { Unknown::All } else { Unknown::AsIs };
        Change { unknown, ..self.member(name).if_relevant() }
    }
}
