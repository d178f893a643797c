//! Adding reports of jobs of applying to the state.

use std::sync::Arc;

use ecow::eco_format;
use tracing::Instrument as _;
use yuba_addrs::AbsResourceInstance;
use yuba_config::provisioner::ProvisionerWhen;
use yuba_config::resource::Resource;
use yuba_eval::ModuleInstanceId;
use yuba_plan::{Action, Event, Mode, Phase, ResourceChange};
use yuba_state::{AttributeError, Edit, Object, ObjectRecord, Status};
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use super::change::{ChangeAnswer, EndAnswer};
use super::{Answer, Applier, Recorded};
use crate::drive::Jobs;
use crate::object::{Ended, Existing, Subject, cannot_be_stored, object_id};
use crate::walk::checks::{in_instance, in_module};
use crate::walk::data::{DataAnswer, DataJob};
use crate::walk::provision;
use crate::walk::{data_verdict, of_check_data};

/// An object that is not fit for use.
fn tainted(object: &Existing) -> Existing {
    let record = ObjectRecord { status: Status::Tainted, ..object.record.clone() };
    Existing { record, ..object.clone() }
}

/// Outcome of the provisioners of a new object.
pub(crate) struct Provisioned<'a> {
    subject: Subject<'a>,
    resource: &'a Resource,
    at: ModuleInstanceId,
    change: &'a ResourceChange,
    /// The position of the change in the plan.
    position: u32,
    /// The operation, which goes on until they are done.
    pub(super) operation: u32,
    result: Existing,
    problems: Diagnostics,
}

impl<'a> Applier<'a> {
    pub(super) async fn change_answer(&mut self, answer: ChangeAnswer<'a>, jobs: &mut Jobs<'a, Answer<'a>>) -> bool {
        let ChangeAnswer { job, result, is_as_before, attempted, problems } = answer;
        let mut ok = self.walk.report(problems);
        if let Some(result) = result.as_ref().filter(|_| is_as_before) {
            let ended = if ok { Recorded::Succeeded(job.operation) } else { Recorded::Failed(job.operation) };
            self.record(ended, Vec::new());
            return ok && self.ready(job.resource, job.at, &job.subject.addr, result).await;
        }
        let addr = job.subject.addr.clone();
        let created = job.prior.is_none();
        let action = if created { Action::Create } else { Action::Update };
        let provisions = created && ok && result.is_some() && provision::has(job.resource, ProvisionerWhen::Create);
        let mut edits = Vec::new();
        let mut there = result.as_ref().map(|result| result.value.clone());
        match &result {
            Some(result) => match job.subject.stored(&if provisions { tainted(result) } else { result.clone() }) {
                Ok(object) => edits.push(self.set(job.change, None, Some(object))),
                Err(reason) => ok &= self.walk.report(std::iter::once(cannot_be_stored(&addr, &reason))),
            },
            None => {
                // Nothing came into being: what was put aside is back.
                if let Some(key) = self.deposed.remove(&job.position) {
                    edits.push(Edit::Restore { addr: addr.clone(), key });
                    there = Some(job.change.before.clone());
                }
            }
        }
        if provisions || result.as_ref().is_some_and(|result| created && result.is_tainted()) {
            self.tainted.insert(job.position);
        }
        // Until its provisioners are done the object is not fit for use, and what is done with it is not over.
        let ended = match ok && result.is_some() {
            _ if provisions && ok => Recorded::Unended,
            true => Recorded::Succeeded(job.operation),
            false => Recorded::Failed(job.operation),
        };
        self.record(ended, edits);
        let Some(result) = result.filter(|_| ok) else {
            self.emit_finished(&job.subject, action, None, Ended::Failed);
            if let Some(there) = there.filter(|_| attempted) {
                self.walk.postconditions(job.at, job.resource, &addr, there).await;
            }
            return false;
        };
        if provisions {
            self.begin_provisioning(job, result, jobs).await;
            return true;
        }
        self.done(&job.subject, job.resource, job.at, job.change, action, &result).await
    }

