//! A resource block on its way through the walk: what is the same for all its instances, and what each of them needs.

use std::sync::Arc;

use ecow::{EcoString, eco_format};
use tracing::Instrument as _;
use yuba_addrs::{AbsResource, AbsResourceInstance, ResourceMode};
use yuba_config::provisioner::ProvisionerWhen;
use yuba_config::resource::Resource;
use yuba_eval::tree::ResolvedProvider;
use yuba_eval::{Expansion, InstanceValues, ModuleId, ModuleInstanceId, ModuleScope, RuleKind, schema_of};
use yuba_provider::{BlockSchema, EPHEMERAL_VALUE_STORED, Problem, ProviderSchema};
use yuba_state::{CheckKind, DeposedKey};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::{Number, Path, Value};

use super::checks::{in_instance, in_module};
use super::data::DataJob;
use super::ephemeral::OpenJob;
use super::providers::Server;
use super::provision;
use super::{Rules, Walk, WalkAnswer};
use crate::diagnostics;
use crate::drive::Jobs;
use crate::object::Subject;

/// Shared data of all instances of a resource.
pub(crate) struct Block<'a> {
    /// Its vertex in the reference graph.
    pub(crate) vertex: u32,
    pub(crate) module: ModuleId,
    pub(crate) resource: &'a Resource,
    pub(crate) resolved: ResolvedProvider,
    pub(crate) schemas: Arc<ProviderSchema>,
    pub(crate) skip_destroy: bool,
    /// The body refers to the resource itself somewhere.
    refers_to_itself: bool,
    /// The body calls functions of providers somewhere.
    calls_functions: bool,
}

impl Block<'_> {
    pub(crate) fn schema(&self) -> Option<&BlockSchema> {
        schema_of(&self.schemas, &self.resource.key)
    }
}

/// An instance of a resource block that the configuration has.
pub(crate) struct BlockInstance<'b, 'a> {
    pub(crate) block: &'b Block<'a>,
    /// The instance of the module.
    pub(crate) at: ModuleInstanceId,
    pub(crate) addr: AbsResourceInstance,
    /// `count` and `each`.
    pub(crate) values: InstanceValues,
}

impl<'a> Walk<'a> {
    /// Looks at a resource block; none if it cannot be worked with, which was reported.
    pub(crate) fn block(&mut self, vertex: u32, module: ModuleId, resource: &'a Resource) -> Option<Block<'a>> {
        let tree = self.context.tree;
        let resolved = tree.resource_provider(module, resource)?;
        let schemas = self.evaluation.provider_schema(&resolved.provider)?;
        let (skip_destroy, found) = skip_destroy(resource);
        if !self.report(found) {
            return None;
        }
        let Some(schema) = schema_of(&schemas, &resource.key) else {
            let problem = diagnostics::unsupported_type(&resolved.provider, &resource.key, resource.kind_span);
            self.report(std::iter::once(problem));
            return None;
        };
        let scope = self.evaluation.scope(module);
        let refers_to_itself = scope.refers_to(&resource.body, schema, &resource.key);
        let calls_functions = scope.calls_functions(&resource.body, schema);
        Some(Block { vertex, module, resource, resolved, schemas, skip_destroy, refers_to_itself, calls_functions })
    }

    /// Shared data of all operations on an object.
    pub(crate) async fn subject(
        &mut self,
        addr: &AbsResourceInstance,
        server: &Server,
        schemas: &Arc<ProviderSchema>,
        resource: Option<&'a Resource>,
        deposed: Option<DeposedKey>,
    ) -> Subject<'a> {
        let provider_name = match &server.key {
            None => eco_format!("{}", server.config),
            Some(key) => eco_format!("{}{key}", server.config),
        };
        Subject {
            context: self.context,
            addr: addr.clone(),
            deposed,
            provider: server.provider.clone(),
            provider_name,
            schemas: schemas.clone(),
            body: resource.map(|resource| &resource.body),
            meta: self.provider_meta(addr, server, schemas).await,
        }
    }

    /// Value of `provider_meta` in the module of an object; null if it is not set.
    async fn provider_meta(&mut self, addr: &AbsResourceInstance, server: &Server, schemas: &ProviderSchema) -> Value {
        if !self.has_provider_meta {
            return Value::null_dynamic();
        }
        let key = (addr.module.clone(), server.config.provider.clone());
        if let Some(known) = self.metas.get(&key) {
            return known.clone();
        }
        let tree = self.context.tree;
        let module = tree.find(&addr.module.module());
        let meta = module.and_then(|module| tree.node(module).module.provider_metas.get(&server.config.provider));
        let value = match (meta, self.live.find(&addr.module), &schemas.meta) {
            (Some(meta), Some(at), Some(schema)) => {
                let (value, found) = self.settle(|| self.scope(at).eval_body(&meta.body, &schema.block)).await;
                self.report(found);
                value.unmark_deep().0
            }
            (Some(meta), _, None) => {
                let provider = server.config.provider.for_display();
                let problem = diagnostics::provider_meta_unsupported(&provider, addr, meta.span);
                self.report(std::iter::once(problem));
                Value::null_dynamic()
            }
            _ => Value::null_dynamic(),
        };
        self.metas.insert(key, value.clone());
        value
    }

