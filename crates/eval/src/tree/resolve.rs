//! From the name of a provider in a module to the `provider` block it stands for, and to the expression that chooses an
//! instance of it.
//!
//! A reference is followed from the module it stands in towards the root. At each module it is one of: a block of the
//! module; what the `providers` argument of the call passes under this name; for names without alias what the caller
//! uses itself. An instance key is chosen at most once on the way:
//!
//! ```text
//! resource { provider = aws.by[each.key] }        key in the scope of the resource
//! module   { providers = { aws = aws.by[each.key] } }  key in the scope of the call
//! module   { providers = { aws.all[*] = aws.by[*] } }  all instances: a reference in the called module has the key
//! ```

use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_config::module::implied_local_name;
use yuba_config::provider::{ProviderConfig, ProviderKey};
use yuba_config::resource::Resource;
use yuba_config::terraform::RequiredProvider;
use yuba_syntax::{Expr, Span};

use super::providers::configures;
use super::{ConfigTree, ModuleId};

/// The provider configuration that a reference stands for.
#[derive(Clone, Debug)]
pub struct ResolvedProvider {
    /// The provider.
    pub provider: ProviderSource,
    /// The module whose configuration it is.
    pub module: ModuleId,
    /// The block, as a key of `providers` of that module; none where there is no block and the provider is used without
    /// configuration, by the root module.
    pub block: Option<ProviderKey>,
    /// Key of the instance; none if the configuration has no `for_each`, or if the reference is to all instances.
    pub key: Option<InstanceKeySource>,
}

/// The expression that chooses an instance of a provider configuration, and where to evaluate it.
#[derive(Clone, Debug)]
pub struct InstanceKeySource {
    /// The module in whose scope it is evaluated, in the instance of that module which leads to the referring object.
    pub module: ModuleId,
    /// Whose `each` and `count` it means: none for those of the referring object itself (then `module` is the module the
    /// reference stands in), otherwise the called module in whose call it stands, so that they are those of the instance
    /// of this module.
    pub call: Option<ModuleId>,
    /// The expression.
    pub expr: Arc<Expr>,
}

/// A module call on the way from a reference to the `provider` block it stands for.
#[derive(Clone, Debug)]
pub enum ProviderStep {
    /// The call of this module passes the configuration in its `providers` argument.
    Passed {
        /// The called module.
        module: ModuleId,
        /// The reference in the call.
        reference: Span,
    },
    /// The module inherits the default configuration of its caller.
    Inherited {
        /// The called module.
        module: ModuleId,
    },
}

impl ConfigTree {
    /// The module calls through which a resource gets its provider configuration, the innermost first.
    pub fn provider_route(&self, module: ModuleId, resource: &Resource) -> Vec<ProviderStep> {
        let key = match &resource.provider {
            Some(reference) => reference.key.clone(),
            None => ProviderKey { name: implied_local_name(&resource.key.kind).into(), alias: None },
        };
        let mut route = Vec::new();
        self.follow_provider(module, &key, None, &mut |step| route.push(step));
        route
    }

    /// The provider configuration that serves a resource, with the expression that selects its instance. None if it is
    /// missing, which [`ConfigTree::unbound_resources`] reports.
    ///
    /// To find the instance for `module.a["x"].module.b[0].t.r["k"]`, evaluate `key.expr` in the scope of the instance of
    /// `key.module` that is a prefix of this address, with `each` and `count` of `t.r["k"]`, or, if `key.call` is set,
    /// of the last step of the instance of `key.call`; the result, as a string, is one of the keys of the `for_each` of
    /// the block.
    pub fn resource_provider(&self, module: ModuleId, resource: &Resource) -> Option<ResolvedProvider> {
        match &resource.provider {
            Some(reference) => self.resolve_provider(module, &reference.key, reference.instance.as_ref()),
            None => {
                let key = ProviderKey { name: implied_local_name(&resource.key.kind).into(), alias: None };
                self.resolve_provider(module, &key, None)
            }
        }
    }

