//! Planning a resource: its instances, the objects they are compared with, and leftover objects in the state.

use std::sync::Arc;

use ecow::eco_format;
use tracing::Instrument as _;
use yuba_addrs::{
    AbsProviderConfig, AbsResource, AbsResourceInstance, InstanceKey, ProviderSource, Resource as ResourceName,
    ResourceMode,
};
use yuba_config::resource::Resource;
use yuba_eval::{Expansion, InstanceValues, ModuleId, ModuleInstanceId};
use yuba_plan::{Action, ActionReason, Deferral, Event, Mode, ResourceChange};
use yuba_provider::ProviderSchema;
use yuba_provider::legality::planned_unknown;
use yuba_state::{DeposedKey, Edit, Instance, Object};
use yuba_syntax::Diagnostic;
use yuba_value::{Mark, Value};

use super::generated::ImportJob;
use super::managed::ManagedJob;
use super::removal::{Ending, RemovalJob};
use super::{Answer, Planner, provider_of_undeclared};
use crate::diagnostics::{object_forgotten, provider_instance_changes};
use crate::drive::Jobs;
use crate::imports::{ImportProvider, RequestedImport, ResolvedImport, already_managed};
use crate::object::{MovedFrom, merged};
use crate::reasons::{self, Arrival};
use crate::walk::block::{Block, BlockInstance, skip_destroy};
use crate::walk::providers::Server;
use crate::walk::stranded::{Missing, Stranded};

/// The end of an object whose provider was not configured when the walk came by.
pub(super) struct Postponed {
    addr: AbsResourceInstance,
    deposed: Option<DeposedKey>,
    object: Arc<Object>,
    ending: Ending,
    provider: AbsProviderConfig,
    key: Option<InstanceKey>,
}

/// Whether a data or ephemeral resource can be read while planning, as far as its dependencies are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    /// A dependency changes first.
    Pending,
}

impl<'a> Planner<'a> {
    pub(super) async fn begin_resource(
        &mut self,
        step: u32,
        module: ModuleId,
        resource: &'a Resource,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) {
        let is_needed = match resource.key.mode {
            ResourceMode::Ephemeral => true,
            ResourceMode::Data => self.options.refresh || !self.walk.is_in_state(&self.state, module, resource),
            ResourceMode::Managed => false,
        };
        // To destroy everything, only data that configures providers is read: earlier results, such as credentials, may
        // be outdated.
        if self.options.mode == Mode::Destroy && !is_needed {
            self.walk.values_of_state(&self.state, module, resource);
            return;
        }
        let Some(block) = self.walk.block(step, module, resource) else {
            self.failed[step as usize] = true;
            return;
        };
        if let Some(imports) = self.walk.graph.imports.get(&step)
            && self.options.mode == Mode::Normal
            && !self.options.before_destroy
        {
            let scope = self.walk.scope(ModuleInstanceId::ROOT);
            let provider = ImportProvider { source: &block.resolved.provider, schema: &block.schemas };
            for import in imports {
                let sources = self.walk.context.env.sources;
                let resolved = self.walk.settle(|| ResolvedImport::of(import, &scope, Some(provider))).await;
                let found = self.imports.add(import, resolved, sources);
                self.failed[step as usize] |= !self.walk.report(found);
            }
            if self.failed[step as usize] {
                // An object that cannot be imported must not be created instead.
                return;
            }
        }
        let waits = resource.key.mode != ResourceMode::Managed && self.waits_for_changes(&block);
        let readiness = if waits { Readiness::Pending } else { Readiness::Ready };
        self.walk.expect_instances(module, resource);
        for at in self.walk.live.instances(module) {
            self.begin_in_module(&block, at, readiness, jobs).await;
        }
        if self.options.mode != Mode::Destroy && !self.failed[step as usize] {
            self.begin_orphaned_modules(&block, jobs).await;
        }
    }

    /// Objects of a resource in instances of its module that are no longer in the configuration.
    async fn begin_orphaned_modules(&mut self, block: &Block<'a>, jobs: &mut Jobs<'a, Answer<'a>>) {
        let known = self.in_modules.get(&block.vertex).into_iter().flatten();
        let left: Vec<AbsResourceInstance> = known
            .filter(|addr| self.walk.live.find(&addr.module).is_none())
            .filter_map(|addr| self.state.get(addr))
            .flat_map(|known| known.instances.keys().map(|key| known.addr.clone().instance(key.clone())))
            .collect();
        for addr in left {
            match addr.resource.mode {
                ResourceMode::Managed => self.begin_removal(&addr, None, jobs).await,
                _ => self.forget_silently(&addr),
            }
        }
    }

