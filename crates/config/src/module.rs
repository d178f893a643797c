//! A module: everything the files of one directory declare.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::{Feature, ParseRefContext, ProviderSource, ResourceMode};
use yuba_syntax::Span;

use crate::check::Check;
use crate::encryption::Encryption;
use crate::features::FeatureSet;
use crate::import::Import;
use crate::language::Language;
use crate::module_call::ModuleCall;
use crate::moved::Moved;
use crate::output::Output;
use crate::provider::{ProviderConfig, ProviderKey};
use crate::removed::Removed;
use crate::resource::{Resource, ResourceKey};
use crate::resource_map::ResourceMap;
use crate::symbols::SymbolsCall;
use crate::terraform::{Backend, Cloud, CoreVersion, ProviderMeta, Requirements};
use crate::test_file::TestFile;
use crate::variable::{Local, Variable};

/// A module: the merged declarations of its files, and none of their errors (diagnostics travel apart).
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Its directory, as shown to people.
    pub dir: EcoString,
    /// The merged settings of its `language` blocks.
    pub language: Language,
    /// Every constraint on the version of the language.
    pub core_versions: Vec<CoreVersion>,
    /// `required_providers`, by local name.
    pub requirements: Requirements,
    /// The `backend` block.
    pub backend: Option<Backend>,
    /// The `cloud` block.
    pub cloud: Option<Cloud>,
    /// The `encryption` block.
    pub encryption: Option<Encryption>,
    /// `provider_meta` blocks.
    pub provider_metas: BTreeMap<ProviderSource, ProviderMeta>,
    /// `provider` blocks.
    pub providers: BTreeMap<ProviderKey, ProviderConfig>,
    /// `variable` blocks.
    pub variables: BTreeMap<EcoString, Variable>,
    /// Arguments of `locals` blocks.
    pub locals: BTreeMap<EcoString, Local>,
    /// `output` blocks.
    pub outputs: BTreeMap<EcoString, Output>,
    /// `resource`, `data` and `ephemeral` blocks, and data blocks inside `check`.
    pub resources: ResourceMap,
    /// `module` blocks.
    pub calls: BTreeMap<EcoString, ModuleCall>,
    /// `symbols` blocks.
    pub symbols: BTreeMap<EcoString, SymbolsCall>,
    /// `check` blocks.
    pub checks: BTreeMap<EcoString, Check>,
    /// `moved` blocks, in source order.
    pub moved: Vec<Moved>,
    /// `import` blocks, in source order.
    pub imports: Vec<Import>,
    /// `removed` blocks, in source order.
    pub removed: Vec<Removed>,
    /// Features this module has opted in to.
    pub features: FeatureSet,
    /// Test files, by path relative to the module.
    pub tests: BTreeMap<EcoString, TestFile>,
    /// The first byte of its first file: where messages about the module as a whole point.
    pub span: Span,
}

impl Module {
    /// The provider that a local name stands for: as `required_providers` says, else implied by the name; none where the
    /// name is not possible, which was reported where it stands.
    pub fn provider_for_local_name(&self, name: &str) -> Option<ProviderSource> {
        match self.requirements.providers.get(name) {
            Some(required) => Some(required.provider.clone()),
            None => ProviderSource::implied_for(name).ok(),
        }
    }

    /// The local name of the provider configuration that a resource uses: of its `provider` argument, else the first
    /// word of its type.
    pub fn provider_local_name(resource: &Resource) -> &str {
        match &resource.provider {
            Some(reference) => &reference.key.name,
            None => implied_local_name(&resource.key.kind),
        }
    }

    /// The provider of a resource.
    pub fn provider_of(&self, resource: &Resource) -> Option<ProviderSource> {
        self.provider_for_local_name(Module::provider_local_name(resource))
    }

    /// Local name of a provider in this module.
    pub fn local_name_for_provider(&self, provider: &ProviderSource) -> EcoString {
        // Quirk: where several names stand for it, the last one counts.
        let named = self.requirements.providers.iter().rev().find(|(_, required)| required.provider == *provider);
        named.map_or_else(|| provider.kind.clone(), |(name, _)| name.clone())
    }
}

/// The local name that a resource type implies: its first word.
pub fn implied_local_name(kind: &str) -> &str {
    kind.split_once('_').map_or(kind, |(first, _)| first)
}

impl ParseRefContext for Module {
    fn feature_enabled(&self, feature: Feature) -> bool {
        self.features.contains(feature)
    }
    fn has_any_managed_resource_of_type(&self, kind: &str) -> bool {
        // The smallest possible name: the first resource of the type, if there is one, is at or after it.
        let from = ResourceKey { mode: ResourceMode::Managed, kind: kind.into(), name: EcoString::new() };
        let next = self.resources.starting_at(&from).next();
        next.is_some_and(|next| next.key.mode == ResourceMode::Managed && next.key.kind == kind)
    }
    fn has_managed_resource(&self, kind: &str, name: &str) -> bool {
        let key = ResourceKey { mode: ResourceMode::Managed, kind: kind.into(), name: name.into() };
        self.resources.contains_key(&key)
    }
}
