//! Addresses in a state file: read once for each text, the plain ones without the parser of the language.

use std::collections::HashMap;

use ecow::{EcoString, EcoVec};
use yuba_addrs::{
    AbsProviderConfig, AbsResource, AbsResourceInstance, ConfigResource, DEFAULT_REGISTRY, Hostname, InstanceKey,
    ModuleInstance, ModulePath, ModuleStep, ProviderSource, Resource, ResourceMode,
};
use yuba_syntax::{Diagnostics, FileId, TraversalStep, parser};

use crate::diagnostics;

type Known<T> = HashMap<EcoString, T, foldhash::fast::RandomState>;

/// Previously read addresses.
#[derive(Default)]
pub(crate) struct Addresses {
    modules: Known<ModuleInstance>,
    providers: Known<(AbsProviderConfig, Option<InstanceKey>)>,
    dependencies: Known<ConfigResource>,
    dependency_lists: Known<EcoVec<ConfigResource>>,
}

fn placeless(text: &str, problems: Diagnostics) -> Diagnostics {
    let mut out = Diagnostics::new();
    out.extend(problems.into_iter().map(|problem| diagnostics::in_address(text, problem)));
    out
}

const NO_FILE: FileId = FileId(0);

impl Addresses {
    pub(crate) fn module(&mut self, text: &str) -> Result<ModuleInstance, Diagnostics> {
        if let Some(known) = self.modules.get(text) {
            return Ok(known.clone());
        }
        let module = match plain(text) {
            Some((module, None)) => module,
            _ => ModuleInstance::parse_text(NO_FILE, text).map_err(|problems| placeless(text, problems))?,
        };
        self.modules.insert(text.into(), module.clone());
        Ok(module)
    }

    /// A provider configuration without instance key, also as versions before 0.13 wrote it.
    pub(crate) fn provider(&mut self, text: &str) -> Result<AbsProviderConfig, Diagnostics> {
        if let Some((known, None)) = self.providers.get(text) {
            return Ok(known.clone());
        }
        let provider = match AbsProviderConfig::parse_text(NO_FILE, text) {
            Ok(provider) => provider,
            Err(problems) => legacy_provider(text).ok_or_else(|| placeless(text, problems))?,
        };
        self.providers.insert(text.into(), (provider.clone(), None));
        Ok(provider)
    }

    pub(crate) fn provider_instance(
        &mut self,
        text: &str,
    ) -> Result<(AbsProviderConfig, Option<InstanceKey>), Diagnostics> {
        if let Some(known) = self.providers.get(text) {
            return Ok(known.clone());
        }
        let provider =
            AbsProviderConfig::parse_instance_text(NO_FILE, text).map_err(|problems| placeless(text, problems))?;
        self.providers.insert(text.into(), provider.clone());
        Ok(provider)
    }

    pub(crate) fn dependency(&mut self, text: &str) -> Result<ConfigResource, Diagnostics> {
        if let Some(known) = self.dependencies.get(text) {
            return Ok(known.clone());
        }
        let addr = match plain(text) {
            Some((module, Some((resource, None)))) => ConfigResource { module: module.module(), resource },
            _ => AbsResource::parse_text(NO_FILE, text).map_err(|problems| placeless(text, problems))?.config(),
        };
        self.dependencies.insert(text.into(), addr.clone());
        Ok(addr)
    }

    /// The list that was read from the same JSON.
    pub(crate) fn dependency_list(&self, raw: &str) -> Option<EcoVec<ConfigResource>> {
        self.dependency_lists.get(raw).cloned()
    }
    pub(crate) fn keep_dependency_list(&mut self, raw: &str, list: EcoVec<ConfigResource>) {
        self.dependency_lists.insert(raw.into(), list);
    }

    /// A resource instance, or what is written like one: `module.m.output.o`.
    pub(crate) fn instance(text: &str) -> Result<AbsResourceInstance, Diagnostics> {
        match plain(text) {
            Some((module, Some((resource, key)))) => Ok(AbsResourceInstance { module, resource, key }),
            _ => AbsResourceInstance::parse_text(NO_FILE, text).map_err(|problems| placeless(text, problems)),
        }
    }
}

/// `provider.aws.west`, also in a module: what is in the brackets of an address today was a name without host then.
pub(crate) fn legacy_provider(text: &str) -> Option<AbsProviderConfig> {
    let (Some(traversal), problems) = parser::parse_traversal(NO_FILE, text.as_bytes()) else { return None };
    if problems.has_errors() {
        return None;
    }
    let mut names = vec![&traversal.root];
    for step in traversal.steps.iter() {
        match step {
            TraversalStep::Attr { name, .. } => names.push(name),
            TraversalStep::Index { .. } => return None,
        }
    }
    let mut rest = names.as_slice();
    let mut module = Vec::new();
    while let [word, name, after @ ..] = rest
        && *word == "module"
    {
        module.push((*name).clone());
        rest = after;
    }
    let (kind, alias) = match rest {
        [word, kind] if *word == "provider" => (*kind, None),
        [word, kind, alias] if *word == "provider" => (*kind, Some((*alias).clone())),
        _ => return None,
    };
    let provider = match kind.as_str() {
        "terraform" => ProviderSource::builtin(kind),
        _ => {
            ProviderSource { host: Hostname::parse(DEFAULT_REGISTRY).ok()?, namespace: "-".into(), kind: kind.clone() }
        }
    };
    Some(AbsProviderConfig { module: module.into_iter().collect::<ModulePath>(), provider, alias })
}

