//! The rules about provider blocks, `required_providers` and the `providers` of module calls, over the whole tree.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashMapExt as _};
use yuba_addrs::{ModulePath, ProviderSource, ResourceMode};
use yuba_config::Module;
use yuba_config::module::implied_local_name;
use yuba_config::module_call::{ModuleCall, PassedProvider};
use yuba_config::provider::{ProviderKey, ProviderRef};
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_syntax::{Diagnostic, Diagnostics, Sources, Span};

use super::certain::{Certain, KeyUse, has_instances};
use super::providers::configures;
use super::{ConfigTree, ModuleId, ModuleNode, diagnostics, similarity};
use crate::static_eval::for_each::Instances;
use crate::symbols;

/// Checks every module. Provider instances that do not exist are errors where something certainly uses them;
/// [`ConfigTree::wrong_keys`] has those that a module call chooses and nothing uses.
pub(super) fn check(tree: &mut ConfigTree, sources: Option<&Sources>) -> Diagnostics {
    let (problems, wrong_keys) = check_all(tree, sources);
    tree.wrong_keys = wrong_keys;
    problems
}

fn check_all(tree: &ConfigTree, sources: Option<&Sources>) -> (Diagnostics, BTreeMap<ModuleId, Diagnostics>) {
    let (mut problems, mut wrong_keys) = (Diagnostics::new(), BTreeMap::new());
    let certain = Certain::of(tree);
    // The location on the way to each module that forbids provider configurations in it.
    let mut forbidden: Vec<Option<Span>> = Vec::with_capacity(tree.len());
    let mut declared: Vec<Declared> = Vec::with_capacity(tree.len());
    for (id, node) in tree.iter() {
        let inherited = node.parent.and_then(|parent| forbidden.get(parent.0 as usize).copied().flatten());
        forbidden.push(tree.call(id).and_then(repeats).or(inherited));
        declared.push(Declared::of(&node.module));
    }
    for (id, node) in tree.iter() {
        let Some(own) = declared.get(id.0 as usize) else { continue };
        let parent = node.parent.and_then(|parent| declared.get(parent.0 as usize));
        let (call, text) = (tree.call(id), module_text(&node.path));
        let rules = Rules { tree, sources, certain: &certain, id, node, own, call, parent, text };
        rules.required(&mut problems);
        rules.resources(&mut problems);
        rules.calls(&mut problems, &mut wrong_keys);
        rules.imports(&mut problems);
        if node.parent.is_some() {
            rules.child(forbidden.get(id.0 as usize).copied().flatten(), &mut problems);
        }
    }
    (problems, wrong_keys)
}

/// Reason why a called module cannot contain provider configurations.
fn repeats(call: &ModuleCall) -> Option<Span> {
    match &call.repetition {
        Repetition::Count(expr) | Repetition::ForEach(expr) | Repetition::Enabled(expr) => Some(expr.span),
        Repetition::Single => call.depends_on.first().map(|first| first.span),
    }
}

fn module_text(path: &ModulePath) -> EcoString {
    if path.is_root() { "the root module".into() } else { eco_format!("{path}") }
}

/// `aws.west`
fn compact(key: &ProviderKey) -> EcoString {
    match &key.alias {
        Some(alias) => eco_format!("{}.{alias}", key.name),
        None => key.name.clone(),
    }
}

/// The provider that a name implies, even where it is the name of a built-in one.
fn default_type(name: &str) -> Option<ProviderSource> {
    ProviderSource::parse(name).ok()
}

/// Provider declarations of a module.
struct Declared {
    /// Blocks that configure something.
    configured: BTreeMap<ProviderKey, Span>,
    /// Blocks that do not.
    empty: BTreeMap<ProviderKey, Span>,
    /// `configuration_aliases`
    aliases: BTreeMap<ProviderKey, ProviderSource>,
    /// The location at which `configuration_aliases` requires all instances of a configuration.
    collections: BTreeMap<ProviderKey, Span>,
    /// `required_providers`
    required: BTreeMap<EcoString, ProviderSource>,
    /// The same, found by provider.
    names: BTreeMap<ProviderSource, EcoString>,
}