    /// The provider configuration that a name in a module stands for, with the expression that chooses its instance:
    /// `instance` if the reference has one, otherwise that of the call which passes one instance. See
    /// [`ConfigTree::resource_provider`] for how to use the result.
    pub fn resolve_provider(
        &self,
        module: ModuleId,
        key: &ProviderKey,
        instance: Option<&Arc<Expr>>,
    ) -> Option<ResolvedProvider> {
        self.follow_provider(module, key, instance, &mut |_| {})
    }

    fn follow_provider(
        &self,
        module: ModuleId,
        key: &ProviderKey,
        instance: Option<&Arc<Expr>>,
        visit: &mut dyn FnMut(ProviderStep),
    ) -> Option<ResolvedProvider> {
        let provider = self.provider_type(module, &key.name)?;
        let mut chosen = instance.map(|expr| InstanceKeySource { module, call: None, expr: Arc::clone(expr) });
        let (mut module, mut key) = (module, key.clone());
        loop {
            let node = self.node(module);
            let block = node.module.providers.get(&key);
            if let Some(call) = self.call(module)
                && let Some(parent) = node.parent
                && let Some(passed) = call.providers.iter().find(|passed| passed.in_child.key == key)
                && !block.is_some_and(configures)
            {
                if chosen.is_none() {
                    let choose =
                        |expr: &Arc<Expr>| InstanceKeySource { module: parent, call: Some(module), expr: expr.clone() };
                    chosen = passed.in_parent.instance.as_ref().map(choose);
                }
                visit(ProviderStep::Passed { module, reference: passed.in_parent.span });
                key = passed.in_parent.key.clone();
                module = parent;
                continue;
            }
            if block.is_some() {
                return Some(ResolvedProvider { provider, module, block: Some(key), key: chosen });
            }
            // The block may have another local name for the same provider.
            let other = node.module.providers.keys().find(|other| {
                other.alias == key.alias && self.provider_type(module, &other.name).as_ref() == Some(&provider)
            });
            if let Some(other) = other {
                return Some(ResolvedProvider { provider, module, block: Some(other.clone()), key: chosen });
            }
            match node.parent {
                _ if key.alias.is_some() => return None,
                None => return Some(ResolvedProvider { provider, module, block: None, key: chosen }),
                Some(parent) => {
                    visit(ProviderStep::Inherited { module });
                    key = ProviderKey { name: self.local_name(parent, &provider, &key.name), alias: None };
                    module = parent;
                }
            }
        }
    }

    /// The block of a configuration; none where the provider is used without one.
    pub fn provider_block(&self, resolved: &ResolvedProvider) -> Option<&ProviderConfig> {
        self.node(resolved.module).module.providers.get(resolved.block.as_ref()?)
    }

