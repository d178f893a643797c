//! Adding reports of jobs of planning to the plan.

use ecow::eco_format;
use tracing::Instrument as _;
use yuba_addrs::AbsResourceInstance;
use yuba_config::resource::{Resource, ResourceKey};
use yuba_eval::ModuleInstanceId;
use yuba_plan::{Action, ActionReason, Mode, ResourceChange};
use yuba_state::{Edit, Object, ObjectRecord};
use yuba_syntax::parser::parse_config;
use yuba_syntax::{Diagnostics, FileId};
use yuba_value::{Type, Value, convert};

use super::generated::{ImportAnswer, WrittenAnswer, WrittenJob};
use super::managed::{ManagedAnswer, Planned};
use super::removal::RemovalAnswer;
use super::{Answer, Planner};
use crate::diagnostics;
use crate::drive::Jobs;
use crate::generate;
use crate::object::{Existing, cannot_be_stored, is_same};
use crate::walk::checks::{in_instance, in_module};
use crate::walk::data::DataAnswer;
use crate::walk::{data_verdict, of_check_data, providers::Server};

/// Maximum number of instances that an error suggests.
const SHOWN_INSTANCES: usize = 10;

impl<'a> Planner<'a> {
    pub(super) async fn managed_answer(&mut self, step: u32, mut answer: ManagedAnswer<'a>) -> bool {
        let found = std::mem::take(&mut answer.problems);
        let mut ok = self.walk.report(found);
        let addr = answer.job.subject.addr.clone();
        let server = answer.job.server.clone();
        let importing = answer.job.import.as_ref().map(|(_, importing)| importing.clone());
        if importing.is_none() {
            self.note_drift(&addr, &server, answer.was.as_ref(), answer.is.as_ref());
        }
        ok &= self.keep(step, &addr, &server, &answer);
        let (at, resource) = (answer.job.at, answer.job.resource);
        let Some(planned) = answer.planned else {
            // Only read again: it is what it is.
            let value = match &answer.is {
                Some(existing) => existing.value.clone(),
                // Its value after creation is unknown.
                None if self.options.imports.is_empty() => Value::unknown_dynamic(),
                None => Value::unknown(self.type_of(&answer.job)),
            };
            let is_complete = self.options.mode != Mode::Normal;
            if ok && is_complete {
                self.walk.live.set_instance(at, &resource.key, addr.key.clone(), value.clone());
                ok &= self.walk.postconditions(at, resource, &addr, value).await;
            }
            return ok;
        };
        self.pending[step as usize] |= planned.action != Action::NoOp;
        let after = planned.after.clone();
        self.walk.live.set_instance(at, &resource.key, addr.key.clone(), after.clone());
        let may_be_replaced = self.may_be_destroyed(at, resource, &addr, planned.action).await;
        let mut change = self.change(&addr, &server, planned);
        change.importing = importing.map(Box::new);
        self.push_change(at, &resource.key, change);
        // An object that must not be replaced has no next value to check.
        may_be_replaced && ok & self.walk.postconditions(at, resource, &addr, after).await
    }

    fn type_of(&self, job: &super::managed::ManagedJob<'a>) -> Type {
        job.subject.schema().map_or_else(Type::dynamic, |schema| schema.block.implied_type().clone())
    }

    /// Takes what was read again into the state.
    fn keep(&mut self, step: u32, addr: &AbsResourceInstance, server: &Server, answer: &ManagedAnswer<'a>) -> bool {
        let job = &answer.job;
        let object = match &answer.is {
            None => {
                if answer.was.is_some() && !self.walk.has_errors() {
                    self.set_object(addr, server, None);
                }
                return true;
            }
            Some(existing) => existing,
        };
        let wanted = Existing {
            record: ObjectRecord {
                dependencies: self.kept_dependencies(step, answer),
                create_before_destroy: job.create_before_destroy && !job.only_import,
                skip_destroy: job.skip_destroy && !job.only_import,
                ..object.record.clone()
            },
            ..object.clone()
        };
        let same_place = self.state.get(&addr.containing()).is_some_and(|resource| {
            let instance = resource.instances.get(&addr.key);
            resource.provider == server.config && instance.is_some_and(|instance| instance.provider_key == server.key)
        });
        let unchanged = same_place && answer.was.as_ref().is_some_and(|was| !was.outdated && is_kept_as(was, &wanted));
        if unchanged {
            return true;
        }
        match job.subject.stored(&wanted) {
            Ok(object) => {
                self.set_object(addr, server, Some(object));
                true
            }
            Err(reason) => self.walk.report(std::iter::once(cannot_be_stored(addr, &reason))),
        }
    }

