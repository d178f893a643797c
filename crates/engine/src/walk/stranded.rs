//! Objects of the state whose provider instance is gone: one error for all of them, with the ways out.
//!
//! Each way out works when it is followed as it is written; `suite/33-provider-for-each-runs.md` follows them.

use std::collections::{BTreeMap, BTreeSet};

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ConfigResource, InstanceKey};
use yuba_config::resource::ResourceKey;
use yuba_eval::ConfigTree;
use yuba_state::DeposedKey;
use yuba_syntax::{Diagnostic, Sources, Span};

use super::providers::NoServer;
use crate::diagnostics::{provider_configuration_not_present, provider_instance_not_present};

/// Objects and keys are listed up to this number.
const LISTED: usize = 100;
/// Commands name objects up to this number.
const IN_COMMANDS: usize = 10;

/// Reason why the provider of an object is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// There is no such configuration.
    Configuration,
    /// The `for_each` of the configuration does not have the key.
    Instance,
    /// The configuration has `for_each` now.
    Single,
}

/// An object whose provider is gone.
#[derive(Clone, Debug)]
pub(crate) struct Stranded {
    pub(crate) addr: AbsResourceInstance,
    pub(crate) deposed: Option<DeposedKey>,
    pub(crate) provider: AbsProviderConfig,
    pub(crate) key: Option<InstanceKey>,
    /// Another object of the instance must stay in the state.
    pub(crate) beside_current: bool,
    pub(crate) missing: Missing,
}

impl Missing {
    /// None if a provider could not be configured, which was reported.
    pub(crate) fn of(reason: &NoServer) -> Option<Missing> {
        match reason {
            NoServer::Failed => None,
            NoServer::NoConfiguration => Some(Missing::Configuration),
            NoServer::NoInstance(_) => Some(Missing::Instance),
            NoServer::KeyMissing(_) => Some(Missing::Single),
        }
    }
}

impl Stranded {
    fn line(&self) -> EcoString {
        let deposed = self.deposed.as_ref().map(|key| eco_format!(" (deposed object {key})")).unwrap_or_default();
        let key = self.key.as_ref().map(|key| eco_format!("{key}")).unwrap_or_default();
        eco_format!("\n  - {}{deposed} of {}{key}", self.addr, self.provider)
    }
}

/// Names for the solutions.
#[derive(Clone, Copy)]
pub(super) struct ProviderBlocks<'a> {
    pub(super) tree: &'a ConfigTree,
    pub(super) sources: Option<&'a Sources>,
}

/// At most two errors: objects whose provider configuration is gone, and objects whose instance of it is gone.
pub(super) fn report(mut objects: Vec<Stranded>, places: ProviderBlocks<'_>) -> Vec<Diagnostic> {
    objects.sort_by(|a, b| (&a.addr, &a.deposed).cmp(&(&b.addr, &b.deposed)));
    let (configurations, instances): (Vec<Stranded>, Vec<Stranded>) =
        objects.into_iter().partition(|object| object.missing == Missing::Configuration);
    let mut found = Vec::new();
    if !instances.is_empty() {
        let why = "whose provider instance is no longer declared";
        found.push(provider_instance_not_present(places.detail(&instances, why)));
    }
    if !configurations.is_empty() {
        let why = "whose provider configuration was removed";
        found.push(provider_configuration_not_present(places.detail(&configurations, why)));
    }
    found
}

