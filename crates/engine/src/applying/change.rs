//! Making one change: the plan is made again with real values, compared with what was promised, and carried out.

use std::sync::Arc;

use ecow::{EcoVec, eco_format};
use yuba_addrs::ConfigResource;
use yuba_config::resource::Resource;
use yuba_eval::ModuleInstanceId;
use yuba_plan::{Action, Phase, ResourceChange};
use yuba_provider::legality::{assert_object_compatible, proposed_new};
use yuba_provider::{ApplyRequest, Outcome, PlanRequest, Private, Schema};
use yuba_state::{Object, ObjectRecord, Status};
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use crate::diagnostics::{
    PROVIDER_INCONSISTENT_PLAN, PROVIDER_INCONSISTENT_RESULT, PROVIDER_INVALID_OBJECT, PROVIDER_INVALID_PLAN,
    PROVIDER_INVALID_RESULT,
};
use crate::object::{Existing, Subject, conforms, is_same, secrets_differ};
use crate::walk::ignore;

/// A creation, an update, or the second half of a replacement.
pub(crate) struct ChangeJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) resource: &'a Resource,
    pub(crate) at: ModuleInstanceId,
    /// The planned change.
    pub(crate) change: &'a ResourceChange,
    /// The position of the change in the plan.
    pub(crate) position: u32,
    /// The object that is changed, or none if one is created.
    pub(crate) prior: Option<Arc<Object>>,
    pub(crate) config: Value,
    pub(crate) dependencies: EcoVec<ConfigResource>,
    pub(crate) create_before_destroy: bool,
    pub(crate) skip_destroy: bool,
    /// For the journal.
    pub(crate) operation: u32,
}

/// Its outcome.
pub(crate) struct ChangeAnswer<'a> {
    pub(crate) job: ChangeJob<'a>,
    /// The current object, or none.
    pub(crate) result: Option<Existing>,
    /// There was nothing to do, now that all values are known.
    pub(crate) is_as_before: bool,
    /// The provider was asked to make the change, whether all went well or not.
    pub(crate) attempted: bool,
    pub(crate) problems: Diagnostics,
}

/// The rules that the values of a provider follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypeSystem {
    Current,
    /// Values may differ from plans, as those of the legacy SDK do.
    Legacy,
}

