//! Beginning the operations of a resource, or of the end of an object.

use tracing::Instrument as _;
use yuba_addrs::{AbsResource, AbsResourceInstance, InstanceKey, Resource as ResourceName, ResourceMode};
use yuba_config::provisioner::ProvisionerWhen;
use yuba_config::resource::Resource;
use yuba_eval::{InstanceValues, ModuleId, ModuleInstanceId};
use yuba_plan::{Action, Event, Mode, Phase, ResourceChange};
use yuba_state::{DeposedKey, Edit, Object, Status};
use yuba_value::Value;

use super::change::{ChangeJob, EndJob};
use super::{Answer, Applier, Recorded};
use crate::diagnostics::unknown_during_apply;
use crate::drive::Jobs;
use crate::object::{import_id, object_id};
use crate::walk::block::{Block, BlockInstance};
use crate::walk::exec::is_visited;
use crate::walk::providers::Server;
use crate::walk::provision;
use crate::walk::stranded::{Missing, Stranded};

impl<'a> Applier<'a> {
    async fn begin_ephemeral(&mut self, instance: &BlockInstance<'_, 'a>, jobs: &mut Jobs<'a, Answer<'a>>) -> bool {
        if !self.selection.selects(instance.block.vertex, &instance.addr) {
            return true;
        }
        let Some((server, config)) = self.walk.served_config(instance).await else { return false };
        self.walk.begin_open(instance, &server, config, jobs).await;
        true
    }

    pub(super) async fn begin_resource(
        &mut self,
        step: u32,
        vertex: u32,
        module: ModuleId,
        resource: &'a Resource,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) {
        if self.plan.mode == Mode::Destroy && resource.key.mode == ResourceMode::Managed {
            self.walk.values_of_state(&self.state, module, resource);
            return;
        }
        let Some(block) = self.walk.block(vertex, module, resource) else {
            self.failed[step as usize] = true;
            return;
        };
        for at in self.walk.live.instances(module) {
            let (expansion, found) = self.walk.settle(|| self.walk.scope(at).expand(&resource.repetition)).await;
            self.failed[step as usize] |= !self.walk.report(found);
            let Some(expansion) = expansion else { continue };
            self.walk.live.expand_resource(at, &resource.key, expansion.clone());
            self.walk.call_ahead(&block, at, &expansion).await;
            let abs = ResourceName::from(&resource.key).absolute(self.walk.live.address(at));
            for (key, values) in expansion.instances() {
                let instance = BlockInstance { block: &block, at, addr: abs.clone().instance(key), values };
                let ok = match resource.key.mode {
                    ResourceMode::Managed => {
                        let ok = self.begin_managed(&instance, jobs).await;
                        self.begun.extend(self.changes.get(&instance.addr).filter(|_| ok));
                        ok
                    }
                    ResourceMode::Data => self.begin_data(&instance, jobs).await,
                    ResourceMode::Ephemeral => self.begin_ephemeral(&instance, jobs).await,
                };
                self.failed[step as usize] |= !ok;
            }
            if self.selection.is_limited() {
                self.see_limited(&block, at, &abs);
            }
        }
    }

    /// References to a resource see the instances that are part of a limited run, and those beside them that exist.
    fn see_limited(&self, block: &Block<'a>, at: ModuleInstanceId, abs: &AbsResource) {
        let known = self.state.get(abs);
        self.walk.see_existing(&self.state, at, abs, block.schema(), |key| {
            let addr = abs.clone().instance(key.clone());
            match self.changes.get(&addr).map(|position| self.plan.changes[*position as usize].action) {
                Some(action) => !matches!(action, Action::Delete | Action::Forget),
                None if block.resource.key.mode == ResourceMode::Ephemeral => {
                    self.selection.selects(block.vertex, &addr)
                }
                None => known.is_some_and(|known| known.instances.contains_key(key)),
            }
        });
    }

