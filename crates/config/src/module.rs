//! A module: everything the files of one directory declare.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_syntax::Span;

use crate::check::Check;
use crate::features::FeatureSet;
use crate::import::Import;
use crate::language::Language;
use crate::module_call::ModuleCall;
use crate::moved::Moved;
use crate::output::Output;
use crate::provider::{ProviderConfig, ProviderKey};
use crate::removed::Removed;
use crate::resource::{Resource, ResourceKey};
use crate::symbols::SymbolsCall;
use crate::terraform::{Backend, Cloud, CoreVersion, Encryption, ProviderMeta, Requirements};
use crate::test_file::TestFile;
use crate::variable::{Local, Variable};

/// A module: the merged declarations of its files, and what is wrong with none of them (diagnostics travel apart).
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Where its files are, as shown to people.
    pub dir: EcoString,
    /// The `language` block.
    pub language: Language,
    /// Every `required_version` argument.
    pub core_versions: Vec<CoreVersion>,
    /// `required_providers`, by local name.
    pub requirements: Requirements,
    /// The `backend` block.
    pub backend: Option<Backend>,
    /// The `cloud` block.
    pub cloud: Option<Cloud>,
    /// The `encryption` block.
    pub encryption: Option<Encryption>,
    /// `provider_meta` blocks, by local name of the provider.
    pub provider_metas: BTreeMap<EcoString, ProviderMeta>,
    /// `provider` blocks.
    pub providers: BTreeMap<ProviderKey, ProviderConfig>,
    /// `variable` blocks.
    pub variables: BTreeMap<EcoString, Variable>,
    /// Arguments of `locals` blocks.
    pub locals: BTreeMap<EcoString, Local>,
    /// `output` blocks.
    pub outputs: BTreeMap<EcoString, Output>,
    /// `resource`, `data` and `ephemeral` blocks, and data blocks inside `check`.
    pub resources: BTreeMap<ResourceKey, Resource>,
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