impl Declared {
    fn of(module: &Module) -> Declared {
        let mut own = Declared {
            configured: BTreeMap::new(),
            empty: BTreeMap::new(),
            aliases: BTreeMap::new(),
            collections: BTreeMap::new(),
            required: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        for (key, provider) in &module.providers {
            let blocks = if configures(provider) { &mut own.configured } else { &mut own.empty };
            blocks.insert(key.clone(), provider.span);
        }
        for (name, required) in &module.requirements.providers {
            let provider = required.provider.clone();
            own.aliases.extend(required.aliases.iter().map(|alias| (alias.key.clone(), provider.clone())));
            let collections = required.aliases.iter().filter(|alias| alias.all_instances);
            own.collections.extend(collections.map(|alias| (alias.key.clone(), alias.span)));
            own.names.entry(provider.clone()).or_insert_with(|| name.clone());
            own.required.insert(name.clone(), provider);
        }
        own
    }

    /// Kind of the reference that a name begins in expressions, unless the module has a provider of this name.
    fn value_kind(&self, name: &str) -> Option<&'static str> {
        let what = match name {
            "local" => "a local value",
            "var" => "an input variable",
            "each" | "count" | "path" | "self" => "a value",
            "data" | "module" | "ephemeral" => "a reference to an object",
            _ => return None,
        };
        let has_block = |blocks: &BTreeMap<ProviderKey, Span>| blocks.keys().any(|key| key.name == name);
        let is_provider = self.required.contains_key(name) || has_block(&self.configured) || has_block(&self.empty);
        (!is_provider).then_some(what)
    }

    /// The provider a name stands for when it is passed on: what blocks imply is never a built-in provider.
    fn passed_type(&self, name: &str) -> Option<ProviderSource> {
        self.required.get(name).cloned().or_else(|| default_type(name))
    }
}

/// The rules for one module.
struct Rules<'t> {
    tree: &'t ConfigTree,
    sources: Option<&'t Sources>,
    certain: &'t Certain,
    id: ModuleId,
    node: &'t ModuleNode,
    own: &'t Declared,
    call: Option<&'t ModuleCall>,
    parent: Option<&'t Declared>,
    text: EcoString,
}