    /// The location of an instance's body.
    pub(crate) fn instance_scope(&self, instance: &BlockInstance<'_, 'a>) -> ModuleScope<'a> {
        self.body_scope(instance.block, instance.at, instance.values.clone())
    }

    /// Makes the calls of provider functions that the bodies of all instances need at the same time. Otherwise each instance
    /// would wait for its own.
    pub(crate) async fn call_ahead(&self, block: &Block<'a>, at: ModuleInstanceId, expansion: &Expansion) {
        let Some(schema) = block.schema().filter(|_| block.calls_functions && expansion.len() > 1) else { return };
        let scopes: Vec<_> = expansion.instances().map(|(_, values)| self.body_scope(block, at, values)).collect();
        self.settle(|| scopes.iter().for_each(|scope| drop(scope.eval_body(&block.resource.body, schema)))).await;
    }

    fn body_scope(&self, block: &Block<'a>, at: ModuleInstanceId, values: InstanceValues) -> ModuleScope<'a> {
        let scope = self.scope(at).of_instance(values);
        match &block.resource.inside_check {
            Some(check) => scope.in_check(check),
            None => scope,
        }
    }

    /// Checks the preconditions of an instance. Whether they hold; if not, that was reported.
    pub(crate) async fn preconditions(&mut self, instance: &BlockInstance<'_, 'a>) -> bool {
        let (block, resource) = (instance.block, instance.block.resource);
        let scope = self.instance_scope(instance);
        let Some(schema) = block.schema() else { return false };
        if block.refers_to_itself {
            let found = scope.self_references(&resource.body, schema, &resource.key, instance.addr.key.as_ref());
            if !self.report(found) {
                return false;
            }
        }
        if resource.lifecycle.preconditions.is_empty() {
            return true;
        }
        let (config, object) = self.check_names(block.module, &instance.addr);
        let rules = &resource.lifecycle.preconditions;
        let rules = Rules { rules, kind: RuleKind::ResourcePrecondition, first: 0 };
        self.rules(&scope, &rules, &config, &object).await
    }

    /// Checks the preconditions of an instance and evaluates its configuration. Returns none after it has reported an
    /// error.
    pub(crate) async fn config_of(&mut self, instance: &BlockInstance<'_, 'a>) -> Option<Value> {
        if !self.preconditions(instance).await {
            return None;
        }
        let (resource, addr) = (instance.block.resource, &instance.addr);
        let scope = self.instance_scope(instance);
        let schema = instance.block.schema()?;
        let evaluate = || {
            let (config, mut found) = scope.eval_body(&resource.body, schema);
            if !self.live.applying && !resource.provisioners.is_empty() {
                found.extend(deprecated_in_provisioners(&scope, resource));
            }
            (config, found)
        };
        let (config, found) = self.settle(evaluate).await;
        let found = found.into_iter().map(|mut problem| {
            if problem.deprecation().is_some() || problem.is(&EPHEMERAL_VALUE_STORED) {
                problem.address.get_or_insert_with(|| eco_format!("{addr}"));
            }
            problem
        });
        if !self.report(found) || !self.report(infinite_arguments(resource, addr, &config)) {
            return None;
        }
        Some(config.with_machine_floats())
    }

    /// The provider of an instance and its configuration. Returns none after it has reported an error.
    pub(crate) async fn served_config(&mut self, instance: &BlockInstance<'_, 'a>) -> Option<(Server, Value)> {
        let server = self.block_server(instance).await?;
        Some((server, self.config_of(instance).await?))
    }

    /// A data resource that is to be read.
    pub(crate) async fn data_job(
        &mut self,
        instance: &BlockInstance<'_, 'a>,
        server: Server,
        config: Value,
    ) -> DataJob<'a> {
        let (block, at) = (instance.block, instance.at);
        let subject = self.subject(&instance.addr, &server, &block.schemas, Some(block.resource), None).await;
        DataJob { subject, resource: block.resource, server, at, config }
    }

    /// Hands out an ephemeral resource that is to be opened.
    pub(crate) async fn begin_open<T: From<WalkAnswer<'a>> + 'a>(
        &mut self,
        instance: &BlockInstance<'_, 'a>,
        server: &Server,
        config: Value,
        jobs: &mut Jobs<'a, T>,
    ) {
        let (block, at) = (instance.block, instance.at);
        let subject = self.subject(&instance.addr, server, &block.schemas, Some(block.resource), None).await;
        let job = OpenJob { subject, resource: block.resource, at, config };
        jobs.push(move || async move {
            let span = tracing::debug_span!("open ephemeral instance", address = %job.subject.addr);
            WalkAnswer::Opened(Box::new(job.run().instrument(span).await)).into()
        });
    }

    /// Checks the postconditions of an instance.
    pub(crate) async fn postconditions(
        &mut self,
        at: ModuleInstanceId,
        resource: &'a Resource,
        addr: &AbsResourceInstance,
        value: Value,
    ) -> bool {
        if resource.lifecycle.postconditions.is_empty() {
            return true;
        }
        let values = self.values_of(at, resource, addr);
        let scope = self.scope(at).of_instance(values).with_self_value(resource, value);
        let (config, object) = self.check_names(self.live.module(at), addr);
        let lifecycle = &resource.lifecycle;
        let first = lifecycle.preconditions.len();
        let rules = Rules { rules: &lifecycle.postconditions, kind: RuleKind::ResourcePostcondition, first };
        self.rules(&scope, &rules, &config, &object).await
    }

    /// `each` and `count` of an instance.
    pub(crate) fn values_of(
        &self,
        at: ModuleInstanceId,
        resource: &Resource,
        addr: &AbsResourceInstance,
    ) -> InstanceValues {
        let expansion = self.live.resource_expansion(at, &resource.key);
        expansion.and_then(|expansion| expansion.values_of(addr.key.as_ref())).unwrap_or_default()
    }

    /// The instances of a resource are known from now on, if it has conditions.
    pub(crate) fn expect_instances(&mut self, module: ModuleId, resource: &Resource) {
        if has_conditions(resource) {
            let name = eco_format!("{}", yuba_addrs::Resource::from(&resource.key));
            let config = in_module(&self.context.tree.node(module).path, &name);
            self.checks.expect(CheckKind::Resource, &config, std::iter::empty());
        }
    }

    /// Registers the instances of a resource in an instance of its module, with conditions that are not evaluated yet.
    pub(crate) fn expect_instances_in(
        &mut self,
        module: ModuleId,
        resource: &Resource,
        abs: &AbsResource,
        expansion: &Expansion,
    ) {
        if !has_conditions(resource) {
            return;
        }
        let instances = expansion.instances().map(|(key, _)| abs.clone().instance(key));
        for addr in instances {
            let (config, object) = self.check_names(module, &addr);
            self.checks.expect(CheckKind::Resource, &config, std::iter::once(object));
        }
    }

    /// Addresses for the results of conditions: of the block and of the instance.
    pub(crate) fn check_names(&self, module: ModuleId, addr: &AbsResourceInstance) -> (EcoString, EcoString) {
        let name = eco_format!("{}", addr.resource);
        let config = in_module(&self.context.tree.node(module).path, &name);
        let key = addr.key.as_ref().map(|key| eco_format!("{key}")).unwrap_or_default();
        (config, in_instance(&addr.module, &eco_format!("{name}{key}")))
    }
}

