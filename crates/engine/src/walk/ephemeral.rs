//! Ephemeral resources: opened by the walk, renewed while they are in use, closed afterwards, never stored.

use std::future::Future;

use ecow::{EcoString, eco_format};
use yuba_config::resource::Resource;
use yuba_eval::ModuleInstanceId;
use yuba_plan::Phase;
use yuba_provider::{Millis, Opened, Outcome, Private, Renewed};
use yuba_syntax::{Code, Diagnostic, Diagnostics};
use yuba_value::{Mark, Type, Value};

use super::{Walk, WalkAnswer};
use crate::diagnostics::{PROVIDER_INVALID_OBJECT, PROVIDER_NULL_OBJECT};
use crate::drive::Jobs;
use crate::object::{Ended, Subject, conforms};

/// An ephemeral resource that is open.
pub(crate) struct Open<'a> {
    subject: Subject<'a>,
    private: Private,
    renew_at: Option<Millis>,
}

/// Outcome of a renewal.
pub(crate) struct RenewAnswer {
    /// Index among the open ones.
    at: usize,
    renewed: Option<Renewed>,
    problems: Diagnostics,
}

/// One that is to be opened.
pub(crate) struct OpenJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) resource: &'a Resource,
    pub(crate) at: ModuleInstanceId,
    /// The configuration, with marks.
    pub(crate) config: Value,
}

/// Outcome of opening.
pub(crate) struct OpenAnswer<'a> {
    subject: Subject<'a>,
    resource: &'a Resource,
    at: ModuleInstanceId,
    opened: Option<Opened>,
    problems: Diagnostics,
}

impl<'a> OpenJob<'a> {
    pub(crate) async fn run(self) -> OpenAnswer<'a> {
        let OpenJob { subject, resource, at, config } = self;
        let (config, marks) = config.unmark_with_paths();
        let found = subject.provider.validate_ephemeral_config(subject.kind().clone(), config.clone()).await;
        let mut problems = subject.placed(found);
        let mut opened = None;
        if !problems.has_errors() {
            subject.started(Phase::Open, &Value::null_dynamic());
            let Outcome { value, problems: found } =
                subject.provider.open_ephemeral(subject.kind().clone(), config).await;
            problems.extend(subject.placed(found));
            opened = value.filter(|_| !problems.has_errors());
            if let Some(broken) = opened.as_ref().and_then(|opened| broken_rule(&subject, &opened.value)) {
                problems.push(broken);
                if let Some(Opened { private, .. }) = opened.take() {
                    let found = subject.provider.close_ephemeral(subject.kind().clone(), private).await;
                    problems.extend(subject.placed(found));
                }
            }
            subject.finished(Phase::Open, &Value::null_dynamic(), Ended::with(opened.as_ref()));
        }
        let mark = |opened: Opened| Opened { value: opened.value.mark_at(&marks).mark(Mark::Ephemeral), ..opened };
        let opened = opened.map(mark);
        OpenAnswer { subject, resource, at, opened, problems }
    }
}

/// The rule that the value of an open resource violates.
fn broken_rule(subject: &Subject<'_>, value: &Value) -> Option<Diagnostic> {
    let schema = subject.schemas.ephemeral.get(subject.kind())?;
    let (code, what) = unfit(value, schema.block.implied_type())?;
    Some(subject.broken(code, &eco_format!("opened {} {what}", subject.addr)))
}

/// Reason why a value is not valid for an open ephemeral resource: the code of the error, and the value it was opened with.
fn unfit(value: &Value, ty: &Type) -> Option<(&'static Code, EcoString)> {
    match conforms(value, ty) {
        Err(reason) => {
            Some((&PROVIDER_INVALID_OBJECT, eco_format!("with a value that does not conform to its schema: {reason}")))
        }
        Ok(()) if value.is_null() => Some((&PROVIDER_NULL_OBJECT, "with null".into())),
        Ok(()) if !value.is_wholly_known() => {
            Some((&PROVIDER_INVALID_OBJECT, "with a value that contains unknown values".into()))
        }
        Ok(()) => None,
    }
}

