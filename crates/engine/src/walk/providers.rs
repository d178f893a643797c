//! Provider instances: started and configured when the walk visits their block, and looked up by resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use futures_util::future::join_all;
use tracing::Instrument as _;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, InstanceKey};
use yuba_config::provider::ProviderConfig;
use yuba_config::resource::Repetition;
use yuba_eval::tree::{InstanceKeySource, ResolvedProvider};
use yuba_eval::{Expansion, InstanceValues, ModuleId, ModuleInstanceId};
use yuba_provider::{BlockSchema, Provider, Providers};
use yuba_syntax::{Body, Diagnostic, Diagnostics, Span};
use yuba_value::Value;

use super::block::BlockInstance;
use super::{Walk, WalkAnswer};
use crate::diagnostics;
use crate::drive::Jobs;
use crate::interrupt::Started;

/// A running provider, or none if starting or configuring it failed.
type Slot = Option<Arc<dyn Provider>>;

/// The instances of a provider configuration.
enum Configured {
    Single(Slot),
    Keyed(BTreeMap<EcoString, Slot>),
}

/// All provider instances.
#[derive(Default)]
pub(crate) struct ProviderTable {
    configured: HashMap<AbsProviderConfig, Configured>,
    started: Started,
}

/// The provider of an instance of a resource.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) config: AbsProviderConfig,
    pub(crate) key: Option<InstanceKey>,
    pub(crate) provider: Arc<dyn Provider>,
}

/// Reason why an instance of a resource does not have a provider.
pub(crate) enum NoServer {
    /// Its provider could not be configured, which was reported.
    Failed,
    /// There is no such configuration.
    NoConfiguration,
    /// The configuration has no such instance, but these.
    NoInstance(Vec<EcoString>),
    /// The configuration has instances, and none was chosen.
    KeyMissing(Vec<EcoString>),
}

/// A provider to be configured.
pub(crate) struct ProviderJob<'a> {
    pub(crate) config: AbsProviderConfig,
    key: Option<EcoString>,
    value: Value,
    body: Option<&'a Body>,
    /// Reason why it cannot be configured.
    missing: Diagnostics,
    providers: &'a dyn Providers,
    started: Started,
}

/// A provider that was configured, or not.
pub(crate) struct ProviderAnswer {
    config: AbsProviderConfig,
    key: Option<EcoString>,
    provider: Slot,
    problems: Diagnostics,
}

impl<'a> ProviderJob<'a> {
    pub(crate) async fn run(self) -> ProviderAnswer {
        if self.missing.has_errors() {
            return ProviderAnswer { config: self.config, key: self.key, provider: None, problems: self.missing };
        }
        let mut problems = self.missing;
        let address = match &self.key {
            None => eco_format!("{}", self.config),
            Some(key) => eco_format!("{}{}", self.config, InstanceKey::String(key.clone())),
        };
        let mut provider = match self.providers.start(&self.config) {
            Ok(provider) => {
                self.started.push(provider.clone());
                Some(provider)
            }
            Err(problem) => {
                problems.push(problem.diagnostic);
                None
            }
        };
        if let Some(started) = &provider {
            let located = |problem: yuba_provider::Problem| match self.body {
                Some(body) => problem.in_body(body, Some(&address)),
                None => problem.diagnostic,
            };
            let found = started.validate_provider_config(self.value.clone()).await;
            problems.extend(found.into_iter().map(located));
            if !problems.has_errors() {
                problems.extend(started.configure(self.value.clone()).await.into_iter().map(located));
            }
            if problems.has_errors() {
                provider = None;
            }
        }
        if let Some(key) = &self.key {
            problems = yuba_eval::of_provider_instance(problems, &self.config, &InstanceKey::String(key.clone()));
        }
        ProviderAnswer { config: self.config, key: self.key, provider, problems }
    }
}

