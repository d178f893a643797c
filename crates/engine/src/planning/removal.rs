//! Planning the end of an object: it is read again, and destroyed or forgotten.

use std::sync::Arc;

use yuba_addrs::{AbsProviderConfig, InstanceKey};
use yuba_plan::{Action, ActionReason};
use yuba_state::Object;
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use super::managed::Planned;
use crate::object::{Existing, Subject};

/// The action for an object that is no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is destroyed.
    Destroy(ActionReason),
    /// It stays without being managed.
    Forget(ActionReason),
    /// It is only read again.
    Keep,
}

/// An object that is no longer wanted.
pub(crate) struct RemovalJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) provider: AbsProviderConfig,
    pub(crate) provider_key: Option<InstanceKey>,
    pub(crate) prior: Arc<Object>,
    pub(crate) refresh: bool,
    pub(crate) ending: Ending,
}

/// Its outcome.
pub(crate) struct RemovalAnswer<'a> {
    pub(crate) job: RemovalJob<'a>,
    pub(crate) was: Option<Existing>,
    pub(crate) is: Option<Existing>,
    pub(crate) planned: Option<Planned>,
    pub(crate) problems: Diagnostics,
}

impl<'a> RemovalJob<'a> {
    pub(crate) async fn run(self) -> RemovalAnswer<'a> {
        let mut answer = RemovalAnswer { job: self, was: None, is: None, planned: None, problems: Diagnostics::new() };
        let existing = match answer.job.subject.existing_from(&answer.job.prior, None).await {
            Ok((existing, found)) => {
                answer.problems = found;
                existing
            }
            Err(found) => {
                answer.problems = found;
                return answer;
            }
        };
        answer.was = Some(existing.clone());
        answer.is = Some(existing.clone());
        if answer.job.refresh {
            let (refreshed, found) = answer.job.subject.refreshed(&existing).await;
            answer.problems.extend(found);
            answer.is = refreshed;
        }
        if answer.problems.has_errors() {
            return answer;
        }
        if let Some(existing) = &answer.is {
            match answer.job.plan(existing).await {
                Ok(planned) => answer.planned = planned,
                Err(found) => answer.problems.extend(found),
            }
        }
        answer
    }

    async fn plan(&self, existing: &Existing) -> Result<Option<Planned>, Diagnostics> {
        let null = Value::null(existing.value.ty().clone());
        let planned = |action, reason, private, identity| Planned {
            action,
            reason,
            before: existing.value.clone(),
            after: null.clone(),
            private,
            identity,
            required_replace: Vec::new(),
        };
        let reason = match self.ending {
            Ending::Keep => return Ok(None),
            Ending::Forget(reason) => {
                return Ok(Some(planned(Action::Forget, reason, existing.private.clone(), None)));
            }
            Ending::Destroy(reason) => reason,
        };
        let answer = self.subject.plan_end(existing).await?;
        Ok(Some(planned(Action::Delete, reason, answer.private, answer.identity)))
    }
}