    /// A resource in one instance of its module.
    async fn begin_in_module(
        &mut self,
        block: &Block<'a>,
        at: ModuleInstanceId,
        readiness: Readiness,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) {
        let resource = block.resource;
        let scope = self.walk.scope(at);
        let (expansion, found) = self.walk.settle(|| scope.expand(&resource.repetition)).await;
        let mut ok = self.walk.report(found);
        // An import plans nothing, so the order does not matter.
        if self.options.imports.is_empty() {
            ok &= self.walk.report(scope.check_depends_on(&resource.depends_on));
        }
        self.failed[block.vertex as usize] |= !ok;
        let abs = ResourceName::from(&resource.key).absolute(self.walk.live.address(at));
        self.met.insert(abs.clone());
        let Some(expansion) = expansion else { return };
        self.walk.live.expand_resource(at, &resource.key, expansion.clone());
        self.walk.expect_instances_in(block.module, resource, &abs, &expansion);
        self.walk.call_ahead(block, at, &expansion).await;
        for (key, values) in expansion.instances() {
            let instance = BlockInstance { block, at, addr: abs.clone().instance(key), values };
            let ok = match resource.key.mode {
                ResourceMode::Managed => self.begin_managed(&instance, jobs).await,
                ResourceMode::Data => self.begin_data(&instance, readiness, jobs).await,
                ResourceMode::Ephemeral => self.begin_ephemeral(&instance, readiness, jobs).await,
            };
            self.failed[block.vertex as usize] |= !ok;
        }
        if self.selection.is_limited() && self.options.mode == Mode::Normal {
            self.see_limited(block, at, &abs, &expansion);
        }
        self.begin_orphans(block, &abs, &expansion, jobs).await;
    }

    /// References to a resource see the instances that are part of a limited run, and those beside them that exist.
    fn see_limited(&self, block: &Block<'a>, at: ModuleInstanceId, abs: &AbsResource, wanted: &Expansion) {
        let known = self.state.get(abs);
        self.walk.see_existing(&self.state, at, abs, block.schema(), |key| {
            // Objects that are part of the run and not wanted are removed.
            match self.selection.selects(block.vertex, &abs.clone().instance(key.clone())) {
                true => wanted.contains(key.as_ref()),
                false => known.is_some_and(|known| known.instances.contains_key(key)),
            }
        });
    }

    async fn begin_managed(&mut self, instance: &BlockInstance<'_, 'a>, jobs: &mut Jobs<'a, Answer<'a>>) -> bool {
        let BlockInstance { block, at, addr, .. } = instance;
        let (block, at, resource) = (*block, *at, block.resource);
        if !self.selection.selects(block.vertex, addr) {
            self.walk.value_of_state(&self.state, at, addr, block.schema());
            return true;
        }
        let Some(server) = self.walk.block_server(instance).await else { return false };
        let plans = self.options.mode == Mode::Normal;
        // A wrong replace_triggered_by is reported before any condition is checked.
        let triggered = if plans { self.triggered(instance).await } else { Some(false) };
        let config = match triggered {
            Some(_) if plans => self.walk.config_of(instance).await.map(Some),
            Some(_) => self.walk.preconditions(instance).await.then_some(None),
            None => None,
        };
        // Without a configuration nothing is planned, but an object that exists is still looked at.
        let ok = config.is_some();
        let only_import = self.imports.is_asked(addr);
        let config = match only_import {
            true => self.config_despite_errors(instance).await,
            false => config.flatten(),
        };
        let containing = self.state.get(&addr.containing());
        let known = containing.and_then(|resource| resource.instances.get(&addr.key));
        if only_import && known.is_some() {
            return self.walk.report(std::iter::once(already_managed(addr)));
        }
        let prior = known.and_then(|instance| instance.current.clone());
        let has_deposed = known.is_some_and(|instance| !instance.deposed.is_empty());
        let recorded = containing.map(|resource| &resource.provider);
        if let Some(warning) =
            known.zip(recorded).and_then(|(known, recorded)| changed_provider(known, recorded, addr, &server))
        {
            self.walk.report(std::iter::once(warning));
        }
        let config = config.filter(|_| ok);
        if !ok && prior.is_none() {
            return false;
        }
        let import = match prior {
            None => self.imports.get(addr, &self.state).and_then(RequestedImport::request),
            Some(_) => None,
        };
        let moved_from = prior.as_ref().and_then(|_| self.other_type_before(addr, &server.config.provider));
        let job = ManagedJob {
            subject: self.walk.subject(addr, &server, &block.schemas, Some(resource), None).await,
            resource,
            server,
            at,
            prior,
            moved_from,
            config,
            refresh: self.options.refresh,
            force_replace: self.force_replace.contains(addr),
            triggered: triggered.unwrap_or_default(),
            create_before_destroy: self.create_before_destroy[block.vertex as usize],
            skip_destroy: block.skip_destroy,
            only_import,
            import,
        };
        jobs.push(move || async move {
            let span = tracing::debug_span!("plan instance", address = %job.subject.addr);
            Answer::Managed(Box::new(job.run().instrument(span).await))
        });
        if has_deposed {
            self.begin_deposed(addr, jobs).await;
        }
        ok
    }