/// Required arguments of a provider without a configuration.
fn missing(config: &AbsProviderConfig, schema: &BlockSchema) -> Diagnostics {
    let source = &config.provider;
    let arguments = schema.attributes().iter().filter(|(_, attribute)| attribute.required);
    let arguments = arguments.map(|(name, _)| diagnostics::provider_argument_missing(source, name));
    let blocks = schema.blocks().iter().filter(|(_, block)| block.min > 0);
    let blocks = blocks.map(|(name, _)| diagnostics::provider_block_missing(source, name));
    let mut problems = Diagnostics::new();
    arguments.chain(blocks).for_each(|problem| problems.push(problem));
    problems
}

impl ProviderTable {
    fn insert(&mut self, answer: ProviderAnswer) {
        match answer.key {
            None => {
                self.configured.insert(answer.config, Configured::Single(answer.provider));
            }
            Some(key) => {
                let keyed = Configured::Keyed(BTreeMap::new());
                if let Configured::Keyed(slots) = self.configured.entry(answer.config).or_insert(keyed) {
                    slots.insert(key, answer.provider);
                }
            }
        }
    }

    /// Everything that was started so far, and will be.
    pub(crate) fn started(&self) -> Started {
        self.started.clone()
    }

    /// Whether a configuration is known.
    pub(crate) fn contains(&self, config: &AbsProviderConfig) -> bool {
        self.configured.contains_key(config)
    }

    /// The provider of a configuration, by key if it has instances.
    pub(crate) fn find(&self, config: &AbsProviderConfig, key: Option<&EcoString>) -> Result<Server, NoServer> {
        let slot = match (self.configured.get(config), key) {
            (None, _) => return Err(NoServer::NoConfiguration),
            (Some(Configured::Single(slot)), _) => slot,
            (Some(Configured::Keyed(slots)), Some(key)) => match slots.get(key) {
                Some(slot) => slot,
                None => return Err(NoServer::NoInstance(slots.keys().cloned().collect())),
            },
            (Some(Configured::Keyed(slots)), None) => {
                return Err(NoServer::KeyMissing(slots.keys().cloned().collect()));
            }
        };
        let is_single = matches!(self.configured.get(config), Some(Configured::Single(_)));
        let key = key.filter(|_| !is_single).map(|key| InstanceKey::String(key.clone()));
        match slot {
            Some(provider) => Ok(Server { config: config.clone(), key, provider: provider.clone() }),
            None => Err(NoServer::Failed),
        }
    }
}

impl<'a> Walk<'a> {
    /// Hands out the configuration of each instance of a provider block. Whether everything about it is known.
    pub(crate) async fn begin_provider<T: From<WalkAnswer<'a>> + 'a>(
        &mut self,
        module: ModuleId,
        block: &'a ProviderConfig,
        jobs: &mut Jobs<'a, T>,
    ) -> bool {
        let (found, ok) = self.provider_jobs(module, block).await;
        for job in found {
            jobs.push(move || async move {
                let span = tracing::debug_span!("configure provider", address = %job.config);
                WalkAnswer::Provider(job.run().instrument(span).await).into()
            });
        }
        ok
    }