impl<'a> ChangeJob<'a> {
    pub(crate) async fn run(self) -> ChangeAnswer<'a> {
        match self.prepare().await {
            Err((result, problems)) => {
                ChangeAnswer { job: self, result, is_as_before: false, attempted: false, problems }
            }
            Ok(Ready { difference: Difference::None, prior: result, problems, .. }) => {
                ChangeAnswer { job: self, result, is_as_before: true, attempted: false, problems }
            }
            Ok(ready) => {
                let (result, problems) = self.carry_out(ready).await;
                ChangeAnswer { job: self, result, is_as_before: false, attempted: true, problems }
            }
        }
    }

    fn phase(&self) -> Phase {
        Phase::Apply(if self.prior.is_some() { Action::Update } else { Action::Create })
    }

    /// Plans again; fails with the current object and the reason.
    async fn prepare(&self) -> Result<Ready<'_>, (Option<Existing>, Diagnostics)> {
        let subject = &self.subject;
        let schema = subject.schema().ok_or_else(|| (None, Diagnostics::new()))?;
        let prior = match &self.prior {
            None => None,
            Some(object) => Some(subject.existing(object).await.map_err(|found| (None, found))?),
        };
        let before = prior.as_ref().map_or_else(|| null(schema), |prior| prior.value.clone());
        let (planned, problems) = match self.plan_again(schema, prior.as_ref()).await {
            Ok(found) => found,
            Err(found) => return Err((prior, found)),
        };
        let is_same = prior.is_some() && is_same(&before.unmark_deep().0, &planned.value.unmark_deep().0);
        let difference = match is_same {
            true if secrets_differ(&before, &planned.value) => Difference::Marks,
            true => Difference::None,
            false => Difference::Content,
        };
        Ok(Ready { schema, prior, before, planned, difference, problems })
    }

    async fn carry_out(&self, ready: Ready<'_>) -> (Option<Existing>, Diagnostics) {
        let subject = &self.subject;
        let Ready { schema, prior, before, planned, difference, mut problems } = ready;
        let (plain_before, _) = before.unmark_deep();
        let (plain_after, marks) = planned.value.unmark_with_paths();
        if let Some(prior) = prior.as_ref().filter(|_| difference == Difference::Marks) {
            // No provider request is necessary.
            subject.started(self.phase(), &before);
            let mut result = prior.clone();
            result.value = planned.value;
            return (Some(result), problems);
        }
        subject.started(self.phase(), &before);
        let request = ApplyRequest {
            kind: subject.kind().clone(),
            prior: plain_before,
            planned: plain_after.clone(),
            config: self.config.unmark_deep().0,
            planned_private: planned.private,
            provider_meta: subject.meta.clone(),
            planned_identity: planned.identity,
        };
        let Outcome { value: answer, problems: found } = subject.provider.apply(request).await;
        problems.extend(subject.placed(found));
        let (state, private, identity, types) = match answer {
            Some(answer) => (
                answer.state,
                answer.private,
                answer.identity,
                match answer.legacy_type_system {
                    true => TypeSystem::Legacy,
                    false => TypeSystem::Current,
                },
            ),
            None => {
                if !problems.has_errors() {
                    let what = eco_format!("returned no object after applying {}", subject.addr);
                    problems.push(subject.broken(&PROVIDER_INVALID_OBJECT, &what));
                }
                return (prior, problems);
            }
        };
        if let Err(reason) = conforms(&state, schema.block.implied_type()) {
            let what =
                eco_format!("returned an object for {} that does not conform to its schema: {reason}", subject.addr);
            problems.push(subject.broken(&PROVIDER_INVALID_OBJECT, &what));
            return (prior, problems);
        }
        let state = self.checked(schema, &plain_after, state, types, &mut problems);
        if state.is_null() {
            return (prior, problems);
        }
        let value = schema.block.mark(&state.mark_at(&marks), None);
        let status = match (&prior, problems.has_errors()) {
            (None, true) => Status::Tainted,
            (Some(prior), true) => prior.record.status,
            (_, false) => Status::Ready,
        };
        let result = Existing {
            value,
            private,
            identity,
            record: ObjectRecord {
                status,
                dependencies: self.dependencies.clone(),
                create_before_destroy: self.create_before_destroy,
                skip_destroy: self.skip_destroy,
            },
            outdated: false,
        };
        (Some(result), problems)
    }

    /// The provider's response, if it is valid; unknown values in it become null.
    fn checked(
        &self,
        schema: &Schema,
        planned: &Value,
        state: Value,
        types: TypeSystem,
        problems: &mut Diagnostics,
    ) -> Value {
        let subject = &self.subject;
        let mut state = state;
        if !state.is_wholly_known() {
            let what = eco_format!("returned unknown values for {} after apply", subject.addr);
            problems.push(subject.broken(&PROVIDER_INVALID_RESULT, &what));
            state = state.unknown_as_null();
        }
        if problems.has_errors() {
            return state;
        }
        if state.is_null() {
            let what = eco_format!("returned no object for {} after apply", subject.addr);
            // Providers with the legacy type system may deviate from their plans, but they must return the object.
            let code = match types {
                TypeSystem::Legacy => &PROVIDER_INVALID_RESULT,
                TypeSystem::Current => &PROVIDER_INCONSISTENT_RESULT,
            };
            problems.push(subject.broken(code, &what));
        } else if types == TypeSystem::Current {
            let address = eco_format!("{}", subject.addr);
            for violation in assert_object_compatible(&schema.block, planned, &state) {
                let what = eco_format!("returned an object that differs from its plan: {}", violation.text(&address));
                problems.push(subject.broken(&PROVIDER_INCONSISTENT_RESULT, &what));
            }
        }
        state
    }

    /// Plans with real values, and compares with what was promised.
    async fn plan_again(
        &self,
        schema: &Schema,
        prior: Option<&Existing>,
    ) -> Result<(Promise, Diagnostics), Diagnostics> {
        let subject = &self.subject;
        let prior_value = prior.map_or_else(|| null(schema), |prior| prior.value.clone());
        let (plain_prior, _) = prior_value.unmark_deep();
        let wanted = ignore::apply(&self.resource.lifecycle.ignore_changes, &schema.block, &prior_value, &self.config);
        let (config, marks) = wanted.unmark_with_paths();
        let found = subject.provider.validate_resource_config(subject.kind().clone(), config.clone()).await;
        let mut problems = subject.placed(found);
        if problems.has_errors() {
            return Err(problems);
        }
        let request = PlanRequest {
            kind: subject.kind().clone(),
            prior: plain_prior.clone(),
            proposed: proposed_new(&schema.block, &plain_prior, &config),
            config,
            prior_private: prior.map(|prior| prior.private.clone()).unwrap_or_default(),
            provider_meta: subject.meta.clone(),
            prior_identity: prior.and_then(|prior| prior.identity.clone()),
        };
        let Outcome { value, problems: found } = subject.provider.plan(request).await;
        problems.extend(subject.placed(found));
        let answer = match value {
            Some(answer) if !problems.has_errors() => answer,
            _ => {
                if !problems.has_errors() {
                    problems.push(subject.broken(&PROVIDER_INVALID_PLAN, "returned no plan"));
                }
                return Err(problems);
            }
        };
        let mut planned = answer.planned;
        if answer.legacy_type_system {
            planned = ignore::apply(&self.resource.lifecycle.ignore_changes, &schema.block, &plain_prior, &planned);
        }
        let (promised, _) = self.change.after.unmark_deep();
        let address = eco_format!("{}", subject.addr);
        for violation in assert_object_compatible(&schema.block, &promised, &planned) {
            let what = eco_format!(
                "returned a plan during apply that differs from the plan during planning: {}",
                violation.text(&address)
            );
            problems.push(subject.broken(&PROVIDER_INCONSISTENT_PLAN, &what));
        }
        if problems.has_errors() {
            return Err(problems);
        }
        let value = schema.block.unmark_write_only(&schema.block.mark(&planned.mark_at(&marks), None));
        Ok((Promise { value, private: answer.private, identity: answer.identity }, problems))
    }
}