    fn set(
        &self,
        change: &ResourceChange,
        deposed: Option<yuba_state::DeposedKey>,
        object: Option<Arc<Object>>,
    ) -> Edit {
        Edit::SetObject {
            addr: change.addr.clone(),
            deposed,
            provider: change.provider.clone(),
            provider_key: change.provider_key.clone(),
            object,
        }
    }

    /// The change with the provider instance that created the object. Another one may have tried to destroy it, because
    /// the configuration no longer has instances.
    fn still_made_by(&self, change: &ResourceChange) -> ResourceChange {
        let made_by = self.state.instance(&change.addr).map(|instance| instance.provider_key.clone());
        ResourceChange { provider_key: made_by.unwrap_or_else(|| change.provider_key.clone()), ..change.clone() }
    }

    /// An object exists as planned.
    async fn done(
        &mut self,
        subject: &Subject<'a>,
        resource: &'a Resource,
        at: ModuleInstanceId,
        change: &ResourceChange,
        action: Action,
        result: &Existing,
    ) -> bool {
        self.emit_finished(subject, action, Some(result), Ended::Completed);
        match action {
            Action::Create => self.counts.added += 1,
            _ => self.counts.changed += 1,
        }
        self.ready(resource, at, &change.addr, result).await
    }

    /// Makes an object available to references. Returns whether its postconditions pass.
    async fn ready(
        &mut self,
        resource: &'a Resource,
        at: ModuleInstanceId,
        addr: &AbsResourceInstance,
        result: &Existing,
    ) -> bool {
        self.walk.live.set_instance(at, &resource.key, addr.key.clone(), result.value.clone());
        self.walk.postconditions(at, resource, addr, result.value.clone()).await
    }

    fn emit_finished(&mut self, subject: &Subject<'a>, action: Action, result: Option<&Existing>, ended: Ended) {
        let ok = ended == Ended::Completed;
        let id = result.and_then(|result| object_id(&result.value));
        let (addr, deposed) = (subject.addr.clone(), subject.deposed.clone());
        self.unreported.borrow_mut().push(Event::Finished { addr, deposed, phase: Phase::Apply(action), id, ok });
    }

    async fn begin_provisioning(
        &mut self,
        job: super::change::ChangeJob<'a>,
        result: Existing,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) {
        let values = self.walk.values_of(job.at, job.resource, &job.subject.addr);
        let scope = self.walk.scope(job.at).of_instance(values).with_self_value(job.resource, result.value.clone());
        let (provisioners, connection) = (&job.resource.provisioners, job.resource.connection.as_ref());
        let prepare = || provision::prepare(&scope, provisioners, connection, ProvisionerWhen::Create);
        let (steps, problems) = self.walk.settle(prepare).await;
        let (context, door) = (self.walk.context, self.doors.provisioners);
        let mut provisioned = Provisioned {
            subject: job.subject,
            resource: job.resource,
            at: job.at,
            change: job.change,
            position: job.position,
            operation: job.operation,
            result,
            problems,
        };
        jobs.push_follow_up(move || async move {
            if !provisioned.problems.has_errors() {
                let span = tracing::debug_span!("provision instance", address = %provisioned.change.addr);
                let found = provision::run(&context, door, &provisioned.change.addr, steps).instrument(span).await;
                provisioned.problems.extend(found);
            }
            Answer::Provisioned(Box::new(provisioned))
        });
    }

    pub(super) async fn provisioned(&mut self, answer: Provisioned<'a>) -> bool {
        let Provisioned { subject, resource, at, change, position, operation, result, problems } = answer;
        let ok = self.walk.report(problems);
        // Otherwise the object exists, but not as planned.
        let kept = if ok { subject.stored(&result) } else { subject.stored(&tainted(&result)) };
        let edits = kept.map(|object| self.set(change, None, Some(object))).into_iter().collect();
        self.record(if ok { Recorded::Succeeded(operation) } else { Recorded::Failed(operation) }, edits);
        if ok {
            self.tainted.remove(&position);
            return self.done(&subject, resource, at, change, Action::Create, &result).await;
        }
        self.emit_finished(&subject, Action::Create, Some(&result), Ended::Failed);
        self.walk.postconditions(at, resource, &change.addr, result.value).await;
        false
    }

