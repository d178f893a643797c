//! `resource`, `data` and `ephemeral` blocks.

use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_addrs::{Feature, ResourceMode};
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Attribute, Block, Body, BodySchema, Content, Diagnostics, Expr, Span, Traversal};

use crate::check;
use crate::constant::Decoding;
use crate::depends_on;
use crate::diagnostics::blocks as diagnostics;
use crate::file::FileKind;
use crate::lifecycle;
use crate::provider::{self, ProviderRef};
use crate::provisioner::{self, Connection, Provisioner, ProvisionerWhen};
use crate::quoted::Syntax;
use crate::schema::schema;

pub use crate::lifecycle::{IgnoreChanges, Lifecycle, is_of_feature, trigger_problems};

/// Mode, type and name: unique in a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    /// Managed, data or ephemeral.
    pub mode: ResourceMode,
    /// The first label.
    pub kind: EcoString,
    /// The second label.
    pub name: EcoString,
}

/// Repetition argument of an object.
#[derive(Clone, Debug, Default)]
pub enum Repetition {
    /// One, without key.
    #[default]
    Single,
    /// `count`
    Count(Arc<Expr>),
    /// `for_each`
    ForEach(Arc<Expr>),
    /// `lifecycle.enabled`: none or one, without key.
    Enabled(Arc<Expr>),
}

/// A `resource`, `data` or `ephemeral` block.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its name.
    pub key: ResourceKey,
    /// Everything that is not a meta-argument: the provider's schema defines its meaning.
    pub body: Body,
    /// `count`, `for_each`, `lifecycle.enabled`.
    pub repetition: Repetition,
    /// `provider`
    pub provider: Option<ProviderRef>,
    /// `depends_on`
    pub depends_on: Vec<Traversal>,
    /// `lifecycle` and what else only managed resources have. Resources without the block share one.
    pub lifecycle: Arc<Lifecycle>,
    /// `connection`
    pub connection: Option<Connection>,
    /// `provisioner` blocks.
    pub provisioners: Vec<Provisioner>,
    /// The enclosing `check` block; references from elsewhere are errors.
    pub inside_check: Option<EcoString>,
    /// The block's header.
    pub span: Span,
    /// The first label.
    pub kind_span: Span,
}

impl From<&yuba_addrs::Resource> for ResourceKey {
    fn from(resource: &yuba_addrs::Resource) -> ResourceKey {
        ResourceKey { mode: resource.mode, kind: resource.kind.clone(), name: resource.name.clone() }
    }
}

impl From<&ResourceKey> for yuba_addrs::Resource {
    fn from(key: &ResourceKey) -> yuba_addrs::Resource {
        yuba_addrs::Resource { mode: key.mode, kind: key.kind.clone(), name: key.name.clone() }
    }
}

const META_ARGUMENTS: [&str; 4] = ["count", "for_each", "provider", "depends_on"];

static MANAGED: LazyLock<BodySchema> = LazyLock::new(|| {
    let blocks: [(&str, &[&str]); 5] =
        [("locals", &[]), ("lifecycle", &[]), ("connection", &[]), ("provisioner", &["type"]), ("_", &[])];
    schema(&[], &META_ARGUMENTS, &blocks)
});
static DATA: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[], &META_ARGUMENTS, &[("lifecycle", &[]), ("locals", &[]), ("_", &[])]));
/// Location of a resource block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockContext {
    /// In a file.
    Top,
    /// In an override file.
    Override,
    /// In a `check` block.
    Check,
}

impl BlockContext {
    pub(crate) fn file_kind(self) -> FileKind {
        match self {
            BlockContext::Override => FileKind::Override,
            BlockContext::Top | BlockContext::Check => FileKind::Primary,
        }
    }
}

