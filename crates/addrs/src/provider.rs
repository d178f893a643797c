//! Names of providers: where a provider comes from, and the addresses of its configurations.

use std::fmt;

use ecow::{EcoString, eco_format};
use yuba_syntax::{Code, Diagnostics, FileId, Traversal};
use yuba_value::quote;

use crate::diagnostics::{self, ProviderConfigProblem};
use crate::hostname::{Hostname, normalize_label};
use crate::instance::InstanceKey;
use crate::module::{ModuleInstance, ModulePath};
use crate::parts::{Part, Parts, parse_text};

/// The registry of providers and modules that do not name one.
pub const DEFAULT_REGISTRY: &str = "registry.opentofu.org";

const DEFAULT_NAMESPACE: &str = "hashicorp";
const LEGACY_NAMESPACE: &str = "-";
const BUILTIN_HOST: &str = "terraform.io";
const BUILTIN_NAMESPACE: &str = "builtin";

/// Address of a provider: `hostname/namespace/type`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderSource {
    /// The registry.
    pub host: Hostname,
    /// Publisher.
    pub namespace: EcoString,
    /// Name of the provider.
    pub kind: EcoString,
}

/// Reason why a string is not the source of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSourceError {
    /// The identity of the error.
    pub code: &'static Code,
    /// The error, in full sentences.
    pub detail: EcoString,
    /// Advice; may be empty.
    pub hint: EcoString,
}

impl ProviderSource {
    /// Reads `type`, `namespace/type` or `hostname/namespace/type`.
    pub fn parse(source: &str) -> Result<ProviderSource, ProviderSourceError> {
        let parts: Vec<&str> = source.split('/').collect();
        let (host, namespace, kind) = match parts.as_slice() {
            _ if parts.contains(&"") => return Err(diagnostics::provider_source_malformed(source)),
            [kind] => (None, None, *kind),
            [namespace, kind] => (None, Some(*namespace), *kind),
            [host, namespace, kind] => (Some(*host), Some(*namespace), *kind),
            _ => return Err(diagnostics::provider_source_malformed(source)),
        };
        let kind = ProviderSource::parse_part(kind)
            .map_err(|reason| diagnostics::provider_type_of_source_invalid(kind, source, reason))?;
        // Quirk: a type alone may have the prefixes that are refused otherwise.
        let may_have_prefix = namespace.is_none();
        let namespace = match namespace {
            None => DEFAULT_NAMESPACE.into(),
            Some(LEGACY_NAMESPACE) => LEGACY_NAMESPACE.into(),
            Some(namespace) => ProviderSource::parse_part(namespace)
                .map_err(|reason| diagnostics::provider_namespace_invalid(namespace, source, reason))?,
        };
        let host = match host {
            None => Hostname::known(DEFAULT_REGISTRY),
            Some(host) => {
                Hostname::parse(host).map_err(|reason| diagnostics::provider_hostname_invalid(host, source, &reason))?
            }
        };
        if namespace == LEGACY_NAMESPACE && host.as_str() != DEFAULT_REGISTRY {
            return Err(diagnostics::legacy_namespace_elsewhere(host.as_str()));
        }
        let found = ProviderSource { host, namespace, kind };
        if !may_have_prefix && found.has_redundant_prefix() { Err(found.redundant_prefix()) } else { Ok(found) }
    }