impl Rules<'_> {
    fn parent_text(&self) -> EcoString {
        self.node.parent.map_or_else(|| "the root module".into(), |parent| module_text(&self.tree.node(parent).path))
    }

    /// A provider is required once.
    fn required(&self, problems: &mut Diagnostics) {
        let module = &self.node.module;
        for (name, required) in &module.requirements.providers {
            let Some(provider) = self.own.required.get(name) else { continue };
            let first = self.own.names.get(provider);
            if let Some(first) = first.filter(|first| *first != name) {
                problems.push(diagnostics::required_twice(provider, name, first, required.span));
            } else if provider.is_default() && provider.kind != *name {
                let implied = ProviderKey { name: provider.kind.clone(), alias: None };
                let block = module.providers.range(implied..).next();
                if block.is_some_and(|(key, _)| key.name == provider.kind) {
                    problems.push(diagnostics::required_by_block(provider, name, required.span));
                }
            }
        }
    }

    /// Providers that resources imply, and the keys that they use.
    fn resources(&self, problems: &mut Diagnostics) {
        let mut implied = HashMap::new();
        for resource in self.node.module.resources.values() {
            let Some(reference) = &resource.provider else {
                let name = implied_local_name(&resource.key.kind);
                match implied.entry(name).or_insert_with(|| self.implied(name)) {
                    Ok(None) => {}
                    Ok(Some((provider, other))) => {
                        let address = eco_format!("{}.{}", resource.key.kind, resource.key.name);
                        problems.push(diagnostics::required_by_resource(provider, &address, other, resource.span));
                    }
                    Err(reason) => problems.push(diagnostics::implied_name(name, reason, resource.span)),
                }
                continue;
            };
            self.instance_key(reference, "resource", problems);
            if self.certain.module(self.id) && has_instances(&resource.repetition) {
                problems.extend(self.not_declared(reference));
            }
            if resource.key.mode == ResourceMode::Managed {
                let prefix =
                    if self.node.path.is_root() { EcoString::new() } else { eco_format!("{}.", self.node.path) };
                let address = eco_format!("{prefix}{}.{}", resource.key.kind, resource.key.name);
                self.similar(reference, &resource.repetition, "resource", &address, problems);
            }
        }
    }

    /// Errors in a local name that a resource type implies: the module has another name for the provider, or the name
    /// is invalid.
    fn implied(&self, name: &str) -> Result<Option<(&ProviderSource, &EcoString)>, &'static str> {
        if self.own.required.contains_key(name) {
            return Ok(None);
        }
        ProviderSource::parse_part(name)?;
        Ok(ProviderSource::implied_for(name).ok().and_then(|provider| self.own.names.get_key_value(&provider)))
    }

    /// An import into a resource that is declared uses the provider of its block.
    fn imports(&self, problems: &mut Diagnostics) {
        for import in &self.node.module.imports {
            let Some(reference) = &import.provider else { continue };
            if !import.to.config.module.is_root() {
                continue;
            }
            let resource = &import.to.config.resource;
            let key = ResourceKey { mode: resource.mode, kind: resource.kind.clone(), name: resource.name.clone() };
            let Some(target) = self.node.module.resources.get(&key) else { continue };
            if target.provider.as_ref().is_none_or(|provider| provider.key != reference.key) {
                let declared = target.provider.as_ref().map(|provider| compact(&provider.key));
                let span = import.provider_span.unwrap_or(reference.span);
                problems.push(diagnostics::import_provider(&eco_format!("{resource}"), declared.as_deref(), span));
            }
        }
    }

    /// Meaning of a reference in the form of a value instead of a provider configuration: `local.name`. A provider may
    /// have such a name too, so it applies only where the module does not declare a provider of this name.
    fn value(&self, reference: &ProviderRef) -> Option<Diagnostic> {
        let (ProviderKey { name, alias: Some(alias) }, module) = (&reference.key, &self.node.module) else {
            return None;
        };
        let what = self.own.value_kind(name)?;
        if self.call.is_some_and(|call| call.providers.iter().any(|passed| passed.in_child.key.name == *name)) {
            return None;
        }
        let declared = match name.as_str() {
            "local" => module.locals.get(alias).map(|local| local.span),
            "var" => module.variables.get(alias).map(|variable| variable.span),
            _ => None,
        };
        let declared = declared.map(|span| self.location(span));
        Some(diagnostics::not_a_value(&reference.key, what, declared.as_deref(), reference.span))
    }

    /// An instance key is given if and only if the provider has instances: its block has `for_each`, or the module
    /// requires all instances of a configuration from its caller. Where all of them are passed on there is `[*]`
    /// instead.
    fn instance_key(&self, reference: &ProviderRef, block_type: &str, problems: &mut Diagnostics) {
        if let Some(problem) = self.value(reference) {
            problems.push(problem);
            return;
        }
        let key = &reference.key;
        let block = self.node.module.providers.get(key);
        let has_instances = block.is_some_and(|p| p.for_each.is_some()) || self.own.collections.contains_key(key);
        match &reference.instance {
            None if reference.all_instances && !has_instances => {
                let declared = block.map(|block| block.span).or_else(|| self.alias_span(key));
                let declared = declared.map(|span| self.location(span));
                problems.push(diagnostics::not_a_collection(key, declared.as_deref(), reference.span));
            }
            Some(key) if reference.key.alias.is_none() => {
                problems.push(diagnostics::key_without_alias(block_type, key.span));
            }
            Some(key) if !has_instances && self.own.configured.contains_key(&reference.key) => {
                problems.push(diagnostics::key_without_for_each(block_type, key.span));
            }
            Some(_) if !has_instances => {
                problems.push(diagnostics::key_without_block(block_type, key, reference.name_span));
            }
            None if has_instances && !reference.all_instances => {
                let features = &self.node.module.features;
                problems.push(diagnostics::key_missing(block_type, features, reference.name_span));
            }
            Some(_) | None => {}
        }
    }

    /// Errors in a constant key of an instance that the configuration does not have.
    fn not_declared(&self, reference: &ProviderRef) -> Option<Diagnostic> {
        let key = reference.instance.as_ref()?;
        let given = similarity::constant_key(key)?;
        let instances = self.instances(&reference.key)?;
        let is_declared = instances.binary_search_by(|(declared, _)| declared.cmp(&given)).is_ok();
        let name = compact(&reference.key);
        (!is_declared).then(|| diagnostics::instance_not_declared(&name, &given, instances, key.span))
    }

    /// The instances of a configuration, where they are known: those of the block that the name stands for, in this module
    /// or in one that passes it.
    fn instances(&self, key: &ProviderKey) -> Option<&Instances> {
        if let Some(instances) = self.node.provider_instances.get(key) {
            return Some(instances);
        }
        let resolved = self.tree.resolve_provider(self.id, key, None)?;
        self.tree.node(resolved.module).provider_instances.get(resolved.block.as_ref()?)
    }

    fn location(&self, span: Span) -> EcoString {
        self.sources.map_or_else(|| "another file".into(), |sources| symbols::location(sources, span))
    }

    /// The location at which `configuration_aliases` requires a configuration.
    fn alias_span(&self, key: &ProviderKey) -> Option<Span> {
        self.node.module.requirements.alias(key).map(|alias| alias.span)
    }

    /// The provider must outlive the objects it destroys, so it should not have the same `for_each`.
    fn similar(
        &self,
        reference: &ProviderRef,
        repetition: &Repetition,
        block_type: &str,
        address: &str,
        problems: &mut Diagnostics,
    ) {
        let provider = self.node.module.providers.get(&reference.key);
        if let (Some(key), Repetition::ForEach(own)) = (&reference.instance, repetition)
            && let Some(of_provider) = provider.and_then(|provider| provider.for_each.as_ref())
            && similarity::too_similar(own, of_provider, key)
        {
            problems.push(diagnostics::same_for_each(block_type, address, own.span));
        }
    }

    /// Configurations passed to called modules.
    fn calls(&self, problems: &mut Diagnostics, wrong_keys: &mut BTreeMap<ModuleId, Diagnostics>) {
        for call in self.node.module.calls.values() {
            let address = eco_format!("{}", self.node.path.child(call.name.clone()));
            for passed in &call.providers {
                if let Some(key) = &passed.in_child.instance {
                    problems.push(diagnostics::key_on_left_side(key.span));
                }
                self.instance_key(&passed.in_parent, "module", problems);
                if let (Some(called), Some(key)) = (self.node.children.get(&call.name), &passed.in_parent.instance) {
                    match self.certain.call_key(*called, key.span) {
                        KeyUse::Certain => problems.extend(self.not_declared(&passed.in_parent)),
                        KeyUse::Possible => {}
                        KeyUse::ByModule => {
                            if let Some(wrong) = self.not_declared(&passed.in_parent) {
                                wrong_keys.entry(*called).or_default().push(wrong);
                            }
                        }
                    }
                }
                self.similar(&passed.in_parent, &call.repetition, "module", &address, problems);
                if passed.in_parent.key.alias.is_none() {
                    self.passed_on(passed, problems);
                }
            }
        }
    }

    /// A provider without alias that is passed to a called module must come from somewhere.
    fn passed_on(&self, passed: &PassedProvider, problems: &mut Diagnostics) {
        let key = &passed.in_parent.key;
        let configured = self.own.configured.contains_key(key);
        if !configured && !self.own.required.contains_key(&key.name) {
            let span = passed.in_parent.name_span;
            problems.push(diagnostics::undefined_in_caller(&key.name, &self.text, default_type(&key.name), span));
            return;
        }
        let Some(call) = self.call else { return };
        let received = call.providers.iter().any(|received| received.in_child.key == *key);
        if !configured && !received {
            problems.push(diagnostics::not_passed_on(
                &key.name,
                default_type(&key.name),
                &self.text,
                &self.parent_text(),
                &call.name,
                call.span,
            ));
        }
    }

    /// Rules for called modules only.
    fn child(&self, forbidden: Option<Span>, problems: &mut Diagnostics) {
        let Some(call) = self.call else { return };
        if let Some(span) = forbidden.filter(|_| !self.own.configured.is_empty()) {
            let source = self.node.source.as_ref().map(|source| eco_format!("{source}")).unwrap_or_default();
            problems.push(diagnostics::legacy_module(&self.node.path, &source, span));
        }
        let received: BTreeMap<&ProviderKey, &PassedProvider> =
            call.providers.iter().map(|passed| (&passed.in_child.key, passed)).collect();
        for key in self.own.configured.keys() {
            if let Some(passed) = received.get(key) {
                let name = compact(key);
                let span = passed.in_child.name_span;
                problems.push(diagnostics::own_configuration(&self.text, &name, &self.parent_text(), span));
            }
        }
        for (key, provider) in &self.own.aliases {
            if !self.own.configured.contains_key(key) && !received.contains_key(key) {
                let all = if self.own.collections.contains_key(key) { "[*]" } else { "" };
                let name = eco_format!("{key}{all}");
                problems.push(diagnostics::alias_not_passed(&name, provider, &self.text, call.span));
            }
        }
        for passed in received.values() {
            self.received(passed, problems);
            self.one_or_all(passed, problems);
        }
        self.empty_blocks(problems);
    }

    /// Passed configurations must be declared, and of the right type.
    fn received(&self, passed: &PassedProvider, problems: &mut Diagnostics) {
        let key = &passed.in_child.key;
        let name = compact(key);
        let required = self.own.required.get(&name);
        let alias = self.own.aliases.get(key);
        let wanted = alias.or(required).cloned().or_else(|| self.own.passed_type(&key.name));
        let Some(wanted) = wanted else { return };
        if required.is_none() && alias.is_none() && !self.own.empty.contains_key(key) {
            let span = passed.in_child.name_span;
            problems.push(match wanted.is_default() {
                true => diagnostics::undefined_in_child(&name, &self.text, &wanted, span),
                false => diagnostics::not_accepted(&name, &wanted, span),
            });
        }
        let Some(parent) = self.parent else { return };
        // A value instead of a provider was reported with the call.
        let source = &passed.in_parent.key;
        if source.alias.is_some() && parent.value_kind(&source.name).is_some() {
            return;
        }
        // Quirk: where the caller requires a provider by the name it has in the child, that one is compared.
        let given = parent.required.get(&name).cloned().or_else(|| parent.passed_type(&passed.in_parent.key.name));
        let Some(given) = given.filter(|given| *given != wanted) else { return };
        let (own_text, parent_text) = (&self.text, self.parent_text());
        problems.push(match self.own.names.get(&given) {
            Some(other) => {
                diagnostics::other_name(&wanted, &key.name, &given, &parent_text, other, passed.in_child.name_span)
            }
            None => diagnostics::other_type(
                (&compact(&passed.in_parent.key), &parent_text, &given),
                (&name, own_text, &wanted),
                passed.in_parent.name_span,
            ),
        });
    }

    /// All instances are passed if and only if the module asks for all of them.
    fn one_or_all(&self, passed: &PassedProvider, problems: &mut Diagnostics) {
        let key = &passed.in_child.key;
        match (self.own.collections.get(key), passed.in_child.all_instances) {
            (Some(asked), false) => {
                let asked = self.location(*asked);
                problems.push(diagnostics::one_for_all(key, &self.text, &asked, passed.in_child.span));
            }
            (None, true) => {
                let block = self.own.empty.get(key).copied();
                let declared = self.alias_span(key).or(block).map(|span| self.location(span));
                let span = passed.in_child.span;
                problems.push(diagnostics::all_for_one(key, &self.text, declared.as_deref(), span));
            }
            _ => {}
        }
    }

    /// Empty blocks are how modules once asked for configurations.
    fn empty_blocks(&self, problems: &mut Diagnostics) {
        let mut by_name: BTreeMap<&EcoString, (Span, Vec<EcoString>)> = BTreeMap::new();
        for (key, span) in &self.own.empty {
            let (first, aliases) = by_name.entry(&key.name).or_insert_with(|| (*span, Vec::new()));
            *first = (*first).min(*span);
            aliases.push(compact(key));
        }
        for (name, (span, aliases)) in by_name {
            let source = self.own.passed_type(name);
            problems.push(diagnostics::empty_block(name, &aliases, source.as_ref(), &self.text, span));
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::tree::tests;

    /// A root module with providers `by` (instances a and b) and `one`, that calls `m`.
    fn check(providers: &str, called: &str, expected: &Expect) {
        let fixture = format!(
            r#"
--- main.tf
language {{ experiments = [provider_collections] }}
provider "p" {{
  alias    = "by"
  for_each = toset(["a", "b"])
}}
provider "p" {{
  alias = "one"
  x     = 1
}}
module "m" {{
  source    = "./m"
  providers = {{ {providers} }}
}}
--- m/main.tf
language {{ experiments = [provider_collections] }}
{called}
--- n/main.tf
language {{ experiments = [provider_collections] }}
terraform {{
  required_providers {{
    p = {{ configuration_aliases = [p.each[*]] }}
  }}
}}
resource "p_r" "deep" {{ provider = p.each["c"] }}
--- single/main.tf
resource "p_r" "single" {{}}
"#
        );
        let mut shown = String::new();
        let mut memory = tests::Memory::new(&fixture);
        let (_, problems) =
            tests::run(&mut memory, &[], &super::super::Manifest::default(), super::super::Purpose::Use);
        for line in problems.lines().filter(|line| !line.contains("Experimental feature")) {
            shown.push_str(line);
            shown.push('\n');
        }
        expected.assert_eq(&shown);
    }

    const ASKS: &str = "terraform {\n  required_providers {\n    p = { configuration_aliases = [p.each[*]] }\n  }\n}";

    #[test]
    fn all_instances_are_passed_and_keys_are_known_on_the_way() {
        let called = format!(
            r#"{ASKS}
resource "p_r" "right" {{
  for_each = toset(["a"])
  provider = p.each[each.key]
}}
resource "p_r" "constant" {{ provider = p.each["a"] }}
module "n" {{
  source    = "../n"
  providers = {{ p.each[*] = p.each[*] }}
}}
module "single" {{
  for_each  = toset(["a"])
  source    = "../single"
  providers = {{ p = p.each[each.key] }}
}}
"#
        );
        check(
            "p.each[*] = p.by[*]",
            &called,
            &expect![[r#"
                error n/main.tf:7,36 Provider instance not declared: The provider configuration p.each has no instance "c". It has the instances "a", "b".
                warning m/main.tf:19,17 Reference to undefined provider: The required_providers of module.m.module.single have no entry "p". Yuba uses the provider hashicorp/p. Add an entry "p" with source = "hashicorp/p" to the required_providers of the module.
            "#]],
        );
    }

    #[test]
    fn one_is_not_all() {
        let asks_one = ASKS.replace("[*]", "");
        check(
            "p.each[*] = p.one[*]",
            ASKS,
            &expect![[r#"
                error main.tf:12,29 Invalid module provider configuration: The provider configuration p.one, declared at main.tf:6, has no instances, so [*] is not possible. Only a configuration with for_each, or one that configuration_aliases lists with [*], has instances.
            "#]],
        );
        check(
            "p.each[*] = p.nope[*]",
            ASKS,
            &expect![[r#"
                error main.tf:12,29 Invalid module provider configuration: This module has no instances of p.nope to pass: neither a provider "p" block with alias = "nope" and for_each, nor p.nope[*] in configuration_aliases.
            "#]],
        );
        check(
            "p.each = p.one",
            ASKS,
            &expect![[r#"
                error main.tf:12,17 Invalid module provider configuration: module.m requires all instances of a provider configuration as p.each[*], at m/main.tf:4, but this call passes a single configuration. Write p.each[*] = NAME.ALIAS[*] with a configuration that has for_each, or remove [*] from the configuration_aliases of the module.
            "#]],
        );
        check(
            "p.each = p.by[\"a\"]",
            ASKS,
            &expect![[r#"
                error main.tf:12,17 Invalid module provider configuration: module.m requires all instances of a provider configuration as p.each[*], at m/main.tf:4, but this call passes a single configuration. Write p.each[*] = NAME.ALIAS[*] with a configuration that has for_each, or remove [*] from the configuration_aliases of the module.
            "#]],
        );
        check(
            "p.each[*] = p.by[*]",
            &asks_one,
            &expect![[r#"
                error main.tf:12,17 Invalid module provider configuration: module.m requires a single provider configuration as p.each, at m/main.tf:4, but this call passes all instances of one. Select one with a key instead of [*], or change the configuration_aliases of the module to p.each[*].
            "#]],
        );
        check(
            "p.other[*] = p.by[*], p.each[*] = p.by[*]",
            ASKS,
            &expect![[r#"
                warning main.tf:12,17 Reference to undefined provider: The required_providers of module.m have no entry "p.other". Yuba uses the provider hashicorp/p. Add an entry "p.other" with source = "hashicorp/p" to the required_providers of the module.
                error main.tf:12,17 Invalid module provider configuration: module.m does not require p.other. To pass all instances of a provider configuration, add p.other[*] to the configuration_aliases of "p" in the required_providers of the module. Opt in to the experiment provider_collections there.
            "#]],
        );
        check(
            "p.each[*] = p.by",
            ASKS,
            &expect![[r#"
                error main.tf:12,17 Invalid provider configuration reference: All instances of a provider configuration can be passed only as a whole. Write [*] on both sides.
            "#]],
        );
        check(
            "p.each = p.by",
            ASKS,
            &expect![[r#"
                error main.tf:12,26 Invalid module provider configuration: This provider configuration has for_each, so a reference to it requires the key of an instance, in square brackets. To pass all instances to a called module at once, write [*] on both sides.
                error main.tf:12,17 Invalid module provider configuration: module.m requires all instances of a provider configuration as p.each[*], at m/main.tf:4, but this call passes a single configuration. Write p.each[*] = NAME.ALIAS[*] with a configuration that has for_each, or remove [*] from the configuration_aliases of the module.
            "#]],
        );
        check(
            "",
            ASKS,
            &expect![[r#"
                error main.tf:10,1 Missing required provider configuration: module.m requires a configuration of the provider hashicorp/p with the local name "p.each[*]". Add an entry for p.each[*] to the "providers" argument of this module block.
            "#]],
        );
    }

    #[test]
    fn a_collection_is_used_with_a_key() {
        let uses = format!(
            r#"{ASKS}
resource "p_r" "whole" {{ provider = p.each }}
resource "p_r" "wrong" {{ provider = p.each["c"] }}
module "whole" {{
  source    = "../single"
  providers = {{ p = p.each }}
}}
module "wrong" {{
  source    = "../single"
  providers = {{ p = p.each["z"] }}
}}
"#
        );
        check(
            "p.each[*] = p.by[*]",
            &uses,
            &expect![[r#"
                error m/main.tf:7,37 Invalid resource provider configuration: This provider configuration has for_each, so a reference to it requires the key of an instance, in square brackets.
                error m/main.tf:8,37 Provider instance not declared: The provider configuration p.each has no instance "c". It has the instances "a", "b".
                error m/main.tf:11,21 Invalid module provider configuration: This provider configuration has for_each, so a reference to it requires the key of an instance, in square brackets. To pass all instances to a called module at once, write [*] on both sides.
                error m/main.tf:15,21 Provider instance not declared: The provider configuration p.each has no instance "z". It has the instances "a", "b".
                warning m/main.tf:11,17 Reference to undefined provider: The required_providers of module.m.module.whole have no entry "p". Yuba uses the provider hashicorp/p. Add an entry "p" with source = "hashicorp/p" to the required_providers of the module.
                warning m/main.tf:15,17 Reference to undefined provider: The required_providers of module.m.module.wrong have no entry "p". Yuba uses the provider hashicorp/p. Add an entry "p" with source = "hashicorp/p" to the required_providers of the module.
            "#]],
        );
    }
}
