//! Substitutes: `mock_provider`, `override_resource`, `override_data` and `override_module` blocks.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use ecow::{EcoString, eco_format};
use yuba_addrs::{ConfigResource, ModulePath, ResourceMode};
use yuba_syntax::{Attribute, Block, Body, BodySchema, Diagnostics, Expr, Span};
use yuba_value::Value;

use crate::constant::{ConstantEvaluator, Decoding};
use crate::diagnostics::tests as diagnostics;
use crate::provider::{self, ProviderKey};
use crate::schema::schema;

/// An `override_resource` or `override_data` block.
#[derive(Clone, Debug)]
pub struct OverrideResource {
    /// Whether it is the one or the other. The target may be of another mode: then it has no effect.
    pub mode: ResourceMode,
    /// Replaced object.
    pub target: ConfigResource,
    /// Location of its address.
    pub target_span: Span,
    /// `values`: an object.
    pub values: Option<ObjectArgument>,
}

/// An `override_module` block.
#[derive(Clone, Debug)]
pub struct OverrideModule {
    /// Replaced object.
    pub target: ModulePath,
    /// Location of its address.
    pub target_span: Span,
    /// `outputs`: an object.
    pub outputs: Option<ObjectArgument>,
}

/// A `mock_provider` block.
#[derive(Clone, Debug)]
pub struct MockProvider {
    /// Its local name.
    pub key: ProviderKey,
    /// Location of the alias.
    pub alias_span: Option<Span>,
    /// `for_each`
    pub for_each: Option<Arc<Expr>>,
    /// `mock_resource` and `mock_data` blocks.
    pub resources: Vec<MockResource>,
    /// `override_resource` and `override_data` blocks.
    pub override_resources: Vec<OverrideResource>,
    /// `source`: a directory with more of both, in files.
    pub source: Option<(EcoString, Span)>,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub name_span: Span,
}

/// Content of a file of mocks for a `mock_provider` block.
#[derive(Clone, Debug, Default)]
pub struct Mocks {
    /// `mock_resource` and `mock_data` blocks.
    pub resources: Vec<MockResource>,
    /// `override_resource` and `override_data` blocks.
    pub override_resources: Vec<OverrideResource>,
}

/// Extensions of the names of files of mocks.
pub const MOCK_SUFFIXES: [&str; 4] = [".tfmock.hcl", ".tofumock.hcl", ".tfmock.json", ".tofumock.json"];

/// A `mock_resource` or `mock_data` block.
#[derive(Clone, Debug)]
pub struct MockResource {
    /// Managed or data.
    pub mode: ResourceMode,
    /// The label.
    pub kind: EcoString,
    /// `defaults`: an object.
    pub defaults: Option<ObjectArgument>,
}

/// An argument that must be an object.
#[derive(Clone, Debug)]
pub enum ObjectArgument {
    /// It is a constant.
    Known(Value),
    /// It refers to `each` or to a symbol library.
    Later {
        /// The name of the argument.
        name: EcoString,
        /// The expression.
        expr: Arc<Expr>,
        /// All of the argument.
        span: Span,
    },
}

impl ObjectArgument {
    /// The object, unevaluated: only `eval` resolves its references. None where the argument has errors.
    pub fn value(&self, constants: &dyn ConstantEvaluator, problems: &mut Diagnostics) -> Option<Value> {
        let (name, expr, span) = match self {
            ObjectArgument::Known(value) => return Some(value.clone()),
            ObjectArgument::Later { name, expr, span } => (name, expr, *span),
        };
        let (value, found) = constants.value(expr);
        let failed = found.has_errors();
        problems.extend(found);
        let is_unknown = value.ty().is_dynamic() && !value.is_null();
        if failed || is_unknown {
            return None;
        }
        if value.ty().attrs().is_none() || value.is_null() {
            problems.push(diagnostics::object_expected(name, span));
            return None;
        }
        Some(value)
    }
    /// Whether it differs between the instances of its block.
    pub fn is_of_instance(&self) -> bool {
        match self {
            ObjectArgument::Known(_) => false,
            ObjectArgument::Later { expr, .. } => refers_to_each(expr),
        }
    }
}

fn refers_to_each(expr: &Expr) -> bool {
    expr.variables().iter().any(|traversal| traversal.root == "each")
}