    /// Reads a namespace or type: letters, digits and inner single dashes; in lower case.
    pub fn parse_part(given: &str) -> Result<EcoString, &'static str> {
        if given.is_empty() {
            return Err("it is empty");
        }
        if given.contains('.') {
            return Err("it must not contain dots");
        }
        if given.contains("--") {
            return Err("it must not contain two dashes in a row");
        }
        normalize_label(given).ok_or("it must consist of letters, digits and inner dashes")
    }

    /// The provider that a local name implies where `required_providers` says nothing else.
    pub fn implied_for(local_name: &str) -> Result<ProviderSource, ProviderSourceError> {
        match local_name {
            "terraform" => Ok(ProviderSource::builtin(local_name)),
            _ => ProviderSource::parse_part(local_name)
                .map(|kind| ProviderSource {
                    host: Hostname::known(DEFAULT_REGISTRY),
                    namespace: DEFAULT_NAMESPACE.into(),
                    kind,
                })
                .map_err(|reason| diagnostics::provider_type_invalid(local_name, reason)),
        }
    }

    /// A built-in provider.
    pub fn builtin(kind: &str) -> ProviderSource {
        ProviderSource { host: Hostname::known(BUILTIN_HOST), namespace: BUILTIN_NAMESPACE.into(), kind: kind.into() }
    }

    /// Whether the provider is built in and needs no installation.
    pub fn is_builtin(&self) -> bool {
        self.namespace == BUILTIN_NAMESPACE && [BUILTIN_HOST, "opentofu.org"].contains(&self.host.as_str())
    }
    /// Whether it comes from a state that was written when providers had no namespaces.
    pub fn is_legacy(&self) -> bool {
        self.namespace == LEGACY_NAMESPACE && self.host.as_str() == DEFAULT_REGISTRY
    }
    /// Whether it is what a local name alone implies.
    pub fn is_default(&self) -> bool {
        self.namespace == DEFAULT_NAMESPACE && self.host.as_str() == DEFAULT_REGISTRY
    }
    /// As people write it: without the hostname of the default registry.
    pub fn for_display(&self) -> EcoString {
        if self.host.as_str() == DEFAULT_REGISTRY {
            eco_format!("{}/{}", self.namespace, self.kind)
        } else {
            eco_format!("{self}")
        }
    }

    fn has_redundant_prefix(&self) -> bool {
        self.kind.starts_with("terraform-") || self.kind.starts_with("opentofu-")
    }

    /// The names of repositories have a prefix that the names of providers must not have.
    fn redundant_prefix(&self) -> ProviderSourceError {
        let shown = self.for_display();
        let repository = ["terraform-provider-", "opentofu-provider-"].into_iter().find_map(|prefix| {
            let rest = self.kind.strip_prefix(prefix)?;
            ProviderSource::parse_part(rest).ok().map(|kind| (prefix, ProviderSource { kind, ..self.clone() }))
        });
        match repository {
            Some((prefix, suggested)) => {
                diagnostics::provider_type_has_repository_prefix(&shown, prefix, &suggested.for_display())
            }
            None => {
                let prefix = if self.kind.starts_with("terraform-") { "terraform-" } else { "opentofu-" };
                diagnostics::provider_type_has_reserved_prefix(&shown, prefix)
            }
        }
    }
}

/// In full: `hostname/namespace/type`.
impl fmt::Display for ProviderSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.namespace, self.kind)
    }
}

/// A provider configuration as its module calls it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalProviderConfig {
    /// The local name of the provider.
    pub name: EcoString,
    /// The alias; none for the default configuration.
    pub alias: Option<EcoString>,
}

impl LocalProviderConfig {
    /// As it is referred to: `aws.west`.
    pub fn compact(&self) -> EcoString {
        match &self.alias {
            Some(alias) => eco_format!("{}.{alias}", self.name),
            None => self.name.clone(),
        }
    }
}

/// `provider.aws.west`
impl fmt::Display for LocalProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "provider.{}", self.compact())
    }
}

/// A provider configuration of a module: `module.a.provider["host/ns/type"].alias`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsProviderConfig {
    /// The module that declares it.
    pub module: ModulePath,
    /// The provider.
    pub provider: ProviderSource,
    /// The alias; none for the default configuration.
    pub alias: Option<EcoString>,
}