type PlainAddress = (ModuleInstance, Option<(Resource, Option<InstanceKey>)>);

/// Reads `module.a["k"].data.type.name[0]` where all names and keys are plain; nothing where it takes a real parser.
fn plain(text: &str) -> Option<PlainAddress> {
    let mut rest = text;
    let mut module = Vec::new();
    let mut name = plain_name(&mut rest)?;
    while name == "module" {
        rest = rest.strip_prefix('.')?;
        let call = plain_name(&mut rest)?;
        module.push(ModuleStep { name: call.into(), key: plain_key(&mut rest)? });
        if rest.is_empty() {
            return Some((module.into_iter().collect(), None));
        }
        rest = rest.strip_prefix('.')?;
        name = plain_name(&mut rest)?;
    }
    let mut mode = ResourceMode::Managed;
    if name == "data" {
        mode = ResourceMode::Data;
        rest = rest.strip_prefix('.')?;
        name = plain_name(&mut rest)?;
    } else if matches!(name, "resource" | "ephemeral") {
        return None;
    }
    rest = rest.strip_prefix('.')?;
    let resource = Resource { mode, kind: name.into(), name: plain_name(&mut rest)?.into() };
    let key = plain_key(&mut rest)?;
    rest.is_empty().then(|| (module.into_iter().collect(), Some((resource, key))))
}

fn plain_name<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let end = rest.bytes().position(|b| !b.is_ascii_alphanumeric() && b != b'_' && b != b'-').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    *rest = after;
    Some(name)
}

fn plain_key(rest: &mut &str) -> Option<Option<InstanceKey>> {
    let Some(inner) = rest.strip_prefix('[') else { return Some(None) };
    let key = if let Some(quoted) = inner.strip_prefix('"') {
        let (key, after) = quoted.split_once('"')?;
        if key.bytes().any(|b| !matches!(b, b' '..=b'~') || matches!(b, b'\\' | b'$' | b'%')) {
            return None;
        }
        *rest = after.strip_prefix(']')?;
        InstanceKey::String(key.into())
    } else {
        let (digits, after) = inner.split_once(']')?;
        // The parser handles numbers that are longer, signed or have leading zeros.
        let plain = matches!(digits.len(), 1..=15) && digits.bytes().all(|b| b.is_ascii_digit());
        if !plain || digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        *rest = after;
        InstanceKey::Int(digits.parse().ok()?)
    };
    Some(Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_finds_what_the_parser_finds() {
        for text in [
            "a.b",
            "a.b[0]",
            "a.b[\"k 1\"]",
            "data.a.b",
            "module.m.a.b",
            "module.m[0].module.n[\"x\"].data.a-1.b_2[12]",
            "module.module.a.b",
            "data.data.b",
            "a.b[-1]",
            "a.b[01]",
            "a.b[\"${\"]",
            "a.b[\"\\n\"]",
            "resource.a.b",
            "a",
            "a.b.c",
            "data.a",
            "module.m",
            "",
            "a.b[",
            "a.b]",
            "a.b[x]",
            "1.b",
            "_a.b",
            "ephemeral.a.b",
            "é.b",
        ] {
            let full = AbsResourceInstance::parse_text(NO_FILE, text).ok();
            assert_eq!(Addresses::instance(text).ok(), full, "{text}");
        }
        let mut addresses = Addresses::default();
        for text in ["module.m", "module.m[\"a.b\"].module.n[3]", "a.b", "module", "module.m."] {
            let full = ModuleInstance::parse_text(NO_FILE, text).ok();
            assert_eq!(addresses.module(text).ok(), full, "{text}");
        }
    }

    #[test]
    fn providers_of_old() {
        let shown = |text: &str| Addresses::default().provider(text).map(|p| p.to_string()).unwrap_or_default();
        assert_eq!(shown("provider.aws"), "provider[\"registry.opentofu.org/-/aws\"]");
        assert_eq!(shown("module.a.provider.aws.west"), "module.a.provider[\"registry.opentofu.org/-/aws\"].west");
        assert_eq!(shown("provider.terraform"), "provider[\"terraform.io/builtin/terraform\"]");
        assert_eq!(shown("module.a[0].provider.aws"), "");
        assert_eq!(shown("provider.aws.a.b"), "");
        assert_eq!(shown("aws"), "");
        assert_eq!(shown("provider[\"hashicorp/aws\"].a[\"k\"]"), "");
    }
}