    /// The configuration of an instance that is imported, without its errors: it may be written after the import.
    async fn config_despite_errors(&mut self, instance: &BlockInstance<'_, 'a>) -> Option<Value> {
        let (schema, body) = (instance.block.schema()?, &instance.block.resource.body);
        let scope = self.walk.instance_scope(instance);
        Some(self.walk.settle(|| scope.eval_body(body, schema).0).await)
    }

    /// The type that an object had before a `moved` block gave it the address of another type.
    fn other_type_before(&self, addr: &AbsResourceInstance, now: &ProviderSource) -> Option<MovedFrom> {
        let was = self.state.get(&addr.containing()).filter(|_| self.moves.moved_explicitly(addr))?;
        let was = &was.provider.provider;
        let kind = &self.moves.old(addr).resource.kind;
        let changes = self.moves.changes_type(addr, now, was);
        changes.then(|| MovedFrom { kind: kind.clone(), provider: was.clone() })
    }

    /// Objects of a resource whose instances are no longer wanted.
    async fn begin_orphans(
        &mut self,
        block: &Block<'a>,
        abs: &AbsResource,
        expansion: &Expansion,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) {
        let Some(known) = self.state.get(abs) else { return };
        let left: Vec<Option<InstanceKey>> =
            known.instances.keys().filter(|key| !expansion.contains(key.as_ref())).cloned().collect();
        for key in left {
            let addr = abs.clone().instance(key);
            if block.resource.key.mode == ResourceMode::Managed {
                self.begin_removal(&addr, Some(block), jobs).await;
            } else if self.selection.selects(block.vertex, &addr) {
                self.forget_silently(&addr);
            }
        }
    }

    /// Objects in the state that the walk did not visit.
    pub(super) async fn begin_leftovers(&mut self, jobs: &mut Jobs<'a, Answer<'a>>) {
        for removal in std::mem::take(&mut self.postponed) {
            self.remove(removal, jobs).await;
        }
        let destroying = self.options.mode == Mode::Destroy;
        let mut left: Vec<AbsResourceInstance> = Vec::new();
        for (addr, resource, _) in self.state.instances() {
            if destroying || !self.met.contains(&resource.addr) {
                left.push(addr);
            }
        }
        for addr in left {
            if !destroying {
                // The walk visits objects of declared resources with their blocks, unless an error prevented it.
                let module = self.walk.context.tree.find(&addr.module.module());
                let replaced = module.is_some_and(|module| self.walk.is_in_replaced(module));
                if self.walk.declared(&addr).is_some() && !replaced {
                    continue;
                }
            }
            match addr.resource.mode {
                ResourceMode::Managed => self.begin_removal(&addr, None, jobs).await,
                // Data that a destroy plan has read are part of its prior state. Applying the plan removes them.
                _ if !destroying && self.selects_leftover(&addr) => self.forget_silently(&addr),
                _ => {}
            }
        }
    }

    fn selects_leftover(&self, addr: &AbsResourceInstance) -> bool {
        self.walk.selects_leftover(self.selection, addr)
    }