impl AbsProviderConfig {
    /// Reads an address without instance key.
    pub fn parse(traversal: &Traversal) -> Result<AbsProviderConfig, Diagnostics> {
        match AbsProviderConfig::parse_instance(traversal)? {
            (config, None) => Ok(config),
            (_, Some(_)) => Err(diagnostics::provider_config(ProviderConfigProblem::InstanceKey, traversal.span)),
        }
    }
    /// Reads a text without instance key.
    pub fn parse_text(file: FileId, text: &str) -> Result<AbsProviderConfig, Diagnostics> {
        parse_text(file, text, AbsProviderConfig::parse)
    }
    /// Reads a text with or without instance key.
    pub fn parse_instance_text(
        file: FileId,
        text: &str,
    ) -> Result<(AbsProviderConfig, Option<InstanceKey>), Diagnostics> {
        parse_text(file, text, AbsProviderConfig::parse_instance)
    }
    /// Reads an address with or without instance key.
    pub fn parse_instance(traversal: &Traversal) -> Result<(AbsProviderConfig, Option<InstanceKey>), Diagnostics> {
        let mut parts = Parts::new(traversal);
        let module = ModuleInstance::parse_prefix(&mut parts)?;
        let error = diagnostics::provider_config;
        if module.steps().iter().any(|step| step.key.is_some()) {
            return Err(error(ProviderConfigProblem::ModuleKey, parts.span()));
        }
        let module = module.module();
        if parts.len() < 2 || parts.name(0).is_none_or(|name| name != "provider") {
            return Err(error(ProviderConfigProblem::Start, parts.span()));
        }
        if parts.len() > 4 {
            parts.skip(4);
            return Err(error(ProviderConfigProblem::TooLong, parts.span()));
        }
        let provider = match parts.peek(1) {
            Some((Part::Index(key), span)) => match InstanceKey::from_literal(key) {
                Ok(InstanceKey::String(source)) => {
                    ProviderSource::parse(&source).map_err(|problem| problem.at(span).into())
                }
                _ => Err(error(ProviderConfigProblem::Source, span)),
            },
            step => {
                let span = step.map_or(traversal.span, |(_, span)| span);
                Err(error(ProviderConfigProblem::SourceInBrackets, span))
            }
        }?;
        let alias = match parts.peek(2) {
            None => None,
            Some((Part::Name(alias), _)) => Some(alias.clone()),
            Some((Part::Index(_), span)) => {
                return Err(error(ProviderConfigProblem::Alias, span));
            }
        };
        let key = match parts.peek(3) {
            None => None,
            Some((Part::Index(key), span)) => {
                Some(InstanceKey::from_literal(key).map_err(|reason| error(ProviderConfigProblem::Key(reason), span))?)
            }
            Some((Part::Name(_), span)) => {
                return Err(error(ProviderConfigProblem::KeyInBrackets, span));
            }
        };
        Ok((AbsProviderConfig { module, provider, alias }, key))
    }
    /// The configuration it can be inherited from: that of the calling module, where it is a default one.
    pub fn inherited(&self) -> Option<AbsProviderConfig> {
        match (&self.alias, self.module.call()) {
            (None, Some((module, _))) => {
                Some(AbsProviderConfig { module, provider: self.provider.clone(), alias: None })
            }
            _ => None,
        }
    }
}