/// Decodes a block with two labels.
pub(crate) fn decode(
    block: &Block,
    mode: ResourceMode,
    context: BlockContext,
    with: &Decoding<'_>,
) -> (Option<Resource>, Diagnostics) {
    let [(kind, kind_span), (name, name_span)] = block.labels.as_slice() else { return (None, Diagnostics::new()) };
    let words = Words::of(mode);
    let schema = if mode == ResourceMode::Data { &DATA } else { &MANAGED };
    let (content, body, mut problems) = block.body.partial_content(schema);
    if !is_identifier(kind) {
        problems.push(crate::diagnostics::invalid_name(words.kind, kind, *kind_span));
    }
    if !is_identifier(name) {
        problems.push(crate::diagnostics::invalid_name(words.name, name, *name_span));
    }
    let mut resource = Resource {
        key: ResourceKey { mode, kind: kind.clone(), name: name.clone() },
        body,
        repetition: Repetition::Single,
        provider: None,
        depends_on: Vec::new(),
        lifecycle: Lifecycle::absent(),
        connection: None,
        provisioners: Vec::new(),
        inside_check: None,
        span: block.header_span,
        kind_span: *kind_span,
    };
    let mut repetition = RepetitionArguments::default();
    for (argument, slot) in [("count", &mut repetition.count), ("for_each", &mut repetition.for_each)] {
        match content.attribute(argument) {
            Some(found) if context == BlockContext::Check => {
                problems.push(diagnostics::nested_data_argument(argument, found.name_span));
            }
            found => *slot = found.cloned(),
        }
    }
    if let Some(attribute) = content.attribute("provider") {
        let (reference, found) = provider::decode_ref(&attribute.expr, "provider", Syntax::of(&block.body));
        problems.extend(found);
        resource.provider = reference;
    }
    if let Some(attribute) = content.attribute("depends_on") {
        let (references, found) = depends_on::decode(&attribute.expr);
        problems.extend(found);
        resource.depends_on = references;
    }
    let mut decoder = Decoder { resource, repetition, context, words, with, problems };
    decoder.blocks(&content);
    let Decoder { mut resource, repetition, mut problems, .. } = decoder;
    resource.repetition = repetition.decide(words.things, &mut problems);
    if let Some(connection) = &resource.connection
        && resource.provisioners.iter().any(|provisioner| provisioner.when == ProvisionerWhen::Destroy)
    {
        provisioner::only_self(&connection.body, &mut problems);
    }
    (Some(resource), problems)
}

/// Words of messages that depend on the mode.
#[derive(Clone, Copy)]
struct Words {
    /// The type, in "Invalid ... name".
    kind: &'static str,
    /// The object, in "Invalid ... name".
    name: &'static str,
    /// The block, in "... block".
    block: &'static str,
    /// The objects whose number `count` and its kin set.
    things: &'static str,
}

impl Words {
    fn of(mode: ResourceMode) -> Words {
        match mode {
            ResourceMode::Managed => {
                Words { kind: "resource type", name: "resource", block: "resource", things: "resources" }
            }
            ResourceMode::Data => {
                Words { kind: "data source", name: "data resource", block: "data", things: "data sources" }
            }
            ResourceMode::Ephemeral => Words {
                kind: "ephemeral resource type",
                name: "ephemeral resource",
                block: "ephemeral",
                things: "ephemeral resources",
            },
        }
    }
}

/// The three ways to say how many instances there are, each where it was given.
#[derive(Default)]
pub(crate) struct RepetitionArguments {
    pub(crate) count: Option<Attribute>,
    pub(crate) for_each: Option<Attribute>,
    pub(crate) enabled: Option<Attribute>,
}

impl RepetitionArguments {
    /// The given one; several are an error.
    pub(crate) fn decide(self, things: &str, problems: &mut Diagnostics) -> Repetition {
        let given: Vec<&Attribute> = [&self.count, &self.enabled, &self.for_each].into_iter().flatten().collect();
        let names = match given.as_slice() {
            [a, b] => Some(ecow::eco_format!("\"{}\" and \"{}\"", a.name, b.name)),
            [a, b, c] => Some(ecow::eco_format!("\"{}\", \"{}\", and \"{}\"", a.name, b.name, c.name)),
            _ => None,
        };
        if let (Some(names), Some(all)) = (names, given.iter().map(|a| a.name_span).reduce(Span::to)) {
            problems.push(diagnostics::repetition_combined(&names, things, all));
        }
        match (self.count, self.for_each, self.enabled) {
            (Some(count), ..) => Repetition::Count(count.expr),
            (_, Some(for_each), _) => Repetition::ForEach(for_each.expr),
            (_, _, Some(enabled)) => Repetition::Enabled(enabled.expr),
            _ => Repetition::Single,
        }
    }
}

