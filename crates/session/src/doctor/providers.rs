//! Providers: required, locked, installed, under development.

use std::collections::BTreeSet;

use yuba_addrs::ProviderSource;
use yuba_eval::ConfigTree;
use yuba_install::providers::selected::Unusable;
use yuba_syntax::Sources;

use super::{Area, Findings, diagnostics};
use crate::project::Project;
use crate::providers::InstalledProviders;

/// A provider.
#[derive(Clone, Debug)]
pub struct ProviderFacts {
    /// Its address.
    pub provider: ProviderSource,
    /// The versions that the configuration accepts; none if it does not require the provider.
    pub required: Option<String>,
    /// The version in the lock file.
    pub locked: Option<String>,
    /// Its package.
    pub install: ProviderInstall,
}

/// The package of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderInstall {
    /// It is built in and has no package.
    BuiltIn,
    /// It is installed and has the recorded checksum.
    Installed,
    /// It is locked and not installed.
    Missing,
    /// It differs from the recorded checksum or cannot be read.
    Damaged,
    /// It is in neither the lock file nor the CLI configuration.
    NotSelected,
    /// The CLI configuration names a directory for it.
    DevOverride,
    /// It runs already: `TF_REATTACH_PROVIDERS`.
    Attached,
}

/// Examines all providers of a configuration and of the lock file.
pub(super) fn examine(project: &Project, tree: Option<&ConfigTree>, found: &mut Findings) -> Vec<ProviderFacts> {
    let providers = project.providers();
    found.add(Area::Configuration, providers.check_lock_file(&mut Sources::new()), &Sources::new());
    let required = tree.map(ConfigTree::requirements).unwrap_or_default();
    let all: BTreeSet<&ProviderSource> = required
        .keys()
        .chain(providers.locks().providers.keys())
        .chain(providers.selection().packages.keys())
        .collect();
    let mut facts = Vec::new();
    for provider in all {
        let requirement = required.get(provider).map(|requirement| {
            let texts = requirement.constraints.iter().map(|(text, _)| text.as_str());
            texts.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
        });
        let locked = providers.locks().providers.get(provider).map(|lock| lock.version.to_string());
        let install = install_of(providers, provider);
        let name = provider.for_display();
        match (install, &requirement) {
            (ProviderInstall::Missing, Some(_)) => {
                found.own(diagnostics::provider_missing(&name, locked.as_deref().unwrap_or_default()));
            }
            (ProviderInstall::NotSelected, Some(_)) => found.own(diagnostics::provider_not_selected(&name)),
            (ProviderInstall::Damaged, _) => found.own(diagnostics::provider_damaged(&name)),
            (ProviderInstall::DevOverride, Some(_)) => found.own(diagnostics::provider_overridden(&name)),
            _ => {}
        }
        if let (Some(lock), Some(requirement)) = (providers.locks().providers.get(provider), required.get(provider))
            && let Ok(constraints) = crate::install::constraints(requirement)
            && install != ProviderInstall::DevOverride
            && !constraints.allows(&lock.version)
        {
            found.own(diagnostics::provider_outside_constraints(&name, &lock.version.to_string()));
        }
        facts.push(ProviderFacts { provider: provider.clone(), required: requirement, locked, install });
    }
    facts
}

fn install_of(providers: &InstalledProviders, provider: &ProviderSource) -> ProviderInstall {
    if InstalledProviders::is_built_in(provider) {
        return ProviderInstall::BuiltIn;
    }
    if providers.is_attached(provider) {
        return ProviderInstall::Attached;
    }
    match providers.selection().packages.get(provider) {
        Some(Ok(package)) if package.version.is_none() => ProviderInstall::DevOverride,
        Some(Ok(_)) => ProviderInstall::Installed,
        Some(Err(Unusable::Missing(_))) => ProviderInstall::Missing,
        Some(Err(Unusable::Damaged(_))) => ProviderInstall::Damaged,
        None => ProviderInstall::NotSelected,
    }
}