/// Whether a block is part of a `mock_provider` block, whose instances it can refer to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    MockProvider,
    Else,
}

static OVERRIDE_RESOURCE: LazyLock<BodySchema> = LazyLock::new(|| schema(&["target"], &["values"], &[]));
static OVERRIDE_MODULE: LazyLock<BodySchema> = LazyLock::new(|| schema(&["target"], &["outputs"], &[]));
static MOCK_RESOURCE: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["defaults"], &[]));
static MOCK_PROVIDER: LazyLock<BodySchema> = LazyLock::new(|| {
    let blocks: [(&str, &[&str]); 4] =
        [("mock_resource", &["type"]), ("mock_data", &["type"]), ("override_resource", &[]), ("override_data", &[])];
    schema(&[], &["alias", "for_each", "source"], &blocks)
});
static MOCKS: LazyLock<BodySchema> = LazyLock::new(|| {
    let blocks: [(&str, &[&str]); 4] =
        [("mock_resource", &["type"]), ("mock_data", &["type"]), ("override_resource", &[]), ("override_data", &[])];
    schema(&[], &[], &blocks)
});

/// The mode in the name of a block type, which is after the underscore.
fn mode_of(block_type: &str) -> ResourceMode {
    if block_type.ends_with("_data") { ResourceMode::Data } else { ResourceMode::Managed }
}

/// Decodes a block without labels; none where something is wrong.
pub(super) fn decode_resource(
    block: &Block,
    within: Within,
    with: &Decoding<'_>,
    problems: &mut Diagnostics,
) -> Option<OverrideResource> {
    let (content, mut found) = block.body.content(&OVERRIDE_RESOURCE);
    let mut target = None;
    if let Some(attribute) = content.attribute("target") {
        match attribute.expr.to_traversal().and_then(|t| Ok((ConfigResource::parse(&t)?, t.span))) {
            Ok(address) => target = Some(address),
            Err(more) => found.extend(more),
        }
    }
    let values = object(content.attribute("values"), within, with, &mut found);
    let failed = found.has_errors();
    problems.extend(found);
    let (target, target_span) = target.filter(|_| !failed)?;
    Some(OverrideResource { mode: mode_of(&block.kind), target, target_span, values })
}