    async fn begin_managed(&mut self, instance: &BlockInstance<'_, 'a>, jobs: &mut Jobs<'a, Answer<'a>>) -> bool {
        let BlockInstance { block, at, addr, .. } = instance;
        let (block, at, resource) = (*block, *at, block.resource);
        let Some(position) = self.changes.get(addr).copied() else {
            // Not part of the run: it is what it was.
            self.walk.value_of_state(&self.state, at, addr, block.schema());
            return true;
        };
        let plan = self.plan;
        let change = &plan.changes[position as usize];
        if change.importing.is_some() {
            self.report_import(change);
        }
        match change.action {
            Action::NoOp => {
                if !self.walk.preconditions(instance).await {
                    return false;
                }
                self.walk.live.set_instance(at, &resource.key, addr.key.clone(), change.after.clone());
                return self.walk.postconditions(at, resource, addr, change.after.clone()).await;
            }
            // The end of the object is a step of its own.
            Action::Delete | Action::Forget | Action::Read => return true,
            Action::Create | Action::Update => {}
            Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate => {}
        }
        let mut prior = self.state.instance(addr).and_then(|instance| instance.current.clone());
        if matches!(change.action, Action::DeleteThenCreate | Action::ForgetThenCreate) && prior.is_some() {
            // The object before it did not end, for a reason that was reported.
            return false;
        }
        let Some(server) = self.server_of(change) else { return false };
        let Some(config) = self.walk.config_of(instance).await else { return false };
        if !config.is_wholly_known() {
            return self.walk.report(std::iter::once(unknown_during_apply(addr)));
        }
        if change.action == Action::CreateThenDelete {
            let key = self.unused_deposed_key(addr);
            self.deposed.insert(position, key);
        }
        if change.action != Action::Update {
            prior = None;
        }
        let operation = self.operation(position, change.action);
        let job = ChangeJob {
            subject: self.walk.subject(addr, &server, &block.schemas, Some(resource), None).await,
            resource,
            at,
            change,
            position,
            prior,
            config,
            dependencies: self.dependencies.of(block.vertex),
            create_before_destroy: self.created_first.contains(addr),
            skip_destroy: block.skip_destroy,
            operation,
        };
        jobs.push_numbered(operation, move || async move {
            let span =
                tracing::debug_span!("apply operation", address = %job.subject.addr, action = ?job.change.action);
            Answer::Change(Box::new(job.run().instrument(span).await))
        });
        true
    }

    /// Provider of a change, from the plan.
    fn server_of(&mut self, change: &ResourceChange) -> Option<Server> {
        let key = match &change.provider_key {
            Some(InstanceKey::String(key)) => Some(key.clone()),
            _ => None,
        };
        match self.walk.providers.find(&change.provider, key.as_ref()) {
            Ok(server) => Some(self.walk.standing_in(server, &change.addr)),
            Err(reason) => {
                let missing = Missing::of(&reason)?;
                self.walk.strand(Stranded {
                    addr: change.addr.clone(),
                    deposed: change.deposed.clone(),
                    provider: change.provider.clone(),
                    key: change.provider_key.clone(),
                    beside_current: change.deposed.is_some(),
                    missing,
                });
                None
            }
        }
    }

    fn unused_deposed_key(&self, addr: &AbsResourceInstance) -> DeposedKey {
        let taken = self.state.instance(addr).map(|instance| &instance.deposed);
        loop {
            let key = DeposedKey::new((self.doors.random)());
            if taken.is_none_or(|taken| !taken.contains_key(&key)) {
                return key;
            }
        }
    }

    /// Reports imports for which configuration was written: the configuration does not contain their blocks yet.
    pub(super) fn report_undeclared_imports(&mut self) {
        let plan = self.plan;
        for change in plan.changes.iter().filter(|change| change.generated_config.is_some()) {
            self.report_import(change);
        }
    }

    fn report_import(&mut self, change: &ResourceChange) {
        let id = change.importing.as_deref().and_then(import_id);
        let (addr, deposed, phase) = (change.addr.clone(), None, Phase::Import);
        (self.walk.context.events)(Event::Started {
            addr: addr.clone(),
            deposed: deposed.clone(),
            phase,
            id: id.clone(),
        });
        self.unreported.borrow_mut().push(Event::Finished { addr, deposed, phase, id, ok: true });
        self.counts.imported += 1;
    }

    async fn begin_data(&mut self, instance: &BlockInstance<'_, 'a>, jobs: &mut Jobs<'a, Answer<'a>>) -> bool {
        let BlockInstance { block, at, addr, .. } = instance;
        let plan = self.plan;
        let change = self.changes.get(addr).map(|position| &plan.changes[*position as usize]);
        let reads = change.is_some_and(|change| change.action == Action::Read)
            || (plan.mode == Mode::Destroy && self.state.instance(addr).is_none());
        if !reads {
            // All dependencies are unchanged since the plan read the data source and checked its conditions.
            self.walk.value_of_state(&self.state, *at, addr, block.schema());
            return true;
        }
        let Some((server, config)) = self.walk.served_config(instance).await else { return false };
        if !config.is_wholly_known() {
            return self.walk.report(std::iter::once(unknown_during_apply(addr).at(block.resource.span)));
        }
        let job = self.walk.data_job(instance, server, config).await;
        jobs.push(move || async move {
            let span = tracing::debug_span!("apply operation", address = %job.subject.addr, action = ?Action::Read);
            Answer::Data(Box::new(job.run().instrument(span).await))
        });
        true
    }