/// A resource whose blocks are being read.
struct Decoder<'a> {
    resource: Resource,
    repetition: RepetitionArguments,
    context: BlockContext,
    words: Words,
    with: &'a Decoding<'a>,
    problems: Diagnostics,
}

impl Decoder<'_> {
    fn blocks(&mut self, content: &Content) {
        let (mut lifecycle, mut connection, mut escape) = (None, None, None);
        for block in &content.blocks {
            let at = block.header_span;
            match (block.kind.as_str(), self.resource.key.mode) {
                ("lifecycle", _) => {
                    if self.context == BlockContext::Check {
                        self.problems.push(diagnostics::nested_data_lifecycle(at));
                    }
                    if self.is_first("lifecycle", &mut lifecycle, at) {
                        self.lifecycle(block);
                    }
                }
                ("connection" | "provisioner", ResourceMode::Ephemeral) => {
                    self.problems.push(diagnostics::ephemeral_block(&block.kind, at));
                }
                ("connection", _) => {
                    if self.is_first("connection", &mut connection, at) {
                        self.resource.connection = Some(Connection { body: block.body.clone(), span: at });
                    }
                }
                ("provisioner", _) => {
                    let (provisioner, found) = provisioner::decode(block, self.with);
                    self.problems.extend(found);
                    self.resource.provisioners.extend(provisioner);
                }
                ("_", _) => match escape {
                    Some(first) => {
                        let first = self.with.location(first);
                        let specific = "those of the resource type";
                        self.problems.push(diagnostics::duplicate_escape(self.words.block, specific, &first, at));
                    }
                    None => {
                        escape = Some(at);
                        self.resource.body = Body::merged(vec![self.resource.body.clone(), block.body.clone()]);
                    }
                },
                _ => self.problems.push(diagnostics::reserved_block(&block.kind, self.words.block, block.kind_span)),
            }
        }
    }

    /// Reports an error if such a block came before. Returns whether this is the first.
    fn is_first(&mut self, kind: &str, seen: &mut Option<Span>, at: Span) -> bool {
        match *seen {
            Some(first) => {
                let first = self.with.location(first);
                self.problems.push(diagnostics::duplicate_block(kind, self.words.block, &first, at));
                false
            }
            None => {
                *seen = Some(at);
                true
            }
        }
    }

    fn lifecycle(&mut self, block: &Block) {
        let (content, found) = block.body.content(&lifecycle::SCHEMA);
        self.problems.extend(found);
        self.repetition.enabled = content.attribute("enabled").cloned();
        match self.resource.key.mode {
            ResourceMode::Managed => {
                let syntax = Syntax::of(&block.body);
                self.resource.lifecycle = Arc::new(Lifecycle::decode(&content, self.with, syntax, &mut self.problems));
            }
            ResourceMode::Data => {
                for attribute in content.attributes.iter().filter(|a| a.name != "enabled") {
                    self.problems.push(diagnostics::data_lifecycle(&attribute.name, attribute.name_span));
                }
            }
            ResourceMode::Ephemeral => {
                for name in lifecycle::names().filter(|name| content.attribute(name).is_some()) {
                    self.problems.push(diagnostics::ephemeral_lifecycle(name, block.header_span));
                }
            }
        }
        for rule_block in &content.blocks {
            let (rule, found) = check::decode_rule(rule_block, self.context.file_kind());
            self.problems.extend(found);
            check::forbid_own_resource(&rule, &rule_block.kind, &self.resource.key, &mut self.problems);
            let lifecycle = Arc::make_mut(&mut self.resource.lifecycle);
            match rule_block.kind.as_str() {
                "precondition" => lifecycle.preconditions.push(rule),
                _ => lifecycle.postconditions.push(rule),
            }
        }
    }
}

/// Whether the type of a resource is the first name of an opt-in feature.
pub fn is_of_feature_type(key: &ResourceKey) -> bool {
    key.mode == ResourceMode::Managed && Feature::from_root_word(&key.kind).is_some()
}

#[cfg(test)]
mod tests;