/// Decodes a block without labels; none where something is wrong.
pub(super) fn decode_module(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<OverrideModule> {
    let (content, mut found) = block.body.content(&OVERRIDE_MODULE);
    let mut target = None;
    if let Some(attribute) = content.attribute("target") {
        match attribute.expr.to_traversal().and_then(|t| Ok((ModulePath::parse(&t)?, t.span))) {
            Ok(address) => target = Some(address),
            Err(more) => found.extend(more),
        }
    }
    let outputs = object(content.attribute("outputs"), Within::Else, with, &mut found);
    let failed = found.has_errors();
    problems.extend(found);
    let (target, target_span) = target.filter(|_| !failed)?;
    Some(OverrideModule { target, target_span, outputs })
}

/// Decodes a block with one label; none where something is wrong.
pub(super) fn decode_provider(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<MockProvider> {
    let [(name, name_span)] = block.labels.as_slice() else { return None };
    let (content, mut found) = block.body.content(&MOCK_PROVIDER);
    if !provider::check_local_name(name, block.header_span, &mut found) {
        problems.extend(found);
        return None;
    }
    let alias = content.attribute("alias");
    let alias_span = alias.map(|alias| alias.expr.span);
    let mut mock = MockProvider {
        key: ProviderKey {
            name: name.clone(),
            alias: alias.and_then(|a| provider::decode_alias(a, "mock provider", alias_span, with, &mut found)),
        },
        alias_span,
        for_each: content.attribute("for_each").map(|attribute| attribute.expr.clone()),
        resources: Vec::new(),
        override_resources: Vec::new(),
        source: content
            .attribute("source")
            .and_then(|source| Some((with.string(&source.expr, &mut found)?, source.expr.span))),
        span: block.header_span,
        name_span: *name_span,
    };
    provider::check_for_each(mock.for_each.as_deref(), &mock.key, &mut found);
    for inner in &content.blocks {
        if inner.kind.starts_with("override_") {
            mock.override_resources.extend(decode_resource(inner, Within::MockProvider, with, &mut found));
        } else {
            mock.resources.extend(decode_mock_resource(inner, with, &mut found));
        }
    }
    let mut seen = BTreeSet::new();
    for resource in &mock.resources {
        if !seen.insert((resource.mode, &resource.kind)) {
            let kind = if resource.mode == ResourceMode::Data { "mock_data" } else { "mock_resource" };
            found.push(diagnostics::duplicate_mock(kind, &resource.kind, mock.span));
        }
    }
    let mut seen = BTreeSet::new();
    for resource in &mock.override_resources {
        if !seen.insert(&resource.target) {
            let target = eco_format!("{}", resource.target);
            found.push(diagnostics::duplicate_override(override_type(resource.mode), &target, mock.span));
        }
    }
    let failed = found.has_errors();
    problems.extend(found);
    Some(mock).filter(|_| !failed)
}

/// Decodes the content of a file of mocks.
pub fn decode_mocks(body: &Body, with: &Decoding<'_>) -> (Mocks, Diagnostics) {
    let (content, mut problems) = body.content(&MOCKS);
    let mut mocks = Mocks::default();
    for inner in &content.blocks {
        if inner.kind.starts_with("override_") {
            mocks.override_resources.extend(decode_resource(inner, Within::MockProvider, with, &mut problems));
        } else {
            mocks.resources.extend(decode_mock_resource(inner, with, &mut problems));
        }
    }
    (mocks, problems)
}

impl MockProvider {
    /// The objects that its blocks give.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectArgument> {
        let defaults = self.resources.iter().filter_map(|resource| resource.defaults.as_ref());
        defaults.chain(self.override_resources.iter().filter_map(|resource| resource.values.as_ref()))
    }

    /// Adds what a file has, except for what the block, or a file before, says something about.
    pub fn add(&mut self, mocks: Mocks) {
        for new in mocks.resources {
            if !self.resources.iter().any(|known| known.mode == new.mode && known.kind == new.kind) {
                self.resources.push(new);
            }
        }
        for new in mocks.override_resources {
            if !self.override_resources.iter().any(|known| known.target == new.target) {
                self.override_resources.push(new);
            }
        }
    }
}

fn decode_mock_resource(block: &Block, with: &Decoding<'_>, problems: &mut Diagnostics) -> Option<MockResource> {
    let [(kind, _)] = block.labels.as_slice() else { return None };
    let (content, mut found) = block.body.content(&MOCK_RESOURCE);
    let defaults = object(content.attribute("defaults"), Within::MockProvider, with, &mut found);
    let failed = found.has_errors();
    problems.extend(found);
    Some(MockResource { mode: mode_of(&block.kind), kind: kind.clone(), defaults }).filter(|_| !failed)
}

/// The value of an argument that is an object.
fn object(
    attribute: Option<&Attribute>,
    within: Within,
    with: &Decoding<'_>,
    problems: &mut Diagnostics,
) -> Option<ObjectArgument> {
    let Attribute { name, expr, span, .. } = attribute?;
    if with.needs_symbols(expr) || within == Within::MockProvider && refers_to_each(expr) {
        return Some(ObjectArgument::Later { name: name.clone(), expr: expr.clone(), span: *span });
    }
    let value = with.value(expr, problems)?;
    if value.ty().attrs().is_none() {
        problems.push(diagnostics::object_expected(name, *span));
        return None;
    }
    Some(ObjectArgument::Known(value))
}

fn override_type(mode: ResourceMode) -> &'static str {
    if mode == ResourceMode::Data { "override_data" } else { "override_resource" }
}

/// Each object is replaced by one block.
pub(super) fn duplicates(resources: &[OverrideResource], modules: &[OverrideModule]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut seen = BTreeSet::new();
    for resource in resources {
        if !seen.insert(&resource.target) {
            let (kind, target) = (override_type(resource.mode), eco_format!("{}", resource.target));
            problems.push(diagnostics::duplicate_override(kind, &target, resource.target_span));
        }
    }
    let mut seen = BTreeSet::new();
    for module in modules {
        if !seen.insert(&module.target) {
            let target = eco_format!("{}", module.target);
            problems.push(diagnostics::duplicate_override("override_module", &target, module.target_span));
        }
    }
    problems
}
