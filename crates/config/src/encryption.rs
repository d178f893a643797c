//! The content of the `encryption` block. Keys and methods are interpreted where state is encrypted.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_syntax::{Block, Body, BodySchema, Content, Diagnostics, Expr, Span};

use crate::constant::Decoding;
use crate::diagnostics;
use crate::schema::schema;

/// The `encryption` block.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// `key_provider` blocks.
    pub key_providers: Vec<KeyProvider>,
    /// `method` blocks.
    pub methods: Vec<Method>,
    /// The `state` block.
    pub state: Option<EncryptionTarget>,
    /// The `plan` block.
    pub plan: Option<EncryptionTarget>,
    /// `remote_state_data_sources.default`
    pub remote_default: Option<EncryptionTarget>,
    /// `remote_state_data_sources.remote_state_data_source` blocks, by label.
    pub remote: Vec<(EcoString, EncryptionTarget)>,
    /// The block's header.
    pub span: Span,
}

/// A `key_provider` block.
#[derive(Clone, Debug)]
pub struct KeyProvider {
    /// The first label.
    pub kind: EcoString,
    /// The second label.
    pub name: EcoString,
    /// `encrypted_metadata_alias`
    pub metadata_alias: Option<EcoString>,
    /// Everything else.
    pub body: Body,
    /// The block's header.
    pub span: Span,
}

/// A `method` block.
#[derive(Clone, Debug)]
pub struct Method {
    /// The first label.
    pub kind: EcoString,
    /// The second label.
    pub name: EcoString,
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
}

/// Method of encryption.
#[derive(Clone, Debug)]
pub struct EncryptionTarget {
    /// Unencrypted data is refused.
    pub enforced: bool,
    /// `method`: a reference.
    pub method: Option<Arc<Expr>>,
    /// The method for data that `method` cannot read; may have one itself.
    pub fallback: Option<Box<EncryptionTarget>>,
    /// The block's header.
    pub span: Span,
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    schema(
        &[],
        &[],
        &[
            ("key_provider", &["type", "name"]),
            ("method", &["type", "name"]),
            ("state", &[]),
            ("plan", &[]),
            ("remote_state_data_sources", &[]),
        ],
    )
});
static KEY_PROVIDER: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["encrypted_metadata_alias"], &[]));
static TARGET: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["method"], &[("fallback", &[])]));
static ENFORCEABLE: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["enforced", "method"], &[("fallback", &[])]));
static REMOTE: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[], &[], &[("default", &[]), ("remote_state_data_source", &["name"])]));

/// Fallbacks of fallbacks are read no deeper than this.
const MAX_FALLBACKS: usize = 100;

/// Decodes an `encryption` block; none if it cannot be used.
pub(crate) fn decode(block: &Block, decoding: &Decoding<'_>) -> (Option<Encryption>, Diagnostics) {
    decode_body(&block.body, block.header_span, decoding)
}