    fn set_object(&mut self, addr: &AbsResourceInstance, server: &Server, object: Option<std::sync::Arc<Object>>) {
        let edit = Edit::SetObject {
            addr: addr.clone(),
            deposed: None,
            provider: server.config.clone(),
            provider_key: server.key.clone(),
            object,
        };
        self.state.apply(edit);
    }

    /// Reports objects that changed outside since the last run.
    fn note_drift(
        &mut self,
        addr: &AbsResourceInstance,
        server: &Server,
        was: Option<&Existing>,
        is: Option<&Existing>,
    ) {
        let Some(was) = was else { return };
        let moved = self.moves.from(addr).is_some();
        let (action, after) = match is {
            None => (Action::Delete, Value::null(was.value.ty().clone())),
            Some(is) if is_same(&is.value.unmark_deep().0, &was.value.unmark_deep().0) => {
                if !(moved && self.options.mode == Mode::RefreshOnly) {
                    return;
                }
                (Action::NoOp, is.value.clone())
            }
            Some(is) => (Action::Update, is.value.clone()),
        };
        let planned = Planned {
            action,
            reason: ActionReason::None,
            before: was.value.clone(),
            after,
            private: was.private.clone(),
            identity: None,
            required_replace: Vec::new(),
        };
        let change = self.change(addr, server, planned);
        self.drift.push(change);
    }

    /// The prior address of an object, as far as that is part of a plan: an object that is read in order to be
    /// destroyed has moved by then.
    pub(super) fn moved_from(&self, addr: &AbsResourceInstance) -> Option<Box<AbsResourceInstance>> {
        let is_over = self.options.mode == Mode::Destroy && self.options.refresh;
        self.moves.from(addr).filter(|_| !is_over).cloned().map(Box::new)
    }

    pub(super) fn change(&self, addr: &AbsResourceInstance, server: &Server, planned: Planned) -> ResourceChange {
        ResourceChange {
            addr: addr.clone(),
            moved_from: self.moved_from(addr),
            deposed: None,
            provider: server.config.clone(),
            provider_key: server.key.clone(),
            action: planned.action,
            reason: planned.reason,
            before: planned.before,
            after: planned.after,
            private: planned.private,
            identity: planned.identity,
            required_replace: planned.required_replace,
            importing: None,
            generated_config: None,
        }
    }

    pub(super) fn push_change(&mut self, at: ModuleInstanceId, key: &ResourceKey, change: ResourceChange) {
        if self.has_triggers {
            let position = self.changes.len() as u32;
            self.planned.entry((at, key.clone())).or_default().insert(change.addr.key.clone(), position);
        }
        self.announce(&change);
        self.changes.push(change);
    }

    /// Lets the provider of a change start again while the rest is planned. Objects that are read before they are destroyed are
    /// planned again in any case.
    fn announce(&mut self, change: &ResourceChange) {
        let is_next = change.action != Action::NoOp || self.options.before_destroy;
        if is_next && self.announced.insert((change.provider.clone(), change.provider_key.clone())) {
            self.walk.context.env.providers.change_planned(&change.provider);
        }
    }

    /// The module instance in which arguments of a removed object are evaluated. An instance that is only in the state, or
    /// that a destroy plan does not evaluate, has unknown values: constants still have theirs.
    fn scope_of_removed(&mut self, addr: &AbsResourceInstance) -> ModuleInstanceId {
        let live = self.walk.live;
        if let Some(at) = live.find(&addr.module) {
            return at;
        }
        let tree = self.walk.context.tree;
        let module = tree.find(&addr.module.module()).expect("because the resource is declared in this module");
        *self.absent.entry(module).or_insert_with(|| live.add_absent(module, addr.module.clone()))
    }