    async fn provider_jobs(&mut self, module: ModuleId, block: &'a ProviderConfig) -> (Vec<ProviderJob<'a>>, bool) {
        let tree = self.context.tree;
        let Some(provider) = tree.provider_type(module, &block.key.name) else { return (Vec::new(), true) };
        let config =
            AbsProviderConfig { module: tree.node(module).path.clone(), provider, alias: block.key.alias.clone() };
        let Some(schemas) = self.evaluation.provider_schema(&config.provider) else { return (Vec::new(), false) };
        let mut schema = schemas.provider.block.clone();
        schema.ephemeral = true;
        let mut jobs = Vec::new();
        let mut ok = true;
        for at in self.live.instances(module) {
            let scope = self.scope(at);
            let expansion = if let Some(instances) = tree.node(module).provider_instances.get(&block.key) {
                Expansion::ForEach(Arc::new(instances.clone()))
            } else if let Some(expr) = tree.dynamic_for_each(module, block) {
                let repetition = Repetition::ForEach(expr.clone());
                let (expansion, found) = self.settle(|| scope.expand(&repetition)).await;
                ok &= self.report(found);
                let Some(expansion) = expansion else { continue };
                expansion
            } else {
                Expansion::Single
            };
            if matches!(expansion, Expansion::ForEach(_)) {
                self.providers.configured.entry(config.clone()).or_insert(Configured::Keyed(BTreeMap::new()));
            }
            for (key, values) in expansion.instances() {
                let (value, found) = match block.is_mock {
                    true => (schema.empty_value(), Diagnostics::new()),
                    false => {
                        let scope = scope.clone().of_instance(values);
                        self.settle(|| scope.eval_body(&block.body, &schema)).await
                    }
                };
                let found = match &key {
                    Some(key) => yuba_eval::of_provider_instance(found, &config, key),
                    None => found,
                };
                let good = self.report(found);
                ok &= good;
                let key = match key {
                    Some(InstanceKey::String(key)) => Some(key),
                    _ => None,
                };
                if good {
                    let (value, _) = value.unmark_deep();
                    let (providers, started) = (self.context.env.providers, self.providers.started());
                    let (body, missing) = (Some(&block.body), Diagnostics::new());
                    jobs.push(ProviderJob { config: config.clone(), key, value, body, missing, providers, started });
                } else {
                    let problems = Diagnostics::new();
                    self.providers.insert(ProviderAnswer { config: config.clone(), key, provider: None, problems });
                }
            }
        }
        (jobs, ok)
    }

    /// A provider that is used without any block.
    fn bare_provider_job(&self, config: &AbsProviderConfig) -> Option<ProviderJob<'a>> {
        let schemas = self.evaluation.provider_schema(&config.provider)?;
        let (value, missing) = (schemas.provider.block.empty_value(), missing(config, &schemas.provider.block));
        let (providers, started) = (self.context.env.providers, self.providers.started());
        Some(ProviderJob { config: config.clone(), key: None, value, body: None, missing, providers, started })
    }

    /// Starts providers that are used without any block; reports those that are missing.
    /// Starting and configuring takes long, so all of them do it at the same time.
    pub(crate) async fn start_bare_providers(&mut self, wanted: Vec<AbsProviderConfig>) {
        let mut jobs = Vec::new();
        for config in wanted {
            match self.bare_provider_job(&config) {
                Some(job) => {
                    let span = tracing::debug_span!("configure provider", address = %config);
                    jobs.push(job.run().instrument(span));
                }
                None => {
                    let found = yuba_eval::missing_provider(&config.provider);
                    self.report(std::iter::once(found));
                }
            }
        }
        for answer in join_all(jobs).await {
            self.provider_answer(answer);
        }
    }

    /// Stores a provider, configured or failed.
    pub(crate) fn provider_answer(&mut self, mut answer: ProviderAnswer) -> bool {
        let ok = self.report(std::mem::take(&mut answer.problems));
        if let Some(provider) = &answer.provider {
            self.live.set_provider(answer.config.clone(), answer.key.clone(), provider.clone());
        }
        self.providers.insert(answer);
        ok
    }

    /// The provider of an instance in the configuration; reports a missing one at `span`.
    pub(crate) async fn server(
        &mut self,
        resolved: &ResolvedProvider,
        span: Span,
        at: ModuleInstanceId,
        values: &InstanceValues,
        addr: &AbsResourceInstance,
    ) -> Option<Server> {
        let config = self.context.tree.provider_address(resolved);
        let (key, span) = match &resolved.key {
            None => (None, span),
            Some(source) => (Some(self.instance_key(source, at, values).await?), source.expr.span),
        };
        match self.providers.find(&config, key.as_ref()) {
            Ok(server) => Some(self.standing_in(server, addr)),
            Err(NoServer::NoInstance(keys)) => {
                let key = key.unwrap_or_default();
                self.not_declared(Undeclared { config, key, address: eco_format!("{addr}"), keys, span });
                None
            }
            Err(reason) => {
                let found = no_server(&reason, &config, &eco_format!("{addr}"), span);
                self.report(found);
                None
            }
        }
    }

    /// The server of an instance of a resource block.
    pub(crate) async fn block_server(&mut self, instance: &BlockInstance<'_, 'a>) -> Option<Server> {
        let BlockInstance { block, at, addr, values } = instance;
        self.server(&block.resolved, block.resource.span, *at, values, addr).await
    }

    /// The same, unless another provider serves the instance.
    pub(crate) fn standing_in(&self, mut server: Server, addr: &AbsResourceInstance) -> Server {
        let substitutions = self.context.substitutions;
        if let Some(other) = substitutions.stand_in(&server.config, server.key.as_ref(), addr, &server.provider) {
            server.provider = other;
        }
        server
    }

    async fn instance_key(
        &mut self,
        source: &InstanceKeySource,
        at: ModuleInstanceId,
        values: &InstanceValues,
    ) -> Option<EcoString> {
        let scope = match source.call {
            None => self.scope(at).of_instance(values.clone()),
            Some(call) => {
                let mut child = at;
                while self.live.module(child) != call {
                    child = self.live.parent(child)?;
                }
                self.scope(self.live.parent(child)?).of_instance(self.live.call_values(child))
            }
        };
        let (key, found) = self.settle(|| scope.provider_instance_key(&source.expr)).await;
        self.report(found);
        key
    }
}