impl ProviderBlocks<'_> {
    fn detail(&self, objects: &[Stranded], why: &str) -> EcoString {
        let one = objects.len() == 1;
        let (count, them) = match one {
            true => ("1 object".into(), "it"),
            false => (eco_format!("{} objects", objects.len()), "them"),
        };
        let mut detail = eco_format!("The state has {count} {why}:");
        objects.iter().take(LISTED).for_each(|object| detail.push_str(&object.line()));
        if objects.len() > LISTED {
            detail.push_str(&eco_format!("\n  - and {} other objects", objects.len() - LISTED));
        }
        let (restore, noun) =
            (joined_by(self.restore(objects).into_iter(), ", and "), if one { "object" } else { "objects" });
        detail.push_str(&eco_format!(
            "\n\nTo destroy {them}, {restore}. Do not declare the {noun} again. Run \"yuba apply\", then undo the change of the \
             provider configuration."
        ));
        let removable: BTreeSet<&AbsResourceInstance> =
            objects.iter().filter(|object| !object.beside_current).map(|object| &object.addr).collect();
        let are_few = (1..=IN_COMMANDS).contains(&removable.len());
        if are_few {
            let targets = joined_by(removable.iter().map(|addr| eco_format!("-target='{addr}'")), " ");
            detail.push_str(&eco_format!(
                " Or restore the whole previous configuration, run\n    yuba apply -destroy {targets}\nand change the \
                 configuration again."
            ));
        }

        let addresses: BTreeSet<&AbsResourceInstance> = objects.iter().map(|object| &object.addr).collect();
        let exclude = match addresses.len() <= IN_COMMANDS {
            true => joined_by(addresses.iter().map(|addr| eco_format!("-exclude='{addr}'")), " "),
            false => "-exclude='ADDRESS'".into(),
        };
        detail.push_str(&eco_format!("\n\nTo apply everything else, run\n    yuba apply {exclude}"));
        if addresses.len() > IN_COMMANDS {
            detail.push_str("\nwith this option for each address of the list.");
        }

        detail.push_str(&eco_format!("\n\nTo remove {them} from the state without destroying {them}, "));
        match removable.is_empty() {
            true => {}
            false if are_few => {
                let all = joined_by(removable.iter().map(|addr| eco_format!("'{addr}'")), " ");
                detail.push_str(&eco_format!("run\n    yuba state rm {all}\nor "));
            }
            false => detail.push_str("run\n    yuba state rm 'ADDRESS'\nfor each address of the list, or "),
        }
        detail.push_str("change the configuration as follows, run \"yuba apply\", and undo the change:");
        self.forget(objects).iter().for_each(|way| detail.push_str(way));
        detail
    }

    /// Advice for restoring the provider instances.
    fn restore(&self, objects: &[Stranded]) -> Vec<EcoString> {
        let mut keys: BTreeMap<EcoString, (&Stranded, BTreeSet<EcoString>)> = BTreeMap::new();
        for object in objects {
            let group = eco_format!("{} {:?}", object.provider, object.missing);
            let (_, keys) = keys.entry(group).or_insert_with(|| (object, BTreeSet::new()));
            if let Some(InstanceKey::String(key)) = &object.key {
                keys.insert(eco_format!("{key:?}"));
            }
        }
        let mut ways = Vec::with_capacity(keys.len());
        for (object, keys) in keys.into_values() {
            let mut shown = joined_by(keys.iter().take(LISTED).cloned(), ", ");
            if keys.len() > LISTED {
                shown.push_str(&eco_format!(" and {} other keys", keys.len() - LISTED));
            }
            let noun = if keys.len() == 1 { "key" } else { "keys" };
            let block = self.provider_block(&object.provider);
            ways.push(match object.missing {
                Missing::Instance => eco_format!("add the {noun} {shown} to for_each of {block} again"),
                Missing::Single => {
                    eco_format!("remove for_each from {block} and the instance keys from the references to it")
                }
                Missing::Configuration if keys.is_empty() => {
                    eco_format!("declare the provider configuration {} again", object.provider)
                }
                Missing::Configuration => eco_format!(
                    "declare the provider configuration {} again, with the {noun} {shown} in its for_each",
                    object.provider
                ),
            });
        }
        ways
    }

    fn provider_block(&self, config: &AbsProviderConfig) -> EcoString {
        let blocks = super::prepare::blocks_of(self.tree, std::iter::once(config));
        let block = blocks.first().and_then(|(module, key)| self.tree.node(*module).module.providers.get(key));
        match block.and_then(|block| self.location(block.span)) {
            Some(location) => eco_format!("the provider block at {location}"),
            None => eco_format!("the provider block of {config}"),
        }
    }

    /// Advice for forgetting objects: in the block of their resource, or instead of it.
    fn forget(&self, objects: &[Stranded]) -> Vec<EcoString> {
        let of = |object: &Stranded| object.addr.containing().config();
        let resources: BTreeMap<EcoString, ConfigResource> =
            objects.iter().map(of).map(|config| (eco_format!("{config}"), config)).collect();
        let mut ways = Vec::new();
        for (text, config) in resources.iter().take(LISTED) {
            ways.push(match self.resource_block(config) {
                Some(location) => eco_format!("\n  - Set destroy = false in the lifecycle block of {text} at {location}."),
                None => eco_format!(
                    "\n  - Add this block to the root module:\n    removed {{\n      from = {text}\n      lifecycle {{\n        \
                     destroy = false\n      }}\n    }}"
                ),
            });
        }
        if resources.len() > LISTED {
            ways.push(eco_format!("\n  - Change the other {} resources likewise.", resources.len() - LISTED));
        }
        ways
    }

    /// Location of the block of a resource.
    fn resource_block(&self, config: &ConfigResource) -> Option<EcoString> {
        let module = self.tree.find(&config.module)?;
        let block = self.tree.node(module).module.resources.get(&ResourceKey::from(&config.resource))?;
        self.location(block.span)
    }

    fn location(&self, span: Span) -> Option<EcoString> {
        let file = self.sources?.get(span.file)?;
        Some(eco_format!("{}:{}", file.name, file.position(span.start as usize).line))
    }
}

fn joined_by(items: impl Iterator<Item = EcoString>, between: &str) -> EcoString {
    let mut all = EcoString::new();
    for item in items {
        if !all.is_empty() {
            all.push_str(between);
        }
        all.push_str(&item);
    }
    all
}
