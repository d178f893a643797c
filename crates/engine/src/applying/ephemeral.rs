//! Ephemeral resources: opened where the walk comes to them, closed when everything is done, never kept.

use ecow::eco_format;
use yuba_addrs::AbsResourceInstance;
use yuba_config::resource::Resource;
use yuba_eval::{InstanceValues, ModuleInstanceId};
use yuba_plan::Phase;
use yuba_provider::{Outcome, Private};
use yuba_syntax::Diagnostics;
use yuba_value::{Mark, Value};

use super::{Answer, Applier};
use crate::drive::Jobs;
use crate::object::{Subject, conforms};
use crate::walk::block::Block;

/// An ephemeral resource that is open.
pub(crate) struct Open<'a> {
    subject: Subject<'a>,
    private: Private,
}

/// What became of opening one.
pub(crate) struct OpenAnswer<'a> {
    subject: Subject<'a>,
    resource: &'a Resource,
    at: ModuleInstanceId,
    opened: Option<(Value, Private)>,
    problems: Diagnostics,
}

impl<'a> Applier<'a> {
    pub(super) fn begin_ephemeral(
        &mut self,
        block: &Block<'a>,
        at: ModuleInstanceId,
        addr: &AbsResourceInstance,
        values: &InstanceValues,
        jobs: &mut Jobs<'a, Answer<'a>>,
    ) -> bool {
        let resource = block.resource;
        let address = eco_format!("{addr}");
        let Some(server) = self.walk.server(&block.resolved, resource, at, values, &address) else { return false };
        let Some(Some(config)) = self.walk.config_of(block, at, addr, values, true) else { return false };
        let subject = self.walk.subject(addr, &server, &block.schemas, Some(resource), None);
        let (config, marks) = config.unmark_with_paths();
        jobs.push(async move {
            let found = subject.provider.validate_ephemeral_config(subject.kind().clone(), config.clone()).await;
            let mut problems = subject.placed(found);
            let mut opened = None;
            if !problems.has_errors() {
                subject.started(Phase::Open, &Value::null_dynamic());
                let Outcome { value, problems: found } =
                    subject.provider.open_ephemeral(subject.kind().clone(), config).await;
                problems.extend(subject.placed(found));
                opened = value.filter(|_| !problems.has_errors()).map(|opened| (opened.value, opened.private));
                let schema = subject.schemas.ephemeral.get(subject.kind());
                if let (Some((value, _)), Some(schema)) = (&opened, schema)
                    && let Err(reason) = conforms(value, schema.block.implied_type())
                {
                    let what = eco_format!("opened {} with a value that does not fit: {reason}", subject.addr);
                    problems.push(subject.broken("Provider produced invalid object", &what));
                    opened = None;
                }
                subject.finished(Phase::Open, &Value::null_dynamic(), opened.is_some());
            }
            let opened = opened.map(|(value, private)| (value.mark_at(&marks).mark(Mark::Ephemeral), private));
            Answer::Opened(Box::new(OpenAnswer { subject, resource, at, opened, problems }))
        });
        true
    }

    pub(super) fn opened_answer(&mut self, answer: OpenAnswer<'a>) -> bool {
        let OpenAnswer { subject, resource, at, opened, problems } = answer;
        let ok = self.walk.tell(problems);
        let Some((value, private)) = opened.filter(|_| ok) else { return false };
        let addr = subject.addr.clone();
        self.walk.live.set_instance(at, &resource.key, addr.key.clone(), value.clone());
        self.opened.push(Open { subject, private });
        self.walk.postconditions(at, resource, &addr, value)
    }

    /// Closes what was opened, the last first.
    pub(super) async fn close_all(&mut self) {
        while let Some(Open { subject, private }) = self.opened.pop() {
            subject.started(Phase::Close, &Value::null_dynamic());
            let found = subject.provider.close_ephemeral(subject.kind().clone(), private).await;
            let problems = subject.placed(found);
            subject.finished(Phase::Close, &Value::null_dynamic(), !problems.has_errors());
            self.walk.tell(problems);
        }
    }
}