    /// Checks `prevent_destroy`.
    async fn may_be_destroyed(
        &mut self,
        at: ModuleInstanceId,
        resource: &'a Resource,
        addr: &AbsResourceInstance,
        action: Action,
    ) -> bool {
        let Some(expr) = &resource.lifecycle.prevent_destroy else { return true };
        let variables = expr.variables().into_iter();
        let of_instances = variables
            .filter(|used| used.root == "each" || used.root == "count")
            .map(|used| diagnostics::instance_in_prevent_destroy(&used.root, &addr.resource, used.span));
        if !self.walk.report(of_instances) {
            return false;
        }
        let (value, found) = self.walk.settle(|| self.walk.scope(at).eval_used(expr)).await;
        if !self.walk.report(found) {
            return false;
        }
        let invalid = |reason: &str| diagnostics::invalid_prevent_destroy(addr, reason, expr.span);
        let (plain, marks) = value.unmark();
        let mut problems = Diagnostics::new();
        if marks.has_sensitive() {
            problems.push(invalid("it is sensitive, but the plan reveals it"));
        }
        if marks.has_ephemeral() {
            problems.push(invalid("it is ephemeral, but planning and applying require the same value"));
        }
        let prevents = match convert::convert(&plain, &Type::bool()) {
            Ok(value) => value,
            Err(reason) => {
                problems.push(invalid(&eco_format!("{reason}")));
                plain
            }
        };
        let ends = matches!(action, Action::Delete | Action::DeleteThenCreate | Action::CreateThenDelete);
        if ends && !problems.has_errors() {
            if !prevents.is_known() && self.walk.live.find(&addr.module).is_none() {
                problems.push(diagnostics::prevent_destroy_without_module(addr, expr.span));
            } else if !prevents.is_known() {
                let problem = invalid("it is known only after apply");
                problems.push(problem.hint("Exclude the object from this plan with -exclude."));
            } else if prevents.is_null() {
                problems.push(invalid("it is null").hint("Use false to allow destroying the object."));
            } else if prevents.as_bool() == Some(true) {
                problems.push(diagnostics::destroy_prevented(addr, resource.span));
            }
        }
        self.walk.report(problems)
    }

    pub(super) async fn removal_answer(&mut self, mut answer: RemovalAnswer<'a>) -> bool {
        let found = std::mem::take(&mut answer.problems);
        let mut ok = self.walk.report(found);
        let job = &answer.job;
        let addr = job.subject.addr.clone();
        let server = Server {
            config: job.provider.clone(),
            key: job.provider_key.clone(),
            provider: job.subject.provider.clone(),
        };
        let deposed = job.subject.deposed.clone();
        if deposed.is_none() {
            self.note_drift(&addr, &server, answer.was.as_ref(), answer.is.as_ref());
        }
        let object = match (&answer.was, &answer.is) {
            (Some(was), Some(is)) if !is_kept_as(was, is) => Some(job.subject.stored(is).ok()),
            (Some(_), None) if ok => Some(None),
            _ => None,
        };
        if let Some(object) = object {
            // Another provider instance may destroy it than the one that created it.
            let made_by = self.state.instance(&addr).map(|instance| instance.provider_key.clone());
            let (provider, provider_key) = (server.config.clone(), made_by.unwrap_or_default());
            let (addr, deposed) = (addr.clone(), deposed.clone());
            self.state.apply(Edit::SetObject { addr, deposed, provider, provider_key, object });
        }
        let Some(planned) = answer.planned else { return ok };
        if planned.action == Action::Forget && self.options.mode != Mode::Destroy {
            self.walk.report(std::iter::once(diagnostics::object_forgotten(&addr)));
        }
        if let Some(resource) = self.walk.declared(&addr)
            && deposed.is_none()
        {
            let at = self.scope_of_removed(&addr);
            if !self.may_be_destroyed(at, resource, &addr, planned.action).await {
                ok = false;
                if self.options.mode == Mode::Destroy {
                    self.prevented.push(addr.clone());
                }
            }
        }
        if let Some(vertex) = self.walk.vertex_of(&addr) {
            self.pending[vertex as usize] = true;
        }
        let mut change = self.change(&addr, &server, planned);
        change.deposed = deposed;
        if let (Some(at), None) = (self.walk.live.find(&addr.module), &change.deposed) {
            self.push_change(at, &ResourceKey::from(&addr.resource), change);
        } else {
            self.changes.push(change);
        }
        ok
    }

    /// An imported object that needs configuration: it is written, and then planned.
    pub(super) async fn imported_answer(&mut self, answer: ImportAnswer<'a>, jobs: &mut Jobs<'a, Answer<'a>>) -> bool {
        let ImportAnswer { job, found: existing, problems } = answer;
        let mut ok = self.walk.report(problems);
        let (Some(existing), Some(schema)) = (existing, job.subject.schema()) else { return false };
        let (value, _) = existing.value.unmark_deep();
        let arguments = generate::arguments(&schema.block, &value);
        let text = generate::resource(&job.subject.addr, &arguments, &job.server.config).into();
        // An expression that is not in a file cannot be shown.
        let (_, parsed) = parse_config(FileId(u32::MAX), arguments.as_bytes());
        let scope = self.walk.scope(ModuleInstanceId::ROOT);
        let (config, found) = self.walk.settle(|| scope.eval_body(&parsed.body, &schema.block)).await;
        ok &= self.walk.report(parsed.diagnostics.into_iter().chain(found));
        let written = WrittenJob { job, existing, text, config };
        jobs.push(move || async move {
            let span = tracing::debug_span!("plan instance", address = %written.job.subject.addr);
            Answer::Written(Box::new(written.run().instrument(span).await))
        });
        ok
    }

