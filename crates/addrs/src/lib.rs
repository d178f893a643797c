//! Names of objects: modules, resources, instances, providers, sources, versions, and what an expression can refer to:
//! parsed, ordered, displayed.
//!
//! Every name is read from a [`Traversal`](yuba_syntax::Traversal), or from a string that is parsed as one, and prints
//! as OpenTofu prints it, so that the output can be read again. Orders are those in which OpenTofu lists objects.
//!
//! Invariant: nothing here knows which blocks declare these objects, what their values are, or whether they exist.

mod diagnostics;
mod features;
mod function;
mod hostname;
mod import;
mod instance;
mod key_map;
mod module;
mod module_source;
mod moved;
mod parts;
mod provider;
mod provider_version;
mod reference;
mod removed;
mod resource;
mod target;
mod template_text;
mod url;
mod version;

pub use features::{Baseline, FEATURES, Feature, FeatureRow, FeatureState, ParseRefContext};
pub use function::{ProviderFunction, SymbolFunction};
pub use hostname::Hostname;
pub use import::ImportTarget;
pub use instance::InstanceKey;
pub use key_map::KeyMap;
pub use module::{ModuleInstance, ModulePath, ModuleStep};
pub use module_source::{ModuleSource, ModuleSourceError, RegistryModule, RemoteModule, without_secrets};
pub use moved::{MoveEndpoint, MoveSubject};
pub use provider::{AbsProviderConfig, DEFAULT_REGISTRY, LocalProviderConfig, ProviderSource, ProviderSourceError};
pub use provider_version::{ProviderConstraints, ProviderVersion};
pub use reference::{Reference, Subject, Symbol, TerraformAlias};
pub use removed::{RemoveEndpoint, RemoveSubject};
pub use resource::{AbsResource, AbsResourceInstance, ConfigResource, Resource, ResourceMode};
pub use target::{Target, TargetSubject};
pub use template_text::TemplateText;
pub use version::{Version, VersionConstraints, VersionError};