impl<'a> Walk<'a> {
    /// Takes the value of one that was opened, and remembers to close it.
    async fn opened_answer(&mut self, answer: OpenAnswer<'a>) -> bool {
        let OpenAnswer { subject, resource, at, opened, problems } = answer;
        let ok = self.report(problems);
        let Some(Opened { value, private, renew_at }) = opened.filter(|_| ok) else { return false };
        let addr = subject.addr.clone();
        self.live.set_instance(at, &resource.key, addr.key.clone(), value.clone());
        self.opened.push(Open { subject, private, renew_at });
        self.postconditions(at, resource, &addr, value).await
    }

    /// Takes the value of an opened resource, and hands out its renewal. Returns false if opening it or a postcondition failed.
    pub(super) async fn keep_opened<T: From<WalkAnswer<'a>> + 'a>(
        &mut self,
        answer: OpenAnswer<'a>,
        jobs: &mut Jobs<'a, T>,
    ) -> bool {
        let ok = self.opened_answer(answer).await;
        if ok {
            self.keep_open(self.opened.len().saturating_sub(1), jobs);
        }
        ok
    }

    /// Hands out the renewals of all that are open.
    pub(crate) fn keep_all_open<T: From<WalkAnswer<'a>> + 'a>(&self, jobs: &mut Jobs<'a, T>) {
        (0..self.opened.len()).for_each(|at| self.keep_open(at, jobs));
    }

    /// Takes what became of renewing one, and hands out its next renewal.
    pub(crate) fn keep_renewed<T: From<WalkAnswer<'a>> + 'a>(&mut self, answer: RenewAnswer, jobs: &mut Jobs<'a, T>) {
        let at = self.renewed(answer);
        self.keep_open(at, jobs);
    }

    /// One that is open is renewed when its time comes.
    fn keep_open<T: From<WalkAnswer<'a>> + 'a>(&self, at: usize, jobs: &mut Jobs<'a, T>) {
        if let Some(renewal) = self.renewal(at) {
            jobs.push_aside(async move { WalkAnswer::Renewed(Box::new(renewal.await)).into() });
        }
    }

    /// Waits until an open resource must be renewed, and renews it.
    fn renewal(&self, at: usize) -> Option<impl Future<Output = RenewAnswer> + use<'a>> {
        let open = self.opened.get(at)?;
        let (subject, private, when) = (open.subject.clone(), open.private.clone(), open.renew_at?);
        Some(async move {
            subject.context.clock.until(when).await;
            subject.started(Phase::Renew, &Value::null_dynamic());
            let Outcome { value, problems } = subject.provider.renew_ephemeral(subject.kind().clone(), private).await;
            let problems = subject.placed(problems);
            let renewed = value.filter(|_| !problems.has_errors());
            subject.finished(Phase::Renew, &Value::null_dynamic(), Ended::with(renewed.as_ref()));
            RenewAnswer { at, renewed, problems }
        })
    }

    /// Takes what became of renewing one; which one that was.
    fn renewed(&mut self, answer: RenewAnswer) -> usize {
        self.report(answer.problems);
        if let Some(open) = self.opened.get_mut(answer.at) {
            open.renew_at = None;
            if let Some(renewed) = answer.renewed {
                open.private = renewed.private;
                open.renew_at = renewed.renew_at;
            }
        }
        answer.at
    }

    /// Closes what was opened, the last first.
    pub(crate) async fn close_all(&mut self) {
        while let Some(Open { subject, private, .. }) = self.opened.pop() {
            subject.started(Phase::Close, &Value::null_dynamic());
            let found = subject.provider.close_ephemeral(subject.kind().clone(), private).await;
            let problems = subject.placed(found);
            subject.finished(Phase::Close, &Value::null_dynamic(), Ended::by(&problems));
            self.report(problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_resources_have_known_values_of_their_type() {
        let ty = Type::object([("token".into(), Type::string())]);
        let token = |value| Value::object(vec![("token".into(), value)]);
        let code = |value: &Value| unfit(value, &ty).map(|(code, _)| code);
        assert_eq!(code(&token(Value::string("t"))), None);
        assert_eq!(code(&token(Value::null(Type::string()))), None);
        assert_eq!(code(&Value::null(ty.clone())), Some(&PROVIDER_NULL_OBJECT));
        assert_eq!(code(&token(Value::unknown(Type::string()))), Some(&PROVIDER_INVALID_OBJECT));
        assert_eq!(code(&Value::string("t")), Some(&PROVIDER_INVALID_OBJECT));
    }
}