/// Decodes what is in an `encryption` block, wherever it comes from; none if it cannot be used.
pub fn decode_body(body: &Body, span: Span, decoding: &Decoding<'_>) -> (Option<Encryption>, Diagnostics) {
    let (content, mut diagnostics) = body.content(&SCHEMA);
    let mut key_providers = Vec::new();
    for nested in content.blocks_of("key_provider") {
        let (inner, body, problems) = nested.body.partial_content(&KEY_PROVIDER);
        diagnostics.extend(problems);
        let alias = inner.attribute("encrypted_metadata_alias");
        let metadata_alias = alias.and_then(|alias| decoding.string(&alias.expr, &mut diagnostics));
        let (kind, name) = two_labels(nested);
        key_providers.push(KeyProvider { kind, name, metadata_alias, body, span: nested.header_span });
    }
    let mut methods = Vec::new();
    for nested in content.blocks_of("method") {
        let (kind, name) = two_labels(nested);
        methods.push(Method { kind, name, body: nested.body.clone(), span: nested.header_span });
    }
    let state = single(&content, "state", decoding, &mut diagnostics);
    let state = state.and_then(|block| target(block, &ENFORCEABLE, decoding, 0, &mut diagnostics));
    let plan = single(&content, "plan", decoding, &mut diagnostics);
    let plan = plan.and_then(|block| target(block, &ENFORCEABLE, decoding, 0, &mut diagnostics));
    let (mut remote_default, mut remote) = (None, Vec::new());
    if let Some(nested) = single(&content, "remote_state_data_sources", decoding, &mut diagnostics) {
        let (inner, problems) = nested.body.content(&REMOTE);
        diagnostics.extend(problems);
        let default = single(&inner, "default", decoding, &mut diagnostics);
        remote_default = default.and_then(|block| target(block, &TARGET, decoding, 0, &mut diagnostics));
        for source in inner.blocks_of("remote_state_data_source") {
            let (name, _) = source.labels.first().cloned().unwrap_or_default();
            remote.extend(target(source, &TARGET, decoding, 0, &mut diagnostics).map(|target| (name, target)));
        }
    }
    if !diagnostics.has_errors() {
        let keys = key_providers.iter().map(|key| (key.kind.as_str(), key.name.as_str()));
        check_unique(keys.clone(), "key_provider", span, &mut diagnostics);
        check_names(keys, "key provider", &mut diagnostics);
        let methods = methods.iter().map(|method| (method.kind.as_str(), method.name.as_str()));
        check_unique(methods.clone(), "method", span, &mut diagnostics);
        check_names(methods, "encryption method", &mut diagnostics);
        let sources = remote.iter().map(|(name, _)| (name.as_str(), ""));
        check_unique(sources, "remote_data_source", span, &mut diagnostics);
    }
    let encryption = Encryption { key_providers, methods, state, plan, remote_default, remote, span };
    ((!diagnostics.has_errors()).then_some(encryption), diagnostics)
}

fn two_labels(block: &Block) -> (EcoString, EcoString) {
    let label = |at: usize| block.labels.get(at).map(|(label, _)| label.clone()).unwrap_or_default();
    (label(0), label(1))
}

/// The block of a type of which there may be one.
fn single<'c>(
    content: &'c Content,
    kind: &'static str,
    decoding: &Decoding<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<&'c Block> {
    let mut blocks = content.blocks_of(kind);
    let first = blocks.next()?;
    if let Some(second) = blocks.next() {
        let location = decoding.location(first.header_span);
        diagnostics.push(diagnostics::duplicate_block(kind, &location, second.header_span));
        return None;
    }
    Some(first)
}

fn target(
    block: &Block,
    schema: &BodySchema,
    decoding: &Decoding<'_>,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Option<EncryptionTarget> {
    let (content, problems) = block.body.content(schema);
    diagnostics.extend(problems);
    let enforced = content.attribute("enforced").and_then(|enforced| decoding.bool(&enforced.expr, diagnostics));
    let fallback = single(&content, "fallback", decoding, diagnostics).filter(|_| depth < MAX_FALLBACKS);
    let fallback = fallback.and_then(|fallback| target(fallback, &TARGET, decoding, depth + 1, diagnostics));
    Some(EncryptionTarget {
        enforced: enforced.unwrap_or_default(),
        method: content.attribute("method").map(|method| method.expr.clone()),
        fallback: fallback.map(Box::new),
        span: block.header_span,
    })
}

/// Quirk: every one of several equal blocks is reported, all at the `encryption` block.
fn check_unique<'n>(
    names: impl Iterator<Item = (&'n str, &'n str)>,
    kind: &str,
    at: Span,
    diagnostics: &mut Diagnostics,
) {
    let names: Vec<(&str, &str)> = names.collect();
    let mut seen = HashSet::new();
    let repeated: HashSet<_> = names.iter().filter(|name| !seen.insert(**name)).collect();
    for (first, second) in names.iter().filter(|name| repeated.contains(name)) {
        diagnostics.push(diagnostics::duplicate_encryption(kind, first, second, at));
    }
}

/// Quirk: the messages have no location.
fn check_names<'n>(names: impl Iterator<Item = (&'n str, &'n str)>, what: &str, diagnostics: &mut Diagnostics) {
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    for (kind, name) in names {
        for (part, text) in [("type", kind), ("name", name)] {
            if !is_name(text) {
                diagnostics.push(diagnostics::invalid_encryption_name(what, part, text));
            }
        }
    }
}

