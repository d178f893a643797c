//! Planning one instance of a managed resource: it is read again, compared with its configuration, and the provider says
//! what the difference leads to.

use std::sync::Arc;

use ecow::eco_format;
use yuba_config::resource::{IgnoreChanges, Resource};
use yuba_eval::ModuleInstanceId;
use yuba_plan::{Action, ActionReason, Importing, Phase};
use yuba_provider::legality::{Violation, assert_plan_valid, proposed_new};
use yuba_provider::{ImportBy, ImportRequest, Outcome, PlanAnswer, PlanRequest, Private, Schema};
use yuba_state::{Object, ObjectRecord};
use yuba_syntax::Diagnostics;
use yuba_value::{Path, Value};

use super::replace_paths;
use crate::diagnostics::{self, PROVIDER_INVALID_PLAN};
use crate::object::{Existing, MovedFrom, Subject, conforms, import_id, is_same, secrets_differ};
use crate::walk::ignore;
use crate::walk::providers::Server;

/// An instance that the configuration has.
pub(crate) struct ManagedJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) resource: &'a Resource,
    pub(crate) server: Server,
    pub(crate) at: ModuleInstanceId,
    /// The object of the state.
    pub(crate) prior: Option<Arc<Object>>,
    /// Its former type, if it has changed.
    pub(crate) moved_from: Option<MovedFrom>,
    /// The configuration, with marks; none if nothing is to be planned.
    pub(crate) config: Option<Value>,
    pub(crate) refresh: bool,
    /// `-replace`, or something that `replace_triggered_by` names changes.
    pub(crate) force_replace: bool,
    pub(crate) triggered: bool,
    pub(crate) create_before_destroy: bool,
    pub(crate) skip_destroy: bool,
    /// Only taken into the state, not planned.
    pub(crate) only_import: bool,
    pub(crate) import: Option<(ImportBy, Importing)>,
}

/// A change that was planned.
pub(crate) struct Planned {
    pub(crate) action: Action,
    pub(crate) reason: ActionReason,
    pub(crate) before: Value,
    pub(crate) after: Value,
    pub(crate) private: Private,
    pub(crate) identity: Option<Value>,
    pub(crate) required_replace: Vec<Path>,
}

/// Outcome of a job.
pub(crate) struct ManagedAnswer<'a> {
    pub(crate) job: ManagedJob<'a>,
    /// The object as the state had it.
    pub(crate) was: Option<Existing>,
    /// The object as it is; none if it is gone.
    pub(crate) is: Option<Existing>,
    pub(crate) planned: Option<Planned>,
    pub(crate) problems: Diagnostics,
}

impl<'a> ManagedJob<'a> {
    pub(crate) async fn run(self) -> ManagedAnswer<'a> {
        let mut answer = ManagedAnswer { job: self, was: None, is: None, planned: None, problems: Diagnostics::new() };
        if let Err(found) = answer.look().await {
            answer.problems.extend(found);
            return answer;
        }
        if answer.problems.has_errors() {
            return answer;
        }
        if let Some(config) = answer.job.config.clone().filter(|_| !answer.job.only_import) {
            match answer.job.wish().plan(&config, answer.is.as_ref()).await {
                Ok((planned, found)) => {
                    answer.planned = Some(planned);
                    answer.problems.extend(found);
                }
                Err(found) => answer.problems.extend(found),
            }
        }
        answer
    }
}

impl ManagedAnswer<'_> {
    /// Finds the object as it is.
    async fn look(&mut self) -> Result<(), Diagnostics> {
        let job = &self.job;
        if let Some((by, importing)) = &job.import {
            let (existing, found) = imported(&job.subject, by, importing, job.config.as_ref()).await?;
            self.problems.extend(found);
            self.is = Some(existing);
            return Ok(());
        }
        let Some(object) = &job.prior else { return Ok(()) };
        let (mut existing, found) = job.subject.existing_from(object, job.moved_from.as_ref()).await?;
        self.problems.extend(found);
        self.was = Some(existing.clone());
        if job.refresh {
            let (refreshed, found) = job.subject.refreshed(&existing).await;
            self.problems.extend(found);
            match refreshed {
                Some(refreshed) => existing = refreshed,
                None => return Ok(()),
            }
        }
        self.is = Some(existing);
        Ok(())
    }
}

impl<'a> ManagedJob<'a> {
    fn wish(&self) -> Wish<'_, 'a> {
        Wish {
            subject: &self.subject,
            ignore_changes: &self.resource.lifecycle.ignore_changes,
            force_replace: self.force_replace,
            triggered: self.triggered,
            create_before_destroy: self.create_before_destroy,
            skip_destroy: self.skip_destroy,
        }
    }
}

/// Demands on an object besides its configuration.
pub(super) struct Wish<'j, 'a> {
    pub(super) subject: &'j Subject<'a>,
    pub(super) ignore_changes: &'j IgnoreChanges,
    pub(super) force_replace: bool,
    pub(super) triggered: bool,
    pub(super) create_before_destroy: bool,
    pub(super) skip_destroy: bool,
}