/// A change that can be made.
struct Ready<'s> {
    schema: &'s Schema,
    /// The current value.
    prior: Option<Existing>,
    /// The same as a value, which is null for nothing.
    before: Value,
    planned: Promise,
    difference: Difference,
    problems: Diagnostics,
}

/// Difference between the current and the planned object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// Nothing.
    None,
    /// Only what may be shown.
    Marks,
    /// The object, or none before its creation.
    Content,
}

/// The planned response of the provider.
struct Promise {
    value: Value,
    private: Private,
    identity: Option<Value>,
}

fn null(schema: &Schema) -> Value {
    Value::null(schema.block.implied_type().clone())
}

/// The end of an object.
pub(crate) struct EndJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) change: &'a ResourceChange,
    pub(crate) prior: Arc<Object>,
    /// For the journal.
    pub(crate) operation: u32,
}

/// Its outcome.
pub(crate) struct EndAnswer<'a> {
    pub(crate) job: EndJob<'a>,
    /// The remaining object.
    pub(crate) left: Option<Existing>,
    pub(crate) problems: Diagnostics,
}

impl<'a> EndJob<'a> {
    /// Destroys the object, unless a preceding step fails.
    pub(crate) async fn run(self, before: impl Future<Output = Diagnostics>) -> EndAnswer<'a> {
        let (left, problems) = self.destroy(before).await;
        EndAnswer { job: self, left, problems }
    }

    async fn destroy(&self, before: impl Future<Output = Diagnostics>) -> (Option<Existing>, Diagnostics) {
        let subject = &self.subject;
        let existing = match subject.existing(&self.prior).await {
            Ok(existing) => existing,
            Err(found) => return (None, found),
        };
        subject.started(Phase::Apply(Action::Delete), &existing.value);
        let mut collected = before.await;
        if collected.has_errors() {
            return (None, collected);
        }
        let (left, found) = self.destroy_now(existing).await;
        collected.extend(found);
        (left, collected)
    }

    async fn destroy_now(&self, existing: Existing) -> (Option<Existing>, Diagnostics) {
        let subject = &self.subject;
        let null = Value::null(existing.value.ty().clone());
        let (prior, marks) = existing.value.unmark_with_paths();
        let (private, identity) = match self.change.action {
            Action::Delete => (self.change.private.clone(), self.change.identity.clone()),
            // Of a replacement only the creation was planned with the provider.
            _ => {
                let planned = subject.plan_end(&existing).await;
                match planned {
                    Ok(answer) => (answer.private, answer.identity),
                    Err(found) => return (Some(existing), found),
                }
            }
        };
        let request = ApplyRequest {
            kind: subject.kind().clone(),
            prior,
            planned: null.clone(),
            config: null,
            planned_private: private,
            provider_meta: subject.meta.clone(),
            planned_identity: identity,
        };
        let Outcome { value: answer, problems } = subject.provider.apply(request).await;
        let mut problems = subject.placed(problems);
        match answer {
            None => {
                // No response and no error: the object is gone.
                let left = problems.has_errors().then_some(existing);
                (left, problems)
            }
            Some(answer) if answer.state.is_null() => {
                let left = problems.has_errors().then_some(existing);
                (left, problems)
            }
            Some(answer) => {
                if !problems.has_errors() {
                    let what = eco_format!("returned an object for {} after destroying it", subject.addr);
                    problems.push(subject.broken(&PROVIDER_INVALID_RESULT, &what));
                }
                let state = answer.state.unknown_as_null();
                let value = match subject.schema() {
                    Some(schema) => schema.block.mark(&state.mark_at(&marks), None),
                    None => state,
                };
                let left = Existing { value, private: answer.private, identity: answer.identity, ..existing };
                (Some(left), problems)
            }
        }
    }
}