impl Encryption {
    /// This configuration with what another one, such as that of an override file, changes.
    pub fn overridden_by(&mut self, other: Encryption) {
        for key in other.key_providers {
            match self.key_providers.iter_mut().find(|old| old.kind == key.kind && old.name == key.name) {
                Some(old) => old.body = old.body.clone().overridden_by(key.body),
                None => self.key_providers.push(key),
            }
        }
        for method in other.methods {
            match self.methods.iter_mut().find(|old| old.kind == method.kind && old.name == method.name) {
                Some(old) => old.body = old.body.clone().overridden_by(method.body),
                None => self.methods.push(method),
            }
        }
        override_target(&mut self.state, other.state);
        override_target(&mut self.plan, other.plan);
        override_target(&mut self.remote_default, other.remote_default);
        for (name, target) in other.remote {
            match self.remote.iter_mut().find(|(old, _)| *old == name) {
                Some((_, old)) => old.overridden_by(target),
                None => self.remote.push((name, target)),
            }
        }
    }
}

fn override_target(target: &mut Option<EncryptionTarget>, other: Option<EncryptionTarget>) {
    match (target, other) {
        (Some(target), Some(other)) => target.overridden_by(other),
        (target @ None, other) => *target = other,
        (Some(_), None) => {}
    }
}

impl EncryptionTarget {
    fn overridden_by(&mut self, other: EncryptionTarget) {
        self.enforced |= other.enforced;
        self.method = other.method.or(self.method.take());
        self.fallback = other.fallback.or(self.fallback.take());
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_each;

    #[test]
    fn parts_of_encryption() {
        check_each(
            "main.tf",
            "terraform {\n*\n}",
            &[
                ("encryption {}\n encryption {}", "3:2 Duplicate encryption configuration"),
                ("encryption {\n foo=1\n}", "3:2 Unsupported argument"),
                ("encryption {\n key_provider \"a\" {}\n}", "3:19 Missing name for key_provider"),
                (
                    "encryption {\n key_provider \"pbkdf2\" \"a\" {}\n key_provider \"pbkdf2\" \"a\" {}\n}",
                    "2:1 Duplicate key_provider; 2:1 Duplicate key_provider",
                ),
                (
                    "encryption {\n method \"a\" \"b\" {}\n method \"a\" \"b\" {}\n method \"a\" \"c\" {}\n}",
                    "2:1 Duplicate method; 2:1 Duplicate method",
                ),
                ("encryption {\n state {}\n state {}\n}", "4:2 Duplicate state block"),
                ("encryption {\n state {\n enforced=\"x\"\n}\n}", "4:12 Unsuitable value type"),
                ("encryption {\n state {\n foo=1\n}\n}", "4:2 Unsupported argument"),
                ("encryption {\n state {\n fallback {\n fallback {\n foo=1\n}\n}\n}\n}", "6:2 Unsupported argument"),
                (
                    "encryption {\n remote_state_data_sources {\n remote_state_data_source \"a\" {}\n remote_state_data_source \"a\" {}\n}\n}",
                    "2:1 Duplicate remote_data_source; 2:1 Duplicate remote_data_source",
                ),
                (
                    "encryption {\n remote_state_data_sources {\n default {\n enforced=true\n}\n}\n}",
                    "5:2 Unsupported argument",
                ),
                (
                    "encryption {\n key_provider \"a\" \"b\" {\n encrypted_metadata_alias=[]\n}\n}",
                    "4:27 Unsuitable value type",
                ),
                (
                    "encryption {\n key_provider \"a b\" \"c\" {}\n method \"x y\" \"1\" {}\n}",
                    "- The provided key provider type is invalid; - The provided encryption method type is invalid",
                ),
                (
                    "encryption {\n key_provider \"a\" \"b\" {\n encrypted_metadata_alias=foo\n}\n}",
                    "4:27 Variables not allowed",
                ),
                ("encryption {\n state {\n fallback {}\n fallback {}\n}\n}", "5:2 Duplicate fallback block"),
            ],
        );
    }
}