impl Wish<'_, '_> {
    /// Asks the provider what the configuration leads to.
    pub(super) async fn plan(
        &self,
        config: &Value,
        existing: Option<&Existing>,
    ) -> Result<(Planned, Diagnostics), Diagnostics> {
        let subject = self.subject;
        let Some(schema) = subject.schema() else { return Err(Diagnostics::new()) };
        let ty = schema.block.implied_type();
        let null = || Value::null(ty.clone());
        let tainted = existing.is_some_and(Existing::is_tainted);
        let usable = existing.filter(|_| !tainted);
        let prior = usable.map_or_else(null, |existing| existing.value.clone());
        let (plain_prior, _) = prior.unmark_deep();

        let (plain_config, _) = config.unmark_deep();
        let found = subject.provider.validate_resource_config(subject.kind().clone(), plain_config.clone()).await;
        let mut problems = subject.placed(found);
        if problems.has_errors() {
            return Err(problems);
        }
        let wanted = ignore::apply(self.ignore_changes, &schema.block, &prior, config);
        let (plain_wanted, marks) = wanted.unmark_with_paths();
        let proposed = proposed_new(&schema.block, &plain_prior, &plain_wanted);
        let private = usable.map(|existing| existing.private.clone()).unwrap_or_default();
        let identity = usable.and_then(|existing| existing.identity.clone());
        let request = self.request(plain_prior.clone(), proposed, plain_wanted.clone(), private, identity);
        let answer = self.ask(schema, request, &mut problems).await?;
        if !answer.legacy_type_system {
            let violations = assert_plan_valid(&schema.block, &plain_prior, &plain_wanted, &answer.planned);
            problems.extend(self.invalid_plan(&violations));
            if !violations.is_empty() {
                return Err(problems);
            }
        }
        let mut planned = answer.planned.clone();
        if answer.legacy_type_system {
            planned = ignore::apply(self.ignore_changes, &schema.block, &plain_prior, &planned);
        }
        let required_replace = self.required_replace(&answer, &plain_prior, &planned, &mut problems)?;

        let (mut action, mut reason) = self.action(schema, &plain_prior, &planned, &required_replace);
        let mut answer = answer;
        if action.is_replace() {
            // The new object does not depend on the old one.
            let proposed = proposed_new(&schema.block, &null(), &plain_config);
            let request = self.request(null(), proposed, plain_config.clone(), answer.private.clone(), None);
            answer = self.ask(schema, request, &mut problems).await?;
            planned = answer.planned.clone();
        }
        let mut before = prior;
        if action == Action::Create
            && let Some(existing) = existing.filter(|_| tainted)
        {
            action = self.replacing();
            before = existing.value.clone();
            reason = ActionReason::ReplaceBecauseTainted;
        }
        if action.is_replace() && self.skip_destroy {
            action = Action::ForgetThenCreate;
        }
        let after = schema.block.unmark_write_only(&schema.block.mark(&planned.mark_at(&marks), None));
        let (action, after) = settled(action, &before, after.without_negative_zero());
        // Quirk: an object that is new anyway has this reason too.
        if self.triggered {
            reason = ActionReason::ReplaceByTriggers;
        }
        let planned = Planned {
            action,
            reason,
            before,
            after,
            private: answer.private,
            identity: answer.identity,
            required_replace,
        };
        Ok((planned, problems))
    }

    /// Returns the errors for a planned value that violates the protocol.
    fn invalid_plan(&self, violations: &[Violation]) -> Diagnostics {
        let address = eco_format!("{}", self.subject.addr);
        let mut problems = Diagnostics::new();
        for violation in violations {
            let what = eco_format!("planned an invalid value: {}", violation.text(&address));
            problems.push(self.subject.broken(&PROVIDER_INVALID_PLAN, &what));
        }
        problems
    }

    /// Returns the action that leads from the prior value to the planned value, and the reason for a replacement.
    fn action(
        &self,
        schema: &Schema,
        prior: &Value,
        planned: &Value,
        required_replace: &[Path],
    ) -> (Action, ActionReason) {
        let writes_only = |path: &Path| schema.block.attribute_at(&path.0).is_some_and(|found| found.write_only);
        let force = self.force_replace || self.triggered;
        let action = if prior.is_null() {
            Action::Create
        } else if required_replace.iter().any(writes_only) {
            self.replacing()
        } else if is_same(planned, prior) && !force {
            Action::NoOp
        } else if force || !required_replace.is_empty() {
            self.replacing()
        } else {
            Action::Update
        };
        let reason = match action.is_replace() {
            true if force => ActionReason::ReplaceByRequest,
            true => ActionReason::ReplaceBecauseCannotUpdate,
            false => ActionReason::None,
        };
        (action, reason)
    }

    fn replacing(&self) -> Action {
        if self.create_before_destroy { Action::CreateThenDelete } else { Action::DeleteThenCreate }
    }