    /// Imports for which configuration is written.
    pub(super) async fn begin_generated(&mut self, jobs: &mut Jobs<'a, Answer<'a>>) {
        let mut is_reported = false;
        for (addr, import) in std::mem::take(&mut self.undeclared) {
            if !self.selection.selects_orphan(&addr) {
                continue;
            }
            let scope = self.walk.scope(ModuleInstanceId::ROOT);
            let key = provider_of_undeclared(&addr, import);
            let instance = import.provider.as_ref().and_then(|reference| reference.instance.as_ref());
            let Some(resolved) = self.walk.context.tree.resolve_provider(ModuleId::ROOT, &key, instance) else {
                continue;
            };
            let Some(schemas) = self.walk.evaluation.provider_schema(&resolved.provider) else { continue };
            let provider = ImportProvider { source: &resolved.provider, schema: &schemas };
            let sources = self.walk.context.env.sources;
            let objects = self.walk.settle(|| ResolvedImport::of(import, &scope, Some(provider))).await;
            let found = self.imports.add(import, objects, sources);
            if !self.walk.report(found) {
                continue;
            }
            let request = self.imports.get(&addr, &self.state).and_then(RequestedImport::request);
            self.imports.settle(&addr);
            let Some((by, importing)) = request else { continue };
            if !std::mem::replace(&mut is_reported, true) {
                self.walk.report(std::iter::once(crate::generate::experimental()));
            }
            let (at, values) = (ModuleInstanceId::ROOT, InstanceValues::default());
            let Some(server) = self.walk.server(&resolved, import.span, at, &values, &addr).await else { continue };
            let subject = self.walk.subject(&addr, &server, &schemas, None, None).await;
            let job = ImportJob { subject, server, by, importing };
            jobs.push(move || async move {
                let span = tracing::debug_span!("import instance", address = %job.subject.addr);
                Answer::Imported(Box::new(job.run().instrument(span).await))
            });
        }
    }

    /// Data resources that are no longer read leave the state silently.
    fn forget_silently(&mut self, addr: &AbsResourceInstance) {
        if self.options.mode == Mode::RefreshOnly {
            return;
        }
        let Some(resource) = self.state.get(&addr.containing()) else { return };
        let provider = resource.provider.clone();
        let (addr, deposed, provider_key, object) = (addr.clone(), None, None, None);
        self.state.apply(Edit::SetObject { addr, deposed, provider, provider_key, object });
    }

    async fn begin_removal(
        &mut self,
        addr: &AbsResourceInstance,
        block: Option<&Block<'a>>,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) {
        let selected = match block {
            Some(block) => self.selection.selects(block.vertex, addr),
            None if self.options.mode == Mode::Destroy => self.destroying.selects(addr),
            None => self.selects_leftover(addr),
        };
        if !selected {
            self.refresh_beside(addr, jobs).await;
            return;
        }
        let object = self.state.instance(addr).and_then(|instance| instance.current.clone());
        if let Some(object) = object {
            let ending = self.ending(addr, &object, None);
            self.push_removal(addr, None, object, ending, jobs).await;
        }
        self.begin_deposed(addr, jobs).await;
    }

    /// Whether an object is read again: where everything is destroyed but the run is limited, that is what the same run
    /// would plan otherwise.
    fn is_refreshed(&self, addr: &AbsResourceInstance) -> bool {
        if self.options.mode != Mode::Destroy || !self.selection.is_limited() {
            return true;
        }
        match self.walk.vertex_of(addr) {
            Some(vertex) => self.selection.selects(vertex, addr),
            None => self.selection.selects_orphan(addr),
        }
    }

    /// Dependencies of a target are refreshed, though they are not destroyed.
    async fn refresh_beside(&mut self, addr: &AbsResourceInstance, jobs: &mut Jobs<'a, Answer<'a>>) {
        if self.options.mode != Mode::Destroy || !self.options.refresh || self.options.targets.is_empty() {
            return;
        }
        let object = self.state.instance(addr).and_then(|instance| instance.current.clone());
        if let Some(object) = object
            && self.is_refreshed(addr)
        {
            self.push_removal(addr, None, object, Ending::Keep, jobs).await;
        }
    }

    /// Objects that were replaced and are still there.
    async fn begin_deposed(&mut self, addr: &AbsResourceInstance, jobs: &mut Jobs<'a, Answer<'a>>) {
        let deposed: Vec<(DeposedKey, Arc<Object>)> = match self.state.instance(addr) {
            Some(instance) => instance.deposed.iter().map(|(key, object)| (key.clone(), object.clone())).collect(),
            None => return,
        };
        for (key, object) in deposed {
            let ending = self.ending(addr, &object, Some(&key));
            self.push_removal(addr, Some(key), object, ending, jobs).await;
        }
    }