    /// An imported object that configuration was written for. An invalid block is still written, so that users can
    /// correct it.
    pub(super) fn written_answer(&mut self, answer: WrittenAnswer<'a>) -> bool {
        let WrittenAnswer { written: WrittenJob { job, existing, text, .. }, planned, problems } = answer;
        let ok = self.walk.report(problems);
        let addr = &job.subject.addr;
        match job.subject.stored(&existing) {
            Ok(object) => self.set_object(addr, &job.server, Some(object)),
            Err(reason) => return self.walk.report(std::iter::once(cannot_be_stored(addr, &reason))),
        }
        let planned = planned.unwrap_or_else(|| Planned {
            action: Action::NoOp,
            reason: ActionReason::None,
            before: existing.value.clone(),
            after: existing.value,
            private: existing.private,
            identity: existing.identity,
            required_replace: Vec::new(),
        });
        let mut change = self.change(addr, &job.server, planned);
        change.importing = Some(Box::new(job.importing));
        change.generated_config = Some(text);
        self.changes.push(change);
        ok
    }

    pub(super) async fn data_answer(&mut self, step: u32, mut answer: DataAnswer<'a>) -> bool {
        let found = std::mem::take(&mut answer.problems);
        let job = &answer.job;
        let (at, resource) = (job.at, job.resource);
        let addr = job.subject.addr.clone();
        let server = job.server.clone();
        let schema = job.subject.schemas.data.get(&addr.resource.kind);
        let mut value = answer.value.clone();
        let mut ok = true;
        if let Some(check) = &resource.inside_check {
            // An error in a check is a result of the check and does not stop the plan.
            let name = eco_format!("check.{check}");
            let tree = self.walk.context.tree;
            let config = in_module(&tree.node(self.walk.live.module(at)).path, &name);
            let object = in_instance(&addr.module, &name);
            self.walk.checks.report_data(&config, &object, &data_verdict(&found));
            self.walk.report(found.into_iter().map(|problem| of_check_data(problem, &object)));
            if value.is_none()
                && let Some(schema) = schema
            {
                let (plain, marks) = job.config.unmark_with_paths();
                value = Some(yuba_provider::legality::planned_unknown(&schema.block, &plain).mark_at(&marks));
            }
        } else {
            ok &= self.walk.report(found);
        }
        let Some(value) = value else { return false };
        self.walk.live.set_instance(at, &resource.key, addr.key.clone(), value.clone());
        if resource.inside_check.is_some() && self.options.mode == Mode::Normal {
            self.pending[step as usize] = true;
            let change = self.read_change(&addr, &server, value.clone(), ActionReason::ReadBecauseCheckNested);
            self.push_change(at, &resource.key, change);
        }
        if let Some(schema) = schema
            && value.is_wholly_known()
        {
            let kept = answer.kept.as_ref().unwrap_or(&value);
            match Object::encode(kept, schema.block.implied_type(), schema.version) {
                Ok(object) => self.set_object(&addr, &server, Some(std::sync::Arc::new(object))),
                Err(reason) => ok &= self.walk.report(std::iter::once(cannot_be_stored(&addr, &reason))),
            }
        }
        ok & self.walk.postconditions(at, resource, &addr, value).await
    }

    /// `-replace` of a resource whose instances have keys, or that does not have instances.
    // Quirk: nothing is reported about a key that no instance has, nor of a resource that is not in the configuration.
    pub(super) fn check_force_replace(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        if self.options.mode != Mode::Normal {
            return problems;
        }
        for addr in self.options.force_replace.iter().filter(|addr| addr.key.is_none()) {
            let at = self.walk.live.find(&addr.module);
            let expansion = at.and_then(|at| self.walk.live.resource_expansion(at, &ResourceKey::from(&addr.resource)));
            let Some(expansion) = expansion.filter(|expansion| !expansion.contains(None)) else { continue };
            let instance = |key| eco_format!("{}", AbsResourceInstance { key, ..addr.clone() });
            let shown: Vec<_> = expansion.instances().take(SHOWN_INSTANCES).map(|(key, _)| instance(key)).collect();
            let more = expansion.len() - shown.len();
            problems.push(diagnostics::incomplete_replace_address(addr, &shown, more));
        }
        problems
    }
}

/// Whether an object would be stored in the same form.
fn is_kept_as(a: &Existing, b: &Existing) -> bool {
    a.record == b.record
        && a.private == b.private
        && a.value.raw_equals(&b.value)
        && match (&a.identity, &b.identity) {
            (Some(a), Some(b)) => a.raw_equals(b),
            (None, None) => true,
            _ => false,
        }
}