    fn request(
        &self,
        prior: Value,
        proposed: Value,
        config: Value,
        prior_private: Private,
        prior_identity: Option<Value>,
    ) -> PlanRequest {
        let kind = self.subject.kind().clone();
        let provider_meta = self.subject.meta.clone();
        PlanRequest { kind, prior, proposed, config, prior_private, provider_meta, prior_identity }
    }

    async fn ask(
        &self,
        schema: &Schema,
        request: PlanRequest,
        problems: &mut Diagnostics,
    ) -> Result<PlanAnswer, Diagnostics> {
        let Outcome { value, problems: found } = self.subject.provider.plan(request).await;
        problems.extend(self.subject.placed(found));
        if problems.has_errors() {
            return Err(std::mem::take(problems));
        }
        let Some(answer) = value else {
            problems.push(self.subject.broken(&PROVIDER_INVALID_PLAN, "returned no plan"));
            return Err(std::mem::take(problems));
        };
        if let Err(reason) = conforms(&answer.planned, schema.block.implied_type()) {
            let what = eco_format!(
                "planned an object for {} that does not conform to its schema: {reason}",
                self.subject.addr
            );
            problems.push(self.subject.broken(&PROVIDER_INVALID_PLAN, &what));
            return Err(std::mem::take(problems));
        }
        Ok(answer)
    }

    /// Paths that the provider cannot change, as far as they change.
    fn required_replace(
        &self,
        answer: &PlanAnswer,
        prior: &Value,
        planned: &Value,
        problems: &mut Diagnostics,
    ) -> Result<Vec<Path>, Diagnostics> {
        let mut required = Vec::new();
        if prior.is_null() {
            return Ok(required);
        }
        let schema = self.subject.schema();
        for path in &answer.requires_replace {
            let (before, after) = match (path.follow(prior), path.follow(planned)) {
                (None, None) => {
                    let what = eco_format!(
                        "requires the replacement of {} because of an attribute that does not exist",
                        self.subject.addr
                    );
                    problems.push(self.subject.broken(&PROVIDER_INVALID_PLAN, &what));
                    continue;
                }
                (Some(before), None) => (before.clone(), Value::null(before.ty().clone())),
                (None, Some(after)) => (Value::null(after.ty().clone()), after),
                (Some(before), Some(after)) => (before, after),
            };
            let write_only = schema
                .and_then(|schema| schema.block.attribute_at(&path.0))
                .is_some_and(|attribute| attribute.write_only);
            if !is_same(&after, &before) || write_only {
                required.push(path.clone());
            }
        }
        if problems.has_errors() { Err(std::mem::take(problems)) } else { Ok(replace_paths::in_order(required)) }
    }
}

/// The action and the planned value, after they were compared with the object before.
fn settled(action: Action, before: &Value, after: Value) -> (Action, Value) {
    match action {
        Action::NoOp if secrets_differ(before, &after) => (Action::Update, after),
        // One value instead of two, for each of possibly many objects that do not change. Equal numbers are not always shown
        // in the same form.
        Action::NoOp if !after.has_numbers() && after.raw_equals(before) => (action, before.clone()),
        _ => (action, after),
    }
}

/// An object that exists without being in the state.
pub(crate) async fn imported(
    subject: &Subject<'_>,
    by: &ImportBy,
    importing: &Importing,
    config: Option<&Value>,
) -> Result<(Existing, Diagnostics), Diagnostics> {
    let what = match by {
        ImportBy::Id(id) => eco_format!("the id {id:?}"),
        ImportBy::Identity(_) => "the given identity".into(),
    };
    subject.started_with(Phase::PrepareImport, import_id(importing));
    let request = ImportRequest { kind: subject.kind().clone(), by: by.clone() };
    let Outcome { value, problems } = subject.provider.import(request).await;
    let mut found = subject.placed(problems);
    if found.has_errors() {
        return Err(found);
    }
    let mut imported = value.unwrap_or_default();
    if imported.len() > 1 {
        found.push(diagnostics::several_objects_imported(&what));
        return Err(found);
    }
    let Some(imported) = imported.pop() else {
        found.push(diagnostics::no_object_imported(&what));
        return Err(found);
    };
    if imported.state.is_null() {
        found.push(diagnostics::null_object_imported(&what));
        return Err(found);
    }
    let value = match subject.schema() {
        Some(schema) => schema.block.mark(&imported.state, None),
        None => imported.state,
    };
    let existing = Existing {
        value,
        private: imported.private,
        identity: imported.identity,
        record: ObjectRecord::default(),
        outdated: false,
    };
    let (refreshed, more) = subject.refreshed(&existing).await;
    found.extend(more);
    if found.has_errors() {
        return Err(found);
    }
    let Some(mut refreshed) = refreshed else {
        found.push(diagnostics::imported_object_missing(&subject.addr, &what));
        return Err(found);
    };
    if let Some(config) = config {
        let (_, marks) = config.unmark_with_paths();
        refreshed.value = refreshed.value.mark_at(&marks);
        if let Some(schema) = subject.schema() {
            refreshed.value = schema.block.unmark_write_only(&refreshed.value);
        }
    }
    Ok((refreshed, found))
}