    /// The action for an object that is no longer wanted. A block that forgets it applies in any case: also where the
    /// instance of its module is gone, and for deposed objects.
    fn ending(&mut self, addr: &AbsResourceInstance, object: &Object, deposed: Option<&DeposedKey>) -> Ending {
        let in_config = self.walk.declared(addr).is_some_and(|resource| skip_destroy(resource).0);
        let (removed, why) = match self.options.mode {
            Mode::RefreshOnly => return Ending::Keep,
            Mode::Destroy => (None, ActionReason::None),
            Mode::Normal => {
                let arrival = if self.moves.moved_explicitly(addr) { Arrival::Moved } else { Arrival::Other };
                let why = match deposed {
                    Some(_) => ActionReason::None,
                    None => reasons::reason(addr, arrival, self.walk.context.tree, self.walk.live),
                };
                (self.removals.of(&addr.containing().config()), why)
            }
        };
        let destroys = match removed {
            Some(removed) => removed.destroy,
            None => !in_config && !object.skip_destroy,
        };
        match destroys {
            true => Ending::Destroy(why),
            false if in_config => Ending::Forget(ActionReason::ForgotBecauseDestroyFalseInConfig),
            false if object.skip_destroy => Ending::Forget(ActionReason::ForgotBecauseDestroyFalseInState),
            false => Ending::Forget(why),
        }
    }

    async fn push_removal(
        &mut self,
        addr: &AbsResourceInstance,
        deposed: Option<DeposedKey>,
        object: Arc<Object>,
        ending: Ending,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) {
        let Some(resource) = self.state.get(&addr.containing()) else { return };
        let Some(instance) = resource.instances.get(&addr.key) else { return };
        let (provider, key) = (resource.provider.clone(), instance.provider_key.clone());
        let text = match &key {
            Some(InstanceKey::String(key)) => Some(key),
            _ => None,
        };
        if !self.at_end && self.walk.providers.find(&provider, text).is_err() {
            // It may be configured later, and the state may say something else by then.
            self.postponed.push(Postponed { addr: addr.clone(), deposed, object, ending, provider, key });
            return;
        }
        self.remove(Postponed { addr: addr.clone(), deposed, object, ending, provider, key }, jobs).await;
    }

    async fn remove(&mut self, removal: Postponed, jobs: &mut Jobs<'a, Answer<'a>>) {
        let Postponed { addr, deposed, object, ending, provider, key } = removal;
        let addr = &addr;
        let (provider, key) = self.served_by(addr, provider, key);
        let text = match &key {
            Some(InstanceKey::String(key)) => Some(key.clone()),
            _ => None,
        };
        let schemas = self.walk.evaluation.provider_schema(&provider.provider);
        let server = match self.walk.providers.find(&provider, text.as_ref()) {
            Ok(server) => self.walk.standing_in(server, addr),
            Err(reason) => {
                // Forgetting requires no provider.
                if let (Ending::Forget(why), Some(schemas)) = (ending, &schemas) {
                    self.forget_unseen(addr, deposed, &object, why, (provider, key), schemas);
                    return;
                }
                let current = self.state.instance(addr).is_some_and(|instance| instance.current.is_some());
                let beside_current = deposed.is_some() && current;
                if let Some(missing) = Missing::of(&reason) {
                    let addr = addr.clone();
                    self.walk.strand(Stranded { addr, deposed, provider, key, beside_current, missing });
                }
                return;
            }
        };
        let Some(schemas) = schemas else { return };
        let resource = self.walk.declared(addr);
        let job = RemovalJob {
            subject: self.walk.subject(addr, &server, &schemas, resource, deposed).await,
            provider: server.config.clone(),
            provider_key: server.key.clone(),
            prior: object,
            refresh: self.options.refresh && self.is_refreshed(addr),
            ending,
        };
        jobs.push(move || async move {
            let span = tracing::debug_span!("plan instance", address = %job.subject.addr);
            Answer::Removal(Box::new(job.run().instrument(span).await))
        });
    }

