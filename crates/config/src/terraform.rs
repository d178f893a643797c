//! The `terraform` block: versions, required providers, backend, encryption.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ecow::EcoString;
use yuba_addrs::{Feature, ProviderSource};
use yuba_syntax::{Block, Body, BodySchema, Diagnostics, Span};

use crate::constant::Decoding;
use crate::encryption::{self, Encryption};
use crate::language::{self, AskedIn};
use crate::provider::{ProviderKey, check_local_name};
use crate::required_providers;
use crate::schema::schema;

/// A constraint on the version of the language.
#[derive(Clone, Debug)]
pub struct CoreVersion {
    /// The constraint as written.
    pub text: EcoString,
    /// Its location.
    pub span: Span,
}

/// `required_providers`
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// By local name.
    pub providers: BTreeMap<EcoString, RequiredProvider>,
    /// The block's header.
    pub span: Option<Span>,
}

impl Requirements {
    /// The item of `configuration_aliases` that asks for a configuration of this name.
    pub fn alias(&self, key: &ProviderKey) -> Option<&ConfigurationAlias> {
        self.providers.get(&key.name)?.aliases.iter().find(|alias| alias.key == *key)
    }
}

/// One entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The local name.
    pub name: EcoString,
    /// `source` as written.
    pub source: Option<EcoString>,
    /// The provider: from `source`, else implied by the name.
    pub provider: ProviderSource,
    /// The version constraint as written.
    pub version: Option<(EcoString, Span)>,
    /// `configuration_aliases`
    pub aliases: Vec<ConfigurationAlias>,
    /// Its location.
    pub span: Span,
}

/// One item of `configuration_aliases`: a configuration that the caller must pass.
#[derive(Clone, Debug)]
pub struct ConfigurationAlias {
    /// Its local name in this module.
    pub key: ProviderKey,
    /// `aws.by_region[*]`: all instances of a configuration (feature `provider_collections`).
    pub all_instances: bool,
    /// Its location.
    pub span: Span,
}

/// The `backend` block.
#[derive(Clone, Debug)]
pub struct Backend {
    /// The label.
    pub kind: EcoString,
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub kind_span: Span,
}

/// The `cloud` block.
#[derive(Clone, Debug)]
pub struct Cloud {
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
}

/// A `provider_meta` block.
#[derive(Clone, Debug)]
pub struct ProviderMeta {
    /// The local name of the provider.
    pub provider: EcoString,
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
}

/// Content of the `terraform` blocks of one file.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) backends: Vec<Backend>,
    pub(crate) clouds: Vec<Cloud>,
    pub(crate) requirements: Vec<Requirements>,
    pub(crate) provider_metas: Vec<ProviderMeta>,
    pub(crate) encryptions: Vec<Encryption>,
    pub(crate) experiments: Vec<(Feature, Span)>,
}

/// `required_version` was checked before. `language` is for another tool and is ignored.
static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    schema(
        &[],
        &["required_version", "experiments", "language"],
        &[
            ("backend", &["type"]),
            ("cloud", &[]),
            ("required_providers", &[]),
            ("provider_meta", &["provider"]),
            ("encryption", &[]),
        ],
    )
});

/// Decodes a `terraform` block into what was found in the file so far.
pub(crate) fn decode(block: &Block, decoding: &Decoding<'_>, settings: &mut Settings) -> Diagnostics {
    let (content, mut diagnostics) = block.body.content(&SCHEMA);
    if let Some(attribute) = content.attribute("experiments") {
        settings.experiments.extend(language::experiments(&attribute.expr, AskedIn::Terraform, &mut diagnostics));
    }
    for nested in content.blocks {
        let span = nested.header_span;
        match nested.kind.as_str() {
            "backend" => {
                let (kind, kind_span) = nested.labels.into_iter().next().unwrap_or_default();
                settings.backends.push(Backend { kind, body: nested.body, span, kind_span });
            }
            "cloud" => settings.clouds.push(Cloud { body: nested.body, span }),
            "required_providers" => {
                settings.requirements.push(required_providers::decode(&nested, decoding, &mut diagnostics));
            }
            "provider_meta" => {
                settings.provider_metas.extend(decode_provider_meta(nested, decoding, &mut diagnostics));
            }
            _ => {
                let (encryption, problems) = encryption::decode(&nested, decoding);
                diagnostics.extend(problems);
                settings.encryptions.extend(encryption);
            }
        }
    }
    diagnostics
}

fn decode_provider_meta(block: Block, decoding: &Decoding<'_>, diagnostics: &mut Diagnostics) -> Option<ProviderMeta> {
    let (attributes, mut problems) = block.body.just_attributes();
    if !problems.has_errors() {
        for attribute in &attributes {
            decoding.value(&attribute.expr, &mut problems);
        }
    }
    let mut meta = None;
    if let Some((provider, _)) = block.labels.into_iter().next() {
        check_local_name(&provider, block.header_span, &mut problems);
        meta = Some(ProviderMeta { provider, body: block.body, span: block.header_span });
    }
    let failed = problems.has_errors();
    diagnostics.extend(problems);
    meta.filter(|_| !failed)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_each;

    #[test]
    fn parts_of_the_terraform_block() {
        check_each(
            "main.tf",
            "terraform {\n*\n}",
            &[
                ("experiments=[foo]", "(2:14 Unknown experiment keyword)"),
                ("experiments=[provider_collections]", "(2:14 Experimental feature is active)"),
                ("experiments=[symbol_libraries]", "2:14 Experiment has concluded"),
                ("experiments=[smoke_tests, foo]", "2:14 Experiment has concluded; (2:27 Unknown experiment keyword)"),
                ("experiments=1", "(2:13 Invalid expression)"),
                ("language=x", ""),
                ("foo=1", "2:1 Unsupported argument"),
                ("foo {}", "2:1 Unsupported block type"),
                ("backend {}", "2:9 Missing type for backend"),
                ("backend \"x\" {}\n backend \"y\" {}", "3:2 Duplicate backend configuration"),
                ("cloud {}\n cloud {}", "3:2 Duplicate cloud configurations"),
                ("backend \"local\" {}\n cloud {}", "2:1 Both a backend and a cloud configuration are present"),
                (r#"cloud "x" {}"#, "2:7 Extraneous label for cloud"),
                ("provider_meta {}", "2:15 Missing provider for provider_meta"),
                ("provider_meta \"terraform\" {\n a=foo\n}", "3:4 Variables not allowed"),
                (r#"provider_meta "A" {}"#, "2:1 Invalid provider local name"),
                ("provider_meta \"terraform\" {\n x {}\n}", r#"3:2 Unexpected "x" block"#),
                (
                    "provider_meta \"terraform\" {}\n provider_meta \"terraform\" {}",
                    "3:2 Duplicate provider_meta block",
                ),
                ("required_providers {}\n required_providers {}", "3:2 Duplicate required providers configuration"),
                (r#"required_providers "x" {}"#, "2:20 Extraneous label for required_providers"),
            ],
        );
    }
}