    pub(super) fn end_answer(&mut self, answer: EndAnswer<'a>) -> bool {
        let EndAnswer { job, left, problems } = answer;
        let failed = problems.has_errors();
        let ok = self.walk.report(problems);
        let mut edits = Vec::new();
        let deposed = job.subject.deposed.clone();
        match &left {
            None if !failed => edits.push(self.set(job.change, deposed.clone(), None)),
            None => {}
            Some(left) => {
                if let Ok(object) = job.subject.stored(left) {
                    edits.push(self.set(&self.still_made_by(job.change), deposed.clone(), Some(object)));
                }
            }
        }
        self.record(if ok { Recorded::Succeeded(job.operation) } else { Recorded::Failed(job.operation) }, edits);
        let phase = Phase::Apply(Action::Delete);
        let addr = job.subject.addr.clone();
        self.unreported.borrow_mut().push(Event::Finished { addr, deposed, phase, id: None, ok });
        if ok {
            self.counts.destroyed += 1;
        }
        ok
    }

    /// Known values of a data resource of a check that could not be read.
    fn keep_unread(&mut self, job: &DataJob<'a>) {
        let addr = &job.subject.addr;
        let Some(schema) = job.subject.schemas.data.get(&addr.resource.kind) else { return };
        let (plain, _) = job.config.unmark_with_paths();
        let unknown = yuba_provider::legality::planned_unknown(&schema.block, &plain);
        self.walk.live.set_instance(job.at, &job.resource.key, addr.key.clone(), unknown.clone());
        // A value that cannot be stored is dropped: the result of the check says enough.
        let _ = self.keep_data(job, &unknown.unknown_as_null());
    }

    /// Takes what was read into the state; why not if it cannot be. A run that destroys reads data only to configure providers
    /// and leaves none of it behind.
    fn keep_data(&mut self, job: &DataJob<'a>, value: &Value) -> Result<(), AttributeError> {
        if self.plan.mode == Mode::Destroy {
            return Ok(());
        }
        let addr = &job.subject.addr;
        let Some(schema) = job.subject.schemas.data.get(&addr.resource.kind) else { return Ok(()) };
        let object = Object::encode(value, schema.block.implied_type(), schema.version)?;
        let edit = Edit::SetObject {
            addr: addr.clone(),
            deposed: None,
            provider: job.server.config.clone(),
            provider_key: job.server.key.clone(),
            object: Some(Arc::new(object)),
        };
        self.record(Recorded::Unended, vec![edit]);
        Ok(())
    }

    pub(super) async fn data_answer(&mut self, answer: DataAnswer<'a>) -> bool {
        let DataAnswer { job, value, kept, problems } = answer;
        let addr = job.subject.addr.clone();
        if let Some(check) = &job.resource.inside_check {
            let name = eco_format!("check.{check}");
            let config = in_module(&self.walk.context.tree.node(self.walk.live.module(job.at)).path, &name);
            let object = in_instance(&addr.module, &name);
            self.walk.checks.report_data(&config, &object, &data_verdict(&problems));
            self.walk.report(problems.into_iter().map(|problem| of_check_data(problem, &object)));
            if value.is_none() {
                self.keep_unread(&job);
                return true;
            }
        } else if !self.walk.report(problems) {
            return false;
        }
        let Some(value) = value else { return false };
        self.walk.live.set_instance(job.at, &job.resource.key, addr.key.clone(), value.clone());
        if let Err(reason) = self.keep_data(&job, kept.as_ref().unwrap_or(&value)) {
            return self.walk.report(std::iter::once(cannot_be_stored(&addr, &reason)));
        }
        self.walk.postconditions(job.at, job.resource, &addr, value).await
    }
}