    /// An object whose provider is gone is forgotten without being read again.
    fn forget_unseen(
        &mut self,
        addr: &AbsResourceInstance,
        deposed: Option<DeposedKey>,
        object: &Object,
        reason: ActionReason,
        (provider, provider_key): (AbsProviderConfig, Option<InstanceKey>),
        schemas: &ProviderSchema,
    ) {
        let ty = schemas.resources.get(&addr.resource.kind).map(|schema| schema.block.implied_type().clone());
        let before = ty.and_then(|ty| object.decode(&ty).ok()).unwrap_or_else(Value::empty_object);
        let after = Value::null(before.ty().clone());
        if self.options.mode != Mode::Destroy {
            self.walk.report(std::iter::once(object_forgotten(addr)));
        }
        self.changes.push(ResourceChange {
            addr: addr.clone(),
            moved_from: self.moved_from(addr),
            deposed,
            provider,
            provider_key,
            action: Action::Forget,
            reason,
            before,
            after,
            private: object.private.clone(),
            identity: None,
            required_replace: Vec::new(),
            importing: None,
            generated_config: None,
        });
    }

    /// The provider configuration that serves an object of the state by now.
    fn served_by(
        &self,
        addr: &AbsResourceInstance,
        mut provider: AbsProviderConfig,
        mut key: Option<InstanceKey>,
    ) -> (AbsProviderConfig, Option<InstanceKey>) {
        // The configuration may be that of a module around by now, or the object may have moved to where another
        // configuration serves it.
        if !self.walk.providers.contains(&provider) {
            let mut at = provider.clone();
            while let Some(outer) = at.inherited() {
                if self.walk.providers.contains(&outer) {
                    provider = outer;
                    break;
                }
                at = outer;
            }
        }
        if !self.walk.providers.contains(&provider)
            && let Some(declared) = self.walk.declared(addr)
            && let Some(module) = self.walk.context.tree.find(&addr.module.module())
            && let Some(resolved) = self.walk.context.tree.resource_provider(module, declared)
        {
            let config = self.walk.context.tree.provider_address(&resolved);
            if config.provider == provider.provider && resolved.key.is_none() {
                provider = config;
                key = None;
            }
        }
        (provider, key)
    }

    async fn begin_data(
        &mut self,
        instance: &BlockInstance<'_, 'a>,
        readiness: Readiness,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) -> bool {
        let BlockInstance { block, at, addr, .. } = instance;
        let (block, at, resource) = (*block, *at, block.resource);
        if !self.selection.selects(block.vertex, addr) {
            self.walk.value_of_state(&self.state, at, addr, block.schema());
            return true;
        }
        let Some((server, config)) = self.walk.served_config(instance).await else { return false };
        let Some(schema) = block.schema() else { return false };
        let known = config.is_wholly_known();
        if known && readiness == Readiness::Ready {
            let job = self.walk.data_job(instance, server, config).await;
            jobs.push(move || async move {
                let span = tracing::debug_span!("plan instance", address = %job.subject.addr);
                Answer::Data(Box::new(job.run().instrument(span).await))
            });
            return true;
        }
        // The previous result says nothing about the next one.
        self.forget_silently(addr);
        let (plain, marks) = config.unmark_with_paths();
        let value = schema.mark(&planned_unknown(schema, &plain).mark_at(&marks), None);
        self.walk.live.set_instance(at, &resource.key, addr.key.clone(), value.clone());
        if self.options.mode == Mode::Normal {
            let reason =
                if known { ActionReason::ReadBecauseDependencyPending } else { ActionReason::ReadBecauseConfigUnknown };
            self.pending[block.vertex as usize] = true;
            let change = self.read_change(addr, &server, value, reason);
            self.push_change(at, &resource.key, change);
        }
        true
    }

    /// Reading a data resource while applying.
    pub(super) fn read_change(
        &self,
        addr: &AbsResourceInstance,
        server: &Server,
        after: Value,
        reason: ActionReason,
    ) -> ResourceChange {
        ResourceChange {
            addr: addr.clone(),
            moved_from: self.moved_from(addr),
            deposed: None,
            provider: server.config.clone(),
            provider_key: server.key.clone(),
            action: Action::Read,
            reason,
            before: Value::null(after.ty().clone()),
            after,
            private: ecow::EcoVec::new(),
            identity: None,
            required_replace: Vec::new(),
            importing: None,
            generated_config: None,
        }
    }