/// The arguments that are or contain an infinite number. No state can hold one.
fn infinite_arguments(resource: &Resource, addr: &AbsResourceInstance, config: &Value) -> Diagnostics {
    let mut found = Diagnostics::new();
    if resource.key.mode == ResourceMode::Ephemeral || !config.has_number(&Number::is_infinite) {
        return found;
    }
    for (name, value) in config.entries().unwrap_or_default() {
        if value.has_number(&Number::is_infinite) {
            let problem = Problem::at(diagnostics::infinite_argument(&name), Path::new().attr(&name));
            found.push(problem.in_body(&resource.body, Some(&eco_format!("{addr}"))));
        }
    }
    found
}

/// Whether a resource has conditions of any kind.
pub(crate) fn has_conditions(resource: &Resource) -> bool {
    !resource.lifecycle.preconditions.is_empty() || !resource.lifecycle.postconditions.is_empty()
}

/// `lifecycle.destroy = false`
pub(crate) fn skip_destroy(resource: &Resource) -> (bool, Diagnostics) {
    let Some(expr) = &resource.lifecycle.destroy else { return (false, Diagnostics::new()) };
    let (value, problems) = yuba_eval::constant(expr);
    match value.as_bool() {
        Some(destroy) if !problems.has_errors() => (!destroy, problems),
        _ => (false, diagnostics::invalid_lifecycle_destroy(expr.span).into()),
    }
}

/// Deprecated values in arguments of provisioners and connections, which are evaluated again when an object is created.
/// Other checks of these arguments are impossible before.
fn deprecated_in_provisioners(scope: &ModuleScope<'_>, resource: &Resource) -> Diagnostics {
    let scope = scope.clone().with_self_value(resource, Value::unknown_dynamic());
    let created = ProvisionerWhen::Create;
    let (_, found) = provision::prepare(&scope, &resource.provisioners, resource.connection.as_ref(), created);
    let mut deprecated = Diagnostics::new();
    deprecated.extend(found.into_iter().filter(Diagnostic::is_about_deprecation));
    deprecated
}
