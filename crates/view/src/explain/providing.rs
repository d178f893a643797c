//! The provider configuration and instance that serve a resource, and where that is decided.

use yuba_addrs::{InstanceKey, ModuleInstance};
use yuba_config::resource::Resource;
use yuba_eval::ModuleId;
use yuba_eval::tree::ProviderStep;

use super::causes::{Owner, Site, Walk, call_location};
use super::shown::{self, Secrecy};
use super::{Facts, FileLine, ProviderUse};

/// The provider of a declared resource in an instance of its module. `keys` are the key of the resource instance, and the key of the
/// provider instance as the plan or the state says.
pub(super) fn of_resource(
    facts: &Facts<'_>,
    module: ModuleId,
    instance: &ModuleInstance,
    resource: &Resource,
    (instance_key, key): (Option<&InstanceKey>, Option<&InstanceKey>),
) -> Option<ProviderUse> {
    let tree = facts.tree;
    let resolved = tree.resource_provider(module, resource)?;
    let block = tree.provider_block(&resolved);
    let mut route: Vec<(String, Option<FileLine>)> = Vec::new();
    match &resource.provider {
        Some(reference) => {
            route.push((
                "The provider argument of the resource selects it.".to_owned(),
                shown::location(facts, reference.span),
            ));
        }
        None => route.push((
            format!("The resource has no provider argument. Its type {} implies the provider.", resource.key.kind),
            shown::location(facts, resource.span),
        )),
    }
    for step in tree.provider_route(module, resource) {
        route.push(match step {
            ProviderStep::Passed { module, reference } => (
                format!("The providers argument of {} passes it.", tree.node(module).path),
                shown::location(facts, reference),
            ),
            ProviderStep::Inherited { module } => (
                format!("{} inherits the default configuration of its caller.", tree.node(module).path),
                call_location(facts, module),
            ),
        });
    }
    let mut walk = Walk::new(facts);
    let key_expression = resolved.key.as_ref().map(|source| {
        let depth = tree.node(source.module).path.steps().len();
        let owner = match source.call {
            Some(call) => Owner::Call(call, instance.steps().get(depth).and_then(|step| step.key.clone())),
            None => Owner::Resource(resource, instance_key.cloned()),
        };
        let site =
            Site { module: source.module, instance: instance.steps().iter().take(depth).cloned().collect(), owner };
        walk.expression(&source.expr, &site, Secrecy::Open, &[])
    });
    let for_each = block.and_then(|block| block.for_each.as_ref()).map(|expr| {
        let depth = tree.node(resolved.module).path.steps().len();
        let instance = instance.steps().iter().take(depth).cloned().collect();
        let site = Site { module: resolved.module, instance, owner: Owner::Nothing };
        walk.expression(expr, &site, Secrecy::Open, &[])
    });
    Some(ProviderUse {
        address: tree.provider_address(&resolved).to_string(),
        key: key.map(super::instances::key_text),
        declared: block.and_then(|block| shown::location(facts, block.span)),
        route,
        key_expression,
        for_each,
    })
}

/// The provider of an object whose block is gone: the state records it.
pub(super) fn recorded(address: String, key: Option<&InstanceKey>) -> ProviderUse {
    let route = vec![("The state records it. The configuration does not declare the resource.".to_owned(), None)];
    let key = key.map(super::instances::key_text);
    ProviderUse { address, key, declared: None, route, key_expression: None, for_each: None }
}