    /// An ephemeral resource is opened if all its dependencies exist already; otherwise its value is unknown.
    async fn begin_ephemeral(
        &mut self,
        instance: &BlockInstance<'_, 'a>,
        readiness: Readiness,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) -> bool {
        let BlockInstance { block, at, addr, .. } = instance;
        let (block, at, resource) = (*block, *at, block.resource);
        if !self.selection.selects(block.vertex, addr) {
            return true;
        }
        let Some((server, config)) = self.walk.served_config(instance).await else { return false };
        let Some(schema) = block.schema() else { return false };
        let known = config.is_wholly_known();
        if known && readiness == Readiness::Ready {
            self.walk.begin_open(instance, &server, config, jobs).await;
            return true;
        }
        if self.options.mode != Mode::RefreshOnly {
            let why = if known { Deferral::PendingDependencies } else { Deferral::UnknownConfiguration };
            (self.walk.context.events)(Event::Deferred { addr: addr.clone(), why });
        }
        let (plain, marks) = config.unmark_with_paths();
        let value = planned_unknown(schema, &plain).mark_at(&marks).mark(Mark::Ephemeral);
        self.walk.live.set_instance(at, &resource.key, addr.key.clone(), value);
        true
    }

    /// Whether a dependency of a data resource changes: one in its `depends_on` or that of a call around it, or a
    /// managed resource that it refers to. Even where all its values are known, a reference requires the object to
    /// exist.
    fn waits_for_changes(&self, block: &Block<'a>) -> bool {
        let graph = self.walk.graph;
        let lifecycle = &block.resource.lifecycle;
        let changes = |named: &[u32]| named.iter().any(|at| self.leads_to_changes[*at as usize]);
        if !lifecycle.preconditions.is_empty() || !lifecycle.postconditions.is_empty() {
            return changes(&graph.edges[block.vertex as usize]);
        }
        let is_managed = |at: &u32| matches!(graph.nodes[*at as usize].vertex, yuba_eval::graph::Vertex::Resource(to) if to.key.mode == ResourceMode::Managed);
        let referred = graph.edges[block.vertex as usize].iter().filter(|at| is_managed(at));
        if referred.into_iter().any(|at| self.pending[*at as usize]) {
            return true;
        }
        let named = |at: u32| graph.explicit.get(&at).is_some_and(|named| changes(named));
        if named(block.vertex) {
            return true;
        }
        let mut module = Some(block.module);
        while let Some(id) = module {
            if graph.calls.get(&id).is_some_and(|call| named(*call)) {
                return true;
            }
            module = self.walk.context.tree.node(id).parent;
        }
        false
    }

    /// Dependencies of an object that stays.
    pub(super) fn kept_dependencies(
        &self,
        step: u32,
        answer: &super::managed::ManagedAnswer<'a>,
    ) -> ecow::EcoVec<yuba_addrs::ConfigResource> {
        let now = self.dependencies.of(step);
        match (&answer.is, &answer.planned) {
            (_, Some(planned)) if planned.action == Action::NoOp => now,
            // An imported object has no dependencies until it is applied.
            (Some(existing), _) if answer.job.import.is_some() => existing.record.dependencies.clone(),
            (Some(existing), _) if answer.job.refresh => merged(&now, &existing.record.dependencies),
            (Some(existing), _) => existing.record.dependencies.clone(),
            (None, _) => now,
        }
    }
}

/// An existing object is served by another provider instance from now on: by one with another key, or by one of another
/// block where at least one of the blocks has `for_each`. A block that gets or loses `for_each` still means the same.
fn changed_provider(
    known: &Instance,
    recorded: &AbsProviderConfig,
    addr: &AbsResourceInstance,
    server: &Server,
) -> Option<Diagnostic> {
    let (was, is) = (&known.provider_key, &server.key);
    let changes = match *recorded == server.config {
        true => was.is_some() && is.is_some() && was != is,
        // Objects that move to another provider are converted by it.
        false => recorded.provider == server.config.provider && (was.is_some() || is.is_some()),
    };
    if !changes || known.current.is_none() {
        return None;
    }
    let shown = |key: &Option<InstanceKey>| key.as_ref().map(|key| eco_format!("{key}")).unwrap_or_default();
    let (before, after) = (eco_format!("{recorded}{}", shown(was)), eco_format!("{}{}", server.config, shown(is)));
    Some(provider_instance_changes(addr, &before, &after))
}