    /// The end of an object that is no longer wanted or that is replaced.
    pub(super) async fn begin_end(&mut self, step: u32, position: u32, jobs: &mut Jobs<'a, Answer<'a>>) {
        let plan = self.plan;
        if self.left_alone.contains(&position) {
            return;
        }
        let change = &plan.changes[position as usize];
        let deposed = match change.action {
            Action::CreateThenDelete => match self.deposed.get(&position) {
                Some(key) => Some(key.clone()),
                // No replacement was created.
                None => return,
            },
            _ => change.deposed.clone(),
        };
        if change.action == Action::CreateThenDelete && self.failed_changes.contains(&position) {
            // The object after it was not finished, for a reason that was reported.
            self.failed[step as usize] = true;
            return;
        }
        if change.deposed.is_some() && self.follows_failure(&change.addr) {
            self.failed[step as usize] = true;
            return;
        }
        let instance = self.state.instance(&change.addr);
        let Some(object) = instance.and_then(|instance| instance.object(deposed.as_ref())).cloned() else { return };
        if matches!(change.action, Action::Forget | Action::ForgetThenCreate) {
            self.forget(change, deposed);
            return;
        }
        let Some(server) = self.server_of(change) else {
            self.failed[step as usize] = true;
            return;
        };
        let Some(schemas) = self.walk.evaluation.provider_schema(&change.provider.provider) else { return };
        let resource = self.walk.declared(&change.addr);
        // An object that was never finished, or already has a successor, gets no destroy provisioners.
        let steps = match deposed.is_some() || object.status == Status::Tainted {
            true => Some(Vec::new()),
            false => self.destroy_provisioners(change, resource, &object).await,
        };
        let Some(steps) = steps else {
            self.failed[step as usize] = true;
            return;
        };
        let operation = self.operation(position, Action::Delete);
        let subject = self.walk.subject(&change.addr, &server, &schemas, resource, deposed).await;
        let job = EndJob { subject, change, prior: object, operation };
        let (context, door) = (self.walk.context, self.doors.provisioners);
        jobs.push_numbered(operation, move || async move {
            let span = tracing::debug_span!("apply operation", address = %job.subject.addr, action = ?Action::Delete);
            let before = provision::run(&context, door, &job.change.addr, steps);
            Answer::End(Box::new(job.run(before).instrument(span).await))
        });
    }

    /// Whether the change or check of an instance, which objects from earlier runs wait for, did not succeed.
    fn follows_failure(&self, addr: &AbsResourceInstance) -> bool {
        let Some(position) = self.changes.get(addr) else { return false };
        let change = &self.plan.changes[*position as usize];
        let visited = is_visited(self.walk.graph, self.walk.vertex_of(addr), change);
        visited && (!self.begun.contains(position) || self.failed_changes.contains(position))
    }

    fn forget(&mut self, change: &ResourceChange, deposed: Option<DeposedKey>) {
        let edit = Edit::SetObject {
            addr: change.addr.clone(),
            deposed: deposed.clone(),
            provider: change.provider.clone(),
            provider_key: change.provider_key.clone(),
            object: None,
        };
        let id = object_id(&change.before);
        let phase = Phase::Apply(Action::Forget);
        let addr = change.addr.clone();
        let is_forgotten = change.action == Action::Forget;
        if is_forgotten {
            let (addr, deposed, id) = (addr.clone(), deposed.clone(), id.clone());
            (self.walk.context.events)(Event::Started { addr, deposed, phase, id });
        }
        self.record(Recorded::Unended, vec![edit]);
        if is_forgotten {
            self.unreported.borrow_mut().push(Event::Finished { addr, deposed, phase, id, ok: true });
            self.counts.forgotten += 1;
        }
    }

    /// Provisioners that run before an object is destroyed: of its block, or of the block that says it was removed.
    async fn destroy_provisioners(
        &mut self,
        change: &ResourceChange,
        resource: Option<&'a Resource>,
        object: &Object,
    ) -> Option<Vec<provision::Provisioning>> {
        let tree = self.walk.context.tree;
        let (provisioners, connection, own) = match resource {
            Some(resource) if provision::has(resource, ProvisionerWhen::Destroy) => {
                (resource.provisioners.as_slice(), resource.connection.as_ref(), Some(resource))
            }
            Some(_) => return Some(Vec::new()),
            None => match self.removals.of(&change.addr.containing().config()) {
                Some(removed) if !removed.provisioners.is_empty() => (removed.provisioners, None, None),
                _ => return Some(Vec::new()),
            },
        };
        let schemas = self.walk.evaluation.provider_schema(&change.provider.provider)?;
        let schema = schemas.resources.get(&change.addr.resource.kind)?;
        let value: Value = object.decode(schema.block.implied_type()).ok()?;
        let values = InstanceValues::of_key(change.addr.key.as_ref());
        let module = tree.find(&change.addr.module.module()).unwrap_or(ModuleId::ROOT);
        let scope = self.walk.evaluation.scope(module).of_instance(values);
        let scope = match own {
            Some(resource) => scope.with_self_value(resource, value),
            None => scope.with_removed_self(value),
        };
        let prepare = || provision::prepare(&scope, provisioners, connection, ProvisionerWhen::Destroy);
        let (steps, found) = self.walk.settle(prepare).await;
        self.walk.report(found).then_some(steps)
    }
}