    /// The `for_each` of a provider configuration that must be evaluated together with everything else, because it is not
    /// static (feature `dynamic_provider_for_each`). The instances of static ones are in `provider_instances` of their module.
    pub fn dynamic_for_each<'c>(&self, module: ModuleId, provider: &'c ProviderConfig) -> Option<&'c Arc<Expr>> {
        let is_static = self.node(module).provider_instances.contains_key(&provider.key);
        provider.for_each.as_ref().filter(|_| !is_static)
    }

    /// The address of a configuration, as it stands in states: `module.a.provider["registry.opentofu.org/x/y"].alias`.
    pub fn provider_address(&self, resolved: &ResolvedProvider) -> AbsProviderConfig {
        AbsProviderConfig {
            module: self.node(resolved.module).path.clone(),
            provider: resolved.provider.clone(),
            alias: resolved.block.as_ref().and_then(|block| block.alias.clone()),
        }
    }

    /// Local name of a provider in a module.
    fn local_name(&self, module: ModuleId, provider: &ProviderSource, fallback: &EcoString) -> EcoString {
        let required = &self.node(module).module.requirements.providers;
        let is_it = |required: &&RequiredProvider| required.provider == *provider;
        match required.get(fallback).filter(is_it).or_else(|| required.values().find(is_it)) {
            Some(required) => required.name.clone(),
            None => fallback.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::tree::tests::{Memory, run};
    use crate::tree::{Manifest, Purpose};

    /// For every resource: block and key, with the scopes in which they are found.
    fn check(fixture: &str, expected: &Expect) {
        let mut memory = Memory::new(fixture);
        let (tree, problems) = run(&mut memory, &[], &Manifest::default(), Purpose::Use);
        assert!(!problems.contains("Error"), "{problems}");
        let mut found = Vec::new();
        for (id, node) in tree.iter() {
            for resource in node.module.resources.values() {
                let resolved =
                    tree.resource_provider(id, resource).expect("because every resource here has a provider");
                let key = match &resolved.key {
                    None => String::new(),
                    Some(key) => {
                        let file = memory.sources.get(key.expr.span.file).expect("because the file was read");
                        let text = file.text(key.expr.span.start as usize, key.expr.span.end as usize);
                        let each = key.call.map_or_else(|| "own".into(), |call| tree.node(call).path.to_string());
                        format!(" [{text}] in {:?} each {each}", tree.node(key.module).path.to_string())
                    }
                };
                let address = tree.provider_address(&resolved).to_string();
                let address = address.replace("registry.opentofu.org/hashicorp/", "");
                found.push(format!("{}.{} {address}{key}", node.path, resource.key.name));
            }
        }
        expected.assert_eq(&(found.join("\n") + "\n"));
    }

    #[test]
    fn keys_come_from_the_resource_or_from_a_call() {
        check(
            r#"
--- main.tf
provider "p" {
  alias    = "by"
  for_each = toset(["a", "b"])
}
provider "p" {
  x = 1
}
resource "p_r" "plain" {}
resource "p_r" "keyed" {
  for_each = toset(["a"])
  provider = p.by[each.key]
}
module "m" {
  source    = "./m"
  for_each  = toset(["a"])
  providers = { p = p.by[each.key], p.two = p.by["b"] }
}
module "plain" {
  source = "./n"
}
--- m/main.tf
terraform {
  required_providers {
    p = { configuration_aliases = [p.two] }
  }
}
resource "p_r" "one" {}
module "n" {
  source = "../n"
}
module "two" {
  source    = "../n"
  providers = { p = p.two }
}
--- n/main.tf
resource "p_r" "deep" {}
"#,
            &expect![[r#"
                .keyed provider["p"].by [each.key] in "" each own
                .plain provider["p"]
                module.m.one provider["p"].by [each.key] in "" each module.m
                module.m.module.n.deep provider["p"].by [each.key] in "" each module.m
                module.m.module.two.deep provider["p"].by [p.by["b"]] in "" each module.m
                module.plain.deep provider["p"]
            "#]],
        );
    }

    #[test]
    fn all_instances_are_passed_through_modules() {
        let asks = "language { experiments = [provider_collections] }\nterraform {\n  required_providers {\n    p = { \
                    configuration_aliases = [p.all[*]] }\n  }\n}\n";
        let fixture = format!(
            r#"
--- main.tf
language {{ experiments = [provider_collections] }}
provider "p" {{
  alias    = "by"
  for_each = toset(["a", "b"])
}}
module "m" {{
  source    = "./m"
  count     = 2
  providers = {{ p.all[*] = p.by[*] }}
}}
--- m/main.tf
{asks}
module "n" {{
  source    = "../n"
  providers = {{ p.all[*] = p.all[*] }}
}}
module "one" {{
  for_each  = toset(["b"])
  source    = "../one"
  providers = {{ p = p.all[each.key] }}
}}
--- n/main.tf
{asks}
resource "p_r" "deep" {{
  for_each = toset(["a"])
  provider = p.all[each.value]
}}
--- one/main.tf
resource "p_r" "one" {{}}
"#
        );
        check(
            &fixture,
            &expect![[r#"
                module.m.module.n.deep provider["p"].by [each.value] in "module.m.module.n" each own
                module.m.module.one.one provider["p"].by [each.key] in "module.m" each module.m.module.one
            "#]],
        );
    }
}