impl fmt::Display for AbsProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.module.is_root() { "" } else { "." };
        write!(f, "{}{dot}provider[{}]", self.module, quote(&eco_format!("{}", self.provider)))?;
        self.alias.iter().try_for_each(|alias| write!(f, ".{alias}"))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::target::tests::check;

    fn check_sources(sources: &[&str], expect: &Expect) {
        let mut out = String::new();
        for source in sources {
            out += &match ProviderSource::parse(source) {
                Ok(found) => format!("{source} -> {found} ({})\n", found.for_display()),
                Err(problem) => format!("{source} ! {}\n", problem.code.summary),
            };
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn sources_are_completed_and_normalized() {
        check_sources(
            &[
                "aws",
                "hashicorp/aws",
                "Example/AWS",
                "registry.opentofu.org/foo/bar",
                "Example.com:8443/foo/google-beta",
                "terraform.io/builtin/terraform",
                "-/aws",
                "terraform",
                "terraform-x",
                "bücher/ñandú",
            ],
            &expect![[r#"
                aws -> registry.opentofu.org/hashicorp/aws (hashicorp/aws)
                hashicorp/aws -> registry.opentofu.org/hashicorp/aws (hashicorp/aws)
                Example/AWS -> registry.opentofu.org/example/aws (example/aws)
                registry.opentofu.org/foo/bar -> registry.opentofu.org/foo/bar (foo/bar)
                Example.com:8443/foo/google-beta -> example.com:8443/foo/google-beta (example.com:8443/foo/google-beta)
                terraform.io/builtin/terraform -> terraform.io/builtin/terraform (terraform.io/builtin/terraform)
                -/aws -> registry.opentofu.org/-/aws (-/aws)
                terraform -> registry.opentofu.org/hashicorp/terraform (hashicorp/terraform)
                terraform-x -> registry.opentofu.org/hashicorp/terraform-x (hashicorp/terraform-x)
                bücher/ñandú -> registry.opentofu.org/bücher/ñandú (bücher/ñandú)
            "#]],
        );
    }

    #[test]
    fn errors_in_sources() {
        check_sources(
            &[
                "",
                "a/b/c/d",
                "a//b",
                "/aws",
                "aws/",
                "bad type",
                "foo/b_r",
                "foo/a--b",
                "foo/a.b",
                "f o/aws",
                "-foo/aws",
                "exa mple.com/foo/aws",
                "xn--80akhbyknj4f.com/foo/aws",
                "example.com/-/aws",
                "foo/terraform-provider-aws",
                "foo/terraform-aws",
                "foo/opentofu-provider-aws",
                "foo/opentofu-x",
            ],
            &expect![[r#"
                 ! Invalid provider source string
                a/b/c/d ! Invalid provider source string
                a//b ! Invalid provider source string
                /aws ! Invalid provider source string
                aws/ ! Invalid provider source string
                bad type ! Invalid provider type
                foo/b_r ! Invalid provider type
                foo/a--b ! Invalid provider type
                foo/a.b ! Invalid provider type
                f o/aws ! Invalid provider namespace
                -foo/aws ! Invalid provider namespace
                exa mple.com/foo/aws ! Invalid provider source hostname
                xn--80akhbyknj4f.com/foo/aws ! Invalid provider source hostname
                example.com/-/aws ! Invalid provider namespace
                foo/terraform-provider-aws ! Invalid provider type
                foo/terraform-aws ! Invalid provider type
                foo/opentofu-provider-aws ! Invalid provider type
                foo/opentofu-x ! Invalid provider type
            "#]],
        );
    }

    #[test]
    fn local_names_imply_providers() {
        let implied = |name| ProviderSource::implied_for(name).map(|source| source.to_string()).ok();
        assert_eq!(implied("terraform").as_deref(), Some("terraform.io/builtin/terraform"));
        assert_eq!(implied("aws").as_deref(), Some("registry.opentofu.org/hashicorp/aws"));
        assert_eq!(implied("a_b"), None);
        assert!(ProviderSource::builtin("terraform").is_builtin());
        assert!(ProviderSource::parse("opentofu.org/builtin/x").is_ok_and(|source| source.is_builtin()));
        assert!(ProviderSource::parse("builtin/x").is_ok_and(|source| !source.is_builtin()));
    }

    #[test]
    fn configurations_are_read_and_printed() {
        check(
            |file, text| {
                let (config, key) = AbsProviderConfig::parse_instance_text(file, text)?;
                Ok(format!("{config}{}", key.map_or(String::new(), |key| key.to_string())))
            },
            &[
                "provider[\"aws\"]",
                "module.a.module.b.provider[\"example.com/x/y\"].west",
                "provider[\"aws\"].by[\"eu\"]",
                "provider[\"aws\"].by[0]",
                "provider.aws",
                "provider",
                "module.a[0].provider[\"aws\"]",
                "module.a",
                "aws",
                "provider[\"a/b/c/d\"]",
                "provider[0]",
                "provider[\"aws\"][0]",
                "provider[\"aws\"].by.x",
                "provider[\"aws\"].by[1.5]",
                "provider[\"aws\"].by[0].x",
            ],
            &expect![[r#"
                provider["aws"] -> provider["registry.opentofu.org/hashicorp/aws"]
                module.a.module.b.provider["example.com/x/y"].west -> module.a.module.b.provider["example.com/x/y"].west
                provider["aws"].by["eu"] -> provider["registry.opentofu.org/hashicorp/aws"].by["eu"]
                provider["aws"].by[0] -> provider["registry.opentofu.org/hashicorp/aws"].by[0]
                provider.aws ! Invalid provider configuration address at ".aws"
                provider ! Invalid provider configuration address at "provider"
                module.a[0].provider["aws"] ! Invalid provider configuration address at ".provider[\"aws\"]"
                module.a ! Invalid provider configuration address at "module.a"
                aws ! Invalid provider configuration address at "aws"
                provider["a/b/c/d"] ! Invalid provider source string at "[\"a/b/c/d\"]"
                provider[0] ! Invalid provider configuration address at "[0]"
                provider["aws"][0] ! Invalid provider configuration address at "[0]"
                provider["aws"].by.x ! Invalid provider configuration address at ".x"
                provider["aws"].by[1.5] ! Invalid provider configuration address at "[1.5]"
                provider["aws"].by[0].x ! Invalid provider configuration address at ".x"
            "#]],
        );
        check(
            AbsProviderConfig::parse_text,
            &["provider[\"aws\"].by[\"eu\"]"],
            &expect![[r#"
                provider["aws"].by["eu"] ! Invalid provider configuration address at "provider[\"aws\"].by[\"eu\"]"
            "#]],
        );
    }
}