/// A declared instance that asks for a provider instance which does not exist.
pub(crate) struct Undeclared {
    config: AbsProviderConfig,
    key: EcoString,
    address: EcoString,
    /// The keys of the configuration.
    keys: Vec<EcoString>,
    span: Span,
}

/// One error for all instances that one expression chooses wrong keys for.
pub(super) fn report_undeclared(found: Vec<Undeclared>) -> Vec<Diagnostic> {
    let mut groups: Vec<Vec<Undeclared>> = Vec::new();
    let mut by_place: HashMap<(Span, AbsProviderConfig), usize> = HashMap::default();
    for one in found {
        let at = *by_place.entry((one.span, one.config.clone())).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut problems = Vec::with_capacity(groups.len());
    for group in &groups {
        let [first, ..] = group.as_slice() else { continue };
        let Undeclared { config, key, address, keys, span } = first;
        problems.push(match group.len() {
            1 => diagnostics::provider_instance_not_declared(address, key, config, keys, *span),
            _ => {
                let selected = group.iter().map(|one| (&one.address, &one.key));
                diagnostics::provider_instances_not_declared(selected, config, keys, *span)
            }
        });
    }
    problems
}

/// Reason why a declared instance has no provider.
fn no_server(reason: &NoServer, config: &AbsProviderConfig, address: &str, span: Span) -> Option<Diagnostic> {
    match reason {
        NoServer::Failed | NoServer::NoInstance(_) => None,
        NoServer::NoConfiguration => Some(diagnostics::provider_configuration_missing(address, config, span)),
        NoServer::KeyMissing(keys) => Some(diagnostics::provider_key_missing(address, config, keys, span)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yuba_addrs::ProviderSource;
    use yuba_provider::{Attribute, NestedBlock, Nesting};
    use yuba_value::Type;

    #[test]
    fn what_a_provider_without_a_block_lacks() {
        let nested = |min| NestedBlock { nesting: Nesting::List, min, max: 0, block: BlockSchema::default() };
        let schema = BlockSchema::new([
            ("maybe", Attribute::optional(Type::string())),
            ("url", Attribute::required(Type::string())),
        ])
        .with_blocks([("login", nested(1)), ("more", nested(0))]);
        let provider = ProviderSource::builtin("p");
        let config = AbsProviderConfig { module: yuba_addrs::ModulePath::default(), provider, alias: None };
        let titles: Vec<EcoString> = missing(&config, &schema).iter().map(|problem| problem.summary.clone()).collect();
        assert_eq!(titles, ["Missing required attribute", "Insufficient login blocks"]);
    }
}
